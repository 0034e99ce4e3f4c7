//! Buckets, revisions, differences, tags, rollback and validations.

use serde_json::json;

use crate::fixture::{LAYERS, Served, document, on_both, secret};

on_both!(
    a_revision_borrows_its_policy,
    buckets_and_revisions,
    unchanged_documents_keep_their_revision,
    emptying_a_bucket,
    differences,
    tags,
    rollback,
    validations,
    secrets_are_redacted,
    deleting_everything,
);

async fn buckets_and_revisions(api: Served) {
    let put = api
        .put(
            "mop",
            &format!(
                "{}{}",
                document("a", "site", "{n: 1}"),
                document("b", "site", "[1, two]")
            ),
        )
        .await
        .expect(200);
    let documents = put.documents();
    assert_eq!(documents.len(), 2);
    assert_eq!(documents[0]["status"], json!({"bucket": "mop", "revision": 1}));
    assert_eq!(documents[0]["data"], json!({"n": 1}));
    assert_eq!(
        documents[0]["metadata"],
        json!({
            "schema": "metadata/Document/v1", "name": "a", "storagePolicy": "cleartext", "replacement": false,
            "layeringDefinition": {"layer": "site", "abstract": false},
        })
    );
    api.put("other", &document("c", "site", "{}")).await.expect(200);

    let list = api.get("revisions").await.expect(200).yaml();
    assert_eq!(list["count"], 2);
    assert_eq!(list["results"][0]["id"], 1);
    assert_eq!(list["results"][0]["tags"], json!([]));
    assert_eq!(list["results"][1]["buckets"], json!(["mop", "other"]));
    assert_eq!(list["results"][0]["createdAt"], "2026-03-01T12:00:00.000000Z");
    let newest = api.get("revisions?sort=id&order=DESC").await.yaml();
    assert_eq!(newest["results"][0]["id"], 2);

    let one = api.get("revisions/2").await.expect(200).yaml();
    assert_eq!(
        one,
        json!({
            "id": 2,
            "createdAt": list["results"][1]["createdAt"],
            "url": format!("http://{}/api/v1.0/revisions/2", api.address),
            "validationPolicies": [],
            "status": "success",
            "tags": {},
            "buckets": ["mop", "other"],
        })
    );
    for missing in ["revisions/3", "revisions/0", "revisions/3/documents"] {
        let reply = api.get(missing).await.expect(404);
        assert!(
            reply.yaml()["message"]
                .as_str()
                .unwrap()
                .starts_with("The requested revision=")
        );
    }
    for wrong in [
        "revisions/x",
        "revisions/-1",
        "revisions/x/documents",
        "revisions/2/diff/x",
        "revisions/x/deepdiff/2",
        "revisions/1.5/tags",
        "revisions/x/validations",
    ] {
        let reply = api.get(wrong).await.expect(400).yaml();
        let message = reply["message"].as_str().unwrap();
        assert!(
            message.starts_with("Failed to process request due to invalid input: "),
            "{wrong}: {message}"
        );
    }
}

/// As Deckhand does it: a policy of another revision serves one that has none, and nothing outlives a deletion.
async fn a_revision_borrows_its_policy(api: Served) {
    api.put("site", &document("a", "site", "{n: 1}")).await.expect(200);
    api.get("revisions/1/rendered-documents").await.expect(409);
    let deep = api.get("revisions/0/deepdiff/1").await.expect(200).yaml();
    assert_eq!(
        deep["site"], "created",
        "a comparison needs no policy where nothing is layered"
    );
    api.put("mop", LAYERS).await.expect(200);
    assert_eq!(
        api.get("revisions/1/rendered-documents").await.expect(200).names(),
        ["a"]
    );
    api.put("site", &document("a", "site", "{n: 2}")).await.expect(200);
    let deep = api.get("revisions/1/deepdiff/3").await.expect(200).yaml();
    assert_eq!((&deep["site"], &deep["mop"]), (&json!("modified"), &json!("created")));
    assert_eq!(deep["site diff"]["document_changed"]["count"], 1);
    api.delete("revisions").await.expect(204);
    api.put("site", &document("b", "site", "{n: 3}")).await.expect(200);
    api.get("revisions/1/rendered-documents").await.expect(409);
    assert_eq!(api.get("revisions/1/documents").await.expect(200).names(), ["b"]);
}

