//! Agreement: one question through every door of the executable, and one answer.
//!
//! | door | what answers |
//! |---|---|
//! | documents | `resolve`, `render`, `plan`, `ignition` on the files: what the others are compared with |
//! | explained | `explain` |
//! | forecast, rehearsal | what a change of the documents costs |
//! | machines | an Ignition server on the folder, on the committed revision of a database, on the cluster |
//! | dry run, action | the API on `SQLite` and `PostgreSQL`, with a cluster behind it |
//! | controllers | in full mode, on the embedded and the real API server |
//! | status | the same cluster, as `berth status` sums it up |
//! | dump | `resolve`, `plan` and `ignition` on what `kubectl get` prints of the cluster |
//! | up | the whole product on simulated machines, with the Ignition server that they boot from, in both modes |
//!
//! Each is asked about a site, and again after its documents changed: the pool, the labels, what is set and removed, the name of the
//! rendered config, the labels at boot, the reboots, and whether so many labels go that somebody has to agree. The pure core behind the doors is asked about far more sites by the suite of
//! `berth-decide`; this one shows that the doors ask that core.

mod brake;
mod contradictions;
mod doors;
mod sites;

use std::{collections::BTreeMap, path::PathBuf, process::Command, time::Duration};

use berth_clock::Clock;
use berth_sim::{ApiServer, Cluster, ClusterOptions, Identity as SimIdentity, kubeconfig};
use berth_testing::{ControlPlane, Identity, Options, Programs};
use serde_json::{Value, json};

use self::{
    doors::{
        Action, Controllers, Documents, Door, DryRun, Dump, Explained, Forecast, Machines, Repository, Status, Up,
    },
    sites::Site,
};
use crate::{
    postgres_server,
    run::{Folder, Outcome, finish},
    up::program,
};

type Labels = BTreeMap<String, String>;

/// What a door says, by `node NAME` or `pool NAME`. It leaves out what it does not speak of.
type Said = BTreeMap<String, Value>;

/// Long, because the machine may be busy; nothing is concluded from how long something took.
const PATIENCE: usize = 900;

/// Where a door says something else than the documents do.
fn differences(truth: &Said, said: &Said) -> Vec<String> {
    let mut found = Vec::new();
    for (about, answer) in said {
        let Some(expected) = truth.get(about) else {
            found.push(format!("{about} is not in the documents"));
            continue;
        };
        for (field, value) in answer.as_object().unwrap() {
            if expected[field] != *value {
                found.push(format!(
                    "{about}: {field} is {value}, and by the documents {}",
                    expected[field]
                ));
            }
        }
    }
    let nodes = |said: &Said| said.keys().filter(|about| about.starts_with("node ")).count();
    if nodes(said) > 0 && nodes(said) < nodes(truth) {
        found.push(format!("it speaks of {} of {} nodes", nodes(said), nodes(truth)));
    }
    found
}

/// Asks the doors about a site whose Nodes were as `live` before.
fn agree(site: &Site, live: &Value, doors: &mut [&mut dyn Door]) {
    let truth = Documents.ask(site, live);
    for door in doors {
        let settles = door.settles();
        let mut found = || {
            let said = door.ask(site, live);
            assert!(!said.is_empty(), "{} says nothing", door.name());
            differences(&truth, &said)
        };
        let found = if settles { settled(found) } else { found() };
        assert!(found.is_empty(), "{} on {}: {found:#?}", door.name(), site.name);
    }
}

