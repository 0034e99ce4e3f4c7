//! What happens to nodes: things get lost, break and change in the middle.

use berth_daemon::{
    Capabilities, DriftPolicy, Item, Setting, System, SystemDriver, announce,
    sim::{Faults, SimHost},
};
use berth_pools::{FORCE_FILE, MachineConfigSpec, annotation};
use serde_json::json;

use crate::world::{Ended, OWN_UNIT, SHIPPED_UNIT, World, config, file, one_file, path_item};

const A: &str = "rendered-worker-a";
const B: &str = "rendered-worker-b";
const C: &str = "rendered-worker-c";

/// Needs nothing, a restart, a drain and a reboot.
const NONE: &str = "/etc/motd";
const RESTART: &str = "/etc/chrony.conf";
const DRAIN: &str = "/etc/drained";
const REBOOT: &str = "/srv/reboot";

fn is_at(world: &World, name: &str) {
    assert_eq!(world.text(annotation::CURRENT_CONFIG), name, "{:?}", world.notes);
    assert_eq!(
        world.text(annotation::STATE),
        "Done",
        "{:?}",
        world.text(annotation::REASON)
    );
    let spec = world.configs.get(name).cloned().unwrap_or_default();
    assert_eq!(world.contents(), World::expected(name, &spec));
}

#[test]
fn each_change_costs_what_the_policy_says() {
    for (path, boots, drained, commands) in [
        (NONE, 0, false, vec![]),
        (RESTART, 0, false, vec!["restart chronyd.service"]),
        (DRAIN, 0, true, vec![]),
        (REBOOT, 1, true, vec!["reboot (Full)"]),
    ] {
        let mut world = World::running(A, one_file("/etc/motd", "same"));
        let before = (world.host.boots(), world.host.log().len());
        let mut new = one_file(path, "new");
        if path != NONE {
            let ignition = new.config.as_mut().unwrap();
            let same = json!({"path": NONE, "mode": 0o644, "contents": {"source": "data:,same"}});
            ignition["storage"]["files"].as_array_mut().unwrap().push(same);
        }
        world.want(B, new);
        assert_eq!(world.run(), Ended::Settled);
        is_at(&world, B);
        assert_eq!(world.host.boots() - before.0, boots, "{path}");
        let expected: &[String] = if drained {
            &[format!("drain-{B}"), format!("uncordon-{B}")]
        } else {
            &[]
        };
        assert_eq!(world.drains, expected, "{path}");
        let log = world.host.log()[before.1..].iter();
        let done: Vec<&str> = log
            .map(String::as_str)
            .filter(|line| line.starts_with("re") && !line.starts_with("remove"))
            .collect();
        assert_eq!(done, commands, "{path}");
    }
}

#[test]
fn only_what_differs_is_written() {
    let two = |text: &str| {
        let file = |path: &str, text: &str| json!({"path": path, "contents": {"source": format!("data:,{text}")}});
        config(json!({"storage": {"files": [file(NONE, "same"), file("/etc/new/a", text)]}}))
    };
    let mut world = World::running(A, two("one"));
    let before = world.host.log().len();
    world.want(B, two("two"));
    world.run();
    is_at(&world, B);
    let log = &world.host.log()[before..];
    assert!(log.contains(&"place /etc/new/a".to_owned()), "{log:?}");
    let written = |line: &&String| line.contains(NONE) && !line.starts_with("discard");
    assert_eq!(log.iter().find(written), None);
}

#[test]
fn what_the_host_cannot_do_is_refused_before_anything_is_touched() {
    let mut world = World::running(A, one_file(NONE, "a"));
    world.host = SimHost::new(Capabilities {
        driver: SystemDriver::GrubFolder,
        ..Capabilities::default()
    });
    world.node.as_mut().unwrap().annotations.clear();
    let mut wanted = one_file(NONE, "b");
    wanted.os_image_url = "registry.example/os:2".to_owned();
    wanted.extensions = vec!["usbguard".to_owned()];
    world.want(B, wanted);
    assert_eq!(world.run(), Ended::Settled);
    assert_eq!(world.text(annotation::STATE), "Unreconcilable");
    let reason = world.text(annotation::REASON);
    assert!(
        reason.contains("the operating system image registry.example/os:2"),
        "{reason}"
    );
    assert!(reason.contains("the extensions usbguard"), "{reason}");
    assert!(world.contents().is_empty(), "nothing was touched");
    assert!(world.drains.is_empty(), "nobody was drained for nothing");
    // Another config helps at once.
    world.want(C, one_file(NONE, "c"));
    world.run();
    assert_eq!(world.text(annotation::CURRENT_CONFIG), C);
    assert_eq!(world.text(annotation::REASON), "");
}

