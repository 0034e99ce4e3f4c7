//! The labels that a machine's kubelet gives itself when it registers: what the unit of its rendered config says.

use std::collections::{BTreeMap, BTreeSet};

use berth_labels::{Flavour, Label, LabelKey, Writer, permission};
use berth_units::{EffectiveUnit, EnvFileContent, check_kubelet_unit, see_through};

use super::content::{Contents, UNIT};
use crate::machine_config::MachineConfig;

/// The labels of a kubelet's own flags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KubeletLabels {
    /// Those that are known.
    pub known: BTreeMap<String, String>,
    /// The keys of those whose values only the machine knows, such as `node.openshift.io/os_id=${ID}`.
    pub open: BTreeSet<String>,
}

/// Reads the kubelet's unit in a rendered config, with its drop-ins and the environment files that the config writes. A label
/// that the flavour's kubelet would not start with is left out, and so is what a file says that the config does not write.
pub fn registered_labels(config: &MachineConfig, flavour: Flavour) -> KubeletLabels {
    let contents = Contents::gather(vec![config]);
    let mut unit = EffectiveUnit::load(&contents.unit_tree(), UNIT);
    let environment = unit.environment(|path| match contents.env_file(path) {
        // It may well be on the machine's disk: `/etc/os-release` is.
        EnvFileContent::Missing => EnvFileContent::Unread,
        content => content,
    });
    see_through(&mut unit);
    let mut labels = KubeletLabels::default();
    for label in check_kubelet_unit(&unit, &environment, flavour).labels {
        // A later flag wins.
        labels.known.remove(&label.key);
        labels.open.remove(&label.key);
        if label.open {
            let is_key = label.key.parse::<LabelKey>().is_ok();
            labels.open.extend(is_key.then_some(label.key));
            continue;
        }
        let legal = Label::parse_parts(&label.key, &label.value)
            .is_ok_and(|label| permission(flavour, Writer::Flag, &label.key).allowed);
        if legal {
            labels.known.insert(label.key, label.value);
        }
    }
    labels
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const WORKER: &str = "[Service]\nType=notify\nEnvironmentFile=/etc/os-release\nEnvironmentFile=-/etc/kubernetes/kubelet-env\n\
        ExecStart=/usr/local/bin/kubenswrapper /usr/bin/kubelet --config=/etc/kubernetes/kubelet.conf \\\n\
        --node-labels=node-role.kubernetes.io/worker,node.openshift.io/os_id=${ID},${CUSTOM_KUBELET_LABELS} --v=2\n";

    fn labels(unit: &str, drop_ins: &Value, files: &Value, flavour: Flavour) -> KubeletLabels {
        let object = json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
            "metadata": {"name": "rendered-infra-1", "labels": {}},
            "spec": {"config": {
                "ignition": {"version": "3.4.0"},
                "systemd": {"units": [{"name": "kubelet.service", "contents": unit, "dropins": drop_ins}]},
                "storage": {"files": files},
            }},
        });
        registered_labels(&MachineConfig::from_json(&object).unwrap(), flavour)
    }

    fn known(labels: &KubeletLabels) -> Vec<String> {
        labels
            .known
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect()
    }

    #[test]
    fn what_only_the_machine_knows_is_named_and_not_guessed() {
        let found = labels(WORKER, &json!([]), &json!([]), Flavour::Openshift);
        assert_eq!(known(&found), ["node-role.kubernetes.io/worker="]);
        assert_eq!(found.open, BTreeSet::from(["node.openshift.io/os_id".to_owned()]));
    }

    #[test]
    fn files_and_drop_ins_of_the_config_are_read() {
        let file = |path: &str, text: &str| json!({"path": path, "contents": {"source": format!("data:,{text}")}});
        let files = json!([
            file("/etc/os-release", "ID%3Drhel%0A"),
            file(
                "/etc/kubernetes/kubelet-env",
                "CUSTOM_KUBELET_LABELS%3Dtopology.kubernetes.io/zone%3Da%0A"
            ),
        ]);
        let drop_ins = json!([{
            "name": "30-more.conf",
            "contents": "[Service]\nExecStart=\nExecStart=/usr/bin/kubelet --node-labels=node.openshift.io/os_id=${ID},${CUSTOM_KUBELET_LABELS},a=b\n",
        }]);
        let found = labels(WORKER, &drop_ins, &files, Flavour::Openshift);
        assert_eq!(
            known(&found),
            ["a=b", "node.openshift.io/os_id=rhel", "topology.kubernetes.io/zone=a"]
        );
        assert!(found.open.is_empty(), "{:?}", found.open);
    }

    #[test]
    fn what_a_kubelet_would_not_start_with_is_left_out() {
        let unit = "[Service]\nExecStart=/usr/bin/kubelet --node-labels=node-role.kubernetes.io/worker=,a=b,node-role.kubernetes.io/infra=\n";
        let upstream = labels(unit, &json!([]), &json!([]), Flavour::Upstream);
        assert_eq!(known(&upstream), ["a=b"]);
        let openshift = labels(unit, &json!([]), &json!([]), Flavour::Openshift);
        assert_eq!(known(&openshift), ["a=b", "node-role.kubernetes.io/worker="]);
        assert_eq!(
            labels("", &json!([]), &json!([]), Flavour::Openshift),
            KubeletLabels::default()
        );
    }
}
