//! What Berth promises, as scenarios with its controllers: each is a small text, and its transcript is kept.
//!
//! Controllers work beside the machines, so nothing here depends on when they do: a scenario waits until something is so,
//! and shows what is there then.

use std::{fmt::Write as _, path::Path, sync::Arc, time::Duration};

use berth_cluster::{
    api::{CrdSet, crds},
    bootstrap::bootstrap_token,
    controller::{self, Options},
};
use berth_labels::Flavour;
use berth_sim::{ApiServer, Cluster, ClusterOptions, Disk, Fleet, Habits, Identity, SimulatedTime};
use jiff::Timestamp;
use kube::{Client, Config};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::program::loopback;

/// So often a scenario looks whether something is so. The machine may be busy; nothing is concluded from how long it took.
const LOOKS: usize = 3_000;
const BETWEEN: Duration = Duration::from_millis(10);

/// Labels that every Node has.
const PLAIN: [&str; 4] = [
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "kubernetes.io/arch",
    "kubernetes.io/os",
];

struct World {
    fleet: Fleet,
    client: Client,
    time: SimulatedTime,
    server: ApiServer,
    stop: CancellationToken,
    transcript: String,
    /// Objects of a name have this uid when they were looked at last.
    uid: String,
}

impl World {
    async fn start() -> Self {
        let time = SimulatedTime::starting_at(Timestamp::UNIX_EPOCH);
        let cluster = Cluster::new(ClusterOptions::new(time.clock(), 1));
        cluster.add_token("admin", Identity::administrator());
        for definition in [CrdSet::Berth, CrdSet::MachineConfig].into_iter().flat_map(crds) {
            let mut definition = serde_json::to_value(definition).unwrap();
            definition["apiVersion"] = json!("apiextensions.k8s.io/v1");
            definition["kind"] = json!("CustomResourceDefinition");
            cluster.apply(&definition).await.unwrap();
        }
        let server = ApiServer::start(cluster.clone(), loopback()).await.unwrap();
        let client = Client::try_from(Config::new(server.url().parse().unwrap())).unwrap();
        let fleet = Fleet::new(cluster, time.clone(), Flavour::Upstream, 1);
        let mut world = Self {
            fleet,
            client,
            time,
            server,
            stop: CancellationToken::new(),
            transcript: String::new(),
            uid: String::new(),
        };
        for (pool, tier) in [("worker", ""), ("infra", "tier=infra"), ("storage", "tier=storage")] {
            let key = format!("node-role.kubernetes.io/{pool}");
            world
                .apply(json!({
                    "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
                    "metadata": {"name": pool, "annotations": {"berth.dev/node-labels": tier}},
                    "spec": {"nodeSelector": {"matchLabels": {key: ""}}},
                }))
                .await;
        }
        world.run_controllers();
        world
    }

    fn run_controllers(&mut self) {
        self.stop = CancellationToken::new();
        let mut options = Options::new(self.time.clock());
        options.approve = true;
        tokio::spawn(controller::run(self.client.clone(), options, self.stop.clone()));
    }

    async fn apply(&mut self, object: Value) {
        self.fleet.cluster().apply(&object).await.unwrap();
    }

    async fn play(&mut self, text: &str) {
        for line in text.lines() {
            self.transcript.push_str(line);
            self.transcript.push('\n');
            let line = line.split('#').next().unwrap();
            let words: Vec<&str> = line.split_whitespace().collect();
            self.statement(&words).await;
        }
    }

