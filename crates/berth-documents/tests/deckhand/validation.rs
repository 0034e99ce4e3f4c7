use berth_documents::deckhand::{
    DataSchemas, PolicyEntry, PolicyReport, RenderOptions, SCHEMA_VALIDATION, ValidationStatus, render,
    validation_entry,
};
use serde_json::{Value, json};

use crate::build::{Doc, SCHEMA, doc, policy, read};

fn schema(schema: Value) -> Doc {
    Doc(json!({
        "schema": "deckhand/DataSchema/v1",
        "metadata": {"schema": "metadata/Control/v1", "name": SCHEMA},
        "data": schema,
    }))
}

/// What is wrong with the documents after rendering, as text.
fn violations(documents: impl IntoIterator<Item = Doc>) -> Vec<String> {
    let documents = read(documents.into_iter().chain([policy(&["site"])]));
    let (schemas, mut violations) = DataSchemas::compile(&documents);
    let rendered = render(&documents, RenderOptions::default()).unwrap();
    violations.extend(schemas.validate_all(&rendered.documents));
    violations.iter().map(ToString::to_string).collect()
}

#[test]
fn rendered_data_must_meet_the_schema() {
    let asked = schema(json!({
        "$schema": "http://json-schema.org/schema#",
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"type": "integer"}}},
        "required": ["a"],
    }));
    assert_eq!(
        violations([asked.clone(), doc("site", "good", json!({"a": [1]}))]),
        Vec::<String>::new()
    );
    assert_eq!(
        violations([
            asked.clone(),
            doc("site", "bad", json!({"a": [1, "x"]})),
            doc("site", "worse", json!({}))
        ]),
        [
            "[example/Kind/v1, site] bad: .data.a[1]: \"x\" is not of type \"integer\"",
            "[example/Kind/v1, site] worse: .data: \"a\" is a required property",
        ]
    );
    // What counts is the rendered data, and abstract documents are not rendered.
    assert_eq!(
        violations([
            asked.clone(),
            doc("site", "abstract", json!({})).abstracted(),
            doc("site", "source", json!([7])).schema("example/Other/v1"),
            doc("site", "taker", json!({})).substitution(
                json!({"src": {"schema": "example/Other/v1", "name": "source", "path": "."}, "dest": {"path": ".a"}})
            ),
        ]),
        Vec::<String>::new()
    );
}

#[test]
fn secrets_are_not_shown() {
    let asked = schema(json!({"type": "object", "properties": {"a": {"type": "integer"}}}));
    let found = violations([asked, doc("site", "secret", json!({"a": "hunter2"})).encrypted()]);
    assert_eq!(
        found,
        [
            "[example/Kind/v1, site] secret: .data: a value that is secret does not meet the schema; whether others do is not told"
        ]
    );
}

#[test]
fn schemas_that_are_none_are_found() {
    for wrong in [
        json!({"type": "foo"}),
        json!({"$ref": "http://example.com/schema"}),
        json!({"pattern": "("}),
    ] {
        let found = violations([schema(wrong.clone()), doc("site", "a", json!({}))]);
        assert_eq!(found.len(), 1, "{wrong} {found:?}");
        assert!(
            found[0].starts_with("[deckhand/DataSchema/v1, None] example/Kind/v1: .data"),
            "{found:?}"
        );
    }
}

#[test]
fn schemas_that_go_in_circles_end() {
    for circle in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"not": {"not": {"$ref": "#"}}}),
    ] {
        violations([schema(circle), doc("site", "a", json!({"b": 1}))]);
    }
}

#[test]
fn drafts_are_as_declared() {
    // `const` came with draft 6: earlier drafts do not know it.
    let with = |draft: Option<&str>| {
        let mut asked = json!({"const": 1});
        if let Some(draft) = draft {
            asked["$schema"] = json!(draft);
        }
        violations([schema(asked), doc("site", "a", json!(2))]).len()
    };
    assert_eq!(with(None), 0);
    assert_eq!(with(Some("http://json-schema.org/draft-04/schema#")), 0);
    assert_eq!(with(Some("http://json-schema.org/draft-07/schema#")), 1);
    assert_eq!(with(Some("https://json-schema.org/draft/2020-12/schema")), 1);
}

