//! What the engine knows: the last state of every object that matters, and which nodes have to be looked at.

mod requests;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;
use serde_json::Value;

use self::requests::Requests;
use super::{
    heartbeats::Heartbeats,
    kept::{Berths, KeptBerth, KeptNode, Text},
    news::{Versioned as _, lacking},
    watches::{ClusterChange, Definition, Seen},
};
use berth_decide::{
    Absence, CertificateDecision, KubeletRequest, MachineState, NodeView, Places, RequestState, Requester,
    decide_certificate, judge_certificate,
};
use berth_pools::KubeletLabels;
use berth_resources::{MachineObject, Phase, bootstrap::Binding};

/// Which watches have been read to their end once.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "one per watch")]
struct Synced {
    nodes: bool,
    berths: bool,
    rules: bool,
    pools: bool,
    certificates: bool,
    tokens: bool,
    units: bool,
    heartbeats: bool,
}

/// The caches.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) nodes: HashMap<Text, KeptNode>,
    /// The last state of Nodes that were deleted and not dealt with yet.
    pub(super) gone: HashMap<Text, KeptNode>,
    /// Whether Nodes that are gone were Ready when they went, and since when.
    were_ready: HashMap<String, (bool, Option<Timestamp>)>,
    /// What the objects that stand for the machines of gone Nodes say, as far as they have been read.
    machines: HashMap<String, MachineState>,
    /// What the kubelets of each pool give themselves.
    units: BTreeMap<String, KubeletLabels>,
    /// What is heard of kubelets.
    pub(super) heartbeats: Heartbeats,
    pub(super) berths: Berths,
    rules: BTreeMap<String, Value>,
    pools: BTreeMap<String, Value>,
    pub(super) requests: Requests,
    tokens: HashMap<String, Binding>,
    /// The Node objects that kubelets have shown to know, by their heartbeats.
    beats: HashMap<Text, Text>,
    synced: Synced,
    /// Nodes to look at.
    pub(super) dirty: BTreeSet<String>,
    /// Pools or rules changed.
    pub(super) definitions_changed: bool,
    /// The pools that did, since the nodes were last looked at.
    pub(super) changed_pools: BTreeSet<String>,
    /// Berths came or went, or their specs changed.
    pub(super) berths_changed: bool,
    /// Berths came or went, or moved to other pools.
    pub(super) places_changed: bool,
}

impl State {
    /// Whether every watch has been read to its end once. Before that nothing is decided.
    pub(super) fn is_synced(&self) -> bool {
        let Synced {
            nodes,
            berths,
            rules,
            pools,
            certificates,
            tokens,
            units,
            heartbeats,
        } = self.synced;
        nodes && berths && rules && pools && certificates && tokens && units && heartbeats
    }

    pub(super) fn apply(&mut self, change: ClusterChange) {
        match change {
            ClusterChange::Nodes(seen) => self.nodes_seen(seen),
            ClusterChange::Berths(seen) => self.berths_seen(seen),
            ClusterChange::Rules(seen) => {
                self.synced.rules |= matches!(seen, Seen::All(_));
                self.definitions_changed |= !definitions_seen(&mut self.rules, seen).is_empty();
            }
            ClusterChange::Pools(seen) => {
                self.synced.pools |= matches!(seen, Seen::All(_));
                let changed = definitions_seen(&mut self.pools, seen);
                self.definitions_changed |= !changed.is_empty();
                self.changed_pools.extend(changed);
            }
            ClusterChange::Certificates(seen) => {
                self.synced.certificates |= matches!(seen, Seen::All(_));
                self.dirty.extend(self.requests.seen(seen));
            }
            ClusterChange::Tokens(seen) => self.tokens_seen(seen),
            ClusterChange::Beat(beat) => {
                self.dirty.insert(beat.node.to_string());
                self.beats.insert(beat.node, beat.uid);
            }
            ClusterChange::Looked => self.synced.heartbeats = true,
            ClusterChange::Heard(node) => {
                self.dirty.insert(node);
            }
            ClusterChange::Units(units) => {
                if self.synced.units && self.units != units {
                    self.all_dirty();
                }
                self.synced.units = true;
                self.units = units;
            }
        }
    }

    /// Pools and rules, as objects.
    pub(super) fn definitions(&self) -> impl Iterator<Item = &Value> {
        self.pools.values().chain(self.rules.values())
    }

    /// Every name that a Node or a Berth has.
    pub(super) fn all_dirty(&mut self) {
        let names = self.nodes.keys().chain(self.berths.nodes());
        self.dirty.extend(names.map(ToString::to_string));
    }

