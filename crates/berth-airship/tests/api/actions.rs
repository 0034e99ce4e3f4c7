//! Actions: documents, texts and codes.

use berth_airship::Auth;
use berth_workflow::WorkflowOptions;
use serde_json::{Value, json};

use crate::{
    fixture::Reply,
    relabelling::{JSON, On, Relabelling, SITE, on_both},
};

fn id(reply: &Reply) -> String {
    reply.json()["id"].as_str().unwrap().to_owned()
}

#[expect(clippy::too_many_lines, reason = "one story, told from its beginning to its end")]
async fn a_relabelling_from_the_request_to_every_detail(on: On) {
    let Some(server) = Relabelling::ready(on).await else {
        return;
    };
    let made = server.relabel(&json!(["node1", "node2"])).await.expect(201);
    let created = made.json();
    let id = id(&made);
    assert_eq!(id.len(), 26);
    assert_eq!(
        made.header("location"),
        Some(format!("/api/v1.0/actions/{id}").as_str())
    );
    assert_eq!(created["name"], "update_labels");
    assert_eq!(created["parameters"], json!({"target_nodes": ["node1", "node2"]}));
    assert_eq!(created["dag_status"], "SCHEDULED");
    assert_eq!(created["dag_id"], "update_labels");
    assert_eq!(created["committed_rev_id"], 1);
    assert_eq!(created["allow_intermediate_commits"], Value::Null);
    assert_eq!(created["user"], "anonymous");
    assert_eq!(
        created["timestamp"].as_str().unwrap().len(),
        "2017-09-24 19:05:43.603591".len()
    );
    assert_eq!(
        created["dag_execution_date"].as_str().unwrap().len(),
        "2017-09-24T19:05:49".len()
    );

    let action = server.ended(&id).await;
    assert_eq!(action["action_lifecycle"], "Complete", "{action:#}");
    assert_eq!(action["dag_status"], "success");
    assert_eq!(action["progress"]["succeeded"], 2);
    assert_eq!(
        server.labels("node1").await,
        [
            "berth.dev/hardware-profile=hw",
            "berth.dev/profile=defaults",
            "berth.dev/rack=rack1",
            "berth.dev/tag-masters=",
            "ceph-osd=enabled",
            "control-plane=enabled",
            "kubernetes.io/hostname=node1",
            "row=a",
        ]
    );
    let node1 = &action["nodes"][0];
    assert_eq!((&node1["name"], &node1["state"]), (&json!("node1"), &json!("success")));
    assert_eq!(node1["diff"]["removed"], json!({"foo": "bar", "old": "yes"}));
    assert_eq!(node1["diff"]["set"]["ceph-osd"], "enabled");
    assert_eq!(node1["protected"], json!(["kubernetes.io/hostname"]));
    let audit = action["command_audit"].as_array().unwrap();
    assert_eq!(audit.len(), 1);
    assert_eq!(
        (&audit[0]["command"], &audit[0]["user"]),
        (&json!("invoke"), &json!("anonymous"))
    );
    let notes = action["notes"].as_array().unwrap();
    assert_eq!(notes[0]["note_val"], "Configdoc revision 1");
    assert_eq!(notes[0]["assoc_id"], format!("action/{id}"));

    // Targeted actions leave site-action tags alone.
    let tags = server.api.get("revisions/1").await.yaml();
    let tags: Vec<&String> = tags["tags"].as_object().unwrap().keys().collect();
    assert_eq!(tags, ["committed", "site-action-success"]);

    // Everything about it.
    let list = server.api.get("actions").await.expect(200).json();
    assert_eq!(list[0]["id"], id.as_str());
    assert!(list[0].get("nodes").is_none());
    let steps = list[0]["steps"].as_array().unwrap();
    assert_eq!(steps[0]["index"], 1);
    let relabelling = steps.last().unwrap();
    assert_eq!(relabelling["id"], "relabel_nodes");
    assert_eq!(relabelling["url"], format!("/actions/{id}/steps/relabel_nodes"));
    let step = server
        .api
        .get(&format!("actions/{id}/steps/relabel_nodes"))
        .await
        .expect(200)
        .json();
    assert_eq!((&step["state"], &step["try_number"]), (&json!("success"), &json!(1)));
    assert!(step["duration"].as_f64().is_some());
    let logs = server
        .api
        .get(&format!("actions/{id}/steps/relabel_nodes/logs"))
        .await
        .expect(200);
    assert!(logs.body.contains("node node1: success"), "{}", logs.body);
    attempts(&server, &id, &logs.body).await;
    let note_id = notes[0]["note_id"].as_str().unwrap();
    let note = server.api.get(&format!("notedetails/{note_id}")).await.expect(200);
    assert_eq!(note.body, "Configdoc revision 1\n");
    let workflows = server.api.get("workflows").await.expect(200).json();
    let workflow = workflows[0]["workflow_id"].as_str().unwrap();
    // What Shipyard's command line asks of identifiers.
    let time = workflow.strip_prefix("update_labels__").unwrap();
    let form: String = time.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
    assert_eq!(form, "9999-99-99T99:99:99.999999");
    assert!(
        note_id.len() == 26 && note_id.chars().all(|c| c.is_ascii_alphanumeric()),
        "{note_id}"
    );
    let workflow = server
        .api
        .get(&format!("workflows/{workflow}"))
        .await
        .expect(200)
        .json();
    assert_eq!(workflow["action_id"], id.as_str());
    // What Shipyard's command line shows.
    assert_eq!(workflow["state"], "success");
    assert_eq!(workflow["steps"][0]["state"], "success");
    assert_eq!(server.api.get("workflows?since=2999-01-01").await.json(), json!([]));
    let statuses = server.api.get("site_statuses").await.expect(200).json();
    assert_eq!(
        statuses["nodes_provision_status"][0],
        json!({"hostname": "node1", "status": "Deployed"})
    );

    // The same as a task.
    let task = action["task_id"].as_str().unwrap();
    let task = server.api.get(&format!("tasks/{task}")).await.expect(200).json();
    assert_eq!(
        (&task["status"], &task["result"]["status"]),
        (&json!("complete"), &json!("success"))
    );
    assert_eq!(task["action_id"], id.as_str());
}

