//! Answers that the listener gives itself.

use bytes::Bytes;
use http::{
    HeaderValue, Response, StatusCode,
    header::{CONNECTION, CONTENT_TYPE, RETRY_AFTER},
};
use http_body_util::Full;
use serde_json::json;

/// Why a request is not passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The server has no place for another connection.
    Connections,
    /// This address has as many connections as it may have.
    ConnectionsOfAddress,
    /// The server has no place for another event stream.
    Streams,
    /// This address has as many event streams as it may have.
    StreamsOfAddress,
    /// There is no room for another body.
    BodyBytes,
    /// The body arrives too slowly.
    SlowBody,
    /// There is no `Host`, or more than one.
    NoHost,
    /// `Host` names another machine.
    ForeignHost,
    /// A browser says that another site's page asks.
    ForeignSite,
}

/// Seconds after which there may be a place again.
const RETRY_SECONDS: &str = "2";

impl Refusal {
    const fn status(self) -> StatusCode {
        match self {
            Self::Connections
            | Self::ConnectionsOfAddress
            | Self::Streams
            | Self::StreamsOfAddress
            | Self::BodyBytes => StatusCode::SERVICE_UNAVAILABLE,
            Self::SlowBody => StatusCode::REQUEST_TIMEOUT,
            Self::NoHost => StatusCode::BAD_REQUEST,
            Self::ForeignHost => StatusCode::MISDIRECTED_REQUEST,
            Self::ForeignSite => StatusCode::FORBIDDEN,
        }
    }

    /// A word for programs, which never changes.
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::Connections => "TooManyConnections",
            Self::ConnectionsOfAddress => "TooManyConnectionsFromAddress",
            Self::Streams => "TooManyStreams",
            Self::StreamsOfAddress => "TooManyStreamsFromAddress",
            Self::BodyBytes => "TooManyBytesInFlight",
            Self::SlowBody => "SlowRequestBody",
            Self::NoHost => "HostRequired",
            Self::ForeignHost => "ForeignHost",
            Self::ForeignSite => "ForeignSite",
        }
    }

    pub(crate) const fn message(self) -> &'static str {
        match self {
            Self::Connections => "The server has as many connections as it takes; try again later.",
            Self::ConnectionsOfAddress => {
                "Your address has as many connections as the server takes from one address; close some, or try again later."
            }
            Self::Streams => "The server has as many event streams as it takes; try again later.",
            Self::StreamsOfAddress => {
                "Your address has as many event streams as the server takes from one address; close some, or try again later."
            }
            Self::BodyBytes => "The server is reading as many request bodies as it has memory for; try again later.",
            Self::SlowBody => "The request body arrived too slowly.",
            Self::NoHost => "The request must have exactly one Host header.",
            Self::ForeignHost => {
                "This server does not authenticate callers, so it answers only requests for localhost or a loopback address; the \
                 Host header names another host."
            }
            Self::ForeignSite => {
                "This server does not authenticate callers, so it does not answer requests that pages of other sites make."
            }
        }
    }

    const fn may_be_repeated(self) -> bool {
        matches!(self.status(), StatusCode::SERVICE_UNAVAILABLE)
    }

    /// In the form that errors of the API have, which its clients know how to show.
    fn body(self) -> String {
        let status = self.status();
        let line = format!("{} {}", status.as_u16(), status.canonical_reason().unwrap_or_default());
        let document = json!({
            "kind": "Status",
            "apiVersion": "v1.0",
            "metadata": {},
            "status": "Failure",
            "message": self.message(),
            "reason": self.reason(),
            "code": line,
            "retry": self.may_be_repeated(),
        });
        format!("{document}\n")
    }

    /// The answer to a request. The connection ends with it.
    pub(crate) fn response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(Bytes::from(self.body())));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        if self.may_be_repeated() {
            headers.insert(RETRY_AFTER, HeaderValue::from_static(RETRY_SECONDS));
        }
        response
    }

    /// The answer to a client whose request is not read.
    #[cfg(feature = "listeners")]
    pub(crate) fn bytes(self) -> Vec<u8> {
        use std::fmt::Write as _;

        let (status, body) = (self.status(), self.body());
        let mut text = format!(
            "HTTP/1.1 {} {}\r\ncontent-type: application/json\r\nconnection: close\r\n",
            status.as_u16(),
            status.canonical_reason().unwrap_or_default()
        );
        if self.may_be_repeated() {
            // Writing to a string cannot fail.
            let _ = write!(text, "retry-after: {RETRY_SECONDS}\r\n");
        }
        let _ = write!(text, "content-length: {}\r\n\r\n{body}", body.len());
        text.into_bytes()
    }
}
