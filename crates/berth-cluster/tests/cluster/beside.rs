//! Beside OpenShift's operator: Berth does no harm, and gives the same answer.

use std::{fmt::Debug, time::Duration};

use berth_clock::Clock;
use berth_cluster::request_node;
use berth_decide::names;
use berth_labels::Flavour;
use berth_resources::{Berth, MachineConfig, MachineConfigPool, Phase};
use berth_testing::{Identity, first_boot_labelling};
use jiff::SignedDuration;
use k8s_openapi::{
    api::{coordination::v1::Lease, core::v1::Node},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use kube::{
    Api, Resource, ResourceExt as _,
    api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams},
    core::GroupVersionKind,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use self::{
    answers::{
        a_dump_of_the_cluster_says_whose_rules_hold, a_rendered_config_has_the_operators_name,
        machines_are_served_what_the_operator_serves, pools_are_counted_as_the_operator_counts_them,
    },
    machines::{a_deleted_machine_holds_up_no_rollout, a_machine_that_is_taken_away_is_let_go, machine_kind},
    returning::{
        a_machine_that_was_found_joins_in_the_role_it_is_installed_for,
        a_machine_that_was_off_registers_with_what_it_booted_with,
        the_operator_leaves_machines_alone_that_join_and_return,
    },
    systems::a_first_node_says_what_machines_with_its_image_say,
};
use crate::support::{Cluster, INFRA, Needs, STORAGE, WORKER, condition, from_json, has, lacks, on_both};

mod answers;
mod machines;
mod returning;
mod systems;

on_both! {
    Needs::NOTHING;
    machines_that_nobody_reserved_join_as_the_platform_wants,
    the_dead_do_not_come_back,
    a_machine_that_is_taken_away_is_let_go,
    a_machine_installed_anew_has_nothing_of_its_old_disk,
    a_moved_machine_stays_where_it_was_moved_to,
    taking_the_role_away_makes_a_worker,
    a_node_has_what_its_kubelet_would_have_registered,
    a_machine_that_was_off_registers_with_what_it_booted_with,
    a_machine_that_was_found_joins_in_the_role_it_is_installed_for,
    the_operator_leaves_machines_alone_that_join_and_return,
    a_deleted_machine_holds_up_no_rollout,
    a_first_node_says_what_machines_with_its_image_say,
    machines_are_served_what_the_operator_serves,
    a_rendered_config_has_the_operators_name,
    a_dump_of_the_cluster_says_whose_rules_hold,
    pools_are_counted_as_the_operator_counts_them,
}

const CURRENT: &str = "machineconfiguration.openshift.io/currentConfig";
const DESIRED: &str = "machineconfiguration.openshift.io/desiredConfig";

fn reason(berth: &Berth) -> Option<&str> {
    condition(berth, "Ready").map(|(_, reason)| reason)
}

fn is_vacant_for(expected: &'static str) -> impl Fn(&Berth) -> bool {
    move |berth| berth.phase() == Phase::Vacant && reason(berth) == Some(expected)
}

/// A kubelet fills its Node.
async fn report(cluster: &Cluster, name: &str, ready: bool) {
    fill(cluster, name, ready, &format!("id-{name}")).await;
}

/// A kubelet of an installation fills its Node.
async fn fill(cluster: &Cluster, name: &str, ready: bool, machine_id: &str) {
    let status = json!({"status": {
        "conditions": [{
            "type": "Ready", "status": if ready { "True" } else { "False" }, "reason": "Kubelet", "message": "",
            "lastHeartbeatTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z",
        }],
        "nodeInfo": {
            "kubeletVersion": "v1.36.4", "systemUUID": format!("uuid-{name}"), "machineID": machine_id,
            "architecture": "amd64", "bootID": "", "containerRuntimeVersion": "", "kernelVersion": "",
            "kubeProxyVersion": "", "operatingSystem": "linux", "osImage": "",
        },
    }});
    cluster
        .api::<Node>()
        .patch_status(name, &PatchParams::default(), &Patch::Strategic(status))
        .await
        .expect("a status");
}

/// A kubelet has renewed its Lease some seconds ago. A renewal counts for ten minutes, so that nothing depends on how fast a test is.
async fn renew(cluster: &Cluster, name: &str, ago: i64) {
    let leases: Api<Lease> = Api::namespaced(cluster.client.clone(), "kube-node-lease");
    let time = Clock::system().now() - SignedDuration::from_secs(ago);
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name, "namespace": "kube-node-lease"},
        "spec": {"holderIdentity": name, "leaseDurationSeconds": 600, "renewTime": MicroTime(time)},
    });
    let parameters = PatchParams::apply("kubelet").force();
    leases
        .patch(name, &parameters, &Patch::Apply(lease))
        .await
        .expect("a Lease");
}

