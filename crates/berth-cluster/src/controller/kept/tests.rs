//! What is kept is what was seen.

use std::collections::BTreeMap;

use berth_decide::{NodeView, names, pools::MemberView};
use berth_resources::{
    Berth, BerthSpec, BerthStatus, Departure, Followed, Machine, MachineObject, Phase, PoolPolicy, Preregister,
    Recreations, Taint, TaintEffect,
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time};
use proptest::{collection::btree_map, prelude::*};

use super::*;
use crate::controller::news::Versioned as _;

/// A few texts, so that objects say the same and differ in one word.
fn word() -> impl Strategy<Value = String> {
    proptest::sample::select(
        [
            "",
            "a",
            "b",
            "worker",
            "example.com/tier",
            "topology.kubernetes.io/zone",
        ]
        .to_vec(),
    )
    .prop_map(str::to_owned)
}

fn words() -> impl Strategy<Value = BTreeMap<String, String>> {
    btree_map(word(), word(), 0..4)
}

fn maybe() -> impl Strategy<Value = Option<String>> {
    proptest::option::of(word())
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

prop_compose! {
    fn status()(
        maps in proptest::collection::vec(words(), 7),
        texts in proptest::collection::vec(maybe(), 6),
        said in proptest::collection::vec(word(), 4),
        earlier in btree_map(word(), proptest::collection::vec(word(), 0..3), 0..3),
        number in proptest::option::of(0..3i64),
        rare in any::<[bool; 4]>(),
    ) -> BerthStatus {
        let [labels, removed, retired, found, kubelet, annotations, registered] = maps.try_into().unwrap();
        let [node_name, node_uid, pool, node_version, provider_id, machine_id] = texts.try_into().unwrap();
        let [first, second, third, fourth] = said.try_into().unwrap();
        BerthStatus {
            observed_generation: number,
            phase: rare[0].then_some(Phase::Vacant),
            node_name,
            node_uid,
            pool,
            followed: rare[0].then(|| Followed { pool: first.clone(), declared: Some(second.clone()) }),
            labels,
            earlier_labels: earlier,
            node_version,
            removed_labels: removed,
            retired_labels: retired,
            found_labels: found,
            kubelet_labels: kubelet,
            provider_id,
            annotations,
            machine: rare[1].then(|| Machine { system_uuid: Some(third.clone()), mac_addresses: vec![fourth.clone()] }),
            registered_labels: registered,
            machine_id,
            machine_objects: rare[2].then(|| MachineObject {
                group: first.clone(), kind: second.clone(), namespace: third.clone(), name: fourth.clone(),
            }).into_iter().collect(),
            departure: rare[1].then(|| Departure { time: at(1), reason: Some(first.clone()), message: None }),
            recreations: rare[2].then(|| Recreations { count: 2, last: at(2) }),
            conditions: rare[3].then(|| Condition {
                last_transition_time: Time(at(3)),
                message: first,
                observed_generation: number,
                reason: second,
                status: third,
                type_: fourth,
            }).into_iter().collect(),
        }
    }
}

prop_compose! {
    fn berth()(
        texts in proptest::collection::vec(word().prop_filter("a value", |word| !word.is_empty()), 3),
        labels in words(),
        spec in (maybe(), maybe(), words(), any::<[bool; 4]>()),
        status in proptest::option::of(status()),
        generation in proptest::option::of(0..3i64),
    ) -> Berth {
        let [name, uid, version] = texts.try_into().unwrap();
        let (node_name, pool, spec_labels, rare) = spec;
        Berth {
            metadata: ObjectMeta {
                name: Some(name),
                uid: Some(uid),
                resource_version: Some(version),
                generation,
                creation_timestamp: rare[0].then(|| Time(at(4))),
                deletion_timestamp: rare[1].then(|| Time(at(5))),
                labels: Some(labels).filter(|labels| !labels.is_empty()),
                annotations: rare[2].then(|| BTreeMap::from([(names::REQUESTED.to_owned(), "1".to_owned())])),
                finalizers: rare[3].then(|| vec!["berth.dev/release".to_owned()]),
                ..ObjectMeta::default()
            },
            spec: BerthSpec {
                node_name,
                machine: rare[0].then(Machine::default),
                pool,
                labels: spec_labels,
                taints: rare[1].then(|| Taint {
                    key: "dedicated".to_owned(), value: None, effect: TaintEffect::NoExecute,
                }).into_iter().collect(),
                preregister: if rare[2] { Preregister::Now } else { Preregister::OnRequest },
                pool_policy: if rare[3] { PoolPolicy::Enforce } else { PoolPolicy::Follow },
                release: rare[0],
            },
            status,
        }
    }
}

proptest! {
    #[test]
    fn a_kept_berth_is_the_berth(one in berth(), other in berth()) {
        let (kept, another) = (KeptBerth::from(&one), KeptBerth::from(&other));
        prop_assert_eq!(&kept.berth(), &one);
        prop_assert_eq!(&**kept.node_name(), one.node_name());
        prop_assert_eq!(kept.phase(), one.phase());
        prop_assert!(kept.declares(&one.spec));
        prop_assert_eq!(kept.declares(&other.spec), one.spec == other.spec);
        let mut same = other.clone();
        same.metadata.resource_version.clone_from(&one.metadata.resource_version);
        prop_assert_eq!(kept.says_the_same(&another), same == one);
    }

    #[test]
    fn a_kept_node_is_the_node(
        texts in proptest::collection::vec(word(), 3),
        maps in proptest::collection::vec(words(), 2),
        rare in any::<[bool; 6]>(),
        uuid in maybe(),
    ) {
        let [name, uid, version] = texts.try_into().unwrap();
        let [labels, annotations] = maps.try_into().unwrap();
        let node = NodeView {
            name,
            uid,
            resource_version: version.clone(),
            created: rare[0].then(|| at(1)),
            deleting: rare[1],
            labels,
            annotations,
            taints: rare[2].then(k8s_openapi::api::core::v1::Taint::default).into_iter().collect(),
            unschedulable: rare[3],
            system_uuid: uuid.clone(),
            provider_id: uuid.clone(),
            machine_id: uuid.clone(),
            mac_address: uuid,
            machine_objects: rare[4].then(MachineObject::default).into_iter().collect(),
            has_kubelet: rare[4],
            reports: rare[5],
            ready_since: rare[4].then(|| at(3)),
            silent_since: rare[5].then(|| at(2)),
            ..NodeView::default()
        };
        let kept = KeptNode::from(node.clone());
        prop_assert_eq!(kept.view(), node.clone());
        prop_assert_eq!(kept.version(), version);
        prop_assert_eq!(kept.member(), MemberView::from(node.clone()));
        let later = KeptNode::from(NodeView { resource_version: "later".to_owned(), ..node.clone() });
        prop_assert!(kept.says_the_same(&later));
        let other = KeptNode::from(NodeView { deleting: !node.deleting, ..node });
        prop_assert!(!kept.says_the_same(&other));
    }
}

#[test]
fn of_annotations_only_those_are_kept_that_decisions_read() {
    let mut berth = Berth::new("w1", BerthSpec::default());
    berth.metadata.annotations = Some(BTreeMap::from([
        (names::REQUESTED.to_owned(), "now".to_owned()),
        (
            "kubectl.kubernetes.io/last-applied-configuration".to_owned(),
            "{}".to_owned(),
        ),
    ]));
    let kept = KeptBerth::from(&berth).berth();
    assert_eq!(
        kept.metadata.annotations.unwrap().into_keys().collect::<Vec<_>>(),
        [names::REQUESTED]
    );
}
