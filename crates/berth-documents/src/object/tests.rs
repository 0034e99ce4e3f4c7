use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::{
    node::{Node, Value},
    parse::{Parsed, parse, tests::properties::json_values},
    source::Sources,
};

fn of_value(value: &Json) -> (Sources, Parsed) {
    let mut sources = Sources::new();
    let id = sources.add_object("o", value);
    let parsed = parse(&sources, id);
    (sources, parsed)
}

fn of_text(value: &Json) -> Parsed {
    let mut sources = Sources::new();
    let id = sources.add("o", value.to_string());
    parse(&sources, id)
}

/// A tree without its places, styles and order of keys included.
fn shape(node: &Node) -> String {
    match &node.value {
        Value::Seq(items) => {
            let items: Vec<String> = items.iter().map(shape).collect();
            format!("[{}]", items.join(","))
        }
        Value::Map(map) => {
            let entry = |(key, node): (&crate::Key, &Node)| format!("{:?}:{}", key.as_str(), shape(node));
            let entries: Vec<String> = map.iter().map(entry).collect();
            format!("{{{}}}", entries.join(","))
        }
        scalar => format!("{:?} {scalar:?}", node.style),
    }
}

fn told(parsed: &Parsed) -> (Vec<(String, String)>, Vec<String>) {
    let documents = parsed.documents.iter();
    let findings = parsed.diagnostics.iter();
    (
        documents
            .map(|document| {
                (
                    shape(&document.root),
                    format!("{:?} {}", document.envelope, document.index),
                )
            })
            .collect(),
        findings
            .map(|it| format!("{} {} {:?} {}", it.code(), it.message, it.help, it.related.len()))
            .collect(),
    )
}

proptest! {
    #[test]
    fn an_object_is_read_as_its_text_is(value in json_values()) {
        // At the root a text may be YAML; inside of a list it is JSON as the object is.
        let value = json!([value]);
        prop_assert_eq!(told(&of_value(&value).1), told(&of_text(&value)));
    }

    #[test]
    fn every_part_of_an_object_is_found_again(value in json_values()) {
        fn check(sources: &Sources, node: &Node) {
            // A key of a later mapping may look like a path; what is found is the value all the same.
            assert_eq!(sources.snippet(node.span), node.to_json().to_string());
            for item in node.as_seq().into_iter().flatten() {
                assert!(node.span.start < item.span.start && item.span.end < node.span.end);
                check(sources, item);
            }
            for (key, item) in node.as_map().into_iter().flatten() {
                assert_eq!(sources.snippet(key.span), json!(key.as_str()).to_string());
                assert!(key.span.end < item.span.start && item.span.end < node.span.end);
                check(sources, item);
            }
        }
        let (sources, parsed) = of_value(&value);
        for document in &parsed.documents {
            check(&sources, &document.root);
        }
    }
}

#[test]
fn envelopes_names_and_lists_of_objects_are_those_of_texts() {
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "w1"}});
    for value in [
        node.clone(),
        json!({"apiVersion": "v1", "kind": "List", "items": [node, {"metadata": {"name": "x"}}]}),
        json!({"apiVersion": "v1", "kind": "NodeList", "items": [{"metadata": {"name": "x"}}]}),
        json!({"schema": "drydock/Rack/v1", "metadata": {"name": "r"}, "data": {}}),
        json!({"schema": "Rack", "metadata": {"name": 5}}),
        json!({"apiVersion": "v1", "kind": "Node", "schema": "a/B/v1", "metadata": {"name": true}}),
        json!({"apiVersion": "v1", "kind": null}),
        json!({"kind": 7}),
        json!([]),
    ] {
        assert_eq!(told(&of_value(&value).1), told(&of_text(&value)), "{value}");
    }
    assert!(of_value(&Json::Null).1.documents.is_empty());
}

#[test]
fn places_are_names_and_fields() {
    let value = json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "w1", "labels": {"a.b/c": "d", "plain": [{"x": 1}]}},
    });
    let mut sources = Sources::new();
    let id = sources.add_object("Node/w1", &value);
    let root = &parse(&sources, id).documents[0].root;
    let labels = root.at(&["metadata", "labels"]).unwrap();
    let (key, value) = labels.as_map().unwrap().get_key_value("a.b/c").unwrap();
    let x = labels.get("plain").unwrap().as_seq().unwrap()[0].get("x").unwrap();
    for (span, expected) in [
        (root.span, "Node/w1"),
        (root.get("kind").unwrap().span, "Node/w1 kind"),
        (key.span, "Node/w1 metadata.labels[a.b/c]"),
        (value.span, "Node/w1 metadata.labels[a.b/c]"),
        (x.span, "Node/w1 metadata.labels.plain[0].x"),
    ] {
        let location = sources.location(span);
        assert_eq!(location.to_string(), expected);
        assert_eq!(location.without_column(), expected);
        assert_eq!((location.line(), location.column()), (None, None));
    }
    assert_eq!(sources.text(id), "");
}

#[test]
fn what_is_nested_too_deeply_is_a_finding() {
    let nested = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!([inner]));
    for depth in [127, 128, 129] {
        let value = nested(depth);
        assert_eq!(told(&of_value(&value).1), told(&of_text(&value)), "{depth}");
    }
    let (sources, parsed) = of_value(&nested(129));
    assert_eq!(parsed.diagnostics[0].code(), "too-deep");
    assert_eq!(sources.location(parsed.diagnostics[0].span.unwrap()).to_string(), "o");
}
