//! A real host, below some folder.

use std::{
    collections::{BTreeSet, VecDeque},
    ffi::OsString,
    fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, chown, symlink},
    path::{Component, Path, PathBuf},
    thread,
};

use sha2::{Digest as _, Sha256};

use super::{
    Capabilities, Enablement, Host, HostError, Reboot,
    commands::{Commands, SERVICES, SHORT},
};
use crate::{
    host_config::{Accounts, UNITS},
    item::{Entry, FileEntry, Owner, System},
};

/// How many links may lead to a place, as the kernel has it.
const LINKS: usize = 40;

/// So many files are synced at once: the file system joins them into few writes of its journal.
const SYNCS: usize = 16;

/// The longest name of a file.
const NAME_LIMIT: usize = 255;

/// What a name ends with that is staged. Programs that read a whole folder pass over hidden files, or over this end.
const STAGED: &str = ".berth-new";

/// A host whose file system is below a folder: `/`, or where a container has it.
#[derive(Debug)]
pub struct RootHost {
    root: PathBuf,
    pub(super) commands: Commands,
    staged: BTreeSet<PathBuf>,
    /// Folders with changes that are not synced.
    folders: BTreeSet<PathBuf>,
    /// Programs of the host changed something below these.
    trees: BTreeSet<&'static str>,
}

impl RootHost {
    /// The host below `root`. Its programs are run with `prefix` before them, which says how to get there.
    pub fn new(root: impl Into<PathBuf>, prefix: Vec<OsString>) -> Self {
        Self {
            root: root.into(),
            commands: Commands { prefix },
            staged: BTreeSet::new(),
            folders: BTreeSet::new(),
            trees: BTreeSet::new(),
        }
    }

    /// Where a path of the host is here. Links on the way are followed as the host would follow them, so that none leads out
    /// of it; the last part is not followed.
    pub fn locate(&self, path: &str) -> Result<PathBuf, HostError> {
        let mut todo: VecDeque<OsString> = parts(Path::new(path));
        let Some(last) = todo.pop_back() else {
            return Ok(self.root.clone());
        };
        let mut place = PathBuf::new();
        let mut links = 0;
        while let Some(part) = todo.pop_front() {
            if part == ".." {
                place.pop();
                continue;
            }
            let next = place.join(&part);
            match fs::read_link(self.root.join(&next)) {
                Ok(target) => {
                    links += 1;
                    if links > LINKS {
                        return Err(file_error("follow", path, &io::Error::other("too many links")));
                    }
                    if target.is_absolute() {
                        place = PathBuf::new();
                    }
                    for part in parts(&target).into_iter().rev() {
                        todo.push_front(part);
                    }
                }
                Err(_) => place = next,
            }
        }
        Ok(self.root.join(place).join(last))
    }

    pub(super) fn exists(&self, path: &str) -> bool {
        self.locate(path).is_ok_and(|place| fs::symlink_metadata(place).is_ok())
    }

    /// Where a file is staged: beside its place, so that it only has to be renamed.
    fn staging(&self, path: &str) -> Result<PathBuf, HostError> {
        let place = self.locate(path)?;
        let name = place.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let staged = if name.len() + STAGED.len() < NAME_LIMIT {
            format!(".{name}{STAGED}")
        } else {
            let digest = Sha256::digest(&name);
            let digest = digest
                .iter()
                .take(8)
                .fold(0_u64, |all, byte| all << 8 | u64::from(*byte));
            format!(".{digest:016x}{STAGED}")
        };
        Ok(place.with_file_name(staged))
    }

    /// Makes folders that are missing on the way to a place. They are for whom the file is for.
    fn make_way(&mut self, path: &str, owner: Owner) -> Result<(), HostError> {
        let place = self.locate(path)?;
        let mut missing = Vec::new();
        let mut folder = place.parent();
        while let Some(here) = folder.filter(|here| !here.exists() && here.starts_with(&self.root)) {
            missing.push(here.to_owned());
            folder = here.parent();
        }
        for folder in missing.into_iter().rev() {
            let mode = if owner == Owner::ROOT { 0o755 } else { 0o700 };
            let done = DirBuilder::new().mode(mode).create(&folder);
            done.and_then(|()| own(&folder, owner))
                .map_err(|error| file_error("make the folder of", path, &error))?;
            self.folders.extend(folder.parent().map(Path::to_owned));
        }
        Ok(())
    }

