//! Agreement: random sites and random deeds, asked through every door that decides.
//!
//! The doors are the resolution (`resolve`, `explain`), the plan (`plan`, `forecast`, `rehearse`), the difference of an action
//! (`relabel`), the controllers (Berths from documents, then decisions until nothing is left to do) and what machines are served
//! (Ignition server, from documents and from the cluster). Whatever people did to the cluster, all of them give one answer.

use std::collections::BTreeMap;

use berth_decide::{
    BerthDeclaration, Definitions, Given, KubeletRequest, LabelPolicy, Look, NodeState, NodeView, NodeWrite, Requested,
    Reservation, Serving, Settings, Strategy as Way, Subject, decide, is_in_place, label_diff, names, plan, reserve,
    resolve,
};
use berth_documents::Sources;
use berth_labels::{ConflictPolicy, Flavour};
use berth_pools::RenderOptions;
use berth_resources::Berth;
use berth_site::{Resolver, Site, load};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use serde_json::{Value, json};

const POOLS: [&str; 3] = ["worker", "infra", "edge"];
const NODES: [&str; 3] = ["a1", "b1", "b2"];
const KEYS: [&str; 3] = ["example.com/a", "example.com/b", "example.com/c"];

/// A node in documents: its pool, its own labels, its rack, a tag.
type Described = (usize, Vec<(usize, u8)>, Option<u8>, bool);

/// A site in documents.
#[derive(Clone, Debug)]
struct Documents {
    /// Explicit labels of each pool.
    explicit: Vec<Option<u8>>,
    /// A rule for names that begin with `b`: a label, and perhaps a pool.
    rule: Option<(usize, u8, Option<usize>)>,
    nodes: Vec<Described>,
    dynamic: bool,
}

fn documents() -> impl Strategy<Value = Documents> {
    let label = (0..KEYS.len(), 0..3u8);
    let node = (
        0..POOLS.len(),
        prop::collection::vec(label, 0..3),
        prop::option::of(0..2u8),
        any::<bool>(),
    );
    (
        prop::collection::vec(prop::option::of(0..3u8), POOLS.len()),
        prop::option::of((0..KEYS.len(), 0..3u8, prop::option::of(0..POOLS.len()))),
        prop::collection::vec(node, NODES.len()),
        any::<bool>(),
    )
        .prop_map(|(explicit, rule, nodes, dynamic)| Documents {
            explicit,
            rule,
            nodes,
            dynamic,
        })
}

impl Documents {
    /// Pools and rules, which are in the cluster too.
    fn definitions(&self) -> Vec<Value> {
        let mut objects: Vec<Value> = POOLS
            .iter()
            .zip(&self.explicit)
            .map(|(pool, explicit)| {
                let explicit = explicit.map_or_else(String::new, |value| format!("example.com/pool=v{value}"));
                json!({
                    "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
                    "metadata": {"name": pool, "annotations": {"berth.dev/node-labels": explicit}},
                    "spec": {
                        "nodeSelector": {"matchLabels": {format!("node-role.kubernetes.io/{pool}"): ""}},
                        "machineConfigSelector": {"matchLabels": {"machineconfiguration.openshift.io/role": pool}},
                        "configuration": {"name": format!("rendered-{pool}")},
                    },
                    "status": {"configuration": {"name": format!("rendered-{pool}")}, "updatedMachineCount": 1},
                })
            })
            .collect();
        if let Some((key, value, pool)) = self.rule {
            let mut spec = json!({"match": {"namePatterns": ["b.*"]}, "labels": {KEYS[key]: format!("v{value}")}});
            if let Some(pool) = pool {
                spec["pool"] = json!(POOLS[pool]);
            }
            objects.push(json!({
                "apiVersion": "berth.dev/v1alpha1", "kind": "LabelRule", "metadata": {"name": "rule"}, "spec": spec,
            }));
        }
        objects
    }

