//! The log of a server, on standard error.

use std::io;

use tracing_subscriber::EnvFilter;

use crate::args::{LogFormat, LogLevel};

/// The client of Kubernetes reports every failed request, without its address and without a cause. Whoever sent the request says
/// more.
const QUIET: &str = "kube_client::client::builder=off";

/// Starts logging. Where a log was started before, as in tests, that one goes on.
pub(in crate::commands) fn start(format: LogFormat, level: LogLevel) {
    let filter = match level {
        LogLevel::Error => "error",
        LogLevel::Warn => "warn",
        LogLevel::Info => "info",
        LogLevel::Debug => "debug",
    };
    let builder = tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_env_filter(EnvFilter::new(format!("{filter},{QUIET}")))
        // Where standard error is closed there is nobody to complain to, and the attempt would panic.
        .log_internal_errors(false);
    let _ = match format {
        LogFormat::Plain => builder.with_target(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
}