#[expect(clippy::too_many_lines, reason = "one story, told from its beginning to its end")]
async fn requests_are_refused_in_shipyards_order_and_words(on: On) {
    let Some(server) = Relabelling::empty(on, Auth::None, WorkflowOptions::default()).await else {
        return;
    };
    let post = async |body: &str, kind: &str| {
        let headers = [("Content-Type", kind)];
        server.api.send("POST", "/api/v1.0/actions", &headers, Some(body)).await
    };
    let good = r#"{"name": "update_labels", "parameters": {"target_nodes": ["node1"]}}"#;
    let targets = "The target_nodes parameter for this action should be a list with one or more string values \
                   representing node names";
    let path = "/api/v1.0/actions: ";
    for (body, kind, title, description) in [
        (
            "",
            JSON,
            "Json body is required",
            format!("{path}Bad input, no body provided"),
        ),
        (
            "[]",
            JSON,
            "JSON validation failed: [] is not of type 'object'",
            "Failed validator: type : object".to_owned(),
        ),
        (
            "{}",
            JSON,
            "JSON validation failed: 'name' is a required property",
            "Failed validator: required : ['name']".to_owned(),
        ),
        (
            r#"{"name": 5}"#,
            JSON,
            "JSON validation failed: 5 is not of type 'string'",
            "Failed validator: type : string".to_owned(),
        ),
        (
            r#"{"name": "update_labels", "parameters": null}"#,
            JSON,
            "JSON validation failed: None is not of type 'object'",
            "Failed validator: type : object".to_owned(),
        ),
        (
            r#"{"name": "deploy_site"}"#,
            JSON,
            "Unable to start action",
            "Unsupported Action: deploy_site. Berth relabels nodes and deploys nothing: run the action with the tool that deploys the \
             site, and record it here with `berth site-action record`. To change labels, create the action update_labels"
                .to_owned(),
        ),
        (
            r#"{"name": "update_labels"}"#,
            JSON,
            "Invalid target_nodes parameter",
            targets.to_owned(),
        ),
        (
            r#"{"name": "relabel_nodes", "parameters": {"target_nodes": []}}"#,
            "application/json; charset=utf-8",
            "Invalid target_nodes parameter",
            targets.to_owned(),
        ),
        (
            good,
            JSON,
            "No committed configdocs",
            "Unable to locate a committed revision in Deckhand".to_owned(),
        ),
    ] {
        let refused = post(body, kind).await.expect(400).json();
        assert_eq!(refused["message"], title, "{body}");
        assert_eq!(refused["reason"], description.as_str(), "{body}");
        assert_eq!(refused["code"], "400 Bad Request");
        assert_eq!(refused["kind"], "status");
        assert_eq!(refused["details"]["errorCount"], 1);
    }
    let broken = post("{", JSON).await.expect(400).json();
    assert_eq!(broken["message"], "JSON could not be decoded");
    let reason = broken["reason"].as_str().unwrap();
    assert!(reason.starts_with(&format!("{path}Invalid JSON in body: ")), "{reason}");

    // Airship deploys this site, and does not know how.
    let name = "name: deployment-configuration";
    server.commit(&SITE.replace(name, "name: misnamed")).await;
    let refused = post(good, JSON).await.expect(400).json();
    assert_eq!(
        (&refused["message"], &refused["reason"]),
        (
            &json!("Document validation failed"),
            &json!("InvalidConfigurationDocuments")
        )
    );
    assert_eq!(
        refused["details"]["messageList"][0]["name"],
        json!("DocumentNotFoundError")
    );
    let on = r#"{"name": "update_labels", "parameters": {"target_nodes": ["node1"], "continue-on-fail": "true"}}"#;
    let refused = post(on, JSON).await.expect(400).json();
    assert_eq!(refused["message"], "No site action", "the other checks are made");
    server.commit(SITE).await;
    let refused = post(good, JSON).await.expect(400).json();
    assert_eq!(refused["message"], "No site action");
    server.site_action().await;
    let unknown = server.relabel(&json!("node1, nodeX,node3")).await.expect(400).json();
    assert_eq!(unknown["message"], "Unknown nodes");
    let named: Vec<&str> = unknown["details"]["messageList"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["name"].as_str().unwrap())
        .collect();
    assert_eq!(named, ["nodeX", "node3"]);
    assert_eq!(
        server.api.get("actions").await.json(),
        json!([]),
        "nothing refused was kept"
    );

    // The engine does not work, so the first one stays.
    post(good, JSON).await.expect(201);
    let conflict = post(good, JSON).await.expect(409).json();
    assert_eq!(conflict["code"], "409 Conflict");
    assert_eq!(conflict["message"], "Conflicting action");
    assert!(
        conflict["reason"]
            .as_str()
            .unwrap()
            .contains("update_labels conflicts with scheduled update_labels")
    );
}

