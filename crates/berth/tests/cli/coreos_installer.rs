//! What the installer of CoreOS reads from the images that `berth iso` writes, and the other way round.

use std::{fs, process::Command};

use crate::{
    live_image::{Layout, image},
    run::{Folder, Outcome, finish},
};

const PROGRAM: &str = "coreos-installer";

const ROOM: usize = 256 << 10;

/// The layouts that installers of today know; the header in the system area is older.
const LAYOUTS: [Layout; 3] = [Layout::InfoFile, Layout::InsideFile, Layout::DefaultFile];

const CONFIG: &str = r#"{"ignition": {"version": "3.4.0"}, "passwd": {"users": [{"name": "core"}]}}"#;

/// Without the program nothing can be compared, which is said and, where tools are required, an error.
#[expect(clippy::print_stderr, reason = "a skipped check says why")]
fn is_installed() -> bool {
    if Command::new(PROGRAM).arg("--version").output().is_ok() {
        return true;
    }
    let required = std::env::var_os("BERTH_REQUIRE_TOOLS").is_some_and(|value| value == "1");
    assert!(!required, "{PROGRAM} is not installed");
    eprintln!("nothing is compared: {PROGRAM} is not installed");
    false
}

fn installer(folder: &Folder, words: &str) -> Outcome {
    let mut command = Command::new(PROGRAM);
    let outcome = finish(command.current_dir(folder.path()).args(words.split_whitespace()), b"");
    assert_eq!(outcome.exit, 0, "{PROGRAM} {words}\n{outcome}");
    outcome
}

fn berth(folder: &Folder, words: &str) -> Outcome {
    let outcome = folder.line(words);
    assert_eq!(outcome.exit, 0, "berth {words}\n{outcome}");
    outcome
}

fn folder(layout: Layout) -> Folder {
    let folder = Folder::new();
    folder
        .write("live.iso", image(layout, ROOM).bytes)
        .write("node.ign", CONFIG)
        .write("large.ign", large());
    folder
}

/// Noise that repeats at a long distance: gzip does not fit into the area, and xz does.
fn large() -> String {
    let mut noise = 1_u32;
    let part: String = std::iter::repeat_with(|| {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b'A' + (noise >> 24) as u8 % 16)
    })
    .take(300_000)
    .collect();
    format!(
        r#"{{"ignition": {{"version": "3.4.0"}}, "storage": {{"files": [
            {{"path": "/a", "contents": {{"source": "data:,{part}"}}}},
            {{"path": "/b", "contents": {{"source": "data:,{part}"}}}}]}}}}"#
    )
}

fn bytes(folder: &Folder, name: &str) -> Vec<u8> {
    fs::read(folder.path().join(name)).unwrap()
}

#[test]
fn the_installer_reads_and_removes_what_berth_embedded() {
    if !is_installed() {
        return;
    }
    for layout in LAYOUTS {
        let folder = folder(layout);
        let before = bytes(&folder, "live.iso");
        for config in ["node.ign", "large.ign"] {
            berth(&folder, &format!("iso embed live.iso --ignition {config}"));
            let shown = installer(&folder, "iso ignition show live.iso");
            assert_eq!(shown.stdout.as_bytes(), bytes(&folder, config), "{layout:?}");
            installer(&folder, "iso ignition remove live.iso");
            assert!(bytes(&folder, "live.iso") == before, "{layout:?}");
        }
    }
}

/// The test above is worth half as much if both configs are packed the same way.
#[test]
fn both_compressions_are_compared() {
    let folder = folder(Layout::InfoFile);
    let offset = image(Layout::InfoFile, ROOM).offset;
    for (config, magic) in [("node.ign", b"\x1f\x8b".as_slice()), ("large.ign", b"\xfd7zXZ")] {
        berth(&folder, &format!("iso embed live.iso --ignition {config} --force"));
        assert!(bytes(&folder, "live.iso")[offset..].starts_with(magic), "{config}");
    }
}

#[test]
fn berth_reads_and_removes_what_the_installer_embedded() {
    if !is_installed() {
        return;
    }
    for layout in LAYOUTS {
        let folder = folder(layout);
        let before = bytes(&folder, "live.iso");
        for config in ["node.ign", "large.ign"] {
            installer(&folder, &format!("iso ignition embed -i {config} live.iso"));
            let shown = berth(&folder, "iso show live.iso");
            assert_eq!(shown.stdout.as_bytes(), bytes(&folder, config), "{layout:?}");
            berth(&folder, "iso remove live.iso");
            assert!(bytes(&folder, "live.iso") == before, "{layout:?}");
        }
    }
}

#[test]
fn network_settings_that_the_installer_embedded_survive() {
    if !is_installed() {
        return;
    }
    let folder = folder(Layout::InfoFile);
    // Only images that say so take network settings; the folder and file for that are added by hand.
    let keyfile = "[connection]\nid=eth0\ntype=ethernet\n";
    folder.write("eth0.nmconnection", keyfile);
    installer(&folder, "pxe network wrap -k eth0.nmconnection -o network.img");
    let mut iso = bytes(&folder, "live.iso");
    let network = bytes(&folder, "network.img");
    let offset = image(Layout::InfoFile, ROOM).offset;
    iso[offset..offset + network.len()].copy_from_slice(&network);
    folder.write("live.iso", &iso);

    berth(&folder, "iso embed live.iso --ignition node.ign");
    fs::create_dir(folder.path().join("out")).unwrap();
    installer(&folder, "iso network extract -C out live.iso");
    assert_eq!(bytes(&folder, "out/eth0.nmconnection"), keyfile.as_bytes());
    assert_eq!(installer(&folder, "iso ignition show live.iso").stdout, CONFIG);
    let removed = berth(&folder, "iso remove live.iso");
    assert!(
        removed
            .stdout
            .contains("still embedded: etc/coreos-firstboot-network/eth0.nmconnection"),
        "{removed}"
    );
    fs::remove_dir_all(folder.path().join("out")).unwrap();
    fs::create_dir(folder.path().join("out")).unwrap();
    installer(&folder, "iso network extract -C out live.iso");
    assert_eq!(bytes(&folder, "out/eth0.nmconnection"), keyfile.as_bytes());
}
