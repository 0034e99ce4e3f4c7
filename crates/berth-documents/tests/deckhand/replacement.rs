use serde_json::json;

use crate::build::{Doc, by_name, doc, try_render};

fn reason(documents: impl IntoIterator<Item = Doc>) -> String {
    let errors = try_render(documents).unwrap_err();
    assert_eq!(
        (errors.first().class(), errors.first().status()),
        ("InvalidDocumentReplacement", 400)
    );
    assert!(!errors.first().documents().is_empty());
    errors.first().to_string().split_once("Reason: ").unwrap().1.to_owned()
}

fn replaced() -> Doc {
    doc("global", "a", json!({"from": "global", "kept": 1})).labels(json!({"of": "a"}))
}

fn replacement() -> Doc {
    doc("site", "a", json!({"from": "site"}))
        .replacement()
        .child_of(json!({"of": "a"}), &["merge ."])
}

#[test]
fn the_replacement_stands_for_the_replaced() {
    let documents = [
        replaced(),
        replacement(),
        doc("site", "taker", json!({})).takes("a", ".from", json!({"path": ".x"})),
        doc("region", "sibling", json!({"own": 1})).child_of(json!({"of": "a"}), &["merge ."]),
    ];
    let rendered = try_render(documents).unwrap();
    let data = by_name(&rendered);
    assert_eq!(rendered.documents.len(), 4, "the policy, the replacement and two more");
    assert_eq!(data["a"], json!({"from": "site", "kept": 1}));
    assert_eq!(data["taker"], json!({"x": "site"}));
    // Other children of the replaced document see the replacement too.
    assert_eq!(data["sibling"], json!({"from": "site", "kept": 1, "own": 1}));
}

#[test]
fn a_replacement_needs_a_parent() {
    assert_eq!(
        reason([doc("site", "a", json!({})).replacement()]),
        "Document replacement requires that the document with `replacement: true` have a parent."
    );
}

#[test]
fn a_replacement_has_the_name_of_what_it_replaces() {
    let other = doc("site", "b", json!({}))
        .replacement()
        .child_of(json!({"of": "a"}), &["merge ."]);
    assert_eq!(
        reason([replaced(), other]),
        "Document replacement requires that both documents have the same `schema` and `metadata.name`."
    );
}

#[test]
fn only_replacements_have_the_name_of_their_parent() {
    let child = doc("site", "a", json!({})).child_of(json!({"of": "a"}), &["merge ."]);
    assert!(reason([replaced(), child]).starts_with("Non-replacement documents cannot have the same"));
}

#[test]
fn two_documents_with_one_name_need_a_replacement() {
    let documents = [doc("global", "a", json!({})), doc("site", "a", json!({}))];
    assert!(reason(documents).starts_with("Documents with the same `schema` and `metadata.name`"));
}

#[test]
fn there_is_one_level_of_replacement() {
    let middle = doc("region", "a", json!({"from": "region"}))
        .labels(json!({"of": "middle"}))
        .replacement()
        .child_of(json!({"of": "a"}), &["merge ."]);
    let last = doc("site", "a", json!({}))
        .replacement()
        .child_of(json!({"of": "middle"}), &["merge ."]);
    assert_eq!(
        reason([replaced(), middle, last]),
        "A replacement document cannot itself be replaced by another document."
    );
}

#[test]
fn a_document_is_replaced_once() {
    let second = doc("region", "a", json!({}))
        .replacement()
        .child_of(json!({"of": "a"}), &["merge ."]);
    assert_eq!(
        reason([replaced(), replacement(), second]),
        "A document can be replaced by one document only."
    );
}
