//! Shipyard's staging: buffer, commit, versions.

use serde_json::{Value, json};

use crate::fixture::{LAYERS, Served, document, on_both, secret};

on_both!(
    from_buffer_to_commit,
    buffer_modes,
    refusals,
    a_commit_asks_the_site_rules,
    a_site_without_layers_is_committed,
    versions_follow_the_tags,
);

fn node(name: &str, text: &str) -> String {
    format!(
        "---\nschema: drydock/BaremetalNode/v1\nmetadata:\n  schema: metadata/Document/v1\n  name: {name}\n  storagePolicy: \
         cleartext\n  layeringDefinition: {{layer: site}}\ndata: {text}\n"
    )
}

async fn from_buffer_to_commit(api: Served) {
    assert_eq!(api.get("configdocs").await.expect(200).json(), json!([]));
    // Shipyard's command line names both versions, also when there is neither.
    let both = "configdocs?versions=committed&versions=buffer";
    assert_eq!(api.get(both).await.expect(200).json(), json!([]));
    let loaded = api
        .post("configdocs/design", &format!("{LAYERS}{}", document("a", "site", "1")))
        .await
        .expect(201);
    assert_eq!(loaded.header("location"), Some("/api/v1.0/configdocs/design"));
    let status = loaded.json();
    assert_eq!(status["kind"], "Status");
    assert_eq!(status["status"], "Success");
    assert_eq!(status["message"], "Validations succeeded");
    assert_eq!(status["details"], json!({"errorCount": 0, "messageList": []}));
    assert_eq!(
        api.get("configdocs").await.json(),
        json!([{
            "collection_name": "design",
            "base_version": "committed", "base_revision": 0, "base_status": "not present",
            "new_version": "buffer", "new_revision": 1, "new_status": "created",
        }])
    );
    assert_eq!(api.get(both).await.json(), api.get("configdocs").await.json());
    let none = api
        .get("configdocs?versions=committed&versions=last_site_action")
        .await
        .expect(404);
    assert_eq!(none.json()["reason"], "last_site_action version does not exist");
    assert_eq!(api.get("configdocs/design").await.expect(200).names(), ["layers", "a"]);
    assert_eq!(api.get("renderedconfigdocs").await.expect(200).documents().len(), 2);
    let missing = api.get("configdocs/design?version=committed").await.expect(404).json();
    assert_eq!(missing["message"], "No documents to retrieve");
    assert_eq!(missing["reason"], "No collection design for revision committed");
    let missing = api.get("renderedconfigdocs?version=committed").await.expect(404).json();
    assert_eq!(missing["message"], "This revision does not exist");
    assert_eq!(missing["reason"], "committed version does not exist");

    let tried = api.post("commitconfigdocs?dryrun=TRUE", "").await.expect(200).json();
    assert_eq!(tried["message"], "Validations succeeded DRYRUN");
    assert_eq!(
        api.get("revisions/1/tags").await.yaml(),
        json!({}),
        "a trial leaves no tag"
    );
    let done = api.post("commitconfigdocs", "").await.expect(200).json();
    assert_eq!(done["message"], "Validations succeeded");
    assert_eq!(done["reason"], "Validation");
    assert_eq!(done["code"], "200 OK");
    assert_eq!(api.get("revisions/1/tags").await.yaml(), json!({"committed": {}}));
    assert_eq!(
        api.get("configdocs/design?version=committed").await.expect(200).names(),
        ["layers", "a"]
    );
    let empty = api.get("configdocs/design?version=buffer").await.expect(404).json();
    assert_eq!(
        empty["reason"],
        "The Shipyard buffer is empty or does not contain this collection"
    );
    let again = api.post("commitconfigdocs", "").await.expect(409).json();
    assert_eq!(again["message"], "Unable to commit configuration documents");
    assert_eq!(again["reason"], "There are no documents in the buffer to commit");
    assert_eq!(
        (&again["retry"], &again["code"], &again["kind"]),
        (&json!(true), &json!("409 Conflict"), &json!("status"))
    );
    assert_eq!(api.get("configdocs").await.json()[0]["new_status"], "unmodified");
}

