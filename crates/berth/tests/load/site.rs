//! What is declared, and how it changes from commit to commit.
//!
//! Two groups of Nodes: those that the controllers keep by the documents of a folder, and those that actions relabel by the
//! committed documents of the database. Each has labels that never change, one that changes with every commit, and one that is
//! declared now and then.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use serde_json::{Value, json};

/// Declared at all times with the Node's name as value.
pub(crate) const ALWAYS: &str = "example.com/always";
/// Declared at all times, and people give it other values by hand.
pub(crate) const CONTESTED: &str = "example.com/contested";
pub(crate) const CONTESTED_VALUE: &str = "declared";
/// Another value with every commit.
const ROUND: &str = "example.com/round";
/// Declared for some Nodes.
const OPTIONAL: &str = "example.com/optional";
/// What makes a Node one of the pool.
pub(crate) const ROLE: &str = "node-role.kubernetes.io/infra";
/// The domain of the labels that are declared; those of Kubernetes and of people are elsewhere.
const DOMAIN: &str = "example.com/";

const KEPT: usize = 60;
const ACTED: usize = 40;

/// Who labels a Node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// The controllers, which also bring it back when it is deleted.
    Kept,
    /// Actions.
    Acted,
}

impl Group {
    pub(crate) fn of(node: &str) -> Self {
        if node.starts_with("kept-") {
            Self::Kept
        } else {
            Self::Acted
        }
    }

    pub(crate) fn names(self) -> Vec<String> {
        let (name, count) = match self {
            Self::Kept => ("kept", KEPT),
            Self::Acted => ("acted", ACTED),
        };
        (0..count).map(|number| format!("{name}-{number:02}")).collect()
    }
}

/// The labels that a Node has at all times, once it has them.
pub(crate) fn lasting(node: &str) -> Vec<(&'static str, String)> {
    let mut labels = vec![(ALWAYS, node.to_owned())];
    if Group::of(node) == Group::Kept {
        labels.push((ROLE, String::new()));
    }
    labels
}

/// What is declared at one time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Site {
    round: u64,
    /// The Nodes with the optional label.
    optional: BTreeSet<String>,
}

impl Site {
    /// The next round, in which the optional label of these Nodes comes or goes.
    #[must_use]
    pub(crate) fn next(&self, toggled: &[String]) -> Self {
        let toggled = toggled.iter().cloned().collect();
        Self {
            round: self.round + 1,
            optional: &self.optional ^ &toggled,
        }
    }

    /// The declared labels of a Node that have its commit's values.
    fn labels(&self, node: &str) -> BTreeMap<&'static str, String> {
        let mut labels = BTreeMap::from([
            (ALWAYS, node.to_owned()),
            (CONTESTED, CONTESTED_VALUE.to_owned()),
            (ROUND, format!("r{}", self.round)),
        ]);
        if self.optional.contains(node) {
            labels.insert(OPTIONAL, "yes".to_owned());
        }
        labels
    }

    /// The documents of the folder.
    pub(crate) fn folder(&self) -> String {
        let mut text = format!("{}\n", pool());
        for node in Group::Kept.names() {
            let labels = json!(self.labels(&node));
            let _ = write!(
                text,
                "---\napiVersion: berth.dev/v1alpha1\nkind: Berth\nmetadata: {{name: {node}}}\nspec: {{pool: infra, \
                 preregister: Now, labels: {labels}}}\n"
            );
        }
        text
    }

    /// The documents of the database.
    pub(crate) fn database(&self) -> String {
        let mut text =
            "---\nschema: deckhand/LayeringPolicy/v1\nmetadata: {schema: metadata/Control/v1, name: layers}\n\
                        data: {layerOrder: [site]}\n"
                .to_owned();
        for node in Group::Acted.names() {
            let labels = json!(self.labels(&node));
            let _ = write!(
                text,
                "---\nschema: drydock/BaremetalNode/v1\nmetadata: {{schema: metadata/Document/v1, name: {node}, storagePolicy: \
                 cleartext, layeringDefinition: {{abstract: false, layer: site}}}}\ndata: {{addressing: [{{network: pxe, \
                 address: dhcp}}], metadata: {{owner_data: {labels}}}}}\n"
            );
        }
        text
    }

    /// What keeps a Node from being as declared. What people did with the contested label is theirs to say.
    pub(crate) fn problem(&self, node: &str, labels: &BTreeMap<String, String>) -> Option<String> {
        let mut expected = self.labels(node);
        expected.remove(CONTESTED);
        let found: BTreeMap<&str, &String> = labels
            .iter()
            .filter(|(key, _)| key.starts_with(DOMAIN) && *key != CONTESTED)
            .map(|(key, value)| (key.as_str(), value))
            .collect();
        let same = expected.len() == found.len() && expected.iter().all(|(key, value)| found.get(key) == Some(&value));
        let role = Group::of(node) == Group::Acted || labels.contains_key(ROLE);
        (!same || !role).then(|| format!("{node} has {labels:?} and not {expected:?}"))
    }
}

/// The pool of the Nodes that the controllers keep.
pub(crate) fn pool() -> Value {
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool", "metadata": {"name": "infra"},
        "spec": {"nodeSelector": {"matchLabels": {ROLE: ""}}},
    })
}
