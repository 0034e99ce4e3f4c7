//! Labels of single nodes, filters, and the blueprint's own path.

use berth_airship::Auth;
use berth_site::LabelJoin;
use berth_workflow::WorkflowOptions;
use serde_json::{Value, json};

use crate::relabelling::{JSON, On, Relabelling, SITE, on_both};

async fn one_of_several_labels_is_enough_where_the_server_is_told_so(on: On) {
    let options = WorkflowOptions {
        label_join: LabelJoin::Any,
        ..WorkflowOptions::default()
    };
    let Some(server) = Relabelling::empty(on, Auth::None, options).await else {
        return;
    };
    server.commit(SITE).await;
    let body = json!({"design_ref": "x", "node_filter": {"filter_set_type": "union", "filter_set": [
        {"filter_type": "union", "node_labels": {"control-plane": "enabled", "label-n": "some-value"}},
    ]}});
    let selected = server.send("POST", "nodefilter", Some(&body)).await.expect(200).json();
    assert_eq!(selected, json!(["node1", "node2"]));
}

async fn labels_of_a_node(on: On) {
    let Some(server) = Relabelling::empty(on, Auth::None, WorkflowOptions::default()).await else {
        return;
    };
    server.label("node1", "k8s.ovn.org/x", "1").await;
    let revision = server.revision();
    let body = json!({"label-a": "true", "foo": "baz"});
    let dry = server
        .send("PUT", "node-labels/node1?dry-run=true", Some(&body))
        .await
        .expect(200)
        .json();
    assert_eq!(dry["details"]["dryRun"], true);
    assert_eq!(server.revision(), revision, "nothing was written");
    let put = server
        .send("PUT", "node-labels/node1", Some(&body))
        .await
        .expect(200)
        .json();
    assert_eq!(dry["details"]["diff"], put["details"]["diff"]);
    assert_eq!(
        put["details"]["diff"],
        json!({"set": {"label-a": "true"}, "changed": {"foo": {"from": "bar", "to": "baz"}}, "removed": {"old": "yes"}})
    );
    assert_eq!(
        put["details"]["protected"],
        json!(["k8s.ovn.org/x", "kubernetes.io/hostname"])
    );
    for (key, value) in [
        ("kind", "Status"),
        ("status", "Success"),
        ("message", ""),
        ("reason", "Update node labels"),
        ("code", "200 OK"),
    ] {
        assert_eq!(put[key], value, "{key}");
    }
    assert_eq!(
        server.labels("node1").await,
        [
            "foo=baz",
            "k8s.ovn.org/x=1",
            "kubernetes.io/hostname=node1",
            "label-a=true"
        ]
    );
    let revision = server.revision();
    server.send("PUT", "node-labels/node1", Some(&body)).await.expect(200);
    assert_eq!(server.revision(), revision, "nothing changes, so nothing is written");
    let shown = server.api.get("node-labels/node1").await.expect(200).json();
    assert_eq!(shown["owned"], json!(["foo", "label-a"]));
    assert_eq!(shown["declared"], Value::Null);

    // Promenade wipes what is somebody else's as well; what a known operator keeps stays here.
    let promenade = server
        .send(
            "PUT",
            "node-labels/node1?strategy=promenade&dry-run=true",
            Some(&json!({})),
        )
        .await
        .expect(200)
        .json();
    assert_eq!(
        promenade["details"]["diff"]["removed"],
        json!({"foo": "baz", "label-a": "true"})
    );

    for (body, title, part) in [
        (Some("[]"), "Invalid Input Error", "Missing input: labels dict"),
        (None, "Invalid Input Error", "Missing input: labels dict"),
        (Some("{"), "JSON could not be decoded", "Invalid JSON in body"),
        (
            Some(r#"{"a": 1}"#),
            "Invalid Input Error",
            "a: the value must be a string, not 1",
        ),
        (
            Some(r#"{"good": "1", "not good": "1"}"#),
            "Invalid Input Error",
            "not good",
        ),
        (Some(r#"{"good": "no/good"}"#), "Invalid Input Error", "good"),
    ] {
        let refused = server
            .api
            .send("PUT", "/api/v1.0/node-labels/node1", &[("Content-Type", JSON)], body)
            .await;
        let refused = refused.expect(400).json();
        assert_eq!(refused["message"], title, "{body:?}");
        assert!(refused["reason"].as_str().unwrap().contains(part), "{refused}");
    }
    assert_eq!(server.revision(), revision, "the rest is untouched");
    let missing = server
        .send("PUT", "node-labels/nobody", Some(&json!({})))
        .await
        .expect(404)
        .json();
    assert_eq!(missing["message"], "Node not found");
    server.api.get("node-labels/nobody").await.expect(404);
}

/// Texts that would be paths and queries of the API server if they were put into an address.
async fn what_is_no_name_of_a_node_never_reaches_the_cluster(on: On) {
    let Some(mut server) = Relabelling::empty(on, Auth::None, WorkflowOptions::default()).await else {
        return;
    };
    let (labels, revision) = (server.labels("node1").await, server.revision());
    let names = [
        ("node1%2Fstatus", "node1/status"),
        ("node1%2Fproxy%2Fmetrics", "node1/proxy/metrics"),
        ("node1%3FdryRun=All", "node1?dryRun=All"),
        ("node1%23", "node1#"),
        ("node1%25", "node1%"),
        ("NODE%20x", "NODE x"),
        ("Node1", "Node1"),
        ("node1%00", "node1\\0"),
        ("node1%0D%0AX:%201", "node1\\r\\nX: 1"),
        ("%2E%2E", ".."),
        ("%2E%2E%2Fnamespaces", "../namespaces"),
        ("node1%2F", "node1/"),
        ("-node1", "-node1"),
        ("n%C3%B6de", "n\u{f6}de"),
    ];
    let body = json!({"label-a": "true"});
    for is_there in [true, false] {
        for (sent, named) in names {
            for (method, query, body) in [
                ("GET", "", None),
                ("PUT", "", Some(&body)),
                ("PUT", "?dry-run=true", Some(&body)),
                ("PUT", "?strategy=promenade", Some(&json!({}))),
            ] {
                let path = format!("node-labels/{sent}{query}");
                // With the cluster away, whatever is asked of it is answered as 503.
                let refused = server.send(method, &path, body).await.expect(400).json();
                assert_eq!(
                    (&refused["message"], &refused["retry"], &refused["kind"]),
                    (&json!("Invalid Input Error"), &json!(false), &json!("status")),
                    "{method} {path}"
                );
                let reason = refused["reason"].as_str().unwrap();
                let begin = format!("`{named}` is not the name of a Node: it must ");
                assert!(reason.starts_with(&begin), "{method} {path}: {reason}");
            }
        }
        if is_there {
            assert_eq!(
                (server.labels("node1").await, server.revision()),
                (labels.clone(), revision)
            );
        }
        server.cluster = None;
    }
}

async fn the_blueprints_own_path_has_no_api_in_it(on: On) {
    let Some(server) = Relabelling::empty(on, Auth::None, WorkflowOptions::default()).await else {
        return;
    };
    let path = "/v1.0/node-labels/node1?dry-run=true";
    let headers = [("Content-Type", JSON)];
    let blueprint = server
        .api
        .send("PUT", path, &headers, Some(r#"{"label-a": "1"}"#))
        .await;
    let diff = &blueprint.expect(200).json()["details"]["diff"];
    assert_eq!(diff["set"], json!({"label-a": "1"}));
    let nowhere = server
        .api
        .send("GET", "/v1.0/node-labels", &[], None)
        .await
        .expect(404)
        .json();
    assert_eq!(nowhere["kind"], "status", "{nowhere}");
}

/// By a request for one node and by an action, which mirrors what its documents declare.
async fn what_a_pool_knows_its_nodes_by_stays_unless_it_is_named(on: On) {
    let Some(server) = Relabelling::empty(on, Auth::None, WorkflowOptions::default()).await else {
        return;
    };
    let pool = "\
---
schema: berth/MachineConfigPool/v1
metadata: {schema: metadata/Control/v1, name: edge}
data:
  nodeSelector:
    matchLabels: {example.com/tier: edge}
    matchExpressions: [{key: example.com/retired, operator: DoesNotExist}]
  machineConfigSelector: {matchLabels: {machineconfiguration.openshift.io/role: worker}}
";
    server.commit(&format!("{SITE}{pool}")).await;
    server.site_action().await;
    server.work();
    server.label("node1", "example.com/tier", "edge").await;
    server.label("node1", "example.com/retired", "no").await;
    server.label("node1", "nvidia.com/gpu.present", "true").await;
    let kept = [
        "example.com/retired=no",
        "example.com/tier=edge",
        "kubernetes.io/hostname=node1",
        "nvidia.com/gpu.present=true",
    ];
    for strategy in ["mirror", "promenade"] {
        server.label("node1", "old", "yes").await;
        let path = format!("node-labels/node1?strategy={strategy}");
        server.send("PUT", &path, Some(&json!({}))).await.expect(200);
        assert_eq!(server.labels("node1").await, kept, "{strategy}");

        server.label("node1", "old", "yes").await;
        let body = json!({"name": "update_labels", "parameters": {"target_nodes": ["node1"], "strategy": strategy}});
        let action = server.send("POST", "actions", Some(&body)).await.expect(201).json();
        let ended = server.ended(action["id"].as_str().unwrap()).await;
        assert_eq!(ended["action_lifecycle"], "Complete", "{ended}");
        let labels = server.labels("node1").await;
        assert!(!labels.contains(&"old=yes".to_owned()), "{strategy}: {labels:?}");
        for label in kept {
            assert!(labels.contains(&label.to_owned()), "{strategy}: {label} of {labels:?}");
        }
    }
    let named = json!({"example.com/tier": null, "nvidia.com/gpu.present": null});
    let path = "node-labels/node1?strategy=promenade";
    server.send("PUT", path, Some(&named)).await.expect(200);
    assert_eq!(
        server.labels("node1").await,
        ["example.com/retired=no", "kubernetes.io/hostname=node1"]
    );
}

on_both! {
    what_a_pool_knows_its_nodes_by_stays_unless_it_is_named,
    one_of_several_labels_is_enough_where_the_server_is_told_so,
    labels_of_a_node,
    what_is_no_name_of_a_node_never_reaches_the_cluster,
    the_blueprints_own_path_has_no_api_in_it,
}
