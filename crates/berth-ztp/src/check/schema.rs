//! Values that the API server or a webhook of the hub rejects, kind by kind.
//!
//! A rule names a path below `spec`; `[]` stands for every entry of a list. A rule about a field below an optional one holds where
//! that one is written.

use berth_documents::{Document, Key, Node, Span};
use berth_labels::{LabelKey, LabelValue};
use berth_site::name_problem;

use super::Findings;
use crate::lints;

/// What a field must be.
#[derive(Clone, Copy, Debug)]
enum Rule {
    /// It is there and not null.
    Required,
    /// It is there and not an empty text or list.
    Filled,
    /// A text, one of these.
    OneOf(&'static [&'static str]),
    /// A text.
    Text,
    /// `true` or `false`.
    Bool,
    /// A whole number, not smaller than this.
    AtLeast(i64),
    /// A list of at most this many.
    AtMost(usize),
    /// A list of more than this many.
    LongerThan(usize),
    /// JSON in a text; an empty text is fine.
    Json,
}

use Rule::{AtLeast, AtMost, Bool, Filled, Json, LongerThan, OneOf, Required, Text};

/// A kind with its rules.
struct Kind {
    kind: &'static str,
    rules: &'static [(&'static str, Rule)],
}

const BOOT_MODES: Rule = OneOf(&["UEFI", "UEFISecureBoot", "legacy"]);
const CLEANING_MODES: Rule = OneOf(&["metadata", "disabled"]);
const PLATFORMS: Rule = OneOf(&["", "BareMetal", "None", "VSphere", "Nutanix", "External"]);
const HYPERTHREADING: Rule = OneOf(&["", "Enabled", "Disabled"]);

