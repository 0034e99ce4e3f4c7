//! The doors, each a way to ask Berth.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

use super::{
    Api, Labels, Said, array, patiently,
    sites::{Site, kept, labels},
    text,
};
use crate::{
    ignition_server::{Server, file, get},
    run::{Outcome, command, finish},
    served::Served,
};

/// A way to ask about a site.
pub(super) trait Door {
    fn name(&self) -> String;

    /// What it says of the site whose Nodes were as `live` when its documents changed.
    fn ask(&mut self, site: &Site, live: &Value) -> Said;

    /// Whether its answer comes after a while, because something works behind it.
    fn settles(&self) -> bool {
        false
    }
}

/// What was set and what went between two states of the Nodes.
fn changes(
    before: &BTreeMap<String, Labels>,
    after: &BTreeMap<String, Labels>,
) -> BTreeMap<String, (Labels, BTreeSet<String>)> {
    let change = |(name, now): (&String, &Labels)| {
        let then = before.get(name).cloned().unwrap_or_default();
        let mut set = now.clone();
        set.retain(|key, value| then.get(key) != Some(value));
        let removed = then.into_keys().filter(|key| !now.contains_key(key)).collect();
        (name.clone(), (set, removed))
    };
    after.iter().map(change).collect()
}

/// The labels that a machine boots with, by either way. No file says the same as one without labels.
fn boot_labels(config: &Value) -> [Vec<String>; 2] {
    ["/etc/berth/labels", "/etc/kubernetes/kubelet-env"].map(|path| {
        let text = file(config, path).unwrap_or_default();
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.map(str::to_owned).collect()
    })
}

/// Commands on files with documents.
pub(super) struct Documents;

impl Documents {
    /// Without the labels at boot, for which a command runs for each machine.
    pub(super) fn in_short(site: &Site, live: &Value) -> Said {
        site.folder.write("live.json", live.to_string());
        Self::read(site, &site.path, "live.json", |_| None)
    }

    fn read(site: &Site, path: &Path, live: &str, boot: impl Fn(&str) -> Option<[Vec<String>; 2]>) -> Said {
        let berth = |words: &str| site.berth_on(path, words).json();
        let mut configs = BTreeMap::new();
        let mut said = Said::new();
        for config in array(&berth("render -o json")) {
            let name = text(&config["metadata"]["name"]);
            let pool = name
                .strip_prefix("rendered-")
                .unwrap()
                .rsplit_once('-')
                .unwrap()
                .0
                .to_owned();
            let boot = boot(&format!("ignition --pool {pool} --spec 3.3.0"));
            said.insert(
                format!("pool {pool}"),
                json!({"config": name, "boot": boot, "members": 0}),
            );
            configs.insert(pool, name);
        }
        for node in array(&berth("resolve -o json")) {
            let (name, pool) = (text(&node["node"]), text(&node["pool"]));
            let boot = boot(&format!("ignition --node {name} --spec 3.3.0"));
            if let Some(pool) = said.get_mut(&format!("pool {pool}")) {
                pool["members"] = json!(pool["members"].as_u64().unwrap() + 1);
            }
            let answer = json!({"pool": pool, "labels": node["labels"], "boot": boot, "config": configs.get(&pool)});
            said.insert(format!("node {name}"), answer);
        }
        for node in array(&berth(&format!("plan --nodes {live} -o json"))["nodes"]) {
            let answer = said.get_mut(&format!("node {}", text(&node["node"]))).unwrap();
            assert_eq!(node["conflicts"], json!([]), "{node}");
            assert_eq!(node["pool_after"], answer["pool"], "{node}");
            answer["set"] = node["set"].clone();
            answer["removed"] = node["remove"].clone();
            answer["reboots"] = node["reboot"].clone();
        }
        said
    }
}

impl Door for Documents {
    fn name(&self) -> String {
        "documents".to_owned()
    }

