//! Agreement: one question through every door of the executable, and one answer.
//!
//! The doors are `resolve`, `render`, `plan`, `forecast`, `ignition`, an Ignition server on the folder, on a committed revision
//! and on a cluster, actions of a server, the controllers in full mode, and `up`. What is compared: the pool, the labels, the
//! removals, the name of the rendered config, and the reboots. The pure core behind the doors is asked about far more sites by the
//! suite of `berth-decide`; this one shows that the doors ask that core.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use berth_clock::Clock;
use berth_sim::{ApiServer, Cluster, ClusterOptions, Identity as SimIdentity, kubeconfig};
use berth_testing::{ControlPlane, Identity, Options, Programs};
use serde_json::{Value, json};

use crate::{
    ignition_server::{Server, file},
    postgres_server,
    run::{Folder, Outcome, command, finish},
    served::Served,
    up::program,
};

type Labels = BTreeMap<String, String>;

/// Long, because the machine may be busy; nothing is concluded from how long something took.
const PATIENCE: usize = 900;

/// What every door has to say.
#[derive(Debug)]
struct Truth {
    /// Pool and labels of each node, from `resolve`.
    nodes: BTreeMap<String, (String, Labels)>,
    /// The rendered config of each pool, from `render`.
    configs: BTreeMap<String, String>,
}

struct Site {
    path: PathBuf,
    /// As a Region document of the site says; in a cluster, where there is none, a flag says it.
    flavour: &'static str,
    folder: Folder,
    truth: Truth,
}

impl Site {
    fn example(name: &str) -> Self {
        let examples = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples"));
        Self::new(examples.join(name), "openshift", Folder::new())
    }

    /// A site that follows from a number alone.
    fn random(seed: u64) -> Self {
        let folder = Folder::new();
        folder.write("site/site.yaml", random_site(seed));
        Self::new(folder.path().join("site"), "upstream", folder)
    }

    fn new(path: PathBuf, flavour: &'static str, folder: Folder) -> Self {
        let mut site = Self {
            path,
            flavour,
            folder,
            truth: Truth {
                nodes: BTreeMap::new(),
                configs: BTreeMap::new(),
            },
        };
        for node in array(&site.berth("resolve -o json").json()) {
            let labels = serde_json::from_value(node["labels"].clone()).unwrap();
            let pool = text(&node["pool"]);
            site.truth.nodes.insert(text(&node["node"]), (pool, labels));
        }
        for config in array(&site.berth("render -o json").json()) {
            let name = text(&config["metadata"]["name"]);
            let pool = name.strip_prefix("rendered-").unwrap().rsplit_once('-').unwrap().0;
            site.truth.configs.insert(pool.to_owned(), name.clone());
        }
        assert!(
            !site.truth.nodes.is_empty() && !site.truth.configs.is_empty(),
            "{:?}",
            site.truth
        );
        site
    }

    /// Runs `berth` on the site.
    fn berth(&self, words: &str) -> Outcome {
        let mut berth = command();
        berth.current_dir(self.folder.path()).args(words.split_whitespace());
        let outcome = finish(berth.arg("-f").arg(&self.path), b"");
        assert_eq!(outcome.exit, 0, "{words}: {outcome}");
        outcome
    }

    fn names(&self) -> impl Iterator<Item = &String> {
        self.truth.nodes.keys()
    }

    /// Nodes as kubelets without any flag register them.
    fn bare_nodes(&self) -> Vec<Value> {
        let node = |name: &String| json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": bare(name)}});
        self.names().map(node).collect()
    }

    fn expected(&self, name: &str) -> Labels {
        let mut labels = bare(name);
        labels.extend(self.truth.nodes[name].1.clone());
        labels
    }

