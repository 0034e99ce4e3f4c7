//! `berth ingress check`: where the routers of each controller can run.

use std::{collections::BTreeMap, io::Read};

use berth_site::{Placement, Resolver};
use serde::Serialize;

use crate::{
    args::IngressCheckArgs,
    exit::Exit,
    failure::Failure,
    files,
    findings::Finding,
    output::{Printer, Report, Table},
    places,
};

/// Runs the command.
pub(crate) fn run(args: &IngressCheckArgs, stdin: &mut dyn Read, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let mut loaded = places::read(&args.places, stdin, printer)?;
    let haproxy = match &args.haproxy {
        None => None,
        Some(path) => {
            let text = String::from_utf8_lossy(&files::read(path)?).into_owned();
            Some((loaded.sources.add(path.display().to_string(), text.as_str()), text))
        }
    };
    let resolver = Resolver::new(&loaded.site, args.places.flavour.of(&loaded.site));
    let resolutions = resolver.resolve_all();
    let placement = Placement::new(&resolver, &resolutions);
    let mut diagnostics = Vec::new();
    let mut controllers = Vec::new();
    let all = placement.ingress();
    let answers: Vec<_> = all.iter().map(|(answer, _)| answer.clone()).collect();
    for (index, (answer, mut findings)) in all.into_iter().enumerate() {
        if let Some((source, text)) = &haproxy {
            findings.extend(placement.load_balancer(index, &answer, *source, text));
            if index == 0 {
                findings.extend(placement.stray_backends(&answers, *source, text));
            }
        }
        controllers.push(ControllerReport {
            controller: answer.controller,
            map: answer.map,
            error: answer.error,
            nodes: answer
                .nodes
                .iter()
                .filter_map(|index| Some(placement.nodes.get(*index)?.name.clone()))
                .collect(),
            findings: findings
                .iter()
                .map(|finding| Finding::new(&loaded.sources, finding))
                .collect(),
        });
        diagnostics.extend(findings);
    }
    printer.report(args.output.format, &IngressReport(controllers))?;
    let structured = args.output.format.is_structured();
    places::show(printer, &loaded, &resolver, &resolutions, diagnostics, structured)
}

/// The answer for one controller. The fields are a contract.
#[derive(Debug, Serialize)]
struct ControllerReport {
    controller: String,
    map: Option<BTreeMap<String, String>>,
    error: Option<String>,
    nodes: Vec<String>,
    findings: Vec<Finding>,
}

#[derive(Debug, Serialize)]
struct IngressReport(Vec<ControllerReport>);

impl Report for IngressReport {
    fn text(&self, wide: bool) -> String {
        let mut headers = vec!["CONTROLLER", "SELECTOR", "NODES", "FINDINGS"];
        if wide {
            headers.push("NODE NAMES");
        }
        let mut table = Table::new(headers);
        for controller in &self.0 {
            let selector = controller.map.as_ref().map_or_else(
                || "refused".to_owned(),
                |map| {
                    let pairs: Vec<String> = map.iter().map(|(key, value)| format!("{key}={value}")).collect();
                    pairs.join(",")
                },
            );
            let mut row = vec![
                controller.controller.clone(),
                selector,
                controller.nodes.len().to_string(),
                controller.findings.len().to_string(),
            ];
            if wide {
                row.push(controller.nodes.join(","));
            }
            table.row(row);
        }
        table.to_string()
    }

    fn names(&self) -> Vec<String> {
        self.0
            .iter()
            .map(|controller| format!("ingresscontroller/{}", controller.controller))
            .collect()
    }
}
