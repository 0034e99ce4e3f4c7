use berth_documents::deckhand::{ContentHash, DeckhandDocument, StoragePolicy, read_documents};
use serde_json::{Value, json};

use crate::build::{Doc, doc, policy};

/// The errors of a document after one change, as `path: message`.
fn errors(document: Doc, pointer: &str, value: Option<Value>) -> Vec<String> {
    let mut document = document.0;
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = document.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    match value {
        Some(value) => parent.insert(key.to_owned(), value),
        None => parent.remove(key),
    };
    match DeckhandDocument::from_json(document) {
        Ok(_) => Vec::new(),
        Err(errors) => errors
            .errors
            .iter()
            .map(|error| format!("{}: {}", error.path, error.message))
            .collect(),
    }
}

fn full() -> Doc {
    doc("site", "a", json!({}))
        .labels(json!({"k": "v"}))
        .replacement()
        .abstracted()
        .child_of(json!({"k": "v"}), &["merge ."])
        .takes(
            "b",
            ".",
            json!({"path": ".x", "pattern": "P", "recurse": {"depth": -1}}),
        )
}

#[test]
fn what_a_document_must_be() {
    let schema_pattern = r"does not match '^[A-Za-z]+/[A-Za-z]+/v\d+$'";
    let layering = "/metadata/layeringDefinition";
    let at = ".metadata.layeringDefinition";
    let table: &[(&str, Option<Value>, &[String])] = &[
        ("/schema", None, &[".: 'schema' is a required property".into()]),
        (
            "/schema",
            Some(json!(1)),
            &[".schema: 1 is not of type 'string'".into()],
        ),
        (
            "/schema",
            Some(json!("a/b/v1.0")),
            &[format!(".schema: 'a/b/v1.0' {schema_pattern}")],
        ),
        (
            "/schema",
            Some(json!("a1/b/v1")),
            &[format!(".schema: 'a1/b/v1' {schema_pattern}")],
        ),
        (
            "/schema",
            Some(json!("a/b/v1/c")),
            &[format!(".schema: 'a/b/v1/c' {schema_pattern}")],
        ),
        ("/metadata", None, &[".: 'metadata' is a required property".into()]),
        (
            "/metadata",
            Some(json!([])),
            &[".metadata: [] is not of type 'object'".into()],
        ),
        ("/data", None, &[".: 'data' is a required property".into()]),
        (
            "/extra",
            Some(json!(1)),
            &[".: Additional properties are not allowed ('extra' was unexpected)".into()],
        ),
        (
            "/metadata/name",
            None,
            &[".metadata: 'name' is a required property".into()],
        ),
        (
            "/metadata/schema",
            None,
            &[".metadata: 'schema' is a required property".into()],
        ),
        (
            "/metadata/schema",
            Some(json!("metadata/Document/v1.0")),
            &[
                r".metadata.schema: 'metadata/Document/v1.0' does not match '^metadata/(Document|Control)/v\d+$'"
                    .into(),
            ],
        ),
        (
            "/metadata/storagePolicy",
            None,
            &[".metadata: 'storagePolicy' is a required property".into()],
        ),
        (
            "/metadata/storagePolicy",
            Some(json!("plain")),
            &[".metadata.storagePolicy: 'plain' is not one of ['encrypted', 'cleartext']".into()],
        ),
        (
            layering,
            None,
            &[".metadata: 'layeringDefinition' is a required property".into()],
        ),
        (
            "/metadata/extra",
            Some(json!(1)),
            &[".metadata: Additional properties are not allowed ('extra' was unexpected)".into()],
        ),
        (
            "/metadata/labels",
            Some(json!("x")),
            &[".metadata.labels: 'x' is not of type 'object'".into()],
        ),
        (
            "/metadata/replacement",
            Some(json!("no")),
            &[".metadata.replacement: 'no' is not of type 'boolean'".into()],
        ),
        (
            "/metadata/layeringDefinition/layer",
            None,
            &[format!("{at}: 'layer' is a required property")],
        ),
        (
            "/metadata/layeringDefinition/abstract",
            Some(json!(0)),
            &[format!("{at}.abstract: 0 is not of type 'boolean'")],
        ),
        (
            "/metadata/layeringDefinition/parentSelector",
            None,
            &[format!("{at}: 'parentSelector' is a required property with 'actions'")],
        ),
        (
            "/metadata/layeringDefinition/parentSelector",
            Some(json!({})),
            &[format!("{at}.parentSelector: {{}} does not have enough properties")],
        ),
        (
            "/metadata/layeringDefinition/actions",
            None,
            &[format!("{at}: 'actions' is a required property with 'parentSelector'")],
        ),
        (
            "/metadata/layeringDefinition/actions",
            Some(json!([])),
            &[format!("{at}.actions: [] is too short")],
        ),
        (
            "/metadata/layeringDefinition/actions",
            Some(json!([{"method": "add", "path": "."}, {"path": ".a["}, 7])),
            &[
                format!("{at}.actions[0].method: 'add' is not one of ['replace', 'delete', 'merge']"),
                format!("{at}.actions[1]: 'method' is a required property"),
                format!(
                    "{at}.actions[1].path: the path \".a[\" has brackets that hold neither a position nor a quoted key"
                ),
                format!("{at}.actions[2]: 7 is not of type 'object'"),
            ],
        ),
        (
            "/metadata/substitutions",
            Some(
                json!([{"dest": []}, {"dest": {"path": ".", "recurse": {}}, "src": {"schema": "x", "name": "n", "path": "."}}]),
            ),
            &[
                ".metadata.substitutions[0]: 'src' is a required property".into(),
                ".metadata.substitutions[0].dest: [] is too short".into(),
                ".metadata.substitutions[1].dest.recurse: 'depth' is a required property".into(),
                format!(".metadata.substitutions[1].src.schema: 'x' {schema_pattern}"),
            ],
        ),
        (
            "/metadata/substitutions",
            Some(json!([{
                "dest": {"path": ".", "recurse": {"depth": -2}},
                "src": {"schema": "a/b/v1", "name": "n", "path": ".", "match_group": "1", "other": 1},
            }])),
            &[
                ".metadata.substitutions[0].dest.recurse.depth: -2 is less than the minimum of -1".into(),
                ".metadata.substitutions[0].src: Additional properties are not allowed ('other' was unexpected)".into(),
                ".metadata.substitutions[0].src.match_group: '1' is not a group number".into(),
            ],
        ),
    ];
    assert_eq!(errors(full(), "/data", Some(json!(1.5))), Vec::<String>::new());
    for (pointer, value, expected) in table {
        assert_eq!(&errors(full(), pointer, value.clone()), expected, "{pointer} {value:?}");
    }
}

