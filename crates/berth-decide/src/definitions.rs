//! From the objects of a cluster to a site, by the same functions that read a folder of files. Objects become documents as
//! they are: nothing is printed to be parsed.
//!
//! Pools and rules are read once and kept; Berths are read when they are looked at, in batches. So one changed Node of
//! ten thousand costs one Berth, and the answer is still that of `berth resolve`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use berth_documents::{Diagnostic, Document, DocumentSet, Location, Severity, SourceId, Sources, Span, object_name};
use berth_labels::{Flavour, LabelKey, LabelSet};
use berth_pools::{Membership, MembershipError, Placement};
use berth_site::{ObservedNode, PoolSource, Resolution, Resolver, Site, Source, Spanned, load, to_kubernetes};
use serde_json::{Value, json};

use crate::view::NodeView;
use berth_resources::Berth;

/// Pools, rules and whatever else is not about one node.
#[derive(Debug)]
pub struct Definitions {
    sources: Sources,
    site: Site,
    flavour: Flavour,
    membership: Membership,
    findings: Vec<Finding>,
}

/// A finding in the words of `berth lint`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The object it is about, as `Kind/name`.
    pub object: String,
    /// The field of the object, such as `spec.match.names[0]`; empty for the whole object.
    pub field: String,
    /// How bad it is.
    pub severity: Severity,
    /// The lint's code.
    pub code: &'static str,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// One node to be resolved.
#[derive(Debug)]
pub struct Question<'a> {
    /// The node's name.
    pub node: &'a str,
    /// Its Berth.
    pub berth: Option<&'a Berth>,
    /// The pool to use in place of `spec.pool`; `Some(None)` for none.
    pub pin: Option<Option<&'a str>>,
    /// Its Node.
    pub live: Option<&'a NodeView>,
}

/// The answer for one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The pool.
    pub pool: Option<Arc<str>>,
    /// Nobody named the pool: it was found from the labels, by the pools' selectors.
    pub found: bool,
    /// The labels.
    pub labels: LabelSet,
    /// Those of the labels that come from a pool that was found, and from nobody else.
    pub of_found_pool: BTreeSet<LabelKey>,
    /// What is wrong; with an error in it nothing is applied.
    pub findings: Vec<Finding>,
}

impl Finding {
    /// The object and the field.
    pub fn place(&self) -> String {
        match self.field.as_str() {
            "" => self.object.clone(),
            field => format!("{} {field}", self.object),
        }
    }
}

impl Answer {
    /// The first error.
    pub fn error(&self) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.severity == Severity::Error)
    }
}

impl Definitions {
    /// Reads objects that are not about one node: pools, rules, machine configs, racks, profiles. Without a flavour, a Region
    /// among them says it.
    pub fn new<'a>(objects: impl IntoIterator<Item = &'a Value>, flavour: impl Into<Option<Flavour>>) -> Self {
        Self::of_documents(declared(Sources::new(), objects), flavour)
    }

    /// The pools and rules of documents, as a cluster has them that was made from these.
    pub fn of_cluster_made_from(documents: &[Document], flavour: impl Into<Option<Flavour>>) -> Self {
        let objects: Vec<Value> = documents
            .iter()
            .filter_map(to_kubernetes)
            .filter(|object| object["kind"] == "MachineConfigPool" || object["kind"] == "LabelRule")
            .collect();
        Self::new(&objects, flavour)
    }

    /// The same of documents that are read already.
    pub fn of_documents(documents: DocumentSet, flavour: impl Into<Option<Flavour>>) -> Self {
        let (sources, site, diagnostics) = site_of(documents);
        let membership = site.membership();
        let findings = diagnostics.iter().map(|found| finding(&sources, found)).collect();
        Self {
            flavour: site.flavour_for(flavour.into()),
            sources,
            site,
            membership,
            findings,
        }
    }

    /// What is wrong with the objects themselves.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Whose kubelet and API server rules hold.
    pub fn flavour(&self) -> Flavour {
        self.flavour
    }

    /// The pools.
    pub fn site(&self) -> &Site {
        &self.site
    }

    /// The pools of a node with these labels, as the Machine Config Operator sees them.
    pub fn placement(&self, node: &str, labels: &BTreeMap<String, String>) -> Result<Placement, MembershipError> {
        self.membership.of(node, labels)
    }

    /// The labels that a pool's selector demands.
    pub fn implicit(&self, pool: &str) -> Option<&LabelSet> {
        let pool = self.site.pools.iter().find(|known| known.name.value.as_ref() == pool)?;
        pool.implicit.as_ref().map(|implicit| &implicit.labels)
    }

    /// Whether there is such a pool.
    pub fn has_pool(&self, pool: &str) -> bool {
        self.site.pools.iter().any(|known| known.name.value.as_ref() == pool)
    }

    /// Resolves nodes. The answers are in the order of the questions.
    pub fn resolve(&mut self, questions: &[Question<'_>]) -> Vec<Answer> {
        let documents: Vec<Value> = questions.iter().filter_map(berth_document).collect();
        let (sources, berths, mut diagnostics) = site_of(declared(self.sources.clone(), &documents));
        // The fields are swapped in and out again, so that pools and rules need not be read anew.
        self.site.berths = berths.berths;
        self.site.observed = questions.iter().filter_map(observed).collect();
        let resolver = Resolver::new(&self.site, self.flavour);
        let answers = questions
            .iter()
            .map(|question| {
                let mut answer = resolver
                    .subject(question.node)
                    .map(|subject| answer(&sources, &resolver.resolve(subject)))
                    .unwrap_or_default();
                if let Some(berth) = question.berth {
                    let object = format!("Berth/{}", berth.metadata.name.as_deref().unwrap_or_default());
                    let about = |found: &Diagnostic| found.span.is_some_and(|span| sources.name(span.source) == object);
                    let own = diagnostics.extract_if(.., |found| about(found));
                    answer.findings.extend(own.map(|found| finding(&sources, &found)));
                }
                answer
            })
            .collect();
        self.site.berths = Vec::new();
        self.site.observed = Vec::new();
        answers
    }
}

