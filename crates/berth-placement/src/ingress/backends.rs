//! An `HAProxy` configuration that people have, compared with the nodes that may run routers.

use std::{collections::BTreeSet, net::IpAddr, ops::Range};

use super::{IngressAnswer, IngressContext, IngressController, NAMED, Ports, host_ports};
use crate::{
    node::PlacementNode,
    problem::{PlacementProblem, ProblemKind},
};

/// Where routers say whether they take connections.
const HEALTH: &str = "/healthz/ready";

/// A `backend` or `listen` section with servers.
#[derive(Debug, Default)]
struct Backend {
    name: String,
    /// The bytes of its first line.
    at: Range<usize>,
    servers: Vec<Target>,
    /// What of the health check the section says for all its servers.
    check: bool,
    check_port: Option<u16>,
    asks_http: bool,
    asks_for_readiness: bool,
}

/// A `server` line.
#[derive(Debug)]
struct Target {
    name: String,
    address: Option<IpAddr>,
    port: Option<u16>,
    at: Range<usize>,
    check: bool,
    check_port: Option<u16>,
}

/// What is wrong with an `HAProxy` configuration in front of one controller's routers: each problem with the bytes of the text it is
/// about. Sections that send nothing to the controller's ports are left alone.
pub fn check_backends(
    config: &str,
    nodes: &[PlacementNode],
    controller: &IngressController,
    answer: &IngressAnswer,
    context: &IngressContext,
) -> Vec<(Range<usize>, PlacementProblem)> {
    let Some(ports) = host_ports(controller, context) else {
        return Vec::new();
    };
    let usable: Vec<&PlacementNode> = answer.usable.iter().filter_map(|index| nodes.get(*index)).collect();
    let own = |address: IpAddr| usable.iter().any(|node| has(node, address));
    let mut problems = Vec::new();
    let backends: Vec<Backend> = sections(config)
        .into_iter()
        .filter(|backend| {
            let to_routers = |server: &Target| {
                let port = server
                    .port
                    .is_some_and(|port| port == ports.http || port == ports.https);
                port && server.address.is_some_and(own)
            };
            backend.servers.iter().any(to_routers)
        })
        .collect();
    for backend in &backends {
        members(controller, nodes, &usable, backend, &mut problems);
        health(backend, ports, &mut problems);
    }
    problems
}

/// Sections that send to the ports of routers on nodes of the cluster, none of which may run a router of any controller: whoever asks
/// there gets no answer.
pub fn stray_backends(
    config: &str,
    nodes: &[PlacementNode],
    controllers: &[IngressController],
    answers: &[IngressAnswer],
    context: &IngressContext,
) -> Vec<(Range<usize>, PlacementProblem)> {
    let ports: BTreeSet<u16> = controllers
        .iter()
        .filter_map(|controller| host_ports(controller, context))
        .flat_map(|ports| [ports.http, ports.https])
        .collect();
    let usable: Vec<&PlacementNode> = answers
        .iter()
        .flat_map(|answer| &answer.usable)
        .filter_map(|index| nodes.get(*index))
        .collect();
    // Where a selector cannot be read nobody knows where its routers are.
    if usable.is_empty() || answers.iter().any(|answer| answer.error.is_some()) {
        return Vec::new();
    }
    let mut problems = Vec::new();
    for backend in sections(config) {
        let targets = || {
            let asked = |server: &&Target| server.port.is_some_and(|port| ports.contains(&port));
            backend.servers.iter().filter(asked).filter_map(|server| server.address)
        };
        let whose = |address: IpAddr| nodes.iter().find(|node| has(node, address));
        let Some(node) = targets().find_map(whose) else {
            continue;
        };
        if targets().any(|address| usable.iter().any(|node| has(node, address))) {
            continue;
        }
        let message = format!(
            "`{}` sends to `{}` and to no node on which a router may run",
            backend.name, node.name
        );
        let names: Vec<&str> = usable.iter().take(NAMED).map(|node| node.name.as_str()).collect();
        let help = format!("routers may run on {}", names.join(", "));
        problems.push((backend.at.clone(), problem(message, help)));
    }
    problems
}

fn has(node: &PlacementNode, address: IpAddr) -> bool {
    node.host_addresses()
        .any(|own| own.to_canonical() == address.to_canonical())
}

