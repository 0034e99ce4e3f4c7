//! Tests of the engine without a cluster: what it decides is carried out by a few lines, and nothing is ever sent.

mod brake;
mod causes;
mod faster;
mod life;
mod memory;

use std::{collections::BTreeMap, time::Duration};

use berth_clock::Clock;
use http::{Request, Response};
use jiff::Timestamp;
use kube::client::Body;
use serde_json::{Value, json};

use super::*;
use crate::controller::watches::{Definition, Seen};
use berth_decide::{NodeView, NodeWrite, RequestState, Requester, Wanted};
use berth_pools::NodeConditions;
use berth_resources::bootstrap::Binding;

/// How many Nodes the pools have.
const SIZES: [(&str, usize); 3] = [("worker", 320), ("storage", 280), ("infra", 12)];

fn pool(name: &str, labels: &str) -> Definition {
    Definition {
        name: name.to_owned(),
        object: json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
            "metadata": {"name": name, "annotations": {"berth.dev/node-labels": labels}},
            "spec": {
                "nodeSelector": {"matchLabels": {format!("node-role.kubernetes.io/{name}"): ""}},
                "machineConfigSelector": {"matchLabels": {"role": name}},
            },
        }),
    }
}

fn node(name: String, pool: &str) -> NodeView {
    NodeView {
        uid: format!("uid-{name}"),
        name,
        resource_version: "1".to_owned(),
        labels: BTreeMap::from([(format!("node-role.kubernetes.io/{pool}"), String::new())]),
        has_kubelet: true,
        conditions: NodeConditions {
            ready: Some(true),
            ..NodeConditions::default()
        },
        ..NodeView::default()
    }
}

/// A client whose requests never come back.
fn silent() -> Client {
    let service = tower::service_fn(|_: Request<Body>| async {
        std::future::pending::<Result<Response<Body>, tower::BoxError>>().await
    });
    Client::new(service, "default")
}

/// A cluster in which every Node has its Berth and the label of its pool. Nobody answers requests.
fn settled() -> Engine {
    settled_with(silent())
}

fn settled_with(client: Client) -> Engine {
    let nodes = SIZES.iter().flat_map(|(pool, size)| {
        // Names that do not sort by pool.
        (0..*size).map(move |index| node(format!("n{index:03}-{pool}"), pool))
    });
    let engine = settled_nodes(client, nodes);
    assert!(engine.nodes().all(|node| {
        let tier = node.labels.get("example.com/tier");
        tier.is_some_and(|tier| node.name.ends_with(tier))
    }));
    engine
}

fn settled_nodes(client: Client, nodes: impl Iterator<Item = NodeView>) -> Engine {
    let options = Options::new(Clock::stopped(Timestamp::UNIX_EPOCH));
    let mut engine = Engine::new(client, options, None, Metrics::new(), Health::default(), None);
    let pools = SIZES.map(|(name, _)| pool(name, &format!("example.com/tier={name}")));
    for change in [
        ClusterChange::Nodes(Seen::All(nodes.map(Into::into).collect())),
        ClusterChange::Berths(Seen::All(Vec::new())),
        ClusterChange::Rules(Seen::All(Vec::new())),
        ClusterChange::Pools(Seen::All(pools.into())),
        ClusterChange::Certificates(Seen::All(Vec::new())),
        ClusterChange::Tokens(Seen::All(Vec::new())),
        ClusterChange::Units(BTreeMap::new()),
        ClusterChange::Looked,
    ] {
        engine.state.apply(change);
    }
    engine.define();
    engine.settle();
    engine
}

impl Engine {
    fn node(&self, name: &str) -> NodeView {
        self.state.nodes[name].view()
    }

    fn nodes(&self) -> impl Iterator<Item = NodeView> {
        self.state.nodes.values().map(KeptNode::view)
    }

    fn change_pool(&mut self, name: &str, labels: &str) {
        self.state.apply(ClusterChange::Pools(Seen::One(pool(name, labels))));
        self.define();
    }

    /// Decides and carries out until nothing is left to do. Gives the changes of labels in their order.
    fn settle(&mut self) -> Vec<(String, Value)> {
        let mut done = Vec::new();
        for _ in 0..100 {
            self.decide();
            if self.jobs.is_empty() && self.round.is_empty() && self.state.dirty.is_empty() {
                return done;
            }
            done.extend(self.carry_out());
        }
        panic!("it does not come to rest");
    }