const KINDS: &[Kind] = &[
    Kind {
        kind: "AgentServiceConfig",
        rules: &[
            ("databaseStorage", Required),
            ("filesystemStorage", Required),
            ("osImages[].openshiftVersion", Filled),
            ("osImages[].version", Filled),
            ("osImages[].url", Filled),
            ("iPXEHTTPRoute", OneOf(&["enabled", "disabled"])),
            ("mirrorRegistryRef.name", Text),
        ],
    },
    Kind {
        kind: "ClusterImageSet",
        rules: &[("releaseImage", Filled)],
    },
    Kind {
        kind: "Provisioning",
        rules: &[("watchAllNamespaces", Bool)],
    },
    Kind {
        kind: "ClusterDeployment",
        rules: &[
            ("baseDomain", Filled),
            ("clusterName", Filled),
            ("platform", Required),
            ("platform.agentBareMetal.agentSelector", Required),
            ("clusterInstallRef.group", Filled),
            ("clusterInstallRef.kind", Filled),
            ("clusterInstallRef.name", Filled),
            ("clusterInstallRef.version", Filled),
            ("pullSecretRef.name", Text),
            ("installed", Bool),
        ],
    },
    Kind {
        kind: "AgentClusterInstall",
        rules: &[
            ("clusterDeploymentRef", Required),
            ("clusterDeploymentRef.name", Text),
            ("networking", Required),
            ("provisionRequirements", Required),
            ("provisionRequirements.controlPlaneAgents", Required),
            ("provisionRequirements.controlPlaneAgents", AtLeast(0)),
            ("provisionRequirements.workerAgents", AtLeast(0)),
            ("provisionRequirements.arbiterAgents", AtLeast(0)),
            ("apiVIPs", AtMost(2)),
            ("ingressVIPs", AtMost(2)),
            ("apiVIPs[]", Text),
            ("ingressVIPs[]", Text),
            ("platformType", PLATFORMS),
            (
                "networking.networkType",
                OneOf(&["OpenShiftSDN", "OVNKubernetes", "CiscoACI", "Cilium", "Calico", "None"]),
            ),
            ("networking.userManagedNetworking", Bool),
            ("networking.machineNetwork[].cidr", Filled),
            ("networking.clusterNetwork[].cidr", Filled),
            ("networking.clusterNetwork[].hostPrefix", AtLeast(1)),
            ("loadBalancer.type", OneOf(&["ClusterManaged", "UserManaged"])),
            ("mastersSchedulable", Bool),
            ("holdInstallation", Bool),
            ("compute[].name", Filled),
            ("compute[].hyperthreading", HYPERTHREADING),
            ("controlPlane.name", Filled),
            ("controlPlane.hyperthreading", HYPERTHREADING),
            ("arbiter.hyperthreading", HYPERTHREADING),
            (
                "diskEncryption.enableOn",
                OneOf(&[
                    "none",
                    "all",
                    "masters",
                    "arbiters",
                    "workers",
                    "masters,arbiters",
                    "masters,workers",
                    "arbiters,workers",
                    "masters,arbiters,workers",
                ]),
            ),
            ("diskEncryption.mode", OneOf(&["tpmv2", "tang"])),
            ("external.cloudControllerManager", OneOf(&["", "External"])),
            ("manifestsConfigMapRefs[].name", Filled),
            ("ignitionEndpoint.caCertificateReference.name", Filled),
            ("ignitionEndpoint.caCertificateReference.namespace", Filled),
        ],
    },
    Kind {
        kind: "InfraEnv",
        rules: &[
            ("pullSecretRef", Required),
            ("pullSecretRef.name", Filled),
            ("clusterRef.name", Filled),
            ("clusterRef.namespace", Filled),
            ("imageType", OneOf(&["full-iso", "minimal-iso"])),
            ("kernelArguments[].operation", OneOf(&["append", "replace", "delete"])),
            ("kernelArguments[].value", Text),
            ("networkDiscoveryDelaySeconds", AtLeast(0)),
            (
                "ipxeScriptType",
                OneOf(&["", "DiscoveryImageAlways", "BootOrderControl"]),
            ),
            ("agentApproval.autoApprove", Bool),
            ("ignitionConfigOverride", Json),
        ],
    },
    Kind {
        kind: "NMStateConfig",
        rules: &[("interfaces[].name", Filled), ("interfaces[].macAddress", Filled)],
    },
    Kind {
        kind: "Agent",
        rules: &[
            ("approved", Required),
            ("approved", Bool),
            ("role", Required),
            ("role", OneOf(&["", "master", "worker", "arbiter", "auto-assign"])),
            ("hostname", Text),
            ("machineConfigPool", Text),
            ("installation_disk_id", Text),
            ("installation_disk_path", Text),
            ("clusterDeploymentName.name", Filled),
            ("clusterDeploymentName.namespace", Filled),
            ("ignitionEndpointTokenReference.name", Filled),
            ("ignitionEndpointTokenReference.namespace", Filled),
        ],
    },
    Kind {
        kind: "BareMetalHost",
        rules: &[
            ("online", Required),
            ("online", Bool),
            ("bmc.address", Required),
            ("bmc.credentialsName", Required),
            ("bmc.credentialsName", Text),
            ("bmc.disableCertificateVerification", Bool),
            ("bootMode", BOOT_MODES),
            ("automatedCleaningMode", CLEANING_MODES),
            ("inspectionMode", OneOf(&["", "disabled", "agent", "fast"])),
            ("externallyProvisioned", Bool),
            ("disablePowerOff", Bool),
            ("rootDeviceHints.minSizeGigabytes", AtLeast(0)),
            ("rootDeviceHints.rotational", Bool),
            ("rootDeviceHints.deviceName", Text),
            ("rootDeviceHints.hctl", Text),
            ("rootDeviceHints.model", Text),
            ("rootDeviceHints.vendor", Text),
            ("rootDeviceHints.serialNumber", Text),
            ("rootDeviceHints.wwn", Text),
            ("image.format", OneOf(&["raw", "qcow2", "vdi", "vmdk", "live-iso"])),
            (
                "raid.hardwareRAIDVolumes[].level",
                OneOf(&["0", "1", "2", "5", "6", "1+0", "5+0", "6+0"]),
            ),
            ("raid.softwareRAIDVolumes[].level", OneOf(&["0", "1", "1+0"])),
            ("raid.softwareRAIDVolumes", AtMost(2)),
            ("raid.softwareRAIDVolumes[].level", Required),
            ("raid.softwareRAIDVolumes[].sizeGibibytes", AtLeast(0)),
            ("raid.softwareRAIDVolumes[].physicalDisks", LongerThan(1)),
            ("raid.hardwareRAIDVolumes[].level", Required),
            ("raid.hardwareRAIDVolumes[].sizeGibibytes", AtLeast(0)),
            ("raid.hardwareRAIDVolumes[].numberOfPhysicalDisks", AtLeast(1)),
        ],
    },
    Kind {
        kind: "ClusterInstance",
        rules: &[
            ("clusterName", Filled),
            ("pullSecretRef", Required),
            ("pullSecretRef.name", Filled),
            ("clusterImageSetNameRef", Filled),
            ("baseDomain", Filled),
            ("templateRefs", Filled),
            ("templateRefs[].name", Filled),
            ("templateRefs[].namespace", Filled),
            ("nodes", Required),
            (
                "clusterType",
                OneOf(&["SNO", "HighlyAvailable", "HostedControlPlane", "HighlyAvailableArbiter"]),
            ),
            ("platformType", PLATFORMS),
            ("networkType", OneOf(&["OpenShiftSDN", "OVNKubernetes"])),
            ("cpuPartitioningMode", OneOf(&["None", "AllNodes"])),
            ("cpuArchitecture", OneOf(&["x86_64", "aarch64", "multi"])),
            ("apiVIPs", AtMost(2)),
            ("ingressVIPs", AtMost(2)),
            ("apiVIPs[]", Text),
            ("ingressVIPs[]", Text),
            ("machineNetwork[].cidr", Filled),
            ("clusterNetwork[].cidr", Filled),
            ("clusterNetwork[].hostPrefix", AtLeast(1)),
            ("serviceNetwork[].cidr", Filled),
            ("holdInstallation", Bool),
            ("installConfigOverrides", Json),
            ("ignitionConfigOverride", Json),
            ("extraManifestsRefs[].name", Filled),
            ("pruneManifests[].apiVersion", Filled),
            ("pruneManifests[].kind", Filled),
            ("reinstall.generation", Filled),
            ("reinstall.preservationMode", OneOf(&["None", "All", "ClusterIdentity"])),
            ("nodes[].hostName", Filled),
            ("nodes[].bmcAddress", Filled),
            ("nodes[].bmcCredentialsName", Required),
            ("nodes[].bmcCredentialsName.name", Filled),
            ("nodes[].bootMACAddress", Filled),
            ("nodes[].templateRefs", Filled),
            ("nodes[].templateRefs[].name", Filled),
            ("nodes[].templateRefs[].namespace", Filled),
            ("nodes[].role", OneOf(&["master", "worker", "arbiter"])),
            ("nodes[].bootMode", BOOT_MODES),
            ("nodes[].automatedCleaningMode", CLEANING_MODES),
            ("nodes[].ironicInspect", OneOf(&["", "disabled"])),
            ("nodes[].cpuArchitecture", OneOf(&["x86_64", "aarch64"])),
            ("nodes[].hostRef.name", Filled),
            ("nodes[].hostRef.namespace", Filled),
            ("nodes[].pruneManifests[].apiVersion", Filled),
            ("nodes[].pruneManifests[].kind", Filled),
            ("nodes[].rootDeviceHints.minSizeGigabytes", AtLeast(0)),
            ("nodes[].rootDeviceHints.rotational", Bool),
            ("nodes[].nodeNetwork.interfaces[].name", Filled),
            ("nodes[].nodeNetwork.interfaces[].macAddress", Filled),
        ],
    },
    Kind {
        kind: "SiteConfig",
        rules: &[
            ("clusters[].clusterNetwork[].hostPrefix", AtLeast(1)),
            ("clusters[].cpuPartitioningMode", OneOf(&["", "None", "AllNodes"])),
            ("clusters[].holdInstallation", Bool),
            (
                "clusters[].nodes[].role",
                OneOf(&["", "master", "worker", "arbiter", "auto-assign"]),
            ),
            ("clusters[].nodes[].bootMode", BOOT_MODES),
            ("clusters[].nodes[].automatedCleaningMode", CLEANING_MODES),
            ("clusters[].nodes[].ironicInspect", OneOf(&["enabled", "disabled"])),
            ("clusters[].nodes[].ignitionConfigOverride", Json),
        ],
    },
];