async fn buffer_modes(api: Served) {
    api.post("configdocs/one", &document("a", "site", "1"))
        .await
        .expect(201);
    let refused = api
        .post("configdocs/two", &document("b", "site", "1"))
        .await
        .expect(409)
        .json();
    assert_eq!(refused["message"], "Invalid collection specified for buffer");
    assert_eq!(refused["reason"], "Buffermode : rejectoncontents");
    assert_eq!(refused["details"]["errorType"], "ApiError");
    assert_eq!(
        refused["details"]["messageList"][0]["message"],
        "Buffer is either not empty or the collection already exists in buffer. Setting a different buffermode may \
         provide the desired functionality"
    );
    api.post("configdocs/two?buffermode=append", &document("b", "site", "1"))
        .await
        .expect(201);
    let again = api
        .post("configdocs/two?buffermode=append", &document("b", "site", "2"))
        .await
        .expect(409)
        .json();
    assert_eq!(again["reason"], "Buffermode : append");
    let elsewhere = api
        .post("configdocs/three?buffermode=append", &document("b", "site", "1"))
        .await
        .expect(409);
    assert_eq!(
        elsewhere.json()["message"],
        "Documents may not exist in more than one collection"
    );
    api.post("configdocs/three?buffermode=replace", &document("b", "site", "3"))
        .await
        .expect(201);
    let names: Vec<Value> = api.get("configdocs").await.json().as_array().unwrap().clone();
    assert_eq!(names.len(), 1, "the rest of the buffer is gone");
    assert_eq!(names[0]["collection_name"], "three");
    let wrong = api
        .post("configdocs/x?buffermode=sometimes", &document("c", "site", "1"))
        .await
        .expect(400)
        .json();
    assert_eq!(wrong["message"], "Invalid buffermode parameter");
}

async fn refusals(api: Served) {
    let empty = api
        .send("POST", "/api/v1.0/configdocs/a", &[], None)
        .await
        .expect(400)
        .json();
    assert_eq!(empty["message"], "Content-Length is a required header");
    assert_eq!(empty["reason"], "Content Length is 0 or not specified");
    let wrong = api.post("configdocs/a", "schema: x").await.expect(400).json();
    assert_eq!(wrong["message"], "Document(s) invalid syntax or otherwise unsuitable");
    api.post("configdocs/a", "a: [").await.expect(400);
    api.post("configdocs/a", &document("a", "site", "1")).await.expect(201);
    api.post("commitconfigdocs?force=True", "").await.expect(200);
    let same = api
        .post("configdocs/a", &document("a", "site", "1"))
        .await
        .expect(400)
        .json();
    assert_eq!(same["message"], "Collection a not added to Shipyard buffer");
    assert_eq!(same["reason"], "Collection created no new revision");
    api.post("configdocs/a?empty-collection=true", "").await.expect(201);
    assert_eq!(api.get("configdocs").await.json()[0]["new_status"], "deleted");

    for (path, status, title) in [
        (
            "configdocs?versions=buffer",
            400,
            "Incorrect number of versions for comparison",
        ),
        (
            "configdocs?versions=buffer,buffer",
            400,
            "Versions must be different for comparison",
        ),
        ("configdocs?versions=buffer,nothing", 400, "Invalid version detected"),
        (
            "configdocs?versions=buffer,last_site_action",
            404,
            "Version does not exist",
        ),
        (
            "configdocs/a?version=x",
            400,
            "Invalid version query parameter specified",
        ),
        (
            "renderedconfigdocs?version=x",
            400,
            "Invalid version query parameter specified",
        ),
        ("configdocs?verbosity=6", 400, "Invalid verbosity parameter"),
        ("configdocs?verbosity=x", 400, "Invalid verbosity parameter"),
    ] {
        assert_eq!(api.get(path).await.expect(status).json()["message"], title, "{path}");
    }
    api.get("configdocs?verbosity=5").await.expect(200);
}

