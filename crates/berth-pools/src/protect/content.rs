//! The texts on a machine that decide about its kubelet, and the machine configs they come from.

use std::collections::{BTreeMap, HashMap};

use berth_ignition::{Config, file_contents, types::File};
use berth_units::{Content, EnvFileContent, LABELS_PATH, SEARCH_PATH, UnitTree, drop_in_directories};

use crate::{disruption::KUBELET_ENV, machine_config::MachineConfig, reconcile};

/// The kubelet's unit.
pub(super) const UNIT: &str = "kubelet.service";

/// Where Ignition writes units.
const UNIT_DIRECTORY: &str = "/etc/systemd/system";

/// The files of variables that a kubelet's unit reads: OpenShift's, and kubeadm's of both families of packages.
pub(super) const ENV_FILES: [&str; 3] = [KUBELET_ENV, "/etc/default/kubelet", "/etc/sysconfig/kubelet"];

/// What a text is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Text {
    Bytes(Vec<u8>),
    /// The unit is masked.
    Masked,
    /// Why the bytes are not known.
    Unknown(String),
}

/// One text of one machine config.
#[derive(Clone, Debug)]
pub(super) struct Piece<'a> {
    pub(super) machine_config: &'a str,
    /// How findings name it.
    pub(super) shown: String,
    pub(super) text: Text,
}

impl Piece<'_> {
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        match &self.text {
            Text::Bytes(bytes) => Some(bytes),
            Text::Masked | Text::Unknown(_) => None,
        }
    }
}

/// All versions of each text, by path, weakest first.
pub(super) struct Contents<'a> {
    versions: BTreeMap<String, Vec<Piece<'a>>>,
    /// Other files that a unit may name, as they are after the merge.
    others: HashMap<String, Option<Vec<u8>>>,
}

impl<'a> Contents<'a> {
    pub(super) fn gather(configs: Vec<&'a MachineConfig>) -> Self {
        let mut contents = Self {
            versions: BTreeMap::new(),
            others: HashMap::new(),
        };
        for config in configs {
            // A config that cannot be read is an error of its own, found when it is rendered.
            if let Some(ignition) = reconcile::read(&config.spec) {
                contents.add(&config.name, &ignition);
            }
        }
        contents
    }

    fn add(&mut self, name: &'a str, ignition: &Config) {
        let mut put = |path: String, shown: String, text: Text| {
            self.versions.entry(path).or_default().push(Piece {
                machine_config: name,
                shown,
                text,
            });
        };
        for unit in ignition.units().iter().filter(|unit| unit.name == UNIT) {
            let path = format!("{UNIT_DIRECTORY}/{UNIT}");
            if unit.mask == Some(true) {
                put(path, UNIT.to_owned(), Text::Masked);
            } else if let Some(text) = unit.contents.as_deref().filter(|text| !text.is_empty()) {
                put(path, UNIT.to_owned(), Text::Bytes(text.into()));
            }
            for drop_in in unit.dropins.iter().flatten() {
                if let Some(text) = &drop_in.contents {
                    let shown = format!("{UNIT}.d/{}", drop_in.name);
                    put(
                        format!("{UNIT_DIRECTORY}/{shown}"),
                        shown,
                        Text::Bytes(text.clone().into()),
                    );
                }
            }
        }
        for link in reconcile::storage(ignition, |storage| &storage.links) {
            if is_watched(&link.path) {
                let target = link.target.as_deref().unwrap_or_default();
                let is_mask = target == "/dev/null" && !ENV_FILES.contains(&link.path.as_str());
                let text = if is_mask && link.path != LABELS_PATH {
                    Text::Masked
                } else {
                    Text::Unknown(format!("it is a link to {target}"))
                };
                put(link.path.clone(), link.path.clone(), text);
            }
        }
        for file in ignition.files().iter().filter(|file| says_something(file)) {
            if is_watched(&file.path) {
                let text = match file_contents(file) {
                    Ok(bytes) => Text::Bytes(bytes),
                    Err(error) => Text::Unknown(error.to_string()),
                };
                put(file.path.clone(), file.path.clone(), text);
            } else {
                self.others.insert(file.path.clone(), file_contents(file).ok());
            }
        }
    }

    /// The version that a machine has.
    pub(super) fn winner(&self, path: &str) -> Option<&Piece<'a>> {
        self.versions.get(path)?.last()
    }

    /// Every path, with the version a machine has and those that lost against it.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &Piece<'a>, &[Piece<'a>])> {
        self.versions.iter().filter_map(|(path, versions)| {
            let (winner, losers) = versions.split_last()?;
            Some((path.as_str(), winner, losers))
        })
    }

    /// The unit files as they would be on a machine.
    pub(super) fn unit_tree(&self) -> UnitTree {
        let mut tree = UnitTree::new();
        for (path, winner, _) in self.all() {
            match &winner.text {
                Text::Bytes(bytes) => tree.add(path, bytes.clone()),
                Text::Masked => tree.add(path, Content::Masked),
                Text::Unknown(_) => false,
            };
        }
        tree
    }

    /// What a unit would read from a file of variables.
    ///
    /// A file for the kubelet that no machine config has may be written by anybody. Any other file is taken as not
    /// there: it says something about the machine, not about labels.
    pub(super) fn env_file(&self, path: &str) -> EnvFileContent {
        if let Some(piece) = self.winner(path) {
            return piece
                .bytes()
                .map_or(EnvFileContent::Unread, |bytes| EnvFileContent::Text(bytes.to_vec()));
        }
        match self.others.get(path) {
            Some(Some(bytes)) => EnvFileContent::Text(bytes.clone()),
            Some(None) => EnvFileContent::Unread,
            None if ENV_FILES.contains(&path) => EnvFileContent::Unread,
            None => EnvFileContent::Missing,
        }
    }
}

/// A file that only changes the mode or the owner says nothing about contents.
fn says_something(file: &File) -> bool {
    file.append.is_some() || file.contents.as_ref().is_some_and(|contents| contents.source.is_some())
}

fn is_watched(path: &str) -> bool {
    path == LABELS_PATH
        || ENV_FILES.contains(&path)
        || SEARCH_PATH.iter().any(|directory| {
            let below = path.strip_prefix(directory).and_then(|rest| rest.strip_prefix('/'));
            below.is_some_and(|below| match below.split_once('/') {
                None => below == UNIT,
                Some((directory, _)) => drop_in_directories(UNIT).iter().any(|name| name == directory),
            })
        })
}
