//! How much clients may ask of a server.

use berth_listen::Limits;
use clap::Args;

/// Limits of listeners. Each server of a process has them for itself.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Connections at a time [default: 1024]
    #[arg(long = "max-connections", value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    connections: Option<u32>,

    /// Connections at a time from one address, at most half of all; more where clients share one, as behind a proxy [default:
    /// 128]
    #[arg(long = "max-connections-per-address", value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    connections_per_address: Option<u32>,

    /// Event streams at a time, of which one address may have a quarter [default: 256]
    #[arg(long = "max-streams", value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    streams: Option<u32>,

    /// Memory for request bodies that have not been answered yet, in MiB; one address may use half of it [default: 256, the
    /// webhook 32]
    #[arg(long = "max-body-memory", value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..))]
    body_memory: Option<u32>,
}

impl LimitArgs {
    /// These limits, with those that were typed in their place.
    pub(crate) fn over(&self, mut limits: Limits) -> Limits {
        let number = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        if let Some(connections) = self.connections {
            limits.connections = number(connections);
        }
        if let Some(connections) = self.connections_per_address {
            limits.connections_per_address = number(connections);
        }
        if let Some(streams) = self.streams {
            limits.streams = number(streams);
            limits.streams_per_address = limits.streams.div_ceil(4);
        }
        if let Some(mebibytes) = self.body_memory {
            limits.body_bytes = number(mebibytes).saturating_mul(1 << 20);
            limits.body_bytes_per_address = limits.body_bytes.div_ceil(2);
        }
        limits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_typed_changes() {
        assert_eq!(LimitArgs::default().over(Limits::default()), Limits::default());
        let typed = LimitArgs {
            connections: Some(7),
            connections_per_address: Some(6),
            streams: Some(5),
            body_memory: Some(3),
        };
        let expected = Limits {
            connections: 7,
            connections_per_address: 6,
            streams: 5,
            streams_per_address: 2,
            body_bytes: 3 << 20,
            body_bytes_per_address: 3 << 19,
            ..Limits::default()
        };
        assert_eq!(typed.over(Limits::default()), expected);
    }
}
