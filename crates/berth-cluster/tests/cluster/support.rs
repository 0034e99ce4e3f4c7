//! A cluster with Berth's resources in it, controllers on it, and ways to wait for what should come.

mod plane;

use std::{
    fmt::Debug,
    sync::{Arc, Mutex},
    time::Duration,
};

use berth_clock::Clock;
use berth_cluster::controller::{Options, run};
use berth_documents::DocumentSet;
use berth_resources::{
    Berth, BerthSpec, CrdSet, LabelRule, MachineConfig, MachineConfigNode, MachineConfigPool, Roster, TokenBinding,
    crds,
};
use berth_site::{Site, load};
use berth_testing::{BootstrapToken, ControlPlane, Identity, Programs};
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::{
    api::{
        certificates::v1::CertificateSigningRequest,
        coordination::v1::Lease,
        core::v1::{Node, Secret},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, Resource, ResourceExt as _,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams},
    runtime::{
        WatchStreamExt as _,
        wait::{await_condition, conditions},
        watcher::{self, watcher},
    },
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::{
    runtime::{Builder, Runtime},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use self::plane::Plane;
pub(crate) use self::plane::{Machine, On};

pub(crate) const INFRA: &str = "node-role.kubernetes.io/infra";
pub(crate) const STORAGE: &str = "node-role.kubernetes.io/storage";
pub(crate) const WORKER: &str = "node-role.kubernetes.io/worker";

/// Makes tests of scenarios: each runs on a new embedded cluster, and all in turn on one real API server.
macro_rules! on_both {
    ($needs:expr; $($scenario:ident),+ $(,)?) => {
        const NEEDS: Needs = $needs;

        mod embedded {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $scenario() {
                    let cluster = $crate::support::Cluster::start($crate::support::On::Embedded, super::NEEDS).await;
                    super::$scenario(&mut cluster.expect("it needs no programs")).await;
                }
            )+
        }

        mod real {
            #[tokio::test(flavor = "multi_thread")]
            async fn all_scenarios() {
                let Some(mut cluster) = $crate::support::Cluster::start($crate::support::On::Real, super::NEEDS).await else {
                    return;
                };
                for (number, scenario) in [$(stringify!($scenario)),+].into_iter().enumerate() {
                    if number > 0 {
                        cluster.clear().await;
                    }
                    tracing::info!(scenario, "begins");
                    match scenario {
                        $(stringify!($scenario) => super::$scenario(&mut cluster).await,)+
                        other => panic!("{other} is not a scenario"),
                    }
                }
            }
        }
    };
}
pub(crate) use on_both;

/// Long, because the machine may be busy; nothing is concluded from how long something took.
const PATIENCE: Duration = Duration::from_mins(3);

/// What a scenario needs of its cluster.
#[derive(Clone, Copy)]
pub(crate) struct Needs {
    /// Machines join it: certificate requests are signed.
    pub(crate) machines: bool,
    /// Forgets what happened after a second; see [`Cluster::forget`].
    pub(crate) forgets: bool,
}

impl Needs {
    pub(crate) const NOTHING: Self = Self {
        machines: false,
        forgets: false,
    };
}

/// A cluster for scenarios: the embedded API or a real API server, and a scenario does not know which.
pub(crate) struct Cluster {
    plane: Plane,
    pub(crate) client: Client,
}

impl Cluster {
    /// A cluster with Berth's resources and three pools; `None` where the programs of a real one are missing.
    pub(crate) async fn start(on: On, needs: Needs) -> Option<Self> {
        let cluster = Self::without_pools(on, needs).await?;
        cluster.pools().await;
        Some(cluster)
    }

    /// A cluster with Berth's resources; `None` where the programs of a real one are missing.
    pub(crate) async fn without_pools(on: On, needs: Needs) -> Option<Self> {
        let plane = Plane::start(on, needs).await?;
        log();
        let client = plane.client(&Identity::admin()).await;
        let cluster = Self { plane, client };
        cluster.install(CrdSet::Berth).await;
        cluster.install(CrdSet::MachineConfig).await;
        Some(cluster)
    }

    /// A client with connections of its own. They belong to the runtime that opens them, and go with it when it is killed.
    pub(crate) async fn fresh_client(&self) -> Client {
        self.plane.client(&Identity::admin()).await
    }

    async fn pools(&self) {
        for (name, selector, explicit) in [
            ("worker", WORKER, ""),
            ("infra", INFRA, "tier=infra"),
            ("storage", STORAGE, "tier=storage"),
        ] {
            self.pool(name, selector, explicit).await;
        }
    }

    /// The real control plane, for what only that has.
    pub(crate) fn real(&self) -> Option<(&Programs, &ControlPlane)> {
        self.plane.real()
    }

    /// Another client, with connections of its own.
    pub(crate) async fn client_of(&self, identity: &Identity) -> Client {
        self.plane.client(identity).await
    }

    /// A client for a machine that has only its bootstrap token.
    pub(crate) async fn bootstrap_client(&self, token: &BootstrapToken) -> Client {
        self.plane.bootstrap_client(token).await
    }

    /// How the administrator's client finds the API server, which listens on the loopback interface.
    pub(crate) fn kubeconfig(&self) -> Value {
        self.plane.kubeconfig(&Identity::admin())
    }

    pub(crate) fn port(&self) -> u16 {
        self.plane.port()
    }

    /// Lets everyone with a bootstrap token ask for a kubelet's certificate.
    pub(crate) async fn allow_bootstrap(&self) {
        self.plane.allow_bootstrap().await;
    }

    /// A kubelet with bootstrap credentials and flags of its own; `None` where none can run.
    pub(crate) async fn machine(&self, node: &str, token: BootstrapToken, labels: &str) -> Option<Machine> {
        self.plane.machine(node, token, labels).await
    }

    /// The API server ends without a word to anybody, and comes back at the same address with the same objects.
    pub(crate) async fn restart_api_server(&mut self) {
        self.plane.restart_api_server().await;
    }

    /// Makes the API server forget what happened up to now, so that whoever has not seen it must begin anew.
    pub(crate) async fn forget(&mut self) {
        let nodes: Api<Node> = self.api();
        let seen = nodes.list(&ListParams::default()).await.expect("a list");
        let seen = seen.metadata.resource_version.expect("a version");
        // What is to be forgotten must not be the last that happened.
        self.node("forgotten", json!({})).await;
        self.delete_node("forgotten").await;
        for _ in 0..100 {
            self.plane.compact().await;
            let parameters = WatchParams::default().timeout(1);
            let first = match nodes.watch(&parameters, &seen).await {
                Ok(stream) => stream.boxed().try_next().await,
                Err(error) => Err(error),
            };
            if let Ok(Some(WatchEvent::Error(status))) | Err(kube::Error::Api(status)) = first
                && status.code == 410
            {
                return;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        panic!("the API server still knows what happened");
    }

    /// Takes away what a scenario left, so that the next one finds the cluster as the first one did. No controllers run.
    pub(crate) async fn clear(&self) {
        let policies = "/apis/admissionregistration.k8s.io/v1";
        for kind in [
            "mutatingadmissionpolicybindings",
            "mutatingadmissionpolicies",
            "validatingadmissionpolicybindings",
            "validatingadmissionpolicies",
        ] {
            let request = http::Request::delete(format!("{policies}/{kind}")).body(Vec::new());
            let deleted = self.client.request_text(request.expect("a request")).await;
            deleted.expect("deleted");
        }
        self.empty(self.api::<LabelRule>()).await;
        self.empty(self.api::<Berth>()).await;
        self.empty(self.api::<Roster>()).await;
        self.empty(self.api::<TokenBinding>()).await;
        self.empty(self.api::<Node>()).await;
        self.empty(self.api::<MachineConfig>()).await;
        self.empty(self.api::<MachineConfigPool>()).await;
        self.empty(self.api::<MachineConfigNode>()).await;
        self.empty(self.api::<CertificateSigningRequest>()).await;
        self.empty(Api::<Secret>::namespaced(self.client.clone(), "kube-system"))
            .await;
        self.empty(Api::<Lease>::namespaced(self.client.clone(), "kube-system"))
            .await;
        self.empty(Api::<Lease>::namespaced(self.client.clone(), "kube-node-lease"))
            .await;
        self.pools().await;
    }

    async fn empty<K>(&self, api: Api<K>)
    where
        K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
    {
        for object in api.list(&ListParams::default()).await.expect("a list") {
            let name = object.name_any();
            if !object.finalizers().is_empty() {
                let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
                api.patch(&name, &PatchParams::default(), &free).await.expect("freed");
            }
            match api.delete(&name, &DeleteParams::default()).await {
                Err(kube::Error::Api(status)) if status.is_not_found() => {}
                deleted => drop(deleted.expect("deleted")),
            }
        }
    }

    pub(crate) async fn install(&self, set: CrdSet) {
        for crd in crds(set) {
            self.define_as(&crd).await;
        }
    }

    /// Brings a kind, and waits until it is there.
    pub(crate) async fn define(&self, definition: Value) {
        self.define_as(&from_json(definition)).await;
    }

    async fn define_as(&self, definition: &CustomResourceDefinition) {
        let api: Api<CustomResourceDefinition> = self.api();
        let name = definition.name_any();
        match api.create(&PostParams::default(), definition).await {
            // An earlier scenario brought it.
            Err(kube::Error::Api(status)) if status.is_already_exists() => {}
            created => drop(created.expect("the API server takes the CRD")),
        }
        let established = await_condition(api, &name, conditions::is_crd_established());
        tokio::time::timeout(PATIENCE, established)
            .await
            .expect("in time")
            .expect("established");
    }

    pub(crate) fn api<K: Resource<DynamicType = ()>>(&self) -> Api<K> {
        Api::all(self.client.clone())
    }

    pub(crate) async fn pool(&self, name: &str, selector: &str, explicit: &str) {
        self.pool_of(name, json!({selector: ""}), explicit).await;
    }

    /// A pool in which nobody registers who has no place in it.
    pub(crate) async fn reserved_pool_of(&self, name: &str, selector: Value, explicit: &str) {
        let annotations = json!({"berth.dev/node-labels": explicit, "berth.dev/reserved-only": "true"});
        self.pool_with(name, &selector, &annotations).await;
    }

    pub(crate) async fn pool_of(&self, name: &str, selector: Value, explicit: &str) {
        self.pool_with(name, &selector, &json!({"berth.dev/node-labels": explicit}))
            .await;
    }

    async fn pool_with(&self, name: &str, selector: &Value, annotations: &Value) {
        let pool: MachineConfigPool = from_json(json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
            "metadata": {"name": name, "annotations": annotations},
            "spec": {"nodeSelector": {"matchLabels": selector}},
        }));
        self.api::<MachineConfigPool>()
            .create(&PostParams::default(), &pool)
            .await
            .expect("a pool");
    }

    pub(crate) async fn berth(&self, name: &str, spec: Value) {
        let berth = Berth::new(name, from_json::<BerthSpec>(spec));
        self.api::<Berth>()
            .create(&PostParams::default(), &berth)
            .await
            .expect("a Berth");
    }

    pub(crate) async fn node(&self, name: &str, labels: Value) {
        let node: Node = from_json(json!({"metadata": {"name": name, "labels": labels}}));
        self.api::<Node>()
            .create(&PostParams::default(), &node)
            .await
            .expect("a Node");
    }

    /// Merges a patch into a Node, as `kubectl label` does.
    pub(crate) async fn label(&self, node: &str, labels: Value) {
        let patch = Patch::Merge(json!({"metadata": {"labels": labels}}));
        let parameters = PatchParams {
            field_manager: Some("kubectl-label".to_owned()),
            ..PatchParams::default()
        };
        self.api::<Node>()
            .patch(node, &parameters, &patch)
            .await
            .expect("labelled");
    }

    pub(crate) async fn edit_berth(&self, name: &str, spec: Value) {
        let patch = Patch::Merge(json!({"spec": spec}));
        self.api::<Berth>()
            .patch(name, &PatchParams::default(), &patch)
            .await
            .expect("edited");
    }

    pub(crate) async fn delete_node(&self, name: &str) {
        self.api::<Node>()
            .delete(name, &DeleteParams::default())
            .await
            .expect("deleted");
    }

    /// Controllers that stop when the value is dropped.
    pub(crate) fn controllers(&self, change: impl FnOnce(&mut Options)) -> Controllers {
        self.controllers_with(self.client.clone(), change)
    }

    /// Controllers that go their own way to the API server.
    pub(crate) fn controllers_with(&self, client: Client, change: impl FnOnce(&mut Options)) -> Controllers {
        start_controllers(client, |options| {
            options.clock = self.plane.clock();
            change(options);
        })
    }

    /// The first version of an object that fits.
    pub(crate) async fn seen<K>(&self, name: &str, what: &str, fits: impl Fn(&K) -> bool) -> K
    where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
    {
        seen(&self.client, name, what, fits).await
    }

    pub(crate) async fn node_with(&self, name: &str, what: &str, fits: impl Fn(&Node) -> bool) -> Node {
        seen(&self.client, name, what, fits).await
    }

    pub(crate) async fn berth_with(&self, name: &str, what: &str, fits: impl Fn(&Berth) -> bool) -> Berth {
        seen(&self.client, name, what, fits).await
    }

    /// Every version of every Node from now on.
    pub(crate) async fn history(&self) -> History {
        let api: Api<Node> = self.api();
        let start = api.list(&ListParams::default()).await.expect("a list");
        let version = start.metadata.resource_version.expect("a version");
        let versions: Arc<Mutex<Vec<Node>>> = Arc::default();
        let kept = versions.clone();
        let parameters = WatchParams::default().timeout(3600);
        let task = tokio::spawn(async move {
            let mut stream = api.watch(&parameters, &version).await.expect("a watch").boxed();
            while let Ok(Some(event)) = stream.try_next().await {
                if let WatchEvent::Added(node) | WatchEvent::Modified(node) = event {
                    kept.lock().expect("two tasks").push(node);
                }
            }
        });
        History { versions, task }
    }
}

/// What the controllers say is shown with a test that fails.
pub(crate) fn log() {
    let _ = tracing_subscriber::fmt()
        .with_env_filter("berth_cluster=debug")
        .with_test_writer()
        .try_init();
}

/// Controllers that stop when the value is dropped.
pub(crate) fn start_controllers(client: Client, change: impl FnOnce(&mut Options)) -> Controllers {
    let mut options = Options::new(Clock::system());
    change(&mut options);
    let shutdown = CancellationToken::new();
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let task = runtime.spawn(run(client, options, shutdown.clone()));
    Controllers {
        shutdown,
        task,
        runtime: Some(runtime),
    }
}

/// The first version of an object that fits.
pub(crate) async fn seen<K>(client: &Client, name: &str, what: &str, fits: impl Fn(&K) -> bool) -> K
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let api: Api<K> = Api::all(client.clone());
    let mut versions = watcher(api, config).default_backoff().applied_objects().boxed();
    let last = Mutex::new(None);
    let found = async {
        loop {
            match versions.next().await {
                Some(Ok(object)) if fits(&object) => return object,
                Some(Ok(object)) => *last.lock().expect("one task") = Some(object),
                Some(Err(_)) => {}
                None => panic!("a watch does not end"),
            }
        }
    };
    let found = tokio::time::timeout(PATIENCE, found).await;
    found.unwrap_or_else(|_| {
        let last = last.lock().expect("one task");
        panic!("{name} never {what}; the last version was {last:#?}")
    })
}

