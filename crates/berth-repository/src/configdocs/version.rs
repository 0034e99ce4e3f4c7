//! The words of staging.

use std::{fmt, str::FromStr};

use berth_api::Version;
use berth_store::StagedVersions;

/// The revision of a version, if there is one.
pub(crate) const fn revision(version: Version, staged: &StagedVersions) -> Option<u64> {
    match version {
        Version::SuccessfulSiteAction => staged.successful_site_action,
        Version::LastSiteAction => staged.last_site_action,
        Version::Committed => staged.committed,
        Version::Buffer => staged.buffer,
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