/// What `berth lint` would say about one object on its own. Admission and the controllers ask this same question.
pub fn validate(object: &Value) -> Vec<Finding> {
    let (sources, _, diagnostics) = site_of(declared(Sources::new(), [object]));
    diagnostics.iter().map(|found| finding(&sources, found)).collect()
}

/// Lints about pools that lose their labels or their nodes. Which object causes that depends on others: a pool that
/// starts to select a machine config is as wrong as a machine config that starts to be selected.
const LOSSES: [&str; 3] = ["pool-labels-lost", "kubelet-stopped", "node-not-registered"];

/// The lint about patterns of names that cannot be used.
const INVALID_PATTERN: &str = "invalid-pattern";

/// What would be wrong if this pool, machine config or kubelet config were among those that a cluster has: with itself, and
/// with the labels and nodes of pools, as far as that is not so already with the object as it was before.
pub fn validate_among<'a>(
    others: impl IntoIterator<Item = &'a Value>,
    object: &Value,
    before: Option<&Value>,
    flavour: Flavour,
) -> Vec<Finding> {
    let identity = |value: &Value| (value.get("kind").cloned(), value.pointer("/metadata/name").cloned());
    let own = identity(object);
    let others: Vec<&Value> = others.into_iter().filter(|other| identity(other) != own).collect();
    let with = |object: Option<&Value>| -> Vec<Finding> {
        let objects = others.iter().copied().chain(object);
        let (sources, site, mut diagnostics) = site_of(declared(Sources::new(), objects));
        let resolver = Resolver::new(&site, flavour);
        diagnostics.extend(berth_site::check(&sources, &resolver, &[]));
        diagnostics.iter().map(|found| finding(&sources, found)).collect()
    };
    let name = object_name(object);
    let (mut own, mut elsewhere): (Vec<Finding>, Vec<Finding>) = with(Some(object))
        .into_iter()
        .partition(|finding| finding.object == name);
    elsewhere.retain(|finding| LOSSES.contains(&finding.code));
    if !elsewhere.is_empty() {
        let known = with(before);
        elsewhere.retain(|finding| !known.contains(finding));
    }
    own.extend(elsewhere);
    own
}

/// What would be wrong if this rule were among those that a cluster has: with itself, and with patterns of names, which share one
/// limit, as far as that is not so already with the rule as it was before.
pub fn validate_rule<'a>(
    others: impl IntoIterator<Item = &'a Value>,
    rule: &Value,
    before: Option<&Value>,
) -> Vec<Finding> {
    let mut findings = validate(rule);
    let name = object_name(rule);
    let others: Vec<&Value> = others.into_iter().filter(|other| object_name(other) != name).collect();
    let refused = |rule: Option<&Value>| -> Vec<Finding> {
        let (sources, _, mut diagnostics) = site_of(declared(Sources::new(), others.iter().copied().chain(rule)));
        diagnostics.retain(|found| found.code() == INVALID_PATTERN);
        diagnostics.iter().map(|found| finding(&sources, found)).collect()
    };
    let mut new = refused(Some(rule));
    new.retain(|finding| !findings.contains(finding));
    if !new.is_empty() {
        let known = refused(before);
        new.retain(|finding| !known.contains(finding));
    }
    findings.extend(new);
    findings
}

