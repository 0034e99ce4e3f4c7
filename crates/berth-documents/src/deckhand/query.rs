//! Filters, order and limit of document lists, as the parameters of a request give them.

use std::cmp::Ordering;

use serde_json::Value;

use crate::deckhand::{
    canonical::canonical_json,
    document::DeckhandDocument,
    form::without_version,
    path::{Path, PathPart},
    secrets::SecretPaths,
};

/// How many columns a list can be sorted by.
const MOST_COLUMNS: usize = 8;

/// Which list is asked for. Some filters make sense for one of them only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Listing {
    /// Documents as they are written.
    Documents,
    /// Rendered documents, which are never abstract.
    RenderedDocuments,
}

/// What to show of a list of documents, and in which order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    schemas: Vec<String>,
    names: Vec<String>,
    layers: Vec<String>,
    is_abstract: Option<bool>,
    labels: Vec<(String, String)>,
    buckets: Vec<String>,
    sort: Vec<Path>,
    descending: bool,
    limit: Option<usize>,
    cleartext_secrets: bool,
}

/// A parameter that cannot be understood; answered as 400.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// `limit` is not a whole number.
    #[error("The limit parameter must be a whole number that is not negative, not '{value}'.")]
    Limit {
        /// What was given.
        value: String,
    },
    /// `metadata.label` is not `key=value`.
    #[error("The metadata.label parameter must have the form key=value, not '{value}'.")]
    Label {
        /// What was given.
        value: String,
    },
    /// A truth value is neither true nor false.
    #[error("The {parameter} parameter must be true or false, not '{value}'.")]
    Boolean {
        /// The parameter.
        parameter: String,
        /// What was given.
        value: String,
    },
    /// `sort` has too many columns.
    #[error("The sort parameter takes at most {MOST_COLUMNS} columns.")]
    Columns,
    /// `sort` is not a path.
    #[error("The sort parameter must be a dotted path, not '{value}'.")]
    Sort {
        /// What was given.
        value: String,
    },
}

/// What a query looks at in one entry of a list.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The document.
    pub document: &'a DeckhandDocument,
    /// Its data, raw or rendered.
    pub data: &'a Value,
    /// Which parts of the data are secret. They give no order: whoever may write documents could find a secret by it.
    pub secrets: &'a SecretPaths,
    /// Its bucket.
    pub bucket: &'a str,
    /// The revision where it last changed.
    pub revision: u64,
}

