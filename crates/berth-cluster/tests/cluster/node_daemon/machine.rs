//! A machine below a temporary folder with a real node daemon. Its systemd is a script: enabled units are links, as with the real one.

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use berth_clock::Clock;
use berth_cluster::daemon::{Options, run};
use berth_daemon::{RootHost, Settings};
use kube::Client;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use crate::support::Cluster;

/// Long enough for every turn on a busy machine.
const PATIENCE: Duration = Duration::from_mins(3);

/// What systemd does, as far as the daemon asks it. Services run when they are enabled, unless a config breaks them.
const PROGRAMS: &str = r#"
root="$1/root"; here="$1"; shift
units="$root/etc/systemd/system"; wants="$units/multi-user.target.wants"
services() { for link in "$wants"/*.service; do [ -L "$link" ] && echo "${link##*/} $*"; done; true; }
case "$1 $2" in
  "systemctl is-enabled")
    if [ -L "$wants/$3" ]; then echo enabled
    elif [ -e "$units/$3" ] || [ -e "$root/usr/lib/systemd/system/$3" ]; then echo disabled
    else echo not-found; fi ;;
  "systemctl reenable") mkdir -p "$wants" && ln -sfn "../$3" "$wants/$3" ;;
  "systemctl disable") rm -f "$wants/$3" ;;
  "systemctl list-units") grep -qs broken "$root/etc/chrony.conf" || services loaded active running ;;
  "systemctl list-unit-files") services enabled ;;
  "systemctl restart" | "systemctl reload") echo "$2 $3" >> "$here/log" ;;
  "systemctl daemon-reload") ;;
  "systemctl reboot") touch "$here/reboot" ;;
  *) echo "there is no program $*" >&2; exit 1 ;;
esac
"#;

/// Whether the machines of these scenarios can be had: their files belong to root.
pub(super) fn possible() -> bool {
    let possible = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    assert!(
        possible || std::env::var_os("BERTH_REQUIRE_TOOLS").is_none(),
        "machines need root, and nothing may be missing"
    );
    possible
}

pub(super) struct Machine {
    pub(super) node: String,
    client: Client,
    settings: Settings,
    folder: TempDir,
    boots: Arc<AtomicU32>,
    running: Option<(Runtime, CancellationToken)>,
}

impl Machine {
    /// A machine that nobody configured, whose daemon runs.
    pub(super) async fn start(cluster: &Cluster, node: &str, settings: Settings) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, text) in [
            (
                "etc/passwd",
                "root:x:0:0::/root:/bin/sh\ncore:x:1000:1000::/home/core:/bin/sh\n",
            ),
            ("etc/group", "root:x:0:\ncore:x:1000:\n"),
            ("etc/chrony.conf", "shipped"),
            ("usr/lib/systemd/system/chronyd.service", "[Service]\n"),
            ("run/keep", ""),
        ] {
            let place = folder.path().join("root").join(path);
            fs::create_dir_all(place.parent().expect("a folder")).expect("a folder");
            fs::write(place, text).expect("written");
        }
        fs::write(folder.path().join("programs.sh"), PROGRAMS).expect("written");
        let mut machine = Self {
            node: node.to_owned(),
            // Its connections end with its runtime.
            client: cluster.fresh_client().await,
            settings,
            folder,
            boots: Arc::default(),
            running: None,
        };
        machine.power_on();
        machine
    }

    /// The daemon starts. When the machine is started again, so is the daemon.
    pub(super) fn power_on(&mut self) {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let (shutdown, folder) = (CancellationToken::new(), self.folder.path().to_owned());
        let prefix = [
            "/bin/sh".into(),
            folder.join("programs.sh").into(),
            folder.clone().into(),
        ];
        let options = Options {
            node: self.node.clone(),
            settings: self.settings.clone(),
            files: Some(folder.join("root")),
            ends_at_reboot: true,
            clock: Clock::system(),
        };
        let (client, boots, ends) = (self.client.clone(), self.boots.clone(), shutdown.clone());
        runtime.spawn(async move {
            let prefix: Vec<OsString> = prefix.to_vec();
            while !ends.is_cancelled() {
                boot(&folder, boots.load(Ordering::SeqCst));
                let host = RootHost::new(folder.join("root"), prefix.clone());
                let ended = run(client.clone(), host, options.clone(), ends.clone()).await;
                drop(ended.expect("the daemon ends in order"));
                if fs::remove_file(folder.join("reboot")).is_ok() {
                    boots.fetch_add(1, Ordering::SeqCst);
                }
            }
        });
        self.running = Some((runtime, shutdown));
    }

    /// Ends the daemon wherever it is between two turns.
    pub(super) async fn kill(&mut self) {
        if let Some((runtime, _)) = self.running.take() {
            // A turn that has begun on another thread must not go on beside the next daemon.
            let ended = tokio::task::spawn_blocking(move || runtime.shutdown_timeout(PATIENCE));
            ended.await.expect("no panic");
        }
    }

    /// Ends the daemon as SIGTERM does.
    pub(super) fn terminate(&self) {
        if let Some((_, shutdown)) = &self.running {
            shutdown.cancel();
        }
    }

    pub(super) async fn change_settings(&mut self, change: impl FnOnce(&mut Settings)) {
        self.kill().await;
        change(&mut self.settings);
        self.power_on();
    }

    /// How often it was started again.
    pub(super) fn reboots(&self) -> u32 {
        self.boots.load(Ordering::SeqCst)
    }

    /// Services that were restarted or reloaded.
    pub(super) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join("root").join(path.trim_start_matches('/'))
    }

    pub(super) fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.path(path)).ok()
    }

    /// Somebody writes a file behind the daemon's back.
    pub(super) fn write(&self, path: &str, text: &str) {
        fs::write(self.path(path), text).expect("written");
    }

    /// Waits for something on the machine.
    pub(super) async fn sees(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let seen = async {
            while !is_so(self) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let seen = tokio::time::timeout(PATIENCE, seen).await;
        seen.unwrap_or_else(|_| panic!("{} never {what}", self.node));
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if let Some((runtime, _)) = self.running.take() {
            runtime.shutdown_background();
        }
    }
}

/// A new boot has a new id.
fn boot(folder: &Path, number: u32) {
    let place = folder.join("root/proc/sys/kernel/random/boot_id");
    fs::create_dir_all(place.parent().expect("a folder")).expect("a folder");
    fs::write(place, format!("boot-{number}\n")).expect("written");
}
