//! Drydock's tasks, node filters and nodes.

mod document;

use axum::{
    Extension,
    extract::{Path, State},
    http::{HeaderMap, HeaderValue, StatusCode, header::LOCATION},
    response::{IntoResponse, Response},
    routing::MethodFilter,
};
use berth_site::NodeFilter;
use berth_store::{Action, ActionPage, SubtaskPage};
use berth_workflow::{SiteSnapshot, TaskRequest};
use serde_json::{Map, Value, json};

pub(super) use self::document::subtask_id;
use self::document::{subtask_document, task_document};
use super::{
    PREFIX,
    actions::{MASS_REMOVAL, STRATEGY},
    auth::{Caller, rules},
    body::{JsonBody, JsonReply, Parameters},
    endpoint::{Endpoint, Family, Kind, json as json_content, parameter, reply},
    problem::Problem,
    state::ApiState,
    workflow::{refused, store_refused, strategy},
};

const DRYDOCK: Family = Family::Drydock;
/// Tasks on a page unless the caller says. Each comes with all its nodes.
const PAGE: u32 = 20;
const LARGEST_PAGE: u32 = 100;
/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(DRYDOCK, MethodFilter::GET, "/api/v1.0/tasks", "listTasks", list)
            .needs(&rules::READ_TASK)
            .says("Tasks, newest first", "Those of actions are among them.")
            .takes(const { &[parameter("limit", Kind::Number, "How many at most: 1 to 100; 20 unless given.")] })
            .answers(const { &[reply(StatusCode::OK, json_content("Tasks"), "The tasks.")] }),
        Endpoint::new(DRYDOCK, MethodFilter::POST, "/api/v1.0/tasks", "createTask", create)
            .needs(&rules::CREATE_TASK)
            .says(
                "Relabels the nodes that a filter selects",
                "The labels are those of the committed revision; a design_ref that names another one is refused. Without a \
                 filter all nodes are meant. A filter that is not well formed is refused with the place of every mistake.",
            )
            .takes(const { &[STRATEGY, MASS_REMOVAL] })
            .reads(json_content("NewTask"))
            .answers(const { &[reply(StatusCode::CREATED, json_content("Task"), "The task has begun.")] }),
        Endpoint::new(DRYDOCK, MethodFilter::DELETE, "/api/v1.0/tasks", "deleteTasks", delete)
            .needs(&rules::DELETE_TASKS)
            .says("Removes tasks and actions that ended long ago", "")
            .takes(const { &[parameter("days", Kind::Number, "How long ago, in days; 90 unless given.")] })
            .answers(const { &[reply(StatusCode::OK, json_content("Removed"), "How many were removed.")] }),
        Endpoint::new(
            DRYDOCK,
            MethodFilter::GET,
            "/api/v1.0/tasks/{task_id}",
            "showTask",
            show,
        )
        .needs(&rules::READ_TASK)
        .says("One task, or one of its subtasks", "Every node has a subtask of its own.")
        .takes(
            const {
                &[
                    parameter(
                        "layers",
                        Kind::Text,
                        "1 for the task alone, 2 or -1 with its subtasks: then the answer is an object with every task \
                         under its identifier.",
                    ),
                    parameter("subtaskerrors", Kind::Truth, "Whether to add the results of subtasks that failed."),
                    parameter("builddata", Kind::Truth, "Taken for Drydock's clients; there is none."),
                ]
            },
        )
        .answers(const { &[reply(StatusCode::OK, json_content("Task"), "The task.")] }),
        Endpoint::new(
            DRYDOCK,
            MethodFilter::POST,
            "/api/v1.0/nodefilter",
            "selectNodes",
            select,
        )
        .needs(&rules::READ_DATA)
        .says("The nodes that a filter selects", "In the order of their documents.")
        .reads(json_content("FilterQuestion"))
        .answers(const { &[reply(StatusCode::OK, json_content("Names"), "The names.")] }),
        Endpoint::new(DRYDOCK, MethodFilter::GET, "/api/v1.0/nodes", "listNodes", nodes)
            .needs(&rules::READ_DATA)
            .says(
                "The declared nodes, and what the cluster shows of them",
                "In the order of their documents; Nodes that nobody declares come last.",
            )
            .answers(const { &[reply(StatusCode::OK, json_content("Nodes"), "The nodes.")] }),
    ]
}

