//! From a selector to the labels that satisfy it.
//!
//! A pool says with a selector which nodes it takes. A node that is to be in the pool must carry labels that meet the
//! selector; these are its implicit labels. Requirements that say what must *not* be there cannot be met by adding a
//! label, so they are handed back as constraints on the final set.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use thiserror::Error;

use crate::{
    key::LabelKey,
    selector::{Operator, Requirement, Selector},
    set::LabelSet,
    value::LabelValue,
};

/// The labels that satisfy a selector, and what the rest of a node's labels must respect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Inversion {
    /// Labels to carry.
    pub labels: LabelSet,
    /// The `NotIn` and `DoesNotExist` requirements, in the order of their keys.
    pub constraints: Vec<Requirement>,
}

impl Inversion {
    /// The constraints that this set breaks.
    pub fn violated<'a>(&'a self, labels: &'a LabelSet) -> impl Iterator<Item = &'a Requirement> {
        self.constraints.iter().filter(|constraint| !constraint.matches(labels))
    }
}

/// Why no single set of labels follows from a selector.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvertError {
    /// Several values would do, and nobody chose one. With no values listed, any value but the excluded ones would do.
    #[error("{}", ambiguous(.key, .values))]
    Ambiguous {
        /// The key in question.
        key: LabelKey,
        /// The values that would do.
        values: Vec<LabelValue>,
    },
    /// The value that was chosen does not meet the selector.
    #[error("the value \"{choice}\" chosen for {key} does not meet the selector; {}", allowed(.values))]
    Choice {
        /// The key in question.
        key: LabelKey,
        /// The value that was chosen.
        choice: LabelValue,
        /// The values that would do; empty when the selector only excludes some.
        values: Vec<LabelValue>,
    },
    /// No set of labels meets the requirements on this key.
    #[error("no label can satisfy the selector: {key} {reason}")]
    Unsatisfiable {
        /// The key in question.
        key: LabelKey,
        /// How its requirements contradict each other.
        reason: String,
    },
    /// The selector is absent, so it selects no node at all.
    #[error("the selector selects nothing")]
    Nothing,
}

impl InvertError {
    /// The code under which findings report this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Ambiguous { .. } => "ambiguous-selector",
            Self::Choice { .. } => "invalid-choice",
            Self::Unsatisfiable { .. } | Self::Nothing => "unsatisfiable-selector",
        }
    }

    /// The key that the error is about.
    pub fn key(&self) -> Option<&LabelKey> {
        match self {
            Self::Ambiguous { key, .. } | Self::Choice { key, .. } | Self::Unsatisfiable { key, .. } => Some(key),
            Self::Nothing => None,
        }
    }
}

impl Selector {
    /// The labels a node must carry to be selected.
    ///
    /// `choices` says which value to take where the selector leaves several. The labels together with any others match
    /// the selector as long as no constraint is violated and no label is overridden.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use berth_labels::LabelSelector;
    ///
    /// let selector = LabelSelector {
    ///     match_labels: BTreeMap::from([("node-role.kubernetes.io/infra".to_owned(), String::new())]),
    ///     ..LabelSelector::default()
    /// };
    /// let inversion = selector.compile()?.invert(&BTreeMap::new())?;
    /// assert_eq!(inversion.labels.to_string(), "node-role.kubernetes.io/infra=");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn invert(&self, choices: &BTreeMap<LabelKey, LabelValue>) -> Result<Inversion, InvertError> {
        if self.is_nothing() {
            return Err(InvertError::Nothing);
        }
        let mut inversion = Inversion::default();
        // The requirements are sorted by key, so those of one key are neighbours.
        for group in self.requirements().chunk_by(|left, right| left.key == right.key) {
            let Some(first) = group.first() else { continue };
            let demand = Demand::of(group);
            if let Some(value) = demand.value(&first.key, choices.get(&first.key))? {
                inversion.labels.insert(first.key.clone(), value);
            }
            inversion.constraints.extend(
                group
                    .iter()
                    .filter(|requirement| matches!(requirement.operator, Operator::NotIn | Operator::DoesNotExist))
                    .cloned(),
            );
        }
        Ok(inversion)
    }
}

