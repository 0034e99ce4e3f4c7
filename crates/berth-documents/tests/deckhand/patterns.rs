//! Patterns that documents bring along cost a limited number of steps, in a rendering and in a validation.

use berth_documents::deckhand::{DataSchemas, RenderOptions, Violation, render};
use serde_json::{Value, json};

use crate::build::{Doc, SCHEMA, data_of, doc, policy, read, try_render};

/// Backtracking on this never ends.
const SLOW: &str = "^((a+)(?!x))+b$";

fn slow_text() -> String {
    format!("{}c", "a".repeat(60))
}

pub(crate) fn violations(schema: Value, documents: impl IntoIterator<Item = Doc>) -> Vec<Violation> {
    let asked = Doc(json!({
        "schema": "deckhand/DataSchema/v1",
        "metadata": {"schema": "metadata/Control/v1", "name": SCHEMA},
        "data": schema,
    }));
    let documents = read(documents.into_iter().chain([asked, policy(&["site"])]));
    let rendered = render(&documents, RenderOptions::default()).unwrap();
    let (schemas, mut violations) = DataSchemas::compile(&documents);
    violations.extend(schemas.validate_all(&rendered.documents));
    violations
}

#[test]
fn a_validation_ends_whatever_the_patterns_are() {
    let texts: Vec<String> = vec![slow_text(); 1000];
    let documents = (0..20).map(|number| doc("site", &format!("d{number}"), json!({"texts": texts})));
    let schema = json!({"properties": {"texts": {"items": {"pattern": SLOW}}}});
    let found = violations(schema, documents);
    assert!(
        found[0].message.contains("more than 1000000 steps"),
        "{}",
        found[0].message
    );
    let all = |it: &Violation| it.message.contains("all patterns together take too long");
    assert!(found.iter().any(all), "{:?}", found.last());
    let last = &found.last().unwrap().message;
    assert_eq!(
        (found.len(), last.as_str()),
        (201, "there are more violations, which are left out")
    );
    // Nothing is said of documents that were not looked at any more.
    assert!(found.iter().all(|it| it.document == found[0].document));
}

#[test]
fn patterns_for_keys_end_too() {
    let keys: serde_json::Map<String, Value> = (0..500).map(|n| (format!("{}{n}", slow_text()), json!(1))).collect();
    let schema = json!({"patternProperties": {SLOW: {"type": "integer"}}, "additionalProperties": false});
    let found = violations(schema, [doc("site", "d", Value::Object(keys))]);
    assert!(!found.is_empty());
    let linear = json!({"patternProperties": {"^(a+)+$": {"type": "string"}}, "additionalProperties": true});
    let found = violations(linear, [doc("site", "d", json!({"aaa": 1, "b": 2}))]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].path, ".data.aaa");
}

#[test]
fn patterns_match_as_they_did() {
    for (pattern, right, wrong) in [
        ("^[a-z]+$", "abc", "a1"),
        ("^a|b$", "ax", "xa"),
        (r"^\d{3}$", "123", "١٢٣"),
        (r"^(?!x)\w+$", "abc", "xabc"),
        (r"^(a|b)\1$", "aa", "ab"),
        ("b", "abc", "ac"),
        (r"^\S+$", "ab", "a b"),
    ] {
        let schema = json!({"properties": {"v": {"pattern": pattern}}});
        let found = violations(
            schema,
            [
                doc("site", "right", json!({"v": right})),
                doc("site", "wrong", json!({"v": wrong})),
                doc("site", "number", json!({"v": 5})),
            ],
        );
        assert_eq!(found.len(), 1, "{pattern} {found:?}");
        assert_eq!(found[0].document.name, "wrong");
        assert_eq!(
            found[0].message,
            format!("{} does not match {}", json!(wrong), json!(pattern))
        );
        assert_eq!(found[0].schema_path, ".properties.v.pattern");
    }
}

#[test]
fn patterns_that_are_none_are_found() {
    for wrong in [json!("("), json!(5)] {
        let found = violations(json!({"pattern": wrong}), []);
        assert_eq!(found.len(), 1, "{wrong} {found:?}");
        assert_eq!(found[0].document.schema, "deckhand/DataSchema/v1");
    }
    let many: Vec<Value> = (0..2000)
        .map(|number| json!({"pattern": format!("^x{number}")}))
        .collect();
    let found = violations(json!({"anyOf": many}), []);
    assert!(found[0].message.contains("too large"), "{found:?}");
}

#[test]
fn a_rendering_ends_whatever_the_patterns_are() {
    let slow = doc("site", "source", json!({"text": slow_text()}));
    let taker = |number: usize| {
        doc("site", &format!("t{number}"), json!({})).substitution(json!({
            "src": {"schema": SCHEMA, "name": "source", "path": ".text", "pattern": SLOW},
            "dest": {"path": ".x"},
        }))
    };
    let errors = try_render([slow.clone()].into_iter().chain((0..20).map(taker)))
        .unwrap_err()
        .to_string();
    assert!(errors.contains("more than 1000000 steps"), "{errors:.300}");
    let target = doc("site", "target", json!({"list": vec![slow_text(); 500]})).takes(
        "source",
        ".text",
        json!({"path": ".list", "pattern": SLOW, "recurse": {"depth": -1}}),
    );
    let errors = try_render([slow, target]).unwrap_err().to_string();
    assert!(errors.contains("too long"), "{errors}");
}

#[test]
fn every_match_is_replaced_as_before() {
    for (text, pattern, expected) in [
        ("a-b-c", "-", "a<P>b<P>c"),
        ("abc", "x*", "<P>a<P>b<P>c<P>"),
        ("äöü", "", "<P>ä<P>ö<P>ü<P>"),
        ("aXbX", "(?<=a)X", "a<P>bX"),
        ("none", "Z", "none"),
        ("aaa", "a+", "<P>"),
        ("", "^$", "<P>"),
    ] {
        let documents = [
            doc("site", "source", json!("<P>")),
            doc("site", "target", json!({"t": text})).takes("source", ".", json!({"path": ".t", "pattern": pattern})),
        ];
        assert_eq!(data_of("target", documents)["t"], expected, "{text:?} {pattern:?}");
    }
}
