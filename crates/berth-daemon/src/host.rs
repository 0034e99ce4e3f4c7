//! What the daemon does to a host, as thin as can be.
//!
//! Looking changes nothing. Changes come in three kinds: contents are staged beside their places and then placed, one rename
//! each; links, directories and removals are one call each; and what programs of the host do, such as enabling a unit. Nothing
//! of it is sure to outlive a power cut before [`Host::sync`].

mod commands;
mod drivers;
mod grub;
mod root;

use std::{collections::BTreeSet, fmt};

pub use self::root::RootHost;
use crate::{
    host_config::Accounts,
    item::{Entry, FileEntry, Owner, System},
};

/// What something that the host was asked to do failed with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// A file could not be read or written.
    #[error("{what} {path}: {why}")]
    File {
        /// What was tried: `read`, `write`.
        what: &'static str,
        /// Where, as the host sees it.
        path: String,
        /// What the system said.
        why: String,
    },
    /// A program of the host failed or took too long.
    #[error("`{command}` {why}")]
    Command {
        /// The program with its arguments.
        command: String,
        /// What came of it.
        why: String,
    },
    /// The host cannot do this at all.
    #[error("{0}")]
    Unable(String),
    /// The host is going down or has lost its power: nothing more is done on it.
    #[error("the host is down")]
    Down,
}

/// How a host changes what it boots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SystemDriver {
    /// rpm-ostree: image and kernel arguments.
    RpmOstree,
    /// bootc: the image, in which kernel arguments are.
    Bootc,
    /// GRUB with `/etc/default/grub.d`: kernel arguments.
    GrubFolder,
    /// GRUB with `grubby`: kernel arguments.
    Grubby,
    /// Nothing that the daemon knows.
    #[default]
    None,
}

impl SystemDriver {
    /// Whether kernel arguments can change.
    pub fn changes_arguments(self) -> bool {
        matches!(self, Self::RpmOstree | Self::GrubFolder | Self::Grubby)
    }

    /// Whether the image can change.
    pub fn changes_image(self) -> bool {
        matches!(self, Self::RpmOstree | Self::Bootc)
    }

    /// Whether extensions and the kernel type can change. That takes the repository in the extensions' image, which no driver
    /// has yet.
    pub fn changes_packages(self) -> bool {
        match self {
            Self::RpmOstree | Self::Bootc | Self::GrubFolder | Self::Grubby | Self::None => false,
        }
    }
}

impl fmt::Display for SystemDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RpmOstree => "rpm-ostree, which changes the image and kernel arguments only",
            Self::Bootc => "bootc, which changes the image only",
            Self::GrubFolder => "GRUB with /etc/default/grub.d, which changes kernel arguments only",
            Self::Grubby => "GRUB with grubby, which changes kernel arguments only",
            Self::None => "neither rpm-ostree, bootc nor a GRUB that can be told",
        })
    }
}

/// What a host can do, and what of it decides where things are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// How it changes what it boots.
    pub driver: SystemDriver,
    /// Whether it can start another kernel without its firmware.
    pub kexec: bool,
    /// Whether its kernel runs in FIPS mode.
    pub fips: bool,
    /// Whether its SSH server reads keys from `authorized_keys.d`.
    pub key_fragments: bool,
    /// Its users and groups.
    pub accounts: Accounts,
    /// Kernel arguments that it had before any config asked for them. The daemon remembers them; the host does not know.
    pub native_arguments: BTreeSet<String>,
}

/// Whether a unit is enabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enablement {
    /// It is started at boot.
    Enabled,
    /// It is not.
    Disabled,
    /// There is nothing to enable: it is started by others, masked or generated.
    Fixed,
    /// There is no such unit.
    Missing,
}

/// How to start again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reboot {
    /// Through the firmware.
    Full,
    /// Straight into the next kernel.
    Kexec,
}

/// A host. All paths are as the host sees them.
pub trait Host {
    /// What is at a path; links are not followed.
    fn entry(&self, path: &str) -> Result<Option<Entry>, HostError>;
    /// What the distribution ships for a path, where the host keeps that apart.
    fn shipped(&self, path: &str) -> Result<Option<Entry>, HostError>;
    /// The names in a directory; none if it is not there.
    fn list(&self, folder: &str) -> Result<Vec<String>, HostError>;
    /// Whether a unit is enabled.
    fn enablement(&self, unit: &str) -> Result<Enablement, HostError>;
    /// The hash of a user's password.
    fn password(&self, user: &str) -> Result<Option<String>, HostError>;
    /// What the host boots next. Of its kernel arguments only these are told: all others are the host's own.
    fn system(&self, arguments: &BTreeSet<String>) -> Result<System, HostError>;
    /// What the host has booted, with those of these kernel arguments; `None`: it does not tell.
    fn booted(&self, arguments: &BTreeSet<String>) -> Result<Option<System>, HostError>;
    /// What the host can do.
    fn capabilities(&self) -> Result<Capabilities, HostError>;
    /// What tells this boot from all others.
    fn boot_id(&self) -> Result<String, HostError>;
    /// Services that are enabled and run.
    fn serving(&self) -> Result<BTreeSet<String>, HostError>;
    /// Runs a check of the administrator's. The text says what is wrong.
    fn probe(&self, command: &str) -> Result<(), String>;

    /// Writes a file beside its place.
    fn stage(&mut self, path: &str, file: &FileEntry) -> Result<(), HostError>;
    /// Makes what is staged outlive a power cut.
    fn sync_staged(&mut self) -> Result<(), HostError>;
    /// Puts what is staged in its place.
    fn place(&mut self, path: &str) -> Result<(), HostError>;
    /// Removes what may be left of staging for this path.
    fn discard(&mut self, path: &str) -> Result<(), HostError>;
    /// Puts a link in place.
    fn link(&mut self, path: &str, target: &str) -> Result<(), HostError>;
    /// Makes a directory, or sets its permissions.
    fn directory(&mut self, path: &str, mode: u32, owner: Owner) -> Result<(), HostError>;
    /// Removes what is at a path, if anything; a directory with something in it stays.
    fn remove(&mut self, path: &str) -> Result<(), HostError>;
    /// Makes all changes up to now outlive a power cut.
    fn sync(&mut self) -> Result<(), HostError>;

    /// Enables or disables a unit.
    fn enable(&mut self, unit: &str, enabled: bool) -> Result<(), HostError>;
    /// Sets the hash of a user's password.
    fn set_password(&mut self, user: &str, hash: &str) -> Result<(), HostError>;
    /// Sets what is booted next, which was `before`. How far it came is seen by [`Host::system`].
    fn set_system(&mut self, wanted: &System, before: &System) -> Result<(), HostError>;
    /// systemd reads its units again.
    fn daemon_reload(&mut self) -> Result<(), HostError>;
    /// A service reads its config again.
    fn reload(&mut self, unit: &str) -> Result<(), HostError>;
    /// A service is started again.
    fn restart(&mut self, unit: &str) -> Result<(), HostError>;
    /// Starts the host again. It goes on for a moment.
    fn reboot(&mut self, how: Reboot) -> Result<(), HostError>;
}
