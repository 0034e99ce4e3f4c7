//! How a host changes what it boots, by what it has.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    Host, HostError, RootHost, SystemDriver,
    commands::{IMAGES, SHORT},
    grub::{first_entry, fragment},
};
use crate::item::{Entry, FileEntry, System, arguments};

const OSTREE_BOOTED: &str = "/run/ostree-booted";
const GRUB_CONFIG: &str = "/boot/grub/grub.cfg";
const GRUB_FRAGMENT: &str = "/etc/default/grub.d/90-berth.cfg";

/// The way in which rpm-ostree names an image of a registry.
const REGISTRY: &str = "ostree-unverified-registry:";

/// The name of an image as configs have it.
fn image_of_registry(image: &str) -> String {
    let name = image.split_once(':').filter(|(kind, _)| kind.starts_with("ostree-"));
    name.map_or(image, |(_, name)| name).to_owned()
}

/// Those of the kernel arguments in a text that are asked for.
fn of(text: &str, known: &BTreeSet<String>) -> Vec<String> {
    let mut words = arguments(text);
    words.retain(|word| known.contains(word));
    words
}

impl RootHost {
    /// What this host has.
    pub(super) fn driver(&self) -> SystemDriver {
        let has = |paths: &[&str]| paths.iter().any(|path| self.exists(path));
        if has(&[OSTREE_BOOTED]) && has(&["/usr/bin/rpm-ostree"]) {
            SystemDriver::RpmOstree
        } else if has(&[OSTREE_BOOTED]) && has(&["/usr/bin/bootc"]) {
            SystemDriver::Bootc
        } else if has(&["/usr/sbin/grubby", "/sbin/grubby"]) {
            SystemDriver::Grubby
        } else if has(&["/usr/sbin/update-grub", "/sbin/update-grub"]) {
            SystemDriver::GrubFolder
        } else {
            SystemDriver::None
        }
    }

    pub(super) fn next_boot(&self, known: &BTreeSet<String>) -> Result<System, HostError> {
        let driver = self.driver();
        let mut system = System::default();
        let words = match driver {
            // Nothing is asked of programs that no config is about.
            _ if known.is_empty() && !driver.changes_image() => String::new(),
            SystemDriver::RpmOstree => {
                let status = self.json(&["rpm-ostree", "status", "--json"])?;
                // The first is what is booted next.
                let image = status.pointer("/deployments/0/container-image-reference");
                system.image = image.and_then(Value::as_str).map(image_of_registry);
                self.commands.run(&["rpm-ostree", "kargs"], SHORT)?
            }
            SystemDriver::Bootc => {
                let status = self.json(&["bootc", "status", "--json"])?;
                let image = ["staged", "booted"]
                    .iter()
                    .find_map(|which| status.pointer(&format!("/status/{which}/image/image/image")));
                system.image = image.and_then(Value::as_str).map(str::to_owned);
                self.command_line()?.unwrap_or_default()
            }
            // What cannot change is booted again.
            SystemDriver::None => self.command_line()?.unwrap_or_default(),
            SystemDriver::Grubby => {
                let info = self.commands.run(&["grubby", "--info=DEFAULT"], SHORT)?;
                let line = info.lines().find_map(|line| line.strip_prefix("args="));
                line.unwrap_or_default().trim_matches('"').to_owned()
            }
            SystemDriver::GrubFolder => self
                .text(GRUB_CONFIG)?
                .and_then(|config| first_entry(&config))
                .map(|entry| entry.arguments.join(" "))
                .unwrap_or_default(),
        };
        system.arguments = of(&words, known);
        Ok(system)
    }

    /// What the kernel was started with.
    fn command_line(&self) -> Result<Option<String>, HostError> {
        self.text("/proc/cmdline")
    }

    pub(super) fn last_boot(&self, known: &BTreeSet<String>) -> Result<Option<System>, HostError> {
        let Some(words) = self.command_line()? else {
            return Ok(None);
        };
        let image = match self.driver() {
            SystemDriver::RpmOstree => {
                let status = self.json(&["rpm-ostree", "status", "--json"])?;
                let mut deployments = status
                    .get("deployments")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten();
                let booted = deployments.find(|deployment| deployment.get("booted") == Some(&Value::Bool(true)));
                let image = booted.and_then(|booted| booted.get("container-image-reference")?.as_str());
                image.map(image_of_registry)
            }
            SystemDriver::Bootc => {
                let status = self.json(&["bootc", "status", "--json"])?;
                let image = status.pointer("/status/booted/image/image/image");
                image.and_then(Value::as_str).map(str::to_owned)
            }
            SystemDriver::GrubFolder | SystemDriver::Grubby | SystemDriver::None => None,
        };
        Ok(Some(System {
            image,
            arguments: of(&words, known),
            ..System::default()
        }))
    }

