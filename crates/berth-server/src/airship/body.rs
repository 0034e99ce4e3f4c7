//! Bodies and parameters: what comes in, and what goes out.

use axum::{
    body::{Body, Bytes},
    extract::{FromRequest, Request},
    http::{
        HeaderMap, StatusCode,
        header::{CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING},
        request::Parts,
    },
    response::{IntoResponse, Response},
};
use berth_documents::{decode, emit::to_yaml};
use serde_json::Value;

use super::{
    endpoint::Family,
    problem::{JSON, Problem, YAML},
};

/// A YAML body of a request to Deckhand; empty when there is none.
#[derive(Debug)]
pub(super) struct YamlBody(pub(super) String);

impl<S: Send + Sync> FromRequest<S> for YamlBody {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        if has_body(request.headers()) {
            check_type(request.headers())?;
        }
        let bytes = read(request, state, Family::Deckhand).await?;
        text(&bytes).map(Self).map_err(|reason| {
            Problem::bad_request(format!(
                "The request body must be properly formatted YAML. Details: {reason}."
            ))
        })
    }
}

/// The body of a request to Shipyard, whatever its type says.
#[derive(Debug)]
pub(super) struct TextBody(pub(super) String);

impl<S: Send + Sync> FromRequest<S> for TextBody {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let bytes = read(request, state, Family::Shipyard).await?;
        text(&bytes).map(Self).map_err(|reason| {
            let title = "Document(s) invalid syntax or otherwise unsuitable";
            Problem::shipyard(StatusCode::BAD_REQUEST, title, reason)
        })
    }
}

fn text(bytes: &Bytes) -> Result<String, String> {
    decode(bytes).map_err(|error| error.to_string())
}

fn has_body(headers: &HeaderMap) -> bool {
    let length = headers.get(CONTENT_LENGTH).is_some_and(|length| length != "0");
    length || headers.contains_key(TRANSFER_ENCODING)
}

fn check_type(headers: &HeaderMap) -> Result<(), Problem> {
    let given = headers
        .get(CONTENT_TYPE)
        .map(|value| String::from_utf8_lossy(value.as_bytes()));
    let given = given.unwrap_or_default();
    match given.split(';').next().map_or("", str::trim) {
        "application/x-yaml" => Ok(()),
        "" => Err(Problem::deckhand(
            StatusCode::BAD_REQUEST,
            "HTTPMissingHeader",
            "The \"Content-Type\" header is required.",
        )),
        _ => Err(Problem::deckhand(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "HTTPUnsupportedMediaType",
            format!("Unexpected content type: {given}. Expected content types are: ['application/x-yaml']."),
        )),
    }
}

async fn read<S: Send + Sync>(request: Request, state: &S, family: Family) -> Result<Bytes, Problem> {
    Bytes::from_request(request, state).await.map_err(|rejection| {
        let rejection = rejection.into_response();
        if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
            too_large(family)
        } else {
            let message = "The request body could not be read.";
            Problem::framework(family, StatusCode::BAD_REQUEST, "HTTPBadRequest", message)
        }
    })
}

pub(super) fn too_large(family: Family) -> Problem {
    let message = "The request body is larger than this server takes.";
    Problem::framework(
        family,
        StatusCode::PAYLOAD_TOO_LARGE,
        "HTTPRequestEntityTooLarge",
        message,
    )
}

/// The parameters of a query in their order, repeated ones too.
#[derive(Debug)]
pub(super) struct Parameters(Vec<(String, String)>);

impl<S: Sync> axum::extract::FromRequestParts<S> for Parameters {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let query = parts.uri.query().unwrap_or_default();
        Ok(Self(form_urlencoded::parse(query.as_bytes()).into_owned().collect()))
    }
}

impl Parameters {
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// The last value of a parameter.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.iter()
            .filter(|(name, _)| *name == key)
            .map(|(_, value)| value)
            .last()
    }

    /// A truth value of a request to Shipyard, in any case; false when it is not given.
    pub(super) fn truth(&self, key: &str) -> Result<bool, Problem> {
        match self.get(key) {
            None => Ok(false),
            Some(value) if value.eq_ignore_ascii_case("true") => Ok(true),
            Some(value) if value.eq_ignore_ascii_case("false") => Ok(false),
            Some(value) => Err(Problem::shipyard(
                StatusCode::BAD_REQUEST,
                format!("Invalid {key} parameter"),
                format!("{key} must be true or false, not '{value}'"),
            )),
        }
    }
}

/// One YAML document, or several.
#[derive(Debug)]
pub(super) enum YamlReply {
    One(Value),
    /// An empty list is an empty body.
    Many(Vec<Value>),
}

impl IntoResponse for YamlReply {
    fn into_response(self) -> Response {
        let documents = match self {
            Self::One(document) => vec![document],
            Self::Many(documents) => documents,
        };
        let mut text = String::new();
        for document in &documents {
            text.push_str("---\n");
            text.push_str(&to_yaml(document));
            text.push_str("...\n");
        }
        ([(CONTENT_TYPE, YAML)], Body::from(text)).into_response()
    }
}

/// One JSON document.
#[derive(Debug)]
pub(super) struct JsonReply(pub(super) Value);

impl IntoResponse for JsonReply {
    fn into_response(self) -> Response {
        ([(CONTENT_TYPE, JSON)], Body::from(format!("{}\n", self.0))).into_response()
    }
}
