//! Admission policies of a real API server: one refuses keys, one refuses a Node.

use std::{sync::Arc, time::Duration};

use berth_decide::{LabelPolicy, Strategy};
use berth_store::{MemoryStore, SubtaskPage};
use berth_workflow::{ApplyError, NodeClient};
use k8s_openapi::api::{
    admissionregistration::v1::{ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding},
    core::v1::Node,
};
use kube::{
    Api,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::world::{
    Disk, create_nodes, declared, expected, failures, labels, new_action, options, run, wait_for_end, watched,
};

/// Nodes of which nobody else knows, so that nothing else meets the policies.
fn names() -> Vec<String> {
    (0..12).map(|number| format!("policed-{number:02}")).collect()
}

/// A policy on changes of these Nodes, at work when this returns: the change that is to be refused is tried until it is.
async fn enforce(client: &kube::Client, name: &str, validations: Value, node: &str, refused: Value) {
    let policy = json!({"metadata": {"name": name}, "spec": {
        "matchConstraints": {"resourceRules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["nodes"]},
        ]},
        "matchConditions": [{"name": "policed", "expression": "request.name.startsWith('policed-')"}],
        "validations": validations,
    }});
    let binding = json!({"metadata": {"name": name}, "spec": {"policyName": name, "validationActions": ["Deny"]}});
    let policy: ValidatingAdmissionPolicy = serde_json::from_value(policy).unwrap();
    let binding: ValidatingAdmissionPolicyBinding = serde_json::from_value(binding).unwrap();
    let new = PostParams::default();
    Api::all(client.clone()).create(&new, &policy).await.unwrap();
    Api::all(client.clone()).create(&new, &binding).await.unwrap();
    let nodes: Api<Node> = Api::all(client.clone());
    let tried = PatchParams {
        dry_run: true,
        ..PatchParams::default()
    };
    let patch = Patch::Merge(json!({"metadata": {"labels": refused}}));
    while nodes.patch(node, &tried, &patch).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Keys that a policy does not take are split off and told, each with the policy's own words; the rest is applied. A Node
/// that a policy does not give away fails alone.
pub(crate) async fn refused_by_policies(client: &kube::Client) {
    let names = names();
    create_nodes(client, &names).await;
    let nodes: Api<Node> = Api::all(client.clone());
    let kept = Patch::Merge(json!({"metadata": {"labels": {"keep": "this"}}}));
    nodes.patch(&names[2], &PatchParams::default(), &kept).await.unwrap();
    let keys = json!([
        {
            "expression": "!('forbidden.example.com/a' in object.metadata.labels)",
            "message": "nobody sets this key",
        },
        {
            "expression": "!('keep' in oldObject.metadata.labels) || 'keep' in object.metadata.labels",
            "message": "nobody removes this key",
            "reason": "Forbidden",
        },
    ]);
    let forbidden = json!({"forbidden.example.com/a": "1"});
    enforce(client, "keys", keys, &names[0], forbidden.clone()).await;
    let node = json!([{
        "expression": "object.metadata.name != 'policed-03' || object.metadata.labels == oldObject.metadata.labels",
        "message": "this Node stays as it is",
        "reason": "Forbidden",
    }]);
    enforce(client, "node", node, &names[3], json!({"any": "1"})).await;

    let (client, watch) = watched(client.clone(), None);
    let disk = Disk::new();
    let store = disk.open().await;
    let running = run(&store, &client, options("one"));
    let mut action = new_action(&names, "policed", json!({}));
    // Two are asked for the forbidden key, among legal ones; the second of them has a key that cannot go, too.
    for number in [1, 2] {
        action.nodes[number].1["labels"]["forbidden.example.com/a"] = json!("1");
    }
    store.create_action(&action).await.unwrap();
    let ended = wait_for_end(&store, &running, &action.id).await;
    assert_eq!((ended.counts.succeeded, ended.counts.failed), (9, 3));

    let found = labels(&client).await;
    for (number, name) in names.iter().enumerate() {
        let mut expected = expected(name, "policed");
        if number == 2 {
            expected.insert("keep".to_owned(), "this".to_owned());
        }
        if number == 3 {
            expected = [("kubernetes.io/hostname", name.as_str()), ("stale", "yes")]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into();
        }
        assert_eq!(found[name], expected, "{name}: the rest is applied");
    }
    let failed = failures(&store, &action.id).await;
    let told = |number: usize| {
        let (_, outcome) = failed.iter().find(|(node, _)| *node == names[number]).unwrap();
        assert_eq!(outcome["labels"], json!(found[&names[number]]), "what the node has now");
        let refused = outcome["refused"].as_array().unwrap().iter();
        refused
            .map(|refusal| (text(&refusal["key"]), text(&refusal["reason"])))
            .collect::<Vec<_>>()
    };
    let is = |found: &[(String, String)], wanted: &[(&str, &str)]| {
        let keys: Vec<&str> = found.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, wanted.iter().map(|(key, _)| *key).collect::<Vec<_>>());
        for ((_, reason), (key, words)) in found.iter().zip(wanted) {
            assert!(reason.contains(words), "{key}: {reason}");
        }
    };
    is(&told(1), &[("forbidden.example.com/a", "nobody sets this key")]);
    is(
        &told(2),
        &[
            ("forbidden.example.com/a", "nobody sets this key"),
            ("keep", "nobody removes this key"),
        ],
    );
    let stays = "this Node stays as it is";
    is(
        &told(3),
        &[
            ("example.com/name", stays),
            ("example.com/round", stays),
            ("node-role.kubernetes.io/infra", stays),
            ("stale", stays),
        ],
    );
    let subtasks = store.subtasks(&action.id, SubtaskPage::ALL).await.unwrap();
    assert_eq!(subtasks.len(), names.len());
    assert!(
        subtasks
            .iter()
            .all(|subtask| subtask.fence == 1 && subtask.outcome.is_some())
    );
    assert_eq!(watch.patched().get(&names[3]), None);
    running.end().await;
    a_forbidden_key_is_named(&client, &names[4]).await;
}

/// One node by itself, all or nothing: the key is named, no other one is, and nothing is written.
async fn a_forbidden_key_is_named(client: &kube::Client, name: &str) {
    let one = NodeClient::new(client.clone(), LabelPolicy::default(), Arc::new(MemoryStore::new()));
    let mut requested: berth_decide::Requested = declared(name, "by-hand")
        .into_iter()
        .map(|(key, value)| (key, Some(value)))
        .collect();
    requested.insert("forbidden.example.com/a".to_owned(), Some("1".to_owned()));
    let error = one.put(name, &requested, Strategy::Mirror, false).await.unwrap_err();
    assert_eq!(error.status(), 400);
    let ApplyError::Refused(refused) = error else {
        panic!("{error}");
    };
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!(refused[0].key, "forbidden.example.com/a");
    assert!(refused[0].reason.contains("nobody sets this key"), "{refused:?}");
    assert_eq!(labels(client).await[name], expected(name, "policed"));
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