    fn ask(&mut self, site: &Site, live: &Value) -> Said {
        site.folder.write("live.json", live.to_string());
        let boot = |words: &str| Some(boot_labels(&site.berth(words).json()));
        Self::read(site, &site.path, "live.json", boot)
    }
}

/// The same commands on what `kubectl get` prints of a cluster.
pub(super) struct Dump<'a>(pub(super) &'a Api);

impl Dump<'_> {
    /// What there is, and what is to be done.
    pub(super) fn now(&self, site: &Site) -> Said {
        let objects = self
            .0
            .kubectl("get nodes,berths,machineconfigpools,machineconfigs,labelrules -o json")
            .json();
        // What the controllers rendered is not a source of what is to be rendered.
        let rendered = |object: &Value| {
            object["kind"] == "MachineConfig" && text(&object["metadata"]["name"]).starts_with("rendered-")
        };
        let objects: Vec<Value> = array(&objects["items"])
            .into_iter()
            .filter(|object| !rendered(object))
            .collect();
        let region = json!({
            "schema": "drydock/Region/v1", "data": {},
            "metadata": {"schema": "metadata/Document/v1", "name": "region", "labels": {"berth.dev/flavour": site.flavour}},
        });
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        site.folder.write("dump/dump.json", list.to_string());
        site.folder.write("dump/region.json", region.to_string());
        site.folder.write("live.json", self.0.nodes().to_string());
        let path = site.folder.path().join("dump");
        let boot = |words: &str| Some(boot_labels(&site.berth_on(&path, words).json()));
        Documents::read(site, &path, "live.json", boot)
    }
}

impl Door for Dump<'_> {
    fn name(&self) -> String {
        "dump".to_owned()
    }

    fn settles(&self) -> bool {
        true
    }

    fn ask(&mut self, site: &Site, _: &Value) -> Said {
        let mut said = self.now(site);
        for answer in said.values_mut() {
            let answer = answer.as_object_mut().unwrap();
            // What is to be done now is another question than what was to be done.
            for field in ["set", "removed", "reboots"] {
                answer.remove(field);
            }
        }
        said
    }
}

/// `explain`.
pub(super) struct Explained;

impl Door for Explained {
    fn name(&self) -> String {
        "explain".to_owned()
    }

    fn ask(&mut self, site: &Site, live: &Value) -> Said {
        let names = labels(live).into_keys();
        let explained = names.map(|name| {
            let node = site.berth(&format!("explain --node {name} -o json")).json();
            let labels = array(&node["labels"]).into_iter();
            let labels: Labels = labels
                .map(|label| (text(&label["key"]), text(&label["value"])))
                .collect();
            (format!("node {name}"), json!({"pool": node["pool"], "labels": labels}))
        });
        explained.collect()
    }
}

/// `forecast` and `rehearse`: who reboots.
pub(super) struct Forecast;

impl Door for Forecast {
    fn name(&self) -> String {
        "forecast and rehearsal".to_owned()
    }

    fn ask(&mut self, site: &Site, live: &Value) -> Said {
        let mut ready = live.clone();
        for node in ready["items"].as_array_mut().unwrap() {
            node["status"] = json!({"conditions": [{"type": "Ready", "status": "True"}]});
        }
        site.folder.write("live.json", ready.to_string());
        let away = |words: &str, list: &str, count: &str| -> BTreeSet<String> {
            let pools = array(&site.berth(&format!("{words} --nodes live.json -o json")).json()["pools"]);
            let nodes = pools.iter().flat_map(|pool| array(&pool[list]));
            let rebooting = nodes.filter(|node| node[count].as_u64().unwrap() > 0);
            rebooting.map(|node| text(&node["node"])).collect()
        };
        let forecast = away("forecast", "nodes", "reboots_with");
        assert_eq!(forecast, away("rehearse", "outages", "reboots"), "{}", site.name);
        let names = labels(live).into_keys();
        names
            .map(|name| (format!("node {name}"), json!({"reboots": forecast.contains(&name)})))
            .collect()
    }
}

