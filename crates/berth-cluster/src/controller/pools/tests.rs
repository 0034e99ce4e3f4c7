//! Tests of the pools' engine without a cluster: nobody answers its requests, or a few lines do.

use std::sync::Mutex;

use berth_clock::Clock;
use berth_pools::{TemplateObject, annotation};
use http::{Method, Request, Response};
use jiff::Timestamp;
use kube::client::Body;
use serde_json::{Value, json};

use super::{state::PoolChange, *};
use crate::controller::{kept::KeptBerth, watches::Seen};
use berth_decide::{
    NodeView,
    pools::{ConfigView, PoolView, render},
};
use berth_resources::Berth;
use berth_site::GeneratingKind;

const TARGET: &str = "rendered-infra-1";

/// A client whose requests never come back.
fn silent() -> Client {
    let service = tower::service_fn(|_: Request<Body>| async {
        std::future::pending::<Result<Response<Body>, tower::BoxError>>().await
    });
    Client::new(service, "default")
}

fn engine(claims: Option<watch::Receiver<Claim>>) -> PoolEngine {
    let options = Options::new(Clock::stopped(Timestamp::UNIX_EPOCH));
    let mut engine = PoolEngine::new(silent(), options, claims, Metrics::new());
    let nodes = (0..NODES).map(|index| node(index, "1").into()).collect();
    for change in [
        PoolChange::Nodes(Seen::All(nodes)),
        PoolChange::Pools(Seen::All(vec![Box::new(pool("1"))])),
        PoolChange::Configs(Seen::All(Vec::new())),
        PoolChange::Berths(Seen::All(Vec::new())),
        PoolChange::Settings(GeneratingKind::KubeletConfig, Seen::All(Vec::new())),
        PoolChange::Settings(GeneratingKind::ContainerRuntimeConfig, Seen::All(Vec::new())),
        PoolChange::Templates(TemplateObject::ControllerConfig, Seen::All(Vec::new())),
        PoolChange::Templates(TemplateObject::ConfigMap, Seen::All(Vec::new())),
        PoolChange::Templates(TemplateObject::Secret, Seen::All(Vec::new())),
    ] {
        engine.state.apply(change);
    }
    engine.state.place();
    engine
}

const NODES: usize = 1000;
/// So long a plan of all nodes keeps the next one waiting.
const PACE: Duration = Duration::from_millis(10);

fn pool(version: &str) -> PoolView {
    PoolView::read(&json!({
        "metadata": {"name": "infra", "uid": "u", "resourceVersion": version},
        "spec": {
            "nodeSelector": {"matchLabels": {"node-role.kubernetes.io/infra": ""}},
            "machineConfigSelector": {"matchLabels": {"role": "infra"}},
            "configuration": {"name": TARGET},
        },
    }))
}

fn node(index: usize, version: &str) -> NodeView {
    let text = |pairs: &[(&str, &str)]| {
        let pairs = pairs.iter();
        pairs
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    };
    NodeView {
        name: format!("w{index}"),
        uid: format!("u{index}"),
        resource_version: version.to_owned(),
        labels: text(&[("node-role.kubernetes.io/infra", "")]),
        annotations: text(&[
            (annotation::CURRENT_CONFIG, TARGET),
            (annotation::DESIRED_CONFIG, TARGET),
            (annotation::STATE, "Done"),
        ]),
        ..NodeView::default()
    }
}

impl PoolEngine {
    /// What a Node's change leads to, at some time: how often a pool is planned.
    fn plans_after(&mut self, node: NodeView, at: Instant) -> u64 {
        let before = self.metrics.pool_plans.get();
        self.state.apply(PoolChange::Nodes(Seen::One(node.into())));
        self.state.place();
        self.plan(at);
        self.metrics.pool_plans.get() - before
    }
}

fn degraded(index: usize) -> NodeView {
    let mut node = node(index, "2");
    node.annotations
        .insert(annotation::STATE.to_owned(), "Degraded".to_owned());
    node
}

