//! `berth relabel`: the declared labels for some nodes, as one action.

use std::{collections::BTreeSet, path::Path};

use berth_api::{ActionPreview, CreatedAction, Lifecycle, MovesFrom, NodeState};
use berth_documents::{Severity, Sources, parse};
use serde::Serialize;
use serde_json::Value;

use super::describe::Described;
use crate::{
    args::{Format, RelabelArgs},
    database,
    exit::Exit,
    failure::Failure,
    files,
    output::{Printer, Report, Table},
    server::Answer,
    workflow::{Ended, Request, Workflow, changes, counts, follow, node_filter, summary},
};

/// Runs the command.
pub(crate) fn run(args: &RelabelArgs, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let filter = filter(args)?;
    let workflow = Workflow::on(&args.server)?;
    database::wait(async {
        let nodes = match &filter {
            None => args.nodes.clone(),
            Some(filter) if args.nodes.is_empty() => workflow.select(filter).await?,
            Some(filter) => named(&workflow, &args.nodes, filter).await?,
        };
        if nodes.is_empty() {
            return Err(Failure::Refused {
                message: "no node meets the filter".to_owned(),
                hint: Some("`berth resolve` lists the nodes of a folder of documents".to_owned()),
            });
        }
        let request = Request {
            nodes: &nodes,
            strategy: Some(args.strategy),
            allow_mass_removal: args.allow_mass_removal,
        };
        if args.dry_run {
            let forecast = Forecast(workflow.dry_run(request).await?);
            printer.report(args.output.format, &forecast)?;
            return Ok(forecast.exit());
        }
        let created = workflow.submit(request).await?;
        if args.wait {
            return to_the_end(&workflow, &created.id, args.output.format, printer).await;
        }
        printer.report(args.output.format, &Started(created))?;
        Ok(Exit::Done)
    })
}

/// Those of the named nodes that meet a filter. A name that no document has is a mistake, and not a node that does not meet it.
async fn named(workflow: &Workflow, names: &[String], filter: &Value) -> Result<Vec<String>, Failure> {
    let all = workflow.select(&Value::Null).await?;
    let unknown: Vec<&str> = names
        .iter()
        .filter(|name| !all.contains(name))
        .map(String::as_str)
        .collect();
    if !unknown.is_empty() {
        return Err(Failure::Refused {
            message: format!("nodes that are not in the committed documents: {}", unknown.join(", ")),
            hint: None,
        });
    }
    let selected = workflow.select(filter).await?;
    Ok(names.iter().filter(|name| selected.contains(name)).cloned().collect())
}

/// Follows an action and prints what became of it.
pub(super) async fn to_the_end(
    workflow: &Workflow,
    id: &str,
    format: Format,
    printer: &mut Printer<'_>,
) -> Result<Exit, Failure> {
    match follow(workflow, id, printer).await? {
        Ended::Interrupted => {
            printer.note(&format!("the action goes on; `berth describe {id}` shows it"))?;
            Ok(Exit::No)
        }
        Ended::Over(action) | Ended::Paused(action) => {
            let lifecycle = action.action.action_lifecycle;
            let is_complete = lifecycle == Lifecycle::Complete;
            let counts = counts(&action);
            if format == Format::Table {
                // Every node has been told already.
                printer.data(&format!("action/{id}: {}, {}\n", lifecycle.as_str(), summary(counts)))?;
            } else {
                printer.report(format, &Described(*action))?;
            }
            if !is_complete && counts.failed > 0 {
                printer.hint(&format!("`berth retry {id}` runs again what failed, and only that"))?;
            }
            Ok(if is_complete { Exit::Done } else { Exit::No })
        }
    }
}

/// The filter, where there is one. Null selects all.
fn filter(args: &RelabelArgs) -> Result<Option<Value>, Failure> {
    if args.all {
        return Ok(Some(Value::Null));
    }
    if let Some(file) = &args.filter_file {
        return read_filter(file).map(Some);
    }
    if args.filters.is_empty() {
        return Ok(None);
    }
    let filter = serde_json::to_value(node_filter(&args.filters)?);
    filter.map(Some).map_err(|error| Failure::Format {
        format: "a node filter",
        source: error.into(),
    })
}

fn read_filter(file: &Path) -> Result<Value, Failure> {
    let text = String::from_utf8_lossy(&files::read(file)?).into_owned();
    let mut sources = Sources::new();
    let id = sources.add(file.display().to_string(), text);
    let parsed = parse(&sources, id);
    let is_syntax = |code: &str| code.starts_with("yaml") || code.starts_with("json");
    let broken = parsed
        .diagnostics
        .iter()
        .any(|it| it.severity() == Severity::Error && is_syntax(it.code()));
    match parsed.documents.as_slice() {
        [document] if !broken && document.root.as_map().is_some() => Ok(document.root.to_json()),
        _ => Err(Failure::Argument {
            message: format!("`{}` is not a node filter", file.display()),
            hint: Some("it is one mapping with `filter_set_type` and `filter_set`".to_owned()),
        }),
    }
}

/// An action that has begun.
struct Started(Answer<CreatedAction>);

impl Serialize for Started {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Report for Started {
    fn text(&self, _wide: bool) -> String {
        let id = &self.0.id;
        format!("action/{id} started; `berth describe {id}` shows it\n")
    }

    fn names(&self) -> Vec<String> {
        vec![format!("action/{}", self.0.id)]
    }
}

/// What an action would do.
struct Forecast(Answer<ActionPreview>);

impl Forecast {
    /// The exit code of the action itself.
    fn exit(&self) -> Exit {
        if self.0.nodes.iter().all(|node| node.state == NodeState::Success) {
            Exit::Done
        } else {
            Exit::No
        }
    }

    /// What stands above the list of moves: whether they begin with what the cluster shows.
    fn heading(&self) -> String {
        match &self.0.moves_from {
            MovesFrom::Cluster => "\nwhat would move, from where the cluster has it now:\n".to_owned(),
            MovesFrom::Simulation { reason } => {
                format!("\nwhat would move, as OVN-Kubernetes is simulated ({reason}):\n")
            }
        }
    }
}

impl Serialize for Forecast {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Report for Forecast {
    fn text(&self, wide: bool) -> String {
        let mut table = if wide {
            Table::new(["NODE", "CHANGES", "PROTECTED", "MESSAGE"])
        } else {
            Table::new(["NODE", "CHANGES", "MESSAGE"])
        };
        for node in &self.0.nodes {
            let mut cells = vec![node.name.clone(), changes(&node.diff)];
            if wide {
                cells.push(joined(&node.protected));
            }
            cells.push(node.message.clone().unwrap_or_default());
            table.row(cells);
        }
        let mut text = table.to_string();
        for finding in &self.0.findings {
            text.extend(["\n", finding]);
        }
        for (number, sentence) in self.0.moves.iter().enumerate() {
            if number == 0 {
                text.push_str(&self.heading());
            }
            text.extend(["- ", sentence, "\n"]);
        }
        text.push_str("\nthis is a dry run: nothing was changed\n");
        text
    }

    fn names(&self) -> Vec<String> {
        let names = self.0.nodes.iter().map(|node| format!("node/{}", node.name));
        names.collect()
    }
}

/// Names with commas between.
pub(super) fn joined(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(",")
}
