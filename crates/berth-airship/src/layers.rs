//! What happens to every request, whichever route it is for.

use std::any::Any;

use axum::{
    Router,
    extract::{DefaultBodyLimit, Request, State},
    http::{
        HeaderName, HeaderValue, Method, StatusCode, Uri,
        header::{CONTENT_LENGTH, RETRY_AFTER},
    },
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use tower::ServiceBuilder;
use tower_http::{
    catch_panic::CatchPanicLayer,
    request_id::{MakeRequestId, PropagateRequestIdLayer, RequestId, SetRequestIdLayer},
};

use super::{
    body::{Parameters, too_large},
    endpoint::Family,
    family_of,
    problem::Problem,
    state::ApiState,
};

/// The name of a request in logs and answers; a client may bring its own.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The same under the name that Shipyard's clients know.
const SHIPYARD_REQUEST: HeaderName = HeaderName::from_static("x-shipyard-req");
/// The longest name of a request that is taken from a client.
const LONGEST_ID: usize = 64;

/// Puts all of it around the routes, outermost first.
pub(super) fn wrap(router: Router<ApiState>, state: &ApiState) -> Router<ApiState> {
    router
        .layer(DefaultBodyLimit::max(state.limits.body_bytes))
        .layer(middleware::from_fn_with_state(state.clone(), limits))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(
            ServiceBuilder::new()
                .layer(middleware::from_fn(tidy_id))
                .layer(SetRequestIdLayer::new(REQUEST_ID, Ids(state.clone())))
                .layer(middleware::from_fn(log))
                .layer(PropagateRequestIdLayer::new(REQUEST_ID)),
        )
}

#[derive(Clone)]
struct Ids(ApiState);

impl MakeRequestId for Ids {
    fn make_request_id<B>(&mut self, _: &axum::http::Request<B>) -> Option<RequestId> {
        HeaderValue::try_from(self.0.new_id()).ok().map(RequestId::new)
    }
}

/// Takes a name from a client only if it can stand in a log.
async fn tidy_id(mut request: Request, next: Next) -> Response {
    let is_tidy = |value: &HeaderValue| {
        let bytes = value.as_bytes();
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
        !bytes.is_empty() && bytes.len() <= LONGEST_ID && bytes.iter().all(plain)
    };
    if request.headers().get(REQUEST_ID).is_some_and(|value| !is_tidy(value)) {
        request.headers_mut().remove(REQUEST_ID);
    }
    next.run(request).await
}

/// Every request leaves a line: who asked what, and what became of it. Queries are left out, they may be long.
async fn log(request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let id = request.headers().get(REQUEST_ID).cloned();
    let mut response = next.run(request).await;
    let status = response.status().as_u16();
    let shown = id.as_ref().and_then(|id| id.to_str().ok()).unwrap_or_default();
    tracing::info!(request = shown, %method, path, status, "answered");
    if let Some(id) = id {
        response.headers_mut().insert(SHIPYARD_REQUEST, id);
    }
    response
}

/// Refuses what is too large before it is read, and gives up on what takes too long.
async fn limits(State(state): State<ApiState>, parameters: Parameters, request: Request, next: Next) -> Response {
    let family = family_of(request.uri().path());
    let length = request.headers().get(CONTENT_LENGTH);
    let length: Option<usize> = length.and_then(|length| length.to_str().ok()?.parse().ok());
    if length.is_some_and(|length| length > state.limits.body_bytes) {
        return too_large(family).into_response();
    }
    if let Some(problem) = wrong_verbosity(family, &parameters) {
        return problem.into_response();
    }
    let time = state.limits.request_time;
    match tokio::time::timeout(time, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let message = format!("The request took longer than {} seconds.", time.as_secs());
            let status = StatusCode::SERVICE_UNAVAILABLE;
            Problem::framework(family, status, "HTTPServiceUnavailable", &message)
                .retry()
                .with_header(RETRY_AFTER, HeaderValue::from_static("5"))
                .into_response()
        }
    }
}

/// Shipyard's routes all take a verbosity, which nothing here depends on.
fn wrong_verbosity(family: Family, parameters: &Parameters) -> Option<Problem> {
    let verbosity = parameters.get("verbosity").filter(|_| family == Family::Shipyard)?;
    let is_right = verbosity.parse::<u8>().is_ok_and(|verbosity| verbosity <= 5);
    (!is_right).then(|| {
        Problem::shipyard(
            StatusCode::BAD_REQUEST,
            "Invalid verbosity parameter",
            "If specified, verbosity parameter should be a value from 0 to 5",
        )
    })
}

pub(super) async fn not_found(uri: Uri) -> Problem {
    let message = format!("There is nothing at {}; /docs lists all routes.", uri.path());
    Problem::framework(family_of(uri.path()), StatusCode::NOT_FOUND, "HTTPNotFound", &message)
}

/// A question about the methods is answered with them; axum adds the header that lists them.
pub(super) async fn method_not_allowed(method: Method, uri: Uri) -> Response {
    if method == Method::OPTIONS {
        return StatusCode::OK.into_response();
    }
    let message = format!("{method} is not possible at {}.", uri.path());
    let status = StatusCode::METHOD_NOT_ALLOWED;
    Problem::framework(family_of(uri.path()), status, "HTTPMethodNotAllowed", &message).into_response()
}

/// A panic ends one request and not the server.
fn panicked(_: Box<dyn Any + Send + 'static>) -> Response {
    let message = "Unhandled Exception raised: the server has a defect, which its log shows";
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    Problem::framework(Family::Shipyard, status, "AppError", message)
        .retry()
        .into_response()
}
