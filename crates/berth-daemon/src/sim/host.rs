//! What can be done to a host in memory.

use std::collections::BTreeSet;

use super::{STAGED, SimHost, Staged};
use crate::{
    host::{Capabilities, Enablement, Host, HostError, Reboot},
    item::{Entry, FileEntry, Item, Owner, Setting, System},
};

impl Host for SimHost {
    fn entry(&self, path: &str) -> Result<Option<Entry>, HostError> {
        self.alive()?;
        Ok(match self.visible.get(&Item::Path(path.to_owned())) {
            Some(Setting::Entry(entry)) => Some(entry.clone()),
            _ => None,
        })
    }

    fn shipped(&self, path: &str) -> Result<Option<Entry>, HostError> {
        self.alive()?;
        Ok(self.shipped.get(path).cloned())
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, HostError> {
        self.alive()?;
        let in_folder = |path: &str| {
            let name = path.strip_prefix(folder)?.strip_prefix('/')?;
            (!name.contains('/')).then(|| name.to_owned())
        };
        let visible = self.visible.keys().filter_map(|item| match item {
            Item::Path(path) => in_folder(path),
            Item::Unit(_) | Item::Password(_) => None,
        });
        let staged = self.staged.keys().filter_map(|path| in_folder(path));
        let names = visible.chain(staged.map(|name| format!(".{name}{STAGED}")));
        Ok(names.collect())
    }

    fn enablement(&self, unit: &str) -> Result<Enablement, HostError> {
        self.alive()?;
        Ok(match self.visible.get(&Item::Unit(unit.to_owned())) {
            Some(Setting::Enabled(true)) => Enablement::Enabled,
            Some(_) => Enablement::Disabled,
            None => Enablement::Missing,
        })
    }

    fn password(&self, user: &str) -> Result<Option<String>, HostError> {
        self.alive()?;
        Ok(match self.visible.get(&Item::Password(user.to_owned())) {
            Some(Setting::Hash(hash)) => Some(hash.clone()),
            _ => None,
        })
    }

    fn system(&self, arguments: &BTreeSet<String>) -> Result<System, HostError> {
        self.alive()?;
        let mut system = self.next_boot.clone();
        system.arguments.retain(|argument| arguments.contains(argument));
        Ok(system)
    }

    fn booted(&self, arguments: &BTreeSet<String>) -> Result<Option<System>, HostError> {
        self.alive()?;
        let mut system = self.running.clone();
        system.arguments.retain(|argument| arguments.contains(argument));
        Ok(Some(system))
    }

    fn capabilities(&self) -> Result<Capabilities, HostError> {
        self.alive()?;
        Ok(self.capabilities.clone())
    }

    fn boot_id(&self) -> Result<String, HostError> {
        self.alive()?;
        Ok(format!("boot-{}", self.boot))
    }

    fn serving(&self) -> Result<BTreeSet<String>, HostError> {
        self.alive()?;
        let enabled = self.enabled().into_iter();
        Ok(enabled.filter(|unit| !self.stopped.contains(unit)).collect())
    }

    fn probe(&self, command: &str) -> Result<(), String> {
        match self.probes.borrow().get(command) {
            None => Ok(()),
            Some(text) => Err(text.clone()),
        }
    }

    fn stage(&mut self, path: &str, file: &FileEntry) -> Result<(), HostError> {
        if !self.operate(format!("stage {path}"))? {
            return self.done();
        }
        self.writable("write", path)?;
        self.staged.remove(path);
        if self
            .faults
            .room
            .is_some_and(|room| self.used() + file.contents.len() > room)
        {
            return Err(HostError::File {
                what: "write",
                path: path.to_owned(),
                why: "no space left on device".to_owned(),
            });
        }
        let staged = Staged {
            file: file.clone(),
            synced: false,
        };
        self.staged.insert(path.to_owned(), staged);
        self.done()
    }

    fn sync_staged(&mut self) -> Result<(), HostError> {
        if self.operate("sync what is staged".to_owned())? {
            self.staged.values_mut().for_each(|staged| staged.synced = true);
        }
        self.done()
    }

    fn place(&mut self, path: &str) -> Result<(), HostError> {
        if !self.operate(format!("place {path}"))? {
            return self.done();
        }
        self.writable("write", path)?;
        let Some(staged) = self.staged.remove(path) else {
            return Err(HostError::File {
                what: "write",
                path: path.to_owned(),
                why: "nothing is staged for it".to_owned(),
            });
        };
        let item = Item::Path(path.to_owned());
        if !staged.synced {
            // The name may be on the disk before the bytes are.
            let torn = FileEntry {
                contents: Vec::new(),
                ..staged.file.clone()
            };
            self.change(item.clone(), Some(Setting::Entry(Entry::File(torn))));
        }
        self.change(item, Some(Setting::Entry(Entry::File(staged.file))));
        self.done()
    }

    fn discard(&mut self, path: &str) -> Result<(), HostError> {
        if self.operate(format!("discard {path}"))? && !self.faults.read_only {
            self.staged.remove(path);
        }
        self.done()
    }

    fn link(&mut self, path: &str, target: &str) -> Result<(), HostError> {
        if self.operate(format!("link {path}"))? {
            self.writable("write", path)?;
            let target = target.to_owned();
            self.change(
                Item::Path(path.to_owned()),
                Some(Setting::Entry(Entry::Link { target })),
            );
        }
        self.done()
    }

    fn directory(&mut self, path: &str, mode: u32, owner: Owner) -> Result<(), HostError> {
        if self.operate(format!("directory {path}"))? {
            self.writable("write", path)?;
            let entry = Entry::Directory { mode, owner };
            self.change(Item::Path(path.to_owned()), Some(Setting::Entry(entry)));
        }
        self.done()
    }

    fn remove(&mut self, path: &str) -> Result<(), HostError> {
        let operates = self.operate(format!("remove {path}"))?;
        let name = path.rsplit_once('/').and_then(|(folder, name)| {
            let name = name.strip_prefix('.')?.strip_suffix(STAGED)?;
            Some(format!("{folder}/{name}"))
        });
        if operates && let Some(staged) = name {
            self.staged.remove(&staged);
        } else if operates && self.entry_unchecked(path) {
            self.writable("remove", path)?;
            self.change(Item::Path(path.to_owned()), None);
        }
        self.done()
    }

    fn sync(&mut self) -> Result<(), HostError> {
        if self.operate("sync".to_owned())? {
            self.unsynced.clear();
        }
        self.done()
    }

    fn enable(&mut self, unit: &str, enabled: bool) -> Result<(), HostError> {
        if self.operate(format!("enable {unit}: {enabled}"))? {
            self.writable("enable", unit)?;
            self.change(Item::Unit(unit.to_owned()), Some(Setting::Enabled(enabled)));
        }
        self.done()
    }

    fn set_password(&mut self, user: &str, hash: &str) -> Result<(), HostError> {
        if self.operate(format!("password of {user}"))? {
            self.writable("write", "/etc/shadow")?;
            self.change(Item::Password(user.to_owned()), Some(Setting::Hash(hash.to_owned())));
        }
        self.done()
    }

    fn set_system(&mut self, wanted: &System, before: &System) -> Result<(), HostError> {
        if self.operate(format!("next boot: {wanted}"))? {
            self.writable("write", "/boot")?;
            let own = self.next_boot.arguments.iter();
            let own = own.filter(|argument| !before.arguments.contains(argument)).cloned();
            let arguments: Vec<String> = own.chain(wanted.arguments.iter().cloned()).collect();
            let image = wanted.image.clone().or_else(|| self.next_boot.image.clone());
            self.next_boot = System {
                image,
                arguments,
                ..wanted.clone()
            };
        }
        self.done()
    }

    fn daemon_reload(&mut self) -> Result<(), HostError> {
        self.operate("daemon-reload".to_owned())?;
        self.done()
    }

    fn reload(&mut self, unit: &str) -> Result<(), HostError> {
        self.unit_command("reload", unit)
    }

    fn restart(&mut self, unit: &str) -> Result<(), HostError> {
        self.unit_command("restart", unit)
    }

    fn reboot(&mut self, how: Reboot) -> Result<(), HostError> {
        if self.operate(format!("reboot ({how:?})"))? && self.goes_down() {
            // Going down in order syncs everything.
            self.unsynced.clear();
            self.staged.values_mut().for_each(|staged| staged.synced = true);
            self.going_down = true;
        }
        self.done()
    }
}