    fn all(&self) -> Vec<Value> {
        let dynamic = if self.dynamic { "enabled" } else { "disabled" };
        let mut objects = self.definitions();
        let airship = |kind: &str, name: &str, labels: Value, data: Value| {
            json!({
                "schema": format!("drydock/{kind}/v1"),
                "metadata": {"schema": "metadata/Document/v1", "name": name, "labels": labels},
                "data": data,
            })
        };
        objects.push(airship(
            "Region",
            "region",
            json!({"berth.dev/dynamic-labels": dynamic}),
            json!({}),
        ));
        for rack in 0..2 {
            objects.push(airship("Rack", &format!("r{rack}"), json!({}), json!({})));
        }
        for (name, (pool, labels, rack, tag)) in NODES.iter().zip(&self.nodes) {
            let labels: BTreeMap<&str, String> = labels
                .iter()
                .map(|(key, value)| (KEYS[*key], format!("v{value}")))
                .collect();
            let mut metadata = json!({"owner_data": labels});
            if let Some(rack) = rack {
                metadata["rack"] = json!(format!("r{rack}"));
            }
            if *tag {
                metadata["tags"] = json!(["tagged", "not a label"]);
            }
            let pin = json!({"berth.dev/pool": POOLS[*pool]});
            objects.push(airship("BaremetalNode", name, pin, json!({"metadata": metadata})));
        }
        objects
    }
}

fn read(objects: &[Value]) -> Site {
    let mut sources = Sources::new();
    let mut documents = Vec::new();
    for object in objects {
        let id = sources.add("site", object.to_string());
        documents.extend(berth_documents::parse(&sources, id).documents);
    }
    load(&sources, &documents).0
}

/// What somebody does to the Node of a machine.
#[derive(Clone, Debug)]
enum Deed {
    /// Sets a label of their own.
    Foreign(usize),
    /// Removes a declared label.
    Remove(usize, usize),
    /// Gives a declared key another value.
    Change(usize, usize),
    /// Moves it to another pool.
    Move(usize, usize),
    /// Deletes it.
    Delete(usize),
}

fn deed() -> impl Strategy<Value = Deed> {
    let node = 0..NODES.len();
    prop_oneof![
        node.clone().prop_map(Deed::Foreign),
        (node.clone(), 0..KEYS.len()).prop_map(|(node, key)| Deed::Remove(node, key)),
        (node.clone(), 0..KEYS.len()).prop_map(|(node, key)| Deed::Change(node, key)),
        (node.clone(), 0..POOLS.len()).prop_map(|(node, pool)| Deed::Move(node, pool)),
        node.prop_map(Deed::Delete),
    ]
}

/// One machine in the cluster.
struct Machine {
    berth: Berth,
    node: Option<NodeView>,
    gone: Option<NodeView>,
    seen_in_place: bool,
}

struct Cluster {
    objects: Vec<Value>,
    machines: Vec<Machine>,
    versions: u32,
    now: Timestamp,
}

impl Cluster {
    /// Berths as the documents ask for them.
    fn new(documents: &Documents) -> Self {
        let site = read(&documents.all());
        let resolver = Resolver::new(&site, Flavour::Upstream);
        let machines = reserve(&resolver, &[], false).into_iter().map(|reservation| {
            let Reservation::Create(mut berth) = reservation else {
                panic!("{reservation:?}");
            };
            berth.metadata.generation = Some(1);
            Machine {
                berth: *berth,
                node: None,
                gone: None,
                seen_in_place: false,
            }
        });
        Self {
            objects: documents.definitions(),
            machines: machines.collect(),
            versions: 0,
            now: Timestamp::UNIX_EPOCH,
        }
    }

    /// The controllers, until there is nothing to do.
    fn settle(&mut self) {
        for _ in 0..12 {
            let mut definitions = Definitions::new(&self.objects, Flavour::Upstream);
            let mut busy = false;
            for machine in &mut self.machines {
                busy |= machine.step(&mut definitions, &mut self.versions, self.now);
            }
            if !busy {
                return;
            }
        }
        panic!("it does not settle");
    }

