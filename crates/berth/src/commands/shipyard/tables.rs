//! Answers as Shipyard's command line shows them.

use std::fmt::Write as _;

use berth_api::{
    ActionDetail, ActionValidation, Actions, Collections, CreatedAction, Findings, Note, SiteStatuses, Status, Step,
    StepSummary, WorkflowDetail, Workflows,
};
use serde_json::Value;

use crate::{
    output::{Table, printable},
    workflow::{state_word, told},
};

/// How many notes there are; nothing when there is none.
fn footnotes(notes: &[Note]) -> String {
    if notes.is_empty() {
        String::new()
    } else {
        format!("({})", notes.len())
    }
}

/// The table of actions.
pub(super) fn actions(actions: &Actions) -> String {
    let mut table = Table::new([
        "Name",
        "Action",
        "Lifecycle",
        "Execution Time",
        "Step Succ/Fail/Oth",
        "Footnotes",
    ]);
    for action in &actions.0 {
        let state = |wanted: &str| {
            let has = |step: &&StepSummary| step.state.as_deref() == Some(wanted);
            action.steps.iter().filter(has).count()
        };
        let (succeeded, failed) = (state("success"), state("failed"));
        let others = action.steps.len() - succeeded - failed;
        table.row([
            action.name.clone(),
            format!("action/{}", action.id),
            action.action_lifecycle.as_str().to_owned(),
            action.dag_execution_date.clone(),
            format!("{succeeded}/{failed}/{others}"),
            footnotes(&action.notes),
        ]);
    }
    table.to_string()
}

/// An action that was just made. It has no lifecycle yet.
pub(super) fn created(action: &CreatedAction) -> String {
    let mut table = Table::new(["Name", "Action", "Lifecycle"]);
    table.row([&action.name, &format!("action/{}", action.id), "None"]);
    table.to_string()
}

/// One action with its steps, commands and validations.
pub(super) fn action(detail: &ActionDetail) -> String {
    let action = &detail.action;
    let mut out = pairs(&[
        ("Name", &action.name),
        ("Action", &format!("action/{}", action.id)),
        ("Lifecycle", action.action_lifecycle.as_str()),
        ("Parameters", &action.parameters.to_string()),
        ("Datetime", &action.datetime),
        ("Dag Status", &action.dag_status),
        ("Context Marker", &action.context_marker),
        ("User", &action.user),
    ]);
    let mut steps = Table::new(["Steps", "Index", "State", "Footnotes"]);
    for step in &action.steps {
        steps.row([
            format!("step/{}/{}", action.id, step.id),
            step.index.to_string(),
            step.state.clone().unwrap_or_else(|| "None".to_owned()),
            footnotes(&step.notes),
        ]);
    }
    let mut commands = Table::new(["Commands", "User", "Datetime"]);
    for entry in &detail.command_audit {
        commands.row([&entry.command, &entry.user, &entry.datetime]);
    }
    // Writing to a string cannot fail.
    let _ = write!(out, "\n{steps}\n{commands}\n");
    if detail.validations.is_empty() {
        out.push_str("Validations: None\n");
    } else {
        let mut validations = Table::new(["Validations"]);
        for validation in &detail.validations {
            validations.row([format!("validation/{}/{}", action.id, validation.id)]);
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
    if !detail.nodes.is_empty() {
        let mut nodes = Table::new(["Nodes", "State", "Outcome"]);
        for node in &detail.nodes {
            let node = &node.outcome;
            nodes.row([&node.name, state_word(node.state), &told(node)]);
        }
        let _ = write!(out, "\n{nodes}");
    }
    out
}

/// One step.
pub(super) fn step(step: &Step) -> String {
    let or_none = |text: &Option<String>| text.clone().unwrap_or_default();
    pairs(&[
        ("Name", &step.task_id),
        ("Task ID", &format!("step/{}", step.task_id)),
        ("Index", &step.index.to_string()),
        ("State", &or_none(&step.state)),
        ("Start Date", &or_none(&step.start_date)),
        ("End Date", &or_none(&step.end_date)),
        (
            "Duration",
            &step.duration.map(|seconds| format!("{seconds:?}")).unwrap_or_default(),
        ),
        ("Try Number", &step.try_number.to_string()),
        ("Operator", &step.operator),
    ])
}

/// One validation.
pub(super) fn validation(validation: &ActionValidation) -> String {
    let details = match &validation.details {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    pairs(&[
        ("ID", &validation.id),
        ("Action", &format!("action/{}", validation.action_id)),
        ("Validation Name", &validation.validation_name),
        ("Details", &details),
    ])
}

/// The runs of actions.
pub(super) fn workflows(workflows: &Workflows) -> String {
    let mut table = Table::new(["Workflows", "State"]);
    for workflow in &workflows.0 {
        table.row([&workflow.workflow_id, &workflow.dag_status]);
    }
    table.to_string()
}

/// One run with its steps.
pub(super) fn workflow(detail: &WorkflowDetail) -> String {
    let workflow = &detail.workflow;
    let mut out = pairs(&[
        ("Workflow", &workflow.workflow_id),
        ("State", &workflow.dag_status),
        ("Action", &format!("action/{}", workflow.action_id)),
        ("Start Date", workflow.start_date.as_deref().unwrap_or_default()),
        ("End Date", workflow.end_date.as_deref().unwrap_or_default()),
    ]);
    let mut steps = Table::new(["Steps", "State"]);
    for step in &detail.steps {
        steps.row([step.task_id.as_str(), step.state.as_deref().unwrap_or_default()]);
    }
    let _ = write!(out, "\n{steps}");
    out
}

/// How collections stand in two versions.
pub(super) fn configdocs(collections: &Collections) -> String {
    let mut table = Table::new(["Collection", "Base", "Base Status", "New", "New Status"]);
    for collection in &collections.0 {
        table.row([
            collection.collection_name.as_str(),
            collection.base_version.as_str(),
            collection.base_status.as_str(),
            collection.new_version.as_str(),
            collection.new_status.as_str(),
        ]);
    }
    table.to_string()
}

/// A status document: what was done, and every message.
pub(super) fn status(status: &Status<Findings>, done: &str) -> String {
    let mut out = format!("{done}\nStatus: {}\n", status.message);
    let messages = &status.details.message_list;
    if !messages.is_empty() {
        out.push_str("Validations:\n");
    }
    for message in messages {
        let _ = writeln!(
            out,
            "- {}: {}\n  Message: {}",
            message.level.as_str(),
            printable(&message.name),
            printable(&message.message)
        );
        if !message.diagnostic.is_empty() {
            let _ = writeln!(out, "  Diagnostic: {}", printable(&message.diagnostic));
        }
    }
    out
}

/// How machines stand.
pub(super) fn site_statuses(statuses: &SiteStatuses) -> String {
    let mut out = String::new();
    if let Some(rows) = &statuses.nodes_provision_status {
        let mut table = Table::new(["Hostname", "Status"]);
        for row in rows {
            table.row([row.hostname.as_str(), row.status.as_str()]);
        }
        let _ = writeln!(out, "{table}");
    }
    if let Some(rows) = &statuses.machines_powerstate {
        let mut table = Table::new(["Hostname", "Power State"]);
        for row in rows {
            table.row([row.hostname.as_str(), row.power_state.as_str()]);
        }
        let _ = writeln!(out, "{table}");
    }
    out
}

fn pairs(rows: &[(&str, &str)]) -> String {
    let mut out = String::new();
    for (name, value) in rows {
        let value = if value.is_empty() { "None" } else { value };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{:<17}{}", format!("{name}:"), printable(value));
    }
    out
}
