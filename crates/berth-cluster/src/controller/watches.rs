//! The watches: each sends whole lists when it (re)starts and single changes after that.

use std::{collections::BTreeMap, fmt::Debug, future::Future, pin::Pin};

use futures::StreamExt as _;
use k8s_openapi::api::{certificates::v1::CertificateSigningRequest, core::v1::Node};
use kube::{
    Api, Client, CustomResourceExt as _, Resource, ResourceExt as _,
    api::DynamicObject,
    core::{ApiResource, GroupVersionKind},
    runtime::{
        WatchStreamExt as _,
        watcher::{self, Event, watcher},
    },
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::mpsc;
use tracing::{debug, warn};

use super::{
    kept::{KeptBerth, KeptNode, Text},
    pools::{Mailbox, PoolChange, TEMPLATE_OBJECTS},
};
use crate::{connect::Unreached, missing::is_missing_kind};
use berth_decide::{
    CertificateRequest, KUBELET_SIGNER, NodeView,
    pools::{ConfigView, PoolView, SettingView, TemplateView},
};
use berth_pools::{CONTROLLER_CONFIG, KubeletLabels, PULL_SECRET, TemplateObject};
use berth_resources::{
    Berth, ContainerRuntimeConfig, ControllerConfig, KubeletConfig, LabelRule, MachineConfig, MachineConfigPool,
    TokenBinding, bootstrap::Binding,
};
use berth_site::GeneratingKind;

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
pub(super) enum ClusterChange {
    Nodes(Seen<KeptNode>),
    Berths(Seen<KeptBerth>),
    Rules(Seen<Definition>),
    Pools(Seen<Definition>),
    Certificates(Seen<CertificateRequest>),
    Tokens(Seen<Binding>),
    /// A kubelet shows that it knows this very Node.
    Beat(Beat),
    /// What is heard of kubelets has been looked at once, or cannot be seen.
    Looked,
    /// A kubelet is heard of that somebody waits for.
    Heard(String),
    /// What the kubelets of each pool give themselves.
    Units(BTreeMap<String, KubeletLabels>),
}

/// The first heartbeat of a kubelet for a Node object.
#[derive(Debug)]
pub(super) struct Beat {
    pub(super) node: Text,
    pub(super) uid: Text,
}

/// A pool or rule as an object, with its name.
#[derive(Debug)]
pub(super) struct Definition {
    pub(super) name: String,
    pub(super) object: Value,
}

type Watching = Pin<Box<dyn Future<Output = ()> + Send>>;

type Wrap<T> = fn(Seen<T>) -> ClusterChange;
type View<T> = fn(&Seen<T>) -> PoolChange;

/// Where what a watch sees goes to.
struct Sinks<T> {
    engine: Option<(mpsc::Sender<ClusterChange>, Wrap<T>)>,
    /// This one never waits, so that what keeps labels never waits for what keeps pools.
    pools: Option<(Mailbox, View<T>)>,
}

impl<T> Sinks<T> {
    /// Whether anybody still listens.
    async fn send(&self, seen: Seen<T>) -> bool {
        if let Some((pools, view)) = &self.pools {
            pools.put(view(&seen));
        }
        match &self.engine {
            Some((engine, wrap)) => engine.send(wrap(seen)).await.is_ok(),
            None => true,
        }
    }
}

impl<T> Seen<T> {
    fn map<U>(&self, view: impl Fn(&T) -> U) -> Seen<U> {
        match self {
            Self::All(all) => Seen::All(all.iter().map(view).collect()),
            Self::One(one) => Seen::One(view(one)),
            Self::Gone(one) => Seen::Gone(view(one)),
        }
    }
}

/// How many objects are read at once. Of a Node little is kept: the names of its images are most of it, and a page is in memory
/// as a whole.
pub(super) const PAGE: u32 = 100;

/// How many objects are read at once that may be large: rendered machine configs, and certificate requests, which hold what
/// somebody sent before he was anybody.
const LARGE_PAGE: u32 = 20;

pub(super) fn all(
    client: &Client,
    changes: &mpsc::Sender<ClusterChange>,
    pool_changes: Option<&Mailbox>,
    namespace: &str,
) -> Vec<Watching> {
    let nodes: Api<Node> = Api::all(client.clone());
    let certificates: Api<CertificateSigningRequest> = Api::all(client.clone());
    let by_signer = watcher::Config::default()
        .fields(&format!("spec.signerName={KUBELET_SIGNER}"))
        .page_size(LARGE_PAGE);
    let paged = |size: u32| watcher::Config::default().page_size(size);
    let dynamic = |resource: &ApiResource| -> Api<DynamicObject> { Api::all_with(client.clone(), resource) };
    let plain = watcher::Config::default;
    let mut watches: Vec<Watching> = vec![
        Box::pin(watch(
            nodes,
            paged(PAGE),
            |node| Some(NodeView::from(node).into()),
            Sinks {
                engine: Some((changes.clone(), ClusterChange::Nodes)),
                pools: pool_changes.map(|pools| {
                    let view: View<KeptNode> = |seen| PoolChange::Nodes(seen.map(Clone::clone));
                    (pools.clone(), view)
                }),
            },
        )),
        Box::pin(watch(
            dynamic(&Berth::api_resource()),
            paged(PAGE),
            berth,
            Sinks {
                engine: Some((changes.clone(), ClusterChange::Berths)),
                pools: pool_changes.map(|pools| {
                    let view: View<KeptBerth> = |seen| PoolChange::Berths(seen.map(Clone::clone));
                    (pools.clone(), view)
                }),
            },
        )),
        Box::pin(watch(
            dynamic(&LabelRule::api_resource()),
            plain(),
            definition,
            to_engine(changes, ClusterChange::Rules),
        )),
        Box::pin(watch(
            dynamic(&MachineConfigPool::api_resource()),
            plain(),
            definition,
            Sinks {
                engine: Some((changes.clone(), ClusterChange::Pools)),
                pools: pool_changes.map(|pools| {
                    let view: View<Definition> =
                        |seen| PoolChange::Pools(seen.map(|pool| Box::new(PoolView::read(&pool.object))));
                    (pools.clone(), view)
                }),
            },
        )),
        Box::pin(watch(
            certificates,
            by_signer,
            |request| CertificateRequest::read(&request),
            to_engine(changes, ClusterChange::Certificates),
        )),
        Box::pin(watch(
            dynamic(&TokenBinding::api_resource()),
            plain(),
            |binding| Some(binding.into()),
            to_engine(changes, ClusterChange::Tokens),
        )),
    ];
    if let Some(pools) = pool_changes {
        watches.push(Box::pin(watch(
            dynamic(&MachineConfig::api_resource()),
            paged(LARGE_PAGE),
            machine_config,
            Sinks {
                engine: None,
                pools: Some((pools.clone(), |seen| PoolChange::Configs(seen.map(Clone::clone)))),
            },
        )));
        watches.push(Box::pin(watch(
            dynamic(&KubeletConfig::api_resource()),
            plain(),
            |object| setting(GeneratingKind::KubeletConfig, object),
            Sinks {
                engine: None,
                pools: Some((pools.clone(), |seen| {
                    PoolChange::Settings(GeneratingKind::KubeletConfig, seen.map(Clone::clone))
                })),
            },
        )));
        watches.push(Box::pin(watch(
            dynamic(&ContainerRuntimeConfig::api_resource()),
            plain(),
            |object| setting(GeneratingKind::ContainerRuntimeConfig, object),
            Sinks {
                engine: None,
                pools: Some((pools.clone(), |seen| {
                    PoolChange::Settings(GeneratingKind::ContainerRuntimeConfig, seen.map(Clone::clone))
                })),
            },
        )));
        watches.extend(TEMPLATE_OBJECTS.map(|kind| template_watch(client, kind, namespace, pools)));
    }
    watches
}

/// One of the objects that templates are made with. Of Secrets only the one with that name may be read.
fn template_watch(client: &Client, kind: TemplateObject, namespace: &str, pools: &Mailbox) -> Watching {
    let named = |name: &str| watcher::Config::default().fields(&format!("metadata.name={name}"));
    let of_core = |kind: &str, plural: &str| {
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("", "v1", kind), plural);
        Api::<DynamicObject>::namespaced_with(client.clone(), namespace, &resource)
    };
    let (api, config) = match kind {
        TemplateObject::ControllerConfig => {
            let api = Api::all_with(client.clone(), &ControllerConfig::api_resource());
            (api, named(CONTROLLER_CONFIG))
        }
        TemplateObject::ConfigMap => (of_core("ConfigMap", "configmaps"), watcher::Config::default()),
        TemplateObject::Secret => (of_core("Secret", "secrets"), named(PULL_SECRET)),
    };
    let understand: fn(DynamicObject) -> Option<Box<TemplateView>> = match kind {
        TemplateObject::ControllerConfig => |object| template(TemplateObject::ControllerConfig, object),
        TemplateObject::ConfigMap => |object| template(TemplateObject::ConfigMap, object),
        TemplateObject::Secret => |object| template(TemplateObject::Secret, object),
    };
    let put: View<Box<TemplateView>> = match kind {
        TemplateObject::ControllerConfig => {
            |seen| PoolChange::Templates(TemplateObject::ControllerConfig, seen.map(Clone::clone))
        }
        TemplateObject::ConfigMap => |seen| PoolChange::Templates(TemplateObject::ConfigMap, seen.map(Clone::clone)),
        TemplateObject::Secret => |seen| PoolChange::Templates(TemplateObject::Secret, seen.map(Clone::clone)),
    };
    let sinks = Sinks {
        engine: None,
        pools: Some((pools.clone(), put)),
    };
    Box::pin(watch(api, config, understand, sinks))
}

