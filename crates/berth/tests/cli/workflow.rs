//! Relabelling as a user does it: documents are committed, a server runs beside a cluster, and actions are typed.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

use berth_clock::Clock;
use berth_sim::{ApiServer, Cluster, ClusterOptions, Identity, kubeconfig};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::{
    run::{Folder, Outcome, command, finish},
    served::Served,
};

const SITE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/layered-site");

/// A cluster with a Node for every machine of the site, and a server on its committed documents.
struct World {
    runtime: Runtime,
    cluster: ApiServer,
    folder: Folder,
    served: Option<Served>,
    server: String,
    nodes: Vec<String>,
}

impl World {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let folder = Folder::new();
        let cluster = Cluster::new(ClusterOptions::new(Clock::system(), 7));
        cluster.add_token("admin", Identity::administrator());
        let address = "127.0.0.1:0".parse().unwrap();
        let cluster = runtime.block_on(ApiServer::start(cluster, address)).unwrap();
        folder.write("kubeconfig", kubeconfig(&cluster.url(), "admin"));
        let mut world = Self {
            runtime,
            cluster,
            folder,
            served: None,
            server: String::new(),
            nodes: Vec::new(),
        };
        let resolved = world.berth(&format!("resolve -f {SITE} -o json")).json();
        world.nodes = resolved
            .as_array()
            .unwrap()
            .iter()
            .map(|node| node["node"].as_str().unwrap().to_owned())
            .collect();
        for node in world.nodes.clone() {
            world.add_node(&node);
        }
        world
    }

    fn add_node(&self, name: &str) {
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {
            "kubernetes.io/hostname": name, "k8s.ovn.org/egress-assignable": "", "by-hand": "yes"}}});
        self.runtime.block_on(self.cluster.cluster().apply(&node)).unwrap();
    }

    fn labels(&self, name: &str) -> BTreeMap<String, String> {
        let nodes = self.cluster.cluster().objects("", "v1", "nodes");
        let node = nodes.iter().find(|node| node["metadata"]["name"] == name).unwrap();
        serde_json::from_value(node["metadata"]["labels"].clone()).unwrap()
    }

    fn delete_node(&self, name: &str) {
        let url = format!("{}/api/v1/nodes/{name}", self.cluster.url());
        let answer = self
            .runtime
            .block_on(reqwest::Client::new().delete(url).send())
            .unwrap();
        assert!(answer.status().is_success(), "{answer:?}");
    }

    fn set_label(&self, name: &str, key: &str, value: &str) {
        let url = format!("{}/api/v1/nodes/{name}", self.cluster.url());
        let patch = json!({"metadata": {"labels": {key: value}}}).to_string();
        let request = reqwest::Client::new().patch(url).body(patch);
        let request = request.header("content-type", "application/merge-patch+json");
        let answer = self.runtime.block_on(request.send()).unwrap();
        assert!(answer.status().is_success(), "{answer:?}");
    }

    fn serve(&mut self) {
        let served = Served::start(command().current_dir(self.folder.path()).args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--database",
            "sqlite:berth.db",
            "--cluster-kubeconfig",
            "kubeconfig",
        ]));
        self.server = format!("http://{}", served.address("the API is listening"));
        self.served = Some(served);
    }

    /// Types a command line in the folder.
    fn berth(&self, words: &str) -> Outcome {
        let mut command = command();
        command.current_dir(self.folder.path()).args(words.split_whitespace());
        if !self.server.is_empty() {
            command.env("BERTH_SERVER", &self.server);
        }
        finish(&mut command, b"")
    }

    fn done(&self, words: &str) -> Outcome {
        let outcome = self.berth(words);
        assert_eq!(outcome.exit, 0, "{words}\n{outcome}");
        outcome
    }

    fn resumed(&self, id: &str) {
        let resumed = self.done(&format!("resume {id} -o json")).json();
        assert_eq!(resumed["id"], json!(id));
    }

    /// At a terminal the action is waited for while somebody lets it go on.
    fn resumed_at_a_terminal(&self) {
        let Some(script) = crate::up::program("script") else {
            return;
        };
        let line = format!("{} relabel --all --wait", env!("CARGO_BIN_EXE_berth"));
        let mut waiting = Command::new(script)
            .current_dir(self.folder.path())
            .env("BERTH_SERVER", &self.server)
            .env("TERM", "xterm")
            .args(["-q", "-f", "-e", "-c", &line, "/dev/null"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let shown = BufReader::new(waiting.stdout.take().unwrap()).lines();
        let mut shown = shown.map(Result::unwrap);
        let asked = shown.find(|line| line.contains("the action is paused: ")).unwrap();
        let id = asked.split_once("berth resume ").unwrap().1;
        self.resumed(id.split('`').next().unwrap());
        let rest: Vec<String> = shown.collect();
        assert!(
            rest.iter().any(|line| line.contains("Complete, 2 nodes: 2 done")),
            "{rest:?}"
        );
        assert!(
            !rest.iter().any(|line| line.contains("the action is paused")),
            "{rest:?}"
        );
        assert_eq!(waiting.wait().unwrap().code(), Some(0));
    }

    /// The action once it is over.
    fn ended(&self, id: &str) -> Value {
        let words = format!("describe {id} -o json");
        let over = (0..600).find_map(|_| {
            let action = self.berth(&words).json();
            let lifecycle = action["action_lifecycle"].as_str().unwrap();
            ["Complete", "Failed"].contains(&lifecycle).then_some(action)
        });
        over.unwrap()
    }

    fn refused(&self, words: &str, exit: i32, why: &str) -> Outcome {
        let outcome = self.berth(words);
        assert_eq!(outcome.exit, exit, "{words}\n{outcome}");
        assert!(outcome.stderr.contains(why), "{words}\n{outcome}");
        outcome
    }
}

#[test]
fn a_site_is_committed_and_its_nodes_are_relabelled() {
    let mut world = World::new();
    world.serve();
    let first = world.nodes[0].clone();
    let all = world.nodes.len();

    // Before there is anything to do.
    world.refused(&format!("relabel {first}"), 1, "No committed configdocs");
    world.refused("relabel --all", 1, "nothing is committed yet");
    world.done(&format!("configdocs load site -f {SITE}"));
    world.done("configdocs commit");
    world.refused(&format!("relabel {first}"), 1, "site action");
    world.done("site-action record");

    // A look at what would happen changes nothing.
    let before = world.labels(&first);
    let dry = world.done(&format!("relabel {first} --dry-run -o json")).json();
    assert_eq!(
        dry["nodes"][0]["diff"]["removed"],
        json!({}),
        "only what Berth set: {dry}"
    );
    let dry = world.done(&format!("relabel {first} --strategy mirror --dry-run"));
    assert!(
        dry.stdout.contains("-by-hand") && dry.stdout.contains("dry run"),
        "{dry}"
    );
    let dry = world
        .done(&format!("relabel {first} --strategy mirror --dry-run -o json"))
        .json();
    assert_eq!(dry["nodes"][0]["diff"]["removed"], json!({"by-hand": "yes"}), "{dry}");
    assert_eq!(world.labels(&first), before);
    assert_eq!(world.done("actions -o json").json(), json!([]));

    // All nodes, followed to the end.
    let outcome = world.done("relabel --all --wait");
    assert!(
        outcome.stdout.contains(&format!("Complete, {all} nodes: {all} done")),
        "{outcome}"
    );
    for node in &world.nodes {
        assert_eq!(
            outcome.stderr.matches(&format!("{node}: done: ")).count(),
            1,
            "{outcome}"
        );
    }
    let resolved = world.berth(&format!("resolve -f {SITE} -o json")).json();
    for node in resolved.as_array().unwrap() {
        let labels = world.labels(node["node"].as_str().unwrap());
        for (key, value) in node["labels"].as_object().unwrap() {
            let value = value.as_str().or_else(|| value["value"].as_str()).unwrap();
            assert_eq!(labels.get(key).map(String::as_str), Some(value), "{key} {labels:?}");
        }
        for kept in ["by-hand", "kubernetes.io/hostname", "k8s.ovn.org/egress-assignable"] {
            assert!(labels.contains_key(kept), "{kept} {labels:?}");
        }
    }

    // A second time there is nothing to do.
    let again = world.done(&format!("relabel {first} --wait"));
    assert!(
        again.stderr.contains(&format!("{first}: done: nothing to change")),
        "{again}"
    );

    // Names and filters that mean nothing.
    world.refused("relabel nobody", 1, "nobody");
    world.refused("relabel --filter rack=nowhere", 1, "no node meets the filter");
    world.refused("relabel --filter zone=1", 2, "is not a criterion");
    world.refused(
        &format!("relabel {first} --filter rack=nowhere"),
        1,
        "no node meets the filter",
    );
    world.refused(&format!("relabel nobody --filter name={first}"), 1, "nobody");
    let second = &world.nodes[1];
    let both = world.done(&format!(
        "relabel {second} {first} --filter name={first} --dry-run -o name"
    ));
    assert_eq!(both.stdout, format!("node/{first}\n"), "of those that are named");
    world.refused("actions --limit 0", 2, "--limit");
    world.refused("actions --lifecycle odd", 2, "Processing");
    let none = world.done("actions --lifecycle paused,failed");
    assert!(none.stderr.contains("no action stands so"), "{none}");
    let listed = world.done("actions --lifecycle complete -o json").json();
    assert_eq!(listed.as_array().unwrap().len(), 2);
    world.refused(&format!("describe {}", "0".repeat(26)), 2, "Action not found");

    // What somebody else has changed since stays, and the dry run says it as the action does.
    let key = world
        .labels(&first)
        .into_keys()
        .find(|key| key.starts_with("telco.example/"));
    world.set_label(&first, &key.unwrap(), "by-somebody");
    for words in [format!("relabel {first} --dry-run"), format!("relabel {first} --wait")] {
        let outcome = world.berth(&words);
        assert_eq!(outcome.exit, 1, "{words}\n{outcome}");
        assert!(
            outcome.to_string().contains("somebody else set it"),
            "{words}\n{outcome}"
        );
    }
}

#[test]
fn what_failed_is_run_again_and_nothing_else() {
    let mut world = World::new();
    world.serve();
    world.done(&format!("configdocs load site -f {SITE}"));
    world.done("configdocs commit");
    world.done("site-action record");
    let (here, gone) = (world.nodes[0].clone(), world.nodes[1].clone());
    world.delete_node(&gone);

    let outcome = world.refused(&format!("relabel {here} {gone} --wait"), 1, &format!("{gone}: failed"));
    assert!(
        outcome.stdout.contains("Failed, 2 nodes: 1 done, 1 failed"),
        "{outcome}"
    );
    assert!(outcome.stderr.contains("berth retry"), "{outcome}");

    let listed = world.done("actions -o name").stdout;
    let action = listed.trim();
    assert!(action.starts_with("action/"), "{listed}");
    let described = world.refused(&format!("describe {action}"), 1, "");
    assert!(
        described.stdout.contains("Lifecycle:") && described.stdout.contains(&gone),
        "{described}"
    );

    world.add_node(&gone);
    let outcome = world.done(&format!("retry {action} --wait"));
    assert!(outcome.stdout.contains("Complete, 2 nodes: 2 done"), "{outcome}");
    assert!(world.labels(&gone).contains_key("by-hand"), "what people set stays");
    let nodes = world.done(&format!("describe {action} -o json")).json()["nodes"].clone();
    let attempts = |name: &str| {
        let node = nodes.as_array().unwrap().iter().find(|node| node["name"] == name);
        node.unwrap()["attempts"].as_u64().unwrap()
    };
    assert!(attempts(&here) == 1 && attempts(&gone) > 1, "{nodes}");

    // What is over cannot be steered.
    world.refused(&format!("stop {action}"), 1, "Unable to stop action");
    world.refused(&format!("pause {action}"), 1, "Unable to pause action");
    world.refused(&format!("resume {action}"), 1, "Unable to unpause action");
    world.refused(&format!("retry {action}"), 1, "Unable to retry action");
}

/// A relabelled site whose documents have lost most of their labels since, and the two nodes that are left in them.
fn emptied() -> (World, Vec<String>) {
    let mut world = World::new();
    world.serve();
    world.done(&format!("configdocs load site -f {SITE}"));
    world.done("configdocs commit");
    world.done("site-action record");
    world.done("relabel --all --wait");
    let mut emptied =
        "schema: deckhand/LayeringPolicy/v1\nmetadata: {schema: metadata/Control/v1, name: layering-policy}\n\
                       data: {layerOrder: [site]}\n"
            .to_owned();
    let names = world.nodes[..2].to_vec();
    for name in &names {
        let node = format!(
            "---\nschema: drydock/BaremetalNode/v1\nmetadata: {{schema: metadata/Document/v1, name: {name}, storagePolicy: \
             cleartext, layeringDefinition: {{abstract: false, layer: site}}}}\ndata: {{addressing: [{{network: pxe, \
             address: dhcp}}]}}\n"
        );
        emptied.push_str(&node);
    }
    world.folder.write("emptied.yaml", emptied);
    world.done("configdocs load site -f emptied.yaml --replace");
    world.done("configdocs commit");
    (world, names)
}

/// Whoever waits for an action that stops and asks is told why, and what to type.
#[test]
fn an_action_that_asks_says_what_it_asks() {
    let (world, names) = emptied();

    // A script is not kept waiting for somebody who is not there.
    let asked = |words: &str| {
        let outcome = world.refused(words, 1, "the action is paused: ");
        assert_eq!(outcome.stderr.matches("the action is paused").count(), 1, "{outcome}");
        for part in ["labels that Berth owns", "would be removed", "gives it up"] {
            assert!(outcome.stderr.contains(part), "{part}\n{outcome}");
        }
        let id = outcome.stderr.split_once("berth resume ").unwrap().1;
        let id = id.split('`').next().unwrap().to_owned();
        assert!(outcome.stderr.contains(&format!("`berth stop {id}`")), "{outcome}");
        let line = format!("action/{id}: Paused, 2 nodes: 2 to go\n");
        assert_eq!(outcome.stdout, line, "{outcome}");
        id
    };
    let given_up = asked("relabel --all --wait");
    world.refused("relabel --all", 1, "conflicts with paused update_labels");
    world.done(&format!("stop {given_up}"));
    let ended = world.ended(&given_up);
    assert_eq!(ended["action_lifecycle"], "Failed", "{ended:#}");
    let described = world.refused(&format!("describe {given_up}"), 1, "");
    assert!(
        described.stdout.contains("Nodes:     2 nodes: 2 skipped\n"),
        "{described}"
    );

    let id = asked("relabel --all --wait");
    world.resumed(&id);
    let ended = world.ended(&id);
    assert_eq!(ended["action_lifecycle"], "Complete", "{ended:#}");
    for name in &names {
        assert_eq!(
            world.labels(name).keys().collect::<Vec<_>>(),
            ["by-hand", "k8s.ovn.org/egress-assignable", "kubernetes.io/hostname"]
        );
    }
}

#[test]
fn an_action_that_asks_is_waited_for_at_a_terminal() {
    let (world, _) = emptied();
    world.resumed_at_a_terminal();
}

#[test]
fn scripts_for_shipyard_are_pointed_at_berth() {
    let mut world = World::new();
    world.serve();
    world.done(&format!("shipyard create configdocs site --directory={SITE} --recurse"));
    world.done("shipyard commit configdocs");
    let documents = world.done("shipyard get configdocs --collection=site --committed");
    assert!(documents.stdout.contains("schema: "), "{documents}");
    world.done("site-action record");
    let (one, other) = (world.nodes[0].clone(), world.nodes[1].clone());
    let created = world.done(&format!(
        "shipyard --os-auth-url=http://keystone create action update_labels --param=target_nodes={one},{other}"
    ));
    let action = created
        .stdout
        .split_whitespace()
        .find(|word| word.starts_with("action/"))
        .unwrap_or_else(|| panic!("{created}"))
        .to_owned();
    assert!(created.stdout.contains("update_labels"), "{created}");

    // Scripts wait by asking again and again.
    let asked = (0..600).find_map(|_| {
        let described = world.done(&format!("shipyard describe {action} --output-format=raw"));
        let document: Value = serde_json::from_str(&described.stdout).unwrap();
        let lifecycle = document["action_lifecycle"].as_str().unwrap().to_owned();
        ["Complete", "Failed"]
            .contains(&lifecycle.as_str())
            .then_some((lifecycle, document))
    });
    let (lifecycle, document) = asked.unwrap();
    assert_eq!(lifecycle, "Complete", "{document:#}");
    assert!(!world.labels(&one).contains_key("by-hand"));

    let listed = world.done("shipyard get actions");
    assert!(
        listed.stdout.contains("Step Succ/Fail/Oth") && listed.stdout.contains(&action),
        "{listed}"
    );
    let described = world.done(&format!("shipyard describe {action}"));
    assert!(described.stdout.contains("Lifecycle:       Complete"), "{described}");
    let id = action.trim_start_matches("action/");
    let step = world.done(&format!("shipyard describe step/{id}/relabel_nodes"));
    assert!(step.stdout.contains("State:           success"), "{step}");
    world.done(&format!("shipyard logs step/{id}/relabel_nodes"));
    let flows = world.done("shipyard get workflows");
    assert!(
        flows.stdout.contains("SUCCESS") || flows.stdout.contains("success"),
        "{flows}"
    );
    world.refused(&format!("shipyard stop {action}"), 1, "Unable to stop action");
    world.refused(
        "shipyard describe action/1",
        2,
        "Invalid ID. ID can only be 26 characters.",
    );
    world.refused(
        "shipyard create action deploy_site",
        1,
        "Unsupported Action: deploy_site",
    );
}

#[test]
fn scripts_for_drydock_and_promenade_are_pointed_at_berth() {
    let mut world = World::new();
    world.serve();
    world.done(&format!("configdocs load site -f {SITE}"));
    world.refused("drydock design validate", 1, "nothing is committed yet");
    world.done("configdocs commit");
    let node = world.nodes[0].clone();
    let validated: Value = serde_json::from_str(&world.done("drydock design validate").stdout).unwrap();
    assert_eq!(
        (&validated["status"], &validated["code"]),
        (&"Success".into(), &200.into()),
        "{validated}"
    );
    world.done("promenade validate-design");
    let created = world.done(&format!(
        "drydock task create -a relabel_nodes -n {node} -b --poll-interval=1"
    ));
    let task: Value = serde_json::from_str(&created.stdout).unwrap();
    assert_eq!(
        (&task["status"], &task["result"]["successes"]),
        (&"complete".into(), &vec![node.clone()].into())
    );
    let id = task["task_id"].as_str().unwrap();
    let shown: Value = serde_json::from_str(&world.done(&format!("drydock task show -t {id}")).stdout).unwrap();
    assert_eq!(shown["task_id"], id);
    for flags in ["-b", "--block", "--no-block", "--block --no-block"] {
        assert_eq!(
            world.done(&format!("drydock task show -t {id} {flags}")).stdout,
            format!("{shown:#}\n")
        );
    }
    let listed: Value = serde_json::from_str(&world.done("drydock task list").stdout).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 2, "the task and its one subtask");
    let nodes = world.done("drydock node list");
    assert!(
        nodes.stdout.starts_with("NODE") && nodes.stdout.contains(&node),
        "{nodes}"
    );
    let labels = world.done(&format!("promenade node-labels show {node}"));
    assert!(labels.stdout.contains("kubernetes.io/hostname"), "{labels}");
    let update = format!("promenade node-labels update {node} --label=a=b --dry-run");
    assert!(world.done(&update).stdout.contains("Success"));
    world.refused(
        &format!("promenade node-labels update {node} --label=a"),
        2,
        "is not KEY=VALUE",
    );
    world.refused(
        "drydock task create -a deploy_nodes",
        1,
        "Unsupported action deploy_nodes",
    );
    world.refused("drydock task show -t nothing", 2, "Task nothing does not exist");
    world.refused(&format!("drydock task resume -t {id}"), 1, "Unable to unpause action");
}