/// The last differences, where something may take a while.
fn settled(mut found: impl FnMut() -> Vec<String>) -> Vec<String> {
    for _ in 0..PATIENCE {
        if found().is_empty() {
            return Vec::new();
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    found()
}

/// Nothing to write and nobody to move, by the documents.
fn nothing_is_left_to_do(site: &Site, live: &Value) {
    for (about, answer) in Documents::in_short(site, live) {
        if about.starts_with("node ") {
            assert_eq!(
                (&answer["set"], &answer["removed"]),
                (&json!({}), &json!([])),
                "{about}"
            );
            assert_eq!(answer["reboots"], json!(false), "{about}");
        }
    }
}

/// Doors that need no cluster.
fn agrees_offline(site: &mut Site) {
    for version in site.versions() {
        site.show(version);
        let live = site.bare_nodes();
        agree(site, &live, &mut [&mut Explained, &mut Machines::of_folder(site)]);
        let mut there = live;
        let truth = Documents::in_short(site, &there);
        for node in there["items"].as_array_mut().unwrap() {
            let about = format!("node {}", text(&node["metadata"]["name"]));
            for (key, value) in truth[&about]["labels"].as_object().unwrap() {
                node["metadata"]["labels"][key] = value.clone();
            }
        }
        nothing_is_left_to_do(site, &there);
    }
}

/// Doors with a database and a cluster behind them.
fn agrees_in_a_cluster(site: &mut Site, database: &str, api: &Api) {
    let repository = Repository::new(site, database, api);
    api.make(&site.bare_nodes());
    for version in site.versions() {
        site.show(version);
        repository.commit(site);
        let live = api.nodes();
        agree(
            site,
            &live,
            &mut [
                &mut Machines::of_revision(site, database),
                &mut DryRun(&repository),
                &mut Action(&repository),
            ],
        );
        nothing_is_left_to_do(site, &api.nodes());
    }

    api.kubectl("delete nodes --all --wait=false");
    Controllers::install(api);
    for version in site.versions() {
        site.show(version);
        let is_first = version == 0;
        let definitions = site.definitions();
        if is_first {
            api.make(&definitions);
        } else {
            // The Berths are as the documents were.
            let live = api.nodes();
            agree(site, &live, &mut [&mut Forecast, &mut DryRun(&repository)]);
            api.replace(&definitions);
        }
        let before = if is_first { site.bare_nodes() } else { api.nodes() };
        let mut controllers = Controllers::start(site, api);
        agree(site, &before, &mut [&mut Machines::of_cluster(site, api)]);
        if is_first {
            api.make(&site.bare_nodes());
        }
        agree(
            site,
            &before,
            &mut [
                &mut controllers,
                &mut Status(api),
                &mut Machines::of_cluster(site, api),
                &mut Dump(api),
            ],
        );
        nothing_is_left_to_do(site, &api.nodes());
        if !is_first {
            let servers = [
                &Machines::of_cluster(site, api),
                &Machines::of_revision_beside(site, database, api),
            ];
            a_moved_machine_that_is_provisioned_again_comes_back_in_its_new_pool(site, api, &servers);
        }
    }
}

/// An administrator moves a machine to another pool. Its next disk is that of the new pool, whichever server it asks, and so is its
/// Node.
fn a_moved_machine_that_is_provisioned_again_comes_back_in_its_new_pool(site: &Site, api: &Api, servers: &[&Machines]) {
    let truth = Documents::in_short(site, &api.nodes());
    let selectors: BTreeMap<String, Value> = array(&site.definitions()["items"])
        .into_iter()
        .filter(|object| object["kind"] == "MachineConfigPool")
        .map(|pool| {
            (
                text(&pool["metadata"]["name"]),
                pool["spec"]["nodeSelector"]["matchLabels"].clone(),
            )
        })
        .collect();
    // A site with one pool has nowhere to move to.
    let Some((about, pool, new)) = truth.iter().find_map(|(about, answer)| {
        let pool = answer["pool"]
            .as_str()
            .filter(|pool| about.starts_with("node ") && *pool != "master")?;
        let new = selectors.keys().find(|new| *new != pool && *new != "master")?;
        Some((about, pool, new))
    }) else {
        return;
    };
    let name = about.strip_prefix("node ").unwrap();
    for server in servers {
        let config = &truth[&format!("pool {pool}")]["config"];
        assert_eq!(server.disk(name).0, *config, "{} before", server.name());
    }

    let gone = selectors[pool].as_object().unwrap().keys().map(|key| format!("{key}-"));
    let set = selectors[new].as_object().unwrap().iter();
    let set = set.map(|(key, value)| format!("{key}={}", text(value)));
    let words: Vec<String> = gone.chain(set).collect();
    let moved = api.kubectl(&format!("label node {name} {}", words.join(" ")));
    assert_eq!(moved.exit, 0, "{moved}");
    api.wait_for(&format!("berth {name}"), |berth| berth["status"]["pool"] == json!(new));
    let config = &truth[&format!("pool {new}")]["config"];
    let new_disk = |server: &&Machines| {
        patiently(
            || {
                format!(
                    "{}: {name} gets {:?}, and is in {new}",
                    server.name(),
                    server.disk(name)
                )
            },
            || Some(server.disk(name)).filter(|disk| disk.0 == *config),
        )
    };
    let disks: Vec<_> = servers.iter().map(new_disk).collect();
    assert!(disks.windows(2).all(|two| two[0] == two[1]), "{disks:#?}");
    let disk = &disks[0];

    // A kubelet that starts from that disk, on a cluster where the Node is gone.
    api.kubectl(&format!("delete node {name} --wait=false"));
    let labels = disk.1[0].iter().map(|line| line.split_once('=').unwrap());
    let mut labels: Labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    for key in selectors[pool].as_object().unwrap().keys() {
        assert!(!labels.contains_key(key), "the new disk has {key} of pool {pool}");
    }
    labels.extend(sites::bare(name));
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}});
    patiently(
        || format!("{name} does not register"),
        || {
            let made = api.send("create --validate=false -f -", node.to_string().as_bytes());
            (made.exit == 0 || made.stderr.contains("AlreadyExists")).then_some(())
        },
    );
    api.wait_for(&format!("node {name}"), |node| {
        let has = |(key, value): (&String, &Value)| node["metadata"]["labels"][key] == *value;
        selectors[new].as_object().unwrap().iter().all(has)
    });
    // What is there now is right by every door that looks at the cluster.
    let dump = Dump(api);
    let found = settled(|| {
        let said = dump.now(site);
        let node = &said[about];
        let pools = [&node["pool"], &json!(new)];
        let mut found = Vec::new();
        if pools[0] != pools[1] || node["set"] != json!({}) || node["removed"] != json!([]) {
            found.push(format!("the dump says {node}"));
        }
        for server in servers {
            let disk = server.disk(name);
            if json!(disk.1) != node["boot"] || disk.0 != *config {
                let server = server.name();
                found.push(format!(
                    "{server}: it would boot with {disk:?}, and by the dump with {node}"
                ));
            }
        }
        found
    });
    assert!(found.is_empty(), "{} on {}: {found:#?}", name, site.name);
}

