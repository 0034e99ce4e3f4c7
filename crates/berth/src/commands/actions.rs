//! `berth actions`: what was asked of a server.

use berth_api::Action;
use clap::ValueEnum as _;
use serde::Serialize;

use crate::{
    args::ActionsArgs,
    database,
    exit::Exit,
    failure::Failure,
    output::{Printer, Report, Table},
    server::Answer,
    workflow::Workflow,
};

/// The most that a server gives at once.
const PAGE: usize = 1000;

/// Runs the command.
pub(crate) fn run(args: &ActionsArgs, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let workflow = Workflow::on(&args.server)?;
    let words = args
        .lifecycle
        .iter()
        .filter_map(|word| Some(word.to_possible_value()?.get_name().to_owned()));
    let lifecycle = words.collect::<Vec<_>>().join(",");
    let actions = database::wait(async {
        let mut actions = Vec::new();
        let mut marker: Option<String> = None;
        while actions.len() < args.limit {
            let limit = (args.limit - actions.len()).min(PAGE).to_string();
            let mut query = vec![("limit", limit.as_str())];
            query.extend(marker.as_deref().map(|marker| ("marker", marker)));
            if !lifecycle.is_empty() {
                query.push(("lifecycle", lifecycle.as_str()));
            }
            let page = workflow.actions(&query).await?;
            actions.extend(page.actions);
            marker = page.next;
            if marker.is_none() {
                break;
            }
        }
        Ok(actions)
    })?;
    if actions.is_empty() {
        printer.warning(if lifecycle.is_empty() {
            "there is no action yet"
        } else {
            "no action stands so"
        })?;
    }
    printer.report(args.output.format, &Actions(actions))?;
    Ok(Exit::Done)
}

struct Actions(Vec<Answer<Action>>);

impl Serialize for Actions {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Report for Actions {
    fn text(&self, wide: bool) -> String {
        let mut headers = vec!["ACTION", "NAME", "LIFECYCLE", "NODES", "DONE", "FAILED", "CREATED"];
        if wide {
            headers.extend(["USER", "REVISION", "STRATEGY"]);
        }
        let mut table = Table::new(headers);
        for action in &self.0 {
            let counts = action.progress;
            let mut cells = vec![
                action.id.clone(),
                action.name.clone(),
                action.action_lifecycle.as_str().to_owned(),
                counts.nodes.to_string(),
                counts.succeeded.to_string(),
                counts.failed.to_string(),
                action.datetime.clone(),
            ];
            if wide {
                cells.push(action.user.clone());
                cells.push(action.committed_rev_id.map(|it| it.to_string()).unwrap_or_default());
                cells.push(action.strategy.map(|it| it.as_str().to_owned()).unwrap_or_default());
            }
            table.row(cells);
        }
        table.to_string()
    }

    fn names(&self) -> Vec<String> {
        self.0.iter().map(|action| format!("action/{}", action.id)).collect()
    }
}
