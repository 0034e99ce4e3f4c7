//! Answers that say no: always why, and what to do.

use std::borrow::Cow;

use bytes::Bytes;
use http::{
    HeaderName, HeaderValue, Response, StatusCode,
    header::{ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE},
};
use http_body_util::Full;
use serde_json::json;

/// The type of every body.
pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// What goes wrong for one request.
#[derive(Debug)]
pub(crate) struct IgnitionProblem {
    pub(crate) status: StatusCode,
    /// A word for programs, which never changes.
    pub(crate) code: &'static str,
    /// Why, for people.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) hint: Cow<'static, str>,
    header: Option<(HeaderName, HeaderValue)>,
}

impl IgnitionProblem {
    pub(crate) fn new(
        status: StatusCode,
        code: &'static str,
        message: impl Into<String>,
        hint: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            hint: hint.into(),
            header: None,
        }
    }

    pub(crate) fn method_not_allowed() -> Self {
        Self {
            header: Some((ALLOW, HeaderValue::from_static("GET, HEAD"))),
            ..Self::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "method-not-allowed",
                "configs can only be read",
                "use GET or HEAD",
            )
        }
    }

    /// The same question will be answered later. Ignition repeats it on its own.
    pub(crate) fn later(
        code: &'static str,
        message: impl Into<String>,
        hint: impl Into<Cow<'static, str>>,
        seconds: u32,
    ) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message, hint).retry_after(seconds)
    }

    pub(crate) fn retry_after(mut self, seconds: u32) -> Self {
        self.header = Some((RETRY_AFTER, HeaderValue::from(seconds)));
        self
    }

    /// Asks for a token.
    pub(crate) fn unauthorized(
        code: &'static str,
        message: impl Into<String>,
        hint: impl Into<Cow<'static, str>>,
        challenge: &'static str,
    ) -> Self {
        Self {
            header: Some((WWW_AUTHENTICATE, HeaderValue::from_static(challenge))),
            ..Self::new(StatusCode::UNAUTHORIZED, code, message, hint)
        }
    }

    /// The response; for HEAD only its headers.
    pub(crate) fn response(self, is_head: bool) -> Response<Full<Bytes>> {
        let body = json!({"error": self.code, "message": self.message, "hint": self.hint});
        let mut response = json_response(self.status, &body, is_head);
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

/// A small JSON answer that nobody shall keep.
pub(crate) fn json_response(status: StatusCode, body: &serde_json::Value, is_head: bool) -> Response<Full<Bytes>> {
    let mut body = body.to_string();
    body.push('\n');
    let length = HeaderValue::from(body.len());
    let body = if is_head { Bytes::new() } else { Bytes::from(body) };
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, JSON);
    headers.insert(CONTENT_LENGTH, length);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
