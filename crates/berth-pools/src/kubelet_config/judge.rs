//! What is wrong with a `KubeletConfig` on its own.

use serde_json::{Map, Value};

use super::{
    KubeletConfig,
    fields::{self, FieldProblem, named},
};
use crate::protect::{ProtectFinding, ProtectKind};

/// Fields that only the pool's base may have: a machine may not come back from a reboot with another value.
const BASE_ONLY: [&str; 6] = [
    "cgroupDriver",
    "clusterDNS",
    "clusterDomain",
    "featureGates",
    "failSwapOn",
    "memorySwap.swapBehavior",
];

impl KubeletConfig {
    /// Why no machine config is made of it. The rules are the original's, and what a kubelet would not understand.
    pub fn problems(&self) -> Vec<ProtectFinding> {
        let mut judge = Judge {
            name: self.name(),
            findings: Vec::new(),
        };
        if let Some(level) = self.log_level.filter(|level| !(0..=10).contains(level)) {
            let message = format!("KubeletConfig's LogLevel is not valid [0,10]: {level}");
            judge.refuse("spec.logLevel", message, "write a number from 0 to 10");
        }
        match &self.kubelet_config {
            Value::Null => {}
            Value::Object(fields) => {
                judge.fields(fields);
                judge.refused(fields, self.auto_sizing_reserved == Some(true));
            }
            other => {
                let message = format!(
                    "kubeletConfig is {}, not a mapping: the kubelet does not start",
                    named(other)
                );
                let help = "write the fields of a KubeletConfiguration";
                judge.report(
                    "spec.kubeletConfig".to_owned(),
                    ProtectKind::StopsKubelet,
                    message,
                    help,
                );
            }
        }
        judge.findings
    }

    /// Why it is not for this pool: machines of the control plane run from static pods, and others must not get any.
    pub fn static_pods_problem(&self, pool: &str, control_plane: bool) -> Option<ProtectFinding> {
        let path = self
            .kubelet_config
            .get("staticPodPath")
            .filter(|path| !path.is_null())?;
        let message = match path.as_str() {
            _ if control_plane => format!("staticPodPath is not allowed to be set for control plane pool \"{pool}\""),
            Some("") => return None,
            _ => format!("staticPodPath must be empty for pool \"{pool}\", but contains: {path}"),
        };
        Some(self.refused("spec.kubeletConfig.staticPodPath", message))
    }
}

struct Judge<'a> {
    name: &'a str,
    findings: Vec<ProtectFinding>,
}

impl Judge<'_> {
    fn report(&mut self, path: String, kind: ProtectKind, message: String, help: &str) {
        self.findings.push(ProtectFinding {
            machine_config: self.name.to_owned(),
            path,
            line: None,
            kind,
            message,
            help: help.to_owned(),
        });
    }

    fn refuse(&mut self, path: &str, message: String, help: &str) {
        self.report(path.to_owned(), ProtectKind::RefusedField, message, help);
    }

    /// What a kubelet would not understand, and what keeps it from being a node.
    fn fields(&mut self, fields: &Map<String, Value>) {
        for (path, problem) in fields::check(fields) {
            let at = format!("spec.kubeletConfig.{path}");
            match problem {
                FieldProblem::Unknown => {
                    let message =
                        format!("{path} is not a field of the kubelet's configuration, so it would have no effect");
                    self.refuse(&at, message, "correct the name, or remove the field");
                }
                FieldProblem::Type(found, expected) => {
                    let message = format!("{path} is {found}, not {expected}: the kubelet does not start");
                    self.report(at, ProtectKind::StopsKubelet, message, &format!("write {expected}"));
                }
            }
        }
        if fields.get("registerNode") == Some(&Value::Bool(false)) {
            self.report(
                "spec.kubeletConfig.registerNode".to_owned(),
                ProtectKind::StopsRegistration,
                "registerNode: false keeps the node from registering, so it gets no labels and no pool".to_owned(),
                "remove the field",
            );
        }
    }

    /// What a `KubeletConfig` may not set.
    fn refused(&mut self, fields: &Map<String, Value>, auto_sizing: bool) {
        let found = |path: &str| {
            path.split('.').try_fold(None, |at, name| {
                let fields = match at {
                    None => Some(fields),
                    Some(value) => Value::as_object(value),
                };
                fields?.get(name).map(Some)
            })
        };
        for path in BASE_ONLY {
            let Some(value) = found(path).flatten().filter(|value| says_something(value)) else {
                continue;
            };
            let field = path.rsplit('.').next().unwrap_or(path);
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let message = format!("{field} is not allowed to be set, but contains: {text}");
            let help = "remove the field; it belongs to the kubelet.conf of the pool's own machine configs";
            self.refuse(&format!("spec.kubeletConfig.{path}"), message, help);
        }
        if auto_sizing && fields.get("systemReserved").is_some_and(says_something) {
            let message = "autoSizingReserved and systemReserved cannot be set together".to_owned();
            self.refuse("spec.kubeletConfig.systemReserved", message, "remove one of them");
        }
        let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
        let (reserved, system) = (text("systemReservedCgroup"), text("systemCgroups"));
        if !reserved.is_empty() && !system.is_empty() && reserved != system {
            let message = format!("systemReservedCgroup ({reserved}) must match systemCgroups ({system})");
            self.refuse(
                "spec.kubeletConfig.systemReservedCgroup",
                message,
                "write the same control group for both",
            );
        }
    }
}