async fn of_two_at_once_one_wins(on: On) {
    let Some(server) = Relabelling::empty(on, Auth::None, WorkflowOptions::default()).await else {
        return;
    };
    server.commit(SITE).await;
    server.site_action().await;
    for _ in 0..5 {
        let (node1, node2) = (json!("node1"), json!("node2"));
        let (one, other) = tokio::join!(server.relabel(&node1), server.relabel(&node2));
        let mut statuses = [one.status, other.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [201, 409]);
        let winner = if one.status == 201 { &one } else { &other };
        let stop = format!("actions/{}/control/stop", id(winner));
        server.send("POST", &stop, None).await.expect(202);
    }
}

async fn an_action_is_steered_and_every_word_is_filed(on: On) {
    let Some(server) = Relabelling::empty(on, Auth::None, WorkflowOptions::default()).await else {
        return;
    };
    server.commit(SITE).await;
    server.site_action().await;
    let id = id(&server.relabel(&json!(["node1"])).await.expect(201));
    let control = async |verb: &str| server.send("POST", &format!("actions/{id}/control/{verb}"), None).await;
    let paused = control("pause").await.expect(202);
    assert_eq!(paused.body, "");
    let action = server.api.get(&format!("actions/{id}")).await.json();
    assert_eq!(action["action_lifecycle"], "Paused");
    let refused = control("pause").await.expect(409).json();
    assert_eq!(refused["message"], "Unable to pause action");
    assert_eq!(refused["reason"], "dag_run state must be running, but is paused");
    control("unpause").await.expect(202);
    let refused = control("retry").await.expect(409).json();
    assert_eq!(refused["message"], "Unable to retry action");
    control("stop").await.expect(202);
    let refused = control("stop").await.expect(409).json();
    assert_eq!(refused["reason"], "dag_run state must be running, but is failed");
    control("retry").await.expect(202);
    server.work();
    assert_eq!(server.ended(&id).await["action_lifecycle"], "Complete");
    let action = server.api.get(&format!("actions/{id}")).await.json();
    let audit = action["command_audit"].as_array().unwrap();
    let commands: Vec<&str> = audit.iter().map(|entry| entry["command"].as_str().unwrap()).collect();
    assert_eq!(commands, ["invoke", "pause", "unpause", "stop", "retry"]);

    let unknown = control("rewind").await.expect(404).json();
    assert_eq!(
        (&unknown["message"], &unknown["reason"]),
        (&json!("Control not supported"), &json!("Unknown control rewind"))
    );
    let nobody = "01BTTMFVDKZFRJM80FGD7J1AKN";
    for (path, title, description) in [
        (
            format!("actions/{nobody}"),
            "Action not found",
            format!("Unknown Action: {nobody}"),
        ),
        (
            "actions/x".to_owned(),
            "Action not found",
            "Unknown Action: x".to_owned(),
        ),
        (
            format!("actions/{nobody}/steps/x"),
            "Action not found",
            format!("Unknown action {nobody}"),
        ),
        (
            format!("actions/{id}/steps/x"),
            "Step not found",
            "Unknown step x".to_owned(),
        ),
        (
            format!("actions/{id}/validations/x"),
            "Validation not found",
            "Unknown validation x".to_owned(),
        ),
        (
            "notedetails/x".to_owned(),
            "Note not found",
            "Unknown note x".to_owned(),
        ),
        (
            "workflows/x".to_owned(),
            "Workflow not found",
            "Unknown workflow x".to_owned(),
        ),
    ] {
        let missing = server.api.get(&path).await.expect(404).json();
        assert_eq!(
            (&missing["message"], &missing["reason"]),
            (&json!(title), &json!(description)),
            "{path}"
        );
    }
    let short = server.api.get("actions/x/steps/y/logs").await.expect(400).json();
    assert_eq!(short["message"], "Invalid Action ID!");
    let missing = server
        .send("POST", &format!("actions/{nobody}/control/stop"), None)
        .await
        .expect(404)
        .json();
    assert_eq!(missing["reason"], format!("Unknown action {nobody}"));
    let wrong = server.api.get("site_statuses?filters=x").await.expect(400).json();
    assert_eq!(
        (&wrong["message"], &wrong["reason"]),
        (&json!("Not a valid status filter"), &json!("filter x is not supported"))
    );
}