/// Offline, on `SQLite`, on the embedded API server and in `up`.
fn agrees_here(mut site: Site) {
    agrees_offline(&mut site);
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
    agrees_in_a_cluster(&mut site, "sqlite:berth.db", &api);
    // With configs in the cluster, Nodes also get what the unit in them registers with, which no document declares: the telco site's
    // units have roles.
    let modes: &[&str] = if site.flavour == "openshift" {
        &["labels"]
    } else {
        &["labels", "full"]
    };
    for mode in modes {
        site.show(0);
        let mut up = Up::start_in(mode, &site, kubectl.clone());
        for version in site.versions() {
            site.show(version);
            let live = up.prepare(&site, version);
            agree(&site, &live, &mut [&mut up]);
            nothing_is_left_to_do(&site, &up.api.nodes());
        }
        a_moved_machine_that_is_provisioned_again_comes_back_in_its_new_pool(&site, &up.api, &[&up.machines]);
    }
}

/// On `PostgreSQL` and on a real API server.
fn agrees_on_real_parts(mut site: Site) {
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
    agrees_in_a_cluster(&mut site, &database, &api);
}

#[test]
fn every_door_gives_one_answer_about_the_telco_site() {
    agrees_here(Site::telco());
}

#[test]
fn every_door_gives_one_answer_about_the_telco_site_on_real_parts() {
    agrees_on_real_parts(Site::telco());
}

#[test]
fn every_door_gives_one_answer_about_the_layered_site() {
    agrees_here(Site::layered());
}

#[test]
fn every_door_gives_one_answer_about_random_sites() {
    for seed in 1..=3 {
        agrees_here(Site::random(seed));
    }
}

#[test]
fn every_door_gives_one_answer_about_a_random_site_on_real_parts() {
    agrees_on_real_parts(Site::random(4));
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

fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().unwrap()
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

    fn make(&self, list: &Value) {
        let made = self.send("create --validate=false -f -", list.to_string().as_bytes());
        assert_eq!(made.exit, 0, "{made}");
    }

    /// Rules as they are now, and what documents say of pools.
    fn replace(&self, list: &Value) {
        for object in array(&list["items"]) {
            let replaced = match object["kind"].as_str().unwrap() {
                "LabelRule" => self.send("replace --validate=false -f -", object.to_string().as_bytes()),
                "MachineConfigPool" => {
                    let patch = json!({"metadata": {"annotations": object["metadata"]["annotations"]}}).to_string();
                    let pool = text(&object["metadata"]["name"]);
                    self.kubectl(&format!("patch machineconfigpool {pool} --type merge -p {patch}"))
                }
                _ => continue,
            };
            assert_eq!(replaced.exit, 0, "{replaced}");
        }
    }

    fn nodes(&self) -> Value {
        self.kubectl("get nodes -o json").json()
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
