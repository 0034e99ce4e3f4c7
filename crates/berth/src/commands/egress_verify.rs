//! `berth egress verify`: what the cluster does, beside what it will do.

use std::{collections::BTreeSet, io::Read, net::IpAddr};

use berth_documents::{Document, Node, Severity, Sources};
use berth_placement::{AddressPlan, refusal_reason};
use berth_site::{EgressIpDocument, Placement, Resolver, load};
use serde::Serialize;

use crate::{
    args::EgressVerifyArgs,
    exit::Exit,
    failure::Failure,
    input,
    output::{Printer, Report, Table, counted, excerpts},
    places,
    site::parse_all,
};

/// The label with which the operator says whose router a pod is.
const CONTROLLER: &str = "ingresscontroller.operator.openshift.io/deployment-ingresscontroller";

/// Runs the command.
pub(crate) fn run(args: &EgressVerifyArgs, stdin: &mut dyn Read, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let loaded = places::read(&args.places, stdin, printer)?;
    let texts = input::read_text(&args.observed, stdin).map_err(Failure::Input)?;
    let mut sources = Sources::new();
    let (documents, mut diagnostics) = parse_all(&mut sources, texts);
    let (observed, findings) = load(&sources, &documents);
    diagnostics.extend(findings);
    diagnostics.retain(|diagnostic| diagnostic.severity() == Severity::Error);
    if !diagnostics.is_empty() {
        printer.aside(&excerpts(&sources, &diagnostics))?;
        return Err(Failure::Argument {
            message: "what the cluster showed cannot be read".to_owned(),
            hint: Some("`--observed` takes what `kubectl get egressip -o yaml` prints".to_owned()),
        });
    }
    let resolver = Resolver::new(&loaded.site, args.places.flavour.of(&loaded.site));
    let resolutions = resolver.resolve_all();
    let placement = Placement::new(&resolver, &resolutions);
    let report = VerifyReport {
        addresses: addresses(&placement, &observed.egress_ips),
        routers: routers(&placement, &documents),
    };
    printer.report(args.output.format, &report)?;
    let moving = report.addresses.iter().filter(|address| !address.stays).count();
    let routers = report.routers.iter().filter(|router| !router.stays).count();
    if !args.output.format.is_structured() && moving + routers > 0 {
        printer.warning(&format!(
            "{} and {} do not stay; connections through an address that moves break",
            counted(moving, "address"),
            counted(routers, "router")
        ))?;
    }
    let exit = places::show(printer, &loaded, &resolver, &resolutions, Vec::new(), false)?;
    Ok(if moving + routers > 0 { exit.max(Exit::No) } else { exit })
}

fn addresses(placement: &Placement<'_>, observed: &[EgressIpDocument]) -> Vec<AddressReport> {
    let plan = placement.egress().plan;
    let name = |index: u32| placement.nodes.get(index as usize).map(|node| node.name.clone());
    let objects = &placement.site().egress_ips;
    let mut reports = Vec::new();
    let mut seen: BTreeSet<IpAddr> = BTreeSet::new();
    for object in observed {
        for (node, text) in &object.status {
            let address = text.value.parse::<IpAddr>().ok().map(|address| address.to_canonical());
            seen.extend(address);
            let planned = plan
                .addresses
                .iter()
                .find(|plan| plan.address.is_some() && plan.address == address);
            let (stays, to, reason) = match planned {
                None => (
                    false,
                    None,
                    Some("no document of the site describes the address".to_owned()),
                ),
                Some(plan) => judge(placement, plan, node),
            };
            reports.push(AddressReport {
                egressip: object.name.value.to_string(),
                address: text.value.clone(),
                node: Some(node.clone()),
                stays,
                to: to.and_then(name),
                reason,
            });
        }
    }
    for plan in &plan.addresses {
        if plan.address.is_none_or(|address| !seen.contains(&address)) {
            reports.push(AddressReport {
                egressip: objects
                    .get(plan.egress_ip)
                    .map(|object| object.name.value.to_string())
                    .unwrap_or_default(),
                address: plan.written.clone(),
                node: None,
                stays: false,
                to: plan.greedy.and_then(name),
                reason: Some("no node hosts it now".to_owned()),
            });
        }
    }
    reports.sort_by(|a, b| (&a.egressip, &a.address).cmp(&(&b.egressip, &b.address)));
    reports
}

