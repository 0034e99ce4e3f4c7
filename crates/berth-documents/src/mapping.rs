//! Building mappings and lists: each key once, in the order written, without quadratic work on large ones.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use crate::{
    diagnostic::Diagnostic,
    lints::DUPLICATE_KEY,
    node::{Key, Mapping, Node},
};

/// Below this size a scan over the keys is faster than a hash table.
const SCAN_LIMIT: usize = 16;

/// Shares the text of equal keys: a site repeats the same few keys in every document.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    texts: HashSet<Arc<str>>,
}

impl Interner {
    /// The text as others have it. A text that is shared already stays the one it is, so that a long one is there once.
    pub(crate) fn intern_shared(&mut self, text: &Arc<str>) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return Arc::clone(known);
        }
        self.texts.insert(Arc::clone(text));
        Arc::clone(text)
    }

    pub(crate) fn intern(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return Arc::clone(known);
        }
        let new: Arc<str> = Arc::from(text);
        self.texts.insert(Arc::clone(&new));
        new
    }
}

/// Lists to collect elements in, used again and again: growing and trimming one for every collection of a document costs
/// more than reading it.
#[derive(Debug)]
pub(crate) struct Spares<T> {
    lists: Vec<Vec<T>>,
}

impl<T> Default for Spares<T> {
    fn default() -> Self {
        Self { lists: Vec::new() }
    }
}

impl<T> Spares<T> {
    /// An empty list with room.
    pub(crate) fn take(&mut self) -> Vec<T> {
        self.lists.pop().unwrap_or_default()
    }

    /// The elements in a list of their exact size; the room comes back.
    pub(crate) fn finish<C: FromIterator<T>>(&mut self, mut elements: Vec<T>) -> C {
        let exact = elements.drain(..).collect();
        self.lists.push(elements);
        exact
    }
}

/// The entries of a mapping that is being read.
#[derive(Debug)]
pub(crate) struct MappingBuilder {
    entries: Vec<(Key, Node)>,
    positions: HashMap<Arc<str>, usize>,
}

impl MappingBuilder {
    pub(crate) fn new(spares: &mut Spares<(Key, Node)>) -> Self {
        Self {
            entries: spares.take(),
            positions: HashMap::new(),
        }
    }

    /// Adds an entry. A key that is there already takes the new value, and the finding says so.
    pub(crate) fn insert(&mut self, key: Key, node: Node) -> Option<Diagnostic> {
        if let Some(position) = self.position(&key.text)
            && let Some(entry) = self.entries.get_mut(position)
        {
            let finding = Diagnostic::new(
                &DUPLICATE_KEY,
                key.span,
                format!("the key `{}` is here twice", key.text),
            )
            .with_help("keep one of the two lines")
            .with_related(entry.0.span, "first here");
            *entry = (key, node);
            return Some(finding);
        }
        self.push(key, node);
        None
    }

    /// Adds an entry if its key is not there yet, as merging does.
    pub(crate) fn insert_missing(&mut self, key: Key, node: Node) {
        if self.position(&key.text).is_none() {
            self.push(key, node);
        }
    }

    pub(crate) fn last(&self) -> Option<&Node> {
        self.entries.last().map(|(_, node)| node)
    }

    pub(crate) fn finish(self, spares: &mut Spares<(Key, Node)>) -> Mapping {
        spares.finish(self.entries)
    }

    fn position(&self, text: &str) -> Option<usize> {
        if self.entries.len() > SCAN_LIMIT {
            return self.positions.get(text).copied();
        }
        self.entries.iter().position(|(key, _)| &*key.text == text)
    }

    fn push(&mut self, key: Key, node: Node) {
        let text = Arc::clone(&key.text);
        self.entries.push((key, node));
        match self.entries.len() - 1 {
            position if position > SCAN_LIMIT => {
                self.positions.insert(text, position);
            }
            SCAN_LIMIT => {
                self.positions = self
                    .entries
                    .iter()
                    .enumerate()
                    .map(|(position, (key, _))| (Arc::clone(&key.text), position))
                    .collect();
            }
            _ => {}
        }
    }
}
