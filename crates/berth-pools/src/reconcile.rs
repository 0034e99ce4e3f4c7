//! Whether machines that run a pool's current config can be brought to a new one without being installed again.

use std::{collections::HashMap, fmt};

use berth_ignition::{
    Config, parse,
    types::{KernelArguments, Passwd, Storage, User},
};

use crate::{
    machine_config::{MachineConfig, MachineConfigSpec, merge_order},
    render::Rendered,
};

/// Writing this file tells OpenShift's daemon to skip its checks. No config may do that on all machines at once.
pub const FORCE_FILE: &str = "/run/machine-config-daemon-force";

/// The only user that can change after installation.
pub const CORE: &str = "core";

/// Why a rendered config cannot follow the current one: all reasons, not only the first.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot reconcile with {rendered}: {}", join(.changes))]
pub struct Irreconcilable {
    /// The rendered config that was refused.
    pub rendered: String,
    /// The reasons.
    pub changes: Vec<IrreconcilableChange>,
}

/// One change that a running machine cannot follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IrreconcilableChange {
    /// What changes.
    pub item: IrreconcilableItem,
    /// The machine configs that have the item, in merge order. Empty when the change is that none has it any more.
    pub machine_configs: Vec<String>,
}

impl fmt::Display for IrreconcilableChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.machine_configs.as_slice() {
            [] => write!(f, "{} (no MachineConfig has it any more)", self.item),
            [one] => write!(f, "{} (MachineConfig {one})", self.item),
            several => write!(f, "{} (MachineConfigs {})", self.item, several.join(", ")),
        }
    }
}

/// What a running machine cannot follow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IrreconcilableItem {
    /// One of the config's own kernel arguments; those of the machine config can change.
    #[error("ignition kernelArguments section contains changes: {0}")]
    KernelArgument(String),
    /// A disk, by its device.
    #[error("ignition disks section contains changes: {0}")]
    Disk(String),
    /// A file system, by its device.
    #[error("ignition filesystems section contains changes: {0}")]
    Filesystem(String),
    /// A RAID, by its name.
    #[error("ignition raid section contains changes: {0}")]
    Raid(String),
    /// A directory, by its path.
    #[error("ignition directories section contains changes: {0}")]
    Directory(String),
    /// A link that is new or points elsewhere, by its path.
    #[error("ignition links section contains changes: {0}")]
    Link(String),
    /// A file that adds to what is on the machine: each update would add again.
    #[error("ignition file {0} includes append")]
    Append(String),
    /// The file that switches the daemon's checks off.
    #[error("cannot create {FORCE_FILE} via Ignition")]
    ForceFile,
    /// FIPS mode is chosen at installation.
    #[error("detected change to FIPS flag; refusing to modify FIPS on a running cluster")]
    Fips,
    /// A group, by its name.
    #[error("ignition passwd groups section contains changes: {0}")]
    Group(String),
    /// A user other than `core`.
    #[error("ignition passwd user section contains unsupported changes: non-core user {0}")]
    User(String),
    /// Something of `core` besides its keys and its password.
    #[error(
        "ignition passwd user section contains unsupported changes: user core can change sshAuthorizedKeys and passwordHash only"
    )]
    CoreUser,
    /// One of the two configs cannot be read, so nothing can be said.
    #[error("the Ignition config of the {0} rendered config cannot be read")]
    Unreadable(&'static str),
}

/// Changes that an administrator allows although machines that run will not follow them: only new machines do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an exception of its own")]
pub struct ReconcileOverrides {
    /// Disks may change.
    pub disks: bool,
    /// File systems may change.
    pub filesystems: bool,
    /// RAIDs may change.
    pub raid: bool,
    /// Directories may change: whoever applies the config makes and removes them.
    pub directories: bool,
    /// Links may be new or point elsewhere: whoever applies the config makes them.
    pub links: bool,
}

/// Whether machines that run `current` can be brought to `new`, which is made of `inputs`.
pub fn reconcile<'a>(
    current: &MachineConfigSpec,
    new: &Rendered,
    inputs: impl IntoIterator<Item = &'a MachineConfig>,
) -> Result<(), Irreconcilable> {
    reconcile_with(current, new, inputs, ReconcileOverrides::default())
}

