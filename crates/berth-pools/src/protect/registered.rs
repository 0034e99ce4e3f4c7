//! The labels that a machine's kubelet gives itself when it registers: what the unit of its rendered config says.

use std::collections::{BTreeMap, BTreeSet};

use berth_labels::{Flavour, Label, LabelKey, Writer, permission};
use berth_units::{EffectiveUnit, EnvFileContent, check_kubelet_unit, see_through};

use super::content::{Contents, UNIT};
use crate::machine_config::MachineConfig;

/// The label in which OpenShift's kubelets say the `ID` of their operating system.
pub const OS_ID: &str = "node.openshift.io/os_id";
const OS_RELEASE: &str = "/etc/os-release";

/// The labels of a kubelet's own flags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KubeletLabels {
    /// Those that are known.
    pub known: BTreeMap<String, String>,
    /// The keys of those whose values only the machine knows, such as `node.openshift.io/os_id=${ID}`.
    pub open: BTreeSet<String>,
    /// The digest of the operating system's image, where [`OS_ID`] is open and is what the image's own `/etc/os-release` says:
    /// machines with one image register with one value.
    pub image: Option<String>,
}

/// The digest in an image's address. A tag may mean another image tomorrow.
fn pinned(address: &str) -> Option<String> {
    let (name, digest) = address.rsplit_once('@')?;
    let (algorithm, digest) = digest.split_once(':')?;
    let is_digest = algorithm == "sha256" && digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_digest && !name.is_empty()).then(|| format!("{algorithm}:{}", digest.to_ascii_lowercase()))
}

/// Reads the kubelet's unit in a rendered config, with its drop-ins and the environment files that the config writes. A label
/// that the flavour's kubelet would not start with is left out, and so is what a file says that the config does not write.
pub fn registered_labels(config: &MachineConfig, flavour: Flavour) -> KubeletLabels {
    let contents = Contents::gather(vec![config]);
    let mut unit = EffectiveUnit::load(&contents.unit_tree(), UNIT);
    let mut asks_image = false;
    let environment = unit.environment(|path| match contents.env_file(path) {
        // It may well be on the machine's disk: `/etc/os-release` is.
        EnvFileContent::Missing => {
            asks_image |= path == OS_RELEASE;
            EnvFileContent::Unread
        }
        content => content,
    });
    see_through(&mut unit);
    let mut labels = KubeletLabels::default();
    for label in check_kubelet_unit(&unit, &environment, flavour).labels {
        // A later flag wins.
        labels.known.remove(&label.key);
        labels.open.remove(&label.key);
        if label.key == OS_ID {
            let of_image = asks_image && label.open && label.value == "${ID}";
            labels.image = of_image.then(|| pinned(&config.spec.os_image_url)).flatten();
        }
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

    fn config(unit: &str, drop_ins: &Value, files: &Value) -> MachineConfig {
        let object = json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
            "metadata": {"name": "rendered-infra-1", "labels": {}},
            "spec": {"config": {
                "ignition": {"version": "3.4.0"},
                "systemd": {"units": [{"name": "kubelet.service", "contents": unit, "dropins": drop_ins}]},
                "storage": {"files": files},
            }},
        });
        MachineConfig::from_json(&object).unwrap()
    }

    fn labels(unit: &str, drop_ins: &Value, files: &Value, flavour: Flavour) -> KubeletLabels {
        registered_labels(&config(unit, drop_ins, files), flavour)
    }

    fn of_image(unit: &str, drop_ins: &Value, files: &Value, address: &str) -> Option<String> {
        let mut config = config(unit, drop_ins, files);
        config.spec.os_image_url = address.to_owned();
        registered_labels(&config, Flavour::Openshift).image
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
    fn an_image_is_what_its_digest_says() {
        let digest = "0123456789abcdef".repeat(4);
        for (address, expected) in [
            (
                format!("quay.io/openshift/os@sha256:{digest}"),
                Some(format!("sha256:{digest}")),
            ),
            // The same image of a mirror.
            (
                format!("mirror.example:5000/os@sha256:{}", digest.to_uppercase()),
                Some(format!("sha256:{digest}")),
            ),
            ("quay.io/openshift/os:4.21".to_owned(), None),
            ("quay.io/openshift/os@sha256:0123".to_owned(), None),
            (format!("@sha256:{digest}"), None),
            (format!("os@sha512:{digest}"), None),
            (String::new(), None),
        ] {
            let found = of_image(WORKER, &json!([]), &json!([]), &address);
            assert_eq!(found, expected, "{address}");
        }
    }

    #[test]
    fn an_image_says_what_only_its_own_file_says() {
        let address = format!("quay.io/openshift/os@sha256:{}", "0".repeat(64));
        let drop_in = |line: &str| json!([{"name": "30-more.conf", "contents": format!("[Service]\n{line}\n")}]);
        let again = |labels: &str| {
            drop_in(&format!(
                "ExecStart=\nExecStart=/usr/bin/kubelet --node-labels={labels}"
            ))
        };
        let file = json!([{"path": "/etc/os-release", "contents": {"source": "data:,ID%3Drhel%0A"}}]);
        for (drop_ins, files, expected) in [
            (json!([]), json!([]), true),
            // The config writes the file.
            (json!([]), file, false),
            // The value is another variable's, or the label is not there, or the file is not read.
            (again("node.openshift.io/os_id=${NAME}"), json!([]), false),
            (again("node.openshift.io/os_id=${ID}-${NAME}"), json!([]), false),
            (again("a=b"), json!([]), false),
            (
                drop_in("EnvironmentFile=\nEnvironmentFile=/etc/other"),
                json!([]),
                false,
            ),
            (
                again("node.openshift.io/os_id=${ID},node.openshift.io/os_id=x"),
                json!([]),
                false,
            ),
        ] {
            let found = of_image(WORKER, &drop_ins, &files, &address);
            assert_eq!(found.is_some(), expected, "{drop_ins} {files}");
        }
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
