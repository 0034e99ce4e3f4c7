//! Objects of a cluster as documents: what the commands for a folder of files read, taken from the API server instead.

use std::{collections::BTreeMap, future::Future, sync::Arc};

use berth_site::ROUTER_LABEL;
use futures::{StreamExt as _, future::join_all};
use kube::{
    Api, Client, CustomResourceExt as _, ResourceExt as _,
    api::{DynamicObject, ListParams},
    core::{ApiResource, GroupVersionKind},
    runtime::{
        WatchStreamExt as _,
        watcher::{self, Event, watcher},
    },
};
use serde_json::{Value, json};
use tokio::sync::watch;
use tracing::{debug, warn};

use crate::{
    connect::Unreached,
    missing::{is_missing, is_missing_kind},
};
use berth_decide::{Chain, plain};
use berth_resources::{Berth, LabelRule, MachineConfigPool};

/// How many objects one answer of the API server holds.
const PAGE: u32 = 500;

/// How many large objects one answer of the API server holds.
const LARGE_PAGE: u32 = 20;

/// A kind of object that is read as a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DocumentKind {
    /// `berth.dev` Berths.
    Berth,
    /// `berth.dev` rules.
    LabelRule,
    /// Pools.
    MachineConfigPool,
    /// Machine configs.
    MachineConfig,
    /// Machine configs without those that were rendered from others.
    OwnMachineConfig,
    /// Settings of kubelets.
    KubeletConfig,
    /// Settings of container runtimes.
    ContainerRuntimeConfig,
    /// What OpenShift's operator renders and serves with.
    ControllerConfig,
    /// Nodes.
    Node,
    /// Egress addresses, with where they are.
    EgressIp,
    /// Ingress controllers.
    IngressController,
    /// Pods of ingress controllers.
    RouterPod,
}

impl DocumentKind {
    /// What decides about pools, their configs and the labels of nodes.
    pub const SITE: &[Self] = &[
        Self::Berth,
        Self::LabelRule,
        Self::MachineConfigPool,
        Self::MachineConfig,
        Self::KubeletConfig,
        Self::ContainerRuntimeConfig,
        Self::ControllerConfig,
    ];

    /// What people declare about pools, without what is rendered from it.
    pub const DEFINITIONS: &[Self] = &[Self::LabelRule, Self::MachineConfigPool, Self::OwnMachineConfig];

    fn resource(self) -> ApiResource {
        let of = |group: &str, version: &str, kind: &str, plural: &str| {
            ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
        };
        let machine = |kind: &str, plural: &str| of("machineconfiguration.openshift.io", "v1", kind, plural);
        match self {
            Self::Berth => Berth::api_resource(),
            Self::LabelRule => LabelRule::api_resource(),
            Self::MachineConfigPool => MachineConfigPool::api_resource(),
            Self::MachineConfig | Self::OwnMachineConfig => machine("MachineConfig", "machineconfigs"),
            Self::KubeletConfig => machine("KubeletConfig", "kubeletconfigs"),
            Self::ContainerRuntimeConfig => machine("ContainerRuntimeConfig", "containerruntimeconfigs"),
            Self::ControllerConfig => machine("ControllerConfig", "controllerconfigs"),
            Self::Node => of("", "v1", "Node", "nodes"),
            Self::EgressIp => of("k8s.ovn.org", "v1", "EgressIP", "egressips"),
            Self::IngressController => of("operator.openshift.io", "v1", "IngressController", "ingresscontrollers"),
            Self::RouterPod => of("", "v1", "Pod", "pods"),
        }
    }

