use berth_ignition::{Encoding, file, file_as};
use berth_pools::MachineConfigSpec;
use serde_json::json;

use super::*;
use crate::item::{Entry, FileEntry};

fn named(name: &str, spec: MachineConfigSpec) -> NodeConfig {
    NodeConfig {
        name: name.to_owned(),
        image: None,
        spec,
    }
}

fn spec(ignition: serde_json::Value) -> MachineConfigSpec {
    let mut ignition = ignition;
    ignition["ignition"] = json!({"version": "3.5.0"});
    MachineConfigSpec {
        config: Some(ignition),
        ..MachineConfigSpec::default()
    }
}

fn host() -> Capabilities {
    Capabilities {
        driver: crate::host::SystemDriver::RpmOstree,
        ..Capabilities::default()
    }
}

fn planned(running: &NodeConfig, wanted: &NodeConfig, observed: &Observed) -> Result<UpdatePlan, Refused> {
    plan(&PlanInput {
        running,
        wanted,
        host: &host(),
        observed,
        policy: &DisruptionPolicy::default(),
        scope: Scope::Changed,
    })
}

#[test]
fn a_plan_says_what_is_done_and_undone_and_what_it_costs() {
    let old = named(
        "rendered-worker-1",
        spec(json!({
            "storage": {"files": [
                file("/etc/chrony.conf", 0o644, "server a\n"),
                file("/etc/gone.conf", 0o600, "gone\n"),
            ]},
            "systemd": {"units": [{"name": "a.service", "enabled": true, "contents": "[Service]\nNice=1\n"}]},
        })),
    );
    let mut new = spec(json!({
        "storage": {"files": [
            file("/etc/chrony.conf", 0o644, "server bb\n"),
            file_as("/etc/issue", 0o644, "welcome\n", Encoding::GzipBase64),
        ]},
        "systemd": {"units": [
            {"name": "a.service", "enabled": true, "contents": "[Service]\nNice=2\n"},
            {"name": "b.service", "mask": true},
        ]},
    }));
    new.kernel_arguments = vec!["nosmt".to_owned()];
    let new = named("rendered-worker-2", new);
    let (runs, _) = HostConfig::of(&old, &host());
    let mut observed = Observed {
        settings: runs.settings,
        ..Observed::default()
    };
    let shipped = Setting::Entry(Entry::File(FileEntry::new("Debian\n", 0o644)));
    observed.settings.insert(Item::Path("/etc/issue".to_owned()), shipped);
    observed.originals.insert(Item::Path("/etc/gone.conf".to_owned()), None);
    let plan = planned(&old, &new, &observed).unwrap();
    insta::assert_snapshot!(plan, @r"
    rendered-worker-1 -> rendered-worker-2: reboot
       1. stage the next boot: arguments nosmt; undo: stage as installed
       2. keep /etc/issue (7 bytes, 0644); undo: forget it
       3. note that there is no /etc/systemd/system/b.service; undo: forget it
       4. write /etc/chrony.conf (10 bytes, 0644); undo: write what was there (9 bytes, 0644)
       5. write /etc/issue (8 bytes, 0644); undo: write what was there (7 bytes, 0644)
       6. write /etc/systemd/system/a.service (17 bytes, 0644); undo: write what was there (17 bytes, 0644)
       7. write /etc/systemd/system/b.service (link to /dev/null); undo: remove it
       8. remove /etc/gone.conf; undo: write what was there (5 bytes, 0600)
       9. systemd reads its units again; undo: the same
      10. enable a.service again, by its new file; undo: enable it
    ");
    assert!(plan.needs_reboot() && plan.needs_drain() && !plan.costs_nothing());
}

#[test]
fn the_same_config_needs_nothing() {
    let config = named(
        "rendered-worker-1",
        spec(json!({"storage": {"files": [file("/etc/a", 0o644, "a")]}})),
    );
    let (runs, _) = HostConfig::of(&config, &host());
    let observed = Observed {
        settings: runs.settings,
        ..Observed::default()
    };
    let plan = planned(&config, &config, &observed).unwrap();
    assert!(plan.steps.is_empty() && plan.costs_nothing());
    assert_eq!(
        plan.to_string(),
        "rendered-worker-1 -> rendered-worker-1: none\n      nothing on the host differs\n"
    );
}

#[test]
fn all_reasons_against_a_config_are_named() {
    let old = named("a", spec(json!({})));
    let mut new = spec(json!({
        "storage": {
            "files": [
                {"path": "/etc/a", "append": [{"source": "data:,x"}]},
                {"path": "/etc/b", "contents": {"source": "https://example.com/b"}},
                {"path": "/etc/c", "user": {"name": "nobody-here"}},
                {"path": "/etc/berth/state"},
            ],
            "disks": [{"device": "/dev/sda"}],
        },
        "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["k"]}, {"name": "eve"}]},
    }));
    new.fips = true;
    new.kernel_type = "realtime".to_owned();
    let refused = planned(&old, &named("b", new), &Observed::default()).unwrap_err();
    assert_eq!((refused.from.as_str(), refused.to.as_str()), ("a", "b"));
    for expected in [
        "ignition disks section contains changes: /dev/sda",
        "ignition file /etc/a includes append",
        "non-core user eve",
        "FIPS",
        "cannot read the contents of /etc/b: the source is not a data URL",
        "/etc/c belongs to the user `nobody-here`, which the host does not have",
        "/etc/berth/state is the daemon's own",
        "the host does not have the user `core`",
        "the kernel type realtime, and the host has rpm-ostree",
    ] {
        assert!(
            refused.reasons.iter().any(|reason| reason.contains(expected)),
            "{expected}: {:#?}",
            refused.reasons
        );
    }
}

#[test]
fn what_the_running_config_does_not_get_either_is_no_reason() {
    let with_image = |text: &str| {
        let mut spec = spec(json!({"storage": {"files": [file("/etc/motd", 0o644, text)]}}));
        spec.os_image_url = "registry.example/os".to_owned();
        spec
    };
    let none = Capabilities::default();
    let input = |running: &NodeConfig, wanted: &NodeConfig| {
        plan(&PlanInput {
            running,
            wanted,
            host: &none,
            observed: &Observed::default(),
            policy: &DisruptionPolicy::default(),
            scope: Scope::Changed,
        })
        .is_ok()
    };
    assert!(input(&named("a", with_image("a")), &named("b", with_image("b"))));
    assert!(!input(&named("a", spec(json!({}))), &named("b", with_image("b"))));
}