async fn a_commit_asks_the_site_rules(api: Served) {
    let site = format!("{LAYERS}{}", node("n1", "{host_profile: nowhere}"));
    api.post("configdocs/site", &site).await.expect(201);
    let refused = api.post("commitconfigdocs", "").await.expect(400).json();
    assert_eq!(refused["kind"], "Status");
    assert_eq!(refused["status"], "Failure");
    assert_eq!(refused["message"], "Validations failed");
    assert_eq!(refused["code"], "400 Bad Request");
    let list = refused["details"]["messageList"].as_array().unwrap();
    let errors: Vec<&Value> = list.iter().filter(|message| message["error"] == true).collect();
    assert_eq!(refused["details"]["errorCount"], errors.len());
    assert!(!errors.is_empty());
    assert_eq!(errors[0]["kind"], "ValidationMessage");
    assert_eq!(errors[0]["level"], "Error");
    assert_eq!(errors[0]["source"], "Berth");
    assert_eq!(
        errors[0]["documents"],
        json!([{"schema": "drydock/BaremetalNode/v1", "name": "n1", "layer": "site"}])
    );
    assert_eq!(
        api.get("revisions/1/tags").await.yaml(),
        json!({}),
        "nothing is committed"
    );
    let forced = api.post("commitconfigdocs?force=true", "").await.expect(200).json();
    assert_eq!(forced["message"], "Validations failed FORCED SUCCESS");
    assert_eq!(forced["code"], "200 OK");
    assert_eq!(api.get("revisions/1/tags").await.yaml(), json!({"committed": {}}));

    // What cannot be rendered is not committed either.
    api.post("configdocs/more", &document("lost", "nowhere", "1"))
        .await
        .expect(201);
    let refused = api.post("commitconfigdocs", "").await.expect(400).json();
    assert_eq!(refused["details"]["messageList"][0]["name"], "InvalidDocumentLayer");
    let rendered = api.get("renderedconfigdocs").await.expect(500).json();
    assert_eq!(rendered["message"], "Deckhand indicated an error while rendering");
}

async fn a_site_without_layers_is_committed(api: Served) {
    api.post("configdocs/site", &node("n1", "{metadata: {owner_data: {a: b}}}"))
        .await
        .expect(201);
    api.post("commitconfigdocs", "").await.expect(200);
    let rendered = api.get("renderedconfigdocs?version=committed").await.expect(200);
    assert_eq!(rendered.names(), ["n1"]);
    // Deckhand itself renders nothing without a policy.
    let refused = api.get("revisions/1/rendered-documents").await.expect(409).yaml();
    assert_eq!(
        refused["message"],
        "Required LayeringPolicy was not found for layering."
    );

    let layered = node("n2", "{}").replace(
        "{layer: site}",
        "{layer: site, parentSelector: {a: b}, actions: [{method: merge, path: .}]}",
    );
    api.post("configdocs/more", &layered).await.expect(201);
    let refused = api.post("commitconfigdocs", "").await.expect(400).json();
    assert_eq!(refused["details"]["messageList"][0]["name"], "LayeringPolicyNotFound");
}

async fn versions_follow_the_tags(api: Served) {
    api.post("configdocs/site", &format!("{LAYERS}{}", secret("s", "hunter2")))
        .await
        .expect(201);
    api.post("commitconfigdocs", "").await.expect(200);
    api.post("revisions/1/tags/site-action-success", "").await.expect(201);
    let changed = format!("{LAYERS}{}", secret("s", "hunter3"));
    api.post("configdocs/site", &changed).await.expect(201);
    api.post("revisions/2/tags/site-action-failure", "").await.expect(201);
    let status = api
        .get("configdocs?versions=last_site_action,successful_site_action")
        .await
        .expect(200)
        .json();
    assert_eq!(
        status,
        json!([{
            "collection_name": "site",
            "base_version": "successful_site_action", "base_revision": 1, "base_status": "present",
            "new_version": "last_site_action", "new_revision": 2, "new_status": "modified",
        }])
    );
    let open = "configdocs/site?version=last_site_action&cleartext-secrets=true";
    assert!(api.get(open).await.expect(200).body.contains("hunter3"));
    assert!(
        !api.get("configdocs/site?version=committed")
            .await
            .expect(200)
            .body
            .contains("hunter2")
    );
    let rendered = "renderedconfigdocs?version=successful_site_action&cleartext-secrets=True";
    assert!(api.get(rendered).await.expect(200).body.contains("hunter2"));
}
