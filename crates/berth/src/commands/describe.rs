//! `berth describe`: one action, whole.

use std::fmt::Write as _;

use berth_api::{ActionDetail, Lifecycle, Strategy};
use serde::Serialize;

use super::relabel::joined;
use crate::{
    args::DescribeArgs,
    database,
    exit::Exit,
    failure::Failure,
    output::{Printer, Report, Table, printable},
    server::Answer,
    workflow::{Workflow, action_id, counts, state_word, summary, told},
};

/// Runs the command. The exit code is 1 when the action failed.
pub(crate) fn run(args: &DescribeArgs, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let id = action_id(&args.action.action)?;
    let workflow = Workflow::on(&args.action.server)?;
    let described = Described(database::wait(workflow.action(&id))?);
    let failed = described.0.action.action_lifecycle == Lifecycle::Failed;
    printer.report(args.output.format, &described)?;
    Ok(if failed { Exit::No } else { Exit::Done })
}

/// An action as it is shown.
pub(super) struct Described(pub(super) Answer<ActionDetail>);

impl Serialize for Described {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Report for Described {
    fn text(&self, wide: bool) -> String {
        let (detail, action) = (&*self.0, &self.0.action);
        let mut text = String::new();
        let revision = action.committed_rev_id.map(|revision| revision.to_string());
        for (name, value) in [
            ("Name", Some(action.name.as_str())),
            ("Action", Some(format!("action/{}", action.id).as_str())),
            ("Lifecycle", Some(action.action_lifecycle.as_str())),
            ("Revision", revision.as_deref()),
            ("Strategy", action.strategy.map(Strategy::as_str)),
            ("User", Some(action.user.as_str())),
            ("Created", Some(action.datetime.as_str())),
            ("Nodes", Some(summary(counts(detail)).as_str())),
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
        if !detail.nodes.is_empty() {
            let mut outcomes = if wide {
                Table::new(["NODE", "STATE", "OUTCOME", "PROTECTED"])
            } else {
                Table::new(["NODE", "STATE", "OUTCOME"])
            };
            for node in &detail.nodes {
                let node = &node.outcome;
                let mut cells = vec![node.name.clone(), state_word(node.state).to_owned(), told(node)];
                if wide {
                    cells.push(joined(&node.protected));
                }
                outcomes.row(cells);
            }
            let _ = write!(text, "\n{outcomes}");
        }
        if wide && !detail.command_audit.is_empty() {
            let mut commands = Table::new(["COMMAND", "USER", "TIME"]);
            for entry in &detail.command_audit {
                commands.row([entry.command.as_str(), &entry.user, &entry.datetime]);
            }
            let _ = write!(text, "\n{commands}");
        }
        text
    }

    fn names(&self) -> Vec<String> {
        vec![format!("action/{}", self.0.action.id)]
    }
}
