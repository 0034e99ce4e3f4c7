//! The same requests get the same answers: what the API says to each of them is kept, and both kinds of clusters must say
//! it to the letter.

mod expressions;

use std::fmt::Write as _;

use berth_testing::Identity;
use http::Request;
use kube::Client;
use serde_json::{Value, json};

use self::expressions::{
    definitions_with_wrong_rules_are_answered, policies_are_answered, rules_are_answered, wrong_policies_are_answered,
};
use crate::support::{Cluster, Needs, on_both};

on_both! {
    Needs::NOTHING;
    administrators_are_answered,
    kubelets_are_answered,
    custom_resources_are_answered,
    definitions_with_wrong_rules_are_answered,
    rules_are_answered,
    wrong_policies_are_answered,
    policies_are_answered,
}

const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
const PLAIN: &str = "application/json";

/// What differs from one cluster to the next and means nothing.
const OF_THE_MOMENT: [&str; 8] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "time",
    "lastTransitionTime",
    "continue",
    "lastUpdateTime",
];

/// Asks, and keeps the answers.
struct Talk {
    client: Client,
    text: String,
}

impl Talk {
    fn with(client: Client) -> Self {
        Self {
            client,
            text: String::new(),
        }
    }

    async fn ask(&mut self, method: &str, path: &str, content_type: &str, body: Value) -> Value {
        let sent = match &body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        writeln!(
            self.text,
            "{method} {path}{}{sent}",
            if sent.is_empty() { "" } else { " " }
        )
        .expect("text");
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content_type)
            .header("accept", "application/json")
            .header("user-agent", "talk/1")
            .body(sent.into_bytes())
            .expect("a request");
        let answer = self.client.request_text(request).await;
        match answer {
            Ok(text) => {
                let whole: Value = serde_json::from_str(&text).unwrap_or(Value::String(text));
                let mut shown = whole.clone();
                calm(&mut shown);
                writeln!(self.text, "  {shown}").expect("text");
                whole
            }
            Err(kube::Error::Api(status)) => {
                let mut causes: Vec<String> = status
                    .details
                    .iter()
                    .flat_map(|details| &details.causes)
                    .map(|cause| format!("\n    {} {}: {}", cause.reason, cause.field, cause.message))
                    .collect();
                causes.sort();
                // A real API server tells some of them once for each attempt.
                causes.dedup();
                writeln!(
                    self.text,
                    "  {} {}: {}{}",
                    status.code,
                    status.reason,
                    without_uids(&status.message),
                    causes.concat()
                )
                .expect("text");
                Value::Null
            }
            Err(error) => panic!("{method} {path}: {error}"),
        }
    }

    async fn get(&mut self, path: &str) -> Value {
        self.ask("GET", path, PLAIN, Value::Null).await
    }

    async fn delete(&mut self, path: &str) {
        self.ask("DELETE", path, PLAIN, Value::Null).await;
    }

    async fn create(&mut self, path: &str, body: Value) -> Value {
        self.ask("POST", path, PLAIN, body).await
    }

    async fn patch(&mut self, path: &str, content_type: &str, body: Value) -> Value {
        self.ask("PATCH", path, content_type, body).await
    }

    /// Asks, and keeps only what the answer warns of.
    async fn warned(&mut self, method: &str, path: &str, content_type: &str, body: Value) {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content_type)
            .body(body.to_string().into_bytes().into())
            .expect("a request");
        let answer = self.client.send(request).await.expect("an answer");
        writeln!(self.text, "{method} {path} {body}\n  {}", answer.status().as_u16()).expect("text");
        for warning in answer.headers().get_all("warning") {
            writeln!(self.text, "  {}", warning.to_str().expect("ASCII")).expect("text");
        }
    }

    fn end(self, name: &str) {
        insta::with_settings!({prepend_module_to_snapshot => false, omit_expression => true, snapshot_path => "answers"}, {
            insta::assert_snapshot!(name, self.text);
        });
    }
}

/// The text without the uids of objects; those that a test made up stay.
fn without_uids(text: &str) -> String {
    let words = text.split_inclusive([' ', '(', ')']);
    words
        .map(|word| {
            let bare = word.trim_end_matches([' ', '(', ')', '.', ',']);
            let is_uid = bare.len() == 36 && bare.matches('-').count() == 4 && !bare.starts_with("0000");
            if is_uid {
                word.replace(bare, "*")
            } else {
                word.to_owned()
            }
        })
        .collect()
}

