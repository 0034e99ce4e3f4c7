//! `berth stop`, `berth pause`, `berth resume` and `berth retry`.

use berth_api::ActionDetail;
use serde::Serialize;

use super::relabel;
use crate::{
    args::{ControlArgs, Format, RetryArgs},
    database,
    exit::Exit,
    failure::Failure,
    output::{Printer, Report},
    server::Answer,
    workflow::{Workflow, action_id},
};

/// A word for a server, and what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Stop,
    Pause,
    Resume,
}

/// Runs one of the first three.
pub(crate) fn run(verb: Verb, args: &ControlArgs, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let id = action_id(&args.action.action)?;
    let workflow = Workflow::on(&args.action.server)?;
    let (word, done) = match verb {
        Verb::Stop => ("stop", "is being stopped: nodes that have begun are finished"),
        Verb::Pause => ("pause", "is paused: nodes that have begun are finished"),
        Verb::Resume => ("unpause", "goes on"),
    };
    database::wait(async {
        workflow.control(&id, word).await?;
        tell(&workflow, &id, done, args.output.format, printer).await
    })
}

/// Runs `berth retry`.
pub(crate) fn retry(args: &RetryArgs, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let id = action_id(&args.action.action)?;
    let workflow = Workflow::on(&args.action.server)?;
    database::wait(async {
        workflow.control(&id, "retry").await?;
        if args.wait {
            return relabel::to_the_end(&workflow, &id, args.output.format, printer).await;
        }
        let done = "runs again for the nodes that failed";
        tell(&workflow, &id, done, args.output.format, printer).await
    })
}

async fn tell(
    workflow: &Workflow,
    id: &str,
    done: &str,
    format: Format,
    printer: &mut Printer<'_>,
) -> Result<Exit, Failure> {
    let steered = Steered {
        line: format!("action/{id} {done}\n"),
        id: id.to_owned(),
        document: workflow.action(id).await?,
    };
    printer.report(format, &steered)?;
    Ok(Exit::Done)
}

/// An action after somebody said what is to become of it.
struct Steered {
    line: String,
    id: String,
    document: Answer<ActionDetail>,
}

impl Serialize for Steered {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.document.serialize(serializer)
    }
}

impl Report for Steered {
    fn text(&self, _wide: bool) -> String {
        self.line.clone()
    }

    fn names(&self) -> Vec<String> {
        vec![format!("action/{}", self.id)]
    }
}
