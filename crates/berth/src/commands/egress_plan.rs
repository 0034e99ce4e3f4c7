//! `berth egress plan`: which node hosts each egress address.

use std::{fmt::Write as _, io::Read};

use berth_documents::Diagnostic;
use berth_placement::{EGRESS_ASSIGNABLE, names_rule, refusal_reason};
use berth_site::{EgressFindings, Placement, Resolver};
use serde::Serialize;

use crate::{
    args::EgressPlanArgs,
    exit::Exit,
    failure::Failure,
    findings::Finding,
    output::{Printer, Report, Table, printable},
    places,
};

/// Runs the command.
pub(crate) fn run(args: &EgressPlanArgs, stdin: &mut dyn Read, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let loaded = places::read(&args.places, stdin, printer)?;
    let resolver = Resolver::new(&loaded.site, args.places.flavour.of(&loaded.site));
    let resolutions = resolver.resolve_all();
    let placement = Placement::new(&resolver, &resolutions);
    let egress = placement.egress();
    let unplaced = egress.plan.addresses.iter().any(|address| address.best.is_none());
    if args.write.is_some() && egress.plan.label.is_empty() && !egress.plan.addresses.is_empty() {
        // A rule for no node would be applied and never noticed.
        printer.error("no node can host any of the egress addresses, so no rule is written")?;
    } else if let Some(path) = &args.write {
        let names: Vec<&str> = egress.plan.label.iter().map(String::as_str).collect();
        let rule = names_rule("egress-assignable", &names, &[(EGRESS_ASSIGNABLE, "")]);
        places::write_documents(printer, path, &[rule])?;
    } else {
        let finding = |diagnostic: &Diagnostic| Finding::new(&loaded.sources, diagnostic);
        let report = PlanReport {
            addresses: addresses(&placement, &egress, &finding),
            label: egress.plan.label.clone(),
            findings: egress.beside.iter().map(finding).collect(),
        };
        printer.report(args.output.format, &report)?;
    }
    let mut diagnostics = egress.beside;
    diagnostics.extend(egress.addresses.into_iter().flatten());
    let structured = args.output.format.is_structured() && args.write.is_none();
    let exit = places::show(printer, &loaded, &resolver, &resolutions, diagnostics, structured)?;
    Ok(if unplaced { exit.max(Exit::No) } else { exit })
}

fn addresses(
    placement: &Placement<'_>,
    egress: &EgressFindings,
    finding: &dyn Fn(&Diagnostic) -> Finding,
) -> Vec<AddressReport> {
    let name = |index: u32| placement.nodes.get(index as usize).map(|node| node.name.clone());
    let objects = &placement.site().egress_ips;
    egress
        .plan
        .addresses
        .iter()
        .zip(&egress.addresses)
        .map(|(plan, findings)| AddressReport {
            egressip: objects
                .get(plan.egress_ip)
                .map(|object| object.name.value.to_string())
                .unwrap_or_default(),
            address: plan.written.clone(),
            feasible: plan.feasible.iter().filter_map(|index| name(*index)).collect(),
            refused: plan
                .refused
                .iter()
                .filter_map(|(index, refusal)| {
                    let node = placement.nodes.get(*index as usize)?;
                    Some(Refused {
                        node: node.name.clone(),
                        reason: refusal_reason(*refusal, node, plan),
                    })
                })
                .collect(),
            greedy: plan.greedy.and_then(name),
            best: plan.best.and_then(name),
            findings: findings.iter().map(finding).collect(),
        })
        .collect()
}

/// The plan. The fields are a contract.
#[derive(Debug, Serialize)]
struct PlanReport {
    addresses: Vec<AddressReport>,
    label: Vec<String>,
    findings: Vec<Finding>,
}

#[derive(Debug, Serialize)]
struct AddressReport {
    egressip: String,
    address: String,
    feasible: Vec<String>,
    refused: Vec<Refused>,
    greedy: Option<String>,
    best: Option<String>,
    findings: Vec<Finding>,
}

#[derive(Debug, Serialize)]
struct Refused {
    node: String,
    reason: String,
}

impl Report for PlanReport {
    fn text(&self, wide: bool) -> String {
        let mut table = Table::new(["EGRESSIP", "ADDRESS", "CAN HOST", "OVN TAKES", "BEST", "FINDINGS"]);
        for address in &self.addresses {
            table.row([
                address.egressip.clone(),
                address.address.clone(),
                address.feasible.len().to_string(),
                address.greedy.clone().unwrap_or_default(),
                address.best.clone().unwrap_or_default(),
                address.findings.len().to_string(),
            ]);
        }
        let mut text = table.to_string();
        if !self.label.is_empty() {
            let _ = writeln!(
                text,
                "\nsmallest set of nodes to label {EGRESS_ASSIGNABLE}: {}",
                self.label.join(", ")
            );
        }
        if wide {
            for address in &self.addresses {
                let _ = writeln!(
                    text,
                    "\n{} {}",
                    printable(&address.egressip),
                    printable(&address.address)
                );
                for node in &address.feasible {
                    let _ = writeln!(text, "  + {node}");
                }
                for refused in &address.refused {
                    let _ = writeln!(text, "  - {}: {}", refused.node, printable(&refused.reason));
                }
            }
        }
        text
    }

    fn names(&self) -> Vec<String> {
        self.label.iter().map(|node| format!("node/{node}")).collect()
    }
}