/// Checks one object of the hub.
pub(super) fn check(document: &Document, findings: &mut Findings) {
    let Some(kind) = KINDS.iter().find(|kind| kind.kind == document.kind()) else {
        return;
    };
    let own = document.name().map_or_else(|| document.span(), |(_, span)| span);
    // The generator of SiteConfigs reads files; no API server looks at their metadata.
    if kind.kind != "SiteConfig" {
        metadata(document, own, findings);
    }
    let Some(spec) = document.body() else {
        findings.add(&lints::REQUIRED, own, format!("a {} needs `spec`", kind.kind));
        return;
    };
    for (path, rule) in kind.rules {
        let segments: Vec<&str> = path.split('.').collect();
        let place = Place { node: spec, span: own };
        visit(place, &segments, "spec", *rule, findings);
    }
}

/// The name and the texts in labels and annotations, as every API server wants them.
fn metadata(document: &Document, own: Span, findings: &mut Findings) {
    match document.name() {
        None => findings.add(
            &lints::REQUIRED,
            own,
            format!("this {} has no `metadata.name`", document.kind()),
        ),
        Some((name, span)) => {
            if let Some(problem) = name_problem(name) {
                let message = format!("the name `{name}` is rejected: {problem}");
                findings.add(&lints::VALUE, span, message);
            }
        }
    }
    let labels = document.root.at(&["metadata", "labels"]).and_then(Node::as_map);
    for (key, value) in labels.into_iter().flatten() {
        // The label of a host that names its image has a rule of its own.
        if key.as_str() != crate::names::INFRA_ENV {
            label("metadata.labels", key, value, findings);
        }
    }
    let spec = document.body();
    let agents = spec.and_then(|spec| spec.get("agentLabels")).and_then(Node::as_map);
    for (key, value) in agents.into_iter().flatten() {
        label("spec.agentLabels", key, value, findings);
        if value.as_str().is_none() && !value.is_null() {
            let message = format!(
                "`spec.agentLabels.{}` is {} and must be a string",
                key.as_str(),
                value.type_name()
            );
            findings.add_with_help(&lints::VALUE, value.span, message, "quote it");
        }
    }
    for maps in ["labels", "annotations"] {
        let map = document.root.at(&["metadata", maps]).and_then(Node::as_map);
        for (key, value) in map.into_iter().flatten() {
            // Labels of nodes are checked with their own rule.
            if value.as_str().is_none() && !value.is_null() && !key.as_str().starts_with(crate::names::NODE_LABEL) {
                findings.add_with_help(
                    &lints::VALUE,
                    value.span,
                    format!(
                        "`metadata.{maps}.{}` is {} and must be a string",
                        key.as_str(),
                        value.type_name()
                    ),
                    "quote it",
                );
            }
        }
    }
}

