//! What the daemon knows of the cluster, and what it writes there.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use berth_daemon::{
    Daemon, Host, StartError,
    daemon::Note,
    decide::{Configs, NodeView},
    journal::State,
};
use berth_decide::{NodePatch, NodeView as SeenNode, names, root_cause};
use berth_nodes::{Hold, Nodes, Trouble, WriteError};
use berth_pools::{DaemonState, MachineConfigSpec, annotation};
use futures::StreamExt as _;
use jiff::Timestamp;
use k8s_openapi::api::{coordination::v1::Lease, core::v1::Node};
use kube::{
    Api, Client,
    api::DynamicObject,
    runtime::{
        WatchStreamExt as _,
        events::{Event, EventType, Recorder, Reporter},
        watcher::{self, Event as Seen, watcher},
    },
};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;
use tracing::{info, warn};

use super::{Next, proves};
use crate::{
    connect::Unreached,
    controller::{is_older, node_reference},
    inspect::{configs, disruption_policy, rendered, spec},
    vital::Vital,
};

/// Where kubelets say that they are alive.
const LEASES: &str = "kube-node-lease";

/// Something that was seen of the cluster.
#[derive(Debug)]
pub(super) enum Change {
    /// The Node as it is; `None`: there is none.
    Node(Option<Box<SeenNode>>),
    /// A config that was missing.
    Config(String, Box<MachineConfigSpec>),
}

/// The daemon's link to the cluster.
pub(super) struct Link {
    name: String,
    nodes: Nodes,
    recorder: Recorder,
    sender: mpsc::Sender<Change>,
    tasks: Vital,
    node: Option<Box<SeenNode>>,
    /// What its Lease says, while a config has to prove itself.
    heard: Option<Timestamp>,
    /// Whether the cluster has answered at all.
    answered: bool,
    /// Whether the cluster did not answer when a config had to prove itself.
    silent: bool,
    configs: Arc<Configs>,
    /// Configs that the cluster does not have: whoever brings one is noticed.
    missing: BTreeMap<String, AbortOnDropHandle<()>>,
    /// What no event was told of yet.
    untold: Vec<Note>,
    /// The config for which the policies were last asked.
    policy_for: Option<String>,
    _watch: AbortOnDropHandle<()>,
}

impl Link {
    pub(super) fn new(client: Client, name: String, sender: mpsc::Sender<Change>, tasks: Vital) -> Self {
        let reporter = Reporter {
            controller: "berth-daemon".to_owned(),
            instance: Some(name.clone()),
        };
        let watch = watch_node(client.clone(), name.clone(), sender.clone());
        let watch = tasks.spawn_for_now("watch of the Node", watch);
        Self {
            name,
            recorder: Recorder::new(client.clone(), reporter),
            nodes: Nodes::new(client, Hold::endless()),
            sender,
            tasks,
            node: None,
            heard: None,
            answered: false,
            silent: false,
            configs: Arc::default(),
            missing: BTreeMap::new(),
            untold: Vec::new(),
            policy_for: None,
            _watch: watch,
        }
    }

    pub(super) fn node(&self) -> &str {
        &self.name
    }

    /// The Node as the daemon sees it. Where the cluster does not answer there is none to be seen.
    pub(super) fn view(&self) -> Option<NodeView> {
        let node = self.node.as_ref().filter(|_| !self.silent)?;
        Some(NodeView {
            heard: self.heard,
            ..view(node)
        })
    }

    pub(super) fn reachable(&self) -> bool {
        self.answered && !self.silent
    }

    pub(super) fn configs(&self) -> Arc<Configs> {
        Arc::clone(&self.configs)
    }

    /// Takes what was seen; whether the daemon did not know it.
    pub(super) fn take(&mut self, change: Change) -> bool {
        let was_answered = std::mem::replace(&mut self.answered, true);
        match change {
            Change::Node(None) => self.node.take().is_some() || !was_answered,
            Change::Node(Some(node)) => {
                if let Some(known) = &self.node
                    && known.uid == node.uid
                    && is_older(&node.resource_version, &known.resource_version)
                {
                    // The watch is behind an answer to what was written.
                    return false;
                }
                let is_known = self
                    .node
                    .as_ref()
                    .is_some_and(|known| known.uid == node.uid && view(known) == view(&node));
                self.node = Some(node);
                !is_known
            }
            Change::Config(name, spec) => {
                self.missing.remove(&name);
                Arc::make_mut(&mut self.configs).insert(name, Some(*spec));
                true
            }
        }
    }

