//! The webhook over HTTP: one review in, one answer out.

use std::net::SocketAddr;

use berth_decide::Chain;
use berth_listen::{Callers, Limits, RequestBody, Service};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{
    Method, Request, Response, StatusCode,
    body::Bytes,
    header::{CONTENT_TYPE, HeaderMap, HeaderValue},
};

use super::Webhook;

/// The most bytes of a review: two versions of an object. etcd takes one and a half megabytes for each.
const BODY_BYTES: usize = 4 << 20;

impl Webhook {
    /// How much API servers may ask for. Reviews of Nodes have some ten kilobytes; what all of them take stays far below the memory
    /// that the controllers may have.
    pub fn limits() -> Limits {
        Limits {
            body_bytes: 4 * BODY_BYTES,
            body_bytes_per_address: 2 * BODY_BYTES,
            ..Limits::default()
        }
    }
}

impl Service for Webhook {
    type Body = Full<Bytes>;

    /// Over TLS, and in JSON, which no page can send without asking first: there is nobody to keep out.
    fn callers(&self) -> Callers {
        Callers::Known
    }

    async fn answer(&self, _: SocketAddr, request: Request<RequestBody>) -> Response<Full<Bytes>> {
        let path = request.uri().path().to_owned();
        if path == "/healthz" {
            return reply(StatusCode::OK, "text/plain", "ok\n");
        }
        if request.method() != Method::POST {
            let text = "an AdmissionReview is sent with POST\n";
            return reply(StatusCode::METHOD_NOT_ALLOWED, "text/plain", text);
        }
        if !is_json(request.headers()) {
            let text = "an AdmissionReview has the Content-Type application/json\n";
            return reply(StatusCode::UNSUPPORTED_MEDIA_TYPE, "text/plain", text);
        }
        let body = match Limited::new(request.into_body(), BODY_BYTES).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) => {
                let text = format!("the review cannot be read: {error}\n");
                return reply(StatusCode::BAD_REQUEST, "text/plain", text);
            }
        };
        match self.answer(&path, &body).await {
            Ok(answer) => reply(StatusCode::OK, "application/json", answer),
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "a review is not answered");
                reply(StatusCode::BAD_REQUEST, "text/plain", format!("{}\n", Chain(&error)))
            }
        }
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).map(str::trim);
    kind.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"))
}

fn reply(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
mod tests {
    use berth_labels::Flavour;
    use berth_listen::serve_stream;
    use http::Response;
    use kube::Client;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio_util::task::AbortOnDropHandle;

    use super::*;

    /// Asks a webhook whose cluster does not answer.
    async fn ask(head: &str, body: &[u8]) -> String {
        let silent = tower::service_fn(|_: http::Request<kube::client::Body>| async {
            Err::<Response<kube::client::Body>, _>(std::io::Error::other("nobody is there"))
        });
        let (webhook, watching) = Webhook::new(&Client::new(silent, "default"), || Flavour::Upstream);
        let _watching = AbortOnDropHandle::new(tokio::spawn(watching));
        let (mut client, server) = tokio::io::duplex(64 << 10);
        let peer = SocketAddr::from(([192, 0, 2, 1], 1));
        tokio::spawn(serve_stream(server, peer, webhook, Webhook::limits()));
        let head = format!("{head}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
        client.write_all(head.as_bytes()).await.unwrap();
        // What is refused need not be read.
        let _ = client.write_all(body).await;
        let mut answer = String::new();
        let _ = client.read_to_string(&mut answer).await;
        answer
    }

    /// Whoever runs the watches gets to know, and ends the program.
    #[tokio::test]
    async fn watches_of_the_webhook_that_panic_are_not_hidden() {
        type Answer = Result<Response<kube::client::Body>, tower::BoxError>;
        let broken = tower::service_fn(|_: http::Request<kube::client::Body>| {
            futures::future::lazy(|_| -> Answer { panic!("as a test does") })
        });
        let (webhook, watching) = Webhook::new(&Client::new(broken, "default"), || Flavour::Upstream);
        let ended = tokio::spawn(watching).await;
        assert!(ended.is_err_and(|error| error.is_panic()));
        let review = br#"{"request": {"kind": {"group": "", "kind": "Node"}, "object": {},
            "userInfo": {"groups": ["system:nodes"]}}}"#;
        let answer = webhook.answer("/admission/validate", review).await;
        assert!(answer.is_err(), "nothing is answered without them");
    }

    #[tokio::test]
    async fn only_reviews_in_json_are_answered() {
        const JSON: &str = "POST /admission/validate HTTP/1.1\r\nContent-Type: application/json";
        let review = br#"{"request": {"uid": "1", "kind": {"kind": "Pod"}}}"#;
        for (head, body, status) in [
            (JSON, review.as_slice(), "200"),
            (
                "POST /admission/validate HTTP/1.1\r\nContent-Type: application/json; charset=utf-8",
                review,
                "200",
            ),
            (
                "POST /admission/validate HTTP/1.1\r\nContent-Type: text/plain",
                review,
                "415",
            ),
            (
                "POST /admission/validate HTTP/1.1\r\nContent-Type: text/plain; application/json",
                review,
                "415",
            ),
            ("POST /admission/validate HTTP/1.1\r\nX: y", review, "415"),
            (
                "POST /elsewhere HTTP/1.1\r\nContent-Type: application/json",
                review,
                "400",
            ),
            (JSON, b"{", "400"),
            (JSON, &vec![b' '; BODY_BYTES + 1], "400"),
            ("GET /admission/validate HTTP/1.1", b"", "405"),
            ("GET /healthz HTTP/1.1", b"", "200"),
        ] {
            let answer = ask(head, body).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{head}: {answer}");
        }
    }
}