/// A label as every API server takes it. That its value is a text is a rule of its own.
fn label(place: &str, key: &Key, value: &Node, findings: &mut Findings) {
    let key_problem = key
        .as_str()
        .parse::<LabelKey>()
        .err()
        .map(|error| (key.span, error.to_string()));
    let value_problem = || {
        let error = value.as_str()?.parse::<LabelValue>().err()?;
        Some((value.span, error.to_string()))
    };
    if let Some((span, problem)) = key_problem.or_else(value_problem) {
        let message = format!("`{place}.{}` is rejected: {problem}", key.as_str());
        findings.add(&lints::VALUE, span, message);
    }
}

/// A node, and the place to name where it is not there.
#[derive(Clone, Copy)]
struct Place<'a> {
    node: &'a Node,
    span: Span,
}

fn visit(place: Place<'_>, segments: &[&str], path: &str, rule: Rule, findings: &mut Findings) {
    let Some((segment, rest)) = segments.split_first() else {
        judge(place.node, path, rule, findings);
        return;
    };
    let (key, is_list) = segment.strip_suffix("[]").map_or((*segment, false), |key| (key, true));
    let found = place.node.get(key).filter(|node| !node.is_null());
    let path = format!("{path}.{key}");
    let Some(found) = found else {
        if rest.is_empty() && !is_list && matches!(rule, Rule::Required | Rule::Filled) && place.node.as_map().is_some()
        {
            findings.add(&lints::REQUIRED, place.span, format!("`{path}` is required"));
        }
        return;
    };
    if is_list {
        for entry in found.as_seq().unwrap_or_default() {
            let place = Place {
                node: entry,
                span: entry.span,
            };
            visit(place, rest, &format!("{path}[]"), rule, findings);
        }
        return;
    }
    let place = Place {
        node: found,
        span: found.span,
    };
    visit(place, rest, &path, rule, findings);
}