#[tokio::test]
async fn a_burst_of_changes_is_planned_once() {
    let mut engine = engine(None);
    let start = Instant::now();
    engine.plan(start);
    assert_eq!(engine.metrics.pool_plans.get(), 1);
    let plans: u64 = (0..100)
        .map(|index| engine.plans_after(degraded(index), start + PACE / 2))
        .sum();
    assert_eq!(plans, 0, "they wait for each other");
    assert_eq!(engine.next_wake(), Some(start + PACE), "and are not forgotten");
    engine.plan(start + PACE);
    assert_eq!(engine.metrics.pool_plans.get(), 2);
    assert!(engine.state.dirty.is_empty());
    assert_eq!(
        engine.plans_after(degraded(100), start + PACE * 2),
        1,
        "one that comes alone does not wait"
    );
}

/// What happens to a Node, in words and deed.
type NodeEdit = (&'static str, fn(&mut NodeView));

#[tokio::test]
async fn what_does_not_concern_a_pool_plans_nothing() {
    let mut engine = engine(None);
    let mut at = Instant::now();
    engine.plan(at);
    let mut plans = |change: fn(&mut NodeView), version: &str| {
        let mut changed = node(7, version);
        change(&mut changed);
        at += PACE;
        engine.plans_after(changed, at)
    };
    let unrelated: [NodeEdit; 3] = [
        ("a label that no selector looks at", |node| {
            node.labels.insert("example.com/tier".to_owned(), "cold".to_owned());
        }),
        ("what Berth notes for itself", |node| {
            node.annotations
                .insert("berth.dev/owned-labels".to_owned(), "{}".to_owned());
        }),
        ("another version", |_| {}),
    ];
    for (index, (what, change)) in unrelated.into_iter().enumerate() {
        assert_eq!(plans(change, &format!("{}", index + 2)), 0, "{what}");
    }
    let concerning: [NodeEdit; 4] = [
        ("its daemon is at work", |node| {
            node.annotations
                .insert(annotation::STATE.to_owned(), "Working".to_owned());
        }),
        ("it is cordoned", |node| node.unschedulable = true),
        ("it does not serve", |node| node.conditions.ready = Some(false)),
        ("it leaves the pool", |node| node.labels.clear()),
    ];
    for (index, (what, change)) in concerning.into_iter().enumerate() {
        assert_eq!(plans(change, &format!("{}", index + 10)), 1, "{what}");
    }
}

#[tokio::test]
async fn a_write_that_comes_back_is_planned_once() {
    let mut engine = engine(None);
    engine.state.dirty.clear();
    let mut written = pool("2");
    written.status.machine_count = Some(1000);
    engine.state.pool(written.clone());
    assert!(std::mem::take(&mut engine.state.dirty).contains("infra"));
    written.resource_version = "3".to_owned();
    engine.state.apply(PoolChange::Pools(Seen::One(Box::new(written))));
    assert!(engine.state.dirty.is_empty());
    assert_eq!(
        engine.state.pools["infra"].resource_version, "3",
        "but its version is known"
    );
}

#[tokio::test]
async fn a_replica_that_does_not_lead_sleeps() {
    let (_claims, not_leading) = watch::channel(Claim::default());
    let mut engine = engine(Some(not_leading));
    engine.step();
    engine.state.inputs_changed = true;
    engine.state.references_changed = true;
    engine.options.pools.settle = Duration::ZERO;
    engine.step();
    assert!(
        engine.settle.due().is_some() && engine.collect_at.is_some(),
        "there is something to do for whoever leads"
    );
    assert_eq!(engine.next_wake(), None);
    engine.claims = None;
    assert!(engine.next_wake().is_some_and(|wake| wake <= Instant::now()));
}

/// An API server with one pool, whose status somebody writes before each of the first patches.
fn contested(others: usize) -> (Client, Arc<Mutex<Vec<Value>>>) {
    let patches: Arc<Mutex<Vec<Value>>> = Arc::default();
    let kept = patches.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let kept = kept.clone();
        async move {
            let get = request.method() == Method::GET;
            let body = request.into_body().collect_bytes().await?;
            let mut kept = kept.lock().expect("one at a time");
            let (status, answer) = if get {
                (200, object(&format!("{}", kept.len() + 1)))
            } else {
                let patch: Value = serde_json::from_slice(&body)?;
                kept.push(patch);
                if kept.len() > others {
                    (200, object("99"))
                } else {
                    let conflict = json!({"kind": "Status", "status": "Failure", "reason": "Conflict", "code": 409});
                    (409, conflict)
                }
            };
            let answer = Response::builder()
                .status(status)
                .body(Body::from(serde_json::to_vec(&answer)?))?;
            Ok::<_, tower::BoxError>(answer)
        }
    });
    (Client::new(service, "default"), patches)
}

