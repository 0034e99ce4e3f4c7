//! Substitution: values of other documents, put into a document's layered data.

use std::{collections::HashMap, sync::Arc};

use fancy_regex::Regex;
use serde_json::Value;

use crate::deckhand::{
    canonical::canonical_json,
    document::{DeckhandDocument, Depth, MAX_DATA_DEPTH, Source, Substitution},
    error::RenderError,
    path::type_name,
};

/// How long a text may become by replacing patterns, so that a chain of documents cannot fill the memory.
const LONGEST_TEXT: usize = 16 << 20;

/// How many compiled patterns are kept.
const MOST_PATTERNS: usize = 1024;

/// A source and what it was rendered to.
pub(crate) struct Rendered<'a> {
    pub(crate) document: &'a DeckhandDocument,
    pub(crate) data: &'a Value,
}

/// Compiled patterns. Documents repeat the same few.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    compiled: HashMap<String, Result<Arc<Regex>, String>>,
}

impl Patterns {
    fn get(&mut self, pattern: &str) -> Result<Arc<Regex>, String> {
        if let Some(known) = self.compiled.get(pattern) {
            return known.clone();
        }
        // A renderer may live long and see many patterns go by.
        if self.compiled.len() >= MOST_PATTERNS {
            self.compiled.clear();
        }
        let compiled = Regex::new(pattern).map(Arc::new).map_err(|error| error.to_string());
        self.compiled.insert(pattern.to_owned(), compiled.clone());
        compiled
    }
}

/// What the rendered documents may still grow by.
pub(crate) struct Budget {
    pub(crate) left: usize,
    pub(crate) limit: usize,
}

impl Budget {
    pub(crate) fn spend(&mut self, size: usize, document: &DeckhandDocument) -> Result<(), RenderError> {
        self.left = self.left.checked_sub(size).ok_or_else(|| RenderError::TooLarge {
            document: document.identity().clone(),
            limit: self.limit,
        })?;
        Ok(())
    }
}

/// The size of a value in memory, roughly: one for each value and for each 16 bytes of text.
pub(crate) fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => 1 + text.len() / 16,
        Value::Array(items) => items.iter().map(size).fold(1, usize::saturating_add),
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (key.len() / 16).saturating_add(size(value)))
            .fold(1, usize::saturating_add),
        _ => 1,
    }
}

/// Puts the value of one source into all destinations of one substitution.
pub(crate) fn substitute(
    document: &DeckhandDocument,
    data: &mut Value,
    substitution: &Substitution,
    rendered: &Rendered<'_>,
    patterns: &mut Patterns,
    budget: &mut Budget,
) -> Result<(), RenderError> {
    let context = Context {
        document,
        source: rendered.document,
    };
    let value = context.extract(&substitution.source, rendered.data, patterns)?;
    let (value_size, value_depth) = (size(&value), depth(&value));
    for destination in &substitution.destinations {
        match &destination.pattern {
            None => {
                if destination.path.steps().len().saturating_add(value_depth) > MAX_DATA_DEPTH {
                    return Err(
                        context.unknown(format!("the data would be nested deeper than {MAX_DATA_DEPTH} levels"))
                    );
                }
                budget.spend(value_size, document)?;
                destination
                    .path
                    .set(data, value.clone())
                    .map_err(|error| context.unknown(error.to_string()))?;
            }
            Some(pattern) => {
                let regex = patterns.get(pattern).map_err(|error| context.unknown(error))?;
                let replacer = Replacer {
                    context: &context,
                    pattern,
                    regex: &regex,
                    text: text(&value),
                    path: &destination.written,
                };
                let place = destination.path.get_mut(data).ok_or_else(|| replacer.missing())?;
                match (destination.recurse, place) {
                    (Some(levels), place @ (Value::Array(_) | Value::Object(_))) => {
                        let levels = match levels {
                            Depth::Unlimited => usize::MAX,
                            Depth::Levels(levels) => levels,
                        };
                        replacer.recursively(place, levels, budget)?;
                    }
                    (_, Value::String(text)) => replacer.replace(text, budget)?,
                    _ => return Err(replacer.missing()),
                }
            }
        }
    }
    Ok(())
}

