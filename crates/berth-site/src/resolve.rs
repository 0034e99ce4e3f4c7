//! The answer for each node: its pool, its labels, and for each label where it comes from and how it is delivered.
//!
//! Sources, weakest to strongest: facts of the host (its rack, profiles and tags), the pool's explicit labels, rules (by priority, then name), the rack, the
//! host-profile chain, the node document or Berth, the pool's implicit labels. See `docs/ARCHITECTURE.md`.

mod facts;
mod fold;
mod matching;
mod pool;
mod pool_labels;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
    thread,
};

use berth_documents::{Diagnostic, Span};
use berth_labels::{Flavour, LabelKey, LabelSet, LabelValue, Route, choose_route};
use berth_pools::{Membership, MembershipError, NodeLabelView, Placement};

use crate::{
    lints,
    load::{invalid_name, name_problem},
    model::{Declared, Name, Site},
    profiles::{Chain, Chains},
    rule::NodeFacts,
    suggest::nearest,
};
pub use facts::{HostFacts, SkippedFact};
use fold::{Candidate, Folded, Rank};
use matching::PatternIndex;

/// Below this number of nodes another thread costs more than it saves.
const NODES_PER_THREAD: usize = 2_000;

/// How many names a finding lists when it has no better help.
const NAMES_LISTED: usize = 6;

/// A source of labels; indices point into the [`Site`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// What the documents know of a host beside its labels; the index is that of its node document.
    Fact(u32),
    /// Explicit labels of a pool.
    Explicit(u32),
    /// A rule.
    Rule(u32),
    /// A rack.
    Rack(u32),
    /// A host profile.
    Profile(u32),
    /// A node document.
    Node(u32),
    /// A Berth.
    Berth(u32),
    /// What a pool's selector demands.
    Implicit(u32),
}

/// Who is resolved: a name, and what the site has about it.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The node's name.
    pub name: Arc<str>,
    /// Where the name is written.
    pub span: Span,
    node: Option<usize>,
    berth: Option<usize>,
    observed: Option<usize>,
}

impl Subject {
    /// Whether a document or Berth reserves the name; otherwise only a Node object with it was observed.
    pub fn is_declared(&self) -> bool {
        self.node.is_some() || self.berth.is_some()
    }

    fn view<'a>(&'a self, labels: &'a [ResolvedLabel]) -> View<'a> {
        View {
            node: &self.name,
            labels,
        }
    }
}

/// One label of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedLabel {
    /// The key.
    pub key: LabelKey,
    /// The value.
    pub value: LabelValue,
    /// The source that won.
    pub source: Source,
    /// Where the value is written.
    pub span: Span,
    /// How the label reaches the Node.
    pub route: Route,
    /// What it beat, strongest first.
    pub beats: Vec<Beaten>,
}

/// A statement that lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beaten {
    /// Who made it.
    pub source: Source,
    /// The value, or `None` for a removal.
    pub value: Option<LabelValue>,
    /// Where it is written.
    pub span: Span,
}

/// A label that a removal keeps away from the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// The key.
    pub key: LabelKey,
    /// Who removes it.
    pub source: Source,
    /// Where that is written.
    pub span: Span,
    /// What the removal beat, strongest first; never empty.
    pub beats: Vec<Beaten>,
}

/// How the pool of a node was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolSource {
    /// Pinned by the node document or Berth, at this place.
    Pinned(Source, Span),
    /// Given by a rule.
    Rule(u32),
    /// Found from the labels by the pools' selectors.
    Selector,
}

/// The answer for one node.
#[derive(Clone, Debug)]
pub struct Resolution {
    /// The node's name.
    pub node: Arc<str>,
    /// Where the name is written.
    pub span: Span,
    /// The pool, and how it was found.
    pub pool: Option<(Arc<str>, PoolSource)>,
    /// The labels, by key.
    pub labels: Vec<ResolvedLabel>,
    /// Labels that the site declares and removes again for this node.
    pub removed: Vec<Removed>,
    /// Facts of the host that are not labels, because they cannot be.
    pub skipped: Vec<SkippedFact>,
    /// The rules that match the node, by their place in [`Site::rules`].
    pub rules: Box<[u32]>,
    /// What is wrong with this node.
    pub diagnostics: Vec<Diagnostic>,
}

