//! `berth rehearse`: a change played through before it is made.

use std::{fmt::Write as _, fs, io::Read, time::Duration};

use berth_pools::{
    Consequences, Ending, ForecastInput, OutageKind, Rehearsal, Script, compare, format_duration, rehearsal_svg,
    rehearse,
};
use berth_site::close_matches;
use serde::Serialize;

use super::forecast::at;
use crate::{
    args::RehearseArgs,
    exit::Exit,
    failure::Failure,
    files,
    origin::Origin,
    output::{Printer, Report, Table, counted},
    rollouts,
};

/// So many names are spelled out in a sentence; the rest is counted.
const NAMES_IN_A_SENTENCE: usize = 5;

/// Runs the command.
pub(crate) fn run(
    args: &RehearseArgs,
    stdin: &mut dyn Read,
    origin: &Origin<'_>,
    printer: &mut Printer<'_>,
) -> Result<Exit, Failure> {
    let script = script(args)?;
    let change = &args.change;
    rollouts::change(change, stdin, printer, |input, site, printer| {
        check_names(&script, input)?;
        let rehearsal = rehearse(input, &script);
        let consequences =
            (!script.events.is_empty()).then(|| compare(&rehearse(input, &Script::default()), &rehearsal));
        if let Some(path) = &change.svg {
            files::write_whole(path, &rehearsal_svg(input, &rehearsal, &origin.of(site)))?;
        }
        let report = RehearsalReport {
            rehearsal: &rehearsal,
            consequences,
            journal: args.journal,
        };
        printer.report(change.output.format, &report)?;
        Ok(rehearsal.fits_window)
    })
}

fn script(args: &RehearseArgs) -> Result<Script, Failure> {
    let mut script = Script::default();
    if let Some(path) = &args.scenario {
        let text = fs::read_to_string(path).map_err(|source| Failure::ReadFile {
            path: path.clone(),
            source,
        })?;
        script = Script::parse(&text).map_err(|error| Failure::Unusable(format!("{}: {error}", path.display())))?;
    }
    for text in &args.fail {
        script.fail(text).map_err(|problem| Failure::Argument {
            message: format!("--fail {text}: {problem}"),
            hint: None,
        })?;
    }
    Ok(script)
}

/// A name that means nothing would be a failure that never happens.
fn check_names(script: &Script, input: &ForecastInput) -> Result<(), Failure> {
    let (nodes, pools) = script.named();
    let known = |name: &str| {
        input.pools.iter().any(|pool| {
            pool.rollout.nodes.iter().any(|node| node.name == name) || pool.joining.iter().any(|node| node.name == name)
        })
    };
    if let Some(name) = nodes.into_iter().find(|name| !known(name)) {
        let pools = input.pools.iter();
        let names = pools.flat_map(|pool| {
            let moving = pool.rollout.nodes.iter().map(|node| node.name.as_str());
            moving.chain(pool.joining.iter().map(|node| node.name.as_str()))
        });
        return Err(Failure::Unknown {
            what: "node",
            name: name.to_owned(),
            problem: "does not exist".to_owned(),
            close: close_matches(name, names).into_iter().map(str::to_owned).collect(),
        });
    }
    let unknown = pools
        .into_iter()
        .find(|name| !input.pools.iter().any(|pool| pool.rollout.pool == *name));
    match unknown {
        Some(name) => Err(Failure::Unknown {
            what: "pool",
            name: name.to_owned(),
            problem: "is not in the site".to_owned(),
            close: input.pools.iter().map(|pool| pool.rollout.pool.clone()).collect(),
        }),
        None => Ok(()),
    }
}

#[derive(Serialize)]
struct RehearsalReport<'a> {
    #[serde(flatten)]
    rehearsal: &'a Rehearsal,
    /// What the scenario changed.
    consequences: Option<Consequences>,
    #[serde(skip)]
    journal: bool,
}

impl Report for RehearsalReport<'_> {
    fn text(&self, wide: bool) -> String {
        let mut text = String::new();
        if self.journal {
            let _ = writeln!(text, "{}", self.steps());
        }
        let _ = write!(text, "{}", if wide { self.nodes() } else { self.spans() });
        let _ = write!(text, "\n{}{}\n{}", self.pools(), self.left(), self.verdict());
        text
    }

    fn names(&self) -> Vec<String> {
        let outages = self.rehearsal.pools.iter().flat_map(|pool| &pool.outages);
        outages.map(|outage| format!("node/{}", outage.node)).collect()
    }
}

