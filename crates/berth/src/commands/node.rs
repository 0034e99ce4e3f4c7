//! `berth node`: what the daemon of one node does, and what can be done about it.

use std::fmt::Write as _;

use berth_clock::Clock;
use berth_cluster::{Inspection, MendOptions, inspect, mend};
use berth_daemon::announce;
use berth_decide::{
    NodePatch, NodeView,
    pools::{NodeTrouble, Repair},
};
use berth_nodes::{Hold, Nodes, WriteError};
use berth_pools::{Action, annotation};
use jiff::Timestamp;
use kube::Client;
use serde::Serialize;

use super::diff::{ChangeReport, change_report, list, table};
use crate::{
    args::{NodeArgs, NodeCommand, NodeForceArgs, NodeRepairArgs, NodeShowArgs},
    cluster::{connect, refused},
    database::wait,
    exit::Exit,
    failure::Failure,
    output::{Printer, Report, printable},
};

/// Runs the command.
pub(crate) fn run(args: &NodeArgs, clock: &Clock, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    match &args.command {
        NodeCommand::Show(args) => show(args, clock, printer),
        NodeCommand::Force(args) => force(args, clock, printer),
        NodeCommand::Repair(args) => repair_node(args, clock, printer),
    }
}

fn show(args: &NodeShowArgs, clock: &Clock, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let found = wait(async {
        let client = connect(&args.cluster).await?;
        look(&client, &args.name, clock.now()).await
    })?;
    let shown = Shown::new(found);
    printer.report(args.output.format, &shown)?;
    Ok(if shown.troubles.is_empty() {
        Exit::Done
    } else {
        Exit::No
    })
}

fn force(args: &NodeForceArgs, clock: &Clock, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let now = clock.now();
    wait(async {
        let client = connect(&args.cluster).await?;
        let found = look(&client, &args.name, now).await?;
        let patch = NodePatch {
            uid: Some(found.node.uid),
            annotations: [(announce::FORCE.to_owned(), Some(now.to_string()))].into(),
            ..NodePatch::default()
        };
        let nodes = Nodes::new(client, Hold::endless());
        let written = nodes.patch_metadata(&args.name, &patch, false).await;
        written.map_err(|error| failed("the change of the Node", error))
    })?;
    printer.note(&format!(
        "the daemon of {name} writes everything anew; `berth node show {name}` says how far it is",
        name = args.name
    ))?;
    Ok(Exit::Done)
}

fn repair_node(args: &NodeRepairArgs, clock: &Clock, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let repaired = wait(async {
        let client = connect(&args.cluster).await?;
        let found = look(&client, &args.name, clock.now()).await?;
        let options = MendOptions {
            dry_run: args.dry_run,
            delete_pods: args.delete_pods,
        };
        let mended = mend(&client, found, options).await;
        let mended = mended.map_err(|error| failed("the repair", error))?;
        Ok(Repaired {
            node: args.name.clone(),
            done: mended.done.iter().map(Repair::describe).collect(),
            left: mended.left,
            dry_run: args.dry_run,
        })
    })?;
    printer.report(args.output.format, &repaired)?;
    Ok(if repaired.left.is_empty() { Exit::Done } else { Exit::No })
}

async fn look(client: &Client, name: &str, now: Timestamp) -> Result<Inspection, Failure> {
    let found = inspect(client, name, now)
        .await
        .map_err(|error| failed("the node", error))?;
    found.ok_or_else(|| Failure::Unknown {
        what: "node",
        name: name.to_owned(),
        problem: "is not in the cluster".to_owned(),
        close: Vec::new(),
    })
}

fn failed(what: &str, error: WriteError) -> Failure {
    match error {
        WriteError::Refused(error) => refused(what, error),
        error => Failure::Unreachable {
            server: "the cluster's API server".to_owned(),
            reason: error.to_string(),
        },
    }
}

/// A node as it is shown.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    node: String,
    pool: Option<String>,
    /// The rendered config that its pool wants.
    target: Option<String>,
    current: Option<String>,
    desired: Option<String>,
    state: Option<String>,
    reason: Option<String>,
    rebooting: bool,
    cordoned: bool,
    /// The drain or uncordon that its daemon asks for, until it was carried out.
    drain: Option<String>,
    drift: Option<String>,
    /// What differs; `null`: one of the two configs is not in the cluster.
    changes: Option<Vec<ChangeReport>>,
    /// What all changes need together.
    actions: Vec<Action>,
    troubles: Vec<NodeTrouble>,
}