    fn touched(&mut self, place: &Path) {
        self.folders.extend(place.parent().map(Path::to_owned));
    }

    fn systemctl(&self, arguments: &[&str], limit: std::time::Duration) -> Result<String, HostError> {
        let command: Vec<&str> = ["systemctl"].into_iter().chain(arguments.iter().copied()).collect();
        self.commands.run(&command, limit)
    }

    fn units(&self, arguments: &[&str]) -> Result<BTreeSet<String>, HostError> {
        let all = [arguments, &["--type=service", "--plain", "--no-legend", "--no-pager"]].concat();
        let said = self.systemctl(&all, SHORT)?;
        let names = said.lines().filter_map(|line| line.split_whitespace().next());
        Ok(names.map(str::to_owned).collect())
    }
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(part) => Some(part.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    });
    parts.collect()
}

fn file_error(what: &'static str, path: &str, error: &io::Error) -> HostError {
    HostError::File {
        what,
        path: path.to_owned(),
        why: error.to_string(),
    }
}

/// Gives a file to its owner, unless it has it.
fn own(place: &Path, owner: Owner) -> io::Result<()> {
    let is = fs::symlink_metadata(place)?;
    if (is.uid(), is.gid()) == (owner.user, owner.group) {
        return Ok(());
    }
    chown(place, Some(owner.user), Some(owner.group))
}

fn owner(metadata: &Metadata) -> Owner {
    Owner {
        user: metadata.uid(),
        group: metadata.gid(),
    }
}

fn sync_files(files: &[PathBuf]) -> Result<(), HostError> {
    files.iter().try_for_each(|path| {
        let synced = File::open(path).and_then(|file| file.sync_all());
        synced.map_err(|error| file_error("sync", &path.to_string_lossy(), &error))
    })
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // A folder that is gone has nothing to sync, and the one above it is synced too.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        synced => synced,
    }
}

impl Host for RootHost {
    fn entry(&self, path: &str) -> Result<Option<Entry>, HostError> {
        let place = self.locate(path)?;
        let error = |error| file_error("read", path, &error);
        let metadata = match fs::symlink_metadata(&place) {
            Ok(metadata) => metadata,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(found) => return Err(error(found)),
        };
        let mode = metadata.mode() & 0o7777;
        let owner = owner(&metadata);
        Ok(Some(if metadata.is_symlink() {
            let target = fs::read_link(&place).map_err(error)?;
            Entry::Link {
                target: target.to_string_lossy().into_owned(),
            }
        } else if metadata.is_dir() {
            Entry::Directory { mode, owner }
        } else if metadata.is_file() {
            let contents = fs::read(&place).map_err(error)?;
            Entry::File(FileEntry { contents, mode, owner })
        } else {
            return Err(error(io::Error::other("it is neither a file, a link nor a directory")));
        }))
    }

