//! A real kubelet gets its certificate with a token and registers with its labels.

use std::time::Duration;

use berth_testing::{BootstrapToken, ControlPlane, Credentials, Identity, Kubelet, KubeletOptions, Options, Programs};
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api,
    runtime::{
        WatchStreamExt as _,
        watcher::{self, watcher},
    },
};

/// The first version of the Node that fits.
async fn seen(nodes: &Api<Node>, kubelet: &mut Kubelet, fits: impl Fn(&Node) -> bool) -> Node {
    let config = watcher::Config::default();
    let mut versions = watcher(nodes.clone(), config)
        .default_backoff()
        .applied_objects()
        .boxed();
    let found = async {
        while let Some(node) = versions.try_next().await.unwrap() {
            if fits(&node) {
                return Some(node);
            }
        }
        None
    };
    match tokio::time::timeout(Duration::from_mins(2), found).await {
        Ok(node) => node.expect("a watch does not end"),
        Err(_) => {
            kubelet.check().unwrap();
            panic!("no such Node; the kubelet said:\n{}", kubelet.output())
        }
    }
}

fn is_filled(node: &Node) -> bool {
    let info = node.status.as_ref().and_then(|status| status.node_info.as_ref());
    info.is_some_and(|info| !info.kubelet_version.is_empty())
}

#[tokio::test]
async fn a_kubelet_registers_with_a_token_and_with_a_certificate() {
    let Some(programs) = Programs::for_test() else { return };
    if !Kubelet::possible_for_test() {
        return;
    }
    let options = Options {
        controllers: true,
        ..Options::default()
    };
    let plane = ControlPlane::start(&programs, options).await.unwrap();
    let token = BootstrapToken::new("aaaaaa", "0123456789abcdef");
    plane.create_bootstrap_token(&token, &[]).await.unwrap();
    plane.allow_bootstrap(true).await.unwrap();
    let nodes: Api<Node> = Api::all(plane.client(&Identity::admin()).await.unwrap());

    let options = |node: &str, credentials| KubeletOptions {
        node: node.to_owned(),
        credentials,
        node_labels: "node.kubernetes.io/pool=edge".to_owned(),
        arguments: Vec::new(),
    };
    let mut first = Kubelet::start(&programs, &plane, options("w1", Credentials::Bootstrap(token)))
        .await
        .unwrap();
    let mut second = Kubelet::start(&programs, &plane, options("w2", Credentials::Certificate))
        .await
        .unwrap();
    for (name, kubelet) in [("w1", &mut first), ("w2", &mut second)] {
        let node = seen(&nodes, kubelet, |node| {
            node.metadata.name.as_deref() == Some(name) && is_filled(node)
        })
        .await;
        let labels = node.metadata.labels.unwrap();
        assert_eq!(labels["node.kubernetes.io/pool"], "edge");
        assert_eq!(labels["kubernetes.io/hostname"], name);
    }

    // A Node that is deleted does not come back while its kubelet runs; it does when the kubelet is started again.
    second.kill().unwrap();
    nodes.delete("w2", &kube::api::DeleteParams::default()).await.unwrap();
    second.start_again().unwrap();
    seen(&nodes, &mut second, |node| {
        node.metadata.name.as_deref() == Some("w2") && is_filled(node)
    })
    .await;
}
