//! Rules of the hub's operators, used where manifests are made and where they are checked.

use berth_labels::{LabelKey, LabelValue};
use serde_json::Value;

use crate::names::NODE_LABEL;

/// How long a label's key without a domain may be: it becomes the end of an annotation's name.
const LONGEST_PLAIN_KEY: usize = 20;

/// How long the domain of a label's key may be.
const LONGEST_PREFIX: usize = 210;

/// How much all annotations of an object may have together.
pub(crate) const ANNOTATIONS_LIMIT: usize = 256 << 10;

/// How large a file of extra manifests may be.
pub(crate) const MANIFEST_LIMIT: usize = 1 << 20;

/// Why the service would refuse a host name.
pub(crate) fn hostname_problem(name: &str) -> Option<String> {
    if name.len() > 63 {
        return Some(format!(
            "it has {} characters; with its domain it may have 63",
            name.len()
        ));
    }
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Some("it has capital letters".to_owned());
    }
    if matches!(
        name,
        "localhost"
            | "localhost.localdomain"
            | "localhost4"
            | "localhost6"
            | "localhost.localdomain4"
            | "localhost.localdomain6"
            | "localhost4.localdomain4"
            | "localhost6.localdomain6"
    ) {
        return Some("it is the name that every machine has".to_owned());
    }
    let legal = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    if !starts || !name.split('.').all(legal) {
        return Some(
            "it may have lower-case letters, digits, `-` and `.`, and begins with a letter or digit".to_owned(),
        );
    }
    None
}

/// Why a label cannot be asked for by an annotation.
pub(crate) fn label_problem(key: &str, value: Option<&str>) -> Option<String> {
    let parsed: LabelKey = match key.parse() {
        Ok(parsed) => parsed,
        Err(error) => return Some(format!("{error}")),
    };
    match parsed.prefix() {
        None if key.len() > LONGEST_PLAIN_KEY => {
            return Some(format!(
                "the key has {} characters and no domain; in an annotation's name there is room for {LONGEST_PLAIN_KEY}",
                key.len()
            ));
        }
        Some(prefix) if prefix.len() > LONGEST_PREFIX => {
            return Some(format!(
                "the key's domain has {} characters; in an annotation's name there is room for {LONGEST_PREFIX}",
                prefix.len()
            ));
        }
        _ => {}
    }
    let value = value?;
    value.parse::<LabelValue>().err().map(|error| error.to_string())
}

/// The annotation that asks for a label.
pub(crate) fn label_annotation(key: &str) -> String {
    format!("{NODE_LABEL}{key}")
}

/// Why the service would refuse an override.
pub(crate) fn override_problem(text: &str) -> Result<Value, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
    match value.pointer("/ignition/version").and_then(Value::as_str) {
        Some("3.2.0" | "3.1.0") => {}
        Some(other) => {
            return Err(format!(
                "it is of version {other}; the service takes 3.2.0 and 3.1.0, and one host that it refuses holds up the whole \
                 cluster"
            ));
        }
        None => {
            return Err(
                "it has no `ignition.version`; the service takes 3.2.0 and 3.1.0, and one host that it refuses holds up the \
                 whole cluster"
                    .to_owned(),
            );
        }
    }
    if text.len() > ANNOTATIONS_LIMIT {
        return Err(format!(
            "it has {} bytes; an object's annotations may have 256 KiB",
            text.len()
        ));
    }
    match berth_ignition::parse(&value).usable() {
        Ok(_) => Ok(value),
        Err(findings) => {
            let texts: Vec<String> = findings.iter().map(ToString::to_string).collect();
            Err(format!("Ignition would refuse it: {}", texts.join("; ")))
        }
    }
}

/// Flags that the service passes on to the installer.
const INSTALLER_FLAGS: &[&str] = &[
    "--append-karg",
    "--delete-karg",
    "-n",
    "--copy-network",
    "--network-dir",
    "--save-partlabel",
    "--save-partindex",
    "--image-url",
    "--image-file",
];

/// Why the service would reject installer arguments.
pub(crate) fn installer_args_problem(text: &str) -> Option<String> {
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => return Some(format!("they are not a valid JSON-formatted string: {error}")),
    };
    let Some(args) = value.as_array() else {
        return Some("they are not a JSON array".to_owned());
    };
    // The service's own class of characters, in which `+-=` is a range.
    let legal = |c: char| c.is_ascii_alphanumeric() || "@!#$%*()_\"'{}[]".contains(c) || ('+'..='=').contains(&c);
    args.iter().find_map(|arg| match arg.as_str() {
        None => Some(format!("{arg} is not a string")),
        Some(flag) if flag.starts_with('-') => (!INSTALLER_FLAGS.contains(&flag))
            .then(|| format!("unexpected flag {flag}; allowed: {}", INSTALLER_FLAGS.join(", "))),
        Some(value) => {
            (value.is_empty() || !value.chars().all(legal)).then(|| format!("unexpected characters in `{value}`"))
        }
    })
}

