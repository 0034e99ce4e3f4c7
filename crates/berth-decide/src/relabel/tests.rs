//! What each strategy does, told by tables and for all labels.

use proptest::prelude::*;

use berth_resources::BerthStatus;
use serde_json::json;

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

fn given(labels: &[(&str, &str)]) -> Given {
    let mut given = Given::new();
    for (key, value) in labels {
        given.entry((*key).to_owned()).or_default().insert((*value).to_owned());
    }
    given
}

fn berth(labels: &[(&str, &str)], found: &[(&str, &str)]) -> Berth {
    Berth {
        status: Some(BerthStatus {
            labels: map(labels),
            found_labels: map(found),
            removed_labels: map(&[("removed", "1")]),
            ..BerthStatus::default()
        }),
        ..Berth::default()
    }
}

#[test]
fn without_a_berth_only_what_actions_gave_is_berths() {
    let role = "node-role.kubernetes.io/control-plane";
    // The kubelet notes labels of its Node that Berth never set.
    let noted = &[("a", "1"), ("b", "2"), (role, ""), ("gone", "1")];
    let mut state = state(&[("a", "1"), ("b", "2"), (role, "")], noted);
    state.confirm(None, None, &given(&[("a", "1"), ("b", "3"), ("c", "1")]));
    assert_eq!(state.owned, map(&[("a", "1")]));
    for strategy in [Strategy::Owned, Strategy::Mirror] {
        let diff = label_diff(&state, &Requested::new(), strategy, &LabelPolicy::default());
        assert!(!diff.remove.contains(role), "{strategy}");
        assert!(diff.remove.contains("a"), "{strategy}");
    }
    // What it leaves out stays.
    state.owned.clear();
    state.confirm(None, None, &given(&[("a", "1")]));
    assert_eq!(state.owned, map(&[]));
}

#[test]
fn actions_leave_alone_what_the_controllers_keep() {
    let live = &[("a", "1"), ("b", "2"), ("c", "3"), ("found", "1"), ("other", "1")];
    let mut state = state(live, &[("a", "1"), ("b", "2"), ("other", "1")]);
    let berth = berth(&[("a", "1"), ("b", "9")], &[("found", "1")]);
    state.confirm(Some(&berth), None, &given(&[("a", "1"), ("c", "3"), ("found", "1")]));
    assert_eq!(state.owned, map(&[("c", "3")]), "what actions gave beside it");
    assert_eq!(state.withheld, keys(&["removed"]));
    let wanted = requested(&[("a", "2"), ("new", "1"), ("removed", "1")]);
    let diff = label_diff(&state, &wanted, Strategy::Owned, &LabelPolicy::default());
    assert_eq!(
        (diff.remove.clone(), diff.set.clone()),
        (keys(&["c"]), map(&[("new", "1")]))
    );
    assert!(diff.change.is_empty() && diff.conflicts.iter().any(|conflict| conflict.key == "a"));
    assert_eq!(diff.withheld, keys(&["removed"]));
    assert_eq!(diff.owned, None, "the annotation is the controllers'");
    let take_over = LabelPolicy {
        conflicts: berth_labels::ConflictPolicy::TakeOver,
        ..LabelPolicy::default()
    };
    for strategy in [Strategy::Owned, Strategy::Mirror] {
        let diff = label_diff(&state, &wanted, strategy, &take_over);
        assert!(diff.change.is_empty(), "{strategy}: {diff:?}");
        assert!(
            !diff.remove.iter().any(|key| state.kept.contains(key)),
            "{strategy}: {diff:?}"
        );
    }
    // A person may ask for a removal by name.
    let named = Requested::from([("a".to_owned(), None)]);
    let diff = label_diff(&state, &named, Strategy::Mirror, &LabelPolicy::default());
    assert!(diff.remove.contains("a") && !diff.remove.contains("b"), "{diff:?}");
}

