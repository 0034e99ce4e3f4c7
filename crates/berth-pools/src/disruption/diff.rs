//! The changes between two configs, each with what it costs.

use std::collections::BTreeSet;

use berth_ignition::{
    Config, file_contents, parse,
    types::{File, Unit, User},
};
use berth_units::EnvFile;
use serde::Serialize;

use super::{Action, DisruptionPolicy, KUBELET_ENV, LABELS_VARIABLE, REGISTRIES, combine, registries};
use crate::{
    machine_config::MachineConfigSpec,
    reconcile::{changed_keys, storage, unwanted_arguments, users, wanted_arguments},
};

/// Everything that differs between two configs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SpecDiff {
    /// The changes: the system first, then files, units and users in the order of the configs.
    pub changes: Vec<Change>,
}

/// One thing that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Whether it comes, goes or becomes something else.
    pub kind: ChangeKind,
    /// What it is.
    #[serde(flatten)]
    pub item: ChangedItem,
    /// What it needs on a machine.
    pub actions: Vec<Action>,
}

/// Whether something comes, goes or becomes something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// Only the new config has it.
    Added,
    /// Only the old config has it.
    Removed,
    /// Both have it, and it is not the same.
    Changed,
}

/// A thing that can differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "item", rename_all = "camelCase")]
pub enum ChangedItem {
    /// The operating system's image.
    OsImage {
        /// The image before.
        old: String,
        /// The image after.
        new: String,
    },
    /// The image of the extensions.
    ExtensionsImage {
        /// The image before.
        old: String,
        /// The image after.
        new: String,
    },
    /// The kernel type.
    KernelType {
        /// The type before.
        old: String,
        /// The type after.
        new: String,
    },
    /// FIPS mode.
    Fips {
        /// Whether it is on after.
        new: bool,
    },
    /// A kernel argument of the machine config.
    KernelArgument {
        /// The argument.
        argument: String,
    },
    /// The order of kernel arguments or extensions, which are the same otherwise.
    Order {
        /// Which list.
        list: &'static str,
    },
    /// An extension.
    Extension {
        /// Its name.
        name: String,
    },
    /// A file.
    File {
        /// Its path.
        path: String,
    },
    /// A directory.
    Directory {
        /// Its path.
        path: String,
    },
    /// A link.
    Link {
        /// Its path.
        path: String,
    },
    /// A unit.
    Unit {
        /// Its name.
        name: String,
    },
    /// A drop-in that the config puts on a unit.
    DropIn {
        /// The unit.
        unit: String,
        /// The drop-in.
        name: String,
    },
    /// A user.
    User {
        /// Their name.
        name: String,
    },
    /// A section that machines apply at installation only.
    Section {
        /// Its name in the config.
        name: &'static str,
    },
}

impl SpecDiff {
    /// Whether both configs say the same.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// What has to happen for all changes together.
    pub fn actions(&self) -> BTreeSet<Action> {
        combine(self.changes.iter().flat_map(|change| change.actions.iter().cloned()))
    }
}

/// Why two configs cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the Ignition config of the {which} config cannot be read: {}", .findings.join("; "))]
pub struct DiffError {
    /// `old` or `new`.
    pub which: &'static str,
    /// What is wrong with it.
    pub findings: Vec<String>,
}

/// The changes between two configs, with OpenShift's and Berth's own policies.
pub fn diff_specs(old: &MachineConfigSpec, new: &MachineConfigSpec) -> Result<SpecDiff, DiffError> {
    diff_specs_with(old, new, &DisruptionPolicy::default())
}

/// The changes between two configs, with these policies.
pub fn diff_specs_with(
    old: &MachineConfigSpec,
    new: &MachineConfigSpec,
    policy: &DisruptionPolicy,
) -> Result<SpecDiff, DiffError> {
    let (old_config, new_config) = (read("old", old)?, read("new", new)?);
    let mut diff = Differ {
        policy,
        changes: Vec::new(),
    };
    diff.system(old, new);
    diff.files(&old_config, &new_config);
    diff.units(old_config.units(), new_config.units());
    diff.users(users(&old_config), users(&new_config));
    diff.sections(&old_config, &new_config);
    Ok(SpecDiff { changes: diff.changes })
}

fn read(which: &'static str, spec: &MachineConfigSpec) -> Result<Config, DiffError> {
    let Some(json) = &spec.config else {
        return Ok(Config::new());
    };
    let parsed = parse(json);
    let findings = parsed.findings;
    parsed.config.ok_or_else(|| DiffError {
        which,
        findings: findings.iter().map(ToString::to_string).collect(),
    })
}

struct Differ<'a> {
    policy: &'a DisruptionPolicy,
    changes: Vec<Change>,
}