impl Resolution {
    /// The name of the pool.
    pub fn pool_name(&self) -> Option<&str> {
        self.pool.as_ref().map(|(name, _)| name.as_ref())
    }

    /// A label by key.
    pub fn label(&self, key: &str) -> Option<&ResolvedLabel> {
        let index = self.labels.binary_search_by(|label| label.key.as_str().cmp(key)).ok()?;
        self.labels.get(index)
    }

    /// The plain set.
    pub fn label_set(&self) -> LabelSet {
        self.labels
            .iter()
            .map(|label| (label.key.clone(), label.value.clone()))
            .collect()
    }
}

/// What every kubelet says of the node itself, whatever is declared.
pub(crate) fn kubelet_labels(node: &str) -> [(&'static str, &str); 2] {
    [("kubernetes.io/hostname", node), ("kubernetes.io/os", "linux")]
}

/// Labels sorted by key, as membership wants to see them: those that are declared, and the kubelet's own.
struct View<'a> {
    node: &'a str,
    labels: &'a [ResolvedLabel],
}

impl View<'_> {
    fn declared(&self, key: &str) -> Option<&str> {
        let index = self.labels.binary_search_by(|label| label.key.as_str().cmp(key)).ok()?;
        self.labels.get(index).map(|label| label.value.as_str())
    }
}

impl NodeLabelView for View<'_> {
    fn value(&self, key: &str) -> Option<&str> {
        self.declared(key).or_else(|| {
            let own = kubelet_labels(self.node).into_iter().find(|(own, _)| *own == key);
            own.map(|(_, value)| value)
        })
    }

    fn keys(&self) -> impl Iterator<Item = &str> {
        let own = kubelet_labels(self.node).into_iter().map(|(key, _)| key);
        let own = own.filter(|key| self.declared(key).is_none());
        self.labels.iter().map(|label| label.key.as_str()).chain(own)
    }
}

/// Resolves the nodes of one site. Indices and compiled patterns are made once and shared.
#[derive(Debug)]
pub struct Resolver<'a> {
    site: &'a Site,
    flavour: Flavour,
    membership: Membership,
    pools: HashMap<&'a str, usize>,
    racks: HashMap<&'a str, usize>,
    /// Racks that no document describes, and that documents with Airship's rules name: Drydock looks none up.
    named_racks: HashSet<&'a str>,
    chains: Chains<'a>,
    patterns: PatternIndex,
    subjects: Vec<Subject>,
    /// The same node name on two Berths: found when the subjects are gathered.
    duplicates: Vec<Diagnostic>,
}

impl<'a> Resolver<'a> {
    /// Prepares a site.
    pub fn new(site: &'a Site, flavour: Flavour) -> Self {
        let (subjects, duplicates) = subjects(site);
        Self {
            site,
            flavour,
            membership: site.membership(),
            pools: index(site.pools.iter().map(|pool| &pool.name)),
            racks: index(site.racks.iter().map(|rack| &rack.name)),
            named_racks: named_racks(site),
            chains: Chains::new(site),
            patterns: PatternIndex::new(site),
            subjects,
            duplicates,
        }
    }

