//! What the generator of `SiteConfig`s rejects, and what it drops.

use std::collections::BTreeMap;

use berth_documents::{Document, Node, Span};

use super::{
    Findings,
    fields::unknown_field,
    model::{masters, text_at},
};
use crate::{lints, site_config::is_site_config};

const SPEC: &[&str] = &[
    "baseDomain",
    "biosConfigRef",
    "clusterImageSetNameRef",
    "clusters",
    "crAnnotations",
    "crTemplates",
    "pullSecretRef",
    "sshPrivateKeySecretRef",
    "sshPublicKey",
];

const CLUSTER: &[&str] = &[
    "additionalNTPSources",
    "apiVIP",
    "apiVIPs",
    "biosConfigRef",
    "clusterImageSetNameRef",
    "clusterLabels",
    "clusterName",
    "clusterNetwork",
    "cpuPartitioningMode",
    "crAnnotations",
    "crSuppression",
    "crTemplates",
    "diskEncryption",
    "extraManifestPath",
    "extraManifests",
    "holdInstallation",
    "ignitionConfigOverride",
    "ingressVIP",
    "ingressVIPs",
    "installConfigOverrides",
    "machineNetwork",
    "mergeDefaultMachineConfigs",
    "networkType",
    "nodes",
    "proxy",
    "serviceNetwork",
    "siteConfigMap",
];

const NODE: &[&str] = &[
    "automatedCleaningMode",
    "biosConfigRef",
    "bmcAddress",
    "bmcCredentialsName",
    "bootMACAddress",
    "bootMode",
    "cpuset",
    "crAnnotations",
    "crSuppression",
    "crTemplates",
    "diskPartition",
    "hostName",
    "ignitionConfigOverride",
    "installerArgs",
    "ironicInspect",
    "nodeLabels",
    "nodeNetwork",
    "role",
    "rootDeviceHints",
    "userData",
];

/// Kinds that the generator makes for each node.
const OF_NODES: &[&str] = &["BareMetalHost", "HostFirmwareSettings", "NMStateConfig"];

/// The others that it makes.
const OF_CLUSTERS: &[&str] = &[
    "AgentClusterInstall",
    "ClusterDeployment",
    "ConfigMap",
    "InfraEnv",
    "KlusterletAddonConfig",
    "ManagedCluster",
    "Namespace",
];

/// The first place, in MiB, where a partition may begin; before it is the root file system.
const FIRST_PARTITION: i64 = 25_000;

pub(super) fn check(document: &Document, findings: &mut Findings) {
    if !is_site_config(document) {
        return;
    }
    if !matches!(document.version(), "v1" | "v2") {
        findings.add(
            &lints::VALUE,
            document.span(),
            format!(
                "a SiteConfig is of ran.openshift.io/v1 or v2, and not of `{}`",
                document.version()
            ),
        );
    }
    let Some(spec) = document.body() else { return };
    unknown(spec, "spec.", SPEC, findings);
    templates(spec, "spec", true, findings);
    let mut names: BTreeMap<&str, Span> = BTreeMap::new();
    for cluster in entries(spec, "clusters") {
        unknown(cluster, "spec.clusters[].", CLUSTER, findings);
        templates(cluster, "spec.clusters[]", true, findings);
        match text_at(cluster, &["clusterName"]).filter(|name| !name.text.is_empty()) {
            None => findings.add(
                &lints::REQUIRED,
                cluster.span,
                "`spec.clusters[].clusterName` is required",
            ),
            Some(name) => {
                if let Some(first) = names.insert(name.text, name.span) {
                    let message = format!("two clusters of this SiteConfig are named `{}`", name.text);
                    findings.add_related(&lints::VALUE, name.span, message, first, "the other one");
                }
            }
        }
        required(spec, cluster, findings);
        overrides(cluster, findings);
        nodes(cluster, findings);
    }
}

