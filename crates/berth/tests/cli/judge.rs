//! What `ignition-validate` says of configs that the commands print.

use berth_ignition::{SpecVersion, parse};
use berth_testing::Ignition;
use serde_json::Value;

/// The newest version that the packaged program knows.
const VERSION: SpecVersion = SpecVersion::V3_3;

/// Fails unless Ignition takes the config. Without the program nothing can be compared, which is said and, where tools are
/// required, an error.
pub(crate) fn ignition_takes(name: &str, config: &Value) {
    let Some(ignition) = Ignition::for_test() else {
        return;
    };
    let config = parse(config)
        .usable()
        .unwrap_or_else(|findings| panic!("{name}: {findings:?}"));
    let text = config.to_version(VERSION).unwrap().to_string();
    let verdict = ignition.judge(&text).unwrap();
    assert!(verdict.accepted, "{name}: {verdict:?}");
}
