//! The real Ignition: its validator, and the engine that writes files into an empty root.
//!
//! Debian's is 2.14.0, which knows the specs up to 3.3.0; configs are brought to that version first.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    path::Path,
    process::{Command, Stdio},
};

use berth_ignition::{Config, SpecVersion, file_contents};

const VALIDATOR: &str = "/usr/bin/ignition-validate";
const ENGINE: &str = "/usr/lib/dracut/modules.d/30ignition/ignition";

/// Whether the program is here. Where everything must be checked, a missing program is a failure.
fn is_here(program: &str) -> bool {
    let here = Path::new(program).exists();
    let required = std::env::var_os("BERTH_REQUIRE_TOOLS").is_some_and(|value| value == "1");
    assert!(here || !required, "{program} is missing");
    here
}

pub(crate) fn validate(config: &Config) {
    if !is_here(VALIDATOR) {
        return;
    }
    let json = config.to_version(SpecVersion::V3_3).unwrap();
    let mut child = Command::new(VALIDATOR)
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(json.to_string().as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success() && said.is_empty(), "{json:#}\n{said}");
}

/// Lets the engine write the config into an empty root and compares every file with what the config says.
pub(crate) fn write_and_compare(config: &Config) {
    // The engine gives files to root, which only root can do.
    let is_root = fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0);
    if !is_here(ENGINE) || !is_root {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let root = at("root");
    fs::create_dir_all(root.join("etc/selinux")).unwrap();
    fs::create_dir(at("bin")).unwrap();
    // The engine ends with a relabelling by SELinux's tools, which is not what is tested here and not installed.
    fs::write(
        root.join("etc/selinux/config"),
        "SELINUX=disabled\nSELINUXTYPE=targeted\n",
    )
    .unwrap();
    symlink("/bin/true", at("bin/setfiles")).unwrap();
    let json = config.to_version(SpecVersion::V3_3).unwrap();
    fs::write(at("config.ign"), json.to_string()).unwrap();
    for stage in ["fetch", "files"] {
        let output = Command::new(ENGINE)
            .args(["--platform", "file", "--log-to-stdout", "--stage", stage])
            .arg("--root")
            .arg(&root)
            .arg("--config-cache")
            .arg(at("cache.json"))
            .arg("--state-file")
            .arg(at("state"))
            .arg("--neednet")
            .arg(at("neednet"))
            .env("IGNITION_CONFIG_FILE", at("config.ign"))
            .env("PATH", format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", at("bin").display()))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{stage}: {said}");
    }
    assert!(!config.files().is_empty());
    for file in config.files() {
        let path = root.join(file.path.trim_start_matches('/'));
        let written = fs::read(&path).unwrap();
        assert_eq!(written, file_contents(file).unwrap(), "{}", file.path);
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(i64::from(mode), file.mode.unwrap_or(0o644), "{}", file.path);
    }
    for piece in config.unit_texts() {
        let below = match piece.dropin {
            None => piece.unit.to_owned(),
            Some(name) => format!("{}.d/{name}", piece.unit),
        };
        let written = fs::read_to_string(root.join("etc/systemd/system").join(below)).unwrap();
        assert_eq!(written, piece.text);
    }
}
