//! Which pool a node belongs to, by OpenShift's rules.
//!
//! Membership goes by selector, precedence by pool name: `master` beats a custom pool, a custom pool beats
//! `worker`, and two custom pools are an error. One difference from the original is deliberate: there, an
//! invalid selector in any pool fails the lookup for every node; here that pool selects nothing, the error is
//! kept for whoever reports it, and the other pools go on working.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use berth_labels::{LabelSelector, LabelSet, Operator, Selector, SelectorError};

use crate::pool::PoolClass;

/// Nodes with this value of `kubernetes.io/os` are not managed by pools at all.
const WINDOWS: &str = "windows";

/// Read access to a node's labels, whether they are proven legal ([`LabelSet`]) or only observed.
pub trait NodeLabelView {
    /// The value of a key, if the node has it.
    fn value(&self, key: &str) -> Option<&str>;
    /// All keys of the node.
    fn keys(&self) -> impl Iterator<Item = &str>;
}

impl NodeLabelView for LabelSet {
    fn value(&self, key: &str) -> Option<&str> {
        self.get(key).map(berth_labels::LabelValue::as_str)
    }

    fn keys(&self) -> impl Iterator<Item = &str> {
        Self::keys(self).map(berth_labels::LabelKey::as_str)
    }
}

impl NodeLabelView for BTreeMap<String, String> {
    fn value(&self, key: &str) -> Option<&str> {
        self.get(key).map(String::as_str)
    }

    fn keys(&self) -> impl Iterator<Item = &str> {
        Self::keys(self).map(String::as_str)
    }
}

/// The pools of a cluster, prepared for many lookups.
#[derive(Debug, Default)]
pub struct Membership {
    pools: Vec<Entry>,
    /// Pools by one key that their selector requires to be present: a node without the key cannot match.
    by_required_key: HashMap<String, Vec<usize>>,
    /// Pools that a node may match without carrying any particular key.
    unindexed: Vec<usize>,
    invalid: Vec<(Arc<str>, SelectorError)>,
}

#[derive(Debug)]
struct Entry {
    name: Arc<str>,
    class: PoolClass,
    selector: Selector,
}

/// The pools a node is in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// Primary pool first. Empty when no pool wants the node.
    pub pools: Vec<Arc<str>>,
    /// The custom pool that lost against `master`; OpenShift only logs this, so it is easily overlooked.
    pub overruled: Option<Arc<str>>,
}

impl Placement {
    /// The pool whose configuration the node runs.
    pub fn primary(&self) -> Option<&Arc<str>> {
        self.pools.first()
    }
}

/// Why a node can be in no pool. The texts are OpenShift's, because people search for them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MembershipError {
    /// More than one custom pool selects the node.
    #[error("node {node} belongs to {} custom roles, cannot proceed with this Node", .pools.len())]
    SeveralCustomPools {
        /// The node.
        node: String,
        /// The custom pools, in the order they were given.
        pools: Vec<Arc<str>>,
    },
}