/// Whether an address stays on its node, else where it goes and why.
fn judge(placement: &Placement<'_>, plan: &AddressPlan, node: &str) -> (bool, Option<u32>, Option<String>) {
    let at = |index: u32| placement.nodes.get(index as usize).filter(|found| found.name == node);
    if plan.feasible.iter().any(|index| at(*index).is_some()) {
        return (true, None, None);
    }
    let refused = plan
        .refused
        .iter()
        .find_map(|(index, refusal)| Some(refusal_reason(*refusal, at(*index)?, plan)));
    let reason = refused.unwrap_or_else(|| format!("there is no node `{node}`"));
    (false, plan.greedy, Some(reason))
}

fn routers(placement: &Placement<'_>, documents: &[Document]) -> Vec<RouterReport> {
    let answers = placement.ingress();
    let mut reports = Vec::new();
    for document in documents.iter().filter(|document| document.kind() == "Pod") {
        let Some(controller) = document
            .labels()
            .and_then(|labels| labels.get(CONTROLLER))
            .and_then(Node::as_str)
        else {
            continue;
        };
        let node = document.root.at(&["spec", "nodeName"]).and_then(Node::as_str);
        let answer = answers
            .iter()
            .map(|(answer, _)| answer)
            .find(|answer| answer.controller == controller);
        let index = node.and_then(|node| placement.nodes.iter().position(|found| found.name == node));
        let reason = match (answer, node, index) {
            (_, None, _) => Some("it runs on no node yet".to_owned()),
            (None, ..) => Some("no document of the site describes its controller".to_owned()),
            (Some(_), Some(node), None) => Some(format!("there is no node `{node}`")),
            (Some(answer), Some(_), Some(index)) if answer.usable.contains(&index) => None,
            (Some(answer), ..) if answer.error.is_some() => answer.error.clone(),
            (Some(answer), _, Some(index)) if answer.nodes.contains(&index) => {
                Some("taints or the remote-worker label keep it off the node".to_owned())
            }
            _ => Some("its controller does not select the node".to_owned()),
        };
        reports.push(RouterReport {
            pod: document.name().map(|(name, _)| name.to_owned()).unwrap_or_default(),
            controller: controller.to_owned(),
            node: node.map(str::to_owned),
            stays: reason.is_none(),
            reason,
        });
    }
    reports.sort_by(|a, b| (&a.controller, &a.pod).cmp(&(&b.controller, &b.pod)));
    reports
}

/// What stays and what moves. The fields are a contract.
#[derive(Debug, Serialize)]
struct VerifyReport {
    addresses: Vec<AddressReport>,
    routers: Vec<RouterReport>,
}

#[derive(Debug, Serialize)]
struct AddressReport {
    egressip: String,
    address: String,
    node: Option<String>,
    stays: bool,
    to: Option<String>,
    reason: Option<String>,
}

#[derive(Debug, Serialize)]
struct RouterReport {
    pod: String,
    controller: String,
    node: Option<String>,
    stays: bool,
    reason: Option<String>,
}

impl Report for VerifyReport {
    fn text(&self, _wide: bool) -> String {
        let word = |stays: bool| if stays { "stays" } else { "moves" }.to_owned();
        let mut table = Table::new(["KIND", "OWNER", "NAME", "NODE", "THEN", "TO", "REASON"]);
        for address in &self.addresses {
            table.row([
                "address".to_owned(),
                address.egressip.clone(),
                address.address.clone(),
                address.node.clone().unwrap_or_default(),
                word(address.stays),
                address.to.clone().unwrap_or_default(),
                address.reason.clone().unwrap_or_default(),
            ]);
        }
        for router in &self.routers {
            table.row([
                "router".to_owned(),
                router.controller.clone(),
                router.pod.clone(),
                router.node.clone().unwrap_or_default(),
                word(router.stays),
                String::new(),
                router.reason.clone().unwrap_or_default(),
            ]);
        }
        table.to_string()
    }

    fn names(&self) -> Vec<String> {
        let moving = self.addresses.iter().filter(|address| !address.stays);
        moving.map(|address| format!("egressip/{}", address.egressip)).collect()
    }
}