    /// The site.
    pub fn site(&self) -> &'a Site {
        self.site
    }

    /// The rules of whose kubelet and API server hold.
    pub fn flavour(&self) -> Flavour {
        self.flavour
    }

    /// The pools, prepared for lookups.
    pub fn membership(&self) -> &Membership {
        &self.membership
    }

    /// All nodes, by name.
    pub fn subjects(&self) -> &[Subject] {
        &self.subjects
    }

    /// A node by name.
    pub fn subject(&self, name: &str) -> Option<&Subject> {
        let index = self
            .subjects
            .binary_search_by(|subject| subject.name.as_ref().cmp(name))
            .ok()?;
        self.subjects.get(index)
    }

    /// Findings about the set of nodes as a whole.
    pub(crate) fn duplicates(&self) -> &[Diagnostic] {
        &self.duplicates
    }

    pub(crate) fn chains(&self) -> &Chains<'a> {
        &self.chains
    }

    pub(crate) fn unknown_pool(&self, name: &Name) -> Diagnostic {
        Self::unknown(&lints::UNKNOWN_POOL, "pool", name, &self.pools)
    }

    pub(crate) fn unknown_rack(&self, name: &Name) -> Diagnostic {
        let diagnostic = Self::unknown(&lints::UNKNOWN_RACK, "rack", name, &self.racks);
        let is_close = nearest(&name.value, self.racks.keys().copied()).is_some();
        self.site.unasked_reference(diagnostic, is_close)
    }

    pub(crate) fn has_pool(&self, name: &str) -> bool {
        self.pools.contains_key(name)
    }

    pub(crate) fn has_rack(&self, name: &str) -> bool {
        self.racks.contains_key(name) || self.named_racks.contains(name)
    }

    fn unknown(
        lint: &'static berth_documents::Lint,
        what: &str,
        name: &Name,
        known: &HashMap<&str, usize>,
    ) -> Diagnostic {
        let diagnostic = Diagnostic::new(lint, name.span, format!("there is no {what} `{}`", name.value));
        let mut names: Vec<&str> = known.keys().copied().collect();
        names.sort_unstable();
        match nearest(&name.value, names.iter().copied()) {
            Some(near) => diagnostic.with_help(format!("did you mean `{near}`?")),
            None if names.is_empty() => diagnostic,
            None if names.len() <= NAMES_LISTED => diagnostic.with_help(format!("there are: {}", names.join(", "))),
            None => diagnostic,
        }
    }

    /// Resolves every node, by name. Large sites are shared among the machine's cores; the answer is the same.
    pub fn resolve_all(&self) -> Vec<Resolution> {
        let resolve = |subjects: &[Subject]| -> Vec<Resolution> { subjects.iter().map(|s| self.resolve(s)).collect() };
        if self.subjects.len() <= NODES_PER_THREAD {
            // To count the cores takes longer than a small site: the limits of the process are in several files.
            return resolve(&self.subjects);
        }
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let share = self.subjects.len().div_ceil(cores).max(NODES_PER_THREAD);
        let mut shares = self.subjects.chunks(share);
        let (Some(first), rest) = (shares.next(), shares) else {
            return Vec::new();
        };
        thread::scope(|scope| {
            let others: Vec<_> = rest.map(|subjects| scope.spawn(move || resolve(subjects))).collect();
            let mut all = resolve(first);
            for other in others {
                all.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            all
        })
    }

    /// Resolves one node.
    pub fn resolve(&self, subject: &Subject) -> Resolution {
        let mut diagnostics = Vec::new();
        let host = self.host(subject, &mut diagnostics);
        let facts = NodeFacts {
            name: &subject.name,
            rack: host.rack_name,
            profile: host
                .chain
                .profiles
                .last()
                .and_then(|index| self.site.profiles.get(*index))
                .map(|p| p.name.value.as_ref()),
        };
        let rules = self.patterns.matching(self.site, &facts, &host.chain.profiles);

        let (mut candidates, skipped) = self.fact_candidates(subject);
        candidates.extend(self.host_candidates(subject, &host));
        for matched in rules.iter().filter(|matched| !matched.by_pool) {
            self.rule_candidates(matched, &facts, &mut candidates, &mut diagnostics);
        }
        let pool = self
            .pinned_pool(subject, &mut diagnostics)
            .or_else(|| self.rule_pool(&rules, &subject.name, &mut diagnostics))
            .or_else(|| self.selected_pool(subject, &candidates))
            .or_else(|| self.given_pool(subject));
        if let Some((index, _)) = pool
            && let Some(pool) = self.site.pools.get(index)
        {
            push(
                &mut candidates,
                Rank::Explicit,
                Source::Explicit(small(index)),
                &pool.explicit,
            );
            let matched = rules
                .iter()
                .filter(|m| m.by_pool && self.rule_wants_pool(m.rule, &pool.name.value));
            for matched in matched {
                self.rule_candidates(matched, &facts, &mut candidates, &mut diagnostics);
            }
            for (key, value) in pool.implicit.iter().flat_map(|implicit| implicit.labels.iter()) {
                let span = pool
                    .node_selector
                    .as_ref()
                    .map_or(pool.name.span, |selector| selector.span);
                let source = Source::Implicit(small(index));
                candidates.push(Candidate {
                    key: key.clone(),
                    value: Some(value.clone()),
                    rank: Rank::Implicit,
                    source,
                    span,
                });
            }
        }
        let folded = self.fold(candidates, subject, &mut diagnostics);
        self.check_pool(subject, pool, &folded.labels, &mut diagnostics);
        Resolution {
            node: subject.name.clone(),
            span: subject.span,
            pool: pool.and_then(|(index, source)| Some((self.site.pools.get(index)?.name.value.clone(), source))),
            labels: folded.labels,
            removed: folded.removed,
            skipped,
            rules: self.rules_that_hold(&rules, pool.map(|(index, _)| index)),
            diagnostics,
        }
    }

    fn host(&self, subject: &Subject, diagnostics: &mut Vec<Diagnostic>) -> Host<'a> {
        let Some(node) = subject.node.and_then(|index| self.site.nodes.get(index)) else {
            return Host::default();
        };
        let chain = match node.data.profile.as_ref().map(|profile| self.chains.get(profile)) {
            None => Chain::default(),
            Some(Ok(chain)) => chain.clone(),
            Some(Err(unknown)) => {
                diagnostics.push(unknown);
                Chain::default()
            }
        };
        diagnostics.extend(chain.broken.clone());
        if let Some(problem) = name_problem(&node.name.value) {
            diagnostics.push(invalid_name(&node.name, problem));
        }
        let profiles = chain.profiles.iter().filter_map(|index| self.site.profiles.get(*index));
        let sources = profiles.map(|profile| &profile.data).chain([&node.data]);
        diagnostics.extend(sources.flat_map(|data| data.unusable.iter().cloned()));
        let inherited = chain
            .profiles
            .iter()
            .rev()
            .filter_map(|index| self.site.profiles.get(*index)?.data.rack.as_ref());
        let rack = node.data.rack.as_ref().into_iter().chain(inherited).next();
        let found = rack.and_then(|name| self.racks.get(name.value.as_ref()).copied());
        if let Some(name) = rack.filter(|_| found.is_none()) {
            diagnostics.push(self.unknown_rack(name));
        }
        let document = found.and_then(|index| self.site.racks.get(index));
        diagnostics.extend(document.iter().flat_map(|rack| rack.unusable.iter().cloned()));
        // A rack that is not described stands for nothing, except where nobody asks for its description.
        let rack_name = rack.map(|name| name.value.as_ref()).filter(|name| self.has_rack(name));
        Host {
            chain,
            rack: found,
            rack_name,
        }
    }

    fn host_candidates(&self, subject: &Subject, host: &Host<'_>) -> Vec<Candidate> {
        let mut candidates = Vec::with_capacity(16);
        if let Some((index, rack)) = host.rack.and_then(|index| Some((index, self.site.racks.get(index)?))) {
            push(
                &mut candidates,
                Rank::Rack,
                Source::Rack(small(index)),
                &rack.owner_data,
            );
        }
        for (depth, index) in host.chain.profiles.iter().enumerate() {
            if let Some(profile) = self.site.profiles.get(*index) {
                push(
                    &mut candidates,
                    Rank::Profile(small(depth)),
                    Source::Profile(small(*index)),
                    &profile.data.owner_data,
                );
            }
        }
        if let Some((index, node)) = subject
            .node
            .and_then(|index| Some((index, self.site.nodes.get(index)?)))
        {
            push(
                &mut candidates,
                Rank::Node,
                Source::Node(small(index)),
                &node.data.owner_data,
            );
        }
        if let Some((index, berth)) = subject
            .berth
            .and_then(|index| Some((index, self.site.berths.get(index)?)))
        {
            push(&mut candidates, Rank::Node, Source::Berth(small(index)), &berth.labels);
        }
        candidates
    }

    fn rule_candidates(
        &self,
        matched: &matching::Matched,
        facts: &NodeFacts<'_>,
        candidates: &mut Vec<Candidate>,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let Some(rule) = self.site.rules.get(matched.rule as usize) else {
            return;
        };
        let labels = rule.labels_for(facts, matched.pattern, diagnostics);
        candidates.extend(labels.into_iter().map(|(key, value, span)| Candidate {
            key,
            value: Some(value),
            rank: Rank::Rule(matched.rule),
            source: Source::Rule(matched.rule),
            span,
        }));
    }

    fn rules_that_hold(&self, matched: &[matching::Matched], pool: Option<usize>) -> Box<[u32]> {
        let pool = pool
            .and_then(|index| self.site.pools.get(index))
            .map(|pool| pool.name.value.as_ref());
        let holds = |matched: &&matching::Matched| {
            !matched.by_pool || pool.is_some_and(|pool| self.rule_wants_pool(matched.rule, pool))
        };
        matched.iter().filter(holds).map(|matched| matched.rule).collect()
    }

    fn rule_wants_pool(&self, rule: u32, pool: &str) -> bool {
        let wanted = self.site.rules.get(rule as usize).map(|rule| &rule.matching.pools);
        wanted.is_some_and(|pools| pools.iter().any(|name| name.value.as_ref() == pool))
    }

    /// Membership of a node. What a Node object shows counts where the site declares nothing about the node.
    fn place(&self, subject: &Subject, labels: &[ResolvedLabel]) -> Result<Placement, MembershipError> {
        let observed = subject
            .observed
            .filter(|_| !subject.is_declared())
            .and_then(|index| self.site.observed.get(index));
        match observed {
            None => self.membership.of(&subject.name, &subject.view(labels)),
            Some(node) => {
                let mut all: BTreeMap<String, String> = node.labels.clone();
                all.extend(
                    labels
                        .iter()
                        .map(|label| (label.key.to_string(), label.value.to_string())),
                );
                self.membership.of(&subject.name, &all)
            }
        }
    }

    fn fold(&self, candidates: Vec<Candidate>, subject: &Subject, diagnostics: &mut Vec<Diagnostic>) -> Folded {
        let live = subject.observed.is_some() && !subject.is_declared();
        let route = |key: &LabelKey| {
            if live {
                Route::Live
            } else {
                choose_route(self.flavour, key)
            }
        };
        fold::fold(self.site, &subject.name, candidates, route, diagnostics)
    }
}

