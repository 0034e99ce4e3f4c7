//! Berth's processes: two controllers and two servers, which are killed and started again.

use std::{
    fs::File,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
};

use crate::memory::Memory;

/// The name of the program in the test's folder.
pub(crate) const PROGRAM: &str = "berth";

/// What a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    Controller,
    Server,
}

struct Slot {
    kind: Kind,
    name: String,
    /// How often it was started.
    generation: u32,
    address: SocketAddr,
    child: Option<Child>,
    /// Whether it leads, and since when it does or does not.
    role: (bool, u64),
}

impl Slot {
    /// Its name among those that hold leases: another one each time it is started, as a pod's is.
    fn identity(&self) -> String {
        format!("{}-{}", self.name, self.generation)
    }

    /// What its memory is filed under: a controller that leads has more to remember than one that waits, so that each time is
    /// judged by itself.
    fn series(&self) -> String {
        let (leads, since) = self.role;
        let role = if leads { "leading" } else { "waiting" };
        match self.kind {
            Kind::Controller => format!("{}, {role} since {since} s", self.identity()),
            Kind::Server => self.identity(),
        }
    }
}

/// All processes.
#[derive(Clone)]
pub(crate) struct Fleet(Arc<Mutex<Inner>>);

struct Inner {
    slots: Vec<Slot>,
    folder: PathBuf,
    database: String,
    memory: Memory,
}

impl Fleet {
    /// Starts everything. The folder has the program, the kubeconfig and the documents; logs go there.
    pub(crate) fn start(folder: &Path, database: &str) -> Self {
        let slot = |kind, name: &str| Slot {
            kind,
            name: name.to_owned(),
            generation: 0,
            address: free_address(),
            child: None,
            role: (false, 0),
        };
        let fleet = Self(Arc::new(Mutex::new(Inner {
            slots: vec![
                slot(Kind::Controller, "controller-a"),
                slot(Kind::Controller, "controller-b"),
                slot(Kind::Server, "server-a"),
                slot(Kind::Server, "server-b"),
            ],
            folder: folder.to_owned(),
            database: database.to_owned(),
            memory: Memory::default(),
        })));
        fleet.start_missing();
        fleet
    }

    /// Starts what was killed.
    pub(crate) fn start_missing(&self) {
        let mut inner = self.0.lock().unwrap();
        let Inner {
            slots,
            folder,
            database,
            ..
        } = &mut *inner;
        for slot in slots.iter_mut().filter(|slot| slot.child.is_none()) {
            slot.generation += 1;
            slot.role = (false, 0);
            let log = File::options()
                .create(true)
                .append(true)
                .open(folder.join(format!("{}.log", slot.name)))
                .unwrap();
            slot.child = Some(command(slot, folder, database).stderr(log).spawn().unwrap());
        }
    }

    /// Kills the process that has this identity in the lease; whether there was one.
    pub(crate) fn kill_controller(&self, identity: &str) -> bool {
        self.kill(|slot| slot.kind == Kind::Controller && slot.identity() == identity)
    }

    /// Kills the second server. The first one lives on, so that its memory can be followed for the whole time.
    pub(crate) fn kill_server(&self) -> bool {
        self.kill(|slot| slot.name == "server-b")
    }

    fn kill(&self, fits: impl Fn(&Slot) -> bool) -> bool {
        let mut inner = self.0.lock().unwrap();
        let slot = inner.slots.iter_mut().find(|slot| slot.child.is_some() && fits(slot));
        let Some(mut child) = slot.and_then(|slot| slot.child.take()) else {
            return false;
        };
        child.kill().unwrap();
        child.wait().unwrap();
        true
    }

    /// The addresses of the API of servers, and of the metrics of controllers.
    pub(crate) fn addresses(&self, kind: Kind) -> Vec<SocketAddr> {
        let inner = self.0.lock().unwrap();
        let those = inner.slots.iter().filter(|slot| slot.kind == kind);
        those.map(|slot| slot.address).collect()
    }

    /// Notes who leads by now.
    pub(crate) fn is_led_by(&self, leader: &str, seconds: u64) {
        for slot in &mut self.0.lock().unwrap().slots {
            let leads = slot.identity() == leader;
            if leads != slot.role.0 {
                slot.role = (leads, seconds);
            }
        }
    }

    /// Looks at every process; and says which one ended by itself.
    pub(crate) fn sample(&self, seconds: u64) -> Option<String> {
        let mut inner = self.0.lock().unwrap();
        let Inner { slots, memory, .. } = &mut *inner;
        for slot in slots {
            let (identity, series) = (slot.identity(), slot.series());
            let Some(child) = &mut slot.child else { continue };
            if let Some(status) = child.try_wait().unwrap() {
                return Some(format!("{identity} ended by itself: {status}"));
            }
            memory.sample(slot.kind, series, child.id(), seconds);
        }
        None
    }

    pub(crate) fn memory<T>(&self, ask: impl FnOnce(&Memory) -> T) -> T {
        ask(&self.0.lock().unwrap().memory)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        for child in self.slots.iter_mut().filter_map(|slot| slot.child.as_mut()) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn command(slot: &Slot, folder: &Path, database: &str) -> Command {
    // The program gets the signal when the test ends, however that happens.
    let mut command = Command::new("setpriv");
    command
        .args(["--pdeathsig", "KILL", "--"])
        .arg(folder.join(PROGRAM))
        .current_dir(folder)
        .env_remove("BERTH_DATABASE")
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    match slot.kind {
        Kind::Controller => command
            .args(["controller", "--site", "site", "--kubeconfig", "kubeconfig"])
            .args(["--admission", "off", "--no-adoption"])
            .args(["--lease-namespace", "kube-system", "--lease-duration", "4s"])
            .args(["--identity", &slot.identity()])
            .args(["--health-listen", &slot.address.to_string()]),
        Kind::Server => command
            .args(["serve", "--listen", &slot.address.to_string(), "--database", database])
            .args(["--cluster-kubeconfig", "kubeconfig", "--identity", &slot.name])
            .args(["--lease-duration", "4s", "--concurrency", "8", "--strategy", "owned"])
            .args(["--no-site-action-needed", "--deployment-configuration", "never"]),
    };
    command
}

/// An address that nobody listened on a moment ago.
fn free_address() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap()
}
