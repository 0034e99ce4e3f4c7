//! Completion scripts for the shells that people use.

use anyhow::{Context as _, Result};
use clap_complete::Shell;

use super::Files;

pub(super) const FOLDER: &str = "docs/completions";

/// Each shell with the file name under which it looks for the script of a program.
const SHELLS: &[(Shell, &str, &str)] = &[
    (Shell::Bash, "", ".bash"),
    (Shell::Zsh, "_", ""),
    (Shell::Fish, "", ".fish"),
];

pub(super) fn add(command: &clap::Command, files: &mut Files) -> Result<()> {
    let program = command.get_name().to_owned();
    for &(shell, before, after) in SHELLS {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut command.clone(), &program, &mut text);
        let text = String::from_utf8(text).with_context(|| format!("the {shell} completions are not valid UTF-8"))?;
        files.insert(format!("{FOLDER}/{before}{program}{after}").into(), text);
    }
    Ok(())
}