/// Why the service would reject a cluster's name.
pub(crate) fn cluster_name_problem(name: &str, without_platform: bool) -> Option<&'static str> {
    let legal = |part: &str| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !part.is_empty() && part.bytes().all(inner) && !part.starts_with('-') && !part.ends_with('-')
    };
    if !name.split('.').all(legal) {
        return Some("it must consist of lower-case letters, digits and `-`, and begin and end with a letter or digit");
    }
    (name.contains('.') && !without_platform).then_some("a dot is supported with platform None only")
}

/// Why a key of a `ConfigMap` cannot be an extra manifest.
pub(crate) fn manifest_name_problem(name: &str) -> Option<&'static str> {
    if name.starts_with('.') || name.contains([' ', '/']) {
        return Some("a manifest's name has no leading dot, blank or slash");
    }
    let Some((stem, extension)) = name.split_once('.').and_then(|_| name.rsplit_once('.')) else {
        return Some("Only json, yaml and yml or patch extensions are supported");
    };
    if stem.is_empty() {
        return Some("there is nothing before the extension");
    }
    let known = matches!(extension, "yaml" | "yml" | "json") || extension.starts_with("patch");
    (!known).then_some("Only json, yaml and yml or patch extensions are supported")
}

/// Paths that the operator's templates write on nodes of every pool, so that an override of a host has no effect on them.
pub(crate) fn operator_owns(path: &str) -> bool {
    const FILES: &[&str] = &[
        "/etc/kubernetes/kubelet.conf",
        "/etc/kubernetes/kubeconfig",
        "/etc/kubernetes/kubelet-ca.crt",
        "/etc/kubernetes/ca.crt",
        "/etc/crio/crio.conf.d/00-default",
        "/etc/containers/storage.conf",
        "/etc/containers/registries.conf",
        "/etc/containers/policy.json",
        "/etc/keepalived/monitor.conf",
        "/etc/mco/proxy.env",
        "/etc/mco/internal-registry-pull-secret.json",
        "/etc/sysctl.d/inotify.conf",
        "/etc/tmpfiles.d/cleanup-cni.conf",
        "/var/lib/kubelet/config.json",
    ];
    const FOLDERS: &[&str] = &[
        "/etc/kubernetes/manifests/",
        "/etc/kubernetes/disabled-manifests/",
        "/etc/kubernetes/static-pod-resources/",
        "/etc/NetworkManager/dispatcher.d/",
        "/usr/local/bin/",
        "/usr/local/sbin/",
    ];
    FILES.contains(&path) || FOLDERS.iter().any(|folder| path.starts_with(folder))
}

/// Whether the operator makes a machine config of this name itself.
pub(crate) fn operator_makes(name: &str) -> bool {
    let base = ["master", "worker", "arbiter"].iter().any(|role| {
        [
            format!("00-{role}"),
            format!("01-{role}-kubelet"),
            format!("01-{role}-container-runtime"),
            format!("99-{role}-ssh"),
        ]
        .contains(&name.to_owned())
    });
    base || name.starts_with("rendered-") || (name.starts_with('9') && name.contains("-generated-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_names() {
        for (name, good) in [
            ("openshift-worker-2", true),
            ("openshift-worker-2.ztp.e2e.bos.redhat.com", true),
            ("Worker", false),
            ("localhost", false),
            ("-a", false),
            ("a_b", false),
            ("", false),
        ] {
            assert_eq!(hostname_problem(name).is_none(), good, "{name}");
        }
        assert!(hostname_problem(&"a".repeat(63)).is_none());
        assert!(hostname_problem(&format!("{}.{}", "a".repeat(31), "b".repeat(32))).is_some());
    }

    #[test]
    fn a_plain_key_has_twenty_characters() {
        assert!(label_problem(&"k".repeat(20), Some("")).is_none());
        assert!(label_problem(&"k".repeat(21), Some("")).is_some());
        assert!(label_problem("node-role.kubernetes.io/infra", Some("")).is_none());
        assert!(label_problem("a/b", Some("no value")).is_some());
        let prefix = format!("{}.example", vec!["a".repeat(50); 4].join("."));
        assert!(prefix.len() > LONGEST_PREFIX, "{}", prefix.len());
        assert!(label_problem(&format!("{prefix}/k"), Some("")).is_some());
    }

    #[test]
    fn manifest_names() {
        for (name, good) in [
            ("a.yaml", true),
            ("a.yml", true),
            ("a.json", true),
            ("a.yaml.patch_1", true),
            ("a.txt", false),
            ("a", false),
            (".yaml", false),
            ("a b.yaml", false),
        ] {
            assert_eq!(manifest_name_problem(name).is_none(), good, "{name}");
        }
    }

    #[test]
    fn overrides() {
        assert!(override_problem(r#"{"ignition":{"version":"3.2.0"}}"#).is_ok());
        for bad in ["{", "{}", r#"{"ignition":{"version":"3.4.0"}}"#] {
            assert!(override_problem(bad).is_err(), "{bad}");
        }
    }
}
