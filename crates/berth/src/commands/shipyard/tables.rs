//! Answers as Shipyard's command line shows them.

use std::fmt::Write as _;

use serde_json::Value;

use crate::{
    failure::Failure,
    output::{Table, printable},
    workflow::Action,
};

/// The table of actions.
pub(super) fn actions(documents: &[Value]) -> Result<String, Failure> {
    let mut table = Table::new([
        "Name",
        "Action",
        "Lifecycle",
        "Execution Time",
        "Step Succ/Fail/Oth",
        "Footnotes",
    ]);
    for document in documents {
        let action = Action::read(document)?;
        let state = |wanted: &str| {
            let has = |step: &&crate::workflow::Step| step.state.as_deref() == Some(wanted);
            action.steps.iter().filter(has).count()
        };
        let (succeeded, failed) = (state("success"), state("failed"));
        let others = action.steps.len() - succeeded - failed;
        table.row([
            action.name.clone(),
            format!("action/{}", action.id),
            action.stands.clone().unwrap_or_else(|| "None".to_owned()),
            text(document, "dag_execution_date"),
            format!("{succeeded}/{failed}/{others}"),
            if action.notes.is_empty() {
                String::new()
            } else {
                format!("({})", action.notes.len())
            },
        ]);
    }
    Ok(table.to_string())
}

/// An action that was just made.
pub(super) fn created(document: &Value) -> Result<String, Failure> {
    let action = Action::read(document)?;
    let mut table = Table::new(["Name", "Action", "Lifecycle"]);
    table.row([
        action.name,
        format!("action/{}", action.id),
        action.stands.unwrap_or_else(|| "None".to_owned()),
    ]);
    Ok(table.to_string())
}

/// One action with its steps, commands and validations.
pub(super) fn action(document: &Value) -> Result<String, Failure> {
    let action = Action::read(document)?;
    let mut out = pairs(&[
        ("Name", action.name.clone()),
        ("Action", format!("action/{}", action.id)),
        ("Lifecycle", action.lifecycle().to_owned()),
        ("Parameters", action.parameters.to_string()),
        ("Datetime", action.datetime.clone().unwrap_or_default()),
        ("Dag Status", action.dag_status.clone().unwrap_or_default()),
        ("Context Marker", action.context_marker.clone().unwrap_or_default()),
        ("User", action.user.clone().unwrap_or_default()),
    ]);
    let mut steps = Table::new(["Steps", "Index", "State", "Footnotes"]);
    for step in &action.steps {
        steps.row([
            format!("step/{}/{}", action.id, step.id),
            step.index.to_string(),
            step.state.clone().unwrap_or_else(|| "None".to_owned()),
            if step.notes.is_empty() {
                String::new()
            } else {
                format!("({})", step.notes.len())
            },
        ]);
    }
    let mut commands = Table::new(["Commands", "User", "Datetime"]);
    for command in &action.command_audit {
        commands.row([
            command.verb.clone(),
            command.user.clone().unwrap_or_default(),
            command.datetime.clone().unwrap_or_default(),
        ]);
    }
    // Writing to a string cannot fail.
    let _ = write!(out, "\n{steps}\n{commands}\n");
    if action.validations.is_empty() {
        out.push_str("Validations: None\n");
    } else {
        let mut validations = Table::new(["Validations"]);
        for validation in &action.validations {
            validations.row([format!("validation/{}/{}", action.id, text(validation, "id"))]);
        }
        let _ = write!(out, "{validations}");
    }
    for note in action
        .notes
        .iter()
        .chain(action.steps.iter().flat_map(|step| &step.notes))
    {
        let _ = writeln!(
            out,
            "  - {}: {}",
            printable(&note.note_timestamp),
            printable(&note.note_val)
        );
    }
    if !action.nodes.is_empty() {
        let mut nodes = Table::new(["Nodes", "State", "Outcome"]);
        for node in &action.nodes {
            nodes.row([node.name.clone(), node.state.to_string(), node.told()]);
        }
        let _ = write!(out, "\n{nodes}");
    }
    Ok(out)
}

