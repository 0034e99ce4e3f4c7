//! A cluster with Nodes, a store, and engines that can be killed.

use std::{
    collections::{BTreeMap, HashMap},
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use berth_clock::Clock;
use berth_sim::{ApiServer, Cluster, ClusterOptions};
use berth_store::{
    Action, ActionId, ActionState, ActionStore, NewAction, Origin, SealingKeys, SqliteStore, SubtaskPage,
};
use berth_workflow::{Engine, EngineOptions, Event, Pace, Patience};
use futures::{StreamExt as _, TryStreamExt as _};
use http::{Method, Request, Response, StatusCode};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client, Config,
    api::{ListParams, PostParams},
    client::Body,
};
use serde_json::{Value, json};
use tokio::{sync::watch, task::JoinHandle};
use tokio_util::sync::CancellationToken;

/// Long, because the machine may be busy; nothing is concluded from how long something took.
pub(crate) const LONG: Duration = Duration::from_mins(3);

/// What is in the way of a request.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// It is answered so, and not carried out.
    Answer(u16, Value),
    /// It is carried out, and the answer is lost.
    LoseAnswer,
    /// It does not arrive.
    LoseRequest,
    /// It is not answered.
    Hang,
    /// It is carried out, and not answered.
    HangAfter,
}

/// Decides the fault of a request, by its node and what it sends.
pub(crate) type Decide = Arc<dyn Fn(&Method, &str, u64) -> Option<Fault> + Send + Sync>;

/// The way to the API server, with an eye on it.
#[derive(Default)]
pub(crate) struct Watched {
    /// Requests that change a Node, by its name: how many arrived.
    pub(crate) patches: Mutex<HashMap<String, u32>>,
    /// How many requests came by.
    pub(crate) requests: watch::Sender<u64>,
    /// How many requests are waiting for an answer that does not come.
    pub(crate) hanging: watch::Sender<u64>,
}

/// Counts a request that hangs for as long as somebody waits for it.
struct Hanging(Arc<Watched>);

impl Hanging {
    fn new(eye: &Arc<Watched>) -> Self {
        eye.hanging.send_modify(|count| *count += 1);
        Self(Arc::clone(eye))
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        self.0.hanging.send_modify(|count| *count -= 1);
    }
}

impl Watched {
    pub(crate) fn patched(&self) -> HashMap<String, u32> {
        self.patches.lock().unwrap().clone()
    }

    /// Returns when a Node was changed.
    pub(crate) async fn has_patched(&self) {
        let mut seen = self.requests.subscribe();
        while self.patches.lock().unwrap().is_empty() {
            seen.changed().await.unwrap();
        }
    }

    /// Returns when a request hangs.
    pub(crate) async fn has_hung(&self) {
        let mut seen = self.hanging.subscribe();
        seen.wait_for(|count| *count > 0).await.unwrap();
    }

    /// Returns when so many further requests came by.
    pub(crate) async fn after(&self, further: u64) {
        let mut seen = self.requests.subscribe();
        let goal = *seen.borrow_and_update() + further;
        seen.wait_for(|count| *count >= goal).await.unwrap();
    }
}

/// A client whose requests are counted and disturbed. Faults are put where kube's own retries do not see them.
pub(crate) fn watched(client: Client, decide: Option<Decide>) -> (Client, Arc<Watched>) {
    let watched = Arc::new(Watched::default());
    let eye = Arc::clone(&watched);
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, eye, decide) = (client.clone(), Arc::clone(&eye), decide.clone());
        async move {
            let node = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
            let method = request.method().clone();
            let mut number = 0;
            eye.requests.send_modify(|count| {
                *count += 1;
                number = *count;
            });
            let fault = decide.and_then(|decide| decide(&method, &node, number));
            let lost = || std::io::Error::new(std::io::ErrorKind::ConnectionReset, "the connection was lost");
            if let Some(Fault::Answer(code, status)) = &fault {
                let answer = Response::builder().status(StatusCode::from_u16(*code).unwrap());
                return Ok(answer.body(Body::from(status.to_string().into_bytes())).unwrap());
            }
            if matches!(fault, Some(Fault::Hang)) {
                let _hanging = Hanging::new(&eye);
                std::future::pending::<()>().await;
            }
            if matches!(fault, Some(Fault::LoseRequest)) {
                return Err(tower::BoxError::from(lost()));
            }
            let answer = client.send(request).await.map_err(tower::BoxError::from)?;
            if method == Method::PATCH && answer.status().is_success() {
                *eye.patches.lock().unwrap().entry(node).or_default() += 1;
                // Wakes who waits for it.
                eye.requests.send_modify(|_| ());
            }
            if matches!(fault, Some(Fault::HangAfter)) {
                let _hanging = Hanging::new(&eye);
                std::future::pending::<()>().await;
            }
            if matches!(fault, Some(Fault::LoseAnswer)) {
                return Err(tower::BoxError::from(lost()));
            }
            Ok(answer)
        }
    });
    (Client::new(service, "default"), watched)
}