struct Context<'a> {
    document: &'a DeckhandDocument,
    source: &'a DeckhandDocument,
}

impl Context<'_> {
    fn unknown(&self, detail: String) -> RenderError {
        RenderError::UnknownSubstitutionError {
            source_document: self.source.identity().clone(),
            document: self.document.identity().clone(),
            detail,
        }
    }

    /// The value that the source gives. A source that is no mapping is the value itself, whatever the path says.
    fn extract(&self, source: &Source, data: &Value, patterns: &mut Patterns) -> Result<Value, RenderError> {
        let found = if data.is_object() {
            source.path.get(data)
        } else {
            Some(data)
        };
        let value =
            found
                .filter(|value| !value.is_null())
                .ok_or_else(|| RenderError::SubstitutionSourceDataNotFound {
                    path: source.written.clone(),
                    source_document: self.source.identity().clone(),
                    document: self.document.identity().clone(),
                })?;
        let Some(pattern) = &source.pattern else {
            return Ok(value.clone());
        };
        let Some(text) = value.as_str() else {
            return Err(self.unknown(format!(
                "the pattern {pattern} needs a string at path {}, which holds {}",
                source.written,
                type_name(value)
            )));
        };
        let regex = patterns.get(pattern).map_err(|error| self.unknown(error))?;
        match regex.captures(text).map_err(|error| self.unknown(error.to_string()))? {
            // As Deckhand does: a pattern that is not found leaves the whole value.
            None => Ok(value.clone()),
            Some(captures) if source.match_group < captures.len() => Ok(Value::from(
                captures.get(source.match_group).map_or("", |found| found.as_str()),
            )),
            Some(_) => Err(self.unknown(format!("the pattern {pattern} has no group {}", source.match_group))),
        }
    }
}

struct Replacer<'a> {
    context: &'a Context<'a>,
    pattern: &'a str,
    regex: &'a Regex,
    text: String,
    path: &'a str,
}

impl Replacer<'_> {
    fn missing(&self) -> RenderError {
        RenderError::MissingDocumentPattern {
            pattern: self.pattern.to_owned(),
            path: self.path.to_owned(),
            document: self.context.document.identity().clone(),
            source_document: self.context.source.identity().clone(),
        }
    }

    fn recursively(&self, value: &mut Value, levels: usize, budget: &mut Budget) -> Result<(), RenderError> {
        let Some(below) = levels.checked_sub(1) else {
            return Ok(());
        };
        let each = |value: &mut Value| match value {
            Value::String(text) => self.replace(text, budget),
            Value::Array(_) | Value::Object(_) => self.recursively(value, below, budget),
            _ => Ok(()),
        };
        match value {
            Value::Array(items) => items.iter_mut().try_for_each(each),
            Value::Object(map) => map.values_mut().try_for_each(each),
            _ => Ok(()),
        }
    }

    /// Replaces every match. The value goes in letter by letter: a backslash in a password is a backslash.
    fn replace(&self, target: &mut String, budget: &mut Budget) -> Result<(), RenderError> {
        let mut replaced = String::new();
        let mut end = 0;
        for found in self.regex.find_iter(target) {
            let found = found.map_err(|error| self.context.unknown(error.to_string()))?;
            replaced.push_str(target.get(end..found.start()).unwrap_or_default());
            replaced.push_str(&self.text);
            end = found.end();
            if replaced.len() > LONGEST_TEXT {
                return Err(self
                    .context
                    .unknown(format!("the text would become longer than {LONGEST_TEXT} bytes")));
            }
        }
        if end == 0 && replaced.is_empty() {
            return Ok(());
        }
        replaced.push_str(target.get(end..).unwrap_or_default());
        budget.spend(replaced.len() / 16, self.context.document)?;
        *target = replaced;
        Ok(())
    }
}

/// How a value is written inside a text: as Python shows it, because documents count on it.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        other => canonical_json(other),
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(depth).max().unwrap_or(0).saturating_add(1),
        Value::Object(map) => map.values().map(depth).max().unwrap_or(0).saturating_add(1),
        _ => 0,
    }
}