    /// Asks what has to be known before a turn. Where it is not to be had there is a pause.
    pub(super) async fn get_ready<H: Host>(&mut self, daemon: &mut Daemon<H>) -> bool {
        (self.heard, self.silent) = (None, false);
        if proves(daemon.state()) {
            self.listen_for_the_kubelet().await;
        }
        let wanted = self
            .node
            .as_ref()
            .and_then(|node| node.annotations.get(annotation::DESIRED_CONFIG));
        let Some(wanted) = wanted.filter(|wanted| {
            daemon.state().update.is_none()
                && **wanted != daemon.state().current.name
                && self.policy_for.as_ref() != Some(wanted)
        }) else {
            return true;
        };
        let wanted = wanted.clone();
        match disruption_policy(&self.nodes).await {
            Ok(policy) => {
                daemon.set_policy(policy);
                self.policy_for = Some(wanted);
                true
            }
            Err(error) => {
                warn!(
                    error = &error as &dyn std::error::Error,
                    "the cluster's policies for disruptions cannot be read"
                );
                false
            }
        }
    }

    /// A Node can look Ready for long after its kubelet has lost the cluster. Its Lease shows whether it is there.
    async fn listen_for_the_kubelet(&mut self) {
        let leases: Api<Lease> = Api::namespaced(self.nodes.client().clone(), LEASES);
        match self.nodes.send(leases.get_opt(&self.name)).await {
            Ok(lease) => {
                self.answered = true;
                let renewed = lease.and_then(|lease| lease.spec).and_then(|spec| spec.renew_time);
                self.heard = renewed.map(|time| time.0);
            }
            // It answers, and does not say.
            Err(error) if matches!(error.trouble(), Trouble::Forbidden(_) | Trouble::Refused(_)) => {}
            Err(_) => self.silent = true,
        }
    }

    /// Writes annotations of the Node, of this very object.
    pub(super) async fn publish(&mut self, annotations: BTreeMap<String, Option<String>>) -> Next {
        let Some(node) = &self.node else {
            return Next::News(None);
        };
        // What is said replaces whatever stands there. What is taken back may have been said anew since.
        let takes_back = annotations.values().any(Option::is_none);
        let patch = NodePatch {
            uid: Some(node.uid.clone()),
            resource_version: takes_back.then(|| node.resource_version.clone()),
            annotations: annotations.into_iter().collect(),
            ..NodePatch::default()
        };
        match self.nodes.patch(&self.name, &patch).await {
            Ok(node) => {
                self.node = Some(Box::new(node));
                Next::Turn
            }
            // The watch tells what became of it.
            Err(error) if error.is_outdated() => Next::Pause,
            Err(error) => {
                self.say("the annotations of the Node cannot be written", &error);
                Next::Pause
            }
        }
    }

    /// Asks for a config. One that is missing is waited for.
    pub(super) async fn fetch(&mut self, name: String) -> Next {
        let spec = match rendered(&self.nodes, &name).await {
            Ok(spec) => spec,
            Err(error) => {
                self.say("a rendered config cannot be read", &error);
                return Next::Pause;
            }
        };
        if spec.is_none() {
            let watch = watch_config(configs(self.nodes.client()), name.clone(), self.sender.clone());
            let watch = self.tasks.spawn_for_now("watch of a config", watch);
            self.missing.insert(name.clone(), watch);
        }
        Arc::make_mut(&mut self.configs).insert(name, spec);
        Next::Turn
    }

    /// Configs are large, and those that nobody waits for are not needed any more.
    pub(super) fn forget_configs(&mut self, state: &State) {
        let named: BTreeSet<&String> = self
            .node
            .iter()
            .flat_map(|node| {
                let keys = [annotation::CURRENT_CONFIG, annotation::DESIRED_CONFIG];
                keys.into_iter().filter_map(|key| node.annotations.get(key))
            })
            .collect();
        let waits = |name: &String| named.contains(name) && *name != state.current.name;
        if self.configs.keys().all(waits) {
            return;
        }
        Arc::make_mut(&mut self.configs).retain(|name, _| waits(name));
        self.missing.retain(|name, _| waits(name));
    }