async fn unchanged_documents_keep_their_revision(api: Served) {
    let (a, b) = (document("a", "site", "1"), document("b", "site", "1"));
    api.put("mop", &format!("{a}{b}")).await.expect(200);
    let again = api
        .put("mop", &format!("{a}{}", document("b", "site", "2")))
        .await
        .expect(200);
    let shown: Vec<_> = again
        .documents()
        .iter()
        .map(|it| it["status"]["revision"].clone())
        .collect();
    assert_eq!(shown, [2, 2], "the answer to a write shows the new revision");
    let read = api.get("revisions/2/documents").await.expect(200);
    let kept: Vec<_> = read
        .documents()
        .iter()
        .map(|it| it["status"]["revision"].clone())
        .collect();
    assert_eq!(kept, [1, 2], "a document that did not change shows where it last did");
    api.put("mop", &format!("{a}{}", document("b", "site", "2")))
        .await
        .expect(200);
    assert_eq!(
        api.get("revisions").await.yaml()["count"],
        3,
        "a write makes a revision also if nothing changed"
    );
}

async fn emptying_a_bucket(api: Served) {
    let nothing = api.put("mop", "").await.expect(200);
    assert_eq!(nothing.body, "", "an empty bucket stays empty without a revision");
    assert_eq!(api.get("revisions").await.yaml(), json!({"count": 0, "results": []}));
    api.put("mop", &document("a", "site", "1")).await.expect(200);
    let emptied = api.put("mop", "").await.expect(200).yaml();
    assert_eq!(emptied, json!({"status": {"bucket": "mop", "revision": 2}}));
    assert_eq!(api.get("revisions/2/documents").await.expect(200).body, "");
    assert_eq!(api.get("revisions/1/documents").await.names(), ["a"]);
}

async fn differences(api: Served) {
    api.put(
        "kept",
        &format!("{}{}", crate::fixture::LAYERS, document("a", "site", "{n: 1}")),
    )
    .await
    .expect(200);
    api.put(
        "changed",
        &format!("{}{}", document("b", "site", "{n: 1}"), document("d", "site", "1")),
    )
    .await
    .expect(200);
    api.put(
        "changed",
        &format!("{}{}", document("b", "site", "{n: 2}"), document("e", "site", "1")),
    )
    .await
    .expect(200);
    api.put("new", &document("c", "site", "1")).await.expect(200);
    for (path, expected) in [
        (
            "2/diff/4",
            json!({"kept": "unmodified", "changed": "modified", "new": "created"}),
        ),
        (
            "4/diff/2",
            json!({"kept": "unmodified", "changed": "modified", "new": "created"}),
        ),
        ("0/diff/2", json!({"kept": "created", "changed": "created"})),
        ("2/diff/0", json!({"kept": "created", "changed": "created"})),
        ("0/diff/0", json!({})),
    ] {
        assert_eq!(
            api.get(&format!("revisions/{path}")).await.expect(200).yaml(),
            expected,
            "{path}"
        );
    }
    api.get("revisions/1/diff/9").await.expect(404);
    api.get("revisions/9/deepdiff/1").await.expect(404);
    let deep = api.get("revisions/2/deepdiff/3").await.expect(200).yaml();
    assert_eq!(deep["kept"], "unmodified");
    assert_eq!(deep["changed"], "modified");
    let inside = &deep["changed diff"];
    assert_eq!(
        inside["document_added"],
        json!({"count": 1, "details": [["example/Kind/v1", "e"]]})
    );
    assert_eq!(
        inside["document_deleted"],
        json!({"count": 1, "details": [["example/Kind/v1", "d"]]})
    );
    assert_eq!(inside["document_changed"]["count"], 1);
    assert_eq!(
        inside["document_changed"]["details"]["('example/Kind/v1', 'b')"],
        json!({
            "data_changed": {"values_changed": {"root['n']": {"new_value": 2, "old_value": 1}}},
            "metadata_changed": {},
        })
    );
}

