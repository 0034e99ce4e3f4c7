//! From a `KubeletConfig` and what a pool has already to a machine config.

use std::fmt::Write as _;

use berth_ignition::{Encoding, SpecVersion, file_as};
use serde_json::{Map, Value, json};

use super::KubeletConfig;
use crate::{
    machine_config::{MachineConfig, MachineConfigSpec, ROLE_LABEL},
    protect::{ProtectFinding, ProtectKind},
    render::yaml,
};

/// Where the kubelet's configuration is on a machine.
pub const KUBELET_CONFIGURATION: &str = "/etc/kubernetes/kubelet.conf";

/// What the service that sizes the system's reservation reads.
pub const NODE_SIZING: &str = "/etc/node-sizing-enabled.env";

/// What sets the level of the kubelet's log, where its unit asks for a variable.
const LOG_LEVEL: &str = "/etc/systemd/system/kubelet.service.d/20-logging.conf";

/// What the service reserves if nobody says more, by resource and variable.
const RESERVED: [(&str, &str, &str); 3] = [
    ("memory", "SYSTEM_RESERVED_MEMORY", "1Gi"),
    ("cpu", "SYSTEM_RESERVED_CPU", "500m"),
    ("ephemeral-storage", "SYSTEM_RESERVED_ES", "1Gi"),
];

/// Enforcing what is reserved for the system needs its control group.
const SYSTEM_ENFORCEMENT: [&str; 2] = ["system-reserved", "system-reserved-compressible"];

/// What a pool's own machine configs have, on which generated ones build.
#[derive(Clone, Copy, Debug)]
pub struct KubeletBase<'a> {
    /// Its kubelet configuration.
    pub configuration: &'a Map<String, Value>,
    /// They have [`NODE_SIZING`], so something on the machines reads it.
    pub node_sizing: bool,
    /// The kubelet's unit takes its log level from the variable `KUBELET_LOG_LEVEL`.
    pub log_variable: bool,
}

impl KubeletConfig {
    /// The machine config of a pool: the pool's kubelet configuration, with what is said here written over it.
    ///
    /// Mappings are merged, and everything else is replaced. Other than in the original a value counts as soon as it is written,
    /// also `false`, 0 and an empty list. Where nothing on the machines reads what the original
    /// writes for its own services, the kubelet's own fields are used.
    pub fn generate(&self, pool: &str, name: String, base: KubeletBase<'_>) -> Result<MachineConfig, ProtectFinding> {
        let mut configuration = base.configuration.clone();
        if let Some(tls) = &self.tls {
            set_or_remove(&mut configuration, "tlsMinVersion", json!(tls.min_version));
            set_or_remove(&mut configuration, "tlsCipherSuites", json!(tls.cipher_suites));
        }
        let mut own = self.kubelet_config.as_object().cloned().unwrap_or_default();
        own.remove("kind");
        own.remove("apiVersion");
        let sizing = self.sizing(pool, &mut own, base)?;
        let clears = enforces(&own).is_some_and(|list| !list.iter().any(is_system_enforcement));
        if clears && own.get("systemReservedCgroup").is_none_or(|group| group == "") {
            configuration.remove("systemReservedCgroup");
        }
        merge(&mut configuration, own);
        self.settle(pool, &mut configuration)?;
        let level = self.log_level.filter(|_| !base.log_variable);
        if let Some(level) = level {
            let logging = configuration.entry("logging").or_insert_with(|| json!({}));
            logging["verbosity"] = json!(level);
        }
        let mut files = Vec::new();
        let mut file = |path: &str, text: String| files.push(file_as(path, 0o644, text, Encoding::Base64));
        if let Some(sizing) = sizing {
            file(NODE_SIZING, sizing);
        }
        if let Some(level) = self.log_level.filter(|_| base.log_variable) {
            file(
                LOG_LEVEL,
                format!("[Service]\nEnvironment=\"KUBELET_LOG_LEVEL={level}\"\n"),
            );
        }
        file(KUBELET_CONFIGURATION, yaml(&Value::Object(configuration)));
        Ok(machine_config(pool, name, &json!(files)))
    }