/// The text of an attempt that was, and no text of others.
/// What was held or failed does not go on with documents that were deleted, also where another revision has their number now.
async fn an_action_does_not_go_on_with_a_revision_that_is_gone(on: On) {
    let Some(server) = Relabelling::empty(on, Auth::None, WorkflowOptions::default()).await else {
        return;
    };
    for (verbs, goes_on) in [(["pause", "pause"], "unpause"), (["pause", "stop"], "retry")] {
        server.commit(SITE).await;
        server.site_action().await;
        let id = id(&server.relabel(&json!(["node1"])).await.expect(201));
        let control = async |verb: &str| server.send("POST", &format!("actions/{id}/control/{verb}"), None).await;
        control(verbs[0]).await.expect(202);
        if verbs[1] != verbs[0] {
            control(verbs[1]).await.expect(202);
        }
        for again in [false, true] {
            server.api.delete("revisions").await.expect(204);
            if again {
                server.commit(SITE).await;
            }
            let refused = control(goes_on).await.expect(409).json();
            assert_eq!(refused["message"], format!("Unable to {goes_on} action"));
            let reason = refused["reason"].as_str().unwrap();
            assert!(reason.contains("come from revision 1, which was deleted"), "{reason}");
        }
        if goes_on == "unpause" {
            control("stop").await.expect(202);
        }
        server.api.delete("revisions").await.expect(204);
    }
}

