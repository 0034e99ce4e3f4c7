//! The engine on the embedded API and on a real one: whatever happens, every node ends as declared with one outcome.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a helper of a test fails as the test does"
)]

mod brake;
mod faults;
mod lease;
mod owned;
mod policies;
mod processes;
mod real;
mod scenarios;
mod submit;
mod together;
mod traffic;
mod world;

#[path = "../../../berth-store/tests/it/postgres_server.rs"]
mod postgres_server;
