//! The embedded API as its clients see it.
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "these are tests: helpers may fail them, and tell what did not run"
)]

mod ignition;
mod kube_rs;
mod kubectl;
mod policies;
mod program;
mod restart;
mod scenarios;
mod webhooks;