#[test]
fn control_documents() {
    let name = ".metadata.name";
    let schema = Doc(json!({
        "schema": "deckhand/DataSchema/v1",
        "metadata": {"schema": "metadata/Control/v1", "name": "a/b/v1", "anything": "goes"},
        "data": {},
    }));
    let validation = Doc(json!({
        "schema": "deckhand/ValidationPolicy/v1",
        "metadata": {"schema": "metadata/Control/v1", "name": "p"},
        "data": {"validations": [{"name": "site-validation", "expiresAfter": "P1W"}]},
    }));
    let table: &[(&Doc, &str, Value, &[String])] = &[
        (
            &policy(&["a"]),
            "/data/layerOrder",
            json!(["a", "a"]),
            &[".data.layerOrder[1]: 'a' is there twice".into()],
        ),
        (
            &policy(&["a"]),
            "/data/layerOrder",
            json!([1]),
            &[".data.layerOrder[0]: 1 is not of type 'string'".into()],
        ),
        (
            &policy(&["a"]),
            "/data",
            json!({}),
            &[".data: 'layerOrder' is a required property".into()],
        ),
        (&policy(&["a"]), "/metadata/extra", json!(1), &[]),
        (&schema, "/data", json!({"type": "object"}), &[]),
        (
            &schema,
            "/data",
            json!("x"),
            &[".data: 'x' is not of type 'object'".into()],
        ),
        (
            &schema,
            "/metadata/name",
            json!("a-b"),
            &[format!(r"{name}: 'a-b' does not match '^[A-Za-z]+/[A-Za-z]+/v\d+$'")],
        ),
        (
            &validation,
            "/data/validations",
            json!([{"name": "site"}, {}]),
            &[
                ".data.validations[0].name: 'site' does not match '^.*-(validation|verification)$'".into(),
                ".data.validations[1]: 'name' is a required property".into(),
            ],
        ),
    ];
    for (document, pointer, value, expected) in table {
        assert_eq!(
            &errors((*document).clone(), pointer, Some(value.clone())),
            expected,
            "{pointer} {value}"
        );
    }
}