#[test]
fn lost_annotations_are_written_again() {
    let mut world = World::running(A, one_file(NONE, "a"));
    world.node.as_mut().unwrap().annotations.clear();
    assert_eq!(world.run(), Ended::Settled);
    is_at(&world, A);
    assert_eq!(world.text(annotation::DESIRED_CONFIG), A);
    // False ones too.
    world.annotate(annotation::CURRENT_CONFIG, "rendered-worker-dream");
    world.annotate(annotation::STATE, "Degraded");
    world.run();
    is_at(&world, A);
}

#[test]
fn a_config_that_is_gone_strands_nobody() {
    let mut world = World::running(A, one_file(REBOOT, "a"));
    world.configs.clear();
    // The one that runs is on disk: the node goes on to another.
    world.want(B, one_file(REBOOT, "b"));
    world.run();
    is_at(&world, B);
    // The one that is wanted is gone: the node says so, serves on, and takes the next.
    world.annotate(annotation::DESIRED_CONFIG, "rendered-worker-gone");
    assert_eq!(world.run(), Ended::Settled);
    assert_eq!(world.text(annotation::STATE), "Degraded");
    assert_eq!(
        world.text(annotation::REASON),
        "rendered-worker-gone is wanted and is not in the cluster; the node goes on with rendered-worker-b"
    );
    world.want(C, one_file(REBOOT, "c"));
    world.run();
    is_at(&world, C);
}

#[test]
fn a_config_that_vanishes_in_the_middle_is_finished() {
    let mut world = World::running(A, one_file(REBOOT, "a"));
    world.want(B, one_file(REBOOT, "b"));
    world.host.set_faults(Faults {
        last: Some(12),
        carried_out: true,
        ..Faults::default()
    });
    assert_eq!(world.run(), Ended::Down);
    world.host.set_faults(Faults::default());
    world.configs.clear();
    world.run();
    assert_eq!(world.text(annotation::CURRENT_CONFIG), B);
    assert_eq!(world.contents(), World::expected(B, &one_file(REBOOT, "b")));
}

#[test]
fn a_node_that_was_deleted_in_the_middle_goes_on() {
    let mut world = World::running(A, one_file(REBOOT, "a"));
    world.want(B, one_file(REBOOT, "b"));
    let rebooting = |world: &World| world.text(annotation::POST_CONFIG_ACTION) == "Rebooting";
    assert_eq!(world.run_until(rebooting), Ended::Settled);
    world.node.as_mut().unwrap().annotations.clear();
    assert_eq!(world.run(), Ended::Settled);
    is_at(&world, B);
    assert_eq!(world.text(annotation::DESIRED_CONFIG), B, "it stays in its own pool");
    assert_eq!(
        world.text(annotation::LAST_APPLIED_DRAIN),
        format!("uncordon-{B}"),
        "it remembers that it was drained"
    );
}

#[test]
fn a_pool_that_changes_in_the_middle() {
    // Before anything is touched a change of mind is free.
    let mut world = World::running(A, one_file(REBOOT, "a"));
    world.want(B, one_file(REBOOT, "b"));
    let asked = |world: &World| world.text(annotation::DESIRED_DRAIN) == format!("drain-{B}");
    world.run_until(asked);
    world.want(C, one_file(REBOOT, "c"));
    world.run();
    is_at(&world, C);
    assert_eq!(world.host.boots(), 2, "one for the first config, one for the last");

    // Back to what runs.
    let mut world = World::running(A, one_file(REBOOT, "a"));
    world.want(B, one_file(REBOOT, "b"));
    world.run_until(asked);
    world.annotate(annotation::DESIRED_CONFIG, A);
    world.run();
    is_at(&world, A);
    assert_eq!(world.drains.last(), Some(&format!("uncordon-{A}")));

    // What has begun is ended first.
    let mut world = World::running(A, one_file(REBOOT, "a"));
    world.want(B, one_file(REBOOT, "b"));
    world.run_until(|world| world.text(annotation::POST_CONFIG_ACTION) == "Rebooting");
    world.want(C, one_file(REBOOT, "c"));
    world.run();
    is_at(&world, C);
}

