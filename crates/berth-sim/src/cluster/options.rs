//! What comes with a request beside the object.

use std::sync::Arc;

use serde_json::Value;

use crate::access::Identity;

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) identity: Identity,
    /// The manager of fields if the request names none.
    pub(crate) agent: String,
}

/// What to do with fields that the schema does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    #[default]
    Warn,
    Strict,
}

/// How to write.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriteOptions {
    /// Everything but the write itself.
    pub(crate) dry_run: bool,
    pub(crate) manager: Option<String>,
    /// Take fields from other managers.
    pub(crate) force: bool,
    pub(crate) validation: FieldValidation,
}

/// How to delete.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) dry_run: bool,
    pub(crate) grace_seconds: Option<i64>,
    /// `Background`, `Foreground` or `Orphan`.
    pub(crate) propagation: Option<String>,
    pub(crate) uid: Option<String>,
    pub(crate) revision: Option<String>,
}

/// What a write gave.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) object: Arc<Value>,
    /// For people, in headers.
    pub(crate) warnings: Vec<String>,
    /// The object was not there before.
    pub(crate) created: bool,
}
