//! Manifests in a folder: a file for each object and a kustomization, so that exactly these are applied.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use berth_ztp::{Manifest, Stage};

use crate::{
    failure::Failure,
    files,
    output::{Printer, counted},
};

/// The file that says which others are applied.
const KUSTOMIZATION: &str = "kustomization.yaml";

/// Writes what differs from what is there. Files of others stay; the kustomization does not name them.
pub(crate) fn write(folder: &Path, manifests: &[Manifest], printer: &mut Printer<'_>) -> Result<(), Failure> {
    let mut texts: Vec<(PathBuf, String)> = Vec::new();
    for (stage, below) in [
        (Stage::Hub, folder.join("hub")),
        (Stage::Install, folder.to_owned()),
        (Stage::DayTwo, folder.join("day2")),
    ] {
        let of_stage: Vec<&Manifest> = manifests.iter().filter(|manifest| manifest.stage == stage).collect();
        if of_stage.is_empty() {
            continue;
        }
        let mut kustomization =
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n".to_owned();
        for manifest in of_stage {
            let name = manifest.file.rsplit('/').next().unwrap_or(&manifest.file);
            kustomization.extend(["- ", name, "\n"]);
            texts.push((folder.join(&manifest.file), manifest.yaml()));
        }
        texts.push((below.join(KUSTOMIZATION), kustomization));
    }
    let mut written = 0_usize;
    for (path, text) in &texts {
        if fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
            continue;
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|source| Failure::WriteFile {
                path: parent.to_owned(),
                source,
            })?;
        }
        files::write_whole(path, text)?;
        written += 1;
    }
    let same = texts.len() - written;
    printer.note(&format!(
        "{} written to `{}`, {same} as they were",
        counted(written, "file"),
        folder.display()
    ))?;
    let made: BTreeSet<&Path> = texts.iter().map(|(path, _)| path.as_path()).collect();
    for below in [folder.join("hub"), folder.to_owned(), folder.join("day2")] {
        for path in yaml_files(&below) {
            if !made.contains(path.as_path()) {
                printer.warning(&format!(
                    "`{}` is in the folder and not among the manifests: what it describes stays on the hub until it is deleted there",
                    path.display()
                ))?;
            }
        }
    }
    Ok(())
}

/// The YAML files of a folder by name; a folder that is not there has none.
fn yaml_files(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .map(|entries| entries.filter_map(|entry| Some(entry.ok()?.path())).collect())
        .unwrap_or_default();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.sort();
    paths
}