    /// `plan` and `forecast` for Nodes that have none of the labels, and for Nodes that have all of them.
    fn is_planned(&self) {
        let list = |items: Vec<Value>| json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
        self.folder.write("nodes.json", list(self.bare_nodes()));
        let plan = self.berth("plan --nodes nodes.json -o json").json();
        for node in array(&plan["nodes"]) {
            let (pool, labels) = &self.truth.nodes[&text(&node["node"])];
            assert_eq!(node["set"], json!(labels), "{node}");
            assert_eq!(
                (&node["remove"], &node["conflicts"]),
                (&json!([]), &json!([])),
                "{node}"
            );
            assert_eq!(node["pool_after"], json!(pool), "{node}");
        }
        let mut there = self.bare_nodes();
        for node in &mut there {
            node["metadata"]["labels"] = json!(self.expected(&text(&node["metadata"]["name"])));
        }
        self.nothing_is_left_to_do(&list(there));
    }

    /// Nothing to write and nobody to reboot, by `plan`.
    fn nothing_is_left_to_do(&self, nodes: &str) {
        self.folder.write("live.json", nodes);
        let plan = self.berth("plan --nodes live.json -o json").json();
        for node in array(&plan["nodes"]) {
            assert_eq!((&node["set"], &node["remove"]), (&json!({}), &json!([])), "{node}");
            assert_eq!(
                node["pool_after"],
                json!(self.truth.nodes[&text(&node["node"])].0),
                "{node}"
            );
            assert_eq!(node["reboot"], false, "{node}");
        }
    }

    /// What machines are served by a server, compared with what `berth ignition` prints.
    fn is_served(&self, door: &str, server: &Server) {
        for (name, (pool, _)) in &self.truth.nodes {
            let printed = self.berth(&format!("ignition --node {name} --spec 3.3.0")).json();
            let config = server.config(&format!("/node/{name}"));
            assert_eq!(boot_labels(&config), boot_labels(&printed), "{door}: {name}");
            let annotations = file(&config, "/etc/machine-config-daemon/node-annotations.json");
            let annotations: Value = serde_json::from_str(&annotations.unwrap()).unwrap();
            let current = &annotations["machineconfiguration.openshift.io/currentConfig"];
            assert_eq!(current, &json!(self.truth.configs[pool]), "{door}: {name}");
        }
        for pool in self.truth.configs.keys() {
            let printed = self.berth(&format!("ignition --pool {pool} --spec 3.3.0")).json();
            let config = server.config(&format!("/config/{pool}"));
            assert_eq!(boot_labels(&config), boot_labels(&printed), "{door}: {pool}");
        }
    }

    fn is_served_from_its_folder(&self) {
        let mut serve = command();
        serve
            .args(["ignition-server", "--allow-anonymous", "-f"])
            .arg(&self.path);
        self.is_served("folder", &Server::start(&mut serve));
    }

