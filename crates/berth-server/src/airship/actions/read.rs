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
use berth_store::{Action, ActionId, ActionPage, Note, Origin, SubtaskPage};
use berth_workflow::{Step, lifecycle, steps};
use serde_json::{Map, Value, json};

use super::{SHIPYARD, find, not_found};
use crate::airship::{
    body::{JsonReply, Parameters},
    problem::Problem,
    state::ApiState,
    workflow::{
        action_fields, execution_date, node, notes, outcome_of, python_time_utc, refused, store_refused, verbosity,
    },
};

const NEXT_MARKER: HeaderName = HeaderName::from_static("x-next-marker");
/// Actions on a page unless the caller says.
const PAGE: u32 = 100;
/// The most actions on a page.
const LARGEST_PAGE: u32 = 1000;
/// Pages that are looked through for actions of a lifecycle before the caller has to ask again.
const PAGES_SEARCHED: usize = 10;
const LIFECYCLES: [&str; 5] = ["Pending", "Processing", "Paused", "Complete", "Failed"];

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
        let mut fields = action_fields(action);
        fields.insert("steps".to_owned(), Value::Array(step_summaries(action, &[], verbosity)));
        fields.insert("notes".to_owned(), Value::Array(notes(&own, verbosity)));
        shown.push(Value::Object(fields));
    }
    let mut response = JsonReply(Value::Array(shown)).into_response();
    if let Some(next) = next {
        let mut link = format!("<{}?limit={limit}&marker={next}", uri.path());
        // The next page is of the same kind.
        let lifecycle = wanted.map(|words| words.join(","));
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

fn lifecycles(text: &str) -> Result<Vec<&'static str>, Problem> {
    let one = |word: &str| {
        let found = LIFECYCLES
            .into_iter()
            .find(|known| known.eq_ignore_ascii_case(word.trim()));
        let description = || format!("'{word}' is none of {}", LIFECYCLES.join(", "));
        found.ok_or_else(|| bad_parameter("lifecycle", description()))
    };
    text.split(',').map(one).collect()
}