#[test]
fn a_berth_that_is_about_to_follow_its_documents_takes_away_what_they_do_not_declare() {
    let declared = |pool: &str| BerthDeclaration {
        pool: Some(pool.to_owned()),
        ..BerthDeclaration::default()
    };
    let mut berth = berth(&[("a", "1"), ("b", "9")], &[]);
    berth.spec.pool = Some("old".to_owned());
    berth.metadata.labels = Some(map(&[("berth.dev/reserved-by", "documents")]));
    let status = berth.status.as_mut().unwrap();
    status.earlier_labels = BTreeMap::from([("b".to_owned(), vec!["2".to_owned()])]);
    let before = state(
        &[("a", "1"), ("b", "2"), ("c", "3")],
        &[("a", "1"), ("b", "2"), ("c", "3")],
    );
    let removed = |berth: &Berth, declared: &BerthDeclaration| {
        let mut state = before.clone();
        state.confirm(Some(berth), Some(declared), &Given::new());
        label_diff(&state, &Requested::new(), Strategy::Owned, &LabelPolicy::default()).remove
    };
    assert_eq!(removed(&berth, &declared("new")), keys(&["a", "b"]));
    assert_eq!(removed(&berth, &declared("old")), keys(&[]), "it follows them already");
    // Rules of the documents can change a label without a change of what the Berth declares.
    let changed = |berth: &Berth| {
        let mut state = before.clone();
        state.confirm(Some(berth), Some(&declared("old")), &Given::new());
        let wanted = requested(&[("a", "2"), ("b", "3"), ("c", "4")]);
        let diff = label_diff(&state, &wanted, Strategy::Owned, &LabelPolicy::default());
        assert_eq!(diff.owned, None, "the annotation is the controllers'");
        let conflicts: Vec<String> = diff.conflicts.into_iter().map(|conflict| conflict.key).collect();
        (diff.change, conflicts)
    };
    assert_eq!(
        changed(&berth),
        (map(&[("a", "2"), ("b", "3")]), vec!["c".to_owned()]),
        "the controllers change what is theirs"
    );
    berth.metadata.labels = None;
    assert_eq!(removed(&berth, &declared("new")), keys(&[]), "it follows no documents");
    assert_eq!(changed(&berth).0, map(&[]), "it follows no documents");
}