    /// The file for the service that sizes reservations. What is in it is no longer in the kubelet's configuration.
    fn sizing(
        &self,
        pool: &str,
        own: &mut Map<String, Value>,
        base: KubeletBase<'_>,
    ) -> Result<Option<String>, ProtectFinding> {
        if !base.node_sizing {
            if self.auto_sizing_reserved == Some(true) {
                let message = format!(
                    "autoSizingReserved needs a service that sizes reservations, and no machine config of pool {pool} has {NODE_SIZING}"
                );
                return Err(self.refused("spec.autoSizingReserved", message));
            }
            return Ok(None);
        }
        let mut taken = Map::new();
        if let Some(Value::Object(reserved)) = own.get_mut("systemReserved") {
            for (resource, ..) in RESERVED {
                taken.extend(reserved.remove(resource).map(|value| (resource.to_owned(), value)));
            }
            if reserved.is_empty() {
                own.remove("systemReserved");
            }
        }
        if taken.is_empty() && self.auto_sizing_reserved.is_none() {
            return Ok(None);
        }
        let enabled = taken.is_empty() && self.auto_sizing_reserved == Some(true);
        let mut text = format!("NODE_SIZING_ENABLED={enabled}\n");
        for (resource, variable, default) in RESERVED {
            let value = taken
                .get(resource)
                .and_then(Value::as_str)
                .filter(|value| !value.is_empty());
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{variable}={}", value.unwrap_or(default));
        }
        Ok(Some(text))
    }

