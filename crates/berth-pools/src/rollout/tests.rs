use serde_json::json;

use super::*;

const OLD: &str = "rendered-infra-1111";
const NEW: &str = "rendered-infra-2222";

pub(super) fn node(name: &str, current: &str, desired: &str, state: &str) -> NodeState {
    let pairs = [
        (annotation::CURRENT_CONFIG, current),
        (annotation::DESIRED_CONFIG, desired),
        (annotation::STATE, state),
    ];
    NodeState {
        name: name.to_owned(),
        annotations: pairs
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect(),
        ..NodeState::default()
    }
}

fn pool(nodes: Vec<NodeState>, max_unavailable: u32) -> PoolRollout {
    PoolRollout {
        pool: "infra".to_owned(),
        target: Some(NEW.to_owned()),
        max_unavailable: MaxUnavailable::Count(max_unavailable),
        nodes,
        ..PoolRollout::default()
    }
}

fn cordoned(mut node: NodeState) -> NodeState {
    node.unschedulable = true;
    node
}

fn annotated(mut node: NodeState, key: &str, value: &str) -> NodeState {
    node.annotations.insert(key.to_owned(), value.to_owned());
    node
}

fn placed(mut node: NodeState, zone: &str, created: i64) -> NodeState {
    if !zone.is_empty() {
        node.labels
            .insert("topology.kubernetes.io/zone".to_owned(), zone.to_owned());
    }
    node.created = Some(jiff::Timestamp::from_second(created).unwrap());
    node
}

fn reason<'a>(plan: &'a RolloutPlan, node: &str) -> &'a str {
    let waiting = plan.waiting.iter().find(|waiting| waiting.node == node);
    waiting.map_or("", |waiting| waiting.reason.as_str())
}

fn condition<'a>(plan: &'a RolloutPlan, kind: &str) -> (ConditionStatus, &'a str, &'a str) {
    let condition = plan.conditions.iter().find(|condition| condition.kind == kind).unwrap();
    (condition.status, &condition.reason, &condition.message)
}

#[test]
fn ready_by_conditions_and_cordon() {
    for (ready, disk, network, unschedulable, expected) in [
        (None, None, None, false, true),
        (Some(true), Some(false), Some(false), false, true),
        (Some(false), Some(false), Some(false), false, false),
        (Some(true), Some(true), None, false, false),
        (Some(true), None, Some(true), false, false),
        (Some(true), Some(false), Some(false), true, false),
    ] {
        let node = NodeState {
            conditions: NodeConditions {
                ready,
                disk_pressure: disk,
                network_unavailable: network,
            },
            unschedulable,
            ..NodeState::default()
        };
        assert_eq!(node.ready(), expected, "{node:?}");
    }
}

#[test]
fn predicates_are_openshifts() {
    // current, desired, state | done, failing, unavailable, updated, degraded
    for (current, desired, state, expected) in [
        (NEW, NEW, "Done", [true, false, false, true, false]),
        (OLD, OLD, "Done", [true, false, false, false, false]),
        (OLD, NEW, "Done", [false, false, true, false, false]),
        (OLD, NEW, "Working", [false, false, true, false, false]),
        (NEW, NEW, "Working", [false, false, true, false, false]),
        (OLD, NEW, "Degraded", [false, true, false, false, true]),
        (OLD, NEW, "Unreconcilable", [false, true, false, false, true]),
        // Config drift: the original counts it as unavailable, and it blocks the pool there.
        (NEW, NEW, "Degraded", [false, false, true, false, true]),
        ("", "", "", [false, false, true, false, false]),
        ("", NEW, "Done", [false, false, true, false, false]),
        (NEW, NEW, "", [false, false, true, false, false]),
    ] {
        let node = node("n", current, desired, state);
        let actual = [
            node.done(),
            node.failing(),
            node.unavailable(),
            node.updated(NEW),
            node.degraded(),
        ];
        assert_eq!(actual, expected, "{current} {desired} {state}");
        assert!(cordoned(node).unavailable(), "whatever the state");
    }
}

#[test]
fn images_must_agree() {
    for (current, desired, done) in [
        (None, None, true),
        (Some("a"), Some("a"), true),
        (Some("a"), Some("b"), false),
        (Some("a"), None, false),
        (None, Some("a"), false),
        (Some(""), Some(""), false),
    ] {
        let mut node = node("n", NEW, NEW, "Done");
        for (key, image) in [
            (annotation::CURRENT_IMAGE, current),
            (annotation::DESIRED_IMAGE, desired),
        ] {
            if let Some(image) = image {
                node = annotated(node, key, image);
            }
        }
        assert_eq!(node.done(), done, "{current:?} {desired:?}");
        assert_eq!(node.updated(NEW), done && desired.is_none(), "{current:?} {desired:?}");
    }
}

