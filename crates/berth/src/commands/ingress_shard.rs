//! `berth ingress shard`: a shard whose routers run on the nodes of a remote site.

use std::{io::Read, path::Path};

use berth_documents::emit::to_yaml_documents;
use berth_placement::{
    IngressController, Ports, ProblemKind, REMOTE_WORKER, Shard, check_ingress, haproxy_config, shard,
};
use berth_site::{Placement, Resolver};
use serde::Serialize;
use serde_json::Value;

use crate::{
    args::{Format, IngressShardArgs},
    exit::Exit,
    failure::Failure,
    output::{Printer, Report, counted},
    places,
};

/// Runs the command.
pub(crate) fn run(args: &IngressShardArgs, stdin: &mut dyn Read, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let loaded = places::read(&args.places, stdin, printer)?;
    let resolver = Resolver::new(&loaded.site, args.places.flavour.of(&loaded.site));
    let resolutions = resolver.resolve_all();
    let placement = Placement::new(&resolver, &resolutions);
    let made = shard(&placement.nodes, &placement.pools, &args.remote, &args.domain)
        .ok_or_else(|| unknown_site(&loaded.site, &args.remote))?;
    let commands = overwrites(&placement, &made, &args.remote);
    let report = ShardReport {
        route_label: format!("{}={}", made.route_label.0, made.route_label.1),
        nodes: made
            .nodes
            .iter()
            .filter_map(|index| Some(placement.nodes.get(*index)?.name.clone()))
            .collect(),
        haproxy: haproxy_config(&args.domain, &made.servers, Ports::default()),
        ingress_controller: made.ingress_controller.clone(),
        rule: made.rule.clone(),
        commands,
    };
    if args.haproxy.as_deref() == Some(Path::new("-")) {
        printer.data(&report.haproxy)?;
    } else {
        match args.format {
            Format::Yaml => printer.data(&report.documents())?,
            format => printer.report(format, &report)?,
        }
    }
    match &args.haproxy {
        Some(path) if path != Path::new("-") => places::write_text(printer, path, &report.haproxy)?,
        Some(_) => {}
        None if args.format.is_structured() && args.format != Format::Yaml => {}
        None => printer.hint("`--haproxy FILE` writes the configuration of the machine in front")?,
    }
    if !report.commands.is_empty() {
        printer.warning(&format!(
            "the platform has set {REMOTE_WORKER} to an empty value on {} when they registered. Berth does not change labels that \
             others set, so the shard selects no such node until its label has the value `{}`",
            counted(report.commands.len(), "installed node"),
            args.remote
        ))?;
        for command in &report.commands {
            printer.hint(command)?;
        }
    }
    for name in made
        .nodes
        .iter()
        .filter_map(|index| placement.nodes.get(*index))
        .filter(|node| node.primary.is_empty())
    {
        printer.warning(&format!(
            "no address of node `{}` is known, so it is not in the HAProxy configuration",
            name.name
        ))?;
    }
    judge(args, &loaded.site, &placement, &made, printer)?;
    places::show(printer, &loaded, &resolver, &resolutions, Vec::new(), false)
}

/// The commands that give installed nodes the value: the platform set the empty label at registration, so a rule conflicts with it. The
/// kubelet sets it only when it creates the Node, so the value stays.
fn overwrites(placement: &Placement<'_>, made: &Shard, site: &str) -> Vec<String> {
    let nodes = made.nodes.iter().filter_map(|index| placement.nodes.get(*index));
    nodes
        .filter(|node| placement.is_foreign_label(&node.name, REMOTE_WORKER, ""))
        .map(|node| format!("oc label node {} {REMOTE_WORKER}={site} --overwrite", node.name))
        .collect()
}

/// What the shard would run into beside the controllers that are there.
fn judge(
    args: &IngressShardArgs,
    site: &berth_site::Site,
    placement: &Placement<'_>,
    made: &Shard,
    printer: &mut Printer<'_>,
) -> Result<(), Failure> {
    let mut nodes = placement.nodes.clone();
    for index in &made.nodes {
        if let Some(node) = nodes.get_mut(*index) {
            node.labels.insert(REMOTE_WORKER.to_owned(), args.remote.clone());
        }
    }
    let selector = |pointer: &str| {
        let value = made.ingress_controller.pointer(pointer).cloned();
        value.and_then(|value| serde_json::from_value(value).ok())
    };
    let mut controllers: Vec<IngressController> = site
        .ingress_controllers
        .iter()
        .map(|document| document.controller.clone())
        .filter(|controller| controller.name != args.remote)
        .collect();
    controllers.push(IngressController {
        name: args.remote.clone(),
        domain: Some(args.domain.clone()),
        replicas: u32::try_from(made.nodes.len().min(2)).ok(),
        node_selector: selector("/spec/nodePlacement/nodeSelector"),
        route_selector: selector("/spec/routeSelector"),
        ..IngressController::default()
    });
    let answers = check_ingress(&nodes, &controllers, &placement.ingress_context());
    let last = answers.len().saturating_sub(1);
    for (index, answer) in answers.iter().enumerate() {
        for problem in &answer.problems {
            // Of the others only what the shard's labels bring about.
            if index == last || problem.kind == ProblemKind::IngressOutsideVip {
                printer.warning(&problem.message)?;
                if let Some(help) = &problem.help {
                    printer.hint(help)?;
                }
            }
        }
    }
    Ok(())
}

fn unknown_site(site: &berth_site::Site, name: &str) -> Failure {
    let known: Vec<&str> = site
        .cluster()
        .into_iter()
        .flat_map(|cluster| &cluster.remote_sites)
        .map(|site| &*site.name.value)
        .collect();
    if known.contains(&name) {
        return Failure::Argument {
            message: format!("no node stands in the remote site `{name}`"),
            hint: Some("a node stands there that has an address in one of its networks".to_owned()),
        };
    }
    Failure::Unknown {
        what: "remote site",
        name: name.to_owned(),
        problem: "is not in the Cluster document".to_owned(),
        close: berth_site::close_matches(name, known)
            .into_iter()
            .map(str::to_owned)
            .collect(),
    }
}

/// The answer. The fields are a contract.
#[derive(Debug, Serialize)]
struct ShardReport {
    ingress_controller: Value,
    rule: Value,
    route_label: String,
    nodes: Vec<String>,
    haproxy: String,
    /// What to run for nodes whose label the platform has set already.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    commands: Vec<String>,
}

impl ShardReport {
    fn documents(&self) -> String {
        let mut first = String::new();
        if !self.commands.is_empty() {
            first.push_str("# Run first, since the platform has set the label on installed nodes:\n");
        }
        for command in &self.commands {
            first.extend(["#   ", command, "\n"]);
        }
        format!(
            "{first}# Routes of this shard have the label {}\n{}",
            self.route_label,
            to_yaml_documents(&[self.ingress_controller.clone(), self.rule.clone()])
        )
    }
}

impl Report for ShardReport {
    fn text(&self, _wide: bool) -> String {
        self.documents()
    }

    fn names(&self) -> Vec<String> {
        self.nodes.iter().map(|node| format!("node/{node}")).collect()
    }
}