    /// Does what the writers would do.
    fn carry_out(&mut self) -> Vec<(String, Value)> {
        let mut done = Vec::new();
        for job in std::mem::take(&mut self.jobs) {
            for work in job.work {
                match work {
                    Work::Create(mut berth) => {
                        berth.metadata.uid = berth.metadata.name.clone();
                        self.state
                            .apply(ClusterChange::Berths(Seen::One(KeptBerth::from(&*berth))));
                    }
                    Work::Apply {
                        mut berth,
                        node,
                        status,
                        ..
                    } => {
                        if let Some(NodeWrite::Patch(patch)) = node {
                            let labels = self.patch(&berth.node_name(), &patch.to_value());
                            done.push((berth.node_name(), labels));
                        }
                        berth.status = Some(*status);
                        self.state
                            .apply(ClusterChange::Berths(Seen::One(KeptBerth::from(&*berth))));
                    }
                    Work::Update { mut berth, spec } => {
                        berth.spec = *spec;
                        berth.metadata.generation = Some(berth.metadata.generation.unwrap_or_default() + 1);
                        let labels = berth.metadata.labels.get_or_insert_default();
                        labels.insert(
                            berth_decide::names::RESERVED_BY.to_owned(),
                            berth_decide::names::BY_DOCUMENTS.to_owned(),
                        );
                        self.state
                            .apply(ClusterChange::Berths(Seen::One(KeptBerth::from(&*berth))));
                    }
                    other => panic!("nobody asked for {other:?}"),
                }
            }
            if let Key::Node(name) = job.key {
                self.brake.ended(&name, true, Instant::now());
                self.is_free(&name);
            }
        }
        done
    }

    fn patch(&mut self, name: &str, patch: &Value) -> Value {
        let mut node = self.node(name);
        let part = |pointer: &str| {
            patch
                .pointer(pointer)
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default()
        };
        for (map, part) in [
            (&mut node.labels, part("/metadata/labels")),
            (&mut node.annotations, part("/metadata/annotations")),
        ] {
            for (key, value) in part {
                match value.as_str() {
                    Some(value) => map.insert(key, value.to_owned()),
                    None => map.remove(&key),
                };
            }
        }
        self.state.apply(ClusterChange::Nodes(Seen::One(node.into())));
        patch.pointer("/metadata/labels").cloned().unwrap_or_default()
    }

    /// Nothing is to be decided about any Node any more.
    fn settle_nodes(&mut self) {
        self.settle();
        assert!(self.state.dirty.is_empty() && self.busy.is_empty());
    }

    fn tiers(&self, pool: &str) -> usize {
        let nodes = self.nodes().filter(|node| node.name.ends_with(pool));
        nodes
            .filter(|node| node.labels.contains_key("example.com/tier"))
            .count()
    }
}

#[tokio::test]
async fn nodes_of_a_changed_pool_are_written_while_others_wait_to_be_looked_at() {
    let mut engine = settled();
    let before = engine.metrics.decisions.get();
    engine.change_pool("storage", "example.com/tier=cold-storage");
    engine.decide();
    let first: Vec<&Job> = engine.jobs.iter().collect();
    assert_eq!(first.len(), round::PART);
    assert!(
        first
            .iter()
            .all(|job| matches!(&job.key, Key::Node(name) if name.ends_with("storage")))
    );
    assert!(!engine.may_go_on(), "the writers have enough to do");
    engine.decide();
    assert_eq!(engine.jobs.len(), round::PART);
    // Something that happens meanwhile need not wait for all others.
    let mut moved = engine.node("n001-infra");
    moved.labels.remove("example.com/tier");
    moved.resource_version = "2".to_owned();
    engine.state.apply(ClusterChange::Nodes(Seen::One(moved.into())));
    engine.decide();
    assert!(engine.busy.contains("n001-infra"));
    assert_eq!(engine.metrics.decisions.get() - before, 257);
    let mut done = engine.carry_out();
    assert!(engine.may_go_on());
    done.extend(engine.settle());
    let cold = json!({"example.com/tier": "cold-storage"});
    assert_eq!(done.iter().filter(|(_, labels)| *labels == cold).count(), 280);
    assert!(
        engine.metrics.decisions.get() - before >= 612,
        "every node was looked at"
    );
    assert!(engine.busy.is_empty() && engine.blocked.is_empty());
}

#[tokio::test]
async fn removals_wait_for_the_whole_round_and_a_few_are_done() {
    let mut engine = settled();
    engine.change_pool("infra", "");
    while !engine.round.is_over() || engine.state.dirty.len() > round::PART {
        assert!(engine.jobs.is_empty(), "a removal was not withheld");
        engine.decide();
    }
    assert_eq!(engine.jobs.len(), 12);
    engine.settle();
    assert_eq!((engine.tiers("infra"), engine.tiers("storage")), (0, 280));
    assert!(!engine.brake.on);
}

