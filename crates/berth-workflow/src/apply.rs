//! Labels on live Nodes: read, patch, and try again where that is of use.

mod controllers;
mod split;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use self::controllers::Silence;
use berth_nodes::{Hold, Nodes, Over, Patience, Pauses, Trouble, WriteError, told};
use berth_resources::Berth;
use berth_site::LiveTraffic;
use berth_store::{ActionStore, GivenLabels, LabelMemory};
use kube::Client;
use tokio_util::sync::CancellationToken;

use crate::{outcome::Outcome, traffic::live_traffic};
use berth_decide::{
    BerthDeclaration, LabelDiff, LabelPolicy, Lag, NodeState, Refusal, Requested, Strategy, first_of, label_diff,
};

/// Why the labels of a Node are not as requested.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// No Node can have this name; answered as 400. The cluster was not asked.
    #[error("`{}` is not the name of a Node: {problem}", node.escape_debug())]
    InvalidName {
        /// The text.
        node: String,
        /// What is wrong with it.
        problem: String,
    },
    /// There is no such Node; answered as 404.
    #[error("Node {node} does not exist")]
    NotFound {
        /// Its name.
        node: String,
    },
    /// Labels are not legal, or the API server does not take them; answered as 400. Nothing was changed.
    #[error("{}", list(.0))]
    Refused(Vec<Refusal>),
    /// Somebody else changes the Node all the time; answered as 409.
    #[error("Node {node} was changed by others again and again while its labels were to be written; try again")]
    Conflict {
        /// Its name.
        node: String,
    },
    /// The controllers of the cluster keep the Node and have not done what is asked; answered as 409.
    #[error("the controllers of this cluster, which label Node {node}, have not done it: {lag}")]
    Controllers {
        /// Its name.
        node: String,
        /// What is left for them to do.
        lag: Lag,
    },
    /// This program may not do it; answered as 503, since the caller cannot help it.
    #[error("the cluster does not let Berth change Node {node}: {message}")]
    Forbidden {
        /// Its name.
        node: String,
        /// What the API server said.
        message: String,
    },
    /// This program may not read Berths; answered as 503, since the caller cannot help it.
    #[error(
        "Berths say which labels Berth set on Nodes, and Berth may not read them: give it the rights to get and list \
         berths.berth.dev ({message})"
    )]
    BerthsForbidden {
        /// What the API server said.
        message: String,
    },
    /// The API server cannot be reached or does not work; answered as 503.
    #[error("the Kubernetes API does not answer: {message}")]
    Unavailable {
        /// What went wrong last.
        message: String,
    },
    /// The database does not say which labels actions gave; answered as 503.
    #[error("the labels that earlier actions set cannot be read or remembered: {0}")]
    Store(berth_store::Error),
    /// Another process has the lease of the node; answered as 503.
    #[error("another server works on Node {node}")]
    NotHeld {
        /// Its name.
        node: String,
    },
    /// It was given up, because nobody wants the answer any more.
    #[error("given up before it was done")]
    GivenUp,
}

fn list(refusals: &[Refusal]) -> String {
    let told: Vec<String> = refusals.iter().map(|it| format!("{}: {}", it.key, it.reason)).collect();
    told.join("; ")
}

impl ApplyError {
    /// The HTTP status that says the same.
    pub fn status(&self) -> u16 {
        match self {
            Self::NotFound { .. } => 404,
            Self::InvalidName { .. } | Self::Refused(_) => 400,
            Self::Conflict { .. } | Self::Controllers { .. } => 409,
            Self::Forbidden { .. }
            | Self::BerthsForbidden { .. }
            | Self::Unavailable { .. }
            | Self::Store(_)
            | Self::NotHeld { .. }
            | Self::GivenUp => 503,
        }
    }
}

/// Trouble with a list, or with Berths: that this program may not look is said in so many words.
fn unreadable(error: &WriteError) -> ApplyError {
    match error {
        WriteError::Refused(kube::Error::Api(status)) if status.code == 403 => ApplyError::BerthsForbidden {
            message: status.message.clone(),
        },
        WriteError::Refused(error) => ApplyError::Unavailable { message: told(error) },
        error => ApplyError::Unavailable {
            message: error.to_string(),
        },
    }
}

/// What is asked for one Node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order<'a> {
    pub(crate) node: &'a str,
    pub(crate) requested: &'a Requested,
    pub(crate) strategy: Strategy,
    /// What documents put into its Berth, where they are what is followed.
    pub(crate) declared: Option<&'a BerthDeclaration>,
    /// Somebody may have tried it before, and what came of that is not known.
    pub(crate) again: bool,
    pub(crate) patience: Patience,
    /// Cancelled when nobody wants the answer any more. What is under way is finished; nothing is waited for.
    pub(crate) stop: Option<&'a CancellationToken>,
}

