//! Admission reviews: one body in, one body out. What they mean is known to whoever answers them.

use std::{fmt, future::Future, pin::Pin, sync::Arc};

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::CONTENT_TYPE,
};

/// The most bytes of a review: two versions of an object, each as large as the API server takes.
const BODY_BYTES: usize = 8 << 20;

type Answer = Pin<Box<dyn Future<Output = Result<Vec<u8>, String>> + Send>>;

/// Answers admission reviews. Clones share everything.
#[derive(Clone)]
pub struct Reviews(Arc<dyn Fn(String, Vec<u8>) -> Answer + Send + Sync>);

impl fmt::Debug for Reviews {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reviews")
    }
}

impl Reviews {
    /// Answers with this function: path and body in, body or a sentence out.
    pub fn new<F>(answer: impl Fn(String, Vec<u8>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Vec<u8>, String>> + Send + 'static,
    {
        Self(Arc::new(move |path, body| Box::pin(answer(path, body))))
    }

    pub(crate) async fn respond(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let path = request.uri().path().to_owned();
        if path == "/healthz" {
            return reply(StatusCode::OK, "text/plain", b"ok\n".to_vec());
        }
        if request.method() != Method::POST {
            let text = b"an AdmissionReview is sent with POST\n".to_vec();
            return reply(StatusCode::METHOD_NOT_ALLOWED, "text/plain", text);
        }
        let body = match Limited::new(request.into_body(), BODY_BYTES).collect().await {
            Ok(body) => body.to_bytes().to_vec(),
            Err(error) => {
                let text = format!("the review cannot be read: {error}\n").into_bytes();
                return reply(StatusCode::BAD_REQUEST, "text/plain", text);
            }
        };
        match (self.0)(path, body).await {
            Ok(answer) => reply(StatusCode::OK, "application/json", answer),
            Err(problem) => {
                tracing::warn!(problem, "a review is not answered");
                reply(
                    StatusCode::BAD_REQUEST,
                    "text/plain",
                    format!("{problem}\n").into_bytes(),
                )
            }
        }
    }
}

fn reply(status: StatusCode, kind: &'static str, body: Vec<u8>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(kind));
    response
}