#[tokio::test]
async fn the_brake_counts_over_all_parts() {
    let mut engine = settled();
    engine.change_pool("worker", "");
    let done = engine.settle();
    assert!(done.iter().all(|(_, labels)| labels.is_null()), "{done:?}");
    assert_eq!(engine.tiers("worker"), 320, "nothing is taken away");
    assert!(engine.brake.on);
    engine.observe();
    assert_eq!(engine.metrics.held_removals.get(), 320);
    // What is declared again is what is there.
    engine.change_pool("worker", "example.com/tier=worker");
    assert!(!engine.brake.on);
    engine.settle();
    assert_eq!(engine.tiers("worker"), 320);
    engine.observe();
    assert_eq!(engine.metrics.held_removals.get(), 0);
}

/// As after an installation that was removed, or beside actions: the label of the pool is declared, the rack is not.
#[tokio::test]
async fn an_adopted_node_keeps_what_berth_gave_it_before() {
    let mut engine = settled();
    let mut left = node("left".to_owned(), "infra");
    for (key, value) in [
        ("example.com/tier", "infra"),
        ("example.com/rack", "r7"),
        ("example.com/own", "changed"),
    ] {
        left.labels.insert(key.to_owned(), value.to_owned());
    }
    let owned =
        json!({"example.com/tier": "infra", "example.com/rack": "r7", "example.com/own": "1", "example.com/gone": "1"});
    left.annotations
        .insert(berth_decide::names::OWNED_LABELS.to_owned(), owned.to_string());
    let before = left.labels.clone();
    engine.state.apply(ClusterChange::Nodes(Seen::One(left.into())));
    engine.settle();
    assert_eq!(engine.node("left").labels, before);
    let berth = engine.state.berths.get("left").expect("it is adopted");
    assert_eq!(
        berth.berth().spec.labels,
        BTreeMap::from([("example.com/rack".to_owned(), "r7".to_owned())])
    );
}

#[tokio::test]
async fn what_happens_to_a_node_while_a_job_runs_for_it_is_looked_at_after() {
    let mut engine = settled();
    engine.change_pool("infra", "example.com/tier=new-infra");
    while engine.jobs.is_empty() {
        engine.decide();
    }
    let mut changed = engine.node("n003-infra");
    changed.labels.insert("example.com/other".to_owned(), String::new());
    engine.state.apply(ClusterChange::Nodes(Seen::One(changed.into())));
    let jobs = engine.jobs.len();
    engine.decide();
    assert_eq!(engine.jobs.len(), jobs, "one job at a time");
    assert!(engine.blocked.contains("n003-infra") && !engine.state.dirty.contains("n003-infra"));
    engine.is_free("n003-infra");
    assert!(engine.state.dirty.contains("n003-infra"));
}

/// An API server on which Berths take every status, and every Node has just gone.
async fn nodes_are_gone(request: Request<Body>) -> Result<Response<Body>, tower::BoxError> {
    let path = request.uri().path().to_owned();
    let (status, answer) = if let Some(name) = path.strip_suffix("/status").and_then(|path| path.rsplit('/').next()) {
        let sent: Value = serde_json::from_slice(&request.into_body().collect_bytes().await?)?;
        let metadata =
            json!({"name": name, "uid": name, "resourceVersion": "2", "finalizers": [berth_decide::names::FINALIZER]});
        let mut status =
            json!({"phase": "Occupied", "pool": "infra", "nodeName": name, "nodeUID": format!("uid-{name}")});
        status["removedLabels"] = sent["status"]["removedLabels"].clone();
        let berth = json!({
            "apiVersion": "berth.dev/v1alpha1", "kind": "Berth", "metadata": metadata, "spec": {"pool": "infra"},
            "status": status,
        });
        (200, berth)
    } else {
        let gone =
            json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404});
        (404, gone)
    };
    Ok(Response::builder()
        .status(status)
        .body(Body::from(answer.to_string().into_bytes()))?)
}

