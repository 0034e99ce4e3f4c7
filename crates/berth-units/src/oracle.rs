//! What the real systemd makes of unit files, for tests. Its test mode loads units and prints them without starting
//! anything; where there is no systemd, the tests that ask it have nothing to compare with. They say so and pass, unless
//! `BERTH_REQUIRE_TOOLS` is set.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
    sync::atomic::{AtomicUsize, Ordering},
};

/// A unit as systemd loaded it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Loaded {
    /// `loaded`, `bad-setting`, `error`, `masked`.
    pub(crate) state: String,
    /// The argument lists of `ExecStart=`.
    pub(crate) argv: Vec<Vec<String>>,
    /// What `Environment=` sets.
    pub(crate) environment: BTreeMap<String, String>,
}

/// Set where every program that tests compare with is installed.
const REQUIRE_TOOLS: &str = "BERTH_REQUIRE_TOOLS";

/// Lets systemd load the unit files (path below the unit directory, content). `None` where that cannot be done. Files
/// whose path starts with `low/` go to a second unit directory that counts less; the content `/dev/null` makes a link.
#[expect(clippy::print_stderr, reason = "a skipped test says why")]
pub(crate) fn load(files: &[(String, Vec<u8>)]) -> Option<BTreeMap<String, Loaded>> {
    match try_load(files) {
        Ok(loaded) => Some(loaded),
        Err(reason) => {
            let required = std::env::var_os(REQUIRE_TOOLS).is_some();
            assert!(!required, "{reason}, and {REQUIRE_TOOLS} is set");
            eprintln!("skipped: {reason}");
            None
        }
    }
}

#[expect(
    clippy::unwrap_in_result,
    reason = "a temporary folder that cannot be written is a broken machine, no reason to skip"
)]
fn try_load(files: &[(String, Vec<u8>)]) -> Result<BTreeMap<String, Loaded>, String> {
    const CONTROL: (&str, &[u8]) = ("control.service", b"[Service]\nExecStart=/bin/control 'a b'\n");
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let systemd = ["/usr/lib/systemd/systemd", "/lib/systemd/systemd"]
        .into_iter()
        .map(Path::new)
        .find(|path| path.exists())
        .ok_or("systemd is not installed")?;
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let root = std::env::temp_dir().join(format!("berth-units-{}-{number}", std::process::id()));
    let units = root.join("units");
    let low = root.join("low");
    let run = root.join("run");
    fs::create_dir_all(&units).unwrap();
    fs::create_dir_all(&run).unwrap();
    fs::set_permissions(&run, fs::Permissions::from_mode(0o777)).unwrap();
    let mut names = vec![CONTROL.0.to_owned()];
    fs::write(units.join(CONTROL.0), CONTROL.1).unwrap();
    for (path, content) in files {
        let target = match path.strip_prefix("low/") {
            Some(path) => low.join(path),
            None => units.join(path),
        };
        if let Some(directory) = target.parent() {
            fs::create_dir_all(directory).unwrap();
        }
        if content == b"/dev/null" {
            std::os::unix::fs::symlink("/dev/null", target).unwrap();
        } else {
            fs::write(target, content).unwrap();
        }
        let name = path.strip_prefix("low/").unwrap_or(path);
        if !name.contains('/') {
            names.push(name.to_owned());
        }
    }
    fs::write(units.join("all.target"), format!("[Unit]\nWants={}\n", names.join(" "))).unwrap();

    let search_path = format!("{}:{}", units.display(), low.display());
    // Test mode refuses to run as root.
    let as_nobody = run_test_mode(Path::new("setpriv"), Some(systemd), &search_path, &run);
    let output = as_nobody
        .filter(|output| output.status.success())
        .or_else(|| run_test_mode(systemd, None, &search_path, &run));
    fs::remove_dir_all(&root).unwrap();
    let output = output.ok_or("systemd cannot be started")?;
    let loaded = read_dump(&String::from_utf8_lossy(&output.stdout));
    // A systemd that does not print this unit as expected is not one that this reader understands.
    match loaded.get(CONTROL.0) {
        Some(control) if control.argv == [["/bin/control", "a b"]] => Ok(loaded),
        _ => Err(format!(
            "systemd's test mode ({}) does not print units in a way that is understood here: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
                .lines()
                .last()
                .unwrap_or_default()
        )),
    }
}

fn run_test_mode(program: &Path, systemd: Option<&Path>, search_path: &str, run: &Path) -> Option<Output> {
    let mut command = Command::new(program);
    if let Some(systemd) = systemd {
        command
            .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
            .arg(systemd);
    }
    command
        .args(["--test", "--user", "--unit=all.target"])
        .env("HOME", run)
        .env("XDG_RUNTIME_DIR", run)
        .env("SYSTEMD_UNIT_PATH", search_path)
        .output()
        .ok()
}

fn read_dump(dump: &str) -> BTreeMap<String, Loaded> {
    let mut loaded: BTreeMap<String, Loaded> = BTreeMap::new();
    let mut unit = String::new();
    let mut key = String::new();
    for line in dump.lines() {
        let text = line.trim();
        if let Some(name) = line.trim_start().strip_prefix("-> Unit ") {
            unit = name.trim_end_matches(':').to_owned();
        } else if let Some(state) = text.strip_prefix("Unit Load State: ") {
            loaded.entry(unit.clone()).or_default().state = state.to_owned();
        } else if let Some((name, value)) = line
            .trim_start()
            .strip_prefix("Environment: ")
            .and_then(|text| text.split_once('='))
        {
            let environment = &mut loaded.entry(unit.clone()).or_default().environment;
            environment.insert(name.to_owned(), value.to_owned());
        } else if let Some(name) = text.strip_prefix("-> Exec") {
            key = name.trim_end_matches(':').to_owned();
        } else if let Some(words) = text.strip_prefix("Command Line: ")
            && key == "Start"
        {
            loaded.entry(unit.clone()).or_default().argv.push(unquote(words));
        }
    }
    loaded
}

/// Splits a command line that systemd printed in shell quotes.
fn unquote(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut chars = line.chars();
    let mut word: Option<String> = None;
    let mut quoted = false;
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
