//! How much clients may ask for.

use std::time::Duration;

/// How much clients may ask of the server, on all its listeners together.
///
/// One address never has more than half of anything, whatever is said for it, so that one client that is broken or malicious does
/// not keep others out. The addresses of an IPv6 network of 64 bits count as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at a time. Fewer where the process may not open as many files.
    pub connections: usize,
    /// Connections at a time from one address.
    pub connections_per_address: usize,
    /// Event streams at a time. They stay open for hours, so they are not counted as connections.
    pub streams: usize,
    /// Event streams at a time for one address.
    pub streams_per_address: usize,
    /// For the TLS handshake, and again for the headers of each request, the wait for it included.
    pub read_timeout: Duration,
    /// For a request's body, beside the time that it takes at [`body_rate`](Self::body_rate).
    pub body_timeout: Duration,
    /// The fewest bytes a second at which a body may arrive.
    pub body_rate: u32,
    /// Bytes of all bodies that are being read or worked on. What has arrived counts, not what was announced.
    pub body_bytes: usize,
    /// The same for one address.
    pub body_bytes_per_address: usize,
    /// For a client that does not read its answer.
    pub write_timeout: Duration,
    /// For requests that have begun when the server is told to stop.
    pub shutdown_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1024,
            connections_per_address: 128,
            streams: 256,
            streams_per_address: 64,
            read_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(30),
            body_rate: 64 << 10,
            body_bytes: 256 << 20,
            body_bytes_per_address: 128 << 20,
            write_timeout: Duration::from_mins(1),
            shutdown_timeout: Duration::from_secs(10),
        }
    }
}

impl Limits {
    /// These limits, with no more than half of each total for one address. Totals may have been lowered by people and by
    /// the system; a server with one place alone still gives it to somebody.
    #[must_use]
    pub(crate) fn shared(self) -> Self {
        let share = |wanted: usize, total: usize| wanted.min((total / 2).max(1));
        Self {
            connections_per_address: share(self.connections_per_address, self.connections),
            streams_per_address: share(self.streams_per_address, self.streams),
            body_bytes_per_address: share(self.body_bytes_per_address, self.body_bytes),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_half_at_most() {
        assert_eq!(Limits::default().shared(), Limits::default());
        for (total, wanted, share) in [
            (1024, 128, 128),
            (100, 128, 50),
            (72, 128, 36),
            (5, 3, 2),
            (1, 1, 1),
            (0, 4, 1),
        ] {
            let limits = Limits {
                connections: total,
                connections_per_address: wanted,
                streams: total,
                streams_per_address: wanted,
                body_bytes: total,
                body_bytes_per_address: wanted,
                ..Limits::default()
            };
            let limits = limits.shared();
            let shares = [
                limits.connections_per_address,
                limits.streams_per_address,
                limits.body_bytes_per_address,
            ];
            assert_eq!(shares, [share; 3], "{wanted} of {total}");
        }
    }
}
