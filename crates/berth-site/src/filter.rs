//! Node filters: which nodes of a site a request is about, in Drydock's words.
//!
//! A filter has items, an item has criteria. A criterion with several values matches a node that has any of them;
//! several labels must all be there. An item joins its criteria by `filter_type`, the filter joins its items by
//! `filter_set_type`. What is empty selects nothing.

mod read;

use std::{collections::HashSet, fmt, sync::Arc};

use crate::resolve::{HostFacts, Resolver, Subject};

/// How parts of a filter are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterJoin {
    /// A node that any part selects is selected.
    Union,
    /// A node that every part selects is selected.
    Intersection,
}

/// Whether a node must have all labels of a criterion, or one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LabelJoin {
    /// All of them, as Drydock's documentation has it.
    #[default]
    All,
    /// One of them, as Drydock's code has it.
    Any,
}

/// Which nodes are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeFilter {
    /// How the items are joined.
    pub set_type: FilterJoin,
    /// The items.
    pub items: Vec<FilterItem>,
}

/// One item of a filter. An empty list is a criterion that was not given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterItem {
    /// How the criteria are joined.
    pub filter_type: FilterJoin,
    /// Names of nodes.
    pub node_names: Vec<String>,
    /// Tags of nodes.
    pub node_tags: Vec<String>,
    /// Labels that the site gives to nodes.
    pub node_labels: Vec<(String, String)>,
    /// Names of racks.
    pub rack_names: Vec<String>,
    /// Labels of racks.
    pub rack_labels: Vec<(String, String)>,
}

/// Everything that is wrong with the form of a filter; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError(pub Vec<FilterMistake>);

/// One thing that is wrong with a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterMistake {
    /// Where, such as `node_filter.filter_set[0].node_names`.
    pub path: String,
    /// What.
    pub message: String,
}

impl fmt::Display for FilterMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.0.iter().enumerate() {
            let before = if index == 0 { "" } else { "; " };
            write!(f, "{before}{mistake}")?;
        }
        Ok(())
    }
}

impl std::error::Error for FilterError {}

impl FilterItem {
    /// An item with no criteria yet.
    pub const fn new(filter_type: FilterJoin) -> Self {
        Self {
            filter_type,
            node_names: Vec::new(),
            node_tags: Vec::new(),
            node_labels: Vec::new(),
            rack_names: Vec::new(),
            rack_labels: Vec::new(),
        }
    }
}

/// An item whose lists can be looked up in: a site and a filter may both have thousands of names.
struct Lookup<'f> {
    item: &'f FilterItem,
    node_names: HashSet<&'f str>,
    node_tags: HashSet<&'f str>,
    rack_names: HashSet<&'f str>,
}

impl<'f> Lookup<'f> {
    fn new(item: &'f FilterItem) -> Self {
        let set = |list: &'f [String]| list.iter().map(String::as_str).collect();
        Self {
            item,
            node_names: set(&item.node_names),
            node_tags: set(&item.node_tags),
            rack_names: set(&item.rack_names),
        }
    }

    fn selects(&self, node: &Candidate<'_, '_>, labels: LabelJoin) -> bool {
        let (item, facts) = (self.item, &node.facts);
        let racked = || facts.rack.is_some_and(|rack| self.rack_names.contains(rack));
        let tagged = || facts.tags.iter().any(|tag| self.node_tags.contains(tag));
        let labelled = || {
            let resolution = node.resolver.resolve(node.subject);
            join(&item.node_labels, labels, |key, value| {
                resolution.label(key).is_some_and(|label| label.value.as_str() == value)
            })
        };
        let rack_labelled = || {
            let declared = facts.rack_document.map(|rack| rack.owner_data.as_slice());
            join(&item.rack_labels, labels, |key, value| {
                declared.unwrap_or_default().iter().any(|label| {
                    label.key.as_str() == key && label.value.as_ref().is_some_and(|own| own.as_str() == value)
                })
            })
        };
        let named = || self.node_names.contains(&*node.subject.name);
        // The cheap ones first: labels ask for a resolution.
        let criteria: [(bool, &dyn Fn() -> bool); 5] = [
            (item.node_names.is_empty(), &named),
            (item.rack_names.is_empty(), &racked),
            (item.node_tags.is_empty(), &tagged),
            (item.rack_labels.is_empty(), &rack_labelled),
            (item.node_labels.is_empty(), &labelled),
        ];
        let mut given = criteria
            .iter()
            .filter(|(is_missing, _)| !is_missing)
            .map(|(_, holds)| holds())
            .peekable();
        match item.filter_type {
            FilterJoin::Union => given.any(|holds| holds),
            FilterJoin::Intersection => given.peek().is_some() && given.all(|holds| holds),
        }
    }
}

fn join(pairs: &[(String, String)], join: LabelJoin, has: impl Fn(&str, &str) -> bool) -> bool {
    let mut pairs = pairs.iter().map(|(key, value)| has(key, value));
    match join {
        LabelJoin::All => pairs.all(|has| has),
        LabelJoin::Any => pairs.any(|has| has),
    }
}

/// A node that may be selected.
struct Candidate<'r, 'a> {
    resolver: &'r Resolver<'a>,
    subject: &'r Subject,
    facts: HostFacts<'a>,
}

impl NodeFilter {
    /// A filter for exactly these nodes, as Shipyard sends it.
    pub fn names(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let item = FilterItem {
            node_names: names.into_iter().map(Into::into).collect(),
            ..FilterItem::new(FilterJoin::Union)
        };
        Self {
            set_type: FilterJoin::Union,
            items: vec![item],
        }
    }

    /// The nodes that the filter selects, in the order of their documents, each once. A name that no document has is
    /// not among them.
    pub fn select(&self, resolver: &Resolver<'_>, labels: LabelJoin) -> Vec<Arc<str>> {
        let lookups: Vec<Lookup<'_>> = self.items.iter().map(Lookup::new).collect();
        let is_selected = |subject: &Subject| {
            let facts = resolver.facts(subject);
            let node = Candidate {
                resolver,
                subject,
                facts,
            };
            let mut items = lookups.iter().map(|item| item.selects(&node, labels)).peekable();
            match self.set_type {
                FilterJoin::Union => items.any(|selected| selected),
                FilterJoin::Intersection => items.peek().is_some() && items.all(|selected| selected),
            }
        };
        let declared = in_order(resolver);
        let selected = declared.into_iter().filter(|subject| is_selected(subject));
        selected.map(|subject| Arc::clone(&subject.name)).collect()
    }
}

/// Every declared node in the order of the documents: those with a node document, then those with a Berth alone.
pub(crate) fn in_order<'r>(resolver: &'r Resolver<'_>) -> Vec<&'r Subject> {
    let site = resolver.site();
    let names = site.nodes.iter().map(|node| &node.name.value);
    let names = names.chain(site.berths.iter().map(|berth| &berth.node_name.value));
    let mut seen: HashSet<&str> = HashSet::new();
    names
        .map(|name| &**name)
        .filter(|name| seen.insert(*name))
        .filter_map(|name| resolver.subject(name))
        .filter(|subject| subject.is_declared())
        .collect()
}

impl Resolver<'_> {
    /// The names of all declared nodes, in the order of their documents.
    pub fn declared(&self) -> Vec<Arc<str>> {
        let declared = in_order(self).into_iter();
        declared.map(|subject| Arc::clone(&subject.name)).collect()
    }
}