/// The release and what the objects of the cluster cannot be without.
fn required(spec: &Node, cluster: &Node, findings: &mut Findings) {
    let filled = |node: &Node, path: &[&str]| text_at(node, path).is_some_and(|text| !text.text.is_empty());
    let release = ["clusterImageSetNameRef"];
    if !filled(spec, &release) && !filled(cluster, &release) {
        let message = "`clusterImageSetNameRef` of the site and of the cluster cannot both be empty";
        findings.add(&lints::REQUIRED, cluster.span, message);
    }
    for path in [&["baseDomain"][..], &["pullSecretRef", "name"]] {
        if !filled(spec, path) {
            let message = format!("`spec.{}` is required", path.join("."));
            findings.add(&lints::REQUIRED, spec.span, message);
        }
    }
}

/// Overrides of the installation's config are an object in JSON.
fn overrides(cluster: &Node, findings: &mut Findings) {
    let Some(text) = text_at(cluster, &["installConfigOverrides"]).filter(|text| !text.text.is_empty()) else {
        return;
    };
    let problem = match serde_json::from_str::<serde_json::Value>(text.text) {
        Ok(value) if value.is_object() => return,
        Ok(_) => "it is not a JSON object".to_owned(),
        Err(error) => format!("it is not JSON: {error}"),
    };
    let message = format!("`spec.clusters[].installConfigOverrides` is rejected: {problem}");
    findings.add(&lints::VALUE, text.span, message);
}

fn nodes(cluster: &Node, findings: &mut Findings) {
    let nodes = entries(cluster, "nodes");
    let masters = masters(cluster);
    // Where there are nodes, they are counted as in every cluster.
    if nodes.is_empty() {
        findings.add(
            &lints::COUNTS,
            cluster.span,
            "a cluster of a SiteConfig needs one node of the control plane at least",
        );
    }
    for node in nodes {
        unknown(node, "spec.clusters[].nodes[].", NODE, findings);
        templates(node, "spec.clusters[].nodes[]", false, findings);
        if text_at(node, &["hostName"]).is_none_or(|name| name.text.is_empty()) {
            let message = "`spec.clusters[].nodes[].hostName` is required";
            findings.add(&lints::REQUIRED, node.span, message);
        }
        let disks = node.get("diskPartition").filter(|disks| !disks.is_null());
        if let Some(disks) = disks.filter(|_| masters > 1) {
            let message = "partitions are made on clusters with one node of the control plane only";
            findings.add(&lints::VALUE, disks.span, message);
        }
        for disk in entries(node, "diskPartition") {
            for partition in entries(disk, "partitions") {
                partition_problems(partition, findings);
            }
        }
    }
}

fn partition_problems(partition: &Node, findings: &mut Findings) {
    let number = |key: &str| partition.get(key).and_then(Node::as_i64).unwrap_or(0);
    let mut add = |field: &str, problem: &str| {
        let span = partition.get(field).map_or(partition.span, |node| node.span);
        let message = format!("`{field}` of a partition is rejected: {problem}");
        findings.add(&lints::VALUE, span, message);
    };
    if number("start") < FIRST_PARTITION {
        add("start", "the root partition needs what is before 25000");
    }
    if number("size") <= 0 {
        add("size", "it must be greater than 0");
    }
    if text_at(partition, &["mount_point"]).is_none_or(|path| !path.text.starts_with('/')) {
        add("mount_point", "it must be an absolute path");
    }
}

/// Templates replace kinds that the generator makes there.
fn templates(node: &Node, place: &str, of_clusters: bool, findings: &mut Findings) {
    let templates = node.get("crTemplates").and_then(Node::as_map);
    for (kind, _) in templates.into_iter().flatten() {
        let name = kind.as_str();
        let is_known = OF_NODES.contains(&name) || (of_clusters && OF_CLUSTERS.contains(&name));
        if !is_known {
            findings.add(
                &lints::VALUE,
                kind.span,
                format!("`{place}.crTemplates.{name}`: {name} is not a kind that can be replaced there"),
            );
        }
    }
}

fn unknown(node: &Node, place: &str, fields: &[&'static str], findings: &mut Findings) {
    for (key, _) in node.as_map().into_iter().flatten() {
        if !fields.contains(&key.as_str()) {
            unknown_field("SiteConfig", place, key, fields, findings);
        }
    }
}

fn entries<'a>(node: &'a Node, list: &str) -> &'a [Node] {
    node.get(list).and_then(Node::as_seq).unwrap_or_default()
}
