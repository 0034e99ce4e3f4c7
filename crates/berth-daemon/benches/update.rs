//! An update of 500 files without a reboot, on a real file system, beside a plain loop that writes and syncs the same files.
//!
//! `cargo bench -p berth-daemon --bench update` as root; `-- --root FOLDER` takes another folder than the one for temporary files,
//! for instance on another disk. It prints both times and the resident memory, and fails when the update takes longer than its limit.
//! Programs of the host are one script that does nothing: what services take is not counted.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench prints, fails as a test does, and takes the time"
)]

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use berth_daemon::{
    Daemon, News, RootHost, Settings, Turn,
    decide::{Configs, NodeView},
};
use berth_pools::{Action, DisruptionPolicy, FilePolicy, MachineConfigSpec, UserPolicy, annotation};
use jiff::Timestamp;
use serde_json::json;

const FILES: usize = 500;
const BYTES: usize = 2048;
const FOLDER: &str = "/etc/many";
const LIMIT: Duration = Duration::from_secs(1);

fn main() {
    let mut arguments = env::args_os().skip_while(|argument| argument != "--root").skip(1);
    let base = arguments.next().map_or_else(env::temp_dir, PathBuf::from);
    let folder = tempfile::tempdir_in(base).expect("a folder");
    let root = folder.path().join("root");
    for (path, text) in [
        ("proc/sys/kernel/random/boot_id", "boot-1\n"),
        ("etc/passwd", "root:x:0:0::/root:/bin/sh\n"),
        ("etc/group", "root:x:0:\n"),
        ("run/keep", ""),
    ] {
        let place = root.join(path);
        fs::create_dir_all(place.parent().expect("a folder")).expect("a folder");
        fs::write(place, text).expect("written");
    }
    let script = folder.path().join("programs.sh");
    fs::write(&script, "exit 0\n").expect("written");

    let mut world = World::new(&root, vec!["/bin/sh".into(), script.into()]);
    world.update("rendered-many-1", 1);
    let began = Instant::now();
    world.update("rendered-many-2", 2);
    let update = began.elapsed();
    for number in 0..FILES {
        let written = fs::read_to_string(root.join(place(number).trim_start_matches('/'))).expect("written");
        assert_eq!(written, text(number, 2));
    }

    let began = Instant::now();
    let plain = folder.path().join("plain");
    fs::create_dir(&plain).expect("a folder");
    for number in 0..FILES {
        let mut file = File::create(plain.join(format!("{number}.conf"))).expect("a file");
        file.write_all(text(number, 2).as_bytes()).expect("written");
        file.sync_all().expect("synced");
    }
    let plain = began.elapsed();

    println!("update of {FILES} files of {BYTES} bytes: {update:?} (limit {LIMIT:?})");
    println!("plain loop of write and fsync:        {plain:?}");
    println!("resident memory of this process:      {}", resident());
    assert!(update < LIMIT.max(plain.saturating_mul(4)), "the update takes too long");
}

fn place(number: usize) -> String {
    format!("{FOLDER}/{number}.conf")
}

fn text(number: usize, version: u32) -> String {
    let mut text = format!("# file {number}, version {version}\n");
    while text.len() < BYTES {
        text.push_str("key = value\n");
    }
    text
}

/// What the kernel says of this process.
fn resident() -> String {
    let status = fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.expect("resident memory").trim().to_owned()
}

/// A daemon whose Node says what it is told.
struct World {
    daemon: Daemon<RootHost>,
    annotations: BTreeMap<String, String>,
}

impl World {
    fn new(root: &Path, prefix: Vec<OsString>) -> Self {
        let policy = DisruptionPolicy::default().with(&UserPolicy {
            files: vec![FilePolicy {
                path: FOLDER.to_owned(),
                actions: vec![Action::None],
            }],
            units: Vec::new(),
            ssh_keys: None,
        });
        let settings = Settings {
            policy,
            ..Settings::default()
        };
        Self {
            daemon: Daemon::start(RootHost::new(root, prefix), settings).expect("a daemon"),
            annotations: BTreeMap::new(),
        }
    }

    fn update(&mut self, name: &str, version: u32) {
        let files: Vec<_> = (0..FILES)
            .map(|number| berth_ignition::file(place(number), 0o644, text(number, version)))
            .collect();
        let spec = MachineConfigSpec {
            config: Some(json!({"ignition": {"version": "3.5.0"}, "storage": {"files": files}})),
            ..MachineConfigSpec::default()
        };
        let configs: Configs = [(name.to_owned(), Some(spec))].into();
        self.annotations
            .insert(annotation::DESIRED_CONFIG.to_owned(), name.to_owned());
        // Nobody is there to drain to.
        self.annotations
            .insert(annotation::TOPOLOGY.to_owned(), "SingleReplica".to_owned());
        for _ in 0..100 {
            let node = NodeView {
                annotations: self.annotations.clone(),
                ready: Some(true),
                ..NodeView::default()
            };
            let news = News {
                node: Some(&node),
                reachable: true,
                configs: &configs,
                now: Timestamp::UNIX_EPOCH,
            };
            match self.daemon.turn(&news).expect("a host that is up") {
                Turn::Publish(patch) => {
                    for (key, text) in patch {
                        self.annotations.insert(key, text.unwrap_or_default());
                    }
                }
                Turn::Fetch(config) => panic!("{config} is known"),
                Turn::Wait(_) => break,
            }
        }
        let said = |key: &str| self.annotations.get(key).map(String::as_str).unwrap_or_default();
        assert_eq!(
            (said(annotation::CURRENT_CONFIG), said(annotation::STATE)),
            (name, "Done"),
            "{}",
            said(annotation::REASON)
        );
    }
}