/// An Ignition server.
pub(super) struct Machines {
    source: &'static str,
    address: String,
    /// What callers show.
    authorization: String,
    _server: Option<Server>,
}

impl Machines {
    fn new(source: &'static str, command: &mut Command) -> Self {
        let server = Server::start(command);
        Self {
            source,
            address: server.address().to_owned(),
            authorization: String::new(),
            _server: Some(server),
        }
    }

    pub(super) fn of_folder(site: &Site) -> Self {
        let mut serve = command();
        serve
            .args(["ignition-server", "--allow-anonymous", "-f"])
            .arg(&site.path);
        Self::new("folder", &mut serve)
    }

    pub(super) fn of_revision(site: &Site, database: &str) -> Self {
        let mut serve = Self::serving(site, database);
        Self::new("revision", serve.arg("--no-cluster"))
    }

    /// The same server where machines have Berths.
    pub(super) fn of_revision_beside(site: &Site, database: &str, api: &Api) -> Self {
        let mut serve = Self::serving(site, database);
        serve.arg("--cluster-kubeconfig").arg(&api.kubeconfig);
        Self::new("revision beside a cluster", &mut serve)
    }

    fn serving(site: &Site, database: &str) -> Command {
        let mut serve = command();
        serve.current_dir(site.folder.path());
        serve.args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--allow-anonymous",
            "--database",
            database,
        ]);
        serve
    }

    pub(super) fn of_cluster(site: &Site, api: &Api) -> Self {
        let mut serve = command();
        serve
            .args([
                "ignition-server",
                "--from-cluster",
                "--allow-anonymous",
                "--cluster-kubeconfig",
            ])
            .arg(&api.kubeconfig)
            .args(["--flavour", site.flavour]);
        Self::new("cluster", &mut serve)
    }

    fn ask_for(&self, path: &str, more: &str) -> (u16, String) {
        get(&self.address, path, &format!("{}{more}", self.authorization))
    }

    fn get(&self, path: &str) -> Option<(Value, [Vec<String>; 2])> {
        let accept = "accept: application/vnd.coreos.ignition+json;version=3.3.0\r\n";
        let (status, body) = self.ask_for(path, accept);
        let config: Value = (status == 200).then(|| serde_json::from_str(&body).ok())??;
        let annotations = file(&config, "/etc/machine-config-daemon/node-annotations.json")?;
        let annotations: Value = serde_json::from_str(&annotations).ok()?;
        let current = annotations["machineconfiguration.openshift.io/currentConfig"].clone();
        Some((current, boot_labels(&config)))
    }

    /// The name of the config that machines of a pool get, or what it says instead.
    pub(super) fn config_of(&self, pool: &str) -> Value {
        let path = format!("/config/{pool}");
        match self.get(&path) {
            Some((config, _)) => config,
            None => json!(self.ask_for(&path, "").1),
        }
    }

    /// The config and the boot labels of the disk that a machine would get.
    pub(super) fn disk(&self, node: &str) -> (Value, [Vec<String>; 2]) {
        let path = format!("/node/{node}");
        patiently(
            || format!("{node} is not served: {:?}", self.ask_for(&path, "")),
            || self.get(&path),
        )
    }
}

impl Door for Machines {
    fn name(&self) -> String {
        format!("the Ignition server on the {}", self.source)
    }

    /// It follows what it serves.
    fn settles(&self) -> bool {
        true
    }

