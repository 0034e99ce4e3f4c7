//! Listeners: one implementation for everything that Berth serves.
//!
//! ```text
//! accept ─► places ─► TLS ─► HTTP/1.1 ─► guard ─► Service ─► answer
//!           (in all,         (deadlines)  (pages of       (body: rate and
//!            per address)                  other sites)    budget; streams)
//! ```
//!
//! The API, the Ignition server, the admission webhook and the health port implement [`Service`] and hand it to a
//! `Server`. Every limit is in [`Limits`]. Whoever exceeds one gets an answer that says which, where an answer is possible:
//! 503 with `Retry-After`, because machines that boot repeat their request after that and not after 429.
//!
//! Without the feature `listeners` there are connections alone, over whatever carries bytes: what fuzzing needs, without TLS.

#[cfg(feature = "listeners")]
mod accept;
mod address;
mod body;
mod connection;
mod guard;
mod limits;
#[cfg(feature = "listeners")]
mod options;
mod places;
mod refusal;
#[cfg(feature = "listeners")]
mod server;
mod service;
#[cfg(feature = "listeners")]
mod socket;
#[cfg(feature = "listeners")]
mod stall;
#[cfg(feature = "listeners")]
mod tls;

pub use address::network_of;
pub use body::{BodyError, RequestBody};
pub use connection::serve_stream;
pub use limits::Limits;
#[cfg(feature = "listeners")]
pub use options::{ListenError, ListenOptions, TlsOptions};
pub use places::Usage;
#[cfg(feature = "listeners")]
pub use server::Server;
pub use service::{Callers, EventStream, Service};
#[cfg(feature = "listeners")]
pub use tls::{CertificateError, ReloadingCertificate};