#[tokio::test]
async fn what_was_remembered_before_the_node_went_counts_when_it_is_made_again() {
    let mut engine = settled_with(Client::new(tower::service_fn(nodes_are_gone), "default"));
    let mut node = engine.node("n001-infra");
    node.labels.remove("example.com/tier");
    node.resource_version = "2".to_owned();
    engine.state.apply(ClusterChange::Nodes(Seen::One(node.clone().into())));
    engine.decide();
    let job = engine.jobs.pop_front().expect("the removal is to be remembered");
    // The watch has not told the Berth's new status yet when the Node is seen to be gone.
    let outcome = engine.writer.clone().run(job.work).await;
    assert!(outcome.1.is_err(), "{outcome:?}");
    engine.done((job.key, outcome));
    engine.state.apply(ClusterChange::Nodes(Seen::Gone(node.into())));
    engine.decide();
    let job = engine.jobs.pop_front().expect("the Node is made again");
    let [
        Work::Apply {
            node: Some(NodeWrite::Create(made)),
            ..
        },
    ] = job.work.as_slice()
    else {
        panic!("{job:?}");
    };
    let labels = made.metadata.labels.as_ref().expect("labels");
    assert!(labels.contains_key("node-role.kubernetes.io/infra"), "{labels:?}");
    assert!(!labels.contains_key("example.com/tier"), "{labels:?}");
}

/// A request for the certificate of a Node of the pool `infra`, made with a token for it.
fn asking(name: &str, requester: Requester) -> CertificateRequest {
    CertificateRequest {
        name: name.to_owned(),
        uid: format!("uid-{name}"),
        resource_version: "1".to_owned(),
        created: Some(Timestamp::UNIX_EPOCH),
        requester,
        wanted: Ok(Wanted {
            node: "n001-infra".to_owned(),
            key: "00".to_owned(),
        }),
        state: RequestState::Open,
    }
}

fn by_token() -> Requester {
    Requester::Token("aaaaaa".to_owned())
}

fn token_for(node: &str) -> ClusterChange {
    ClusterChange::Tokens(Seen::One(Binding {
        token: "aaaaaa".to_owned(),
        node: node.to_owned(),
        ..Binding::default()
    }))
}

#[tokio::test]
async fn a_failed_approval_waits_longer_each_time_whatever_happens_meanwhile() {
    let mut engine = settled();
    engine.options.approve = true;
    engine.state.apply(token_for("n001-infra"));
    engine
        .state
        .apply(ClusterChange::Certificates(Seen::One(asking("a", by_token()))));
    engine.settle_nodes();
    let start = Instant::now();
    let key = Key::Certificate("a".to_owned());
    for wait in [200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 51_200, 60_000, 60_000] {
        engine.certificates();
        let job = engine.jobs.pop_front().expect("it is tried again");
        assert_eq!(job.key, key);
        engine.certificates();
        assert!(engine.jobs.is_empty(), "it is under way");
        engine.done((key.clone(), (Written::default(), Err(WriteError::Timeout))));
        // Neither other news nor its own bring it forward.
        engine.state.apply(token_for("n001-infra"));
        engine
            .state
            .apply(ClusterChange::Certificates(Seen::One(asking("a", by_token()))));
        engine.settle_nodes();
        engine.certificates();
        assert!(engine.jobs.is_empty(), "it waits");
        let (at, name) = engine.retries.pop_first().expect("it is to be tried again");
        assert!(name == "a" && at >= start + Duration::from_millis(wait), "{wait}");
        assert!(engine.retries.is_empty() && engine.next_wake().is_none());
        engine.retries.insert((start, name));
        engine.wake();
    }
    // One that is gone is forgotten.
    engine.certificates();
    engine.jobs.clear();
    engine.done((key, (Written::default(), Err(WriteError::Timeout))));
    engine
        .state
        .apply(ClusterChange::Certificates(Seen::Gone(asking("a", by_token()))));
    engine.retries = BTreeSet::from([(start, "a".to_owned())]);
    engine.wake();
    assert!(engine.failures.is_empty() && engine.busy_certificates.is_empty());
}

#[tokio::test]
async fn what_is_left_alone_is_looked_at_again_only_when_something_changes() {
    let mut engine = settled();
    engine.options.approve = true;
    let everyone = [
        asking("a", by_token()),
        asking("b", Requester::Platform),
        asking("c", Requester::Other),
    ];
    engine
        .state
        .apply(ClusterChange::Certificates(Seen::All(everyone.into())));
    assert!(engine.state.requests.get("c").is_none(), "nothing is kept of it");
    assert_eq!(engine.state.requests.due().count(), 2);
    engine.settle_nodes();
    engine.certificates();
    assert!(engine.jobs.is_empty());
    assert_eq!(engine.state.requests.due().count(), 0, "all are left alone");
    // The token turns out to be that of another machine.
    engine.state.apply(token_for("n002-infra"));
    engine.settle_nodes();
    engine.certificates();
    let job = engine.next_job().expect("it is denied");
    let [Work::Certificate { request, verdict }] = job.work.as_slice() else {
        panic!("{job:?}");
    };
    assert!(
        request.name == "a" && matches!(verdict, Verdict::Deny { .. }),
        "{job:?}"
    );
    assert!(engine.jobs.is_empty(), "the other one has nothing to do with it");
}

