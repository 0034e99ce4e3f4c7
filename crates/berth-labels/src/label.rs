//! One label: a key with its value.

use std::{fmt, str::FromStr};

use crate::{error::LabelError, key::LabelKey, value::LabelValue};

/// A key with its value.
///
/// As text it is `key=value`, or `key=` with the empty value. `key` alone reads as the empty value too, as it does in
/// the kubelet's flag.
///
/// ```
/// use berth_labels::Label;
///
/// let label: Label = "node-role.kubernetes.io/infra=".parse()?;
/// assert_eq!((label.key.name(), label.value.as_str()), ("infra", ""));
/// assert!("zone=rack 7".parse::<Label>().is_err());
/// # Ok::<(), berth_labels::LabelError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label {
    /// What the label says something about.
    pub key: LabelKey,
    /// What it says.
    pub value: LabelValue,
}

impl Label {
    /// Reads a key and a value that are already apart.
    pub fn parse_parts(key: &str, value: &str) -> Result<Self, LabelError> {
        Ok(Self {
            key: key.parse()?,
            value: value.parse()?,
        })
    }
}

impl FromStr for Label {
    type Err = LabelError;

    fn from_str(text: &str) -> Result<Self, LabelError> {
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        Self::parse_parts(key, value)
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key.as_str(), self.value.as_str())
    }
}

impl From<(LabelKey, LabelValue)> for Label {
    fn from((key, value): (LabelKey, LabelValue)) -> Self {
        Self { key, value }
    }
}
