//! What Berth is built from: licences, places of origin, withdrawn versions and known vulnerabilities.

use std::{collections::BTreeSet, process::Command};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use spdx::{Expression, ParseMode};
use tame_index::{
    IndexKrate, IndexLocation, IndexUrl, KrateName, SparseIndex,
    index::{FileLock, IndexEntry},
};

use crate::workspace::Workspace;

/// Licences that may be part of an Apache-2.0 executable without further conditions than naming them.
const LICENCES: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "NCSA",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// The workspaces: Berth itself, and what searches for mistakes in it.
const MANIFESTS: [&str; 2] = ["Cargo.toml", "fuzz/Cargo.toml"];

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// A package as `cargo metadata` describes it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Package {
    name: String,
    version: String,
    licence: Option<String>,
    /// `None` for the crates of this workspace.
    source: Option<String>,
}

/// Every package has an allowed licence and comes from crates.io or from here.
pub(crate) fn licences(workspace: &Workspace) -> Result<()> {
    let packages = packages(workspace)?;
    let problems: Vec<String> = packages.iter().filter_map(problem).collect();
    if problems.is_empty() {
        println!("{} packages have allowed licences", packages.len());
        return Ok(());
    }
    bail!("{}", problems.join("\n"))
}

fn problem(package: &Package) -> Option<String> {
    let Package { name, version, .. } = package;
    if let Some(source) = package.source.as_deref().filter(|source| *source != CRATES_IO) {
        return Some(format!(
            "{name} {version} comes from {source}; use a crate from crates.io"
        ));
    }
    let Some(licence) = &package.licence else {
        return Some(format!("{name} {version} names no licence"));
    };
    let expression = match Expression::parse_mode(licence, ParseMode::LAX) {
        Ok(expression) => expression,
        Err(error) => return Some(format!("{name} {version} has an unreadable licence: {error}")),
    };
    let allowed = |requirement: &spdx::LicenseReq| {
        let id = requirement.license.id();
        requirement.addition.is_none() && id.is_some_and(|id| LICENCES.contains(&id.name))
    };
    (!expression.evaluate(allowed)).then(|| format!("{name} {version} has the licence {licence}, which is not allowed"))
}

/// No version in a lock file was withdrawn by its authors. The answer is the reason if the registry cannot be asked.
pub(crate) fn yanked(workspace: &Workspace) -> Result<Option<String>> {
    for manifest in MANIFESTS {
        // Asks the registry about every package of the lock file, and leaves what it says in cargo's own cache.
        let asked = workspace
            .cargo()
            .args(["update", "--dry-run", "--quiet", "--manifest-path", manifest])
            .output()
            .context("cargo cannot be started")?;
        if !asked.status.success() {
            let said = String::from_utf8_lossy(&asked.stderr);
            let said = said.lines().next().unwrap_or_default();
            return Ok(Some(format!(
                "withdrawn versions: the registry cannot be asked ({said})"
            )));
        }
    }
    let index = SparseIndex::new(IndexLocation::new(IndexUrl::crates_io(None, None, None)?))
        .context("cargo's cache of the registry cannot be read")?;
    let lock = FileLock::unlocked();
    let mut count = 0;
    let mut withdrawn = Vec::new();
    for package in packages(workspace)?.iter().filter(|package| package.source.is_some()) {
        let Package { name, version, .. } = package;
        let entry: IndexEntry<'_, '_> = index
            .cached_krate(KrateName::try_from(name.as_str())?, &lock)
            .with_context(|| format!("cargo's cache of {name} cannot be read"))?
            .with_context(|| format!("cargo's cache of the registry lacks {name}"))?;
        let known = IndexKrate::try_from(entry).with_context(|| format!("cargo's cache of {name} cannot be read"))?;
        let Some(known) = known.versions.iter().find(|known| known.version == *version) else {
            bail!("the registry does not know {name} {version}");
        };
        count += 1;
        if known.yanked {
            withdrawn.push(format!(
                "{name} {version} is yanked; run `cargo update --package {name}`, also in `fuzz/`"
            ));
        }
    }
    if !withdrawn.is_empty() {
        bail!("{}", withdrawn.join("\n"));
    }
    println!("none of {count} packages is yanked");
    Ok(None)
}