fn template(kind: TemplateObject, object: DynamicObject) -> Option<Box<TemplateView>> {
    let object = serde_json::to_value(object).ok()?;
    Some(Box::new(TemplateView::read(kind, &object)))
}

fn to_engine<T>(changes: &mpsc::Sender<ClusterChange>, wrap: fn(Seen<T>) -> ClusterChange) -> Sinks<T> {
    Sinks {
        engine: Some((changes.clone(), wrap)),
        pools: None,
    }
}

/// Where the API server has the kinds without which there is nothing to do.
const OWN_KINDS: &str = "/apis/berth.dev/";

/// Watches one kind forever. What cannot be understood is left out, with a warning, and does not stop the watch.
async fn watch<K, T>(api: Api<K>, config: watcher::Config, understand: fn(K) -> Option<T>, sinks: Sinks<T>)
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
    T: Send + Sync + 'static,
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
                    if url.starts_with(OWN_KINDS) {
                        warn!(url, "the cluster does not have this kind; `berth install` brings it");
                    } else {
                        debug!(url, "the cluster does not have this kind");
                    }
                    listed = true;
                    Some(Seen::All(Vec::new()))
                } else {
                    // One line for the whole outage says that the API server does not answer.
                    if Unreached::among(&error).is_none() {
                        warn!(
                            url,
                            error = &error as &dyn std::error::Error,
                            "the watch is interrupted"
                        );
                    }
                    None
                }
            }
        };
        if let Some(seen) = seen
            && !sinks.send(seen).await
        {
            return;
        }
    }
}

