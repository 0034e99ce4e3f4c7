//! `berth pools`: which pool each node is in.

use std::{
    collections::{BTreeMap, HashMap},
    io::Read,
    sync::Arc,
};

use berth_pools::{Membership, MembershipError, NodeLabelView};
use berth_site::{ObservedNode, Resolution, Resolver, Subject, check};
use serde::Serialize;

use crate::{
    args::PoolsArgs,
    exit::Exit,
    failure::Failure,
    findings,
    output::{Printer, Report, Table},
    site::{Loaded, stdin_once},
};

/// Runs the command.
pub(crate) fn run(args: &PoolsArgs, stdin: &mut dyn Read, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    stdin_once(&args.files.paths, args.nodes.as_deref())?;
    let mut loaded = Loaded::read(&args.files.paths, stdin)?;
    let observed = match &args.nodes {
        Some(path) => Some(loaded.observe(path, stdin, printer)?),
        None => None,
    };
    // Membership is the same for all flavours, but what is found wrong on the way is not.
    let resolver = Resolver::new(&loaded.site, loaded.site.flavour_for(None));
    let mut diagnostics = loaded.diagnostics.clone();
    let report = match &observed {
        Some(nodes) => PoolsReport(live(resolver.membership(), nodes)),
        None => {
            let resolutions = resolver.resolve_all();
            diagnostics.extend(check(&loaded.sources, &resolver, &resolutions));
            PoolsReport(to_be(&resolver, &resolutions))
        }
    };
    printer.report(args.output.format, &report)?;
    let exit = findings::show_errors(printer, &loaded.sources, diagnostics)?;
    let failed = report.0.iter().any(|node| node.error.is_some());
    Ok(if failed { exit.max(Exit::No) } else { exit })
}

fn live(membership: &Membership, nodes: &[ObservedNode]) -> Vec<NodeReport> {
    let mut nodes: Vec<_> = nodes
        .iter()
        .map(|node| NodeReport::new(membership, &node.name.value, &node.labels))
        .collect();
    nodes.sort_by(|a, b| a.node.cmp(&b.node));
    nodes
}

/// Nodes of the documents with the labels they will have. What was observed counts only for a node that nobody
/// declares: a declared node may be about to leave the pool it was seen in.
fn to_be(resolver: &Resolver<'_>, resolutions: &[Resolution]) -> Vec<NodeReport> {
    let observed: HashMap<&str, &ObservedNode> = resolver
        .site()
        .observed
        .iter()
        .map(|node| (&*node.name.value, node))
        .collect();
    resolutions
        .iter()
        .map(|resolution| {
            let declared = resolver.subject(&resolution.node).is_some_and(Subject::is_declared);
            let mut labels = match observed.get(&*resolution.node) {
                Some(node) if !declared => node.labels.clone(),
                _ => BTreeMap::new(),
            };
            labels.extend(resolution.label_set().to_map());
            NodeReport::new(resolver.membership(), &resolution.node, &labels)
        })
        .collect()
}

/// The answer for one node. The fields are a contract.
#[derive(Debug, Serialize)]
struct NodeReport {
    node: String,
    pool: Option<String>,
    pools: Vec<String>,
    /// The custom pools between which OpenShift does not choose; only there with an error.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    candidates: Vec<String>,
    error: Option<String>,
}

impl NodeReport {
    fn new(membership: &Membership, node: &str, labels: &impl NodeLabelView) -> Self {
        let owned = |pools: &[Arc<str>]| {
            pools
                .iter()
                .map(|pool| pool.as_ref().to_owned())
                .collect::<Vec<String>>()
        };
        let (pools, candidates, error) = match membership.of(node, labels) {
            Ok(placement) => (owned(&placement.pools), Vec::new(), None),
            Err(error) => {
                let MembershipError::SeveralCustomPools { pools, .. } = &error;
                (Vec::new(), owned(pools), Some(error.to_string()))
            }
        };
        Self {
            node: node.to_owned(),
            pool: pools.first().cloned(),
            pools,
            candidates,
            error,
        }
    }
}

#[derive(Debug, Serialize)]
struct PoolsReport(Vec<NodeReport>);

impl Report for PoolsReport {
    fn text(&self, wide: bool) -> String {
        let failed = self.0.iter().any(|node| node.error.is_some());
        let mut headers = vec!["NODE", "POOL"];
        if wide {
            headers.push("POOLS");
        }
        if failed {
            headers.push("ERROR");
        }
        let mut table = Table::new(headers);
        for node in &self.0 {
            let mut row = vec![node.node.clone(), node.pool.clone().unwrap_or_default()];
            if wide {
                row.push(node.pools.join(","));
            }
            if failed {
                let pools = node.candidates.join(", ");
                row.push(
                    node.error
                        .as_ref()
                        .map_or_else(String::new, |error| format!("{error} (pools {pools})")),
                );
            }
            table.row(row);
        }
        table.to_string()
    }

    fn names(&self) -> Vec<String> {
        self.0.iter().map(|node| format!("node/{}", node.node)).collect()
    }
}