    fn shipped(&self, path: &str) -> Result<Option<Entry>, HostError> {
        // ostree keeps `/etc` as it was shipped.
        match path.strip_prefix("/etc/") {
            Some(rest) if self.exists("/usr/etc") => self.entry(&format!("/usr/etc/{rest}")),
            _ => Ok(None),
        }
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, HostError> {
        let error = |error| file_error("list", folder, &error);
        match fs::read_dir(self.locate(folder)?) {
            Ok(entries) => entries
                .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
                .collect::<io::Result<_>>()
                .map_err(error),
            Err(found) if found.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(found) => Err(error(found)),
        }
    }

    fn enablement(&self, unit: &str) -> Result<Enablement, HostError> {
        // Its exit code says no more than its words, and is not zero for a unit that is disabled.
        let said = self.commands.ask(&["systemctl", "is-enabled", unit], None, SHORT)?;
        Ok(match said.output.trim() {
            "enabled" | "enabled-runtime" => Enablement::Enabled,
            "disabled" | "linked" | "linked-runtime" => Enablement::Disabled,
            "" | "not-found" => Enablement::Missing,
            _ => Enablement::Fixed,
        })
    }

    fn password(&self, user: &str) -> Result<Option<String>, HostError> {
        let shadow = self.text("/etc/shadow")?.unwrap_or_default();
        let hash = shadow.lines().find_map(|line| {
            let (name, rest) = line.split_once(':')?;
            (name == user).then(|| rest.split(':').next().unwrap_or_default().to_owned())
        });
        Ok(hash)
    }

    fn system(&self, arguments: &BTreeSet<String>) -> Result<System, HostError> {
        self.next_boot(arguments)
    }

    fn booted(&self, arguments: &BTreeSet<String>) -> Result<Option<System>, HostError> {
        self.last_boot(arguments)
    }

    fn capabilities(&self) -> Result<Capabilities, HostError> {
        let text = |path: &str| self.text(path).map(Option::unwrap_or_default);
        let kexec = self.exists("/usr/sbin/kexec") || self.exists("/sbin/kexec");
        Ok(Capabilities {
            driver: self.driver(),
            kexec: kexec && self.exists("/boot/grub/grub.cfg"),
            fips: text("/proc/sys/crypto/fips_enabled")?.trim() == "1",
            key_fragments: self.exists("/usr/libexec/ssh-key-dir"),
            accounts: Accounts::parse(&text("/etc/passwd")?, &text("/etc/group")?),
            native_arguments: BTreeSet::new(),
        })
    }

    fn boot_id(&self) -> Result<String, HostError> {
        let id = self.text("/proc/sys/kernel/random/boot_id")?;
        id.map(|id| id.trim().to_owned())
            .filter(|id| !id.is_empty())
            .ok_or_else(|| HostError::Unable("the host does not tell which boot it is in".to_owned()))
    }

    fn serving(&self) -> Result<BTreeSet<String>, HostError> {
        let active = self.units(&["list-units", "--state=active"])?;
        let enabled = self.units(&["list-unit-files", "--state=enabled"])?;
        Ok(active.intersection(&enabled).cloned().collect())
    }

    fn probe(&self, command: &str) -> Result<(), String> {
        let done = self.commands.run(&["sh", "-c", command], SHORT);
        done.map(drop).map_err(|error| error.to_string())
    }

    fn stage(&mut self, path: &str, file: &FileEntry) -> Result<(), HostError> {
        self.make_way(path, file.owner)?;
        let staging = self.staging(path)?;
        let write = || {
            match fs::remove_file(&staging) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            // For nobody else before it has its owner, and never through a link that somebody put there.
            let mut staged = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&staging)?;
            staged.write_all(&file.contents)?;
            own(&staging, file.owner)?;
            fs::set_permissions(&staging, Permissions::from_mode(file.mode))
        };
        write().map_err(|error| file_error("write", path, &error))?;
        self.staged.insert(staging);
        Ok(())
    }

    fn sync_staged(&mut self) -> Result<(), HostError> {
        let staged: Vec<PathBuf> = std::mem::take(&mut self.staged).into_iter().collect();
        if staged.len() <= SYNCS {
            return sync_files(&staged);
        }
        thread::scope(|scope| {
            let mut threads = Vec::new();
            for files in staged.chunks(staged.len().div_ceil(SYNCS)) {
                match thread::Builder::new().spawn_scoped(scope, move || sync_files(files)) {
                    Ok(thread) => threads.push(thread),
                    // Without threads it only takes longer.
                    Err(_) => sync_files(files)?,
                }
            }
            let broken = |_| Err(HostError::Unable("a thread that syncs files broke off".to_owned()));
            threads
                .into_iter()
                .try_for_each(|thread| thread.join().unwrap_or_else(broken))
        })
    }

    fn place(&mut self, path: &str) -> Result<(), HostError> {
        let (staging, place) = (self.staging(path)?, self.locate(path)?);
        fs::rename(&staging, &place).map_err(|error| file_error("write", path, &error))?;
        self.staged.remove(&staging);
        self.touched(&place);
        Ok(())
    }

    fn discard(&mut self, path: &str) -> Result<(), HostError> {
        let staging = self.staging(path)?;
        self.staged.remove(&staging);
        match fs::remove_file(&staging) {
            // With nothing there, nothing is in the way, whatever the reason is.
            Err(_) if fs::symlink_metadata(&staging).is_err() => Ok(()),
            Err(error) => Err(file_error("remove what is staged for", path, &error)),
            Ok(()) => Ok(()),
        }
    }