fn is_unknown_kind(error: &watcher::Error) -> bool {
    matches!(error, watcher::Error::InitialListFailed(kube::Error::Api(status)) if is_missing_kind(status))
}

fn berth(object: DynamicObject) -> Option<KeptBerth> {
    let name = object.name_any();
    let value = serde_json::to_value(object).ok()?;
    match serde_json::from_value::<Berth>(value) {
        Ok(berth) => Some(KeptBerth::from(&berth)),
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

fn setting(kind: GeneratingKind, object: DynamicObject) -> Option<Box<SettingView>> {
    let object = serde_json::to_value(object).ok()?;
    Some(Box::new(SettingView::read(kind, &object)))
}

fn machine_config(mut object: DynamicObject) -> Option<ConfigView> {
    object.metadata.managed_fields = None;
    let name = object.name_any();
    match ConfigView::read(&serde_json::to_value(object).ok()?) {
        Ok(config) => Some(config),
        Err(error) => {
            warn!(
                name,
                error = &error as &dyn std::error::Error,
                "the MachineConfig cannot be read"
            );
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use http::{Request, Response};
    use kube::client::Body;

    use super::*;

    #[tokio::test]
    async fn what_may_be_large_is_read_in_small_parts() {
        let (sender, mut asked) = mpsc::unbounded_channel();
        let service = tower::service_fn(move |request: Request<Body>| {
            let _ = sender.send(request.uri().to_string());
            std::future::pending::<Result<Response<Body>, tower::BoxError>>()
        });
        let client = Client::new(service, "default");
        let (changes, _received) = mpsc::channel(1);
        let mailbox = Mailbox::default();
        let all = futures::future::join_all(super::all(&client, &changes, Some(&mailbox), "berth-system"));
        let mut pages = vec![
            ("/nodes?", "limit=100"),
            ("/berths?", "limit=100"),
            ("/certificatesigningrequests?", "limit=20"),
            ("/machineconfigs?", "limit=20"),
        ];
        let seen = async {
            while !pages.is_empty()
                && let Some(uri) = asked.recv().await
            {
                pages.retain(|(path, limit)| {
                    let is_it = uri.contains(path);
                    assert!(!is_it || uri.split(['?', '&']).any(|part| part == *limit), "{uri}");
                    !is_it
                });
            }
        };
        tokio::select! {
            _ = all => {}
            () = seen => {}
            () = tokio::time::sleep(std::time::Duration::from_secs(20)) => {}
        }
        assert!(pages.is_empty(), "nobody asked for {pages:?}");
    }
}
