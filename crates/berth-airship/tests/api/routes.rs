//! The description of the API against the API.

use serde_json::{Value, json};

use crate::{
    fixture::{LAYERS, Served, document, on_both},
    relabelling::{On, Relabelling},
};

on_both!(every_described_route_answers);

/// The operations of the description: method, path, and all about it.
fn operations() -> Vec<(String, String, Value)> {
    let description = berth_airship::Api::description();
    let paths = description["paths"].as_object().unwrap();
    paths
        .iter()
        .flat_map(|(path, item)| {
            let item = item.as_object().unwrap();
            item.iter()
                .map(move |(method, about)| (method.to_uppercase(), path.clone(), about.clone()))
        })
        .collect()
}

/// Routes that answer only where there is a cluster.
fn needs_cluster(path: &str, about: &Value) -> bool {
    let is_of_actions = ["actions", "events", "notedetails", "workflows", "site_statuses"]
        .contains(&path.split('/').nth(3).unwrap_or_default());
    is_of_actions || ["Tasks and nodes", "Labels of nodes"].contains(&about["tags"][0].as_str().unwrap())
}

mod with_cluster {
    crate::relabelling::on_both!(every_route_with_a_cluster_answers);

    use super::every_route_with_a_cluster_answers;
}

/// The others. That each answer has the form which the description gives it is seen to by whoever sends the requests.
async fn every_route_with_a_cluster_answers(on: On) {
    let Some(server) = Relabelling::ready(on).await else {
        return;
    };
    let made = server.relabel(&json!(["node1", "node2"])).await.expect(201).json();
    let id = made["id"].as_str().unwrap();
    let action = server.ended(id).await;
    let runs = server.api.get("workflows").await.expect(200).json();
    let run = runs[0]["workflow_id"].as_str().unwrap().to_owned();
    let mut operations = operations();
    // A stream does not end; it has its own tests.
    operations.retain(|(_, path, about)| needs_cluster(path, about) && about["operationId"] != "streamEvents");
    operations.sort_by_key(|(method, path, _)| (method == "DELETE", method == "POST", path.clone()));
    for (method, path, about) in operations {
        let operation = about["operationId"].as_str().unwrap();
        let path = path
            .replace("{action_id}", id)
            .replace("{control_verb}", "retry")
            .replace("{step_id}", "relabel_nodes")
            .replace("{validation_id}", "1")
            .replace("{note_id}", action["notes"][0]["note_id"].as_str().unwrap_or("1"))
            .replace("{workflow_id}", &run)
            .replace("{task_id}", action["task_id"].as_str().unwrap())
            .replace("{node_name}", "node1");
        let body = match operation {
            "createAction" => Some(json!({"name": "update_labels", "parameters": {"target_nodes": ["node1"]}})),
            "createTask" => Some(json!({"action": "relabel_nodes", "design_ref": "site"})),
            "selectNodes" => Some(json!({"design_ref": "site"})),
            "validateDesign" => Some(json!({"href": "/api/v1.0/revisions/1/rendered-documents"})),
            "putNodeLabels" => Some(json!({"a": "b"})),
            _ => None,
        };
        let path = path.strip_prefix("/api/v1.0/").unwrap();
        let reply = server.send(&method, path, body.as_ref()).await;
        let expected = match operation {
            // What has gone well cannot be tried again, and nothing was found.
            "controlAction" => 409,
            "showActionValidation" => 404,
            _ => {
                let described = about["responses"].as_object().unwrap();
                assert!(reply.status < 300, "{operation}: {}", reply.body);
                assert!(described.contains_key(&reply.status.to_string()), "{operation}");
                continue;
            }
        };
        assert_eq!(reply.status, expected, "{operation}: {}", reply.body);
    }
}

async fn every_described_route_answers(api: Served) {
    api.put("mop", &format!("{LAYERS}{}", document("a", "site", "{n: 1}")))
        .await
        .expect(200);
    api.post("revisions/1/tags/good", "").await.expect(201);
    let mut operations = operations();
    operations.retain(|(_, path, about)| !needs_cluster(path, about));
    // What makes things comes first, what removes them last.
    operations.sort_by_key(|(method, path, _)| {
        let removes = method == "DELETE";
        // The inner before the outer.
        let depth = if removes { path.matches('/').count() } else { 0 };
        (removes, std::cmp::Reverse(depth), path.clone(), method != "POST")
    });
    for (method, path, about) in operations {
        let path = path
            .replace("{comparison_revision_id}", "1")
            .replace("{revision_id}", "1")
            .replace("{bucket_name}", "mop")
            .replace("{collection_id}", "mop")
            .replace("{tag}", "good")
            .replace("{validation_name}", "deckhand-schema-validation")
            .replace("{entry_id}", "0");
        let body = match about["operationId"].as_str().unwrap() {
            "putBucketDocuments" => Some(format!("{LAYERS}{}", document("a", "site", "{n: 2}"))),
            "loadCollection" => Some(format!("{LAYERS}{}", document("b", "site", "{n: 2}"))),
            "addValidation" => Some("status: success\nvalidator: {name: x}".to_owned()),
            _ => about.get("requestBody").map(|_| String::new()),
        };
        let query = if path.ends_with("configdocs/mop") && method == "POST" {
            "?buffermode=replace"
        } else {
            ""
        };
        let headers = [("Content-Type", "application/x-yaml")];
        let reply = api
            .send(&method, &format!("{path}{query}"), &headers, body.as_deref())
            .await;
        let described = about["responses"].as_object().unwrap();
        assert!(
            described.contains_key(&reply.status.to_string()),
            "{method} {path} answers {} {}",
            reply.status,
            reply.body
        );
        assert!(
            reply.status < 300 || path.contains("configdocs"),
            "{method} {path}: {}",
            reply.body
        );
        let content = described[&reply.status.to_string()].get("content");
        let kind = content.and_then(|content| content.as_object()?.keys().next().cloned());
        assert_eq!(reply.header("content-type").map(str::to_owned), kind, "{method} {path}");
    }
}

#[test]
fn every_operation_is_described() {
    let operations = operations();
    assert!(operations.len() >= 25, "{}", operations.len());
    let mut ids: Vec<&str> = Vec::new();
    let schemas = &berth_airship::Api::description()["components"]["schemas"];
    for (method, path, about) in &operations {
        ids.push(about["operationId"].as_str().unwrap());
        assert_ne!(about["summary"], "", "{method} {path}");
        assert!(about["responses"].as_object().unwrap().len() > 1, "{method} {path}");
        let text = about.to_string();
        for reference in text.split("#/components/schemas/").skip(1) {
            let name = reference.split('"').next().unwrap();
            assert!(schemas.get(name).is_some(), "{method} {path} names schema {name}");
        }
    }
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "no two operations have one name");
}

#[tokio::test]
async fn the_description_is_served_and_the_page_needs_nothing_else() {
    let api = Served::sqlite().await;
    let served = api.send("GET", "/openapi.json", &[], None).await.expect(200).json();
    assert_eq!(served, berth_airship::Api::description());
    assert_eq!(served["openapi"], json!("3.1.0"));
    let page = api.send("GET", "/docs", &[], None).await.expect(200);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    for (_, path, about) in operations() {
        assert!(page.body.contains(&format!("<code>{path}</code>")), "{path}");
        assert!(
            page.body
                .contains(&format!("id=\"{}\"", about["operationId"].as_str().unwrap()))
        );
    }
    for outside in ["http://", "https://", "<script", "@import", "<link"] {
        assert!(!page.body.contains(outside), "{outside}");
    }
}