impl Differ<'_> {
    fn push(&mut self, kind: ChangeKind, item: ChangedItem, actions: Vec<Action>) {
        self.changes.push(Change { kind, item, actions });
    }

    fn reboot(&mut self, kind: ChangeKind, item: ChangedItem) {
        self.push(kind, item, vec![Action::Reboot]);
    }

    fn system(&mut self, old: &MachineConfigSpec, new: &MachineConfigSpec) {
        let texts = |old: &String, new: &String| (old.clone(), new.clone());
        if old.os_image_url != new.os_image_url {
            let (old, new) = texts(&old.os_image_url, &new.os_image_url);
            self.reboot(ChangeKind::Changed, ChangedItem::OsImage { old, new });
        }
        if old.base_os_extensions_container_image != new.base_os_extensions_container_image {
            // The image is only where packages come from: with no extension installed nothing of it is on a machine.
            let actions = if old.extensions.is_empty() && new.extensions.is_empty() {
                vec![Action::None]
            } else {
                vec![Action::Reboot]
            };
            let (old, new) = texts(
                &old.base_os_extensions_container_image,
                &new.base_os_extensions_container_image,
            );
            self.push(ChangeKind::Changed, ChangedItem::ExtensionsImage { old, new }, actions);
        }
        if kernel(&old.kernel_type) != kernel(&new.kernel_type) {
            let (old, new) = (kernel(&old.kernel_type).to_owned(), kernel(&new.kernel_type).to_owned());
            self.reboot(ChangeKind::Changed, ChangedItem::KernelType { old, new });
        }
        if old.fips != new.fips {
            self.reboot(ChangeKind::Changed, ChangedItem::Fips { new: new.fips });
        }
        self.words(
            "kernelArguments",
            &old.kernel_arguments,
            &new.kernel_arguments,
            |argument| ChangedItem::KernelArgument { argument },
        );
        // An extension that is named twice is still one extension, and their order says nothing.
        let set =
            |names: &[String]| -> Vec<String> { names.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect() };
        self.words("extensions", &set(&old.extensions), &set(&new.extensions), |name| {
            ChangedItem::Extension { name }
        });
    }

    /// Compares lists in which a word can stand several times.
    fn words(&mut self, list: &'static str, old: &[String], new: &[String], item: impl Fn(String) -> ChangedItem) {
        let mut gone: Vec<&String> = old.iter().collect();
        let mut added = Vec::new();
        for word in new {
            match gone.iter().position(|other| *other == word) {
                Some(at) => drop(gone.remove(at)),
                None => added.push(word),
            }
        }
        if gone.is_empty() && added.is_empty() && old != new {
            self.reboot(ChangeKind::Changed, ChangedItem::Order { list });
        }
        for word in gone {
            self.reboot(ChangeKind::Removed, item(word.clone()));
        }
        for word in added {
            self.reboot(ChangeKind::Added, item(word.clone()));
        }
    }

    fn files(&mut self, old: &Config, new: &Config) {
        for path in changed_keys(old.files(), new.files(), |file| &file.path) {
            let (before, after) = (old.find_file(path), new.find_file(path));
            let Some(kind) = kind(before, after) else { continue };
            if same_file(before, after) {
                continue;
            }
            let item = ChangedItem::File { path: path.to_owned() };
            let actions = self.file_actions(path, before, after);
            self.push(kind, item, actions);
        }
    }

    fn file_actions(&self, path: &str, old: Option<&File>, new: Option<&File>) -> Vec<Action> {
        // What an administrator says of the file counts more than what is known of its lines.
        if path == KUBELET_ENV && !self.policy.speaks_of(path) && only_labels_differ(old, new) {
            return vec![Action::None];
        }
        let mut actions = self.policy.of_file(path);
        let is_default = actions == DisruptionPolicy::default().of_file(path);
        if path == REGISTRIES && is_default && !only_adds_registries(old, new) {
            actions.insert(0, Action::Drain);
        }
        actions
    }

    fn units(&mut self, old: &[Unit], new: &[Unit]) {
        for name in changed_keys(old, new, |unit| &unit.name) {
            let find = |units: &[Unit]| units.iter().find(|unit| unit.name == name).cloned();
            let (before, after) = (find(old), find(new));
            let actions = self.policy.of_unit(name);
            let Some(kind) = kind(before.as_ref(), after.as_ref()) else {
                continue;
            };
            let parts = |unit: Option<Unit>| {
                let mut unit = unit.unwrap_or_else(|| Unit::new(name.to_owned()));
                let drop_ins = unit.dropins.take().unwrap_or_default();
                (unit, drop_ins)
            };
            let ((before, old_drop_ins), (after, new_drop_ins)) = (parts(before), parts(after));
            if before != after {
                // A unit that is only a place for drop-ins is not there before it has something of its own.
                let item = ChangedItem::Unit { name: name.to_owned() };
                self.push(kind, item, actions.clone());
            }
            for drop_in in changed_keys(&old_drop_ins, &new_drop_ins, |drop_in| &drop_in.name) {
                let has = |list: &[berth_ignition::types::Dropin]| list.iter().any(|entry| entry.name == drop_in);
                let kind = match (has(&old_drop_ins), has(&new_drop_ins)) {
                    (false, _) => ChangeKind::Added,
                    (true, false) => ChangeKind::Removed,
                    (true, true) => ChangeKind::Changed,
                };
                let item = ChangedItem::DropIn {
                    unit: name.to_owned(),
                    name: drop_in.to_owned(),
                };
                self.push(kind, item, actions.clone());
            }
        }
    }

    fn users(&mut self, old: &[User], new: &[User]) {
        for name in changed_keys(old, new, |user| &user.name) {
            let find = |users: &[User]| users.iter().any(|user| user.name == name);
            let kind = match (find(old), find(new)) {
                (false, _) => ChangeKind::Added,
                (true, false) => ChangeKind::Removed,
                (true, true) => ChangeKind::Changed,
            };
            let actions = self.policy.ssh_keys.clone();
            self.push(kind, ChangedItem::User { name: name.to_owned() }, actions);
        }
    }

    fn sections(&mut self, old: &Config, new: &Config) {
        self.paths(
            storage(old, |s| &s.directories),
            storage(new, |s| &s.directories),
            |directory| &directory.path,
            |path| ChangedItem::Directory { path },
        );
        self.paths(
            storage(old, |s| &s.links),
            storage(new, |s| &s.links),
            |link| &link.path,
            |path| ChangedItem::Link { path },
        );
        let sections = [
            ("kernelArguments", {
                wanted_arguments(old) == wanted_arguments(new) && unwanted_arguments(old) == unwanted_arguments(new)
            }),
            ("disks", storage(old, |s| &s.disks) == storage(new, |s| &s.disks)),
            (
                "filesystems",
                storage(old, |s| &s.filesystems) == storage(new, |s| &s.filesystems),
            ),
            ("raid", storage(old, |s| &s.raid) == storage(new, |s| &s.raid)),
            ("luks", storage(old, |s| &s.luks) == storage(new, |s| &s.luks)),
            ("groups", groups(old) == groups(new)),
        ];
        for (name, _) in sections.into_iter().filter(|(_, same)| !same) {
            self.reboot(ChangeKind::Changed, ChangedItem::Section { name });
        }
    }

    fn paths<T: PartialEq>(
        &mut self,
        old: &[T],
        new: &[T],
        key: impl Fn(&T) -> &str,
        item: impl Fn(String) -> ChangedItem,
    ) {
        for path in changed_keys(old, new, &key) {
            let find = |list: &[T]| list.iter().any(|entry| key(entry) == path);
            let kind = match (find(old), find(new)) {
                (false, _) => ChangeKind::Added,
                (true, false) => ChangeKind::Removed,
                (true, true) => ChangeKind::Changed,
            };
            self.reboot(kind, item(path.to_owned()));
        }
    }
}

