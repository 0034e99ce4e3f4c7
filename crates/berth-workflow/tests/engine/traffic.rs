//! Dry runs that begin with what carries traffic in the cluster, on the embedded API and on a real one.

use berth_api::MovesFrom;
use berth_decide::Strategy;
use berth_store::LabelMemory;
use berth_testing::{ControlPlane, Identity};
use berth_workflow::WorkflowOptions;
use k8s_openapi::api::core::v1::Node;
use kube::api::DeleteParams;
use serde_json::{Value, json};

use crate::{
    submit::{Desk, SITE, request},
    world::Embedded,
};

/// Who reads the guide gives the server these rights, so the test does too.
const GUIDE: &str = include_str!("../../../../docs/guides/relabel.md");

#[tokio::test(flavor = "multi_thread")]
async fn on_the_embedded_api() {
    let cluster = Embedded::start().await;
    let client = cluster.client();
    let prepare = async || {
        define(&client, "k8s.ovn.org", "EgressIP", "egressips", "Cluster").await;
        let (group, kind) = ("operator.openshift.io", "IngressController");
        define(&client, group, kind, "ingresscontrollers", "Namespaced").await;
    };
    a_preview_begins_with_what_the_cluster_shows(&client, client.clone(), prepare).await;
}

/// With OpenShift's own definitions, and with the rights that the guide names.
pub(crate) async fn on_a_real_api_server(plane: &ControlPlane, client: &kube::Client) {
    let [to_label, to_look] = [0, 1].map(|number| GUIDE.split("```yaml").nth(number + 1).unwrap().split("```").next());
    let grant = |rights: Option<&str>| {
        let file = plane.folder().join("rights.yaml");
        std::fs::write(&file, rights.unwrap()).unwrap();
        let applied = plane
            .kubectl()
            .unwrap()
            .arg("apply")
            .arg("-f")
            .arg(file)
            .output()
            .unwrap();
        assert!(applied.status.success(), "{applied:?}");
    };
    grant(to_label);
    let server = plane.client(&Identity::new("berth-serve", None)).await.unwrap();
    let prepare = async || {
        plane.install_openshift_crds().unwrap();
        define(client, "k8s.ovn.org", "EgressIP", "egressips", "Cluster").await;
        // No controller makes it here, and no pod is without one.
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
        create(client, "/api/v1/namespaces/openshift-ingress/serviceaccounts", &account).await;
        grant(to_look);
    };
    a_preview_begins_with_what_the_cluster_shows(client, server, prepare).await;
    let nodes: kube::Api<Node> = kube::Api::all(client.clone());
    for name in ["node-000", "node-001"] {
        nodes.delete(name, &DeleteParams::default()).await.unwrap();
    }
}

/// Brings a kind with a status, and any fields.
async fn define(client: &kube::Client, group: &str, kind: &str, plural: &str, scope: &str) {
    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
    let definition: CustomResourceDefinition = serde_json::from_value(json!({
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List")},
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    }))
    .unwrap();
    let api: kube::Api<CustomResourceDefinition> = kube::Api::all(client.clone());
    api.create(&kube::api::PostParams::default(), &definition)
        .await
        .unwrap();
}

/// Creates an object, and tries again until its kind is served, which follows its definition at once or a little later.
async fn create(client: &kube::Client, path: &str, object: &Value) {
    let send = || {
        let request = http::Request::post(path).header("content-type", "application/json");
        client.request::<Value>(request.body(serde_json::to_vec(object).unwrap()).unwrap())
    };
    for attempt in 0.. {
        match send().await {
            Ok(_) => return,
            Err(kube::Error::Api(status)) if status.code == 404 && attempt < 1000 => tokio::task::yield_now().await,
            Err(error) => panic!("{path}: {error}"),
        }
    }
}

