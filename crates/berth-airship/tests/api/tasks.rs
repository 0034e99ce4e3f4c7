//! Tasks, node filters and nodes: documents, texts and codes.

use serde_json::{Value, json};

use crate::relabelling::{On, Relabelling, SITE, on_both};

#[expect(clippy::too_many_lines, reason = "one story, told from its beginning to its end")]
async fn tasks_filters_and_nodes(on: On) {
    let Some(server) = Relabelling::ready(on).await else {
        return;
    };
    let filter = json!({"filter_set_type": "union", "filter_set": [{"filter_type": "union", "node_names": ["node1", "nobody"]}]});
    let design = format!(
        "deckhand+http://{}/api/v1.0/revisions/1/rendered-documents",
        server.api.address
    );
    let body = json!({"action": "relabel_nodes", "design_ref": design, "node_filter": filter});
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
    let listed = server.api.get("tasks").await.expect(200).json();
    let ids: Vec<&str> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["task_id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, [&id, &subtask], "subtasks are tasks of their own");
    assert_eq!(
        server.api.get("actions").await.json(),
        json!([]),
        "a task is not an action"
    );

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
        ("http://x/site.yaml", 400),
        ("file:///site.yaml", 400),
        ("deckhand+http://deckhand/api/v1.0/revisions/1/rendered-documents", 400),
        ("promenade+http://promenade/site", 400),
        ("/api/v1.0/revisions/7/rendered-documents", 400),
        ("/api/v1.0/revisions/1/rendered-documents", 200),
        (&*design, 200),
        ("<deckhand_uri>", 200),
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

/// Twenty-one tasks are twenty-one tasks, and none of them has to be asked for.
async fn all_tasks_are_listed(on: On) {
    let Some(server) = Relabelling::ready(on).await else {
        return;
    };
    let body = json!({"action": "relabel_nodes", "design_ref": "site", "node_filter": {
        "filter_set_type": "union", "filter_set": [{"filter_type": "union", "node_names": ["nobody"]}]}});
    for _ in 0..21 {
        server.send("POST", "tasks", Some(&body)).await.expect(201);
    }
    let count = async |path: &str| server.api.get(path).await.expect(200).json().as_array().unwrap().len();
    assert_eq!((count("tasks").await, count("tasks?limit=5").await), (21, 5));
    server.api.get("tasks?limit=0").await.expect(400);
}

/// A task that would remove much is held. It says so, and its own identifier lets it go on.
async fn a_held_task_says_so_and_is_resumed(on: On) {
    let Some(server) = Relabelling::ready(on).await else {
        return;
    };
    let action = server.relabel(&json!(["node1", "node2"])).await.expect(201).json();
    server.ended(action["id"].as_str().unwrap()).await;
    // Berth owns labels of the nodes now; many more of them are declared, given, and then taken away.
    let many: Vec<String> = (0..40).map(|number| format!("l{number}: x")).collect();
    let wide = SITE.replace(
        "label-n: some-value",
        &format!("label-n: some-value, {}", many.join(", ")),
    );
    for documents in [&*wide, SITE] {
        server.commit(documents).await;
        let filter =
            json!({"filter_set_type": "union", "filter_set": [{"filter_type": "union", "node_names": ["node2"]}]});
        let body = json!({"action": "relabel_nodes", "design_ref": "site", "node_filter": filter});
        let task = server.send("POST", "tasks", Some(&body)).await.expect(201).json();
        let id = task["task_id"].as_str().unwrap().to_owned();
        let mut task = settled(&server, &id).await;
        if documents == SITE {
            assert_eq!(task["status"], "requested", "{task}");
            assert_eq!(
                (&task["result"]["status"], &task["result"]["reason"]),
                (&json!("incomplete"), &json!("Held"))
            );
            let message = task["result"]["message"].as_str().unwrap();
            assert!(
                message.contains("labels that Berth owns in this cluster would be removed"),
                "{message}"
            );
            let resume = format!("actions/{id}/control/unpause");
            assert!(message.contains(&resume), "{message}");
            server.send("POST", &resume, None).await.expect(202);
            task = settled(&server, &id).await;
        }
        assert_eq!(
            (&task["status"], &task["result"]["status"]),
            (&json!("complete"), &json!("success")),
            "{task}"
        );
    }
    assert!(!server.labels("node2").await.contains(&"l0=x".to_owned()));
}

/// A task once it has ended or waits for a person.
async fn settled(server: &Relabelling, id: &str) -> Value {
    let wait = async {
        loop {
            let task = server.api.get(&format!("tasks/{id}")).await.expect(200).json();
            if ["complete", "requested"].contains(&task["status"].as_str().unwrap()) {
                return task;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_mins(1), wait)
        .await
        .expect("the task ends or is held")
}

/// After everything is deleted and loaded anew, what is applied is what was loaded.
async fn nothing_is_served_from_a_revision_that_is_gone(on: On) {
    let Some(server) = Relabelling::ready(on).await else {
        return;
    };
    let relabel = async || {
        let action = server.relabel(&json!(["node2"])).await.expect(201).json();
        let ended = server.ended(action["id"].as_str().unwrap()).await;
        assert_eq!(ended["action_lifecycle"], "Complete", "{ended}");
        server.labels("node2").await
    };
    assert!(relabel().await.contains(&"label-n=some-value".to_owned()));
    server.api.delete("revisions").await.expect(204);
    server
        .commit(&SITE.replace("label-n: some-value", "label-n: another"))
        .await;
    server.site_action().await;
    let labels = relabel().await;
    assert!(labels.contains(&"label-n=another".to_owned()), "{labels:?}");
    let rendered = server
        .api
        .get("revisions/1/rendered-documents?metadata.name=node2")
        .await
        .expect(200);
    assert!(rendered.body.contains("another"), "{}", rendered.body);
}

on_both! {
    tasks_filters_and_nodes,
    all_tasks_are_listed,
    a_held_task_says_so_and_is_resumed,
    nothing_is_served_from_a_revision_that_is_gone,
}