#[test]
fn a_config_that_breaks_services_goes_back_and_is_not_tried_again() {
    for path in [RESTART, REBOOT] {
        let mut world = World::running(A, one_file(path, "good"));
        world.host.break_by(Some("broken"));
        world.want(B, one_file(path, "broken"));
        assert_eq!(world.run(), Ended::Settled);
        assert_eq!(world.text(annotation::CURRENT_CONFIG), A);
        assert_eq!(world.text(annotation::STATE), "Degraded");
        assert_eq!(world.text(annotation::GIVEN_UP), B);
        let reason = world.text(annotation::REASON).to_owned();
        assert_eq!(
            reason,
            format!("{B} was given up: not healthy within 5m: {SHIPPED_UNIT} does not run. The node is back at {A}")
        );
        assert_eq!(world.contents(), World::expected(A, &one_file(path, "good")));
        assert!(
            !world.text(annotation::DESIRED_DRAIN).starts_with("drain-"),
            "it serves again"
        );
        assert!(world.reasons().is_superset(&["RollingBack", "RolledBack"].into()));

        // A daemon that starts anew, much later, does not try it again.
        let before = world.host.log().len();
        world.now = "2030-01-01T00:00:00Z".parse().unwrap();
        world.run();
        assert_eq!(world.text(annotation::REASON), reason);
        assert!(!world.host.log()[before..].iter().any(|line| line.starts_with("place")));

        // Until somebody says so.
        world.host.break_by(None);
        world.annotate(announce::FORCE, "please");
        world.run();
        is_at(&world, B);
        assert_eq!(world.text(announce::FORCED), "please");
        assert_eq!(world.text(annotation::GIVEN_UP), "");
    }
}

#[test]
fn a_kubelet_that_is_not_ready_or_not_heard_of_is_a_reason() {
    for (ready, heard, why) in [
        (Some(false), None, "the kubelet is not ready"),
        (
            Some(true),
            Some("2020-01-01T00:00:00Z"),
            "the kubelet has not been heard of since the change",
        ),
    ] {
        let mut world = World::running(A, one_file(RESTART, "a"));
        let node = world.node.as_mut().unwrap();
        node.ready = ready;
        node.heard = heard.map(|heard| heard.parse().unwrap());
        world.want(B, one_file(RESTART, "b"));
        world.run();
        assert_eq!(world.text(annotation::CURRENT_CONFIG), A);
        assert!(
            world.text(annotation::REASON).contains(why),
            "{}",
            world.text(annotation::REASON)
        );
    }
}

#[test]
fn a_check_of_the_administrators_counts() {
    let mut world = World::running(A, one_file(RESTART, "a"));
    world.settings.probes = vec!["curl -f localhost".to_owned()];
    world.host.fail_probe("curl -f localhost", Some("connection refused"));
    world.want(B, one_file(RESTART, "b"));
    world.run();
    assert_eq!(world.text(annotation::CURRENT_CONFIG), A);
    let reason = world.text(annotation::REASON);
    assert!(reason.contains("`curl -f localhost`: connection refused"), "{reason}");
}

#[test]
fn a_unit_that_hangs_goes_back() {
    let unit = |text: &str| {
        let contents = format!("[Service]\nExecStart={text}\n");
        config(json!({"systemd": {"units": [{"name": OWN_UNIT, "enabled": true, "contents": contents}]}}))
    };
    let mut world = World::running(A, unit("/bin/a"));
    world.want(B, unit("/bin/b"));
    world.host.set_faults(Faults {
        hanging: [OWN_UNIT.to_owned()].into(),
        ..Faults::default()
    });
    assert_eq!(world.run(), Ended::Settled);
    assert_eq!(world.text(annotation::CURRENT_CONFIG), A);
    assert_eq!(world.text(annotation::STATE), "Degraded");
    let reason = world.text(annotation::REASON);
    assert!(
        reason.contains("`systemctl restart agent.service` took too long"),
        "{reason}"
    );
    assert_eq!(world.contents(), World::expected(A, &unit("/bin/a")));
}

