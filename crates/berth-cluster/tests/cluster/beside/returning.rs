//! Machines that come back: from a place that was changed meanwhile, from another installation, in another role.

use berth_testing::operator::{self, DaemonVerdict, Disk};

use super::*;

const ROLE: &str = "example.com/role";

/// Creates a Node as its kubelet does.
async fn register(cluster: &Cluster, name: &str, labels: &Value) -> kube::Result<Node> {
    let client = cluster.client_of(&Identity::kubelet(name)).await;
    let node: Node = from_json(json!({"metadata": {"name": name, "labels": labels}}));
    Api::<Node>::all(client).create(&PostParams::default(), &node).await
}

/// The API server takes up places a moment after they are written, so that a kubelet, which tries again, may be refused at first.
async fn registers(cluster: &Cluster, name: &str, labels: Value) -> Node {
    let mut last = None;
    for _ in 0..600 {
        match register(cluster, name, &labels).await {
            Ok(node) => return node,
            Err(error) => last = Some(error),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("{name} cannot register: {last:?}");
}

/// Waits until policies and places are in force: what is not a machine's own is refused.
async fn is_refused(cluster: &Cluster, name: &str, labels: Value) {
    for _ in 0..600 {
        match register(cluster, name, &labels).await {
            Err(kube::Error::Api(status)) if status.code == 403 => return,
            Ok(_) => cluster.delete_node(name).await,
            Err(error) => panic!("{name}: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("nobody refuses {name} with {labels}");
}

/// Pools whose labels a kubelet may set on every API server.
async fn own_pools(cluster: &Cluster, names: &[&str]) {
    for name in names {
        cluster
            .pool_of(name, json!({ROLE: name}), &format!("example.com/of-{name}=yes"))
            .await;
    }
}

/// The machine was switched off: its kubelet had stopped when its Node went.
async fn goes_away(cluster: &Cluster, name: &str) {
    report(cluster, name, false).await;
    occupied(cluster, name).await;
    cluster.delete_node(name).await;
    cluster.berth_with(name, "waits", is_vacant_for("NodeNotReady")).await;
}

pub(super) async fn a_machine_that_was_off_registers_with_what_it_booted_with(cluster: &mut Cluster) {
    own_pools(cluster, &["edge", "yard", "vault"]).await;
    for name in ["w1", "w2"] {
        cluster.berth(name, json!({"pool": "edge", "preregister": "Now"})).await;
    }
    let controllers = cluster.controllers(|options| options.adopt = false);
    let booted = json!({ROLE: "edge", "example.com/of-edge": "yes", "example.com/own": "1"});
    for name in ["w1", "w2"] {
        cluster
            .node_with(name, "was there", |node| has(node, ROLE, "edge"))
            .await;
        goes_away(cluster, name).await;
    }
    // One moves while it is off, and of the other one nobody says where it is now but its second Berth.
    cluster.edit_berth("w1", json!({"pool": "yard"})).await;
    cluster.berth("next", json!({"pool": "yard", "nodeName": "w2"})).await;
    cluster.edit_berth("w2", json!({"release": true})).await;
    for name in ["w1", "next"] {
        cluster
            .berth_with(name, "was moved", |berth| {
                berth.status.as_ref().and_then(|status| status.pool.as_deref()) == Some("yard")
            })
            .await;
    }
    is_refused(cluster, "w1", json!({ROLE: "vault"})).await;
    is_refused(cluster, "w2", booted.clone()).await;

    let first = registers(cluster, "w1", booted.clone()).await;
    let node = cluster
        .node_with("w1", "was put right", |node| {
            has(node, ROLE, "yard") && has(node, "example.com/of-yard", "yes") && lacks(node, "example.com/of-edge")
        })
        .await;
    assert_eq!(node.uid(), first.uid());
    assert!(has(&node, "example.com/own", "1"), "{:?}", node.labels());
    report(cluster, "w1", true).await;
    cluster
        .berth_with("w1", "was settled", |berth| {
            berth.phase() == Phase::Occupied && reason(berth) == Some("InSync")
        })
        .await;
    // On a Node that is there, the old labels would be a move.
    let kubelet = cluster.client_of(&Identity::kubelet("w1")).await;
    let again = Patch::Merge(json!({"metadata": {"labels": {ROLE: "edge"}}}));
    let again = Api::<Node>::all(kubelet)
        .patch("w1", &PatchParams::default(), &again)
        .await;
    assert!(
        matches!(&again, Err(kube::Error::Api(status)) if status.code == 403),
        "{again:?}"
    );
    controllers.stop().await;
}

/// A Node of a machine that nobody reserved is found, goes, and its machine is installed as another one.
pub(super) async fn a_machine_that_was_found_joins_in_the_role_it_is_installed_for(cluster: &mut Cluster) {
    let pools: Api<MachineConfigPool> = cluster.api();
    // The API server itself lets no upstream kubelet set roles, so that these pools have other keys.
    pools.delete("worker", &DeleteParams::default()).await.expect("deleted");
    own_pools(cluster, &["worker", "master", "edge"]).await;
    cluster.reserved_pool_of("vault", json!({ROLE: "vault"}), "").await;
    for name in ["found", "kept"] {
        cluster.node(name, json!({ROLE: "worker"})).await;
    }
    cluster
        .berth("reserved", json!({"pool": "worker", "preregister": "Now"}))
        .await;
    let controllers = cluster.controllers(|options| options.flavour = Some(Flavour::Openshift));
    for name in ["found", "kept", "reserved"] {
        cluster
            .node_with(name, "was a worker", |node| has(node, "example.com/of-worker", "yes"))
            .await;
        goes_away(cluster, name).await;
    }
    is_refused(cluster, "reserved", json!({ROLE: "vault"})).await;
    is_refused(cluster, "reserved", json!({ROLE: "master"})).await;
    for (name, role) in [("found", "master"), ("kept", "worker")] {
        registers(cluster, name, json!({ROLE: role})).await;
        report(cluster, name, true).await;
        cluster
            .berth_with(name, "followed its kubelet", |berth| {
                berth.status.as_ref().and_then(|status| status.pool.as_deref()) == Some(role)
                    && reason(berth) == Some("InSync")
            })
            .await;
        let node = cluster
            .node_with(name, "had its labels", |node| {
                has(node, &format!("example.com/of-{role}"), "yes")
            })
            .await;
        assert!(has(&node, ROLE, role), "{:?}", node.labels());
        let other = if role == "master" { "worker" } else { "master" };
        assert!(lacks(&node, &format!("example.com/of-{other}")), "{:?}", node.labels());
    }
    // Once it is there, its kubelet takes nothing more.
    let kubelet = cluster.client_of(&Identity::kubelet("kept")).await;
    let more = Patch::Merge(json!({"metadata": {"labels": {ROLE: "master"}}}));
    let more = Api::<Node>::all(kubelet)
        .patch("kept", &PatchParams::default(), &more)
        .await;
    assert!(
        matches!(&more, Err(kube::Error::Api(status)) if status.code == 403),
        "{more:?}"
    );
    controllers.stop().await;
}

const OLD: &str = "rendered-infra-old";
const NEW: &str = "rendered-infra-0123";

/// A Node as the API server has it.
async fn live(cluster: &Cluster, name: &str) -> Value {
    json!(cluster.api::<Node>().get(name).await.expect("a Node"))
}

/// What the operator does with a machine of a cluster whose pools have their targets.
struct Operator {
    pools: Vec<Value>,
    configs: Vec<Value>,
}

impl Operator {
    async fn of(cluster: &Cluster) -> Self {
        Self {
            pools: objects::<MachineConfigPool>(cluster).await,
            configs: objects::<MachineConfig>(cluster).await,
        }
    }

    /// The daemon starts on this disk, and its controller looks at the Node then: it is in the pool `infra`, has nothing to do, and
    /// nobody moves it.
    async fn leaves_it_alone(&self, cluster: &Cluster, name: &str, disk: Disk<'_>) {
        // It is a Pod, which a kubelet starts.
        report(cluster, name, true).await;
        occupied(cluster, name).await;
        let (verdict, notes) = operator::daemon_start(&live(cluster, name).await, disk, &self.configs);
        assert_eq!(verdict, DaemonVerdict::Done, "{name}");
        let api: Api<Node> = cluster.api();
        let parameters = PatchParams::default();
        api.patch(name, &parameters, &Patch::Merge(notes)).await.expect("noted");
        cluster
            .berth_with(name, "was settled", |berth| {
                let status = berth.status.as_ref();
                let remembers = |key| status.is_some_and(|status| status.annotations.contains_key(key));
                berth.phase() == Phase::Occupied && reason(berth) == Some("InSync") && remembers(DESIRED)
            })
            .await;
        let node = live(cluster, name).await;
        assert_eq!(operator::pool_of(&node, &self.pools), Ok(Some("infra")), "{name}");
        let seen = operator::node_verdict(&node);
        assert!(
            seen.done && seen.ready && !seen.degraded && !seen.unavailable,
            "{name}: {seen:?}"
        );
        for pool in &self.pools {
            let all = [node.clone()];
            assert_eq!(
                operator::next_of(pool, 9, &self.pools, &all),
                [""; 0],
                "{name}: it would reboot again"
            );
        }
        assert_eq!(first_boot_labelling(&node, &self.pools, &self.configs), None, "{name}");
    }
}

/// Machines that join, return and are installed anew, asked of the operator's rules: none is Degraded, and none reboots once more.
pub(super) async fn the_operator_leaves_machines_alone_that_join_and_return(cluster: &mut Cluster) {
    for (pool, config) in [("worker", "rendered-worker-0123"), ("infra", NEW)] {
        rendered(cluster, pool, config, "", "").await;
    }
    let old: MachineConfig = from_json(json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig", "metadata": {"name": OLD},
        "spec": {"config": {"ignition": {"version": "3.4.0"}}},
    }));
    cluster
        .api::<MachineConfig>()
        .create(&PostParams::default(), &old)
        .await
        .expect("a config");
    let asked = Operator::of(cluster).await;
    let controllers = cluster.controllers(|options| options.flavour = Some(Flavour::Openshift));
    let machines = ["joins", "returns", "installed-anew", "installed-later"];
    for name in machines {
        renew(cluster, name, 1).await;
        cluster
            .berth(name, json!({"pool": "infra", "preregister": "Now"}))
            .await;
        comes_back(cluster, name).await;
        // Every machine joins for the first time here.
        asked.leaves_it_alone(cluster, name, Disk::installed(NEW)).await;
    }

    // A living machine whose Node is deleted: without what its daemon noted it would be Degraded.
    let first = live(cluster, "returns").await;
    cluster.delete_node("returns").await;
    comes_back(cluster, "returns").await;
    let back = live(cluster, "returns").await;
    assert_ne!(first["metadata"]["uid"], back["metadata"]["uid"]);
    let mut bare = back.clone();
    bare["metadata"]["annotations"] = json!({});
    let (verdict, _) = operator::daemon_start(&bare, Disk::used(NEW), &asked.configs);
    assert!(matches!(verdict, DaemonVerdict::Degraded(_)), "{verdict:?}");
    asked.leaves_it_alone(cluster, "returns", Disk::used(NEW)).await;

    // Machines of an older config, which are installed anew with the one of now: one is seen to ask, the other one is not, and its Node
    // has been given back what the old daemon noted.
    for name in ["installed-anew", "installed-later"] {
        let notes = Patch::Merge(json!({"metadata": {"annotations": {CURRENT: OLD, DESIRED: OLD}}}));
        let api: Api<Node> = cluster.api();
        api.patch(name, &PatchParams::default(), &notes).await.expect("noted");
        cluster
            .berth_with(name, "remembered it", |berth| {
                let status = berth.status.as_ref();
                status.is_some_and(|status| status.annotations.get(CURRENT).is_some_and(|config| config == OLD))
            })
            .await;
    }
    goes_away(cluster, "installed-anew").await;
    let now = Clock::system().now();
    assert!(
        request_node(&cluster.client, "installed-anew", now)
            .await
            .expect("an answer")
    );
    comes_back(cluster, "installed-anew").await;
    asked
        .leaves_it_alone(cluster, "installed-anew", Disk::installed(NEW))
        .await;

    let name = "installed-later";
    cluster.delete_node(name).await;
    cluster
        .node_with(name, "had its notes again", |node| {
            node.annotations().get(CURRENT).is_some_and(|config| config == OLD)
        })
        .await;
    let (verdict, _) = operator::daemon_start(&live(cluster, name).await, Disk::installed(NEW), &asked.configs);
    assert!(matches!(verdict, DaemonVerdict::Degraded(_)), "{verdict:?}");
    cluster
        .berth_with(name, "noted that", |berth| {
            berth.status.as_ref().is_some_and(|status| status.departure.is_some())
        })
        .await;
    fill(cluster, name, true, "another").await;
    cluster
        .node_with(name, "had nothing of its old disk", |node| {
            !node.annotations().contains_key(CURRENT) && !node.annotations().contains_key(DESIRED)
        })
        .await;
    let (verdict, notes) = operator::daemon_start(&live(cluster, name).await, Disk::installed(NEW), &asked.configs);
    assert_eq!(verdict, DaemonVerdict::Done);
    let api: Api<Node> = cluster.api();
    api.patch(name, &PatchParams::default(), &Patch::Merge(notes))
        .await
        .expect("noted");
    cluster
        .berth_with(name, "remembered the new one", |berth| {
            let status = berth.status.as_ref();
            status.is_some_and(|status| status.annotations.get(CURRENT).is_some_and(|config| config == NEW))
        })
        .await;
    assert_eq!(live(cluster, name).await["metadata"]["annotations"][CURRENT], NEW);
    controllers.stop().await;
}