    /// A Node as it is, with what its kubelet shows elsewhere.
    pub(super) fn live(&self, name: &str) -> Option<NodeView> {
        let kept = self.nodes.get(name)?;
        let mut node = kept.view();
        node.has_kubelet |= self.beats.get(name) == Some(&kept.uid);
        Some(node)
    }

    /// Every reserved node with its pool, which is empty where it is not known.
    pub(super) fn places(&self) -> BTreeMap<&str, &str> {
        let nodes = self.berths.nodes();
        nodes.filter_map(|node| Some((&**node, self.pool_of(node)?))).collect()
    }

    /// The pool that a node has its place in, as far as it is known.
    pub(super) fn pool_of(&self, node: &str) -> Option<&str> {
        self.berths.first_of(node)?.place()
    }

    /// What to do about a certificate request.
    pub(super) fn certificate(&self, name: &str, now: Timestamp) -> Option<CertificateDecision> {
        Some(decide_certificate(self.requests.get(name)?, self, now))
    }

    /// Whether a machine may join now: its Node is there, or is left to its kubelet.
    pub(super) fn is_awaited(&self, node: &str) -> bool {
        self.nodes.contains_key(node) || self.berths.first_of(node).is_some_and(KeptBerth::awaits_registration)
    }

    /// The requests of kubelets that may join under this name: they are asking, or were just let in.
    pub(super) fn requests_of(&self, node: &str, now: Timestamp) -> Vec<KubeletRequest> {
        let requests = self.requests.of(node).filter(|request| {
            request.state != RequestState::Denied
                && match judge_certificate(request, self, now) {
                    CertificateDecision::Approve { .. } | CertificateDecision::Leave { node: Some(_), .. } => true,
                    CertificateDecision::Deny { .. } | CertificateDecision::Leave { node: None, .. } => false,
                }
        });
        let seen = requests.map(|request| KubeletRequest {
            created: request.created,
            open: request.state == RequestState::Open,
            bootstrap: !matches!(request.requester, Requester::Node(_)),
        });
        seen.collect()
    }

    /// What is known about a Node that is gone.
    pub(super) fn absence(&self, node: &str) -> Absence {
        let known = self.were_ready.get(node);
        Absence {
            was_ready: known.map(|(ready, _)| *ready),
            ready_since: known.and_then(|(_, since)| *since),
            pulse: self.heartbeats.await_pulse(node),
            machine: self.machines.get(node).cloned().unwrap_or_default(),
        }
    }

    /// The objects that stand for the machine of a Node that went from an occupied place, where nobody has asked for them since.
    pub(super) fn unread_machine(&self, node: &str) -> Vec<MachineObject> {
        let Some(berth) = self.berths.first_of(node) else {
            return Vec::new();
        };
        let Some(status) = &berth.status else {
            return Vec::new();
        };
        let settled = matches!(status.phase, Some(Phase::Occupied | Phase::Vacant));
        let decided = status
            .departure
            .as_ref()
            .is_some_and(|departure| departure.reason.is_some());
        if !settled || decided || self.nodes.contains_key(node) || self.machines.contains_key(node) {
            return Vec::new();
        }
        match self.gone.get(node) {
            Some(gone) if gone.has_kubelet => gone.machine_objects(),
            _ => berth.machine_objects(),
        }
    }

    /// Takes what the objects that stand for a machine say.
    pub(super) fn machine_read(&mut self, node: &str, machine: MachineState) {
        if !self.nodes.contains_key(node) {
            self.machines.insert(node.to_owned(), machine);
        }
        self.dirty.insert(node.to_owned());
    }

    /// What the kubelets of a pool give themselves.
    pub(super) fn unit(&self, pool: &str) -> Option<&KubeletLabels> {
        self.units.get(pool)
    }

    /// Nothing is remembered of a node that nobody reserves.
    pub(super) fn forget(&mut self, node: &str) {
        self.gone.remove(node);
        self.were_ready.remove(node);
        self.machines.remove(node);
        self.heartbeats.stop_waiting(node);
    }

