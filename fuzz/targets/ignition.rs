//! Ignition configs as text: any JSON is read or refused, and what is written reads back as the same config.
#![no_main]

use berth_fuzz::assert_translates;
use berth_ignition::{Finding, SpecVersion, file_contents, negotiate, parse, validate};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = negotiate(Some(text));
    }
    let Ok(json) = serde_json::from_slice::<Value>(data) else {
        return;
    };
    let parsed = parse(&json);
    if let Some(config) = &parsed.config {
        let _ = validate(config);
        for file in config.files() {
            let _ = file_contents(file);
        }
        let usable = !parsed.findings.iter().any(Finding::is_error);
        assert_translates(config, usable, &SpecVersion::ALL);
    }
    assert!(parsed.config.is_some() || parsed.findings.iter().any(Finding::is_error));
});
