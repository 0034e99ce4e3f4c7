//! The webhook: reads what a review needs from the cluster, and answers it.

use k8s_openapi::api::core::v1::ObjectReference;
use kube::{
    Api, Client,
    api::ListParams,
    runtime::events::{Event, EventType, Recorder, Reporter},
};
use serde_json::Value;
use thiserror::Error;
use tracing::{debug, warn};

use super::{Claim, Endpoint, World, review};
use crate::{
    api::Berth,
    documents::{DocumentKind, list_documents},
    names,
};
use berth_labels::Flavour;

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
    /// It is no `AdmissionReview`.
    #[error("the body is no AdmissionReview")]
    Body(#[source] serde_json::Error),
    /// The cluster could not be asked.
    #[error("the cluster does not say what the answer depends on")]
    Cluster(#[source] Box<kube::Error>),
}

/// Answers reviews.
#[derive(Clone)]
pub struct Webhook {
    client: Client,
    flavour: Flavour,
    recorder: Recorder,
}

impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Webhook")
            .field("flavour", &self.flavour)
            .finish_non_exhaustive()
    }
}

impl Webhook {
    /// A webhook that asks this cluster.
    pub fn new(client: Client, flavour: Flavour) -> Self {
        let reporter = Reporter {
            controller: "berth-admission".to_owned(),
            instance: None,
        };
        Self {
            recorder: Recorder::new(client.clone(), reporter),
            client,
            flavour,
        }
    }

    /// Answers the body of a request with the body of the reply.
    pub async fn answer(&self, path: &str, body: &[u8]) -> Result<Vec<u8>, WebhookError> {
        let endpoint = match path {
            MUTATE_PATH => Endpoint::Mutate,
            VALIDATE_PATH => Endpoint::Validate,
            _ => return Err(WebhookError::Path),
        };
        let asked: Value = serde_json::from_slice(body).map_err(WebhookError::Body)?;
        let world = self
            .world(&asked)
            .await
            .map_err(|error| WebhookError::Cluster(Box::new(error)))?;
        let outcome = review(&asked, endpoint, &world);
        let dry_run = asked.pointer("/request/dryRun") == Some(&Value::Bool(true));
        // Told by the first of the two calls: after a refusal the second one may not come.
        if let Some(claim) = outcome.claim.filter(|_| !dry_run) {
            self.tell(&claim).await;
        }
        Ok(outcome.response.to_string().into_bytes())
    }

    async fn world(&self, asked: &Value) -> kube::Result<World> {
        let text = |pointer: &str| asked.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let mut world = World {
            flavour: self.flavour,
            ..World::default()
        };
        let kinds: &[DocumentKind] = match text("/request/kind/kind") {
            "Node" => &[DocumentKind::MachineConfigPool, DocumentKind::LabelRule],
            "MachineConfig" | "KubeletConfig" | "MachineConfigPool" => &[
                DocumentKind::MachineConfigPool,
                DocumentKind::MachineConfig,
                DocumentKind::KubeletConfig,
            ],
            _ => &[],
        };
        world.definitions = list_documents(&self.client, kinds).await?;
        if kinds.contains(&DocumentKind::LabelRule) {
            world.berth = self.berth(text("/request/object/metadata/name")).await?.map(Box::new);
        }
        Ok(world)
    }

    /// Most Berths have the name of their Node; where one does not, all are looked through.
    async fn berth(&self, node: &str) -> kube::Result<Option<Berth>> {
        let berths: Api<Berth> = Api::all(self.client.clone());
        if let Some(berth) = berths.get_opt(node).await?
            && berth.node_name() == node
        {
            return Ok(Some(berth));
        }
        let all = berths.list(&ListParams::default()).await?;
        Ok(all.items.into_iter().find(|berth| berth.node_name() == node))
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