async fn attempts(server: &Relabelling, id: &str, whole: &str) {
    let logs = async |attempt: &str| {
        let path = format!("actions/{id}/steps/relabel_nodes/logs?try={attempt}");
        server.api.get(&path).await
    };
    assert_eq!(logs("1").await.expect(200).body, whole);
    for attempt in ["x", "0", "-1", "", "1.5", "99999999999999999999"] {
        let refused = logs(attempt).await.expect(400).json();
        let reason = format!("try should be the number of an attempt, from 1 on, not '{attempt}'");
        assert_eq!(
            (&refused["message"], &refused["reason"]),
            (&json!("Invalid try parameter"), &json!(reason))
        );
    }
    let missing = logs("9").await.expect(404).json();
    assert_eq!(
        (&missing["message"], &missing["reason"]),
        (
            &json!("Log not found"),
            &json!("Unknown try 9 of step relabel_nodes, which has had 1")
        )
    );
}

async fn a_dry_run_says_everything_and_does_nothing(on: On) {
    let Some(server) = Relabelling::ready(on).await else {
        return;
    };
    let before = server.labels("node1").await;
    let body = json!({"name": "update_labels", "parameters": {"target_nodes": "node1"}});
    let dry = server
        .send("POST", "actions?dry-run=true&strategy=owned", Some(&body))
        .await
        .expect(200)
        .json();
    assert_eq!((&dry["kind"], &dry["strategy"]), (&json!("DryRun"), &json!("owned")));
    assert_eq!(dry["moves"], json!([]), "nothing of the site carries traffic");
    assert_eq!(dry["nodes"][0]["name"], "node1");
    assert_eq!(dry["nodes"][0]["diff"]["set"]["ceph-osd"], "enabled");
    assert_eq!(
        dry["nodes"][0]["diff"]["removed"],
        json!({}),
        "owned removes nothing that it did not set"
    );
    assert_eq!(server.labels("node1").await, before);
    assert_eq!(server.api.get("actions").await.json(), json!([]));
    let wrong = server
        .send("POST", "actions?strategy=best", Some(&body))
        .await
        .expect(400)
        .json();
    assert_eq!(wrong["message"], "Invalid strategy parameter");
}

