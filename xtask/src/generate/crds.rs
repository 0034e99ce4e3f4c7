//! The CRDs of the cluster's resources.

use std::path::PathBuf;

use berth_resources::{CrdSet, crd_yaml, crds};

use super::Files;

/// Where they are committed.
pub(super) const FOLDER: &str = "crates/berth-resources/crds";

/// Adds one file per CRD, named like the CRD.
pub(super) fn add(files: &mut Files) {
    for crd in [CrdSet::Berth, CrdSet::MachineConfig].into_iter().flat_map(crds) {
        let name = crd.metadata.name.clone().unwrap_or_default();
        files.insert(PathBuf::from(FOLDER).join(format!("{name}.yaml")), crd_yaml(&crd));
    }
}