    fn ask(&mut self, site: &Site, live: &Value) -> Said {
        let mut said = Said::new();
        let mut take = |about: String, path: &str| {
            let answer = match self.get(path) {
                Some((config, boot)) => json!({"config": config, "boot": boot}),
                None => json!({"config": self.ask_for(path, "").1}),
            };
            said.insert(about, answer);
        };
        for name in labels(live).into_keys() {
            take(format!("node {name}"), &format!("/node/{name}"));
        }
        for object in array(&site.definitions()["items"]) {
            if object["kind"] == "MachineConfigPool" {
                let pool = text(&object["metadata"]["name"]);
                take(format!("pool {pool}"), &format!("/config/{pool}"));
            }
        }
        said
    }
}

/// A server on a database, with a cluster behind it.
pub(super) struct Repository<'a> {
    database: String,
    server: String,
    api: &'a Api,
    _running: Served,
}

impl<'a> Repository<'a> {
    pub(super) fn new(site: &Site, database: &str, api: &'a Api) -> Self {
        let mut serve = command();
        serve
            .current_dir(site.folder.path())
            .args(["serve", "--listen", "127.0.0.1:0", "--database", database])
            .arg("--cluster-kubeconfig")
            .arg(&api.kubeconfig);
        let running = Served::start(&mut serve);
        Self {
            database: database.to_owned(),
            server: format!("http://{}", running.address("the API is listening")),
            api,
            _running: running,
        }
    }

    /// Commits what the site says now, as what the site was deployed with.
    pub(super) fn commit(&self, site: &Site) {
        commit(site, &["--database", &self.database]);
        let mut record = command();
        record.current_dir(site.folder.path());
        record.args(["site-action", "record", "--database", &self.database]);
        let done = finish(&mut record, b"");
        assert_eq!(done.exit, 0, "{done}");
    }

    /// What a dry run says where nobody allows a mass removal.
    pub(super) fn careful_dry_run(&self) -> Value {
        let mut relabel = command();
        relabel.args(["relabel", "--all", "--dry-run", "-o", "json", "--server", &self.server]);
        let outcome = finish(&mut relabel, b"");
        assert_eq!(outcome.exit, 0, "{outcome}");
        outcome.json()
    }

    fn relabel(&self, words: &str) -> Outcome {
        let mut relabel = command();
        relabel.args(["relabel", "--all", "--allow-mass-removal", "--server", &self.server]);
        let outcome = finish(relabel.args(words.split_whitespace()), b"");
        assert_eq!(outcome.exit, 0, "{outcome}");
        outcome
    }
}

/// Loads the documents of a site and commits them.
fn commit(site: &Site, to: &[&str]) {
    for words in ["configdocs load site --replace -f", "configdocs commit"] {
        let mut configdocs = command();
        configdocs
            .current_dir(site.folder.path())
            .args(words.split_whitespace());
        if words.contains("load") {
            configdocs.arg(&site.path);
        }
        let done = finish(configdocs.args(to), b"");
        assert_eq!(done.exit, 0, "{done}");
    }
}

/// What an action would do.
pub(super) struct DryRun<'a>(pub(super) &'a Repository<'a>);

impl Door for DryRun<'_> {
    fn name(&self) -> String {
        format!("a dry run on {}", self.0.database)
    }

    fn ask(&mut self, _: &Site, _: &Value) -> Said {
        let nodes = array(&self.0.relabel("--dry-run -o json").json()["nodes"]).into_iter();
        let said = nodes.map(|node| {
            let diff = &node["diff"];
            let mut set: Labels = serde_json::from_value(diff["set"].clone()).unwrap();
            for (key, change) in diff["changed"].as_object().unwrap() {
                set.insert(key.clone(), text(&change["to"]));
            }
            let removed: Labels = serde_json::from_value(diff["removed"].clone()).unwrap();
            let removed: BTreeSet<String> = removed.into_keys().collect();
            (
                format!("node {}", text(&node["name"])),
                json!({"set": set, "removed": removed}),
            )
        });
        said.collect()
    }
}

/// An action, done.
pub(super) struct Action<'a>(pub(super) &'a Repository<'a>);