/// Replaces what is of the moment.
fn calm(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                if let ("managedFields", Value::Array(entries)) = (key.as_str(), &mut *value) {
                    // They are sorted by the second of their last change.
                    entries.sort_by_key(|entry| {
                        let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
                        (text("operation"), text("manager"), text("subresource"))
                    });
                }
                if OF_THE_MOMENT.contains(&key.as_str()) {
                    *value = json!("*");
                } else {
                    calm(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(calm),
        _ => {}
    }
}

#[expect(clippy::needless_pass_by_value, reason = "its callers make the value for it")]
fn node(name: &str, labels: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}})
}

const NODES: &str = "/api/v1/nodes";

#[expect(clippy::too_many_lines, reason = "a list of requests")]
async fn administrators_are_answered(cluster: &mut Cluster) {
    let mut talk = Talk::with(cluster.client_of(&Identity::admin()).await);
    talk.create(NODES, node("n1", json!({"a": "1", "keep": "yes"}))).await;
    talk.create(NODES, node("n1", json!({}))).await;
    talk.create(NODES, node("N_1", json!({"a": "not legal"}))).await;
    talk.create(NODES, node("n0", json!({"-b": ""}))).await;
    talk.create(NODES, json!({"apiVersion": "v1", "kind": "Node", "metadata": {}}))
        .await;
    talk.create(NODES, json!({"metadata": {"name": "n2", "resourceVersion": "1"}}))
        .await;
    talk.create(
        &format!("{NODES}?fieldValidation=Strict"),
        json!({"metadata": {"name": "n3"}, "spec": {"podCIDRRRR": "x"}}),
    )
    .await;
    talk.create(&format!("{NODES}?dryRun=All"), node("n4", json!({}))).await;
    talk.get(&format!("{NODES}/n4")).await;
    talk.get("/api/v1/ships").await;
    talk.get("/apis/nowhere.dev/v1/ships").await;

    // Patches of each kind.
    let n1 = format!("{NODES}/n1");
    let fields = format!("{n1}?fieldManager=a-patcher");
    talk.patch(&fields, MERGE, json!({"metadata": {"labels": {"a": null, "b": "2"}}}))
        .await;
    talk.patch(
        &fields,
        STRATEGIC,
        json!({"spec": {"taints": [{"key": "x", "effect": "NoSchedule"}]}}),
    )
    .await;
    talk.patch(
        &fields,
        STRATEGIC,
        json!({"spec": {"taints": [{"key": "y", "effect": "NoExecute"}]}}),
    )
    .await;
    talk.patch(
        &fields,
        JSON_PATCH,
        json!([{"op": "test", "path": "/metadata/labels/b", "value": "3"}]),
    )
    .await;
    talk.patch(
        &fields,
        JSON_PATCH,
        json!([{"op": "remove", "path": "/metadata/labels/none"}]),
    )
    .await;
    talk.patch(
        &fields,
        JSON_PATCH,
        json!([{"op": "add", "path": "/metadata/labels/c~1d", "value": "4"}]),
    )
    .await;
    talk.patch(&fields, PLAIN, json!({})).await;
    talk.patch(&fields, MERGE, json!({"metadata": {"labels": {"b": "not legal"}}}))
        .await;
    talk.patch(
        &fields,
        MERGE,
        json!({"metadata": {"resourceVersion": "1", "labels": {"b": "3"}}}),
    )
    .await;
    talk.patch(
        &format!("{NODES}/none"),
        MERGE,
        json!({"metadata": {"labels": {"b": "3"}}}),
    )
    .await;
    talk.patch(&fields, MERGE, json!({"metadata": {"name": "other"}})).await;
    talk.patch(
        &fields,
        MERGE,
        json!({"metadata": {"uid": "00000000-0000-4000-8000-000000000001"}}),
    )
    .await;

    // Apply, and who owns what.
    let applied = |value: &str| node("n1", json!({"applied": value}));
    talk.patch(&n1, APPLY, applied("1")).await;
    talk.patch(&format!("{n1}?fieldManager=one"), APPLY, applied("1")).await;
    talk.patch(&format!("{n1}?fieldManager=two"), APPLY, applied("2")).await;
    talk.patch(&format!("{n1}?fieldManager=two&force=true"), APPLY, applied("2"))
        .await;
    talk.patch(&format!("{n1}?fieldManager=two"), APPLY, node("n1", json!({})))
        .await;
    talk.patch(
        &format!("{NODES}/n5?fieldManager=one"),
        APPLY,
        node("n5", json!({"a": "1"})),
    )
    .await;
    talk.patch(&format!("{NODES}/n5?fieldManager=one"), APPLY, node("n6", json!({})))
        .await;

    // Status is written apart from the rest.
    let status = json!({"metadata": {"labels": {"sneaked": "in"}}, "status": {"phase": "Running"}});
    talk.patch(&format!("{n1}/status"), MERGE, status).await;
    talk.patch(&n1, MERGE, json!({"status": {"phase": "Pending"}})).await;

    // Updates, with and without a version.
    let mut whole = talk.get(&n1).await;
    whole["metadata"]["managedFields"] = Value::Null;
    whole["metadata"]["resourceVersion"] = json!("1");
    let put = Request::put(&n1)
        .body(whole.to_string().into_bytes())
        .expect("a request");
    let refused = talk.client.request_text(put).await.expect_err("too old");
    writeln!(talk.text, "PUT of an old version\n  {refused}").expect("text");

    // Lists.
    for query in [
        "labelSelector=keep%3Dyes",
        "labelSelector=keep%20in%20(yes,no),!a",
        "labelSelector=%3D%3D",
        "fieldSelector=metadata.name%3Dn5",
        "fieldSelector=spec.unschedulable%3Dtrue",
        "fieldSelector=spec.nonsense%3Dtrue",
        "limit=1",
        "resourceVersion=abc",
        "resourceVersionMatch=Exact",
    ] {
        let list = talk.get(&format!("{NODES}?{query}")).await;
        // The names say enough.
        let names: Vec<&str> = list["items"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|item| item["metadata"]["name"].as_str())
            .collect();
        let more = list["metadata"]["remainingItemCount"].clone();
        if !list.is_null() {
            let end = talk.text.trim_end().rfind('\n').expect("lines");
            talk.text.truncate(end + 1);
            writeln!(talk.text, "  {names:?}, {more} more").expect("text");
        }
    }

    // Deletion, with conditions and with finalizers.
    let options = json!({"preconditions": {"uid": "00000000-0000-4000-8000-000000000001"}});
    talk.ask("DELETE", &n1, PLAIN, options).await;
    talk.patch(&n1, MERGE, json!({"metadata": {"finalizers": ["example.dev/hold"]}}))
        .await;
    talk.delete(&n1).await;
    talk.patch(
        &n1,
        MERGE,
        json!({"metadata": {"finalizers": ["example.dev/hold", "example.dev/more"]}}),
    )
    .await;
    talk.patch(&n1, MERGE, json!({"metadata": {"finalizers": null}})).await;
    talk.get(&n1).await;
    talk.delete(&n1).await;
    talk.delete(&format!("{NODES}/n5")).await;
    talk.ask("POST", &format!("{NODES}/n5"), PLAIN, json!({})).await;

    // A namespace that is not there, and one that is not said.
    talk.create("/api/v1/namespaces/none/configmaps", json!({"metadata": {"name": "c"}}))
        .await;
    talk.create("/api/v1/configmaps", json!({"metadata": {"name": "c"}}))
        .await;
    talk.create(
        "/api/v1/namespaces/default/configmaps",
        json!({"metadata": {"name": "c", "namespace": "other"}}),
    )
    .await;
    let secret = json!({"metadata": {"name": "s"}, "type": "Opaque", "stringData": {"a": "b"}});
    talk.create("/api/v1/namespaces/default/secrets", secret).await;
    talk.get("/api/v1/namespaces/default/secrets/s").await;
    talk.delete("/api/v1/namespaces/default/secrets/s").await;
    talk.end("administrators");
}