    fn link(&mut self, path: &str, target: &str) -> Result<(), HostError> {
        self.make_way(path, Owner::ROOT)?;
        let (staging, place) = (self.staging(path)?, self.locate(path)?);
        let write = || {
            match fs::remove_file(&staging) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            symlink(target, &staging)?;
            fs::rename(&staging, &place)
        };
        write().map_err(|error| file_error("link", path, &error))?;
        self.touched(&place);
        Ok(())
    }

    fn directory(&mut self, path: &str, mode: u32, owner: Owner) -> Result<(), HostError> {
        self.make_way(path, Owner::ROOT)?;
        let place = self.locate(path)?;
        let make = || {
            if !fs::symlink_metadata(&place).is_ok_and(|is| is.is_dir()) {
                DirBuilder::new().mode(0o700).create(&place)?;
            }
            own(&place, owner)?;
            fs::set_permissions(&place, Permissions::from_mode(mode))
        };
        make().map_err(|error| file_error("make the directory", path, &error))?;
        self.folders.insert(place.clone());
        self.touched(&place);
        Ok(())
    }

    fn remove(&mut self, path: &str) -> Result<(), HostError> {
        let place = self.locate(path)?;
        let removed = match fs::symlink_metadata(&place) {
            Ok(is) if is.is_dir() => fs::remove_dir(&place),
            Ok(_) => fs::remove_file(&place),
            Err(error) => Err(error),
        };
        match removed {
            Ok(()) => self.touched(&place),
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::DirectoryNotEmpty => {}
                _ => return Err(file_error("remove", path, &error)),
            },
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), HostError> {
        let mut folders = std::mem::take(&mut self.folders);
        for tree in std::mem::take(&mut self.trees) {
            let place = self.locate(tree)?;
            // Links that enable a unit are in folders such as `multi-user.target.wants`.
            let below = fs::read_dir(&place).into_iter().flatten().flatten();
            folders.extend(below.map(|entry| entry.path()).filter(|path| path.is_dir()));
            folders.insert(place);
        }
        for folder in folders {
            sync_folder(&folder).map_err(|error| file_error("sync", &folder.to_string_lossy(), &error))?;
        }
        Ok(())
    }

    fn enable(&mut self, unit: &str, enabled: bool) -> Result<(), HostError> {
        self.trees.insert(UNITS);
        // Enabling anew also removes what an older file of the unit asked for.
        let verb = if enabled { "reenable" } else { "disable" };
        self.systemctl(&[verb, unit], SHORT).map(drop)
    }

    fn set_password(&mut self, user: &str, hash: &str) -> Result<(), HostError> {
        self.folders.insert(self.locate("/etc/shadow")?.with_file_name(""));
        let input = format!("{user}:{hash}\n");
        let done = self.commands.run_with(&["chpasswd", "-e"], Some(&input), SHORT);
        done?;
        let shadow = self.locate("/etc/shadow")?;
        let synced = File::open(&shadow).and_then(|file| file.sync_all());
        synced.map_err(|error| file_error("sync", "/etc/shadow", &error))
    }

    fn set_system(&mut self, wanted: &System, before: &System) -> Result<(), HostError> {
        self.set_next_boot(wanted, before)
    }

    fn daemon_reload(&mut self) -> Result<(), HostError> {
        self.systemctl(&["daemon-reload"], SHORT).map(drop)
    }

    fn reload(&mut self, unit: &str) -> Result<(), HostError> {
        self.systemctl(&["reload", unit], SERVICES).map(drop)
    }

    fn restart(&mut self, unit: &str) -> Result<(), HostError> {
        self.systemctl(&["restart", unit], SERVICES).map(drop)
    }

    fn reboot(&mut self, how: Reboot) -> Result<(), HostError> {
        if how == Reboot::Kexec && self.load_kexec().is_ok() {
            return self.systemctl(&["kexec"], SHORT).map(drop);
        }
        self.systemctl(&["reboot"], SHORT).map(drop)
    }
}

#[cfg(test)]
mod tests;
