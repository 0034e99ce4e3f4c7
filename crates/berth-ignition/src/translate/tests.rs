use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{parse, strategy};

fn config(json: &Value) -> Config {
    parse(json).usable().unwrap()
}

fn newest(mut json: Value) -> Config {
    json["ignition"]["version"] = "3.5.0".into();
    config(&json)
}

#[test]
fn every_version_can_be_reached_from_the_newest() {
    assert_eq!(reachable(SpecVersion::LATEST), SpecVersion::ALL);
    assert_eq!(reachable(SpecVersion::V3_0), [SpecVersion::V2_2, SpecVersion::V3_0]);
    assert_eq!(reachable(SpecVersion::V2_2), [SpecVersion::V2_2]);
}

#[test]
fn the_steps_form_one_chain_through_all_versions() {
    for (newer, older, _) in STEPS {
        assert!(older < newer);
    }
    let route = route(SpecVersion::LATEST, SpecVersion::V2_2).unwrap();
    assert_eq!(route.len(), SpecVersion::ALL.len() - 1);
}

/// A volume with further fields.
fn luks(fields: Value) -> Value {
    let mut config = json!({"ignition": {}, "storage": {"luks": [{"name": "a", "device": "/dev/a"}]}});
    if let Value::Object(fields) = fields {
        for (name, value) in fields {
            config["storage"]["luks"][0][name] = value;
        }
    }
    config
}

fn file(contents: Value) -> Value {
    let mut config = json!({"ignition": {}, "storage": {"files": [{"path": "/a"}]}});
    config["storage"]["files"][0]["contents"] = contents;
    config
}

/// Each field can be written since its version, and is refused by name below it.
fn check_refusals<const N: usize>(table: [(Value, SpecVersion, &str); N]) {
    for (json, since, field) in table {
        let config = newest(json);
        for target in SpecVersion::ALL {
            match config.to_version(target) {
                Ok(json) => {
                    assert!(target >= since, "{field} was lost in {target}");
                    assert_eq!(json["ignition"]["version"], target.as_str());
                    assert_eq!(parse(&json).findings, [], "{json}");
                }
                Err(error) => {
                    assert!(target < since, "{error}");
                    let message = error.to_string();
                    assert!(message.starts_with(&format!("{field} ")), "{message}");
                    assert!(message.contains(target.as_str()), "{message}");
                    if let TranslateError::FieldLost { needs, .. } = error {
                        assert_eq!(needs, since);
                    }
                }
            }
        }
    }
}

#[test]
fn what_came_with_3_4_and_3_5_is_refused_below() {
    check_refusals([
        (
            luks(json!({"cex": {"enabled": true}})),
            SpecVersion::V3_5,
            "$.storage.luks.0.cex",
        ),
        (
            luks(json!({"discard": true})),
            SpecVersion::V3_4,
            "$.storage.luks.0.discard",
        ),
        (
            luks(json!({"openOptions": ["x"]})),
            SpecVersion::V3_4,
            "$.storage.luks.0.openOptions",
        ),
        (
            luks(json!({"clevis": {"tang": [{"url": "http://x", "thumbprint": "y", "advertisement": "{}"}]}})),
            SpecVersion::V3_4,
            "$.storage.luks.0.clevis.tang.0.advertisement",
        ),
        (
            file(json!({"source": "arn:aws:s3:::bucket/key"})),
            SpecVersion::V3_4,
            "$.storage.files.0.contents.source",
        ),
        (
            json!({"ignition": {}, "storage": {"files": [{"path": "/a", "mode": 0o4755}]}}),
            SpecVersion::V3_4,
            "$.storage.files.0.mode",
        ),
        (
            json!({"ignition": {}, "storage": {"directories": [{"path": "/b"}, {"path": "/a", "mode": 0o1777}]}}),
            SpecVersion::V3_4,
            "$.storage.directories.1.mode",
        ),
    ]);
}

