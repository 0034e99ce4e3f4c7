//! Checks of manifests that people have.
//!
//! The three forms (raw objects, `ClusterInstance`, `SiteConfig`) are read into one model of clusters, hosts and extra manifests,
//! with the place of every statement; each rule is then written once.

mod access;
mod agents;
mod changes;
mod clusters;
mod fields;
mod hosts;
mod ignition;
mod installs;
mod manifests;
mod metal;
mod model;
mod nested;
mod networks;
mod nodes;
mod placement;
mod platform;
mod references;
mod schema;
mod site_configs;
mod validations;

use std::collections::BTreeMap;

use berth_documents::{Diagnostic, Document, Lint, Severity, SourceId, Sources, Span};
use berth_site::Release;

use self::model::{HostView, Hub};

/// What a check knows beside the manifests.
#[derive(Clone, Debug, Default)]
pub struct CheckOptions {
    /// The release that is installed; without it, what the name of a `ClusterImageSet` tells.
    pub release: Option<Release>,
    /// What the site declares, by node.
    pub declared: Option<BTreeMap<String, Declared>>,
    /// The manifests that the hub has now: an export from it, or the folder that was applied last. Changes that it would refuse, or
    /// take without effect, are found by them.
    pub against: Vec<Document>,
    /// Configurations of load balancers (`HAProxy`) in front of the clusters.
    pub load_balancers: Vec<SourceId>,
}

/// What a site wants of one host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// `master`, `worker` or `arbiter`; none where the site does not say.
    pub role: Option<String>,
    /// Its Ignition override; none where the site cannot make manifests.
    pub ignition: Option<String>,
}

/// Finds what the hub would refuse, or do otherwise than its author thinks. Extra manifests inside `ConfigMaps` are read too;
/// their texts are added to the sources, so that findings have the file and line of the `ConfigMap`.
///
/// Files in a folder `day2` are for the time when the cluster is installed, as [`manifests`](crate::manifests) writes them: they are
/// judged together with the others, in place of those that they replace, and their hosts do not count for the installation.
pub fn check(sources: &mut Sources, documents: &[Document], options: &CheckOptions) -> Vec<Diagnostic> {
    let later = |sources: &Sources, span: Span| is_later(sources.name(span.source));
    let (after, first): (Vec<Document>, Vec<Document>) = documents
        .iter()
        .cloned()
        .partition(|document| later(sources, document.span()));
    if after.is_empty() {
        return check_set(sources, documents, options, &[]);
    }
    let mut findings = check_set(sources, &first, options, &[]);
    let replaced = |old: &Document| after.iter().any(|new| is_same_object(old, new));
    let all: Vec<Document> = first
        .iter()
        .filter(|old| !replaced(old))
        .chain(&after)
        .cloned()
        .collect();
    let of_after = check_set(sources, &all, options, &first).into_iter();
    findings.extend(of_after.filter(|finding| finding.span.is_some_and(|span| later(sources, span))));
    findings
}

/// Whether a file is for the time when the cluster is installed.
fn is_later(file: &str) -> bool {
    file.split(['/', '\\']).rev().skip(1).any(|folder| folder == "day2")
}

fn is_same_object(one: &Document, other: &Document) -> bool {
    let of = |document: &Document| {
        (
            model::name(document).map(str::to_owned),
            model::namespace(document).map(str::to_owned),
        )
    };
    one.kind() == other.kind() && of(one) == of(other)
}

/// Checks what is there at one time. Hosts that are not in `first`, where that is given, join later.
fn check_set(
    sources: &mut Sources,
    documents: &[Document],
    options: &CheckOptions,
    first: &[Document],
) -> Vec<Diagnostic> {
    let nested = nested::files(sources, documents);
    let mut load_balancers = options.load_balancers.clone();
    load_balancers.extend(nested::load_balancers(sources, documents));
    let mut hub = Hub::read(documents, &nested);
    if !first.is_empty() {
        let first = Hub::read(first, &[]);
        for host in &mut hub.hosts {
            let same = |other: &HostView<'_>| other.cluster == host.cluster && other.name.text == host.name.text;
            host.later = !first.hosts.iter().any(same);
        }
    }
    let before = Hub::read(&options.against, &[]);
    let mut findings = Findings(Vec::new());
    for document in hub.documents {
        fields::check(document, &mut findings);
        schema::check(document, &mut findings);
        site_configs::check(document, &mut findings);
        access::check(document, &mut findings);
        agents::check(document, &mut findings);
    }
    references::check(&hub, &mut findings);
    metal::check(&hub, &mut findings);
    clusters::check(&hub, options, &mut findings);
    hosts::check(&hub, options, &mut findings);
    ignition::check(&hub, options, &mut findings);
    manifests::check(sources, &hub, options, &mut findings);
    validations::check(&hub, &mut findings);
    placement::check(sources, &hub, options, &load_balancers, &mut findings);
    changes::check(&hub, &before, options, &mut findings);
    findings.0
}

/// The findings so far.
struct Findings(Vec<Diagnostic>);

impl Findings {
    /// Takes over what the reader of a site's documents finds in objects of the cluster, so that `berth lint` and this check agree.
    fn of_objects(&mut self, found: Vec<Diagnostic>, least: Severity) {
        // Objects of two clusters may have one name.
        let wrong = found
            .into_iter()
            .filter(|it| it.severity() <= least && it.code() != "duplicate-document");
        self.0.extend(wrong);
    }

    fn add(&mut self, lint: &'static Lint, span: Span, message: impl Into<String>) {
        self.0.push(Diagnostic::new(lint, span, message));
    }

    fn add_with_help(&mut self, lint: &'static Lint, span: Span, message: impl Into<String>, help: &str) {
        self.0.push(Diagnostic::new(lint, span, message).with_help(help));
    }

    fn add_related(&mut self, lint: &'static Lint, span: Span, message: String, other: Span, what: &str) {
        self.0
            .push(Diagnostic::new(lint, span, message).with_related(other, what));
    }
}
