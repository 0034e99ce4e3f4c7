//! Looking at actions.

use std::collections::HashMap;

use axum::{
    extract::{Path, State},
    http::{
        HeaderName, HeaderValue, StatusCode, Uri,
        header::{CONTENT_TYPE, LINK},
    },
    response::{IntoResponse, Response},
};
use berth_api::{
    ActionDetail, ActionValidation, Actions, AuditEntry, Lifecycle, MachinePower, PowerState, ProvisionStatus,
    Provisioned, SiteStatuses, StepSummary, Workflow, WorkflowDetail, Workflows,
};
use berth_store::{Action, ActionId, ActionPage, Note, Origin, SubtaskPage};
use berth_workflow::{Step, lifecycle, steps};

use super::{SHIPYARD, find, not_found};
use crate::{
    body::{JsonReply, Parameters},
    problem::Problem,
    state::ApiState,
    workflow::{
        action_summary, execution_date, failure_note, failures, long_id, node, notes, outcome_of, python_time_utc,
        refused, store_refused, verbosity,
    },
};

const NEXT_MARKER: HeaderName = HeaderName::from_static("x-next-marker");
/// Actions on a page unless the caller says.
const PAGE: u32 = 100;
/// The most actions on a page.
const LARGEST_PAGE: u32 = 1000;
/// Pages that are looked through for actions of a lifecycle before the caller has to ask again.
const PAGES_SEARCHED: usize = 10;

pub(super) async fn list(State(state): State<ApiState>, uri: Uri, parameters: Parameters) -> Result<Response, Problem> {
    let limit = limit(&parameters)?;
    let marker = parameters.get("marker").map(marker).transpose()?;
    let wanted = parameters.get("lifecycle").map(lifecycles).transpose()?;
    let (found, next) = search(&state, limit, marker, wanted.as_deref()).await?;
    let verbosity = verbosity(&parameters);
    let mut own = notes_of(&state, &found, verbosity).await?;
    let mut shown = Vec::with_capacity(found.len());
    for action in &found {
        let own = own.remove(&about_it(action)).unwrap_or_default();
        let steps = step_summaries(action, &[], verbosity);
        shown.push(action_summary(action, steps, notes(&own, verbosity)));
    }
    let mut response = JsonReply(Actions(shown)).into_response();
    if let Some(next) = next {
        let mut link = format!("<{}?limit={limit}&marker={next}", uri.path());
        // The next page is of the same kind.
        let lifecycle = wanted.map(|words| words.iter().map(|word| word.as_str()).collect::<Vec<_>>().join(","));
        let verbosity = parameters.get("verbosity").map(str::to_owned);
        for (name, value) in [("lifecycle", lifecycle), ("verbosity", verbosity)] {
            if let Some(value) = value {
                link.extend(["&", name, "=", &value]);
            }
        }
        link.push_str(">; rel=\"next\"");
        for (name, value) in [(NEXT_MARKER, next.to_string()), (LINK, link)] {
            if let Ok(value) = HeaderValue::try_from(value) {
                response.headers_mut().insert(name, value);
            }
        }
    }
    Ok(response)
}

fn bad_parameter(name: &str, description: String) -> Problem {
    Problem::shipyard(
        StatusCode::BAD_REQUEST,
        format!("Invalid {name} parameter"),
        description,
    )
}

fn limit(parameters: &Parameters) -> Result<u32, Problem> {
    let Some(text) = parameters.get("limit") else {
        return Ok(PAGE);
    };
    let limit = text.parse().ok().filter(|limit| (1..=LARGEST_PAGE).contains(limit));
    limit.ok_or_else(|| bad_parameter("limit", format!("limit should be a number from 1 to {LARGEST_PAGE}")))
}

fn marker(text: &str) -> Result<ActionId, Problem> {
    let description = || format!("marker should be the id of an action, not '{text}'");
    text.parse().map_err(|_| bad_parameter("marker", description()))
}

