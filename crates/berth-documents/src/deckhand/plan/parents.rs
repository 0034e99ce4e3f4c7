//! The search for parents.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use serde_json::Value;

use crate::deckhand::{canonical::canonical_json, document::DeckhandDocument, error::RenderError};

/// How many parents an error names. A selector that matches thousands would fill the memory otherwise.
const SHOWN_PARENTS: usize = 10;

/// The documents, ready to be found by their labels.
pub(super) struct Parents<'a> {
    nodes: &'a [Arc<DeckhandDocument>],
    layers: &'a [Option<usize>],
    /// Documents by each of their labels.
    by_label: HashMap<(&'a str, String), Vec<usize>>,
}

impl<'a> Parents<'a> {
    pub(super) fn new(nodes: &'a [Arc<DeckhandDocument>], layers: &'a [Option<usize>]) -> Self {
        let mut by_label: HashMap<_, Vec<_>> = HashMap::new();
        for (number, document) in nodes.iter().enumerate().filter(|(_, document)| !document.is_control()) {
            for (key, value) in document.labels() {
                by_label
                    .entry((key.as_str(), canonical_json(value)))
                    .or_default()
                    .push(number);
            }
        }
        Self {
            nodes,
            layers,
            by_label,
        }
    }

    pub(super) fn find(&self, errors: &mut Vec<RenderError>) -> Vec<Option<usize>> {
        // Many children share few selectors: each is looked up once.
        let mut matches: HashMap<String, Candidates> = HashMap::new();
        let mut parents = vec![None; self.nodes.len()];
        for ((child, document), parent) in self.nodes.iter().enumerate().zip(&mut parents) {
            let selector = document.parent_selector();
            if selector.is_empty() {
                continue;
            }
            let spelling = selector_spelling(selector);
            let candidates = matches.entry(spelling).or_insert_with(|| self.matching(selector));
            match self.choose(child, document, candidates) {
                Ok(found) => *parent = found,
                Err(error) => errors.push(error),
            }
        }
        parents
    }

    /// All documents whose labels meet a selector. Starts from the rarest pair.
    fn matching(&self, selector: &BTreeMap<String, Value>) -> Candidates {
        let rarest = selector
            .iter()
            .map(|(key, value)| {
                self.by_label
                    .get(&(key.as_str(), canonical_json(value)))
                    .map(Vec::as_slice)
                    .unwrap_or_default()
            })
            .min_by_key(|numbers| numbers.len())
            .unwrap_or_default();
        let meets = |number: &&usize| {
            self.nodes.get(**number).is_some_and(|document| {
                selector
                    .iter()
                    .all(|(key, value)| document.labels().get(key) == Some(value))
            })
        };
        let numbers: Vec<usize> = rarest.iter().filter(meets).copied().collect();
        let schema = |number: usize| self.nodes.get(number).map(|document| document.schema());
        let first = numbers.first().copied();
        let odd = numbers
            .iter()
            .copied()
            .find(|number| schema(*number) != first.and_then(schema));
        let of_two_schemas = [first, odd].into_iter().flatten().collect();
        Candidates {
            numbers,
            of_two_schemas,
        }
    }

    /// The one in the nearest higher layer.
    fn choose(
        &self,
        child: usize,
        document: &DeckhandDocument,
        candidates: &Candidates,
    ) -> Result<Option<usize>, RenderError> {
        let layer = |number: usize| self.layers.get(number).copied().flatten();
        let invalid = |parent: &DeckhandDocument, reason: String| RenderError::InvalidDocumentParent {
            document: document.identity().clone(),
            parent: parent.identity().clone(),
            reason,
        };
        let other_schema = candidates
            .of_two_schemas
            .iter()
            .filter_map(|number| self.nodes.get(*number))
            .find(|candidate| candidate.schema() != document.schema());
        if let Some(candidate) = other_schema {
            return Err(invalid(
                candidate,
                "Child has parentSelector which references parent, but their `schema`s do not match.".to_owned(),
            ));
        }
        let mut upwards = candidates
            .numbers
            .iter()
            .rev()
            .copied()
            .filter(|number| *number != child);
        let Some(nearest) = upwards.next() else {
            return Ok(None);
        };
        if layer(nearest) >= layer(child)
            && let Some(candidate) = self.nodes.get(nearest)
        {
            return Err(invalid(
                candidate,
                format!(
                    "Child has parentSelector which references parent, but the child layer {} must be lower than the \
                     parent layer {} for layerOrder {}.",
                    document.layer().unwrap_or("None"),
                    candidate.layer().unwrap_or("None"),
                    self.layer_order().join(", ")
                ),
            ));
        }
        let mut rivals = upwards.take_while(|number| layer(*number) == layer(nearest)).peekable();
        if rivals.peek().is_none() {
            return Ok(Some(nearest));
        }
        let mut found = 1;
        let mut parents = Vec::new();
        for number in std::iter::once(nearest).chain(rivals.inspect(|_| found += 1)) {
            if parents.len() < SHOWN_PARENTS {
                parents.extend(self.nodes.get(number).map(|parent| parent.identity().clone()));
            }
        }
        parents.reverse();
        Err(RenderError::IndeterminateDocumentParent {
            document: document.identity().clone(),
            found,
            parents,
        })
    }

    /// The layers that hold documents, highest first.
    fn layer_order(&self) -> Vec<&str> {
        let mut layers: Vec<_> = self
            .nodes
            .iter()
            .zip(self.layers)
            .filter(|(_, layer)| layer.is_some())
            .filter_map(|(document, _)| document.layer())
            .collect();
        layers.dedup();
        layers
    }
}

/// What a parent selector matches.
struct Candidates {
    /// In order, so the lowest layer comes last.
    numbers: Vec<usize>,
    /// The first, and the first that has another schema than that: enough to find one that a child does not fit.
    of_two_schemas: Vec<usize>,
}

fn selector_spelling(selector: &BTreeMap<String, Value>) -> String {
    selector.iter().fold(String::new(), |mut spelling, (key, value)| {
        spelling.push_str(&canonical_json(&Value::from(key.as_str())));
        spelling.push(':');
        spelling.push_str(&canonical_json(value));
        spelling.push(',');
        spelling
    })
}
