//! A rendered config as settings of a host.

mod accounts;

use std::collections::{BTreeMap, BTreeSet};

use berth_ignition::{
    Config, file_contents, parse,
    types::{Dropin, NodeGroup, NodeUser, Unit, User},
};
use berth_pools::{CORE, FORCE_FILE, MachineConfigSpec};
use serde::{Deserialize, Serialize};

pub use self::accounts::{Account, Accounts};
use crate::{
    host::{Capabilities, SystemDriver},
    item::{Entry, FileEntry, Item, Owner, Setting, System, arguments},
    journal::{ORIGINALS, STATE},
};

/// Where administrators' units are.
pub const UNITS: &str = "/etc/systemd/system";

/// Where a user's keys are, below their home: `authorized_keys`, or a folder of fragments.
pub(crate) const KEYS: &str = "/.ssh/authorized_keys";

/// What a mask points to.
const MASK: &str = "/dev/null";

/// The permissions of what a config does not give any, as the Machine Config Operator has them.
const FILE_MODE: u32 = 0o644;
const DIRECTORY_MODE: u32 = 0o755;
const KEYS_MODE: u32 = 0o600;

/// The name of a config that nobody rendered: of a machine that was not installed by one.
pub const UNCONFIGURED: &str = "not-yet-set";

/// A rendered config with its name: what a node runs, or shall run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeConfig {
    /// `rendered-<pool>-<hash>`.
    pub name: String,
    /// The image of a pool with built images; it stands for the spec's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// All that it says.
    pub spec: MachineConfigSpec,
}

impl NodeConfig {
    /// What runs on a machine that no config made.
    pub fn unconfigured() -> Self {
        Self {
            name: UNCONFIGURED.to_owned(),
            ..Self::default()
        }
    }

    /// Whether nobody rendered it.
    pub fn is_unconfigured(&self) -> bool {
        self.name == UNCONFIGURED
    }

    /// The spec with the image that counts.
    pub fn effective(&self) -> MachineConfigSpec {
        let mut spec = self.spec.clone();
        if let Some(image) = &self.image {
            spec.os_image_url.clone_from(image);
        }
        spec
    }
}

/// Why a host cannot take a config.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// The Ignition config cannot be read.
    #[error("its Ignition config cannot be read: {0}")]
    Unreadable(String),
    /// The contents of a file are not in the config, or damaged.
    #[error("cannot read the contents of {path}: {why}")]
    Contents {
        /// The file.
        path: String,
        /// What is wrong.
        why: String,
    },
    /// A path that could mean another place.
    #[error("the path `{0}` is not an absolute path without `.` and `..`")]
    Path(String),
    /// A place where the daemon keeps what it needs to go back.
    #[error("{0} is the daemon's own")]
    OwnPath(String),
    /// A file of an owner that the host does not have.
    #[error("{path} belongs to the {kind} `{name}`, which the host does not have")]
    Owner {
        /// The file.
        path: String,
        /// `user` or `group`.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// A user whom the host does not have.
    #[error("the host does not have the user `{0}`, for whom the config has keys or a password")]
    User(String),
    /// A hard link.
    #[error("{0} is a hard link, which the daemon does not make")]
    HardLink(String),
    /// A name of a unit that would be a path.
    #[error("`{0}` is not the name of a unit or drop-in")]
    UnitName(String),
    /// The host cannot change what it boots.
    #[error("the config asks for {what}, and the host has {driver}")]
    Driver {
        /// What is asked for.
        what: String,
        /// What the host has instead.
        driver: SystemDriver,
    },
}

/// What a config makes of a host: everything that it manages there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostConfig {
    /// Things and what they are set to.
    pub settings: BTreeMap<Item, Setting>,
    /// The operating system.
    pub system: System,
    /// Units that the config wants to be stopped: those that it disables or masks.
    pub stopped: BTreeSet<String>,
}

impl HostConfig {
    /// What this config makes of a host that can do this. What the host cannot do is left out and named.
    pub fn of(config: &NodeConfig, host: &Capabilities) -> (Self, Vec<Obstacle>) {
        let spec = config.effective();
        let mut reader = Reader {
            host,
            made: Self {
                system: System {
                    arguments: own(system(&spec).arguments, host),
                    ..system(&spec)
                },
                ..Self::default()
            },
            obstacles: Vec::new(),
        };
        reader.system();
        match &spec.config {
            None => {}
            Some(json) => {
                let parsed = parse(json);
                match parsed.config {
                    Some(ignition) => reader.ignition(&ignition),
                    None => {
                        let findings: Vec<String> = parsed.findings.iter().map(ToString::to_string).collect();
                        reader.obstacles.push(Obstacle::Unreadable(findings.join("; ")));
                    }
                }
            }
        }
        (reader.made, reader.obstacles)
    }
}

