//! Stories about one node: somebody does something, Berth decides until nothing is left to do, and the Node is looked at.

mod causes;
mod found;
mod life;
mod ownership;
mod units;

use std::collections::BTreeMap;

use berth_labels::{ConflictPolicy, Flavour};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use super::*;
use crate::{
    look::{Look, resolve},
    names,
};
use berth_resources::{BerthSpec, Machine, PoolPolicy};

const INFRA: &str = "node-role.kubernetes.io/infra";
const STORAGE: &str = "node-role.kubernetes.io/storage";
const WORKER: &str = "node-role.kubernetes.io/worker";

fn pool(name: &str, selector: &str, explicit: &str) -> Value {
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
        "metadata": {"name": name, "annotations": {"berth.dev/node-labels": explicit}},
        "spec": {"nodeSelector": {"matchLabels": {selector: ""}}},
    })
}

fn rule(name: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": "berth.dev/v1alpha1", "kind": "LabelRule", "metadata": {"name": name},
        "spec": {"match": {"namePatterns": [".*"]}, "labels": labels},
    })
}

/// A kubelet asks for its first certificate.
fn asks(now: Timestamp) -> KubeletRequest {
    KubeletRequest {
        created: Some(now),
        open: true,
        bootstrap: true,
    }
}

/// One node and its Berth, in a cluster with three pools.
struct World {
    objects: Vec<Value>,
    berth: Berth,
    node: Option<NodeView>,
    gone: Option<NodeView>,
    requested: bool,
    /// What is known about a Node that went; its machine is alive unless a story says otherwise.
    absence: Absence,
    /// The labels that the kubelet's unit gives.
    /// When a request was made that is approved.
    approved: Option<Timestamp>,
    registers: Option<KubeletLabels>,
    flavour: Flavour,
    now: Timestamp,
    versions: u64,
    notes: Vec<Note>,
    wake: Option<Duration>,
    hold: bool,
    removals: usize,
    asked: bool,
    /// The objects under which the Node was last seen in its place.
    witnessed: Option<Vec<Value>>,
}

impl World {
    fn new(spec: BerthSpec) -> Self {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let mut berth = Berth::new("w1", spec);
        berth.metadata.generation = Some(1);
        berth.metadata.creation_timestamp = Some(Time(now));
        Self {
            objects: vec![
                pool("worker", WORKER, ""),
                pool("infra", INFRA, "tier=infra"),
                pool("storage", STORAGE, "tier=storage,disks=many"),
                rule("site", &json!({"telco.example/site": "atl"})),
            ],
            berth,
            node: None,
            gone: None,
            requested: false,
            absence: Absence {
                was_ready: Some(true),
                ..Absence::default()
            },
            approved: None,
            registers: None,
            flavour: Flavour::Upstream,
            now,
            versions: 0,
            notes: Vec::new(),
            wake: None,
            hold: false,
            removals: 0,
            asked: false,
            witnessed: None,
        }
    }

    fn infra() -> Self {
        Self::new(BerthSpec {
            pool: Some("infra".to_owned()),
            ..BerthSpec::default()
        })
    }

    /// A kubelet has come and everything is in place.
    fn occupied() -> Self {
        let mut world = Self::infra();
        world.requested = true;
        world.settle();
        world.kubelet_reports();
        world.settle();
        world.requested = false;
        world
    }

    /// Looks whether the Node is in its place.
    fn look(&mut self) {
        let definitions = Definitions::new(&self.objects, self.flavour);
        let in_place = |node: &NodeView| is_in_place(&definitions, &self.berth, node);
        if self.node.as_ref().is_some_and(in_place) {
            self.witnessed = Some(self.objects.clone());
        }
    }

    /// Decides as the controllers do: what one person asks for is not held.
    fn decide(&self) -> Decision {
        let decision = self.decide_with(self.hold);
        if decision.asked {
            return self.decide_with(false);
        }
        decision
    }

