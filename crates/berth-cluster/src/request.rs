//! A machine shows elsewhere than in the cluster that it is about to join.

use std::time::Duration;

use jiff::Timestamp;
use kube::{
    Api, Client, ResourceExt as _,
    api::{ListParams, Patch, PatchParams},
};
use serde_json::json;
use thiserror::Error;
use tokio::time::timeout;

use berth_decide::names;
use berth_resources::Berth;

/// So long it may take to ask for a Node.
const LIMIT: Duration = Duration::from_secs(10);

/// Why nobody could be asked for a Node.
#[derive(Debug, Error)]
pub enum RequestError {
    /// The API server does not answer.
    #[error("the API server did not answer in time")]
    Timeout,
    /// The API server answered with an error.
    #[error("the API server refused")]
    Refused(#[from] kube::Error),
}

/// Asks for the Node of a machine to be created, by a note on its Berth. `false` when no Berth reserves the name.
pub async fn request_node(client: &Client, node: &str, now: Timestamp) -> Result<bool, RequestError> {
    request_within(LIMIT, client, node, now).await
}

async fn request_within(limit: Duration, client: &Client, node: &str, now: Timestamp) -> Result<bool, RequestError> {
    match timeout(limit, request(client, node, now)).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(RequestError::Timeout),
    }
}

async fn request(client: &Client, node: &str, now: Timestamp) -> kube::Result<bool> {
    let berths: Api<Berth> = Api::all(client.clone());
    let found = match berths.get_opt(node).await? {
        Some(berth) if berth.node_name() == node => Some(berth),
        // A Berth may have another name than its Node.
        _ => {
            let all = berths.list(&ListParams::default()).await?;
            all.items.into_iter().find(|berth| berth.node_name() == node)
        }
    };
    let Some(berth) = found else {
        return Ok(false);
    };
    // A Berth of the same name that came meanwhile may reserve another name.
    let patch = Patch::Merge(json!({"metadata": {
        "uid": berth.metadata.uid,
        "annotations": {names::REQUESTED: now.to_string()},
    }}));
    let parameters = PatchParams {
        field_manager: Some(names::FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    berths.patch(&berth.name_any(), &parameters, &patch).await?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use http::{Method, Request, Response};
    use kube::client::Body;
    use serde_json::Value;

    use super::*;

    #[tokio::test]
    async fn a_request_is_for_the_berth_that_was_found() {
        let service = tower::service_fn(|request: Request<Body>| async move {
            let berth = json!({
                "apiVersion": "berth.dev/v1alpha1", "kind": "Berth", "metadata": {"name": "w1", "uid": "first"}, "spec": {},
            });
            if request.method() == Method::PATCH {
                let sent: Value = serde_json::from_slice(&request.into_body().collect_bytes().await?)?;
                assert_eq!(sent["metadata"]["uid"], "first");
            }
            Ok::<_, tower::BoxError>(Response::new(Body::from(berth.to_string().into_bytes())))
        });
        let client = Client::new(service, "default");
        assert!(request_node(&client, "w1", Timestamp::UNIX_EPOCH).await.unwrap());
    }

    #[tokio::test]
    async fn a_request_that_is_not_answered_is_given_up() {
        let silent = tower::service_fn(|_: Request<Body>| async {
            std::future::pending::<Result<Response<Body>, tower::BoxError>>().await
        });
        let client = Client::new(silent, "default");
        let limit = Duration::from_millis(50);
        let asked = timeout(LIMIT, request_within(limit, &client, "w1", Timestamp::UNIX_EPOCH));
        assert!(matches!(asked.await, Ok(Err(RequestError::Timeout))));
    }
}
