//! What an administrator did to a Node is never undone because a replica died while it dealt with it, whichever write was
//! its last.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use berth_resources::Berth;
use http::{Method, Request};
use kube::{Client, ResourceExt as _, client::Body};
use serde_json::json;

use crate::support::{Cluster, Controllers, INFRA, Needs, STORAGE, has, lacks, on_both, start_controllers};

on_both! {
    Needs::NOTHING;
    a_replica_that_dies_half_way_undoes_nothing,
    what_documents_ask_for_is_tried_again,
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
        _ => removed(berth, "telco.example/keep"),
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
        let spec = json!({"pool": "infra", "preregister": "Now", "labels": {"telco.example/keep": "yes"}});
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
        cluster.label(&name, json!({"telco.example/keep": null})).await;
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
            _ => has(node, "tier", "infra") && lacks(node, "telco.example/keep"),
        };
        cluster.node_with(name, "had its labels", right).await;
        for version in history.of(name) {
            let undone = match name.split_once('-') {
                Some(("moved", _)) => !lacks(&version, INFRA),
                Some(("back", _)) => !lacks(&version, STORAGE),
                _ => !lacks(&version, "telco.example/keep"),
            };
            assert!(!undone, "{name} was for a moment as before: {:?}", version.labels());
        }
    }
    next.stop().await;
}

/// A Berth that cannot be made, or changed, when a revision is committed is made or changed as soon as it can be.
async fn what_documents_ask_for_is_tried_again(cluster: &mut Cluster) {
    let revision = |value: &str| {
        Arc::new(vec![
            json!({
                "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
                "metadata": {"name": "infra", "annotations": {"berth.dev/node-labels": "tier=infra"}},
                "spec": {"nodeSelector": {"matchLabels": {INFRA: ""}}},
            }),
            json!({
                "apiVersion": "berth.dev/v1alpha1", "kind": "Berth", "metadata": {"name": "w1"},
                "spec": {"pool": "infra", "preregister": "Now", "labels": {"example.com/revision": value}},
            }),
        ])
    };
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
    let has_revision = |value: &'static str| move |node: &_| has(node, "example.com/revision", value);
    cluster.node_with("w1", "had the first", has_revision("one")).await;
    commit.send_replace(revision("two"));
    cluster.node_with("w1", "had the second", has_revision("two")).await;
    assert!(
        left.lock().expect("one test").values().all(|left| *left == 0),
        "what was to be lost was lost"
    );
    controllers.stop().await;
}
