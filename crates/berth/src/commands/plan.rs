//! `berth plan`: what would change on the live nodes.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read,
};

use berth_labels::{Conflict, ConflictPolicy};
use berth_site::{NodePlan, Plan, Presence, Resolver, Strategy, Totals, check};
use serde::Serialize;

use crate::{
    args::PlanArgs,
    exit::Exit,
    failure::Failure,
    findings,
    output::{Printer, Report, Table, counted},
    site::{Loaded, stdin_once},
};

/// Runs the command.
pub(crate) fn run(args: &PlanArgs, stdin: &mut dyn Read, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    stdin_once(&args.files.paths, Some(&args.nodes))?;
    let mut loaded = Loaded::read(&args.files.paths, stdin)?;
    // The file says what is live; a Node among the documents is an older observation.
    loaded.site.observed = loaded.observe(&args.nodes, stdin, printer)?;
    let resolver = Resolver::new(&loaded.site, args.flavour.flavour.into());
    let resolutions = resolver.resolve_all();
    let strategy = if args.promenade {
        Strategy::Promenade
    } else {
        Strategy::Owned(ConflictPolicy::default())
    };
    let plan = berth_site::plan(&resolver, &resolutions, strategy);
    printer.report(args.output.format, &PlanReport(&plan))?;

    if !args.promenade && plan.totals.is_mass_removal() {
        printer.warning(&format!(
            "this removes {} of {} that Berth owns; check that the documents are complete",
            plan.totals.removed,
            counted(plan.totals.owned, "label")
        ))?;
    }
    let mut diagnostics = check(&resolver, &resolutions);
    diagnostics.extend_from_slice(&loaded.diagnostics);
    let exit = findings::show_errors(printer, &loaded.sources, diagnostics)?;
    let conflicts = plan.totals.conflicts > 0;
    Ok(if conflicts { exit.max(Exit::No) } else { exit })
}

struct PlanReport<'a>(&'a Plan);

/// The plan. The fields are a contract.
#[derive(Serialize)]
struct PlanJson<'a> {
    nodes: Vec<NodeJson<'a>>,
    totals: TotalsJson,
}

/// The plan for one node. The fields are a contract.
#[derive(Serialize)]
struct NodeJson<'a> {
    node: &'a str,
    set: &'a BTreeMap<String, String>,
    remove: &'a BTreeSet<String>,
    keep: &'a BTreeSet<String>,
    conflicts: &'a [Conflict],
    pool_before: Option<&'a str>,
    pool_after: Option<&'a str>,
    reboot: bool,
    reason: &'a str,
}

/// The sums. The fields are a contract.
#[derive(Serialize)]
struct TotalsJson {
    nodes: usize,
    changing: usize,
    awaited: usize,
    undeclared: usize,
    set: usize,
    changed: usize,
    removed: usize,
    conflicts: usize,
    moves: usize,
    reboots: usize,
    owned: usize,
}

impl Serialize for PlanReport<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let nodes = self.0.nodes.iter().map(|plan| NodeJson {
            node: &plan.node,
            set: &plan.set,
            remove: &plan.remove,
            keep: &plan.keep,
            conflicts: &plan.conflicts,
            pool_before: plan.pool_before.as_deref(),
            pool_after: plan.pool_after.as_deref(),
            reboot: plan.reboot.needed,
            reason: &plan.reboot.reason,
        });
        let json = PlanJson {
            nodes: nodes.collect(),
            totals: totals_json(self.0.totals),
        };
        json.serialize(serializer)
    }
}

impl Report for PlanReport<'_> {
    fn text(&self, wide: bool) -> String {
        let table = if wide { self.wide_table() } else { self.table() };
        format!("{table}\n{}\n", sentence(&self.0.totals))
    }

    fn names(&self) -> Vec<String> {
        self.0.nodes.iter().map(|plan| format!("node/{}", plan.node)).collect()
    }
}

impl PlanReport<'_> {
    fn table(&self) -> Table {
        let mut table = Table::new([
            "NODE",
            "STATE",
            "POOL",
            "SET",
            "CHANGE",
            "REMOVE",
            "KEEP",
            "CONFLICTS",
            "REBOOT",
        ]);
        for plan in &self.0.nodes {
            let counts = [
                plan.set.len().saturating_sub(plan.changed.len()),
                plan.changed.len(),
                plan.remove.len(),
                plan.keep.len(),
                plan.conflicts.len(),
            ];
            let mut row = vec![plan.node.to_string(), state(plan).to_owned(), pool(plan)];
            row.extend(counts.map(|count| count.to_string()));
            row.push(reboot(plan).to_owned());
            table.row(row);
        }
        table
    }

    fn wide_table(&self) -> Table {
        let mut table = Table::new([
            "NODE",
            "STATE",
            "POOL",
            "SET",
            "CHANGE",
            "REMOVE",
            "CONFLICTS",
            "REBOOT",
            "REASON",
        ]);
        for plan in &self.0.nodes {
            let written = |changed: bool| {
                let labels: Vec<String> = plan
                    .set
                    .iter()
                    .filter(|(key, _)| plan.changed.contains(*key) == changed)
                    .map(|(key, value)| format!("{key}={value}"))
                    .collect();
                labels.join(",")
            };
            let removed: Vec<&str> = plan.remove.iter().map(String::as_str).collect();
            let conflicts: Vec<&str> = plan.conflicts.iter().map(|conflict| conflict.key.as_str()).collect();
            table.row([
                plan.node.to_string(),
                state(plan).to_owned(),
                pool(plan),
                written(false),
                written(true),
                removed.join(","),
                conflicts.join(","),
                reboot(plan).to_owned(),
                plan.reboot.reason.clone(),
            ]);
        }
        table
    }
}

fn state(plan: &NodePlan) -> &'static str {
    match plan.presence {
        Presence::Registered => "registered",
        Presence::Awaited => "awaited",
        Presence::Undeclared => "undeclared",
    }
}

fn pool(plan: &NodePlan) -> String {
    let before = plan.pool_before.as_deref().unwrap_or("<none>");
    let after = plan.pool_after.as_deref().unwrap_or("<none>");
    if before == after || plan.presence == Presence::Awaited {
        after.to_owned()
    } else {
        format!("{before}->{after}")
    }
}

fn reboot(plan: &NodePlan) -> &'static str {
    if plan.reboot.needed { "yes" } else { "no" }
}

fn totals_json(totals: Totals) -> TotalsJson {
    // Without `..`: a new sum must be printed too.
    let Totals {
        nodes,
        changing,
        awaited,
        undeclared,
        set,
        changed,
        removed,
        conflicts,
        moves,
        reboots,
        owned,
    } = totals;
    TotalsJson {
        nodes,
        changing,
        awaited,
        undeclared,
        set,
        changed,
        removed,
        conflicts,
        moves,
        reboots,
        owned,
    }
}

/// The sums in words.
fn sentence(totals: &Totals) -> String {
    format!(
        "{}, {} to change: {} set, {} changed, {} removed, {}; {}, {}; {} awaited, {} undeclared",
        counted(totals.nodes, "node"),
        totals.changing,
        counted(totals.set, "label"),
        totals.changed,
        totals.removed,
        counted(totals.conflicts, "conflict"),
        counted(totals.moves, "pool move"),
        counted(totals.reboots, "reboot"),
        totals.awaited,
        totals.undeclared,
    )
}
