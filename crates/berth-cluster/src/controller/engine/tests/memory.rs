//! What the engine holds of each node, counted in allocated bytes.

use k8s_openapi::api::core::v1::Node;

use super::*;

/// Bytes for a Node and its Berth, with everything that finds them. Ten thousand of them are 36 MB. Runs differ by one per cent.
const PER_NODE: i64 = 3600;

/// A Node as a kubelet and OpenShift's operators leave it. What is not kept is left out.
fn node(index: usize) -> NodeView {
    let (name, pool) = (
        format!("worker-{index:05}.site.example.com"),
        ["worker", "storage"][index % 2],
    );
    let config = format!("rendered-{pool}-0123456789abcdef0123456789abcdef");
    let node: Node = serde_json::from_value(json!({
        "metadata": {
            "name": name,
            "uid": format!("6f1c2a9e-0000-4000-8000-{index:012x}"),
            "resourceVersion": format!("{}", 1_000_000 + index),
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {
                format!("node-role.kubernetes.io/{pool}"): "",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "beta.kubernetes.io/os": "linux",
                "beta.kubernetes.io/arch": "amd64",
                "node.openshift.io/os_id": "rhcos",
                "node.kubernetes.io/instance-type": "bare-metal",
                "topology.kubernetes.io/zone": format!("rack-{}", index % 40),
                "topology.kubernetes.io/region": "georgia",
            },
            "annotations": {
                "machine.openshift.io/machine": format!("openshift-machine-api/site-{index:05}"),
                "machineconfiguration.openshift.io/currentConfig": config,
                "machineconfiguration.openshift.io/desiredConfig": config,
                "machineconfiguration.openshift.io/desiredDrain": format!("uncordon-{config}"),
                "machineconfiguration.openshift.io/lastAppliedDrain": format!("uncordon-{config}"),
                "machineconfiguration.openshift.io/reason": "",
                "machineconfiguration.openshift.io/state": "Done",
            },
        },
        "spec": {"providerID": format!("baremetalhost:///openshift-machine-api/site-{index:05}/{index:012x}")},
        "status": {
            "nodeInfo": {
                "machineID": format!("{index:032x}"), "systemUUID": format!("4c4c4544-0000-4000-8000-{index:012x}"),
                "bootID": "", "kernelVersion": "", "osImage": "", "containerRuntimeVersion": "",
                "kubeletVersion": "v1.36.4", "kubeProxyVersion": "", "operatingSystem": "linux", "architecture": "amd64",
            },
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }))
    .expect("a Node");
    node.into()
}

/// What an engine holds that knows so many nodes and has done what is to be done for them.
fn held(nodes: usize) -> i64 {
    let mut kept = None;
    let held = allocation_counter::measure(|| {
        let engine = settled_nodes(silent(), (0..nodes).map(node));
        assert_eq!(engine.state.berths.count(Phase::Occupied), nodes);
        kept = Some(engine);
    });
    held.bytes_current
}

#[tokio::test]
async fn a_node_and_its_berth_take_little_memory() {
    let (few, many) = (500, 2500);
    // What it takes for the first ones is for the pools, too.
    let per_node = (held(many) - held(few)) / i64::try_from(many - few).expect("a number");
    assert!(per_node <= PER_NODE, "{per_node} bytes for each node");
    assert!(per_node > 500, "{per_node} bytes cannot be all");
}