    fn nodes_seen(&mut self, seen: Seen<KeptNode>) {
        match seen {
            Seen::All(all) => {
                self.synced.nodes = true;
                let gone = lacking(self.nodes.keys(), &all);
                for node in all {
                    self.node(node);
                }
                for name in gone {
                    if let Some(node) = self.nodes.remove(&name) {
                        self.node_gone(node);
                    }
                }
            }
            Seen::One(node) => self.node(node),
            Seen::Gone(node) => {
                // An old object's end says nothing about the one that has its name now.
                let current = self.nodes.get(&node.name).is_none_or(|known| known.is_same(&node));
                if current {
                    self.nodes.remove(&node.name);
                    self.node_gone(node);
                }
            }
        }
    }

    fn node_gone(&mut self, node: KeptNode) {
        self.dirty.insert(node.name.to_string());
        // A heartbeat for a Node that is gone says nothing about the next one of its name.
        if self.beats.get(&node.name) == Some(&node.uid) {
            self.beats.remove(&node.name);
        }
        let ready = (node.conditions.ready == Some(true), node.ready_since);
        self.were_ready.insert(node.name.to_string(), ready);
        self.gone.insert(node.name.clone(), node);
    }

    /// Takes a Node as a watch or a write shows it.
    pub(super) fn node(&mut self, node: KeptNode) {
        let name = node.name.clone();
        match self.nodes.get_mut(&name) {
            Some(known) if node.is_outdated_by(known) => {}
            Some(known) => {
                if !known.says_the_same(&node) {
                    self.dirty.insert(name.to_string());
                }
                *known = node;
            }
            None => {
                self.dirty.insert(name.to_string());
                self.were_ready.remove(&*name);
                self.machines.remove(&*name);
                self.heartbeats.stop_waiting(&name);
                self.nodes.insert(name, node);
            }
        }
    }

    /// Takes what the API server answered to a write. What a watch has meanwhile seen the end of stays gone, and a new
    /// Berth is left to its watch.
    pub(super) fn written(&mut self, node: Option<KeptNode>, berth: Option<KeptBerth>) {
        if let Some(node) = node
            && self.gone.get(&node.name).is_none_or(|gone| !gone.is_same(&node))
        {
            self.node(node);
        }
        if let Some(berth) = berth
            && self.berths.get(&berth.name).is_some_and(|known| known.is_same(&berth))
        {
            self.berth(berth);
        }
    }

    fn berths_seen(&mut self, seen: Seen<KeptBerth>) {
        match seen {
            Seen::All(all) => {
                self.synced.berths = true;
                self.berths_changed = true;
                let gone = lacking(self.berths.names(), &all);
                for berth in all {
                    self.berth(berth);
                }
                for name in gone {
                    self.berth_gone(&name);
                }
            }
            Seen::One(berth) => self.berth(berth),
            Seen::Gone(berth) => self.berth_gone(&berth.name),
        }
    }

    /// Takes a Berth as a watch or a write shows it.
    pub(super) fn berth(&mut self, berth: KeptBerth) {
        if let Some(known) = self.berths.get(&berth.name) {
            if berth.is_outdated_by(known) {
                return;
            }
            if known.says_the_same(&berth) {
                self.berths.insert(berth);
                return;
            }
            self.berths_changed |= known.spec != berth.spec;
            self.places_changed |= known.place() != berth.place();
        } else {
            self.berths_changed = true;
            self.places_changed = true;
        }
        self.requests.node_changed(berth.node_name());
        self.dirty.insert(berth.node_name().to_string());
        // One that is somewhere else now leaves a node behind.
        if let Some(before) = self.berths.insert(berth) {
            self.dirty.insert(before.node_name().to_string());
        }
    }

    fn berth_gone(&mut self, name: &str) {
        if let Some(berth) = self.berths.remove(name) {
            self.berths_changed = true;
            self.places_changed = true;
            self.dirty.insert(berth.node_name().to_string());
        }
    }

    fn tokens_seen(&mut self, seen: Seen<Binding>) {
        let changed: Vec<Binding> = match seen {
            Seen::All(all) => {
                self.synced.tokens = true;
                self.tokens = all.iter().map(|one| (one.token.clone(), one.clone())).collect();
                all
            }
            Seen::One(binding) => {
                self.tokens.insert(binding.token.clone(), binding.clone());
                vec![binding]
            }
            Seen::Gone(binding) => {
                self.tokens.remove(&binding.token);
                vec![binding]
            }
        };
        for binding in changed {
            self.requests.token_changed(&binding.token);
            self.dirty.insert(binding.node);
        }
    }
}

impl Places for State {
    fn is_reserved(&self, node: &str) -> bool {
        self.berths.first_of(node).is_some_and(KeptBerth::is_held)
    }

    fn is_alive(&self, node: &str) -> bool {
        self.nodes.get(node).is_some_and(|node| node.reports)
    }

