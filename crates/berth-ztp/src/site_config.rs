//! `SiteConfig` files, which people still have, become `ClusterInstance`s.

use berth_documents::{Diagnostic, Document, Node};
use serde_json::{Map, Value, json};

use crate::{
    cluster_instance::TEMPLATES,
    lints,
    manifest::{Manifest, Stage},
    rules::override_problem,
};

/// What a file became.
#[derive(Clone, Debug, Default)]
pub struct Converted {
    /// The objects.
    pub manifests: Vec<Manifest>,
    /// What got lost on the way, and why.
    pub notes: Vec<String>,
    /// What is wrong with the file.
    pub diagnostics: Vec<Diagnostic>,
}

/// Whether the document is a `SiteConfig`.
pub fn is_site_config(document: &Document) -> bool {
    document.kind() == "SiteConfig" && document.api_group() == "ran.openshift.io"
}

/// Converts every `SiteConfig` among the documents: a `ClusterInstance` and its namespace per cluster.
pub fn convert(documents: &[Document]) -> Converted {
    let mut converted = Converted::default();
    for document in documents.iter().filter(|document| is_site_config(document)) {
        let Some(spec) = document.body() else { continue };
        for cluster in spec.get("clusters").and_then(Node::as_seq).unwrap_or_default() {
            converted.cluster(document, spec, cluster);
        }
    }
    let several = converted.manifests.len() > 2;
    if several {
        // Each cluster has a folder of its own.
        for manifest in &mut converted.manifests {
            let name = manifest.object["metadata"]["name"].as_str().unwrap_or_default();
            manifest.file = format!("{name}/{}", manifest.file);
        }
    }
    converted.manifests.sort_by(|a, b| a.file.cmp(&b.file));
    converted
}

/// Fields that have the same name and meaning.
const CLUSTER_AS_THEY_ARE: &[&str] = &[
    "additionalNTPSources",
    "clusterNetwork",
    "cpuPartitioningMode",
    "diskEncryption",
    "ignitionConfigOverride",
    "machineNetwork",
    "networkType",
    "platformType",
    "proxy",
];

const NODE_AS_THEY_ARE: &[&str] = &[
    "automatedCleaningMode",
    "bmcAddress",
    "bmcCredentialsName",
    "bootMACAddress",
    "bootMode",
    "hostName",
    "ignitionConfigOverride",
    "installerArgs",
    "ironicInspect",
    "nodeLabels",
    "nodeNetwork",
    "role",
    "rootDeviceHints",
];

/// Fields without a counterpart.
const LOST: &[(&str, &str)] = &[
    ("biosConfigRef", "BIOS settings are given by HostFirmwareSettings"),
    ("cpuset", "CPU partitioning is given by a PerformanceProfile"),
    ("userData", "no template reads it"),
    ("diskPartition", "partitions are given by an ignitionConfigOverride"),
    ("crTemplates", "templates are ConfigMaps that templateRefs name"),
    (
        "extraManifestPath",
        "extra manifests are ConfigMaps that extraManifestsRefs names",
    ),
    (
        "extraManifests",
        "extra manifests are ConfigMaps that extraManifestsRefs names",
    ),
    ("mergeDefaultMachineConfigs", "machine configs are extra manifests"),
    ("siteConfigMap", "it was for policies"),
];

