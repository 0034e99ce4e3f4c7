//! Label selectors as they stand in documents, and their conversions.

use std::{collections::BTreeMap, fmt};

use thiserror::Error;

use crate::{
    error::LabelError,
    key::LabelKey,
    quote::{JsonList, Quoted},
    selector::{Operator, Requirement, Selector},
    value::LabelValue,
};

/// A `LabelSelector` of the Kubernetes API, not yet checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct LabelSelector {
    /// Keys that must have exactly these values.
    #[cfg_attr(
        feature = "serde",
        serde(deserialize_with = "null::map", skip_serializing_if = "BTreeMap::is_empty")
    )]
    pub match_labels: BTreeMap<String, String>,
    /// Further conditions; all must hold.
    #[cfg_attr(
        feature = "serde",
        serde(deserialize_with = "null::or_default", skip_serializing_if = "Vec::is_empty")
    )]
    pub match_expressions: Vec<LabelSelectorRequirement>,
}

/// One entry of `matchExpressions`, not yet checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct LabelSelectorRequirement {
    /// The key the condition is on.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "null::or_default"))]
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "null::or_default"))]
    pub operator: String,
    /// The values of `In` and `NotIn`.
    #[cfg_attr(
        feature = "serde",
        serde(deserialize_with = "null::or_default", skip_serializing_if = "Vec::is_empty")
    )]
    pub values: Vec<String>,
}

impl LabelSelector {
    /// Whether nothing is asked for, which matches everything.
    pub fn is_empty(&self) -> bool {
        self.match_labels.is_empty() && self.match_expressions.is_empty()
    }

    /// The plain map form that older APIs take, such as the node placement of an `IngressController`.
    ///
    /// As in the API machinery, an `In` with one value silently beats an entry of `matchLabels` with the same key, and
    /// keys and values are not checked.
    pub fn to_map(&self) -> Result<BTreeMap<String, String>, ToMapError> {
        let mut map = self.match_labels.clone();
        for expression in &self.match_expressions {
            let operator = Operator::from_wire(&expression.operator).ok_or_else(|| ToMapError::UnknownOperator {
                operator: expression.operator.clone(),
            })?;
            match (operator, expression.values.as_slice()) {
                (Operator::In, [value]) => {
                    map.insert(expression.key.clone(), value.clone());
                }
                (Operator::In, _) => {
                    return Err(ToMapError::NotSingle {
                        key: expression.key.clone(),
                    });
                }
                (Operator::NotIn | Operator::Exists | Operator::DoesNotExist, _) => {
                    return Err(ToMapError::Operator {
                        key: expression.key.clone(),
                        operator,
                    });
                }
            }
        }
        Ok(map)
    }

    /// Checks the selector and makes it ready to match. The first bad requirement is the error, with all its problems;
    /// [`errors`](Self::errors) has the others too.
    pub fn compile(&self) -> Result<Selector, SelectorError> {
        let requirements = self.requirements().collect::<Result<Vec<_>, _>>()?;
        Ok(Selector::from_requirements(requirements))
    }

    /// What is wrong with each bad requirement, in order.
    pub fn errors(&self) -> Vec<SelectorError> {
        self.requirements().filter_map(Result::err).collect()
    }

    fn requirements(&self) -> impl Iterator<Item = Result<Requirement, SelectorError>> {
        let labels = self
            .match_labels
            .iter()
            .map(|(key, value)| requirement(key, Operator::In, std::slice::from_ref(value)));
        let expressions = self.match_expressions.iter().map(|expression| {
            let operator = Operator::from_wire(&expression.operator).ok_or_else(|| SelectorError::Operator {
                key: expression.key.clone(),
                operator: expression.operator.clone(),
            })?;
            requirement(&expression.key, operator, &expression.values)
        });
        labels.chain(expressions)
    }
}

