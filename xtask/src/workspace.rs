//! Where the workspace is, and its files.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

/// The checked-out workspace that the chores work on.
#[derive(Debug, Clone)]
pub struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// The workspace this program was built from.
    pub fn find() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .context("the xtask crate has no parent folder")?;
        Ok(Self { root: root.to_owned() })
    }

    /// The folder that holds the workspace's `Cargo.toml`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The cargo that started this program, working in the root folder.
    pub(crate) fn cargo(&self) -> Command {
        let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        command
    }

    /// What `cargo metadata` says.
    pub(crate) fn metadata(&self, options: &[&str]) -> Result<Value> {
        let output = self
            .cargo()
            .args(["metadata", "--format-version", "1", "--locked"])
            .args(options)
            .output()
            .context("cargo cannot be started")?;
        if !output.status.success() {
            bail!(
                "`cargo metadata --locked` failed: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        serde_json::from_slice(&output.stdout).context("`cargo metadata` printed no JSON")
    }

    /// The names of the folders in `crates/`, sorted.
    pub(crate) fn crates(&self) -> Result<Vec<String>> {
        let folder = self.root.join("crates");
        let mut names = Vec::new();
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))? {
            let entry = entry?;
            if entry.path().join("Cargo.toml").is_file() {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// Every file with an extension under a folder of the workspace, sorted, as paths relative to the root.
    pub(crate) fn files(&self, under: &str, extension: &str) -> Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        let mut folders = vec![PathBuf::from(under)];
        while let Some(folder) = folders.pop() {
            let absolute = self.root.join(&folder);
            for entry in fs::read_dir(&absolute).with_context(|| format!("cannot list {}", absolute.display()))? {
                let entry = entry?;
                let path = folder.join(entry.file_name());
                if entry.file_type()?.is_dir() {
                    // A crate that is its own workspace (fuzz targets) may have its build output inside.
                    if entry.file_name() != "target" {
                        folders.push(path);
                    }
                } else if path.extension().is_some_and(|found| found == extension) {
                    files.push(path);
                }
            }
        }
        files.sort();
        Ok(files)
    }
}
