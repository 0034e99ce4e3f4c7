//! `--database` and the keys of what is sealed in it.

use std::path::PathBuf;

use berth_store::{SealingKey, SealingKeys};
use clap::Args;

use crate::{
    failure::{Chain, Failure},
    files,
};

/// The database with the documents.
#[derive(Debug, Args)]
pub(crate) struct DatabaseArgs {
    /// Database: `sqlite:PATH` or `postgres://USER@HOST/NAME`
    #[arg(
        long = "database",
        env = "BERTH_DATABASE",
        hide_env_values = true,
        value_name = "ADDRESS",
        default_value = "sqlite:berth.db"
    )]
    pub(crate) address: String,

    #[command(flatten)]
    pub(crate) sealing: SealingArgs,
}

/// The keys that open and seal documents with storagePolicy encrypted.
#[derive(Debug, Args)]
pub(crate) struct SealingArgs {
    /// File with the key that seals encrypted documents; without it `BERTH_SEALING_KEY` holds the key
    ///
    /// 64 hexadecimal digits, made by `openssl rand -hex 32`. Repeatable: the first key seals, the others only open what
    /// they have sealed before.
    #[arg(long = "sealing-key-file", value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The key itself. Not for typing: other users of the machine would see it.
    #[arg(long = "sealing-key", env = "BERTH_SEALING_KEY", hide = true, hide_env_values = true)]
    key: Option<String>,
}

impl SealingArgs {
    /// The keys, read from where they are.
    pub(crate) fn keys(&self) -> Result<SealingKeys, Failure> {
        let read = |place: String, text: &str| {
            SealingKey::from_hexadecimal(text).map_err(|error| Failure::Argument {
                message: format!("{place}: {}", Chain(&error)),
                hint: Some("make a key with `openssl rand -hex 32`".to_owned()),
            })
        };
        let mut keys = Vec::new();
        for file in &self.files {
            let bytes = files::read(file)?;
            keys.push(read(format!("`{}`", file.display()), &String::from_utf8_lossy(&bytes))?);
        }
        if self.files.is_empty()
            && let Some(key) = &self.key
        {
            keys.push(read("BERTH_SEALING_KEY".to_owned(), key)?);
        }
        Ok(SealingKeys::new(keys))
    }
}
