use serde_json::{Value, json};

use super::*;
use crate::{
    machine_config::ROLE_LABEL,
    render::{RenderOptions, render},
};

fn config(name: &str, spec: Value) -> MachineConfig {
    MachineConfig {
        name: name.to_owned(),
        labels: [(ROLE_LABEL.to_owned(), "worker".to_owned())].into(),
        spec: serde_json::from_value(spec).unwrap(),
        ..MachineConfig::default()
    }
}

fn ignition(name: &str, mut body: Value) -> MachineConfig {
    body["ignition"] = json!({"version": "3.4.0"});
    config(name, json!({ "config": body }))
}

/// What is refused when `extra` joins a pool that has `base`.
fn refused(base: &[MachineConfig], after: &[MachineConfig]) -> Vec<String> {
    let before = render("worker", base, &RenderOptions::default()).unwrap();
    let new = render("worker", after, &RenderOptions::default()).unwrap();
    match reconcile(&before.spec, &new, after) {
        Ok(()) => Vec::new(),
        Err(error) => {
            assert_eq!(error.rendered, new.name);
            error.changes.iter().map(ToString::to_string).collect()
        }
    }
}

#[test]
fn each_forbidden_change_is_refused_with_the_guilty_one() {
    let base = ignition("00-base", json!({}));
    let disk = json!({"disks": [{"device": "/dev/sdb", "wipeTable": true}]});
    for (body, expected) in [
        (
            json!({"kernelArguments": {"shouldExist": ["nosmt"]}}),
            "ignition kernelArguments section contains changes: nosmt",
        ),
        (
            json!({ "storage": disk }),
            "ignition disks section contains changes: /dev/sdb",
        ),
        (
            json!({"storage": {"filesystems": [{"device": "/dev/sdb1", "format": "xfs"}]}}),
            "ignition filesystems section contains changes: /dev/sdb1",
        ),
        (
            json!({"storage": {"raid": [{"name": "md", "level": "raid1", "devices": ["/dev/a", "/dev/b"]}]}}),
            "ignition raid section contains changes: md",
        ),
        (
            json!({"storage": {"directories": [{"path": "/etc/d"}]}}),
            "ignition directories section contains changes: /etc/d",
        ),
        (
            json!({"storage": {"links": [{"path": "/etc/l", "target": "/etc/m"}]}}),
            "ignition links section contains changes: /etc/l",
        ),
        (
            json!({"storage": {"files": [{"path": "/etc/f", "append": [{"source": "data:,x"}]}]}}),
            "ignition file /etc/f includes append",
        ),
        (
            json!({"storage": {"files": [{"path": FORCE_FILE, "contents": {"source": "data:,"}}]}}),
            "cannot create /run/machine-config-daemon-force via Ignition",
        ),
        (
            json!({"passwd": {"groups": [{"name": "ops"}]}}),
            "ignition passwd groups section contains changes: ops",
        ),
        (
            json!({"passwd": {"users": [{"name": "eve"}]}}),
            "ignition passwd user section contains unsupported changes: non-core user eve",
        ),
        (
            json!({"passwd": {"users": [{"name": "core", "shell": "/bin/zsh"}]}}),
            "ignition passwd user section contains unsupported changes: user core can change sshAuthorizedKeys and \
             passwordHash only",
        ),
    ] {
        let after = [
            base.clone(),
            ignition("50-bad", body.clone()),
            ignition("99-good", json!({})),
        ];
        let found = refused(std::slice::from_ref(&base), &after);
        assert_eq!(found, [format!("{expected} (MachineConfig 50-bad)")], "{body}");
    }
}

#[test]
fn a_change_of_fips_is_refused_both_ways() {
    let (off, on) = (config("a", json!({})), config("b", json!({"fips": true})));
    let text = "detected change to FIPS flag; refusing to modify FIPS on a running cluster";
    assert_eq!(
        refused(std::slice::from_ref(&off), &[off.clone(), on.clone()]),
        [format!("{text} (MachineConfig b)")]
    );
    assert_eq!(
        refused(&[off.clone(), on], &[off]),
        [format!("{text} (no MachineConfig has it any more)")]
    );
}

#[test]
fn what_machines_can_follow_is_allowed() {
    let base = ignition(
        "a",
        json!({
            "storage": {"disks": [{"device": "/dev/sdb"}], "links": [{"path": "/etc/l", "target": "/etc/m"}]},
            "passwd": {"users": [{"name": "core", "shell": "/bin/bash"}]},
        }),
    );
    let after = ignition(
        "a",
        json!({
            "storage": {
                "disks": [{"device": "/dev/sdb"}],
                "files": [{"path": "/etc/new", "contents": {"source": "data:,x"}}],
            },
            "passwd": {"users": [
                {"name": "core", "shell": "/bin/bash", "sshAuthorizedKeys": ["ssh-rsa x"], "passwordHash": "$6$x"},
            ]},
        }),
    );
    let system = config(
        "b",
        json!({"kernelArguments": ["x"], "kernelType": "realtime", "osImageURL": "x"}),
    );
    assert_eq!(refused(&[base], &[after, system]), Vec::<String>::new());
}

#[test]
fn keys_for_a_core_user_that_was_not_named_are_allowed() {
    let base = ignition("a", json!({}));
    let keys = ignition(
        "b",
        json!({"passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["ssh-rsa x"]}]}}),
    );
    assert_eq!(
        refused(std::slice::from_ref(&base), &[base.clone(), keys]),
        Vec::<String>::new()
    );
}

#[test]
fn all_reasons_are_given_and_removal_has_no_guilty_one() {
    let base = ignition("a", json!({"storage": {"directories": [{"path": "/etc/d"}]}}));
    let after = [
        ignition("b", json!({"storage": {"disks": [{"device": "/dev/sdb"}]}})),
        ignition(
            "c",
            json!({"storage": {"disks": [{"device": "/dev/sdb", "wipeTable": true}]}}),
        ),
    ];
    assert_eq!(
        refused(&[base], &after),
        [
            "ignition disks section contains changes: /dev/sdb (MachineConfigs b, c)",
            "ignition directories section contains changes: /etc/d (no MachineConfig has it any more)",
        ]
    );
}

#[test]
fn an_administrator_can_allow_disks_filesystems_and_raid() {
    let base = ignition("a", json!({}));
    let storage = json!({"storage": {
        "disks": [{"device": "/dev/sdb"}],
        "filesystems": [{"device": "/dev/sdb1", "format": "xfs"}],
        "raid": [{"name": "md", "level": "raid1", "devices": ["/dev/a", "/dev/b"]}],
    }});
    let after = [ignition("b", storage)];
    let before = render("worker", [&base], &RenderOptions::default()).unwrap().spec;
    let new = render("worker", &after, &RenderOptions::default()).unwrap();
    let refused = |disks, filesystems, raid| {
        let overrides = ReconcileOverrides {
            disks,
            filesystems,
            raid,
            ..ReconcileOverrides::default()
        };
        reconcile_with(&before, &new, &after, overrides).map_err(|error| error.changes.len())
    };
    assert_eq!(refused(false, false, false), Err(3));
    assert_eq!(refused(true, false, false), Err(2));
    assert_eq!(refused(false, true, true), Err(1));
    assert_eq!(refused(true, true, true), Ok(()));
}