/// Compares the servers with the nodes.
fn members(
    controller: &IngressController,
    nodes: &[PlacementNode],
    usable: &[&PlacementNode],
    backend: &Backend,
    problems: &mut Vec<(Range<usize>, PlacementProblem)>,
) {
    let served: BTreeSet<IpAddr> = backend.servers.iter().filter_map(|server| server.address).collect();
    let missing: Vec<&str> = usable
        .iter()
        .filter(|node| !served.iter().any(|address| has(node, *address)))
        .map(|node| node.name.as_str())
        .collect();
    if !missing.is_empty() {
        let named = missing.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        let more = match missing.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let message = format!(
            "`{}` has no server for {named}{more}, where routers of ingress controller `{}` may run: connections do not reach them",
            backend.name, controller.name
        );
        problems.push((
            backend.at.clone(),
            problem(message, "add a server line for every node that may run the router"),
        ));
    }
    for server in &backend.servers {
        let Some(address) = server.address else { continue };
        if usable.iter().any(|node| has(node, address)) {
            continue;
        }
        let whose = nodes.iter().find(|node| has(node, address)).map_or_else(
            || "no node has the address".to_owned(),
            |node| format!("`{}` runs none", node.name),
        );
        let message = format!(
            "server `{}` of `{}` never has a router of ingress controller `{}`: {whose}",
            server.name, backend.name, controller.name
        );
        problems.push((server.at.clone(), problem(message, "remove the server line")));
    }
}

/// Without the router's own answer connections go to nodes without a router.
fn health(backend: &Backend, ports: Ports, problems: &mut Vec<(Range<usize>, PlacementProblem)>) {
    let checks = |server: &Target| {
        (server.check || backend.check) && server.check_port.or(backend.check_port) == Some(ports.stats)
    };
    let missing = if !backend.servers.iter().all(checks) {
        format!("its servers are not checked on port {}", ports.stats)
    } else if !backend.asks_http {
        "it has no `option httpchk`".to_owned()
    } else if !backend.asks_for_readiness {
        format!("its check does not ask for {HEALTH}")
    } else {
        return;
    };
    let message = format!(
        "`{}` does not see whether a node has a router that takes connections: {missing}",
        backend.name
    );
    let help = format!(
        "write `option httpchk`, `http-check send meth GET uri {HEALTH}` and `default-server check port {}`",
        ports.stats
    );
    problems.push((backend.at.clone(), problem(message, help)));
}

fn problem(message: String, help: impl Into<String>) -> PlacementProblem {
    PlacementProblem::new(ProblemKind::IngressBackends, message).with_help(help)
}

/// Reads the sections. What is not known is skipped: `haproxy -c` is the judge of the rest.
fn sections(config: &str) -> Vec<Backend> {
    let mut found: Vec<Backend> = Vec::new();
    let mut defaults = Backend::default();
    let mut open = Section::Other;
    let mut at = 0;
    for line in config.split_inclusive('\n') {
        let range = at..at + line.trim_end().len();
        at += line.len();
        let text = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = text.split_whitespace().collect();
        match words.as_slice() {
            ["backend" | "listen", name, ..] => {
                open = Section::Backend;
                found.push(Backend {
                    name: (*name).to_owned(),
                    at: range,
                    servers: Vec::new(),
                    ..defaults
                });
            }
            ["defaults", ..] => {
                open = Section::Defaults;
                defaults = Backend::default();
            }
            [
                "global" | "frontend" | "resolvers" | "peers" | "userlist" | "program" | "cache" | "mailers",
                ..,
            ] => {
                open = Section::Other;
            }
            words => match (&open, found.last_mut()) {
                (Section::Backend, Some(backend)) => backend.line(words, range),
                (Section::Defaults, _) => defaults.line(words, range),
                _ => {}
            },
        }
    }
    found
}

enum Section {
    Backend,
    Defaults,
    Other,
}

impl Backend {
    fn line(&mut self, words: &[&str], at: Range<usize>) {
        match words {
            ["server", name, target, options @ ..] => {
                let (address, port) = address_of(target);
                let (check, check_port) = check_of(options);
                self.servers.push(Target {
                    name: (*name).to_owned(),
                    address,
                    port,
                    at,
                    check,
                    check_port,
                });
            }
            ["default-server", options @ ..] => {
                let (check, port) = check_of(options);
                self.check |= check;
                self.check_port = port.or(self.check_port);
            }
            ["option", "httpchk", rest @ ..] => {
                self.asks_http = true;
                self.asks_for_readiness |= rest.contains(&HEALTH);
            }
            ["http-check", "send", rest @ ..] => self.asks_for_readiness |= rest.contains(&HEALTH),
            _ => {}
        }
    }
}

/// `10.0.0.1:443`, `[fd00::1]:443`, `fd00::1:443` or a name, which is nobody's address.
fn address_of(target: &str) -> (Option<IpAddr>, Option<u16>) {
    let Some((host, port)) = target.rsplit_once(':') else {
        return (target.parse().ok(), None);
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    (host.parse().ok(), port.parse().ok())
}

fn check_of(options: &[&str]) -> (bool, Option<u16>) {
    let port = options.windows(2).find_map(|pair| match pair {
        ["port", port] => port.parse().ok(),
        _ => None,
    });
    (options.contains(&"check"), port)
}
