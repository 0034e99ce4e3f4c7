//! What holds for a config in every version it can be written in.

use berth_ignition::{Config, Finding, SpecVersion, parse};
use serde_json::Value;

/// Writes a config in these versions and reads it back. A config that Ignition would use stays one.
pub fn assert_translates(config: &Config, usable: bool, versions: &[SpecVersion]) {
    for &version in versions {
        let Ok(json) = config.to_version(version) else {
            continue;
        };
        assert_eq!(json["ignition"]["version"], version.as_str());
        let read = parse(&json);
        let Some(again) = &read.config else {
            // 2.2 can say where a filesystem is mounted only by a name, which is not read back.
            assert_eq!(version, SpecVersion::V2_2, "{json}\n{:?}", read.findings);
            continue;
        };
        if !usable {
            continue;
        }
        let wrong =
            |finding: &&Finding| finding.is_error() || finding.message.ends_with("is unknown and has no effect");
        let wrong: Vec<_> = read.findings.iter().filter(wrong).collect();
        assert!(wrong.is_empty(), "{version}: {wrong:?}\n{json}");
        assert_eq!(again.to_version(version).as_ref(), Ok(&json), "{version}");
        if version > SpecVersion::V2_2 {
            assert_eq!(meaning(again), meaning(config), "{version}: {json}");
        }
    }
}

/// The config without what means the same when it is left out: a step down may drop that.
fn meaning(config: &Config) -> Option<Value> {
    let mut json = config.to_version(SpecVersion::LATEST).ok()?;
    drop_defaults(&mut json);
    Some(json)
}

fn drop_defaults(json: &mut Value) {
    match json {
        Value::Object(members) => {
            members.values_mut().for_each(drop_defaults);
            members.retain(|key, value| match value {
                Value::Null => false,
                Value::Bool(value) => *value != (key == "shouldExist"),
                Value::String(text) => !text.is_empty(),
                Value::Array(elements) => !elements.is_empty(),
                Value::Object(members) => !members.is_empty(),
                Value::Number(_) => true,
            });
        }
        Value::Array(elements) => elements.iter_mut().for_each(drop_defaults),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
