//! What on a host is not as its config says.

use std::fmt;

use serde::{Deserialize, Serialize};
use similar::{ChangeTag, TextDiff};

use crate::{
    host_config::HostConfig,
    item::{Entry, FileEntry, Item, Setting},
    plan::{Observed, satisfied},
};

/// Lines of a diff that are shown, and characters of each.
const LINES: usize = 6;
const WIDTH: usize = 100;

/// Words in a file, or in its path, that are a reason not to show any of it.
const SECRETS: [&str; 18] = [
    "access_key",
    "accesskey",
    "api-key",
    "api_key",
    "apikey",
    "authorization",
    "bearer",
    "client-key-data",
    "community",
    "credential",
    "passphrase",
    "passwd",
    "password",
    "private key",
    "privatekey",
    "psk",
    "secret",
    "token",
];

/// So many letters and digits without a blank, with both among them, may be a key.
const KEY: usize = 20;

/// What is done about things that are not as the config says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DriftPolicy {
    /// It is said, and left alone.
    #[default]
    Report,
    /// It is put right.
    Repair,
    /// The node is degraded until somebody puts it right, as with OpenShift's daemon.
    Degrade,
}

/// One thing that is not as the config says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drift {
    /// The thing; `None`: what the machine has booted.
    pub item: Option<Item>,
    /// What is wrong, in the words of OpenShift's daemon where it has some.
    pub what: String,
    /// Some of what differs, with nothing in it that could be secret.
    pub diff: Option<String>,
}

impl Drift {
    /// The machine has not booted what its config says.
    pub(crate) fn of_boot(what: &str) -> Self {
        Self {
            item: None,
            what: format!("the machine has not booted what its config says: {what}"),
            diff: None,
        }
    }
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.diff {
            Some(diff) => write!(f, "\n{diff}"),
            None => Ok(()),
        }
    }
}

/// Everything that is not as the config says, by thing.
pub fn drift(config: &HostConfig, observed: &Observed) -> Vec<Drift> {
    let mut found = Vec::new();
    for (item, wanted) in &config.settings {
        let is = observed.settings.get(item);
        if !satisfied(item, is, Some(wanted), observed) {
            found.push(Drift {
                item: Some(item.clone()),
                what: what(item, is, wanted),
                diff: match item {
                    Item::Path(path) => diff(path, is, wanted),
                    Item::Unit(_) | Item::Password(_) => None,
                },
            });
        }
    }
    found
}

fn what(item: &Item, is: Option<&Setting>, wanted: &Setting) -> String {
    match (item, is, wanted) {
        (Item::Unit(unit), is, wanted) => {
            let enabled = *wanted == Setting::Enabled(true);
            let is = match is {
                Some(Setting::Enabled(true)) => "enabled",
                Some(_) => "disabled",
                None => "not-found",
            };
            format!("unit {unit:?} expected enabled={enabled}, but systemd reports {is:?}")
        }
        (Item::Password(user), ..) => format!("password mismatch for user {user:?}"),
        (Item::Path(path), None, _) => format!("{path:?} is missing"),
        (Item::Path(path), Some(Setting::Entry(Entry::File(is))), Setting::Entry(Entry::File(wanted))) => {
            if is.contents != wanted.contents {
                format!("content mismatch for file {path:?}")
            } else if is.mode != wanted.mode {
                format!(
                    "mode mismatch for file: {path:?}; expected: {:04o}; received: {:04o}",
                    wanted.mode, is.mode
                )
            } else {
                format!(
                    "owner mismatch for file: {path:?}; expected: {}:{}; received: {}:{}",
                    wanted.owner.user, wanted.owner.group, is.owner.user, is.owner.group
                )
            }
        }
        (Item::Path(path), Some(is), wanted) => format!("{path:?} expected {wanted}, found {is}"),
    }
}

/// The first lines that differ between two files that everybody may read.
fn diff(path: &str, is: Option<&Setting>, wanted: &Setting) -> Option<String> {
    let (Some(Setting::Entry(Entry::File(is))), Setting::Entry(Entry::File(wanted))) = (is, wanted) else {
        return None;
    };
    if has_secret_word(path) {
        return None;
    }
    let (old, new) = (shown(wanted)?, shown(is)?);
    let mut lines = Vec::new();
    let diff = TextDiff::from_lines(old, new);
    for change in diff.iter_all_changes() {
        let sign = match change.tag() {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => continue,
        };
        let text: String = change.value().trim_end().chars().take(WIDTH).collect();
        lines.push(format!("{sign}{}", text.escape_debug()));
    }
    let more = lines.len().saturating_sub(LINES);
    lines.truncate(LINES);
    if more > 0 {
        lines.push(format!("({more} more lines)"));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The text of a file, unless it may be secret: not for everybody to read, with a word in it that secrets have, or with something that
/// looks like a key or an address with a password. Who reads Nodes and events may not read what only root of the host may.
fn shown(file: &FileEntry) -> Option<&str> {
    const EVERYBODY: u32 = 0o004;
    let text = str::from_utf8(&file.contents).ok()?;
    let secret = file.mode & EVERYBODY == 0 || has_secret_word(text) || text.split_whitespace().any(may_be_secret);
    (!secret).then_some(text)
}

fn has_secret_word(text: &str) -> bool {
    let lower = text.to_lowercase();
    SECRETS.iter().any(|word| lower.contains(word))
}

/// Whether a word without blanks has a key in it, or is an address with a name or password.
fn may_be_secret(word: &str) -> bool {
    let has_user = word.split_once("://").is_some_and(|(_, place)| place.contains('@'));
    let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '+' | '_' | '-' | '=');
    let may_be_key = |part: &str| {
        part.len() >= KEY
            && part.bytes().any(|byte| byte.is_ascii_digit())
            && part.bytes().any(|byte| byte.is_ascii_alphabetic())
    };
    has_user || word.split(|character| !is_part(character)).any(may_be_key)
}

#[cfg(test)]
mod tests;
