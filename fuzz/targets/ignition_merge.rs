//! Merging Ignition configs: all at once is pair by pair, an empty config changes nothing, and the result translates.
//!
//! The bytes are decisions from which a few configs with few names are made, so that their entries meet.
#![no_main]

use berth_fuzz::{Choices, assert_translates, config, drop_empty};
use berth_ignition::{Config, Finding, SpecVersion, merge, merge_all, parse, types, validate};
use libfuzzer_sys::fuzz_target;
use serde::Deserialize as _;
use serde_json::Value;

/// More configs meet by no other rules.
const CONFIGS: usize = 3;

/// More decisions make larger configs, and nothing that smaller ones do not have.
const DECISIONS: usize = 128;

fuzz_target!(|data: &[u8]| {
    let mut choices = Choices::new(&data[..data.len().min(DECISIONS)]);
    // Reading and writing take far longer than merging: of the configs and what becomes of them one goes through them, or none.
    let (written, version) = (choices.below(8 * CONFIGS), choices.pick(&SpecVersion::ALL));
    let mut configs: Vec<Config> = Vec::new();
    for number in 0..CONFIGS {
        if choices.is_empty() {
            break;
        }
        let json = config(&mut choices);
        let (config, findings) = if number == written {
            let parsed = parse(&json);
            (parsed.config, parsed.findings)
        } else {
            newest(json)
        };
        let usable = !findings.iter().any(Finding::is_error);
        let Some(config) = config else { continue };
        if number == written {
            assert_translates(&config, usable, &[version]);
        }
        // Ignition merges only what it would use.
        if usable {
            configs.push(config);
        }
    }
    let merged = merge_all(&configs);
    // Beginning with an empty config, which changes nothing, as one at the end does.
    let mut folded = Config::new();
    for config in &configs {
        folded = merge(&folded, config);
    }
    folded = merge(&folded, &Config::new());
    assert_eq!(merged, folded);
    if let [alone] = configs.as_slice() {
        assert_eq!(merged.as_v3_5(), alone.as_v3_5());
    }
    let findings = validate(&merged);
    if written == CONFIGS {
        let usable = !findings.iter().any(Finding::is_error);
        assert_translates(&merged, usable, &[version]);
    }
    let duplicate = findings
        .iter()
        .find(|finding| finding.message.contains("more than once"));
    assert_eq!(duplicate, None);
});

/// The config in the newest version, whatever version it names, without the ways through older ones.
fn newest(mut json: Value) -> (Option<Config>, Vec<Finding>) {
    drop_empty(&mut json);
    let Ok(config) = types::Config::deserialize(&json) else {
        return (None, Vec::new());
    };
    let config = Config::from_v3_5(config);
    let findings = validate(&config);
    (Some(config), findings)
}