async fn kubelets_are_answered(cluster: &mut Cluster) {
    for name in ["own", "other"] {
        if name == "other" {
            cluster.node(name, json!({})).await;
        }
    }
    let mut talk = Talk::with(cluster.client_of(&Identity::kubelet("own")).await);
    for labels in [
        json!({"node-role.kubernetes.io/infra": ""}),
        json!({"node-restriction.kubernetes.io/a": "", "example.com/fine": ""}),
        json!({"example.k8s.io/a": "", "other.kubernetes.io/b": ""}),
    ] {
        talk.create(NODES, node("own", labels)).await;
    }
    talk.create(NODES, node("stranger", json!({}))).await;
    let fine =
        json!({"kubelet.kubernetes.io/a": "", "node.kubernetes.io/b": "", "kubernetes.io/os": "linux", "x.dev/y": "z"});
    talk.create(NODES, node("own", fine)).await;

    let own = format!("{NODES}/own");
    for patch in [
        json!({"metadata": {"labels": {"node-role.kubernetes.io/infra": ""}}}),
        json!({"metadata": {"labels": {"x.dev/y": "changed"}}}),
        json!({"metadata": {"labels": {"node.kubernetes.io/b": null}}}),
        json!({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}),
        json!({"spec": {"unschedulable": true}}),
    ] {
        talk.patch(&own, STRATEGIC, patch).await;
    }
    talk.patch(
        &format!("{NODES}/other"),
        MERGE,
        json!({"metadata": {"labels": {"a": "b"}}}),
    )
    .await;
    talk.patch(
        &format!("{own}/status"),
        STRATEGIC,
        json!({"status": {"phase": "Running"}}),
    )
    .await;
    talk.patch(
        &format!("{NODES}/other/status"),
        STRATEGIC,
        json!({"status": {"phase": "Running"}}),
    )
    .await;
    talk.get(&format!("{NODES}/other")).await;
    talk.get(NODES).await;
    talk.delete(&own).await;
    talk.delete(&format!("{NODES}/other")).await;

    let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
    for name in ["own", "other"] {
        let lease = json!({"metadata": {"name": name}, "spec": {"holderIdentity": name, "leaseDurationSeconds": 40}});
        talk.create(leases, lease).await;
    }
    talk.get(&format!("{leases}/other")).await;
    let elsewhere = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
    talk.create(elsewhere, json!({"metadata": {"name": "own"}})).await;

    talk.get("/api/v1/namespaces/kube-system/secrets/anything").await;
    talk.get("/api/v1/namespaces/kube-system/secrets").await;
    talk.get("/api/v1/namespaces/kube-system/configmaps/anything").await;
    talk.get("/apis/berth.dev/v1alpha1/berths").await;
    talk.create("/apis/berth.dev/v1alpha1/berths", json!({"metadata": {"name": "x"}}))
        .await;
    talk.end("kubelets");
}