pub(crate) struct Controllers {
    shutdown: CancellationToken,
    task: JoinHandle<Result<(), berth_cluster::controller::RunError>>,
    /// Its own, so that everything it runs can end at once.
    runtime: Option<Runtime>,
}

impl Controllers {
    /// Ends them as `kill -9` would: nothing is finished and nothing is given back.
    pub(crate) fn kill(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }

    pub(crate) async fn stop(mut self) {
        self.shutdown.cancel();
        (&mut self.task).await.expect("no panic").expect("no error");
        // Connections of a client that the test goes on using belong to the runtime that opened them: it stays, with nothing
        // to do.
        std::mem::forget(self.runtime.take());
    }
}

impl Drop for Controllers {
    fn drop(&mut self) {
        self.shutdown.cancel();
        self.kill();
    }
}

pub(crate) struct History {
    versions: Arc<Mutex<Vec<Node>>>,
    task: JoinHandle<()>,
}

impl History {
    /// The first version of a Node that exists, once this watch has seen it too.
    pub(crate) async fn first_of(&self, name: &str) -> Node {
        let seen = async {
            loop {
                if let Some(first) = self.of(name).into_iter().next() {
                    return first;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let seen = tokio::time::timeout(PATIENCE, seen).await;
        seen.unwrap_or_else(|_| panic!("the watch never saw {name}"))
    }

    /// All versions of one Node.
    pub(crate) fn of(&self, name: &str) -> Vec<Node> {
        let versions = self.versions.lock().expect("two tasks");
        versions
            .iter()
            .filter(|node| node.name_any() == name)
            .cloned()
            .collect()
    }
}

impl Drop for History {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(crate) fn from_json<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("well formed")
}

/// The site that objects declare.
pub(crate) fn site(objects: &[Value]) -> Arc<Site> {
    let set = DocumentSet::of_objects(objects);
    Arc::new(load(&set.sources, &set.documents).0)
}

pub(crate) fn has(node: &Node, key: &str, value: &str) -> bool {
    node.labels().get(key).is_some_and(|label| label == value)
}

pub(crate) fn lacks(node: &Node, key: &str) -> bool {
    !node.labels().contains_key(key)
}

pub(crate) fn is_filled(node: &Node) -> bool {
    let info = node.status.as_ref().and_then(|status| status.node_info.as_ref());
    info.is_some_and(|info| !info.kubelet_version.is_empty())
}

pub(crate) fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

pub(crate) fn condition<'a>(berth: &'a Berth, type_: &str) -> Option<(&'a str, &'a str)> {
    let conditions = &berth.status.as_ref()?.conditions;
    let found = conditions.iter().find(|condition| condition.type_ == type_)?;
    Some((found.status.as_str(), found.reason.as_str()))
}