/// As [`reconcile`], with exceptions.
pub fn reconcile_with<'a>(
    current: &MachineConfigSpec,
    new: &Rendered,
    inputs: impl IntoIterator<Item = &'a MachineConfig>,
    overrides: ReconcileOverrides,
) -> Result<(), Irreconcilable> {
    reconcile_specs(current, (&new.name, &new.spec), inputs, overrides)
}

/// As [`reconcile_with`], for a config of which only name and spec are known: a machine does not have what it was made of.
pub fn reconcile_specs<'a>(
    current: &MachineConfigSpec,
    (name, new): (&str, &MachineConfigSpec),
    inputs: impl IntoIterator<Item = &'a MachineConfig>,
    overrides: ReconcileOverrides,
) -> Result<(), Irreconcilable> {
    let inputs: Vec<_> = merge_order(inputs)
        .into_iter()
        .map(|config| (config, read(&config.spec).unwrap_or_default()))
        .collect();
    let mut changes = Changes {
        inputs: &inputs,
        found: Vec::new(),
    };
    match (read(current), read(new)) {
        (Some(old), Some(new)) => changes.compare(&old, &new, overrides),
        (None, _) => changes.push(IrreconcilableItem::Unreadable("current"), |_, _| false),
        (_, None) => changes.push(IrreconcilableItem::Unreadable("new"), |_, _| false),
    }
    if current.fips != new.fips {
        changes.push(IrreconcilableItem::Fips, |config, _| config.spec.fips);
    }
    if changes.found.is_empty() {
        return Ok(());
    }
    Err(Irreconcilable {
        rendered: name.to_owned(),
        changes: changes.found,
    })
}

/// The Ignition config of a spec; one that says nothing has an empty config.
pub(crate) fn read(spec: &MachineConfigSpec) -> Option<Config> {
    match &spec.config {
        None => Some(Config::new()),
        Some(json) => parse(json).config,
    }
}

struct Changes<'a> {
    inputs: &'a [(&'a MachineConfig, Config)],
    found: Vec<IrreconcilableChange>,
}

impl Changes<'_> {
    fn push(&mut self, item: IrreconcilableItem, has: impl Fn(&MachineConfig, &Config) -> bool) {
        self.found.push(IrreconcilableChange {
            item,
            machine_configs: self
                .inputs
                .iter()
                .filter(|(config, ignition)| has(config, ignition))
                .map(|(config, _)| config.name.clone())
                .collect(),
        });
    }

    /// Compares one list and reports each key whose entry is not the same.
    fn list<T: PartialEq>(
        &mut self,
        (old, new): (&Config, &Config),
        list: impl Fn(&Config) -> &[T],
        key: impl Fn(&T) -> &str,
        item: impl Fn(String) -> IrreconcilableItem,
    ) {
        for changed in changed_keys(list(old), list(new), &key) {
            self.push(item(changed.to_owned()), |_, config| {
                list(config).iter().any(|entry| key(entry) == changed)
            });
        }
    }

    fn compare(&mut self, old: &Config, new: &Config, overrides: ReconcileOverrides) {
        use IrreconcilableItem as Item;
        let both = (old, new);
        self.list(both, wanted_arguments, String::as_str, Item::KernelArgument);
        self.list(both, unwanted_arguments, String::as_str, Item::KernelArgument);
        if !overrides.disks {
            self.list(both, |c| storage(c, |s| &s.disks), |disk| &disk.device, Item::Disk);
        }
        if !overrides.filesystems {
            self.list(
                both,
                |c| storage(c, |s| &s.filesystems),
                |fs| &fs.device,
                Item::Filesystem,
            );
        }
        if !overrides.raid {
            self.list(both, |c| storage(c, |s| &s.raid), |raid| &raid.name, Item::Raid);
        }
        if !overrides.directories {
            self.list(
                both,
                |c| storage(c, |s| &s.directories),
                |dir| &dir.path,
                Item::Directory,
            );
        }
        if !overrides.links {
            self.links(old, new);
        }
        for file in new.files() {
            if file.append.as_ref().is_some_and(|parts| !parts.is_empty()) {
                self.push(Item::Append(file.path.clone()), |_, config| {
                    let file = config.find_file(&file.path);
                    file.and_then(|file| file.append.as_ref())
                        .is_some_and(|parts| !parts.is_empty())
                });
            }
            if file.path == FORCE_FILE {
                self.push(Item::ForceFile, |_, config| config.find_file(FORCE_FILE).is_some());
            }
        }
        self.list(both, |c| passwd(c, |p| &p.groups), |group| &group.name, Item::Group);
        self.users(users(old), users(new));
    }

    /// A link that is gone is removed from the machine; only new ones cannot be made.
    fn links(&mut self, old: &Config, new: &Config) {
        let old_links = storage(old, |s| &s.links);
        for link in storage(new, |s| &s.links)
            .iter()
            .filter(|link| !old_links.contains(link))
        {
            self.push(IrreconcilableItem::Link(link.path.clone()), |_, config| {
                storage(config, |s| &s.links)
                    .iter()
                    .any(|other| other.path == link.path)
            });
        }
    }

    fn users(&mut self, old: &[User], new: &[User]) {
        for name in changed_keys(old, new, |user| &user.name) {
            let has = |_: &MachineConfig, config: &Config| users(config).iter().any(|user| user.name == name);
            if name != CORE {
                self.push(IrreconcilableItem::User(name.to_owned()), has);
            } else if fixed_part(old) != fixed_part(new) {
                self.push(IrreconcilableItem::CoreUser, has);
            }
        }
    }
}