/// The embedded cluster.
pub(crate) struct Embedded {
    cluster: Cluster,
    address: SocketAddr,
    server: Option<ApiServer>,
}

impl Embedded {
    pub(crate) async fn start() -> Self {
        let cluster = Cluster::new(ClusterOptions::new(Clock::system(), 1));
        let server = ApiServer::start(cluster.clone(), SocketAddr::from(([127, 0, 0, 1], 0)))
            .await
            .unwrap();
        Self {
            cluster,
            address: server.address(),
            server: Some(server),
        }
    }

    pub(crate) fn client(&self) -> Client {
        Client::try_from(Config::new(format!("http://{}", self.address).parse().unwrap())).unwrap()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn kill(&mut self) {
        self.server = None;
    }

    pub(crate) async fn start_again(&mut self) {
        let server = ApiServer::start(self.cluster.clone(), self.address).await;
        self.server = Some(server.unwrap());
    }
}

pub(crate) fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("node-{number:03}")).collect()
}

/// Creates Nodes with labels of their own, of which some are to go.
pub(crate) async fn create_nodes(client: &Client, names: &[String]) {
    let api: Api<Node> = Api::all(client.clone());
    let create = names.iter().map(|name| {
        let node: Node = serde_json::from_value(json!({"metadata": {"name": name, "labels": {
            "kubernetes.io/hostname": name,
            "stale": "yes",
        }}}))
        .unwrap();
        let api = api.clone();
        async move { api.create(&PostParams::default(), &node).await.map(drop) }
    });
    let created: Result<(), kube::Error> = futures::stream::iter(create).buffer_unordered(32).try_collect().await;
    created.unwrap();
}

pub(crate) async fn labels(client: &Client) -> BTreeMap<String, BTreeMap<String, String>> {
    let api: Api<Node> = Api::all(client.clone());
    let nodes = api.list(&ListParams::default()).await.unwrap();
    let labels = nodes
        .items
        .into_iter()
        .map(|node| (node.metadata.name.unwrap(), node.metadata.labels.unwrap_or_default()));
    labels.collect()
}

/// What a node is to carry in a round: the values differ between rounds, so each round has something to do.
pub(crate) fn declared(name: &str, round: &str) -> BTreeMap<String, String> {
    let pairs = [
        ("example.com/name", name),
        ("example.com/round", round),
        ("node-role.kubernetes.io/infra", ""),
    ];
    pairs
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

/// What the Node has in the end: what is declared, and what is protected.
pub(crate) fn expected(name: &str, round: &str) -> BTreeMap<String, String> {
    let mut labels = declared(name, round);
    labels.insert("kubernetes.io/hostname".to_owned(), name.to_owned());
    labels
}

static TIME: AtomicI64 = AtomicI64::new(0);

/// Real time, which leases need, and never the same twice.
pub(crate) fn now() -> i64 {
    let now = Clock::system().microseconds();
    TIME.fetch_max(now, Ordering::Relaxed);
    TIME.fetch_add(1, Ordering::Relaxed)
}

/// The same as a clock.
pub(crate) fn clock() -> Clock {
    Clock::new(|| Timestamp::from_microsecond(now()).unwrap())
}

pub(crate) fn new_action(names: &[String], round: &str, options: Value) -> NewAction {
    let now = now();
    let mut random = [0; 10];
    random[2..].copy_from_slice(&now.to_be_bytes());
    NewAction {
        id: ActionId::new(now, random),
        task_id: format!("task {now}"),
        origin: Origin::Action,
        name: "update_labels".to_owned(),
        parameters: json!({}),
        user: "tester".to_owned(),
        context_marker: String::new(),
        revision: Some(1),
        allow_intermediate_commits: None,
        options,
        exclusive: None,
        nodes: names
            .iter()
            .map(|name| (name.clone(), json!({"labels": declared(name, round)})))
            .collect(),
        now,
    }
}

/// A store in a file, which is opened anew after each crash.
pub(crate) struct Disk {
    folder: tempfile::TempDir,
}

impl Disk {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("berth.db")
    }

    pub(crate) async fn open(&self) -> Arc<dyn ActionStore> {
        Arc::new(SqliteStore::open(&self.path(), SealingKeys::none()).await.unwrap())
    }
}