    /// Committed to a database: served to machines, and given to Nodes by an action.
    fn is_done_by_actions(&self, database: &str, api: &Api) {
        for words in [
            "configdocs load site --replace",
            "configdocs commit",
            "site-action record",
        ] {
            let mut configdocs = command();
            configdocs.current_dir(self.folder.path());
            configdocs.args(words.split_whitespace()).args(["--database", database]);
            if words.contains("load") {
                configdocs.arg("-f").arg(&self.path);
            }
            let done = finish(&mut configdocs, b"");
            assert_eq!(done.exit, 0, "{done}");
        }
        let mut serve = command();
        serve.current_dir(self.folder.path()).args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--allow-anonymous",
            "--database",
            database,
        ]);
        self.is_served("revision", &Server::start(&mut serve));

        api.make(&self.bare_nodes());
        let mut serve = command();
        serve
            .current_dir(self.folder.path())
            .args(["serve", "--listen", "127.0.0.1:0", "--database", database])
            .arg("--cluster-kubeconfig")
            .arg(&api.kubeconfig);
        let running = Served::start(&mut serve);
        let server = format!("http://{}", running.address("the API is listening"));
        let relabel = |words: &str| {
            let mut relabel = command();
            relabel.args(["relabel", "--all", "--server", &server]);
            let outcome = finish(relabel.args(words.split_whitespace()), b"");
            assert_eq!(outcome.exit, 0, "{outcome}");
            outcome
        };
        for node in array(&relabel("--dry-run -o json").json()["nodes"]) {
            let (_, labels) = &self.truth.nodes[&text(&node["name"])];
            assert_eq!(node["diff"]["set"], json!(labels), "{node}");
            assert_eq!(node["diff"]["removed"], json!({}), "{node}");
        }
        relabel("--wait");
        for name in self.names() {
            assert_eq!(api.labels(name), self.expected(name), "{name}");
        }
        self.nothing_is_left_to_do(&api.kubectl("get nodes -o json").stdout);
    }

    /// Kept by the controllers in full mode: labels, pool and rendered config; and served from the cluster.
    fn is_kept_by_controllers(&self, api: &Api) {
        let mut install = command();
        install
            .args([
                "install",
                "--mode",
                "full",
                "--admission",
                "off",
                "--image",
                "example.com/berth:1",
            ])
            .arg("--kubeconfig")
            .arg(&api.kubeconfig);
        let installed = finish(&mut install, b"");
        assert_eq!(installed.exit, 0, "{installed}");
        api.kubectl("delete nodes --all --wait=false");
        api.make(&self.definitions());
        let mut controller = command();
        controller
            .args([
                "controller",
                "--mode",
                "full",
                "--admission",
                "off",
                "--lease-duration",
                "4s",
                "-f",
            ])
            .arg(&self.path)
            .arg("--kubeconfig")
            .arg(&api.kubeconfig);
        let _running = Served::start(&mut controller);
        for (pool, config) in &self.truth.configs {
            // Nobody is in the pool yet, so that it has reached its config.
            let reached = |pool: &Value| pool["status"]["configuration"]["name"].is_string();
            let found = api.wait_for(&format!("machineconfigpool {pool}"), reached);
            assert_eq!(found["spec"]["configuration"]["name"], json!(config));
        }
        self.is_served_from_the_cluster(api);
        api.make(&self.bare_nodes());
        for (name, (pool, _)) in &self.truth.nodes {
            let berth = api.wait_for(&format!("berth {name}"), |berth| {
                let conditions = berth["status"]["conditions"].as_array();
                let in_sync = |condition: &Value| condition["type"] == "LabelsInSync" && condition["status"] == "True";
                berth["status"]["nodeUID"].is_string()
                    && conditions.is_some_and(|conditions| conditions.iter().any(in_sync))
            });
            assert_eq!(berth["status"]["pool"], json!(pool), "{name}");
            assert_eq!(api.labels(name), self.expected(name), "{name}");
        }
        for pool in self.truth.configs.keys() {
            let members = self.truth.nodes.values().filter(|(of, _)| of == pool).count();
            api.wait_for(&format!("machineconfigpool {pool}"), |pool| {
                pool["status"]["machineCount"] == json!(members)
            });
        }
        self.nothing_is_left_to_do(&api.kubectl("get nodes -o json").stdout);
    }

    fn is_served_from_the_cluster(&self, api: &Api) {
        let mut serve = command();
        serve
            .args([
                "ignition-server",
                "--from-cluster",
                "--allow-anonymous",
                "--cluster-kubeconfig",
            ])
            .arg(&api.kubeconfig)
            .args(["--flavour", self.flavour]);
        let server = Server::start(&mut serve);
        patiently(
            || format!("the server is not well: {:?}", server.get("/healthz", "")),
            || (server.get("/healthz", "").1.contains("\"ok\"")).then_some(()),
        );
        self.is_served("cluster", &server);
    }

    /// Booted by `up`: pool and labels; and what `forecast` says that it saves.
    fn boots_in_up(&self, kubectl: &Path) {
        let mut up = command()
            .current_dir(self.folder.path())
            .args(["up", "--speed", "300", "--plain", "-f"])
            .arg(&self.path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut said = Vec::new();
        for line in BufReader::new(up.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            let last = line.starts_with("The deleted Node");
            said.push(line);
            if last {
                break;
            }
        }
        let find = |words: &str| said.iter().find(|line| line.contains(words));
        let get = find("get nodes,berths").unwrap_or_else(|| panic!("{said:#?}"));
        let api = Api {
            kubectl: kubectl.to_owned(),
            kubeconfig: get.split_whitespace().nth(2).unwrap().into(),
        };
        for (name, (_, labels)) in &self.truth.nodes {
            let live = api.labels(name);
            for (key, value) in labels {
                assert_eq!(live.get(key), Some(value), "up: {name} {key}");
            }
            let others = live.keys().filter(|key| !labels.contains_key(*key));
            let strange: Vec<_> = others.filter(|key| !key.contains("kubernetes.io/")).collect();
            assert!(strange.is_empty(), "up: {name} has {strange:?}");
        }
        self.folder.write(
            "none.json",
            json!({"apiVersion": "v1", "kind": "List", "items": []}).to_string(),
        );
        let forecast = self.berth("forecast --nodes none.json -o json").json();
        let reboots = |field: &str| -> i64 {
            let pools = array(&forecast["pools"]);
            pools.iter().map(|pool| pool[field].as_i64().unwrap()).sum()
        };
        let saved = reboots("reboots_without") - reboots("reboots_with");
        let words = format!("{saved} reboot");
        assert!(find("saved").unwrap().starts_with(&words), "{said:#?}");
        up.kill().unwrap();
        up.wait().unwrap();
    }

    /// The objects of the site that are objects of a cluster too.
    fn definitions(&self) -> Vec<Value> {
        let mut files = Vec::new();
        files_below(&self.path, &mut files);
        let mut objects = Vec::new();
        for path in files {
            let mut sources = berth_documents::Sources::new();
            let id = sources.add(path.display().to_string(), std::fs::read_to_string(&path).unwrap());
            for document in berth_documents::parse(&sources, id).documents {
                let object = document.root.to_json();
                if ["MachineConfigPool", "MachineConfig", "LabelRule"]
                    .iter()
                    .any(|kind| object["kind"] == *kind)
                {
                    objects.push(object);
                }
            }
        }
        objects
    }
}

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_below(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            files.push(path);
        }
    }
}

