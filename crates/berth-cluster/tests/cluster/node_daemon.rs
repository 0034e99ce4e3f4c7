//! Real node daemons on machines below temporary folders: with the controllers of full mode, and alone.

mod alone;
mod machine;
mod rollout;
mod stuck;

use berth_daemon::Settings;
use berth_pools::annotation;
use berth_resources::{MachineConfig, MachineConfigPool};
use k8s_openapi::api::core::v1::Node;
use kube::{
    ResourceExt as _,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::support::{Cluster, from_json};

fn said<'a>(node: &'a Node, key: &str) -> &'a str {
    node.annotations().get(key).map(String::as_str).unwrap_or_default()
}

/// Whether a node runs a config and has nothing to complain about.
fn runs(node: &Node, config: &str) -> bool {
    said(node, annotation::CURRENT_CONFIG) == config
        && said(node, annotation::STATE) == "Done"
        && said(node, annotation::REASON).is_empty()
}

fn file(path: &str, text: &str) -> Value {
    json!({"path": path, "mode": 0o644, "contents": {"source": format!("data:,{text}")}})
}

/// An Ignition config but for its version.
fn files(files: &[Value]) -> Value {
    json!({"storage": {"files": files}})
}

impl Cluster {
    async fn machine_config(&self, name: &str, role: &str, mut ignition: Value) {
        ignition["ignition"] = json!({"version": "3.5.0"});
        let config: MachineConfig = from_json(json!({
            "metadata": {"name": name, "labels": {"machineconfiguration.openshift.io/role": role}},
            "spec": {"config": ignition},
        }));
        let created = self.api::<MachineConfig>();
        created.create(&PostParams::default(), &config).await.expect("created");
    }

    async fn machine_pool(&self, name: &str, selector: &str) {
        let pool: MachineConfigPool = from_json(json!({
            "metadata": {"name": name},
            "spec": {
                "nodeSelector": {"matchLabels": {selector: ""}},
                "machineConfigSelector": {"matchLabels": {"machineconfiguration.openshift.io/role": name}},
                "maxUnavailable": 1,
            },
        }));
        let created = self.api::<MachineConfigPool>();
        created.create(&PostParams::default(), &pool).await.expect("created");
    }

    /// What controllers and administrators write; `null` removes.
    async fn annotate(&self, node: &str, annotations: Value) {
        let patch = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
        let patched = self.api::<Node>();
        patched
            .patch(node, &PatchParams::default(), &patch)
            .await
            .expect("annotated");
    }
}

/// Health has to show soon in a test.
fn settings() -> Settings {
    Settings {
        deadline: std::time::Duration::from_secs(1),
        ..Settings::default()
    }
}
