//! The outline of a schema: which schemas it applies to which values.
//!
//! A schema of a few kilobytes can ask to look at a value more often than there are atoms: sixty definitions, each of which
//! refers to the one before twice. Nothing can stop a validator that has begun, so how often it will look is counted
//! before, on the outline, which is as large as the schema.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use referencing::{Draft, Registry, Resolver, uri};
use serde_json::{Map, Value};

use super::schema::{Wrong, translated};
use crate::deckhand::{
    budget::size,
    pattern::{Pattern, Patterns},
};

/// Where a schema is that has no address of its own.
const NOWHERE: &str = "json-schema:///";

/// Keywords whose cost depends on where they are used from. Deckhand does not know them.
const UNSUPPORTED: [&str; 4] = [
    "$dynamicRef",
    "$recursiveRef",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// The schemas inside a schema, the outermost first.
#[derive(Debug)]
pub(super) struct Outline {
    pub(super) parts: Vec<Part>,
    /// References that lead nowhere, by the place in memory of the schema that has them.
    pub(super) missing: HashMap<usize, String>,
}

/// One schema: which others it applies, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// How many values its own keywords have, which may all be compared with a value.
    pub(super) weight: u64,
    /// How many errors its own keywords have at most.
    pub(super) errors: u64,
    /// How many bytes of its own keywords go into errors.
    pub(super) size: u64,
    /// Whether an error repeats the text.
    pub(super) has_pattern: bool,
    /// Whether all of a value is compared with others.
    pub(super) compares: bool,
    /// Schemas for the same value.
    pub(super) same: Vec<(Use, usize)>,
    /// Schemas for the same value if it has a key.
    pub(super) dependent: Vec<(String, usize)>,
    pub(super) properties: HashMap<String, usize>,
    pub(super) patterns: Vec<(Arc<Pattern>, usize)>,
    /// For the values of all other keys.
    pub(super) additional: Option<usize>,
    /// For the keys.
    pub(super) names: Option<usize>,
    /// For the first items of a list.
    pub(super) first: Vec<usize>,
    /// For its other items.
    pub(super) rest: Option<usize>,
    /// For all of its items until one meets it.
    pub(super) contains: Option<usize>,
}

/// What becomes of the errors of a schema for the same value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// They are errors, by reference.
    Reference,
    /// They are errors.
    All,
    /// They are parts of one error, and only looked for when there is one.
    Any,
    /// Only whether there are any counts.
    Test,
}

impl Outline {
    /// The outline of a schema that is read by a draft.
    pub(super) fn new(schema: &Value, draft: Draft, keys: &Mutex<Patterns>) -> Result<Self, Wrong> {
        let resource = draft.create_resource_ref(schema);
        let unresolved = |error: referencing::Error| Wrong::at_root(error.to_string());
        // References inside the schema are to the address that it gives itself.
        let own = resource
            .id()
            .map(|id| id.trim_end_matches('#'))
            .and_then(|id| uri::from_str(id).ok());
        let nowhere = uri::from_str(NOWHERE).map_err(unresolved)?;
        let base = own.unwrap_or(nowhere);
        let registry = Registry::new()
            .draft(draft)
            .add(base.as_str(), resource)
            .and_then(referencing::RegistryBuilder::prepare)
            .map_err(unresolved)?;
        let mut builder = Builder {
            keys,
            numbers: HashMap::new(),
            parts: Vec::new(),
            waiting: Vec::new(),
            missing: HashMap::new(),
        };
        builder.number(schema, &registry.resolver(base), draft);
        while let Some(waiting) = builder.waiting.pop() {
            let part = builder.part(&waiting)?;
            if let Some(slot) = builder.parts.get_mut(waiting.number) {
                *slot = part;
            }
        }
        Ok(Self {
            parts: builder.parts,
            missing: builder.missing,
        })
    }
}

struct Builder<'r, 'k> {
    /// The patterns for keys.
    keys: &'k Mutex<Patterns>,
    numbers: HashMap<*const Value, usize>,
    parts: Vec<Part>,
    waiting: Vec<Waiting<'r>>,
    missing: HashMap<usize, String>,
}

/// A schema that has a number and no outline yet.
struct Waiting<'r> {
    number: usize,
    schema: &'r Value,
    resolver: Resolver<'r>,
    draft: Draft,
}

impl<'r> Builder<'r, '_> {
    fn number(&mut self, schema: &'r Value, resolver: &Resolver<'r>, draft: Draft) -> usize {
        let next = self.parts.len();
        let number = *self.numbers.entry(std::ptr::from_ref(schema)).or_insert(next);
        if number == next {
            self.parts.push(Part::default());
            self.waiting.push(Waiting {
                number,
                schema,
                resolver: resolver.clone(),
                draft,
            });
        }
        number
    }

    fn part(&mut self, waiting: &Waiting<'r>) -> Result<Part, Wrong> {
        let mut part = Part::default();
        let Value::Object(keywords) = waiting.schema else {
            // `true` and `false`.
            part.errors = 1;
            return Ok(part);
        };
        let resource = waiting.draft.create_resource_ref(waiting.schema);
        let draft = resource.draft();
        let resolver = waiting
            .resolver
            .in_subresource(resource)
            .map_err(|error| Wrong::at_root(error.to_string()))?;
        let mut inner = Inner {
            builder: self,
            schema: waiting.schema,
            resolver,
            draft,
        };
        for (keyword, value) in keywords {
            inner.keyword(&mut part, keywords, keyword, value)?;
        }
        Ok(part)
    }
}

