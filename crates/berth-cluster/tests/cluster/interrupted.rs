//! What an administrator did to a Node is never undone because a replica died while it dealt with it, whichever write was
//! its last.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use berth_cluster::controller::Options;
use berth_resources::Berth;
use berth_site::Site;
use http::{Method, Request};
use k8s_openapi::api::core::v1::Node;
use kube::{Client, ResourceExt as _, client::Body};
use serde_json::json;

use crate::{
    leaders::lease,
    support::{Cluster, Controllers, INFRA, Needs, STORAGE, has, lacks, on_both, site, start_controllers},
};

on_both! {
    Needs::NOTHING;
    a_replica_that_dies_half_way_undoes_nothing,
    what_documents_ask_for_is_tried_again,
    what_was_written_unseen_is_still_owned,
    a_leader_with_a_late_watch_forgets_nothing,
    nothing_is_under_way_when_the_lease_is_given_back,
}

/// The most writes that a replica makes about one of these nodes, and one more.
const WRITES: usize = 5;

/// A replica's way to the API server, on which only so many writes about each node pass. To that node it is as if the
/// replica had died after the last of them.
#[derive(Clone)]
struct Cut {
    left: Arc<Mutex<HashMap<String, usize>>>,
}

impl Cut {
    fn new(budgets: impl IntoIterator<Item = (String, usize)>) -> Self {
        Self {
            left: Arc::new(Mutex::new(
                budgets.into_iter().map(|(name, left)| (name, left + 1)).collect(),
            )),
        }
    }

    /// Whether a write was refused.
    fn was_hit(&self, node: &str) -> bool {
        self.left.lock().expect("one test")[node] == 0
    }

    fn lets(&self, request: &Request<Body>) -> bool {
        if request.method() == Method::GET {
            return true;
        }
        let mut left = self.left.lock().expect("one test");
        let named = request
            .uri()
            .path()
            .split('/')
            .find_map(|part| left.get_key_value(part));
        let Some(name) = named.map(|(name, _)| name.clone()) else {
            return true;
        };
        let left = left.entry(name).or_default();
        *left = left.saturating_sub(1);
        *left > 0
    }

    fn client(&self, client: Client) -> Client {
        let cut = self.clone();
        passing(client, move |request| cut.lets(request))
    }
}

/// A client whose requests reach the API server only where they are let.
fn passing(client: Client, lets: impl Fn(&Request<Body>) -> bool + Clone + Send + Sync + 'static) -> Client {
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, passes) = (client.clone(), lets(&request));
        async move {
            if passes {
                client.send(request).await.map_err(tower::BoxError::from)
            } else {
                Err("nobody answers".into())
            }
        }
    });
    Client::new(service, "default")
}

fn names(what: &str) -> Vec<String> {
    (0..=WRITES).map(|writes| format!("{what}-{writes}")).collect()
}

fn followed(berth: &Berth) -> Option<&str> {
    Some(berth.status.as_ref()?.followed.as_ref()?.pool.as_str())
}

fn removed(berth: &Berth, key: &str) -> bool {
    let status = berth.status.as_ref();
    status.is_some_and(|status| status.removed_labels.contains_key(key))
}

/// Whether the Berth knows what was done to its Node, and has nothing left to write.
fn is_settled(berth: &Berth) -> bool {
    let knows = match berth.name_any().split_once('-') {
        Some(("moved", _)) => followed(berth) == Some("storage"),
        Some(("back", _)) => followed(berth).is_none(),
        _ => removed(berth, KEEP),
    };
    let pool = berth.status.as_ref().and_then(|status| status.pool.as_deref());
    let expected = if berth.name_any().starts_with("moved") {
        "storage"
    } else {
        "infra"
    };
    knows && pool == Some(expected)
}

