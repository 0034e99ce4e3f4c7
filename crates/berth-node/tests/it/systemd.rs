//! What the real systemd makes of the machine's units together with what the generator wrote.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use crate::machine::Machine;

const SYSTEMD: &str = "/usr/lib/systemd/systemd";

/// A unit as systemd loaded it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Loaded {
    pub(crate) state: String,
    pub(crate) argv: Vec<Vec<String>>,
}

/// The program, if it is here. Where everything must be checked, a missing program is a failure.
fn tool(path: &str) -> Option<PathBuf> {
    let found = Path::new(path);
    if found.exists() {
        return Some(found.to_owned());
    }
    let required = std::env::var_os("BERTH_REQUIRE_TOOLS").is_some_and(|value| value == "1");
    assert!(!required, "{path} is missing");
    None
}

/// Loads the kubelet's unit by the real systemd in its test mode, which starts nothing. `None` without systemd.
pub(crate) fn load(machine: &Machine) -> Option<Loaded> {
    let systemd = tool(SYSTEMD)?;
    let run = tempfile::tempdir().unwrap();
    fs::set_permissions(run.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let links = run.path().join("units");
    fs::create_dir(&links).unwrap();
    fs::write(links.join("all.target"), "[Unit]\nWants=kubelet.service\n").unwrap();
    // The temporary directories are private; test mode refuses to run as root and so needs to read them as nobody.
    open_up(machine);
    let search_path: Vec<String> = [
        links,
        machine.path("/etc/systemd/system"),
        machine.generator_directory(),
        machine.path("/usr/lib/systemd/system"),
    ]
    .iter()
    .map(|path| path.display().to_string())
    .collect();
    let run_it = |program: &Path, arguments: &[&str]| -> Option<Output> {
        Command::new(program)
            .args(arguments)
            .args(["--test", "--user", "--unit=all.target"])
            .env("HOME", run.path())
            .env("XDG_RUNTIME_DIR", run.path())
            .env("SYSTEMD_UNIT_PATH", search_path.join(":"))
            .output()
            .ok()
    };
    let as_nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups", SYSTEMD];
    let output = run_it(Path::new("setpriv"), &as_nobody)
        .filter(|output| output.status.success())
        .or_else(|| run_it(&systemd, &[]))?;
    let dump = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        dump.contains("-> Unit all.target"),
        "systemd loaded nothing: {output:?}"
    );
    Some(read(&dump))
}

fn open_up(machine: &Machine) {
    let root = machine.path("");
    let directory = root.parent().unwrap();
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
}

fn read(dump: &str) -> Loaded {
    let mut loaded = Loaded::default();
    let mut ours = false;
    let mut start = false;
    let mut unit = Loaded::default();
    // An alias is printed under the unit's real name, with its other names below.
    for line in dump.lines().chain(["-> Unit end:"]) {
        let text = line.trim();
        if let Some(name) = text.strip_prefix("-> Unit ") {
            if ours {
                loaded = std::mem::take(&mut unit);
            }
            unit = Loaded::default();
            ours = name == "kubelet.service:";
        } else if text == "Alias: kubelet.service" {
            ours = true;
        } else if let Some(state) = text.strip_prefix("Unit Load State: ") {
            state.clone_into(&mut unit.state);
        } else if let Some(name) = text.strip_prefix("-> Exec") {
            start = name == "Start:";
        } else if let Some(words) = text.strip_prefix("Command Line: ")
            && start
        {
            unit.argv.push(unquote(words));
        }
    }
    loaded
}

/// Splits a command line that systemd printed in shell quotes.
fn unquote(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' if !quoted => words.extend(word.take()),
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            '\\' => word.get_or_insert_default().extend(chars.next()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Lets `systemd-analyze verify` judge the unit together with the generated drop-in.
pub(crate) fn verify(machine: &Machine) {
    let Some(analyze) = tool("/usr/bin/systemd-analyze") else {
        return;
    };
    // Verification wants the programs to be there; what they do is of no interest.
    let path = format!(
        "{}:{}:{}:",
        machine.path("/etc/systemd/system").display(),
        machine.generator_directory().display(),
        machine.path("/usr/lib/systemd/system").display()
    );
    let output = Command::new(analyze)
        .args(["verify", "--man=no", "--recursive-errors=no", "kubelet.service"])
        .env("SYSTEMD_UNIT_PATH", path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    // What is wrong with the unit itself is none of our business, and there is no kubelet on the machine that tests.
    let ours: Vec<&str> = said
        .lines()
        .filter(|line| !line.starts_with(machine.path("").to_str().unwrap()))
        .filter(|line| !line.contains("is not executable: No such file or directory"))
        .filter(|line| !line.trim().is_empty())
        .collect();
    assert!(ours.is_empty(), "{said}");
}
