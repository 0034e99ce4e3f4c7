//! `berth stop`, `berth pause`, `berth resume` and `berth retry`.

use super::relabel;
use crate::{
    args::{ActionArgs, RetryArgs},
    database,
    exit::Exit,
    failure::Failure,
    output::Printer,
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
pub(crate) fn run(verb: Verb, args: &ActionArgs, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let id = action_id(&args.action)?;
    let workflow = Workflow::on(&args.server)?;
    let (word, done) = match verb {
        Verb::Stop => ("stop", "is being stopped: nodes that have begun are finished"),
        Verb::Pause => ("pause", "is paused: nodes that have begun are finished"),
        Verb::Resume => ("unpause", "goes on"),
    };
    database::wait(workflow.control(&id, word))?;
    printer.data(&format!("action/{id} {done}\n"))?;
    Ok(Exit::Done)
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
        printer.data(&format!("action/{id} runs again for the nodes that failed\n"))?;
        Ok(Exit::Done)
    })
}
