//! Whatever is on the disk, the generator succeeds, and what it writes is something that systemd takes.

use std::{fs, os::unix::fs::PermissionsExt as _, process::Command};

use proptest::{prelude::*, strategy::ValueTree as _, test_runner::TestRunner};

use crate::{
    machine::{Machine, UNIT},
    systemd,
};

/// Pieces that unit files and their enemies are made of.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => Just(b"\n".to_vec()),
        3 => Just(b"\n[Service]\n".to_vec()),
        4 => Just(b"\nExecStart=/usr/bin/kubelet ".to_vec()),
        1 => Just(b"\nExecStart=\n".to_vec()),
        1 => Just(b"\nExecStart=bash -c \"${ORIG_EXECSTART}\"\n".to_vec()),
        1 => Just(b"\nEnvironmentFile=-/etc/berth/labels\n".to_vec()),
        1 => Just(b"\nEnvironment=FIRST_BOOT_ONLY_KUBELET_NODE_EXTRA_LABELS=x=y\n".to_vec()),
        1 => Just(b"\nType=oneshot\n".to_vec()),
        2 => Just(b"--node-labels=a=b ".to_vec()),
        1 => Just(b"--node-labels".to_vec()),
        1 => Just(b" ; /bin/a ".to_vec()),
        1 => Just(b"\\".to_vec()),
        1 => Just(b"'".to_vec()),
        1 => Just(b"\"".to_vec()),
        1 => Just(b"%".to_vec()),
        1 => Just(b"$X ${Y} $".to_vec()),
        1 => Just(b"pool=rwn\n".to_vec()),
        1 => Just(b"\r\n# c\n".to_vec()),
        // A file that is not UTF-8 is not read at all; see `generator.rs`.
        1 => prop::collection::vec(0..0x80u8, 0..6),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// Paths that the generator may look at.
const PATHS: &[&str] = &[
    "/etc/systemd/system/kubelet.service",
    "/etc/systemd/system/kubelet.service.d/10-a.conf",
    "/usr/lib/systemd/system/kubelet.service.d/60-b.conf",
    "/etc/systemd/system/kubelet.service.d/50-berth.conf",
    "/usr/lib/systemd/system/service.d/10-c.conf",
    "/etc/berth/flavour",
    "/etc/os-release",
];

#[test]
fn no_file_makes_it_fail() {
    let mut runner = TestRunner::deterministic();
    let mut written = 0;
    for round in 0..120 {
        let mut draw = || text().new_tree(&mut runner).unwrap().current();
        let machine = Machine::new();
        let mut unit = b"[Service]\nExecStart=/usr/bin/kubelet ".to_vec();
        unit.extend(draw());
        machine.write(UNIT, unit);
        let mut labels = b"pool=rwn\n".to_vec();
        labels.extend(draw());
        machine.write("/etc/berth/labels", labels);
        for (number, path) in PATHS.iter().enumerate() {
            if (round >> number) & 1 == 1 {
                machine.write(path, draw());
            }
        }
        let before = systemd::load(&machine);
        let generated = machine.generate();
        assert_eq!(machine.generate(), generated);
        if generated.files.is_empty() {
            continue;
        }
        written += 1;
        let (Some(before), Some(after)) = (before, systemd::load(&machine)) else {
            continue;
        };
        let text = generated.text();
        if generated.log.contains("hides the generated drop-in") {
            assert_eq!(after, before, "{text}");
            continue;
        }
        assert_eq!(
            (before.state.as_str(), after.state.as_str()),
            ("loaded", "loaded"),
            "{text}"
        );
        let flagged = after.argv.iter().flatten().any(|word| word.contains("--node-labels="));
        assert!(flagged, "{text}");
    }
    assert!(
        written > 20,
        "only {written} machines got a drop-in: the test says little"
    );
}

/// Things that are not regular files, and places that cannot be written.
#[test]
fn no_kind_of_file_makes_it_fail_or_wait() {
    let good = "[Service]\nExecStart=/usr/bin/kubelet\n";
    for path in [
        UNIT,
        "/etc/berth/labels",
        "/etc/berth/flavour",
        "/etc/systemd/system/kubelet.service",
    ] {
        for kind in ["directory", "pipe", "loop", "dangling", "large"] {
            let machine = Machine::with(good, "a=b\n");
            let place = machine.path(path);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            let _ = fs::remove_file(&place);
            match kind {
                "directory" => fs::create_dir(&place).unwrap(),
                "pipe" => assert!(Command::new("mkfifo").arg(&place).status().unwrap().success()),
                "loop" => machine.link(path, path),
                "dangling" => machine.link(path, "/nowhere"),
                _ => fs::write(&place, vec![b'x'; 3 << 20]).unwrap(),
            }
            machine.generate();
        }
    }
    let machine = Machine::with(good, "a=b\n");
    fs::write(machine.generator_directory(), "a file is in the way").unwrap();
    let told = machine.generate();
    assert!(told.log.contains("no labels are added: cannot make "), "{}", told.log);
    let machine = Machine::with(good, "a=b\n");
    fs::create_dir(machine.generator_directory()).unwrap();
    fs::set_permissions(machine.generator_directory(), fs::Permissions::from_mode(0o500)).unwrap();
    machine.generate();
}
