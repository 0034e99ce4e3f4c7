//! The webhook: keeps what reviews depend on, and answers them.

use std::{future::Future, sync::Arc, time::Duration};

use berth_labels::Flavour;
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{Node, ObjectReference};
use kube::{
    Api, Client,
    runtime::{
        WatchStreamExt as _,
        events::{Event, EventType, Recorder, Reporter},
        reflector::{self, Store, reflector},
        watcher::{self, watcher},
    },
};
use thiserror::Error;
use tokio::{sync::watch, time::timeout};
use tracing::{debug, warn};

use super::{
    Claim, Endpoint, World,
    request::{Review, Subject},
    review,
    review::{is_rule, let_through},
};
use crate::documents::{DocumentKind, Snapshot, follow_documents};
use berth_decide::names;
use berth_resources::Berth;

/// What answers about Nodes depend on, beside Berths.
const NODES: &[DocumentKind] = &[DocumentKind::MachineConfigPool, DocumentKind::LabelRule];
/// What answers about rules depend on.
const RULES: &[DocumentKind] = &[DocumentKind::LabelRule];
/// What answers about configs and pools depend on, beside those.
const CONFIGS: &[DocumentKind] = &[DocumentKind::OwnMachineConfig, DocumentKind::KubeletConfig];

/// Who applies a pool and its config together sends one right after the other: so long the watches have to see the first.
const TO_SEE: Duration = Duration::from_millis(100);

/// So long it may take to find out whether a Node exists.
const TO_LOOK: Duration = Duration::from_secs(1);

/// So long a review waits for the watches to have seen everything. The API server waits for five seconds.
const PATIENCE: Duration = Duration::from_secs(3);

/// Where reviews that may change an object are sent.
pub const MUTATE_PATH: &str = "/admission/mutate";
/// Where reviews that let an object in or not are sent.
pub const VALIDATE_PATH: &str = "/admission/validate";

/// Why a review cannot be answered. The API server then does what the webhook's failure policy says.
#[derive(Debug, Error)]
pub enum WebhookError {
    /// Nothing is answered there.
    #[error("reviews are sent to {MUTATE_PATH} or {VALIDATE_PATH}")]
    Path,
    /// It is not an `AdmissionReview`.
    #[error("the body is not an AdmissionReview")]
    Body(#[source] serde_json::Error),
    /// What the answer depends on is not known yet, or not any more.
    #[error("the webhook does not know the cluster's pools, rules and Berths yet; its log says what keeps it")]
    NotReady,
}

/// Answers reviews from what its watches have seen: a review costs the API server no request of its own, unless a claim is to be
/// refused.
#[derive(Clone)]
pub struct Webhook {
    flavour: Arc<dyn Fn() -> Flavour + Send + Sync>,
    client: Client,
    recorder: Recorder,
    documents: watch::Receiver<Snapshot>,
    berths: Store<Berth>,
}

impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Webhook")
            .field("flavour", &(self.flavour)())
            .finish_non_exhaustive()
    }
}