    fn decide_with(&self, hold_removals: bool) -> Decision {
        let mut definitions = Definitions::new(&self.objects, self.flavour);
        let witnessed = self.witnessed.as_ref() == Some(&self.objects);
        let (live, gone) = (self.node.as_ref(), self.gone.as_ref());
        let mut looks = [Look::new(&definitions, &self.berth, live, gone, witnessed)];
        let answer = resolve(&mut definitions, &mut looks).remove(0);
        let [Look { pin, .. }] = looks;
        let open = self.requested.then(|| asks(self.now));
        let approved = self.approved.map(|created| KubeletRequest {
            open: false,
            ..asks(created)
        });
        let requests: Vec<KubeletRequest> = open.into_iter().chain(approved).collect();
        let subject = Subject {
            berth: &self.berth,
            node: self.node.as_ref(),
            requests: &requests,
            absence: Some(&self.absence),
            registers: self.registers.as_ref(),
            duplicate_of: None,
        };
        let settings = Settings {
            now: self.now,
            hold_removals,
            conflicts: ConflictPolicy::Report,
        };
        decide(&definitions, subject, &pin, &answer, &settings)
    }

    /// Decides and does it, until there is nothing to do. Returns how many writes that took.
    fn settle(&mut self) -> usize {
        self.notes.clear();
        (self.removals, self.asked) = (0, false);
        for writes in 0..10 {
            self.look();
            let decision = self.decide();
            self.wake = decision.wake_after;
            self.removals += decision.removals;
            self.asked |= decision.asked;
            let changed = decision.node.is_some() || decision.status_patch(&self.berth).is_some();
            if !changed {
                return writes;
            }
            self.notes.extend(decision.notes.clone());
            self.berth.status = Some(decision.status);
            self.gone = None;
            match decision.node {
                Some(NodeWrite::Create(node)) => self.create(NodeView::from(*node)),
                Some(NodeWrite::Patch(patch)) => self.patch(&patch.to_value()),
                None => {}
            }
        }
        panic!("it does not settle: {:?}", self.decide());
    }

    fn create(&mut self, mut node: NodeView) {
        assert!(self.node.is_none());
        self.versions += 1;
        node.uid = format!("uid-{}", self.versions);
        node.created = Some(self.now);
        if let Some(status) = &mut self.berth.status {
            status.node_uid = Some(node.uid.clone());
        }
        self.node = Some(node);
    }

    fn patch(&mut self, patch: &Value) {
        let node = self.node.as_mut().unwrap();
        assert_eq!(patch["metadata"]["uid"], json!(node.uid));
        for (field, map) in [("labels", &mut node.labels), ("annotations", &mut node.annotations)] {
            for (key, value) in patch["metadata"][field].as_object().into_iter().flatten() {
                match value.as_str() {
                    Some(value) => map.insert(key.clone(), value.to_owned()),
                    None => map.remove(key),
                };
            }
        }
        if let Some(taints) = patch.pointer("/spec/taints") {
            node.taints = serde_json::from_value(taints.clone()).unwrap();
        }
        node.resource_version.push('+');
    }

    fn kubelet_reports(&mut self) {
        let node = self.node.as_mut().unwrap();
        node.has_kubelet = true;
        node.system_uuid = Some("4C4C4544-0000".to_owned());
        node.labels
            .insert("kubernetes.io/hostname".to_owned(), "w1-host".to_owned());
    }

    /// A kubelet creates its Node with the labels of its flags.
    fn kubelet_registers(&mut self, labels: &[(&str, &str)]) {
        self.create(NodeView {
            name: "w1".to_owned(),
            labels: labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            ..NodeView::default()
        });
        if let Some(status) = &mut self.berth.status {
            status.node_uid = None;
        }
        self.kubelet_reports();
    }

    fn delete_node(&mut self) {
        self.gone = self.node.take();
    }

    fn label(&mut self, key: &str, value: &str) {
        self.node
            .as_mut()
            .unwrap()
            .labels
            .insert(key.to_owned(), value.to_owned());
    }

    fn unlabel(&mut self, key: &str) {
        self.node.as_mut().unwrap().labels.remove(key).unwrap();
    }

