//! Merging Ignition configs: all at once is pair by pair, an empty config changes nothing, and the result translates.
//!
//! The bytes are decisions from which a few configs with few names are made, so that their entries meet.
#![no_main]

use berth_fuzz::{Choices, assert_translates, config};
use berth_ignition::{Config, Finding, SpecVersion, merge, merge_all, parse, validate};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut choices = Choices::new(data);
    let mut configs: Vec<Config> = Vec::new();
    while !choices.is_empty() && configs.len() < 4 {
        let parsed = parse(&config(&mut choices));
        let usable = !parsed.findings.iter().any(Finding::is_error);
        if let Some(config) = parsed.config {
            // One version each, because reading and writing takes far longer than merging.
            assert_translates(&config, usable, &[choices.pick(&SpecVersion::ALL)]);
            // Ignition merges only what it would use.
            if usable {
                check_alone(&config);
                configs.push(config);
            }
        }
    }
    let merged = merge_all(&configs);
    let mut folded = Config::new();
    for config in &configs {
        folded = merge(&folded, config);
    }
    assert_eq!(merged, folded);
    let findings = validate(&merged);
    let usable = !findings.iter().any(Finding::is_error);
    assert_translates(&merged, usable, &[choices.pick(&SpecVersion::ALL)]);
    let duplicate = findings
        .iter()
        .find(|finding| finding.message.contains("more than once"));
    assert_eq!(duplicate, None);
});

fn check_alone(config: &Config) {
    let empty = Config::new();
    assert_eq!(merge(config, &empty).as_v3_5(), config.as_v3_5());
    assert_eq!(merge(&empty, config).as_v3_5(), config.as_v3_5());
}