impl Webhook {
    /// A webhook for this cluster, and what watches for it. It answers while that runs, when it has seen everything. Should
    /// the watches panic, the program must end: the answers would be of yesterday.
    ///
    /// `flavour` says whose rules hold whenever a review comes: documents that say it may change.
    pub fn new(
        client: &Client,
        flavour: impl Fn() -> Flavour + Send + Sync + 'static,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let reporter = Reporter {
            controller: "berth-admission".to_owned(),
            instance: None,
        };
        let kinds = [NODES, CONFIGS].concat();
        let (documents, following) = follow_documents(client, &kinds);
        let (berths, writer) = reflector::store();
        let watching = watcher(Api::<Berth>::all(client.clone()), watcher::Config::default()).default_backoff();
        let reflecting = reflector(writer, watching).for_each(|event| {
            if let Err(error) = event {
                warn!(
                    error = &error as &dyn std::error::Error,
                    "the watch of Berths is interrupted"
                );
            }
            futures::future::ready(())
        });
        let watching = async move {
            futures::join!(following, reflecting);
        };
        let webhook = Self {
            flavour: Arc::new(flavour),
            client: client.clone(),
            recorder: Recorder::new(client.clone(), reporter),
            documents,
            berths,
        };
        (webhook, watching)
    }

    /// Answers the body of a request with the body of the reply.
    pub async fn answer(&self, path: &str, body: &[u8]) -> Result<Vec<u8>, WebhookError> {
        let endpoint = match path {
            MUTATE_PATH => Endpoint::Mutate,
            VALIDATE_PATH => Endpoint::Validate,
            _ => return Err(WebhookError::Path),
        };
        let asked = Review::read(body).map_err(WebhookError::Body)?;
        let world = timeout(PATIENCE, self.world(&asked))
            .await
            .ok()
            .flatten()
            .ok_or(WebhookError::NotReady)?;
        let mut outcome = review(&asked, endpoint, &world);
        if outcome.claim.is_some()
            && let Some(node) = asked.creates()
            && self.exists(node).await
        {
            outcome = let_through(&asked);
        }
        // Told by the first of the two calls: after a refusal the second one may not come.
        if let Some(claim) = outcome.claim.filter(|_| !asked.dry_run) {
            self.tell(&claim).await;
        }
        Ok(outcome.response.to_string().into_bytes())
    }

    /// What the answer depends on; `None` when nobody watches any more.
    async fn world(&self, asked: &Review) -> Option<World> {
        let mut world = World {
            flavour: (self.flavour)(),
            ..World::default()
        };
        let kinds: &[DocumentKind] = match &asked.subject {
            Subject::Node(_) => NODES,
            Subject::Config(..) => &[NODES, CONFIGS].concat(),
            Subject::Own(object, _) if is_rule(object) => RULES,
            Subject::Own(..) | Subject::Unreadable(_) | Subject::Other => return Some(world),
        };
        if self.documents.has_changed().is_err() {
            return None;
        }
        if kinds != NODES {
            tokio::time::sleep(TO_SEE).await;
        }
        {
            let mut documents = self.documents.clone();
            let documents = documents.wait_for(Snapshot::is_complete).await.ok()?;
            world.definitions = kinds.iter().flat_map(|kind| documents.of(*kind)).collect();
        }
        if let Some(node) = asked.node() {
            self.berths.wait_until_ready().await.ok()?;
            world.berths = self.berths_of(node);
        }
        Some(world)
    }

    /// Whether there is a Node of this name. To create it changes nothing then: the API server answers that it exists, and the
    /// kubelet takes it. Kubelets before 1.32 do so only after that answer, and would retry without end after a refusal.
    async fn exists(&self, node: &str) -> bool {
        let nodes: Api<Node> = Api::all(self.client.clone());
        matches!(timeout(TO_LOOK, nodes.get_metadata_opt(node)).await, Ok(Ok(Some(_))))
    }

    /// All Berths of a node: which of them counts, the decision says.
    fn berths_of(&self, node: &str) -> Vec<Arc<Berth>> {
        let mut berths = self.berths.state();
        berths.retain(|berth| {
            let named = berth.spec.node_name.as_ref().or(berth.metadata.name.as_ref());
            named.is_some_and(|name| name == node)
        });
        berths
    }

    /// The Node does not exist yet, so the event names it as the kubelet's own events do.
    async fn tell(&self, claim: &Claim) {
        let message = claim.message();
        warn!(node = claim.node, pool = claim.pool, "{message}");
        let reference = ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Node".to_owned()),
            name: Some(claim.node.clone()),
            uid: Some(claim.node.clone()),
            ..ObjectReference::default()
        };
        let event = Event {
            type_: EventType::Warning,
            reason: names::reason::CLAIM_REFUSED.to_owned(),
            note: Some(message),
            action: names::reason::CLAIM_REFUSED.to_owned(),
            secondary: None,
        };
        if let Err(error) = self.recorder.publish(&event, &reference).await {
            debug!(error = &error as &dyn std::error::Error, "an event cannot be written");
        }
    }
}
