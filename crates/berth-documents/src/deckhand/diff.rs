//! What changed between two revisions, by bucket.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::{Map, Value, json};

use crate::deckhand::{
    budget::{CELL, size},
    canonical::ContentHash,
    document::DeckhandDocument,
    redact::{RedactionKey, redacted_data, redacted_metadata},
    render::RenderedDocument,
};

/// What happened to a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BucketChange {
    /// It is only in the newer revision.
    Created,
    /// It is only in the older revision.
    Deleted,
    /// It is in both with different documents.
    Modified,
    /// It is in both with the same documents.
    Unmodified,
}

/// A revision to compare.
#[derive(Debug)]
pub struct Revision<'a, D> {
    /// Its number; 0 is the empty revision before all others.
    pub number: u64,
    /// Its documents with their buckets.
    pub documents: &'a [(String, D)],
}

/// What happened to each bucket. The order of the two does not matter; of two buckets that only one revision has, the
/// newer revision decides whether they were created or deleted, and against revision 0 everything was created.
pub fn diff(
    one: &Revision<'_, Arc<DeckhandDocument>>,
    other: &Revision<'_, Arc<DeckhandDocument>>,
) -> BTreeMap<String, BucketChange> {
    classify(
        (one.number, &by_bucket(one.documents, AsRef::as_ref)),
        (other.number, &by_bucket(other.documents, AsRef::as_ref)),
    )
}

/// The difference of two revisions, document by document.
#[derive(Clone, Debug, PartialEq)]
pub struct DeepDiff {
    /// What happened to each bucket, and inside those that were modified.
    pub buckets: BTreeMap<String, (BucketChange, Option<BucketDiff>)>,
}

/// What happened inside a bucket.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BucketDiff {
    /// Documents that only the second revision has, by schema and name.
    pub added: BTreeSet<(String, String)>,
    /// Documents that only the first revision has.
    pub deleted: BTreeSet<(String, String)>,
    /// Documents that both have and that differ.
    pub changed: BTreeMap<(String, String), DocumentDiff>,
}

/// What happened inside a document.
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentDiff {
    /// The difference of the rendered data, with hashes for what is secret; nothing when the document is encrypted.
    pub data: Option<Value>,
    /// The difference of the metadata.
    pub metadata: Value,
}

/// Like [`diff`], and for each modified bucket what happened to its rendered documents from the first to the second
/// revision. Keyed hashes stand for secrets.
pub fn deep_diff(
    from: &Revision<'_, RenderedDocument>,
    to: &Revision<'_, RenderedDocument>,
    key: &RedactionKey,
) -> DeepDiff {
    let (before, after) = (
        by_bucket(from.documents, |rendered| &rendered.document),
        by_bucket(to.documents, |rendered| &rendered.document),
    );
    let changes = classify((from.number, &before), (to.number, &after));
    let documents = |side: &[(String, RenderedDocument)]| {
        let mut buckets: BTreeMap<String, BTreeMap<(String, String), RenderedDocument>> = BTreeMap::new();
        for (bucket, rendered) in side {
            let key = (
                rendered.document.schema().to_owned(),
                rendered.document.name().to_owned(),
            );
            buckets.entry(bucket.clone()).or_default().insert(key, rendered.clone());
        }
        buckets
    };
    let (before, after) = (documents(from.documents), documents(to.documents));
    let none = BTreeMap::new();
    let buckets = changes
        .into_iter()
        .map(|(bucket, change)| {
            let inside = (change == BucketChange::Modified).then(|| {
                bucket_diff(
                    before.get(&bucket).unwrap_or(&none),
                    after.get(&bucket).unwrap_or(&none),
                    key,
                )
            });
            (bucket, (change, inside))
        })
        .collect();
    DeepDiff { buckets }
}

type Hashes = Vec<(ContentHash, ContentHash)>;

/// The content of each bucket as a sorted list of hashes: equal lists are equal buckets.
fn by_bucket<'a, D>(
    documents: &'a [(String, D)],
    document: impl Fn(&'a D) -> &'a DeckhandDocument,
) -> BTreeMap<&'a str, Hashes> {
    let mut buckets: BTreeMap<&str, Hashes> = BTreeMap::new();
    for (bucket, filed) in documents {
        let document = document(filed);
        let hashes = (document.data_hash(), document.metadata_hash());
        buckets.entry(bucket).or_default().push(hashes);
    }
    for hashes in buckets.values_mut() {
        hashes.sort_unstable();
    }
    buckets
}

fn classify(
    (one_number, one): (u64, &BTreeMap<&str, Hashes>),
    (other_number, other): (u64, &BTreeMap<&str, Hashes>),
) -> BTreeMap<String, BucketChange> {
    let against_empty = one_number == 0 || other_number == 0;
    let names: BTreeSet<&str> = one.keys().chain(other.keys()).copied().collect();
    names
        .into_iter()
        .map(|name| {
            let change = match (one.get(name), other.get(name)) {
                (Some(one), Some(other)) if one == other => BucketChange::Unmodified,
                (Some(_), Some(_)) => BucketChange::Modified,
                _ if against_empty => BucketChange::Created,
                (in_one, _) if in_one.is_some() == (one_number > other_number) => BucketChange::Created,
                _ => BucketChange::Deleted,
            };
            (name.to_owned(), change)
        })
        .collect()
}

