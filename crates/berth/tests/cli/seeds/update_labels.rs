//! The workflow that updates node labels: the bodies that its blueprint shows, sent by curl to the paths that it shows, to `berth
//! serve` as it is, with a cluster behind it. What scripts for Shipyard's command line type is in `workflow.rs`.

use std::{process::Command, time::Duration};

use berth_clock::Clock;
use berth_sim::{ApiServer, Cluster, ClusterOptions, Identity, kubeconfig};
use serde_json::{Value, json};

use crate::{
    run::{Folder, command},
    served::Served,
};

/// The action, as the blueprint writes it.
const ACTION: &str = r#"{
    "name" : "update_labels",
    "parameters" : {
      "target_nodes": [ "node1", "node2"]
    }
  }"#;

/// The task, with the comma after its last item that the blueprint has.
const TASK: &str = r#"{
    "action": "relabel_nodes",
    "design_ref": "<deckhand_uri>",
    "node_filter": {
      "filter_set_type": "union",
      "filter_set": [
        {
          "filter_type": "union",
          "node_names": ["node1", "node2"],
          "node_tags": [],
          "node_labels": {},
          "rack_names": [],
          "rack_labels": {},
        }
      ]
    }
  }"#;

/// The labels of one node.
const LABELS: &str = r#"{
    "label-a":"true",
    "label-n":"some-value"
  }"#;

const SITE: &str = "\
---
schema: deckhand/LayeringPolicy/v1
metadata: {schema: metadata/Control/v1, name: layers}
data: {layerOrder: [site]}
---
schema: drydock/BaremetalNode/v1
metadata: {schema: metadata/Document/v1, name: node1, storagePolicy: cleartext, layeringDefinition: {abstract: false, layer: site}}
data: {addressing: [{network: pxe, address: dhcp}], metadata: {owner_data: {label-a: 'true'}}}
---
schema: drydock/BaremetalNode/v1
metadata: {schema: metadata/Document/v1, name: node2, storagePolicy: cleartext, layeringDefinition: {abstract: false, layer: site}}
data: {addressing: [{network: pxe, address: dhcp}], metadata: {owner_data: {label-b: 'true'}}}
";

/// What curl says: the code, and the body.
fn curl(token: &str, arguments: &[&str]) -> (u16, Value) {
    let said = Command::new("curl")
        .args(["--silent", "--show-error", "--max-time", "60"])
        .args(["--write-out", "\n%{http_code}"])
        .args(["--header", &format!("X-Auth-Token: {token}")])
        .args(arguments)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&said.stdout);
    let (body, code) = text.rsplit_once('\n').unwrap_or_else(|| panic!("{said:?}"));
    let body = serde_json::from_str(body).unwrap_or_else(|_| Value::from(body));
    (code.parse().unwrap(), body)
}

struct World {
    token: String,
    api: String,
    cluster: ApiServer,
    _served: Served,
    _folder: Folder,
}

