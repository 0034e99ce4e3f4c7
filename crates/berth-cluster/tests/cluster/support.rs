//! A control plane with Berth's resources in it, controllers on it, and ways to wait for what should come.

use std::{
    fmt::Debug,
    sync::{Arc, Mutex},
    time::Duration,
};

use berth_cluster::{
    api::{Berth, BerthSpec, CrdSet, MachineConfigPool, crds},
    controller::{Options, run},
};
use berth_testing::{ControlPlane, Identity, Options as PlaneOptions, Programs};
use futures::{StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::Node, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, Resource, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams},
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

pub(crate) const INFRA: &str = "node-role.kubernetes.io/infra";
pub(crate) const STORAGE: &str = "node-role.kubernetes.io/storage";
pub(crate) const WORKER: &str = "node-role.kubernetes.io/worker";

/// Long, because the machine may be busy; nothing is concluded from how long something took.
const PATIENCE: Duration = Duration::from_mins(3);

pub(crate) struct Cluster {
    pub(crate) plane: ControlPlane,
    pub(crate) programs: Programs,
    pub(crate) client: Client,
}

impl Cluster {
    /// A cluster with Berth's resources and three pools; `None` where the programs are missing.
    pub(crate) async fn start(controllers: bool) -> Option<Self> {
        let options = PlaneOptions {
            controllers,
            ..PlaneOptions::default()
        };
        Self::start_plane(options).await
    }

    /// The same, with further arguments for the API server.
    pub(crate) async fn start_with(arguments: &[&str]) -> Option<Self> {
        let options = PlaneOptions {
            api_server_arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
            ..PlaneOptions::default()
        };
        Self::start_plane(options).await
    }

    async fn start_plane(options: PlaneOptions) -> Option<Self> {
        let cluster = Self::bare(options).await?;
        for (name, selector, explicit) in [
            ("worker", WORKER, ""),
            ("infra", INFRA, "tier=infra"),
            ("storage", STORAGE, "tier=storage"),
        ] {
            cluster.pool(name, selector, explicit).await;
        }
        Some(cluster)
    }

    /// A cluster with Berth's resources; `None` where the programs are missing.
    pub(crate) async fn without_pools() -> Option<Self> {
        Self::bare(PlaneOptions::default()).await
    }

    async fn bare(options: PlaneOptions) -> Option<Self> {
        let programs = Programs::for_test()?;
        log();
        let plane = ControlPlane::start(&programs, options)
            .await
            .expect("the control plane starts");
        let client = plane.client(&Identity::admin()).await.expect("a client");
        let cluster = Self {
            plane,
            programs,
            client,
        };
        cluster.install(CrdSet::Berth).await;
        cluster.install(CrdSet::MachineConfig).await;
        Some(cluster)
    }

    /// A client with connections of its own. They belong to the runtime that opens them, and go with it when it is killed.
    pub(crate) async fn fresh_client(&self) -> Client {
        self.plane.client(&Identity::admin()).await.expect("a client")
    }

    pub(crate) async fn install(&self, set: CrdSet) {
        let api: Api<CustomResourceDefinition> = self.api();
        for crd in crds(set) {
            let name = crd.name_any();
            api.create(&PostParams::default(), &crd)
                .await
                .expect("the API server takes the CRD");
            let established = await_condition(api.clone(), &name, conditions::is_crd_established());
            tokio::time::timeout(PATIENCE, established)
                .await
                .expect("in time")
                .expect("established");
        }
    }

    pub(crate) fn api<K: Resource<DynamicType = ()>>(&self) -> Api<K> {
        Api::all(self.client.clone())
    }

    pub(crate) async fn pool(&self, name: &str, selector: &str, explicit: &str) {
        self.pool_of(name, json!({selector: ""}), explicit).await;
    }

    pub(crate) async fn pool_of(&self, name: &str, selector: Value, explicit: &str) {
        let pool: MachineConfigPool = from_json(json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
            "metadata": {"name": name, "annotations": {"berth.dev/node-labels": explicit}},
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
        start_controllers(self.client.clone(), change)
    }

    /// Controllers that go their own way to the API server.
    #[expect(clippy::unused_self, reason = "read like its neighbour")]
    pub(crate) fn controllers_with(&self, client: Client, change: impl FnOnce(&mut Options)) -> Controllers {
        start_controllers(client, change)
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
        let start = api.list(&kube::api::ListParams::default()).await.expect("a list");
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
    let mut options = Options::new(Arc::new(Timestamp::now));
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

pub(crate) fn condition<'a>(berth: &'a Berth, type_: &str) -> Option<(&'a str, &'a str)> {
    let conditions = &berth.status.as_ref()?.conditions;
    let found = conditions.iter().find(|condition| condition.type_ == type_)?;
    Some((found.status.as_str(), found.reason.as_str()))
}
