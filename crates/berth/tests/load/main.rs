//! Load with everything that can go wrong around Berth, on a real API server: no label is removed that should stay, no outcome
//! is lost, and memory stays flat.
//!
//! ```text
//! people ─────────────────────────────────┐
//! commits, actions ──► 2 × berth serve ───┤
//! commits ──► folder ─► 2 × berth controller ──► proxy with storms ──► kube-apiserver ──► observer: checks every version
//! ```
//!
//! In the test command everything happens once. `cargo xtask campaign load` goes on for an hour.

// Marked as tests, so that helpers may unwrap too.
#[cfg(test)]
mod disturbance;
#[cfg(test)]
mod figures;
#[cfg(test)]
mod fleet;
#[cfg(test)]
mod ledger;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod observer;
#[cfg(test)]
mod people;
#[cfg(test)]
#[path = "../../../berth-store/tests/it/postgres_server.rs"]
mod postgres_server;
#[cfg(test)]
mod proxy;
#[cfg(test)]
mod random;
#[cfg(test)]
mod site;
#[cfg(test)]
mod traffic;
#[cfg(test)]
mod world;

/// Tells whoever watches a campaign; the test harness swallows it otherwise.
#[cfg(test)]
#[expect(
    clippy::print_stderr,
    reason = "whoever runs a campaign wants to see that it goes on"
)]
fn say(line: &str) {
    eprintln!("{line}");
}
