//! A host in memory, on which the power can be cut at every operation.
//!
//! It keeps what a disk keeps and no more: what was not synced may be there after a power cut, or not, or in an older
//! version, and a file that was placed before its contents were synced may be empty. A killed daemon loses nothing of that,
//! but stops between two operations all the same.
//!
//! ```text
//! stage ─► staged, may be torn ─ sync_staged ─► staged, safe ─ place ─► visible, older versions may come back ─ sync ─► safe
//! ```

mod faults;
mod host;

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

pub use self::faults::{Cut, Faults, Random};
use crate::{
    host::{Capabilities, HostError},
    item::{Entry, FileEntry, Item, Setting, System},
};

/// What a name ends with that is staged.
const STAGED: &str = ".berth-new";

/// A host in memory.
#[derive(Clone, Debug, Default)]
pub struct SimHost {
    /// What is there as programs see it. Units are there if they are known to systemd.
    visible: BTreeMap<Item, Setting>,
    /// Older versions of things that have not been synced since, oldest first.
    unsynced: BTreeMap<Item, Vec<Option<Setting>>>,
    staged: BTreeMap<String, Staged>,
    shipped: BTreeMap<String, Entry>,
    next_boot: System,
    running: System,
    capabilities: Capabilities,
    boot: u64,
    /// Services that were told not to run, or cannot.
    stopped: BTreeSet<String>,
    /// Units whose start fails after a restart or a boot with this text in their file.
    broken_by: Option<String>,
    going_down: bool,
    down: bool,
    faults: Faults,
    operations: usize,
    /// What was done, in words; the last thing may not have been.
    log: Vec<String>,
    probes: RefCell<BTreeMap<String, String>>,
}

#[derive(Clone, Debug)]
struct Staged {
    file: FileEntry,
    synced: bool,
}

impl SimHost {
    /// A host with nothing on it that can do this.
    pub fn new(capabilities: Capabilities) -> Self {
        Self {
            capabilities,
            ..Self::default()
        }
    }

    /// Puts something there that was there before any config.
    pub fn ship(&mut self, item: Item, setting: Setting) {
        self.visible.insert(item, setting);
    }

    /// What the host boots, and has booted.
    pub fn boot_with(&mut self, system: System) {
        self.next_boot = system.clone();
        self.running = system;
    }

    /// Somebody changes something behind the daemon's back; `None` removes.
    pub fn meddle(&mut self, item: Item, setting: Option<Setting>) {
        match setting {
            Some(setting) => self.visible.insert(item, setting),
            None => self.visible.remove(&item),
        };
    }

