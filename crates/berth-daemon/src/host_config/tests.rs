use serde_json::{Value, json};

use super::*;

fn made(ignition: &Value) -> (HostConfig, Vec<Obstacle>) {
    let mut ignition = ignition.clone();
    ignition["ignition"] = json!({"version": "3.5.0"});
    let config = NodeConfig {
        name: "rendered-worker-1".to_owned(),
        spec: MachineConfigSpec {
            config: Some(ignition),
            ..MachineConfigSpec::default()
        },
        ..NodeConfig::default()
    };
    let host = Capabilities {
        accounts: Accounts::parse(
            "root:x:0:0:root:/root:/bin/sh\ncore:x:1000:1001::/home/core:/bin/bash\nbad line\nx:y:z\n",
            "adm:x:4:core\n",
        ),
        ..Capabilities::default()
    };
    HostConfig::of(&config, &host)
}

#[test]
fn units_are_files_links_and_whether_they_are_enabled() {
    let (config, obstacles) = made(&json!({"systemd": {"units": [
        {"name": "a.service", "enabled": true, "contents": "[Unit]\n", "dropins": [
            {"name": "10.conf", "contents": "[Service]\n"},
            {"name": "20.conf", "contents": ""},
        ]},
        {"name": "b.service", "mask": true, "enabled": false, "contents": "[Unit]\n"},
        {"name": "c.service", "enabled": false},
    ]}}));
    assert_eq!(obstacles, []);
    let shown: Vec<String> = config
        .settings
        .iter()
        .map(|(item, setting)| format!("{item}: {setting}"))
        .collect();
    assert_eq!(
        shown,
        [
            "/etc/systemd/system/a.service: 7 bytes, 0644",
            "/etc/systemd/system/a.service.d/10.conf: 10 bytes, 0644",
            "/etc/systemd/system/b.service: link to /dev/null",
            "unit a.service: enabled",
            "unit c.service: disabled",
        ]
    );
    assert_eq!(config.stopped, ["b.service", "c.service"].map(str::to_owned).into());
}

#[test]
fn owners_are_found_by_name_and_defaults_are_the_originals() {
    let (config, obstacles) = made(&json!({"storage": {
        "files": [
            {"path": "/etc/a", "user": {"name": "core"}, "group": {"name": "adm"}, "contents": {"source": "data:,a"}},
            {"path": "/etc/b", "user": {"id": 7}},
        ],
        "directories": [{"path": "/srv/d"}],
        "links": [{"path": "/etc/l", "target": "/etc/a"}],
    }}));
    assert_eq!(obstacles, []);
    let shown: Vec<String> = config
        .settings
        .iter()
        .map(|(item, setting)| format!("{item}: {setting}"))
        .collect();
    assert_eq!(
        shown,
        [
            "/etc/a: 1 bytes, 0644, owner 1000:4",
            "/etc/b: 0 bytes, 0644, owner 7:0",
            "/etc/l: link to /etc/a",
            "/srv/d: directory, 0755",
        ]
    );
}

#[test]
fn paths_that_could_mean_another_place_are_refused() {
    for path in ["etc/a", "/", "/etc//a", "/etc/../root/a", "/etc/./a", "/etc/a/"] {
        assert!(!is_plain(path), "{path}");
    }
    assert!(is_plain("/etc/a..b/.c"));
    for path in [STATE, "/etc/berth/originals/x", FORCE_FILE] {
        let (config, obstacles) = made(&json!({"storage": {"files": [{"path": path}]}}));
        assert_eq!(obstacles, [Obstacle::OwnPath(path.to_owned())]);
        assert!(config.settings.is_empty());
    }
    let (_, obstacles) = made(&json!({"storage": {"links": [{"path": "/etc/l", "target": "/etc/a", "hard": true}]}}));
    assert_eq!(obstacles, [Obstacle::HardLink("/etc/l".to_owned())]);
}

#[test]
fn a_config_that_cannot_be_read_is_an_obstacle() {
    let config = NodeConfig {
        spec: MachineConfigSpec {
            config: Some(json!({"ignition": {"version": "9.9.9"}})),
            ..MachineConfigSpec::default()
        },
        ..NodeConfig::default()
    };
    let (_, obstacles) = HostConfig::of(&config, &Capabilities::default());
    assert!(
        matches!(obstacles.as_slice(), [Obstacle::Unreadable(_)]),
        "{obstacles:?}"
    );
}