#[test]
fn defaults_are_filled_in_and_hashed() {
    let document = doc("site", "a", json!({"x": 1})).read();
    assert_eq!(
        document.metadata().as_ref(),
        &json!({
            "schema": "metadata/Document/v1",
            "name": "a",
            "storagePolicy": "cleartext",
            "replacement": false,
            "layeringDefinition": {"layer": "site", "abstract": false},
        })
    );
    assert_eq!(document.data_hash(), ContentHash::of(&json!({"x": 1})));
    assert_eq!(document.metadata_hash(), ContentHash::of(document.metadata()));
    let mut written = doc("site", "a", json!({"x": 1}));
    written.0["metadata"]["replacement"] = json!(false);
    assert_eq!(written.read().metadata_hash(), document.metadata_hash());
    assert_ne!(
        doc("site", "a", json!({"x": 1})).encrypted().read().metadata_hash(),
        document.metadata_hash()
    );
    assert_eq!(
        policy(&["a"]).read().metadata()["layeringDefinition"],
        json!({"abstract": false})
    );
    assert_eq!(policy(&["a"]).read().storage_policy(), StoragePolicy::Cleartext);
}

#[test]
fn lists_are_read_as_a_whole() {
    let good = doc("site", "a", json!({})).0;
    let error = read_documents(vec![good.clone(), json!(1), good.clone(), json!("x")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Expected a list of valid objects. Invalid entries found at following indexes: 2,4."
    );
    let error = read_documents(vec![good.clone(), good.clone()]).unwrap_err();
    assert_eq!(error.to_string(), "The provided documents failed schema validation.");
    let berth_documents::deckhand::ReadError::Form(errors) = error else {
        panic!("{error}");
    };
    assert_eq!(
        errors.errors[0].to_string(),
        "[example/Kind/v1, site] a: .: Duplicate document exists"
    );
    assert_eq!(read_documents(vec![good]).unwrap().len(), 1);
}

#[test]
fn deep_documents_are_refused() {
    let mut deep = json!(1);
    for _ in 0..200 {
        deep = json!([deep]);
    }
    assert_eq!(
        errors(full(), "/data", Some(deep)),
        [".: is nested deeper than 120 levels"]
    );
}

#[test]
fn errors_without_end_are_not_listed_without_end() {
    let count = |values: Vec<Value>| match read_documents(values).unwrap_err() {
        berth_documents::deckhand::ReadError::Form(errors) => errors.errors.len(),
        error @ berth_documents::deckhand::ReadError::NotObjects { .. } => panic!("{error}"),
    };
    let mut wild = doc("site", "a", json!({})).0;
    for number in 0..5_000 {
        wild[format!("key{number}")] = json!(1);
    }
    let listed = DeckhandDocument::from_json(wild.clone()).unwrap_err().errors;
    assert_eq!(listed.len(), 201);
    assert_eq!(listed[200].message, "There are more errors, which are left out");
    assert!(count(vec![wild; 50]) <= 400);
    let good = doc("site", "a", json!({})).0;
    assert_eq!(count(vec![good; 5_000]), 400);
}
