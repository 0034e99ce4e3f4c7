//! Bodies of answers and of requests.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use berth_documents::{Severity, Sources};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Frame, SizeHint};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::{failure::Failure, protobuf};

/// The body of an answer: whole, or as it comes.
#[derive(Debug)]
pub(crate) enum AnswerBody {
    Whole(Full<Bytes>),
    Stream(mpsc::Receiver<Bytes>),
}

impl AnswerBody {
    pub(super) fn whole(bytes: Bytes) -> Self {
        Self::Whole(Full::new(bytes))
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(body) => Pin::new(body).poll_frame(cx),
            Self::Stream(receiver) => receiver
                .poll_recv(cx)
                .map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(body) => body.is_end_stream(),
            Self::Stream(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(body) => body.size_hint(),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}

/// Reads JSON; protobuf where that is sent; YAML where it is neither.
pub(super) fn parse(bytes: &[u8]) -> Result<Value, Failure> {
    if protobuf::is_protobuf(bytes) {
        return protobuf::read(bytes)
            .ok_or_else(|| Failure::unsupported_media_type("application/json, application/yaml"));
    }
    match serde_json::from_slice(bytes) {
        Ok(value) => Ok(value),
        Err(error) => yaml(bytes).ok_or_else(|| {
            Failure::bad_request(format!(
                "the object provided is unrecognized: it is neither JSON nor YAML: {error}"
            ))
        }),
    }
}

/// One document without anything wrong in it.
fn yaml(bytes: &[u8]) -> Option<Value> {
    let mut sources = Sources::new();
    let id = sources.add("body", std::str::from_utf8(bytes).ok()?);
    let parsed = berth_documents::parse(&sources, id);
    match parsed.documents.as_slice() {
        [document]
            if parsed
                .diagnostics
                .iter()
                .all(|found| found.severity() != Severity::Error) =>
        {
            Some(document.root.to_json())
        }
        _ => None,
    }
}