fn bad_request(message: impl Into<String>) -> Problem {
    Problem::drydock(StatusCode::BAD_REQUEST, message)
}

async fn create(
    State(state): State<ApiState>,
    Extension(caller): Extension<Caller>,
    parameters: Parameters,
    headers: HeaderMap,
    body: JsonBody,
) -> Result<Response, Problem> {
    let body = body.drydock()?;
    let text = |key: &str| body.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let (Some(action), Some(design_ref)) = (text("action"), text("design_ref")) else {
        return Err(bad_request("Task creation requires fields design_ref, action"));
    };
    if action != "relabel_nodes" {
        return Err(bad_request(format!("Unsupported action {action}")));
    }
    caller.require(&rules::RELABEL_TASK, DRYDOCK, state.now()).await?;
    let slip = parameters.without_slips(&["strategy", "allow-mass-removal", "dry-run"]);
    slip.map_err(bad_request)?;
    if truth(&parameters, "dry-run")? {
        return Err(bad_request(
            "A task cannot be tried out with dry-run; POST /api/v1.0/actions?dry-run=true says what would change",
        ));
    }
    let mut request = request(&body, design_ref)?;
    request.strategy = strategy(&parameters, DRYDOCK)?;
    request.allow_mass_removal = truth(&parameters, "allow-mass-removal")?;
    let workflow = state.workflow(DRYDOCK)?;
    check_design(design_ref, &*committed(&state).await?)?;
    let submitter = state.submitter(&caller, &headers)?;
    let task = workflow.create_task(&request, &submitter).await;
    let task = task.map_err(|error| refused(DRYDOCK, &error))?;
    let mut document = with_subtasks(&state, &task).await?;
    // It is answered as it was taken, however fast it has been since.
    document["status"] = Value::from("queued");
    let mut response = (StatusCode::CREATED, JsonReply(document)).into_response();
    if let Ok(location) = HeaderValue::try_from(format!("{PREFIX}/tasks/{}", task.task_id)) {
        response.headers_mut().insert(LOCATION, location);
    }
    Ok(response)
}

fn truth(parameters: &Parameters, key: &str) -> Result<bool, Problem> {
    match parameters.get(key) {
        None => Ok(false),
        Some(value) if value.eq_ignore_ascii_case("true") => Ok(true),
        Some(value) if value.eq_ignore_ascii_case("false") => Ok(false),
        Some(value) => Err(bad_request(format!("{key} must be true or false, not '{value}'"))),
    }
}

/// The schemes of references to a design: those of Drydock, and the two for TLS that it lacks.
const DESIGN_SCHEMES: [&str; 7] = [
    "http",
    "https",
    "file",
    "deckhand+http",
    "deckhand+https",
    "promenade+http",
    "promenade+https",
];

/// Refuses a reference that nothing could be fetched by. What is no address at all is a mere name, as in the blueprint.
fn check_scheme(design_ref: &str) -> Result<(), Problem> {
    let Some((scheme, _)) = design_ref.split_once("://") else {
        return Ok(());
    };
    if DESIGN_SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(scheme)) {
        return Ok(());
    }
    Err(bad_request(format!(
        "design_ref '{design_ref}' has the scheme '{scheme}'; known are {}",
        DESIGN_SCHEMES.join(", ")
    )))
}

