//! The Berths of the cluster, found by name and by node, and counted.

use std::collections::{BTreeSet, HashMap};

use kube::ResourceExt as _;

use berth_resources::{Berth, Phase};

/// All Berths. How many stand in each phase is kept with them: to count ten thousand anew for each that changes would cost
/// more than the change.
#[derive(Debug, Default)]
pub(in crate::controller) struct Berths {
    by_name: HashMap<String, Berth>,
    by_node: HashMap<String, BTreeSet<String>>,
    phases: HashMap<Phase, usize>,
}

impl Berths {
    pub(in crate::controller) fn get(&self, name: &str) -> Option<&Berth> {
        self.by_name.get(name)
    }

    pub(in crate::controller) fn values(&self) -> impl Iterator<Item = &Berth> {
        self.by_name.values()
    }

    pub(in crate::controller) fn names(&self) -> impl Iterator<Item = &String> {
        self.by_name.keys()
    }

    pub(in crate::controller) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// The names that are reserved.
    pub(in crate::controller) fn nodes(&self) -> impl Iterator<Item = &String> {
        self.by_node.keys()
    }

    /// The Berths of a node; the first one counts.
    pub(in crate::controller) fn of(&self, node: &str) -> Vec<&Berth> {
        let names = self.by_node.get(node).into_iter().flatten();
        let mut berths: Vec<&Berth> = names.filter_map(|name| self.by_name.get(name)).collect();
        berths.sort_by_key(|berth| {
            let created = berth.metadata.creation_timestamp.as_ref().map(|time| time.0);
            (berth.spec.release, created, berth.name_any())
        });
        berths
    }

    /// How many Berths stand in this phase.
    pub(in crate::controller) fn count(&self, phase: Phase) -> usize {
        self.phases.get(&phase).copied().unwrap_or_default()
    }

    /// Puts a Berth in the place of the one with its name, which is given back.
    pub(super) fn insert(&mut self, berth: Berth) -> Option<Berth> {
        let before = self.remove(&berth.name_any());
        let name = berth.name_any();
        self.by_node.entry(berth.node_name()).or_default().insert(name.clone());
        *self.phases.entry(berth.phase()).or_default() += 1;
        self.by_name.insert(name, berth);
        before
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<Berth> {
        let berth = self.by_name.remove(name)?;
        let node = berth.node_name();
        if let Some(names) = self.by_node.get_mut(&node) {
            names.remove(name);
            if names.is_empty() {
                self.by_node.remove(&node);
            }
        }
        if let Some(count) = self.phases.get_mut(&berth.phase()) {
            *count = count.saturating_sub(1);
        }
        Some(berth)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use berth_resources::{BerthSpec, BerthStatus};

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
            node_name: node.map(|node| format!("n{node}")),
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
                        prop_assert_eq!(berths.insert(berth).map(|berth| berth.spec), before.map(|berth| berth.spec));
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
                prop_assert_eq!(&berths.nodes().cloned().collect::<BTreeSet<_>>(), &reserved);
                for node in reserved {
                    let expected: BTreeSet<String> =
                        plain.values().filter(|berth| berth.node_name() == node).map(Berth::name_any).collect();
                    let found: BTreeSet<String> = berths.of(&node).into_iter().map(Berth::name_any).collect();
                    prop_assert_eq!(found, expected);
                }
                prop_assert_eq!(berths.len(), plain.len());
            }
        }
    }
}