impl RehearsalReport<'_> {
    fn steps(&self) -> Table {
        let mut table = Table::new(["AT", "WHO", "WHAT"]);
        for moment in &self.rehearsal.journal {
            table.row([&*at(moment.at), &moment.who, &moment.what]);
        }
        table
    }

    /// Nodes that are out from the same moment to the same moment, and for the same reason, share a row: those that join
    /// do not count among those that may be unavailable.
    fn spans(&self) -> Table {
        let mut table = Table::new(["POOL", "OUT FROM", "UNTIL", "WHY", "NODES"]);
        for pool in &self.rehearsal.pools {
            let mut spans: Vec<(Duration, String, &str, Vec<&str>)> = Vec::new();
            for outage in &pool.outages {
                let (until, why) = (until(outage), why(outage));
                let same = spans
                    .iter_mut()
                    .find(|(start, end, reason, _)| *start == outage.start && *end == until && *reason == why);
                match same {
                    Some((.., nodes)) => nodes.push(&outage.node),
                    None => spans.push((outage.start, until, why, vec![&outage.node])),
                }
            }
            for (start, end, why, nodes) in spans {
                table.row([&*pool.pool, &at(start), &end, why, &nodes.join(",")]);
            }
        }
        table
    }

    fn nodes(&self) -> Table {
        let mut table = Table::new(["POOL", "NODE", "WHY", "OUT FROM", "REBOOT", "UNTIL", "REBOOTS"]);
        for pool in &self.rehearsal.pools {
            for outage in &pool.outages {
                table.row([
                    pool.pool.clone(),
                    outage.node.clone(),
                    why(outage).to_owned(),
                    at(outage.start),
                    outage.reboot.map(at).unwrap_or_default(),
                    until(outage),
                    outage.reboots.to_string(),
                ]);
            }
        }
        table
    }

    fn pools(&self) -> Table {
        let mut table = Table::new(["POOL", "PAUSED", "MAX UNAVAILABLE", "MOST OUT", "REBOOTS", "FINISH"]);
        for pool in &self.rehearsal.pools {
            table.row([
                pool.pool.clone(),
                pool.paused.to_string(),
                pool.max_unavailable.to_string(),
                pool.most_out.to_string(),
                pool.reboots.to_string(),
                at(pool.finish),
            ]);
        }
        table
    }

    fn left(&self) -> String {
        let mut table = Table::new(["POOL", "LEFT BEHIND", "REASON"]);
        let mut any = false;
        for pool in &self.rehearsal.pools {
            for waiting in &pool.left {
                any = true;
                table.row([&pool.pool, &waiting.node, &waiting.reason]);
            }
        }
        if any { format!("\n{table}") } else { String::new() }
    }

    fn verdict(&self) -> String {
        let rehearsal = self.rehearsal;
        let reboots: u32 = rehearsal.pools.iter().map(|pool| pool.reboots).sum();
        let left: usize = rehearsal.pools.iter().map(|pool| pool.left.len()).sum();
        let reboots = counted(usize::try_from(reboots).unwrap_or(usize::MAX), "reboot");
        let finish = format_duration(rehearsal.finish);
        let mut text = match left {
            0 => format!("{reboots}, done after {finish}\n"),
            1 => format!("{reboots}, all others done after {finish}; 1 node does not complete\n"),
            _ => format!("{reboots}, all others done after {finish}; {left} nodes do not complete\n"),
        };
        if let Some(consequences) = &self.consequences {
            text.push_str(&told(consequences));
        }
        if let Some(verdict) = rehearsal.verdict() {
            let _ = writeln!(text, "{verdict}");
        }
        if let Some(at_window) = &rehearsal.at_window {
            if !at_window.out.is_empty() {
                let _ = writeln!(text, "  still out when it closes: {}", some(&at_window.out));
            }
            if !at_window.not_begun.is_empty() {
                let _ = writeln!(text, "  not begun when it closes: {}", some(&at_window.not_begun));
            }
            let last = at(at_window.last_start);
            let _ = writeln!(text, "  a node that starts after {last} is not back in time");
        }
        text
    }
}

/// What the scenario changed, in a sentence.
fn told(consequences: &Consequences) -> String {
    let mut text = format!(
        "without the failures: done after {}",
        format_duration(consequences.finish_without)
    );
    if let Some(longest) = consequences.later.first() {
        let names: Vec<String> = consequences.later.iter().map(|delayed| delayed.node.clone()).collect();
        let _ = write!(
            text,
            "; later, by up to {}: {}",
            format_duration(longest.by),
            some(&names)
        );
    }
    if !consequences.never.is_empty() {
        let _ = write!(text, "; never done: {}", some(&consequences.never));
    }
    text.push('\n');
    text
}

/// Why a node is out.
fn why(outage: &berth_pools::Outage) -> &'static str {
    match outage.kind {
        OutageKind::Moving => "moves",
        OutageKind::New => "joins",
        OutageKind::Power => "no power",
    }
}

fn until(outage: &berth_pools::Outage) -> String {
    match (outage.end, outage.ending) {
        (Some(end), Ending::Refused) => format!("{} (as it was)", at(end)),
        (Some(end), _) => at(end),
        (None, Ending::Draining) => "drains on".to_owned(),
        (None, Ending::Off) => "no power".to_owned(),
        (None, _) => "lost".to_owned(),
    }
}

fn some(names: &[String]) -> String {
    let (shown, rest) = names.split_at(names.len().min(NAMES_IN_A_SENTENCE));
    let shown = shown.join(", ");
    match rest.len() {
        0 => shown,
        count => format!("{shown} and {count} more"),
    }
}
