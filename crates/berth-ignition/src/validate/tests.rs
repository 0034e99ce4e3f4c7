use serde_json::{Value, json};

use super::*;
use crate::parse;

/// The findings about a config in two versions, as `severity path`.
fn findings(version: &str, mut json: Value) -> Vec<String> {
    json["ignition"]["version"] = version.into();
    let findings = parse(&json).findings.into_iter();
    findings
        .map(|finding| format!("{:?} {}", finding.severity, finding.path))
        .collect()
}

fn file(contents: Value) -> Value {
    let mut config = json!({"ignition": {}, "storage": {"files": [{"path": "/a"}]}});
    config["storage"]["files"][0]["contents"] = contents;
    config
}

/// Rules of 3.4 and 3.5, which the program used as judge does not know yet.
#[test]
fn newer_rules() {
    let conflict = json!({
        "ignition": {},
        "storage": {
            "files": [{"path": "/etc/systemd/system/a.service"}],
            "directories": [{"path": "/etc/systemd/system/b.service"}],
            "links": [{"path": "/etc/systemd/system/a.service.d/x.conf", "target": "/y"}],
        },
        "systemd": {"units": [
            {"name": "a.service", "contents": "[Unit]\nA=b\n", "dropins": [{"name": "x.conf", "contents": "[Unit]\nA=b\n"}]},
            {"name": "b.service", "mask": true},
        ]},
    });
    assert_eq!(findings("3.3.0", conflict.clone()), [""; 0]);
    assert_eq!(
        findings("3.4.0", conflict),
        ["Error $.storage.files.0.path", "Error $.storage.links.0.path"]
    );
    let luks = |luks: Value| json!({"ignition": {}, "storage": {"luks": [luks]}});
    let table = [
        (
            luks(json!({"name": "a", "device": "/dev/a", "cex": {"enabled": true}})),
            None,
        ),
        (
            luks(json!({"name": "a", "device": "/dev/a", "cex": {"enabled": true}, "clevis": {"tpm2": true}})),
            Some("Error $.storage.luks.0.cex"),
        ),
        (
            luks(json!({"name": "a", "device": "/dev/a", "clevis": {"tang": [
                {"url": "http://x", "thumbprint": "y", "advertisement": "{{"}]}})),
            Some("Error $.storage.luks.0.clevis.tang.0.advertisement"),
        ),
        (file(json!({"source": "arn:aws:s3:::bucket/key"})), None),
        (
            file(json!({"source": "arn:aws:s3:us-1:123:accesspoint/p/object/key"})),
            None,
        ),
        (
            file(json!({"source": "arn:aws:s3:us-1:123:accesspoint/p"})),
            Some("Error $.storage.files.0.contents.source"),
        ),
        (
            file(json!({"source": "arn:aws:s3:::bucket"})),
            Some("Error $.storage.files.0.contents.source"),
        ),
        (
            file(json!({"source": "arn:aws:iam:::bucket/key"})),
            Some("Error $.storage.files.0.contents.source"),
        ),
        (
            file(json!({"source": "arn:x"})),
            Some("Error $.storage.files.0.contents.source"),
        ),
        (
            file(json!({"source": "arn:aws:s3:::bucket/key?versionId="})),
            Some("Error $.storage.files.0.contents.source"),
        ),
    ];
    for (json, want) in table {
        let want: Vec<_> = want.into_iter().collect();
        assert_eq!(findings("3.5.0", json), want);
    }
}

#[test]
fn warnings_where_ignition_fails_late() {
    let table = [
        (
            file(json!({"source": "data:,x", "compression": "gzip"})),
            "Warning $.storage.files.0.contents.source",
        ),
        (
            file(json!({"source": "data:,", "verification": {"hash": format!("sha512-{}", "z".repeat(128))}})),
            "Warning $.storage.files.0.contents.verification.hash",
        ),
        (
            json!({"ignition": {}, "storage": {"files": [{"path": "/a"}, {"path": "/a/b"}]}}),
            "Warning $.storage.files.1",
        ),
        (
            json!({"ignition": {}, "systemd": {"units": [{"name": "a.service", "enabled": true, "contents": "[Unit]\nA=b\n"}]}}),
            "Warning $.systemd.units.0.contents",
        ),
        (
            json!({"ignition": {"proxy": {"httpsProxy": "http://x"}}}),
            "Warning $.ignition.proxy.httpsProxy",
        ),
    ];
    for (json, want) in table {
        assert_eq!(findings("3.4.0", json), [want]);
    }
}

#[test]
fn messages_say_what_and_where() {
    let report = validate(
        &parse(&json!({
            "ignition": {"version": "3.5.0"},
            "storage": {
                "files": [{"path": "/l/a", "mode": 8192}, {"path": "/b"}, {"path": "/b"}],
                "links": [{"path": "/l", "target": "/x"}],
            },
            "systemd": {"units": [{"name": "a.service", "dropins": [{"name": "x", "contents": "[Unit\n"}]}]},
        }))
        .config
        .unwrap(),
    );
    let lines: Vec<_> = report.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "error at $.storage.files.2: `/b` is defined more than once",
            "error at $.storage.files.0.mode: mode 8192 (decimal) is not between 0 and 0o7777",
            "error at $.storage.files.0: the path goes through the link /l",
            "error at $.systemd.units.0.dropins.0.name: `x` does not end in .conf",
            "error at $.systemd.units.0.dropins.0.contents: not a unit file: a section header has no closing bracket",
        ]
    );
}
