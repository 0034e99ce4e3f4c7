//! Substitution: values of other documents, put into a document's layered data.

use std::{cell::RefCell, sync::Arc};

use serde_json::Value;

use crate::deckhand::{
    budget::{Budget, CELL, size},
    canonical::canonical_json,
    document::{DeckhandDocument, Depth, MAX_DATA_DEPTH, Source, Substitution},
    error::RenderError,
    path::{PathPart, type_name},
    pattern::{Pattern, Patterns, Steps},
    secrets::SecretPaths,
};

/// How long a text may become by replacing patterns, so that a chain of documents cannot fill the memory.
const LONGEST_TEXT: usize = 16 << 20;

/// A source and what it was rendered to.
pub(crate) struct Rendered<'a> {
    pub(crate) document: &'a DeckhandDocument,
    pub(crate) data: &'a Value,
    pub(crate) secrets: &'a SecretPaths,
}

/// The document that takes values in.
pub(crate) struct Target<'a> {
    pub(crate) document: &'a DeckhandDocument,
    pub(crate) data: &'a mut Value,
    pub(crate) secrets: &'a mut SecretPaths,
}

/// The patterns of documents, and the steps that are left for them.
#[derive(Clone, Copy)]
pub(crate) struct Matching<'a> {
    pub(crate) patterns: &'a RefCell<Patterns>,
    pub(crate) steps: &'a Steps,
}

impl Matching<'_> {
    fn pattern(&self, pattern: &str) -> Result<Arc<Pattern>, String> {
        self.patterns.borrow_mut().get(pattern)
    }
}

/// Puts the value of one source into all destinations of one substitution.
pub(crate) fn substitute(
    target: &mut Target<'_>,
    substitution: &Substitution,
    rendered: &Rendered<'_>,
    matching: Matching<'_>,
    budget: &mut Budget,
) -> Result<(), RenderError> {
    let document = target.document;
    let context = Context {
        document,
        source: rendered.document,
    };
    let secrets = secrets_of(&substitution.source, rendered);
    let value = context.extract(&substitution.source, rendered.data, &secrets, matching)?;
    // A part of a secret text is a secret, and too short for a hash. Whether the pattern was found is not told either.
    let secrets = if substitution.source.pattern.is_some() && !secrets.is_none() {
        SecretPaths::part()
    } else {
        secrets
    };
    let (value_size, value_depth) = (size(&value), depth(&value));
    for destination in &substitution.destinations {
        let steps = destination.path.steps();
        match &destination.pattern {
            None => {
                if steps.len().saturating_add(value_depth) > MAX_DATA_DEPTH {
                    return Err(
                        context.unknown(format!("the data would be nested deeper than {MAX_DATA_DEPTH} levels"))
                    );
                }
                budget.spend(value_size, document)?;
                let created = destination
                    .path
                    .set(target.data, value.clone())
                    .map_err(|error| context.unknown(error.to_string()))?;
                budget.spend(created.saturating_mul(CELL), document)?;
                target.secrets.put(steps, secrets.clone());
            }
            Some(pattern) => {
                let compiled = matching.pattern(pattern).map_err(|error| context.unknown(error))?;
                let mut replacer = Replacer {
                    context: &context,
                    pattern,
                    compiled: &compiled,
                    steps: matching.steps,
                    text: text(&value),
                    path: &destination.written,
                    secrets: target.secrets,
                    way: steps.to_vec(),
                    changed: Vec::new(),
                };
                let place = destination
                    .path
                    .get_mut(target.data)
                    .ok_or_else(|| replacer.missing())?;
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
                for (way, was_secret) in replacer.changed {
                    if was_secret {
                        // A pattern cut something out of a secret text.
                        target.secrets.put(&way, SecretPaths::part());
                    } else if !secrets.is_none() {
                        // A text with a secret in it is secret as a whole.
                        target.secrets.put(&way, secrets.all());
                    }
                }
            }
        }
    }
    Ok(())
}

