//! Files that are made from the program itself: man pages, reference pages, the crates on the map.
//!
//! They are committed, so that packagers and readers need no build, and `--check` proves that they are current.

mod cli_reference;
mod crates;
mod crds;
mod lint_reference;
mod man;
mod source;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};

use crate::workspace::Workspace;

/// Contents by path relative to the root of the workspace.
type Files = BTreeMap<PathBuf, String>;

/// Folders that hold generated files only: a file in them that is not generated is left over from an older state.
const OWNED_FOLDERS: &[&str] = &[man::FOLDER, crds::FOLDER];

/// What a lint's reference page needs to know.
#[derive(Debug)]
struct LintPage {
    code: &'static str,
    severity: &'static str,
    summary: &'static str,
    explanation: &'static str,
}

/// A difference between the committed files and what would be generated now.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    Missing(PathBuf),
    Stale(PathBuf),
    LeftOver(PathBuf),
}

/// Writes every generated file and removes those that are left over.
pub(crate) fn write(workspace: &Workspace) -> Result<()> {
    let files = files(workspace)?;
    let differences = compare(workspace.root(), &files)?;
    let changed = differences.len();
    apply(workspace.root(), &files, differences)?;
    println!("{} generated files, {changed} changed", files.len());
    Ok(())
}

/// Fails, with a list, when a committed file is not what would be generated now.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let files = files(workspace)?;
    let differences = compare(workspace.root(), &files)?;
    if differences.is_empty() {
        println!("{} generated files are current", files.len());
        return Ok(());
    }
    for difference in &differences {
        match difference {
            Difference::Missing(path) => println!("missing: {}", path.display()),
            Difference::Stale(path) => println!("stale: {}", path.display()),
            Difference::LeftOver(path) => println!("left over: {}", path.display()),
        }
    }
    bail!("generated files are not current; run `cargo xtask generate` and commit the result")
}

fn files(workspace: &Workspace) -> Result<Files> {
    let command = source::command();
    let mut files = Files::new();
    man::add(&command, &mut files)?;
    cli_reference::add(&command, &mut files);
    lint_reference::add(&source::lints(), &mut files);
    crds::add(&mut files);
    crates::add(workspace, &mut files)?;
    Ok(files)
}

fn compare(root: &Path, files: &Files) -> Result<BTreeSet<Difference>> {
    let mut differences = BTreeSet::new();
    for (path, text) in files {
        let target = root.join(path);
        if !target.exists() {
            differences.insert(Difference::Missing(path.clone()));
        } else if fs::read(&target).with_context(|| format!("cannot read {}", target.display()))? != text.as_bytes() {
            differences.insert(Difference::Stale(path.clone()));
        }
    }
    for folder in OWNED_FOLDERS.iter().map(Path::new) {
        if !root.join(folder).is_dir() {
            continue;
        }
        for entry in fs::read_dir(root.join(folder)).with_context(|| format!("cannot list {}", folder.display()))? {
            let path = folder.join(entry?.file_name());
            if !files.contains_key(&path) {
                differences.insert(Difference::LeftOver(path));
            }
        }
    }
    Ok(differences)
}

/// Makes the differences go away, and says which files that touched.
fn apply(root: &Path, files: &Files, differences: BTreeSet<Difference>) -> Result<()> {
    for difference in differences {
        match difference {
            Difference::Missing(path) | Difference::Stale(path) => {
                let target = root.join(&path);
                if let Some(folder) = target.parent() {
                    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
                }
                let text = files.get(&path).map(String::as_str).unwrap_or_default();
                fs::write(&target, text).with_context(|| format!("cannot write {}", target.display()))?;
                println!("wrote {}", path.display());
            }
            Difference::LeftOver(path) => {
                fs::remove_file(root.join(&path)).with_context(|| format!("cannot remove {}", path.display()))?;
                println!("removed {}", path.display());
            }
        }
    }
    Ok(())
}

/// A command and all its visible subcommands, from the root down, as people type them.
///
/// The command must be built, because building gives subcommands their full names.
fn walk(command: &clap::Command) -> Vec<&clap::Command> {
    let mut all = vec![command];
    for subcommand in command.get_subcommands() {
        if !subcommand.is_hide_set() && subcommand.get_name() != "help" {
            all.extend(walk(subcommand));
        }
    }
    all
}

#[cfg(test)]
mod tests;