/// Whether somebody declared something else than before. The API server and its controllers touch objects for other
/// reasons, and mistakes that are there already must not keep them from that.
pub fn is_changed(before: &Value, object: &Value) -> bool {
    let leaving = object.pointer("/metadata/deletionTimestamp").is_some();
    !leaving && plain(before) != plain(object)
}

/// What somebody declared in these objects, as documents.
fn declared<'a>(sources: Sources, objects: impl IntoIterator<Item = &'a Value>) -> DocumentSet {
    let mut set = DocumentSet {
        sources,
        ..DocumentSet::default()
    };
    for object in objects {
        set.add_object(object_name(object), &plain(object));
    }
    set
}

fn site_of(set: DocumentSet) -> (Sources, Site, Vec<Diagnostic>) {
    let (site, found) = load(&set.sources, &set.documents);
    let mut diagnostics = set.diagnostics;
    diagnostics.extend(found);
    (set.sources, site, diagnostics)
}

/// The part of an object that somebody declared: what the API server and Berth itself add is left out.
pub fn plain(object: &Value) -> Value {
    if object.get("schema").is_some() {
        return object.clone();
    }
    let metadata = object.get("metadata");
    let declared = |field: &str| -> Option<Value> {
        let map = metadata?.get(field)?.as_object()?;
        let own = [crate::names::RESERVED_BY, crate::names::REQUESTED, LAST_APPLIED];
        Some(
            map.iter()
                .filter(|(key, _)| !own.contains(&key.as_str()))
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect(),
        )
    };
    let mut plain = json!({
        "apiVersion": object.get("apiVersion"),
        "kind": object.get("kind"),
        "metadata": {"name": metadata.and_then(|metadata| metadata.get("name"))},
    });
    for field in ["labels", "annotations"] {
        if let (Some(map), Some(target)) = (declared(field), plain.get_mut("metadata")) {
            target[field] = map;
        }
    }
    if let Some(spec) = object.get("spec") {
        plain["spec"] = spec.clone();
    }
    plain
}

/// What `kubectl apply` leaves behind.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

fn berth_document(question: &Question<'_>) -> Option<Value> {
    let berth = question.berth?;
    let mut value = serde_json::to_value(berth).ok()?;
    if let Some(pin) = question.pin
        && let Some(spec) = value.get_mut("spec").and_then(Value::as_object_mut)
    {
        match pin {
            Some(pool) => spec.insert("pool".to_owned(), json!(pool)),
            None => spec.remove("pool"),
        };
    }
    Some(value)
}

fn observed(question: &Question<'_>) -> Option<ObservedNode> {
    let live = question.live?;
    // An observed Node has no document; nothing is ever reported at its place.
    let span = Span::file_start(SourceId(u32::MAX));
    Some(ObservedNode {
        name: Spanned::new(Arc::from(live.name.as_str()), span),
        labels: live.labels.clone(),
        annotations: live.annotations.clone(),
        network: berth_site::ObservedNetwork::default(),
        taints: Vec::new(),
        ready: None,
    })
}

fn answer(sources: &Sources, resolution: &Resolution) -> Answer {
    let found = matches!(resolution.pool, Some((_, PoolSource::Selector)));
    Answer {
        pool: resolution.pool.as_ref().map(|(name, _)| name.clone()),
        found,
        labels: resolution.label_set(),
        of_found_pool: resolution
            .labels
            .iter()
            .filter(|label| found && label.beats.is_empty())
            .filter(|label| matches!(label.source, Source::Explicit(_) | Source::Implicit(_)))
            .map(|label| label.key.clone())
            .collect(),
        findings: resolution
            .diagnostics
            .iter()
            .map(|found| finding(sources, found))
            .collect(),
    }
}

fn finding(sources: &Sources, found: &Diagnostic) -> Finding {
    let location = found.span.map(|span| sources.location(span));
    Finding {
        field: location
            .as_ref()
            .and_then(Location::field)
            .unwrap_or_default()
            .to_owned(),
        object: location.map(|location| location.file).unwrap_or_default(),
        severity: found.severity(),
        code: found.code(),
        message: match &found.help {
            Some(help) => format!("{}; {help}", found.message),
            None => found.message.clone(),
        },
    }
}

#[cfg(test)]
mod tests;