/// Why a selector has no plain map form, in the API machinery's words.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ToMapError {
    /// `In` with no value or with several.
    #[error("operator \"In\" without a single value cannot be converted into the old label selector format")]
    NotSingle {
        /// The key of the expression.
        key: String,
    },
    /// An operator that a plain map cannot say.
    #[error("operator \"{operator}\" cannot be converted into the old label selector format")]
    Operator {
        /// The key of the expression.
        key: String,
        /// Its operator.
        operator: Operator,
    },
    /// No operator of this name exists.
    #[error("{} is not a valid selector operator", Quoted(.operator))]
    UnknownOperator {
        /// The name that was given.
        operator: String,
    },
}

/// Why a selector cannot be used, in Kubernetes' words.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SelectorError {
    /// No operator of this name exists.
    #[error("{} is not a valid label selector operator", Quoted(.operator))]
    Operator {
        /// The key of the expression.
        key: String,
        /// The name that was given.
        operator: String,
    },
    /// The key or the values of one requirement are not acceptable.
    #[error("{}", Aggregate(.problems))]
    Requirement {
        /// The key of the requirement, as it was written.
        key: String,
        /// Everything that is wrong with this requirement.
        problems: Vec<RequirementProblem>,
    },
}

/// One thing wrong with a requirement of a selector.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RequirementProblem {
    /// The key is illegal.
    #[error("key: Invalid value: {}: {_0}", Quoted(.0.text()))]
    Key(LabelError),
    /// `In` or `NotIn` without values.
    #[error("values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty")]
    NoValues,
    /// `Exists` or `DoesNotExist` with values.
    #[error("values: Invalid value: {}: values set must be empty for exists and does not exist", JsonList(.0))]
    UnexpectedValues(Vec<String>),
    /// A value is illegal.
    #[error("values[{index}][{key}]: Invalid value: {}: {error}", Quoted(.error.text()))]
    Value {
        /// The key of the requirement.
        key: String,
        /// Where in the list the value stands.
        index: usize,
        /// What is wrong with it.
        error: LabelError,
    },
}

/// Checks one requirement; every problem is reported, in Kubernetes' order.
fn requirement(key: &str, operator: Operator, values: &[String]) -> Result<Requirement, SelectorError> {
    let mut problems = Vec::new();
    let checked_key = LabelKey::try_from(key).map_err(|error| problems.push(RequirementProblem::Key(error)));
    match operator {
        Operator::In | Operator::NotIn if values.is_empty() => {
            problems.push(RequirementProblem::NoValues);
        }
        Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
            problems.push(RequirementProblem::UnexpectedValues(values.to_vec()));
        }
        _ => {}
    }
    let mut checked_values = std::collections::BTreeSet::new();
    for (index, value) in values.iter().enumerate() {
        match LabelValue::try_from(value.as_str()) {
            Ok(value) => {
                checked_values.insert(value);
            }
            Err(error) => problems.push(RequirementProblem::Value {
                key: key.to_owned(),
                index,
                error,
            }),
        }
    }
    match checked_key {
        Ok(key) if problems.is_empty() => Ok(Requirement {
            key,
            operator,
            values: checked_values,
        }),
        _ => Err(SelectorError::Requirement {
            key: key.to_owned(),
            problems,
        }),
    }
}

/// Prints one problem as it is, and several as Kubernetes' aggregate: `[first, second]`.
struct Aggregate<'a>(&'a [RequirementProblem]);

impl fmt::Display for Aggregate<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [problem] => problem.fmt(f),
            problems => {
                f.write_str("[")?;
                for (index, problem) in problems.iter().enumerate() {
                    if index > 0 {
                        f.write_str(", ")?;
                    }
                    problem.fmt(f)?;
                }
                f.write_str("]")
            }
        }
    }
}

/// Kubernetes' decoder takes `null` for any field as if the field were not there.
#[cfg(feature = "serde")]
mod null {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer};

    pub(super) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
    where
        D: Deserializer<'de>,
        T: Default + Deserialize<'de>,
    {
        Ok(Option::deserialize(deserializer)?.unwrap_or_default())
    }

    pub(super) fn map<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
        let map: Option<BTreeMap<String, Option<String>>> = Option::deserialize(deserializer)?;
        Ok(map
            .unwrap_or_default()
            .into_iter()
            .map(|(key, value)| (key, value.unwrap_or_default()))
            .collect())
    }
}