/// A page of actions, and where the next one begins.
async fn search(
    state: &ApiState,
    limit: u32,
    marker: Option<ActionId>,
    wanted: Option<&[&str]>,
) -> Result<(Vec<Action>, Option<ActionId>), Problem> {
    let store = state.actions(SHIPYARD)?;
    let is_wanted =
        |action: &Action| wanted.is_none_or(|wanted| wanted.contains(&lifecycle(action.state.as_str()).as_str()));
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

fn step_summaries(action: &Action, about_relabelling: &[Note], verbosity: u8) -> Vec<Value> {
    let summary = |step: &Step| {
        let about = if step.id == "relabel_nodes" {
            about_relabelling
        } else {
            &[]
        };
        json!({
            "url": format!("/actions/{}/steps/{}", action.id, step.id),
            "state": step.state,
            "id": step.id,
            "index": step.index,
            "notes": notes(about, verbosity),
        })
    };
    steps(action).iter().map(summary).collect()
}

pub(super) async fn show(
    State(state): State<ApiState>,
    Path(id): Path<String>,
    parameters: Parameters,
) -> Result<JsonReply, Problem> {
    let action = find(&state, &id, "Unknown Action: ").await?;
    let store = state.actions(SHIPYARD)?;
    let failed = |error| store_refused(SHIPYARD, error);
    let verbosity = verbosity(&parameters);
    let own = about_action(&state, &action).await?;
    let about_step = about(&state, &format!("step/{}/relabel_nodes", action.id)).await?;
    let validations = store.action_validations(&action.id).await.map_err(failed)?;
    let audit = store.audit(&action.id).await.map_err(failed)?;
    let subtasks = store.subtasks(&action.id, SubtaskPage::ALL).await.map_err(failed)?;
    let validations = validations.iter().map(validation_json).collect();
    let audit = audit.iter().map(|entry| {
        json!({
            "id": entry.id.to_string(),
            "action_id": entry.action.as_str(),
            "command": entry.command,
            "user": entry.user,
            "datetime": python_time_utc(entry.created_at),
        })
    });
    let nodes = subtasks.iter().map(|subtask| node(&action, subtask));
    let mut fields = action_fields(&action);
    for (key, list) in [
        ("steps", step_summaries(&action, &about_step, verbosity)),
        ("notes", notes(&own, verbosity)),
        ("validations", validations),
        ("command_audit", audit.collect()),
        ("nodes", nodes.collect()),
    ] {
        fields.insert(key.to_owned(), Value::Array(list));
    }
    Ok(JsonReply(Value::Object(fields)))
}

fn validation_json(validation: &berth_store::ActionValidation) -> Value {
    json!({
        "id": validation.id.to_string(),
        "action_id": validation.action.as_str(),
        "validation_name": validation.name,
        "details": validation.details,
    })
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
) -> Result<JsonReply, Problem> {
    let (action, step) = find_step(&state, &id, &name).await?;
    let about = about(&state, &format!("step/{}/{}", action.id, step.id)).await?;
    Ok(JsonReply(Value::Object(step_fields(
        &action,
        &step,
        &about,
        verbosity(&parameters),
    ))))
}

/// A step as Airflow records one.
fn step_fields(action: &Action, step: &Step, about: &[Note], verbosity: u8) -> Map<String, Value> {
    let duration = step.started_at.zip(step.finished_at).map(|(began, ended)| {
        #[expect(clippy::cast_precision_loss, reason = "a duration of seconds, shown to people")]
        let microseconds = ended.saturating_sub(began) as f64;
        microseconds / 1e6
    });
    let fields = json!({
        "task_id": step.id,
        "dag_id": action.name,
        "state": step.state,
        "start_date": step.started_at.map(python_time_utc),
        "end_date": step.finished_at.map(python_time_utc),
        "duration": duration,
        "execution_date": execution_date(action.created_at),
        "try_number": step.tries,
        "operator": step.operator,
        "queued_dttm": python_time_utc(action.created_at),
        "index": step.index,
        "notes": notes(about, verbosity),
    });
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
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
) -> Result<JsonReply, Problem> {
    let action = find(&state, &id, "Unknown action ").await?;
    let found = state.actions(SHIPYARD)?.action_validations(&action.id).await;
    let found = found.map_err(|error| store_refused(SHIPYARD, error))?;
    let validation = found.iter().find(|validation| validation.id.to_string() == wanted);
    let validation =
        validation.ok_or_else(|| not_found("Validation not found", format!("Unknown validation {wanted}")))?;
    Ok(JsonReply(validation_json(validation)))
}

pub(super) async fn note(State(state): State<ApiState>, Path(id): Path<String>) -> Result<Response, Problem> {
    let store = state.actions(SHIPYARD)?;
    let missing = || not_found("Note not found", format!("Unknown note {id}"));
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

fn workflow_fields(action: &Action) -> Map<String, Value> {
    let id = format!("{}__{}", action.name, action.id);
    let date = execution_date(action.created_at);
    let fields = json!({
        "id": id,
        "workflow_id": id,
        "dag_id": action.name,
        "run_id": action.id.as_str(),
        "action_id": action.id.as_str(),
        "dag_status": action.state.as_str(),
        "execution_date": date,
        "start_date": action.started_at.map(python_time_utc),
        "end_date": action.finished_at.map(python_time_utc),
        "external_trigger": true,
    });
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

pub(super) async fn workflows(State(state): State<ApiState>, parameters: Parameters) -> Result<JsonReply, Problem> {
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
        .map(|action| Value::Object(workflow_fields(action)));
    Ok(JsonReply(Value::Array(shown.collect())))
}

pub(super) async fn workflow(State(state): State<ApiState>, Path(id): Path<String>) -> Result<JsonReply, Problem> {
    let missing = || not_found("Workflow not found", format!("Unknown workflow {id}"));
    let action = id.rsplit("__").next().unwrap_or_default();
    let action = match find(&state, action, "").await {
        Ok(action) if format!("{}__{}", action.name, action.id) == id => action,
        Ok(_) => return Err(missing()),
        Err(problem) if problem.status() == StatusCode::NOT_FOUND => return Err(missing()),
        Err(problem) => return Err(problem),
    };
    let mut fields = workflow_fields(&action);
    let steps = steps(&action);
    let steps = steps
        .iter()
        .map(|step| Value::Object(step_fields(&action, step, &[], 0)));
    fields.insert("steps".to_owned(), Value::Array(steps.collect()));
    Ok(JsonReply(Value::Object(fields)))
}

pub(super) async fn site_statuses(State(state): State<ApiState>, parameters: Parameters) -> Result<JsonReply, Problem> {
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
    let mut statuses = Map::new();
    if filters.contains(&"nodes-provision-status") {
        let rows = names.iter().map(|name| {
            let has_joined = live.contains_key(name.as_ref());
            json!({"hostname": name.as_ref(), "status": if has_joined { "Deployed" } else { "Not deployed" }})
        });
        statuses.insert("nodes_provision_status".to_owned(), rows.collect());
    }
    if filters.contains(&"machines-power-state") {
        let rows = names
            .iter()
            .map(|name| json!({"hostname": name.as_ref(), "power_state": "unknown"}));
        statuses.insert("machines_powerstate".to_owned(), rows.collect());
    }
    Ok(JsonReply(Value::Object(statuses)))
}