async fn occupied(cluster: &Cluster, name: &str) {
    cluster
        .berth_with(name, "was occupied", |berth| berth.phase() == Phase::Occupied)
        .await;
}

/// Whether there is a Node. Whoever asks has seen what was decided about it.
async fn has_node(cluster: &Cluster, name: &str) -> bool {
    let node = cluster.api::<Node>().get_opt(name).await.expect("an answer");
    node.is_some()
}

/// Waits until the second is over in which the Node went: a heartbeat in it shows nothing.
async fn after_departure(cluster: &Cluster, name: &str) {
    let departed = |berth: &Berth| Some(berth.status.as_ref()?.departure.as_ref()?.time);
    let berth = cluster
        .berth_with(name, "departed", |berth| departed(berth).is_some())
        .await;
    let wait = departed(&berth).expect("a time").duration_since(Clock::system().now());
    tokio::time::sleep(wait.try_into().unwrap_or_default()).await;
}

async fn comes_back(cluster: &Cluster, name: &str) -> Node {
    cluster.node_with(name, "came back", |node| has(node, INFRA, "")).await
}

/// `install` does not break a cluster in which no Berth exists: what OpenShift's units register, and what pools that are not
/// reserved-only demand, is nobody's claim.
async fn machines_that_nobody_reserved_join_as_the_platform_wants(cluster: &mut Cluster) {
    // The API server itself lets no upstream kubelet set roles, so that these pools have other keys.
    for name in ["master", "control-plane", "arbiter", "edge"] {
        cluster.pool_of(name, json!({"example.com/role": name}), "").await;
    }
    cluster
        .reserved_pool_of("vault", json!({"example.com/role": "vault"}), "")
        .await;
    let controllers = cluster.controllers(|options| options.adopt = false);
    let register = async |name: &str, role: &str| {
        let client = cluster.client_of(&Identity::kubelet(name)).await;
        let node: Node = from_json(json!({"metadata": {"name": name, "labels": {"example.com/role": role}}}));
        Api::<Node>::all(client).create(&PostParams::default(), &node).await
    };
    // Once the pool that is reserved-only refuses, the policies are in force.
    let mut tries = 0;
    while register(&format!("thief-{tries}"), "vault").await.is_ok() {
        tries += 1;
        assert!(tries < 600, "nobody refuses it");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for role in ["master", "control-plane", "arbiter", "edge"] {
        let name = format!("new-{role}");
        register(&name, role)
            .await
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    controllers.stop().await;
}

async fn the_dead_do_not_come_back(cluster: &mut Cluster) {
    let machines = [
        ("alive", true, 1),
        ("broken", false, 1),
        ("silent", true, 900),
        ("fetching", false, 900),
        ("adopted", true, 900),
        ("adopted-alive", true, 1),
    ];
    for (name, _, renewed) in machines {
        renew(cluster, name, renewed).await;
        if name.starts_with("adopted") {
            cluster.node(name, json!({INFRA: ""})).await;
        } else {
            cluster
                .berth(name, json!({"pool": "infra", "preregister": "Now"}))
                .await;
        }
    }
    let controllers = cluster.controllers(|_| {});
    for (name, ready, _) in machines {
        cluster.node_with(name, "was there", |node| has(node, INFRA, "")).await;
        report(cluster, name, ready).await;
        occupied(cluster, name).await;
    }
    for (name, ..) in machines {
        cluster.delete_node(name).await;
    }
    for name in ["alive", "adopted-alive"] {
        comes_back(cluster, name).await;
    }
    for (name, why) in [
        ("broken", "NodeNotReady"),
        ("silent", "NoHeartbeat"),
        ("fetching", "NodeNotReady"),
        ("adopted", "NoHeartbeat"),
    ] {
        cluster.berth_with(name, why, is_vacant_for(why)).await;
        assert!(!has_node(cluster, name).await, "{name}");
    }

    // A machine shows itself: it fetches its Ignition, or its kubelet is heard of after all.
    let now = Clock::system().now();
    assert!(request_node(&cluster.client, "fetching", now).await.expect("an answer"));
    comes_back(cluster, "fetching").await;
    after_departure(cluster, "broken").await;
    renew(cluster, "broken", 0).await;
    comes_back(cluster, "broken").await;
    controllers.stop().await;
    assert!(!has_node(cluster, "silent").await && !has_node(cluster, "adopted").await);
}

async fn a_machine_installed_anew_has_nothing_of_its_old_disk(cluster: &mut Cluster) {
    let controllers = cluster.controllers(|options| options.flavour = Some(Flavour::Openshift));
    let machines = ["let-go", "came-back"];
    for name in machines {
        renew(cluster, name, 1).await;
        cluster
            .berth(name, json!({"pool": "infra", "preregister": "Now"}))
            .await;
        comes_back(cluster, name).await;
        let notes = Patch::Merge(
            json!({"metadata": {"annotations": {CURRENT: "rendered-infra-1", DESIRED: "rendered-infra-1"}}}),
        );
        cluster
            .api::<Node>()
            .patch(name, &PatchParams::default(), &notes)
            .await
            .expect("the daemon's notes");
        report(cluster, name, name == "came-back").await;
        cluster
            .berth_with(name, "remembered its config", |berth| {
                let status = berth.status.as_ref();
                status.is_some_and(|status| {
                    status.phase == Some(Phase::Occupied) && status.annotations.contains_key(CURRENT)
                })
            })
            .await;
        cluster.delete_node(name).await;
    }
    // The one that was alive has its notes again, and the other one is away.
    let restored = cluster
        .node_with("came-back", "had its notes again", |node| {
            node.annotations().contains_key(CURRENT)
        })
        .await;
    assert!(has(&restored, INFRA, ""));
    cluster
        .berth_with("let-go", "waits", is_vacant_for("NodeNotReady"))
        .await;
    cluster
        .berth_with("came-back", "noted that", |berth| {
            let status = berth.status.as_ref();
            status.is_some_and(|status| status.node_uid == restored.uid() && status.departure.is_some())
        })
        .await;
    let now = Clock::system().now();
    for name in machines {
        assert!(request_node(&cluster.client, name, now).await.expect("an answer"));
        let node = cluster
            .node_with(name, "had nothing of its old disk", |node| {
                !node.annotations().contains_key(CURRENT) && !node.annotations().contains_key(DESIRED)
            })
            .await;
        assert!(
            has(&node, INFRA, "") && has(&node, "tier", "infra"),
            "{:?}",
            node.labels()
        );
    }
    controllers.stop().await;
}

/// Gives a pool a rendered config and has it reached.
async fn rendered(cluster: &Cluster, pool: &str, config: &str, unit: &str, image: &str) {
    let pools: Api<MachineConfigPool> = cluster.api();
    let owner = pools.get(pool).await.expect("a pool");
    let object: MachineConfig = from_json(json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
        "metadata": {"name": config, "ownerReferences": [{
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool", "name": pool,
            "uid": owner.uid(), "controller": true,
        }]},
        "spec": {"osImageURL": image, "config": {
            "ignition": {"version": "3.4.0"},
            "systemd": {"units": [{"name": "kubelet.service", "enabled": true, "contents": unit}]},
        }},
    }));
    let configs: Api<MachineConfig> = cluster.api();
    configs.create(&PostParams::default(), &object).await.expect("a config");
    let spec = Patch::Merge(json!({"spec": {"configuration": {"name": config}}}));
    pools
        .patch(pool, &PatchParams::default(), &spec)
        .await
        .expect("a target");
    let status = Patch::Merge(json!({"status": {"configuration": {"name": config}}}));
    pools
        .patch_status(pool, &PatchParams::default(), &status)
        .await
        .expect("reached");
}

