//! Promenade's diff, quirks included.

use std::collections::BTreeMap;

use berth_labels::promenade_diff;

use crate::support::map;

/// `a=1,b!` where `!` stands for an explicit null.
fn nullable(text: &str) -> BTreeMap<String, Option<String>> {
    text.split(',')
        .filter(|item| !item.is_empty())
        .map(|item| {
            if let Some(key) = item.strip_suffix('!') {
                return (key.to_owned(), None);
            }
            let (key, value) = item.split_once('=').unwrap_or((item, ""));
            (key.to_owned(), Some(value.to_owned()))
        })
        .collect()
}

#[test]
fn patches_as_promenade_does() {
    let rows = [
        // A Node without labels takes what is requested, nulls aside.
        ("", "a=1,b!", "a=1"),
        ("", "", ""),
        ("a=1", "a=1", ""),
        ("a=1", "a=2", "a=2"),
        ("a=1", "a=1,b=2", "b=2"),
        ("a=1,b=2", "a=1", "b!"),
        ("a=1", "", "a!"),
        // A null is sent even for a key that is not there.
        ("a=1", "a=1,b!", "b!"),
        ("a=1", "a!", "a!"),
        // The protected text guards orphans only, anywhere in the key.
        ("kubernetes.io/hostname=n,x=1", "x=1", ""),
        ("mykubernetes.io/a=1,b=2", "", "b!"),
        (
            "node-role.kubernetes.io/infra=",
            "node-role.kubernetes.io/infra!",
            "node-role.kubernetes.io/infra!",
        ),
        (
            "node-role.kubernetes.io/infra=",
            "node-role.kubernetes.io/infra=x",
            "node-role.kubernetes.io/infra=x",
        ),
        ("k8s.ovn.org/egress-assignable=", "", "k8s.ovn.org/egress-assignable!"),
        (
            "node-role.kubernetes.io/infra=,x=1,kubernetes.io/hostname=n,machineconfiguration.openshift.io/role=infra",
            "x=2",
            "x=2,machineconfiguration.openshift.io/role!",
        ),
    ];
    for (existing, requested, patch) in rows {
        assert_eq!(
            promenade_diff(&map(existing), &nullable(requested)),
            nullable(patch),
            "{existing:?} <- {requested:?}"
        );
    }
}