/// A machine with one token can make thousands of requests for others' names.
#[tokio::test]
async fn denials_keep_neither_nodes_nor_approvals_waiting() {
    let mut engine = settled();
    engine.options.approve = true;
    engine.options.writers = 8;
    engine.state.apply(token_for("n002-infra"));
    let own = Requester::Node("n003-infra".to_owned());
    let renewal = CertificateRequest {
        wanted: Ok(Wanted {
            node: "n003-infra".to_owned(),
            key: "00".to_owned(),
        }),
        ..asking("z", own)
    };
    let flood = (0..1000).map(|index| asking(&format!("a{index:04}"), by_token()));
    let all = flood.chain([renewal]).collect();
    engine.state.apply(ClusterChange::Certificates(Seen::All(all)));
    engine.settle_nodes();
    engine.certificates();
    assert_eq!(engine.jobs.len(), 1, "the one that is approved");
    engine.change_pool("infra", "example.com/tier=new-infra");
    while engine.jobs.len() < 13 {
        engine.decide();
    }
    let mut denied = 0;
    for _ in 0..1000 {
        engine.certificates();
        assert!(engine.busy_certificates.len() <= 70, "few are decided ahead");
        let nodes_wait = !engine.jobs.is_empty();
        let taken: Vec<Job> = std::iter::from_fn(|| engine.next_job()).take(8).collect();
        let denials = taken.iter().filter(|job| is_denial(job)).count();
        assert!(denials <= 4 && !(nodes_wait && is_denial(&taken[0])), "{taken:?}");
        denied += denials;
        for job in taken {
            engine.done((job.key, (Written::default(), Ok(()))));
        }
        if denied == 1000 {
            break;
        }
    }
    assert_eq!(denied, 1000, "each has its turn");
    engine.certificates();
    assert_eq!((engine.denials.len(), engine.busy_certificates.len()), (0, 0));
}

fn is_denial(job: &Job) -> bool {
    let denial = |work: &Work| {
        matches!(
            work,
            Work::Certificate {
                verdict: Verdict::Deny { .. },
                ..
            }
        )
    };
    job.work.iter().any(denial)
}

/// A kubelet whose network is not up yet reports that it is not ready, and is as alive as one that is.
#[tokio::test]
async fn the_place_of_a_node_whose_kubelet_is_alive_is_not_given_away() {
    for (ready, denied) in [
        (Some("True"), true),
        (Some("False"), true),
        (Some("Unknown"), false),
        (None, false),
    ] {
        let mut engine = settled();
        engine.options.approve = true;
        let before = engine.node("n001-infra");
        let conditions = ready.map(|ready| json!([{"type": "Ready", "status": ready}]));
        let node: k8s_openapi::api::core::v1::Node = serde_json::from_value(json!({
            "metadata": {
                "name": before.name, "uid": before.uid, "resourceVersion": "2",
                "labels": before.labels, "annotations": before.annotations,
            },
            "status": {"nodeInfo": null, "conditions": conditions},
        }))
        .unwrap();
        engine
            .state
            .apply(ClusterChange::Nodes(Seen::One(NodeView::from(node).into())));
        engine.state.apply(token_for("n001-infra"));
        engine
            .state
            .apply(ClusterChange::Certificates(Seen::One(asking("a", by_token()))));
        engine.settle_nodes();
        engine.certificates();
        let job = engine.next_job().expect("it is decided");
        let [Work::Certificate { verdict, .. }] = job.work.as_slice() else {
            panic!("{job:?}");
        };
        assert_eq!(
            matches!(verdict, Verdict::Deny { .. }),
            denied,
            "{ready:?}: {verdict:?}"
        );
    }
}

/// Somebody who writes to a Node a few times while Berth follows its move does not hold Berth up for a second.
#[test]
fn a_write_that_came_too_late_is_soon_tried_again() {
    let waits = |is_outdated| {
        (1..=5)
            .map(|failures| pace(is_outdated, false).after(failures, None))
            .sum::<Duration>()
    };
    assert_eq!(waits(true), Duration::from_millis(310));
    assert_eq!(waits(false), Duration::from_millis(6200));
    for is_outdated in [true, false] {
        assert_eq!(pace(is_outdated, false).after(u32::MAX, None), RETRIES.longest);
    }
}
