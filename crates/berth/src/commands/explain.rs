//! `berth explain`: where the labels of one node come from.

use std::{fmt::Write as _, io::Read};

use berth_documents::{Sources, Span};
use berth_labels::{Flavour, Route, route_proof};
use berth_site::{Beaten, PoolSource, Removed, Resolution, ResolvedLabel, Resolver, Site, Source, check};
use serde::Serialize;

use crate::{
    args::ExplainArgs,
    exit::Exit,
    failure::Failure,
    findings::{self, Finding},
    output::{Printer, Report, Tree, printable},
    provenance::{BeatenReport, Origin},
    site::{Loaded, subject},
};

/// Runs the command.
pub(crate) fn run(args: &ExplainArgs, stdin: &mut dyn Read, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let loaded = Loaded::read(&args.files.paths, stdin)?;
    let resolver = Resolver::new(&loaded.site, args.flavour.of(&loaded.site));
    let resolution = resolver.resolve(subject(&resolver, &args.node)?);
    if let Some(key) = &args.label {
        known_label(&resolution, key)?;
    }
    let report = Explanation {
        sources: &loaded.sources,
        site: &loaded.site,
        flavour: resolver.flavour(),
        resolution: &resolution,
        only: args.label.as_deref(),
    };
    printer.report(args.output.format, &report)?;

    let mut diagnostics = check(&loaded.sources, &resolver, std::slice::from_ref(&resolution));
    diagnostics.extend_from_slice(&loaded.diagnostics);
    findings::show_errors(printer, &loaded.sources, diagnostics)
}

fn known_label(resolution: &Resolution, key: &str) -> Result<(), Failure> {
    let keys = || {
        let labels = resolution.labels.iter().map(|label| label.key.as_str());
        labels.chain(resolution.removed.iter().map(|removed| removed.key.as_str()))
    };
    if keys().any(|known| known == key) {
        return Ok(());
    }
    Err(Failure::Unknown {
        what: "label",
        name: key.to_owned(),
        problem: format!("is not on node `{}`", resolution.node),
        close: berth_site::close_matches(key, keys())
            .into_iter()
            .map(str::to_owned)
            .collect(),
    })
}

struct Explanation<'a> {
    sources: &'a Sources,
    site: &'a Site,
    flavour: Flavour,
    resolution: &'a Resolution,
    only: Option<&'a str>,
}

/// The answer for programs.
#[derive(Serialize)]
struct NodeReport<'a> {
    node: &'a str,
    pool: Option<&'a str>,
    pool_source: Option<Origin>,
    labels: Vec<LabelReport<'a>>,
    removed: Vec<RemovedReport<'a>>,
    diagnostics: Vec<Finding>,
}

#[derive(Serialize)]
struct LabelReport<'a> {
    key: &'a str,
    value: &'a str,
    #[serde(flatten)]
    origin: Origin,
    beats: Vec<BeatenReport>,
    route: Route,
    proof: Vec<String>,
}

#[derive(Serialize)]
struct RemovedReport<'a> {
    key: &'a str,
    #[serde(flatten)]
    origin: Origin,
    beats: Vec<BeatenReport>,
}

