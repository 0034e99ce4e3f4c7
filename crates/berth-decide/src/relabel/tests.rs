//! What each strategy does, told by tables and for all labels.

use proptest::prelude::*;

use super::{Strategy, *};

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

fn requested(pairs: &[(&str, &str)]) -> Requested {
    map(pairs).into_iter().map(|(key, value)| (key, Some(value))).collect()
}

fn state(labels: &[(&str, &str)], owned: &[(&str, &str)]) -> NodeState {
    NodeState {
        labels: map(labels),
        owned: map(owned),
        resource_version: Some("7".to_owned()),
        uid: Some("u".to_owned()),
        ..NodeState::default()
    }
}

#[test]
fn what_the_berth_does_not_remember_is_not_berths() {
    let mut state = state(
        &[("a", "1"), ("b", "2"), ("c", "3")],
        &[("a", "1"), ("b", "2"), ("gone", "1")],
    );
    assert_eq!(
        state.owned_labels(),
        2,
        "a note about what is not there counts for nothing"
    );
    state.confirm(Some(&WrittenLabels {
        last: map(&[("a", "1"), ("b", "9"), ("c", "3")]),
        earlier: map(&[("b", "2")]),
        ..WrittenLabels::default()
    }));
    assert_eq!(state.owned, map(&[("a", "1"), ("b", "2")]));
    state.confirm(None);
    assert_eq!(state.owned.len(), 2);
}

fn keys(keys: &[&str]) -> BTreeSet<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}

#[test]
fn mirror_removes_what_is_not_requested_and_protects_by_domain() {
    let state = state(
        &[
            ("x", "1"),
            ("stale", "1"),
            ("kubernetes.io/hostname", "n"),
            ("node-role.kubernetes.io/infra", ""),
            ("node-role.kubernetes.io/old", ""),
            ("topology.k8s.io/zone", "a"),
            ("k8s.ovn.org/egress-assignable", ""),
            ("node.openshift.io/os_id", "rhcos"),
            ("notkubernetes.io/x", "1"),
            ("vendor.example/kubernetes.io", "1"),
        ],
        &[("node-role.kubernetes.io/old", ""), ("x", "1")],
    );
    let diff = label_diff(
        &state,
        &requested(&[("x", "2"), ("new", "1")]),
        Strategy::Mirror,
        &LabelPolicy::default(),
    );
    assert_eq!(diff.set, map(&[("new", "1")]));
    assert_eq!(diff.change, map(&[("x", "2")]));
    assert_eq!(
        diff.remove,
        keys(&[
            "stale",
            "node-role.kubernetes.io/old",
            "notkubernetes.io/x",
            "vendor.example/kubernetes.io"
        ])
    );
    assert_eq!(
        diff.protected,
        keys(&[
            "kubernetes.io/hostname",
            "node-role.kubernetes.io/infra",
            "topology.k8s.io/zone",
            "k8s.ovn.org/egress-assignable",
            "node.openshift.io/os_id",
        ])
    );
    assert_eq!(diff.owned, Some(map(&[("x", "2"), ("new", "1")])));
}

#[test]
fn a_protected_key_that_somebody_changed_is_not_ours_any_more() {
    let state = state(&[("a.kubernetes.io/x", "theirs")], &[("a.kubernetes.io/x", "ours")]);
    let diff = label_diff(&state, &Requested::new(), Strategy::Mirror, &LabelPolicy::default());
    assert!(diff.is_noop());
    assert_eq!(diff.protected, keys(&["a.kubernetes.io/x"]));
}

#[test]
fn an_explicit_null_removes() {
    let state = state(&[("kubernetes.io/x", "1"), ("gone", "1")], &[]);
    let requested: Requested = [("kubernetes.io/x".to_owned(), None), ("absent".to_owned(), None)].into();
    let diff = label_diff(&state, &requested, Strategy::Mirror, &LabelPolicy::default());
    assert_eq!(diff.remove, keys(&["kubernetes.io/x", "gone"]));
}

#[test]
fn owned_removes_only_its_own_and_reports_what_others_set() {
    let state = state(
        &[("ours", "1"), ("theirs", "1"), ("changed", "2"), ("wanted", "theirs")],
        &[("ours", "1"), ("changed", "1")],
    );
    let wanted = requested(&[("wanted", "ours"), ("new", "1")]);
    let diff = label_diff(&state, &wanted, Strategy::Owned, &LabelPolicy::default());
    assert_eq!((diff.set, diff.remove), (map(&[("new", "1")]), keys(&["ours"])));
    assert_eq!(diff.protected, keys(&["theirs"]));
    let conflicts: Vec<&str> = diff.conflicts.iter().map(|conflict| conflict.key.as_str()).collect();
    assert_eq!(conflicts, ["changed", "wanted"]);
    assert_eq!(diff.owned, Some(map(&[("new", "1")])));
}