/// What is secret of the value at the path of a source.
fn secrets_of(source: &Source, rendered: &Rendered<'_>) -> SecretPaths {
    if rendered.data.is_object() {
        rendered.secrets.at(source.path.steps())
    } else {
        rendered.secrets.clone()
    }
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

    /// Refuses to match a secret where the time that it takes, or that it takes too long, tells something of the text.
    fn check(&self, pattern: &str, compiled: &Pattern, secrets: &SecretPaths) -> Result<(), RenderError> {
        if compiled.is_linear() || secrets.is_none() {
            return Ok(());
        }
        Err(self.unknown(format!(
            "the pattern {pattern} needs backtracking, which is not done over a secret: use no lookaround, backreference or possessive quantifier"
        )))
    }

    /// The value that the source gives. A source that is not a mapping is the value itself, whatever the path says.
    fn extract(
        &self,
        source: &Source,
        data: &Value,
        secrets: &SecretPaths,
        matching: Matching<'_>,
    ) -> Result<Value, RenderError> {
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
        let compiled = matching.pattern(pattern).map_err(|error| self.unknown(error))?;
        self.check(pattern, &compiled, secrets)?;
        let groups = compiled.captures(text, matching.steps);
        match groups.map_err(|error| self.unknown(format!("{pattern}: {error}")))? {
            // As Deckhand does: a pattern that is not found leaves the whole value.
            None => Ok(value.clone()),
            Some(groups) => match groups.get(source.match_group) {
                Some(group) => Ok(Value::from(group.unwrap_or_default())),
                None => Err(self.unknown(format!("the pattern {pattern} has no group {}", source.match_group))),
            },
        }
    }
}

struct Replacer<'a> {
    context: &'a Context<'a>,
    pattern: &'a str,
    compiled: &'a Pattern,
    steps: &'a Steps,
    text: String,
    path: &'a str,
    /// What is secret of the target.
    secrets: &'a SecretPaths,
    /// The way to the text that is looked at.
    way: Vec<PathPart>,
    /// The ways to the texts that were changed, and whether they were secret.
    changed: Vec<(Vec<PathPart>, bool)>,
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

    fn recursively(&mut self, value: &mut Value, levels: usize, budget: &mut Budget) -> Result<(), RenderError> {
        let Some(below) = levels.checked_sub(1) else {
            return Ok(());
        };
        let mut each = |step: PathPart, value: &mut Value| {
            self.way.push(step);
            let result = match value {
                Value::String(text) => self.replace(text, budget),
                Value::Array(_) | Value::Object(_) => self.recursively(value, below, budget),
                _ => Ok(()),
            };
            self.way.pop();
            result
        };
        match value {
            Value::Array(items) => {
                let mut items = items.iter_mut().enumerate();
                items.try_for_each(|(index, item)| each(PathPart::Index(index), item))
            }
            Value::Object(map) => map
                .iter_mut()
                .try_for_each(|(key, value)| each(PathPart::Key(key.clone()), value)),
            _ => Ok(()),
        }
    }

    fn find(&self, target: &str, from: usize) -> Result<Option<(usize, usize)>, RenderError> {
        if from > target.len() {
            return Ok(None);
        }
        let found = self.compiled.find_from(target, from, self.steps);
        found.map_err(|error| self.context.unknown(format!("{}: {error}", self.pattern)))
    }

    /// Replaces every match. The value goes in letter by letter: a backslash in a password is a backslash.
    fn replace(&mut self, target: &mut String, budget: &mut Budget) -> Result<(), RenderError> {
        let secrets = self.secrets.at(&self.way);
        self.context.check(self.pattern, self.compiled, &secrets)?;
        let mut replaced = String::new();
        let mut end = 0;
        let mut from = 0;
        while let Some((start, stop)) = self.find(target, from)? {
            replaced.push_str(target.get(end..start).unwrap_or_default());
            replaced.push_str(&self.text);
            end = stop;
            // After a match of nothing the next one begins a character further on.
            let next = target.get(stop..).and_then(|rest| rest.chars().next());
            from = match next {
                Some(next) if stop == start => stop + next.len_utf8(),
                None if stop == start => target.len() + 1,
                _ => stop,
            };
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
        budget.spend(replaced.len(), self.context.document)?;
        *target = replaced;
        self.changed.push((self.way.clone(), !secrets.is_none()));
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
