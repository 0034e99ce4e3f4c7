//! What schemas may cost: how often they look at values, how deep they are, and what they say.

use berth_documents::deckhand::Violation;
use serde_json::{Map, Value, json};

use crate::{
    build::{SCHEMA, doc},
    patterns::violations,
};

/// Definitions of which each refers to the one before twice, by a keyword.
fn doubling(keyword: &str, levels: usize) -> Value {
    let mut definitions = Map::new();
    definitions.insert("a0".to_owned(), json!({"type": "integer"}));
    for level in 1..=levels {
        let before = json!({"$ref": format!("#/definitions/a{}", level - 1)});
        definitions.insert(format!("a{level}"), json!({(keyword): [before, before]}));
    }
    json!({"allOf": [{"$ref": format!("#/definitions/a{levels}")}], "definitions": definitions})
}

/// Lists inside each other.
fn nested(levels: usize) -> Value {
    (0..levels).fold(json!("x"), |inner, _| json!([inner]))
}

fn refused(name: &str, found: &[Violation], why: &str) {
    assert_eq!(found.len(), 1, "{name}: {found:?}");
    assert!(found[0].message.contains(why), "{name}: {}", found[0].message);
    assert_eq!(found[0].path, ".data", "{name}");
}

/// Three kilobytes that would keep a thread busy until the end of the world.
#[test]
fn a_schema_that_looks_without_end_is_refused() {
    let twice = json!({"$ref": "#"});
    let draft = "http://json-schema.org/draft-07/schema#";
    let circle: Map<String, Value> = (0..14)
        .map(|one| {
            let others = (0..14).map(|it| json!({"$ref": format!("#/definitions/c{it}")}));
            (format!("c{one}"), json!({"allOf": others.collect::<Vec<_>>()}))
        })
        .collect();
    for (name, schema, data) in [
        ("all", doubling("allOf", 60), json!("x")),
        ("any", doubling("anyOf", 60), json!("x")),
        ("nested data", json!({"items": {"allOf": [twice, twice]}}), nested(60)),
        (
            "nested any",
            json!({"items": {"anyOf": [twice, twice]}, "maxItems": 0}),
            nested(60),
        ),
        (
            "patterns for keys",
            json!({"patternProperties": {"a": twice, ".": twice}}),
            (0..60).fold(json!(1), |inner, _| json!({"a": inner})),
        ),
        (
            "a circle",
            json!({"$ref": "#/definitions/c0", "definitions": circle}),
            json!(1),
        ),
        (
            "conditions",
            json!({"$schema": draft, "items": {"if": twice, "then": twice, "else": twice}}),
            nested(60),
        ),
    ] {
        let found = violations(schema, [doc("site", "d", data)]);
        refused(name, &found, "more than 5000000 times");
    }
}

/// All documents of a validation have one budget.
#[test]
fn many_documents_cost_no_more_than_one() {
    let documents = (0..50).map(|number| doc("site", &format!("d{number}"), json!("x")));
    let found = violations(doubling("allOf", 17), documents);
    let last = found.last().unwrap();
    assert!(last.message.contains("more than 5000000 times"), "{last}");
}

/// References that follow each other take the stack.
#[test]
fn a_chain_of_references_has_a_limit() {
    let chain = |length: usize| {
        let mut definitions: Map<String, Value> = (1..length)
            .map(|it| (format!("a{it}"), json!({"$ref": format!("#/definitions/a{}", it - 1)})))
            .collect();
        definitions.insert("a0".to_owned(), json!({"type": "integer"}));
        json!({"$ref": format!("#/definitions/a{}", length - 1), "definitions": definitions})
    };
    let found = violations(chain(20_000), [doc("site", "d", json!("x"))]);
    refused("a chain", &found, "schemas inside each other");
    let found = violations(chain(390), [doc("site", "d", json!("x"))]);
    assert_eq!(found[0].message, "\"x\" is not of type \"integer\"");
}