async fn tags(api: Served) {
    api.put("mop", &document("a", "site", "1")).await.expect(200);
    let made = api.post("revisions/1/tags/good", "thing: bar").await.expect(201);
    assert_eq!(made.yaml(), json!({"good": {"thing": "bar"}}));
    let plain = api
        .send("POST", "/api/v1.0/revisions/1/tags/plain", &[], None)
        .await
        .expect(201);
    assert_eq!(plain.yaml(), json!({"plain": {}}));
    api.post("revisions/1/tags/good", "thing: 2").await.expect(201);
    assert_eq!(
        api.get("revisions/1/tags").await.expect(200).yaml(),
        json!({"good": {"thing": 2}, "plain": {}})
    );
    assert_eq!(
        api.get("revisions/1/tags/good").await.expect(200).yaml(),
        json!({"good": {"thing": 2}})
    );
    let wrong = api.post("revisions/1/tags/good", "[1]").await.expect(400).yaml();
    assert_eq!(
        wrong["message"],
        "The requested tag data [1] must either be null or dictionary."
    );
    assert_eq!(api.get("revisions?tag=good").await.yaml()["count"], 1);
    assert_eq!(api.get("revisions?tag=bad").await.yaml()["count"], 0);
    assert_eq!(api.get("revisions?tag=bad&tag=plain").await.yaml()["count"], 1);
    assert_eq!(
        api.get("revisions").await.yaml()["results"][0]["tags"],
        json!(["good", "plain"])
    );
    assert_eq!(
        api.get("revisions/1").await.yaml()["tags"],
        json!({"good": {"thing": 2}, "plain": {}})
    );
    let gone = api.delete("revisions/1/tags/good").await.expect(204);
    assert_eq!(gone.body, "");
    let missing = api.get("revisions/1/tags/good").await.expect(404).yaml();
    assert_eq!(
        missing["message"],
        "The requested tag 'good' for revision 1 was not found."
    );
    api.delete("revisions/1/tags/good").await.expect(404);
    api.delete("revisions/1/tags").await.expect(204);
    assert_eq!(api.get("revisions/1/tags").await.expect(200).yaml(), json!({}));
    for path in ["revisions/7/tags", "revisions/7/tags/good"] {
        api.get(path).await.expect(404);
        api.delete(path).await.expect(404);
    }
    api.post("revisions/7/tags/good", "").await.expect(404);
}

async fn rollback(api: Served) {
    api.put("one", &document("a", "site", "1")).await.expect(200);
    api.put("two", &document("b", "site", "1")).await.expect(200);
    let back = api.post("rollback/1", "").await.expect(201).yaml();
    assert_eq!(back["id"], 3);
    assert_eq!(back["buckets"], json!(["one"]));
    assert_eq!(api.get("revisions/3/documents").await.names(), ["a"]);
    let empty = api.post("rollback/0", "").await.expect(201).yaml();
    assert_eq!((&empty["id"], &empty["buckets"]), (&json!(4), &json!([])));
    assert_eq!(api.get("revisions/4/documents").await.expect(200).body, "");
    let missing = api.post("rollback/9", "").await.expect(404).yaml();
    assert_eq!(missing["message"], "The requested revision=9 was not found.");
    assert_eq!(api.get("revisions").await.yaml()["count"], 4);
}

