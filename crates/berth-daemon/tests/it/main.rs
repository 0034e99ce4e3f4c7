//! The daemon on simulated hosts.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of a test fails as the test does"
)]

mod crash;
mod life;
mod mishaps;
mod world;