/// What a node's document says about the host, followed through its references.
#[derive(Debug, Default)]
struct Host<'a> {
    chain: Chain,
    /// The document of its rack.
    rack: Option<usize>,
    rack_name: Option<&'a str>,
}

/// The racks that documents with Airship's rules name.
fn named_racks(site: &Site) -> HashSet<&str> {
    let hosts = site.nodes.iter().map(|node| &node.data);
    let hosts = hosts.chain(site.profiles.iter().map(|profile| &profile.data));
    hosts
        .filter_map(|data| data.rack.as_ref())
        .filter(|rack| site.is_airship(rack.span))
        .map(|rack| rack.value.as_ref())
        .collect()
}

fn push(candidates: &mut Vec<Candidate>, rank: Rank, source: Source, declared: &[Declared]) {
    candidates.extend(declared.iter().map(|declared| Candidate {
        key: declared.key.clone(),
        value: declared.value.clone(),
        rank,
        source,
        span: declared.span,
    }));
}

/// Indices into a site fit: four billion documents do not fit in memory.
fn small(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

fn index<'a>(names: impl Iterator<Item = &'a Name>) -> HashMap<&'a str, usize> {
    names
        .enumerate()
        .map(|(index, name)| (name.value.as_ref(), index))
        .collect()
}