async fn validations(api: Served) {
    let schema = "---\nschema: deckhand/DataSchema/v1\nmetadata: {schema: metadata/Control/v1, name: \
                  example/Kind/v1}\ndata: {type: object, required: [a]}\n";
    api.put("mop", &format!("{schema}{}", document("a", "site", "{a: 1}")))
        .await
        .expect(200);
    assert_eq!(
        api.get("revisions/1/validations").await.expect(200).yaml(),
        json!({"count": 1, "results": [{"name": "deckhand-schema-validation", "status": "success"}]})
    );
    api.put("mop", &format!("{schema}{}", document("a", "site", "{b: 1}")))
        .await
        .expect(200);
    let list = api.get("revisions/2/validations").await.yaml();
    assert_eq!(list["results"][0]["status"], "failure");
    assert_eq!(api.get("revisions/2").await.yaml()["status"], "failed");
    let entry = api
        .get("revisions/2/validations/deckhand-schema-validation/entries/0")
        .await
        .expect(200)
        .yaml();
    assert_eq!(entry["name"], "deckhand-schema-validation");
    assert_eq!(entry["errors"][0]["name"], "a");
    assert_eq!(entry["expiresAfter"], json!(null));

    let report = "status: failure\nvalidator: {name: promenade, version: 1.1.2}\nerrors: [{message: bad}]";
    let filed = api
        .post("revisions/2/validations/site", report)
        .await
        .expect(201)
        .yaml();
    assert_eq!(
        filed,
        json!({"status": "failure", "validator": {"name": "promenade", "version": "1.1.2"}})
    );
    api.post("revisions/2/validations/site", "status: success\nvalidator: {name: x}")
        .await
        .expect(201);
    assert_eq!(
        api.get("revisions/2/validations/site").await.expect(200).yaml(),
        json!({"count": 2, "results": [{"id": 0, "status": "failure"}, {"id": 1, "status": "success"}]})
    );
    let detail = api.get("revisions/2/validations/detail").await.expect(200).yaml();
    assert_eq!(detail["count"], 3);
    assert_eq!(detail["results"][1]["errors"], json!([{"message": "bad"}]));
    assert_eq!(detail["results"][2]["id"], 2);

    let policy = "---\nschema: deckhand/ValidationPolicy/v1\nmetadata: {schema: metadata/Control/v1, name: \
                  policy}\ndata: {validations: [{name: wanted-validation}]}\n";
    api.put("policy", policy).await.expect(200);
    api.post("revisions/3/validations/other", "status: failure\nvalidator: {name: x}")
        .await
        .expect(201);
    let list = api.get("revisions/3/validations").await.yaml();
    assert_eq!(
        list["results"],
        json!([
            {"name": "deckhand-schema-validation", "status": "failure"},
            {"name": "other", "status": "ignored [failure]"},
            {"name": "wanted-validation", "status": "failure"},
        ])
    );
    assert_eq!(
        api.get("revisions/3").await.yaml()["validationPolicies"][0]["name"],
        "policy"
    );

    for (body, message) in [
        ("", "The request body must not be empty."),
        (
            "status: success",
            "Validation payload must contain keys: \"status\", \"validator\".",
        ),
        (
            "validator: {name: x}",
            "Validation payload must contain keys: \"status\", \"validator\".",
        ),
    ] {
        assert_eq!(
            api.post("revisions/2/validations/site", body).await.expect(400).yaml()["message"],
            message
        );
    }
    let missing = api
        .get("revisions/2/validations/site/entries/5")
        .await
        .expect(404)
        .yaml();
    assert_eq!(
        missing["message"],
        "The requested validation entry 5 was not found for validation name site and revision ID 2."
    );
    api.get("revisions/2/validations/site/entries/x").await.expect(400);
    api.get("revisions/9/validations").await.expect(404);
    api.get("revisions/9/validations/detail").await.expect(404);
    api.get("revisions/9/validations/site").await.expect(404);
    api.post("revisions/9/validations/site", report).await.expect(404);
    assert_eq!(
        api.get("revisions/2/validations/none").await.expect(200).yaml()["count"],
        0
    );
}

async fn secrets_are_redacted(api: Served) {
    let put = api
        .put("mop", &format!("{}{}", crate::fixture::LAYERS, secret("s", "hunter2")))
        .await
        .expect(200);
    // printf '"hunter2"' | sha256sum: everybody could try passwords until they find this.
    let bare = "4ddbb67bf993867e13253c146a339ed3b33ea5b895543569278e99d5b3c2b7d5";
    assert!(!put.body.contains("hunter2"));
    for path in ["documents", "rendered-documents"] {
        let hidden = api
            .get(&format!("revisions/1/{path}?metadata.name=s"))
            .await
            .expect(200)
            .yaml();
        let hash = hidden["data"].as_str().unwrap();
        assert!(hash.len() == bare.len() && hash != bare, "{hash}");
        assert_eq!(hidden["status"]["secretPaths"], serde_json::json!([".data"]));
        let open = format!("revisions/1/{path}?metadata.name=s&cleartext-secrets=TRUE");
        assert_eq!(api.get(&open).await.expect(200).yaml()["data"], "hunter2");
        api.get(&format!("revisions/1/{path}?cleartext-secrets=perhaps"))
            .await
            .expect(400);
    }
}

async fn deleting_everything(api: Served) {
    api.put("mop", &document("a", "site", "1")).await.expect(200);
    assert_eq!(api.get("revisions/1/documents").await.names(), ["a"]);
    api.delete("revisions").await.expect(204);
    api.get("revisions/1").await.expect(404);
    let put = api.put("mop", &document("b", "site", "1")).await.expect(200);
    assert_eq!(put.documents()[0]["status"]["revision"], 1, "numbers begin again");
    assert_eq!(
        api.get("revisions/1/documents").await.names(),
        ["b"],
        "nothing old is remembered"
    );
}