fn kind<T>(old: Option<&T>, new: Option<&T>) -> Option<ChangeKind> {
    match (old, new) {
        (None, None) => None,
        (None, Some(_)) => Some(ChangeKind::Added),
        (Some(_), None) => Some(ChangeKind::Removed),
        (Some(_), Some(_)) => Some(ChangeKind::Changed),
    }
}

/// An empty kernel type is the default one.
fn kernel(kernel: &str) -> &str {
    if kernel.is_empty() { "default" } else { kernel }
}

fn groups(config: &Config) -> Option<&Vec<berth_ignition::types::Group>> {
    config.as_v3_5().passwd.as_ref()?.groups.as_ref()
}

/// Whether a machine would see no difference: the same bytes in another encoding are the same file.
fn same_file(old: Option<&File>, new: Option<&File>) -> bool {
    let (Some(old), Some(new)) = (old, new) else {
        return false;
    };
    let rest = |file: &File| File {
        contents: None,
        append: None,
        overwrite: None,
        ..file.clone()
    };
    let appends = |file: &File| file.append.as_ref().is_some_and(|parts| !parts.is_empty());
    rest(old) == rest(new)
        && !appends(old)
        && !appends(new)
        && matches!((file_contents(old), file_contents(new)), (Ok(old), Ok(new)) if old == new)
}

/// The bytes of a file; one that is not there is empty. Nothing if they are not in the config.
fn bytes(file: Option<&File>) -> Option<Vec<u8>> {
    match file {
        None => Some(Vec::new()),
        Some(file) => file_contents(file).ok(),
    }
}

/// Whether two versions of the kubelet's variables are the same but for the labels.
fn only_labels_differ(old: Option<&File>, new: Option<&File>) -> bool {
    let rest = |file: Option<&File>| -> Option<Vec<(String, String)>> {
        let entries = EnvFile::parse(&bytes(file)?).entries;
        let others = entries.into_iter().filter(|entry| entry.name != LABELS_VARIABLE);
        Some(others.map(|entry| (entry.name, entry.value)).collect())
    };
    let mode = |file: Option<&File>| file.map(|file| file.mode);
    let same_mode = old.is_none() || new.is_none() || mode(old) == mode(new);
    same_mode && matches!((rest(old), rest(new)), (Some(old), Some(new)) if old == new)
}

fn only_adds_registries(old: Option<&File>, new: Option<&File>) -> bool {
    let text = |file| bytes(file).and_then(|bytes| String::from_utf8(bytes).ok());
    match (text(old), text(new)) {
        (Some(old), Some(new)) => registries::only_adds(&old, &new),
        _ => false,
    }
}
