//! Drydock's tasks, node filters and nodes.

mod document;

use std::collections::{BTreeMap, HashSet};

use axum::{
    Extension,
    extract::{Path, State},
    http::{HeaderMap, HeaderValue, StatusCode, header::LOCATION},
    response::{IntoResponse, Response},
    routing::MethodFilter,
};
use berth_api::{
    ApiVersion, DesignReference, DesignRefusal, DesignStatus, Empty, FilterQuestion, Findings, Message, Names, NewTask,
    NodeRow, NodeStatus, Nodes, PlainMessage, Removed, ResultStatus, StatusKind, StatusWord, Task, TaskAnswer, TaskOf,
    TaskStatus, TaskTree, Tasks,
};
use berth_site::NodeFilter;
use berth_store::{Action, ActionPage, ActionState, Note, SubtaskPage};
use berth_workflow::{SiteSnapshot, TaskRequest};
use serde_json::Value;

pub(super) use self::document::subtask_id;
use self::document::{subtask_document, task_document};
use super::{
    PREFIX,
    actions::{MASS_REMOVAL, STRATEGY},
    auth::{Caller, rules},
    body::{JsonBody, JsonReply, Parameters},
    design::{self, Design},
    endpoint::{Endpoint, Family, Kind, json, parameter, reply},
    problem::Problem,
    state::ApiState,
    workflow::{refused, store_refused, strategy},
};

const DRYDOCK: Family = Family::Drydock;
/// How many tasks are read at a time. Each comes with all its nodes.
const PAGE: u32 = 100;
/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(DRYDOCK, MethodFilter::GET, "/api/v1.0/tasks", "listTasks", list)
            .needs(&rules::READ_TASK)
            .says(
                "Tasks, newest first, each followed by its subtasks",
                "Those of actions are among them.",
            )
            .takes(
                const {
                    &[parameter(
                        "limit",
                        Kind::Number,
                        "How many at most, subtasks not counted; all of them unless given.",
                    )]
                },
            )
            .answers(const { &[reply(StatusCode::OK, json::<Tasks>(), "The tasks.")] }),
        Endpoint::new(DRYDOCK, MethodFilter::POST, "/api/v1.0/tasks", "createTask", create)
            .needs(&rules::CREATE_TASK)
            .says(
                "Relabels the nodes that a filter selects",
                "The labels are those of the committed revision; a design_ref that means anything else is refused. Without a \
                 filter all nodes are meant. A filter that is not well formed is refused with the place of every mistake.",
            )
            .takes(const { &[STRATEGY, MASS_REMOVAL] })
            .reads(json::<NewTask>())
            .answers(const { &[reply(StatusCode::CREATED, json::<Task>(), "The task has begun.")] }),
        Endpoint::new(DRYDOCK, MethodFilter::DELETE, "/api/v1.0/tasks", "deleteTasks", delete)
            .needs(&rules::DELETE_TASKS)
            .says("Removes tasks and actions that ended long ago", "")
            .takes(const { &[parameter("days", Kind::Number, "How long ago, in days; 90 unless given.")] })
            .answers(const { &[reply(StatusCode::OK, json::<Removed>(), "How many were removed.")] }),
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
        .answers(const { &[reply(StatusCode::OK, json::<TaskAnswer>(), "The task.")] }),
        Endpoint::new(
            DRYDOCK,
            MethodFilter::POST,
            "/api/v1.0/nodefilter",
            "selectNodes",
            select,
        )
        .needs(&rules::READ_DATA)
        .says("The nodes that a filter selects", "In the order of their documents.")
        .reads(json::<FilterQuestion>())
        .answers(const { &[reply(StatusCode::OK, json::<Names>(), "The names.")] }),
        Endpoint::new(
            DRYDOCK,
            MethodFilter::POST,
            "/api/v1.0/validatedesign",
            "validateDesign",
            validate_design,
        )
        .needs(&rules::VALIDATE_DESIGN)
        .says(
            "Validates a design, as Shipyard asks Drydock, Promenade and Armada for it at a commit",
            "The design is a revision of this server, or of a Deckhand that it is configured with. The answer has status 400 when \
             something is wrong with it.",
        )
        .reads(json::<DesignReference>())
        .answers(
            const {
                &[
                    reply(StatusCode::OK, json::<DesignStatus>(), "Nothing is wrong with it."),
                    reply(StatusCode::BAD_REQUEST, json::<DesignRefusal>(), "The list says what is wrong."),
                ]
            },
        ),
        Endpoint::new(DRYDOCK, MethodFilter::GET, "/api/v1.0/nodes", "listNodes", nodes)
            .needs(&rules::READ_DATA)
            .says(
                "The declared nodes, and what the cluster shows of them",
                "In the order of their documents; Nodes that nobody declares come last.",
            )
            .answers(const { &[reply(StatusCode::OK, json::<Nodes>(), "The nodes.")] }),
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
    let committed = committed(&state).await?.revision;
    design::check(&state, &headers, DRYDOCK, design_ref, committed).await?;
    let submitter = state.submitter(&caller, &headers)?;
    let task = workflow.create_task(&request, &submitter).await;
    let task = task.map_err(|error| refused(DRYDOCK, &error))?;
    let mut document = with_subtasks(&state, &task).await?;
    // It is answered as it was taken, however fast it has been since.
    document.status = TaskStatus::Queued;
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

