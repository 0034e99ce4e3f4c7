//! What answers requests.

use std::{error::Error as StdError, future::Future, net::SocketAddr};

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Body;

use crate::body::RequestBody;

/// Answers requests. Clones share everything: each connection gets one.
pub trait Service: Clone + Send + Sync + 'static {
    /// The body of answers.
    type Body: Body<Data = Bytes, Error: Into<Box<dyn StdError + Send + Sync>>> + Send + 'static;

    /// Who may ask. A browser could be made to ask in the place of whoever is not known by more than where they are.
    fn callers(&self) -> Callers;

    /// Answers one request from this address.
    fn answer(
        &self,
        peer: SocketAddr,
        request: Request<RequestBody>,
    ) -> impl Future<Output = Response<Self::Body>> + Send;
}

/// Marks an answer, in its extensions, as a stream that stays open. It is counted apart from connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventStream;

/// Who may ask a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callers {
    /// Those who show something that the page of another site does not have, such as a token.
    Known,
    /// Whoever is on this machine. Requests that a browser marks as another site's are refused, and over loopback those whose `Host`
    /// is neither `localhost` nor a loopback address (DNS rebinding).
    Local,
    /// Machines, and whoever else can reach the server. As for [`Local`](Self::Local), but `Host` may be any address, because
    /// what comes over loopback may have begun elsewhere: in a virtual machine, or behind a forwarded port.
    Anybody,
}