    fn act(&mut self, deed: &Deed) {
        // A Node that is deleted over and over within minutes is not created again at once.
        self.now += SignedDuration::from_hours(1);
        let (Deed::Foreign(node)
        | Deed::Remove(node, _)
        | Deed::Change(node, _)
        | Deed::Move(node, _)
        | Deed::Delete(node)) = deed;
        let machine = &mut self.machines[*node];
        let Some(live) = &mut machine.node else { return };
        match deed {
            Deed::Foreign(_) => {
                live.labels.insert("by-hand".to_owned(), "x".to_owned());
            }
            Deed::Remove(_, key) => {
                live.labels.remove(KEYS[*key]);
            }
            Deed::Change(_, key) => {
                if let Some(value) = live.labels.get_mut(KEYS[*key]) {
                    "theirs".clone_into(value);
                }
            }
            Deed::Move(_, pool) => {
                live.labels
                    .retain(|key, _| !key.starts_with("node-role.kubernetes.io/"));
                let role = format!("node-role.kubernetes.io/{}", POOLS[*pool]);
                live.labels.insert(role, String::new());
            }
            Deed::Delete(_) => machine.gone = machine.node.take(),
        }
    }

    /// What `kubectl get` shows of everything.
    fn dump(&self) -> Vec<Value> {
        let mut objects = self.objects.clone();
        for machine in &self.machines {
            let mut berth = serde_json::to_value(&machine.berth).unwrap();
            berth["apiVersion"] = json!("berth.dev/v1alpha1");
            berth["kind"] = json!("Berth");
            objects.push(berth);
            if let Some(node) = &machine.node {
                objects.push(json!({
                    "apiVersion": "v1", "kind": "Node",
                    "metadata": {"name": node.name, "labels": node.labels, "annotations": node.annotations},
                }));
            }
        }
        objects
    }
}

impl Machine {
    /// One decision, carried out. Whether anything was written.
    fn step(&mut self, definitions: &mut Definitions, versions: &mut u32, now: Timestamp) -> bool {
        let live = self.node.as_ref();
        self.seen_in_place |= live.is_some_and(|node| is_in_place(definitions, &self.berth, node));
        let mut looks = [Look::new(
            definitions,
            &self.berth,
            live,
            self.gone.as_ref(),
            self.seen_in_place,
        )];
        let answer = resolve(definitions, &mut looks).remove(0);
        let subject = Subject {
            berth: &self.berth,
            node: live,
            requests: &[KubeletRequest {
                created: Some(now),
                open: true,
                bootstrap: false,
            }],
            absence: None,
            registers: None,
            duplicate_of: None,
        };
        let settings = Settings {
            now,
            hold_removals: false,
            conflicts: ConflictPolicy::Report,
        };
        let decision = decide(definitions, subject, &looks[0].pin, &answer, &settings);
        let writes = decision.node.is_some() || decision.status_patch(&self.berth).is_some();
        self.berth.status = Some(decision.status);
        match decision.node {
            Some(NodeWrite::Create(node)) => {
                let mut node = NodeView::from(*node);
                *versions += 1;
                node.uid = format!("uid-{versions}");
                node.has_kubelet = true;
                if let Some(status) = &mut self.berth.status {
                    status.node_uid = Some(node.uid.clone());
                }
                (self.node, self.gone) = (Some(node), None);
            }
            Some(NodeWrite::Patch(patch)) => self.patch(&patch.to_value()),
            None => {}
        }
        writes
    }

    fn patch(&mut self, patch: &Value) {
        let Some(node) = &mut self.node else { return };
        for (field, map) in [("labels", &mut node.labels), ("annotations", &mut node.annotations)] {
            for (key, value) in patch["metadata"][field].as_object().into_iter().flatten() {
                match value.as_str() {
                    Some(value) => map.insert(key.clone(), value.to_owned()),
                    None => map.remove(key),
                };
            }
        }
    }
}

