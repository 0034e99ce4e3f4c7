//! Drains: one task for each node, until its Pods are gone.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use berth_pools::annotation;
use futures::{StreamExt as _, stream};
use k8s_openapi::{
    api::{
        core::v1::{Node, Pod},
        policy::v1::{Eviction, PodDisruptionBudget},
    },
    apimachinery::pkg::apis::meta::v1::{DeleteOptions, ObjectMeta, Preconditions},
};
use kube::{
    Api,
    api::{ListParams, PostParams},
    core::Status,
};
use tokio::time::Instant;
use tracing::debug;

use crate::controller::{
    PoolOptions,
    writer::{WriteError, Writer, node_reference},
};
use berth_decide::{
    NodePatch, NodeView, Note,
    pools::{Backoff, Budgets, PodView, describe_blocked, to_evict},
};

/// How many Pods of one node are asked to go at once.
const EVICTIONS: usize = 8;

/// So long an eviction may take to be answered.
const ANSWER: Duration = Duration::from_secs(3);

/// A drain that takes longer is worth a warning. It is tried on.
const LATE: Duration = Duration::from_hours(1);

/// How a drain ended.
#[derive(Debug)]
pub(super) enum Drained {
    /// The node is empty, and its daemon has been told.
    Done(Box<NodeView>),
    /// The node is gone, or its daemon asks for something else.
    Superseded,
}

/// Drains a node until it is empty. Whoever uncordons it meanwhile is overruled: its daemon waits for this drain.
pub(super) async fn drain(
    writer: Arc<Writer>,
    name: String,
    uid: String,
    desired: String,
    options: PoolOptions,
) -> Result<Drained, WriteError> {
    let nodes: Api<Node> = Api::all(writer.client());
    let pods: Api<Pod> = Api::all(writer.client());
    let here = ListParams::default().fields(&format!("spec.nodeName={name}"));
    let mut backoff = Backoff::new(options.first_drain_retry, options.longest_drain_retry);
    let started = Instant::now();
    let (mut evicted, mut least, mut told, mut late) = (0_usize, usize::MAX, String::new(), false);
    loop {
        let Some(node) = writer.request("node", "get", nodes.get_opt(&name)).await? else {
            return Ok(Drained::Superseded);
        };
        let mut node = NodeView::from(node);
        if node.uid != uid || node.annotations.get(annotation::DESIRED_DRAIN) != Some(&desired) {
            return Ok(Drained::Superseded);
        }
        if !node.unschedulable {
            let patch = NodePatch {
                uid: Some(uid.clone()),
                unschedulable: Some(true),
                ..NodePatch::default()
            };
            node = writer.patch_node(&name, &patch).await?;
        }
        let found = writer.request("pod", "list", pods.list(&here)).await?;
        let left = to_evict(&found.items);
        if left.is_empty() {
            match finish(&writer, &node, &desired).await {
                Ok(node) => {
                    let message = match evicted {
                        0 => "the node is cordoned; no Pod had to go".to_owned(),
                        1 => "the node is drained; 1 Pod was evicted".to_owned(),
                        count => format!("the node is drained; {count} Pods were evicted"),
                    };
                    tell(&writer, &node, "Drain", message, false).await;
                    return Ok(Drained::Done(Box::new(node)));
                }
                // Something about the node changed: whether it still is cordoned has to be seen.
                Err(error) if error.is_outdated() => continue,
                Err(error) => return Err(error),
            }
        }
        let (went, refusals) = evict(&writer, &left).await?;
        evicted += went;
        let progress = went > 0 || left.len() < least;
        least = least.min(left.len());
        let message = describe_blocked(left.len(), &refusals);
        if told.is_empty() || (!refusals.is_empty() && message != told) {
            tell(&writer, &node, "Drain", message.clone(), false).await;
            told = message;
        }
        if !late && started.elapsed() > LATE {
            late = true;
            writer.drain_is_late();
            let message = format!("node {name}: drain exceeded timeout: 1h0m0s. Will continue to retry. {told}");
            tell(&writer, &node, "DrainFailed", message, true).await;
        }
        tokio::time::sleep(backoff.wait(progress)).await;
    }
}

/// Tells the daemon, if the node is as it was seen: cordoned, and asking for this very drain.
async fn finish(writer: &Writer, node: &NodeView, desired: &str) -> Result<NodeView, WriteError> {
    let patch = NodePatch {
        uid: Some(node.uid.clone()),
        resource_version: Some(node.resource_version.clone()),
        annotations: [(annotation::LAST_APPLIED_DRAIN.to_owned(), Some(desired.to_owned()))].into(),
        ..NodePatch::default()
    };
    writer.patch_node(&node.name, &patch).await
}