    fn edit(&mut self, edit: impl FnOnce(&mut BerthSpec)) {
        edit(&mut self.berth.spec);
        self.berth.metadata.generation = self.berth.metadata.generation.map(|generation| generation + 1);
    }

    fn has(&self, key: &str) -> Option<&str> {
        self.node.as_ref()?.labels.get(key).map(String::as_str)
    }

    fn status(&self) -> &BerthStatus {
        self.berth.status.as_ref().unwrap()
    }

    fn condition(&self, type_: &str) -> (&str, &str) {
        let condition = self
            .status()
            .conditions
            .iter()
            .find(|condition| condition.type_ == type_)
            .unwrap();
        (condition.status.as_str(), condition.reason.as_str())
    }

    fn reasons(&self) -> Vec<&str> {
        self.notes.iter().map(|note| note.reason).collect()
    }
}

#[test]
fn a_reserved_place_waits_without_a_phantom_node() {
    let mut world = World::infra();
    world.settle();
    assert!(world.node.is_none());
    assert_eq!(world.status().phase, Some(Phase::Reserved));
    assert_eq!(world.status().pool.as_deref(), Some("infra"));
    assert_eq!(world.condition("Ready"), ("False", "AwaitingMachine"));
    assert_eq!(world.settle(), 0, "nothing changed, so nothing is written");
}

#[test]
fn the_request_brings_the_node_with_everything_on_it() {
    let mut world = World::new(BerthSpec {
        pool: Some("infra".to_owned()),
        taints: vec![serde_json::from_value(json!({"key": "infra", "effect": "NoSchedule"})).unwrap()],
        ..BerthSpec::default()
    });
    world.requested = true;
    world.settle();
    assert_eq!(world.has(INFRA), Some(""));
    assert_eq!(world.has("tier"), Some("infra"));
    assert_eq!(world.has("telco.example/site"), Some("atl"));
    let node = world.node.as_ref().unwrap();
    assert_eq!(node.taints.len(), 1);
    assert_eq!(node.given_pool(), Some("infra"));
    assert_eq!(node.owned().unwrap().len(), 3);
    assert_eq!(world.reasons(), ["Preregistered"]);
    assert_eq!(world.status().phase, Some(Phase::Reserved));
    assert_eq!(world.condition("Ready"), ("False", "Preregistered"));
    world.kubelet_reports();
    world.settle();
    assert_eq!(world.status().phase, Some(Phase::Occupied));
    assert_eq!(world.condition("Ready"), ("True", "InSync"));
    assert_eq!(world.settle(), 0);
}

#[test]
fn preregister_now_does_not_wait_and_an_ignition_fetch_is_a_request() {
    let mut world = World::infra();
    world.edit(|spec| spec.preregister = berth_resources::Preregister::Now);
    world.settle();
    assert!(world.node.is_some());
    let mut world = World::infra();
    world.berth.metadata.annotations = Some(BTreeMap::from([(names::REQUESTED.to_owned(), "now".to_owned())]));
    world.settle();
    assert!(world.node.is_some());
}

#[test]
fn an_administrators_relabel_is_followed_and_survives_the_node() {
    let mut world = World::occupied();
    world.unlabel(INFRA);
    world.label(STORAGE, "");
    world.settle();
    assert_eq!(world.reasons(), ["Followed"]);
    assert_eq!(world.status().pool.as_deref(), Some("storage"));
    assert_eq!((world.has("tier"), world.has("disks")), (Some("storage"), Some("many")));
    assert_eq!(world.condition("PoolAssigned"), ("True", "Followed"));
    assert_eq!(world.settle(), 0);

    world.delete_node();
    world.settle();
    assert_eq!(world.has(STORAGE), Some(""));
    assert_eq!((world.has(INFRA), world.has("tier")), (None, Some("storage")));
    assert_eq!(world.has("kubernetes.io/hostname"), Some("w1-host"));
    assert_eq!(world.reasons(), ["Recreated"]);
    assert_eq!(world.status().phase, Some(Phase::Vacant));
    world.kubelet_reports();
    world.settle();
    assert_eq!(world.status().phase, Some(Phase::Occupied));
}

