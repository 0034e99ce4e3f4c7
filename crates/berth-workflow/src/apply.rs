//! Labels on live Nodes: read, patch, and try again where that is of use.

mod split;
mod wire;

use std::{collections::HashMap, time::Duration};

use berth_site::{LiveTraffic, WrittenLabels};
use kube::{
    Client,
    api::PatchParams,
    core::{Status, request},
};
use tokio_util::sync::CancellationToken;
use wire::Wire;

use crate::{outcome::Outcome, traffic::live_traffic};
use berth_decide::{LabelDiff, LabelPolicy, NodeState, Refusal, Requested, Strategy, label_diff};

/// How long to go on when the API server does not do what it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For how long one node is tried.
    pub total: Duration,
    /// The first pause; each further one is twice as long.
    pub first_pause: Duration,
    /// The longest pause.
    pub longest_pause: Duration,
}

impl Patience {
    /// For somebody who waits for the answer.
    pub const SHORT: Self = Self {
        total: Duration::from_secs(10),
        first_pause: Duration::from_millis(50),
        longest_pause: Duration::from_secs(1),
    };
    /// For an action, which has the time that Shipyard gives it.
    pub const LONG: Self = Self {
        total: Duration::from_mins(15),
        first_pause: Duration::from_millis(50),
        longest_pause: Duration::from_secs(5),
    };
}

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
            Self::Conflict { .. } => 409,
            Self::Forbidden { .. } | Self::BerthsForbidden { .. } | Self::Unavailable { .. } | Self::GivenUp => 503,
        }
    }
}

/// What to do after an answer that is not the wanted one.
enum Trouble {
    /// No Node can be called so; nothing was sent.
    Unnameable(String),
    Missing,
    /// Somebody was faster: read again.
    Conflict,
    /// The API server does not take what was sent.
    Refused(String),
    /// All Nodes are out of reach for this program.
    Forbidden(String),
    /// Wait, at least that long, and try again. The request may have been carried out or not.
    Wait(Option<Duration>, String),
}

impl Trouble {
    fn of(error: &kube::Error) -> Self {
        if let kube::Error::BuildRequest(request::Error::Validation(problem)) = error {
            return Self::Unnameable(problem.clone());
        }
        let kube::Error::Api(status) = error else {
            return Self::Wait(None, told(error));
        };
        match status.code {
            404 => Self::Missing,
            409 => Self::Conflict,
            401 => Self::Forbidden(status.message.clone()),
            403 if is_by_role(status) => Self::Forbidden(status.message.clone()),
            400 | 403 | 413 | 415 | 422 => Self::Refused(status.message.clone()),
            _ => {
                let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
                let after = (seconds > 0).then(|| Duration::from_secs(seconds.into()));
                Self::Wait(after, status.message.clone())
            }
        }
    }
}

/// Whether the role of this program forbids it, rather than what was sent.
fn is_by_role(status: &Status) -> bool {
    status.message.contains("cannot patch resource") || status.message.contains("cannot get resource")
}

fn berths_forbidden(status: &Status) -> ApplyError {
    ApplyError::BerthsForbidden {
        message: status.message.clone(),
    }
}

/// An error with all that caused it: the cause is what helps.
fn told(error: &kube::Error) -> String {
    if let kube::Error::Api(status) = error {
        return status.message.clone();
    }
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// Pauses that grow.
struct Pauses<'a> {
    patience: Patience,
    stop: Option<&'a CancellationToken>,
    next: Duration,
    spent: Duration,
}

/// Why there is no further pause.
enum Over {
    NoTimeLeft,
    Stopped,
}

impl<'a> Pauses<'a> {
    fn new(patience: Patience, stop: Option<&'a CancellationToken>) -> Self {
        Self {
            patience,
            stop,
            next: patience.first_pause,
            spent: Duration::ZERO,
        }
    }

    async fn pause(&mut self, at_least: Option<Duration>) -> Result<(), Over> {
        if self.spent >= self.patience.total {
            return Err(Over::NoTimeLeft);
        }
        let pause = at_least.map_or(self.next, |least| least.max(self.next));
        self.next = (self.next * 2).min(self.patience.longest_pause);
        self.spent += pause;
        let sleep = tokio::time::sleep(pause);
        match self.stop {
            None => sleep.await,
            Some(stop) => tokio::select! {
                () = stop.cancelled() => return Err(Over::Stopped),
                () = sleep => {}
            },
        }
        Ok(())
    }
}

/// What is asked for one Node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order<'a> {
    pub(crate) node: &'a str,
    pub(crate) requested: &'a Requested,
    pub(crate) strategy: Strategy,
    pub(crate) patience: Patience,
    /// Cancelled when nobody wants the answer any more. What is under way is finished; nothing is waited for.
    pub(crate) stop: Option<&'a CancellationToken>,
}

/// The Nodes of a cluster.
#[derive(Clone)]
pub struct NodeClient {
    wire: Wire,
    policy: LabelPolicy,
    params: PatchParams,
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
    /// The Nodes that a client reaches.
    pub fn new(client: Client, policy: LabelPolicy) -> Self {
        Self {
            wire: Wire::new(client),
            policy,
            params: PatchParams {
                field_manager: Some("berth".to_owned()),
                ..PatchParams::default()
            },
            patience: Patience::SHORT,
        }
    }