fn lifecycles(text: &str) -> Result<Vec<Lifecycle>, Problem> {
    let one = |word: &str| {
        let found = Lifecycle::ALL
            .into_iter()
            .find(|known| known.as_str().eq_ignore_ascii_case(word.trim()));
        let description = || {
            format!(
                "'{word}' is none of {}",
                Lifecycle::ALL.map(Lifecycle::as_str).join(", ")
            )
        };
        found.ok_or_else(|| bad_parameter("lifecycle", description()))
    };
    text.split(',').map(one).collect()
}

/// A page of actions, and where the next one begins.
async fn search(
    state: &ApiState,
    limit: u32,
    marker: Option<ActionId>,
    wanted: Option<&[Lifecycle]>,
) -> Result<(Vec<Action>, Option<ActionId>), Problem> {
    let store = state.actions(SHIPYARD)?;
    let is_wanted = |action: &Action| wanted.is_none_or(|wanted| wanted.contains(&lifecycle(action.state)));
    let mut found: Vec<Action> = Vec::new();
    let mut before = marker;
    for _ in 0..PAGES_SEARCHED {
        let size = if wanted.is_some() { LARGEST_PAGE } else { limit };
        let page = ActionPage {
            origin: Some(Origin::Action),
            before: before.clone(),
            limit: size,
        };
        let page = store
            .actions(&page)
            .await
            .map_err(|error| store_refused(SHIPYARD, error))?;
        let is_last = page.len() < size as usize;
        for action in page {
            if found.len() >= limit as usize {
                return Ok((found, before));
            }
            before = Some(action.id.clone());
            if is_wanted(&action) {
                found.push(action);
            }
        }
        if is_last {
            return Ok((found, None));
        }
        if found.len() >= limit as usize {
            return Ok((found, before));
        }
    }
    Ok((found, before))
}

fn about_it(action: &Action) -> String {
    format!("action/{}", action.id)
}

async fn about_action(state: &ApiState, action: &Action) -> Result<Vec<Note>, Problem> {
    about(state, &about_it(action)).await
}

/// The notes about each of several actions.
async fn notes_of(state: &ApiState, actions: &[Action], verbosity: u8) -> Result<HashMap<String, Vec<Note>>, Problem> {
    let things: Vec<String> = actions.iter().map(about_it).collect();
    let found = state.actions(SHIPYARD)?.notes_about(&things, verbosity).await;
    let mut notes: HashMap<String, Vec<Note>> = HashMap::new();
    for note in found.map_err(|error| store_refused(SHIPYARD, error))? {
        notes.entry(note.note.about.clone()).or_default().push(note);
    }
    Ok(notes)
}

async fn about(state: &ApiState, what: &str) -> Result<Vec<Note>, Problem> {
    let store = state.actions(SHIPYARD)?;
    store.notes(what).await.map_err(|error| store_refused(SHIPYARD, error))
}

fn step_summaries(action: &Action, about_relabelling: &[Note], verbosity: u8) -> Vec<StepSummary> {
    let summary = |step: &Step| {
        let about = if step.id == "relabel_nodes" {
            about_relabelling
        } else {
            &[]
        };
        StepSummary {
            id: step.id.to_owned(),
            index: step.index,
            state: step.state.map(str::to_owned),
            url: format!("/actions/{}/steps/{}", action.id, step.id),
            notes: notes(about, verbosity),
        }
    };
    steps(action).iter().map(summary).collect()
}