proptest! {
    /// A cluster that documents made is as the documents say, by every door.
    #[test]
    fn a_new_cluster_is_what_its_documents_say(documents in documents()) {
        let mut cluster = Cluster::new(&documents);
        cluster.settle();
        let mut site = read(&documents.all());
        let dump = read(&cluster.dump());
        site.observed = dump.observed;
        let resolver = Resolver::new(&site, Flavour::Upstream);
        let resolutions = resolver.resolve_all();

        let planned = plan(&resolver, &resolutions, Way::Owned, &LabelPolicy::default());
        prop_assert_eq!(planned.totals.changing, 0, "{:?}", planned.nodes);
        let by_documents = Serving::of_site(&resolver, &RenderOptions::default());
        let by_cluster = Serving::of_cluster(&cluster.dump(), Flavour::Upstream);
        for (resolution, machine) in resolutions.iter().zip(&cluster.machines) {
            let node = machine.node.as_ref().unwrap();
            let errors = resolution.diagnostics.iter().any(|it| it.severity() == berth_documents::Severity::Error);
            prop_assert!(!errors, "{:?}", resolution.diagnostics);
            let declared = resolution.label_set().to_map();
            for (key, value) in &declared {
                prop_assert_eq!(node.labels.get(key), Some(value), "{}", key);
            }
            let status = machine.berth.status.as_ref().unwrap();
            prop_assert_eq!(&status.labels, &declared, "what is Berth's");
            prop_assert_eq!(status.pool.as_deref(), resolution.pool_name());
            let requested: Requested = declared.into_iter().map(|(key, value)| (key, Some(value))).collect();
            let mut state = NodeState::new(node.labels.clone(), &node.annotations);
            let declaration = BerthDeclaration::from(resolution);
            state.confirm(Some(&machine.berth), Some(&declaration), &Given::new());
            for way in [Way::Owned, Way::Mirror] {
                let diff = label_diff(&state, &requested, way, &LabelPolicy::default());
                prop_assert!(diff.is_noop(), "an action wants {:?}", diff);
            }
            prop_assert_eq!(&by_documents.nodes[&node.name], &by_cluster.nodes[&node.name]);
        }
        for pool in POOLS {
            prop_assert_eq!(&by_documents.pools[pool].labels, &by_cluster.pools[pool].labels);
        }
    }

    /// Whatever people do, the controllers come to rest, and then nobody else wants a change either: not the plan on a dump of
    /// the cluster, and a machine that is provisioned again gets the pool where it is now.
    #[test]
    fn after_any_deeds_all_doors_agree(documents in documents(), deeds in prop::collection::vec(deed(), 0..6)) {
        let mut cluster = Cluster::new(&documents);
        cluster.settle();
        for deed in &deeds {
            cluster.act(deed);
            cluster.settle();
        }
        let dump = cluster.dump();
        let site = read(&dump);
        let serving = Serving::of_cluster(&dump, Flavour::Upstream);
        let resolver = Resolver::new(&site, Flavour::Upstream);
        let planned = plan(&resolver, &resolver.resolve_all(), Way::Owned, &LabelPolicy::default());
        prop_assert_eq!(planned.totals.changing, 0, "after {:?} the plan wants {:?}", deeds, planned.nodes);
        prop_assert_eq!(planned.totals.moves, 0);
        for machine in &cluster.machines {
            let name = machine.berth.node_name();
            let node = machine.node.as_ref().unwrap();
            let status = machine.berth.status.as_ref().unwrap();
            let placed = resolver.membership().of(&name, &node.labels).unwrap();
            let pool = placed.primary().map(ToString::to_string);
            prop_assert_eq!(&status.pool, &pool, "the Berth says where the Node is");
            prop_assert_eq!(node.annotations.get(names::POOL), pool.as_ref());
            let served = serving.nodes[&name].as_ref().map(|place| place.pool.clone()).ok();
            prop_assert_eq!(served, pool, "what it boots with after {:?}", deeds);
            // What is Berth's is on the Node with that value, or somebody changed it, which is a conflict.
            for (key, value) in &status.labels {
                let live = node.labels.get(key);
                prop_assert!(live == Some(value) || live.is_some_and(|live| live == "theirs"), "{} {:?}", key, live);
            }
        }
    }
}