async fn reserve(cluster: &Cluster) -> Controllers {
    let controllers = cluster.controllers(|_| {});
    for name in ["moved", "back", "bared"].into_iter().flat_map(names) {
        let spec = json!({"pool": "infra", "preregister": "Now", "labels": {KEEP: "yes"}});
        cluster.berth(&name, spec).await;
    }
    for name in ["moved", "back", "bared"].into_iter().flat_map(names) {
        let settled = |berth: &Berth| berth.status.as_ref().is_some_and(|status| status.node_uid.is_some());
        cluster.berth_with(&name, "was settled", settled).await;
    }
    for name in names("back") {
        cluster.label(&name, json!({INFRA: null, STORAGE: ""})).await;
        let storage = |node: &_| has(node, "tier", "storage");
        cluster.node_with(&name, "was followed", storage).await;
        let remembers = |berth: &Berth| {
            let pool = berth.status.as_ref().and_then(|status| status.pool.as_deref());
            followed(berth) == Some("storage") && pool == Some("storage")
        };
        cluster.berth_with(&name, "followed", remembers).await;
    }
    controllers
}

async fn a_replica_that_dies_half_way_undoes_nothing(cluster: &mut Cluster) {
    reserve(cluster).await.stop().await;

    let all: Vec<String> = ["moved", "back", "bared"].into_iter().flat_map(names).collect();
    let budgets = all.iter().map(|name| {
        let writes = name.rsplit('-').next().and_then(|writes| writes.parse().ok());
        (name.clone(), writes.expect("a number"))
    });
    let cut = Cut::new(budgets);
    let client = cluster.fresh_client().await;
    let mut dying = start_controllers(cut.client(client), |_| {});
    let history = cluster.history().await;
    for name in names("moved") {
        cluster.label(&name, json!({INFRA: null, STORAGE: ""})).await;
    }
    for name in names("back") {
        cluster.label(&name, json!({STORAGE: null, INFRA: ""})).await;
    }
    for name in names("bared") {
        cluster.label(&name, json!({KEEP: null})).await;
    }
    let ended = async |name: &str| {
        let berth = cluster.api::<Berth>().get(name).await.expect("a Berth");
        cut.was_hit(name) || is_settled(&berth)
    };
    let waiting = async {
        for name in &all {
            while !ended(name).await {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    };
    tokio::time::timeout(Duration::from_mins(3), waiting)
        .await
        .expect("each ends");
    assert!(
        cut.was_hit("moved-0") && cut.was_hit("moved-1"),
        "it dies before and between its writes"
    );
    assert!(!cut.was_hit(&format!("moved-{WRITES}")), "and once it lives on");
    dying.kill();

    let next = cluster.controllers(|_| {});
    for name in &all {
        cluster.berth_with(name, "knew what was done", is_settled).await;
        let right = |node: &_| match name.split_once('-') {
            Some(("moved", _)) => has(node, "tier", "storage") && has(node, STORAGE, "") && lacks(node, INFRA),
            Some(("back", _)) => has(node, "tier", "infra") && has(node, INFRA, "") && lacks(node, STORAGE),
            _ => has(node, "tier", "infra") && lacks(node, KEEP),
        };
        cluster.node_with(name, "had its labels", right).await;
        for version in history.of(name) {
            let undone = match name.split_once('-') {
                Some(("moved", _)) => !lacks(&version, INFRA),
                Some(("back", _)) => !lacks(&version, STORAGE),
                _ => !lacks(&version, KEEP),
            };
            assert!(!undone, "{name} was for a moment as before: {:?}", version.labels());
        }
    }
    next.stop().await;
}

const REVISION: &str = "example.com/revision";
const KEEP: &str = "telco.example/keep";

/// The documents of a revision: a pool, and a machine whose label says which revision it is.
fn revision(value: &str) -> Arc<Site> {
    site(&[
        json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
            "metadata": {"name": "infra", "annotations": {"berth.dev/node-labels": "tier=infra"}},
            "spec": {"nodeSelector": {"matchLabels": {INFRA: ""}}},
        }),
        json!({
            "apiVersion": "berth.dev/v1alpha1", "kind": "Berth", "metadata": {"name": "w1"},
            "spec": {"pool": "infra", "preregister": "Now", "labels": {REVISION: value, KEEP: "yes"}},
        }),
    ])
}