/// `oc label node w1 node-role.kubernetes.io/infra-`, and a while later `oc label node w1 node-role.kubernetes.io/storage=`.
#[test]
fn a_relabel_in_two_commands_is_followed() {
    let mut world = World::occupied();
    world.unlabel(INFRA);
    world.settle();
    assert_eq!(world.has(INFRA), None, "what people remove stays removed");
    world.label(STORAGE, "");
    world.settle();
    assert_eq!(world.status().pool.as_deref(), Some("storage"));
    assert_eq!(world.has("tier"), Some("storage"));
    world.delete_node();
    world.settle();
    assert_eq!((world.has(STORAGE), world.has(INFRA)), (Some(""), None));
}

#[test]
fn a_relabel_directly_before_the_deletion_counts() {
    let mut world = World::occupied();
    world.unlabel(INFRA);
    world.label(STORAGE, "");
    world.delete_node();
    world.settle();
    assert_eq!((world.has(STORAGE), world.has(INFRA)), (Some(""), None));
    assert_eq!(world.status().pool.as_deref(), Some("storage"));
}

#[test]
fn a_kubelet_that_registers_with_stale_flags_gets_the_current_pool() {
    let mut world = World::occupied();
    world.unlabel(INFRA);
    world.label(STORAGE, "");
    world.settle();
    // The controllers were away while the Node was deleted and its kubelet restarted.
    world.node = None;
    world.kubelet_registers(&[(INFRA, ""), ("tier", "infra"), ("custom", "yes")]);
    world.settle();
    assert_eq!((world.has(STORAGE), world.has(INFRA)), (Some(""), None));
    assert_eq!(world.has("tier"), Some("storage"));
    assert_eq!(world.has("custom"), Some("yes"), "what is nobody's business stays");
    assert_eq!(world.status().pool.as_deref(), Some("storage"));
}

/// It was off when its place changed, so that nobody could tell it: its flags are those of its last boot.
#[test]
fn a_machine_that_was_off_while_its_place_changed_is_put_right() {
    let mut world = World::new(BerthSpec {
        pool: Some("infra".to_owned()),
        labels: BTreeMap::from([("telco.example/role".to_owned(), "router".to_owned())]),
        ..BerthSpec::default()
    });
    world.objects[1] = pool("infra", INFRA, "tier=infra,only=1");
    world.requested = true;
    world.settle();
    world.kubelet_reports();
    world.settle();
    world.requested = false;
    world.absence.was_ready = Some(false);
    world.delete_node();
    world.settle();
    assert_eq!(world.condition("Ready"), ("False", "NodeNotReady"));
    world.edit(|spec| {
        spec.pool = Some("storage".to_owned());
        spec.labels.clear();
    });
    world.settle();
    assert!(world.node.is_none(), "it is still off");
    world.hold = true;
    let stale = [
        (INFRA, ""),
        ("tier", "infra"),
        ("only", "1"),
        ("telco.example/role", "router"),
        ("own", "yes"),
    ];
    for _ in 0..2 {
        world.kubelet_registers(&stale);
        world.settle();
        assert_eq!((world.has(STORAGE), world.has("tier")), (Some(""), Some("storage")));
        assert_eq!((world.has(INFRA), world.has("only")), (None, None));
        assert_eq!((world.has("telco.example/role"), world.has("own")), (None, Some("yes")));
        assert_eq!(world.status().pool.as_deref(), Some("storage"));
        assert_eq!(world.condition("Ready"), ("True", "InSync"));
        assert_eq!(world.settle(), 0);
        // The next time it has the same flags.
        world.delete_node();
        world.settle();
        world.node = None;
    }
}

