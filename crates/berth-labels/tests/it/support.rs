//! Short ways to write fixtures.

use std::collections::BTreeMap;

use berth_labels::{Label, LabelKey, LabelSelector, LabelSelectorRequirement, LabelSet, LabelValue};

pub(crate) fn key(text: &str) -> LabelKey {
    text.parse().unwrap()
}

pub(crate) fn value(text: &str) -> LabelValue {
    text.parse().unwrap()
}

/// `a=1,b=` as a set; the empty text is the empty set.
pub(crate) fn set(text: &str) -> LabelSet {
    text.split(',')
        .filter(|item| !item.is_empty())
        .map(|item| item.parse::<Label>().unwrap())
        .collect()
}

/// `a=1,b=` as a map of plain texts.
pub(crate) fn map(text: &str) -> BTreeMap<String, String> {
    set(text).to_map()
}

/// A selector from `matchLabels` and `(key, operator, values)` rows.
pub(crate) fn selector(labels: &[(&str, &str)], expressions: &[(&str, &str, &[&str])]) -> LabelSelector {
    LabelSelector {
        match_labels: labels
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
        match_expressions: expressions
            .iter()
            .map(|(key, operator, values)| LabelSelectorRequirement {
                key: (*key).to_owned(),
                operator: (*operator).to_owned(),
                values: values.iter().map(|value| (*value).to_owned()).collect(),
            })
            .collect(),
    }
}