/// Reads the filter of a request; none means all nodes.
fn request(body: &Value, design_ref: &str) -> Result<TaskRequest, Problem> {
    check_scheme(design_ref)?;
    let given = body.get("node_filter").unwrap_or(&Value::Null);
    let filter = match given {
        Value::Null => None,
        given => Some(NodeFilter::from_json(given, "node_filter").map_err(|error| {
            let message = |mistake: &berth_site::FilterMistake| {
                json!({"message": mistake.to_string(), "error": true, "path": mistake.path})
            };
            let messages = error.0.iter().map(message).collect();
            bad_request(format!("Invalid {error}")).with_messages(messages)
        })?),
    };
    Ok(TaskRequest {
        design_ref: design_ref.to_owned(),
        filter,
        filter_json: given.clone(),
        strategy: None,
        allow_mass_removal: false,
    })
}

async fn committed(state: &ApiState) -> Result<std::sync::Arc<SiteSnapshot>, Problem> {
    let site = state.workflow(DRYDOCK)?.committed_site().await;
    site.map_err(|error| refused(DRYDOCK, &error))
}

/// Labels come from the committed revision. A reference that names another one is refused rather than not followed.
fn check_design(design_ref: &str, site: &SiteSnapshot) -> Result<(), Problem> {
    let named = design_ref.split("/revisions/").nth(1);
    let named = named.and_then(|rest| rest.split('/').next()?.parse::<u64>().ok());
    match named {
        Some(named) if named != site.revision => Err(bad_request(format!(
            "design_ref names revision {named}, but labels come from the committed revision {}",
            site.revision
        ))),
        _ => Ok(()),
    }
}

/// A task with everything that its nodes add to it.
async fn with_subtasks(state: &ApiState, task: &Action) -> Result<Value, Problem> {
    let store = state.actions(DRYDOCK)?;
    let subtasks = store.subtasks(&task.id, SubtaskPage::ALL).await;
    let subtasks = subtasks.map_err(|error| store_refused(DRYDOCK, error))?;
    Ok(task_document(task, &subtasks))
}

async fn list(State(state): State<ApiState>, parameters: Parameters) -> Result<JsonReply, Problem> {
    let limit = match parameters.get("limit") {
        None => PAGE,
        Some(text) => text
            .parse()
            .ok()
            .filter(|limit| (1..=LARGEST_PAGE).contains(limit))
            .ok_or_else(|| bad_request(format!("limit should be a number from 1 to {LARGEST_PAGE}")))?,
    };
    let page = ActionPage {
        origin: None,
        before: None,
        limit,
    };
    let store = state.actions(DRYDOCK)?;
    let tasks = store
        .actions(&page)
        .await
        .map_err(|error| store_refused(DRYDOCK, error))?;
    let mut shown = Vec::with_capacity(tasks.len());
    for task in &tasks {
        shown.push(with_subtasks(&state, task).await?);
    }
    Ok(JsonReply(Value::Array(shown)))
}

async fn delete(State(state): State<ApiState>, parameters: Parameters) -> Result<JsonReply, Problem> {
    let days: i64 = match parameters.get("days") {
        None => 90,
        Some(text) => text
            .parse()
            .ok()
            .filter(|days| (0..=36_500).contains(days))
            .ok_or_else(|| bad_request("days should be a number"))?,
    };
    let before = state.now().saturating_sub(days.saturating_mul(DAY));
    let removed = state.actions(DRYDOCK)?.purge_actions(before).await;
    let removed = removed.map_err(|error| store_refused(DRYDOCK, error))?;
    Ok(JsonReply(json!({"removed": removed})))
}

