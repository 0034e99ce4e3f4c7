//! `POST /actions`.

use axum::{
    Extension,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header::LOCATION},
    response::{IntoResponse, Response},
};
use berth_api::{ActionPreview, ApiVersion, CreatedAction, DryRunKind};
use berth_store::{Action, SubtaskState};
use berth_workflow::{ACTION_NAMES, Preview, RelabelRequest, SubmitError};
use serde_json::{Map, Value};

use super::SHIPYARD;
use crate::{
    PREFIX,
    auth::{Caller, rules},
    body::{JsonBody, JsonReply, Parameters},
    design,
    problem::Problem,
    state::ApiState,
    workflow::{execution_date, node_outcome, python_time, refused, strategy, strategy_word},
};

pub(super) async fn create(
    State(state): State<ApiState>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
    parameters: Parameters,
    headers: HeaderMap,
    body: JsonBody,
) -> Result<Response, Problem> {
    let body = body.shipyard(uri.path())?;
    let (name, given) = read(&body)?;
    if !ACTION_NAMES.contains(&name) {
        return Err(refused(SHIPYARD, &SubmitError::UnsupportedAction(name.to_owned())));
    }
    caller.require(&rules::RELABEL_ACTION, SHIPYARD, state.now()).await?;
    let slip = parameters.without_slips(&[
        "allow-intermediate-commits",
        "strategy",
        "dry-run",
        "allow-mass-removal",
        "verbosity",
    ]);
    slip.map_err(|problem| Problem::shipyard(StatusCode::BAD_REQUEST, "Invalid parameter", problem))?;
    let mut request = RelabelRequest::read(name, given).map_err(|error| refused(SHIPYARD, &error))?;
    if let Some(strategy) = strategy(&parameters, SHIPYARD)? {
        request.strategy = Some(strategy);
    }
    request.allow_mass_removal |= parameters.truth("allow-mass-removal")?;
    if parameters.get("allow-intermediate-commits").is_some() {
        request.allow_intermediate_commits = Some(parameters.truth("allow-intermediate-commits")?);
    }
    let dry_run = parameters.truth("dry-run")? || request.dry_run;
    let workflow = state.workflow(SHIPYARD)?;
    if let Some(design_ref) = &request.design_ref {
        let site = workflow.committed_site().await;
        let site = site.map_err(|error| refused(SHIPYARD, &error))?;
        design::check(&state, &headers, SHIPYARD, design_ref, site.revision).await?;
    }
    if dry_run {
        let would_do = workflow.preview_action(&request).await;
        let would_do = would_do.map_err(|error| refused(SHIPYARD, &error))?;
        return Ok(JsonReply(preview(request, would_do)).into_response());
    }
    let submitter = state.submitter(&caller, &headers)?;
    let action = workflow.create_action(&request, &submitter).await;
    let action = action.map_err(|error| refused(SHIPYARD, &error))?;
    let mut response = (StatusCode::CREATED, JsonReply(created(&action))).into_response();
    if let Ok(location) = HeaderValue::try_from(format!("{PREFIX}/actions/{}", action.id)) {
        response.headers_mut().insert(LOCATION, location);
    }
    Ok(response)
}

/// An action as Shipyard shows it right after it was made; other fields than later.
fn created(action: &Action) -> CreatedAction {
    CreatedAction {
        id: action.id.to_string(),
        name: action.name.clone(),
        parameters: action.parameters.clone(),
        user: action.user.clone(),
        timestamp: python_time(action.created_at),
        context_marker: action.context_marker.clone(),
        dag_id: action.name.clone(),
        committed_rev_id: action.revision,
        allow_intermediate_commits: action.allow_intermediate_commits,
        dag_execution_date: execution_date(action.created_at),
        dag_status: "SCHEDULED".to_owned(),
        task_id: action.task_id.clone(),
    }
}

fn preview(request: RelabelRequest, preview: Preview) -> ActionPreview {
    let nodes = preview.nodes.into_iter().map(|node| {
        let state = if node.outcome.success {
            SubtaskState::Succeeded
        } else {
            SubtaskState::Failed
        };
        node_outcome(&node.node, state, node.outcome)
    });
    ActionPreview {
        kind: DryRunKind::DryRun,
        api_version: ApiVersion::V1,
        name: request.name,
        parameters: request.parameters,
        committed_rev_id: preview.revision,
        strategy: strategy_word(preview.strategy),
        nodes: nodes.collect(),
        findings: preview.held.into_iter().collect(),
        moves: preview.moves,
        moves_from: preview.moves_from,
    }
}

/// A name, and parameters where there are some.
type Named<'a> = (&'a str, Option<&'a Map<String, Value>>);

/// The name and parameters of a body, or what JSON schema would say of it.
fn read(body: &Value) -> Result<Named<'_>, Problem> {
    let wrong_type = |value: &Value, wanted: &str| {
        invalid(
            &format!("{} is not of type '{wanted}'", python(value)),
            &format!("type : {wanted}"),
        )
    };
    let Value::Object(object) = body else {
        return Err(wrong_type(body, "object"));
    };
    let name = match object.get("name") {
        Some(Value::String(name)) => name,
        Some(other) => return Err(wrong_type(other, "string")),
        None => return Err(invalid("'name' is a required property", "required : ['name']")),
    };
    match object.get("parameters") {
        None => Ok((name, None)),
        Some(Value::Object(parameters)) => Ok((name, Some(parameters))),
        Some(other) => Err(wrong_type(other, "object")),
    }
}

fn invalid(message: &str, validator: &str) -> Problem {
    Problem::shipyard(
        StatusCode::BAD_REQUEST,
        format!("JSON validation failed: {message}"),
        format!("Failed validator: {validator}"),
    )
}

/// A value as Python prints it, because the messages of its JSON schema do.
fn python(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => format!("'{text}'"),
        Value::Array(items) => format!("[{}]", items.iter().map(python).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| format!("'{key}': {}", python(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
    }
}