#[test]
fn nodes_as_kubectl_prints_them() {
    let node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": "w1",
            "creationTimestamp": "2026-03-01T10:00:00Z",
            "labels": {"topology.kubernetes.io/zone": "a"},
            "annotations": {"machineconfiguration.openshift.io/currentConfig": OLD},
        },
        "spec": {"unschedulable": true, "podCIDR": "10.0.0.0/24"},
        "status": {"conditions": [
            {"type": "Ready", "status": "Unknown"},
            {"type": "DiskPressure", "status": "False"},
            {"type": "MemoryPressure", "status": "True"},
        ]},
    });
    let node = NodeState::from_json(&node).unwrap();
    assert_eq!(node.name, "w1");
    assert_eq!(node.zone(), Some("a"));
    assert_eq!(node.current_config(), Some(OLD));
    assert_eq!(node.created, "2026-03-01T10:00:00Z".parse().ok());
    assert!(node.unschedulable);
    assert_eq!(
        node.conditions,
        NodeConditions {
            ready: Some(false),
            disk_pressure: Some(false),
            network_unavailable: None,
        }
    );
}

#[test]
fn what_is_no_node_is_refused() {
    for (value, expected) in [
        (json!("w1"), "expected a Node, found a text"),
        (
            json!({"kind": "Pod", "metadata": {"name": "p"}}),
            "expected a Node, found a Pod",
        ),
        (json!({"kind": "Node", "metadata": {}}), "the Node has no metadata.name"),
        (
            json!({"metadata": {"name": "w", "labels": {"a": true}}}),
            "metadata.labels[a] of node w is not a text",
        ),
        (
            json!({"metadata": {"name": "w", "annotations": []}}),
            "metadata.annotations of node w is not a map",
        ),
        (
            json!({"metadata": {"name": "w"}, "spec": {"unschedulable": "yes"}}),
            "spec.unschedulable of node w is not a boolean",
        ),
        (
            json!({"metadata": {"name": "w"}, "status": {"conditions": [{"type": "Ready"}]}}),
            "status.conditions[] of node w is not a condition with type and status",
        ),
        (
            json!({"metadata": {"name": "w", "creationTimestamp": "today"}}),
            "metadata.creationTimestamp of node w is not a time such as 2026-03-01T10:00:00Z: `today`",
        ),
    ] {
        assert_eq!(NodeState::from_json(&value).unwrap_err().to_string(), expected);
    }
}

