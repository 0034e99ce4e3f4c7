//! Tests of the pure parts.

use std::{collections::BTreeMap, time::Duration};

use berth_labels::Flavour;
use berth_pools::{MachineConfig, annotation, plan_pool};
use jiff::Timestamp;
use k8s_openapi::api::{
    core::v1::{Pod, Taint},
    policy::v1::PodDisruptionBudget,
};
use serde_json::{Value, json};

use super::*;
use crate::{names, view::NodeView};

const OLD: &str = "rendered-infra-0";
const NEW: &str = "rendered-infra-1";

#[expect(
    clippy::needless_pass_by_value,
    reason = "a literal reads better without a reference"
)]
fn pool(spec: Value, status: Value) -> PoolView {
    PoolView::read(&json!({
        "metadata": {"name": "infra", "uid": "u", "resourceVersion": "7", "generation": 3},
        "spec": spec,
        "status": status,
    }))
}

fn member(name: &str, current: &str, desired: &str, state: &str) -> MemberView {
    MemberView::from(NodeView {
        name: name.to_owned(),
        uid: format!("uid-{name}"),
        resource_version: "1".to_owned(),
        annotations: [
            (annotation::CURRENT_CONFIG, current),
            (annotation::DESIRED_CONFIG, desired),
            (annotation::STATE, state),
            ("example.com/other", "kept out"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into(),
        ..NodeView::default()
    })
}

fn now(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn plan_of(pool: &PoolView, members: &[MemberView]) -> berth_pools::RolloutPlan {
    plan_pool(&rollout(pool, members.iter().cloned(), BTreeMap::new(), None))
}

fn condition(status: &berth_resources::MachineConfigPoolStatus, kind: &str) -> (String, String, i64) {
    let conditions = status.conditions.iter().flatten();
    let mut found = conditions.filter(|condition| condition.type_.as_deref() == Some(kind));
    let found = found.next().unwrap();
    let since = found.last_transition_time.unwrap().as_second();
    (found.status.clone().unwrap(), found.message.clone().unwrap(), since)
}

#[test]
fn several_changes_settle_into_one() {
    let second = Duration::from_secs;
    let mut settle = Settle::default();
    assert!(!settle.take(second(100)), "nothing changed");
    settle.changed(second(100), second(2));
    settle.changed(second(101), second(2));
    assert!(!settle.take(second(102)), "the second change came a second ago");
    assert!(settle.take(second(103)));
    assert!(!settle.take(second(104)), "once is enough");
    for at in 200..300 {
        settle.changed(second(at), second(2));
    }
    assert_eq!(settle.due(), Some(second(220)), "who never rests is not waited for");
}

#[test]
fn a_new_target_is_told_to_as_many_as_may_move_and_taints_the_rest() {
    let pool = pool(json!({"maxUnavailable": 2, "configuration": {"name": NEW}}), json!({}));
    let mut tainted = member("n4", OLD, OLD, "Done");
    tainted.taints = vec![
        Taint {
            key: "dedicated".to_owned(),
            effect: "NoSchedule".to_owned(),
            ..Taint::default()
        },
        Taint {
            key: UPDATE_IN_PROGRESS.to_owned(),
            effect: "PreferNoSchedule".to_owned(),
            ..Taint::default()
        },
    ];
    let mut settled = tainted.clone();
    settled.state = member("n5", NEW, NEW, "Done").state;
    let members = [
        member("n1", OLD, OLD, "Done"),
        member("n2", OLD, OLD, "Done"),
        member("n3", OLD, OLD, "Done"),
        tainted,
        settled,
        member("n6", "", "", ""),
    ];
    let plan = plan_of(&pool, &members);
    let changes = changes(&plan, members.iter().cloned());
    let brief: Vec<(&str, bool, Option<bool>)> = changes
        .iter()
        .map(|change| (change.node.as_str(), change.desired.is_some(), change.tainted))
        .collect();
    assert_eq!(
        brief,
        [
            ("n1", true, None),
            ("n2", true, None),
            ("n3", false, Some(true)),
            ("n5", false, Some(false)),
        ],
        "n4 has the taint, and nobody knows anything of n6"
    );
    assert_eq!(
        changes[0].patch(&members[0]).to_value(),
        json!({"metadata": {"uid": "uid-n1", "annotations": {annotation::DESIRED_CONFIG: NEW}}}),
        "only the keys concerned"
    );
    assert_eq!(
        changes[3].patch(&members[4]).to_value()["spec"]["taints"],
        json!([{"key": "dedicated", "effect": "NoSchedule"}]),
        "taints of others stay"
    );
    assert_eq!(
        changes[3].patch(&members[4]).to_value()["metadata"]["resourceVersion"],
        "1"
    );
}

#[test]
fn a_paused_pool_writes_to_no_node_but_counts_them() {
    let pool = pool(
        json!({"paused": true, "maxUnavailable": 2, "configuration": {"name": NEW}}),
        json!({}),
    );
    let members = [member("n1", OLD, OLD, "Done"), member("n2", NEW, NEW, "Done")];
    let plan = plan_of(&pool, &members);
    assert_eq!(changes(&plan, members.iter().cloned()), []);
    let (status, notes) = status(&pool, &plan, now(100));
    assert_eq!(status.machine_count, Some(2));
    assert_eq!(status.updated_machine_count, Some(1));
    assert_eq!(status.observed_generation, Some(3));
    assert_eq!(
        condition(&status, "Updating").1,
        format!("Pool is paused; will not update to MachineConfig {NEW}")
    );
    assert_eq!(notes, []);
}

#[test]
fn the_status_is_written_only_when_it_changes_and_keeps_its_times() {
    let mut pool = pool(
        json!({"configuration": {"name": NEW, "source": [{"name": "00-worker"}]}}),
        json!({"conditions": [{"type": "BuildPending", "status": "False"}], "configuration": {"name": OLD}}),
    );
    let moving = [member("n1", OLD, NEW, "Working")];
    let (first, notes) = status(&pool, &plan_of(&pool, &moving), now(100));
    assert_eq!(notes.len(), 1);
    assert_eq!(
        notes[0].message,
        format!("Pool infra now targeting MachineConfig {NEW}")
    );
    assert_eq!(first.configuration.as_ref().unwrap().name.as_deref(), Some(OLD));
    pool.status = first.clone();
    let (again, notes) = status(&pool, &plan_of(&pool, &moving), now(200));
    assert_eq!((again, notes), (first, vec![]), "nothing changed, so nothing differs");

    let done = [member("n1", NEW, NEW, "Done")];
    let (last, notes) = status(&pool, &plan_of(&pool, &done), now(300));
    assert_eq!(
        notes[0].message,
        format!("Pool infra has completed update to MachineConfig {NEW}")
    );
    let configuration = last.configuration.clone().unwrap();
    assert_eq!(configuration.name.as_deref(), Some(NEW));
    assert_eq!(configuration.source.unwrap()[0].name.as_deref(), Some("00-worker"));
    assert_eq!(
        condition(&last, "Updated"),
        (
            "True".to_owned(),
            format!("All nodes are updated with MachineConfig {NEW}"),
            300
        )
    );
    assert_eq!(
        condition(&last, "Degraded").2,
        100,
        "what did not change keeps its time"
    );
    let kinds: Vec<_> = last
        .conditions
        .iter()
        .flatten()
        .filter_map(|one| one.type_.as_deref())
        .collect();
    assert_eq!(
        kinds,
        [
            "BuildPending",
            "Updated",
            "Updating",
            "NodeDegraded",
            "RenderDegraded",
            "Degraded"
        ],
        "conditions of others stay"
    );
}

#[test]
fn a_senseless_limit_holds_the_pool_and_says_so() {
    let pool = pool(
        json!({"maxUnavailable": "2", "configuration": {"name": NEW}}),
        json!({}),
    );
    let members = [member("n1", OLD, OLD, "Done")];
    let plan = plan_of(&pool, &members);
    assert_eq!(changes(&plan, members.iter().cloned()), []);
    let (status, _) = status(&pool, &plan, now(100));
    let (degraded, message, _) = condition(&status, "Degraded");
    assert_eq!(degraded, "True");
    assert!(message.contains("without quotes"), "{message}");
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "a literal reads better without a reference"
)]
fn input(name: &str, role: &str, spec: Value) -> MachineConfig {
    MachineConfig::from_json(&json!({
        "metadata": {"name": name, "labels": {"machineconfiguration.openshift.io/role": role}},
        "spec": spec,
    }))
    .unwrap()
}

#[test]
fn a_pool_is_rendered_from_what_it_selects_or_says_why_not() {
    let selector =
        json!({"machineConfigSelector": {"matchLabels": {"machineconfiguration.openshift.io/role": "infra"}}});
    let infra = pool(selector, json!({}));
    let inputs = [
        input("50-infra", "infra", json!({"kernelArguments": ["quiet"]})),
        input("50-other", "other", json!({})),
    ];
    let Rendering::Done(rendered) = render(&infra, &inputs, None, Flavour::Upstream) else {
        panic!("it can be rendered");
    };
    assert_eq!(rendered.sources, ["50-infra"]);
    let object = object(&rendered, &infra);
    let ConfigView::Rendered(view) = ConfigView::read(&object).unwrap() else {
        panic!("what Berth rendered is known as rendered");
    };
    assert!(view.is_ours() && !view.deleting);
    assert_eq!(object["metadata"]["ownerReferences"][0]["name"], "infra");
    assert!(
        object["metadata"]["annotations"][berth_pools::GENERATED_BY]
            .as_str()
            .unwrap()
            .starts_with("berth-")
    );

    assert!(
        matches!(render(&infra, &inputs[1..], None, Flavour::Upstream), Rendering::Failed(why) if why.starts_with("no MachineConfigs found"))
    );
    let all = pool(json!({"machineConfigSelector": {}}), json!({}));
    assert_eq!(render(&all, &inputs, None, Flavour::Upstream), Rendering::SelectingAll);
    let none = pool(json!({}), json!({}));
    assert!(matches!(
        render(&none, &inputs, None, Flavour::Upstream),
        Rendering::Failed(_)
    ));

    let fips = input("60-infra", "infra", json!({"fips": true}));
    let Rendering::Done(new) = render(&infra, [&inputs[0], &fips], None, Flavour::Upstream) else {
        panic!("it can be rendered");
    };
    assert!(reconcilable(&object, &rendered, &inputs[..1]).is_ok());
    assert!(
        reconcilable(&object, &new, [&inputs[0], &fips]).is_err(),
        "running nodes cannot take it"
    );
}

#[test]
fn what_would_lose_the_labels_of_a_pool_is_not_rendered() {
    let role = "machineconfiguration.openshift.io/role";
    let spec = json!({
        "machineConfigSelector": {"matchLabels": {role: "infra"}},
        "nodeSelector": {"matchLabels": {"example.com/infra": ""}},
    });
    let kubelet = |command: &str| {
        let unit = format!("[Service]\nExecStart=/usr/bin/kubelet {command}\n");
        let units = json!([{"name": "kubelet.service", "contents": unit}]);
        json!({"config": {"ignition": {"version": "3.4.0"}, "systemd": {"units": units}}})
    };
    let infra = pool(spec, json!({}));
    for (command, flavour, wanted) in [
        ("--node-labels=example.com/infra=", Flavour::Upstream, None),
        (
            "--v=6",
            Flavour::Upstream,
            Some("50-kubelet `kubelet.service`, line 2: "),
        ),
        (
            "--node-labels=example.com/infra=,node-role.kubernetes.io/worker",
            Flavour::Upstream,
            Some("the kubelet must not set the label node-role.kubernetes.io/worker"),
        ),
        (
            "--node-labels=example.com/infra=,node-role.kubernetes.io/worker",
            Flavour::Openshift,
            None,
        ),
    ] {
        let inputs = [input("50-kubelet", "infra", kubelet(command))];
        match (render(&infra, &inputs, None, flavour), wanted) {
            (Rendering::Done(_), None) => {}
            (Rendering::Failed(why), Some(words)) => assert!(why.contains(words), "{why}"),
            (other, _) => panic!("{command}: {other:?}"),
        }
    }
}

#[test]
fn before_the_first_rendering_the_status_stands() {
    let status = json!({"conditions": [{
        "type": "RenderDegraded", "status": "True",
        "message": "Failed to render configuration for pool infra: no luck",
    }]});
    let pool = pool(json!({}), status);
    assert_eq!(render_error(&pool, None).as_deref(), Some("no luck"));
    let why = "other".to_owned();
    assert_eq!(render_error(&pool, Some(&Rendering::Failed(why.clone()))), Some(why));
}

#[test]
fn daemons_ask_by_annotation() {
    let ask = |desired: &str, applied: &str| {
        let mut node = member("n1", OLD, NEW, "Working").state;
        node.annotations
            .insert(annotation::DESIRED_DRAIN.to_owned(), desired.to_owned());
        node.annotations
            .insert(annotation::LAST_APPLIED_DRAIN.to_owned(), applied.to_owned());
        DrainRequest::of(&node)
    };
    let text = str::to_owned;
    assert_eq!(ask("drain-a", ""), Some(DrainRequest::Drain(text("drain-a"))));
    assert_eq!(ask("drain-a", "uncordon-a"), Some(DrainRequest::Drain(text("drain-a"))));
    assert_eq!(
        ask("uncordon-a", "drain-a"),
        Some(DrainRequest::Uncordon(text("uncordon-a")))
    );
    assert_eq!(ask("dance-a", ""), Some(DrainRequest::Unknown(text("dance-a"))));
    assert_eq!(ask("drain-a", "drain-a"), None);
    assert_eq!(ask("", ""), None);
}

#[test]
fn pods_of_the_node_itself_stay() {
    let pod = |metadata: Value| serde_json::from_value::<Pod>(json!({"metadata": metadata})).unwrap();
    let owner = |kind: &str, controller: bool| json!([{"apiVersion": "apps/v1", "kind": kind, "name": "o", "uid": "u", "controller": controller}]);
    let pods = [
        pod(json!({"namespace": "a", "name": "plain"})),
        pod(json!({"namespace": "a", "name": "set", "ownerReferences": owner("ReplicaSet", true)})),
        pod(json!({"namespace": "a", "name": "agent", "ownerReferences": owner("DaemonSet", true)})),
        pod(json!({"namespace": "a", "name": "static", "annotations": {"kubernetes.io/config.mirror": "x"}})),
        pod(json!({"namespace": "a", "name": "leaving", "deletionTimestamp": "2026-01-01T00:00:00Z"})),
    ];
    let left = to_evict(&pods);
    let names: Vec<(&str, bool)> = left.iter().map(|pod| (pod.name.as_str(), pod.terminating)).collect();
    assert_eq!(names, [("plain", false), ("set", false), ("leaving", true)]);
    let refusals = BTreeMap::from([("a/set".to_owned(), "Cannot evict.".to_owned())]);
    assert_eq!(
        describe_blocked(3, &refusals),
        "3 Pods are still to go; a/set: Cannot evict"
    );
}

#[test]
fn a_budget_is_spent_before_the_server_is_asked() {
    let budget = |name: &str, app: &str, allowed: i32, observed: i64| {
        serde_json::from_value::<PodDisruptionBudget>(json!({
            "metadata": {"namespace": "a", "name": name, "generation": 2},
            "spec": {"selector": {"matchLabels": {"app": app}}},
            "status": {
                "observedGeneration": observed, "disruptionsAllowed": allowed, "currentHealthy": 3, "desiredHealthy": 2,
                "expectedPods": 3,
            },
        }))
        .unwrap()
    };
    let mut budgets = Budgets::default();
    budgets.extend(&[budget("web", "web", 1, 2), budget("db", "db", 5, 1)]);
    let pod = |namespace: &str, app: &str, serves: bool| PodView {
        namespace: namespace.to_owned(),
        labels: BTreeMap::from([("app".to_owned(), app.to_owned())]),
        serves,
        ..PodView::default()
    };
    assert_eq!(budgets.spend(&pod("a", "web", true)), Ok(()));
    let why = budgets.spend(&pod("a", "web", true)).unwrap_err();
    assert!(
        why.ends_with("The disruption budget web needs 2 healthy pods and has 3 currently"),
        "{why}"
    );
    assert_eq!(budgets.spend(&pod("a", "web", false)), Ok(()), "it is not a loss");
    assert_eq!(budgets.spend(&pod("b", "web", true)), Ok(()), "another namespace");
    let why = budgets.spend(&pod("a", "db", true)).unwrap_err();
    assert!(why.contains("still being processed"), "{why}");
}

#[test]
fn pods_that_will_not_go_by_themselves_are_found() {
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    let pod = |name: &str, app: &str, deleted: Option<&str>| {
        serde_json::from_value::<Pod>(json!({
            "metadata": {
                "namespace": "a", "name": name, "uid": name, "labels": {"app": app}, "deletionTimestamp": deleted,
            },
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
        }))
        .unwrap()
    };
    // How many there are, how many are healthy, and since when nothing is allowed.
    let budget = |name: &str, healthy: i32, expected: i32, since: &str| {
        serde_json::from_value::<PodDisruptionBudget>(json!({
            "metadata": {"namespace": "a", "name": name, "generation": 1},
            "spec": {"selector": {"matchLabels": {"app": name}}},
            "status": {
                "observedGeneration": 1, "disruptionsAllowed": 0, "currentHealthy": healthy, "desiredHealthy": 2,
                "expectedPods": expected,
                "conditions": [{
                    "type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods", "message": "",
                    "lastTransitionTime": since,
                }],
            },
        }))
        .unwrap()
    };
    let mut budgets = Budgets::default();
    budgets.extend(&[
        budget("all", 2, 2, "2026-01-01T11:59:00Z"),
        budget("soon", 2, 3, "2026-01-01T11:59:00Z"),
        budget("broken", 2, 3, "2026-01-01T11:00:00Z"),
    ]);
    let pods = [
        pod("all-0", "all", None),
        pod("soon-0", "soon", None),
        pod("broken-0", "broken", None),
        pod("free-0", "free", None),
        pod("leaving-0", "free", Some("2026-01-01T11:59:00Z")),
        pod("hangs-0", "free", Some("2026-01-01T11:00:00Z")),
    ];
    let stuck = stuck_pods(&pods, &budgets, at("2026-01-01T12:00:00Z"));
    let found: Vec<(&str, &str, bool)> = stuck
        .iter()
        .map(|pod| (pod.name.as_str(), pod.why.as_str(), pod.held))
        .collect();
    assert_eq!(
        found,
        [
            (
                "all-0",
                "the disruption budget all allows no disruption (healthy: 2 of 2, needed: 2)",
                true
            ),
            (
                "broken-0",
                "the disruption budget broken allows no disruption (healthy: 2 of 3, needed: 2)",
                true
            ),
            ("hangs-0", "it should have ended at 2026-01-01T11:00:00Z", false),
        ]
    );
}

#[test]
fn attempts_come_less_often_while_nothing_moves() {
    let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(5));
    let waits: Vec<u64> = [false, false, false, false, true, false]
        .map(|progress| backoff.wait(progress).as_secs())
        .into();
    assert_eq!(waits, [1, 2, 4, 5, 1, 2]);
}

#[test]
fn a_rendered_config_goes_when_nobody_has_referred_to_it_for_a_while() {
    let view = |name: &str, finalizer: &str, since: Option<i64>| RenderedView {
        name: name.to_owned(),
        finalizers: vec![finalizer.to_owned()],
        unused_since: since.map(now),
        ..RenderedView::default()
    };
    let configs = [
        view("rendered-a-used", names::IN_USE, None),
        view("rendered-a-again", names::IN_USE, Some(10)),
        view("rendered-a-new", names::IN_USE, None),
        view("rendered-a-waits", names::IN_USE, Some(90)),
        view("rendered-a-old", names::IN_USE, Some(10)),
        view("rendered-a-foreign", "example.com/other", Some(10)),
    ];
    let used = references([
        (annotation::CURRENT_CONFIG, "rendered-a-used"),
        (annotation::DESIRED_DRAIN, "drain-rendered-a-again"),
        ("example.com/note", "rendered-a-old"),
    ]);
    let collected = collect(&configs, &used, now(100), Duration::from_mins(1));
    assert_eq!(
        collected.work,
        [
            Collection::Unmark("rendered-a-again".to_owned()),
            Collection::Mark("rendered-a-new".to_owned()),
            Collection::Remove(configs[4].clone()),
        ]
    );
    assert_eq!(collected.next, Some(now(150)));
}
