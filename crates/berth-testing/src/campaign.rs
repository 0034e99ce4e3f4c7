//! How long a search goes on: short in the test command, long in `cargo xtask campaign`.

use std::{env, path::PathBuf, time::Duration};

/// Says how many processes each kill test kills.
pub const KILLS: &str = "BERTH_CAMPAIGN_KILLS";

/// Says for how many minutes the load test goes on.
pub const LOAD_MINUTES: &str = "BERTH_CAMPAIGN_LOAD_MINUTES";

/// Names the file that the load test writes its figures to.
pub const LOAD_REPORT: &str = "BERTH_CAMPAIGN_LOAD_REPORT";

/// The seed of a load test that is to be repeated.
pub const LOAD_SEED: &str = "BERTH_CAMPAIGN_LOAD_SEED";

/// How many processes to kill: what a campaign asks for, else `usual`.
pub fn kills(usual: usize) -> usize {
    number(KILLS).unwrap_or(usual)
}

/// For how long the load test goes on, where a campaign asks for it.
pub fn load_time() -> Option<Duration> {
    number(LOAD_MINUTES).map(Duration::from_mins)
}

/// Where the load test writes its figures, where a campaign asks for them.
pub fn load_report() -> Option<PathBuf> {
    env::var_os(LOAD_REPORT).map(PathBuf::from)
}

/// The seed of the load test, where somebody repeats one.
pub fn load_seed() -> Option<u64> {
    number(LOAD_SEED)
}

fn number<T: std::str::FromStr>(variable: &str) -> Option<T> {
    env::var_os(variable).and_then(|text| text.to_str()?.parse().ok())
}
