//! What it takes to say what is wrong with documents.

use std::sync::Arc;

use berth_documents::deckhand::{DataSchemas, DeckhandDocument, RenderedDocument, SecretPaths, Violation};
use serde_json::{Map, Value, json};

use super::peak;

/// What errors may take, and what a validation takes in any case.
const ROOM: u64 = 64 << 20;
const BASE: u64 = 32 << 20;

fn document(data: Value) -> RenderedDocument {
    let document = json!({
        "schema": "example/Kind/v1",
        "metadata": {
            "schema": "metadata/Document/v1",
            "name": "d",
            "storagePolicy": "cleartext",
            "layeringDefinition": {"layer": "site"},
        },
        "data": data,
    });
    let document = Arc::new(DeckhandDocument::from_json(document).unwrap());
    RenderedDocument {
        data: Arc::clone(document.data()),
        secrets: Arc::new(SecretPaths::none()),
        document,
    }
}

fn schema(data: Value) -> Arc<DeckhandDocument> {
    let document = json!({
        "schema": "deckhand/DataSchema/v1",
        "metadata": {"schema": "metadata/Control/v1", "name": "example/Kind/v1"},
        "data": data,
    });
    Arc::new(DeckhandDocument::from_json(document).unwrap())
}

/// Schemas and data with more errors, or longer ones, than anybody reads.
fn bombs() -> Vec<(&'static str, Value, Value)> {
    let repeat = |count: usize, schema: &dyn Fn(usize) -> Value| (0..count).map(schema).collect::<Vec<_>>();
    let keys = |count: usize| -> Value {
        let keys: Map<String, Value> = (0..count).map(|it| (format!("key-number-{it}"), json!(1))).collect();
        Value::Object(keys)
    };
    vec![
        (
            "many errors",
            json!({"items": {"type": "integer", "enum": [1], "maxLength": 0}}),
            json!(vec!["x"; 150_000]),
        ),
        (
            "long ways",
            json!({"additionalProperties": {"items": {"type": "string"}}}),
            json!({("k".repeat(100_000)): vec![1; 10_000]}),
        ),
        (
            "alternatives with copies",
            json!({"anyOf": repeat(300, &|it| json!({"maxItems": it}))}),
            json!(vec!["some text"; 20_000]),
        ),
        (
            "keys",
            json!({"allOf": repeat(500, &|_| json!({"additionalProperties": false}))}),
            keys(5000),
        ),
        (
            "texts",
            json!({"allOf": repeat(500, &|it| json!({"pattern": format!("^a{it}")}))}),
            json!("x".repeat(1_000_000)),
        ),
        (
            "required keys",
            json!({"items": {"required": repeat(3000, &|it| json!(format!("key-number-{it}")))}}),
            json!(vec![json!({}); 1000]),
        ),
        (
            "long messages",
            json!({"allOf": repeat(300, &|it| json!({"maxItems": it}))}),
            json!(vec!["some text"; 50_000]),
        ),
    ]
}

#[test]
fn errors_take_what_their_limit_says() {
    for (name, asked, data) in bombs() {
        let (asked, data) = (schema(asked), document(data));
        let mut found: Vec<Violation> = Vec::new();
        let taken = peak(|| {
            let (schemas, wrong) = DataSchemas::compile([&asked]);
            found = wrong;
            found.extend(schemas.validate_all(std::slice::from_ref(&data)));
        });
        assert!(!found.is_empty(), "{name}");
        assert!(taken <= ROOM + BASE, "{name}: {taken}");
        let told: usize = found.iter().map(|it| it.message.len() + it.path.len()).sum();
        assert!(found.len() <= 201, "{name}: {}", found.len());
        assert!(told <= 300_000, "{name}: {told}");
    }
}

/// A schema that is none is not repeated in full.
#[test]
fn wrong_schemas_are_told_in_short() {
    let long = json!({"type": vec!["no type"; 10_000]});
    let (_, wrong) = DataSchemas::compile([&schema(long)]);
    assert_eq!(wrong.len(), 1);
    assert!(wrong[0].message.len() < 600, "{}", wrong[0].message.len());
}
