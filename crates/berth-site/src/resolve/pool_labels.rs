//! The labels that every machine of a pool has, whichever machine it is.

use berth_labels::LabelSet;

use super::Resolver;

impl Resolver<'_> {
    /// The labels that the pool alone gives: its explicit labels, those of rules that match by the pool and nothing
    /// else, and its implicit ones, in this order of strength. What depends on a node's name, rack or profile is not among
    /// them. `None` for a pool that the site does not have.
    pub fn pool_labels(&self, pool: &str) -> Option<LabelSet> {
        let pool = self.site.pools.get(*self.pools.get(pool)?)?;
        let explicit = pool
            .explicit
            .iter()
            .filter_map(|declared| Some((declared.key.clone(), declared.value.clone()?)));
        // Rules are kept weakest first.
        let rules = self.site.rules.iter().filter(|rule| {
            let matching = &rule.matching;
            matching.patterns.is_empty()
                && matching.racks.is_empty()
                && matching.profiles.is_empty()
                && matching.pools.iter().any(|name| name.value == pool.name.value)
        });
        let by_rules = rules
            .flat_map(|rule| &rule.labels)
            .filter_map(|label| Some((label.key.clone(), label.literal.clone()?)));
        let implicit = pool.implicit.iter().flat_map(|implicit| implicit.labels.iter());
        let implicit = implicit.map(|(key, value)| (key.clone(), value.clone()));
        Some(explicit.chain(by_rules).chain(implicit).collect())
    }
}
