//! How long a search goes on: short in the test command, long in `cargo xtask campaign`.

use std::env;

/// Says how many processes each kill test kills.
pub const KILLS: &str = "BERTH_CAMPAIGN_KILLS";

/// How many processes to kill: what a campaign asks for, else `usual`.
pub fn kills(usual: usize) -> usize {
    let asked = env::var_os(KILLS).and_then(|text| text.to_str()?.parse().ok());
    asked.unwrap_or(usual)
}
