//! Staging.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How every collection stands in two versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Collections(pub Vec<Collection>);

/// How a collection stands in two versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Collection {
    /// The name.
    pub collection_name: String,
    /// The older version.
    pub base_version: Version,
    /// Its revision; 0 when there is none.
    pub base_revision: u64,
    /// Whether it has the collection.
    pub base_status: BaseStatus,
    /// The newer version.
    pub new_version: Version,
    /// Its revision; 0 when there is none.
    pub new_revision: u64,
    /// What happened to the collection.
    pub new_status: BucketChange,
}

/// A stage of the site. The order is the usual one from old to new.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Version {
    /// The newest revision whose site action went well.
    SuccessfulSiteAction,
    /// The newest revision that a site action worked on.
    LastSiteAction,
    /// The newest committed revision.
    Committed,
    /// What is newer than the committed revision.
    Buffer,
}

impl Version {
    /// All of them, from old to new.
    pub const ALL: [Self; 4] = [
        Self::SuccessfulSiteAction,
        Self::LastSiteAction,
        Self::Committed,
        Self::Buffer,
    ];

    /// The word in requests and replies.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SuccessfulSiteAction => "successful_site_action",
            Self::LastSiteAction => "last_site_action",
            Self::Committed => "committed",
            Self::Buffer => "buffer",
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

/// The text names no version.
impl FromStr for Version {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL
            .into_iter()
            .find(|version| version.as_str().eq_ignore_ascii_case(text))
            .ok_or(())
    }
}

/// Whether a version has a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum BaseStatus {
    /// It has.
    #[serde(rename = "present")]
    Present,
    /// It has not.
    #[serde(rename = "not present")]
    NotPresent,
}

impl BaseStatus {
    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::NotPresent => "not present",
        }
    }
}

/// What happened to a bucket or a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BucketChange {
    /// Only the newer revision has it.
    Created,
    /// Only the older revision has it.
    Deleted,
    /// It differs.
    Modified,
    /// It is the same.
    Unmodified,
}

impl BucketChange {
    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Deleted => "deleted",
            Self::Modified => "modified",
            Self::Unmodified => "unmodified",
        }
    }
}