/// All requirements on one key, taken together.
struct Demand<'a> {
    /// What all `In` requirements have in common; `None` when there is none.
    allowed: Option<BTreeSet<&'a LabelValue>>,
    excluded: BTreeSet<&'a LabelValue>,
    present: bool,
    absent: bool,
}

impl<'a> Demand<'a> {
    fn of(requirements: &'a [Requirement]) -> Self {
        let mut demand = Self {
            allowed: None,
            excluded: BTreeSet::new(),
            present: false,
            absent: false,
        };
        for requirement in requirements {
            match requirement.operator {
                Operator::In => {
                    demand.present = true;
                    match &mut demand.allowed {
                        Some(allowed) => {
                            allowed.retain(|value| requirement.values.contains(*value));
                        }
                        None => demand.allowed = Some(requirement.values.iter().collect()),
                    }
                }
                Operator::NotIn => demand.excluded.extend(&requirement.values),
                Operator::Exists => demand.present = true,
                Operator::DoesNotExist => demand.absent = true,
            }
        }
        demand
    }

    /// The value the key must have, or `None` when the key need not be there.
    fn value(&self, key: &LabelKey, choice: Option<&LabelValue>) -> Result<Option<LabelValue>, InvertError> {
        if !self.present {
            return Ok(None);
        }
        if self.absent {
            return Err(unsatisfiable(key, "must be present and absent at the same time"));
        }
        let Some(allowed) = &self.allowed else {
            return self.free_value(key, choice).map(Some);
        };
        let candidates: Vec<&LabelValue> = allowed.difference(&self.excluded).copied().collect();
        let owned = || candidates.iter().map(|value| (*value).clone()).collect();
        match (candidates.as_slice(), choice) {
            ([], _) if allowed.is_empty() => Err(unsatisfiable(
                key,
                "must have values that its requirements do not share",
            )),
            ([], _) => Err(unsatisfiable(
                key,
                "must have a value that another requirement excludes",
            )),
            (_, Some(choice)) if candidates.contains(&choice) => Ok(Some(choice.clone())),
            (_, Some(choice)) => Err(InvertError::Choice {
                key: key.clone(),
                choice: choice.clone(),
                values: owned(),
            }),
            ([only], None) => Ok(Some((*only).clone())),
            (_, None) => Err(InvertError::Ambiguous {
                key: key.clone(),
                values: owned(),
            }),
        }
    }

    /// The value of a key that must exist with whatever value: the empty one, unless it is excluded.
    fn free_value(&self, key: &LabelKey, choice: Option<&LabelValue>) -> Result<LabelValue, InvertError> {
        let value = choice.cloned().unwrap_or_default();
        if !self.excluded.contains(&value) {
            return Ok(value);
        }
        Err(match choice {
            Some(_) => InvertError::Choice {
                key: key.clone(),
                choice: value,
                values: Vec::new(),
            },
            None => InvertError::Ambiguous {
                key: key.clone(),
                values: Vec::new(),
            },
        })
    }
}

fn unsatisfiable(key: &LabelKey, reason: &str) -> InvertError {
    InvertError::Unsatisfiable {
        key: key.clone(),
        reason: reason.to_owned(),
    }
}

fn ambiguous(key: &LabelKey, values: &[LabelValue]) -> String {
    if values.is_empty() {
        format!("the selector wants {key} with a value, excludes the empty one and names no other: choose a value")
    } else {
        format!(
            "the selector allows several values for {key}: choose one of {}",
            Listed(values)
        )
    }
}

fn allowed(values: &[LabelValue]) -> String {
    if values.is_empty() {
        "the selector excludes it".to_owned()
    } else {
        format!("allowed: {}", Listed(values))
    }
}

/// Prints values quoted and joined by commas, so that the empty value is visible.
struct Listed<'a>(&'a [LabelValue]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, value) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            write!(f, "\"{value}\"")?;
        }
        Ok(())
    }
}
