//! Which rules match a node: many patterns are tried in one pass over the name.

use regex_automata::{Input, PatternSet, meta::Regex};

use super::small;
use crate::{
    model::Site,
    pattern,
    rule::{NameScope, NodeFacts},
};

/// With fewer patterns than this, to try them one by one takes less time than to compile a set.
const WORTH_A_SET: usize = 4;

/// A rule that matches a node, as far as name, rack and profile go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Matched {
    /// The rule, by its place in [`Site::rules`].
    pub(super) rule: u32,
    /// The first of its patterns that matched the name.
    pub(super) pattern: Option<usize>,
    /// The rule also asks for a pool, which is not known yet.
    pub(super) by_pool: bool,
}

/// All name patterns of a site.
#[derive(Debug)]
pub(super) struct PatternIndex {
    name: ScopeIndex,
    hostname: ScopeIndex,
    /// Rules that do not look at the name.
    nameless: Vec<u32>,
}

#[derive(Debug)]
struct ScopeIndex {
    /// All patterns as one; nothing where there are too many for that.
    set: Option<Regex>,
    /// Rule and pattern number behind each member of the set.
    members: Vec<(u32, usize)>,
}

impl ScopeIndex {
    fn new(site: &Site, scope: NameScope) -> Self {
        let mut members = Vec::new();
        let mut patterns = Vec::new();
        for (number, rule) in site
            .rules
            .iter()
            .enumerate()
            .filter(|(_, rule)| rule.matching.scope == scope)
        {
            for (pattern, regex) in rule.matching.patterns.iter().enumerate() {
                members.push((small(number), pattern));
                patterns.push(&regex.value);
            }
        }
        let set = if patterns.len() < WORTH_A_SET {
            None
        } else {
            pattern::compile_all(&patterns)
        };
        Self { set, members }
    }

    fn matches(&self, text: &str, site: &Site, found: &mut Vec<Matched>) {
        let mut add = |(rule, pattern): (u32, usize)| {
            // Members are in rule and pattern order, so the first pattern of a rule comes first.
            if found
                .last()
                .is_none_or(|last| last.rule != rule || last.pattern.is_none())
            {
                let by_pool = site
                    .rules
                    .get(rule as usize)
                    .is_some_and(|rule| !rule.matching.pools.is_empty());
                found.push(Matched {
                    rule,
                    pattern: Some(pattern),
                    by_pool,
                });
            }
        };
        if let Some(set) = &self.set {
            let mut matched = PatternSet::new(set.pattern_len());
            set.which_overlapping_matches(&Input::new(text), &mut matched);
            matched
                .iter()
                .filter_map(|index| self.members.get(index.as_usize()))
                .for_each(|member| add(*member));
        } else {
            let pattern = |(rule, pattern): (u32, usize)| {
                site.rules
                    .get(rule as usize)
                    .and_then(|rule| rule.matching.patterns.get(pattern))
            };
            self.members
                .iter()
                .filter(|member| pattern(**member).is_some_and(|pattern| pattern.value.captures(text).is_some()))
                .for_each(|member| add(*member));
        }
    }
}

impl PatternIndex {
    pub(super) fn new(site: &Site) -> Self {
        let nameless = site
            .rules
            .iter()
            .enumerate()
            .filter(|(_, rule)| rule.matching.patterns.is_empty());
        Self {
            name: ScopeIndex::new(site, NameScope::Name),
            hostname: ScopeIndex::new(site, NameScope::Hostname),
            nameless: nameless
                .filter(|(_, rule)| !rule.matching.is_empty())
                .map(|(number, _)| small(number))
                .collect(),
        }
    }

    /// The rules that match a node, weakest first.
    pub(super) fn matching(&self, site: &Site, facts: &NodeFacts<'_>, profiles: &[usize]) -> Vec<Matched> {
        let mut found = Vec::new();
        self.name.matches(facts.name, site, &mut found);
        self.hostname.matches(facts.hostname(), site, &mut found);
        for rule in &self.nameless {
            let by_pool = site
                .rules
                .get(*rule as usize)
                .is_some_and(|rule| !rule.matching.pools.is_empty());
            found.push(Matched {
                rule: *rule,
                pattern: None,
                by_pool,
            });
        }
        found.retain(|matched| {
            let Some(rule) = site.rules.get(matched.rule as usize) else {
                return false;
            };
            let rack = rule.matching.racks.is_empty()
                || rule
                    .matching
                    .racks
                    .iter()
                    .any(|rack| Some(rack.value.as_ref()) == facts.rack);
            let profile = rule.matching.profiles.is_empty()
                || rule.matching.profiles.iter().any(|wanted| {
                    profiles
                        .iter()
                        .filter_map(|index| site.profiles.get(*index))
                        .any(|p| p.name.value == wanted.value)
                });
            rack && profile
        });
        found.sort_by_key(|matched| matched.rule);
        found
    }
}