fn bare(name: &str) -> Labels {
    let labels = [("kubernetes.io/hostname", name), ("by-hand", "yes")];
    labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

/// The labels that a machine boots with, by either way. No file says the same as one without labels.
fn boot_labels(config: &Value) -> [Vec<String>; 2] {
    ["/etc/berth/labels", "/etc/kubernetes/kubelet-env"].map(|path| {
        let text = file(config, path).unwrap_or_default();
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.map(str::to_owned).collect()
    })
}

fn array(value: &Value) -> Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("no array: {value}")).clone()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

fn patiently<T>(what: impl Fn() -> String, mut attempt: impl FnMut() -> Option<T>) -> T {
    for _ in 0..PATIENCE {
        if let Some(found) = attempt() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    panic!("{}", what())
}

/// An API server, as the administrator sees it.
struct Api {
    kubectl: PathBuf,
    kubeconfig: PathBuf,
}

impl Api {
    fn kubectl(&self, words: &str) -> Outcome {
        self.send(words, b"")
    }

    fn send(&self, words: &str, stdin: &[u8]) -> Outcome {
        let mut kubectl = Command::new(&self.kubectl);
        kubectl
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args(words.split_whitespace());
        finish(&mut kubectl, stdin)
    }

    fn make(&self, objects: &[Value]) {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
        let made = self.send("create --validate=false -f -", list.as_bytes());
        assert_eq!(made.exit, 0, "{made}");
    }

    fn labels(&self, node: &str) -> Labels {
        let node = self.kubectl(&format!("get node {node} -o json")).json();
        serde_json::from_value(node["metadata"]["labels"].clone()).unwrap()
    }

    fn wait_for(&self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let get = || self.kubectl(&format!("get {what} -o json"));
        patiently(
            || format!("{what} is not as it should be: {}", get()),
            || {
                Some(get())
                    .filter(|found| found.exit == 0)
                    .map(|found| found.json())
                    .filter(&fits)
            },
        )
    }
}

fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().unwrap()
}

/// Offline, on `SQLite`, on the embedded API server and in `up`.
fn agrees_here(site: &Site) {
    site.is_planned();
    site.is_served_from_its_folder();
    let Some(kubectl) = program("kubectl") else {
        return;
    };
    let runtime = runtime();
    let cluster = Cluster::new(ClusterOptions::new(Clock::system(), 7));
    cluster.add_token("admin", SimIdentity::administrator());
    let server = runtime
        .block_on(ApiServer::start(cluster, "127.0.0.1:0".parse().unwrap()))
        .unwrap();
    site.folder.write("kubeconfig", kubeconfig(&server.url(), "admin"));
    let api = Api {
        kubectl: kubectl.clone(),
        kubeconfig: site.folder.path().join("kubeconfig"),
    };
    site.is_done_by_actions("sqlite:berth.db", &api);
    site.is_kept_by_controllers(&api);
    site.boots_in_up(&kubectl);
}