impl Door for Action<'_> {
    fn name(&self) -> String {
        format!("an action on {}", self.0.database)
    }

    fn ask(&mut self, _: &Site, live: &Value) -> Said {
        self.0.relabel("--wait");
        done(live, &self.0.api.nodes())
    }
}

/// The labels that Nodes have, and how they got them. What others set is there as it was.
fn done(before: &Value, after: &Value) -> Said {
    kept(before, after);
    let after = labels(after);
    let changes = changes(&labels(before), &after);
    let said = changes.into_iter().map(|(name, (set, removed))| {
        let labels = &after[&name];
        (
            format!("node {name}"),
            json!({"labels": labels, "set": set, "removed": removed}),
        )
    });
    said.collect()
}

/// The pools of Berths, as their status says once nothing is left to do.
fn berths(api: &Api, said: &mut Said) {
    for berth in array(&api.kubectl("get berths -o json").json()["items"]) {
        let about = format!("node {}", text(&berth["metadata"]["name"]));
        let status = &berth["status"];
        let in_sync = |condition: &Value| condition["type"] == "LabelsInSync" && condition["status"] == "True";
        let is_done = status["observedGeneration"] == berth["metadata"]["generation"]
            && status["conditions"]
                .as_array()
                .is_some_and(|conditions| conditions.iter().any(in_sync));
        let pool = if is_done {
            &status["pool"]
        } else {
            &status["conditions"]
        };
        said.entry(about).or_insert_with(|| json!({}))["pool"] = pool.clone();
    }
}

/// The controllers in full mode.
pub(super) struct Controllers<'a> {
    api: &'a Api,
    running: Served,
}

impl<'a> Controllers<'a> {
    pub(super) fn install(api: &Api) {
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
                "--kubeconfig",
            ])
            .arg(&api.kubeconfig);
        let installed = finish(&mut install, b"");
        assert_eq!(installed.exit, 0, "{installed}");
    }

    pub(super) fn start(site: &Site, api: &'a Api) -> Self {
        Self::start_with(&["--allow-mass-removal"], site, api)
    }

    /// Nobody has allowed a mass removal.
    pub(super) fn careful(site: &Site, api: &'a Api) -> Self {
        Self::start_with(&[], site, api)
    }

    /// The next line of the log with these words.
    pub(super) fn waits_with(&self, words: &str) -> Value {
        self.running.wait_for(words)
    }

    fn start_with(words: &[&str], site: &Site, api: &'a Api) -> Self {
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
            ])
            .args(words)
            .arg("-f")
            .arg(&site.path)
            .arg("--kubeconfig")
            .arg(&api.kubeconfig);
        Self {
            api,
            running: Served::start(&mut controller),
        }
    }
}

impl Door for Controllers<'_> {
    fn name(&self) -> String {
        "the controllers".to_owned()
    }

    fn settles(&self) -> bool {
        true
    }

    fn ask(&mut self, _: &Site, live: &Value) -> Said {
        let mut said = done(live, &self.api.nodes());
        berths(self.api, &mut said);
        for pool in array(&self.api.kubectl("get machineconfigpools -o json").json()["items"]) {
            let answer = json!({
                "config": pool["spec"]["configuration"]["name"],
                "members": pool["status"]["machineCount"],
            });
            said.insert(format!("pool {}", text(&pool["metadata"]["name"])), answer);
        }
        said
    }
}

/// `berth status`.
pub(super) struct Status<'a>(pub(super) &'a Api);

impl Door for Status<'_> {
    fn name(&self) -> String {
        "status".to_owned()
    }

    fn settles(&self) -> bool {
        true
    }

    fn ask(&mut self, _: &Site, _: &Value) -> Said {
        let mut status = command();
        status
            .args(["status", "-o", "json", "--kubeconfig"])
            .arg(&self.0.kubeconfig);
        // No kubelet runs on these Nodes, which is the answer 1.
        let status = finish(&mut status, b"");
        assert!(status.exit < 2, "{status}");
        let berths = array(&status.json()["berths"]).into_iter();
        berths
            .map(|berth| (format!("node {}", text(&berth["node"])), json!({"pool": berth["pool"]})))
            .collect()
    }
}