impl Query {
    /// Reads the parameters of a request. A parameter may be repeated; those that mean nothing here are ignored.
    pub fn parse<K: AsRef<str>, V: AsRef<str>>(
        listing: Listing,
        parameters: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Self, QueryError> {
        let mut query = Self::default();
        for (key, value) in parameters {
            let value = value.as_ref();
            match key.as_ref() {
                "schema" => query.schemas.push(value.to_owned()),
                "metadata.name" => query.names.push(value.to_owned()),
                "metadata.layeringDefinition.layer" => query.layers.push(value.to_owned()),
                parameter @ "metadata.layeringDefinition.abstract" if listing == Listing::Documents => {
                    query.is_abstract = Some(boolean(parameter, value)?);
                }
                "metadata.label" => {
                    let (key, label) = value.split_once('=').ok_or_else(|| QueryError::Label {
                        value: value.to_owned(),
                    })?;
                    query.labels.push((key.to_owned(), label.to_owned()));
                }
                "status.bucket" => query.buckets.push(value.to_owned()),
                "sort" => {
                    for column in value.split(',').map(str::trim) {
                        if query.sort.len() >= MOST_COLUMNS {
                            return Err(QueryError::Columns);
                        }
                        query.sort.push(Path::parse(column).map_err(|_| QueryError::Sort {
                            value: value.to_owned(),
                        })?);
                    }
                }
                // Anything but `desc` is the default order, as in Deckhand.
                "order" => query.descending = value.eq_ignore_ascii_case("desc"),
                "limit" => {
                    query.limit = Some(value.trim().parse().map_err(|_| QueryError::Limit {
                        value: value.to_owned(),
                    })?);
                }
                parameter @ "cleartext-secrets" => query.cleartext_secrets = boolean(parameter, value)?,
                _ => {}
            }
        }
        Ok(query)
    }

    /// Whether secrets are asked for as they are. Whoever answers must see that the asker may have them.
    pub const fn cleartext_secrets(&self) -> bool {
        self.cleartext_secrets
    }

    /// The entries to show, in order. `entries` come in the order of their creation.
    pub fn apply<T>(&self, mut entries: Vec<T>, view: impl Fn(&T) -> View<'_>) -> Vec<T> {
        entries.retain(|entry| self.matches(&view(entry)));
        if !self.sort.is_empty() {
            let mut keyed: Vec<(Vec<Value>, T)> = entries
                .into_iter()
                .map(|entry| {
                    let view = view(&entry);
                    let key = self.sort.iter().map(|path| view.value_at(path)).collect();
                    (key, entry)
                })
                .collect();
            keyed.sort_by(|(one, _), (other, _)| {
                let order = compare_lists(one, other);
                if self.descending { order.reverse() } else { order }
            });
            entries = keyed.into_iter().map(|(_, entry)| entry).collect();
        } else if self.descending {
            entries.reverse();
        }
        if let Some(limit) = self.limit {
            entries.truncate(limit);
        }
        entries
    }

    /// Whether an entry passes all filters.
    pub fn matches(&self, view: &View<'_>) -> bool {
        let document = view.document;
        let any = |wanted: &[String], found: Option<&str>| {
            wanted.is_empty() || wanted.iter().any(|wanted| Some(wanted.as_str()) == found)
        };
        (self.schemas.is_empty()
            || self
                .schemas
                .iter()
                .any(|wanted| schema_matches(wanted, document.schema())))
            && any(&self.names, Some(document.name()))
            && any(&self.layers, document.layer())
            && any(&self.buckets, Some(view.bucket))
            && self.is_abstract.is_none_or(|wanted| wanted == document.is_abstract())
            && self.labels.iter().all(|(key, wanted)| {
                document
                    .labels()
                    .get(key)
                    .is_some_and(|label| label_matches(wanted, label))
            })
    }
}

impl View<'_> {
    /// The value of a sort column, null when the document has none.
    fn value_at(&self, path: &Path) -> Value {
        let (first, rest) = match path.steps().split_first() {
            Some((PathPart::Key(first), rest)) => (first.as_str(), rest),
            _ => return Value::Null,
        };
        let below = |value: &Value| Path::from(rest).get(value).cloned().unwrap_or_default();
        match first {
            "schema" if rest.is_empty() => Value::from(self.document.schema()),
            "metadata" => below(self.document.metadata()),
            "data" if self.document.is_encrypted() || !self.secrets.at(rest).is_none() => Value::Null,
            "data" => below(self.data),
            "status" => match rest {
                [PathPart::Key(key)] if key == "bucket" => Value::from(self.bucket),
                [PathPart::Key(key)] if key == "revision" => Value::from(self.revision),
                _ => Value::Null,
            },
            _ => Value::Null,
        }
    }
}

/// A namespace, a namespace and kind, or all of a schema; whole words only.
fn schema_matches(wanted: &str, schema: &str) -> bool {
    let kind = without_version(schema);
    let namespace = kind.split('/').next().unwrap_or(kind);
    [schema, kind, namespace].contains(&wanted)
}

/// Labels are mostly texts; others match by how they are written.
fn label_matches(wanted: &str, label: &Value) -> bool {
    match label {
        Value::String(label) => wanted == label,
        Value::Bool(label) => boolean("", wanted) == Ok(*label),
        other => wanted == canonical_json(other),
    }
}

fn boolean(parameter: &str, value: &str) -> Result<bool, QueryError> {
    if value.eq_ignore_ascii_case("true") {
        Ok(true)
    } else if value.eq_ignore_ascii_case("false") {
        Ok(false)
    } else {
        Err(QueryError::Boolean {
            parameter: parameter.to_owned(),
            value: value.to_owned(),
        })
    }
}

fn compare_lists(one: &[Value], other: &[Value]) -> Ordering {
    one.iter()
        .zip(other)
        .map(|(one, other)| compare(one, other))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// A total order of values: by type, then numbers by size and texts by letter.
fn compare(one: &Value, other: &Value) -> Ordering {
    let rank = |value: &Value| match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    };
    match (one, other) {
        (Value::Bool(one), Value::Bool(other)) => one.cmp(other),
        (Value::Number(one), Value::Number(other)) => match (one.as_i64(), other.as_i64()) {
            (Some(one), Some(other)) => one.cmp(&other),
            _ => one
                .as_f64()
                .unwrap_or_default()
                .total_cmp(&other.as_f64().unwrap_or_default()),
        },
        (Value::String(one), Value::String(other)) => one.cmp(other),
        (Value::Array(one), Value::Array(other)) => compare_lists(one, other).then(one.len().cmp(&other.len())),
        (Value::Object(_), Value::Object(_)) => canonical_json(one).cmp(&canonical_json(other)),
        _ => rank(one).cmp(&rank(other)),
    }
}
