//! What to patch on a live Node.

use std::collections::{BTreeMap, BTreeSet};

use berth_labels::{ConflictPolicy, OwnershipDiff};

use crate::support::{map, set};

/// The groups of a diff as one line, for tables.
fn summary(diff: &OwnershipDiff) -> String {
    let mut groups = Vec::new();
    if !diff.set.is_empty() {
        groups.push(format!("set {}", diff.set));
    }
    if !diff.change.is_empty() {
        groups.push(format!("change {}", diff.change));
    }
    let listed = |name: &str, keys: &BTreeSet<String>| {
        (!keys.is_empty()).then(|| format!("{name} {}", keys.iter().cloned().collect::<Vec<_>>().join(",")))
    };
    groups.extend(listed("remove", &diff.remove));
    groups.extend(listed("keep", &diff.keep));
    groups.extend(listed("withheld", &diff.withheld));
    let conflicts = diff.conflicts.iter().map(|conflict| conflict.key.clone()).collect();
    groups.extend(listed("conflict", &conflicts));
    groups.join("; ")
}

fn compute(declared: &str, owned: &str, live: &str, policy: ConflictPolicy, tombstones: &str) -> OwnershipDiff {
    let tombstones = tombstones.split(',').map(str::to_owned).collect();
    OwnershipDiff::compute(&set(declared), &map(owned), &map(live), policy, &tombstones)
}

#[test]
fn every_case_of_one_key() {
    use ConflictPolicy::{Report, TakeOver};
    // declared, owned, live, policy, tombstones, result
    let rows = [
        ("", "", "", Report, "", ""),
        ("a=1", "", "", Report, "", "set a=1"),
        ("a=", "", "", Report, "", "set a="),
        ("a=1", "a=1", "", Report, "", "set a=1"),
        ("a=1", "", "a=1", Report, "", "keep a"),
        ("a=1", "a=1", "a=1", Report, "", "keep a"),
        ("a=2", "a=1", "a=1", Report, "", "change a=2"),
        ("a=2", "a=1", "a=3", Report, "", "conflict a"),
        ("a=2", "", "a=3", Report, "", "conflict a"),
        ("a=", "", "a=true", Report, "", "conflict a"),
        ("a=2", "a=2", "a=3", Report, "", "conflict a"),
        ("a=2", "a=1", "a=3", TakeOver, "", "change a=2"),
        ("a=2", "", "a=3", TakeOver, "", "change a=2"),
        ("a=2", "a=1", "a=2", TakeOver, "", "keep a"),
        ("", "a=1", "a=1", Report, "", "remove a"),
        ("", "a=1", "a=2", Report, "", "conflict a"),
        ("", "a=1", "a=2", TakeOver, "", "conflict a"),
        ("", "a=1", "", Report, "", ""),
        ("", "", "a=1", Report, "", "keep a"),
        ("", "", "a=1", TakeOver, "", "keep a"),
        ("a=1", "a=1", "", Report, "a", "withheld a"),
        ("a=1", "a=1", "", TakeOver, "a", "withheld a"),
        ("a=1", "", "a=1", Report, "a", "keep a"),
        ("a=2", "a=1", "a=1", Report, "a", "change a=2"),
        ("", "", "", Report, "a", ""),
    ];
    for (declared, owned, live, policy, tombstones, expected) in rows {
        let diff = compute(declared, owned, live, policy, tombstones);
        assert_eq!(
            summary(&diff),
            expected,
            "declared {declared:?} owned {owned:?} live {live:?} {policy} tombstones {tombstones:?}"
        );
    }
}

#[test]
fn a_move_to_another_pool_is_one_patch() {
    let diff = compute(
        "node-role.kubernetes.io/infra=,site=b",
        "node-role.kubernetes.io/app=,site=a,rack=7",
        "node-role.kubernetes.io/app=,node-role.kubernetes.io/worker=,site=a,rack=9,kubernetes.io/os=linux",
        ConflictPolicy::Report,
        "",
    );
    assert_eq!(
        summary(&diff),
        "set node-role.kubernetes.io/infra=; change site=b; remove node-role.kubernetes.io/app; keep \
         kubernetes.io/os,node-role.kubernetes.io/worker; conflict rack"
    );
    let patch = BTreeMap::from([
        ("node-role.kubernetes.io/app".to_owned(), None),
        ("node-role.kubernetes.io/infra".to_owned(), Some(String::new())),
        ("site".to_owned(), Some("b".to_owned())),
    ]);
    assert_eq!(diff.patch(), patch);
    assert!(!diff.is_noop());
}

#[test]
fn a_conflict_shows_all_three_values() {
    let diff = compute("a=2", "a=1,b=1", "a=3,b=4", ConflictPolicy::Report, "");
    let [first, second] = diff.conflicts.as_slice() else {
        panic!("two conflicts")
    };
    assert_eq!(
        (first.declared.as_deref(), first.live.as_deref(), first.owned.as_deref()),
        (Some("2"), Some("3"), Some("1"))
    );
    assert_eq!(
        (
            second.declared.as_deref(),
            second.live.as_deref(),
            second.owned.as_deref()
        ),
        (None, Some("4"), Some("1"))
    );
    assert!(diff.is_noop() && diff.patch().is_empty());
}

#[test]
fn policy_names_round_trip() {
    for policy in [ConflictPolicy::Report, ConflictPolicy::TakeOver] {
        assert_eq!(policy.to_string().parse(), Ok(policy));
    }
    assert_eq!(ConflictPolicy::default(), ConflictPolicy::Report);
    assert!("takeover".parse::<ConflictPolicy>().is_err());
}