    fn selector(self) -> Option<&'static str> {
        (self == Self::RouterPod).then_some(ROUTER_LABEL)
    }

    /// An object as a document. What somebody declared is enough, except where its state is the question.
    fn document(self, mut object: DynamicObject) -> Option<Value> {
        let rendered = object.name_any().starts_with("rendered-");
        if self == Self::OwnMachineConfig && rendered && object.annotations().contains_key(berth_pools::GENERATED_BY) {
            return None;
        }
        object.metadata.managed_fields = None;
        let mut value = serde_json::to_value(object).ok()?;
        let resource = self.resource();
        value["apiVersion"] = json!(resource.api_version);
        value["kind"] = json!(resource.kind);
        Some(match self {
            Self::Node | Self::EgressIp | Self::RouterPod => value,
            Self::Berth => with_state(&value, &BERTH_STATE),
            Self::MachineConfigPool => with_state(&value, &POOL_STATE),
            Self::KubeletConfig | Self::ContainerRuntimeConfig => with_state(&value, &SETTINGS_STATE),
            _ => plain(&value),
        })
    }
}

/// What the controllers decided about a Berth.
const BERTH_STATE: [&str; 8] = [
    "/metadata/generation",
    "/metadata/creationTimestamp",
    "/metadata/deletionTimestamp",
    "/status/observedGeneration",
    "/status/pool",
    "/status/followed",
    "/status/labels",
    "/status/removedLabels",
];

/// Which rendered configs a pool has. The counts of machines change with every step of a rollout.
const POOL_STATE: [&str; 2] = ["/status/configuration/name", "/status/updatedMachineCount"];

/// What the machine configs that are made of settings depend on: the order of creation, and whether they are going.
const SETTINGS_STATE: [&str; 2] = ["/metadata/creationTimestamp", "/metadata/deletionTimestamp"];

/// What somebody declared, and of the rest these members: whatever else changes there changes no answer.
fn with_state(value: &Value, members: &[&str]) -> Value {
    let mut document = plain(value);
    for pointer in members {
        let Some(member) = value.pointer(pointer) else { continue };
        let mut place = &mut document;
        for name in pointer.split('/').skip(1) {
            place = &mut place[name];
        }
        *place = member.clone();
    }
    document
}

/// Reads all objects of these kinds. A kind that the cluster does not have has none.
pub async fn list_documents(client: &Client, kinds: &[DocumentKind]) -> kube::Result<Vec<Value>> {
    let mut documents = Vec::new();
    for kind in kinds {
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &kind.resource());
        let mut page = ListParams::default().limit(PAGE);
        if let Some(selector) = kind.selector() {
            page = page.labels(selector);
        }
        loop {
            let list = match api.list(&page).await {
                Ok(list) => list,
                Err(kube::Error::Api(status)) if is_missing(&status) => break,
                Err(error) => return Err(error),
            };
            let next = list.metadata.continue_.clone().filter(|token| !token.is_empty());
            documents.extend(list.items.into_iter().filter_map(|object| kind.document(object)));
            match next {
                Some(token) => page = page.continue_token(&token),
                None => break,
            }
        }
    }
    Ok(documents)
}

/// The documents of a cluster at one moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    objects: BTreeMap<(DocumentKind, String), Arc<Value>>,
    /// Kinds that have not been listed yet.
    missing: Vec<DocumentKind>,
    /// Kinds whose watch is interrupted, and why.
    interrupted: BTreeMap<DocumentKind, String>,
}

impl Snapshot {
    /// Whether every kind was listed: before that, nothing follows from what is not there.
    pub fn is_complete(&self) -> bool {
        self.missing.is_empty()
    }

    /// Why the documents may be older than the cluster's.
    pub fn interruption(&self) -> Option<&str> {
        self.interrupted.values().next().map(String::as_str)
    }

    /// The documents.
    pub fn objects(&self) -> impl Iterator<Item = &Value> {
        self.objects.values().map(|value| &**value)
    }

    /// The documents of one kind.
    pub(crate) fn of(&self, kind: DocumentKind) -> impl Iterator<Item = Arc<Value>> {
        let objects = self.objects.iter().filter(move |((of, _), _)| *of == kind);
        objects.map(|(_, value)| Arc::clone(value))
    }