/// The inside of a schema.
struct Inner<'b, 'r, 'k> {
    builder: &'b mut Builder<'r, 'k>,
    schema: &'r Value,
    resolver: Resolver<'r>,
    draft: Draft,
}

impl<'r> Inner<'_, 'r, '_> {
    fn number(&mut self, schema: &'r Value) -> usize {
        self.builder.number(schema, &self.resolver, self.draft)
    }

    fn list(&mut self, value: &'r Value) -> Vec<usize> {
        let items = value.as_array().into_iter().flatten();
        items.map(|item| self.number(item)).collect()
    }

    fn keyword(
        &mut self,
        part: &mut Part,
        keywords: &'r Map<String, Value>,
        keyword: &str,
        value: &'r Value,
    ) -> Result<(), Wrong> {
        part.errors += 1;
        let is_modern = matches!(self.draft, Draft::Draft201909 | Draft::Draft202012 | Draft::Unknown);
        match keyword {
            _ if is_modern && UNSUPPORTED.contains(&keyword) => {
                return Err(Wrong::at_root(format!("the keyword {keyword} is not supported")));
            }
            // Nothing is asked by these.
            "definitions" | "$defs" | "default" | "examples" | "title" | "description" | "$comment" | "$schema" => {
                part.errors -= 1;
            }
            "$ref" => self.reference(part, value),
            "allOf" => part.same.extend(self.list(value).into_iter().map(|it| (Use::All, it))),
            "anyOf" | "oneOf" => part.same.extend(self.list(value).into_iter().map(|it| (Use::Any, it))),
            "then" | "else" => part.same.push((Use::All, self.number(value))),
            "if" | "not" => {
                part.size += size(value) as u64;
                part.same.push((Use::Test, self.number(value)));
            }
            "dependencies" | "dependentSchemas" | "dependentRequired" => self.dependencies(part, value),
            "properties" => {
                let properties = value.as_object().into_iter().flatten();
                part.properties = properties.map(|(key, it)| (key.clone(), self.number(it))).collect();
            }
            "patternProperties" => self.patterns(part, value)?,
            "additionalProperties" => part.additional = Some(self.number(value)),
            "propertyNames" => part.names = Some(self.number(value)),
            "contains" => part.contains = Some(self.number(value)),
            "prefixItems" if self.draft == Draft::Draft202012 => part.first = self.list(value),
            "items" if value.is_array() => part.first = self.list(value),
            "items" => part.rest = Some(self.number(value)),
            "additionalItems" if keywords.get("items").is_some_and(Value::is_array) => {
                part.rest = Some(self.number(value));
            }
            _ => own(part, keyword, value),
        }
        Ok(())
    }

    fn reference(&mut self, part: &mut Part, value: &Value) {
        // An empty one means the schema that it is in, and is not followed.
        let Some(reference) = value.as_str().filter(|reference| !reference.is_empty()) else {
            return;
        };
        let Ok(found) = self.resolver.lookup(reference) else {
            let place = std::ptr::from_ref(self.schema).addr();
            self.builder.missing.insert(place, reference.to_owned());
            return;
        };
        let (schema, resolver, draft) = found.into_inner();
        let number = self.builder.number(schema, &resolver, draft);
        part.same.push((Use::Reference, number));
    }

    fn dependencies(&mut self, part: &mut Part, value: &'r Value) {
        for (key, value) in value.as_object().into_iter().flatten() {
            match value {
                Value::Array(names) => {
                    part.errors += names.len() as u64;
                    part.weight += names.len() as u64;
                    part.size += size(value) as u64;
                }
                schema => part.dependent.push((key.clone(), self.number(schema))),
            }
        }
    }

    fn patterns(&mut self, part: &mut Part, value: &'r Value) -> Result<(), Wrong> {
        for (pattern, value) in value.as_object().into_iter().flatten() {
            let schema = self.number(value);
            let wrong = || Wrong::at_root(format!("{} is not a \"regex\"", Value::from(pattern.as_str())));
            let spelled = translated(pattern).ok_or_else(wrong)?;
            let mut patterns = self.builder.keys.lock().unwrap_or_else(PoisonError::into_inner);
            let compiled = patterns.get_if_room(&spelled).ok_or_else(Wrong::too_large)?;
            part.patterns.push((compiled.map_err(|_| wrong())?, schema));
        }
        Ok(())
    }
}

/// A keyword that looks at the value alone.
fn own(part: &mut Part, keyword: &str, value: &Value) {
    part.weight += count(value);
    match keyword {
        "required" => {
            part.errors += value.as_array().map_or(0, Vec::len) as u64;
            part.size += size(value) as u64;
        }
        "pattern" => {
            part.has_pattern = true;
            part.size += size(value) as u64;
        }
        // Errors share the values of these.
        "enum" | "const" | "uniqueItems" => part.compares = true,
        _ => part.size += size(value) as u64,
    }
}

/// How many values there are in a value.
fn count(value: &Value) -> u64 {
    match value {
        Value::Array(items) => items.iter().map(count).sum::<u64>() + 1,
        Value::Object(map) => map.values().map(count).sum::<u64>() + 1,
        _ => 1,
    }
}
