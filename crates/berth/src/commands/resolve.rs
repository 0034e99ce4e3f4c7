//! `berth resolve`: the pool and the labels of every node.

use std::{collections::BTreeMap, io::Read};

use berth_documents::Sources;
use berth_labels::Route;
use berth_site::{PoolSource, Resolution, Resolver, Site, check};
use serde::Serialize;

use crate::{
    args::ResolveArgs,
    exit::Exit,
    failure::Failure,
    findings::{self, Finding},
    output::{Printer, Report, Table},
    provenance::{Provenance, label_list},
    site::{Loaded, resolve_named},
};

/// Runs the command.
pub(crate) fn run(args: &ResolveArgs, stdin: &mut dyn Read, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let loaded = Loaded::read(&args.files.paths, stdin)?;
    let resolver = Resolver::new(&loaded.site, args.flavour.of(&loaded.site));
    let resolutions = resolve_named(&resolver, &args.nodes)?;
    let report = ResolveReport {
        sources: &loaded.sources,
        site: &loaded.site,
        resolutions: &resolutions,
    };
    printer.report(args.output.format, &report)?;

    let mut diagnostics = check(&loaded.sources, &resolver, &resolutions);
    diagnostics.extend_from_slice(&loaded.diagnostics);
    findings::show_errors(printer, &loaded.sources, diagnostics)
}

struct ResolveReport<'a> {
    sources: &'a Sources,
    site: &'a Site,
    resolutions: &'a [Resolution],
}

/// The answer for one node. The fields are a contract.
#[derive(Serialize)]
struct NodeReport<'a> {
    node: &'a str,
    pool: Option<&'a str>,
    labels: BTreeMap<&'a str, &'a str>,
    provenance: BTreeMap<&'a str, Provenance>,
    routes: BTreeMap<&'a str, Route>,
    diagnostics: Vec<Finding>,
}

impl<'a> ResolveReport<'a> {
    fn node(&self, resolution: &'a Resolution) -> NodeReport<'a> {
        let labels = || resolution.labels.iter();
        NodeReport {
            node: &resolution.node,
            pool: resolution.pool_name(),
            labels: labels()
                .map(|label| (label.key.as_str(), label.value.as_str()))
                .collect(),
            provenance: labels()
                .map(|label| {
                    let provenance = Provenance::new(self.site, self.sources, label);
                    (label.key.as_str(), provenance)
                })
                .collect(),
            routes: labels().map(|label| (label.key.as_str(), label.route)).collect(),
            diagnostics: resolution
                .diagnostics
                .iter()
                .map(|diagnostic| Finding::new(self.sources, diagnostic))
                .collect(),
        }
    }

    fn pool_from(&self, resolution: &Resolution) -> String {
        match resolution.pool.as_ref().map(|(_, source)| *source) {
            None => String::new(),
            Some(PoolSource::Selector) => "selector".to_owned(),
            Some(PoolSource::Pinned(source, _)) => self.site.source_name(source),
            Some(PoolSource::Rule(rule)) => self.site.source_name(berth_site::Source::Rule(rule)),
        }
    }
}

impl Serialize for ResolveReport<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.resolutions.iter().map(|node| self.node(node)))
    }
}

impl Report for ResolveReport<'_> {
    fn text(&self, wide: bool) -> String {
        let mut table = if wide {
            Table::new(["NODE", "POOL", "POOL-FROM", "ROUTES", "LABELS"])
        } else {
            Table::new(["NODE", "POOL", "LABELS", "ROUTES"])
        };
        for resolution in self.resolutions {
            let node = resolution.node.to_string();
            let pool = resolution.pool_name().unwrap_or_default().to_owned();
            let routes = routes(resolution);
            if wide {
                let from = self.pool_from(resolution);
                table.row([node, pool, from, routes, label_list(resolution)]);
            } else {
                table.row([node, pool, resolution.labels.len().to_string(), routes]);
            }
        }
        table.to_string()
    }

    fn names(&self) -> Vec<String> {
        self.resolutions
            .iter()
            .map(|resolution| format!("node/{}", resolution.node))
            .collect()
    }
}

/// How many labels go by each route: `boot:5,preregister:1`.
fn routes(resolution: &Resolution) -> String {
    let mut counts: BTreeMap<Route, usize> = BTreeMap::new();
    for label in &resolution.labels {
        *counts.entry(label.route).or_default() += 1;
    }
    let counts: Vec<String> = counts.iter().map(|(route, count)| format!("{route}:{count}")).collect();
    counts.join(",")
}
