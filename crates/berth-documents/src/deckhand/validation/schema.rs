//! Compiled schemas.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use jsonschema::{Draft, Keyword, PatternOptions, ValidationError, Validator};
use serde_json::Value;

use super::{outline::Outline, told::short, visits::Room};
use crate::deckhand::{
    document::Identity,
    pattern::{CACHE, MOST_STEPS, Pattern, Patterns, Steps, is_linear},
};

/// One compiled schema.
#[derive(Debug)]
pub(super) struct Schema {
    pub(super) identity: Arc<Identity>,
    pub(super) compiled: Compiled,
    /// Whether nothing of the schema may be told.
    pub(super) is_secret: bool,
}

/// What a schema was compiled to.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) outline: Outline,
    pub(super) validator: Validator,
    /// Whether what it asks of one value can depend on another one.
    pub(super) has_conditions: bool,
}

/// How much memory the errors of one document may take, in bytes.
const ROOM: u64 = 64 << 20;

impl Compiled {
    /// How data does not meet the schema, as far as there is room: all errors, the first one, or that there are some.
    pub(super) fn errors<'i>(
        &'i self,
        data: &'i Value,
        room: Room,
    ) -> Box<dyn Iterator<Item = Option<ValidationError<'i>>> + 'i> {
        if room.all <= ROOM {
            return Box::new(self.validator.iter_errors(data).map(Some));
        }
        if room.one <= ROOM {
            return Box::new(self.validator.validate(data).err().map(Some).into_iter());
        }
        Box::new((!self.validator.is_valid(data)).then_some(None).into_iter())
    }
}

/// Why something is not a schema, and where.
#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) pointer: String,
    pub(super) message: String,
}

impl Wrong {
    pub(super) const fn at_root(message: String) -> Self {
        Self {
            pointer: String::new(),
            message,
        }
    }

    pub(super) fn too_large() -> Self {
        Self::at_root(TOO_LARGE.to_owned())
    }
}

const TOO_LARGE: &str = "the patterns of all schemas together are too large: use fewer of them";

/// What all schemas of a validation share.
#[derive(Debug)]
pub(super) struct Shared {
    patterns: Arc<Mutex<Patterns>>,
    /// Patterns for keys in schemas where one of them backtracks: the validator has one engine for all of a schema.
    backtracking: Mutex<Patterns>,
    steps: Arc<Steps>,
}

impl Shared {
    pub(super) fn new(steps: &Arc<Steps>) -> Self {
        Self {
            patterns: Arc::default(),
            backtracking: Mutex::new(Patterns::backtracking()),
            steps: Arc::clone(steps),
        }
    }

    /// Compiles a schema. One that does not name its draft is read by draft 4.
    pub(super) fn compile(&self, schema: &Value) -> Result<Compiled, Wrong> {
        let declared = schema.get("$schema").and_then(Value::as_str);
        if let Some(declared) = declared.filter(|uri| is_known_draft(uri)) {
            return self.compile_as(schema, Draft::from_schema_uri(declared));
        }
        // Many documents name a draft that never was. What they mean is what Deckhand reads them by.
        let mut schema = schema.clone();
        if let Some(map) = schema.as_object_mut() {
            map.remove("$schema");
        }
        self.compile_as(&schema, Draft::Draft4)
    }

    fn compile_as(&self, schema: &Value, draft: Draft) -> Result<Compiled, Wrong> {
        let are_linear = key_patterns_are_linear(schema);
        let keys = if are_linear {
            &*self.patterns
        } else {
            &self.backtracking
        };
        // The outline comes first: it limits what patterns take.
        let mut outline = Outline::new(schema, draft, keys)?;
        let mended;
        let mut schema = schema;
        if !outline.missing.is_empty() {
            mended = with_missing(schema, &outline.missing);
            schema = &mended;
            outline = Outline::new(schema, draft, keys)?;
        }
        let (patterns, steps) = (Arc::clone(&self.patterns), Arc::clone(&self.steps));
        let options = jsonschema::options()
            .offline()
            .with_draft(draft)
            // Deckhand asks for no format: `format: uri` is a remark.
            .should_validate_formats(false)
            .with_keyword(MISSING, |_, value, _| Ok(Box::new(MissingReference(value.to_string()))))
            .with_keyword("pattern", move |_, value, _| pattern_keyword(value, &patterns, &steps));
        // The validator matches keys as the outline did, and so comes to the same end.
        let options = if are_linear {
            options.with_pattern_options(
                PatternOptions::regex()
                    .size_limit(KEY_PATTERN_SIZE)
                    .dfa_size_limit(CACHE),
            )
        } else {
            options.with_pattern_options(
                PatternOptions::fancy_regex()
                    .backtrack_limit(MOST_STEPS)
                    .size_limit(KEY_PATTERN_SIZE)
                    .dfa_size_limit(CACHE),
            )
        };
        let validator = options.build(schema).map_err(|error| Wrong {
            pointer: error.instance_path().as_str().to_owned(),
            message: short(&error),
        })?;
        Ok(Compiled {
            outline,
            validator,
            has_conditions: has_conditions(schema),
        })
    }
}

