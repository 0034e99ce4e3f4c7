//! Tasks, node filters and nodes: documents, texts and codes.

use serde_json::{Value, json};

use crate::relabelling::{On, Relabelling, on_both};

#[expect(clippy::too_many_lines, reason = "one story, told from its beginning to its end")]
async fn tasks_filters_and_nodes(on: On) {
    let Some(server) = Relabelling::ready(on).await else {
        return;
    };
    let filter = json!({"filter_set_type": "union", "filter_set": [{"filter_type": "union", "node_names": ["node1", "nobody"]}]});
    let body = json!({"action": "relabel_nodes", "design_ref": "deckhand+http://x/api/v1.0/revisions/1/rendered-documents", "node_filter": filter});
    let made = server.send("POST", "tasks", Some(&body)).await.expect(201);
    let task = made.json();
    let id = task["task_id"].as_str().unwrap().to_owned();
    assert_eq!(made.header("location"), Some(format!("/api/v1.0/tasks/{id}").as_str()));
    assert_eq!((&task["kind"], &task["status"]), (&json!("Task"), &json!("queued")));
    assert_eq!(task["node_filter"], filter);
    let subtask = task["subtask_id_list"][0].as_str().unwrap().to_owned();
    let done = tokio::time::timeout(std::time::Duration::from_mins(1), async {
        loop {
            let task = server.api.get(&format!("tasks/{id}")).await.expect(200).json();
            if task["status"] == "complete" {
                return task;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    });
    let done = done.await.unwrap();
    assert_eq!(done["result"]["status"], "success");
    assert_eq!(done["result"]["successes"], json!(["node1"]));
    assert_eq!(done["result"]["details"]["messageList"][0]["context"], "node1");
    let child = server.api.get(&format!("tasks/{subtask}")).await.expect(200).json();
    assert_eq!(
        (&child["action"], &child["parent_task_id"]),
        (&json!("relabel_node"), &json!(id))
    );
    assert_eq!(child["outcome"]["name"], "node1");
    let layers = server
        .api
        .get(&format!("tasks/{id}?layers=-1"))
        .await
        .expect(200)
        .json();
    assert_eq!(layers["init_task_id"], id.as_str());
    assert_eq!(layers[&subtask]["task_id"], subtask.as_str());
    assert_eq!(
        server
            .api
            .get("tasks")
            .await
            .expect(200)
            .json()
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(server.api.get("actions").await.json(), json!([]), "a task is no action");

    for (body, message) in [
        (
            json!({"action": "relabel_nodes"}),
            "Task creation requires fields design_ref, action",
        ),
        (
            json!({"design_ref": "x"}),
            "Task creation requires fields design_ref, action",
        ),
        (
            json!({"action": "deploy_nodes", "design_ref": "x"}),
            "Unsupported action deploy_nodes",
        ),
        (
            json!({"action": "relabel_nodes", "design_ref": "x", "node_filter": ["a"]}),
            "Invalid node_filter: must be a dictionary with keys 'filter_set_type' and 'filter_set', not a list",
        ),
        (
            json!({"action": "relabel_nodes", "design_ref": "http://x/revisions/7/rendered-documents"}),
            "design_ref names revision 7, but labels come from the committed revision 1",
        ),
    ] {
        let refused = server.send("POST", "tasks", Some(&body)).await.expect(400).json();
        assert_eq!(refused["message"], message);
        assert_eq!((&refused["type"], &refused["retry"]), (&json!("error"), &json!(false)));
    }
    for id in [
        "nothing",
        "0f0e0d0c-0b0a-4908-8706-050400000000",
        &format!("{}9", &subtask[..35]),
    ] {
        let missing = server.api.get(&format!("tasks/{id}")).await.expect(404).json();
        assert_eq!(missing["message"], format!("Task {id} does not exist"));
    }

    let select = async |filter: &Value| {
        let body = json!({"design_ref": "x", "node_filter": filter});
        server.send("POST", "nodefilter", Some(&body)).await
    };
    assert_eq!(select(&Value::Null).await.expect(200).json(), json!(["node1", "node2"]));
    for (design_ref, status) in [
        ("foo://bar", 400),
        ("deckhand+ftp://x", 400),
        ("://x", 400),
        ("http://x/site.yaml", 200),
        ("https://x/site.yaml", 200),
        ("file:///site.yaml", 200),
        ("deckhand+http://deckhand/revisions/1/rendered-documents", 200),
        ("deckhand+https://deckhand/revisions/1/rendered-documents", 200),
        ("promenade+http://promenade/site", 200),
        ("DECKHAND+HTTP://deckhand", 200),
    ] {
        let mut body = json!({"design_ref": design_ref});
        let answer = server.send("POST", "nodefilter", Some(&body)).await.expect(status);
        if status == 400 {
            let message = answer.json()["message"].as_str().unwrap().to_owned();
            assert!(message.starts_with(&format!("design_ref '{design_ref}' ")), "{message}");
            body["action"] = json!("relabel_nodes");
            let task = server.send("POST", "tasks", Some(&body)).await.expect(400);
            assert_eq!(task.json()["message"], message);
        }
    }
    assert_eq!(select(&filter).await.json(), json!(["node1"]));
    let labels = json!({"filter_set_type": "union", "filter_set": [
        {"filter_type": "union", "node_labels": {"control-plane": "enabled", "label-n": "some-value"}},
    ]});
    assert_eq!(select(&labels).await.json(), json!(["node2"]), "all of them");
    let racks =
        json!({"filter_set_type": "union", "filter_set": [{"filter_type": "union", "rack_labels": {"row": "a"}}]});
    assert_eq!(select(&racks).await.json(), json!(["node1"]));
    let missing = server
        .send("POST", "nodefilter", Some(&json!({})))
        .await
        .expect(400)
        .json();
    assert_eq!(missing["message"], "Missing input required value: design_ref");

    server.add_node("stranger", &[("a", "b")]).await;
    let nodes = server.api.get("nodes").await.expect(200).json();
    let names: Vec<&str> = nodes
        .as_array()
        .unwrap()
        .iter()
        .map(|node| node["hostname"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["node1", "node2", "stranger"]);
    assert_eq!(
        (&nodes[0]["rack"], &nodes[0]["status_name"]),
        (&json!("rack1"), &json!("Present"))
    );
    assert_eq!(nodes[2]["is_declared"], false);

    let purged = server.api.delete("tasks?days=0").await.expect(200).json();
    assert_eq!(purged, json!({"removed": 1}));
    server.api.get(&format!("tasks/{id}")).await.expect(404);
}

on_both! {
    tasks_filters_and_nodes,
}