/// An empty value is the same as none, but `failSwapOn: false` is one.
fn says_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn problems(spec: &Value) -> Vec<(String, ProtectKind, String)> {
        let json = json!({"metadata": {"name": "tuned"}, "spec": spec});
        let found = KubeletConfig::from_json(&json).unwrap().problems().into_iter();
        found.map(|found| (found.path, found.kind, found.message)).collect()
    }

    #[test]
    fn what_may_not_be_set_is_refused_with_the_reason() {
        for (spec, path, message) in [
            (
                json!({"logLevel": 11}),
                "logLevel",
                "KubeletConfig's LogLevel is not valid [0,10]: 11",
            ),
            (
                json!({"logLevel": -1}),
                "logLevel",
                "KubeletConfig's LogLevel is not valid [0,10]: -1",
            ),
            (
                json!({"kubeletConfig": {"cgroupDriver": "cgroupfs"}}),
                "kubeletConfig.cgroupDriver",
                "cgroupDriver is not allowed to be set, but contains: cgroupfs",
            ),
            (
                json!({"kubeletConfig": {"clusterDNS": ["10.0.0.1"]}}),
                "kubeletConfig.clusterDNS",
                "clusterDNS is not allowed to be set, but contains: [\"10.0.0.1\"]",
            ),
            (
                json!({"kubeletConfig": {"clusterDomain": "a.example"}}),
                "kubeletConfig.clusterDomain",
                "clusterDomain is not allowed to be set, but contains: a.example",
            ),
            (
                json!({"kubeletConfig": {"featureGates": {"A": false}}}),
                "kubeletConfig.featureGates",
                "featureGates is not allowed to be set, but contains: {\"A\":false}",
            ),
            (
                json!({"kubeletConfig": {"failSwapOn": false}}),
                "kubeletConfig.failSwapOn",
                "failSwapOn is not allowed to be set, but contains: false",
            ),
            (
                json!({"kubeletConfig": {"memorySwap": {"swapBehavior": "NoSwap"}}}),
                "kubeletConfig.memorySwap.swapBehavior",
                "swapBehavior is not allowed to be set, but contains: NoSwap",
            ),
            (
                json!({"autoSizingReserved": true, "kubeletConfig": {"systemReserved": {"cpu": "1"}}}),
                "kubeletConfig.systemReserved",
                "autoSizingReserved and systemReserved cannot be set together",
            ),
            (
                json!({"kubeletConfig": {"systemReservedCgroup": "/a", "systemCgroups": "/b"}}),
                "kubeletConfig.systemReservedCgroup",
                "systemReservedCgroup (/a) must match systemCgroups (/b)",
            ),
            (
                json!({"kubeletConfig": {"maxPod": 1}}),
                "kubeletConfig.maxPod",
                "maxPod is not a field of the kubelet's configuration, so it would have no effect",
            ),
        ] {
            let expected = (format!("spec.{path}"), ProtectKind::RefusedField, message.to_owned());
            assert_eq!(problems(&spec), [expected], "{spec}");
        }
    }

    #[test]
    fn what_is_empty_is_not_set() {
        for spec in [
            json!({}),
            json!({"logLevel": 0, "autoSizingReserved": true}),
            json!({"kubeletConfig": {"cgroupDriver": "", "clusterDNS": [], "featureGates": {}, "failSwapOn": null}}),
            json!({"kubeletConfig": {"memorySwap": {}}}),
            json!({"autoSizingReserved": false, "kubeletConfig": {"systemReserved": {"cpu": "1"}}}),
        ] {
            assert_eq!(problems(&spec), [], "{spec}");
        }
    }

    #[test]
    fn nodes_must_be_able_to_register() {
        for (value, expected) in [
            (json!(null), None),
            (json!({"maxPods": 500, "registerNode": true}), None),
            (
                json!({"registerNode": false}),
                Some((".registerNode", ProtectKind::StopsRegistration)),
            ),
            (
                json!({"registerNode": "false"}),
                Some((".registerNode", ProtectKind::StopsKubelet)),
            ),
            (json!("maxPods: 500"), Some(("", ProtectKind::StopsKubelet))),
            (json!([]), Some(("", ProtectKind::StopsKubelet))),
            (
                json!({"systemReserved": "cpu=1"}),
                Some((".systemReserved", ProtectKind::StopsKubelet)),
            ),
        ] {
            let found: Vec<_> = problems(&json!({"kubeletConfig": value}))
                .into_iter()
                .map(|(path, kind, _)| (path, kind))
                .collect();
            let expected = expected.map(|(path, kind)| (format!("spec.kubeletConfig{path}"), kind));
            assert_eq!(found, Vec::from_iter(expected), "{value}");
        }
    }

    #[test]
    fn static_pods_belong_to_the_control_plane() {
        let config = |path: Value| {
            let json = json!({"metadata": {"name": "a"}, "spec": {"kubeletConfig": {"staticPodPath": path}}});
            KubeletConfig::from_json(&json).unwrap()
        };
        let message = |path, pool, control_plane| {
            config(path)
                .static_pods_problem(pool, control_plane)
                .map(|finding| finding.message)
        };
        assert_eq!(message(json!(""), "infra", false), None);
        assert_eq!(message(json!(null), "master", true), None);
        assert_eq!(
            message(json!("/pods"), "infra", false).unwrap(),
            "staticPodPath must be empty for pool \"infra\", but contains: \"/pods\""
        );
        assert_eq!(
            message(json!(""), "master", true).unwrap(),
            "staticPodPath is not allowed to be set for control plane pool \"master\""
        );
    }
}
