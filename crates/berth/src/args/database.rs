//! `--database` and the keys of what is sealed in it.

use std::path::{Path, PathBuf};

use berth_store::{SealingKey, SealingKeys};
use clap::{ArgMatches, Args, parser::ValueSource};

use crate::{
    failure::{Chain, Failure},
    files,
};

/// The database with the documents.
#[derive(Debug, Args)]
pub(crate) struct DatabaseArgs {
    /// Database: `sqlite:PATH` or `postgres://USER@HOST/NAME`
    ///
    /// An address with a password is refused here, where other users of the machine would see it: put it into a file for
    /// --database-file or into the environment variable, or leave the password to PGPASSWORD or ~/.pgpass. A database server on
    /// another machine must show a certificate for its name, unless the address says another `sslmode`.
    #[arg(
        long = "database",
        env = "BERTH_DATABASE",
        hide_env_values = true,
        value_name = "ADDRESS",
        default_value = "sqlite:berth.db"
    )]
    typed: String,

    /// File with the address of the database, for one with a password
    #[arg(long = "database-file", value_name = "FILE")]
    file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) sealing: SealingArgs,
}

impl DatabaseArgs {
    /// The address. A file that is named wins over the environment.
    pub(crate) fn address(&self) -> Result<String, Failure> {
        match &self.file {
            Some(file) => address_in(file),
            None => Ok(self.typed.clone()),
        }
    }
}

/// The address that a file holds.
pub(crate) fn address_in(file: &Path) -> Result<String, Failure> {
    let bytes = files::read(file)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    match (lines.next(), lines.next()) {
        (Some(address), None) => Ok(address.to_owned()),
        _ => Err(Failure::Argument {
            message: format!("`{}` does not hold the address of a database", file.display()),
            hint: Some("write it on one line, as in postgres://USER:PASSWORD@HOST/NAME".to_owned()),
        }),
    }
}

/// Secrets that have a place in the environment: the variable, and what to do instead of typing one.
const SECRETS: [(&str, &str); 3] = [
    (
        "BERTH_SEALING_KEY",
        "write the key into a file and give `--sealing-key-file FILE`, or set BERTH_SEALING_KEY",
    ),
    (
        "BERTH_TOKEN",
        "write the token into a file and give `--token-file FILE`, or set BERTH_TOKEN",
    ),
    (
        "OS_AUTH_TOKEN",
        "write the token into a file and give `--token-file FILE`, or set OS_AUTH_TOKEN",
    ),
];

/// Whether the address of a web server has a password in it, also one that keeps it from being an address.
fn url_has_password(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else {
        return false;
    };
    let scheme = scheme.to_ascii_lowercase();
    let has_password = |place: &str| {
        let user = place.rsplit_once('@').and_then(|(user, _)| user.split_once(':'));
        user.is_some_and(|(_, password)| !password.is_empty())
    };
    let place = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let is_web = scheme == "http" || scheme == "https" || scheme.ends_with("+http") || scheme.ends_with("+https");
    is_web && (has_password(place) || (has_password(rest) && reqwest::Url::parse(text).is_err()))
}

/// Refuses what other users of the machine would see in the list of processes: keys, tokens, and addresses with a
/// password. The environment and files are seen by nobody else. Refuses also to guess which of several databases is meant.
pub(crate) fn check_secrets(command: &clap::Command, matches: &ArgMatches) -> Result<(), Failure> {
    let is_typed = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    for argument in command.get_arguments() {
        let secret = SECRETS
            .into_iter()
            .find(|(variable, _)| argument.get_env().is_some_and(|name| name == *variable));
        if let (Some((_, hint)), Some(long)) = (secret, argument.get_long())
            && is_typed(argument.get_id().as_str())
        {
            return Err(Failure::Argument {
                message: format!("the secret in `--{long}` can be seen by every user of this machine"),
                hint: Some(hint.to_owned()),
            });
        }
    }
    for argument in command.get_arguments().filter(|argument| !argument.is_last_set()) {
        let id = argument.get_id().as_str();
        let values = matches.try_get_raw(id).ok().flatten().filter(|_| is_typed(id));
        let mut values = values.into_iter().flatten().filter_map(|value| value.to_str());
        if values.any(url_has_password) {
            let name = argument
                .get_long()
                .map_or_else(|| id.to_owned(), |long| format!("--{long}"));
            return Err(Failure::Argument {
                message: format!("the password in `{name}` can be seen by every user of this machine"),
                hint: Some(
                    "leave name and password out of the address: Berth sends tokens, and no passwords".to_owned(),
                ),
            });
        }
    }
    let named = |long: &str| {
        let found = command
            .get_arguments()
            .find(|argument| argument.get_long() == Some(long));
        found.map(|argument| argument.get_id().as_str())
    };
    if let Some(id) = named("database").filter(|id| is_typed(id)) {
        if matches
            .get_one(id)
            .is_some_and(|address: &String| berth_store::has_password(address))
        {
            return Err(Failure::Argument {
                message: "the password in `--database` can be seen by every user of this machine".to_owned(),
                hint: Some(
                    "write the address into a file and give `--database-file FILE`, or set BERTH_DATABASE; or leave the \
                     password out of it: PGPASSWORD and ~/.pgpass are read too"
                        .to_owned(),
                ),
            });
        }
        if named("database-file").is_some_and(is_typed) {
            return Err(Failure::Argument {
                message: "`--database` and `--database-file` name two databases".to_owned(),
                hint: Some("give one of them".to_owned()),
            });
        }
    }
    let typed_database = ["database", "database-file"]
        .into_iter()
        .find(|long| named(long).is_some_and(is_typed));
    if let (Some(database), Some(server)) = (typed_database, named("server"))
        && matches.contains_id(server)
    {
        let server = if is_typed(server) { "`--server`" } else { "BERTH_SERVER" };
        return Err(Failure::Argument {
            message: format!("`--{database}` names a database, and {server} a server that has its own"),
            hint: Some(format!("leave out `--{database}`, or {server}")),
        });
    }
    match matches.subcommand() {
        Some((name, below)) => match command.find_subcommand(name) {
            Some(command) => check_secrets(command, below),
            None => Ok(()),
        },
        None => Ok(()),
    }
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

#[cfg(test)]
mod tests {
    use super::url_has_password;

    #[test]
    fn passwords_are_found_in_addresses_of_web_servers() {
        for text in [
            "http://user:secret@host",
            "HTTPS://user:secret@host:5000/v3?a=b",
            "https://:secret@host/v3",
            "deckhand+http://user:secret@host:9000/api",
            "https://user:sec/ret@host/v3",
            "https://user:sec?ret@host/v3",
            "https://user:sec@ret@host/v3",
        ] {
            assert!(url_has_password(text), "{text}");
        }
        for text in [
            "https://host:5000/v3",
            "https://user@host/v3",
            "https://host:22623/config/a@b",
            "https://host/v3?name=a:b@c",
            "registry:5000/image@sha256:0123",
            "oci://registry:5000/image@sha256:0123",
            "user:secret@host",
        ] {
            assert!(!url_has_password(text), "{text}");
        }
    }
}
