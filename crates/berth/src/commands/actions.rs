//! `berth actions`: what was asked of a server.

use clap::ValueEnum as _;
use serde::Serialize;
use serde_json::Value;

use crate::{
    args::ActionsArgs,
    database,
    exit::Exit,
    failure::Failure,
    output::{Printer, Report, Table},
    workflow::{Action, Workflow},
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
    let documents = database::wait(async {
        let mut documents = Vec::new();
        let mut marker: Option<String> = None;
        while documents.len() < args.limit {
            let limit = (args.limit - documents.len()).min(PAGE).to_string();
            let mut query = vec![("limit", limit.as_str())];
            query.extend(marker.as_deref().map(|marker| ("marker", marker)));
            if !lifecycle.is_empty() {
                query.push(("lifecycle", lifecycle.as_str()));
            }
            let page = workflow.actions(&query).await?;
            documents.extend(page.actions);
            marker = page.next;
            if marker.is_none() {
                break;
            }
        }
        Ok(documents)
    })?;
    let actions = documents.iter().map(Action::read).collect::<Result<Vec<_>, _>>()?;
    if actions.is_empty() {
        printer.warning(if lifecycle.is_empty() {
            "there is no action yet"
        } else {
            "no action stands so"
        })?;
    }
    printer.report(args.output.format, &Actions { documents, actions })?;
    Ok(Exit::Done)
}

struct Actions {
    documents: Vec<Value>,
    actions: Vec<Action>,
}

impl Serialize for Actions {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.documents.serialize(serializer)
    }
}

impl Report for Actions {
    fn text(&self, wide: bool) -> String {
        let mut headers = vec!["ACTION", "NAME", "LIFECYCLE", "NODES", "DONE", "FAILED", "CREATED"];
        if wide {
            headers.extend(["USER", "REVISION", "STRATEGY"]);
        }
        let mut table = Table::new(headers);
        for action in &self.actions {
            let counts = action.counts();
            let mut cells = vec![
                action.id.clone(),
                action.name.clone(),
                action.lifecycle().to_owned(),
                counts.nodes.to_string(),
                counts.succeeded.to_string(),
                counts.failed.to_string(),
                action.datetime.clone().unwrap_or_default(),
            ];
            if wide {
                cells.push(action.user.clone().unwrap_or_default());
                cells.push(action.committed_rev_id.map(|it| it.to_string()).unwrap_or_default());
                cells.push(action.strategy.clone().unwrap_or_default());
            }
            table.row(cells);
        }
        table.to_string()
    }

    fn names(&self) -> Vec<String> {
        self.actions
            .iter()
            .map(|action| format!("action/{}", action.id))
            .collect()
    }
}