/// Every name that a node document, a Berth or an observed Node has, sorted.
fn subjects(site: &Site) -> (Vec<Subject>, Vec<Diagnostic>) {
    let mut subjects: BTreeMap<&str, Subject> = BTreeMap::new();
    let mut duplicates = Vec::new();
    let start = |name: &Name| Subject {
        name: name.value.clone(),
        span: name.span,
        node: None,
        berth: None,
        observed: None,
    };
    for (index, node) in site.nodes.iter().enumerate() {
        subjects
            .entry(&node.name.value)
            .or_insert_with(|| start(&node.name))
            .node = Some(index);
    }
    for (index, berth) in site.berths.iter().enumerate().filter(|(_, berth)| !berth.release) {
        let subject = subjects
            .entry(&berth.node_name.value)
            .or_insert_with(|| start(&berth.node_name));
        let first = subject.berth.and_then(|first| site.berths.get(first));
        if let Some(first) = first {
            let message = format!(
                "berths `{}` and `{}` both reserve node `{}`",
                first.name.value, berth.name.value, subject.name
            );
            duplicates.push(
                Diagnostic::new(&lints::DUPLICATE_BERTH, berth.node_name.span, message)
                    .with_related(first.node_name.span, "reserved here first"),
            );
        } else {
            subject.berth = Some(index);
        }
    }
    for (index, node) in site.observed.iter().enumerate() {
        subjects
            .entry(&node.name.value)
            .or_insert_with(|| start(&node.name))
            .observed = Some(index);
    }
    (subjects.into_values().collect(), duplicates)
}