#[test]
fn what_came_before_3_4_is_refused_below() {
    check_refusals([
        (
            json!({"ignition": {}, "kernelArguments": {"shouldExist": ["a"]}}),
            SpecVersion::V3_3,
            "$.kernelArguments",
        ),
        (
            json!({"ignition": {}, "storage": {"filesystems": [{"device": "/dev/a", "format": "none"}]}}),
            SpecVersion::V3_3,
            "$.storage.filesystems.0.format",
        ),
        (luks(json!({})), SpecVersion::V3_2, "$.storage.luks"),
        (
            json!({"ignition": {}, "passwd": {"users": [{"name": "a", "shouldExist": false}]}}),
            SpecVersion::V3_2,
            "$.passwd.users.0.shouldExist",
        ),
        (
            json!({"ignition": {}, "passwd": {"groups": [{"name": "a", "shouldExist": false}]}}),
            SpecVersion::V3_2,
            "$.passwd.groups.0.shouldExist",
        ),
        (
            json!({"ignition": {}, "storage": {"disks": [{"device": "/dev/a", "partitions": [{"number": 1, "resize": true}]}]}}),
            SpecVersion::V3_2,
            "$.storage.disks.0.partitions.0.resize",
        ),
        (
            file(json!({"source": "gs://bucket/key"})),
            SpecVersion::V3_2,
            "$.storage.files.0.contents.source",
        ),
        (
            json!({"ignition": {"proxy": {"httpProxy": "http://x"}}}),
            SpecVersion::V3_1,
            "$.ignition.proxy",
        ),
        (
            file(json!({"source": "http://x", "httpHeaders": [{"name": "a", "value": "b"}]})),
            SpecVersion::V3_1,
            "$.storage.files.0.contents.httpHeaders",
        ),
        (
            file(json!({"source": "data:,", "verification": {"hash": format!("sha256-{}", "a".repeat(64))}})),
            SpecVersion::V3_1,
            "$.storage.files.0.contents.verification.hash",
        ),
        (
            json!({"ignition": {"config": {"merge": [{"source": "http://x", "compression": "gzip"}]}}}),
            SpecVersion::V3_1,
            "$.ignition.config.merge.0.compression",
        ),
        (
            json!({"ignition": {}, "storage": {"filesystems": [{"device": "/dev/a", "format": "ext4", "mountOptions": ["x"]}]}}),
            SpecVersion::V3_1,
            "$.storage.filesystems.0.mountOptions",
        ),
        (
            json!({"ignition": {}, "storage": {"disks": [{"device": "/dev/a", "partitions": [{"number": 1, "sizeMiB": 5}]}]}}),
            SpecVersion::V3_0,
            "$.storage.disks.0.partitions.0.sizeMiB",
        ),
        (
            json!({"ignition": {}, "storage": {"files": [{"path": "/a"}]}}),
            SpecVersion::V3_0,
            "$.storage.files.0",
        ),
    ]);
}

#[test]
fn new_fields_at_their_default_are_no_loss() {
    let config = newest(json!({
        "ignition": {},
        "passwd": {"users": [{"name": "core", "shouldExist": true}]},
        "storage": {"disks": [{"device": "/dev/a", "partitions": [{"number": 1, "resize": false}]}], "luks": []},
        "kernelArguments": {"shouldExist": []},
    }));
    assert_eq!(
        config.to_version(SpecVersion::V3_0).unwrap(),
        json!({
            "ignition": {"version": "3.0.0"},
            "passwd": {"users": [{"name": "core"}]},
            "storage": {"disks": [{"device": "/dev/a", "partitions": [{"number": 1}]}]},
        })
    );
}

#[test]
fn an_invalid_config_is_not_written() {
    let mut config = Config::new();
    config.set_file(crate::types::File::new("a".to_owned()));
    assert_eq!(
        config.to_version(SpecVersion::V3_2).unwrap_err().to_string(),
        "$.storage.files.0.path cannot be written in spec 3.2.0: the path is not absolute"
    );
}

fn v2(mut json: Value) -> Value {
    json["ignition"]["version"] = "2.2.0".into();
    json
}

fn v2_files(files: Value) -> Value {
    let mut config = json!({"ignition": {}});
    config["storage"]["files"] = files;
    v2(config)
}

fn body(config: &Config) -> Value {
    let mut json = config.to_version(SpecVersion::LATEST).unwrap();
    json.as_object_mut().unwrap().remove("ignition");
    json
}

