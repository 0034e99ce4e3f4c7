//! Reads typed fields out of a document's mapping and reports what does not fit, with its place.

use std::{collections::BTreeMap, sync::Arc};

use berth_documents::{Diagnostic, Mapping, Node, Severity, Sources, Span, Value};
use berth_labels::{Label, LabelKey, LabelSelector, LabelSelectorRequirement, LabelValue};

use crate::{
    lints,
    load::has_errors,
    model::{Declared, Name, Spanned},
    suggest::nearest,
};

/// What reading needs besides the documents: their texts, and a place for findings.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    pub(crate) sources: &'a Sources,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Whether the document that is being read follows Airship's rules.
    pub(crate) airship: bool,
}

impl Report<'_> {
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Reads something that Drydock does not look at: in its documents no finding about it is an error.
    pub(crate) fn beyond_airship<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.diagnostics.len();
        let value = read(self);
        if self.airship {
            let found = self.diagnostics.split_off(before.min(self.diagnostics.len()));
            let capped = found.into_iter().map(|finding| finding.at_most(Severity::Warning));
            self.diagnostics.extend(capped);
        }
        value
    }

    pub(crate) fn wrong_type(&mut self, what: &str, expected: &str, node: &Node) {
        let message = format!("{what} must be {expected}, found {}", node.type_name());
        let mut diagnostic = Diagnostic::new(&lints::WRONG_TYPE, node.span, message);
        if expected == "a string" && node.is_plain() && !node.is_null() {
            diagnostic = diagnostic.with_help(format!("write \"{}\"", self.sources.snippet(node.span)));
        }
        self.push(diagnostic);
    }
}

/// What a selector field holds.
#[derive(Debug)]
pub(crate) enum SelectorField {
    /// There is no such field.
    Missing,
    /// It cannot be read; the reason has been reported.
    Broken,
    /// It was read.
    Read(Spanned<LabelSelector>),
}

impl SelectorField {
    pub(crate) fn ok(self) -> Option<Spanned<LabelSelector>> {
        match self {
            Self::Read(selector) => Some(selector),
            Self::Missing | Self::Broken => None,
        }
    }
}

