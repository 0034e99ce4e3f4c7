//! The count is never below what the validator really does.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};

use jsonschema::{Draft, Keyword, ValidationError};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{super::outline::Outline, *};
use crate::deckhand::pattern::Patterns;

/// A keyword that counts how often it is asked, and says no.
struct Counting(Arc<AtomicU64>);

impl<'i> Keyword<'i> for Counting {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        if self.is_valid(instance) {
            return Ok(());
        }
        Err(ValidationError::custom("no"))
    }

    fn is_valid(&self, _: &'i Value) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed).is_multiple_of(2)
    }
}

fn outlined(schema: &Value, draft: Draft) -> Outline {
    Outline::new(schema, draft, &Mutex::new(Patterns::default())).unwrap()
}

fn counted(schema: &Value, draft: Draft, data: &Value) -> Result<(u64, Room), TooMuch> {
    let outline = outlined(schema, draft);
    let visits = Visits::default();
    let room = visits.spend(&outline, data, &Steps::default())?;
    Ok((ALL_VISITS - visits.0.left(), room))
}

fn real(schema: &Value, draft: Draft, data: &Value) -> (u64, usize) {
    let count = Arc::new(AtomicU64::new(0));
    let counting = Arc::clone(&count);
    let validator = jsonschema::options()
        .offline()
        .with_draft(draft)
        .with_keyword("count", move |_, _, _| Ok(Box::new(Counting(Arc::clone(&counting)))))
        .build(schema)
        .unwrap();
    let errors = validator.iter_errors(data).count();
    (count.load(Ordering::Relaxed), errors)
}

/// A schema with references to four definitions, which all count.
fn schemas() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({})),
        Just(json!({"type": "string"})),
        Just(json!({"required": ["a", "b"]})),
        Just(json!({"enum": [1, "x"]})),
        (0..4_usize).prop_map(|number| json!({"$ref": format!("#/definitions/d{number}")})),
        Just(json!({"$ref": "#"})),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let list = || prop::collection::vec(inner.clone(), 1..3);
        prop_oneof![
            list().prop_map(|it| json!({"allOf": it})),
            list().prop_map(|it| json!({"anyOf": it})),
            list().prop_map(|it| json!({"oneOf": it})),
            list().prop_map(|it| json!({"items": it.first()})),
            (list(), inner.clone()).prop_map(|(it, rest)| json!({"items": it, "additionalItems": rest})),
            inner.clone().prop_map(|it| json!({"not": it})),
            inner.clone().prop_map(|it| json!({"contains": it})),
            inner.clone().prop_map(|it| json!({"propertyNames": it})),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(one, two, three)| json!({"if": one, "then": two, "else": three})),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(one, two, three)| {
                json!({"properties": {"a": one}, "patternProperties": {"^[ab]": two}, "additionalProperties": three})
            }),
            (inner.clone(), inner.clone()).prop_map(|(one, two)| json!({"properties": {"a": one, "b": two}})),
            inner
                .clone()
                .prop_map(|it| json!({"dependencies": {"a": it, "b": ["c"]}})),
            (inner.clone(), inner.clone()).prop_map(|(one, two)| json!({"patternProperties": {"a": one, "b|c": two}})),
        ]
    })
    .prop_map(with_count)
}

/// Adds the keyword that counts to every schema.
fn with_count(schema: Value) -> Value {
    let Value::Object(keywords) = schema else {
        return schema;
    };
    let is_reference = keywords.contains_key("$ref");
    let mut counted: Map<String, Value> = keywords
        .into_iter()
        .map(|(keyword, value)| {
            let value = match (keyword.as_str(), value) {
                ("enum" | "required" | "type", value) => value,
                (_, Value::Array(items)) => items.into_iter().map(with_count).collect(),
                ("properties" | "patternProperties" | "dependencies", Value::Object(map)) => {
                    map.into_iter().map(|(key, it)| (key, with_count(it))).collect()
                }
                (_, value) => with_count(value),
            };
            (keyword, value)
        })
        .collect();
    // Beside a reference nothing counts in these drafts.
    if !is_reference {
        counted.insert("count".to_owned(), json!(true));
    }
    Value::Object(counted)
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(json!(1)), Just(json!("x")), Just(json!(null))];
    leaf.prop_recursive(4, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            prop::collection::btree_map("[abc]", inner, 0..3).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_validator_looks_more_often_than_was_counted(
        root in schemas(),
        definitions in prop::collection::vec(schemas(), 4),
        data in values(),
    ) {
        let mut schema = root;
        let definitions: Map<String, Value> = definitions
            .into_iter()
            .enumerate()
            .map(|(number, it)| (format!("d{number}"), it))
            .collect();
        // Beside a reference definitions are none.
        schema = json!({"allOf": [schema], "definitions": definitions, "count": true});
        match counted(&schema, Draft::Draft7, &data) {
            Ok((most, room)) if most < 100_000 => {
                let (visits, errors) = real(&schema, Draft::Draft7, &data);
                prop_assert!(visits <= most, "{} visits, {} counted: {} on {}", visits, most, schema, data);
                let each = errors as u64 * ERROR;
                prop_assert!(each <= room.all, "{} errors, {:?}: {} on {}", errors, room, schema, data);
            }
            // Too much for a test, or for anybody.
            Ok(_) | Err(TooMuch::Visits | TooMuch::Depth) => {}
            Err(error) => prop_assert!(false, "{error}"),
        }
    }
}

#[test]
fn what_is_counted_is_near_what_is_done() {
    let item =
        json!({"properties": {"name": {"type": "string"}, "children": {"items": {"$ref": "#/definitions/item"}}}});
    let schema = with_count(json!({"$ref": "#/definitions/item"}));
    let mut schema = schema;
    schema["definitions"] = json!({"item": with_count(item)});
    let tree = |children: Vec<Value>| json!({"name": "x", "children": children});
    let data = tree(vec![tree(vec![]); 50]);
    let (most, _) = counted(&schema, Draft::Draft4, &data).unwrap();
    let (visits, _) = real(&schema, Draft::Draft4, &data);
    assert!(visits <= most && most <= 8 * visits, "{visits} {most}");
}
