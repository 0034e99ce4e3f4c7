//! The controllers on a real API server, and with a real kubelet where one can run.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of a test fails as the test does"
)]

mod admission;
mod daemons;
mod interrupted;
mod kubelet;
mod leaders;
mod pool_life;
mod resources;
mod support;
mod upkeep;