impl<'a> Explanation<'a> {
    fn labels(&self) -> impl Iterator<Item = &'a ResolvedLabel> {
        let only = self.only;
        let wanted = move |label: &&ResolvedLabel| only.is_none_or(|key| label.key.as_str() == key);
        self.resolution.labels.iter().filter(wanted)
    }

    fn removed(&self) -> impl Iterator<Item = &'a Removed> {
        let only = self.only;
        let wanted = move |removed: &&Removed| only.is_none_or(|key| removed.key.as_str() == key);
        self.resolution.removed.iter().filter(wanted)
    }

    fn proof(&self, label: &ResolvedLabel) -> Vec<String> {
        route_proof(self.flavour, &label.key, label.route)
    }

    fn origin(&self, source: Source, span: Span) -> Origin {
        Origin::new(self.site, self.sources, source, span)
    }

    fn beats(&self, beaten: &[Beaten]) -> Vec<BeatenReport> {
        BeatenReport::all(self.site, self.sources, beaten)
    }

    /// The source that chose the pool; `None` where the labels did.
    fn pool_source(&self) -> Option<(Source, Span)> {
        match self.resolution.pool.as_ref()?.1 {
            PoolSource::Pinned(source, span) => Some((source, span)),
            PoolSource::Rule(index) => {
                let rule = self.site.rules.get(index as usize)?;
                let span = rule.pool.as_ref().map_or(rule.name.span, |pool| pool.span);
                Some((Source::Rule(index), span))
            }
            PoolSource::Selector => None,
        }
    }

    fn place(&self, span: Span) -> String {
        self.sources.location(span).without_column()
    }

    fn head(&self) -> String {
        let node = &self.resolution.node;
        let node = format!("node {node}   {}", self.place(self.resolution.span));
        let pool = match (self.resolution.pool_name(), self.pool_source()) {
            (None, _) => "no pool".to_owned(),
            (Some(pool), None) => format!("pool {pool}   its selector matches the labels"),
            (Some(pool), Some((source, span))) => {
                let source = self.site.describe(source);
                format!("pool {pool}   chosen by {source}   {}", self.place(span))
            }
        };
        format!("{}\n{}\n", printable(&node), printable(&pool))
    }

    fn beaten_trees(&self, beaten: &[Beaten]) -> Vec<Tree> {
        beaten
            .iter()
            .map(|beaten| {
                let source = self.site.describe(beaten.source);
                let says = beaten
                    .value
                    .as_ref()
                    .map_or_else(|| "removes it".to_owned(), |value| format!("says `{value}`"));
                let place = self.place(beaten.span);
                Tree::new(&format!("beats {source}, which {says}   {place}"))
            })
            .collect()
    }

    fn label_tree(&self, label: &ResolvedLabel) -> Tree {
        let source = self.site.describe(label.source);
        let winner = format!("from {source}   {}", self.place(label.span));
        let route = format!("reaches the node by route {}", label.route);
        let proof = self.proof(label);
        Tree::new(&format!("{}={}", label.key, label.value)).with([
            Tree::new(&winner).with(self.beaten_trees(&label.beats)),
            Tree::new(&route).with(proof.iter().map(|sentence| Tree::new(sentence))),
        ])
    }

    fn removed_tree(&self, removed: &Removed) -> Tree {
        let source = self.site.describe(removed.source);
        let winner = format!("removed by {source}   {}", self.place(removed.span));
        Tree::new(&format!("{} is not set", removed.key))
            .with([Tree::new(&winner).with(self.beaten_trees(&removed.beats))])
    }
}

impl Serialize for Explanation<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let labels = self.labels().map(|label| LabelReport {
            key: label.key.as_str(),
            value: label.value.as_str(),
            origin: self.origin(label.source, label.span),
            beats: self.beats(&label.beats),
            route: label.route,
            proof: self.proof(label),
        });
        let removed = self.removed().map(|removed| RemovedReport {
            key: removed.key.as_str(),
            origin: self.origin(removed.source, removed.span),
            beats: self.beats(&removed.beats),
        });
        let report = NodeReport {
            node: &self.resolution.node,
            pool: self.resolution.pool_name(),
            pool_source: self.pool_source().map(|(source, span)| self.origin(source, span)),
            labels: labels.collect(),
            removed: removed.collect(),
            diagnostics: self
                .resolution
                .diagnostics
                .iter()
                .map(|diagnostic| Finding::new(self.sources, diagnostic))
                .collect(),
        };
        report.serialize(serializer)
    }
}

impl Report for Explanation<'_> {
    fn text(&self, _wide: bool) -> String {
        let mut text = self.head();
        let labels = self.labels().map(|label| self.label_tree(label));
        let removed = self.removed().map(|removed| self.removed_tree(removed));
        for tree in labels.chain(removed) {
            let _ = write!(text, "\n{tree}");
        }
        text
    }

    fn names(&self) -> Vec<String> {
        self.labels()
            .map(|label| format!("{}={}", label.key, label.value))
            .collect()
    }
}
