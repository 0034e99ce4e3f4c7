//! `berth ingress rewrite`: rejected selectors, expressed with a label of their own.

use std::{io::Read, path::Path};

use berth_placement::{Rewrite, rewrite};
use berth_site::{Placement, Resolver};
use serde::Serialize;
use serde_json::Value;

use crate::{
    args::{Format, IngressRewriteArgs},
    exit::Exit,
    failure::Failure,
    output::{Printer, Report, Table},
    places,
};

/// Runs the command.
pub(crate) fn run(args: &IngressRewriteArgs, stdin: &mut dyn Read, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let loaded = places::read(&args.places, stdin, printer)?;
    let resolver = Resolver::new(&loaded.site, args.places.flavour.of(&loaded.site));
    let resolutions = resolver.resolve_all();
    let placement = Placement::new(&resolver, &resolutions);
    let mut rewrites = Vec::new();
    let (mut hopeless, mut empty) = (Vec::new(), Vec::new());
    for document in &loaded.site.ingress_controllers {
        let refused = document
            .controller
            .node_selector
            .as_ref()
            .is_some_and(|selector| selector.to_map().is_err());
        match rewrite(
            &placement.nodes,
            &document.controller,
            &document.document,
            &placement.pools,
        ) {
            Some(made) => {
                for (short, whole) in &made.whole_names {
                    printer.warning(&format!(
                        "ingress controller `{}` selects host name `{short}`, which no node has: the rewrite is for `{whole}`",
                        made.controller
                    ))?;
                }
                // A rule for no node would be printed, applied and never noticed.
                if made.nodes.is_empty() {
                    empty.push(made.controller);
                } else {
                    rewrites.push(RewriteReport::new(made, &placement));
                }
            }
            None if refused => hopeless.push(document.name.value.to_string()),
            None => {}
        }
    }
    let report = RewritesReport(rewrites);
    match args.format {
        Format::Yaml => {
            let documents: Vec<Value> = report
                .0
                .iter()
                .flat_map(|made| [made.rule.clone(), made.ingress_controller.clone()])
                .collect();
            places::write_documents(printer, Path::new("-"), &documents)?;
        }
        format => printer.report(format, &report)?,
    }
    if report.0.is_empty() && hopeless.is_empty() && empty.is_empty() {
        printer.hint("every selector can be converted, so there is nothing to rewrite")?;
    }
    for name in &empty {
        printer.error(&format!(
            "the selector of ingress controller `{name}` selects no node, so there is nothing to rewrite"
        ))?;
        printer.hint("compare it with the names and labels of the nodes: `berth resolve` shows them")?;
    }
    for name in &hopeless {
        printer.error(&format!(
            "the selector of ingress controller `{name}` is invalid, so it cannot be rewritten"
        ))?;
    }
    let exit = places::show(printer, &loaded, &resolver, &resolutions, Vec::new(), false)?;
    let done = hopeless.is_empty() && empty.is_empty();
    Ok(if done { exit } else { exit.max(Exit::No) })
}

/// The way out for one controller. The fields are a contract.
#[derive(Debug, Serialize)]
struct RewriteReport {
    controller: String,
    label: String,
    nodes: Vec<String>,
    rule: Value,
    ingress_controller: Value,
}

impl RewriteReport {
    fn new(made: Rewrite, placement: &Placement<'_>) -> Self {
        Self {
            nodes: made
                .nodes
                .iter()
                .filter_map(|index| Some(placement.nodes.get(*index)?.name.clone()))
                .collect(),
            controller: made.controller,
            label: made.label,
            rule: made.rule,
            ingress_controller: made.ingress_controller,
        }
    }
}

#[derive(Debug, Serialize)]
struct RewritesReport(Vec<RewriteReport>);

impl Report for RewritesReport {
    fn text(&self, _wide: bool) -> String {
        let mut table = Table::new(["CONTROLLER", "LABEL", "NODES"]);
        for made in &self.0 {
            table.row([made.controller.clone(), made.label.clone(), made.nodes.join(",")]);
        }
        table.to_string()
    }

    fn names(&self) -> Vec<String> {
        self.0
            .iter()
            .map(|made| format!("ingresscontroller/{}", made.controller))
            .collect()
    }
}