impl<'a> Order<'a> {
    fn pauses(&self) -> Pauses<'a> {
        Pauses::new(self.patience.total, self.patience.pace, self.stop)
    }
}

/// The Nodes of a cluster.
#[derive(Clone)]
pub struct NodeClient {
    nodes: Nodes,
    policy: LabelPolicy,
    /// Keys by which pools know their nodes, for orders without documents.
    identifying: Arc<BTreeSet<String>>,
    /// It remembers which labels actions gave.
    store: Arc<dyn ActionStore>,
    silence: Arc<Silence>,
    /// For those who wait for the answer.
    patience: Patience,
}

impl std::fmt::Debug for NodeClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NodeClient")
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

impl NodeClient {
    /// The Nodes that a client reaches, and the store that remembers which labels actions gave them.
    pub fn new(client: Client, policy: LabelPolicy, store: Arc<dyn ActionStore>) -> Self {
        Self {
            nodes: Nodes::new(client, Hold::endless()),
            policy,
            identifying: Arc::default(),
            store,
            silence: Arc::default(),
            patience: Patience::SHORT,
        }
    }

    /// The same with another patience than [`Patience::SHORT`] for those who wait for the answer.
    #[must_use]
    pub fn with_patience(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    /// The same with the keys by which pools know their nodes, for orders that do not come from documents.
    #[must_use]
    pub fn with_identifying(mut self, keys: BTreeSet<String>) -> Self {
        self.identifying = Arc::new(keys);
        self
    }

    /// The same without what was listed before.
    #[must_use]
    pub(crate) fn afresh(&self) -> Self {
        Self {
            nodes: self.nodes.afresh(),
            ..self.clone()
        }
    }

    /// The same for as long as a right to write is held.
    #[must_use]
    pub(crate) fn held_by(&self, hold: Hold) -> Self {
        Self {
            nodes: self.nodes.held_by(hold),
            ..self.clone()
        }
    }

    /// What holds for all nodes alike.
    pub fn policy(&self) -> &LabelPolicy {
        &self.policy
    }

    /// The labels of one Node.
    ///
    /// # Errors
    /// [`ApplyError::InvalidName`], [`ApplyError::NotFound`], [`ApplyError::Forbidden`], [`ApplyError::Unavailable`].
    pub async fn read(&self, node: &str) -> Result<NodeState, ApplyError> {
        let mut pauses = Pauses::new(self.patience.total, self.patience.pace, None);
        self.read_within(node, &mut pauses).await
    }

    async fn read_within(&self, node: &str, pauses: &mut Pauses<'_>) -> Result<NodeState, ApplyError> {
        loop {
            match self.nodes.read(node).await {
                Ok(found) => return Ok(found),
                Err(error) => self.endure(node, error.trouble(), pauses).await?,
            }
        }
    }

    /// The labels of all Nodes, by name.
    ///
    /// # Errors
    /// [`ApplyError::Unavailable`].
    pub async fn list(&self) -> Result<HashMap<String, NodeState>, ApplyError> {
        let listed = self.nodes.list().await;
        listed.map_err(|error| match unreadable(&error) {
            ApplyError::BerthsForbidden { message } => ApplyError::Unavailable { message },
            error => error,
        })
    }

    /// The Berths that count, by the names of their Nodes; none in a cluster without the kind.
    ///
    /// # Errors
    /// [`ApplyError::BerthsForbidden`], [`ApplyError::Unavailable`].
    pub(crate) async fn berths(&self) -> Result<HashMap<String, Berth>, ApplyError> {
        let berths = self.nodes.berths().await.map_err(|error| unreadable(&error))?;
        let counting = first_of(&berths).into_iter();
        Ok(counting.map(|berth| (berth.node_name(), berth.clone())).collect())
    }

    /// The labels that actions gave all nodes.
    ///
    /// # Errors
    /// [`ApplyError::Store`].
    pub(crate) async fn given(&self) -> Result<BTreeMap<String, GivenLabels>, ApplyError> {
        self.store.given_labels(None).await.map_err(ApplyError::Store)
    }

    /// What carries traffic in the cluster, and where it is; or why that cannot be read.
    pub(crate) async fn traffic(&self) -> Result<LiveTraffic, String> {
        live_traffic(self.nodes.client()).await.map_err(|error| told(&error))
    }

    async fn berth_of(&self, node: &str, pauses: &mut Pauses<'_>) -> Result<Option<Berth>, ApplyError> {
        loop {
            match self.nodes.berth_of(node).await {
                Ok(berth) => return Ok(berth),
                Err(WriteError::Refused(kube::Error::Api(status))) if status.code == 403 => {
                    return Err(unreadable(&WriteError::Refused(kube::Error::Api(status))));
                }
                Err(error) => self.endure(node, error.trouble(), pauses).await?,
            }
        }
    }

    /// What the labels of a Node need. What the Node's annotation says is compared with what is remembered elsewhere, since
    /// kubelets can write it.
    pub(crate) async fn diff(&self, state: &mut NodeState, order: Order<'_>) -> Result<LabelDiff, ApplyError> {
        self.identify(state, order);
        if order.strategy == Strategy::Promenade || state.confirmed {
            return Ok(label_diff(state, order.requested, order.strategy, &self.policy));
        }
        let berth = self.berth_of(order.node, &mut order.pauses()).await?;
        self.diff_beside(state, order, berth.as_ref()).await
    }

    /// Notes the keys by which pools know their nodes.
    fn identify(&self, state: &mut NodeState, order: Order<'_>) {
        let declared = order.declared.map(|declared| &declared.identifying);
        let keys = declared.into_iter().flatten().chain(self.identifying.iter());
        state.identifying.extend(keys.cloned());
    }

    /// The same where the Berth is known.
    pub(crate) async fn diff_beside(
        &self,
        state: &mut NodeState,
        order: Order<'_>,
        berth: Option<&Berth>,
    ) -> Result<LabelDiff, ApplyError> {
        self.identify(state, order);
        let diff = |state: &NodeState| label_diff(state, order.requested, order.strategy, &self.policy);
        if order.strategy == Strategy::Promenade {
            return Ok(diff(state));
        }
        if berth.is_none() {
            let unconfirmed = diff(state);
            if !unconfirmed.rests_on_note(state) {
                return Ok(unconfirmed);
            }
        }
        let given = self.store.given_labels(Some(order.node)).await;
        let mut given = given.map_err(ApplyError::Store)?.remove(order.node).unwrap_or_default();
        if order.again && berth.is_none() {
            // Written and not filed: the annotation, which was written together with it, says what arrived.
            for (key, value) in order
                .requested
                .iter()
                .filter_map(|(key, value)| Some((key, value.as_ref()?)))
            {
                given.entry(key.clone()).or_default().insert(value.clone());
            }
        }
        state.confirm(berth, order.declared, &given);
        if order.declared.is_none() {
            // Who asks for labels by name may change what controllers keep, as anybody with kubectl.
            state.kept.retain(|key| !order.requested.contains_key(key));
        }
        Ok(diff(state))
    }

    /// An order of somebody who waits for the answer.
    pub(crate) fn order<'a>(&self, node: &'a str, requested: &'a Requested, strategy: Strategy) -> Order<'a> {
        Order {
            node,
            requested,
            strategy,
            declared: None,
            again: false,
            patience: self.patience,
            stop: None,
        }
    }

    /// Makes the labels of a Node follow what is requested: all of it, or nothing.
    ///
    /// # Errors
    /// See [`ApplyError`]. Nothing was changed then, unless the API server went away while it was asked.
    pub async fn put(
        &self,
        node: &str,
        requested: &Requested,
        strategy: Strategy,
        dry_run: bool,
    ) -> Result<(LabelDiff, Outcome), ApplyError> {
        let order = self.order(node, requested, strategy);
        if dry_run {
            let mut state = self.read(node).await?;
            let diff = self.diff(&mut state, order).await?;
            if !diff.refused.is_empty() {
                return Err(ApplyError::Refused(diff.refused));
            }
            let outcome = Outcome::of(&diff, &state);
            return Ok((diff, outcome));
        }
        let refused = label_diff(&NodeState::default(), requested, strategy, &self.policy).refused;
        if !refused.is_empty() {
            return Err(ApplyError::Refused(refused));
        }
        let mut maybe = LabelMemory::default();
        let written = self.write(order, None, &mut maybe).await;
        if let Ok(Written::Done(done)) = &written {
            maybe = Outcome::of(&done.0, &done.1).memory(strategy);
        }
        if !maybe.is_empty() {
            // It is done all the same; the labels are then left alone as somebody else's.
            if let Err(error) = self.store.remember_labels(node, &maybe).await {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(node, error, "the labels of the node cannot be remembered as Berth's");
            }
        }
        match written? {
            Written::Done(done) => {
                let (diff, state) = *done;
                let outcome = Outcome::of(&diff, &state);
                Ok((diff, outcome))
            }
            Written::Refused(keys, reason) => Err(ApplyError::Refused(self.refused_keys(order, keys, &reason).await?)),
        }
    }

    /// Does as much of an order as can be done, and says what that was. `known` is the Node as a list showed it. `memory` gets
    /// what has to be remembered of it, also where it did not come to its end.
    pub(crate) async fn relabel(
        &self,
        order: Order<'_>,
        mut known: Option<NodeState>,
        memory: &mut LabelMemory,
    ) -> Result<Outcome, ApplyError> {
        let followed = self.follow(order, known.as_ref()).await?;
        if let Some(followed) = &followed {
            known = Some(followed.after.clone());
        }
        let mut outcome = match self.write(order, known, memory).await? {
            Written::Done(done) => {
                let (diff, state) = *done;
                if order.again && !state.is_kept {
                    memory.given.extend(arrived(&state, order.requested));
                }
                Outcome::of(&diff, &state)
            }
            Written::Refused(..) => self.relabel_by_parts(order, memory).await?,
        };
        let LabelMemory { settled, given } = outcome.memory(order.strategy);
        memory.given.retain(|key, _| !settled.contains(key));
        memory.settled.extend(settled);
        memory.given.extend(given);
        if let Some(followed) = followed {
            followed.add_to(&mut outcome, order.requested);
        }
        Ok(outcome)
    }

    /// One patch, tried until it is taken or refused. `memory` gets what may have been written without an answer.
    async fn write(
        &self,
        order: Order<'_>,
        mut known: Option<NodeState>,
        memory: &mut LabelMemory,
    ) -> Result<Written, ApplyError> {
        let node = order.node;
        let mut pauses = order.pauses();
        // A patch whose answer was lost: it may have been carried out.
        let mut unsure: Option<(LabelDiff, NodeState)> = None;
        loop {
            // One that was compared with what is remembered elsewhere was just read.
            let listed = known.as_ref().is_some_and(|known| !known.confirmed);
            let mut state = match known.take() {
                Some(state) => state,
                None => self.read_within(node, &mut pauses).await?,
            };
            let diff = self.diff(&mut state, order).await?;
            let Some(patch) = diff.patch(&state) else {
                // Whether nothing is to be done is not decided by what was true a while ago.
                if listed {
                    continue;
                }
                let done = match unsure {
                    Some((sent, before)) if holds(&sent, &state) => {
                        let refused = diff.refused;
                        (LabelDiff { refused, ..sent }, before)
                    }
                    _ => (diff, state),
                };
                return Ok(Written::Done(Box::new(done)));
            };
            match self.nodes.patch_metadata(node, &patch, false).await {
                Ok(()) => return Ok(Written::Done(Box::new((diff, state)))),
                Err(error) => match error.trouble() {
                    Trouble::Refused(reason) => return Ok(Written::Refused(diff.keys(), reason)),
                    trouble => {
                        if matches!(trouble, Trouble::Wait(..)) {
                            memory.given.extend(diff.written());
                            unsure = Some((diff, state));
                        }
                        self.endure(node, trouble, &mut pauses).await?;
                    }
                },
            }
        }
    }

    /// Waits where waiting helps.
    async fn endure(&self, node: &str, trouble: Trouble, pauses: &mut Pauses<'_>) -> Result<(), ApplyError> {
        let node = node.to_owned();
        let (least, error) = match trouble {
            Trouble::Unnameable(problem) => return Err(ApplyError::InvalidName { node, problem }),
            Trouble::Missing => return Err(ApplyError::NotFound { node }),
            Trouble::Forbidden(message) | Trouble::Refused(message) => {
                return Err(ApplyError::Forbidden { node, message });
            }
            Trouble::NotHeld => return Err(ApplyError::NotHeld { node }),
            Trouble::Conflict => (None, ApplyError::Conflict { node }),
            Trouble::Wait(least, message) => (least, ApplyError::Unavailable { message }),
        };
        tracing::debug!(error = &error as &dyn std::error::Error, "trying again");
        match pauses.pause(least).await {
            Ok(()) => Ok(()),
            Err(Over::NoTimeLeft) => Err(error),
            Err(Over::Stopped) => Err(ApplyError::GivenUp),
        }
    }
}

/// What came of one patch.
enum Written {
    Done(Box<(LabelDiff, NodeState)>),
    /// The API server does not take it; these keys were in it.
    Refused(BTreeSet<String>, String),
}

/// Whether a Node is as a patch would have made it.
fn holds(sent: &LabelDiff, state: &NodeState) -> bool {
    let mut written = sent.written();
    written.all(|(key, value)| state.labels.get(&key) == Some(&value))
        && !sent.remove.iter().any(|key| state.labels.contains_key(key))
}

/// The labels that a Node has by an earlier attempt, as far as its annotation says so.
fn arrived<'a>(state: &'a NodeState, requested: &'a Requested) -> impl Iterator<Item = (String, String)> + 'a {
    let noted = state.owned.iter().filter(|(key, value)| {
        state.labels.get(*key) == Some(value)
            && requested.get(*key).is_some_and(|wanted| wanted.as_ref() == Some(value))
    });
    noted.map(|(key, value)| (key.clone(), value.clone()))
}