/// One step.
pub(super) fn step(document: &Value) -> String {
    pairs(&[
        ("Name", text(document, "task_id")),
        ("Task ID", format!("step/{}", text(document, "task_id"))),
        ("Index", text(document, "index")),
        ("State", text(document, "state")),
        ("Start Date", text(document, "start_date")),
        ("End Date", text(document, "end_date")),
        ("Duration", text(document, "duration")),
        ("Try Number", text(document, "try_number")),
        ("Operator", text(document, "operator")),
    ])
}

/// One validation.
pub(super) fn validation(document: &Value) -> String {
    pairs(&[
        ("ID", text(document, "id")),
        ("Action", format!("action/{}", text(document, "action_id"))),
        ("Validation Name", text(document, "validation_name")),
        ("Details", text(document, "details")),
    ])
}

/// The runs of actions.
pub(super) fn workflows(documents: &[Value]) -> String {
    let mut table = Table::new(["Workflows", "State"]);
    for document in documents {
        table.row([text(document, "workflow_id"), text(document, "dag_status")]);
    }
    table.to_string()
}

/// One run with its steps.
pub(super) fn workflow(document: &Value) -> String {
    let mut out = pairs(&[
        ("Workflow", text(document, "workflow_id")),
        ("State", text(document, "dag_status")),
        ("Action", format!("action/{}", text(document, "action_id"))),
        ("Start Date", text(document, "start_date")),
        ("End Date", text(document, "end_date")),
    ]);
    let mut steps = Table::new(["Steps", "State"]);
    for step in document.get("steps").and_then(Value::as_array).into_iter().flatten() {
        let name = if step.get("id").is_some() { "id" } else { "task_id" };
        steps.row([text(step, name), text(step, "state")]);
    }
    let _ = write!(out, "\n{steps}");
    out
}

/// How collections stand in two versions.
pub(super) fn configdocs(documents: &[Value]) -> String {
    let mut table = Table::new(["Collection", "Base", "Base Status", "New", "New Status"]);
    for document in documents {
        table.row([
            text(document, "collection_name"),
            text(document, "base_version"),
            text(document, "base_status"),
            text(document, "new_version"),
            text(document, "new_status"),
        ]);
    }
    table.to_string()
}

/// A status document: what was done, and every message.
pub(super) fn status(document: &Value, done: &str) -> String {
    let mut out = format!("{done}\nStatus: {}\n", text(document, "message"));
    let messages = document.pointer("/details/messageList").and_then(Value::as_array);
    let messages: Vec<&Value> = messages.into_iter().flatten().collect();
    if !messages.is_empty() {
        out.push_str("Validations:\n");
    }
    for message in messages {
        let level = match text(message, "level") {
            level if level.is_empty() => "Info".to_owned(),
            level => level,
        };
        let _ = writeln!(
            out,
            "- {level}: {}\n  Message: {}",
            printable(&text(message, "name")),
            printable(&text(message, "message"))
        );
        let diagnostic = text(message, "diagnostic");
        if !diagnostic.is_empty() {
            let _ = writeln!(out, "  Diagnostic: {}", printable(&diagnostic));
        }
    }
    out
}

/// How machines stand.
pub(super) fn site_statuses(document: &Value) -> String {
    let mut out = String::new();
    for (key, header, column) in [
        ("nodes_provision_status", "Status", "status"),
        ("machines_powerstate", "Power State", "power_state"),
    ] {
        let Some(rows) = document.get(key).and_then(Value::as_array) else {
            continue;
        };
        let mut table = Table::new(["Hostname", header]);
        for row in rows {
            table.row([text(row, "hostname"), text(row, column)]);
        }
        let _ = writeln!(out, "{table}");
    }
    out
}

fn pairs(rows: &[(&str, String)]) -> String {
    let mut out = String::new();
    for (name, value) in rows {
        let value = if value.is_empty() { "None" } else { value };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{:<17}{}", format!("{name}:"), printable(value));
    }
    out
}

/// A field as text; nothing where it is null or missing.
fn text(document: &Value, key: &str) -> String {
    match document.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}
