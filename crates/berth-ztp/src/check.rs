//! Checks of manifests that people have.
//!
//! The three forms (raw objects, `ClusterInstance`, `SiteConfig`) are read into one model of clusters, hosts and extra manifests,
//! with the place of every statement; each rule is then written once.

mod clusters;
mod fields;
mod hosts;
mod manifests;
mod model;
mod nested;
mod placement;
mod references;

use std::collections::BTreeMap;

use berth_documents::{Diagnostic, Document, Lint, Sources, Span};
use berth_site::Release;

use self::model::Hub;

/// What a check knows beside the manifests.
#[derive(Clone, Debug, Default)]
pub struct CheckOptions {
    /// The release that is installed; without it, what the name of a `ClusterImageSet` tells.
    pub release: Option<Release>,
    /// The labels that the site declares, by node.
    pub declared: Option<BTreeMap<String, BTreeMap<String, String>>>,
}

/// Finds what the hub would refuse, or do otherwise than its author thinks. Extra manifests inside `ConfigMaps` are read too;
/// their texts are added to the sources, so that findings have the file and line of the `ConfigMap`.
pub fn check(sources: &mut Sources, documents: &[Document], options: &CheckOptions) -> Vec<Diagnostic> {
    let nested = nested::files(sources, documents);
    let hub = Hub::read(documents, &nested);
    let mut findings = Findings(Vec::new());
    references::check(&hub, &mut findings);
    clusters::check(&hub, options, &mut findings);
    hosts::check(&hub, options, &mut findings);
    manifests::check(&hub, options, &mut findings);
    placement::check(&hub, options, &mut findings);
    findings.0
}

/// The findings so far.
struct Findings(Vec<Diagnostic>);

impl Findings {
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
