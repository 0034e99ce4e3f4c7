//! The log of a server, on standard error.

use std::io;

use tracing::Level;

use crate::args::{LogFormat, LogLevel};

/// Starts logging. Where a log was started before, as in tests, that one goes on.
pub(in crate::commands) fn start(format: LogFormat, level: LogLevel) {
    let level = match level {
        LogLevel::Error => Level::ERROR,
        LogLevel::Warn => Level::WARN,
        LogLevel::Info => Level::INFO,
        LogLevel::Debug => Level::DEBUG,
    };
    let builder = tracing_subscriber::fmt().with_writer(io::stderr).with_max_level(level);
    let _ = match format {
        LogFormat::Plain => builder.with_target(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
}