pub(super) async fn show(
    State(state): State<ApiState>,
    Path(id): Path<String>,
    parameters: Parameters,
) -> Result<JsonReply<ActionDetail>, Problem> {
    let action = find(&state, &id, "Unknown Action: ").await?;
    let store = state.actions(SHIPYARD)?;
    let failed = |error| store_refused(SHIPYARD, error);
    let verbosity = verbosity(&parameters);
    let own = about_action(&state, &action).await?;
    let about_step = about(&state, &format!("step/{}/relabel_nodes", action.id)).await?;
    let validations = store.action_validations(&action.id).await.map_err(failed)?;
    let audit = store.audit(&action.id).await.map_err(failed)?;
    let subtasks = store.subtasks(&action.id, SubtaskPage::ALL).await.map_err(failed)?;
    let audit = audit.into_iter().map(|entry| AuditEntry {
        id: entry.id.to_string(),
        action_id: entry.action.to_string(),
        command: entry.command,
        user: entry.user,
        datetime: python_time_utc(entry.created_at),
    });
    let mut steps = step_summaries(&action, &about_step, verbosity);
    if let Some(step) = steps.iter_mut().find(|step| step.id == "relabel_nodes") {
        step.notes.extend(failure_note(&action, &subtasks));
    }
    Ok(JsonReply(ActionDetail {
        validations: validations.iter().map(shown_validation).collect(),
        command_audit: audit.collect(),
        nodes: subtasks.iter().map(|subtask| node(&action, subtask)).collect(),
        action: action_summary(&action, steps, notes(&own, verbosity)),
    }))
}

fn shown_validation(validation: &berth_store::ActionValidation) -> ActionValidation {
    ActionValidation {
        id: long_id(validation.id),
        action_id: validation.action.to_string(),
        validation_name: validation.name.clone(),
        details: validation.details.clone(),
    }
}

async fn find_step(state: &ApiState, id: &str, name: &str) -> Result<(Action, Step), Problem> {
    let action = find(state, id, "Unknown action ").await?;
    let step = steps(&action).into_iter().find(|step| step.id == name);
    let step = step.ok_or_else(|| not_found("Step not found", format!("Unknown step {name}")))?;
    Ok((action, step))
}

pub(super) async fn step(
    State(state): State<ApiState>,
    Path((id, name)): Path<(String, String)>,
    parameters: Parameters,
) -> Result<JsonReply<berth_api::Step>, Problem> {
    let (action, step) = find_step(&state, &id, &name).await?;
    let about = about(&state, &format!("step/{}/{}", action.id, step.id)).await?;
    let mut notes = notes(&about, verbosity(&parameters));
    if step.id == "relabel_nodes" {
        let subtasks = state.actions(SHIPYARD)?.subtasks(&action.id, SubtaskPage::ALL).await;
        let subtasks = subtasks.map_err(|error| store_refused(SHIPYARD, error))?;
        notes.extend(failure_note(&action, &subtasks));
    }
    Ok(JsonReply(shown_step(&action, &step, notes)))
}

/// A step as Airflow records one.
fn shown_step(action: &Action, step: &Step, notes: Vec<berth_api::Note>) -> berth_api::Step {
    let duration = step.started_at.zip(step.finished_at).map(|(began, ended)| {
        #[expect(clippy::cast_precision_loss, reason = "a duration of seconds, shown to people")]
        let microseconds = ended.saturating_sub(began) as f64;
        microseconds / 1e6
    });
    berth_api::Step {
        task_id: step.id.to_owned(),
        dag_id: action.name.clone(),
        state: step.state.map(str::to_owned),
        start_date: step.started_at.map(python_time_utc),
        end_date: step.finished_at.map(python_time_utc),
        duration,
        execution_date: execution_date(action.created_at),
        try_number: step.tries,
        operator: step.operator.to_owned(),
        queued_dttm: python_time_utc(action.created_at),
        index: step.index,
        notes,
    }
}