    async fn statement(&mut self, words: &[&str]) {
        match words {
            [] => {}
            ["berth", name, rest @ ..] => {
                let spec = spec(rest);
                self.apply(json!({
                    "apiVersion": "berth.dev/v1alpha1", "kind": "Berth", "metadata": {"name": name}, "spec": spec,
                }))
                .await;
            }
            ["rule", name, labels] => {
                let rule = json!({
                    "apiVersion": "berth.dev/v1alpha1", "kind": "LabelRule", "metadata": {"name": name},
                    "spec": {"match": {"namePatterns": ["w.*"]}, "labels": map(labels)},
                });
                self.apply(rule).await;
            }
            ["machine", name, rest @ ..] => self.machine(name, rest).await,
            ["power-on", name] => self.fleet.power_on(name).unwrap(),
            ["power-off", name] => self.fleet.power_off(name).unwrap(),
            ["restart-kubelet", name] => self.fleet.restart_kubelet(name).await.unwrap(),
            ["make-node", name, labels] => {
                let labels: Vec<(String, String)> = map(labels)
                    .into_iter()
                    .map(|(key, value)| (key, value.as_str().unwrap().to_owned()))
                    .collect();
                self.fleet.preregister(name, &labels).await.unwrap();
            }
            ["delete-node", name] => self.fleet.delete_node(name).await.unwrap(),
            ["delete-berth", name] => self.delete("berth.dev", "v1alpha1", "berths", name).await,
            ["delete-rule", name] => self.delete("berth.dev", "v1alpha1", "labelrules", name).await,
            ["label", name, labels] => {
                let labels: Vec<(String, Option<String>)> = labels
                    .split(',')
                    .map(|word| match word.split_once('=') {
                        Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
                        None => (word.trim_end_matches('-').to_owned(), None),
                    })
                    .collect();
                self.fleet.label_node(name, &labels).await.unwrap();
            }
            ["stop-berth"] => self.stop.cancel(),
            ["start-berth"] => self.run_controllers(),
            ["pass", seconds] => self.fleet.run(seconds.trim_end_matches('s').parse().unwrap()).await,
            ["until", name, what @ ..] => self.until(name, what).await,
            ["show", name] => self.show(name),
            other => panic!("not understood: {other:?}"),
        }
    }

    async fn machine(&mut self, name: &str, rest: &[&str]) {
        let mut disk = Disk::image();
        for labels in rest {
            let flag = format!("KUBELET_EXTRA_ARGS=--node-labels={labels}\n");
            disk.write("/etc/default/kubelet", flag);
        }
        self.fleet.add(name, disk, Habits::default());
        // A token of its own: one is bound to one machine.
        let random: Vec<u8> = name.bytes().cycle().take(22).collect();
        let token = bootstrap_token(name, random.as_slice().try_into().unwrap(), None);
        let mut secret = serde_json::to_value(&token.secret).unwrap();
        secret["apiVersion"] = json!("v1");
        secret["kind"] = json!("Secret");
        self.apply(secret).await;
        self.fleet.bootstrap_with(name, token.token.split('.').next().unwrap());
    }

    async fn delete(&mut self, group: &str, version: &str, plural: &str, name: &str) {
        let url = format!("/apis/{group}/{version}/{plural}/{name}");
        let request = http::Request::delete(url).body(Vec::new()).unwrap();
        self.client.request::<Value>(request).await.unwrap();
    }

    fn object(&self, group: &str, version: &str, plural: &str, name: &str) -> Option<Arc<Value>> {
        let objects = self.fleet.cluster().objects(group, version, plural);
        objects.into_iter().find(|object| object["metadata"]["name"] == name)
    }

    fn node(&self, name: &str) -> Option<Arc<Value>> {
        self.object("", "v1", "nodes", name)
    }

    fn berth(&self, name: &str) -> Option<Arc<Value>> {
        self.object("berth.dev", "v1alpha1", "berths", name)
    }

    async fn until(&mut self, name: &str, what: &[&str]) {
        for _ in 0..LOOKS {
            if self.is_so(name, what) {
                let node = self.node(name);
                let uid = node.as_ref().and_then(|node| node["metadata"]["uid"].as_str());
                uid.unwrap_or_default().clone_into(&mut self.uid);
                return;
            }
            self.fleet.run(1).await;
            tokio::time::sleep(BETWEEN).await;
        }
        panic!(
            "{name} never was {what:?}\n{}\nNode: {:#?}\nBerth: {:#?}",
            self.transcript,
            self.node(name),
            self.berth(name)
        );
    }