/// No package has a known vulnerability. The answer is the reason if the database of advisories is not available.
pub(crate) fn advisories(workspace: &Workspace) -> Result<Option<String>> {
    let deny = |arguments: &[&str]| -> Result<Option<std::process::Output>> {
        let mut command = Command::new("cargo-deny");
        command.current_dir(workspace.root()).args(arguments);
        match command.output() {
            Ok(output) => Ok(Some(output)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).context("cargo-deny cannot be started"),
        }
    };
    let Some(fetched) = deny(&["fetch", "db"])? else {
        return Ok(Some(
            "advisories: cargo-deny is missing (`cargo install cargo-deny --locked` brings it)".to_owned(),
        ));
    };
    if !fetched.status.success() {
        return Ok(Some("advisories: the RustSec database cannot be fetched".to_owned()));
    }
    for manifest in MANIFESTS {
        let arguments = [
            "--manifest-path",
            manifest,
            "check",
            "--hide-inclusion-graph",
            "advisories",
        ];
        let Some(checked) = deny(&arguments)? else {
            bail!("cargo-deny is gone");
        };
        if !checked.status.success() {
            bail!("{}", String::from_utf8_lossy(&checked.stderr).trim());
        }
    }
    Ok(None)
}

/// All packages of all workspaces, each once.
fn packages(workspace: &Workspace) -> Result<BTreeSet<Package>> {
    let mut all = BTreeSet::new();
    for manifest in MANIFESTS {
        all.extend(packages_of(workspace, manifest)?);
    }
    Ok(all)
}

fn packages_of(workspace: &Workspace, manifest: &str) -> Result<Vec<Package>> {
    let output = workspace
        .cargo()
        .args([
            "metadata",
            "--format-version",
            "1",
            "--locked",
            "--manifest-path",
            manifest,
        ])
        .output()
        .context("cargo cannot be started")?;
    if !output.status.success() {
        bail!(
            "`cargo metadata --locked --manifest-path {manifest}` failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    let metadata: Value = serde_json::from_slice(&output.stdout).context("`cargo metadata` printed no JSON")?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let packages: Option<Vec<Package>> = metadata["packages"].as_array().map(|packages| {
        packages
            .iter()
            .filter_map(|package| {
                Some(Package {
                    name: text(&package["name"])?,
                    version: text(&package["version"])?,
                    licence: text(&package["license"]),
                    source: text(&package["source"]),
                })
            })
            .collect()
    });
    packages
        .filter(|packages| !packages.is_empty())
        .context("`cargo metadata` lists no packages")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(licence: Option<&str>, source: &str) -> Package {
        Package {
            name: "x".to_owned(),
            version: "1.0.0".to_owned(),
            licence: licence.map(str::to_owned),
            source: Some(source.to_owned()),
        }
    }

    #[test]
    fn licences_are_judged_as_expressions() {
        for (licence, allowed) in [
            ("MIT", true),
            ("MIT/Apache-2.0", true),
            ("GPL-3.0-only", false),
            ("MIT OR GPL-3.0-only", true),
            ("MIT AND GPL-3.0-only", false),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
            ("Apache-2.0 WITH LLVM-exception OR MIT", true),
            ("Apache-2.0 WITH LLVM-exception", false),
            ("Proprietary", false),
        ] {
            let found = problem(&package(Some(licence), CRATES_IO));
            assert_eq!(found.is_none(), allowed, "{licence}: {found:?}");
        }
        assert!(problem(&package(None, CRATES_IO)).is_some());
    }

    #[test]
    fn a_package_from_elsewhere_is_refused() {
        let found = problem(&package(Some("MIT"), "git+https://example.com/x")).unwrap();
        assert!(found.contains("git+https://example.com/x"), "{found}");
    }

    #[test]
    fn what_only_fuzzing_needs_is_looked_at_too() {
        let workspace = Workspace::find().unwrap();
        let names: Vec<String> = packages(&workspace)
            .unwrap()
            .into_iter()
            .map(|package| package.name)
            .collect();
        for name in ["libfuzzer-sys", "kube"] {
            assert!(names.iter().any(|found| found == name), "{name}");
        }
    }
}
