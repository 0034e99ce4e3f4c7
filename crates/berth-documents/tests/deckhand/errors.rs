//! Class names, statuses and texts, as replies carry them.

use berth_documents::deckhand::{RenderError, RenderOptions, render};
use serde_json::json;

use crate::build::{Doc, doc, policy, read, try_render};

struct Case {
    documents: Vec<Doc>,
    class: &'static str,
    status: u16,
    text: &'static str,
    names: &'static [&'static str],
}

fn cases() -> Vec<Case> {
    let parent = |layer: &str, name: &str| doc(layer, name, json!({"a": 1})).labels(json!({"k": "v"}));
    let child = |action: &str| doc("site", "child", json!({"b": 1})).child_of(json!({"k": "v"}), &[action]);
    vec![
        Case {
            documents: vec![doc("nowhere", "a", json!({}))],
            class: "InvalidDocumentLayer",
            status: 400,
            text: "Invalid layer 'nowhere' for document [example/Kind/v1] a was not found in layerOrder: global, region, \
                   site for provided LayeringPolicy: layering-policy.",
            names: &["a", "layering-policy"],
        },
        Case {
            documents: vec![parent("global", "p").schema("example/Other/v1"), child("merge .")],
            class: "InvalidDocumentParent",
            status: 400,
            text: "The document parent [example/Other/v1] p is invalid for document [example/Kind/v1] child. Reason: \
                   Child has parentSelector which references parent, but their `schema`s do not match.",
            names: &["child", "p"],
        },
        Case {
            documents: vec![parent("site", "p"), child("merge ."), doc("global", "other", json!({}))],
            class: "InvalidDocumentParent",
            status: 400,
            // The region has no documents and is dropped from the order.
            text: "The document parent [example/Kind/v1] p is invalid for document [example/Kind/v1] child. Reason: \
                   Child has parentSelector which references parent, but the child layer site must be lower than the \
                   parent layer site for layerOrder global, site.",
            names: &["child", "p"],
        },
        Case {
            documents: vec![
                parent("region", "p"),
                parent("region", "q"),
                parent("global", "r"),
                child("merge ."),
            ],
            class: "IndeterminateDocumentParent",
            status: 400,
            text: "Too many parent documents found for document [example/Kind/v1, site] child. Found: 2. Expected: 1. \
                   Parents: [example/Kind/v1, region] p, [example/Kind/v1, region] q.",
            names: &["child", "p", "q"],
        },
        Case {
            documents: vec![parent("global", "p"), child("replace .x")],
            class: "MissingDocumentKey",
            status: 400,
            text: "Missing action path in {'method': 'replace', 'path': '.x'} needed for layering from either the data \
                   section of the parent [example/Kind/v1, global] p or child [example/Kind/v1, site] child document.",
            names: &["child", "p"],
        },
        Case {
            documents: vec![
                parent("global", "p"),
                doc("site", "child", json!({"a": {"b": 1}})).child_of(json!({"k": "v"}), &["replace .a.b"]),
            ],
            class: "MissingDocumentKey",
            status: 400,
            text: "Layering action {'method': 'replace', 'path': '.a.b'} of document [example/Kind/v1, site] child failed \
                   on parent [example/Kind/v1, global] p. Details: cannot go to .a.b: .a holds a number",
            names: &["child", "p"],
        },
        Case {
            documents: vec![doc("site", "a", json!({})).takes("b", ".", json!({"path": ".x"}))],
            class: "SubstitutionSourceNotFound",
            status: 409,
            text: "Required substitution source document [example/Kind/v1] b was not found, yet is referenced by \
                   [example/Kind/v1] a.",
            names: &["a"],
        },
        Case {
            documents: vec![
                doc("site", "a", json!({})).takes("b", ".x", json!({"path": ".x"})),
                doc("global", "b", json!({})),
            ],
            class: "SubstitutionSourceDataNotFound",
            status: 400,
            text: "Required substitution source secret was not found at path .x in source document [example/Kind/v1, \
                   global] b which is referenced by destination document [example/Kind/v1, site] a under its \
                   `metadata.substitutions`.",
            names: &["a", "b"],
        },
        Case {
            documents: vec![
                doc("site", "a", json!({})).takes("b", ".", json!({"path": ".x", "pattern": "P"})),
                doc("global", "b", json!("v")),
            ],
            class: "MissingDocumentPattern",
            status: 400,
            text: "The destination document's `data` section is missing the pattern P specified under \
                   `substitutions.dest.pattern` at path .x, specified under `substitutions.dest.path`. Document: \
                   [example/Kind/v1, site] a.",
            names: &["a", "b"],
        },
        Case {
            documents: vec![
                doc("site", "a", json!({"x": 1})).takes("b", ".", json!({"path": ".x.y"})),
                doc("global", "b", json!("v")),
            ],
            class: "UnknownSubstitutionError",
            status: 500,
            text: "An unknown exception occurred while trying to perform substitution using source document \
                   [example/Kind/v1, global] b contained in document [example/Kind/v1, site] a. Details: cannot go to \
                   .x.y: .x holds a number",
            names: &["a", "b"],
        },
        Case {
            documents: vec![
                doc("site", "a", json!({})).takes("b", ".", json!({"path": ".x"})),
                doc("site", "b", json!({})).takes("c", ".", json!({"path": ".x"})),
                doc("global", "c", json!({})).takes("a", ".", json!({"path": ".x"})),
                doc("site", "bystander", json!({})).takes("a", ".", json!({"path": ".x"})),
            ],
            class: "SubstitutionDependencyCycle",
            status: 400,
            text: "Cannot determine substitution order as a dependency cycle exists for the following documents: \
                   [example/Kind/v1, global] c, [example/Kind/v1, site] a, [example/Kind/v1, site] b.",
            names: &["c", "a", "b"],
        },
        Case {
            documents: vec![doc("site", "a", json!({})).takes("a", ".", json!({"path": ".x"}))],
            class: "SubstitutionDependencyCycle",
            status: 400,
            text: "Cannot determine substitution order as a dependency cycle exists for the following documents: \
                   [example/Kind/v1, site] a.",
            names: &["a"],
        },
        Case {
            documents: vec![
                parent("global", "p").takes("child", ".", json!({"path": ".x"})),
                child("merge ."),
            ],
            class: "SubstitutionDependencyCycle",
            status: 400,
            text: "Cannot determine substitution order as a dependency cycle exists for the following documents: \
                   [example/Kind/v1, global] p, [example/Kind/v1, site] child.",
            names: &["p", "child"],
        },
        Case {
            documents: vec![doc("site", "a", json!(1)), doc("site", "a", json!(2))],
            class: "InvalidDocumentFormat",
            status: 400,
            text: "The provided documents failed schema validation. Details: Duplicate document exists: \
                   [example/Kind/v1, site] a",
            names: &["a"],
        },
        Case {
            documents: vec![Doc(json!({
                "schema": "deckhand/LayeringPolicy/v1",
                "metadata": {"schema": "metadata/Control/v1", "name": "other-policy"},
                "data": {"layerOrder": ["site"]},
            }))],
            class: "SingletonDocumentConflict",
            status: 409,
            text: "A singleton document [deckhand/LayeringPolicy/v1, None] layering-policy already exists in the system. \
                   The new document(s) [deckhand/LayeringPolicy/v1, None] other-policy cannot be created. To create a \
                   document with a new name, delete the current one first.",
            names: &["other-policy", "layering-policy"],
        },
    ]
}

