//! The words of staging.

use std::{fmt, str::FromStr};

use berth_store::StagedVersions;
use serde::{Serialize, Serializer};

/// A stage of the site. The order is the usual one from old to new.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

    /// Its revision, if there is one.
    pub const fn revision(self, staged: &StagedVersions) -> Option<u64> {
        match self {
            Self::SuccessfulSiteAction => staged.successful_site_action,
            Self::LastSiteAction => staged.last_site_action,
            Self::Committed => staged.committed,
            Self::Buffer => staged.buffer,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
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

/// What loading does with what the buffer has already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BufferMode {
    /// The buffer must be empty.
    #[default]
    RejectOnContents,
    /// Other collections stay; this one must not have been changed yet.
    Append,
    /// The buffer is emptied first.
    Replace,
}

impl BufferMode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::RejectOnContents, Self::Append, Self::Replace];

    /// The word in a request.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RejectOnContents => "rejectoncontents",
            Self::Append => "append",
            Self::Replace => "replace",
        }
    }
}

impl fmt::Display for BufferMode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

/// The text names no mode.
impl FromStr for BufferMode {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL
            .into_iter()
            .find(|mode| mode.as_str().eq_ignore_ascii_case(text))
            .ok_or(())
    }
}