#[test]
fn drift_is_reported_repaired_or_degrades() {
    let meddled = || {
        let mut world = World::running(A, one_file(NONE, "ours"));
        world.host.meddle(path_item(NONE), Some(file("theirs", 0o644)));
        world
    };
    let mut world = meddled();
    assert_eq!(world.run(), Ended::Settled);
    assert_eq!(world.text(annotation::STATE), "Done");
    assert_eq!(
        world.text(announce::DRIFT),
        "content mismatch for file \"/etc/motd\"\n-ours\n+theirs"
    );
    assert!(world.reasons().contains("ConfigDriftDetected"));
    // Put right by hand.
    world.host.meddle(path_item(NONE), Some(file("ours", 0o644)));
    world.run();
    assert_eq!(world.text(announce::DRIFT), "");

    let mut world = meddled();
    world.settings.drift = DriftPolicy::Repair;
    let boots = world.host.boots();
    assert_eq!(world.run(), Ended::Settled);
    is_at(&world, A);
    assert_eq!(world.text(announce::DRIFT), "");
    assert_eq!(world.host.boots(), boots, "what is put right costs nothing");

    let mut world = meddled();
    world.settings.drift = DriftPolicy::Degrade;
    assert_eq!(world.run(), Ended::Settled);
    assert_eq!(world.text(annotation::STATE), "Degraded");
    assert!(
        world
            .text(annotation::REASON)
            .starts_with("content mismatch for file \"/etc/motd\"")
    );
    // As with the original nothing is changed before it is put right, by hand or by force.
    world.want(B, one_file(NONE, "b"));
    world.run();
    assert_eq!(world.text(annotation::CURRENT_CONFIG), A);
    world.annotate(announce::FORCE, "now");
    world.run();
    is_at(&world, B);
}

#[test]
fn what_somebody_changed_beside_an_update_stays_where_drift_is_only_reported() {
    let two = |text: &str| {
        let file = |path: &str, text: &str| json!({"path": path, "contents": {"source": format!("data:,{text}")}});
        config(json!({"storage": {"files": [file(NONE, "ours"), file("/etc/new/a", text)]}}))
    };
    let mut world = World::running(A, two("one"));
    world.host.meddle(path_item(NONE), Some(file("theirs", 0o644)));
    world.want(B, two("two"));
    world.run();
    assert_eq!(world.text(annotation::CURRENT_CONFIG), B);
    assert_eq!(world.contents().get(&path_item(NONE)), Some(&file("theirs", 0o644)));
    assert!(world.text(announce::DRIFT).contains(NONE));
}

#[test]
fn the_force_file_writes_everything_anew_and_goes() {
    let mut world = World::running(A, one_file(NONE, "ours"));
    world.host.meddle(path_item(NONE), Some(file("theirs", 0o600)));
    world.host.meddle(path_item(FORCE_FILE), Some(file("", 0o644)));
    assert_eq!(world.run(), Ended::Settled);
    is_at(&world, A);
    assert!(!world.contents().contains_key(&path_item(FORCE_FILE)));
}

#[test]
fn a_machine_that_was_installed_with_its_config_costs_nothing() {
    let spec = one_file(REBOOT, "installed");
    let mut world = World::new();
    world.host.ship(path_item(REBOOT), file("installed", 0o644));
    world.want(A, spec.clone());
    assert_eq!(world.run(), Ended::Settled);
    is_at(&world, A);
    assert_eq!((world.host.boots(), world.drains.len()), (0, 0));
    // When the config goes, so does the file: nobody shipped it.
    world.want(B, MachineConfigSpec::default());
    world.run();
    assert!(!world.contents().contains_key(&path_item(REBOOT)));
}

