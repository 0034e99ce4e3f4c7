//! One man page for each command.

use anyhow::{Context as _, Result};

use super::{Files, walk};

pub(super) const FOLDER: &str = "docs/man";

pub(super) fn add(command: &clap::Command, files: &mut Files) -> Result<()> {
    // `berth help lint` shows what `berth-lint.1` holds, so the help command needs no page.
    let mut command = command.clone().disable_help_subcommand(true);
    command.build();
    for page in walk(&command) {
        let man = clap_mangen::Man::new(page.clone());
        let name = man.get_filename();
        let mut text = Vec::new();
        man.render(&mut text)
            .with_context(|| format!("cannot render {name}"))?;
        let text = String::from_utf8(text).with_context(|| format!("{name} is not valid UTF-8"))?;
        files.insert(format!("{FOLDER}/{name}").into(), text);
    }
    Ok(())
}