impl Membership {
    /// Prepares pools, given as name and `spec.nodeSelector`.
    ///
    /// A pool without a selector, and one with an empty selector, select nothing: OpenShift never reads `{}` as
    /// "all nodes".
    pub fn new<'a>(pools: impl IntoIterator<Item = (&'a str, Option<&'a LabelSelector>)>) -> Self {
        let mut membership = Self::default();
        for (name, selector) in pools {
            let name: Arc<str> = name.into();
            match selector.map(LabelSelector::compile) {
                None => {}
                Some(Err(error)) => membership.invalid.push((name, error)),
                Some(Ok(selector)) if selector.is_empty() => {}
                Some(Ok(selector)) => membership.add(name, selector),
            }
        }
        membership
    }

    fn add(&mut self, name: Arc<str>, selector: Selector) {
        let index = self.pools.len();
        let required = selector
            .requirements()
            .iter()
            .find(|r| matches!(r.operator, Operator::In | Operator::Exists));
        match required {
            Some(requirement) => self
                .by_required_key
                .entry(requirement.key.as_str().to_owned())
                .or_default()
                .push(index),
            None => self.unindexed.push(index),
        }
        self.pools.push(Entry {
            class: PoolClass::of(&name),
            name,
            selector,
        });
    }

    /// Pools whose selector Kubernetes would refuse, with the reason. They select nothing.
    pub fn invalid(&self) -> &[(Arc<str>, SelectorError)] {
        &self.invalid
    }

    /// The keys by which pools know their nodes: those that any selector names, whatever it asks of them.
    pub fn selector_keys(&self) -> BTreeSet<String> {
        let requirements = self.pools.iter().flat_map(|pool| pool.selector.requirements());
        requirements.map(|asked| asked.key.as_str().to_owned()).collect()
    }

    /// The pools of a node with these labels.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use berth_labels::LabelSelector;
    /// use berth_pools::Membership;
    ///
    /// let role = |pool: &str| LabelSelector {
    ///     match_labels: BTreeMap::from([(format!("node-role.kubernetes.io/{pool}"), String::new())]),
    ///     ..LabelSelector::default()
    /// };
    /// let (worker, infra) = (role("worker"), role("infra"));
    /// let membership = Membership::new([("worker", Some(&worker)), ("infra", Some(&infra))]);
    /// let labels: BTreeMap<String, String> =
    ///     [&worker, &infra].into_iter().flat_map(|selector| selector.match_labels.clone()).collect();
    /// let placement = membership.of("w1", &labels)?;
    /// assert_eq!(placement.primary().map(ToString::to_string).as_deref(), Some("infra"), "a custom pool counts");
    /// # Ok::<(), berth_pools::MembershipError>(())
    /// ```
    pub fn of(&self, node: &str, labels: &impl NodeLabelView) -> Result<Placement, MembershipError> {
        if labels.value("kubernetes.io/os") == Some(WINDOWS) {
            return Ok(Placement::default());
        }
        let (mut master, mut worker) = (None, None);
        let mut custom: Option<usize> = None;
        let mut further: Vec<usize> = Vec::new();
        let mut consider = |index: usize| {
            let Some(entry) = self.pools.get(index) else {
                return;
            };
            if !entry.selector.matches_with(|key| labels.value(key)) {
                return;
            }
            match entry.class {
                PoolClass::Master => master = Some(index),
                PoolClass::Worker => worker = Some(index),
                PoolClass::Custom if custom.is_none() => custom = Some(index),
                PoolClass::Custom => further.push(index),
            }
        };
        for key in labels.keys() {
            if let Some(indices) = self.by_required_key.get(key) {
                indices.iter().copied().for_each(&mut consider);
            }
        }
        self.unindexed.iter().copied().for_each(&mut consider);

        if !further.is_empty() {
            let mut pools: Vec<usize> = custom.into_iter().chain(further).collect();
            pools.sort_unstable();
            return Err(MembershipError::SeveralCustomPools {
                node: node.to_owned(),
                pools: pools.into_iter().filter_map(|index| self.name(index)).collect(),
            });
        }
        let chosen: [Option<usize>; 2] = match (custom, master) {
            (Some(_), Some(master)) => [Some(master), worker],
            (Some(custom), None) => [Some(custom), worker],
            (None, Some(master)) => [Some(master), None],
            (None, None) => [worker, None],
        };
        Ok(Placement {
            pools: chosen
                .into_iter()
                .flatten()
                .filter_map(|index| self.name(index))
                .collect(),
            overruled: master.and(custom).and_then(|index| self.name(index)),
        })
    }

    fn name(&self, index: usize) -> Option<Arc<str>> {
        self.pools.get(index).map(|entry| entry.name.clone())
    }
}

#[cfg(test)]
mod tests {
    use berth_labels::LabelSelectorRequirement;

    use super::*;

    fn selector(key: &str) -> LabelSelector {
        LabelSelector {
            match_labels: [(key.to_owned(), String::new())].into(),
            match_expressions: Vec::new(),
        }
    }

    fn labels(keys: &[&str]) -> BTreeMap<String, String> {
        keys.iter()
            .map(|entry| entry.split_once('=').unwrap_or((entry, "")))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    }