/// Where the cluster says who hosts an address and where routers run, a dry run begins there and not with a simulation.
///
/// The server has an identity of its own; `prepare` brings the kinds, and what pods need.
async fn a_preview_begins_with_what_the_cluster_shows(
    client: &kube::Client,
    server: kube::Client,
    prepare: impl AsyncFnOnce(),
) {
    let api = "/api/v1/nodes";
    for (number, name) in [(10, "node-000"), (11, "node-001")] {
        let node = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "labels": {"kubernetes.io/hostname": name, "k8s.ovn.org/egress-assignable": "", "telco.example/routers": ""},
                "annotations": {
                    // Berth set it, and may take it away.
                    "berth.dev/owned-labels": "[\"k8s.ovn.org/egress-assignable\"]",
                    "k8s.ovn.org/node-primary-ifaddr": format!("{{\"ipv4\":\"10.7.0.{number}/24\"}}"),
                    "k8s.ovn.org/host-cidrs": format!("[\"10.7.0.{number}/24\"]"),
                },
            },
        });
        create(client, api, &node).await;
    }
    let desk = Desk::on(server);
    // Nothing in the documents carries traffic, and they know other networks than the nodes have.
    let revision = desk.put(SITE).await;
    desk.tag(revision, "committed").await;
    desk.tag(revision, "site-action-success").await;
    let workflow = desk.workflow(WorkflowOptions::default());
    let given = LabelMemory {
        given: [("k8s.ovn.org/egress-assignable".to_owned(), String::new())].into(),
        ..LabelMemory::default()
    };
    for name in ["node-000", "node-001"] {
        workflow.store().remember_labels(name, &given).await.unwrap();
    }
    let mirror = |node: &str| {
        let mut request = request(&[node]);
        request.strategy = Some(Strategy::Mirror);
        request
    };
    let before = workflow.preview_action(&mirror("node-001")).await.unwrap();
    assert_eq!(before.moves, Vec::<String>::new());
    let MovesFrom::Simulation { reason } = before.moves_from else {
        panic!("{:?}", before.moves_from);
    };
    assert!(!reason.contains("ApiError") && !reason.contains("Status {"), "{reason}");

    for name in ["openshift-ingress-operator", "openshift-ingress"] {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        create(client, "/api/v1/namespaces", &namespace).await;
    }
    prepare().await;
    let egress = json!({
        "apiVersion": "k8s.ovn.org/v1",
        "kind": "EgressIP",
        "metadata": {"name": "shop"},
        "spec": {"egressIPs": ["10.7.0.50"], "namespaceSelector": {"matchLabels": {"type": "shop"}}},
        // OVN-Kubernetes would begin with the first node.
        "status": {"items": [{"node": "node-001", "egressIP": "10.7.0.50"}]},
    });
    create(client, "/apis/k8s.ovn.org/v1/egressips", &egress).await;
    let controller = json!({
        "apiVersion": "operator.openshift.io/v1",
        "kind": "IngressController",
        "metadata": {"name": "default", "namespace": "openshift-ingress-operator"},
        "spec": {"replicas": 1, "nodePlacement": {
            "nodeSelector": {"matchLabels": {"telco.example/routers": ""}},
            // Nodes without a kubelet have the taint of those that are not ready.
            "tolerations": [{"operator": "Exists"}],
        }},
    });
    let controllers = "/apis/operator.openshift.io/v1/namespaces/openshift-ingress-operator/ingresscontrollers";
    create(client, controllers, &controller).await;
    let router = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "router-default-1",
            "namespace": "openshift-ingress",
            "labels": {"ingresscontroller.operator.openshift.io/deployment-ingresscontroller": "default"},
        },
        "spec": {"nodeName": "node-001", "containers": [{"name": "router", "image": "router"}]},
    });
    create(client, "/api/v1/namespaces/openshift-ingress/pods", &router).await;

    let moved = workflow.preview_action(&mirror("node-001")).await.unwrap();
    assert_eq!(moved.moves_from, MovesFrom::Cluster);
    for words in [
        "egress address 10.7.0.50 (EgressIP `shop`) moves from node-001 to node-000: it is not labelled \
         k8s.ovn.org/egress-assignable; connections through it break",
        "router router-default-1 (ingress controller `default`) does not stay on node-001",
        "ingress controller `default` loses node-001, has 1 node left for its routers",
    ] {
        let said = moved.moves.iter().any(|sentence| sentence.starts_with(words));
        assert!(said, "{words}: {:#?}", moved.moves);
    }
    // The simulation had it on node-000; it is not there, so nothing of it moves.
    let quiet = workflow.preview_action(&mirror("node-000")).await.unwrap();
    assert!(
        !quiet.moves.iter().any(|sentence| sentence.contains("10.7.0.50")),
        "{:?}",
        quiet.moves
    );
}