/// All objects of a kind, as the API server has them.
async fn objects<K>(cluster: &Cluster) -> Vec<Value>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Serialize,
{
    let all = cluster.api::<K>().list(&ListParams::default()).await.expect("a list");
    all.iter().map(|object| json!(object)).collect()
}

/// The operator's own labelling at first boot does not bring the old pool's role back.
async fn a_moved_machine_stays_where_it_was_moved_to(cluster: &mut Cluster) {
    for pool in ["worker", "infra", "storage"] {
        rendered(cluster, pool, &format!("rendered-{pool}-0123"), "", "").await;
    }
    let controllers = cluster.controllers(|options| options.flavour = Some(Flavour::Openshift));
    // Created by Berth, and created by its kubelet; each to be moved by its Berth, and by an administrator.
    for name in ["made-1", "made-2", "own-1", "own-2"] {
        if name.starts_with("own") {
            cluster.berth(name, json!({"pool": "infra"})).await;
            cluster
                .berth_with(name, "was reserved", |berth| berth.status.is_some())
                .await;
            cluster.node(name, json!({WORKER: ""})).await;
        } else {
            cluster
                .berth(name, json!({"pool": "infra", "preregister": "Now"}))
                .await;
        }
        comes_back(cluster, name).await;
        // Its daemon tells how it booted.
        let config = "rendered-infra-0123";
        let notes = json!({CURRENT: config, DESIRED: config, names::FIRST_PIVOT_CONFIG: config});
        let notes = Patch::Merge(json!({"metadata": {"annotations": notes, "labels": {WORKER: ""}}}));
        let api: Api<Node> = cluster.api();
        api.patch(name, &PatchParams::default(), &notes).await.expect("notes");
        report(cluster, name, true).await;
        cluster
            .node_with(name, "had its first labels by Berth", |node| {
                node.annotations().contains_key(names::CUSTOM_POOL_LABELS_APPLIED)
            })
            .await;
        occupied(cluster, name).await;
    }
    cluster.edit_berth("made-1", json!({"pool": "worker"})).await;
    cluster.edit_berth("own-1", json!({"pool": "storage"})).await;
    cluster.label("made-2", json!({INFRA: null, STORAGE: ""})).await;
    cluster.label("own-2", json!({INFRA: null})).await;
    for (name, pool) in [
        ("made-1", "worker"),
        ("own-1", "storage"),
        ("made-2", "storage"),
        ("own-2", "worker"),
    ] {
        cluster
            .node_with(name, "was moved", |node| {
                lacks(node, INFRA)
                    && lacks(node, "tier") == (pool == "worker")
                    && has(node, STORAGE, "") == (pool == "storage")
            })
            .await;
        cluster
            .berth_with(name, "had its new place", |berth| {
                berth.status.as_ref().and_then(|status| status.pool.as_deref()) == Some(pool)
            })
            .await;
    }
    controllers.stop().await;
    let pools = objects::<MachineConfigPool>(cluster).await;
    let configs = objects::<MachineConfig>(cluster).await;
    for name in ["made-1", "made-2", "own-1", "own-2"] {
        let mut node = json!(cluster.api::<Node>().get(name).await.expect("a Node"));
        assert_eq!(first_boot_labelling(&node, &pools, &configs), None, "{name}: {node}");
        // Without Berth's word it would be dragged back.
        let annotations = node["metadata"]["annotations"].as_object_mut().expect("annotations");
        annotations.remove(names::CUSTOM_POOL_LABELS_APPLIED);
        let dragged = first_boot_labelling(&node, &pools, &configs).expect("the operator's labels");
        assert_eq!(dragged["metadata"]["labels"], json!({INFRA: ""}));
    }
}

