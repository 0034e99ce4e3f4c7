//! Machines that come back: from a place that was changed meanwhile, from another installation, in another role.

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
