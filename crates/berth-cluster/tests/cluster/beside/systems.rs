//! What operating systems call themselves.

use super::*;

/// The digest is what counts: a mirror has the same image.
fn image(registry: &str, digit: &str) -> String {
    format!("{registry}/os@sha256:{}", digit.repeat(64))
}

/// A machine's first Node has `node.openshift.io/os_id` where a machine that registered from the same image shows it.
pub(super) async fn a_first_node_says_what_machines_with_its_image_say(cluster: &mut Cluster) {
    for (pool, image) in [
        ("worker", image("quay.example", "0")),
        ("infra", image("mirror.example:5000", "0")),
        ("storage", image("quay.example", "1")),
    ] {
        rendered(cluster, pool, &format!("rendered-{pool}-0123"), UNIT, &image).await;
    }
    // A worker that registered itself. Its name is not reserved, and its daemon tells how it booted.
    cluster
        .node("old-worker", json!({WORKER: "", names::OS_ID: "rhcos"}))
        .await;
    let booted = json!({names::FIRST_PIVOT_CONFIG: "rendered-worker-0123", DESIRED: "rendered-worker-0123"});
    let booted = Patch::Merge(json!({"metadata": {"annotations": booted}}));
    let nodes: Api<Node> = cluster.api();
    nodes
        .patch("old-worker", &PatchParams::default(), &booted)
        .await
        .expect("notes");
    let history = cluster.history().await;
    for (name, pool) in [("w1", "infra"), ("s1", "storage")] {
        cluster.berth(name, json!({"pool": pool, "preregister": "Now"})).await;
    }
    let controllers = cluster.controllers(|options| options.flavour = Some(Flavour::Openshift));
    let known = history.first_of("w1").await;
    assert!(
        has(&known, names::OS_ID, "rhcos") && has(&known, WORKER, "") && has(&known, INFRA, ""),
        "{:?}",
        known.labels()
    );
    assert!(!known.annotations()[names::OWNED_LABELS].contains(names::OS_ID));
    let unknown = history.first_of("s1").await;
    assert!(
        lacks(&unknown, names::OS_ID) && has(&unknown, STORAGE, ""),
        "no machine with that image is known: {:?}",
        unknown.labels()
    );
    controllers.stop().await;
}
