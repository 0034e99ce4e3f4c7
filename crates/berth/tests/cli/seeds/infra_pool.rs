//! Workers that become infrastructure nodes: a pool, a machine config for it, and labels that people change by hand.

use serde_json::{Value, json};

use super::{done, item, pool_of, strings};
use crate::{
    ignition_server::{Server, file},
    run::{Folder, command},
};

/// The pool, as the procedure types it.
const POOL: &str = r#"apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata:
  name: infra
spec:
  machineConfigSelector:
    matchExpressions:
      - {key: machineconfiguration.openshift.io/role, operator: In, values: [worker,infra]}
  nodeSelector:
    matchLabels:
      node-role.kubernetes.io/infra: ""
  paused: false
"#;

/// The machine config of the pool alone, in the spec of the first releases. The procedure writes it into a file of the same name as
/// the pool's, so that each is applied before the next is written.
const CONFIG: &str = r"apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  labels:
    machineconfiguration.openshift.io/role: infra
  name: 50-infra
spec:
  config:
    ignition:
      version: 2.2.0
    storage:
      files:
      - contents:
          source: data:,test
        filesystem: root
        mode: 0644
        path: /etc/testinfra
";

/// What the installation brings: the pool of all workers and its configuration, in the spec of today.
const INSTALLED: &str = r#"apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {name: worker}
spec:
  machineConfigSelector:
    matchLabels: {machineconfiguration.openshift.io/role: worker}
  nodeSelector:
    matchLabels: {node-role.kubernetes.io/worker: ""}
---
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  name: 00-worker
  labels: {machineconfiguration.openshift.io/role: worker}
spec:
  config:
    ignition: {version: 3.2.0}
    storage:
      files:
      - {path: /etc/customtest, mode: 420, contents: {source: "data:,custom"}}
"#;

fn cluster() -> Folder {
    let folder = Folder::new();
    folder
        .write("site/installed.yaml", INSTALLED)
        .write("site/infra-machineconfigpool.yaml", POOL)
        .write("site/50-infra.yaml", CONFIG);
    folder
}

/// Nodes as `oc get nodes -o json` prints them: names and roles.
fn nodes(list: &[(&str, &[&str], Option<&str>)]) -> String {
    let items: Vec<Value> = list
        .iter()
        .map(|(name, roles, config)| {
            let mut labels = json!({"kubernetes.io/hostname": name});
            for role in *roles {
                labels[format!("node-role.kubernetes.io/{role}")] = json!("");
            }
            let mut annotations = json!({});
            if let Some(config) = config {
                for key in ["currentConfig", "desiredConfig"] {
                    annotations[format!("machineconfiguration.openshift.io/{key}")] = json!(config);
                }
                annotations["machineconfiguration.openshift.io/state"] = json!("Done");
            }
            json!({"apiVersion": "v1", "kind": "Node",
                "metadata": {"name": name, "labels": labels, "annotations": annotations},
                "spec": {}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}})
        })
        .collect();
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

/// `oc label node $NODE node-role.kubernetes.io/infra=` names the node, and moves it only where there is such a pool.
#[test]
fn the_role_alone_moves_nothing() {
    let folder = cluster();
    folder.write(
        "nodes.json",
        nodes(&[("worker0", &["worker", "infra"], None), ("worker1", &["worker"], None)]),
    );
    let before = done(&folder, "pools -f site/installed.yaml --nodes nodes.json -o json").json();
    assert_eq!(pool_of(&before, "worker0"), Some("worker"));
    let after = done(&folder, "pools -f site --nodes nodes.json -o json").json();
    assert_eq!(pool_of(&after, "worker0"), Some("infra"));
    assert_eq!(pool_of(&after, "worker1"), Some("worker"));
}

/// The pool takes what workers have, and what is its own.
#[test]
fn the_pool_and_its_config_are_taken_as_typed() {
    let folder = cluster();
    let lint = done(&folder, "lint -f site -o json");
    assert_eq!(lint.json(), json!([]), "{lint}");
    let config = |pool: &str| {
        let rendered = done(&folder, &format!("render -f site --pool {pool} -o json")).json();
        let name = rendered["metadata"]["name"].as_str().unwrap();
        assert!(name.starts_with(&format!("rendered-{pool}-")), "{name}");
        rendered["spec"]["config"].clone()
    };
    let infra = config("infra");
    assert_eq!(file(&infra, "/etc/testinfra").as_deref(), Some("test"));
    assert_eq!(
        item(&infra["storage"]["files"], "path", "/etc/testinfra")["mode"],
        json!(0o644),
        "the leading zero means octal"
    );
    assert_eq!(file(&infra, "/etc/customtest").as_deref(), Some("custom"));
    assert_eq!(file(&config("worker"), "/etc/testinfra"), None);

    // "For configs of the infra nodes alone, the selector has to name infra alone."
    folder.write(
        "site/infra-machineconfigpool.yaml",
        POOL.replace("[worker,infra]", "[infra]"),
    );
    let rendered = folder.line("render -f site --pool infra -o json").json();
    let files = rendered["spec"]["config"]["storage"]["files"].as_array().unwrap().len();
    assert_eq!(files, 1, "{rendered:#}");
    let warned = folder.line("lint -f site -o json").json();
    item(&warned, "code", "pool-without-worker");
}

