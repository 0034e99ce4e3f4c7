//! Bodies and parameters: what comes in, and what goes out.

use axum::{
    body::{Body, Bytes},
    extract::{DefaultBodyLimit, FromRequest, Request},
    http::{StatusCode, header::CONTENT_TYPE, request::Parts},
    response::{IntoResponse, Response},
};
use berth_api::Documents;
use berth_documents::{decode, emit::to_yaml};
use berth_workflow::{is_same_parameter, misspelt_parameter};
use serde::Serialize;
use serde_json::Value;

use super::{
    endpoint::Family,
    problem::{JSON, Problem, YAML},
    state::ApiState,
};

/// A YAML body of a request to Deckhand; empty when there is none.
#[derive(Debug)]
pub(super) struct YamlBody(pub(super) String);

impl<S: Send + Sync> FromRequest<S> for YamlBody {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let bytes = read(request, state, Family::Deckhand).await?;
        text(&bytes).map(Self).map_err(|reason| {
            Problem::bad_request(format!(
                "The request body must be properly formatted YAML. Details: {reason}."
            ))
        })
    }
}

/// The documents in the body of a request to Shipyard.
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

/// A JSON body, not read yet: each service has its own words for one that is not there or not well formed.
#[derive(Debug)]
pub(super) struct JsonBody(Bytes);

impl FromRequest<ApiState> for JsonBody {
    type Rejection = Problem;

    async fn from_request(mut request: Request, state: &ApiState) -> Result<Self, Problem> {
        let most = state.limits.json_bytes.min(state.limits.body_bytes);
        DefaultBodyLimit::max(most).apply(&mut request);
        read(request, state, Family::Shipyard).await.map(Self)
    }
}

impl JsonBody {
    fn parse(&self) -> Option<Result<Value, serde_json::Error>> {
        (!self.0.is_empty()).then(|| parse_json(&self.0))
    }

    pub(super) fn shipyard(&self, path: &str) -> Result<Value, Problem> {
        let refuse =
            |title: &str, what: String| Problem::shipyard(StatusCode::BAD_REQUEST, title, format!("{path}: {what}"));
        match self.parse() {
            Some(Ok(value)) => Ok(value),
            Some(Err(error)) => Err(refuse(
                "JSON could not be decoded",
                format!("Invalid JSON in body: {error}"),
            )),
            None => Err(refuse(
                "Json body is required",
                "Bad input, no body provided".to_owned(),
            )),
        }
    }

    pub(super) fn drydock(&self) -> Result<Value, Problem> {
        let refuse = |what: String| Problem::drydock(StatusCode::BAD_REQUEST, what);
        match self.parse() {
            Some(Ok(value @ Value::Object(_))) => Ok(value),
            Some(Ok(_)) => Err(refuse("The body must be a JSON object".to_owned())),
            Some(Err(error)) => Err(refuse(format!("JSON could not be decoded: {error}"))),
            None => Err(refuse(
                "A JSON body with Content-Type application/json is required".to_owned(),
            )),
        }
    }

    pub(super) fn promenade(&self) -> Result<Value, Problem> {
        let refuse = |title: &str, what: String| Problem::shipyard(StatusCode::BAD_REQUEST, title, what);
        match self.parse() {
            Some(Ok(value)) => Ok(value),
            Some(Err(error)) => Err(refuse(
                "JSON could not be decoded",
                format!("Invalid JSON in body: {error}"),
            )),
            None => Err(refuse("Invalid Input Error", "Missing input: labels dict".to_owned())),
        }
    }
}

/// Reads JSON. A comma after the last item is not taken amiss: the blueprint's own example of a task has one.
fn parse_json(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice(bytes)
        .or_else(|error| serde_json::from_slice(&without_last_commas(bytes)).map_err(|_| error))
}