#[test]
fn every_error_has_its_class_status_and_text() {
    for case in cases() {
        let errors = try_render(case.documents).unwrap_err();
        let error = errors.first();
        assert_eq!(errors.iter().count(), 1, "{errors}");
        assert_eq!((error.class(), error.status()), (case.class, case.status), "{error}");
        assert_eq!(error.to_string(), case.text);
        let names: Vec<_> = error.documents().iter().map(|document| document.name.clone()).collect();
        assert_eq!(names, case.names, "{error}");
    }
}

#[test]
fn without_a_policy_nothing_is_rendered() {
    let errors = render(&read([doc("site", "a", json!({}))]), RenderOptions::default()).unwrap_err();
    assert_eq!(errors.first(), &RenderError::LayeringPolicyNotFound);
    assert_eq!(errors.first().status(), 409);
    assert_eq!(
        errors.to_string(),
        "Required LayeringPolicy was not found for layering."
    );
}

#[test]
fn all_errors_are_reported_and_consequences_are_not() {
    let documents = read([
        policy(&["site"]),
        doc("site", "bad", json!({})).takes("missing", ".", json!({"path": ".x"})),
        doc("site", "bad-too", json!({})).takes("missing", ".", json!({"path": ".x"})),
        doc("site", "needs-bad", json!({})).takes("bad", ".", json!({"path": ".x"})),
    ]);
    let errors = render(&documents, RenderOptions::default()).unwrap_err();
    let names: Vec<_> = errors.iter().map(|error| error.documents()[0].name.clone()).collect();
    assert_eq!(names, ["bad", "bad-too"]);
    assert!(errors.to_string().ends_with("(and 1 more error)"), "{errors}");
}