/// `oc label node X node-role.kubernetes.io/infra-` makes a worker of a Node.
async fn taking_the_role_away_makes_a_worker(cluster: &mut Cluster) {
    let controllers = cluster.controllers(|options| options.flavour = Some(Flavour::Openshift));
    for (name, spec) in [
        ("reserved", json!({"pool": "infra", "preregister": "Now"})),
        (
            "enforced",
            json!({"pool": "infra", "preregister": "Now", "poolPolicy": "enforce"}),
        ),
    ] {
        cluster.berth(name, spec).await;
    }
    cluster.node("found", json!({INFRA: "", WORKER: ""})).await;
    let machines = ["reserved", "found", "enforced"];
    for name in machines {
        comes_back(cluster, name).await;
        report(cluster, name, true).await;
        cluster
            .berth_with(name, "was settled", |berth| {
                berth.phase() == Phase::Occupied && condition(berth, "LabelsInSync") == Some(("True", "InSync"))
            })
            .await;
        cluster.label(name, json!({INFRA: null})).await;
    }
    for name in ["reserved", "found"] {
        let berth = cluster
            .berth_with(name, "followed", |berth| {
                berth.status.as_ref().and_then(|status| status.pool.as_deref()) == Some("worker")
                    && condition(berth, "PoolAssigned") == Some(("True", "Followed"))
            })
            .await;
        assert_eq!(reason(&berth), Some("InSync"));
        cluster
            .node_with(name, "was a worker", |node| {
                has(node, WORKER, "") && lacks(node, INFRA) && lacks(node, "tier")
            })
            .await;
    }
    cluster
        .node_with("enforced", "was put back", |node| has(node, INFRA, ""))
        .await;
    controllers.stop().await;
}

