//! Rendered documents and why they cannot be rendered.

use serde_json::json;

use crate::fixture::{LAYERS, Served, document, full, on_both};

on_both!(
    layering_and_substitution,
    refusals,
    rendered_documents_meet_their_schemas
);

async fn layering_and_substitution(api: Served) {
    let parent = full(
        "parent",
        "global",
        "cleartext",
        "    abstract: true\n  labels: {key: one}\n",
        "{a: {x: 1, y: 2}, c: 9}",
    );
    let child = full(
        "child",
        "site",
        "cleartext",
        "    parentSelector: {key: one}\n    actions: [{method: merge, path: .}]\n  substitutions:\n    - src: {schema: \
         example/Kind/v1, name: source, path: .word}\n      dest: {path: .taken}\n",
        "{a: {x: 7, z: 3}, b: 4}",
    );
    let site = [LAYERS, &parent, &child, &document("source", "site", "{word: gift}")].concat();
    api.put("mop", &site).await.expect(200);
    let rendered = api
        .get("revisions/1/rendered-documents?metadata.name=child")
        .await
        .expect(200)
        .yaml();
    assert_eq!(
        rendered["data"],
        json!({"a": {"x": 7, "y": 2, "z": 3}, "b": 4, "c": 9, "taken": "gift"})
    );
    assert_eq!(rendered["status"], json!({"bucket": "mop", "revision": 1}));
    let all = api
        .get("revisions/1/rendered-documents?schema=example&sort=metadata.name")
        .await;
    assert_eq!(all.names(), ["child", "source"], "abstract documents are not shown");
    let raw = api.get("revisions/1/documents?metadata.name=child").await.yaml();
    assert_eq!(
        raw["data"],
        json!({"a": {"x": 7, "z": 3}, "b": 4}),
        "documents stay as they are written"
    );
}

async fn refusals(api: Served) {
    let selector = "    parentSelector: {key: one}\n    actions: [{method: merge, path: .}]\n";
    let from = |name: &str, path: &str| {
        format!(
            "  substitutions:\n    - src: {{schema: example/Kind/v1, name: {name}, path: {path}}}\n      dest: {{path: \
             .x}}\n"
        )
    };
    let with = |more: &str, data: &str| full("a", "site", "cleartext", more, data);
    let labelled = |name: &str| full(name, "global", "cleartext", "  labels: {key: one}\n", "{}");
    let cases = [
        (document("a", "site", "1"), 409, "LayeringPolicyNotFound"),
        (
            [LAYERS, &document("a", "nowhere", "1")].concat(),
            400,
            "InvalidDocumentLayer",
        ),
        (
            [LAYERS, &with(selector, "{}"), &labelled("p"), &labelled("q")].concat(),
            400,
            "IndeterminateDocumentParent",
        ),
        (
            [
                LAYERS,
                &with(
                    "    parentSelector: {key: one}\n    actions: [{method: merge, path: .none}]\n",
                    "{}",
                ),
                &labelled("p"),
            ]
            .concat(),
            400,
            "MissingDocumentKey",
        ),
        (
            [LAYERS, &with(&from("none", "."), "{}")].concat(),
            409,
            "SubstitutionSourceNotFound",
        ),
        (
            [LAYERS, &with(&from("b", ".none"), "{}"), &document("b", "site", "{}")].concat(),
            400,
            "SubstitutionSourceDataNotFound",
        ),
        (
            [
                LAYERS,
                &with(&from("b", ".x"), "{}"),
                &full("b", "site", "cleartext", &from("a", ".x"), "{}"),
            ]
            .concat(),
            400,
            "SubstitutionDependencyCycle",
        ),
        (
            [LAYERS, &with("  replacement: true\n", "{}")].concat(),
            400,
            "InvalidDocumentReplacement",
        ),
    ];
    for (revision, (site, status, class)) in (1..).zip(cases) {
        api.put("mop", &site).await.expect(200);
        let refused = api
            .get(&format!("revisions/{revision}/rendered-documents"))
            .await
            .expect(status)
            .yaml();
        assert_eq!(refused["details"]["errorType"], class, "{site}");
        assert_eq!(refused["message"], refused["details"]["messageList"][0]["message"]);
        assert_eq!(refused["status"], "Failure");
    }
}

async fn rendered_documents_meet_their_schemas(api: Served) {
    let schema = "---\nschema: deckhand/DataSchema/v1\nmetadata: {schema: metadata/Control/v1, name: \
                  example/Kind/v1}\ndata: {type: object, required: [word]}\n";
    let taking = full(
        "taker",
        "site",
        "cleartext",
        "  substitutions:\n    - src: {schema: other/Kind/v1, name: source, path: .}\n      dest: {path: .word}\n",
        "{}",
    );
    let source = document("source", "site", "gift").replace("example/Kind/v1", "other/Kind/v1");
    api.put("mop", &[LAYERS, schema, &taking, &source].concat())
        .await
        .expect(200);
    let list = api.get("revisions/1/validations").await.yaml();
    assert_eq!(
        list["results"][0]["status"], "success",
        "what is not complete before rendering is not judged before"
    );
    api.get("revisions/1/rendered-documents").await.expect(200);

    api.put(
        "mop",
        &[LAYERS, schema, &taking.replace(".word", ".ward"), &source].concat(),
    )
    .await
    .expect(200);
    let refused = api
        .get("revisions/2/rendered-documents?metadata.name=source")
        .await
        .expect(400)
        .yaml();
    assert_eq!(refused["details"]["errorType"], "InvalidDocumentFormat");
    assert_eq!(refused["reason"], "Validation");
    let finding = &refused["details"]["messageList"][0];
    assert_eq!(finding["documents"][0]["name"], "taker");
    assert_eq!(finding["name"], "D002");
    assert_eq!(finding["diagnostic"]["path"], ".data");
}