fn object(version: &str) -> Value {
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
        "metadata": {"name": "infra", "uid": "u", "resourceVersion": version},
        "spec": {
            "nodeSelector": {"matchLabels": {"node-role.kubernetes.io/infra": ""}},
            "machineConfigSelector": {"matchLabels": {"role": "infra"}},
            "configuration": {"name": TARGET},
        },
        "status": {"machineCount": version.len()},
    })
}

#[tokio::test]
async fn a_status_that_is_written_meanwhile_does_not_hold_up_the_config() {
    let config = ConfigView::read(&json!({
        "metadata": {"name": "50-infra", "labels": {"role": "infra"}},
        "spec": {"config": {"ignition": {"version": "3.2.0"}}},
    }));
    let Ok(ConfigView::Input(config)) = config else {
        panic!("it is an input");
    };
    let pool = pool("1");
    let Rendering::Done(rendered) = render(&pool, [&*config], None, berth_labels::Flavour::Openshift) else {
        panic!("it can be rendered");
    };
    let (client, patches) = contested(3);
    let writer = Writer::new(client, None, Metrics::new(), Clock::stopped(Timestamp::UNIX_EPOCH));
    let job = Job::Render {
        inputs: vec![*config],
        current: None,
        rendered,
        exists: true,
        pool,
    };
    let answer = jobs::run(Arc::new(writer), job).await;
    assert!(matches!(answer, Ok(Answer::Pool(..))), "{answer:?}");
    let patches = patches.lock().expect("nobody else");
    let versions: Vec<&str> = patches
        .iter()
        .filter_map(|patch| patch.pointer("/metadata/resourceVersion")?.as_str())
        .collect();
    assert_eq!(versions, ["1", "2", "3", "4"], "each is for the version that was found");
}

/// The Nodes themselves are shared with the engine that keeps labels, and counted there.
#[test]
fn what_pools_hold_beside_the_nodes_is_little() {
    let kept: Vec<KeptNode> = (0..NODES).map(|index| node(index, "1").into()).collect();
    let mut state = PoolState::default();
    state.apply(PoolChange::Pools(Seen::All(vec![Box::new(pool("1"))])));
    let held = allocation_counter::measure(|| {
        state.apply(PoolChange::Nodes(Seen::All(kept.clone())));
        state.place();
    });
    assert_eq!(state.members_of("infra").count(), NODES);
    let per_node = held.bytes_current / i64::try_from(NODES).unwrap();
    assert!((50..=300).contains(&per_node), "{per_node} bytes for each node");
}

#[test]
fn of_several_berths_of_a_node_the_oldest_says_where_it_belongs() {
    let berth = |name: &str, created: i64, pool: &str| {
        let berth: Berth = serde_json::from_value(json!({
            "apiVersion": "berth.dev/v1alpha1", "kind": "Berth",
            "metadata": {"name": name, "creationTimestamp": Timestamp::from_second(created).unwrap().to_string()},
            "spec": {"nodeName": "w1"},
            "status": {"pool": pool},
        }))
        .unwrap();
        KeptBerth::from(&berth)
    };
    let other = PoolView::read(&json!({
        "metadata": {"name": "storage"},
        "spec": {"nodeSelector": {"matchLabels": {"node-role.kubernetes.io/storage": ""}}},
    }));
    for (berths, leaves) in [
        ([berth("a", 2, "storage"), berth("b", 1, "infra")], false),
        ([berth("b", 1, "infra"), berth("a", 2, "storage")], false),
        ([berth("a", 1, "storage"), berth("b", 2, "infra")], true),
        ([berth("b", 2, "infra"), berth("a", 1, "storage")], true),
    ] {
        let mut state = PoolState::default();
        state.apply(PoolChange::Pools(Seen::All(vec![
            Box::new(pool("1")),
            Box::new(other.clone()),
        ])));
        state.apply(PoolChange::Nodes(Seen::All(vec![node(1, "1").into()])));
        state.apply(PoolChange::Berths(Seen::All(berths.into())));
        state.place();
        assert_eq!(state.leaving("infra").contains_key("w1"), leaves);
    }
}