impl Converted {
    fn cluster(&mut self, document: &Document, spec: &Node, cluster: &Node) {
        let Some(name) = cluster.get("clusterName").and_then(Node::as_str) else {
            let message = "a cluster of this SiteConfig has no `clusterName`";
            self.diagnostics
                .push(Diagnostic::new(&lints::NO_CLUSTER, cluster.span, message));
            return;
        };
        let mut out = Map::new();
        out.insert("clusterName".to_owned(), json!(name));
        for key in ["baseDomain", "pullSecretRef", "clusterImageSetNameRef", "sshPublicKey"] {
            // A cluster's own word counts more than the file's.
            match cluster.get(key).or_else(|| spec.get(key)) {
                Some(node) => {
                    out.insert(key.to_owned(), node.to_json());
                }
                None if key != "sshPublicKey" => self.diagnostics.push(Diagnostic::new(
                    &lints::NO_CLUSTER,
                    document.span(),
                    format!("cluster `{name}` does not say its `{key}`"),
                )),
                None => {}
            }
        }
        copy(cluster, CLUSTER_AS_THEY_ARE, &mut out);
        for (plural, singular) in [("apiVIPs", "apiVIP"), ("ingressVIPs", "ingressVIP")] {
            if let Some(list) = cluster.get(plural) {
                out.insert(plural.to_owned(), list.to_json());
            } else if let Some(one) = cluster.get(singular) {
                out.insert(plural.to_owned(), json!([one.to_json()]));
            }
        }
        // Plain texts become objects.
        let services = cluster.get("serviceNetwork").and_then(Node::as_seq).unwrap_or_default();
        if !services.is_empty() {
            let objects = services.iter().map(|node| match node.as_str() {
                Some(text) => json!({"cidr": text}),
                None => node.to_json(),
            });
            out.insert("serviceNetwork".to_owned(), objects.collect());
        }
        if let Some(overrides) = cluster.get("installConfigOverrides") {
            out.insert("installConfigOverrides".to_owned(), overrides.to_json());
        }
        if let Some(labels) = cluster.get("clusterLabels") {
            out.insert(
                "extraLabels".to_owned(),
                json!({"ManagedCluster": texts(labels.to_json())}),
            );
        }
        extras(cluster, &mut out);
        self.lost(name, cluster);
        let nodes = cluster.get("nodes").and_then(Node::as_seq).unwrap_or_default();
        let masters = nodes
            .iter()
            .filter(|node| node.get("role").is_none_or(|role| role.as_str() == Some("master")))
            .count();
        let kind = if masters == 1 && nodes.len() == 1 {
            "SNO"
        } else {
            "HighlyAvailable"
        };
        out.insert("clusterType".to_owned(), json!(kind));
        out.insert(
            "templateRefs".to_owned(),
            json!([{"name": "ai-cluster-templates-v1", "namespace": TEMPLATES}]),
        );
        let nodes: Vec<Value> = nodes.iter().map(|node| self.node(node)).collect();
        out.insert("nodes".to_owned(), Value::Array(nodes));
        self.manifests.push(Manifest::new(
            Stage::Install,
            "00-namespace.yaml",
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}),
        ));
        let object = json!({
            "apiVersion": "siteconfig.open-cluster-management.io/v1alpha1",
            "kind": "ClusterInstance",
            "metadata": {"name": name, "namespace": name},
            "spec": out,
        });
        let manifest = Manifest::new(Stage::Install, "50-clusterinstance.yaml", object);
        self.manifests.push(manifest.comment(
            "From a SiteConfig. On a cluster that is installed already, the hub refuses the change of its AgentClusterInstall \
             from singular to plural fields: convert before the installation, or import the cluster as it is.",
        ));
    }

    fn node(&mut self, node: &Node) -> Value {
        let name = node.get("hostName").and_then(Node::as_str).unwrap_or_default();
        let mut out = Map::new();
        copy(node, NODE_AS_THEY_ARE, &mut out);
        if let Some(labels) = out.get_mut("nodeLabels") {
            *labels = texts(labels.take());
        }
        out.entry("role").or_insert_with(|| json!("master"));
        // A SiteConfig inspects by default; a ClusterInstance asks for an empty text to do so.
        out.entry("ironicInspect").or_insert_with(|| json!(""));
        extras(node, &mut out);
        self.lost(name, node);
        if let Some(text) = node.get("ignitionConfigOverride")
            && let Some(Err(problem)) = text.as_str().map(override_problem)
        {
            self.diagnostics.push(Diagnostic::new(
                &lints::OVERRIDE,
                text.span,
                format!("the override of `{name}` is refused: {problem}"),
            ));
        }
        if let Some(Value::String(text)) = out.get_mut("ignitionConfigOverride") {
            // The template of a ClusterInstance puts it in single quotes.
            *text = text.replace('\'', "\\u0027");
        }
        out.insert(
            "templateRefs".to_owned(),
            json!([{"name": "ai-node-templates-v1", "namespace": TEMPLATES}]),
        );
        Value::Object(out)
    }

    fn lost(&mut self, of: &str, node: &Node) {
        for (field, why) in LOST {
            if node.get(field).is_some() {
                self.notes
                    .push(format!("`{field}` of `{of}` has no place in a ClusterInstance: {why}"));
            }
        }
    }
}

fn copy(from: &Node, fields: &[&str], to: &mut Map<String, Value>) {
    for field in fields {
        if let Some(node) = from.get(field) {
            to.insert((*field).to_owned(), node.to_json());
        }
    }
}

/// Values as the generator of `SiteConfig`s reads them where it wants texts: every scalar is one, and nothing is an empty one. The hub
/// takes texts alone.
pub(crate) fn texts(value: Value) -> Value {
    match value {
        Value::Null => json!(""),
        Value::Bool(_) | Value::Number(_) => Value::String(value.to_string()),
        Value::Object(map) => Value::Object(map.into_iter().map(|(key, value)| (key, texts(value))).collect()),
        other => other,
    }
}

/// Annotations and suppressed kinds, which have other names.
fn extras(from: &Node, to: &mut Map<String, Value>) {
    if let Some(annotations) = from.at(&["crAnnotations", "add"]) {
        to.insert("extraAnnotations".to_owned(), texts(annotations.to_json()));
    }
    if let Some(kinds) = from.get("crSuppression") {
        to.insert("suppressedManifests".to_owned(), kinds.to_json());
    }
}