async fn show(
    State(state): State<ApiState>,
    Path(id): Path<String>,
    parameters: Parameters,
) -> Result<JsonReply, Problem> {
    let missing = || Problem::drydock(StatusCode::NOT_FOUND, format!("Task {id} does not exist"));
    let (task_id, ordinal) = document::parse_id(&id).ok_or_else(missing)?;
    let store = state.actions(DRYDOCK)?;
    let task = match store.task(&task_id).await {
        Ok(task) => task,
        Err(berth_store::Error::TaskNotFound { .. }) => return Err(missing()),
        Err(error) => return Err(store_refused(DRYDOCK, error)),
    };
    let failed = |error| store_refused(DRYDOCK, error);
    if let Some(ordinal) = ordinal {
        let page = SubtaskPage {
            after: ordinal.checked_sub(1),
            limit: 1,
        };
        let found = store.subtasks(&task.id, page).await.map_err(failed)?;
        let subtask = found.first().filter(|subtask| subtask.ordinal == ordinal);
        return Ok(JsonReply(subtask_document(&task, subtask.ok_or_else(missing)?)));
    }
    let subtasks = store.subtasks(&task.id, SubtaskPage::ALL).await.map_err(failed)?;
    let mut document = task_document(&task, &subtasks);
    let failures = || {
        let failed = subtasks.iter().map(|subtask| subtask_document(&task, subtask));
        let failed = failed.filter(|document| document["result"]["status"] == "failure");
        failed.filter_map(|document| {
            let id = document.get("task_id")?.as_str()?.to_owned();
            Some((id, document.get("result")?.clone()))
        })
    };
    if truth(&parameters, "subtaskerrors")? {
        document["subtask_errors"] = Value::Object(failures().collect());
    }
    let layers = match parameters.get("layers") {
        None => return Ok(JsonReply(document)),
        Some(text) => text
            .parse::<i64>()
            .map_err(|_| bad_request("layers should be a number"))?,
    };
    let mut tree = Map::new();
    tree.insert("init_task_id".to_owned(), Value::from(task.task_id.as_str()));
    tree.insert(task.task_id.clone(), document);
    if !(0..=1).contains(&layers) {
        for subtask in &subtasks {
            let id = subtask_id(&task.task_id, subtask.ordinal);
            tree.insert(id, subtask_document(&task, subtask));
        }
    }
    Ok(JsonReply(Value::Object(tree)))
}

async fn select(State(state): State<ApiState>, body: JsonBody) -> Result<JsonReply, Problem> {
    let body = body.drydock()?;
    let design_ref = body
        .get("design_ref")
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty());
    let design_ref = design_ref.ok_or_else(|| bad_request("Missing input required value: design_ref"))?;
    let request = request(&body, design_ref)?;
    let workflow = state.workflow(DRYDOCK)?;
    check_design(design_ref, &*committed(&state).await?)?;
    let names = workflow
        .filtered(&request)
        .await
        .map_err(|error| refused(DRYDOCK, &error))?;
    Ok(JsonReply(json!(names)))
}

async fn nodes(State(state): State<ApiState>) -> Result<JsonReply, Problem> {
    let workflow = state.workflow(DRYDOCK)?;
    let live = workflow.nodes().list().await;
    let live = live.map_err(|error| refused(DRYDOCK, &error.into()))?;
    let site = match workflow.committed_site().await {
        Ok(site) => Some(site),
        Err(berth_workflow::SubmitError::NothingCommitted) => None,
        Err(error) => return Err(refused(DRYDOCK, &error)),
    };
    let row = |name: &str, pool: Option<&str>, rack: Option<&str>| {
        let node = live.get(name);
        json!({
            "hostname": name,
            "status_name": if node.is_some() { "Present" } else { "Absent" },
            "is_declared": true,
            "pool": pool,
            "rack": rack,
            "labels": node.map(|node| &node.labels),
            "memory": null,
            "cpu_count": null,
            "boot_mac": null,
            "boot_ip": null,
            "power_state": null,
            "power_address": null,
        })
    };
    let mut rows = Vec::new();
    let mut declared = std::collections::HashSet::new();
    if let Some(site) = &site {
        let resolver = site.resolver();
        for name in resolver.declared() {
            let Some(subject) = resolver.subject(&name) else {
                continue;
            };
            let resolution = resolver.resolve(subject);
            rows.push(row(&name, resolution.pool_name(), resolver.facts(subject).rack));
            declared.insert(name);
        }
    }
    let mut others: Vec<&String> = live.keys().filter(|name| !declared.contains(name.as_str())).collect();
    others.sort_unstable();
    for name in others {
        let mut row = row(name, None, None);
        row["is_declared"] = Value::from(false);
        rows.push(row);
    }
    Ok(JsonReply(Value::Array(rows)))
}
