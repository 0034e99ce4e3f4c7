//! How far the controllers are with what documents declare for a node.

use std::fmt;

use kube_core::ResourceExt as _;

use crate::{
    declared::BerthDeclaration,
    names,
    relabel::{LabelDiff, NodeState, Requested},
};
use berth_resources::Berth;

/// What is left for the controllers of a cluster to do before a Node has what documents declare for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lag {
    /// The Berth declares something else.
    Declaration {
        /// Its name.
        berth: String,
    },
    /// The declaration has not been dealt with.
    Decision {
        /// The Berth.
        berth: String,
        /// What keeps it, where the controllers say so.
        reason: Option<String>,
    },
    /// Labels are missing that the controllers are to give.
    Labels {
        /// Their keys.
        keys: Vec<String>,
        /// What keeps them, where the controllers say so.
        reason: Option<String>,
    },
}

impl fmt::Display for Lag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match self {
            Self::Declaration { berth } => {
                return write!(
                    f,
                    "Berth {berth} does not declare what the documents of this action do; the controllers may not have read these \
                     documents yet, or follow others: give both the same database"
                );
            }
            Self::Decision { berth, reason } => {
                write!(f, "they have not dealt with Berth {berth}")?;
                reason
            }
            Self::Labels { keys, reason } => {
                write!(f, "they do not set {}", keys.join(", "))?;
                reason
            }
        };
        match reason {
            Some(reason) => write!(f, " ({reason})"),
            None => Ok(()),
        }
    }
}

/// What is left for the controllers to do before a Node has what documents declare for it; nothing when they are done, also
/// where they hold removals back.
///
/// `diff` is what the Node lacks by what is requested. The Node is written before the status of its Berth says that the
/// declaration was dealt with.
pub fn lag(
    berth: &Berth,
    declared: &BerthDeclaration,
    state: &NodeState,
    requested: &Requested,
    diff: &LabelDiff,
) -> Option<Lag> {
    if !declared.is_that_of(berth) {
        return Some(Lag::Declaration {
            berth: berth.name_any(),
        });
    }
    let status = berth.status.clone().unwrap_or_default();
    let condition = |kind: &str| status.conditions.iter().find(|condition| condition.type_ == kind);
    let reason = condition(names::condition::READY)
        .filter(|ready| ready.status != "True")
        .map(|ready| ready.message.clone());
    if berth.metadata.generation.is_some() && status.observed_generation != berth.metadata.generation {
        return Some(Lag::Decision {
            berth: berth.name_any(),
            reason,
        });
    }
    if held_back(berth).is_some() {
        return None;
    }
    let is_missing = |key: &String| diff.set.contains_key(key) && !status.removed_labels.contains_key(key);
    let is_outdated = |key: &String, value: &String| {
        state.labels.get(key) != Some(value) && status.labels.get(key).is_some_and(|last| last != value)
    };
    let wanted = requested.iter().filter_map(|(key, value)| Some((key, value.as_ref()?)));
    let keys: Vec<String> = wanted
        .filter(|(key, value)| is_missing(key) || is_outdated(key, value))
        .map(|(key, _)| key.clone())
        .collect();
    (!keys.is_empty()).then_some(Lag::Labels { keys, reason })
}

/// Why the controllers hold removals back, should they do so.
pub fn held_back(berth: &Berth) -> Option<&str> {
    let mut conditions = berth.status.iter().flat_map(|status| &status.conditions);
    let held = conditions.find(|condition| {
        condition.type_ == names::condition::LABELS_IN_SYNC && condition.reason == names::reason::MASS_REMOVAL
    })?;
    Some(&held.message)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use berth_resources::BerthStatus;

    use super::*;
    use crate::relabel::{Given, LabelPolicy, Strategy, label_diff};

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn controllers_are_done_when_berth_and_node_say_so() {
        let declared = BerthDeclaration {
            pool: Some("edge".to_owned()),
            labels: map(&[("a", "2")]),
            ..BerthDeclaration::default()
        };
        let requested: Requested = map(&[("a", "2"), ("role", "")])
            .into_iter()
            .map(|(key, value)| (key, Some(value)))
            .collect();
        let mut berth = Berth::new("place", berth_resources::BerthSpec::default());
        berth.metadata.generation = Some(2);
        let mut labels = map(&[("a", "1")]);
        let told = |berth: &Berth, labels: &BTreeMap<String, String>| {
            let mut state = NodeState {
                labels: labels.clone(),
                ..NodeState::default()
            };
            state.confirm(Some(berth), Some(&declared), &Given::new());
            let diff = label_diff(&state, &requested, Strategy::Owned, &LabelPolicy::default());
            lag(berth, &declared, &state, &requested, &diff)
        };
        let declaration = Lag::Declaration {
            berth: "place".to_owned(),
        };
        assert_eq!(told(&berth, &labels), Some(declaration));
        berth.spec.pool.clone_from(&declared.pool);
        berth.spec.labels.clone_from(&declared.labels);
        assert!(matches!(told(&berth, &labels), Some(Lag::Decision { .. })));
        berth.status = Some(BerthStatus {
            observed_generation: Some(2),
            labels: map(&[("a", "1")]),
            ..BerthStatus::default()
        });
        let missing = |keys: &[&str]| {
            Some(Lag::Labels {
                keys: keys.iter().map(|key| (*key).to_owned()).collect(),
                reason: None,
            })
        };
        assert_eq!(told(&berth, &labels), missing(&["a", "role"]));
        labels.insert("role".to_owned(), String::new());
        assert_eq!(told(&berth, &labels), missing(&["a"]));
        labels.insert("a".to_owned(), "2".to_owned());
        assert_eq!(told(&berth, &labels), None);
        // What an administrator removed on purpose, or set otherwise, is not waited for.
        labels.remove("role");
        let status = berth.status.as_mut().unwrap();
        status.removed_labels = map(&[("role", "")]);
        assert_eq!(told(&berth, &labels), None);
        labels.insert("a".to_owned(), "theirs".to_owned());
        berth.status.as_mut().unwrap().labels = map(&[("a", "2")]);
        assert_eq!(told(&berth, &labels), None);
    }
}
