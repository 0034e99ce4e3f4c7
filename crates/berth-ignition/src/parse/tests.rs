use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::Severity;

fn findings(json: &Value) -> Vec<String> {
    parse(json).findings.iter().map(ToString::to_string).collect()
}

#[test]
fn every_version_parses_and_is_remembered() {
    for version in SpecVersion::ALL {
        let parsed = parse(&json!({"ignition": {"version": version.as_str()}}));
        assert_eq!(parsed.findings, []);
        let config = parsed.config.unwrap();
        assert_eq!(config.written_in(), version);
        assert_eq!(config.as_v3_5().ignition.version, "3.5.0");
    }
}

#[test]
fn versions_that_are_not_supported_name_those_that_are() {
    let supported = "use one of 2.2.0, 3.0.0, 3.1.0, 3.2.0, 3.3.0, 3.4.0, 3.5.0";
    for version in ["3.6.0-experimental", "3.4.0-experimental", "3.6.0", "2.3.0", "1", ""] {
        let parsed = parse(&json!({"ignition": {"version": version}}));
        assert_eq!(parsed.config, None);
        assert_eq!(
            parsed.findings,
            [Finding::error(
                "$.ignition.version",
                format!("spec version `{version}` is not supported; {supported}")
            )]
        );
    }
    for json in [json!({}), json!(null), json!([1]), json!({"ignition": {"version": 3}})] {
        assert_eq!(
            findings(&json),
            [format!(
                "error at $.ignition.version: the config names no spec version; {supported}"
            )]
        );
    }
}

#[test]
fn unknown_keys_are_warnings_where_they_stand() {
    let parsed = parse(&json!({
        "ignition": {"version": "3.1.0", "x": 1},
        "storage": {"files": [{"path": "/a"}, {"path": "/b", "modes": 1}], "luks": []},
        "kernelArguments": {},
    }));
    let paths: Vec<_> = parsed
        .findings
        .iter()
        .map(|finding| (finding.severity, finding.path.as_str()))
        .collect();
    assert_eq!(
        paths,
        [
            (Severity::Warning, "$.ignition.x"),
            // Newer than the version: Ignition would pass over them too.
            (Severity::Warning, "$.kernelArguments"),
            (Severity::Warning, "$.storage.files.1.modes"),
            (Severity::Warning, "$.storage.luks"),
        ]
    );
    assert!(parsed.config.is_some());
}

#[test]
fn a_wrong_type_is_an_error_at_its_field() {
    assert_eq!(
        findings(&json!({
            "ignition": {"version": "3.4.0"},
            "storage": {"files": [{"path": "/a"}, {"path": "/b", "mode": "0644"}]},
        })),
        ["error at $.storage.files.1.mode: invalid type: string \"0644\", expected i64"]
    );
    assert_eq!(
        findings(&json!({"ignition": {"version": "3.4.0"}, "systemd": {"units": [{}]}})),
        ["error at $.systemd.units.0: missing field `name`"]
    );
}

#[test]
fn special_bits_of_old_versions_are_reported_and_dropped() {
    for (version, mode, warned) in [("3.3.0", 0o755, true), ("3.4.0", 0o4755, false)] {
        let parsed = parse(&json!({
            "ignition": {"version": version},
            "storage": {"files": [{"path": "/a", "mode": 0o4755}]},
        }));
        assert_eq!(!parsed.findings.is_empty(), warned);
        assert!(!parsed.findings.iter().any(Finding::is_error));
        assert_eq!(parsed.config.unwrap().files()[0].mode, Some(mode));
    }
}

#[test]
fn a_config_that_breaks_rules_is_given_but_not_usable() {
    let parsed = parse(&json!({
        "ignition": {"version": "3.4.0"},
        "storage": {"files": [{"path": "a"}]},
    }));
    assert!(parsed.config.is_some());
    assert_eq!(
        parsed.usable().unwrap_err(),
        [Finding::error("$.storage.files.0.path", "the path is not absolute")]
    );
}

/// Any JSON, but with the keys of configs, so that it gets somewhere.
fn any_json() -> impl Strategy<Value = Value> {
    let keys = prop::sample::select(&[
        "ignition",
        "version",
        "storage",
        "files",
        "links",
        "directories",
        "path",
        "contents",
        "source",
        "systemd",
        "units",
        "name",
        "dropins",
        "passwd",
        "users",
        "mode",
        "append",
        "disks",
        "partitions",
        "filesystem",
        "filesystems",
        "raid",
        "luks",
        "clevis",
        "networkd",
        "startMiB",
        "sizeMiB",
        "label",
        "target",
        "hard",
        "verification",
        "hash",
        "overwrite",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z/.:,;%=\\[\\]\n-]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(keys.clone().prop_map(str::to_owned), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn parsing_never_panics(
        mut json in any_json(),
        version in prop::sample::select(SpecVersion::ALL.as_slice()),
        named: bool,
    ) {
        if named && json.is_object() {
            json["ignition"] = json!({"version": version.as_str()});
        }
        let parsed = parse(&json);
        prop_assert!(parsed.config.is_some() || parsed.findings.iter().any(Finding::is_error));
        if let Some(config) = parsed.config {
            for target in SpecVersion::ALL {
                let _ = config.to_version(target);
            }
            let _ = crate::merge(&config, &config);
        }
    }
}