    /// Whether both have the same documents.
    pub fn has_same_documents(&self, other: &Self) -> bool {
        self.objects == other.objects
    }
}

/// Follows the objects of these kinds. The receiver has the newest state; the future does the work and never ends by itself.
pub fn follow_documents(
    client: &Client,
    kinds: &[DocumentKind],
) -> (watch::Receiver<Snapshot>, impl Future<Output = ()> + Send + use<>) {
    let (sender, receiver) = watch::channel(Snapshot {
        missing: kinds.to_vec(),
        ..Snapshot::default()
    });
    let sender = Arc::new(sender);
    let watches: Vec<_> = kinds
        .iter()
        .map(|kind| follow(client.clone(), *kind, Arc::clone(&sender)))
        .collect();
    let work = async move {
        join_all(watches).await;
    };
    (receiver, work)
}

async fn follow(client: Client, kind: DocumentKind, sender: Arc<watch::Sender<Snapshot>>) {
    let api: Api<DynamicObject> = Api::all_with(client, &kind.resource());
    let mut config = watcher::Config::default();
    if let Some(selector) = kind.selector() {
        config = config.labels(selector);
    }
    if kind == DocumentKind::OwnMachineConfig {
        // Rendered ones come along, and may be a megabyte each.
        config = config.page_size(LARGE_PAGE);
    }
    let mut stream = std::pin::pin!(watcher(api, config).default_backoff());
    let mut listing: BTreeMap<(DocumentKind, String), Arc<Value>> = BTreeMap::new();
    let entry = |object: DynamicObject| {
        let key = (kind, key(&object));
        kind.document(object).map(|value| (key, Arc::new(value)))
    };
    while let Some(event) = stream.next().await {
        match event {
            Ok(Event::Init) => listing.clear(),
            Ok(Event::InitApply(object)) => listing.extend(entry(object)),
            Ok(Event::InitDone) => {
                let all = std::mem::take(&mut listing);
                sender.send_modify(|snapshot| {
                    snapshot.objects.retain(|(other, _), _| *other != kind);
                    snapshot.objects.extend(all);
                    snapshot.listed(kind);
                });
            }
            Ok(Event::Apply(object)) => sender.send_modify(|snapshot| {
                snapshot.interrupted.remove(&kind);
                snapshot.objects.extend(entry(object));
            }),
            Ok(Event::Delete(object)) => sender.send_modify(|snapshot| {
                snapshot.interrupted.remove(&kind);
                snapshot.objects.remove(&(kind, key(&object)));
            }),
            Err(error) if is_unknown_kind(&error) && sender.borrow().missing.contains(&kind) => {
                debug!(?kind, "the cluster does not have this kind");
                sender.send_modify(|snapshot| snapshot.listed(kind));
            }
            // The kind was not there and is not there: nothing new.
            Err(error) if is_unknown_kind(&error) => {}
            Err(error) => {
                // One line for the whole outage says that the API server does not answer.
                if Unreached::among(&error).is_none() {
                    warn!(
                        ?kind,
                        error = &error as &dyn std::error::Error,
                        "the watch is interrupted"
                    );
                }
                sender.send_modify(|snapshot| {
                    snapshot.interrupted.insert(kind, Chain(&error).to_string());
                });
            }
        }
    }
}

impl Snapshot {
    fn listed(&mut self, kind: DocumentKind) {
        self.missing.retain(|missing| *missing != kind);
        self.interrupted.remove(&kind);
    }
}

fn key(object: &DynamicObject) -> String {
    match object.namespace() {
        Some(namespace) => format!("{namespace}/{}", object.name_any()),
        None => object.name_any(),
    }
}

fn is_unknown_kind(error: &watcher::Error) -> bool {
    matches!(error, watcher::Error::InitialListFailed(kube::Error::Api(status)) if is_missing_kind(status))
}