/// The case that was run on the original.
#[test]
fn promenade_is_the_original() {
    let state = state(
        &[
            ("node-role.kubernetes.io/infra", ""),
            ("x", "1"),
            ("kubernetes.io/hostname", "n"),
            ("machineconfiguration.openshift.io/role", "worker"),
        ],
        &[],
    );
    let diff = label_diff(
        &state,
        &requested(&[("x", "2")]),
        Strategy::Promenade,
        &LabelPolicy::default(),
    );
    let patch = diff.merge_patch(&state).unwrap();
    assert_eq!(
        patch["metadata"]["labels"],
        json!({"x": "2", "machineconfiguration.openshift.io/role": null})
    );
    assert_eq!(patch["metadata"].get("annotations"), None);
}

#[test]
fn what_is_not_legal_is_split_off_and_named() {
    let state = state(&[("bad key", "1")], &[]);
    let wanted = requested(&[
        ("good", "1"),
        ("bad key", "1"),
        ("long", &"v".repeat(64)),
        ("a/b/c", "1"),
    ]);
    for strategy in Strategy::ALL {
        let diff = label_diff(&state, &wanted, strategy, &LabelPolicy::default());
        let refused: Vec<&str> = diff.refused.iter().map(|refusal| refusal.key.as_str()).collect();
        assert_eq!(refused, ["a/b/c", "bad key", "long"], "{strategy}");
        assert_eq!(diff.set, map(&[("good", "1")]));
        assert!(diff.remove.is_empty(), "{strategy}");
    }
}

#[test]
fn one_patch_sets_and_removes_and_says_what_is_owned() {
    let state = state(&[("old", "1")], &[("old", "1")]);
    let diff = label_diff(
        &state,
        &requested(&[("new", "1")]),
        Strategy::Mirror,
        &LabelPolicy::default(),
    );
    let patch = diff.merge_patch(&state).unwrap();
    assert_eq!(
        patch,
        json!({"metadata": {
            "labels": {"new": "1", "old": null},
            "annotations": {"berth.dev/owned-labels": "{\"new\":\"1\"}"},
            "resourceVersion": "7",
            "uid": "u",
        }})
    );
}

#[test]
fn the_annotation_is_read_in_both_forms() {
    let labels = map(&[("a", "1"), ("b", "2")]);
    for (text, owned) in [
        ("{\"a\":\"0\"}", map(&[("a", "0")])),
        ("[\"a\",\"gone\"]", map(&[("a", "1")])),
        ("nonsense", map(&[])),
        ("", map(&[])),
    ] {
        let annotations = map(&[(OWNED_LABELS, text)]);
        assert_eq!(NodeState::new(labels.clone(), &annotations).owned, owned, "{text}");
    }
}

fn any_labels() -> impl proptest::strategy::Strategy<Value = BTreeMap<String, String>> {
    let key = prop_oneof![
        "[a-d]",
        "[ab]\\.kubernetes\\.io/[a-c]",
        "k8s\\.ovn\\.org/[a-b]",
        "my[a-b]\\.io/[a-b]"
    ];
    prop::collection::btree_map(key, "[0-2]", 0..8)
}

proptest! {
    /// Once applied, nothing is left to do, whatever the strategy; what is requested is there unless somebody else's value
    /// is kept, and what is protected is untouched.
    #[test]
    fn an_applied_diff_leaves_nothing_to_do(live in any_labels(), wanted in any_labels(), owned in any_labels(), which in 0..3_usize) {
        let strategy = Strategy::ALL[which];
        let policy = LabelPolicy::default();
        let requested: Requested = wanted.iter().map(|(key, value)| (key.clone(), Some(value.clone()))).collect();
        let before = NodeState { labels: live.clone(), owned, ..NodeState::default() };
        let diff = label_diff(&before, &requested, strategy, &policy);
        let after = NodeState {
            labels: diff.labels_after(&before),
            owned: diff.owned.clone().unwrap_or_else(|| before.owned.clone()),
            ..NodeState::default()
        };
        let conflicting: BTreeSet<&String> = diff.conflicts.iter().map(|conflict| &conflict.key).collect();
        for (key, value) in &wanted {
            prop_assert!(after.labels.get(key) == Some(value) || conflicting.contains(key), "{key}");
        }
        for key in &diff.protected {
            prop_assert_eq!(after.labels.get(key), live.get(key));
        }
        // A Node without any label has nothing removed by Promenade, and what it got may be removed the next time: not here.
        prop_assert!(label_diff(&after, &requested, strategy, &policy).is_noop());
        if diff.is_noop() {
            prop_assert_eq!(diff.merge_patch(&before), None);
        }
        if strategy == Strategy::Mirror {
            let extra: Vec<&String> = after.labels.keys().filter(|key| !wanted.contains_key(*key)).collect();
            prop_assert!(extra.iter().all(|key| policy.is_protected(key)), "{extra:?}");
        }
    }
}