#[test]
fn a_new_declaration_of_the_pool_counts_more_than_the_move() {
    let mut world = World::occupied();
    world.unlabel(INFRA);
    world.label(STORAGE, "");
    world.settle();
    world.edit(|spec| spec.pool = Some("worker".to_owned()));
    world.settle();
    assert_eq!(world.status().pool.as_deref(), Some("worker"));
    assert_eq!(world.status().followed, None);
    assert_eq!((world.has(WORKER), world.has("tier")), (Some(""), None));
    assert_eq!(
        world.has(STORAGE),
        None,
        "the label was the pool's, where the Berth had followed to"
    );
    assert_eq!(world.condition("PoolAssigned"), ("True", "Assigned"));
    assert_eq!(world.settle(), 0);
}

#[test]
fn enforce_puts_the_node_back() {
    let mut world = World::occupied();
    world.edit(|spec| spec.pool_policy = PoolPolicy::Enforce);
    world.settle();
    world.unlabel(INFRA);
    world.label(STORAGE, "");
    world.settle();
    assert_eq!((world.has(INFRA), world.has(STORAGE)), (Some(""), None));
    assert_eq!(world.reasons(), ["Enforced"]);
    assert_eq!(world.condition("PoolAssigned"), ("True", "Assigned"));
    world.label(STORAGE, "");
    world.settle();
    assert_eq!((world.has(INFRA), world.has(STORAGE)), (Some(""), None));
}

#[test]
fn two_pools_at_once_are_reported_and_left_alone() {
    let mut world = World::occupied();
    world.label(STORAGE, "");
    world.settle();
    assert_eq!((world.has(INFRA), world.has(STORAGE)), (Some(""), Some("")));
    assert_eq!(world.condition("PoolAssigned"), ("False", "SeveralPools"));
    assert_eq!(world.condition("Ready"), ("False", "SeveralPools"));
}

#[test]
fn a_key_removed_on_purpose_stays_removed() {
    let mut world = World::occupied();
    world.unlabel("telco.example/site");
    world.settle();
    assert_eq!(world.has("telco.example/site"), None);
    assert!(world.status().removed_labels.contains_key("telco.example/site"));
    for condition in ["LabelsInSync", "Ready"] {
        assert_eq!(world.condition(condition), ("True", "RemovedOnPurpose"));
    }
    world.delete_node();
    world.settle();
    assert_eq!(world.has("telco.example/site"), None, "not with a new Node");
    world.kubelet_reports();
    world.settle();
    world.node = None;
    world.kubelet_registers(&[("telco.example/site", "atl")]);
    world.settle();
    assert_eq!(world.has("telco.example/site"), None, "not by the flags of a kubelet");
    world.label("telco.example/site", "atl");
    world.settle();
    assert!(
        world.status().removed_labels.is_empty(),
        "whoever removed it may bring it back"
    );
    assert_eq!(world.condition("Ready"), ("True", "InSync"));
    world.unlabel("telco.example/site");
    world.settle();
    world.objects[3] = rule("site", &json!({"telco.example/site": "rome"}));
    world.settle();
    assert_eq!(
        world.has("telco.example/site"),
        Some("rome"),
        "a newer declaration counts"
    );
}

#[test]
fn removing_the_pool_label_alone_is_respected_and_said() {
    let mut world = World::occupied();
    world.unlabel(INFRA);
    world.settle();
    assert_eq!(world.has(INFRA), None);
    assert_eq!(world.condition("PoolAssigned"), ("False", "RemovedOnPurpose"));
    world.label(INFRA, "");
    world.settle();
    assert_eq!(world.condition("PoolAssigned"), ("True", "Assigned"));
}

#[test]
fn foreign_labels_are_kept_and_conflicts_never_fought() {
    let mut world = World::occupied();
    world.label("foreign", "1");
    world.label("telco.example/site", "elsewhere");
    world.settle();
    assert_eq!(
        (world.has("foreign"), world.has("telco.example/site")),
        (Some("1"), Some("elsewhere"))
    );
    assert_eq!(world.condition("LabelsInSync"), ("False", "LabelConflict"));
    assert_eq!(world.settle(), 0);
    world.label("telco.example/site", "atl");
    world.settle();
    assert_eq!(world.condition("LabelsInSync"), ("True", "InSync"));
    world.objects.pop();
    world.settle();
    assert_eq!(
        world.has("telco.example/site"),
        None,
        "it had our value again, so it was ours"
    );
    assert_eq!(world.has("foreign"), Some("1"));
}

