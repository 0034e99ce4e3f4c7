//! `berth rollout plan`: which nodes would move next.

use std::{collections::BTreeMap, io::Read};

use berth_decide::{LabelPolicy, Plan, Strategy};
use berth_pools::{ConditionStatus, NodeState, PoolRollout, RolloutPlan, plan_pools};
use berth_site::Resolver;
use serde::Serialize;

use crate::{
    args::RolloutPlanArgs,
    exit::Exit,
    failure::Failure,
    findings,
    output::{Printer, Report, Table, printable},
    rendering, rollouts,
    site::{Loaded, stdin_once},
};

/// Runs the command.
pub(crate) fn run(args: &RolloutPlanArgs, stdin: &mut dyn Read, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    stdin_once(&args.files.paths, Some(&args.nodes))?;
    let mut loaded = Loaded::read(&args.files.paths, stdin)?;
    let live = loaded.observe_states(&args.nodes, stdin, printer)?;
    loaded.site.observed = live.nodes;
    if let Some(pool) = &args.pool {
        rendering::known_pool([&loaded.site], pool)?;
    }
    let options = rendering::options(args.os_image_url.as_deref());
    let mut configs = rendering::render_pools(&loaded.site, None, &options)?;
    let flavour = args.flavour.of(&loaded.site);
    let resolver = Resolver::new(&loaded.site, flavour);
    let resolutions = resolver.resolve_all();
    let labels = berth_decide::plan(&resolver, &resolutions, Strategy::Owned, &LabelPolicy::default());

    let mut rollouts = rollouts::empty_rollouts(&configs, &loaded.configured);
    let torn = place(&mut rollouts, &resolver, live.states);
    leave(&mut rollouts, &labels);
    let mut plans = plan_pools(&rollouts);
    plans.retain(|plan| args.pool.as_ref().is_none_or(|pool| *pool == plan.pool));
    printer.report(args.output.format, &RolloutReport(&plans))?;

    rendering::show_warnings(printer, &configs)?;
    configs.retain(|config| args.pool.as_ref().is_none_or(|pool| pool == config.name()));
    rendering::show_name_notes(printer, &loaded.site, flavour, &configs)?;
    for error in &torn {
        printer.error(error)?;
    }
    let exit = findings::show_errors(printer, &loaded.sources, loaded.findings_without_nodes(&resolver))?;
    Ok(if torn.is_empty() { exit } else { exit.max(Exit::No) })
}

/// Puts the nodes into the pools that their live labels give. Nodes in two custom pools are in none, and reported.
fn place(rollouts: &mut [PoolRollout], resolver: &Resolver<'_>, nodes: Vec<NodeState>) -> Vec<String> {
    let mut torn = Vec::new();
    for node in nodes {
        match resolver.membership().of(&node.name, &node.labels) {
            Ok(placement) => {
                if let Some(pool) = placement.primary() {
                    rollouts::add_node(rollouts, pool, node);
                }
            }
            Err(error) => torn.push(error.to_string()),
        }
    }
    torn
}

/// Notes the nodes whose labels are about to move them elsewhere.
fn leave(rollouts: &mut [PoolRollout], labels: &Plan) {
    let moving: BTreeMap<(&str, &str), &str> = labels
        .nodes
        .iter()
        .filter(|node| node.pool_before != node.pool_after)
        .filter_map(|node| {
            let (before, after) = (node.pool_before.as_deref()?, node.pool_after.as_deref()?);
            Some(((before, &*node.node), after))
        })
        .collect();
    for rollout in rollouts {
        rollout.leaving = rollout
            .nodes
            .iter()
            .filter_map(|node| {
                let after = moving.get(&(rollout.pool.as_str(), node.name.as_str()))?;
                Some((node.name.clone(), (*after).to_owned()))
            })
            .collect();
    }
}

#[derive(Serialize)]
struct RolloutReport<'a>(&'a [RolloutPlan]);

impl Report for RolloutReport<'_> {
    fn text(&self, wide: bool) -> String {
        let mut headers = vec![
            "POOL",
            "TARGET",
            "PAUSED",
            "NODES",
            "UPDATED",
            "MAX UNAVAILABLE",
            "CAPACITY",
            "NEXT",
        ];
        if wide {
            headers.extend(["UNAVAILABLE", "CONDITIONS"]);
        }
        let mut table = Table::new(headers);
        for plan in self.0 {
            let mut row = vec![
                plan.pool.clone(),
                plan.target.clone().unwrap_or_default(),
                plan.paused.to_string(),
                plan.counts.machine.to_string(),
                plan.counts.updated.to_string(),
                plan.max_unavailable.to_string(),
                plan.capacity.to_string(),
                plan.candidates.join(","),
            ];
            if wide {
                row.push(plan.unavailable.join(","));
                row.push(holding(plan));
            }
            table.row(row);
        }
        format!("{table}{}", self.waiting())
    }

    fn names(&self) -> Vec<String> {
        let candidates = self.0.iter().flat_map(|plan| &plan.candidates);
        candidates.map(|node| format!("node/{node}")).collect()
    }
}

impl RolloutReport<'_> {
    fn waiting(&self) -> String {
        let mut table = Table::new(["POOL", "WAITING", "REASON"]);
        let mut any = false;
        for plan in self.0 {
            for waiting in &plan.waiting {
                any = true;
                table.row([plan.pool.as_str(), &waiting.node, &printable(&waiting.reason)]);
            }
        }
        if any { format!("\n{table}") } else { String::new() }
    }
}

/// The conditions that hold.
fn holding(plan: &RolloutPlan) -> String {
    let holding = plan
        .conditions
        .iter()
        .filter(|condition| condition.status == ConditionStatus::True);
    holding.map(|condition| condition.kind).collect::<Vec<_>>().join(",")
}