#[test]
fn what_another_daemon_left_is_taken_over() {
    let spec = one_file(REBOOT, "theirs");
    let left = json!({"metadata": {"name": A}, "spec": spec}).to_string();
    let mut world = World::new();
    world.host.ship(path_item(REBOOT), file("theirs", 0o644));
    world.host.ship(
        path_item("/etc/machine-config-daemon/currentconfig"),
        file(&left, 0o644),
    );
    assert_eq!(world.run(), Ended::Settled);
    assert_eq!(world.text(annotation::CURRENT_CONFIG), A);
    assert_eq!(world.text(annotation::DESIRED_CONFIG), A);
    assert_eq!(world.text(annotation::STATE), "Done");
}

#[test]
fn a_lost_state_is_found_again_by_the_node() {
    let mut world = World::running(A, one_file(REBOOT, "a"));
    world.host.meddle(path_item(berth_daemon::STATE), None);
    let boots = world.host.boots();
    assert_eq!(world.run(), Ended::Settled);
    is_at(&world, A);
    assert_eq!(world.host.boots(), boots);
}

#[test]
fn keys_cost_nothing_and_come_without_a_drain() {
    let keys = |key: &str| config(json!({"passwd": {"users": [{"name": "core", "sshAuthorizedKeys": [key]}]}}));
    let mut world = World::running(A, keys("ssh-ed25519 one"));
    let boots = world.host.boots();
    world.want(B, keys("ssh-ed25519 two"));
    world.run();
    is_at(&world, B);
    assert_eq!((world.host.boots(), world.drains.len()), (boots, 0));
    let found = world.contents().remove(&path_item("/home/core/.ssh/authorized_keys"));
    let Some(Setting::Entry(berth_daemon::Entry::File(found))) = found else {
        panic!("no keys");
    };
    assert_eq!(found.contents, b"ssh-ed25519 two\n");
    assert_eq!((found.mode, found.owner.user), (0o600, 1000));
}

#[test]
fn a_cluster_of_one_node_is_not_drained() {
    let mut world = World::running(A, one_file(REBOOT, "a"));
    world.annotate(annotation::TOPOLOGY, "SingleReplica");
    world.want(B, one_file(REBOOT, "b"));
    world.run();
    is_at(&world, B);
    assert!(world.drains.is_empty());
}

#[test]
fn the_shipped_unit_is_enabled_again_when_the_config_lets_go() {
    let off = config(json!({"systemd": {"units": [{"name": SHIPPED_UNIT, "enabled": false}]}}));
    let mut world = World::running(A, off);
    let unit = Item::Unit(SHIPPED_UNIT.to_owned());
    assert_eq!(world.contents().get(&unit), None, "disabled");
    world.want(B, MachineConfigSpec::default());
    world.run();
    is_at(&world, B);
    assert_eq!(world.contents().get(&unit), Some(&Setting::Enabled(true)));
}

#[test]
fn a_full_disk_is_noticed_before_anything_changes_and_leaves_nothing_behind() {
    // Installed with its config, so that nothing was kept of the file.
    let mut world = World::new();
    world.host.ship(path_item(REBOOT), file("installed", 0o644));
    world.want(A, one_file(REBOOT, "installed"));
    world.run();
    is_at(&world, A);
    let before = world.contents();

    // Small in the config and large on the disk.
    let large = berth_ignition::file(RESTART, 0o644, "x".repeat(100_000));
    world.want(B, config(json!({"storage": {"files": [large]}})));
    world.host.set_faults(Faults {
        room: Some(50_000),
        ..Faults::default()
    });
    assert_eq!(world.run(), Ended::Restless);
    assert_eq!(world.text(annotation::STATE), "Degraded");
    let reason = world.text(annotation::REASON);
    assert_eq!(reason, format!("write {RESTART}: no space left on device"));
    assert_eq!(world.contents(), before);
    assert_eq!(world.host.leftovers(), Vec::<&str>::new());

    // It went back and forth often. What it was installed with is still not taken for something that was shipped.
    world.host.set_faults(Faults::default());
    world.want(C, MachineConfigSpec::default());
    world.run();
    is_at(&world, C);
}

fn arguments(words: &[&str]) -> MachineConfigSpec {
    MachineConfigSpec {
        kernel_arguments: words.iter().map(|&word| word.to_owned()).collect(),
        ..MachineConfigSpec::default()
    }
}