    fn json(&self, command: &[&str]) -> Result<Value, HostError> {
        let said = self.commands.run(command, SHORT)?;
        serde_json::from_str(&said).map_err(|error| HostError::Command {
            command: command.join(" "),
            why: format!("says what cannot be read: {error}"),
        })
    }

    pub(super) fn set_next_boot(&mut self, wanted: &System, before: &System) -> Result<(), HostError> {
        let driver = self.driver();
        if let Some(image) = wanted
            .image
            .as_ref()
            .filter(|image| before.image.as_ref() != Some(image))
        {
            match driver {
                SystemDriver::RpmOstree => {
                    let image = format!("{REGISTRY}{image}");
                    self.commands
                        .run(&["rpm-ostree", "rebase", "--experimental", &image], IMAGES)?;
                }
                SystemDriver::Bootc => {
                    self.commands.run(&["bootc", "switch", image], IMAGES)?;
                }
                SystemDriver::GrubFolder | SystemDriver::Grubby | SystemDriver::None => {
                    return Err(HostError::Unable(format!(
                        "{image} cannot be booted: the host has {driver}"
                    )));
                }
            }
        }
        if wanted.arguments == before.arguments {
            return Ok(());
        }
        match driver {
            SystemDriver::RpmOstree => {
                let gone = before.arguments.iter().map(|word| format!("--delete={word}"));
                let new = wanted.arguments.iter().map(|word| format!("--append={word}"));
                let options: Vec<String> = gone.chain(new).collect();
                let command = ["rpm-ostree", "kargs"]
                    .into_iter()
                    .chain(options.iter().map(String::as_str));
                self.commands.run(&command.collect::<Vec<_>>(), IMAGES)?;
            }
            SystemDriver::Grubby => {
                let gone = format!("--remove-args={}", before.arguments.join(" "));
                let new = format!("--args={}", wanted.arguments.join(" "));
                let mut command = vec!["grubby", "--update-kernel=ALL"];
                if !before.arguments.is_empty() {
                    command.push(&gone);
                }
                if !wanted.arguments.is_empty() {
                    command.push(&new);
                }
                self.commands.run(&command, IMAGES)?;
            }
            SystemDriver::GrubFolder => self.set_grub_fragment(wanted)?,
            SystemDriver::Bootc | SystemDriver::None => {
                return Err(HostError::Unable(format!(
                    "the kernel arguments cannot change: the host has {driver}"
                )));
            }
        }
        Ok(())
    }

    fn set_grub_fragment(&mut self, wanted: &System) -> Result<(), HostError> {
        if wanted.arguments.is_empty() {
            self.remove(GRUB_FRAGMENT)?;
        } else {
            let text = fragment(&wanted.arguments).ok_or_else(|| {
                HostError::Unable(format!(
                    "one of the kernel arguments `{}` has a character that GRUB's files cannot hold",
                    wanted.arguments.join(" ")
                ))
            })?;
            self.stage(GRUB_FRAGMENT, &FileEntry::new(text, 0o644))?;
            self.sync_staged()?;
            self.place(GRUB_FRAGMENT)?;
        }
        self.sync()?;
        self.commands.run(&["update-grub"], IMAGES).map(drop)
    }

    /// Loads the kernel that is booted next, where it is known which that is.
    pub(super) fn load_kexec(&self) -> Result<(), HostError> {
        let entry = self.text(GRUB_CONFIG)?.and_then(|config| first_entry(&config));
        let Some(entry) = entry else {
            return Err(HostError::Unable(format!(
                "{GRUB_CONFIG} does not say what is booted next"
            )));
        };
        let arguments = format!("--command-line={}", entry.arguments.join(" "));
        let initrd = entry.initrd.map(|initrd| format!("--initrd={initrd}"));
        let mut command = vec!["kexec", "-l", entry.kernel.as_str(), &arguments];
        command.extend(initrd.as_deref());
        self.commands.run(&command, SHORT).map(drop)
    }

    /// The text of a file; `None` if there is none.
    pub(super) fn text(&self, path: &str) -> Result<Option<String>, HostError> {
        Ok(match self.entry(path)? {
            Some(Entry::File(file)) => Some(String::from_utf8_lossy(&file.contents).into_owned()),
            _ => None,
        })
    }
}
