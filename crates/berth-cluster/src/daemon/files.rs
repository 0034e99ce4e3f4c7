//! Files of the host that a config manages: a change of one is noticed, also of one that appears later.
//!
//! Every folder on the way to a managed path is watched for the name that leads on, so that whatever of the way appears, goes
//! or is replaced is seen. Other names in these folders are passed over.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ffi::{OsStr, OsString},
    future::pending,
    io,
    mem::MaybeUninit,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use berth_daemon::{Item, RootHost, host_config::UNITS};
use rustix::{
    fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags},
    io::Errno,
};
use tokio::{io::unix::AsyncFd, time::timeout};
use tracing::warn;

/// So long nothing more has to change before it is looked at: whoever writes files seldom writes one.
const SETTLE: Duration = Duration::from_millis(300);

/// How often that is waited for, where somebody goes on writing.
const ROUNDS: usize = 10;

/// Room for many events at once.
const BUFFER: usize = 4096;

/// Ends of names of folders with links that enable units.
const ENABLING: [&str; 2] = [".wants", ".requires"];

/// Where password hashes are.
const SHADOW: &str = "/etc/shadow";

/// The names in a folder that are of interest.
#[derive(Debug, Default)]
struct Names {
    exactly: BTreeSet<OsString>,
    /// Folders with links that enable units, too.
    enabling: bool,
}

impl Names {
    fn has(&self, name: &OsStr) -> bool {
        self.exactly.contains(name) || (self.enabling && is_enabling(name))
    }
}

fn is_enabling(name: &OsStr) -> bool {
    ENABLING.iter().any(|end| name.as_bytes().ends_with(end.as_bytes()))
}

/// The watch of a host's files.
#[derive(Debug)]
pub(super) struct Files {
    root: Option<PathBuf>,
    items: BTreeSet<Item>,
    /// Paths that are of interest whatever the config says.
    always: Vec<&'static str>,
    watch: Option<Watch>,
    /// Something changed that was not dealt with: also the way to files may have.
    changed: bool,
}

#[derive(Debug)]
struct Watch {
    inotify: AsyncFd<OwnedFd>,
    folders: HashMap<i32, Names>,
}

impl Files {
    /// The files below a folder; `None` for a host that has none to be watched.
    pub(super) fn new(root: Option<PathBuf>, always: Vec<&'static str>) -> Self {
        Self {
            root,
            items: BTreeSet::new(),
            always,
            watch: None,
            changed: true,
        }
    }

    /// Watches these things from now on. Whether something may have changed before that was seen by nobody.
    pub(super) fn follow(&mut self, items: &BTreeSet<Item>) -> bool {
        if !self.changed && *items == self.items {
            return false;
        }
        self.changed = false;
        self.items.clone_from(items);
        let Some(root) = &self.root else {
            return true;
        };
        self.watch = match Watch::new(&folders(root, items, &self.always)) {
            Ok(watch) => Some(watch),
            Err(error) => {
                warn!(
                    error = &error as &dyn std::error::Error,
                    "files are not watched; drift is found when the daemon starts and at every update"
                );
                None
            }
        };
        true
    }

    /// Waits until something changed, and then until nothing more does. Whoever stops waiting loses nothing.
    pub(super) async fn changed(&mut self) {
        let Some(watch) = &mut self.watch else {
            return pending().await;
        };
        while !self.changed {
            self.changed = watch.next().await;
        }
        for _ in 0..ROUNDS {
            if timeout(SETTLE, watch.next()).await.is_err() {
                return;
            }
        }
    }
}

impl Watch {
    fn new(folders: &BTreeMap<PathBuf, Names>) -> io::Result<Self> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let flags = WatchFlags::ATTRIB
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MODIFY
            | WatchFlags::MOVE
            | WatchFlags::ONLYDIR;
        let mut watched: HashMap<i32, Names> = HashMap::new();
        for (folder, names) in folders {
            match inotify::add_watch(&inotify, folder, flags) {
                Ok(number) => {
                    // Two ways can lead to one folder.
                    let known = watched.entry(number).or_default();
                    known.exactly.extend(names.exactly.iter().cloned());
                    known.enabling |= names.enabling;
                }
                // It is watched for when it appears, by the folder above it.
                Err(Errno::NOENT | Errno::NOTDIR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        #[expect(
            deprecated,
            reason = "what is wanted instead is unsafe; the descriptor is owned, so it is nobody else's until it is dropped"
        )]
        let inotify = AsyncFd::new(inotify)?;
        Ok(Self {
            inotify,
            folders: watched,
        })
    }

    /// Waits for events; whether one of them is of interest.
    async fn next(&mut self) -> bool {
        let Ok(mut ready) = self.inotify.readable().await else {
            return pending().await;
        };
        let mut buffer = [MaybeUninit::uninit(); BUFFER];
        let mut events = inotify::Reader::new(self.inotify.get_ref(), &mut buffer);
        let mut found = false;
        while let Ok(event) = events.next() {
            let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
            found |= match (self.folders.get(&event.wd()), name) {
                (Some(names), Some(name)) => names.has(name),
                // Events were lost, or a folder went or was unmounted.
                _ => event
                    .events()
                    .intersects(ReadFlags::QUEUE_OVERFLOW | ReadFlags::IGNORED | ReadFlags::UNMOUNT),
            };
        }
        ready.clear_ready();
        found
    }
}

/// The folders to watch, with the names in them that are of interest.
fn folders(root: &Path, items: &BTreeSet<Item>, always: &[&'static str]) -> BTreeMap<PathBuf, Names> {
    let host = RootHost::new(root, Vec::new());
    let mut folders: BTreeMap<PathBuf, Names> = BTreeMap::new();
    let mut follow = |path: &str| {
        // A way that leads nowhere, such as links in a circle, is not one that anybody can write to.
        let Ok(place) = host.locate(path) else { return };
        let mut place = place.as_path();
        while let (Some(folder), Some(name)) = (place.parent(), place.file_name()) {
            if !folder.starts_with(root) {
                break;
            }
            folders
                .entry(folder.to_owned())
                .or_default()
                .exactly
                .insert(name.to_owned());
            place = folder;
        }
    };
    always.iter().copied().for_each(&mut follow);
    let mut units = BTreeSet::new();
    for item in items {
        match item {
            Item::Path(path) => follow(path),
            Item::Password(_) => follow(SHADOW),
            Item::Unit(unit) => {
                follow(&format!("{UNITS}/{unit}"));
                units.insert(OsString::from(unit));
            }
        }
    }
    if let (false, Ok(place)) = (units.is_empty(), host.locate(UNITS)) {
        let entries = std::fs::read_dir(&place).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| is_enabling(&entry.file_name())) {
            let names = folders.entry(entry.path()).or_default();
            names.exactly.extend(units.iter().cloned());
        }
        folders.entry(place).or_default().enabling = true;
    }
    folders
}

#[cfg(test)]
mod tests;
