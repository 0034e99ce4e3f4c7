//! The value of the kubelet's `--node-labels` flag.

use std::collections::HashMap;

use crate::{error::LabelError, label::Label, set::LabelSet};

/// What a kubelet reads from one or more `--node-labels` values.
///
/// The texts are kept as they are, because a flag on a machine may hold anything; [`NodeLabels::checked`] says what the
/// kubelet would think of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeLabels {
    /// In the order in which each key was first seen, with its last value.
    entries: Vec<(String, String)>,
}

impl NodeLabels {
    /// Reads flag values as the kubelet does.
    ///
    /// Items are separated by commas and empty items are skipped. An item is split at its first `=`; key and value are
    /// trimmed; a key without `=` has the empty value. Repeats of the flag and of a key merge, and the last value wins.
    /// An item of blanks alone is not empty: it is a label with an empty key, which the kubelet then refuses.
    pub fn parse(values: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let mut entries: Vec<(String, String)> = Vec::new();
        let mut positions: HashMap<String, usize> = HashMap::new();
        for value in values {
            for item in value.as_ref().split(',').filter(|item| !item.is_empty()) {
                let (key, value) = item.split_once('=').unwrap_or((item, ""));
                let (key, value) = (key.trim(), value.trim());
                let position = *positions.entry(key.to_owned()).or_insert(entries.len());
                if let Some(entry) = entries.get_mut(position) {
                    value.clone_into(&mut entry.1);
                } else {
                    entries.push((key.to_owned(), value.to_owned()));
                }
            }
        }
        Self { entries }
    }

    /// Key and value of each label, in the order in which the keys were first seen, with the last value.
    pub fn entries(&self) -> &[(String, String)] {
        &self.entries
    }

    /// Whether no label was given.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Each label checked against the syntax of labels; an illegal one as `key=value` with the reason. One illegal
    /// label stops the kubelet.
    pub fn checked(&self) -> Vec<Result<Label, (String, LabelError)>> {
        self.entries
            .iter()
            .map(|(key, value)| Label::parse_parts(key, value).map_err(|error| (format!("{key}={value}"), error)))
            .collect()
    }

    /// The legal labels as a set.
    pub fn valid(&self) -> LabelSet {
        self.checked().into_iter().flatten().collect()
    }

    /// A value for the flag. Empty values are written `key=`, never with quotes: the kubelet would take these as part
    /// of the value and refuse to start.
    pub fn format(labels: &LabelSet) -> String {
        labels.to_string()
    }
}