impl World {
    async fn start(prefix: &str, nodes: &[&str]) -> Self {
        let cluster = Cluster::new(ClusterOptions::new(Clock::system(), 1));
        cluster.add_token("admin", Identity::administrator());
        for name in nodes {
            let labels = json!({"kubernetes.io/hostname": name, "old": "yes"});
            let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}});
            cluster.apply(&node).await.unwrap();
        }
        let cluster = ApiServer::start(cluster, "127.0.0.1:0".parse().unwrap()).await.unwrap();
        let folder = Folder::new();
        let config = folder.path().join("kubeconfig");
        std::fs::write(&config, kubeconfig(&cluster.url(), "admin")).unwrap();
        let tokens = folder.path().join("tokens.json").display().to_string();
        let created = folder.line(&format!(
            "token create --role operator --comment ana --token-file {tokens}"
        ));
        assert_eq!(created.exit, 0, "{created}");
        let mut serve = command();
        serve.args(["serve", "--listen", "127.0.0.1:0", "--auth", "tokens", &tokens]);
        serve.args(["--cluster-kubeconfig", &config.display().to_string()]);
        serve.args([
            "--database",
            &format!("sqlite:{}", folder.path().join("berth.db").display()),
        ]);
        let served = Served::start(&mut serve);
        let api = format!("http://{}{prefix}", served.address("the API is listening"));
        Self {
            token: created.stdout.trim().to_owned(),
            api,
            cluster,
            _served: served,
            _folder: folder,
        }
    }

    /// Sends a body as JSON.
    fn send(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let url = format!("{}/{path}", self.api);
        let json = "Content-Type: application/json";
        curl(&self.token, &["-X", method, "--header", json, "--data", body, &url])
    }

    fn get(&self, path: &str) -> Value {
        let (code, body) = curl(&self.token, &[&format!("{}/{path}", self.api)]);
        assert_eq!(code, 200, "{path}: {body}");
        body
    }

    /// Asks again until a field has a value.
    fn wait(&self, path: &str, field: &str, value: &str) -> Value {
        for _ in 0..1200 {
            let body = self.get(path);
            if body[field] == value {
                return body;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("{path} never has {field} {value}")
    }

    fn labels(&self, node: &str) -> Vec<String> {
        let nodes = self.cluster.cluster().objects("", "v1", "nodes");
        let node = nodes.iter().find(|it| it["metadata"]["name"] == node).unwrap();
        let labels = node["metadata"]["labels"].as_object().unwrap();
        let label = |(key, value): (&String, &Value)| format!("{key}={}", value.as_str().unwrap());
        labels.iter().map(label).collect()
    }
}

impl World {
    /// Commits the site and says that it was deployed.
    fn commit(&self) {
        let yaml = "Content-Type: application/x-yaml";
        let load = format!("{}/configdocs/site", self.api);
        let (code, body) = curl(&self.token, &["--header", yaml, "--data-binary", SITE, &load]);
        assert_eq!(code, 201, "{body}");
        let (code, body) = self.send("POST", "commitconfigdocs", "");
        assert_eq!(code, 200, "{body}");
        let (code, body) = self.send("POST", "actions", ACTION);
        assert_eq!((code, &body["message"]), (400, &json!("No site action")));
        let tag = format!("{}/revisions/1/tags/site-action-success", self.api);
        let (code, _) = curl(&self.token, &["-X", "POST", "--header", yaml, &tag]);
        assert_eq!(code, 201);
    }

    /// The tags of the only revision.
    fn tags(&self) -> String {
        let (code, body) = curl(&self.token, &[&format!("{}/revisions/1/tags", self.api)]);
        assert_eq!(code, 200, "{body}");
        body.as_str().unwrap().to_owned()
    }
}

/// Whether curl is there. Without it nothing runs, which fails where the tools are required.
fn has_curl() -> bool {
    crate::up::program("curl").is_some()
}

/// The paths as the blueprint writes them, and as the services have them.
#[tokio::test(flavor = "multi_thread")]
async fn the_blueprints_own_bodies() {
    if !has_curl() {
        return;
    }
    for prefix in ["/v1.0", "/api/v1.0"] {
        bodies(&World::start(prefix, &["node1", "node2"]).await);
    }
}

fn bodies(world: &World) {
    let (code, body) = world.send("POST", "actions", ACTION);
    assert_eq!((code, &body["message"]), (400, &json!("No committed configdocs")));
    world.commit();
    let tags = world.tags();

    let (code, action) = world.send("POST", "actions", ACTION);
    assert_eq!(code, 201, "{action}");
    assert_eq!(action["user"], "ana");
    let path = format!("actions/{}", action["id"].as_str().unwrap());
    world.wait(&path, "action_lifecycle", "Complete");
    assert_eq!(world.labels("node1"), ["kubernetes.io/hostname=node1", "label-a=true"]);
    assert_eq!(world.labels("node2"), ["kubernetes.io/hostname=node2", "label-b=true"]);
    assert_eq!(world.tags(), tags, "a targeted action is not a site action");

    let (code, task) = world.send("POST", "tasks", TASK);
    assert_eq!(code, 201, "{task}");
    let path = format!("tasks/{}", task["task_id"].as_str().unwrap());
    let task = world.wait(&path, "status", "complete");
    assert_eq!(task["result"]["successes"], json!(["node1", "node2"]));

    let (code, status) = world.send("PUT", "node-labels/node1", LABELS);
    assert_eq!((code, &status["status"]), (200, &json!("Success")));
    assert_eq!(
        world.labels("node1"),
        ["kubernetes.io/hostname=node1", "label-a=true", "label-n=some-value"]
    );
    let (code, body) = world.send("PUT", "node-labels/nobody", LABELS);
    assert_eq!((code, &body["message"]), (404, &json!("Node not found")));
    let (code, _) = curl("wrong", &[&format!("{}/actions", world.api)]);
    assert_eq!(code, 401);
    let (code, body) = curl(&world.token, &["-X", "DELETE", &format!("{}/revisions", world.api)]);
    assert_eq!(code, 403, "{body}");
}

/// "Disposition the step as failure if any nodes are unsuccessful. This may result in a partial update. No rollbacks." Every node is
/// a subtask, and the task rolls them up.
#[tokio::test(flavor = "multi_thread")]
async fn a_partial_update_is_a_failure_and_stays() {
    if !has_curl() {
        return;
    }
    let world = World::start("/v1.0", &["node1"]).await;
    let (code, body) = world.send("POST", "actions", ACTION);
    assert_eq!((code, &body["message"]), (400, &json!("No committed configdocs")));
    world.commit();
    let (code, action) = world.send("POST", "actions", ACTION);
    assert_eq!(code, 201, "{action}");
    let id = action["id"].as_str().unwrap();
    let action = world.wait(&format!("actions/{id}"), "action_lifecycle", "Failed");
    let step = world.get(&format!("actions/{id}/steps/relabel_nodes"));
    assert_eq!(step["state"], "failed", "{step:#}");
    assert_eq!(world.labels("node1"), ["kubernetes.io/hostname=node1", "label-a=true"]);
    let task = world.get(&format!("tasks/{}", action["task_id"].as_str().unwrap()));
    assert_eq!(task["result"]["successes"], json!(["node1"]), "{task:#}");
    assert_eq!(task["result"]["failures"], json!(["node2"]), "{task:#}");
    let subtasks = task["subtask_id_list"].as_array().unwrap();
    assert_eq!(subtasks.len(), 2, "{task:#}");
    for (subtask, outcome) in subtasks.iter().zip(["success", "failure"]) {
        let subtask = world.get(&format!("tasks/{}", subtask.as_str().unwrap()));
        assert_eq!(subtask["result"]["status"], outcome, "{subtask:#}");
    }
}

/// "Does not allow for addition or elimination of node labels without an update of the site definition documents": what is loaded and
/// not committed does not count, and a node that the documents do not have is named at once.
#[tokio::test(flavor = "multi_thread")]
async fn labels_come_from_the_committed_documents_alone() {
    if !has_curl() {
        return;
    }
    let world = World::start("/v1.0", &["node1", "node2", "node3"]).await;
    world.commit();
    let (code, body) = world.send("POST", "actions", &ACTION.replace("node2", "node3"));
    assert_eq!(code, 400, "{body}");
    assert!(body.to_string().contains("node3"), "{body}");
    assert_eq!(
        world.labels("node1"),
        ["kubernetes.io/hostname=node1", "old=yes"],
        "nothing ran"
    );

    let yaml = "Content-Type: application/x-yaml";
    let load = format!("{}/configdocs/site?buffermode=replace", world.api);
    let changed = SITE.replace("label-a: 'true'", "label-a: 'false'");
    let (code, body) = curl(&world.token, &["--header", yaml, "--data-binary", &changed, &load]);
    assert_eq!(code, 201, "{body}");
    let relabel = |value: &str| {
        let (code, action) = world.send("POST", "actions", ACTION);
        assert_eq!(code, 201, "{action}");
        let path = format!("actions/{}", action["id"].as_str().unwrap());
        world.wait(&path, "action_lifecycle", "Complete");
        let label = format!("label-a={value}");
        assert_eq!(world.labels("node1"), ["kubernetes.io/hostname=node1", &label]);
    };
    relabel("true");
    let (code, body) = world.send("POST", "commitconfigdocs", "");
    assert_eq!(code, 200, "{body}");
    relabel("false");
}