/// `oc label node <node> node-role.kubernetes.io/worker-`, then `…/infra=`: who moves, at what cost, and within which limit.
#[test]
fn the_labels_move_nodes_one_after_the_other() {
    let folder = cluster();
    let current = done(&folder, "render -f site --pool worker -o name").stdout;
    let current = current.trim().rsplit('/').next().unwrap().to_owned();
    let named = |roles: [&'static [&'static str]; 2]| {
        nodes(&[
            ("worker0", roles[0], Some(&current)),
            ("worker1", roles[1], Some(&current)),
            ("worker2", &["worker"], Some(&current)),
        ])
    };
    // Between the two commands the node is in no pool.
    folder.write("between.json", named([&[], &["worker"]]));
    let between = done(&folder, "pools -f site --nodes between.json -o json").json();
    assert_eq!(pool_of(&between, "worker0"), None);

    folder.write("nodes.json", named([&["infra"], &["infra"]]));
    let pools = done(&folder, "pools -f site --nodes nodes.json -o json").json();
    assert_eq!(pool_of(&pools, "worker0"), Some("infra"));
    let plan = done(&folder, "rollout plan -f site --nodes nodes.json -o json").json();
    let infra = item(&plan, "pool", "infra");
    assert_eq!(strings(&infra["candidates"]), ["worker0"], "one at a time: {infra:#}");
    assert_eq!(infra["paused"], json!(false));
    assert_eq!(item(&plan, "pool", "worker")["candidates"], json!([]));
    let name = done(&folder, "render -f site --pool infra -o name").stdout;
    assert!(name.trim().ends_with(infra["target"].as_str().unwrap()), "{infra:#}");

    // "Control the number of nodes that are updated with each change."
    folder.write(
        "site/infra-machineconfigpool.yaml",
        POOL.replace("  paused: false", "  paused: false\n  maxUnavailable: 2"),
    );
    let plan = done(&folder, "rollout plan -f site --nodes nodes.json -o json").json();
    assert_eq!(
        strings(&item(&plan, "pool", "infra")["candidates"]),
        ["worker0", "worker1"]
    );
    folder.write(
        "site/infra-machineconfigpool.yaml",
        POOL.replace("paused: false", "paused: true"),
    );
    let plan = done(&folder, "rollout plan -f site --nodes nodes.json -o json").json();
    assert_eq!(item(&plan, "pool", "infra")["candidates"], json!([]));
}

/// The same with controllers: the node moves, stays what people made it, and comes back so.
#[test]
fn a_running_worker_becomes_an_infrastructure_node() {
    let folder = cluster();
    folder.write(
        "move.txt",
        "berth worker0 pool:worker\nmachine worker0\npower-on worker0\nuntil worker0 Occupied\nuntil worker0 in-sync\n\
         label worker0 node-role.kubernetes.io/worker-\nlabel worker0 node-role.kubernetes.io/infra=\n\
         until worker0 pool infra\nuntil worker0 in-sync\nshow worker0\n\
         delete-node worker0\nuntil worker0 new-node\nuntil worker0 ready\nuntil worker0 Occupied\nshow worker0\n",
    );
    let played = done(&folder, "up -f site --scenario move.txt");
    let shown: Vec<&str> = played.stdout.lines().filter(|line| line.starts_with("    ")).collect();
    for lines in shown.chunks(2) {
        assert_eq!(lines[0].trim(), "Berth worker0: Occupied, pool infra", "{played}");
        assert!(lines[1].contains("node-role.kubernetes.io/infra"), "{played}");
        assert!(!lines[1].contains("node-role.kubernetes.io/worker"), "{played}");
    }
    assert_eq!(shown.len(), 4, "{played}");
}

/// `oc rsh … cat /etc/…`: what the machine would find, by the server that it asks.
#[test]
fn the_files_reach_the_machines_of_the_pool() {
    let folder = cluster();
    let mut berth = command();
    berth
        .current_dir(folder.path())
        .args(["ignition-server", "-f", "site", "--allow-anonymous"]);
    let server = Server::start(&mut berth);
    let infra = server.config("/config/infra");
    assert_eq!(file(&infra, "/etc/testinfra").as_deref(), Some("test"));
    assert_eq!(file(&infra, "/etc/customtest").as_deref(), Some("custom"));
    let worker = server.config("/config/worker");
    assert_eq!(file(&worker, "/etc/testinfra"), None);
}

/// The first problem of the procedure's list: a machine config was deleted, and nodes still name the rendered config that had it.
#[test]
fn a_node_on_a_deleted_config_moves_to_one_that_exists() {
    let folder = cluster();
    folder.write(
        "nodes.json",
        nodes(&[(
            "worker0",
            &["infra"],
            Some("rendered-infra-00000000000000000000000000000000"),
        )]),
    );
    let plan = done(&folder, "rollout plan -f site --nodes nodes.json -o json").json();
    let infra = item(&plan, "pool", "infra");
    let name = done(&folder, "render -f site --pool infra -o name").stdout;
    assert!(name.trim().ends_with(infra["target"].as_str().unwrap()), "{infra:#}");
    assert_eq!(strings(&infra["candidates"]), ["worker0"], "{infra:#}");
}
