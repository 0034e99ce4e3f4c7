//! The executable for the node: built static and small, and measured.
//!
//! It is carried inside machine configs and runs at every boot, also where the image has no C library of ours. So it
//! must need no loader, and its size has a limit.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, bail};
use berth_boot::needs_loader;
use serde_json::Value;

use crate::workspace::Workspace;

const CRATE: &str = "berth-node";

/// Well below what a machine config can hold.
const SIZE_LIMIT: usize = 1_500_000;

/// Builds the executable, checks it, and says where it is and how large.
pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    let path = compile(workspace)?;
    let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    check(&bytes).with_context(|| format!("{} is not fit for a node", path.display()))?;
    println!("{}: static, {} bytes (limit {SIZE_LIMIT})", path.display(), bytes.len());
    Ok(())
}

/// Builds the executable without a look at it.
pub(crate) fn compile(workspace: &Workspace) -> Result<PathBuf> {
    if !cfg!(target_os = "linux") {
        bail!("{CRATE} is for Linux and is built there");
    }
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let mut command = workspace.cargo();
    command
        .args(["build", "--locked", "--package", CRATE, "--profile", "node"])
        // With a target named, the flag does not reach build scripts and procedural macros, which cannot be static.
        .args(["--target", &target, "--message-format", "json-render-diagnostics"])
        .env("RUSTFLAGS", "-C target-feature=+crt-static");
    executable(&mut command, CRATE)
}

/// Runs a cargo build that prints messages as JSON, and gives the path of the executable it names.
pub(crate) fn executable(command: &mut Command, name: &str) -> Result<PathBuf> {
    command.stderr(Stdio::inherit());
    let output = command.output().context("cargo cannot be started")?;
    if !output.status.success() {
        bail!("`cargo build` of {name} ended with {}", output.status);
    }
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter_map(|message| message["executable"].as_str().map(PathBuf::from))
        .find(|path| path.file_name() == Some(Path::new(name).as_os_str()))
        .context("cargo names no executable")
}

fn check(bytes: &[u8]) -> Result<()> {
    if needs_loader(bytes).context("it is not an ELF file for 64 bits")? {
        bail!("it needs a dynamic loader, which the node may not have");
    }
    if bytes.len() > SIZE_LIMIT {
        bail!("it has {} bytes, more than {SIZE_LIMIT}", bytes.len());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF header with one program header of this type.
    fn elf(segment: u8) -> Vec<u8> {
        let mut bytes = vec![0; 0x40 + 0x38];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[0x20] = 0x40;
        bytes[0x36] = 0x38;
        bytes[0x38] = 1;
        bytes[0x40] = segment;
        bytes
    }

    #[test]
    fn a_dynamic_executable_is_refused() {
        assert_eq!(needs_loader(&elf(3)), Some(true));
        assert_eq!(needs_loader(&elf(1)), Some(false));
        assert!(check(&elf(1)).is_ok());
        let message = check(&elf(3)).unwrap_err().to_string();
        assert!(message.contains("dynamic loader"), "{message}");
        let ours = fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(needs_loader(&ours).is_some(), "a real executable is understood");
    }

    #[test]
    fn what_is_too_large_or_no_executable_is_refused() {
        let mut large = elf(1);
        large.resize(SIZE_LIMIT + 1, 0);
        assert!(check(&large).unwrap_err().to_string().contains("more than 1500000"));
        assert!(check(b"#!/bin/sh\n").is_err());
        assert!(check(&elf(1)[..0x50]).is_ok());
        assert!(check(&elf(1)[..0x41]).is_err());
    }
}
