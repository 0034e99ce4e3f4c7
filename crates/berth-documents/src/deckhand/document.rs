//! Deckhand documents: `schema`, `metadata` and `data`.

use std::{collections::BTreeMap, fmt, sync::Arc};

use serde_json::{Map, Value};

use crate::deckhand::{
    budget::size,
    canonical::ContentHash,
    form::{self, FormErrors},
    path::Path,
};

/// How deep data may be nested, as written and as rendered. Code over values is recursive, and readers of JSON stop at 127
/// levels, of which the document and the reply around it need some.
pub(crate) const MAX_DATA_DEPTH: usize = 120;

/// What makes a document one of a kind in a revision.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// Namespace, kind and version, such as `drydock/BaremetalNode/v1`.
    pub schema: String,
    /// The layer. Control documents mostly have none.
    pub layer: Option<String>,
    /// `metadata.name`.
    pub name: String,
}

/// `[schema, layer] name`, as Deckhand's messages name documents.
impl fmt::Display for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Deckhand writes the missing layer of a control document this way, and clients look for it.
        let layer = self.layer.as_deref().unwrap_or("None");
        write!(formatter, "[{}, {layer}] {}", self.schema, self.name)
    }
}

/// A document whose form is known to be right.
///
/// Data and metadata are shared: a document that no rule touches is rendered without copying it.
#[derive(Clone, Debug)]
pub struct DeckhandDocument {
    identity: Arc<Identity>,
    control: bool,
    is_abstract: bool,
    labels: BTreeMap<String, Value>,
    parent_selector: BTreeMap<String, Value>,
    actions: Vec<Action>,
    replacement: bool,
    storage_policy: StoragePolicy,
    substitutions: Vec<Substitution>,
    metadata: Arc<Value>,
    data: Arc<Value>,
    data_hash: ContentHash,
    metadata_hash: ContentHash,
    size: usize,
}

/// How the data of a document is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StoragePolicy {
    /// As it is.
    #[default]
    Cleartext,
    /// Sealed at rest, and redacted in replies.
    Encrypted,
}

/// One step of layering: what to do with a part of the parent's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// What to do.
    pub method: Method,
    /// Where, in the data of parent and child.
    pub path: Path,
    /// The path as it is written.
    pub written: String,
}

/// What a layering action does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Lays the child's mapping over the parent's, key by key.
    Merge,
    /// Puts the child's value in the place of the parent's.
    Replace,
    /// Takes the parent's value away.
    Delete,
}

impl Method {
    /// The word in a document.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Replace => "replace",
            Self::Delete => "delete",
        }
    }
}

/// A value that comes out of another document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Substitution {
    /// Where the value comes from.
    pub source: Source,
    /// Where the value goes, at least one place.
    pub destinations: Vec<Destination>,
}

/// Where a substituted value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The schema of the source document.
    pub schema: String,
    /// The name of the source document.
    pub name: String,
    /// Where in its data.
    pub path: Path,
    /// The path as it is written.
    pub written: String,
    /// The part of the text to take, as a regular expression.
    pub pattern: Option<String>,
    /// The group of the pattern to take; 0 is the whole match.
    pub match_group: usize,
}

/// Where a substituted value goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// Where in the data.
    pub path: Path,
    /// The path as it is written.
    pub written: String,
    /// The part of the text there to replace, as a regular expression.
    pub pattern: Option<String>,
    /// Whether the pattern is looked for in all texts below the path, and how deep.
    pub recurse: Option<Depth>,
}

/// How deep a recursive substitution goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// To the end, written as -1.
    Unlimited,
    /// So many levels of lists and mappings.
    Levels(usize),
}

pub(crate) struct Parts {
    pub(crate) identity: Identity,
    pub(crate) control: bool,
    pub(crate) is_abstract: bool,
    pub(crate) labels: BTreeMap<String, Value>,
    pub(crate) parent_selector: BTreeMap<String, Value>,
    pub(crate) actions: Vec<Action>,
    pub(crate) replacement: bool,
    pub(crate) storage_policy: StoragePolicy,
    pub(crate) substitutions: Vec<Substitution>,
    pub(crate) metadata: Value,
    pub(crate) data: Value,
}