#[expect(clippy::too_many_lines, reason = "a list of requests")]
async fn custom_resources_are_answered(cluster: &mut Cluster) {
    let mut talk = Talk::with(cluster.client_of(&Identity::admin()).await);
    let berths = "/apis/berth.dev/v1alpha1/berths";
    let berth = |name: &str, spec: Value| json!({"apiVersion": "berth.dev/v1alpha1", "kind": "Berth", "metadata": {"name": name}, "spec": spec});
    talk.create(berths, berth("b1", json!({"pool": "infra", "unknown": {"a": 1}})))
        .await;
    talk.create(
        &format!("{berths}?fieldValidation=Strict"),
        berth("b2", json!({"pool": "infra", "unknown": 1})),
    )
    .await;
    for wrong in [
        json!({"pool": 7}),
        json!({"labels": {"a": 1}}),
        json!({"labels": {"a": "x".repeat(64)}}),
        json!({"poolPolicy": "x"}),
        json!({"machine": {"macAddresses": "no list"}}),
        json!([]),
    ] {
        talk.create(berths, berth("b3", wrong)).await;
    }
    talk.create(
        berths,
        berth(
            "b4",
            json!({"taints": [{"key": "a", "effect": "Never"}, {"effect": "NoSchedule"}]}),
        ),
    )
    .await;
    talk.create(
        berths,
        json!({"apiVersion": "berth.dev/v1alpha1", "kind": "Berth", "metadata": {"name": "b5"}}),
    )
    .await;
    talk.create(
        berths,
        json!({"apiVersion": "berth.dev/v1", "kind": "Berth", "metadata": {"name": "b6"}, "spec": {}}),
    )
    .await;
    let b1 = format!("{berths}/b1");
    // The generation counts changes of the declaration alone.
    talk.patch(&b1, MERGE, json!({"metadata": {"labels": {"a": "b"}}}))
        .await;
    talk.patch(&b1, MERGE, json!({"spec": {"labels": {"x": "y"}}})).await;
    talk.patch(&b1, MERGE, json!({"status": {"phase": "Occupied"}})).await;
    talk.patch(
        &format!("{b1}/status"),
        MERGE,
        json!({"status": {"phase": "Vacant", "pool": "infra"}, "spec": {"pool": "x"}}),
    )
    .await;
    talk.patch(&format!("{b1}/status"), MERGE, json!({"status": {"phase": "Sunk"}}))
        .await;
    talk.patch(&b1, STRATEGIC, json!({"spec": {"pool": "worker"}})).await;
    talk.patch(&format!("{b1}/scale"), MERGE, json!({})).await;
    // Maps and lists have owners for each of their entries.
    let one = format!("{b1}?fieldManager=one");
    let two = format!("{b1}?fieldManager=two");
    talk.patch(&one, APPLY, berth("b1", json!({"labels": {"l1": "1"}})))
        .await;
    talk.patch(&two, APPLY, berth("b1", json!({"labels": {"l2": "2"}})))
        .await;
    talk.patch(&two, APPLY, berth("b1", json!({"labels": {"l1": "2"}})))
        .await;
    talk.patch(&one, APPLY, berth("b1", json!({}))).await;
    talk.get(&b1).await;
    talk.delete(&b1).await;
    talk.get(&b1).await;

    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let boats = |schema: Value| {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "boats.example.dev"},
            "spec": {
                "group": "example.dev", "scope": "Cluster", "names": {"plural": "boats", "kind": "Boat"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
            },
        })
    };
    let mut misnamed = boats(json!({"type": "object"}));
    misnamed["metadata"]["name"] = json!("ships.example.dev");
    let answers = [misnamed, boats(json!({}))];
    for wrong in answers {
        talk.create(definitions, wrong).await;
    }
    cluster
        .define(boats(json!({"type": "object", "properties": {
            "spec": {"type": "object", "required": ["size"], "properties": {
                "size": {"type": "integer", "minimum": 1, "maximum": 9, "multipleOf": 2},
                "name": {"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^[a-z]+$"},
                "colour": {"type": "string", "default": "white"},
                "since": {"type": "string", "format": "date-time"},
                "crew": {"type": "array", "minItems": 1, "maxItems": 2, "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                "decks": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "required": ["name"], "properties": {
                        "name": {"type": "string"}, "length": {"type": "integer"},
                    }}},
                "draught": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                "cargo": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            }},
        }})))
        .await;
    let boats = "/apis/example.dev/v1/boats";
    let boat =
        |spec: Value| json!({"apiVersion": "example.dev/v1", "kind": "Boat", "metadata": {"name": "b"}, "spec": spec});
    for spec in [
        json!({}),
        json!({"size": "4"}),
        json!({"size": 0}),
        json!({"size": 10}),
        json!({"size": 3}),
        json!({"size": 4, "name": "a"}),
        json!({"size": 4, "name": "abcde"}),
        json!({"size": 4, "name": "A1"}),
        json!({"size": 4, "since": "yesterday"}),
        json!({"size": 4, "crew": []}),
        json!({"size": 4, "crew": ["a", "b", "c"]}),
        json!({"size": 4, "crew": ["a", "a"]}),
        json!({"size": 4, "decks": [{"name": "a"}, {"name": "a"}]}),
        json!({"size": 4, "decks": [{"length": 1}]}),
        json!({"size": 4, "name": null, "draught": "4m", "cargo": {"any": [1, {"thing": null}]}, "unknown": {"x": 1}}),
    ] {
        talk.create(boats, boat(spec)).await;
    }
    let one = format!("{boats}/b?fieldManager=one");
    let two = format!("{boats}/b?fieldManager=two");
    talk.patch(
        &one,
        APPLY,
        boat(json!({"decks": [{"name": "upper", "length": 1}], "crew": ["ann"]})),
    )
    .await;
    talk.patch(
        &two,
        APPLY,
        boat(json!({"decks": [{"name": "lower", "length": 2}], "crew": ["bob"]})),
    )
    .await;
    talk.patch(&two, APPLY, boat(json!({"decks": [{"name": "upper", "length": 3}]})))
        .await;
    talk.patch(&one, APPLY, boat(json!({"decks": [], "size": 6}))).await;
    talk.patch(
        &format!("{one}&force=true"),
        APPLY,
        boat(json!({"decks": [], "size": 6})),
    )
    .await;
    talk.delete(&format!("{boats}/b")).await;
    talk.end("custom-resources");
}
