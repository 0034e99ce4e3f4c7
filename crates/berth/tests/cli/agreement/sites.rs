//! Sites that change: the shipped examples, and random ones.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use berth_documents::DocumentSet;
use berth_site::to_kubernetes;
use serde_json::{Value, json};

use super::{Documents, Folder, Labels, array, text};
use crate::run::{Outcome, command, finish};

/// The files of a site by their names.
type Files = BTreeMap<String, String>;

/// The documents of a site, before and after a change.
pub(super) struct Site {
    pub(super) name: String,
    /// Where the documents are.
    pub(super) path: PathBuf,
    /// As a Region document of the site says; in a cluster, where there is none, a flag says it.
    pub(super) flavour: &'static str,
    /// For everything that commands need.
    pub(super) folder: Folder,
    texts: [Files; 2],
}

impl Site {
    /// A machine moves to another pool, a rule gives another value.
    pub(super) fn telco() -> Self {
        let before = example("telco-site");
        let mut after = before.clone();
        edit(
            &mut after,
            "nodes/infra.yaml",
            "name: atlngamai02\n",
            "name: atlngamai02\n  labels: {berth.dev/pool: worker}\n",
        );
        edit(
            &mut after,
            "rules/location.yaml",
            "atln: atlanta",
            "atln: atlanta-north",
        );
        Self::new("telco-site", "openshift", [before, after])
    }

    /// A fact that is substituted into a profile changes.
    pub(super) fn layered() -> Self {
        let before = example("layered-site");
        let mut after = before.clone();
        edit(&mut after, "region/facts.yaml", "storage: ceph", "storage: local");
        Self::new("layered-site", "upstream", [before, after])
    }

    /// A site that follows from a number alone.
    pub(super) fn random(seed: u64) -> Self {
        let texts = [0, 1].map(|version| Files::from([("site.yaml".to_owned(), random(seed, version))]));
        Self::new(&format!("site {seed}"), "upstream", texts)
    }

    /// One machine whose pool differs from worker by a file, with a policy that names the file or without.
    pub(super) fn with_policy(policy: bool) -> Self {
        let group = "machineconfiguration.openshift.io";
        let mut objects = Vec::new();
        for pool in ["worker", "infra"] {
            objects.push(json!({
                "apiVersion": format!("{group}/v1"), "kind": "MachineConfigPool", "metadata": {"name": pool},
                "spec": {
                    "nodeSelector": {"matchLabels": {format!("node-role.kubernetes.io/{pool}"): ""}},
                    "machineConfigSelector": {"matchLabels": {format!("{group}/role"): pool}},
                },
            }));
            objects.push(json!({
                "apiVersion": format!("{group}/v1"), "kind": "MachineConfig",
                "metadata": {"name": format!("50-{pool}"), "labels": {format!("{group}/role"): pool}},
                "spec": {"config": {"ignition": {"version": "3.4.0"}, "storage": {"files": [
                    {"path": "/etc/pool", "contents": {"source": format!("data:,{pool}")}},
                ]}}},
            }));
        }
        objects.push(json!({
            "apiVersion": "berth.dev/v1alpha1", "kind": "Berth", "metadata": {"name": "a1"}, "spec": {"pool": "infra"},
        }));
        if policy {
            objects.push(json!({
                "apiVersion": "operator.openshift.io/v1", "kind": "MachineConfiguration", "metadata": {"name": "cluster"},
                "spec": {"nodeDisruptionPolicy": {"files": [{"path": "/etc/pool", "actions": [{"type": "None"}]}]}},
            }));
        }
        let text = documents(&objects);
        Self::new(
            "a policy",
            "upstream",
            [(); 2].map(|()| Files::from([("site.yaml".to_owned(), text.clone())])),
        )
    }

    /// Five machines with thirteen labels each; the documents lose some of the first one's.
    pub(super) fn losing(lost: usize) -> Self {
        let texts = [0, lost].map(|lost| {
            let group = "machineconfiguration.openshift.io";
            let mut objects = vec![
                json!({
                    "apiVersion": format!("{group}/v1"), "kind": "MachineConfigPool", "metadata": {"name": "worker"},
                    "spec": {
                        "nodeSelector": {"matchLabels": {"node-role.kubernetes.io/worker": ""}},
                        "machineConfigSelector": {"matchLabels": {format!("{group}/role"): "worker"}},
                    },
                }),
                json!({
                    "apiVersion": format!("{group}/v1"), "kind": "MachineConfig",
                    "metadata": {"name": "50-worker", "labels": {format!("{group}/role"): "worker"}},
                    "spec": {"config": {"ignition": {"version": "3.4.0"}}},
                }),
            ];
            for (index, name) in ["a1", "a2", "a3", "a4", "a5"].into_iter().enumerate() {
                let first = if index == 0 { lost } else { 0 };
                let labels: Labels = (first..12)
                    .map(|number| (format!("example.com/n{number}"), "1".to_owned()))
                    .collect();
                objects.push(json!({
                    "apiVersion": "berth.dev/v1alpha1", "kind": "Berth", "metadata": {"name": name},
                    "spec": {"pool": "worker", "labels": labels},
                }));
            }
            Files::from([("site.yaml".to_owned(), documents(&objects))])
        });
        Self::new(&format!("{lost} labels go"), "upstream", texts)
    }