#[test]
fn kernel_arguments_of_the_installer_stay_whatever_configs_ask_for() {
    // `quiet` is the installer's, `nosmt` is the config's.
    let mut world = World::running(A, arguments(&["nosmt", "quiet"]));
    assert_eq!(world.host.running().arguments, ["root=/dev/vda1", "quiet", "nosmt"]);
    let boots = world.host.boots();
    for (name, wanted, expected, restarts) in [
        (
            B,
            &["hugepages=8 quiet"][..],
            &["root=/dev/vda1", "quiet", "hugepages=8"][..],
            1,
        ),
        (C, &[], &["root=/dev/vda1", "quiet"], 2),
    ] {
        world.want(name, arguments(wanted));
        assert_eq!(world.run(), Ended::Settled);
        is_at(&world, name);
        assert_eq!(world.host.running().arguments, expected);
        assert_eq!(world.host.boots() - boots, restarts);
        assert_eq!(world.text(announce::DRIFT), "");
    }
    // A config takes nothing over again that it let go of before.
    world.want(A, arguments(&["quiet"]));
    world.run();
    world.want(C, arguments(&[]));
    world.run();
    is_at(&world, C);
    assert_eq!(world.host.running().arguments, ["root=/dev/vda1", "quiet"]);
}

#[test]
fn a_machine_that_boots_something_else_goes_back_at_once() {
    for (from, to, why) in [
        (vec![], vec!["nosmt"], "the kernel argument nosmt is missing"),
        (vec!["nosmt"], vec![], "the kernel argument nosmt is still there"),
    ] {
        let mut world = World::running(A, arguments(&from));
        let began = world.now;
        world.host.set_faults(Faults {
            boots_before: true,
            ..Faults::default()
        });
        world.want(B, arguments(&to));
        assert_eq!(world.run(), Ended::Settled);
        assert_eq!(world.text(annotation::CURRENT_CONFIG), A);
        assert_eq!(world.text(annotation::GIVEN_UP), B);
        assert_eq!(
            world.text(annotation::REASON),
            format!("{B} was given up: the machine has not booted what was staged: {why}. The node is back at {A}")
        );
        assert!(
            world.now.duration_since(began) < jiff::SignedDuration::from_mins(1),
            "waiting does not help"
        );
        assert_eq!(world.host.running().arguments, World::arguments(&arguments(&from)));
        assert!(!world.text(annotation::DESIRED_DRAIN).starts_with("drain-"));
    }
    // So does one with another image.
    let image = |name: &str| MachineConfigSpec {
        os_image_url: format!("registry.example/os:{name}"),
        ..MachineConfigSpec::default()
    };
    let mut world = World::running(A, image("1"));
    world.host.set_faults(Faults {
        boots_before: true,
        ..Faults::default()
    });
    world.want(B, image("2"));
    world.run();
    assert_eq!(world.text(annotation::CURRENT_CONFIG), A);
    let reason = world.text(annotation::REASON);
    assert!(
        reason.contains("the image is registry.example/os:1 and not registry.example/os:2"),
        "{reason}"
    );
}

#[test]
fn a_machine_that_somebody_boots_otherwise_is_drift_and_force_puts_it_right() {
    for policy in [DriftPolicy::Report, DriftPolicy::Repair, DriftPolicy::Degrade] {
        let mut world = World::running(A, arguments(&["nosmt"]));
        world.settings.drift = policy;
        let staged = world.host.running().clone();
        // Somebody chooses an older entry at the console.
        world.host.boot_with(System::default());
        assert_eq!(world.run(), Ended::Settled);
        let said = match policy {
            DriftPolicy::Degrade => world.text(annotation::REASON),
            DriftPolicy::Report | DriftPolicy::Repair => world.text(announce::DRIFT),
        };
        assert_eq!(
            said,
            "the machine has not booted what its config says: the kernel argument nosmt is missing"
        );
        world.annotate(announce::FORCE, "now");
        assert_eq!(world.run(), Ended::Settled);
        is_at(&world, A);
        assert_eq!(world.text(announce::DRIFT), "");
        assert_eq!(world.host.running().arguments, [staged.arguments[2].clone()]);
    }
}