#[test]
fn from_v2_the_last_file_wins_and_appends_gather() {
    let config = config(&v2_files(json!([
        {"filesystem": "root", "path": "/a", "contents": {"source": "data:,1"}},
        {"filesystem": "root", "path": "/b", "mode": 384, "overwrite": false, "contents": {"source": "data:,2"}},
        {"filesystem": "root", "path": "/a", "append": true, "contents": {"source": "data:,lost"}},
        {"filesystem": "root", "path": "/a", "contents": {"source": "data:,3", "compression": "gzip"}},
        {"filesystem": "root", "path": "/a", "append": true, "contents": {"source": "data:,4"}},
        {"filesystem": "root", "path": "/c", "append": true, "contents": {"source": "data:,5"}},
    ])));
    assert_eq!(
        body(&config),
        json!({"storage": {"files": [
            {"path": "/b", "mode": 384, "overwrite": false, "contents": {"source": "data:,2"}},
            {"path": "/a", "overwrite": true, "contents": {"source": "data:,3", "compression": "gzip"},
                "append": [{"source": "data:,4"}]},
            {"path": "/c", "overwrite": false, "append": [{"source": "data:,5"}]},
        ]}})
    );
}

#[test]
fn from_v2_units_keep_the_last_and_all_dropins() {
    let config = config(&v2(json!({"ignition": {}, "systemd": {"units": [
        {"name": "a.service", "contents": "[Unit]\nA=1\n", "dropins": [
            {"name": "x.conf", "contents": "[Unit]\nX=1\n"}, {"name": "y.conf", "contents": "[Unit]\nY=1\n"}]},
        {"name": "b.service", "enable": true, "enabled": false},
        {"name": "a.service", "enable": true, "dropins": [{"name": "x.conf", "contents": "[Unit]\nX=2\n"}]},
    ]}})));
    assert_eq!(
        body(&config),
        json!({"systemd": {"units": [
            {"name": "b.service", "enabled": false},
            {"name": "a.service", "enabled": true, "dropins": [
                {"name": "x.conf", "contents": "[Unit]\nX=2\n"}, {"name": "y.conf", "contents": "[Unit]\nY=1\n"}]},
        ]}})
    );
}

#[test]
fn from_v2_ssh_keys_of_one_user_are_joined() {
    let config = config(&v2(json!({"ignition": {}, "passwd": {"users": [
        {"name": "core", "sshAuthorizedKeys": ["a", "b", "a"]},
        {"name": "other", "uid": 5},
        {"name": "core", "sshAuthorizedKeys": ["c", "b"]},
    ]}})));
    assert_eq!(
        body(&config),
        json!({"passwd": {"users": [
            {"name": "other", "uid": 5},
            {"name": "core", "sshAuthorizedKeys": ["a", "b", "c"]},
        ]}})
    );
}

#[test]
fn from_v2_refusals_name_the_field() {
    let table = [
        (
            json!({"networkd": {"units": [{"name": "a.network"}]}}),
            "$.networkd.units",
        ),
        (
            json!({"storage": {"filesystems": [{"name": "data", "path": "/x"}]}}),
            "$.storage.filesystems.0",
        ),
        (
            json!({"storage": {"files": [{"filesystem": "root", "path": "/a"}, {"filesystem": "data", "path": "/b"}]}}),
            "$.storage.files.1.filesystem",
        ),
        (
            json!({"storage": {"links": [{"path": "/a", "target": "/b"}]}}),
            "$.storage.links.0.filesystem",
        ),
        (
            json!({"passwd": {"users": [{"name": "a", "create": {}}]}}),
            "$.passwd.users.0.create",
        ),
        (
            json!({"storage": {"disks": [{"device": "/dev/a", "partitions": [{"number": 1, "size": 2048}]}]}}),
            "$.storage.disks.0.partitions.0",
        ),
    ];
    for (mut json, path) in table {
        json["ignition"] = json!({"version": "2.2.0"});
        let parsed = parse(&json);
        assert_eq!(parsed.config, None);
        let paths: Vec<_> = parsed.findings.iter().map(|finding| &finding.path).collect();
        assert_eq!(paths, [path]);
    }
}

#[test]
fn findings_about_v2_point_into_the_v2_config() {
    let parsed = parse(&v2_files(json!([
        {"filesystem": "root", "path": "/a"},
        {"filesystem": "root", "path": "/a"},
        {"filesystem": "root", "path": "b", "contents": {"source": "oem:///x"}},
    ])));
    let paths: Vec<_> = parsed.findings.iter().map(|finding| finding.path.as_str()).collect();
    assert_eq!(paths, ["$.storage.files.2.path", "$.storage.files.2.contents.source"]);
}