    /// Nodes that joined in this pool and run its config.
    pub(super) fn joined(&self, pool: &str) -> Value {
        let role = format!("node-role.kubernetes.io/{pool}");
        let mut nodes = self.bare_nodes();
        let truth = Documents::in_short(self, &nodes);
        for node in nodes["items"].as_array_mut().unwrap() {
            node["metadata"]["labels"][&role] = json!("");
            node["metadata"]["annotations"]["berth.dev/owned-labels"] = json!(json!({&role: ""}).to_string());
            for key in ["currentConfig", "desiredConfig"] {
                let config = &truth[&format!("pool {pool}")]["config"];
                node["metadata"]["annotations"][format!("machineconfiguration.openshift.io/{key}")] = config.clone();
            }
        }
        nodes
    }

    fn new(name: &str, flavour: &'static str, texts: [Files; 2]) -> Self {
        let folder = Folder::new();
        let site = Self {
            name: name.to_owned(),
            path: folder.path().join("site"),
            flavour,
            folder,
            texts,
        };
        site.show(0);
        site
    }

    pub(super) fn versions(&self) -> std::ops::Range<usize> {
        0..self.texts.len()
    }

    /// Puts a version where commands and servers look.
    pub(super) fn show(&self, version: usize) {
        for (name, text) in &self.texts[version] {
            let file = format!("site/{name}");
            if std::fs::read_to_string(self.folder.path().join(&file)).ok().as_ref() != Some(text) {
                self.folder.write(&file, text);
            }
        }
    }

    /// Runs `berth` on the documents.
    pub(super) fn berth(&self, words: &str) -> Outcome {
        self.berth_on(&self.path, words)
    }

    /// Runs `berth` on a file.
    pub(super) fn berth_on(&self, path: &Path, words: &str) -> Outcome {
        let mut berth = command();
        berth.current_dir(self.folder.path()).args(words.split_whitespace());
        let outcome = finish(berth.arg("-f").arg(path), b"");
        assert_eq!(outcome.exit, 0, "{words} on {}: {outcome}", self.name);
        outcome
    }

    /// Nodes as kubelets without any flag register them, on machines that run what their pools have.
    pub(super) fn bare_nodes(&self) -> Value {
        let empty = json!({"apiVersion": "v1", "kind": "List", "items": []});
        let nodes = Documents::in_short(self, &empty)
            .into_iter()
            .filter_map(|(about, answer)| {
                let name = about.strip_prefix("node ")?;
                let group = "machineconfiguration.openshift.io";
                let annotations = json!({
                    format!("{group}/currentConfig"): answer["config"],
                    format!("{group}/desiredConfig"): answer["config"],
                    format!("{group}/state"): "Done",
                });
                Some(json!({
                    "apiVersion": "v1", "kind": "Node",
                    "metadata": {"name": name, "labels": bare(name), "annotations": annotations},
                }))
            });
        json!({"apiVersion": "v1", "kind": "List", "items": nodes.collect::<Vec<_>>()})
    }

    /// The objects of the site that are objects of a cluster too.
    pub(super) fn definitions(&self) -> Value {
        let mut set = DocumentSet::default();
        for (name, text) in read(&self.path) {
            set.add_text(name, text);
        }
        let objects = set.documents.iter().filter_map(to_kubernetes).filter(|object| {
            let kinds = ["MachineConfigPool", "MachineConfig", "LabelRule"];
            kinds.iter().any(|kind| object["kind"] == *kind)
        });
        json!({"apiVersion": "v1", "kind": "List", "items": objects.collect::<Vec<_>>()})
    }
}

/// Labels of people and of operators, which Berth leaves alone.
const OF_OTHERS: [&str; 3] = [
    "by-hand",
    "cluster.ocs.openshift.io/openshift-storage",
    "topology.topolvm.io/node",
];

/// Labels that every machine has.
const EVERYWHERE: [&str; 6] = [
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "node.openshift.io/os_id",
];