/// The deepest data with the schema of a tree.
#[test]
fn a_recursive_schema_takes_the_deepest_data() {
    let schema = json!({
        "definitions": {
            "node": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "child": {"anyOf": [{"$ref": "#/definitions/node"}, {"type": "null"}]}},
                "additionalProperties": {"allOf": [{"$ref": "#/definitions/node"}]},
                "required": ["name"],
            },
        },
        "$ref": "#/definitions/node",
    });
    let deep = |last: Value| (0..100).fold(last, |inner, _| json!({"name": "x", "more": inner}));
    assert_eq!(
        violations(schema.clone(), [doc("site", "d", deep(json!({"name": "x"})))]),
        []
    );
    let wrong = violations(schema.clone(), [doc("site", "d", deep(json!({"name": 1})))]);
    assert_eq!(wrong.len(), 1);
    assert!(wrong[0].path.ends_with(".more.name"), "{}", wrong[0].path);
    let wide: Map<String, Value> = (0..20_000)
        .map(|it| {
            (
                format!("k{it}"),
                json!({"name": "x", "child": {"name": "y", "child": null}}),
            )
        })
        .chain([("name".to_owned(), json!("top"))])
        .collect();
    assert_eq!(violations(schema, [doc("site", "d", Value::Object(wide))]), []);
}

/// What schemas of sites use: definitions by their place, by a name, by an address, and the schema of schemas.
#[test]
fn references_are_followed_as_before() {
    for (schema, wrong) in [
        (
            json!({"$ref": "#/definitions/a", "definitions": {"a": {"type": "integer"}}}),
            true,
        ),
        (
            json!({"id": "http://example.com/root.json", "properties": {"a": {"$ref": "root.json#/definitions/a"}},
                "definitions": {"a": {"type": "integer"}}, "type": "integer"}),
            true,
        ),
        (
            json!({"allOf": [{"$ref": "#named"}], "definitions": {"a": {"id": "#named", "type": "integer"}}}),
            true,
        ),
        (json!({"$ref": "http://json-schema.org/draft-04/schema#"}), true),
        (
            json!({"properties": {"a": {"id": "/properties/a", "type": "integer"}}}),
            false,
        ),
    ] {
        let found = violations(schema.clone(), [doc("site", "d", json!("x"))]);
        assert_eq!(found.len(), usize::from(wrong), "{schema} {found:?}");
        assert!(
            found.iter().all(|it| it.document.schema == SCHEMA),
            "{schema} {found:?}"
        );
    }
    let modern = "https://json-schema.org/draft/2020-12/schema";
    for keyword in ["unevaluatedProperties", "unevaluatedItems"] {
        let found = violations(
            json!({"$schema": modern, (keyword): false}),
            [doc("site", "d", json!({}))],
        );
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].message.contains("is not supported"), "{}", found[0].message);
        let ignored = violations(json!({(keyword): false}), [doc("site", "d", json!({"a": 1}))]);
        assert_eq!(ignored, []);
    }
}

/// A pattern for keys costs steps of the one budget, whatever the number of keys and patterns.
#[test]
fn patterns_for_keys_have_one_budget() {
    let keys: Map<String, Value> = (0..5000)
        .map(|it| (format!("{}{it}", "a".repeat(12)), json!(1)))
        .collect();
    let patterns: Map<String, Value> = (0..40)
        .map(|it| (format!("^(?:(?:a+)(?!x))+b{it}$"), json!({"type": "integer"})))
        .collect();
    for additional in [json!(false), json!(true), json!({"type": "integer"})] {
        let schema = json!({"patternProperties": patterns, "additionalProperties": additional});
        let documents = (0..20).map(|it| doc("site", &format!("d{it}"), Value::Object(keys.clone())));
        let found = violations(schema, documents);
        refused("slow keys", &found, "all patterns together take too long");
    }
    let slow = json!({"patternProperties": {"^((a+)(?!x))+b$": {}}});
    let found = violations(slow, [doc("site", "d", json!({(format!("{}c", "a".repeat(60))): 1}))]);
    refused("one key", &found, "the pattern takes too long on this text");
    // With one pattern that backtracks the others do so too.
    let mixed = json!({"patternProperties": {"^(?!x)a": {"type": "string"}, r"\bb\b": {"type": "string"}}});
    let found = violations(mixed, [doc("site", "d", json!({"a": 1, "b": 2, "x": 3}))]);
    let mut paths: Vec<&str> = found.iter().map(|it| it.path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(paths, [".data.a", ".data.b"]);
}