#[test]
fn keys_and_passphrases_are_texts() {
    let key = |data: Value| doc("site", "key", data).schema("deckhand/Passphrase/v1").encrypted();
    assert_eq!(violations([key(json!("x"))]), Vec::<String>::new());
    assert_eq!(
        violations([key(json!({}))]),
        ["[deckhand/Passphrase/v1, site] key: .data: the value is not of type 'string'"]
    );
}

#[test]
fn entries_are_filed() {
    let documents = read([
        policy(&["site"]),
        schema(json!({"type": "object"})),
        doc("site", "a", json!(1)),
    ]);
    let (schemas, _) = DataSchemas::compile(&documents);
    let rendered = render(&documents, RenderOptions::default()).unwrap();
    assert_eq!(
        validation_entry(&schemas.validate_all(&rendered.documents)),
        json!({
            "name": "deckhand-schema-validation",
            "status": "failure",
            "validator": {"name": "deckhand", "version": "1.0"},
            "errors": [{
                "name": "a",
                "schema": SCHEMA,
                "layer": "site",
                "path": ".data",
                "schema_path": ".type",
                "message": "1 is not of type \"object\"",
            }],
        })
    );
    assert_eq!(validation_entry(&[])["status"], "success");
}

#[test]
fn policies_decide_what_counts() {
    use ValidationStatus::{Failure, Success};
    let policy = Doc(json!({
        "schema": "deckhand/ValidationPolicy/v1",
        "metadata": {"schema": "metadata/Control/v1", "name": "site-policy"},
        "data": {"validations": [{"name": SCHEMA_VALIDATION}, {"name": "promenade-site-validation"}]},
    }));
    let documents = read([policy]);
    let good = [(SCHEMA_VALIDATION, Success), ("promenade-site-validation", Success)];

    let report = PolicyReport::new(&documents, good.into_iter().chain([("extra-validation", Failure)]));
    assert_eq!(report.status, Success);
    assert!(report.ignored.contains("extra-validation"));

    let report = PolicyReport::new(&documents, [(SCHEMA_VALIDATION, Success)]);
    assert_eq!(report.status, Failure);
    assert_eq!(
        report.policies["site-policy"]["promenade-site-validation"],
        PolicyEntry::Missing
    );

    let report = PolicyReport::new(
        &documents,
        good.into_iter().chain([("promenade-site-validation", Failure)]),
    );
    assert_eq!(report.status, Failure, "one failure among several reports is a failure");

    // Without policies everything counts.
    assert_eq!(PolicyReport::new(&[], good).status, Success);
    assert_eq!(PolicyReport::new(&[], [("extra-validation", Failure)]).status, Failure);
    assert_eq!(
        PolicyReport::new(&documents[..0], [(SCHEMA_VALIDATION, Failure)]).status,
        Failure
    );
}

/// Published sites have such schemas: Deckhand follows a reference when a value meets it.
#[test]
fn a_reference_to_nothing_counts_for_the_values_that_meet_it() {
    let asked = |id: Option<&str>| {
        let mut asked = json!({
            "$schema": "http://json-schema.org/schema#",
            "type": "object",
            "properties": {
                "path": {"$ref": "#/definitions/path"},
                "url": {"$ref": "#/definitions/url"},
                "files": {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"$ref": "#/definitions/file"}]}},
                "$ref": {"type": "string"},
            },
            "definitions": {
                "path": {"type": "string"},
                "unused": {"$ref": "#/definitions/nothing"},
                "file": {"type": "object", "properties": {"source": {"$ref": "#/definitions/url"}}},
            },
        });
        if let Some(id) = id {
            asked["id"] = json!(id);
        }
        schema(asked)
    };
    for id in [None, Some("http://example.org/kind#"), Some("kind")] {
        let found = |data: Value| violations([asked(id), doc("site", "a", data)]);
        let fine = json!({"path": "/a", "files": [1, {}, {"name": "x"}], "$ref": "#/nowhere"});
        assert_eq!(found(fine), Vec::<String>::new(), "{id:?}");
        assert_eq!(
            found(json!({"url": "http://a"})),
            [
                "[example/Kind/v1, site] a: .data.url: \"http://a\" meets a reference of the schema to \"#/definitions/url\", which is not there"
            ],
            "{id:?}"
        );
        assert_eq!(found(json!({"files": [{"source": "x"}]})).len(), 1, "{id:?}");
        assert_eq!(
            found(json!({"path": 1})),
            ["[example/Kind/v1, site] a: .data.path: 1 is not of type \"string\""],
            "{id:?}"
        );
    }
}