fn has_revision(value: &'static str) -> impl Fn(&Node) -> bool {
    move |node| has(node, REVISION, value)
}

/// A Berth that cannot be made, or changed, when a revision is committed is made or changed as soon as it can be.
async fn what_documents_ask_for_is_tried_again(cluster: &mut Cluster) {
    // The first create and the first two changes of its spec are lost on the way.
    let left = Arc::new(Mutex::new(HashMap::from([(Method::POST, 1_u32), (Method::PATCH, 2)])));
    let lost = left.clone();
    let client = passing(cluster.fresh_client().await, move |request| {
        let path = request.uri().path();
        if !path.ends_with("/berths") && !path.ends_with("/berths/w1") {
            return true;
        }
        let mut left = lost.lock().expect("one test");
        let left = left.entry(request.method().clone()).or_insert(0);
        let passes = *left == 0;
        *left = left.saturating_sub(1);
        passes
    });
    let (commit, documents) = tokio::sync::watch::channel(revision("one"));
    let controllers = cluster.controllers_with(client, |options| options.documents = Some(documents));
    cluster.node_with("w1", "had the first", has_revision("one")).await;
    commit.send_replace(revision("two"));
    cluster.node_with("w1", "had the second", has_revision("two")).await;
    assert!(
        left.lock().expect("one test").values().all(|left| *left == 0),
        "what was to be lost was lost"
    );
    controllers.stop().await;
}

/// A way to the API server on which no watch of Nodes begins: what was listed at first is all that is known of them.
#[derive(Clone, Default)]
struct Late {
    /// A watch was refused, so that the list before it has been read.
    listed: Arc<AtomicBool>,
    /// Watches are let through from now on.
    open: Arc<AtomicBool>,
    /// The next patch of the Node is carried out, and its answer is lost.
    loses_answer: Arc<AtomicBool>,
}

impl Late {
    fn client(&self, client: Client) -> Client {
        let late = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let (client, path) = (client.clone(), request.uri().path().to_owned());
            let watches = request.uri().query().is_some_and(|query| query.contains("watch=true"));
            let is_held = watches && path.ends_with("/nodes") && !late.open.load(Ordering::SeqCst);
            late.listed.fetch_or(is_held, Ordering::SeqCst);
            let is_patch = request.method() == Method::PATCH && path.ends_with("/nodes/w1");
            let is_lost = is_patch && late.loses_answer.swap(false, Ordering::SeqCst);
            async move {
                if is_held {
                    return Err(tower::BoxError::from("nobody answers"));
                }
                let answer = client.send(request).await.map_err(tower::BoxError::from)?;
                if is_lost {
                    Err("the answer is lost".into())
                } else {
                    Ok(answer)
                }
            }
        });
        Client::new(service, "default")
    }

    async fn has_listed(&self) {
        while !self.listed.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn is_recorded(berth: &Berth, value: &str) -> bool {
    let status = berth.status.as_ref().filter(|status| status.node_uid.is_some());
    status.is_some_and(|status| status.labels.get(REVISION).is_some_and(|label| label == value))
}

/// A label is written and nobody says so, no watch shows it, and the documents change once more: Berth does not take its own
/// label for somebody else's.
async fn what_was_written_unseen_is_still_owned(cluster: &mut Cluster) {
    let (commit, documents) = tokio::sync::watch::channel(revision("one"));
    let with_documents = |options: &mut Options| options.documents = Some(documents.clone());
    let first = cluster.controllers(with_documents);
    cluster
        .berth_with("w1", "was settled", |berth| is_recorded(berth, "one"))
        .await;
    first.stop().await;

    let late = Late::default();
    late.loses_answer.store(true, Ordering::SeqCst);
    let client = late.client(cluster.fresh_client().await);
    let controllers = cluster.controllers_with(client, with_documents);
    commit.send_replace(revision("two"));
    cluster.node_with("w1", "had the second", has_revision("two")).await;
    commit.send_replace(revision("three"));
    cluster
        .berth_with("w1", "was to have the third", |berth| is_recorded(berth, "three"))
        .await;
    late.open.store(true, Ordering::SeqCst);
    cluster.node_with("w1", "had the third", has_revision("three")).await;
    controllers.stop().await;
}

/// A replica whose watch of Nodes is late begins to lead. What the last leader noted in the Berth is not lost: which labels are
/// Berth's, and which one an administrator removed.
async fn a_leader_with_a_late_watch_forgets_nothing(cluster: &mut Cluster) {
    let (commit, documents) = tokio::sync::watch::channel(revision("one"));
    let replica = |identity: &'static str| {
        let documents = documents.clone();
        move |options: &mut Options| {
            options.documents = Some(documents);
            options.lease = Some(lease(identity));
        }
    };
    let first = cluster.controllers(replica("first"));
    cluster
        .berth_with("w1", "was settled", |berth| is_recorded(berth, "one"))
        .await;
    let late = Late::default();
    let client = late.client(cluster.fresh_client().await);
    let second = cluster.controllers_with(client, replica("second"));
    late.has_listed().await;
    for value in ["two", "three"] {
        commit.send_replace(revision(value));
        cluster.node_with("w1", "had the next", has_revision(value)).await;
        cluster
            .berth_with("w1", "knew the next", |berth| is_recorded(berth, value))
            .await;
    }
    let history = cluster.history().await;
    cluster.label("w1", json!({KEEP: null})).await;
    cluster
        .berth_with("w1", "knew of the removal", |berth| removed(berth, KEEP))
        .await;
    first.stop().await;
    commit.send_replace(revision("four"));
    cluster.node_with("w1", "had the fourth", has_revision("four")).await;
    late.open.store(true, Ordering::SeqCst);
    commit.send_replace(revision("five"));
    let node = cluster.node_with("w1", "had the fifth", has_revision("five")).await;
    assert!(lacks(&node, KEEP), "{node:?}");
    for version in history.of("w1") {
        assert!(
            lacks(&version, KEEP),
            "it was for a moment as before: {:?}",
            version.labels()
        );
    }
    second.stop().await;
}