/// An engine that runs until it is killed.
pub(crate) struct Running {
    pub(crate) engine: Arc<Engine>,
    task: JoinHandle<()>,
    cancel: CancellationToken,
}

pub(crate) fn options(owner: &str) -> EngineOptions {
    EngineOptions {
        concurrency: 16,
        poll: Duration::from_millis(50),
        patience: Patience {
            total: LONG,
            pace: Pace {
                first: Duration::from_millis(5),
                longest: Duration::from_millis(200),
            },
            controllers: LONG,
        },
        ..EngineOptions::new(owner, clock())
    }
}

pub(crate) fn run(store: &Arc<dyn ActionStore>, client: &Client, options: EngineOptions) -> Running {
    let engine = Arc::new(Engine::new(Arc::clone(store), client.clone(), options));
    let (cancel, runner) = (CancellationToken::new(), Arc::clone(&engine));
    let token = cancel.clone();
    let task = tokio::spawn(async move { runner.run(token).await });
    Running { engine, task, cancel }
}

impl Running {
    /// As if the process were killed: nothing runs on, and nothing is tidied up.
    pub(crate) async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }

    /// Tells it to end.
    pub(crate) async fn end(self) {
        self.cancel.cancel();
        tokio::time::timeout(LONG, self.task).await.unwrap().unwrap();
    }
}

/// Waits until an action is in a state that fits.
pub(crate) async fn wait_for(
    store: &Arc<dyn ActionStore>,
    running: &Running,
    id: &ActionId,
    fits: impl Fn(&Action) -> bool,
) -> Action {
    let mut events = running.engine.events();
    running.engine.wake();
    let wait = async {
        loop {
            let action = store.action(id).await.unwrap();
            if fits(&action) {
                return action;
            }
            // A listener that is slow misses events, not the state.
            let _: Result<Event, _> = events.recv().await;
        }
    };
    match tokio::time::timeout(LONG, wait).await {
        Ok(action) => action,
        Err(late) => panic!("{late}: {:?}", store.action(id).await),
    }
}

pub(crate) async fn wait_for_end(store: &Arc<dyn ActionStore>, running: &Running, id: &ActionId) -> Action {
    wait_for(store, running, id, |action| action.state.is_final()).await
}

/// Every node has one outcome, a good one, and its labels.
pub(crate) async fn all_is_well(
    store: &Arc<dyn ActionStore>,
    client: &Client,
    id: &ActionId,
    names: &[String],
    round: &str,
) {
    let action = store.action(id).await.unwrap();
    assert_eq!(action.state, ActionState::Success, "{:?}", failures(store, id).await);
    assert_eq!(action.counts.succeeded, names.len() as u64);
    let subtasks = store.subtasks(id, SubtaskPage::ALL).await.unwrap();
    let nodes: Vec<&String> = subtasks.iter().map(|subtask| &subtask.node).collect();
    assert_eq!(nodes, names.iter().collect::<Vec<_>>());
    assert!(subtasks.iter().all(|subtask| subtask.outcome.is_some()));
    let found = labels(client).await;
    for name in names {
        assert_eq!(found[name], expected(name, round), "{name}");
    }
}

pub(crate) async fn failures(store: &Arc<dyn ActionStore>, id: &ActionId) -> Vec<(String, Value)> {
    let subtasks = store.subtasks(id, SubtaskPage::ALL).await.unwrap();
    let failed = subtasks
        .into_iter()
        .filter_map(|subtask| Some((subtask.node, subtask.outcome?)));
    failed
        .filter(|(_, outcome)| outcome["success"] == json!(false))
        .collect()
}
