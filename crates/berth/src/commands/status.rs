//! `berth status`: pools, berths, drift and conflicts of a cluster.

use berth_clock::Clock;
use berth_cluster::{
    doctor::{NO_DAEMON, few_names},
    summary,
};
use berth_decide::{BerthSummary, PoolSummary, Summary, TroubledNode};
use serde::Serialize;

use crate::{
    args::StatusArgs,
    cluster::{connect, unanswered},
    exit::Exit,
    failure::Failure,
    output::{Printer, Report, Table, printable},
};

/// Runs the command.
pub(crate) fn run(args: &StatusArgs, clock: &Clock, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::Runtime)?;
    let summary = runtime.block_on(async {
        let client = connect(&args.cluster).await?;
        summary(&client, clock.now()).await.map_err(unanswered)
    })?;
    let drifted = summary.berths.iter().any(BerthSummary::has_drifted);
    printer.report(args.output.format, &StatusReport(summary))?;
    Ok(if drifted { Exit::No } else { Exit::Done })
}

/// Nodes that nobody changes, although their pool has a config for them.
fn no_daemon(pool: &PoolSummary) -> Option<String> {
    let nodes = few_names(&pool.silent)?;
    Some(format!(
        "{}: no node daemon answers on {nodes}, so nothing changes there; {NO_DAEMON}",
        pool.name
    ))
}

#[derive(Debug, Serialize)]
#[serde(transparent)]
struct StatusReport(Summary);

impl Report for StatusReport {
    fn text(&self, wide: bool) -> String {
        let mut pools = Table::new(["POOL", "BERTHS", "READY"]);
        for pool in &self.0.pools {
            pools.row([pool.name.clone(), pool.berths.to_string(), pool.ready.to_string()]);
        }
        let mut berths = Table::new(["BERTH", "NODE", "POOL", "PHASE", "READY", "REASON"]);
        let mut messages = String::new();
        for berth in &self.0.berths {
            berths.row([
                berth.name.clone(),
                berth.node.clone(),
                berth.pool.clone().unwrap_or_default(),
                berth.phase.to_owned(),
                if berth.ready { "True" } else { "False" }.to_owned(),
                berth.reason.clone(),
            ]);
            if berth.has_drifted() || berth.is_held_back() || (wide && !berth.ready) {
                messages.extend([&berth.name, ": ", &berth.message, "\n"]);
            }
        }
        let mut text = format!("{pools}\n{berths}");
        if !messages.is_empty() {
            text.extend(["\n", &messages]);
        }
        for pool in &self.0.pools {
            if let Some(words) = no_daemon(pool) {
                text.extend(["\n", &words, "\n"]);
            }
        }
        let mut last = "";
        for TroubledNode { node, pool, trouble } in &self.0.troubled {
            if last.is_empty() {
                text.push_str("\nnodes in trouble:\n");
            }
            if last != node {
                text.extend(["  ", node, " (", pool, ")\n"]);
                last = node;
            }
            text.extend([
                "    ",
                trouble.step,
                ": ",
                &printable(&trouble.message),
                "\n      ",
                &trouble.advice,
                "\n",
            ]);
        }
        if !self.0.without_berth.is_empty() {
            text.extend(["\nwithout a Berth: ", &self.0.without_berth.join(", "), "\n"]);
        }
        text
    }

    fn names(&self) -> Vec<String> {
        self.0
            .berths
            .iter()
            .map(|berth| format!("berth/{}", berth.name))
            .collect()
    }
}
