//! The Berths of the cluster, found by name and by node, and counted.

use std::collections::{BTreeSet, HashMap};

use berth_decide::seniority;
use berth_resources::Phase;

use super::{KeptBerth, Text};

/// All Berths. How many stand in each phase is kept with them: to count ten thousand anew for each that changes would cost
/// more than the change.
#[derive(Debug, Default)]
pub(in crate::controller) struct Berths {
    by_name: HashMap<Text, KeptBerth>,
    /// The names of Berths that have other names than their nodes, by node. Nearly all have the same.
    elsewhere: HashMap<Text, BTreeSet<Text>>,
    phases: HashMap<Phase, usize>,
}

impl Berths {
    pub(in crate::controller) fn get(&self, name: &str) -> Option<&KeptBerth> {
        self.by_name.get(name)
    }

    pub(in crate::controller) fn values(&self) -> impl Iterator<Item = &KeptBerth> {
        self.by_name.values()
    }

    pub(in crate::controller) fn names(&self) -> impl Iterator<Item = &Text> {
        self.by_name.keys()
    }

    pub(in crate::controller) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// The names that are reserved, those with several Berths as often.
    pub(in crate::controller) fn nodes(&self) -> impl Iterator<Item = &Text> {
        self.values().map(KeptBerth::node_name)
    }

    /// The Berths of a node; the first one counts.
    pub(in crate::controller) fn of(&self, node: &str) -> Vec<&KeptBerth> {
        let same = self.get(node).filter(|berth| **berth.node_name() == *node);
        let others = self.elsewhere.get(node).into_iter().flatten();
        let others = others.filter_map(|name| self.get(name));
        let mut berths: Vec<&KeptBerth> = same.into_iter().chain(others).collect();
        berths.sort_by(|one, other| rank(one).cmp(&rank(other)));
        berths
    }

    /// The Berth of a node that counts.
    pub(in crate::controller) fn first_of(&self, node: &str) -> Option<&KeptBerth> {
        self.of(node).into_iter().next()
    }

    /// All of them; of several of one node the first counts.
    pub(in crate::controller) fn by_seniority(&self) -> impl Iterator<Item = &KeptBerth> {
        let mut all: Vec<&KeptBerth> = self.values().collect();
        all.sort_by(|one, other| rank(one).cmp(&rank(other)));
        all.into_iter()
    }

    /// How many Berths stand in this phase.
    pub(in crate::controller) fn count(&self, phase: Phase) -> usize {
        self.phases.get(&phase).copied().unwrap_or_default()
    }

    /// Puts a Berth in the place of the one with its name, which is given back.
    pub(in crate::controller) fn insert(&mut self, berth: KeptBerth) -> Option<KeptBerth> {
        let before = self.remove(&berth.name);
        let (name, node) = (&berth.name, berth.node_name());
        if name != node {
            self.elsewhere.entry(node.clone()).or_default().insert(name.clone());
        }
        *self.phases.entry(berth.phase()).or_default() += 1;
        self.by_name.insert(name.clone(), berth);
        before
    }

    pub(in crate::controller) fn remove(&mut self, name: &str) -> Option<KeptBerth> {
        let berth = self.by_name.remove(name)?;
        let node = berth.node_name();
        if let Some(names) = self.elsewhere.get_mut(node) {
            names.remove(name);
            if names.is_empty() {
                self.elsewhere.remove(node);
            }
        }
        if let Some(count) = self.phases.get_mut(&berth.phase()) {
            *count = count.saturating_sub(1);
        }
        Some(berth)
    }
}

fn rank(berth: &KeptBerth) -> impl Ord + use<'_> {
    seniority(!berth.is_held(), berth.created, &berth.name)
}

#[cfg(test)]
mod tests {
    use kube::ResourceExt as _;
    use proptest::prelude::*;

    use super::*;
    use berth_resources::{Berth, BerthSpec, BerthStatus};

    const PHASES: [Phase; 4] = [Phase::Reserved, Phase::Occupied, Phase::Vacant, Phase::Released];

    #[derive(Clone, Debug)]
    enum Step {
        Insert {
            name: u8,
            node: Option<u8>,
            phase: Option<Phase>,
        },
        Remove(u8),
    }

    fn step() -> impl Strategy<Value = Step> {
        let phase = proptest::option::of(proptest::sample::select(PHASES.to_vec()));
        prop_oneof![
            3 => (0..6u8, proptest::option::of(0..3u8), phase).prop_map(|(name, node, phase)| Step::Insert { name, node, phase }),
            1 => (0..6u8).prop_map(Step::Remove),
        ]
    }

    fn berth(name: u8, node: Option<u8>, phase: Option<Phase>) -> Berth {
        let spec = BerthSpec {
            // Some have the name of another Berth.
            node_name: node.map(|node| format!("b{node}")),
            ..BerthSpec::default()
        };
        let mut berth = Berth::new(&format!("b{name}"), spec);
        berth.status = phase.map(|phase| BerthStatus {
            phase: Some(phase),
            ..BerthStatus::default()
        });
        berth
    }

    proptest! {
        #[test]
        fn counts_and_places_are_those_of_a_recount(steps in proptest::collection::vec(step(), 0..60)) {
            let mut berths = Berths::default();
            let mut plain: HashMap<String, Berth> = HashMap::new();
            for step in steps {
                match step {
                    Step::Insert { name, node, phase } => {
                        let berth = berth(name, node, phase);
                        let before = plain.insert(berth.name_any(), berth.clone());
                        let replaced = berths.insert(KeptBerth::from(&berth));
                        prop_assert_eq!(replaced.map(|berth| berth.berth()), before);
                    }
                    Step::Remove(name) => {
                        let name = format!("b{name}");
                        prop_assert_eq!(berths.remove(&name).is_some(), plain.remove(&name).is_some());
                    }
                }
                for phase in PHASES {
                    prop_assert_eq!(berths.count(phase), plain.values().filter(|berth| berth.phase() == phase).count());
                }
                let reserved: BTreeSet<String> = plain.values().map(Berth::node_name).collect();
                prop_assert_eq!(&berths.nodes().map(ToString::to_string).collect::<BTreeSet<_>>(), &reserved);
                for node in reserved {
                    let expected: BTreeSet<String> =
                        plain.values().filter(|berth| berth.node_name() == node).map(Berth::name_any).collect();
                    let found: BTreeSet<String> = berths.of(&node).into_iter().map(|berth| berth.name.to_string()).collect();
                    prop_assert_eq!(found, expected);
                }
                prop_assert_eq!(berths.len(), plain.len());
            }
        }
    }
}
