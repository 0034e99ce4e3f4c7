//! People at work with kubectl: they label Nodes by hand and delete them. They go straight to the API server.

use std::{sync::Arc, time::Duration};

use berth_resources::Berth;
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions},
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    figures::{Count, Figures},
    observer::{BY_HAND, Observer, version},
    random::Random,
    site::{CONTESTED, CONTESTED_VALUE, Group},
};

/// While the API server is away.
const RETRY: Duration = Duration::from_millis(200);

/// How many keys people use.
const KEYS: usize = 4;

/// Creates a Node as its kubelet does that has no labels from Berth.
pub(crate) async fn register(client: &Client, name: &str) {
    let nodes: Api<Node> = Api::all(client.clone());
    let node = serde_json::from_value(json!({"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}}));
    let node: Node = node.unwrap();
    loop {
        match nodes.create(&PostParams::default(), &node).await {
            Ok(_) => return,
            // Its first try went through, though nobody said so.
            Err(kube::Error::Api(status)) if status.code == 409 => return,
            Err(_) => tokio::time::sleep(RETRY).await,
        }
    }
}

/// What Berth knows of the contested label of a Node.
#[derive(Clone, Copy)]
enum Record {
    /// It has not taken notice of this very Node. Before that its labels count as those of a kubelet with old flags, which Berth
    /// puts right.
    Unknown,
    /// The Node has the declared value, and Berth knows it. Whoever removes it now wants it gone.
    Declared,
    /// It has another value or none. With the removal of a value that is not Berth's a conflict ends, and Berth sets the declared
    /// one.
    Other,
}

/// One who labels and deletes, one thing after the other.
pub(crate) struct Person {
    pub(crate) client: Client,
    pub(crate) observer: Observer,
    pub(crate) figures: Arc<Figures>,
    pub(crate) random: Random,
    pub(crate) stop: CancellationToken,
}

impl Person {
    pub(crate) async fn work(mut self) {
        let mut number = 0;
        while !self.stop.is_cancelled() {
            number += 1;
            let nodes: Vec<(String, String)> = {
                let seeing = self.observer.see();
                seeing
                    .nodes
                    .iter()
                    .map(|(name, seen)| (name.clone(), seen.uid.clone()))
                    .collect()
            };
            if !nodes.is_empty() {
                let (name, uid) = self.random.pick(&nodes);
                self.act(name, uid, number).await;
            }
            let pause = self.random.between(200, 800);
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
    }

    async fn act(&mut self, name: &str, uid: &str, number: u32) {
        let key = format!("{BY_HAND}k{}", self.random.below(KEYS));
        match self.random.below(100) {
            0..60 => self.label(name, uid, &key, Some(format!("v{number}"))).await,
            60..78 => self.label(name, uid, &key, None).await,
            78..96 => {
                let record = self.record(name, uid).await;
                match (self.random.below(3), record) {
                    (_, Record::Unknown) => {}
                    (0, _) => self.label(name, uid, CONTESTED, Some(CONTESTED_VALUE.to_owned())).await,
                    (1, Record::Declared) => self.label(name, uid, CONTESTED, None).await,
                    _ => self.label(name, uid, CONTESTED, Some(format!("v{number}"))).await,
                }
            }
            _ => self.delete(name, uid).await,
        }
    }

    /// What Berth knows of the contested label of this very Node.
    async fn record(&self, name: &str, uid: &str) -> Record {
        if Group::of(name) == Group::Acted {
            // An action is asked for what is declared, so that it sets again what somebody removed.
            return Record::Other;
        }
        let berths: Api<Berth> = Api::all(self.client.clone());
        let status = berths.get(name).await.ok().and_then(|berth| berth.status);
        let Some(status) = status.filter(|status| status.node_uid.as_deref() == Some(uid)) else {
            return Record::Unknown;
        };
        let is_declared = |value: Option<&String>| value.is_some_and(|value| value == CONTESTED_VALUE);
        let recorded = status
            .labels
            .get(CONTESTED)
            .or_else(|| status.found_labels.get(CONTESTED));
        let seeing = self.observer.see();
        let seen = seeing.nodes.get(name).and_then(|seen| seen.labels.get(CONTESTED));
        if is_declared(recorded) && is_declared(seen) {
            Record::Declared
        } else {
            Record::Other
        }
    }

    /// Sets or removes a label of this very Node, however often the API server goes away meanwhile.
    async fn label(&self, name: &str, uid: &str, key: &str, value: Option<String>) {
        let nodes: Api<Node> = Api::all(self.client.clone());
        let patch = Patch::Merge(json!({"metadata": {"uid": uid, "labels": {key: value}}}));
        let parameters = PatchParams {
            field_manager: Some("kubectl-label".to_owned()),
            ..PatchParams::default()
        };
        self.observer.see().ledger.begin(uid, key, value);
        loop {
            match nodes.patch(name, &parameters, &patch).await {
                Ok(node) => {
                    self.observer.see().ledger.confirm(uid, key, version(&node));
                    self.figures.add(Count::HandWrites, 1);
                    return;
                }
                // Deleted meanwhile, and maybe created anew.
                Err(kube::Error::Api(status)) if [404, 409].contains(&status.code) => return,
                Err(_) => tokio::time::sleep(RETRY).await,
            }
        }
    }

    async fn delete(&self, name: &str, uid: &str) {
        let nodes: Api<Node> = Api::all(self.client.clone());
        let parameters = DeleteParams {
            preconditions: Some(Preconditions {
                uid: Some(uid.to_owned()),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        loop {
            match nodes.delete(name, &parameters).await {
                Ok(_) => break,
                Err(kube::Error::Api(status)) if [404, 409].contains(&status.code) => break,
                Err(_) => tokio::time::sleep(RETRY).await,
            }
        }
        self.figures.add(Count::Deletions, 1);
        if Group::of(name) == Group::Acted {
            register(&self.client, name).await;
        }
    }
}