/// The labels of a Node that Berth did not set.
pub(super) fn bare(name: &str) -> Labels {
    let hostname = ("kubernetes.io/hostname", name);
    let labels = OF_OTHERS.map(|key| (key, "theirs")).into_iter().chain([hostname]);
    labels.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// The labels of each Node of a list, without those that Berth did not set.
pub(super) fn labels(nodes: &Value) -> BTreeMap<String, Labels> {
    let mut all = all_labels(nodes);
    for labels in all.values_mut() {
        labels.retain(|key, _| !OF_OTHERS.contains(&key.as_str()) && !EVERYWHERE.contains(&key.as_str()));
    }
    all
}

/// What others set is as it was.
pub(super) fn kept(before: &Value, after: &Value) {
    let after = all_labels(after);
    for (name, labels) in all_labels(before) {
        for (key, value) in labels.iter().filter(|(key, _)| OF_OTHERS.contains(&key.as_str())) {
            let now = after.get(&name).map(|labels| labels.get(key));
            assert!(now.is_none_or(|now| now == Some(value)), "{name} lost {key}");
        }
    }
}

fn all_labels(nodes: &Value) -> BTreeMap<String, Labels> {
    let labels = |node: &Value| serde_json::from_value(node["metadata"]["labels"].clone()).unwrap_or_default();
    let nodes = array(&nodes["items"]);
    nodes
        .iter()
        .map(|node| (text(&node["metadata"]["name"]), labels(node)))
        .collect()
}

fn example(name: &str) -> Files {
    read(&Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples")).join(name))
}

fn edit(files: &mut Files, file: &str, from: &str, to: &str) {
    let text = files.get_mut(file).unwrap();
    assert!(text.contains(from), "{file} has no {from}");
    *text = text.replace(from, to);
}

/// The documents below a folder.
fn read(folder: &Path) -> Files {
    fn below(root: &Path, folder: &Path, files: &mut Files) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                below(root, &path, files);
            } else if path.extension().is_some_and(|extension| extension == "yaml") {
                let name = path.strip_prefix(root).unwrap().display().to_string();
                files.insert(name, std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    let mut files = Files::new();
    below(folder, folder, &mut files);
    files
}

/// A site of a few pools, machine configs, rules and machines. In its second version some labels and places are others.
fn random(seed: u64, version: u64) -> String {
    // Knuth's generator is random enough, and the same everywhere.
    let numbers = |mut state: u64| {
        move |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        }
    };
    let mut fixed = numbers(seed);
    let mut pick = numbers(seed.wrapping_mul(7) + version);
    let mut objects = Vec::new();
    let group = "machineconfiguration.openshift.io";
    for pool in ["worker", "infra", "edge"] {
        let explicit = json!({"berth.dev/node-labels": format!("example.com/pool=v{}", pick(3))});
        objects.push(json!({
            "apiVersion": format!("{group}/v1"), "kind": "MachineConfigPool",
            "metadata": {"name": pool, "annotations": explicit},
            "spec": {
                "nodeSelector": {"matchLabels": {format!("node-role.kubernetes.io/{pool}"): ""}},
                "machineConfigSelector": {"matchExpressions": [
                    {"key": format!("{group}/role"), "operator": "In", "values": ["worker", pool]},
                ]},
            },
        }));
        for number in 0..=fixed(2) {
            objects.push(json!({
                "apiVersion": format!("{group}/v1"), "kind": "MachineConfig",
                "metadata": {"name": format!("50-{pool}-{number}"), "labels": {format!("{group}/role"): pool}},
                "spec": {"config": {"ignition": {"version": "3.4.0"}, "storage": {"files": [
                    {"path": format!("/etc/{pool}-{number}"), "contents": {"source": format!("data:,{}", fixed(9))}},
                ]}}},
            }));
        }
    }
    // What changes there needs no reboot, by the policy of the site.
    let restart = json!([{"type": "Restart", "restart": {"serviceName": "edge.service"}}]);
    objects.push(json!({
        "apiVersion": "operator.openshift.io/v1", "kind": "MachineConfiguration", "metadata": {"name": "cluster"},
        "spec": {"nodeDisruptionPolicy": {"files": [
            {"path": "/etc/edge-0", "actions": restart}, {"path": "/etc/edge-1", "actions": restart},
        ]}},
    }));
    objects.push(json!({
        "apiVersion": "berth.dev/v1alpha1", "kind": "LabelRule", "metadata": {"name": "sites"},
        "spec": {"match": {"namePatterns": ["b.*"]}, "labels": {"example.com/site": format!("s{}", pick(4))}},
    }));
    for name in ["a1", "a2", "b1", "b2", "b3"] {
        // Few labels go with the change, and most stay, so that it is not a mass removal.
        let moves = ["a1", "b1"].contains(&name);
        let pool = if moves { pick(3) } else { fixed(3) };
        let pool = ["worker", "infra", "edge"][usize::try_from(pool).unwrap()];
        let mut labels = json!({});
        for number in 0..10 {
            labels[format!("example.com/n{number}")] = json!(format!("v{}", fixed(3)));
        }
        let own: &mut dyn FnMut(u64) -> u64 = if name == "a1" { &mut pick } else { &mut fixed };
        for number in 0..own(3) {
            labels[format!("example.com/l{number}")] = json!(format!("v{}", own(3)));
        }
        objects.push(json!({
            "apiVersion": "berth.dev/v1alpha1", "kind": "Berth", "metadata": {"name": name},
            "spec": {"pool": pool, "labels": labels},
        }));
    }
    documents(&objects)
}

fn documents(objects: &[Value]) -> String {
    let objects: Vec<String> = objects.iter().map(Value::to_string).collect();
    objects.join("\n---\n")
}