impl Site {
    /// The short name of a source, which scripts read: `rule/NAME`, `profile/NAME` and so on.
    pub fn source_name(&self, source: Source) -> String {
        let (kind, name) = self.source_parts(source);
        format!("{kind}/{name}")
    }

    /// A source in words.
    pub fn describe(&self, source: Source) -> String {
        let (_, name) = self.source_parts(source);
        match source {
            Source::Fact(_) => format!("rack, profiles and tags of node `{name}`"),
            Source::Explicit(_) => format!("pool `{name}`"),
            Source::Rule(_) => format!("rule `{name}`"),
            Source::Rack(_) => format!("rack `{name}`"),
            Source::Profile(_) => format!("host profile `{name}`"),
            Source::Node(_) => format!("node document `{name}`"),
            Source::Berth(_) => format!("berth `{name}`"),
            Source::Implicit(_) => format!("the selector of pool `{name}`"),
        }
    }

    fn source_parts(&self, source: Source) -> (&'static str, &str) {
        fn name<T>(list: &[T], index: u32, name: impl Fn(&T) -> &Name) -> &str {
            list.get(index as usize).map_or("", |item| &name(item).value)
        }
        match source {
            Source::Fact(index) => ("fact", name(&self.nodes, index, |node| &node.name)),
            Source::Explicit(index) => ("pool-explicit", name(&self.pools, index, |pool| &pool.name)),
            Source::Rule(index) => ("rule", name(&self.rules, index, |rule| &rule.name)),
            Source::Rack(index) => ("rack", name(&self.racks, index, |rack| &rack.name)),
            Source::Profile(index) => ("profile", name(&self.profiles, index, |profile| &profile.name)),
            Source::Node(index) => ("node", name(&self.nodes, index, |node| &node.name)),
            Source::Berth(index) => ("berth", name(&self.berths, index, |berth| &berth.name)),
            Source::Implicit(index) => ("pool-implicit", name(&self.pools, index, |pool| &pool.name)),
        }
    }
}
