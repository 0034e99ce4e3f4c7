//! `berth plan`: what would change on the live nodes.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    io::Read,
};

use berth_decide::{LabelPolicy, NodePlan, Plan, Presence, Strategy, Totals};
use berth_labels::Conflict;
use berth_site::{Resolver, check};
use serde::Serialize;

use crate::{
    args::PlanArgs,
    exit::Exit,
    failure::Failure,
    findings,
    output::{Printer, Report, Table, counted, printable},
    rollouts,
    site::{Loaded, stdin_once},
};

/// Runs the command.
pub(crate) fn run(args: &PlanArgs, stdin: &mut dyn Read, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    stdin_once(&args.files.paths, Some(&args.nodes))?;
    let mut loaded = Loaded::read(&args.files.paths, stdin)?;
    // The file says what is live; a Node among the documents is an older observation.
    loaded.site.observed = loaded.observe(&args.nodes, stdin, printer)?;
    let resolver = Resolver::new(&loaded.site, args.flavour.of(&loaded.site));
    let resolutions = resolver.resolve_all();
    let strategy = if args.promenade {
        Strategy::Promenade
    } else {
        Strategy::Owned
    };
    let plan = berth_decide::plan(&resolver, &resolutions, strategy, &LabelPolicy::default());
    printer.report(args.output.format, &PlanReport(&plan))?;

    if let Some(removed) = rollouts::mass_removal(&plan.totals).filter(|_| !args.promenade) {
        printer.warning(&format!("{removed}; check that the documents are complete"))?;
    }
    let mut diagnostics = check(&loaded.sources, &resolver, &resolutions);
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
        let table = self.table(wide);
        let details = if wide { self.details() } else { String::new() };
        format!("{table}\n{details}{}\n", sentence(&self.0.totals))
    }

    fn names(&self) -> Vec<String> {
        self.0.nodes.iter().map(|plan| format!("node/{}", plan.node)).collect()
    }
}

impl PlanReport<'_> {
    fn table(&self, wide: bool) -> Table {
        let mut headers = vec![
            "NODE",
            "STATE",
            "POOL",
            "SET",
            "CHANGE",
            "REMOVE",
            "KEEP",
            "CONFLICTS",
            "REBOOT",
        ];
        if wide {
            headers.push("REASON");
        }
        let mut table = Table::new(headers);
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
            if wide {
                row.push(plan.reboot.reason.clone());
            }
            table.row(row);
        }
        table
    }

    /// Every label that is written or in conflict, below its node: `+` set, `~` changed, `-` removed, `!` in conflict.
    fn details(&self) -> String {
        let mut text = String::new();
        for plan in &self.0.nodes {
            let written = plan.set.iter().map(|(key, value)| {
                let sign = if plan.changed.contains(key) { '~' } else { '+' };
                format!("{sign} {key}={value}")
            });
            let removed = plan.remove.iter().map(|key| format!("- {key}"));
            let conflicts = plan.conflicts.iter().map(conflict_line);
            let lines: Vec<String> = written.chain(removed).chain(conflicts).collect();
            if lines.is_empty() {
                continue;
            }
            let _ = writeln!(text, "{}", printable(&plan.node));
            for line in lines {
                let _ = writeln!(text, "  {}", printable(&line));
            }
            text.push('\n');
        }
        text
    }
}

fn conflict_line(conflict: &Conflict) -> String {
    let live = conflict.live.as_deref().unwrap_or_default();
    match &conflict.declared {
        Some(declared) => format!("! {}: declared `{declared}`, somebody set `{live}`", conflict.key),
        None => format!("! {}: no longer declared, somebody set `{live}`", conflict.key),
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