fn bucket_diff(
    before: &BTreeMap<(String, String), RenderedDocument>,
    after: &BTreeMap<(String, String), RenderedDocument>,
    key: &RedactionKey,
) -> BucketDiff {
    let data = |it: &RenderedDocument| redacted_data(&it.document, &it.data, &it.secrets, key);
    let metadata = |it: &RenderedDocument| redacted_metadata(&it.document, key);
    let only = |one: &BTreeMap<_, RenderedDocument>, other: &BTreeMap<_, RenderedDocument>| {
        one.keys().filter(|key| !other.contains_key(*key)).cloned().collect()
    };
    let changed = before
        .iter()
        .filter_map(|(key, before)| {
            let after = after.get(key)?;
            // Encryption on either side hides the data: the old secret is a secret too.
            let secret = before.document.is_encrypted() || after.document.is_encrypted();
            // As they are shown: a comparison of what is not shown would tell something of it.
            let (shown, shown_after) = (data(before), data(after));
            (before.document != after.document || shown != shown_after).then(|| {
                let change = DocumentDiff {
                    data: (!secret).then(|| value_diff(&shown, &shown_after)),
                    metadata: value_diff(&metadata(before), &metadata(after)),
                };
                (key.clone(), change)
            })
        })
        .collect();
    BucketDiff {
        added: only(after, before),
        deleted: only(before, after),
        changed,
    }
}

/// How many bytes of paths and values a difference may have. Beyond it the difference says that it is `truncated`.
const LARGEST_DIFFERENCE: usize = 8 << 20;

/// The difference of two values in the form that Deckhand's clients know: `values_changed`, `type_changes`, and items
/// added to and removed from mappings and lists, under paths such as `root['a'][0]`.
pub fn value_diff(before: &Value, after: &Value) -> Value {
    let mut differences = Differences {
        left: LARGEST_DIFFERENCE,
        ..Differences::default()
    };
    differences.compare("root", before, after);
    differences.into_json()
}

#[derive(Default)]
struct Differences {
    values_changed: Map<String, Value>,
    type_changes: Map<String, Value>,
    keys_added: Vec<Value>,
    keys_removed: Vec<Value>,
    items_added: Map<String, Value>,
    items_removed: Map<String, Value>,
    /// How many bytes there may still be.
    left: usize,
    truncated: bool,
}

impl Differences {
    /// Whether there is room for one more difference.
    fn has_room(&mut self, path: &str, values: &[&Value]) -> bool {
        let taken = values
            .iter()
            .map(|value| size(value))
            .fold(path.len(), usize::saturating_add);
        match self.left.checked_sub(taken.saturating_add(CELL)) {
            Some(left) => self.left = left,
            None => self.truncated = true,
        }
        !self.truncated
    }

    fn compare(&mut self, path: &str, before: &Value, after: &Value) {
        if self.truncated {
            return;
        }
        match (before, after) {
            (Value::Object(before), Value::Object(after)) => {
                for (key, value) in before {
                    let path = format!("{path}['{key}']");
                    match after.get(key) {
                        Some(other) => self.compare(&path, value, other),
                        None if self.has_room(&path, &[]) => self.keys_removed.push(Value::from(path)),
                        None => return,
                    }
                }
                for key in after.keys().filter(|key| !before.contains_key(*key)) {
                    let path = format!("{path}['{key}']");
                    if !self.has_room(&path, &[]) {
                        return;
                    }
                    self.keys_added.push(Value::from(path));
                }
            }
            (Value::Array(before), Value::Array(after)) => {
                for (index, (one, other)) in before.iter().zip(after).enumerate() {
                    self.compare(&format!("{path}[{index}]"), one, other);
                }
                for (index, value) in before.iter().enumerate().skip(after.len()) {
                    let path = format!("{path}[{index}]");
                    if !self.has_room(&path, &[value]) {
                        return;
                    }
                    self.items_removed.insert(path, value.clone());
                }
                for (index, value) in after.iter().enumerate().skip(before.len()) {
                    let path = format!("{path}[{index}]");
                    if !self.has_room(&path, &[value]) {
                        return;
                    }
                    self.items_added.insert(path, value.clone());
                }
            }
            _ if before == after => {}
            _ if !self.has_room(path, &[before, after]) => {}
            _ if python_type(before) == python_type(after) => {
                self.values_changed
                    .insert(path.to_owned(), json!({"new_value": after, "old_value": before}));
            }
            _ => {
                self.type_changes.insert(
                    path.to_owned(),
                    json!({
                        "new_type": python_type(after),
                        "new_value": after,
                        "old_type": python_type(before),
                        "old_value": before,
                    }),
                );
            }
        }
    }

    fn into_json(self) -> Value {
        let mut differences = Map::new();
        for (name, values) in [
            ("values_changed", self.values_changed),
            ("type_changes", self.type_changes),
            ("iterable_item_added", self.items_added),
            ("iterable_item_removed", self.items_removed),
        ] {
            if !values.is_empty() {
                differences.insert(name.to_owned(), Value::Object(values));
            }
        }
        for (name, paths) in [
            ("dictionary_item_added", self.keys_added),
            ("dictionary_item_removed", self.keys_removed),
        ] {
            if !paths.is_empty() {
                differences.insert(name.to_owned(), Value::Array(paths));
            }
        }
        if self.truncated {
            differences.insert("truncated".to_owned(), Value::from(true));
        }
        Value::Object(differences)
    }
}

/// The names under which replies give types.
fn python_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<class 'NoneType'>",
        Value::Bool(_) => "<class 'bool'>",
        Value::Number(number) if number.is_f64() => "<class 'float'>",
        Value::Number(_) => "<class 'int'>",
        Value::String(_) => "<class 'str'>",
        Value::Array(_) => "<class 'list'>",
        Value::Object(_) => "<class 'dict'>",
    }
}