#[test]
fn to_v2_says_overwrite_and_splits_appends() {
    let config = newest(json!({
        "ignition": {"config": {"merge": [{"source": "http://x"}]}},
        "storage": {
            "files": [
                {"path": "/a", "contents": {"source": "data:,1"}, "append": [{"source": "data:,2"}]},
                {"path": "/var/log/b", "overwrite": true, "contents": {"source": "data:,3"}},
                {"path": "/variable", "overwrite": true, "contents": {"source": ""}},
            ],
            "filesystems": [{"device": "/dev/a", "format": "ext4", "path": "/var"}],
        },
    }));
    assert_eq!(
        config.to_version(SpecVersion::V2_2).unwrap(),
        json!({
            "ignition": {"version": "2.2.0", "config": {"append": [{"source": "http://x"}]}},
            "storage": {
                "files": [
                    {"filesystem": "root", "path": "/a", "overwrite": false, "contents": {"source": "data:,1"}},
                    {"filesystem": "root", "path": "/a", "append": true, "contents": {"source": "data:,2"}},
                    {"filesystem": "/var", "path": "/log/b", "overwrite": true, "contents": {"source": "data:,3"}},
                    {"filesystem": "root", "path": "/variable", "overwrite": true},
                ],
                "filesystems": [{"name": "/var", "mount": {"device": "/dev/a", "format": "ext4"}}],
            },
        })
    );
}

/// Found by fuzzing: what says nothing was written, and was not there when it was read again.
#[test]
fn an_owner_that_says_nothing_is_not_written() {
    let json = json!({
        "ignition": {"version": "3.0.0"},
        "storage": {"directories": [{"path": "/c", "group": {}, "user": {"name": ""}}]},
    });
    let config = parse(&json).config.unwrap();
    let down = config.to_version(SpecVersion::V2_2).unwrap();
    assert_eq!(
        down["storage"]["directories"],
        json!([{"filesystem": "root", "path": "/c"}])
    );
    let again = parse(&down).config.unwrap();
    assert_eq!(again.to_version(SpecVersion::V2_2).unwrap(), down);
}

/// Found by fuzzing: without a number an empty label is what makes a partition, and spec 2 does not write it.
#[test]
fn a_partition_with_neither_number_nor_label_comes_back_from_spec_2() {
    let json = json!({"ignition": {}, "storage": {"disks": [{"device": "/dev/a", "partitions": [{"label": ""}]}]}});
    let config = newest(json);
    let down = config.to_version(SpecVersion::V2_2).unwrap();
    assert_eq!(down["storage"]["disks"][0]["partitions"], json!([{}]));
    let again = parse(&down).usable().unwrap();
    assert_eq!(again.as_v3_5(), config.as_v3_5());
}

proptest! {
    #[test]
    fn up_and_down_again_is_identity(
        json in strategy::json(),
        version in prop::sample::select(&SpecVersion::ALL[1..]),
    ) {
        let mut json = json;
        json["ignition"]["version"] = version.as_str().into();
        let up = parse(&json).usable().unwrap();
        prop_assert_eq!(up.to_version(version).unwrap(), json);
    }

    #[test]
    fn down_and_up_again_is_identity(
        config in strategy::config(),
        version in prop::sample::select(&SpecVersion::ALL[1..]),
    ) {
        let down = config.to_version(version).unwrap();
        let up = parse(&down).usable().unwrap();
        prop_assert_eq!(up.as_v3_5(), config.as_v3_5());
    }

    #[test]
    fn v2_settles_after_one_round(config in strategy::config()) {
        let mut config = config;
        // A file without contents cannot be said in 2.2.
        if let Some(files) = config.as_v3_5_mut().storage.as_mut().and_then(|storage| storage.files.as_mut()) {
            files.retain(|file| file.contents.is_some() || file.append.is_some());
        }
        let down = config.to_version(SpecVersion::V2_2).unwrap();
        let up = parse(&down).usable().unwrap();
        prop_assert_eq!(up.to_version(SpecVersion::V2_2).unwrap(), down);
    }
}