    /// What has to agree after the merge.
    fn settle(&self, pool: &str, configuration: &mut Map<String, Value>) -> Result<(), ProtectFinding> {
        let text = |configuration: &Map<String, Value>, name: &str| {
            let text = configuration.get(name).and_then(Value::as_str);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        if text(configuration, "reservedSystemCPUs").is_some() {
            // The processors are set aside as a whole, and the kubelet refuses to enforce a share of them, too.
            configuration.remove("systemReservedCgroup");
            let mut kept: Vec<Value> = enforces(configuration).unwrap_or_default().to_vec();
            kept.retain(|item| !is_system_enforcement(item));
            if !kept.iter().any(|item| item == "pods") {
                kept.insert(0, json!("pods"));
            }
            configuration.insert("enforceNodeAllocatable".to_owned(), Value::Array(kept));
        }
        match (
            text(configuration, "systemReservedCgroup"),
            text(configuration, "systemCgroups"),
        ) {
            (Some(reserved), Some(system)) if reserved != system => {
                let message = format!(
                    "over the kubelet configuration of pool {pool} it gives an invalid one: systemReservedCgroup ({reserved}) must match systemCgroups ({system})"
                );
                Err(self.refused("spec.kubeletConfig", message))
            }
            _ => Ok(()),
        }
    }

    /// The finding that no machine config is made of it, for a reason that lies in one pool.
    pub(crate) fn refused(&self, path: &str, message: String) -> ProtectFinding {
        ProtectFinding {
            machine_config: self.name().to_owned(),
            path: path.to_owned(),
            line: None,
            kind: ProtectKind::RefusedField,
            message,
            help: String::new(),
        }
    }
}

/// A machine config with these files, as a controller of the pool makes it.
pub(crate) fn machine_config(pool: &str, name: String, files: &Value) -> MachineConfig {
    MachineConfig {
        name,
        labels: [(ROLE_LABEL.to_owned(), pool.to_owned())].into(),
        spec: MachineConfigSpec {
            config: Some(json!({
                "ignition": {"version": SpecVersion::LATEST.as_str()},
                "storage": {"files": files},
            })),
            ..MachineConfigSpec::default()
        },
        ..MachineConfig::default()
    }
}

fn enforces(configuration: &Map<String, Value>) -> Option<&[Value]> {
    let list = configuration.get("enforceNodeAllocatable")?.as_array()?;
    Some(list.as_slice()).filter(|list| !list.is_empty())
}

fn is_system_enforcement(item: &Value) -> bool {
    item.as_str().is_some_and(|item| SYSTEM_ENFORCEMENT.contains(&item))
}

fn set_or_remove(configuration: &mut Map<String, Value>, name: &str, value: Value) {
    if value == "" || value == json!([]) {
        configuration.remove(name);
    } else {
        configuration.insert(name.to_owned(), value);
    }
}

fn merge(base: &mut Map<String, Value>, own: Map<String, Value>) {
    for (name, value) in own {
        match (base.get_mut(&name), value) {
            (_, Value::Null) => {}
            (Some(Value::Object(base)), Value::Object(own)) => merge(base, own),
            (_, Value::Object(own)) => {
                let mut new = Map::new();
                merge(&mut new, own);
                base.insert(name, Value::Object(new));
            }
            (_, value) => {
                base.insert(name, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use berth_ignition::{file_contents, parse};

    use super::*;

    fn config(spec: &Value) -> KubeletConfig {
        KubeletConfig::from_json(&json!({"metadata": {"name": "tuned"}, "spec": spec})).unwrap()
    }

    fn fields(value: &Value) -> &Map<String, Value> {
        value.as_object().unwrap()
    }

    fn texts(generated: &MachineConfig) -> BTreeMap<String, String> {
        assert_eq!(generated.role(), Some("infra"));
        let ignition = parse(generated.spec.config.as_ref().unwrap()).usable().unwrap();
        let text = |file| String::from_utf8(file_contents(file).unwrap()).unwrap();
        let files = ignition.files().iter();
        files.map(|file| (file.path.clone(), text(file))).collect()
    }

    fn made(base: &Value, spec: &Value, services: bool) -> Result<BTreeMap<String, String>, ProtectFinding> {
        let base = KubeletBase {
            configuration: fields(base),
            node_sizing: services,
            log_variable: services,
        };
        let generated = config(spec).generate("infra", "99-infra-generated-kubelet".to_owned(), base);
        generated.map(|generated| texts(&generated))
    }

    fn configuration(base: &Value, spec: &Value) -> String {
        made(base, spec, false).unwrap().remove(KUBELET_CONFIGURATION).unwrap()
    }

    #[test]
    fn what_is_said_is_written_over_the_base() {
        let base = json!({
            "kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1", "maxPods": 250,
            "serializeImagePulls": true, "clusterDNS": ["10.0.0.10"],
            "authentication": {"anonymous": {"enabled": false}, "x509": {"clientCAFile": "/ca"}},
        });
        let spec = json!({"kubeletConfig": {
            "kind": "Other", "maxPods": 500, "serializeImagePulls": false, "clusterDNS": null,
            "authentication": {"anonymous": {"enabled": null}, "webhook": {"enabled": true, "cacheTTL": null}},
            "evictionHard": {"memory.available": "5%"},
        }});
        let expected = "\
apiVersion: kubelet.config.k8s.io/v1beta1
authentication:
  anonymous:
    enabled: false
  webhook:
    enabled: true
  x509:
    clientCAFile: /ca
clusterDNS:
- 10.0.0.10
evictionHard:
  memory.available: 5%
kind: KubeletConfiguration
maxPods: 500
serializeImagePulls: false
";
        assert_eq!(configuration(&base, &spec), expected);
    }

    #[test]
    fn the_profile_of_tls_replaces_that_of_the_base() {
        let base = json!({"tlsMinVersion": "VersionTLS12", "tlsCipherSuites": ["A"]});
        let spec = json!({"tlsSecurityProfile": {"type": "Custom", "custom": {"ciphers": [], "minTLSVersion": ""}}});
        assert_eq!(configuration(&base, &spec), "{}\n");
        let spec =
            json!({"tlsSecurityProfile": {"type": "Modern"}, "kubeletConfig": {"tlsMinVersion": "VersionTLS10"}});
        let text = configuration(&base, &spec);
        assert!(
            text.starts_with("tlsCipherSuites:\n- TLS_AES_128_GCM_SHA256\n"),
            "{text}"
        );
        assert!(text.ends_with("tlsMinVersion: VersionTLS10\n"), "{text}");
    }

    #[test]
    fn services_of_the_machine_get_their_files() {
        let reserved = json!({"systemReserved": {"cpu": "1", "pid": "100"}});
        for (spec, expected) in [
            (
                json!({"autoSizingReserved": true}),
                Some(
                    "NODE_SIZING_ENABLED=true\nSYSTEM_RESERVED_MEMORY=1Gi\nSYSTEM_RESERVED_CPU=500m\nSYSTEM_RESERVED_ES=1Gi\n",
                ),
            ),
            (
                json!({"autoSizingReserved": false}),
                Some(
                    "NODE_SIZING_ENABLED=false\nSYSTEM_RESERVED_MEMORY=1Gi\nSYSTEM_RESERVED_CPU=500m\nSYSTEM_RESERVED_ES=1Gi\n",
                ),
            ),
            (
                json!({"kubeletConfig": reserved}),
                Some(
                    "NODE_SIZING_ENABLED=false\nSYSTEM_RESERVED_MEMORY=1Gi\nSYSTEM_RESERVED_CPU=1\nSYSTEM_RESERVED_ES=1Gi\n",
                ),
            ),
            (json!({"kubeletConfig": {"systemReserved": {"pid": "100"}}}), None),
        ] {
            let files = made(&json!({}), &spec, true).unwrap();
            assert_eq!(files.get(NODE_SIZING).map(String::as_str), expected, "{spec}");
        }
        let files = made(&json!({}), &json!({"logLevel": 4, "kubeletConfig": reserved}), true).unwrap();
        assert_eq!(
            files.get(LOG_LEVEL).unwrap(),
            "[Service]\nEnvironment=\"KUBELET_LOG_LEVEL=4\"\n"
        );
        assert_eq!(
            files.get(KUBELET_CONFIGURATION).unwrap(),
            "systemReserved:\n  pid: \"100\"\n"
        );
    }

    #[test]
    fn without_those_services_the_kubelet_is_told() {
        let spec =
            json!({"logLevel": 4, "autoSizingReserved": false, "kubeletConfig": {"systemReserved": {"cpu": "1"}}});
        let files = made(&json!({"logging": {"format": "json"}}), &spec, false).unwrap();
        let expected = "logging:\n  format: json\n  verbosity: 4\nsystemReserved:\n  cpu: \"1\"\n";
        assert_eq!(files, [(KUBELET_CONFIGURATION.to_owned(), expected.to_owned())].into());
        let refused = made(&json!({}), &json!({"autoSizingReserved": true}), false).unwrap_err();
        assert_eq!(
            (refused.path.as_str(), refused.kind),
            ("spec.autoSizingReserved", ProtectKind::RefusedField)
        );
    }

    #[test]
    fn the_control_group_of_the_system_agrees_with_what_is_enforced() {
        let base = json!({
            "systemCgroups": "/system.slice", "systemReservedCgroup": "/system.slice",
            "enforceNodeAllocatable": ["pods", "system-reserved-compressible"],
        });
        for (own, enforced, group) in [
            (json!({}), vec!["pods", "system-reserved-compressible"], true),
            (json!({"enforceNodeAllocatable": ["pods"]}), vec!["pods"], false),
            (
                json!({"enforceNodeAllocatable": ["pods", "system-reserved"]}),
                vec!["pods", "system-reserved"],
                true,
            ),
            (json!({"reservedSystemCPUs": "0-1"}), vec!["pods"], false),
            (
                json!({"reservedSystemCPUs": "0-1", "enforceNodeAllocatable": ["kube-reserved", "system-reserved"]}),
                vec!["pods", "kube-reserved"],
                false,
            ),
        ] {
            let text = configuration(&base, &json!({"kubeletConfig": own}));
            let list = format!("- {}\n", enforced.join("\n- "));
            assert!(
                text.contains(&format!("enforceNodeAllocatable:\n{list}")),
                "{own}: {text}"
            );
            assert_eq!(
                text.contains("systemReservedCgroup: /system.slice\n"),
                group,
                "{own}: {text}"
            );
        }
        let own = json!({"kubeletConfig": {"systemReservedCgroup": "/other.slice"}});
        let refused = made(&base, &own, false).unwrap_err();
        assert!(
            refused
                .message
                .ends_with("systemReservedCgroup (/other.slice) must match systemCgroups (/system.slice)")
        );
    }
}
