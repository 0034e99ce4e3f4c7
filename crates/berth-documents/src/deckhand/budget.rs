//! How much rendered documents may take, in bytes.

use serde_json::Value;

use crate::deckhand::{document::DeckhandDocument, error::RenderError};

/// A value in memory, without its text.
pub(crate) const CELL: usize = 64;
/// A key with its place in a mapping, without its text.
const KEY: usize = 32;
/// The first room that a mapping takes.
const MAPPING: usize = 576;

/// What the rendered documents may still grow by.
pub(crate) struct Budget {
    pub(crate) left: usize,
    pub(crate) limit: usize,
}

impl Budget {
    /// Takes room, if there is enough.
    pub(crate) fn spend(&mut self, size: usize, document: &DeckhandDocument) -> Result<(), RenderError> {
        self.check(size, document)?;
        self.left -= size;
        Ok(())
    }

    /// Whether there is room.
    pub(crate) fn check(&self, size: usize, document: &DeckhandDocument) -> Result<(), RenderError> {
        if size <= self.left {
            return Ok(());
        }
        Err(RenderError::TooLarge {
            document: document.identity().clone(),
            limit: self.limit,
        })
    }
}

/// About how many bytes a value takes.
pub(crate) fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => CELL.saturating_add(text.len()),
        Value::Array(items) => items.iter().map(size).fold(CELL, usize::saturating_add),
        Value::Object(map) if map.is_empty() => CELL,
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| KEY.saturating_add(key.len()).saturating_add(size(value)))
            .fold(MAPPING, usize::saturating_add),
        _ => CELL,
    }
}
