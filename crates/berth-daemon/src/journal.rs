//! The state on disk: one file that is replaced whole, and what is kept of things that configs took over.
//!
//! The state holds configs whole and not only their names, so that a node can go on, and back, when its config is gone from
//! the cluster. It is written before anything is done, and annotations follow it. It does not say how far writing came: that
//! is seen on the host itself.

use std::collections::{BTreeMap, BTreeSet};

use berth_pools::{Action, MachineConfig};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{
    host::{Host, HostError},
    host_config::{HostConfig, NodeConfig, system},
    item::{Entry, FileEntry, Item, Setting},
    plan::Scope,
};

/// The file with the state.
pub const STATE: &str = "/etc/berth/state";

/// The folder with what is kept of things that configs took over.
pub const ORIGINALS: &str = "/etc/berth/originals";

/// What OpenShift's daemon and Ignition leave of the config that a machine runs.
const OTHERS: [&str; 3] = [
    "/etc/machine-config-daemon/currentconfig",
    "/etc/ignition-machine-config-encapsulated.json",
    "/etc/ignition-machine-config-encapsulated.json.bak",
];

/// Configs and originals can hold secrets.
const MODE: u32 = 0o600;

/// The form of the file that this program writes.
const VERSION: u32 = 1;

/// What the daemon knows, through power cuts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    /// The config that runs; with no update under way the host is as it says.
    pub current: NodeConfig,
    /// The update that is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<Update>,
    /// The config that was tried and given up, until somebody says that it is to be tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_up: Option<GivenUp>,
    /// Whether the node was drained for an update and has to serve again.
    #[serde(default)]
    pub drained: bool,
    /// The last request to write everything anew that was met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forced: Option<String>,
    /// Kernel arguments of these configs that the host had before any config asked for them: no config removes them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub native_arguments: BTreeSet<String>,
}

/// An update under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Update {
    /// The config that is wanted.
    pub to: NodeConfig,
    /// Why it goes back, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<String>,
    /// Whether it goes back before anything that runs has noticed it: because the host could not be written to.
    #[serde(default)]
    pub unnoticed: bool,
    /// How far it is.
    pub stage: Stage,
    /// What has to happen once everything is written.
    pub actions: BTreeSet<Action>,
    /// How much is written.
    pub scope: Scope,
    /// Services that ran before and have to run after.
    #[serde(default)]
    pub serving: BTreeSet<String>,
    /// The boot in which it began.
    #[serde(default)]
    pub boot_id: String,
    /// The request to write everything anew that it meets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force: Option<String>,
}

/// How far an update is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Stage {
    /// The host may be partly as one config says and partly as the other.
    Writing,
    /// The host is as the config says, whole; services have to notice.
    Acting,
    /// The host is as the config says, whole, and has to be started again.
    Booting {
        /// The boot that has to end.
        boot_id: String,
    },
    /// The config runs and has to prove itself.
    Proving {
        /// Since when.
        since: Timestamp,
    },
}

/// A config that was tried and given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GivenUp {
    /// Its name.
    pub config: String,
    /// Its image, for pools with built ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// What was wrong.
    pub reason: String,
}

#[derive(Serialize)]
struct Written<'a> {
    version: u32,
    #[serde(flatten)]
    state: &'a State,
}

#[derive(Deserialize)]
struct Version {
    version: u32,
}

/// Why there is no state to begin with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// The file cannot be read.
    #[error("the state cannot be read")]
    Read(#[source] HostError),
    /// The file is damaged.
    #[error("{STATE} is damaged ({0}); move it away and the daemon begins with what the Node says that it runs")]
    Damaged(String),
    /// A later program wrote the file.
    #[error("{STATE} has version {0}, which a later Berth wrote; run that one, or move the file away")]
    Later(u32),
}

impl State {
    /// The state of a host that runs this.
    pub fn new(current: NodeConfig) -> Self {
        Self {
            current,
            update: None,
            given_up: None,
            drained: false,
            forced: None,
            native_arguments: BTreeSet::new(),
        }
    }

    /// The host's own kernel arguments, as far as this config asks for them.
    pub(crate) fn native_in(&self, config: &NodeConfig) -> BTreeSet<String> {
        let asked = system(&config.spec).arguments;
        self.native_arguments
            .iter()
            .filter(|word| asked.contains(word))
            .cloned()
            .collect()
    }

    /// Whether this config was given up here.
    pub fn gave_up(&self, config: &str, image: Option<&str>) -> Option<&GivenUp> {
        let given_up = self.given_up.as_ref()?;
        (given_up.config == config && given_up.image.as_deref() == image).then_some(given_up)
    }