/// What it shows, the nodes, the limit, the capacity and the candidates.
type Case = (&'static str, Vec<NodeState>, u32, usize, &'static [&'static str]);

fn check(cases: Vec<Case>) {
    for (what, nodes, limit, capacity, expected) in cases {
        let plan = plan_pool(&pool(nodes, limit));
        assert_eq!(plan.candidates, expected, "{what}");
        assert_eq!(plan.capacity, capacity, "{what}");
    }
}

#[test]
fn capacity_and_candidates() {
    let waiting = |name| node(name, OLD, OLD, "Done");
    let moving = |name| node(name, OLD, NEW, "Working");
    let told = |name| node(name, OLD, NEW, "Done");
    let there = |name| node(name, NEW, NEW, "Done");
    let busy = node("a", OLD, "x", "Working");
    let told_other = node("a", OLD, "x", "Done");
    let silent = node("a", "", "", "");
    let outage = cordoned(waiting("a"));
    check(vec![
        ("one at a time", vec![waiting("a"), waiting("b")], 1, 1, &["a"]),
        ("room for all", vec![waiting("b"), waiting("a")], 5, 5, &["a", "b"]),
        (
            "moving takes a slot",
            vec![moving("a"), waiting("b"), waiting("c")],
            2,
            1,
            &["b"],
        ),
        ("no slot left", vec![moving("a"), waiting("b")], 1, 0, &[]),
        ("told takes a slot", vec![told("a"), waiting("b")], 1, 0, &[]),
        ("cordoned takes a slot", vec![outage, waiting("b")], 2, 1, &["b"]),
        ("done is done", vec![there("a"), waiting("b")], 1, 1, &["b"]),
        ("nothing to do", vec![there("a"), there("b")], 1, 1, &[]),
        ("busy finishes first", vec![busy, waiting("b")], 2, 1, &["b"]),
        (
            "not started keeps its slot",
            vec![told_other, waiting("b")],
            1,
            0,
            &["a"],
        ),
        ("no report, no slot", vec![silent, waiting("b")], 1, 1, &["b"]),
    ]);
}

#[test]
fn degraded_nodes_leave_a_slot() {
    let waiting = |name| node(name, OLD, OLD, "Done");
    let failed = |name| node(name, OLD, NEW, "Degraded");
    let there = |name| node(name, NEW, NEW, "Done");
    let drifted = node("a", NEW, NEW, "Degraded");
    let other = || node("a", OLD, "x", "Degraded");
    let outage = cordoned(there("a"));
    check(vec![
        (
            "slows down",
            vec![failed("a"), waiting("b"), waiting("c")],
            2,
            1,
            &["b"],
        ),
        (
            "but moves on",
            vec![failed("a"), waiting("b"), waiting("c")],
            1,
            1,
            &["b"],
        ),
        (
            "also with many",
            vec![failed("a"), failed("b"), there("c"), waiting("d")],
            2,
            1,
            &["d"],
        ),
        (
            "also beside an outage",
            vec![outage, failed("b"), failed("c"), waiting("d")],
            3,
            1,
            &["d"],
        ),
        ("drift does not block", vec![drifted, waiting("b")], 1, 1, &["b"]),
        (
            "failed with an older config: gets the new one",
            vec![other()],
            1,
            1,
            &["a"],
        ),
        ("but after the healthy", vec![other(), waiting("b")], 1, 1, &["b"]),
        (
            "a dead node takes its slot",
            vec![cordoned(failed("a")), waiting("b")],
            1,
            0,
            &[],
        ),
    ]);
}

#[test]
fn zones_then_age_then_name_then_those_without_a_zone() {
    let nodes = vec![
        placed(node("plain-old", OLD, OLD, "Done"), "", 1),
        placed(node("b-old", OLD, OLD, "Done"), "b", 1),
        placed(node("a-new", OLD, OLD, "Done"), "a", 9),
        placed(node("a-old-2", OLD, OLD, "Done"), "a", 5),
        placed(node("a-old-1", OLD, OLD, "Done"), "a", 5),
    ];
    let expected = ["a-old-1", "a-old-2", "a-new", "b-old", "plain-old"];
    for limit in 1..=5_u32 {
        let plan = plan_pool(&pool(nodes.clone(), limit));
        assert_eq!(plan.candidates, expected[..limit as usize]);
        let waiting: Vec<&str> = plan.waiting.iter().map(|waiting| waiting.node.as_str()).collect();
        assert_eq!(waiting, expected[limit as usize..]);
    }
}

#[test]
fn a_config_that_works_nowhere_stops_after_three_nodes() {
    let failed = |name| node(name, OLD, NEW, "Degraded");
    let waiting = || node("z", OLD, OLD, "Done");
    let plan = plan_pool(&pool(vec![failed("a"), failed("b"), waiting()], 1));
    assert_eq!(plan.candidates, ["z"], "two may be bad luck");
    let plan = plan_pool(&pool(vec![failed("a"), failed("b"), failed("c"), waiting()], 1));
    assert_eq!((plan.capacity, plan.candidates.len()), (0, 0));
    assert_eq!(
        reason(&plan, "z"),
        "stopped: 3 nodes could not take rendered-infra-2222 and none runs it"
    );
    let proof = node("p", NEW, NEW, "Done");
    let plan = plan_pool(&pool(vec![failed("a"), failed("b"), failed("c"), proof, waiting()], 1));
    assert_eq!(plan.candidates, ["z"], "it works, so the nodes are to blame");
}

#[test]
fn a_config_that_a_node_gave_up_stops_at_once() {
    let gave_up = |config| annotated(node("a", OLD, NEW, "Degraded"), annotation::GIVEN_UP, config);
    let waiting = || node("z", OLD, OLD, "Done");
    let plan = plan_pool(&pool(vec![gave_up(NEW), waiting()], 2));
    assert_eq!((plan.capacity, plan.candidates.len()), (0, 0));
    assert_eq!(
        reason(&plan, "z"),
        "stopped: a was not healthy with rendered-infra-2222, and no node runs it"
    );
    // Another config may be better, and where a node runs this one it is not the config's fault.
    let plan = plan_pool(&pool(vec![gave_up("rendered-infra-1111"), waiting()], 2));
    assert_eq!(plan.candidates, ["z"]);
    let proof = node("p", NEW, NEW, "Done");
    let plan = plan_pool(&pool(vec![gave_up(NEW), proof, waiting()], 2));
    assert_eq!(plan.candidates, ["z"]);
}

#[test]
fn every_wait_has_its_reason() {
    let mut failed = annotated(node("failed", OLD, NEW, "Degraded"), annotation::REASON, "disk full");
    failed.reports.push("disk full".to_owned());
    let mut lost = node("lost", OLD, OLD, "Done");
    lost.conditions.ready = Some(false);
    let mut rollout = pool(
        vec![
            failed,
            cordoned(lost),
            node("new", "", "", ""),
            node("busy", OLD, "rendered-infra-x", "Working"),
            node("leaving", OLD, OLD, "Done"),
            node("late", OLD, OLD, "Done"),
        ],
        2,
    );
    rollout.leaving.insert("leaving".to_owned(), "storage".to_owned());
    let plan = plan_pool(&rollout);
    for (node, expected) in [
        ("failed", "could not take rendered-infra-2222: disk full"),
        ("lost", "NotReady, cordoned"),
        ("new", "its daemon has not reported what it runs"),
        ("busy", "still moves to rendered-infra-x"),
        ("leaving", "belongs to pool storage; its labels come first"),
        ("late", "no slot is free; 2 of 2 taken by lost, busy"),
    ] {
        assert_eq!(reason(&plan, node), expected);
    }
    assert_eq!(plan.unavailable, ["lost", "busy"]);

    rollout.paused = true;
    assert_eq!(reason(&plan_pool(&rollout), "late"), "the pool is paused");
    rollout.target = None;
    assert_eq!(
        reason(&plan_pool(&rollout), "late"),
        "the pool has no rendered config yet"
    );
}

#[test]
fn the_deferred_node_moves_last() {
    let nodes = vec![node("a", OLD, OLD, "Done"), node("b", OLD, OLD, "Done")];
    let mut rollout = pool(nodes, 2);
    rollout.deferred = Some("a".to_owned());
    assert_eq!(plan_pool(&rollout).candidates, ["b"]);
    rollout.nodes.pop();
    assert_eq!(plan_pool(&rollout).candidates, ["a"]);
}

#[test]
fn drains_are_granted_within_the_limit() {
    let asking = |name| annotated(node(name, OLD, NEW, "Working"), annotation::DESIRED_DRAIN, "drain-x");
    let drained = |name| annotated(cordoned(asking(name)), annotation::LAST_APPLIED_DRAIN, "drain-x");
    let plan = plan_pool(&pool(vec![asking("a"), asking("b"), drained("c")], 2));
    assert_eq!(plan.drains, ["a"]);
    assert_eq!(reason(&plan, "b"), "no slot is free; 2 of 2 taken by a, b, c");
    let uncordon = annotated(node("d", NEW, NEW, "Working"), annotation::DESIRED_DRAIN, "uncordon-x");
    assert!(plan_pool(&pool(vec![uncordon], 1)).drains.is_empty());
}

#[test]
fn arbiter_and_master_do_not_move_together() {
    let pool = |name: &str, nodes| PoolRollout {
        pool: name.to_owned(),
        ..pool(nodes, 2)
    };
    let waiting = |name| node(name, OLD, OLD, "Done");
    let moving = |name| node(name, OLD, NEW, "Working");
    let there = |name| node(name, NEW, NEW, "Done");
    let candidates = |pools: &[PoolRollout]| -> Vec<Vec<String>> {
        plan_pools(pools).into_iter().map(|plan| plan.candidates).collect()
    };
    let none: Vec<String> = Vec::new();
    let both = [pool("master", vec![waiting("m")]), pool("arbiter", vec![waiting("a")])];
    assert_eq!(candidates(&both), [vec!["m".to_owned()], none.clone()], "masters first");
    let both = [pool("master", vec![waiting("m")]), pool("arbiter", vec![moving("a")])];
    assert_eq!(candidates(&both), [none.clone(), none.clone()]);
    let both = [pool("master", vec![moving("m")]), pool("arbiter", vec![waiting("a")])];
    assert_eq!(candidates(&both), [none.clone(), none.clone()]);
    let both = [
        pool("master", vec![there("m")]),
        pool("arbiter", vec![waiting("a"), waiting("b")]),
    ];
    assert_eq!(
        candidates(&both),
        [none, vec!["a".to_owned()]],
        "an arbiter is always alone"
    );
}

#[test]
fn conditions_have_the_original_texts() {
    use ConditionStatus::{False, True};
    let done = plan_pool(&pool(vec![node("a", NEW, NEW, "Done")], 1));
    assert_eq!(
        condition(&done, "Updated"),
        (True, "", "All nodes are updated with MachineConfig rendered-infra-2222")
    );
    assert_eq!(condition(&done, "Updating"), (False, "", ""));
    assert_eq!(condition(&done, "Degraded"), (False, "", ""));

    let mut rollout = pool(vec![node("a", OLD, OLD, "Done")], 1);
    let rolling = plan_pool(&rollout);
    assert_eq!(condition(&rolling, "Updated"), (False, "", ""));
    assert_eq!(
        condition(&rolling, "Updating"),
        (True, "", "All nodes are updating to MachineConfig rendered-infra-2222")
    );
    rollout.paused = true;
    assert_eq!(
        condition(&plan_pool(&rollout), "Updating"),
        (
            False,
            "",
            "Pool is paused; will not update to MachineConfig rendered-infra-2222"
        )
    );
    rollout.render_error = Some("no base".to_owned());
    let failed = plan_pool(&rollout);
    let message = "Failed to render configuration for pool infra: no base";
    assert_eq!(condition(&failed, "RenderDegraded"), (True, "", message));
    assert_eq!(condition(&failed, "Degraded"), (True, "", message));
    assert_eq!(condition(&failed, "NodeDegraded"), (False, "", ""));
}

#[test]
fn degraded_nodes_are_reported_once_each() {
    let mut first = annotated(node("b", OLD, NEW, "Degraded"), annotation::REASON, "say \"no\"\n");
    first.reports = vec!["say \"no\"".to_owned(), "no space".to_owned()];
    let second = annotated(node("a", NEW, NEW, "Unreconcilable"), annotation::REASON, "drift");
    let plan = plan_pool(&pool(vec![first, second, node("c", NEW, NEW, "Degraded")], 1));
    let message = r#"Node a is reporting: "drift", Node b is reporting: "say \"no\"", Node b is reporting: "no space""#;
    let reason = "3 nodes are reporting degraded status on sync";
    assert_eq!(
        condition(&plan, "NodeDegraded"),
        (ConditionStatus::True, reason, message)
    );
    assert_eq!(condition(&plan, "Degraded"), (ConditionStatus::True, "", message));
}

#[test]
fn counts_are_openshifts() {
    let plan = plan_pool(&pool(
        vec![
            node("updated", NEW, NEW, "Done"),
            cordoned(node("updated-cordoned", NEW, NEW, "Done")),
            node("waiting", OLD, OLD, "Done"),
            node("moving", OLD, NEW, "Working"),
            node("failed", OLD, NEW, "Degraded"),
            node("drifted", NEW, NEW, "Degraded"),
        ],
        1,
    ));
    assert_eq!(
        plan.counts,
        PoolCounts {
            machine: 6,
            updated: 2,
            ready: 1,
            unavailable: 3,
            degraded: 2,
        }
    );
    // A cordoned node is enough to be "updating", although nothing is left to roll out.
    let cordoned = plan_pool(&pool(vec![cordoned(node("a", NEW, NEW, "Done"))], 1));
    assert_eq!(condition(&cordoned, "Updating").0, ConditionStatus::True);
    let empty = plan_pool(&pool(Vec::new(), 1));
    assert_eq!(condition(&empty, "Updated").0, ConditionStatus::True);
}

#[test]
fn the_plan_as_json() {
    let plan = plan_pool(&pool(vec![node("a", OLD, OLD, "Done"), node("b", OLD, OLD, "Done")], 1));
    let none = |kind: &str| json!({"type": kind, "status": "False", "reason": "", "message": ""});
    assert_eq!(
        serde_json::to_value(&plan).unwrap(),
        json!({
            "pool": "infra",
            "target": NEW,
            "paused": false,
            "max_unavailable": 1,
            "unavailable": [],
            "capacity": 1,
            "candidates": ["a"],
            "drains": [],
            "waiting": [{"node": "b", "reason": "a moves first"}],
            "conditions": [
                none("Updated"),
                {
                    "type": "Updating", "status": "True", "reason": "",
                    "message": "All nodes are updating to MachineConfig rendered-infra-2222",
                },
                none("NodeDegraded"),
                none("RenderDegraded"),
                none("Degraded"),
            ],
            "counts": {"machine": 2, "updated": 0, "ready": 0, "unavailable": 0, "degraded": 0},
        })
    );
}