impl Shown {
    fn new(found: Inspection) -> Self {
        let node = &found.node;
        let drain = said(node, annotation::DESIRED_DRAIN);
        let applied = said(node, annotation::LAST_APPLIED_DRAIN);
        Self {
            node: node.name.clone(),
            target: found.pool.as_ref().and_then(|pool| pool.target.clone()),
            pool: found.pool.as_ref().map(|pool| pool.name.clone()),
            current: said(node, annotation::CURRENT_CONFIG),
            desired: said(node, annotation::DESIRED_CONFIG),
            state: said(node, annotation::STATE),
            reason: said(node, annotation::REASON),
            rebooting: said(node, annotation::POST_CONFIG_ACTION).is_some(),
            cordoned: node.unschedulable,
            drain: drain.filter(|asked| Some(asked) != applied.as_ref()),
            drift: said(node, announce::DRIFT),
            changes: found.changes.map(|changes| changes.iter().map(change_report).collect()),
            actions: found.actions.into_iter().collect(),
            troubles: found.troubles,
        }
    }

    /// What the daemon does, in a few words.
    fn doing(&self) -> String {
        let mut words = self.state.clone().unwrap_or_default();
        if self.rebooting {
            words.push_str(", about to be started again");
        }
        if let Some(drain) = &self.drain {
            words.extend([", waits for ", drain]);
        }
        if self.cordoned {
            words.push_str(", cordoned");
        }
        words
    }
}

fn said(node: &NodeView, key: &str) -> Option<String> {
    node.annotations.get(key).filter(|text| !text.is_empty()).cloned()
}

impl Report for Shown {
    fn text(&self, _wide: bool) -> String {
        let mut text = String::new();
        let or_none = |value: &Option<String>| value.clone().unwrap_or_else(|| "<none>".to_owned());
        for (name, value) in [
            ("Node", self.node.clone()),
            ("Pool", or_none(&self.pool)),
            ("Runs", or_none(&self.current)),
            ("Told", or_none(&self.desired)),
            ("Pool wants", or_none(&self.target)),
            ("State", self.doing()),
        ] {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{:<12}{}", format!("{name}:"), printable(&value));
        }
        if let Some(reason) = &self.reason {
            let _ = writeln!(text, "{:<12}{}", "Reason:", printable(reason));
        }
        match &self.changes {
            Some(changes) if !changes.is_empty() => {
                let _ = write!(text, "\n{}all together: {}\n", table(changes), list(&self.actions));
            }
            Some(_) => {}
            None => text.push_str("\nwhat differs is not known: one of the configs is not in the cluster\n"),
        }
        if let Some(drift) = &self.drift {
            let _ = write!(text, "\nnot as the config says:\n");
            for line in drift.lines() {
                let _ = writeln!(text, "  {}", printable(line));
            }
        }
        for trouble in &self.troubles {
            let _ = write!(
                text,
                "\n{}: {}\n  {}\n",
                trouble.step,
                printable(&trouble.message),
                trouble.advice
            );
        }
        text
    }

    fn names(&self) -> Vec<String> {
        vec![format!("node/{}", self.node)]
    }
}

/// What was put right.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Repaired {
    node: String,
    done: Vec<String>,
    /// What cannot be repaired from here.
    left: Vec<NodeTrouble>,
    dry_run: bool,
}

impl Report for Repaired {
    fn text(&self, _wide: bool) -> String {
        let mut text = String::new();
        let verb = if self.dry_run { "would repair" } else { "repaired" };
        for done in &self.done {
            let _ = writeln!(text, "{verb}: {done}");
        }
        for trouble in &self.left {
            let _ = writeln!(
                text,
                "left: {}: {}\n  {}",
                trouble.step,
                printable(&trouble.message),
                trouble.advice
            );
        }
        if text.is_empty() {
            text = format!("nothing keeps {} from going on\n", self.node);
        }
        text
    }

    fn names(&self) -> Vec<String> {
        vec![format!("node/{}", self.node)]
    }
}
