//! What objects that select pools have in common, and the names of the machine configs that they become.

use std::collections::{BTreeMap, BTreeSet};

use berth_labels::LabelSelector;

use crate::machine_config::{MachineConfigError, WireMetadata};

/// The annotation with the number in the names of the machine configs that an object becomes; empty for the one without.
pub const NAME_SUFFIX: &str = "machineconfiguration.openshift.io/mc-name-suffix";

/// The largest number in such a name, so that the order of the names is the order of the numbers.
const LARGEST_SUFFIX: u8 = 9;

/// The part that `KubeletConfig` and `ContainerRuntimeConfig` have in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selecting {
    /// The name of the object.
    pub name: String,
    /// Which pools it is for, over the labels of the pools. An empty one selects none.
    pub pool_selector: LabelSelector,
    /// `metadata.creationTimestamp`, where the object comes from a cluster.
    pub created: Option<String>,
    /// What its annotation says about the names of its machine configs.
    pub suffix: Option<String>,
}

impl Selecting {
    pub(crate) fn new(mut metadata: WireMetadata, pool_selector: LabelSelector) -> Result<Self, MachineConfigError> {
        if metadata.name.is_empty() {
            return Err(MachineConfigError::NoName);
        }
        Ok(Self {
            suffix: metadata.annotations.remove(NAME_SUFFIX),
            created: metadata.creation_timestamp,
            name: metadata.name,
            pool_selector,
        })
    }

    /// Whether it is for a pool with these labels. A selector that Kubernetes refuses selects nothing.
    pub fn selects(&self, pool_labels: &BTreeMap<String, String>) -> bool {
        match self.pool_selector.compile() {
            Ok(selector) if !selector.is_empty() => {
                selector.matches_with(|key| pool_labels.get(key).map(String::as_str))
            }
            Ok(_) | Err(_) => false,
        }
    }
}

/// Why an object has no place among the others of its kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SuffixError {
    /// The annotation was changed by hand.
    #[error("its annotation {NAME_SUFFIX} is `{0}`, not a number from 1 to {LARGEST_SUFFIX}")]
    Invalid(String),
    /// There are ten of them already.
    #[error("max number of supported configs (10) has been reached. Please delete old configs before retrying")]
    TooMany,
}

/// The numbers in the names of the machine configs of objects of one kind, each with the pools it is for; in the order of the
/// objects. The first of a pool has none (0).
///
/// As in the original an object keeps the number that its annotation has, and a new one gets the next larger, so that the newest wins.
/// New ones are numbered in the order of their creation, then of their names. Other than in the original an object
/// that is for several pools has one number that is free in all of them, so that two objects never have one name.
pub fn suffixes(objects: &[(&Selecting, BTreeSet<&str>)]) -> Vec<Result<u8, SuffixError>> {
    let mut given: Vec<Option<Result<u8, SuffixError>>> = objects
        .iter()
        .map(|(object, _)| object.suffix.as_deref().map(read_suffix))
        .collect();
    let mut order: Vec<usize> = (0..objects.len()).collect();
    // What has no time is not in the cluster yet, and so is newer than all that is.
    order.sort_by_key(|at| {
        let object = objects.get(*at).map(|(object, _)| *object);
        object.map(|object| {
            (
                object.created.is_none(),
                object.created.as_deref(),
                object.name.as_str(),
            )
        })
    });
    for at in order {
        let Some((_, pools)) = objects.get(at) else { continue };
        if given.get(at).is_some_and(Option::is_some) {
            continue;
        }
        let used = objects
            .iter()
            .zip(&given)
            .filter(|((_, others), _)| !others.is_disjoint(pools));
        let largest = used.filter_map(|(_, given)| given.as_ref()?.as_ref().ok()).max();
        let next = match largest {
            None => Ok(0),
            Some(largest) if *largest < LARGEST_SUFFIX => Ok(largest + 1),
            Some(_) => Err(SuffixError::TooMany),
        };
        if let Some(place) = given.get_mut(at) {
            *place = Some(next);
        }
    }
    given.into_iter().map(|suffix| suffix.unwrap_or(Ok(0))).collect()
}

fn read_suffix(text: &str) -> Result<u8, SuffixError> {
    match text {
        "" => Ok(0),
        _ => match text.parse() {
            Ok(number @ 1..=LARGEST_SUFFIX) => Ok(number),
            _ => Err(SuffixError::Invalid(text.to_owned())),
        },
    }
}

/// `99-<pool>-generated-<what>[-<suffix>]`.
pub fn generated_name(pool: &str, what: &str, suffix: u8) -> String {
    match suffix {
        0 => format!("99-{pool}-generated-{what}"),
        _ => format!("99-{pool}-generated-{what}-{suffix}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(name: &str, created: Option<&str>, suffix: Option<&str>) -> Selecting {
        Selecting {
            name: name.to_owned(),
            created: created.map(str::to_owned),
            suffix: suffix.map(str::to_owned),
            ..Selecting::default()
        }
    }

    fn numbers(objects: &[(Selecting, &[&str])]) -> Vec<Result<u8, SuffixError>> {
        let objects: Vec<_> = objects
            .iter()
            .map(|(object, pools)| (object, pools.iter().copied().collect()))
            .collect();
        suffixes(&objects)
    }

    #[test]
    fn the_first_has_no_number_and_the_newest_the_largest() {
        let early = Some("2026-01-01T00:00:00Z");
        let late = Some("2026-02-01T00:00:00Z");
        let given = numbers(&[
            (object("new", None, None), &["infra"]),
            (object("late", late, None), &["infra"]),
            (object("early", early, None), &["infra"]),
            (object("other", None, None), &["worker"]),
        ]);
        assert_eq!(given, [Ok(2), Ok(1), Ok(0), Ok(0)]);
    }

    #[test]
    fn a_number_stays_when_an_older_object_is_deleted() {
        let given = numbers(&[
            (object("second", None, Some("1")), &["infra"]),
            (object("a", None, None), &["infra"]),
        ]);
        assert_eq!(given, [Ok(1), Ok(2)]);
        let given = numbers(&[
            (object("first", None, Some("")), &["infra"]),
            (object("a", None, None), &["infra"]),
        ]);
        assert_eq!(given, [Ok(0), Ok(1)]);
    }

    #[test]
    fn an_object_for_several_pools_takes_a_number_that_is_free_in_all() {
        let given = numbers(&[
            (object("a", None, None), &["worker"]),
            (object("b", None, None), &["infra", "worker"]),
            (object("c", None, None), &["infra"]),
        ]);
        assert_eq!(given, [Ok(0), Ok(1), Ok(2)]);
    }

    #[test]
    fn the_eleventh_is_refused() {
        let mut objects: Vec<(Selecting, &[&str])> = Vec::new();
        for name in ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"] {
            objects.push((object(name, None, None), &["infra"]));
        }
        let given = numbers(&objects);
        assert_eq!(given.get(9), Some(&Ok(9)));
        assert_eq!(given.get(10), Some(&Err(SuffixError::TooMany)));
        for wrong in ["10", "x", "0", "-1"] {
            let given = numbers(&[(object("a", None, Some(wrong)), &["infra"])]);
            assert_eq!(given, [Err(SuffixError::Invalid(wrong.to_owned()))]);
        }
    }

    #[test]
    fn names_are_the_originals() {
        assert_eq!(generated_name("infra", "kubelet", 0), "99-infra-generated-kubelet");
        assert_eq!(
            generated_name("infra", "containerruntime", 3),
            "99-infra-generated-containerruntime-3"
        );
    }
}