const UNIT: &str = "[Service]\nType=notify\nEnvironmentFile=/etc/os-release\nEnvironmentFile=-/etc/kubernetes/kubelet-env\n\
    ExecStart=/usr/bin/kubelet --node-labels=node-role.kubernetes.io/worker,node.openshift.io/os_id=${ID},\
    topology.kubernetes.io/zone=a,${CUSTOM_KUBELET_LABELS}\n";

async fn a_node_has_what_its_kubelet_would_have_registered(cluster: &mut Cluster) {
    let (os_id, zone) = ("node.openshift.io/os_id", "topology.kubernetes.io/zone");
    rendered(cluster, "infra", "rendered-infra-0123", UNIT, "").await;
    renew(cluster, "w1", 1).await;
    cluster
        .berth("w1", json!({"pool": "infra", "preregister": "Now"}))
        .await;
    let history = cluster.history().await;
    let controllers = cluster.controllers(|options| options.flavour = Some(Flavour::Openshift));
    let node = comes_back(cluster, "w1").await;
    let first = history.first_of("w1").await;
    assert!(
        has(&first, WORKER, "") && has(&first, zone, "a") && has(&first, "tier", "infra"),
        "{:?}",
        first.labels()
    );
    let owned = &first.annotations()[names::OWNED_LABELS];
    assert!(
        !owned.contains(WORKER) && !owned.contains(zone) && owned.contains(INFRA),
        "{owned}"
    );
    assert!(lacks(&first, os_id), "nobody knows it");

    // What the Node had comes back, also what only the machine knows.
    cluster.label("w1", json!({os_id: "rhel"})).await;
    report(cluster, "w1", true).await;
    cluster
        .berth_with("w1", "remembered it", |berth| {
            let status = berth.status.as_ref();
            status.is_some_and(|status| {
                status.phase == Some(Phase::Occupied) && status.registered_labels.contains_key(os_id)
            })
        })
        .await;
    cluster.delete_node("w1").await;
    let back = cluster
        .node_with("w1", "came back", |back| back.uid() != node.uid())
        .await;
    assert!(
        has(&back, os_id, "rhel") && has(&back, WORKER, "") && has(&back, zone, "a"),
        "{:?}",
        back.labels()
    );
    assert!(has(&back, INFRA, ""));

    // A move takes Berth's labels, and none of the kubelet's.
    cluster.edit_berth("w1", json!({"pool": "storage"})).await;
    let moved = cluster
        .node_with("w1", "was moved", |node| has(node, STORAGE, "") && lacks(node, INFRA))
        .await;
    assert!(
        has(&moved, WORKER, "") && has(&moved, zone, "a") && has(&moved, os_id, "rhel"),
        "{:?}",
        moved.labels()
    );
    controllers.stop().await;
}