async fn a_misspelt_switch_does_not_run_a_real_change(on: On) {
    let Some(server) = Relabelling::ready(on).await else {
        return;
    };
    let (before, revision) = (server.labels("node1").await, server.revision());
    for (query, more, title, reason) in [
        (
            "",
            json!({"dry_run": "maybe"}),
            "Invalid dry_run parameter",
            "The dry_run parameter should be true or false, not 'maybe'",
        ),
        (
            "",
            json!({"dry-rum": true}),
            "Invalid dry-rum parameter",
            "The dry-rum parameter is not known; is dry_run meant?",
        ),
        (
            "",
            json!({"strategy": "best"}),
            "Invalid strategy parameter",
            "The strategy parameter should be mirror, owned or promenade, not 'best'",
        ),
        (
            "?dry-rum=true",
            json!({}),
            "Invalid parameter",
            "The dry-rum parameter is not known; is dry-run meant?",
        ),
        (
            "?dry_run=maybe",
            json!({}),
            "Invalid dry-run parameter",
            "dry-run must be true or false, not 'maybe'",
        ),
    ] {
        let mut body = json!({"name": "update_labels", "parameters": more});
        body["parameters"]["target_nodes"] = json!("node1");
        let refused = server.send("POST", &format!("actions{query}"), Some(&body)).await;
        let refused = refused.expect(400).json();
        assert_eq!(
            (&refused["message"], &refused["reason"]),
            (&json!(title), &json!(reason))
        );
    }
    for (path, body) in [
        (
            "actions",
            json!({"name": "update_labels", "parameters": {"target_nodes": "node1", "dry_run": "True"}}),
        ),
        (
            "actions?dry_run=true",
            json!({"name": "update_labels", "parameters": {"target_nodes": "node1"}}),
        ),
    ] {
        let dry = server.send("POST", path, Some(&body)).await.expect(200).json();
        assert_eq!(dry["kind"], "DryRun", "{path}");
    }
    let put = server
        .send("PUT", "node-labels/node1?dryrun=true", Some(&json!({})))
        .await;
    assert_eq!(put.expect(200).json()["details"]["dryRun"], true);
    let put = server
        .send("PUT", "node-labels/node1?dry-rn=true", Some(&json!({})))
        .await;
    put.expect(400);
    let task = json!({"action": "relabel_nodes", "design_ref": "x"});
    server.send("POST", "tasks?dry-run=true", Some(&task)).await.expect(400);
    assert_eq!((server.labels("node1").await, server.revision()), (before, revision));
    assert_eq!(server.api.get("actions").await.json(), json!([]));

    // What other clients send besides does no harm, and is told.
    let body = json!({"name": "update_labels", "parameters": {"target_nodes": "node1", "region": "a"}});
    let id = id(&server.send("POST", "actions", Some(&body)).await.expect(201));
    let action = server.ended(&id).await;
    assert_eq!(action["action_lifecycle"], "Complete");
    let notes = action["notes"].to_string();
    assert!(
        notes.contains("Parameters that Berth does not know change nothing: region"),
        "{notes}"
    );
}

async fn a_node_that_is_gone_fails_alone_and_can_be_retried(on: On) {
    let Some(server) = Relabelling::ready(on).await else {
        return;
    };
    let more = SITE.replace("name: node2", "name: absent");
    let absent = &more[more
        .rfind("---\nschema: drydock/BaremetalNode/v1\nmetadata: {schema: metadata/Document/v1, name: absent")
        .unwrap()..];
    let absent = &absent[..absent[4..].find("---").unwrap() + 4];
    server.commit(&format!("{SITE}{absent}")).await;
    let id = id(&server.relabel(&json!(["absent", "node1"])).await.expect(201));
    let action = server.ended(&id).await;
    assert_eq!(action["action_lifecycle"], "Failed");
    assert_eq!(action["nodes"][0]["state"], "failure");
    assert_eq!(action["nodes"][0]["message"], "Node absent does not exist");
    assert_eq!(action["nodes"][1]["state"], "success");
    let step = server
        .api
        .get(&format!("actions/{id}/steps/relabel_nodes"))
        .await
        .expect(200)
        .json();
    let note = &step["notes"].as_array().unwrap().last().unwrap();
    assert_eq!(
        note["note_val"],
        "1 of 2 nodes failed: absent: Node absent does not exist"
    );
    let details = format!("notedetails/{}", note["note_id"].as_str().unwrap());
    assert_eq!(
        server.api.get(&details).await.expect(200).body,
        "absent: Node absent does not exist\n"
    );
    let task = server
        .api
        .get(&format!("tasks/{}", action["task_id"].as_str().unwrap()))
        .await
        .json();
    assert_eq!(task["result"]["status"], "partial_success");
    assert_eq!(task["result"]["failures"], json!(["absent"]));
    let errors = server
        .api
        .get(&format!(
            "tasks/{}?subtaskerrors=true",
            action["task_id"].as_str().unwrap()
        ))
        .await
        .json();
    assert_eq!(errors["subtask_errors"].as_object().unwrap().len(), 1);

    server.add_node("absent", &[]).await;
    server
        .send("POST", &format!("actions/{id}/control/retry"), None)
        .await
        .expect(202);
    let action = server.ended(&id).await;
    assert_eq!(action["action_lifecycle"], "Complete");
    assert_eq!(
        action["nodes"][1]["attempts"], 1,
        "what had succeeded is not touched again"
    );
}

