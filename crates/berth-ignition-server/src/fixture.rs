//! What the tests of this crate serve.

use std::net::IpAddr;

use berth_labels::LabelSet;
use berth_pools::MachineConfig;
use serde_json::{Value, json};

use crate::{Catalog, CatalogBuilder, CommonFiles, NodeConfig};

pub(crate) const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 7));

/// A rendered config with this Ignition config.
pub(crate) fn rendered(pool: &str, ignition: &Value) -> MachineConfig {
    MachineConfig::from_json(&json!({
        "metadata": {"name": format!("rendered-{pool}-0123"), "annotations": {"a": "b"}},
        "spec": {
            "config": ignition,
            "kernelArguments": ["quiet"],
            "osImageURL": "quay.example/os",
            "kernelType": "default",
        },
    }))
    .unwrap()
}

/// A config that every version from 2.2 on can say.
pub(crate) fn plain_ignition() -> Value {
    json!({
        "ignition": {"version": "3.5.0"},
        "storage": {"files": [
            {"path": "/etc/motd", "mode": 420, "overwrite": true, "contents": {"source": "data:,ahoy%0A"}},
        ]},
        "systemd": {"units": [{"name": "a.service", "enabled": true, "contents": "[Service]\nExecStart=/bin/a\n"}]},
    })
}

pub(crate) fn labels(pairs: &[(&str, &str)]) -> LabelSet {
    let map: Vec<_> = pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    LabelSet::try_from_map(map.iter().map(|(key, value)| (key, value))).unwrap()
}

/// Pools `worker` (plain), `infra` (kernel arguments), `new` (3.4 field), `old` (removes arguments), `empty` (no config
/// yet); nodes `n1` in worker, `n2` in empty, `n3` with a conflict.
pub(crate) fn builder() -> CatalogBuilder {
    let mut arguments = plain_ignition();
    arguments["kernelArguments"] = json!({"shouldExist": ["nosmt", "intel_iommu=on"]});
    let mut removing = plain_ignition();
    removing["kernelArguments"] = json!({"shouldNotExist": ["quiet"]});
    let mut special = plain_ignition();
    special["storage"]["files"][0]["mode"] = json!(0o4755);
    let mut builder = Catalog::builder("r7");
    builder
        .common(CommonFiles {
            kubeconfig: Some(b"apiVersion: v1\nkind: Config\n".to_vec()),
            ..CommonFiles::default()
        })
        .pool("worker", rendered("worker", &plain_ignition()))
        .pool("infra", rendered("infra", &arguments))
        .pool("old", rendered("old", &removing))
        .pool("new", rendered("new", &special))
        .pool_without_config("empty", "its machine configs do not render")
        .node(
            "n1",
            NodeConfig {
                pool: "worker".to_owned(),
                labels: labels(&[("rack", "r1"), ("example.com/zone", "")]),
                files: vec![berth_ignition::file("/etc/motd", 0o600, "mine")],
            },
        )
        .node(
            "n2",
            NodeConfig {
                pool: "empty".to_owned(),
                ..NodeConfig::default()
            },
        )
        .node_without_config("n3", "two rules give the label rack");
    builder
}

pub(crate) fn catalog() -> Catalog {
    builder().build().unwrap()
}