/// Asks every Pod to go that has not been asked yet and that no budget holds. Gives how many will, and why others will
/// not.
async fn evict(writer: &Writer, pods: &[PodView]) -> Result<(usize, BTreeMap<String, String>), WriteError> {
    let staying: Vec<&PodView> = pods.iter().filter(|pod| !pod.terminating).collect();
    let namespaces: BTreeSet<&str> = staying.iter().map(|pod| pod.namespace.as_str()).collect();
    let mut budgets = Budgets::default();
    for namespace in namespaces {
        let api: Api<PodDisruptionBudget> = Api::namespaced(writer.client(), namespace);
        let all = ListParams::default();
        budgets.extend(&writer.request("budget", "list", api.list(&all)).await?.items);
    }
    let (mut refusals, mut free) = (BTreeMap::new(), Vec::new());
    for pod in staying {
        match budgets.spend(pod) {
            Ok(()) => free.push(pod.clone()),
            Err(why) => drop(refusals.insert(format!("{}/{}", pod.namespace, pod.name), why)),
        }
    }
    let asked = stream::iter(free)
        .map(|pod| async move {
            let api: Api<Pod> = Api::namespaced(writer.client(), &pod.namespace);
            let (parameters, eviction) = (PostParams::default(), eviction(&pod));
            let eviction = api.create_subresource::<_, Status>("eviction", &pod.name, &parameters, &eviction);
            // The client asks again by itself while the answer is "not now". Others need not wait for that.
            let result = writer.request_within(ANSWER, "pod", "evict", eviction).await;
            (format!("{}/{}", pod.namespace, pod.name), result)
        })
        .buffer_unordered(EVICTIONS)
        .collect::<Vec<_>>()
        .await;
    let mut went = 0_usize;
    for (pod, result) in asked {
        let why = match result {
            Ok(_) => {
                went += 1;
                continue;
            }
            Err(WriteError::Refused(kube::Error::Api(status))) if status.is_not_found() => {
                went += 1;
                continue;
            }
            // A terminating namespace, a webhook: whatever says no now may say yes later.
            Err(WriteError::Refused(kube::Error::Api(status))) => status.message.clone(),
            Err(WriteError::Timeout) => "the API server does not let it go yet".to_owned(),
            Err(error) => return Err(error),
        };
        debug!(pod, why, "the Pod may not go yet");
        refusals.insert(pod, why);
    }
    Ok((went, refusals))
}

/// A Pod that took the place of the one that was seen stays. `Api::evict` names the options in a way that no API server reads.
fn eviction(pod: &PodView) -> Eviction {
    Eviction {
        metadata: ObjectMeta {
            name: Some(pod.name.clone()),
            namespace: Some(pod.namespace.clone()),
            ..ObjectMeta::default()
        },
        delete_options: Some(DeleteOptions {
            preconditions: Some(Preconditions {
                uid: pod.uid.clone(),
                resource_version: None,
            }),
            ..DeleteOptions::default()
        }),
    }
}

async fn tell(writer: &Writer, about: &NodeView, reason: &'static str, message: String, warning: bool) {
    let note = Note {
        reason,
        message,
        warning,
    };
    writer.note(&note, &node_reference(about)).await;
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use http::{Method, Request, Response};
    use kube::{Client, client::Body};
    use serde_json::{Value, json};

    use super::*;
    use crate::controller::{Clock, metrics::Metrics};

    #[tokio::test]
    async fn an_eviction_is_for_the_pod_that_was_seen() {
        let sent = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&sent);
        let service = tower::service_fn(move |request: Request<Body>| {
            let seen = Arc::clone(&seen);
            async move {
                let answer = if request.method() == Method::POST {
                    let path = request.uri().path().to_owned();
                    let body: Value = serde_json::from_slice(&request.into_body().collect_bytes().await?)?;
                    seen.lock().unwrap().push((path, body));
                    json!({"kind": "Status", "apiVersion": "v1", "status": "Success"})
                } else {
                    json!({"kind": "PodDisruptionBudgetList", "apiVersion": "policy/v1", "metadata": {}, "items": []})
                };
                Ok::<_, tower::BoxError>(Response::new(Body::from(answer.to_string().into_bytes())))
            }
        });
        let clock = Clock::stopped(jiff::Timestamp::UNIX_EPOCH);
        let writer = Writer::new(Client::new(service, "default"), None, Metrics::new(), clock);
        let pod = PodView {
            namespace: "web".to_owned(),
            name: "web-0".to_owned(),
            uid: Some("first".to_owned()),
            ..PodView::default()
        };
        let (went, refusals) = evict(&writer, &[pod]).await.unwrap();
        assert_eq!((went, refusals.len()), (1, 0));
        let sent = sent.lock().unwrap();
        let [(path, body)] = &sent[..] else {
            panic!("{sent:?}");
        };
        assert_eq!(path, "/api/v1/namespaces/web/pods/web-0/eviction");
        assert_eq!(body["kind"], "Eviction");
        assert_eq!(body["deleteOptions"]["preconditions"], json!({"uid": "first"}));
    }
}