/// What of `core` cannot change. A machine has that user anyway, so one that is not named is one with nothing set.
fn fixed_part(users: &[User]) -> User {
    let core = users.iter().find(|user| user.name == CORE);
    User {
        ssh_authorized_keys: None,
        password_hash: None,
        ..core.cloned().unwrap_or_else(|| User::new(CORE.to_owned()))
    }
}

/// The keys of entries that are new, gone or not the same, each once.
pub(crate) fn changed_keys<'a, T: PartialEq>(old: &'a [T], new: &'a [T], key: impl Fn(&T) -> &str) -> Vec<&'a str> {
    fn by_key<'a, T>(entries: &'a [T], key: &impl Fn(&T) -> &str) -> HashMap<&'a str, &'a T> {
        entries.iter().map(|entry| (key(entry), entry)).collect()
    }
    let (before, after) = (by_key(old, &key), by_key(new, &key));
    let changed = new.iter().map(&key).filter(|name| before.get(name) != after.get(name));
    let gone = old.iter().map(&key).filter(|name| !after.contains_key(name));
    changed.chain(gone).collect()
}

pub(crate) fn storage<T>(config: &Config, list: impl Fn(&Storage) -> &Option<Vec<T>>) -> &[T] {
    let storage = config.as_v3_5().storage.as_ref();
    storage.and_then(|storage| list(storage).as_deref()).unwrap_or_default()
}

fn passwd<T>(config: &Config, list: impl Fn(&Passwd) -> &Option<Vec<T>>) -> &[T] {
    let passwd = config.as_v3_5().passwd.as_ref();
    passwd.and_then(|passwd| list(passwd).as_deref()).unwrap_or_default()
}

pub(crate) fn users(config: &Config) -> &[User] {
    passwd(config, |passwd| &passwd.users)
}

fn arguments(config: &Config, list: impl Fn(&KernelArguments) -> &Option<Vec<String>>) -> &[String] {
    let arguments = config.as_v3_5().kernel_arguments.as_ref();
    arguments
        .and_then(|arguments| list(arguments).as_deref())
        .unwrap_or_default()
}

pub(crate) fn wanted_arguments(config: &Config) -> &[String] {
    arguments(config, |arguments| &arguments.should_exist)
}

pub(crate) fn unwanted_arguments(config: &Config) -> &[String] {
    arguments(config, |arguments| &arguments.should_not_exist)
}

fn join(changes: &[IrreconcilableChange]) -> String {
    let texts: Vec<_> = changes.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

#[cfg(test)]
mod tests;