fn without_last_commas(bytes: &[u8]) -> Vec<u8> {
    let mut kept: Vec<u8> = Vec::with_capacity(bytes.len());
    let (mut in_text, mut is_escaped) = (false, false);
    for &byte in bytes {
        if in_text {
            in_text = is_escaped || byte != b'"';
            is_escaped = !is_escaped && byte == b'\\';
        } else if byte == b'"' {
            in_text = true;
        } else if matches!(byte, b'}' | b']') {
            let end = kept.iter().rposition(|byte| !byte.is_ascii_whitespace());
            if let Some(end) = end.filter(|end| kept.get(*end) == Some(&b',')) {
                kept.truncate(end);
            }
        }
        kept.push(byte);
    }
    kept
}

fn text(bytes: &Bytes) -> Result<String, String> {
    decode(bytes).map_err(|error| error.to_string())
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

    /// The last value of a parameter. How the words of its name are joined does not count.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.iter()
            .filter(|(name, _)| is_same_parameter(name, key))
            .map(|(_, value)| value)
            .last()
    }

    /// Refuses a parameter that is most likely a known one with a slip in it: what it should have prevented would happen. The
    /// error says which.
    pub(super) fn without_slips(&self, known: &[&str]) -> Result<(), String> {
        for (given, _) in self.iter() {
            if known.iter().any(|name| is_same_parameter(given, name)) {
                continue;
            }
            if let Some(meant) = misspelt_parameter(given, known.iter().copied()) {
                return Err(format!("The {given} parameter is not known; is {meant} meant?"));
            }
        }
        Ok(())
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

/// One YAML document.
#[derive(Debug)]
pub(super) struct YamlReply<T>(pub(super) T);

impl<T: Serialize> IntoResponse for YamlReply<T> {
    fn into_response(self) -> Response {
        yaml_response(std::slice::from_ref(&self.0))
    }
}

/// Several YAML documents. An empty list is an empty body.
#[derive(Debug)]
pub(super) struct DocumentsReply(pub(super) Documents);

impl IntoResponse for DocumentsReply {
    fn into_response(self) -> Response {
        yaml_response(&self.0.0)
    }
}

fn yaml_response<T: Serialize>(documents: &[T]) -> Response {
    let mut text = String::new();
    for document in documents {
        match serde_json::to_value(document) {
            Ok(document) => {
                text.push_str("---\n");
                text.push_str(&to_yaml(&document));
                text.push_str("...\n");
            }
            Err(error) => return unwritable(Family::Deckhand, &error),
        }
    }
    ([(CONTENT_TYPE, YAML)], Body::from(text)).into_response()
}

/// One JSON document. Its keys are sorted, which is a value's doing.
#[derive(Debug)]
pub(super) struct JsonReply<T>(pub(super) T);

impl<T: Serialize> IntoResponse for JsonReply<T> {
    fn into_response(self) -> Response {
        match serde_json::to_value(&self.0) {
            Ok(document) => ([(CONTENT_TYPE, JSON)], Body::from(format!("{document}\n"))).into_response(),
            Err(error) => unwritable(Family::Shipyard, &error),
        }
    }
}

fn unwritable(family: Family, error: &serde_json::Error) -> Response {
    tracing::error!(error = error as &dyn std::error::Error, "an answer cannot be written");
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    let message = "The answer cannot be written.";
    Problem::framework(family, status, "HTTPInternalServerError", message).into_response()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::parse_json;

    #[test]
    fn a_comma_too_many_is_forgiven_and_nothing_else() {
        let text = r#"{"a": [1, 2, ], "b": {"c": ",}",  "d\\": "\",]", },
        }"#;
        let expected = json!({"a": [1, 2], "b": {"c": ",}", "d\\": "\",]"}});
        assert_eq!(parse_json(text.as_bytes()).unwrap(), expected);
        for wrong in ["{", "[,]x", "{,,}", "[1,,]", "", ",", "{\"a\":,}", "\"", "]"] {
            assert!(parse_json(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