/// `berth up`.
pub(super) struct Up {
    child: Child,
    pub(super) api: Api,
    /// Where its API of documents is.
    pub(super) documents: String,
    /// Its Ignition server.
    pub(super) machines: Machines,
    mode: &'static str,
}

impl Up {
    /// Starts it, and waits until all machines are in their places. What it says that it saves is what `forecast` says.
    pub(super) fn start(site: &Site, kubectl: PathBuf) -> Self {
        Self::start_in("labels", site, kubectl)
    }

    /// The same in a mode.
    pub(super) fn start_in(mode: &'static str, site: &Site, kubectl: PathBuf) -> Self {
        let mut up: Command = command();
        let mut child = up
            .current_dir(site.folder.path())
            .args(["up", "--speed", "300", "--plain", "--mode", mode, "-f"])
            .arg(&site.path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut said = Vec::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            said.push(line.unwrap());
            if said.last().unwrap().starts_with("The deleted Node") {
                break;
            }
        }
        let find = |words: &str| {
            said.iter()
                .find(|line| line.contains(words))
                .unwrap_or_else(|| panic!("{said:#?}"))
        };
        site.folder.write(
            "none.json",
            json!({"apiVersion": "v1", "kind": "List", "items": []}).to_string(),
        );
        let forecast = site.berth("forecast --nodes none.json -o json").json();
        let reboots = |field: &str| -> i64 {
            let pools = array(&forecast["pools"]);
            pools.iter().map(|pool| pool[field].as_i64().unwrap()).sum()
        };
        let saved = format!("{} reboot", reboots("reboots_without") - reboots("reboots_with"));
        assert!(find("saved").starts_with(&saved), "{said:#?}");
        let word = |line: &str, number: usize| line.split_whitespace().nth(number).unwrap().to_owned();
        let kubeconfig = PathBuf::from(word(find("get nodes,berths"), 2));
        let mut token = command();
        token
            .args(["token", "create", "--any", "-o", "json", "--token-file"])
            .arg(kubeconfig.with_file_name("tokens.json"));
        let token = finish(&mut token, b"");
        assert_eq!(token.exit, 0, "{token}");
        let machines = Machines {
            source: "cluster of up",
            address: word(find("Ignition        http://"), 1).replace("http://", ""),
            authorization: format!("authorization: Bearer {}\r\n", text(&token.json()["token"])),
            _server: None,
        };
        Self {
            api: Api { kubectl, kubeconfig },
            machines,
            mode,
            documents: word(find("relabel --server"), 3),
            child,
        }
    }

    /// The Nodes before the documents are changed to this version, which they are then.
    pub(super) fn prepare(&self, site: &Site, version: usize) -> Value {
        if version == 0 {
            // Machines that nobody has labelled.
            let mut nodes = site.bare_nodes();
            for node in nodes["items"].as_array_mut().unwrap() {
                node["metadata"]["labels"] = json!({"kubernetes.io/hostname": node["metadata"]["name"]});
            }
            return nodes;
        }
        let live = self.api.nodes();
        commit(site, &["--server", &self.documents]);
        live
    }
}

impl Door for Up {
    fn name(&self) -> String {
        format!("up --mode {}", self.mode)
    }

    fn settles(&self) -> bool {
        true
    }

    fn ask(&mut self, site: &Site, live: &Value) -> Said {
        let mut said = done(live, &self.api.nodes());
        berths(&self.api, &mut said);
        for (about, served) in self.machines.ask(site, live) {
            let answer = said.entry(about).or_insert_with(|| json!({}));
            for (field, value) in served.as_object().unwrap() {
                answer[field] = value.clone();
            }
        }
        said
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
