//! Where to listen.

use std::{io, net::SocketAddr, path::PathBuf, time::Duration};

use crate::{limits::Limits, tls::CertificateError};

/// Where to listen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListenOptions {
    /// The listener with TLS.
    pub tls: Option<TlsOptions>,
    /// The listener without. Whoever sees the traffic has the secrets in the answers, so this must be asked for.
    pub plain: Option<SocketAddr>,
    /// How much clients may ask of the server.
    pub limits: Limits,
}

/// A listener with TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsOptions {
    /// Where to listen; port 0 takes any free one.
    pub address: SocketAddr,
    /// The certificate and those that lead to its root, in PEM.
    pub certificate: PathBuf,
    /// Its private key, in PEM.
    pub key: PathBuf,
    /// Roots in PEM. With them, only clients are served that show a certificate which leads to one; read once.
    pub client_ca: Option<PathBuf>,
    /// How often to look for a new certificate.
    pub reload_every: Duration,
}

impl TlsOptions {
    /// Looks for a new certificate every five seconds, and serves every client.
    pub fn new(address: SocketAddr, certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        Self {
            address,
            certificate: certificate.into(),
            key: key.into(),
            client_ca: None,
            reload_every: Duration::from_secs(5),
        }
    }
}

/// These limits, with no more connections than there is room for if the process may open this many files.
#[must_use]
pub(crate) fn within(mut limits: Limits, open_files: usize) -> Limits {
    // Half, because a process may have two servers, and databases and files need descriptors too.
    let most = (open_files / 2).saturating_sub(RESERVED_FILES).max(1);
    if limits.connections.saturating_add(limits.streams) > most {
        limits.streams = limits.streams.min(most / 4);
        limits.connections = limits.connections.min((most - limits.streams).max(1));
    }
    limits
}

/// Descriptors that connections leave to everything else.
const RESERVED_FILES: usize = 32;

/// How many files this process may open, where the system says it.
pub(crate) fn open_files() -> Option<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Why the server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Neither listener was asked for.
    #[error("there is nothing to listen on: give an address for TLS, or one without")]
    Nowhere,
    /// The address is taken, not of this machine, or a port for root only.
    #[error("cannot listen on {address}{}", advice(.source))]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The certificate cannot be used.
    #[error("cannot serve TLS")]
    Certificate(#[source] CertificateError),
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "; another program listens there",
        io::ErrorKind::AddrNotAvailable => "; this machine does not have that address",
        io::ErrorKind::PermissionDenied => "; ports below 1024 need more rights",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_room_for_other_files() {
        for (files, connections, streams) in [
            (1_048_576, 1024, 256),
            (1024, 360, 120),
            (100, 14, 4),
            (10, 1, 0),
            (0, 1, 0),
        ] {
            let limits = within(Limits::default(), files);
            assert_eq!((limits.connections, limits.streams), (connections, streams), "{files}");
        }
        assert!(open_files().is_some_and(|files| files > 0), "the test machine is Linux");
    }
}
