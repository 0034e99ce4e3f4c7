//! The Airship-compatible API under `/api/v1.0`: Deckhand's documents, Shipyard's staging and actions, Drydock's tasks and node
//! filters, Promenade's node labels.
//!
//! ```text
//! request ─► id ─► log ─► limits ─► family of routes ─► gate (who, may they) ─► Repository, Configdocs ─► Store
//! ```
//!
//! Each family is a list of `Endpoint`s. The router and the description of the API are made from that one list, so that no
//! route is without its description. Another family is one more list. Bodies are the types of `berth-api`, the listeners and
//! their limits are those of `berth-listen`, the tokens those of `berth-tokens`.

mod actions;
mod auth;
mod body;
mod common;
mod deckhand;
mod design;
mod endpoint;
mod events;
mod layers;
mod media_type;
mod node_labels;
mod openapi;
mod problem;
mod shipyard;
mod state;
mod tasks;
mod workflow;

use std::net::SocketAddr;

use axum::{
    Router,
    body::Body,
    http::{Request, Response},
    middleware::from_fn_with_state,
};
use berth_listen::{Callers, RequestBody, Service};
use tower::ServiceExt as _;

pub use self::{
    auth::{AskKeystone, Auth, ClusterAccess, KeystoneAccess, KeystoneAnswer, RolePolicy},
    design::{FetchDesign, OtherDeckhand},
    state::{ApiLimits, ApiState, IdSource},
};
use self::{
    auth::{Gate, Peer},
    endpoint::{Endpoint, Family},
    openapi::Description,
};

/// What every path of the API begins with.
pub(crate) const PREFIX: &str = "/api/v1.0";

/// The paths of the blueprint have no `/api`; they are taken too.
const BLUEPRINT_PREFIX: &str = "/v1.0";

/// The API, ready to be served.
#[derive(Clone, Debug)]
pub struct Api {
    router: Router,
    callers: Callers,
}

impl Service for Api {
    type Body = Body;

    fn callers(&self) -> Callers {
        self.callers
    }

    async fn answer(&self, peer: SocketAddr, mut request: Request<RequestBody>) -> Response<Body> {
        request.extensions_mut().insert(Peer(peer));
        match self.router.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

impl Api {
    /// All families of routes on this state.
    pub fn new(state: ApiState) -> Self {
        let endpoints = endpoints();
        let description = Description::new(&endpoints);
        let mut router = Router::new();
        for endpoint in endpoints {
            let gate = Gate {
                state: state.clone(),
                family: endpoint.family,
                reads: endpoint.body.map(|body| body.media_type),
                rule: endpoint.rule,
                reveals: endpoint.reveals,
            };
            let guarded = endpoint.handler.route_layer(from_fn_with_state(gate, auth::pass));
            if let Some(rest) = endpoint.path.strip_prefix(PREFIX) {
                router = router.route(&format!("{BLUEPRINT_PREFIX}{rest}"), guarded.clone());
            }
            router = router.route(endpoint.path, guarded);
        }
        let router = router
            .merge(description.routes())
            .fallback(layers::not_found)
            .method_not_allowed_fallback(layers::method_not_allowed);
        Self {
            callers: match state.auth {
                Auth::None => Callers::Local,
                Auth::Tokens(_) | Auth::Kubernetes(_) | Auth::Keystone(_) => Callers::Known,
            },
            router: layers::wrap(router, &state).with_state(state),
        }
    }

    /// The description of the API, as `/openapi.json` serves it.
    pub fn description() -> serde_json::Value {
        Description::new(&endpoints()).to_json()
    }
}

/// Every route there is, family by family.
fn endpoints() -> Vec<Endpoint> {
    [
        common::endpoints(),
        deckhand::endpoints(),
        shipyard::endpoints(),
        actions::endpoints(),
        events::endpoints(),
        tasks::endpoints(),
        node_labels::endpoints(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Whose words answer on a path that nobody has a route for.
fn family_of(path: &str) -> Family {
    let first = path
        .strip_prefix(PREFIX)
        .or_else(|| path.strip_prefix(BLUEPRINT_PREFIX))
        .and_then(|rest| rest.split('/').find(|part| !part.is_empty()));
    match first {
        Some("buckets" | "bucket" | "revisions" | "rollback") => Family::Deckhand,
        Some("tasks" | "nodefilter" | "nodes") => Family::Drydock,
        Some("node-labels") => Family::Promenade,
        _ => Family::Shipyard,
    }
}
