//! The files of a machine.

use std::collections::BTreeMap;

use berth_ignition::file_contents;
use berth_labels::LabelSet;
use berth_units::{LABELS_PATH, LabelsFile};
use thiserror::Error;

/// The unit that an image brings.
const UNIT_PATH: &str = "/usr/lib/systemd/system/kubelet.service";

/// A unit as images of plain Kubernetes have it.
const UNIT: &str = "[Unit]\nDescription=kubelet\n\n[Service]\nEnvironmentFile=-/etc/default/kubelet\n\
    ExecStart=/usr/bin/kubelet --bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf \
    --kubeconfig=/etc/kubernetes/kubelet.conf --config=/var/lib/kubelet/config.yaml $KUBELET_EXTRA_ARGS\n\
    Restart=always\n\n[Install]\nWantedBy=multi-user.target\n";

/// The files of a machine, by their paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    files: BTreeMap<String, Vec<u8>>,
}

/// Why a machine cannot use what it fetched.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum IgnitionError {
    /// The answer is not a config.
    #[error("the answer is not an Ignition config: {0}")]
    Unusable(String),
    /// The contents of a file cannot be decoded.
    #[error("the contents of {0} cannot be decoded")]
    Contents(String),
}

impl Disk {
    /// The disk of an image with a kubelet, before anybody configured it.
    pub fn image() -> Self {
        let mut disk = Self::default();
        disk.write(UNIT_PATH, UNIT);
        disk.write("/etc/os-release", "ID=fedora\nVARIANT_ID=coreos\n");
        disk
    }

    /// Writes a file.
    pub fn write(&mut self, path: impl Into<String>, contents: impl Into<Vec<u8>>) {
        self.files.insert(path.into(), contents.into());
    }

    /// Reads a file.
    pub fn read(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(Vec::as_slice)
    }

    /// All files.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files
            .iter()
            .map(|(path, contents)| (path.as_str(), contents.as_slice()))
    }

    /// Puts labels where the generator finds them.
    pub fn write_labels(&mut self, labels: &LabelSet) {
        self.write(LABELS_PATH, LabelsFile::print(labels));
    }

    /// Forgets what is only there until the next boot.
    pub(crate) fn begin_boot(&mut self) {
        self.files.retain(|path, _| !path.starts_with("/run/"));
    }

    /// Writes what an Ignition config says, as Ignition does on first boot. The answer is how many files that were.
    pub fn write_ignition(&mut self, bytes: &[u8]) -> Result<usize, IgnitionError> {
        let json: serde_json::Value =
            serde_json::from_slice(bytes).map_err(|error| IgnitionError::Unusable(error.to_string()))?;
        let config = berth_ignition::parse(&json).usable().map_err(|findings| {
            let said: Vec<String> = findings.iter().map(ToString::to_string).collect();
            IgnitionError::Unusable(said.join("; "))
        })?;
        let mut count = 0_usize;
        for file in config.files() {
            let contents = file_contents(file).map_err(|_| IgnitionError::Contents(file.path.clone()))?;
            self.write(file.path.clone(), contents);
            count = count.saturating_add(1);
        }
        for piece in config.unit_texts() {
            let folder = "/etc/systemd/system";
            let path = match piece.dropin {
                None => format!("{folder}/{}", piece.unit),
                Some(name) => format!("{folder}/{}.d/{name}", piece.unit),
            };
            self.write(path, piece.text);
            count = count.saturating_add(1);
        }
        Ok(count)
    }
}