#[test]
fn what_the_kubelet_registers_stays() {
    let live = &[
        ("unit.example/by-unit", "1"),
        ("unit.example/changed", "2"),
        ("unit.example/declared", "1"),
        ("unit.example/ours", "1"),
    ];
    let mut state = state(live, live);
    state.registered = map(&[
        ("unit.example/by-unit", "1"),
        ("unit.example/changed", "1"),
        ("unit.example/declared", "1"),
    ]);
    let wanted = requested(&[("unit.example/declared", "2")]);
    for strategy in [Strategy::Owned, Strategy::Mirror] {
        let policy = LabelPolicy {
            foreign: vec!["unit.example".to_owned()],
            ..LabelPolicy::default()
        };
        let diff = label_diff(&state, &wanted, strategy, &policy);
        assert_eq!(diff.change, map(&[("unit.example/declared", "2")]), "{strategy}");
        // The value of `changed` is another one than the unit's.
        assert!(
            diff.remove.contains("unit.example/ours") && diff.remove.contains("unit.example/changed"),
            "{strategy}: {diff:?}"
        );
        assert!(!diff.remove.contains("unit.example/by-unit"), "{strategy}: {diff:?}");
    }
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

/// The case that was run on the original, which removes the label of OpenShift's operator as well.
#[test]
fn promenade_is_the_original_but_for_what_operators_keep() {
    let state = state(
        &[
            ("node-role.kubernetes.io/infra", ""),
            ("x", "1"),
            ("old", "1"),
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
    let patch = diff.patch(&state).unwrap().to_value();
    assert_eq!(patch["metadata"]["labels"], json!({"x": "2", "old": null}));
    assert_eq!(patch["metadata"].get("annotations"), None);
    assert!(diff.protected.contains("machineconfiguration.openshift.io/role"));
}

/// What a pool knows its nodes by, in whatever form its selector says it, and what a known operator set, goes by name alone.
#[test]
fn labels_that_identify_a_pool_stay_unless_they_are_named() {
    let selectors = [
        json!({"matchLabels": {"example.com/tier": "edge"}}),
        json!({"matchExpressions": [
            {"key": "example.com/site", "operator": "In", "values": ["a", "b"]},
            {"key": "example.com/pool", "operator": "Exists"},
            {"key": "example.com/retired", "operator": "DoesNotExist"},
            {"key": "example.com/class", "operator": "NotIn", "values": ["x"]},
        ]}),
    ];
    let selectors = selectors.map(|selector| serde_json::from_value::<berth_labels::LabelSelector>(selector).unwrap());
    let membership = berth_pools::Membership::new([("edge", Some(&selectors[0])), ("site", Some(&selectors[1]))]);
    let identifying = ["tier", "site", "pool", "retired", "class"].map(|key| format!("example.com/{key}"));
    assert_eq!(membership.selector_keys(), identifying.iter().cloned().collect());

    let declared = BerthDeclaration {
        identifying: membership.selector_keys(),
        ..BerthDeclaration::default()
    };
    let known = [
        "nvidia.com/gpu.present",
        "topology.rook.io/rack",
        "submariner.io/gateway",
    ];
    let keep: BTreeSet<String> = identifying.iter().cloned().chain(known.map(str::to_owned)).collect();
    let mut live: BTreeMap<String, String> = keep.iter().map(|key| (key.clone(), "a".to_owned())).collect();
    live.insert("example.com/other".to_owned(), "1".to_owned());
    let mut state = NodeState {
        labels: live,
        ..NodeState::default()
    };
    state.confirm(None, Some(&declared), &Given::new());
    for strategy in [Strategy::Mirror, Strategy::Promenade] {
        let diff = label_diff(&state, &requested(&[("new", "1")]), strategy, &LabelPolicy::default());
        assert_eq!(diff.remove, keys(&["example.com/other"]), "{strategy}");
        assert_eq!(diff.protected, keep, "{strategy}");
        let named = keep.iter().map(|key| (key.clone(), None)).collect();
        let diff = label_diff(&state, &named, strategy, &LabelPolicy::default());
        assert!(diff.remove.is_superset(&keep), "{strategy}: {diff:?}");
    }
    // What Berth set goes with the move to another pool; Promenade keeps no record of what it set.
    state.owned = map(&[("example.com/tier", "a")]);
    let diff = label_diff(&state, &Requested::new(), Strategy::Mirror, &LabelPolicy::default());
    assert!(diff.remove.contains("example.com/tier"), "{diff:?}");
    let diff = label_diff(&state, &Requested::new(), Strategy::Promenade, &LabelPolicy::default());
    assert!(!diff.remove.contains("example.com/tier"), "{diff:?}");
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
    let patch = diff.patch(&state).unwrap().to_value();
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
            prop_assert_eq!(diff.patch(&before), None);
        }
        if strategy == Strategy::Mirror {
            let extra: Vec<&String> = after.labels.keys().filter(|key| !wanted.contains_key(*key)).collect();
            prop_assert!(extra.iter().all(|key| policy.is_protected(key)), "{extra:?}");
        }
    }
    /// Whatever a kubelet notes on its Node, no label goes or changes by ownership that no action gave, and none that the
    /// controllers keep.
    #[test]
    fn a_note_never_widens_what_goes(
        live in any_labels(),
        wanted in any_labels(),
        noted in any_labels(),
        gave in any_labels(),
        record in prop::option::of(any_labels()),
    ) {
        let requested: Requested = wanted.iter().map(|(key, value)| (key.clone(), Some(value.clone()))).collect();
        let gave: Given = gave.into_iter().map(|(key, value)| (key, BTreeSet::from([value]))).collect();
        let berth = record.clone().map(|labels| Berth {
            status: Some(BerthStatus { labels, ..BerthStatus::default() }),
            ..Berth::default()
        });
        let mut state = NodeState { labels: live.clone(), owned: noted, ..NodeState::default() };
        state.confirm(berth.as_ref(), None, &gave);
        let diff = label_diff(&state, &requested, Strategy::Owned, &LabelPolicy::default());
        for key in diff.remove.iter().chain(diff.change.keys()) {
            prop_assert!(gave.get(key).is_some_and(|values| values.contains(&live[key])), "{key} was never given");
            prop_assert!(!record.as_ref().is_some_and(|record| record.contains_key(key)), "{key} is kept");
        }
    }
}