fn judge(node: &Node, path: &str, rule: Rule, findings: &mut Findings) {
    let wrong_type = |wanted: &str| Some(format!("`{path}` is {} and must be {wanted}", node.type_name()));
    let problem = match rule {
        Rule::Filled => match (node.as_str(), node.as_seq()) {
            (Some(""), _) | (_, Some([])) => {
                findings.add(&lints::REQUIRED, node.span, format!("`{path}` is required and empty"));
                None
            }
            (Some(_), _) | (_, Some(_)) => None,
            (None, None) => wrong_type("a string"),
        },
        Rule::Text if node.as_str().is_none() => wrong_type("a string"),
        Rule::Bool if node.as_bool().is_none() => wrong_type("true or false"),
        Rule::Required | Rule::Text | Rule::Bool => None,
        Rule::OneOf(values) => match node.as_str() {
            Some(text) if values.contains(&text) => None,
            Some(text) => {
                let known: Vec<&str> = values.iter().copied().filter(|value| !value.is_empty()).collect();
                findings.add_with_help(
                    &lints::VALUE,
                    node.span,
                    format!("unsupported value `{text}` of `{path}`"),
                    &format!("supported: {}", known.join(", ")),
                );
                None
            }
            None => wrong_type("a string"),
        },
        Rule::AtLeast(least) => match node.as_i64() {
            Some(number) if number >= least => None,
            Some(number) => Some(format!("`{path}` is {number} and must be at least {least}")),
            None => wrong_type("a whole number"),
        },
        Rule::AtMost(most) => match node.as_seq() {
            Some(list) if list.len() <= most => None,
            Some(list) => Some(format!("`{path}` has {} entries and may have {most}", list.len())),
            None => wrong_type("a list"),
        },
        Rule::LongerThan(few) => match node.as_seq() {
            Some(list) if list.len() > few => None,
            Some(list) => Some(format!("`{path}` has {} entries and must have {}", list.len(), few + 1)),
            None => wrong_type("a list"),
        },
        Rule::Json => match node.as_str() {
            Some("") => None,
            Some(text) => serde_json::from_str::<serde_json::Value>(text)
                .err()
                .map(|error| format!("`{path}` is not a valid JSON-formatted string: {error}")),
            None => wrong_type("a string"),
        },
    };
    if let Some(problem) = problem {
        findings.add(&lints::VALUE, node.span, problem);
    }
}
