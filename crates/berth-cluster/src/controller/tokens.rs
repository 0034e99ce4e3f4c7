//! Bindings of bootstrap tokens that have long expired go. Only the leader deletes.

use std::time::Duration;

use berth_clock::Clock;
use jiff::SignedDuration;
use kube::{
    Api, Client, CustomResourceExt as _,
    api::{DeleteParams, DynamicObject, ListParams, Preconditions},
};
use tokio::{
    sync::watch,
    time::{MissedTickBehavior, interval, timeout},
};
use tracing::{debug, warn};

use super::writer::REQUEST_TIMEOUT;
use crate::lease::{Claim, time_to_write};
use berth_resources::{TokenBinding, bootstrap::Binding};

/// So long a binding is kept after its token has expired: it says who joined with it. Before that it must stay, because a
/// token without a binding would be anybody's.
const KEEP: SignedDuration = SignedDuration::from_hours(7 * 24);
/// How often to look.
const EVERY: Duration = Duration::from_hours(1);
/// How many are read at once.
const PAGE: u32 = 500;

/// Collects forever.
pub(super) async fn collect(client: Client, claims: Option<watch::Receiver<Claim>>, clock: Clock) {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if let Err(error) = once(&client, claims.as_ref(), &clock).await {
            warn!(
                error = &error as &dyn std::error::Error,
                "expired TokenBindings cannot be deleted"
            );
        }
    }
}

async fn once(client: &Client, claims: Option<&watch::Receiver<Claim>>, clock: &Clock) -> kube::Result<()> {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &TokenBinding::api_resource());
    let mut page = ListParams::default().limit(PAGE);
    loop {
        let Some(limit) = time_to_write(claims, REQUEST_TIMEOUT) else {
            return Ok(());
        };
        let Ok(list) = timeout(limit, api.list(&page)).await else {
            warn!("expired TokenBindings cannot be deleted: the API server does not answer");
            return Ok(());
        };
        let list = list?;
        let next = list.metadata.continue_.clone().filter(|token| !token.is_empty());
        let now = clock.now();
        for binding in list.items.into_iter().map(Binding::from) {
            let over = binding
                .expires
                .is_some_and(|expires| now.duration_since(expires) > KEEP);
            let Some(limit) = time_to_write(claims, REQUEST_TIMEOUT).filter(|_| over) else {
                continue;
            };
            let parameters = DeleteParams {
                preconditions: Some(Preconditions {
                    uid: Some(binding.uid),
                    resource_version: Some(binding.resource_version),
                }),
                ..DeleteParams::default()
            };
            match timeout(limit, api.delete(&binding.token, &parameters)).await {
                Ok(Ok(_)) => debug!(
                    token = binding.token,
                    node = binding.node,
                    "its binding is not needed any more"
                ),
                // Somebody else was faster.
                Ok(Err(kube::Error::Api(status))) if status.is_not_found() || status.is_conflict() => {}
                Ok(Err(error)) => return Err(error),
                Err(_) => return Ok(()),
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
        let client = Client::new(service, "default");
        once(&client, None, &clock).await.unwrap();
        assert_eq!(*gone.lock().unwrap(), ["expire"]);
        // Whoever does not lead deletes nothing.
        let (_sender, claims) = watch::channel(Claim::default());
        once(&client, Some(&claims), &clock).await.unwrap();
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
        let client = Client::new(silent, "default");
        let given_up = timeout(REQUEST_TIMEOUT / 2, once(&client, Some(&claims), &clock)).await;
        given_up.expect("it never gives up").unwrap();
    }
}
