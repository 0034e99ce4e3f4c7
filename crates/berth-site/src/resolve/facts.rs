//! What the documents say of a host beside its labels, followed through rack and profiles.

use std::collections::HashSet;

use berth_labels::Label;

use crate::{
    model::{HostData, Name, Rack, Spanned},
    resolve::{
        Resolver, Source, Subject,
        fold::{Candidate, Rank},
        small,
    },
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

/// A fact of a host that cannot be a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedFact {
    /// The key that it would have.
    pub key: String,
    /// Why it is not a label.
    pub reason: String,
}

impl<'a> Resolver<'a> {
    /// The labels that say the facts of a host: `berth.dev/rack`, `berth.dev/profile`, `berth.dev/hardware-profile`, and
    /// `berth.dev/tag-NAME` for each tag. A fact need not be a legal label: a tag was not written to be one.
    pub(super) fn fact_candidates(&self, subject: &Subject) -> (Vec<Candidate>, Vec<SkippedFact>) {
        let (mut candidates, mut skipped) = (Vec::new(), Vec::new());
        let Some(index) = subject.node.filter(|_| self.site.dynamic_labels != Some(false)) else {
            return (candidates, skipped);
        };
        let written = self.written_facts(subject);
        let named = [
            ("berth.dev/rack", written.rack),
            ("berth.dev/profile", written.profile),
            ("berth.dev/hardware-profile", written.hardware_profile),
        ];
        let named = named
            .into_iter()
            .filter_map(|(key, name)| name.map(|name| (key.to_owned(), name.value.as_ref(), name.span)));
        let tags = written.tags.iter();
        let tags = tags.map(|tag| (format!("berth.dev/tag-{}", tag.value), "", tag.span));
        for (key, value, span) in named.chain(tags) {
            match Label::parse_parts(&key, value) {
                Ok(label) => candidates.push(Candidate {
                    key: label.key,
                    value: Some(label.value),
                    rank: Rank::Fact,
                    source: Source::Fact(small(index)),
                    span,
                }),
                Err(error) => skipped.push(SkippedFact {
                    key,
                    reason: error.to_string(),
                }),
            }
        }
        (candidates, skipped)
    }

    /// What is known of a host beside its labels. A name that no document describes has no facts.
    pub fn facts(&self, subject: &Subject) -> HostFacts<'a> {
        let written = self.written_facts(subject);
        let text = |name: Option<&'a Name>| name.map(|name| name.value.as_ref());
        let rack = text(written.rack);
        HostFacts {
            rack,
            rack_document: rack.and_then(|name| self.site.racks.get(*self.racks.get(name)?)),
            profile: text(written.profile),
            hardware_profile: text(written.hardware_profile),
            tags: written.tags.iter().map(|tag| tag.value.as_ref()).collect(),
        }
    }

    fn written_facts(&self, subject: &Subject) -> WrittenFacts<'a> {
        let Some(node) = subject.node.and_then(|index| self.site.nodes.get(index)) else {
            return WrittenFacts::default();
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
        let first = |field: fn(&'a HostData) -> Option<&'a Name>| sources.iter().find_map(|data| field(data));
        WrittenFacts {
            rack: first(|data| data.rack.as_ref()),
            profile: node.data.profile.as_ref(),
            hardware_profile: first(|data| data.hardware_profile.as_ref()),
            tags: tags(&sources),
        }
    }
}

/// The facts of a host where they are written.
#[derive(Debug, Default)]
struct WrittenFacts<'a> {
    rack: Option<&'a Name>,
    profile: Option<&'a Name>,
    hardware_profile: Option<&'a Name>,
    tags: Vec<&'a Spanned<String>>,
}

/// Merges lists of tags, nearest first. A tag that starts with `!` is none: it keeps the inherited one away.
fn tags<'a>(sources: &[&'a HostData]) -> Vec<&'a Spanned<String>> {
    let mut tags: Vec<&'a Spanned<String>> = Vec::new();
    let mut settled: HashSet<&'a str> = HashSet::new();
    for data in sources {
        // What one list negates holds for what is inherited, not for the list itself.
        let mut negated: Vec<&'a str> = Vec::new();
        for tag in &data.tags {
            match tag.value.strip_prefix('!') {
                Some(away) => negated.push(away),
                None if settled.insert(&tag.value) => tags.push(tag),
                None => {}
            }
        }
        settled.extend(negated);
    }
    tags
}
