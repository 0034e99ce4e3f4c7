//! One set of scenarios for both kinds of clusters: the embedded API, and a real API server with real kubelets where they
//! can run. A difference between the two is a bug of the embedded API.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of a test fails as the test does"
)]

mod actions;
mod admission;
mod answers;
mod beside;
mod daemons;
mod interrupted;
mod kubelet;
mod kubelet_configs;
mod leaders;
mod node_daemon;
mod pool_life;
mod removal;
mod requests;
mod resources;
mod support;
mod templates;
mod upkeep;