fn text(text: String) -> Response {
    ([(CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
}

pub(super) async fn logs(
    State(state): State<ApiState>,
    Path((id, name)): Path<(String, String)>,
    parameters: Parameters,
) -> Result<Response, Problem> {
    if id.len() != 26 {
        let description = format!("Invalid Action ID: {id}");
        return Err(Problem::shipyard(
            StatusCode::BAD_REQUEST,
            "Invalid Action ID!",
            description,
        ));
    }
    let attempt: Option<u32> = match parameters.get("try") {
        None => None,
        Some(text) => {
            let number = text.parse().ok().filter(|number| *number > 0);
            let problem = || format!("try should be the number of an attempt, from 1 on, not '{text}'");
            Some(number.ok_or_else(|| bad_parameter("try", problem()))?)
        }
    };
    let (action, step) = find_step(&state, &id, &name).await?;
    if let Some(attempt) = attempt.filter(|attempt| *attempt > step.tries.max(1)) {
        let description = format!(
            "Unknown try {attempt} of step {name}, which has had {}",
            step.tries.max(1)
        );
        return Err(not_found("Log not found", description));
    }
    let mut lines = String::new();
    let mut line = |time: i64, line: &str| {
        lines.push_str(&python_time_utc(time));
        lines.push(' ');
        lines.push_str(line);
        lines.push('\n');
    };
    for note in about(&state, &format!("step/{}/{}", action.id, step.id)).await? {
        line(note.created_at, &note.note.text);
    }
    if step.id == "relabel_nodes" {
        let store = state.actions(SHIPYARD)?;
        let subtasks = store.subtasks(&action.id, SubtaskPage::ALL).await;
        let mut subtasks = subtasks.map_err(|error| store_refused(SHIPYARD, error))?;
        subtasks.sort_by_key(|subtask| subtask.finished_at);
        for subtask in &subtasks {
            if let Some(time) = subtask.finished_at {
                let message = outcome_of(subtask).message;
                line(time, &format!("node {}: {}: {message}", subtask.node, subtask.state));
            }
        }
    }
    Ok(text(lines))
}

pub(super) async fn validation(
    State(state): State<ApiState>,
    Path((id, wanted)): Path<(String, String)>,
) -> Result<JsonReply<ActionValidation>, Problem> {
    let action = find(&state, &id, "Unknown action ").await?;
    let found = state.actions(SHIPYARD)?.action_validations(&action.id).await;
    let found = found.map_err(|error| store_refused(SHIPYARD, error))?;
    let number: Option<u64> = wanted.parse().ok();
    let validation = found.iter().find(|validation| Some(validation.id) == number);
    let validation =
        validation.ok_or_else(|| not_found("Validation not found", format!("Unknown validation {wanted}")))?;
    Ok(JsonReply(shown_validation(validation)))
}

pub(super) async fn note(State(state): State<ApiState>, Path(id): Path<String>) -> Result<Response, Problem> {
    let store = state.actions(SHIPYARD)?;
    let missing = || not_found("Note not found", format!("Unknown note {id}"));
    if let Ok(of_action) = id.parse::<ActionId>()
        && let Ok(action) = store.action(&of_action).await
    {
        let subtasks = store.subtasks(&action.id, SubtaskPage::ALL).await;
        let subtasks = subtasks.map_err(|error| store_refused(SHIPYARD, error))?;
        return Ok(text(failures(&subtasks).into_iter().map(|line| line + "\n").collect()));
    }
    let number: u64 = id.parse().map_err(|_| missing())?;
    let note = store
        .note(number)
        .await
        .map_err(|error| store_refused(SHIPYARD, error))?;
    let note = note.ok_or_else(missing)?;
    let mut lines = format!("{}\n", note.note.text);
    if let Some(link) = &note.note.link {
        lines.push_str(link);
        lines.push('\n');
    }
    Ok(text(lines))
}

/// The identifier of a run, as Airflow makes it: its name and its time to the microsecond.
fn run_id(action: &Action) -> String {
    let time = berth_repository::timestamp(action.created_at);
    format!("{}__{}", action.name, time.trim_end_matches('Z'))
}

fn run_of(action: &Action) -> Workflow {
    let id = run_id(action);
    Workflow {
        workflow_id: id.clone(),
        id,
        dag_id: action.name.clone(),
        run_id: action.id.to_string(),
        action_id: action.id.to_string(),
        dag_status: action.state.to_string(),
        state: action.state.to_string(),
        execution_date: execution_date(action.created_at),
        start_date: action.started_at.map(python_time_utc),
        end_date: action.finished_at.map(python_time_utc),
        external_trigger: true,
    }
}

pub(super) async fn workflows(
    State(state): State<ApiState>,
    parameters: Parameters,
) -> Result<JsonReply<Workflows>, Problem> {
    let since = parameters.get("since").unwrap_or_default();
    let is_date = since
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b"-:.TZ+ ".contains(&byte));
    if !is_date {
        return Err(bad_parameter("since", "since should be a time in ISO 8601".to_owned()));
    }
    let (actions, _) = search(&state, LARGEST_PAGE, None, None).await?;
    // Times in this form sort as texts.
    let since = since.replace(' ', "T");
    let shown = actions
        .iter()
        .filter(|action| berth_repository::timestamp(action.created_at) >= since)
        .map(run_of);
    Ok(JsonReply(Workflows(shown.collect())))
}

/// The action of a run. Identifiers of actions begin with their time, so that few have to be looked at.
async fn find_run(state: &ApiState, id: &str) -> Result<Option<Action>, Problem> {
    let Some((_, time)) = id.split_once("__") else {
        return Ok(None);
    };
    let Ok(time) = format!("{time}Z").parse::<jiff::Timestamp>() else {
        return Ok(None);
    };
    let after = time.as_microsecond().saturating_add(1_000);
    let mut before = Some(ActionId::new(after, [0xff; 10]));
    loop {
        let page = ActionPage {
            origin: Some(Origin::Action),
            before,
            limit: PAGE,
        };
        let found = state.actions(SHIPYARD)?.actions(&page).await;
        let found = found.map_err(|error| store_refused(SHIPYARD, error))?;
        if let Some(action) = found.iter().find(|action| run_id(action) == id) {
            return Ok(Some(action.clone()));
        }
        let last = found.last().filter(|last| last.created_at >= time.as_microsecond());
        let Some(last) = last else { return Ok(None) };
        before = Some(last.id.clone());
    }
}

pub(super) async fn workflow(
    State(state): State<ApiState>,
    Path(id): Path<String>,
) -> Result<JsonReply<WorkflowDetail>, Problem> {
    let missing = || not_found("Workflow not found", format!("Unknown workflow {id}"));
    let action = find_run(&state, &id).await?.ok_or_else(missing)?;
    let steps = steps(&action);
    let steps = steps.iter().map(|step| shown_step(&action, step, Vec::new()));
    Ok(JsonReply(WorkflowDetail {
        workflow: run_of(&action),
        steps: steps.collect(),
    }))
}

pub(super) async fn site_statuses(
    State(state): State<ApiState>,
    parameters: Parameters,
) -> Result<JsonReply<SiteStatuses>, Problem> {
    let filters = parameters
        .get("filters")
        .unwrap_or("nodes-provision-status,machines-power-state");
    let filters: Vec<&str> = filters.split(',').map(str::trim).collect();
    let known = ["nodes-provision-status", "machines-power-state"];
    if let Some(wrong) = filters.iter().find(|filter| !known.contains(filter)) {
        return Err(Problem::shipyard(
            StatusCode::BAD_REQUEST,
            "Not a valid status filter",
            format!("filter {wrong} is not supported"),
        ));
    }
    let workflow = state.workflow(SHIPYARD)?;
    let site = workflow
        .committed_site()
        .await
        .map_err(|error| refused(SHIPYARD, &error))?;
    let live = workflow
        .nodes()
        .list()
        .await
        .map_err(|error| refused(SHIPYARD, &error.into()))?;
    let names = site.resolver().declared();
    let provisioned = |name: &str| ProvisionStatus {
        hostname: name.to_owned(),
        status: if live.contains_key(name) {
            Provisioned::Deployed
        } else {
            Provisioned::NotDeployed
        },
    };
    let power = |name: &str| MachinePower {
        hostname: name.to_owned(),
        power_state: PowerState::Unknown,
    };
    let asks_for = |filter: &str| filters.contains(&filter);
    Ok(JsonReply(SiteStatuses {
        nodes_provision_status: asks_for("nodes-provision-status")
            .then(|| names.iter().map(|name| provisioned(name)).collect()),
        machines_powerstate: asks_for("machines-power-state").then(|| names.iter().map(|name| power(name)).collect()),
    }))
}