#[test]
fn a_lost_annotation_is_restored_from_the_berth() {
    let mut world = World::occupied();
    world.node.as_mut().unwrap().annotations.clear();
    world.objects.pop();
    world.settle();
    assert_eq!(world.has("telco.example/site"), None, "ownership was remembered");
    let node = world.node.as_ref().unwrap();
    assert_eq!(node.owned().unwrap(), world.status().labels);
    assert_eq!(node.given_pool(), Some("infra"));
}

#[test]
fn labels_that_were_there_are_not_berths_to_remove() {
    let mut world = World::new(BerthSpec::default());
    world.berth.metadata.labels = Some(BTreeMap::from([(
        names::RESERVED_BY.to_owned(),
        names::BY_ADOPTION.to_owned(),
    )]));
    world.kubelet_registers(&[(INFRA, ""), ("telco.example/site", "atl"), ("tier", "mine")]);
    world.settle();
    assert_eq!(
        world.status().pool.as_deref(),
        Some("infra"),
        "the pool is the one it is in"
    );
    assert_eq!(
        world.has("tier"),
        Some("mine"),
        "an adopted Node's own values are not overwritten"
    );
    assert_eq!(world.condition("LabelsInSync"), ("False", "LabelConflict"));
    world.objects.pop();
    world.settle();
    assert_eq!(world.has("telco.example/site"), Some("atl"));
    assert_eq!(world.has(INFRA), Some(""));
}

#[test]
fn a_changed_selector_moves_nobody_but_labels_its_nodes() {
    let mut world = World::occupied();
    world.label(WORKER, "");
    world.settle();
    world.objects[1] = pool("infra", "telco.example/infra", "tier=infra");
    world.settle();
    assert_eq!(world.status().pool.as_deref(), Some("infra"));
    assert_eq!((world.has("telco.example/infra"), world.has(INFRA)), (Some(""), None));
}

#[test]
fn release_and_deletion_leave_the_node_as_it_is() {
    let mut world = World::occupied();
    let before = world.node.clone();
    world.edit(|spec| spec.release = true);
    world.settle();
    assert_eq!(world.node, before);
    assert_eq!(world.status().phase, Some(Phase::Released));
    world.delete_node();
    world.settle();
    assert!(world.node.is_none(), "a released place is not filled again");
}

#[test]
fn a_node_that_keeps_being_deleted_comes_back_more_and_more_slowly() {
    let mut world = World::occupied();
    let mut waits = Vec::new();
    for _ in 0..7 {
        world.delete_node();
        world.settle();
        if let Some(wait) = world.wake {
            assert!(world.node.is_none());
            assert_eq!(world.condition("Ready"), ("False", "NodeKeepsBeingDeleted"));
            waits.push(wait.as_secs());
            world.now += SignedDuration::try_from(wait).unwrap();
            world.settle();
        }
        assert!(world.node.is_some());
    }
    assert_eq!(waits, [10, 20, 40, 80]);
    world.now += SignedDuration::from_mins(30);
    world.kubelet_reports();
    world.settle();
    world.delete_node();
    world.settle();
    assert!(world.node.is_some(), "after a calm time it is at once again");
}

#[test]
fn another_machine_gets_no_labels() {
    let mut world = World::infra();
    world.edit(|spec| {
        spec.machine = Some(Machine {
            system_uuid: Some("4c4c4544-9999".to_owned()),
            mac_addresses: Vec::new(),
        });
    });
    world.kubelet_registers(&[]);
    world.settle();
    assert_eq!(world.has(INFRA), None);
    assert_eq!(world.condition("IdentityMatched"), ("False", "IdentityMismatch"));
    assert_eq!(world.status().phase, Some(Phase::Reserved));
    world.edit(|spec| spec.machine.as_mut().unwrap().system_uuid = Some("4c4c4544-0000".to_owned()));
    world.settle();
    assert_eq!(world.has(INFRA), Some(""));
    assert_eq!(world.condition("IdentityMatched"), ("True", "Matched"));
}