impl DeckhandDocument {
    /// Reads one document and says everything that is wrong with its form.
    ///
    /// Defaults are filled into the metadata, as they are part of the hash and of what is shown.
    pub fn from_json(document: Value) -> Result<Self, FormErrors> {
        form::read(document).map(Self::from)
    }

    /// Schema, layer and name.
    pub const fn identity(&self) -> &Arc<Identity> {
        &self.identity
    }

    /// Namespace, kind and version.
    pub fn schema(&self) -> &str {
        &self.identity.schema
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.identity.name
    }

    /// The layer, if the document has one.
    pub fn layer(&self) -> Option<&str> {
        self.identity.layer.as_deref()
    }

    /// Whether this is a control document (`metadata/Control`), which steers rendering and is not layered itself.
    pub const fn is_control(&self) -> bool {
        self.control
    }

    /// Whether the document is only there to be layered upon. Such documents are not returned.
    pub const fn is_abstract(&self) -> bool {
        self.is_abstract
    }

    /// The labels that parent selectors look at.
    pub const fn labels(&self) -> &BTreeMap<String, Value> {
        &self.labels
    }

    /// The labels that the parent must have; empty when the document has no parent.
    pub const fn parent_selector(&self) -> &BTreeMap<String, Value> {
        &self.parent_selector
    }

    /// The layering actions in order.
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// Whether the document takes the place of its parent.
    pub const fn is_replacement(&self) -> bool {
        self.replacement
    }

    /// How the data is kept.
    pub const fn storage_policy(&self) -> StoragePolicy {
        self.storage_policy
    }

    /// Whether the data is a secret.
    pub fn is_encrypted(&self) -> bool {
        self.storage_policy == StoragePolicy::Encrypted
    }

    /// The substitutions in order.
    pub fn substitutions(&self) -> &[Substitution] {
        &self.substitutions
    }

    /// The whole metadata, defaults included.
    pub const fn metadata(&self) -> &Arc<Value> {
        &self.metadata
    }

    /// The data as written, before any rendering.
    pub const fn data(&self) -> &Arc<Value> {
        &self.data
    }

    /// The hash of the data.
    pub const fn data_hash(&self) -> ContentHash {
        self.data_hash
    }

    /// The hash of the metadata, defaults included.
    pub const fn metadata_hash(&self) -> ContentHash {
        self.metadata_hash
    }

    /// About how many bytes the document takes as it is written.
    pub(crate) const fn size(&self) -> usize {
        self.size
    }

    /// The document as it is written, defaults included.
    pub fn to_json(&self) -> Value {
        assemble(self.schema(), Value::clone(&self.metadata), Value::clone(&self.data))
    }
}

impl From<Parts> for DeckhandDocument {
    fn from(parts: Parts) -> Self {
        Self {
            size: size(&parts.data).saturating_add(size(&parts.metadata)),
            data_hash: ContentHash::of(&parts.data),
            metadata_hash: ContentHash::of(&parts.metadata),
            identity: Arc::new(parts.identity),
            control: parts.control,
            is_abstract: parts.is_abstract,
            labels: parts.labels,
            parent_selector: parts.parent_selector,
            actions: parts.actions,
            replacement: parts.replacement,
            storage_policy: parts.storage_policy,
            substitutions: parts.substitutions,
            metadata: Arc::new(parts.metadata),
            data: Arc::new(parts.data),
        }
    }
}

/// Equal means: same identity and same content.
impl PartialEq for DeckhandDocument {
    fn eq(&self, other: &Self) -> bool {
        self.identity == other.identity
            && self.data_hash == other.data_hash
            && self.metadata_hash == other.metadata_hash
    }
}

impl Eq for DeckhandDocument {}

/// A document's three parts as one mapping.
pub(crate) fn assemble(schema: &str, metadata: Value, data: Value) -> Value {
    let mut document = Map::new();
    document.insert("data".to_owned(), data);
    document.insert("metadata".to_owned(), metadata);
    document.insert("schema".to_owned(), Value::String(schema.to_owned()));
    Value::Object(document)
}
