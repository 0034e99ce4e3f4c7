//! Things on a host that a config can manage, and what they can be set to.
//!
//! Units' files and drop-ins are files, masks are links: only whether a unit is enabled and a user's password are things of
//! their own. So one rule says what is kept, written, let go and brought back, whatever it is.

use std::{collections::BTreeSet, fmt};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// A thing that a config can manage.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Item {
    /// What is at an absolute path.
    Path(String),
    /// Whether a unit is enabled.
    Unit(String),
    /// The hash of a user's password.
    Password(String),
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => f.write_str(path),
            Self::Unit(unit) => write!(f, "unit {unit}"),
            Self::Password(user) => write!(f, "password of {user}"),
        }
    }
}

/// What a thing is set to. That it is not there at all is said by `Option`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Setting {
    /// What is at a path.
    Entry(Entry),
    /// Whether a unit is enabled.
    Enabled(bool),
    /// The hash of a password.
    Hash(String),
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Entry {
    /// A file.
    File(FileEntry),
    /// A symbolic link.
    Link {
        /// What it points to, as it is written.
        target: String,
    },
    /// A directory.
    Directory {
        /// Its permissions.
        mode: u32,
        /// Whose it is.
        owner: Owner,
    },
}

/// A file.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileEntry {
    /// Its bytes.
    #[serde(serialize_with = "to_base64", deserialize_with = "from_base64")]
    pub contents: Vec<u8>,
    /// Its permissions.
    pub mode: u32,
    /// Whose it is.
    pub owner: Owner,
}

impl fmt::Debug for FileEntry {
    /// Without the bytes, which may be secret and are many.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileEntry")
            .field("bytes", &self.contents.len())
            .field("mode", &format_args!("{:04o}", self.mode))
            .field("owner", &self.owner)
            .finish()
    }
}

impl FileEntry {
    /// A file of root's.
    pub fn new(contents: impl Into<Vec<u8>>, mode: u32) -> Self {
        Self {
            contents: contents.into(),
            mode,
            owner: Owner::ROOT,
        }
    }
}

/// Whose a file is, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The user.
    pub user: u32,
    /// The group.
    pub group: u32,
}

impl Owner {
    /// The administrator.
    pub const ROOT: Self = Self { user: 0, group: 0 };
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entry(Entry::File(file)) => {
                write!(f, "{} bytes, {:04o}", file.contents.len(), file.mode)?;
                owner(f, file.owner)
            }
            Self::Entry(Entry::Link { target }) => write!(f, "link to {target}"),
            Self::Entry(Entry::Directory { mode, owner: whose }) => {
                write!(f, "directory, {mode:04o}")?;
                owner(f, *whose)
            }
            Self::Enabled(true) => f.write_str("enabled"),
            Self::Enabled(false) => f.write_str("disabled"),
            Self::Hash(hash) if hash.is_empty() => f.write_str("no password"),
            Self::Hash(_) => f.write_str("a password"),
        }
    }
}

fn owner(f: &mut fmt::Formatter<'_>, owner: Owner) -> fmt::Result {
    if owner == Owner::ROOT {
        return Ok(());
    }
    write!(f, ", owner {}:{}", owner.user, owner.group)
}

/// The operating system that a host boots: what a driver changes as a whole, and what counts after a reboot only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct System {
    /// The image. `None`: the config does not say, and the host keeps what it has.
    pub image: Option<String>,
    /// Extensions that are installed.
    pub extensions: BTreeSet<String>,
    /// The image that the extensions' packages come from, where there are extensions.
    pub extensions_image: Option<String>,
    /// The type of kernel where it is not the default one.
    pub kernel_type: Option<String>,
    /// Kernel arguments that are added, in this order.
    pub arguments: Vec<String>,
}

impl System {
    /// Whether a host with this system has what `wanted` asks for.
    pub fn satisfies(&self, wanted: &Self) -> bool {
        let image = wanted.image.is_none() || self.image == wanted.image;
        let packages = wanted.extensions.is_empty() || self.extensions_image == wanted.extensions_image;
        image
            && packages
            && self.extensions == wanted.extensions
            && self.kernel_type == wanted.kernel_type
            && self.arguments == wanted.arguments
    }

    /// What a host that has booted this lacks of `wanted`, in words. Arguments of `before` are to be gone.
    pub fn lacks(&self, wanted: &Self, before: &Self) -> Vec<String> {
        let mut lacks = Vec::new();
        if let (Some(booted), Some(image)) = (&self.image, &wanted.image)
            && booted != image
        {
            lacks.push(format!("the image is {booted} and not {image}"));
        }
        let missing = wanted.arguments.iter().filter(|word| !self.arguments.contains(*word));
        lacks.extend(missing.map(|word| format!("the kernel argument {word} is missing")));
        let stale = |word: &&String| self.arguments.contains(*word) && !wanted.arguments.contains(*word);
        let stale = before.arguments.iter().filter(stale);
        lacks.extend(stale.map(|word| format!("the kernel argument {word} is still there")));
        lacks
    }
}

/// Kernel arguments of a text, taken apart as the kernel does it: at spaces that are not quoted.
pub(crate) fn arguments(text: &str) -> Vec<String> {
    let mut quoted = false;
    let words = text.split(|c: char| {
        quoted ^= c == '"';
        c.is_ascii_whitespace() && !quoted
    });
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

impl fmt::Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = |set: &BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>().join(" ");
        let parts = [
            self.image.as_ref().map(|image| format!("image {image}")),
            (!self.extensions.is_empty()).then(|| format!("extensions {}", words(&self.extensions))),
            self.kernel_type.as_ref().map(|kernel| format!("kernel {kernel}")),
            (!self.arguments.is_empty()).then(|| format!("arguments {}", self.arguments.join(" "))),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() {
            return f.write_str("as installed");
        }
        f.write_str(&parts.join(", "))
    }
}

fn to_base64<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&STANDARD.encode(bytes))
}

fn from_base64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(deserializer)?;
    STANDARD.decode(text).map_err(D::Error::custom)
}
