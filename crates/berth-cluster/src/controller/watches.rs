//! The watches: each sends whole lists when it (re)starts and single changes after that.

use std::{fmt::Debug, future::Future, pin::Pin};

use futures::StreamExt as _;
use k8s_openapi::api::{
    certificates::v1::CertificateSigningRequest,
    core::v1::{Node, Secret},
};
use kube::{
    Api, Client, CustomResourceExt as _, Resource, ResourceExt as _,
    api::DynamicObject,
    core::ApiResource,
    runtime::{
        WatchStreamExt as _,
        watcher::{self, Event, watcher},
    },
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::mpsc;
use tracing::{debug, warn};

use super::Options;
use crate::{
    api::{Berth, LabelRule, MachineConfigPool},
    bootstrap,
    decide::{CertificateRequest, KUBELET_SIGNER},
    view::NodeView,
};

/// What a watch saw of one kind of object.
#[derive(Debug)]
pub(super) enum Seen<T> {
    /// These are all there are.
    All(Vec<T>),
    /// This one is new or changed.
    One(T),
    /// This one is gone; its last state.
    Gone(T),
}

/// A change of anything.
#[derive(Debug)]
pub(super) enum Change {
    Nodes(Seen<NodeView>),
    Berths(Seen<Box<Berth>>),
    Rules(Seen<Definition>),
    Pools(Seen<Definition>),
    Certificates(Seen<CertificateRequest>),
    Tokens(Seen<bootstrap::Binding>),
}

/// A pool or rule as an object, with its name.
#[derive(Debug)]
pub(super) struct Definition {
    pub(super) name: String,
    pub(super) object: Value,
}

type Watching = Pin<Box<dyn Future<Output = ()> + Send>>;

pub(super) fn all(client: &Client, options: &Options, changes: &mpsc::Sender<Change>) -> Vec<Watching> {
    let nodes: Api<Node> = Api::all(client.clone());
    let certificates: Api<CertificateSigningRequest> = Api::all(client.clone());
    let by_signer = watcher::Config::default().fields(&format!("spec.signerName={KUBELET_SIGNER}"));
    let dynamic = |resource: &ApiResource| -> Api<DynamicObject> { Api::all_with(client.clone(), resource) };
    let plain = watcher::Config::default;
    let mut watches: Vec<Watching> = vec![
        Box::pin(watch(
            nodes,
            plain(),
            changes.clone(),
            |node| Some(node.into()),
            Change::Nodes,
        )),
        Box::pin(watch(
            dynamic(&Berth::api_resource()),
            plain(),
            changes.clone(),
            berth,
            Change::Berths,
        )),
        Box::pin(watch(
            dynamic(&LabelRule::api_resource()),
            plain(),
            changes.clone(),
            definition,
            Change::Rules,
        )),
        Box::pin(watch(
            dynamic(&MachineConfigPool::api_resource()),
            plain(),
            changes.clone(),
            definition,
            Change::Pools,
        )),
        Box::pin(watch(
            certificates,
            by_signer,
            changes.clone(),
            |request| Some(certificate(request)),
            Change::Certificates,
        )),
    ];
    if options.approve {
        let secrets: Api<Secret> = Api::namespaced(client.clone(), bootstrap::NAMESPACE);
        let ours = watcher::Config::default().labels(bootstrap::SELECTOR);
        watches.push(Box::pin(watch(
            secrets,
            ours,
            changes.clone(),
            |secret| bootstrap::Binding::read(&secret),
            Change::Tokens,
        )));
    }
    watches
}

/// Watches one kind for ever. What cannot be understood is left out, with a warning, and does not stop the watch.
async fn watch<K, T>(
    api: Api<K>,
    config: watcher::Config,
    changes: mpsc::Sender<Change>,
    understand: fn(K) -> Option<T>,
    wrap: fn(Seen<T>) -> Change,
) where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
    T: Send + 'static,
{
    let url = api.resource_url().to_owned();
    let mut stream = std::pin::pin!(watcher(api, config).default_backoff());
    let mut listing: Vec<T> = Vec::new();
    let mut listed = false;
    while let Some(event) = stream.next().await {
        let seen = match event {
            Ok(Event::Init) => {
                listing = Vec::new();
                continue;
            }
            Ok(Event::InitApply(object)) => {
                listing.extend(understand(object));
                continue;
            }
            Ok(Event::InitDone) => {
                listed = true;
                Some(Seen::All(std::mem::take(&mut listing)))
            }
            Ok(Event::Apply(object)) => understand(object).map(Seen::One),
            Ok(Event::Delete(object)) => understand(object).map(Seen::Gone),
            Err(error) => {
                // A kind that the cluster does not have has no objects. Once it had some, nothing follows from this.
                if !listed && is_unknown_kind(&error) {
                    debug!(url, "the cluster does not have this kind");
                    listed = true;
                    Some(Seen::All(Vec::new()))
                } else {
                    warn!(
                        url,
                        error = &error as &dyn std::error::Error,
                        "the watch is interrupted"
                    );
                    None
                }
            }
        };
        if let Some(seen) = seen
            && changes.send(wrap(seen)).await.is_err()
        {
            return;
        }
    }
}

fn is_unknown_kind(error: &watcher::Error) -> bool {
    matches!(error, watcher::Error::InitialListFailed(kube::Error::Api(status)) if status.is_not_found())
}

fn berth(object: DynamicObject) -> Option<Box<Berth>> {
    let name = object.name_any();
    let value = serde_json::to_value(object).ok()?;
    match serde_json::from_value::<Berth>(value) {
        Ok(mut berth) => {
            berth.metadata.managed_fields = None;
            Some(Box::new(berth))
        }
        Err(error) => {
            warn!(
                berth = name,
                error = &error as &dyn std::error::Error,
                "the Berth cannot be read"
            );
            None
        }
    }
}

fn definition(mut object: DynamicObject) -> Option<Definition> {
    object.metadata.managed_fields = None;
    Some(Definition {
        name: object.name_any(),
        object: serde_json::to_value(object).ok()?,
    })
}

fn certificate(request: CertificateSigningRequest) -> CertificateRequest {
    let conditions = request.status.and_then(|status| status.conditions).unwrap_or_default();
    let has = |type_: &str| conditions.iter().any(|condition| condition.type_ == type_);
    let denied = has("Denied") || has("Failed");
    CertificateRequest {
        name: request.metadata.name.unwrap_or_default(),
        signer: request.spec.signer_name,
        username: request.spec.username.unwrap_or_default(),
        groups: request.spec.groups.unwrap_or_default(),
        usages: request.spec.usages.unwrap_or_default(),
        request: request.spec.request.0,
        decided: denied || has("Approved"),
        denied,
    }
}