    /// Says something about the node, in the log and in events. Until the Node is known there is nothing to tell events of.
    pub(super) async fn tell(&mut self, notes: Vec<Note>) {
        for said in &notes {
            if said.warning {
                warn!(node = self.name, reason = said.reason, "{}", said.text);
            } else {
                info!(node = self.name, reason = said.reason, "{}", said.text);
            }
        }
        self.untold.extend(notes);
        let surplus = self.untold.len().saturating_sub(UNTOLD);
        self.untold.drain(..surplus);
        let Some(seen) = &self.node else { return };
        let about = node_reference(seen);
        for said in std::mem::take(&mut self.untold) {
            let event = Event {
                type_: if said.warning {
                    EventType::Warning
                } else {
                    EventType::Normal
                },
                reason: said.reason.to_owned(),
                note: Some(said.text.chars().take(EVENT_LIMIT).collect()),
                action: said.reason.to_owned(),
                secondary: None,
            };
            let sent = self.nodes.send(self.recorder.publish(&event, &about));
            if let Err(error) = sent.await {
                self.say("an event cannot be written", &error);
            }
        }
    }

    /// The host has a state that cannot be used. Nothing is touched, and the Node says why.
    pub(super) async fn cannot_begin(&self, error: &StartError) {
        let reason = match std::error::Error::source(error) {
            Some(cause) => format!("{error}: {}", root_cause(cause)),
            None => error.to_string(),
        };
        warn!(node = self.name, "{reason}");
        let written = async {
            let node = self.nodes.read(&self.name).await?;
            let degraded = DaemonState::Degraded.word().to_owned();
            let patch = NodePatch {
                uid: node.uid,
                annotations: [
                    (annotation::STATE.to_owned(), Some(degraded)),
                    (annotation::REASON.to_owned(), Some(reason)),
                ]
                .into(),
                ..NodePatch::default()
            };
            self.nodes.patch_metadata(&self.name, &patch, false).await
        };
        if let Err(error) = written.await {
            self.say("the annotations of the Node cannot be written", &error);
        }
    }

    /// One line for the whole outage says that the API server does not answer.
    fn say(&self, what: &str, error: &WriteError) {
        if Unreached::among(error).is_none() {
            warn!(node = self.name, error = error as &dyn std::error::Error, "{what}");
        }
    }
}

/// So many notes wait for the Node; older ones are in the log alone.
const UNTOLD: usize = 32;

/// The longest text of an event.
const EVENT_LIMIT: usize = 1000;

fn view(node: &SeenNode) -> NodeView {
    NodeView {
        annotations: node.annotations.clone(),
        ready: node.conditions.ready,
        labels: owned(node),
        heard: None,
    }
}

/// The labels that Berth gave a Node, and that nobody changed since.
fn owned(node: &SeenNode) -> Option<BTreeMap<String, String>> {
    let mut owned = berth_site::read_owned(node.annotations.get(names::OWNED_LABELS)?, &node.labels)?;
    owned.retain(|key, value| node.labels.get(key) == Some(value));
    Some(owned)
}

/// Watches the own Node and no other.
async fn watch_node(client: Client, name: String, sender: mpsc::Sender<Change>) {
    let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let api: Api<Node> = Api::all(client);
    let mut events = std::pin::pin!(watcher(api, config).default_backoff());
    let mut listed = None;
    while let Some(event) = events.next().await {
        let seen = match event {
            Ok(Seen::Init) => {
                listed = None;
                continue;
            }
            Ok(Seen::InitApply(node)) => {
                listed = Some(Box::new(SeenNode::from(node)));
                continue;
            }
            Ok(Seen::InitDone) => listed.take(),
            Ok(Seen::Apply(node)) => Some(Box::new(SeenNode::from(node))),
            Ok(Seen::Delete(_)) => None,
            Err(error) => {
                if Unreached::among(&error).is_none() {
                    warn!(
                        error = &error as &dyn std::error::Error,
                        "the watch of the Node is interrupted"
                    );
                }
                continue;
            }
        };
        if sender.send(Change::Node(seen)).await.is_err() {
            return;
        }
    }
}

/// Waits until somebody brings a config.
async fn watch_config(api: Api<DynamicObject>, name: String, sender: mpsc::Sender<Change>) {
    let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let mut events = std::pin::pin!(watcher(api, config).default_backoff().applied_objects());
    while let Some(event) = events.next().await {
        if let Ok(object) = event
            && let Some(spec) = spec(object)
        {
            // Nobody listens any more when the daemon ends.
            let _ = sender.send(Change::Config(name, Box::new(spec))).await;
            return;
        }
    }
}