    fn is_so(&self, name: &str, what: &[&str]) -> bool {
        let node = self.node(name);
        let berth = self.berth(name);
        let label = |key: &str| {
            let node = node.as_ref()?;
            node["metadata"]["labels"][key].as_str().map(str::to_owned)
        };
        let condition = |kind: &str| {
            let conditions = berth.as_ref()?["status"]["conditions"].as_array()?.clone();
            let found = conditions.into_iter().find(|condition| condition["type"] == kind)?;
            Some((found["status"].clone(), found["reason"].clone()))
        };
        match what {
            [phase @ ("Reserved" | "Occupied" | "Vacant")] => {
                berth.as_ref().is_some_and(|berth| berth["status"]["phase"] == *phase)
            }
            ["in-sync"] => condition("LabelsInSync").is_some_and(|(status, _)| status == "True"),
            ["reason", reason] => condition("LabelsInSync").is_some_and(|(_, given)| given == *reason),
            ["label", pair] => {
                let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                label(key).as_deref() == Some(value)
            }
            ["no-label", key] => node.is_some() && label(key).is_none(),
            ["pool", pool] => berth.as_ref().is_some_and(|berth| berth["status"]["pool"] == *pool),
            ["another-node"] => node.is_some_and(|node| node["metadata"]["uid"].as_str() != Some(&self.uid)),
            ["no-berth"] => berth.is_none(),
            ["remembers", key] => berth.is_some_and(|berth| berth["status"]["removedLabels"].get(*key).is_some()),
            ["annotation", key] => node.is_some_and(|node| node["metadata"]["annotations"].get(*key).is_some()),
            ["ready"] => node.is_some_and(|node| {
                let conditions = node["status"]["conditions"].as_array().cloned().unwrap_or_default();
                conditions
                    .iter()
                    .any(|it| it["type"] == "Ready" && it["status"] == "True")
            }),
            other => panic!("not understood: {other:?}"),
        }
    }

    fn show(&mut self, name: &str) {
        let berth = match self.berth(name) {
            Some(berth) => {
                let text = |key: &str| berth["status"][key].as_str().unwrap_or("-").to_owned();
                format!("{}, pool {}", text("phase"), text("pool"))
            }
            None => "none".to_owned(),
        };
        let node = match self.node(name) {
            Some(node) => {
                let labels = node["metadata"]["labels"].as_object().cloned().unwrap_or_default();
                let labels: Vec<String> = labels
                    .iter()
                    .filter(|(key, _)| !PLAIN.contains(&key.as_str()))
                    .map(|(key, value)| match value.as_str() {
                        Some("") | None => key.clone(),
                        Some(value) => format!("{key}={value}"),
                    })
                    .collect();
                let taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
                let taints: Vec<String> = taints
                    .iter()
                    .map(|taint| {
                        format!(
                            ", taint {}:{}",
                            taint["key"].as_str().unwrap(),
                            taint["effect"].as_str().unwrap()
                        )
                    })
                    .collect();
                format!("{}{}", labels.join(" "), taints.concat())
            }
            None => "none".to_owned(),
        };
        writeln!(self.transcript, "    Berth {name}: {berth}\n    Node {name}: {node}").unwrap();
    }
}

fn map(labels: &str) -> Map<String, Value> {
    labels
        .split(',')
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (key.to_owned(), json!(value))
        })
        .collect()
}

fn spec(words: &[&str]) -> Value {
    let mut spec = json!({});
    for word in words {
        match word.split_once(':') {
            Some(("pool", pool)) => spec["pool"] = json!(pool),
            Some(("policy", policy)) => spec["poolPolicy"] = json!(policy),
            Some(("preregister", when)) => spec["preregister"] = json!(when),
            Some(("taint", taint)) => {
                let (key, effect) = taint.split_once(':').unwrap();
                spec["taints"] = json!([{"key": key, "effect": effect}]);
            }
            _ => spec["labels"] = Value::Object(map(word)),
        }
    }
    spec
}

#[tokio::test(flavor = "multi_thread")]
async fn promises() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/promises");
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    files.sort();
    assert!(files.len() >= 10, "{files:?}");
    for file in files {
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let mut world = World::start().await;
        world.play(&std::fs::read_to_string(&file).unwrap()).await;
        world.stop.cancel();
        let transcript = std::mem::take(&mut world.transcript);
        world.server.stop().await;
        insta::with_settings!({prepend_module_to_snapshot => false, omit_expression => true, snapshot_path => "../promises"}, {
            insta::assert_snapshot!(name, transcript);
        });
    }
}