    /// What goes wrong from now on.
    pub fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
        self.operations = 0;
        self.down = false;
    }

    /// Services do not come up while a file has this text in it.
    pub fn break_by(&mut self, text: Option<&str>) {
        self.broken_by = text.map(str::to_owned);
    }

    /// A check fails from now on, with this text.
    pub fn fail_probe(&mut self, command: &str, text: Option<&str>) {
        let mut probes = self.probes.borrow_mut();
        match text {
            Some(text) => probes.insert(command.to_owned(), text.to_owned()),
            None => probes.remove(command),
        };
    }

    /// How many operations there have been since the faults were set.
    pub fn operations(&self) -> usize {
        self.operations
    }

    /// What was done, in words.
    pub fn log(&self) -> &[String] {
        &self.log
    }

    /// How often the host was started.
    pub fn boots(&self) -> u64 {
        self.boot
    }

    /// Whether the host is about to go down by itself.
    pub fn is_going_down(&self) -> bool {
        self.going_down
    }

    /// Everything that is there, but for what the daemon keeps for itself.
    pub fn contents(&self) -> BTreeMap<Item, Setting> {
        let own = |item: &Item| matches!(item, Item::Path(path) if path.starts_with("/etc/berth/"));
        let visible = self.visible.iter().filter(|(item, _)| !own(item));
        visible.map(|(item, setting)| (item.clone(), setting.clone())).collect()
    }

    /// Files that are staged, which nobody should find when all is done.
    pub fn leftovers(&self) -> Vec<&str> {
        self.staged.keys().map(String::as_str).collect()
    }

    /// What was booted.
    pub fn running(&self) -> &System {
        &self.running
    }

    /// The host after its end, by a kill of the daemon or a power cut. Nothing goes wrong with it any more.
    #[must_use]
    pub fn after(mut self, cut: Cut, random: &mut Random) -> Self {
        self.set_faults(Faults::default());
        match cut {
            Cut::Kill if !self.going_down => self,
            Cut::Kill => self.started_again(),
            Cut::Power => {
                self.lose(random);
                self.started_again()
            }
        }
    }

    /// The host after going down in order and coming up again. What goes wrong with it stays.
    #[must_use]
    pub fn started_again(mut self) -> Self {
        self.boot += 1;
        if !self.faults.boots_before {
            self.running = self.next_boot.clone();
        }
        self.stopped.clear();
        self.going_down = false;
        self.start_services();
        self
    }

    /// Everything that was not synced becomes one of the versions that it had.
    fn lose(&mut self, random: &mut Random) {
        for (item, versions) in std::mem::take(&mut self.unsynced) {
            let chosen = random.below(versions.len() + 1);
            match versions.into_iter().nth(chosen) {
                None => {}
                Some(Some(setting)) => {
                    self.visible.insert(item, setting);
                }
                Some(None) => {
                    self.visible.remove(&item);
                }
            }
        }
        self.staged.retain(|_, staged| staged.synced || random.below(2) == 0);
        for staged in self.staged.values_mut().filter(|staged| !staged.synced) {
            staged.file.contents.clear();
        }
    }

    /// An operation begins. It may be the last, and then may or may not have been carried out.
    fn operate(&mut self, what: String) -> Result<bool, HostError> {
        if self.down {
            return Err(HostError::Down);
        }
        self.operations += 1;
        self.log.push(what);
        if self.faults.last == Some(self.operations) {
            self.down = true;
            return Ok(self.faults.carried_out);
        }
        Ok(true)
    }

    /// Ends an operation: with the error of a host that is down, if it was the last.
    fn done(&self) -> Result<(), HostError> {
        if self.down { Err(HostError::Down) } else { Ok(()) }
    }

    fn alive(&self) -> Result<(), HostError> {
        self.done()
    }

    fn change(&mut self, item: Item, setting: Option<Setting>) {
        let before = self.visible.get(&item).cloned();
        self.unsynced.entry(item.clone()).or_default().push(before);
        match setting {
            Some(setting) => self.visible.insert(item, setting),
            None => self.visible.remove(&item),
        };
    }

    fn writable(&self, what: &'static str, path: &str) -> Result<(), HostError> {
        if self.faults.read_only {
            return Err(HostError::File {
                what,
                path: path.to_owned(),
                why: "read-only file system".to_owned(),
            });
        }
        Ok(())
    }

    /// Bytes of files that are there or staged.
    fn used(&self) -> usize {
        let size = |file: &FileEntry| file.contents.len();
        let visible = self.visible.values().filter_map(|setting| match setting {
            Setting::Entry(Entry::File(file)) => Some(size(file)),
            _ => None,
        });
        visible.sum::<usize>() + self.staged.values().map(|staged| size(&staged.file)).sum::<usize>()
    }

    /// Services start, but for those that a file breaks.
    fn start_services(&mut self) {
        let Some(text) = self.broken_by.clone() else {
            return;
        };
        let broken = self.visible.values().any(|setting| match setting {
            Setting::Entry(Entry::File(file)) => String::from_utf8_lossy(&file.contents).contains(&text),
            _ => false,
        });
        if broken {
            self.stopped.extend(self.enabled());
        }
    }

    fn enabled(&self) -> Vec<String> {
        let enabled = self.visible.iter().filter_map(|(item, setting)| match (item, setting) {
            (Item::Unit(unit), Setting::Enabled(true)) => Some(unit.clone()),
            _ => None,
        });
        enabled.collect()
    }

    fn goes_down(&mut self) -> bool {
        let stays = self.faults.stays_up > 0;
        self.faults.stays_up = self.faults.stays_up.saturating_sub(1);
        !stays
    }

    fn unit_command(&mut self, verb: &str, unit: &str) -> Result<(), HostError> {
        if !self.operate(format!("{verb} {unit}"))? {
            return self.done();
        }
        if self.faults.hanging.contains(unit) {
            return Err(HostError::Command {
                command: format!("systemctl {verb} {unit}"),
                why: "took too long".to_owned(),
            });
        }
        self.stopped.remove(unit);
        self.start_services();
        self.done()
    }
}

impl SimHost {
    fn entry_unchecked(&self, path: &str) -> bool {
        self.visible.contains_key(&Item::Path(path.to_owned()))
    }
}