/// On `PostgreSQL` and on a real API server.
fn agrees_on_real_parts(site: &Site) {
    let (Some(kubectl), Some(programs)) = (program("kubectl"), Programs::for_test()) else {
        return;
    };
    let runtime = runtime();
    let Some(database) = runtime.block_on(postgres_server::database()) else {
        return;
    };
    let plane = runtime
        .block_on(ControlPlane::start(&programs, Options::default()))
        .unwrap();
    let api = Api {
        kubectl,
        kubeconfig: plane.write_kubeconfig(&Identity::admin()).unwrap(),
    };
    site.is_done_by_actions(&database, &api);
    site.is_kept_by_controllers(&api);
}

#[test]
fn every_door_gives_one_answer_about_the_telco_site() {
    agrees_here(&Site::example("telco-site"));
}

#[test]
fn every_door_gives_one_answer_about_the_telco_site_on_real_parts() {
    agrees_on_real_parts(&Site::example("telco-site"));
}

#[test]
fn every_door_gives_one_answer_about_random_sites() {
    for seed in 1..=3 {
        agrees_here(&Site::random(seed));
    }
}

#[test]
fn every_door_gives_one_answer_about_a_random_site_on_real_parts() {
    agrees_on_real_parts(&Site::random(4));
}

/// A site of a few pools, machine configs, rules and machines.
fn random_site(seed: u64) -> String {
    // Knuth's generator is random enough, and the same everywhere.
    let mut state = seed;
    let mut pick = move |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut objects = Vec::new();
    let group = "machineconfiguration.openshift.io";
    for pool in ["worker", "infra", "edge"] {
        let explicit = match pick(3) {
            0 => json!({}),
            value => json!({"berth.dev/node-labels": format!("example.com/pool=v{value}")}),
        };
        objects.push(json!({
            "apiVersion": format!("{group}/v1"), "kind": "MachineConfigPool",
            "metadata": {"name": pool, "annotations": explicit},
            "spec": {
                "nodeSelector": {"matchLabels": {format!("node-role.kubernetes.io/{pool}"): ""}},
                "machineConfigSelector": {"matchExpressions": [
                    {"key": format!("{group}/role"), "operator": "In", "values": ["worker", pool]},
                ]},
            },
        }));
        for number in 0..=pick(2) {
            objects.push(json!({
                "apiVersion": format!("{group}/v1"), "kind": "MachineConfig",
                "metadata": {"name": format!("50-{pool}-{number}"), "labels": {format!("{group}/role"): pool}},
                "spec": {"config": {"ignition": {"version": "3.4.0"}, "storage": {"files": [
                    {"path": format!("/etc/{pool}-{number}"), "contents": {"source": format!("data:,{}", pick(9))}},
                ]}}},
            }));
        }
    }
    objects.push(json!({
        "apiVersion": "berth.dev/v1alpha1", "kind": "LabelRule", "metadata": {"name": "sites"},
        "spec": {"match": {"namePatterns": ["b*"]}, "labels": {"example.com/site": format!("s{}", pick(4))}},
    }));
    for name in ["a1", "a2", "b1", "b2", "b3"] {
        let pool = ["worker", "infra", "edge"][usize::try_from(pick(3)).unwrap()];
        let mut labels = json!({});
        for number in 0..pick(3) {
            labels[format!("example.com/l{number}")] = json!(format!("v{}", pick(3)));
        }
        objects.push(json!({
            "apiVersion": "berth.dev/v1alpha1", "kind": "Berth", "metadata": {"name": name},
            "spec": {"pool": pool, "labels": labels},
        }));
    }
    let objects: Vec<String> = objects.iter().map(Value::to_string).collect();
    objects.join("\n---\n")
}
