//! What the documents say of a host beside its labels, followed through rack and profiles.

use std::collections::HashSet;

use berth_labels::Label;

use crate::{
    model::{HostData, Name, Rack},
    resolve::{Resolution, Resolver, Subject},
};

/// A host with everything it inherits.
#[derive(Clone, Debug, Default)]
pub struct HostFacts<'a> {
    /// The rack that it stands in, by the name that is written; a document of that name need not exist.
    pub rack: Option<&'a str>,
    /// The document of the rack.
    pub rack_document: Option<&'a Rack>,
    /// Its own host profile, the last of the chain.
    pub profile: Option<&'a str>,
    /// Its hardware profile.
    pub hardware_profile: Option<&'a str>,
    /// Its tags as Drydock merges them: its own first, then what the profiles add and nobody nearer has negated.
    pub tags: Vec<&'a str>,
}

impl HostFacts<'_> {
    /// The facts as labels that say them: `berth.dev/rack`, `berth.dev/profile`, `berth.dev/hardware-profile`, and
    /// `berth.dev/tag-NAME` for each tag. A fact need not be a legal label.
    pub fn labels(&self) -> Vec<(String, String)> {
        let named = [
            ("rack", self.rack),
            ("profile", self.profile),
            ("hardware-profile", self.hardware_profile),
        ];
        let named = named
            .into_iter()
            .filter_map(|(key, value)| Some((format!("berth.dev/{key}"), value?.to_owned())));
        let tags = self
            .tags
            .iter()
            .map(|tag| (format!("berth.dev/tag-{tag}"), String::new()));
        named.chain(tags).collect()
    }
}

/// The facts of a host as labels, beside those that its documents declare.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FactLabels {
    /// Keys and values, all of them legal.
    pub labels: Vec<(String, String)>,
    /// Keys of facts that are no legal labels, each with the reason.
    pub skipped: Vec<(String, String)>,
}

impl<'a> Resolver<'a> {
    /// The labels that say the facts of a host. A declared label of the same key is stronger, and a fact that is no legal
    /// label is skipped and said: a tag was not written to be a label.
    pub fn fact_labels(&self, subject: &Subject, resolution: &Resolution) -> FactLabels {
        let mut found = FactLabels::default();
        for (key, value) in self.facts(subject).labels() {
            if resolution.labels.iter().any(|label| label.key.as_str() == key) {
                continue;
            }
            match Label::parse_parts(&key, &value) {
                Ok(_) => found.labels.push((key, value)),
                Err(error) => found.skipped.push((key, error.to_string())),
            }
        }
        found
    }

    /// What is known of a host beside its labels. A name that no document describes has no facts.
    pub fn facts(&self, subject: &Subject) -> HostFacts<'a> {
        let Some(node) = subject.node.and_then(|index| self.site.nodes.get(index)) else {
            return HostFacts::default();
        };
        // Nearest first: the node, its profile, the profile's profile.
        let chain = node
            .data
            .profile
            .as_ref()
            .and_then(|profile| self.chains.get(profile).ok());
        let profiles = chain.map(|chain| chain.profiles.as_slice()).unwrap_or_default();
        let inherited = profiles.iter().rev().filter_map(|index| self.site.profiles.get(*index));
        let sources: Vec<&'a HostData> = std::iter::once(&node.data)
            .chain(inherited.map(|profile| &profile.data))
            .collect();
        let first = |field: fn(&'a HostData) -> Option<&'a Name>| {
            let name = sources.iter().find_map(|data| field(data))?;
            Some(name.value.as_ref())
        };
        let rack = first(|data| data.rack.as_ref());
        HostFacts {
            rack,
            rack_document: rack.and_then(|name| self.site.racks.get(*self.racks.get(name)?)),
            profile: node.data.profile.as_ref().map(|profile| profile.value.as_ref()),
            hardware_profile: first(|data| data.hardware_profile.as_ref()),
            tags: tags(&sources),
        }
    }
}

/// Merges lists of tags, nearest first. A tag that starts with `!` is none: it keeps the inherited one away.
fn tags<'a>(sources: &[&'a HostData]) -> Vec<&'a str> {
    let mut tags: Vec<&'a str> = Vec::new();
    let mut settled: HashSet<&'a str> = HashSet::new();
    for data in sources {
        // What one list negates holds for what is inherited, not for the list itself.
        let mut negated: Vec<&'a str> = Vec::new();
        for tag in &data.tags {
            match tag.value.strip_prefix('!') {
                Some(away) => negated.push(away),
                None if settled.insert(&tag.value) => tags.push(&tag.value),
                None => {}
            }
        }
        settled.extend(negated);
    }
    tags
}
