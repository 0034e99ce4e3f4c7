//! The example site, inside the program: `berth up` needs no folder of its own.

use async_trait::async_trait;
use berth_documents::DocumentSet;
use berth_repository::SiteDocuments;

use super::{Reading, Source};
use crate::failure::Failure;

/// A file of `examples/telco-site`, with its name.
macro_rules! file {
    ($name:literal) => {
        (
            concat!("examples/telco-site/", $name),
            include_str!(concat!("../../../../examples/telco-site/", $name)),
        )
    };
}

/// All documents of the example.
const FILES: &[(&str, &str)] = &[
    file!("berths/atlngamaw05.yaml"),
    file!("cluster.yaml"),
    file!("egress/smyrna.yaml"),
    file!("ingress/default.yaml"),
    file!("machine-configs/00-master.yaml"),
    file!("machine-configs/00-worker.yaml"),
    file!("machine-configs/01-master-kubelet.yaml"),
    file!("machine-configs/01-worker-kubelet.yaml"),
    file!("machine-configs/50-infra.yaml"),
    file!("machine-configs/50-worker-rwn.yaml"),
    file!("networks/atlanta.yaml"),
    file!("networks/smyrna.yaml"),
    file!("nodes/control-plane.yaml"),
    file!("nodes/infra.yaml"),
    file!("nodes/remote.yaml"),
    file!("nodes/workers.yaml"),
    file!("pools/infra.yaml"),
    file!("pools/master.yaml"),
    file!("pools/worker-rwn.yaml"),
    file!("pools/worker.yaml"),
    file!("profiles/profiles.yaml"),
    file!("racks/atl-r1.yaml"),
    file!("racks/atl-r2.yaml"),
    file!("racks/smyr-r1.yaml"),
    file!("region.yaml"),
    file!("rules/location.yaml"),
    file!("rules/roles.yaml"),
];

/// The example, which never changes.
#[derive(Debug, Default)]
pub(crate) struct Example {
    read: bool,
}

#[async_trait]
impl Source for Example {
    type Content = SiteDocuments;

    async fn changed(&mut self) {
        std::future::pending::<()>().await;
    }

    async fn look(&mut self) -> Result<Option<Reading<SiteDocuments>>, Failure> {
        let first = !std::mem::replace(&mut self.read, true);
        Ok(first.then(|| Reading::Version {
            name: "example".to_owned(),
            content: FILES.iter().copied().collect::<DocumentSet>().into(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    fn found(folder: &Path, names: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found(&path, names);
            } else if path.extension().is_some_and(|extension| extension == "yaml") {
                names.insert(path.to_string_lossy().into_owned());
            }
        }
    }

    #[test]
    fn every_file_of_the_example_is_inside() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../");
        let mut there = BTreeSet::new();
        found(&root.join("examples/telco-site"), &mut there);
        let inside: BTreeSet<String> = FILES
            .iter()
            .map(|(name, _)| root.join(name).to_string_lossy().into_owned())
            .collect();
        assert_eq!(inside, there);
    }
}