    /// Reads the state; `None` where there is none yet.
    pub fn read(host: &impl Host) -> Result<Option<Self>, JournalError> {
        let Some(entry) = host.entry(STATE).map_err(JournalError::Read)? else {
            return Ok(None);
        };
        let Entry::File(file) = entry else {
            return Err(JournalError::Damaged("it is not a file".to_owned()));
        };
        Self::parse(&file.contents).map(Some)
    }

    /// Reads the text of the state.
    pub fn parse(text: &[u8]) -> Result<Self, JournalError> {
        let damaged = |error: serde_json::Error| JournalError::Damaged(error.to_string());
        let Version { version } = serde_json::from_slice(text).map_err(damaged)?;
        if version > VERSION {
            return Err(JournalError::Later(version));
        }
        serde_json::from_slice(text).map_err(damaged)
    }

    /// The text of the state.
    pub fn print(&self) -> Result<Vec<u8>, HostError> {
        let written = Written {
            version: VERSION,
            state: self,
        };
        serde_json::to_vec(&written).map_err(|error| HostError::Unable(format!("the state cannot be written: {error}")))
    }

    /// Writes the state. When this returns, it outlives a power cut.
    pub fn write(&self, host: &mut impl Host) -> Result<(), HostError> {
        write(host, STATE, self.print()?)?;
        host.sync()
    }
}

/// Writes a file of the daemon's own; it outlives a power cut after the next sync.
fn write(host: &mut impl Host, path: &str, contents: Vec<u8>) -> Result<(), HostError> {
    host.stage(path, &FileEntry::new(contents, MODE))?;
    host.sync_staged()?;
    host.place(path)
}

/// The config that a machine runs by what others left on it, for a machine that this daemon has not seen.
pub fn adopted(host: &impl Host) -> Result<Option<NodeConfig>, HostError> {
    for path in OTHERS {
        if let Some(Entry::File(file)) = host.entry(path)?
            && let Ok(json) = serde_json::from_slice(&file.contents)
            && let Ok(config) = MachineConfig::from_json(&json)
        {
            return Ok(Some(NodeConfig {
                name: config.name,
                image: None,
                spec: config.spec,
            }));
        }
    }
    Ok(None)
}

#[derive(Serialize, Deserialize)]
struct Original {
    item: Item,
    original: Option<Setting>,
}

/// Where what is kept of a thing is. The name says little: paths can be longer than names of files.
fn place_of(item: &Item) -> String {
    let digest = Sha256::digest(item.to_string());
    let mut name = String::with_capacity(32);
    for byte in digest.iter().take(16) {
        for nibble in [byte >> 4, byte & 15] {
            name.extend(char::from_digit(u32::from(nibble), 16));
        }
    }
    format!("{ORIGINALS}/{name}")
}

/// What is kept, by thing.
pub fn read_originals(host: &impl Host) -> Result<BTreeMap<Item, Option<Setting>>, HostError> {
    let mut originals = BTreeMap::new();
    for name in host.list(ORIGINALS)? {
        // A name with a dot is what is left of staging.
        if name.starts_with('.') {
            continue;
        }
        let path = format!("{ORIGINALS}/{name}");
        let Some(Entry::File(file)) = host.entry(&path)? else {
            continue;
        };
        let kept: Original = serde_json::from_slice(&file.contents).map_err(|error| HostError::File {
            what: "read",
            path,
            why: error.to_string(),
        })?;
        originals.insert(kept.item, kept.original);
    }
    Ok(originals)
}

/// Stages what is kept of a thing, and says where.
pub(crate) fn stage_original(
    host: &mut impl Host,
    item: &Item,
    original: Option<&Setting>,
) -> Result<String, HostError> {
    let path = place_of(item);
    let kept = Original {
        item: item.clone(),
        original: original.cloned(),
    };
    let text = serde_json::to_vec(&kept)
        .map_err(|error| HostError::Unable(format!("what is kept of {item} cannot be written: {error}")))?;
    host.stage(&path, &FileEntry::new(text, MODE))?;
    Ok(path)
}

/// Forgets what is kept of things that this config does not manage: they are what they were.
pub(crate) fn forget(host: &mut impl Host, config: &HostConfig) -> Result<(), HostError> {
    let kept = read_originals(host)?;
    let stale: Vec<&Item> = kept
        .keys()
        .filter(|item| !config.settings.contains_key(*item))
        .collect();
    for item in &stale {
        host.remove(&place_of(item))?;
    }
    if stale.is_empty() { Ok(()) } else { host.sync() }
}

#[cfg(test)]
mod tests;