async fn pages(on: On) {
    let Some(server) = Relabelling::empty(on, Auth::None, WorkflowOptions::default()).await else {
        return;
    };
    server.commit(SITE).await;
    server.site_action().await;
    let mut ids = Vec::new();
    for n in 0..7 {
        let id = id(&server.relabel(&json!("node1")).await.expect(201));
        match n {
            // Nobody works yet.
            0..3 => {
                let stop = format!("actions/{id}/control/stop");
                server.send("POST", &stop, None).await.expect(202);
                if n == 2 {
                    server.work();
                }
            }
            _ => {
                server.ended(&id).await;
            }
        }
        ids.push(id);
    }
    let mut seen = Vec::new();
    let mut path = "actions?limit=3".to_owned();
    loop {
        let page = server.api.get(&path).await.expect(200);
        let list = page.json();
        seen.extend(
            list.as_array()
                .unwrap()
                .iter()
                .map(|action| action["id"].as_str().unwrap().to_owned()),
        );
        let Some(marker) = page.header("x-next-marker") else {
            break;
        };
        assert!(page.header("link").unwrap().contains(marker));
        path = format!("actions?limit=3&marker={marker}");
    }
    let mut sorted = ids.clone();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    assert_eq!(seen, sorted);
    let complete = server.api.get("actions?lifecycle=complete").await.expect(200).json();
    assert_eq!(complete.as_array().unwrap().len(), 4);
    let failed = server
        .api
        .get("actions?lifecycle=Failed,Paused&limit=2")
        .await
        .expect(200);
    assert_eq!(failed.json().as_array().unwrap().len(), 2);
    assert!(failed.header("x-next-marker").is_some());
    let next = failed.header("link").unwrap();
    let next = next.strip_prefix("</api/v1.0/").and_then(|link| link.split_once('>'));
    let rest = server.api.get(next.unwrap().0).await.expect(200).json();
    let rest: Vec<&Value> = rest.as_array().unwrap().iter().collect();
    assert_eq!(rest.len(), 1, "the next page is of the same kind: {rest:?}");
    assert_eq!(rest[0]["action_lifecycle"], "Failed");
    assert_eq!(rest[0]["notes"][0]["note_val"], "Configdoc revision 1");
    for wrong in [
        "limit=0",
        "limit=1001",
        "limit=x",
        "marker=x",
        "lifecycle=odd",
        "verbosity=6",
    ] {
        server.api.get(&format!("actions?{wrong}")).await.expect(400);
    }
}

on_both! {
    a_relabelling_from_the_request_to_every_detail,
    requests_are_refused_in_shipyards_order_and_words,
    of_two_at_once_one_wins,
    an_action_is_steered_and_every_word_is_filed,
    an_action_does_not_go_on_with_a_revision_that_is_gone,
    a_dry_run_says_everything_and_does_nothing,
    a_misspelt_switch_does_not_run_a_real_change,
    a_node_that_is_gone_fails_alone_and_can_be_retried,
    pages,
}
