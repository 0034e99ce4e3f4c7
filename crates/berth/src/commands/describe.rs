//! `berth describe`: one action, whole.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

use crate::{
    args::DescribeArgs,
    database,
    exit::Exit,
    failure::Failure,
    output::{Printer, Report, Table, printable},
    workflow::{Action, Workflow, action_id},
};

/// Runs the command. The exit code is 1 when the action failed.
pub(crate) fn run(args: &DescribeArgs, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let id = action_id(&args.action.action)?;
    let workflow = Workflow::on(&args.action.server)?;
    let described = Described::new(database::wait(workflow.action(&id))?)?;
    let failed = described.action.lifecycle() == "Failed";
    printer.report(args.output.format, &described)?;
    Ok(if failed { Exit::No } else { Exit::Done })
}

/// An action as it is shown, and as the server tells it.
pub(super) struct Described {
    document: Value,
    action: Action,
}

impl Described {
    pub(super) fn new(document: Value) -> Result<Self, Failure> {
        Ok(Self {
            action: Action::read(&document)?,
            document,
        })
    }
}

impl Serialize for Described {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.document.serialize(serializer)
    }
}

impl Report for Described {
    fn text(&self, wide: bool) -> String {
        let action = &self.action;
        let mut text = String::new();
        let revision = action.committed_rev_id.map(|revision| revision.to_string());
        for (name, value) in [
            ("Name", Some(action.name.as_str())),
            ("Action", Some(format!("action/{}", action.id).as_str())),
            ("Lifecycle", Some(action.lifecycle())),
            ("Revision", revision.as_deref()),
            ("Strategy", action.strategy.as_deref()),
            ("User", action.user.as_deref()),
            ("Created", action.datetime.as_deref()),
            ("Nodes", Some(action.summary().as_str())),
        ] {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{:<11}{}",
                format!("{name}:"),
                printable(value.unwrap_or("<none>"))
            );
        }
        let mut steps = Table::new(["STEP", "STATE"]);
        for step in &action.steps {
            steps.row([step.id.as_str(), step.state.as_deref().unwrap_or_default()]);
        }
        let _ = write!(text, "\n{steps}");
        let notes = action
            .notes
            .iter()
            .chain(action.steps.iter().flat_map(|step| &step.notes));
        let mut table = Table::new(["TIME", "NOTE"]);
        let mut any = false;
        for note in notes {
            table.row([&note.note_timestamp, &note.note_val]);
            any = true;
        }
        if any {
            let _ = write!(text, "\n{table}");
        }
        if !action.nodes.is_empty() {
            let mut outcomes = if wide {
                Table::new(["NODE", "STATE", "OUTCOME", "PROTECTED"])
            } else {
                Table::new(["NODE", "STATE", "OUTCOME"])
            };
            for node in &action.nodes {
                let mut cells = vec![node.name.clone(), node.state.to_string(), node.told()];
                if wide {
                    cells.push(node.protected.join(","));
                }
                outcomes.row(cells);
            }
            let _ = write!(text, "\n{outcomes}");
        }
        if wide && !action.command_audit.is_empty() {
            let mut commands = Table::new(["COMMAND", "USER", "TIME"]);
            for command in &action.command_audit {
                commands.row([
                    command.verb.as_str(),
                    command.user.as_deref().unwrap_or_default(),
                    command.datetime.as_deref().unwrap_or_default(),
                ]);
            }
            let _ = write!(text, "\n{commands}");
        }
        text
    }

    fn names(&self) -> Vec<String> {
        vec![format!("action/{}", self.action.id)]
    }
}