    fn cluster() -> Membership {
        let pools: Vec<(&str, LabelSelector)> = ["master", "worker", "infra", "storage", "arbiter"]
            .map(|name| (name, selector(&format!("node-role.kubernetes.io/{name}"))))
            .into();
        Membership::new(pools.iter().map(|(name, selector)| (*name, Some(selector))))
    }

    fn roles(names: &[&str]) -> BTreeMap<String, String> {
        names
            .iter()
            .map(|name| (format!("node-role.kubernetes.io/{name}"), String::new()))
            .collect()
    }

    #[test]
    fn precedence_is_openshifts() {
        for (given, expected, overruled) in [
            (&[][..], &[][..], None),
            (&["worker"], &["worker"], None),
            (&["master"], &["master"], None),
            (&["master", "worker"], &["master"], None),
            (&["infra"], &["infra"], None),
            (&["infra", "worker"], &["infra", "worker"], None),
            (&["infra", "master"], &["master"], Some("infra")),
            (&["infra", "master", "worker"], &["master", "worker"], Some("infra")),
            (&["arbiter"], &["arbiter"], None),
        ] {
            let placement = cluster().of("n", &roles(given)).unwrap();
            let names: Vec<&str> = placement.pools.iter().map(AsRef::as_ref).collect();
            assert_eq!(names, expected, "{given:?}");
            assert_eq!(placement.overruled.as_deref(), overruled, "{given:?}");
        }
    }

    #[test]
    fn two_custom_pools_are_an_error_with_the_original_text() {
        for given in [
            &["infra", "storage"][..],
            &["storage", "infra", "worker"],
            &["arbiter", "infra"],
        ] {
            let error = cluster().of("w1", &roles(given)).unwrap_err();
            assert_eq!(
                error.to_string(),
                "node w1 belongs to 2 custom roles, cannot proceed with this Node"
            );
        }
        let MembershipError::SeveralCustomPools { pools, .. } =
            cluster().of("w1", &roles(&["storage", "infra"])).unwrap_err();
        assert_eq!(pools, ["infra".into(), "storage".into()]);
    }

    #[test]
    fn windows_nodes_are_not_managed() {
        let mut node = roles(&["worker"]);
        node.insert("kubernetes.io/os".to_owned(), "windows".to_owned());
        assert_eq!(cluster().of("w", &node).unwrap(), Placement::default());
        node.insert("kubernetes.io/os".to_owned(), "linux".to_owned());
        assert_eq!(cluster().of("w", &node).unwrap().pools, ["worker".into()]);
    }

    #[test]
    fn missing_and_empty_selectors_select_nothing() {
        let empty = LabelSelector::default();
        let membership = Membership::new([("all", Some(&empty)), ("none", None)]);
        assert_eq!(membership.of("n", &labels(&["a=b"])).unwrap(), Placement::default());
        assert!(membership.invalid().is_empty());
    }

    #[test]
    fn an_invalid_selector_does_not_blind_the_other_pools() {
        let broken = LabelSelector {
            match_labels: BTreeMap::new(),
            match_expressions: vec![LabelSelectorRequirement {
                key: "a".to_owned(),
                operator: "Near".to_owned(),
                values: Vec::new(),
            }],
        };
        let worker = selector("node-role.kubernetes.io/worker");
        let membership = Membership::new([("broken", Some(&broken)), ("worker", Some(&worker))]);
        assert_eq!(
            membership.of("n", &roles(&["worker"])).unwrap().pools,
            ["worker".into()]
        );
        assert_eq!(membership.invalid().len(), 1);
    }

    #[test]
    fn selectors_without_a_required_key_are_still_tried() {
        let absent = LabelSelector {
            match_labels: BTreeMap::new(),
            match_expressions: vec![LabelSelectorRequirement {
                key: "gone".to_owned(),
                operator: "DoesNotExist".to_owned(),
                values: Vec::new(),
            }],
        };
        let membership = Membership::new([("odd", Some(&absent))]);
        assert_eq!(membership.of("n", &labels(&[])).unwrap().pools, ["odd".into()]);
        assert_eq!(
            membership.of("n", &labels(&["gone=x"])).unwrap().pools,
            Vec::<Arc<str>>::new()
        );
    }
}
