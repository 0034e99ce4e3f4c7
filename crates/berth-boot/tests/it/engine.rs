//! What the real Ignition says of the configs, and what it writes.

use std::{fs, os::unix::fs::PermissionsExt as _};

use berth_ignition::{Config, SpecVersion, file_contents};
use berth_testing::Ignition;

/// As the engine at hand reads it.
fn text(config: &Config) -> String {
    config.to_version(SpecVersion::V3_3).unwrap().to_string()
}

pub(crate) fn validate(config: &Config) {
    if let Some(ignition) = Ignition::for_test() {
        let text = text(config);
        let verdict = ignition.judge(&text).unwrap();
        assert!(verdict.is_clean(), "{text}\n{verdict:?}");
    }
}

/// Lets the engine write the config into an empty root and compares every file with what the config says.
pub(crate) fn write_and_compare(config: &Config) {
    let Some(root) = Ignition::for_test().and_then(|ignition| ignition.write(&text(config)).unwrap()) else {
        return;
    };
    assert!(!config.files().is_empty());
    for file in config.files() {
        let path = root.path(&file.path);
        let written = fs::read(&path).unwrap();
        assert_eq!(written, file_contents(file).unwrap(), "{}", file.path);
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(i64::from(mode), file.mode.unwrap_or(0o644), "{}", file.path);
    }
    for piece in config.unit_texts() {
        let below = match piece.dropin {
            None => piece.unit.to_owned(),
            Some(name) => format!("{}.d/{name}", piece.unit),
        };
        let written = fs::read_to_string(root.path("etc/systemd/system").join(below)).unwrap();
        assert_eq!(written, piece.text);
    }
}
