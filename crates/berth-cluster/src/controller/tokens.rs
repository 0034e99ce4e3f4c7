//! Bindings of bootstrap tokens that have long expired go. Only the leader deletes.

use std::time::Duration;

use berth_clock::Clock;
use berth_nodes::{Nodes, WriteError};
use jiff::SignedDuration;
use kube::{
    Api, Client, CustomResourceExt as _,
    api::{DeleteParams, DynamicObject, ListParams, Preconditions},
};
use tokio::{
    sync::watch,
    time::{MissedTickBehavior, interval},
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::lease::{Claim, hold};
use berth_resources::{TokenBinding, bootstrap::Binding};

/// So long a binding is kept after its token has expired: it says who joined with it. Before that it must stay, because a
/// token without a binding would be anybody's.
const KEEP: SignedDuration = SignedDuration::from_hours(7 * 24);
/// How often to look.
const EVERY: Duration = Duration::from_hours(1);
/// How many are read at once.
const PAGE: u32 = 500;

/// Collects until nothing more is to be written. A deletion that has begun is ended.
pub(super) async fn collect(
    client: Client,
    claims: Option<watch::Receiver<Claim>>,
    clock: Clock,
    shutdown: CancellationToken,
) {
    let nodes = Nodes::new(client, hold(claims));
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = shutdown.cancelled() => return,
            _ = ticks.tick() => {}
        }
        match once(&nodes, &clock, &shutdown).await {
            Ok(()) | Err(WriteError::NotHeld) => {}
            Err(error) => warn!(
                error = &error as &dyn std::error::Error,
                "expired TokenBindings cannot be deleted"
            ),
        }
    }
}

async fn once(nodes: &Nodes, clock: &Clock, shutdown: &CancellationToken) -> Result<(), WriteError> {
    let api: Api<DynamicObject> = Api::all_with(nodes.client().clone(), &TokenBinding::api_resource());
    let mut page = ListParams::default().limit(PAGE);
    loop {
        let list = nodes.send(api.list(&page)).await?;
        let next = list.metadata.continue_.clone().filter(|token| !token.is_empty());
        let now = clock.now();
        for binding in list.items.into_iter().map(Binding::from) {
            let over = binding
                .expires
                .is_some_and(|expires| now.duration_since(expires) > KEEP);
            if !over {
                continue;
            }
            if shutdown.is_cancelled() {
                return Ok(());
            }
            let parameters = DeleteParams {
                preconditions: Some(Preconditions {
                    uid: Some(binding.uid),
                    resource_version: Some(binding.resource_version),
                }),
                ..DeleteParams::default()
            };
            match nodes.send(api.delete(&binding.token, &parameters)).await {
                Ok(_) => debug!(
                    token = binding.token,
                    node = binding.node,
                    "its binding is not needed any more"
                ),
                // Somebody else was faster.
                Err(error) if error.is_outdated() => {}
                Err(error) => return Err(error),
            }
        }
        match next {
            Some(token) => page = page.continue_token(&token),
            None => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use http::{Method, Request, Response};
    use jiff::Timestamp;
    use kube::client::Body;
    use serde_json::{Value, json};

    use super::*;

    #[tokio::test]
    async fn bindings_go_a_week_after_their_tokens_expired() {
        let gone = Arc::new(Mutex::new(Vec::new()));
        let deleted = Arc::clone(&gone);
        let service = tower::service_fn(move |request: Request<Body>| {
            let deleted = Arc::clone(&deleted);
            async move {
                let binding = |name: &str, spec: Value| {
                    json!({
                        "apiVersion": "berth.dev/v1alpha1", "kind": "TokenBinding",
                        "metadata": {"name": name, "uid": format!("uid-{name}"), "resourceVersion": "7"}, "spec": spec,
                        "status": {"usedBy": {"request": "r", "requestUID": "u", "key": "k", "time": "2026-01-01T00:00:00Z"}},
                    })
                };
                let answer = if request.method() == Method::DELETE {
                    let name = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
                    let sent: Value = serde_json::from_slice(&request.into_body().collect_bytes().await?)?;
                    assert_eq!(
                        sent["preconditions"],
                        json!({"uid": format!("uid-{name}"), "resourceVersion": "7"})
                    );
                    deleted.lock().unwrap().push(name);
                    json!({"kind": "Status", "apiVersion": "v1", "status": "Success"})
                } else {
                    json!({"apiVersion": "berth.dev/v1alpha1", "kind": "TokenBindingList", "metadata": {}, "items": [
                        binding("expire", json!({"nodeName": "w1", "expires": "2026-01-01T00:00:00Z"})),
                        binding("lately", json!({"nodeName": "w1", "expires": "2026-01-04T00:00:00Z"})),
                        binding("future", json!({"nodeName": "w1", "expires": "2027-01-01T00:00:00Z"})),
                        binding("always", json!({"nodeName": "w1"})),
                    ]})
                };
                let body = Body::from(answer.to_string().into_bytes());
                Ok::<_, tower::BoxError>(Response::new(body))
            }
        });
        let now: Timestamp = "2026-01-09T00:00:00Z".parse().unwrap();
        let clock = Clock::stopped(now);
        let (client, goes_on) = (Client::new(service, "default"), CancellationToken::new());
        let nodes = |claims| Nodes::new(client.clone(), hold(claims));
        once(&nodes(None), &clock, &goes_on).await.unwrap();
        assert_eq!(*gone.lock().unwrap(), ["expire"]);
        // Whoever does not lead deletes nothing.
        let (_sender, claims) = watch::channel(Claim::default());
        let refused = once(&nodes(Some(claims)), &clock, &goes_on).await;
        assert!(matches!(refused, Err(WriteError::NotHeld)), "{refused:?}");
        // Whoever is about to give the lease back begins nothing more.
        goes_on.cancel();
        once(&nodes(None), &clock, &goes_on).await.unwrap();
        assert_eq!(gone.lock().unwrap().len(), 1);
    }

    #[tokio::test]
    async fn a_list_that_is_not_answered_is_given_up() {
        let silent = tower::service_fn(|_: Request<Body>| async {
            std::future::pending::<Result<Response<Body>, tower::BoxError>>().await
        });
        let end = tokio::time::Instant::now() + Duration::from_millis(200);
        let (_sender, claims) = watch::channel(Claim::until(end));
        let clock = Clock::stopped(Timestamp::UNIX_EPOCH);
        let nodes = Nodes::new(Client::new(silent, "default"), hold(Some(claims)));
        let goes_on = CancellationToken::new();
        let given_up = tokio::time::timeout(Duration::from_secs(10), once(&nodes, &clock, &goes_on)).await;
        assert!(matches!(given_up, Ok(Err(WriteError::Timeout))), "{given_up:?}");
    }
}
