//! The Ignition server on a cluster, with the rights of an installation.

use std::path::Path;

use serde_json::{Value, json};

use super::{Cluster, label, patiently};
use crate::{
    ignition_server::{Server, file},
    run::{Folder, command},
};

/// Machine configs, pools, rules, Berths and kubelet configs are read with the installed account. A machine that fetches its
/// config is about to join, so its Node is made.
pub(super) fn machines_are_served_and_announced(cluster: &Cluster, account: &Path) {
    let motd = json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
        "metadata": {"name": "rendered-infra-1"},
        "spec": {"config": {"ignition": {"version": "3.4.0"}, "storage": {"files": [
            {"path": "/etc/motd", "mode": 420, "contents": {"source": "data:,welcome"}},
        ]}}},
    });
    let berth = json!({
        "apiVersion": "berth.dev/v1alpha1", "kind": "Berth", "metadata": {"name": "w3"},
        "spec": {"pool": "infra", "labels": {"example.com/tier": "three"}},
    });
    // The operator's own object, with the certificates that kubelets read.
    let controller = json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "ControllerConfig",
        "metadata": {"name": "machine-config-controller"},
        "spec": {
            "additionalTrustBundle": null, "baseOSContainerImage": "registry.example/os", "cloudProviderCAData": null,
            "cloudProviderConfig": "", "clusterDNSIP": "172.30.0.10", "dns": null, "images": {}, "infra": null,
            "ipFamilies": "IPv4", "kubeAPIServerServingCAData": "Q0E=", "network": null, "proxy": null,
            "releaseImage": "registry.example/release", "rootCAData": "Q0E=",
        },
    });
    for object in [motd, berth] {
        cluster.apply(&object);
    }
    // `kubectl apply` leaves nulls out, which the operator's definition asks for.
    let created = cluster.create(&controller, None);
    assert_eq!(created.exit, 0, "{created}");
    // As the operator beside Berth says what the pool's machines run.
    let spec = r#"{"spec":{"configuration":{"name":"rendered-infra-1"}}}"#;
    let status = r#"{"status":{"configuration":{"name":"rendered-infra-1"}}}"#;
    for words in [
        format!("patch mcp infra --type merge -p {spec}"),
        format!("patch mcp infra --subresource status --type merge -p {status}"),
    ] {
        let outcome = cluster.kubectl(&words);
        assert_eq!(outcome.exit, 0, "{outcome}");
    }
    let folder = Folder::new();
    let create = |scope: &str| {
        let made = folder.line(&format!("token create {scope} --token-file tokens.json"));
        format!("Authorization: Bearer {}\r\n", made.stdout.trim_end())
    };
    let (token, others) = (create("--node w3"), create("--any"));
    let mut berth = command();
    berth
        .args(["ignition-server", "--from-cluster", "--tokens"])
        .arg(folder.path().join("tokens.json"))
        .arg("--cluster-kubeconfig")
        .arg(account)
        .arg("--announce-to")
        .arg(account);
    let server = Server::start(&mut berth);
    let health = || -> Value { serde_json::from_str(&server.get("/healthz", "").1).unwrap() };
    patiently(
        || format!("the server is not well: {}", health()),
        |_| (health()["status"] == json!("ok")).then_some(()),
    );
    assert_eq!(cluster.get("node w3"), None, "nobody asked for it yet");
    assert_eq!(server.get("/node/w3", "").0, 401);
    assert_eq!(cluster.get("node w3"), None, "whoever has no token causes nothing");
    let config = server.config_with("/node/w3", &token);
    assert_eq!(file(&config, "/etc/motd").as_deref(), Some("welcome"));
    assert_eq!(file(&config, "/etc/kubernetes/kubelet-ca.crt").as_deref(), Some("CA"));
    let labels = file(&config, "/etc/berth/labels").unwrap();
    assert!(labels.contains("example.com/tier=three"), "{labels}");
    let node = cluster.wait_for("node w3", |node| {
        label(node, "node-role.kubernetes.io/infra") == Some("")
    });
    assert_eq!(label(&node, "example.com/tier"), Some("three"));
    // A fetch for a name that nobody reserved makes nothing.
    assert_eq!(server.get("/node/w4", &others).0, 404);
    assert_eq!(cluster.get("node w4"), None);
}