/// Counts for as long as it lives.
struct UnderWay(Arc<AtomicUsize>);

impl UnderWay {
    fn begin(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A roster that the API server takes its time for is given up before another replica can have the lease.
async fn nothing_is_under_way_when_the_lease_is_given_back(cluster: &mut Cluster) {
    let (writing, began) = (Arc::new(AtomicUsize::new(0)), Arc::new(tokio::sync::Notify::new()));
    let given_back: Arc<Mutex<Option<usize>>> = Arc::default();
    let (client, count, told, back) = (
        cluster.client.clone(),
        Arc::clone(&writing),
        Arc::clone(&began),
        Arc::clone(&given_back),
    );
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, count, told, back) = (client.clone(), Arc::clone(&count), Arc::clone(&told), Arc::clone(&back));
        async move {
            let path = request.uri().path().to_owned();
            if request.method() == Method::PATCH && path.contains("/rosters/") {
                let _under_way = UnderWay::begin(&count);
                told.notify_one();
                return std::future::pending().await;
            }
            let is_lease = request.method() == Method::PUT && path.contains("/leases/");
            let (parts, body) = request.into_parts();
            let body = body.collect_bytes().await?;
            if is_lease && !String::from_utf8_lossy(&body).contains("\"leaving\"") {
                back.lock()
                    .expect("one test")
                    .get_or_insert(count.load(Ordering::SeqCst));
            }
            let request = Request::from_parts(parts, Body::from(body.to_vec()));
            client.send(request).await.map_err(tower::BoxError::from)
        }
    });
    let controllers = cluster.controllers_with(Client::new(service, "default"), |options| {
        options.lease = Some(lease("leaving"));
    });
    cluster.berth("w1", json!({"pool": "infra"})).await;
    began.notified().await;
    assert_eq!(writing.load(Ordering::SeqCst), 1);
    controllers.stop().await;
    let under_way = *given_back.lock().expect("one test");
    assert_eq!(
        under_way,
        Some(0),
        "the lease is given back, and no roster is under way then"
    );
}
