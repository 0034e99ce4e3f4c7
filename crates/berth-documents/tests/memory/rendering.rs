//! What comes after reading: rendering, hashing, printing and comparing.

use std::sync::Arc;

use berth_documents::{
    deckhand::{ContentHash, DeckhandDocument, RenderOptions, render, value_diff},
    emit::to_yaml,
};
use serde_json::{Value, json};

use super::peak;

/// What rendered documents may take, whatever goes in, and for each byte of the documents as they are written in memory.
const LIMIT: u64 = 64 << 20;
const FACTOR: u64 = 16;

fn document(name: &str, substitutions: Value, data: Value) -> Arc<DeckhandDocument> {
    Arc::new(
        DeckhandDocument::from_json(json!({
            "schema": "example/Kind/v1",
            "metadata": {
                "schema": "metadata/Document/v1",
                "name": name,
                "storagePolicy": "cleartext",
                "layeringDefinition": {"layer": "site"},
                "substitutions": substitutions,
            },
            "data": data,
        }))
        .unwrap(),
    )
}

fn policy() -> Arc<DeckhandDocument> {
    Arc::new(
        DeckhandDocument::from_json(json!({
            "schema": "deckhand/LayeringPolicy/v1",
            "metadata": {"schema": "metadata/Control/v1", "name": "layers"},
            "data": {"layerOrder": ["site"]},
        }))
        .unwrap(),
    )
}

fn taking(destinations: Vec<Value>) -> Value {
    json!([{"src": {"schema": "example/Kind/v1", "name": "source", "path": ".value"}, "dest": destinations}])
}

/// Documents that would fill any memory, with about 200 kB of text each.
fn bombs() -> Vec<(&'static str, Vec<Arc<DeckhandDocument>>)> {
    let numbered = |count: usize, path: &dyn Fn(usize) -> String| -> Vec<Value> {
        (0..count).map(|number| json!({"path": path(number)})).collect()
    };
    let source = |value: Value| document("source", json!([]), json!({"value": value}));
    let many = || taking(numbered(4000, &|number| format!(".x{number}")));
    vec![
        (
            "a long text",
            vec![
                source(json!("x".repeat(100_000))),
                document("target", many(), json!({})),
            ],
        ),
        (
            "a long list",
            vec![source(json!(vec![1; 50_000])), document("target", many(), json!({}))],
        ),
        (
            "many small mappings",
            vec![
                source(json!(vec![json!({"a": 1}); 10_000])),
                document("target", many(), json!({})),
            ],
        ),
        (
            "cells",
            vec![
                source(json!(1)),
                document(
                    "target",
                    taking(numbered(4000, &|number| format!(".x{number}[4095]"))),
                    json!({}),
                ),
            ],
        ),
        (
            "cells of cells",
            vec![
                source(json!(1)),
                document(
                    "target",
                    taking(numbered(4000, &|number| format!(".x{number}[4095][4095][4095]"))),
                    json!({}),
                ),
            ],
        ),
        (
            "a text that grows",
            vec![
                source(json!("xx")),
                document(
                    "target",
                    Value::Array(vec![
                        json!({"src": {"schema": "example/Kind/v1", "name": "source", "path": ".value"},
                           "dest": {"path": ".t", "pattern": "x"}});
                        60
                    ]),
                    json!({"t": "x"}),
                ),
            ],
        ),
        ("documents that double", {
            let mut documents = vec![source(json!({"a": "x".repeat(1000)}))];
            let mut before = "source".to_owned();
            for number in 0..40 {
                let name = format!("d{number}");
                let dest = json!([{"path": ".value.l"}, {"path": ".value.r"}]);
                let takes =
                    json!([{"src": {"schema": "example/Kind/v1", "name": before, "path": ".value"}, "dest": dest}]);
                documents.push(document(&name, takes, json!({})));
                before = name;
            }
            documents
        }),
    ]
}

#[test]
fn rendering_takes_what_its_limit_says() {
    for (name, documents) in bombs() {
        let written = documents
            .iter()
            .map(|it| it.to_json().to_string().len() as u64)
            .sum::<u64>();
        let documents: Vec<_> = documents.into_iter().chain([policy()]).collect();
        let mut failed = None;
        let taken = peak(|| failed = Some(render(&documents, RenderOptions::default()).is_err()));
        assert_eq!(failed, Some(true), "{name}");
        // A value of one byte may be written in two, and takes 64; the largest text may be there twice while it grows.
        let most = 2 * (LIMIT + FACTOR * 40 * written);
        assert!(taken <= most, "{name}: {taken} for {written}, at most {most}");
    }
}

/// Lists deep in mappings, and texts of short lines there, are not indented over and over.
#[test]
fn printing_takes_a_small_multiple() {
    let deep = |value: Value| (0..118).fold(value, |inner, _| json!({"k": inner}));
    for (name, value) in [
        ("numbers", deep(json!(vec![1; 50_000]))),
        ("lines", deep(json!("a\n".repeat(50_000)))),
        ("mappings", deep(json!(vec![json!({"a": 1}); 20_000]))),
        ("lists", deep(json!(vec![json!([1, [2, [3]]]); 20_000]))),
        ("escapes", json!("\u{1}".repeat(100_000))),
        ("keys", json!({"\u{1}".repeat(100_000): 1})),
        ("flat", json!(vec!["text"; 50_000])),
    ] {
        let length = value.to_string().len() as u64;
        let mut printed = 0;
        let taken = peak(|| printed = to_yaml(&value).len() as u64);
        assert!(
            printed <= 40 * length && taken <= 120 * length,
            "{name}: {taken} and {printed} for {length}"
        );
    }
}

#[test]
fn hashing_takes_nothing() {
    let value = json!({"a": vec!["\u{1}".repeat(1000); 1000]});
    let taken = peak(|| {
        ContentHash::of(&value);
    });
    assert!(taken < 64 << 10, "{taken}");
}

/// A long way to a long list is told once for each element that differs.
#[test]
fn a_difference_has_a_limit() {
    let key = "k".repeat(1000);
    let deep = |value: Value| (0..100).fold(value, |inner, _| json!({(key.clone()): inner}));
    let (one, other) = (deep(json!(vec![1; 20_000])), deep(json!(vec![2; 20_000])));
    let mut told = Value::Null;
    let taken = peak(|| told = value_diff(&one, &other));
    assert!(taken < 64 << 20, "{taken}");
    assert_eq!(told["truncated"], true);
    let short = value_diff(&json!({"a": 1}), &json!({"a": 2}));
    assert!(short.get("truncated").is_none());
}