    fn binding(&self, token: &str) -> Option<&Binding> {
        self.tokens.get(token)
    }
}

/// Members of a pool's spec that are about its rollout and give no label: a rollout makes no node worth another look.
const ROLLOUT: [&str; 3] = ["configuration", "maxUnavailable", "paused"];

/// The names of those that are not what they were, so that what was computed from them may differ.
fn definitions_seen(known: &mut BTreeMap<String, Value>, seen: Seen<Definition>) -> BTreeSet<String> {
    match seen {
        Seen::All(all) => {
            let all: BTreeMap<String, Value> = all.into_iter().map(|one| (one.name, one.object)).collect();
            let before = std::mem::replace(known, all);
            let names = before.keys().chain(known.keys());
            names
                .filter(|name| !declares_the_same(before.get(*name), known.get(*name)))
                .cloned()
                .collect()
        }
        Seen::One(one) => {
            let before = known.insert(one.name.clone(), one.object);
            let same = declares_the_same(before.as_ref(), known.get(&one.name));
            (!same).then_some(one.name).into_iter().collect()
        }
        Seen::Gone(one) => known.remove(&one.name).map(|_| one.name).into_iter().collect(),
    }
}

fn declares_the_same(before: Option<&Value>, after: Option<&Value>) -> bool {
    let (Some(before), Some(after)) = (before, after) else {
        return before.is_none() && after.is_none();
    };
    let declared = |object: &Value| {
        let mut spec = object.get("spec").cloned().unwrap_or_default();
        if let Some(members) = spec.as_object_mut() {
            for key in ROLLOUT {
                members.remove(key);
            }
        }
        spec
    };
    declared(before) == declared(after)
        && ["/metadata/labels", "/metadata/annotations"]
            .iter()
            .all(|pointer| before.pointer(pointer) == after.pointer(pointer))
}

#[cfg(test)]
mod tests {
    use super::{super::watches::Beat, *};

    fn view(uid: &str, version: &str) -> NodeView {
        NodeView {
            name: "w1".to_owned(),
            uid: uid.to_owned(),
            resource_version: version.to_owned(),
            ..NodeView::default()
        }
    }

    fn node(uid: &str, version: &str) -> KeptNode {
        view(uid, version).into()
    }

    #[test]
    fn the_answer_to_a_write_does_not_bring_back_what_is_gone() {
        let mut state = State::default();
        state.apply(ClusterChange::Nodes(Seen::All(vec![node("a", "1")])));
        state.apply(ClusterChange::Nodes(Seen::Gone(node("a", "3"))));
        state.written(Some(node("a", "2")), None);
        assert!(state.nodes.is_empty());
        state.written(Some(node("b", "4")), None);
        assert_eq!(&*state.nodes["w1"].uid, "b", "one that is created anew is there");
    }

    #[test]
    fn a_heartbeat_shows_that_the_kubelet_knows_this_very_node() {
        let mut state = State::default();
        let beat = |uid: &str| {
            ClusterChange::Beat(Beat {
                node: "w1".into(),
                uid: uid.into(),
            })
        };
        state.apply(ClusterChange::Nodes(Seen::All(vec![node("b", "1")])));
        state.apply(beat("a"));
        assert!(
            state.live("w1").is_some_and(|node| !node.has_kubelet),
            "it knows an older one"
        );
        state.dirty.clear();
        state.apply(beat("b"));
        assert!(state.live("w1").is_some_and(|node| node.has_kubelet));
        assert!(state.dirty.contains("w1"));
    }

    #[test]
    fn old_news_is_no_news() {
        let mut state = State::default();
        state.apply(ClusterChange::Nodes(Seen::One(node("b", "10"))));
        state.apply(ClusterChange::Nodes(Seen::Gone(node("a", "9"))));
        state.apply(ClusterChange::Nodes(Seen::One(node("b", "9"))));
        assert_eq!(state.nodes["w1"].view(), view("b", "10"));
    }

    #[test]
    fn nodes_that_a_new_list_lacks_are_gone_with_their_last_state() {
        let mut state = State::default();
        state.apply(ClusterChange::Nodes(Seen::All(vec![node("a", "1")])));
        state.dirty.clear();
        state.apply(ClusterChange::Nodes(Seen::All(Vec::new())));
        assert_eq!(state.gone["w1"].view(), view("a", "1"));
        assert!(state.dirty.contains("w1"));
        assert!(!state.is_synced(), "the other watches have not been read");
    }
}