#[test]
fn a_wrong_declaration_changes_nothing_on_the_node() {
    let mut world = World::occupied();
    let before = world.node.clone();
    world.edit(|spec| spec.pool = Some("infar".to_owned()));
    world.settle();
    assert_eq!(world.node, before);
    assert_eq!(world.condition("Ready"), ("False", "InvalidDeclaration"));
    let message = &world.status().conditions[0].message;
    assert_eq!(message, "there is no pool `infar`; did you mean `infra`?");
}

#[test]
fn the_brake_counts_what_nobody_asked_for_and_holds_it() {
    let mut world = World::occupied();
    world.objects.pop();
    world.hold = true;
    world.settle();
    assert!(world.removals > 0);
    assert_eq!(world.has("telco.example/site"), Some("atl"));
    assert_eq!(world.condition("LabelsInSync"), ("False", "MassRemovalHeld"));
    world.hold = false;
    world.settle();
    assert_eq!(world.has("telco.example/site"), None);

    let mut moved = World::occupied();
    moved.unlabel(INFRA);
    moved.label(STORAGE, "");
    moved.settle();
    assert!(moved.asked, "an administrator's move is asked for");
}

#[test]
fn a_person_explains_one_berth_and_documents_explain_nothing() {
    let mut edited = World::occupied();
    edited.edit(|spec| spec.pool = Some("worker".to_owned()));
    edited.hold = true;
    edited.settle();
    assert_eq!((edited.asked, edited.has(INFRA)), (true, None), "a person asked for it");

    let mut rewritten = World::occupied();
    rewritten.berth.metadata.labels = Some(BTreeMap::from([(
        names::RESERVED_BY.to_owned(),
        names::BY_DOCUMENTS.to_owned(),
    )]));
    rewritten.edit(|spec| spec.pool = Some("worker".to_owned()));
    rewritten.hold = true;
    rewritten.settle();
    assert!(
        rewritten.removals >= 2 && !rewritten.asked,
        "a pool change by documents counts"
    );
    assert_eq!((rewritten.has(INFRA), rewritten.has("tier")), (Some(""), Some("infra")));
    rewritten.hold = false;
    rewritten.settle();
    assert_eq!(
        (rewritten.has(INFRA), rewritten.has("tier"), rewritten.has(WORKER)),
        (None, None, Some(""))
    );
}

#[test]
fn annotations_of_the_machine_config_operator_come_back() {
    let mut world = World::occupied();
    let key = "machineconfiguration.openshift.io/currentConfig";
    let node = world.node.as_mut().unwrap();
    node.annotations.insert(key.to_owned(), "rendered-infra-1".to_owned());
    node.provider_id = Some("metal://w1".to_owned());
    world.settle();
    world.delete_node();
    world.settle();
    let node = world.node.as_ref().unwrap();
    assert_eq!(node.annotations[key], "rendered-infra-1");
    assert_eq!(node.provider_id.as_deref(), Some("metal://w1"));
}

#[test]
fn the_same_name_twice_is_reported_on_the_second_berth() {
    let world = World::occupied();
    let definitions = Definitions::new(&world.objects, Flavour::Upstream);
    let subject = Subject {
        berth: &Berth::new("w1-again", BerthSpec::default()),
        node: None,
        requests: &[asks(world.now)],
        absence: None,
        registers: None,
        duplicate_of: Some("w1"),
    };
    let settings = Settings {
        now: world.now,
        hold_removals: false,
        conflicts: ConflictPolicy::Report,
    };
    let decision = decide(&definitions, subject, &Pin::default(), &Answer::default(), &settings);
    assert!(decision.node.is_none());
    assert_eq!(decision.status.conditions[0].reason, "DuplicateBerth");
}