/// Arguments without those that the host has of its own, which no config adds or removes.
fn own(mut arguments: Vec<String>, host: &Capabilities) -> Vec<String> {
    arguments.retain(|argument| !host.native_arguments.contains(argument));
    arguments
}

/// The operating system that a config asks for, whatever the host has of it.
pub(crate) fn system(spec: &MachineConfigSpec) -> System {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let extensions: BTreeSet<String> = spec.extensions.iter().cloned().collect();
    System {
        image: some(&spec.os_image_url),
        extensions_image: some(&spec.base_os_extensions_container_image).filter(|_| !extensions.is_empty()),
        extensions,
        kernel_type: some(&spec.kernel_type).filter(|kernel| kernel != "default"),
        arguments: spec.kernel_arguments.iter().flat_map(|text| arguments(text)).collect(),
    }
}

struct Reader<'a> {
    host: &'a Capabilities,
    made: HostConfig,
    obstacles: Vec<Obstacle>,
}

impl Reader<'_> {
    /// What the driver of the host can change.
    fn system(&mut self) {
        let driver = self.host.driver;
        let system = self.made.system.clone();
        let mut refuse = |wanted: bool, able: bool, what: String| {
            if wanted && !able {
                self.obstacles.push(Obstacle::Driver { what, driver });
            }
        };
        refuse(
            !system.arguments.is_empty(),
            driver.changes_arguments(),
            format!("the kernel arguments `{}`", system.arguments.join(" ")),
        );
        refuse(
            system.image.is_some(),
            driver.changes_image(),
            format!(
                "the operating system image {}",
                system.image.as_deref().unwrap_or_default()
            ),
        );
        let names: Vec<&str> = system.extensions.iter().map(String::as_str).collect();
        refuse(
            !names.is_empty(),
            driver.changes_packages(),
            format!("the extensions {}", names.join(", ")),
        );
        refuse(
            system.kernel_type.is_some(),
            driver.changes_packages(),
            format!("the kernel type {}", system.kernel_type.as_deref().unwrap_or_default()),
        );
    }

    fn ignition(&mut self, config: &Config) {
        if let Some(storage) = &config.as_v3_5().storage {
            for directory in storage.directories.iter().flatten() {
                let owner = self.owner(&directory.path, directory.user.as_ref(), directory.group.as_ref());
                let mode = mode(directory.mode, DIRECTORY_MODE);
                self.put(&directory.path, Entry::Directory { mode, owner });
            }
            for link in storage.links.iter().flatten() {
                if link.hard == Some(true) {
                    self.obstacles.push(Obstacle::HardLink(link.path.clone()));
                    continue;
                }
                let target = link.target.clone().unwrap_or_default();
                self.put(&link.path, Entry::Link { target });
            }
        }
        for file in config.files() {
            let owner = self.owner(&file.path, file.user.as_ref(), file.group.as_ref());
            match file_contents(file) {
                Ok(contents) => self.put(
                    &file.path,
                    Entry::File(FileEntry {
                        contents,
                        mode: mode(file.mode, FILE_MODE),
                        owner,
                    }),
                ),
                Err(error) => self.obstacles.push(Obstacle::Contents {
                    path: file.path.clone(),
                    why: error.to_string(),
                }),
            }
        }
        for unit in config.units() {
            self.unit(unit);
        }
        let passwd = config.as_v3_5().passwd.as_ref();
        for user in passwd.iter().flat_map(|passwd| passwd.users.iter().flatten()) {
            self.user(user);
        }
    }

    fn put(&mut self, path: &str, entry: Entry) {
        if !is_plain(path) {
            self.obstacles.push(Obstacle::Path(path.to_owned()));
        } else if is_below(path, STATE) || is_below(path, ORIGINALS) || path == FORCE_FILE {
            self.obstacles.push(Obstacle::OwnPath(path.to_owned()));
        } else {
            self.made
                .settings
                .insert(Item::Path(path.to_owned()), Setting::Entry(entry));
        }
    }

    fn owner(&mut self, path: &str, user: Option<&NodeUser>, group: Option<&NodeGroup>) -> Owner {
        let number = |id: Option<i64>| id.and_then(|id| u32::try_from(id).ok());
        let accounts = &self.host.accounts;
        let mut missing = |kind, name: &str| {
            self.obstacles.push(Obstacle::Owner {
                path: path.to_owned(),
                kind,
                name: name.to_owned(),
            });
            0
        };
        let user = match user {
            None => 0,
            Some(user) => match (number(user.id), &user.name) {
                (Some(id), _) => id,
                (None, Some(name)) => accounts
                    .user(name)
                    .map_or_else(|| missing("user", name), |account| account.owner.user),
                (None, None) => 0,
            },
        };
        let group = match group {
            None => 0,
            Some(group) => match (number(group.id), &group.name) {
                (Some(id), _) => id,
                (None, Some(name)) => accounts.group(name).unwrap_or_else(|| missing("group", name)),
                (None, None) => 0,
            },
        };
        Owner { user, group }
    }

    fn unit(&mut self, unit: &Unit) {
        if !is_name(&unit.name) {
            self.obstacles.push(Obstacle::UnitName(unit.name.clone()));
            return;
        }
        let path = format!("{UNITS}/{}", unit.name);
        let masked = unit.mask == Some(true);
        let contents = unit.contents.as_deref().filter(|text| !text.is_empty());
        if masked {
            self.put(
                &path,
                Entry::Link {
                    target: MASK.to_owned(),
                },
            );
        } else if let Some(text) = contents {
            self.put(&path, Entry::File(FileEntry::new(text, FILE_MODE)));
        }
        for drop_in in unit.dropins.iter().flatten() {
            self.drop_in(&path, drop_in);
        }
        if masked || unit.enabled == Some(false) {
            self.made.stopped.insert(unit.name.clone());
        }
        // What is masked cannot be enabled, and need not be disabled.
        if let Some(enabled) = unit.enabled.filter(|_| !masked) {
            self.made
                .settings
                .insert(Item::Unit(unit.name.clone()), Setting::Enabled(enabled));
        }
    }

    /// A drop-in without contents is one that is not there, as the original has it.
    fn drop_in(&mut self, unit: &str, drop_in: &Dropin) {
        if !is_name(&drop_in.name) {
            self.obstacles.push(Obstacle::UnitName(drop_in.name.clone()));
        } else if let Some(text) = drop_in.contents.as_deref().filter(|text| !text.is_empty()) {
            let path = format!("{unit}.d/{}", drop_in.name);
            self.put(&path, Entry::File(FileEntry::new(text, FILE_MODE)));
        }
    }

    /// The keys and the password of a user. Others than `core` cannot change and were made at installation.
    fn user(&mut self, user: &User) {
        let keys: Vec<&str> = user.ssh_authorized_keys.iter().flatten().map(String::as_str).collect();
        if user.name != CORE || (keys.is_empty() && user.password_hash.is_none()) {
            return;
        }
        let Some(account) = self.host.accounts.user(&user.name) else {
            self.obstacles.push(Obstacle::User(user.name.clone()));
            return;
        };
        let (home, owner) = (account.home.trim_end_matches('/').to_owned(), account.owner);
        if !keys.is_empty() {
            let fragment = if self.host.key_fragments { ".d/ignition" } else { "" };
            let mut contents = keys.join("\n");
            contents.push('\n');
            let mode = KEYS_MODE;
            let contents = contents.into_bytes();
            self.put(
                &format!("{home}{KEYS}{fragment}"),
                Entry::File(FileEntry { contents, mode, owner }),
            );
        }
        if let Some(hash) = &user.password_hash {
            self.made
                .settings
                .insert(Item::Password(user.name.clone()), Setting::Hash(hash.clone()));
        }
    }
}

fn mode(mode: Option<i64>, default: u32) -> u32 {
    mode.and_then(|mode| u32::try_from(mode).ok()).unwrap_or(default) & 0o7777
}

/// Whether a path is absolute and means what it says.
fn is_plain(path: &str) -> bool {
    let parts = path.strip_prefix('/').filter(|rest| !rest.is_empty());
    parts.is_some_and(|rest| {
        !path.contains('\0')
            && rest
                .split('/')
                .all(|part| !part.is_empty() && part != "." && part != "..")
    })
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0'])
}

#[cfg(test)]
mod tests;
