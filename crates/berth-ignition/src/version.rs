//! The spec versions that this crate reads and writes.

use std::{fmt, str::FromStr};

use serde_json::Value;

/// A version of the Ignition config spec.
///
/// The order is the order of release, so `a < b` reads "a is older".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SpecVersion {
    /// 2.2.0, what clients that name no version are served.
    V2_2,
    /// 3.0.0.
    V3_0,
    /// 3.1.0: resources with headers, proxies, mount options.
    V3_1,
    /// 3.2.0: LUKS, removal of users and groups, partition resize.
    V3_2,
    /// 3.3.0: kernel arguments.
    V3_3,
    /// 3.4.0: special mode bits, S3 by ARN, LUKS discard.
    V3_4,
    /// 3.5.0: LUKS with crypto express adapters.
    V3_5,
}

impl SpecVersion {
    /// The version that every config is held in, and the newest one written.
    pub const LATEST: Self = Self::V3_5;

    /// All versions, oldest first.
    pub const ALL: [Self; 7] = [
        Self::V2_2,
        Self::V3_0,
        Self::V3_1,
        Self::V3_2,
        Self::V3_3,
        Self::V3_4,
        Self::V3_5,
    ];

    /// The version as a config spells it, `3.4.0`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2_2 => "2.2.0",
            Self::V3_0 => "3.0.0",
            Self::V3_1 => "3.1.0",
            Self::V3_2 => "3.2.0",
            Self::V3_3 => "3.3.0",
            Self::V3_4 => "3.4.0",
            Self::V3_5 => "3.5.0",
        }
    }

    /// The supported versions in one line, for messages.
    pub(crate) fn supported() -> String {
        Self::ALL.map(Self::as_str).join(", ")
    }

    /// The version a config says it is written in.
    ///
    /// `None` when there is no `ignition.version` that is a string.
    pub(crate) fn field_of(json: &Value) -> Option<&str> {
        json.get("ignition")?.get("version")?.as_str()
    }
}

impl fmt::Display for SpecVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A version that no config can be read in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("spec version `{version}` is not supported; use one of {}", SpecVersion::supported())]
pub struct UnsupportedVersion {
    /// The version as it was written.
    pub version: String,
}

impl FromStr for SpecVersion {
    type Err = UnsupportedVersion;

    /// Reads the exact spelling only. `3.4.0-experimental` is another
    /// version: its fields may have changed before 3.4.0 became stable.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|version| version.as_str() == text)
            .ok_or_else(|| UnsupportedVersion {
                version: text.to_owned(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_reads_what_it_prints() {
        for version in SpecVersion::ALL {
            assert_eq!(version.to_string().parse(), Ok(version));
        }
        assert_eq!(SpecVersion::ALL.last(), Some(&SpecVersion::LATEST));
    }

    #[test]
    fn other_versions_are_refused_and_the_supported_ones_named() {
        for text in ["3.4.0-experimental", "3.6.0", "2.3.0", "3.4", "", "v3.4.0"] {
            let error = text.parse::<SpecVersion>().unwrap_err().to_string();
            assert!(error.contains("2.2.0, 3.0.0"), "{error}");
            assert!(error.ends_with("3.5.0"), "{error}");
        }
    }
}
