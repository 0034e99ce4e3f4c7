//! Routes that all services have: health and versions.

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, header::ACCEPT},
    response::{IntoResponse, Response},
    routing::MethodFilter,
};
use berth_api::{VersionInfo, Versions};

use super::{
    PREFIX,
    body::{JsonReply, YamlReply},
    endpoint::{Endpoint, Family, empty, json, reply},
    problem::Problem,
    state::ApiState,
};

pub(super) fn endpoints() -> Vec<Endpoint> {
    let health = |path, id| {
        Endpoint::new(Family::Shipyard, MethodFilter::GET, path, id, health)
            .for_everybody()
            .says(
                "Whether the server can do its work",
                "Asks the database a small question. No authentication is needed.",
            )
            .answers(const { &[empty(StatusCode::NO_CONTENT, "It can.")] })
    };
    vec![
        health("/api/v1.0/health", "health"),
        health("/health", "healthWithoutPrefix"),
        Endpoint::new(Family::Shipyard, MethodFilter::GET, "/versions", "versions", versions)
            .for_everybody()
            .says(
                "The versions of the API",
                "Each with its path and how settled it is. Answers in YAML to those who accept nothing else.",
            )
            .answers(const { &[reply(StatusCode::OK, json::<Versions>(), "The versions.")] }),
    ]
}

async fn health(State(state): State<ApiState>) -> Result<StatusCode, Problem> {
    match state.repository.store().latest().await {
        Ok(_) => Ok(StatusCode::NO_CONTENT),
        Err(error) => {
            tracing::error!(error = &error as &dyn std::error::Error, "the database does not answer");
            let status = StatusCode::SERVICE_UNAVAILABLE;
            Err(Problem::shipyard(status, "Service Unavailable", "The database does not answer").retry())
        }
    }
}

async fn versions(headers: HeaderMap) -> Response {
    let stable = VersionInfo {
        path: PREFIX.to_owned(),
        status: "stable".to_owned(),
    };
    let versions = Versions([("v1.0".to_owned(), stable)].into());
    let accepts = headers
        .get(ACCEPT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    if accepts.contains("yaml") && !accepts.contains("json") {
        YamlReply(versions).into_response()
    } else {
        JsonReply(versions).into_response()
    }
}