/// The keyword that stands for a reference to nothing. No schema that is written has it.
const MISSING: &str = "\0missing";

/// The schema with a keyword in the place of each reference that leads nowhere. Deckhand follows references when a value meets them,
/// so that a schema with such a one is as good as any until then.
fn with_missing(schema: &Value, missing: &HashMap<usize, String>) -> Value {
    if let Some(reference) = missing.get(&std::ptr::from_ref(schema).addr()) {
        return serde_json::json!({ MISSING: reference });
    }
    match schema {
        Value::Object(map) => {
            let entries = map
                .iter()
                .map(|(key, value)| (key.clone(), with_missing(value, missing)));
            Value::Object(entries.collect())
        }
        Value::Array(items) => items.iter().map(|item| with_missing(item, missing)).collect(),
        scalar => scalar.clone(),
    }
}

/// Says of every value that it meets a reference to nothing.
struct MissingReference(String);

impl<'i> Keyword<'i> for MissingReference {
    fn validate(&self, _: &'i Value) -> Result<(), ValidationError<'i>> {
        Err(ValidationError::custom(format!(
            "meets a reference of the schema to {}, which is not there",
            self.0
        )))
    }

    fn is_valid(&self, _: &'i Value) -> bool {
        false
    }
}

/// How large a compiled pattern for keys may be, in bytes.
const KEY_PATTERN_SIZE: usize = 1 << 20;

/// Whether a schema has conditions. A property of this name is taken for one.
fn has_conditions(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.iter().any(|(key, value)| key == "if" || has_conditions(value)),
        Value::Array(items) => items.iter().any(has_conditions),
        _ => false,
    }
}

/// Whether all patterns for the keys of mappings run in linear time.
fn key_patterns_are_linear(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.iter().all(|(key, value)| {
            let own = (key == "patternProperties").then(|| value.as_object()).flatten();
            let linear = |pattern: &String| translated(pattern).is_some_and(|it| is_linear(&it));
            own.is_none_or(|own| own.keys().all(linear)) && key_patterns_are_linear(value)
        }),
        Value::Array(items) => items.iter().all(key_patterns_are_linear),
        _ => true,
    }
}

/// A pattern of a schema in the spelling of the engine.
pub(super) fn translated(pattern: &str) -> Option<Cow<'_, str>> {
    jsonschema_regex::to_rust_regex(pattern).ok()
}

fn pattern_keyword<'a>(
    value: &'a Value,
    patterns: &Mutex<Patterns>,
    steps: &Arc<Steps>,
) -> Result<Box<dyn for<'i> Keyword<'i>>, ValidationError<'a>> {
    let written = value
        .as_str()
        .ok_or_else(|| ValidationError::custom(format!("{value} is not of type \"string\"")))?;
    let wrong = || ValidationError::custom(format!("{value} is not a \"regex\""));
    let spelled = translated(written).ok_or_else(wrong)?;
    let mut patterns = patterns.lock().unwrap_or_else(PoisonError::into_inner);
    let compiled = patterns
        .get_if_room(&spelled)
        .ok_or_else(|| ValidationError::custom(TOO_LARGE))?;
    Ok(Box::new(PatternKeyword {
        written: value.to_string(),
        compiled: compiled.map_err(|_| wrong())?,
        steps: Arc::clone(steps),
    }))
}

/// The keyword `pattern`, which spends steps of a budget.
struct PatternKeyword {
    written: String,
    compiled: Arc<Pattern>,
    steps: Arc<Steps>,
}

impl<'i> Keyword<'i> for PatternKeyword {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        let Some(text) = instance.as_str() else {
            return Ok(());
        };
        match self.compiled.is_match(text, &self.steps) {
            Ok(true) => Ok(()),
            Ok(false) => Err(ValidationError::custom(format!("does not match {}", self.written))),
            Err(error) => Err(ValidationError::custom(format!(
                "is not known to match {}: {error}",
                self.written
            ))),
        }
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        self.validate(instance).is_ok()
    }
}

fn is_known_draft(uri: &str) -> bool {
    let uri = uri.trim_end_matches('#');
    let Some((_, rest)) = uri.split_once("://json-schema.org/") else {
        return false;
    };
    matches!(
        rest,
        "draft-04/schema" | "draft-06/schema" | "draft-07/schema" | "draft/2019-09/schema" | "draft/2020-12/schema"
    )
}