/// A mapping whose fields are taken one by one; what nobody took is unknown.
#[derive(Debug)]
pub(crate) struct Fields<'a> {
    map: Option<&'a Mapping>,
    /// How messages call the mapping, such as `MachineConfigPool spec`.
    what: String,
    known: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// Opens a mapping. Nothing at all counts as an empty one.
    pub(crate) fn open(node: Option<&'a Node>, what: impl Into<String>, report: &mut Report<'_>) -> Self {
        let what = what.into();
        let map = match node {
            Some(Node {
                value: Value::Map(map), ..
            }) => Some(map),
            Some(node) if !node.is_null() => {
                report.wrong_type(&what, "a mapping", node);
                None
            }
            _ => None,
        };
        Self {
            map,
            what,
            known: Vec::new(),
        }
    }

    /// A field, unless it is missing or null.
    pub(crate) fn get(&mut self, key: &'static str) -> Option<&'a Node> {
        self.known.push(key);
        self.map?.get(key).filter(|node| !node.is_null())
    }

    /// Fields that are allowed here and not read.
    pub(crate) fn allow(&mut self, keys: &[&'static str]) {
        self.known.extend_from_slice(keys);
    }

    pub(crate) fn open_field(&mut self, key: &'static str, report: &mut Report<'_>) -> Self {
        let what = format!("{}.{key}", self.what);
        let node = self.get(key);
        Self::open(node, what, report)
    }

    pub(crate) fn string(&mut self, key: &'static str, report: &mut Report<'_>) -> Option<Spanned<String>> {
        let node = self.get(key)?;
        string(node, &format!("`{key}`"), report)
    }

    pub(crate) fn name(&mut self, key: &'static str, report: &mut Report<'_>) -> Option<Name> {
        self.string(key, report)
            .map(|text| Spanned::new(Arc::from(text.value), text.span))
    }

    pub(crate) fn bool(&mut self, key: &'static str, report: &mut Report<'_>) -> Option<bool> {
        let node = self.get(key)?;
        let value = node.as_bool();
        if value.is_none() {
            report.wrong_type(&format!("`{key}`"), "true or false", node);
        }
        value
    }

    pub(crate) fn int(&mut self, key: &'static str, report: &mut Report<'_>) -> Option<i64> {
        let node = self.get(key)?;
        let value = node.as_i64();
        if value.is_none() {
            report.wrong_type(&format!("`{key}`"), "a whole number", node);
        }
        value
    }

    pub(crate) fn strings(&mut self, key: &'static str, report: &mut Report<'_>) -> Vec<Spanned<String>> {
        let Some(node) = self.get(key) else {
            return Vec::new();
        };
        let Some(items) = node.as_seq() else {
            report.wrong_type(&format!("`{key}`"), "a list of strings", node);
            return Vec::new();
        };
        items
            .iter()
            .filter_map(|item| string(item, &format!("an item of `{key}`"), report))
            .collect()
    }

    pub(crate) fn names(&mut self, key: &'static str, report: &mut Report<'_>) -> Vec<Name> {
        self.strings(key, report)
            .into_iter()
            .map(|text| Spanned::new(Arc::from(text.value), text.span))
            .collect()
    }

    /// One of a few words.
    pub(crate) fn choice<T: Copy>(
        &mut self,
        key: &'static str,
        words: &[(&str, T)],
        report: &mut Report<'_>,
    ) -> Option<T> {
        let text = self.string(key, report)?;
        let found = words
            .iter()
            .find(|(word, _)| *word == text.value)
            .map(|(_, value)| *value);
        if found.is_none() {
            let all: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
            let message = format!("`{key}` cannot be `{}`", text.value);
            report.push(
                Diagnostic::new(&lints::INVALID_VALUE, text.span, message)
                    .with_help(format!("allowed values: {}", all.join(", "))),
            );
        }
        found
    }

    /// A selector. One that cannot be read whole is not read at all: without the part that is wrong it would select
    /// more than its author wanted.
    pub(crate) fn selector(&mut self, key: &'static str, report: &mut Report<'_>) -> SelectorField {
        let Some(node) = self.get(key) else {
            return SelectorField::Missing;
        };
        let findings = report.diagnostics.len();
        match Self::read_selector(key, node, report) {
            Some(selector) if !has_errors(report.diagnostics.get(findings..).unwrap_or_default()) => {
                SelectorField::Read(Spanned::new(selector, node.span))
            }
            _ => SelectorField::Broken,
        }
    }

    fn read_selector(key: &str, node: &'a Node, report: &mut Report<'_>) -> Option<LabelSelector> {
        let mut fields = Fields::open(Some(node), key, report);
        let match_labels = fields
            .get("matchLabels")
            .map(|node| string_map(node, "a matchLabels value", report))
            .unwrap_or_default();
        let mut match_expressions = Vec::new();
        if let Some(list) = fields.get("matchExpressions") {
            let Some(items) = list.as_seq() else {
                report.wrong_type("`matchExpressions`", "a list", list);
                return None;
            };
            for item in items {
                let mut fields = Fields::open(Some(item), "matchExpressions item", report);
                let key = fields.string("key", report);
                let operator = fields.string("operator", report);
                let values = fields.strings("values", report);
                fields.finish(report);
                for (field, missing) in [("key", key.is_none()), ("operator", operator.is_none())] {
                    if missing && item.get(field).is_none() {
                        report.push(Diagnostic::new(
                            &lints::MISSING_FIELD,
                            item.span,
                            format!("this requirement has no `{field}`"),
                        ));
                    }
                }
                match_expressions.push(LabelSelectorRequirement {
                    key: key.map(|text| text.value).unwrap_or_default(),
                    operator: operator.map(|text| text.value).unwrap_or_default(),
                    values: values.into_iter().map(|text| text.value).collect(),
                });
            }
        }
        fields.finish(report);
        Some(LabelSelector {
            match_labels,
            match_expressions,
        })
    }

    /// Label statements; `!key` removes where `removals` allows it.
    pub(crate) fn labels(&mut self, key: &'static str, removals: bool, report: &mut Report<'_>) -> Vec<Declared> {
        let Some(node) = self.get(key) else {
            return Vec::new();
        };
        let Some(map) = node.as_map() else {
            report.wrong_type(&format!("`{key}`"), "a mapping of labels", node);
            return Vec::new();
        };
        let mut declared = Vec::with_capacity(map.len());
        for (key, node) in map {
            let (text, removal) = match key.as_str().strip_prefix('!') {
                Some(rest) if removals => (rest, true),
                _ => (key.as_str(), false),
            };
            let Some(key) = label_key(text, key.span, report) else {
                continue;
            };
            if removal {
                declared.push(Declared {
                    key,
                    value: None,
                    span: node.span,
                });
            } else if let Some(value) = label_value(&key, node, report) {
                declared.push(Declared {
                    key,
                    value: Some(value),
                    span: node.span,
                });
            }
        }
        declared
    }

    /// Reports every field that nobody asked for.
    pub(crate) fn finish(self, report: &mut Report<'_>) {
        for (key, _) in self.map.into_iter().flatten() {
            if self.known.contains(&key.as_str()) {
                continue;
            }
            let message = format!("{} has no field `{}`", self.what, key.as_str());
            let mut diagnostic = Diagnostic::new(&lints::UNKNOWN_FIELD, key.span, message);
            if let Some(name) = nearest(key.as_str(), self.known.iter().copied()) {
                diagnostic = diagnostic.with_help(format!("did you mean `{name}`?"));
            }
            report.push(diagnostic);
        }
    }
}

pub(crate) fn string(node: &Node, what: &str, report: &mut Report<'_>) -> Option<Spanned<String>> {
    if let Some(text) = node.as_str() {
        return Some(Spanned::new(text.to_owned(), node.span));
    }
    report.wrong_type(what, "a string", node);
    None
}

/// A mapping of strings, such as `metadata.labels`, without any check of label syntax.
pub(crate) fn string_map(node: &Node, what: &str, report: &mut Report<'_>) -> BTreeMap<String, String> {
    let Some(map) = node.as_map() else {
        report.wrong_type("this", "a mapping of strings", node);
        return BTreeMap::new();
    };
    map.iter()
        .filter_map(|(key, node)| string(node, what, report).map(|text| (key.as_str().to_owned(), text.value)))
        .collect()
}

pub(crate) fn label_key(text: &str, span: Span, report: &mut Report<'_>) -> Option<LabelKey> {
    match LabelKey::try_from(text) {
        Ok(key) => Some(key),
        Err(error) => {
            report.push(Diagnostic::new(
                &lints::INVALID_LABEL_KEY,
                span,
                format!("`{text}` is not a label key: {error}"),
            ));
            None
        }
    }
}

/// A label value: a string of legal syntax, and nothing that YAML reads as another type.
pub(crate) fn label_value(key: &LabelKey, node: &Node, report: &mut Report<'_>) -> Option<LabelValue> {
    let Some(text) = node.as_str() else {
        let written = report.sources.snippet(node.span);
        let message = format!(
            "the value of label `{key}` must be a string, found {}",
            node.type_name()
        );
        let help = match node.value {
            Value::Null => "write \"\" for a label without a value".to_owned(),
            Value::Map(_) | Value::Seq(_) => "a label has one value".to_owned(),
            _ => format!("write \"{written}\""),
        };
        report.push(Diagnostic::new(&lints::UNQUOTED_VALUE, node.span, message).with_help(help));
        return None;
    };
    match LabelValue::try_from(text) {
        Ok(value) => Some(value),
        Err(error) => {
            let message = format!("`{text}` is not a label value: {error}");
            report.push(Diagnostic::new(&lints::INVALID_LABEL_VALUE, node.span, message));
            None
        }
    }
}

/// A list `key=value,key=value` as annotations carry it; line ends separate too.
pub(crate) fn label_list(node: &Node, what: &str, report: &mut Report<'_>) -> Vec<Declared> {
    let Some(text) = string(node, what, report) else {
        return Vec::new();
    };
    let mut declared = Vec::new();
    for item in text
        .value
        .split([',', '\n'])
        .map(str::trim)
        .filter(|item| !item.is_empty())
    {
        match item.parse::<Label>() {
            Ok(label) => declared.push(Declared {
                key: label.key,
                value: Some(label.value),
                span: node.span,
            }),
            Err(error) => {
                let message = format!("`{item}` in {what} is not a label: {error}");
                report.push(
                    Diagnostic::new(&lints::INVALID_LABEL_VALUE, node.span, message).with_help("write key=value"),
                );
            }
        }
    }
    declared
}