/// Reads the filter of a request; none means all nodes.
fn request(body: &Value, design_ref: &str) -> Result<TaskRequest, Problem> {
    let given = body.get("node_filter").unwrap_or(&Value::Null);
    let filter = match given {
        Value::Null => None,
        given => Some(NodeFilter::from_json(given, "node_filter").map_err(|error| {
            let message = |mistake: &berth_site::FilterMistake| {
                Message::Plain(PlainMessage {
                    message: mistake.to_string(),
                    error: true,
                    name: None,
                    path: Some(mistake.path.clone()),
                })
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

/// A task with everything that its nodes add to it.
async fn with_subtasks(state: &ApiState, task: &Action) -> Result<Task, Problem> {
    let store = state.actions(DRYDOCK)?;
    let subtasks = store.subtasks(&task.id, SubtaskPage::ALL).await;
    let subtasks = subtasks.map_err(|error| store_refused(DRYDOCK, error))?;
    Ok(task_document(task, &subtasks, &hold_notes(state, task).await?))
}

/// Tasks with their subtasks, which Drydock lists as tasks of their own.
async fn list(State(state): State<ApiState>, parameters: Parameters) -> Result<JsonReply<Tasks>, Problem> {
    let limit = match parameters.get("limit") {
        None => u32::MAX,
        Some(text) => text
            .parse()
            .ok()
            .filter(|limit| *limit > 0)
            .ok_or_else(|| bad_request("limit should be a number from 1 on"))?,
    };
    let store = state.actions(DRYDOCK)?;
    let failed = |error| store_refused(DRYDOCK, error);
    let (mut shown, mut before, mut left) = (Vec::new(), None, limit);
    while left > 0 {
        let page = ActionPage {
            origin: None,
            before,
            limit: left.min(PAGE),
        };
        let tasks = store.actions(&page).await.map_err(failed)?;
        for task in &tasks {
            let subtasks = store.subtasks(&task.id, SubtaskPage::ALL).await.map_err(failed)?;
            let notes = hold_notes(&state, task).await?;
            shown.push(task_document(task, &subtasks, &notes));
            shown.extend(subtasks.iter().map(|subtask| subtask_document(task, subtask)));
        }
        let count = u32::try_from(tasks.len()).unwrap_or(u32::MAX);
        left = if count < page.limit {
            0
        } else {
            left.saturating_sub(count)
        };
        before = tasks.last().map(|task| task.id.clone());
    }
    Ok(JsonReply(Tasks(shown)))
}

/// What is said about a task that waits for a person.
async fn hold_notes(state: &ApiState, task: &Action) -> Result<Vec<Note>, Problem> {
    if task.state != ActionState::Paused {
        return Ok(Vec::new());
    }
    let notes = state.actions(DRYDOCK)?.notes(&format!("action/{}", task.id)).await;
    notes.map_err(|error| store_refused(DRYDOCK, error))
}

async fn delete(State(state): State<ApiState>, parameters: Parameters) -> Result<JsonReply<Removed>, Problem> {
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
    Ok(JsonReply(Removed { removed }))
}

async fn show(
    State(state): State<ApiState>,
    Path(id): Path<String>,
    parameters: Parameters,
) -> Result<JsonReply<TaskAnswer>, Problem> {
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
        let subtask = subtask_document(&task, subtask.ok_or_else(missing)?);
        return Ok(JsonReply(TaskAnswer::Task(Box::new(subtask))));
    }
    let subtasks = store.subtasks(&task.id, SubtaskPage::ALL).await.map_err(failed)?;
    let mut document = task_document(&task, &subtasks, &hold_notes(&state, &task).await?);
    if truth(&parameters, "subtaskerrors")?
        && let TaskOf::Nodes { subtask_errors, .. } = &mut document.of
    {
        let results = subtasks.iter().map(|subtask| subtask_document(&task, subtask));
        let failed = results.filter(|document| document.result.status == ResultStatus::Failure);
        *subtask_errors = Some(failed.map(|document| (document.task_id, document.result)).collect());
    }
    let layers = match parameters.get("layers") {
        None => return Ok(JsonReply(TaskAnswer::Task(Box::new(document)))),
        Some(text) => text
            .parse::<i64>()
            .map_err(|_| bad_request("layers should be a number"))?,
    };
    let mut tasks = BTreeMap::from([(task.task_id.clone(), document)]);
    if !(0..=1).contains(&layers) {
        let parts = subtasks.iter().map(|subtask| subtask_document(&task, subtask));
        tasks.extend(parts.map(|part| (part.task_id.clone(), part)));
    }
    Ok(JsonReply(TaskAnswer::Tree(TaskTree {
        init_task_id: task.task_id,
        tasks,
    })))
}

async fn select(
    State(state): State<ApiState>,
    headers: HeaderMap,
    body: JsonBody,
) -> Result<JsonReply<Names>, Problem> {
    let body = body.drydock()?;
    let design_ref = body
        .get("design_ref")
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty());
    let design_ref = design_ref.ok_or_else(|| bad_request("Missing input required value: design_ref"))?;
    let request = request(&body, design_ref)?;
    let workflow = state.workflow(DRYDOCK)?;
    let committed = committed(&state).await?.revision;
    design::check(&state, &headers, DRYDOCK, design_ref, committed).await?;
    let names = workflow
        .filtered(&request)
        .await
        .map_err(|error| refused(DRYDOCK, &error))?;
    Ok(JsonReply(Names(names)))
}

async fn validate_design(
    State(state): State<ApiState>,
    headers: HeaderMap,
    body: JsonBody,
) -> Result<Response, Problem> {
    let body = body.drydock()?;
    let href = body.get("href").and_then(Value::as_str).filter(|href| !href.is_empty());
    let href = href.ok_or_else(|| bad_request("The \"href\" key must be provided in the request body."))?;
    let found = match design::find(&state, &headers, DRYDOCK, href).await? {
        Design::Revision(revision) => state.configdocs.validate(revision).await,
        Design::Text(fetched) => {
            let (text, _turn) = fetched.take();
            state.configdocs.validate_design(text).await
        }
    };
    let found = found.map_err(|error| Problem::drydock(StatusCode::BAD_REQUEST, error.to_string()))?;
    let errors = found.iter().filter(|message| message.error).count();
    let (status, word, message) = if errors == 0 {
        (StatusCode::OK, StatusWord::Success, "Site design passed validation")
    } else {
        (
            StatusCode::BAD_REQUEST,
            StatusWord::Failure,
            "Site design failed validation.",
        )
    };
    let answer = DesignStatus {
        kind: StatusKind::Status,
        api_version: ApiVersion::V1,
        metadata: Empty {},
        status: word,
        message: message.to_owned(),
        reason: if errors == 0 {
            "Validation"
        } else {
            "See detail messages."
        }
        .to_owned(),
        details: Findings {
            error_count: errors,
            message_list: found,
        },
        code: status.as_u16(),
    };
    Ok((status, JsonReply(answer)).into_response())
}

async fn nodes(State(state): State<ApiState>) -> Result<JsonReply<Nodes>, Problem> {
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
        NodeRow {
            hostname: name.to_owned(),
            status_name: if node.is_some() {
                NodeStatus::Present
            } else {
                NodeStatus::Absent
            },
            is_declared: true,
            pool: pool.map(str::to_owned),
            rack: rack.map(str::to_owned),
            labels: node.map(|node| node.labels.clone()),
            memory: None,
            cpu_count: None,
            boot_mac: None,
            boot_ip: None,
            power_state: None,
            power_address: None,
        }
    };
    let mut rows = Vec::new();
    let mut declared = HashSet::new();
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
        rows.push(NodeRow {
            is_declared: false,
            ..row(name, None, None)
        });
    }
    Ok(JsonReply(Nodes(rows)))
}