    /// The same with another patience than [`Patience::SHORT`] for those who wait for the answer.
    #[must_use]
    pub fn with_patience(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
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
        self.read_within(node, &mut Pauses::new(self.patience, None)).await
    }

    async fn read_within(&self, node: &str, pauses: &mut Pauses<'_>) -> Result<NodeState, ApplyError> {
        loop {
            match self.wire.get(node).await {
                Ok(found) => return Ok(found),
                Err(error) => self.endure(node, Trouble::of(&error), pauses).await?,
            }
        }
    }

    /// The labels of all Nodes, by name.
    ///
    /// # Errors
    /// [`ApplyError::Unavailable`].
    pub async fn list(&self) -> Result<HashMap<String, NodeState>, ApplyError> {
        let listed = self.wire.list().await;
        listed.map_err(|error| ApplyError::Unavailable { message: told(&error) })
    }

    /// What the controllers remember to have written to Nodes, by their names; nothing in a cluster without Berths.
    ///
    /// # Errors
    /// [`ApplyError::BerthsForbidden`], [`ApplyError::Unavailable`].
    pub(crate) async fn berths(&self) -> Result<HashMap<String, WrittenLabels>, ApplyError> {
        self.wire.berths().await.map_err(|error| match &error {
            kube::Error::Api(status) if status.code == 403 => berths_forbidden(status),
            _ => ApplyError::Unavailable { message: told(&error) },
        })
    }

    /// What carries traffic in the cluster, and where it is; or why that cannot be read.
    pub(crate) async fn traffic(&self) -> Result<LiveTraffic, String> {
        live_traffic(self.wire.client()).await.map_err(|error| told(&error))
    }

    /// What the labels of a Node need. Before a label goes because the Node's annotation says that it is Berth's, the Berth is
    /// asked, since kubelets can write the annotation.
    pub(crate) async fn diff(&self, state: &mut NodeState, order: Order<'_>) -> Result<LabelDiff, ApplyError> {
        let mut pauses = Pauses::new(order.patience, order.stop);
        let Order {
            node,
            requested,
            strategy,
            ..
        } = order;
        let diff = label_diff(state, requested, strategy, &self.policy);
        if strategy == Strategy::Promenade || state.confirmed || !diff.rests_on_note(state) {
            return Ok(diff);
        }
        let written = loop {
            match self.wire.written(node).await {
                Ok(written) => break written,
                Err(kube::Error::Api(status)) if status.code == 403 => return Err(berths_forbidden(&status)),
                Err(error) => self.endure(node, Trouble::of(&error), &mut pauses).await?,
            }
        };
        state.confirm(written.as_ref());
        Ok(label_diff(state, requested, strategy, &self.policy))
    }

    /// An order of somebody who waits for the answer.
    pub(crate) fn order<'a>(&self, node: &'a str, requested: &'a Requested, strategy: Strategy) -> Order<'a> {
        Order {
            node,
            requested,
            strategy,
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
        match self.write(order, None).await? {
            Written::Done(done) => {
                let (diff, state) = *done;
                let outcome = Outcome::of(&diff, &state);
                Ok((diff, outcome))
            }
            Written::Refused(keys, reason) => Err(ApplyError::Refused(self.refused_keys(order, keys, &reason).await?)),
        }
    }

    /// Does as much of an order as can be done, and says what that was. `known` is the Node as a list showed it.
    pub(crate) async fn relabel(&self, order: Order<'_>, known: Option<NodeState>) -> Result<Outcome, ApplyError> {
        match self.write(order, known).await? {
            Written::Done(done) => Ok(Outcome::of(&done.0, &done.1)),
            Written::Refused(..) => self.relabel_by_parts(order).await,
        }
    }

    /// One patch, tried until it is taken or refused.
    async fn write(&self, order: Order<'_>, mut known: Option<NodeState>) -> Result<Written, ApplyError> {
        let node = order.node;
        let mut pauses = Pauses::new(order.patience, order.stop);
        // A patch whose answer was lost: it may have been carried out.
        let mut unsure: Option<(LabelDiff, NodeState)> = None;
        loop {
            let listed = known.is_some();
            let mut state = match known.take() {
                Some(state) => state,
                None => self.read_within(node, &mut pauses).await?,
            };
            let diff = self.diff(&mut state, order).await?;
            let Some(patch) = diff.merge_patch(&state) else {
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
            match self.wire.patch(node, &self.params, &patch).await {
                Ok(()) => return Ok(Written::Done(Box::new((diff, state)))),
                Err(error) => match Trouble::of(&error) {
                    Trouble::Refused(reason) => return Ok(Written::Refused(diff.keys(), reason)),
                    trouble => {
                        if matches!(trouble, Trouble::Wait(..)) {
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
    Refused(std::collections::BTreeSet<String>, String),
}

/// Whether a Node is as a patch would have made it.
fn holds(sent: &LabelDiff, state: &NodeState) -> bool {
    let written = sent.set.iter().chain(&sent.change);
    written
        .into_iter()
        .all(|(key, value)| state.labels.get(key) == Some(value))
        && !sent.remove.iter().any(|key| state.labels.contains_key(key))
}
