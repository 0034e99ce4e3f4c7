//! Compiled selectors and how they match.

use std::{collections::BTreeSet, fmt};

use crate::{key::LabelKey, set::LabelSet, value::LabelValue};

/// How a requirement relates a key to its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Operator {
    /// The key is there and its value is one of the values.
    In,
    /// The key is absent, or its value is none of the values.
    NotIn,
    /// The key is there.
    Exists,
    /// The key is absent.
    DoesNotExist,
}

impl Operator {
    /// The operator of this wire name; the names are case-sensitive, as they are for Kubernetes.
    pub(crate) fn from_wire(name: &str) -> Option<Self> {
        match name {
            "In" => Some(Self::In),
            "NotIn" => Some(Self::NotIn),
            "Exists" => Some(Self::Exists),
            "DoesNotExist" => Some(Self::DoesNotExist),
            _ => None,
        }
    }

    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::In => "In",
            Self::NotIn => "NotIn",
            Self::Exists => "Exists",
            Self::DoesNotExist => "DoesNotExist",
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One condition on one key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Requirement {
    /// The key the condition is on.
    pub key: LabelKey,
    /// The relation between the key and the values.
    pub operator: Operator,
    /// The values of `In` and `NotIn`; empty for the others.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "BTreeSet::is_empty"))]
    pub values: BTreeSet<LabelValue>,
}

impl Requirement {
    /// Whether a node whose label for this key has the given value (or is absent) meets the condition.
    pub fn accepts(&self, value: Option<&str>) -> bool {
        match (self.operator, value) {
            (Operator::In, Some(value)) => self.values.contains(value),
            (Operator::NotIn, Some(value)) => !self.values.contains(value),
            (Operator::Exists, Some(_)) | (Operator::NotIn | Operator::DoesNotExist, None) => true,
            (Operator::DoesNotExist, Some(_)) | (Operator::In | Operator::Exists, None) => false,
        }
    }

    /// Whether the set meets the condition.
    pub fn matches(&self, labels: &LabelSet) -> bool {
        self.accepts(labels.get(self.key.as_str()).map(LabelValue::as_str))
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.key.as_str();
        match self.operator {
            Operator::Exists => f.write_str(key),
            Operator::DoesNotExist => write!(f, "!{key}"),
            // `a in (b)` and `a=b` mean the same; the short form is what people type.
            Operator::In if self.values.len() == 1 => {
                write!(f, "{key}=")?;
                self.values.iter().try_for_each(|value| f.write_str(value.as_str()))
            }
            Operator::In => write!(f, "{key} in ({})", Listed(&self.values)),
            Operator::NotIn => write!(f, "{key} notin ({})", Listed(&self.values)),
        }
    }
}

/// Prints values joined by commas.
struct Listed<'a>(&'a BTreeSet<LabelValue>);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, value) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            f.write_str(value.as_str())?;
        }
        Ok(())
    }
}

/// A selector that has been checked and is ready to match: all its requirements must hold.
///
/// Matching allocates nothing, because membership asks every pool about every node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Selector(Kind);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Kind {
    /// What an absent selector means.
    Nothing,
    /// Sorted by key, as Kubernetes sorts them.
    All(Vec<Requirement>),
}

impl Selector {
    /// The selector that matches everything, which is what `{}` means.
    pub fn everything() -> Self {
        Self(Kind::All(Vec::new()))
    }

    /// The selector that matches nothing, which is what an absent selector means.
    pub fn nothing() -> Self {
        Self(Kind::Nothing)
    }

    /// A selector of the given requirements.
    pub fn from_requirements(requirements: impl IntoIterator<Item = Requirement>) -> Self {
        let mut requirements: Vec<_> = requirements.into_iter().collect();
        // Stable, so that requirements of one key keep the order in which they were written.
        requirements.sort_by(|left, right| left.key.cmp(&right.key));
        Self(Kind::All(requirements))
    }

    /// Whether it matches everything, which is the `{}` case. [`Selector::nothing`] is not empty.
    pub fn is_empty(&self) -> bool {
        matches!(&self.0, Kind::All(requirements) if requirements.is_empty())
    }

    /// Whether it is [`Selector::nothing`]. Requirements that contradict each other are not found here.
    pub fn is_nothing(&self) -> bool {
        matches!(self.0, Kind::Nothing)
    }

    /// The requirements in the order of their keys; none for [`Selector::nothing`] too.
    pub fn requirements(&self) -> &[Requirement] {
        match &self.0 {
            Kind::Nothing => &[],
            Kind::All(requirements) => requirements,
        }
    }

    /// Whether the set meets every requirement.
    pub fn matches(&self, labels: &LabelSet) -> bool {
        self.matches_with(|key| labels.get(key).map(LabelValue::as_str))
    }

    /// The same for labels that are known only as plain texts, such as those of an observed Node.
    pub fn matches_with<'a>(&self, lookup: impl Fn(&str) -> Option<&'a str>) -> bool {
        match &self.0 {
            Kind::Nothing => false,
            Kind::All(requirements) => requirements
                .iter()
                .all(|requirement| requirement.accepts(lookup(requirement.key.as_str()))),
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements().iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            requirement.fmt(f)?;
        }
        Ok(())
    }
}
