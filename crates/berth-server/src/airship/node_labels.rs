//! Promenade's labels of one node.

use std::collections::BTreeMap;

use axum::{
    extract::{Path, State},
    http::StatusCode,
    routing::MethodFilter,
};
use berth_decide::Requested;
use berth_workflow::SubmitError;
use serde_json::{Value, json};

use super::{
    actions::{DRY_RUN, STRATEGY},
    auth::rules,
    body::{JsonBody, JsonReply, Parameters},
    endpoint::{Endpoint, Family, json as json_content, reply},
    problem::Problem,
    state::ApiState,
    workflow::{diff, refused, strategy},
};

const PROMENADE: Family = Family::Promenade;

pub(super) fn endpoints() -> Vec<Endpoint> {
    const PATH: &str = "/api/v1.0/node-labels/{node_name}";
    vec![
        Endpoint::new(PROMENADE, MethodFilter::GET, PATH, "showNodeLabels", show)
            .needs(&rules::READ_NODE_LABELS)
            .says(
                "The labels of a node",
                "With the keys that Berth set, and what the committed documents declare for it.",
            )
            .answers(const { &[reply(StatusCode::OK, json_content("NodeLabels"), "The labels.")] }),
        Endpoint::new(PROMENADE, MethodFilter::PUT, PATH, "putNodeLabels", put)
            .needs(&rules::UPDATE_NODE_LABELS)
            .says(
                "Makes the labels of a node follow the request",
                "Labels are set, changed and removed in one write, and nothing is written when nothing changes. A null \
                 asks for a key to be removed. One label that is not legal refuses the whole request.",
            )
            .takes(const { &[STRATEGY, DRY_RUN] })
            .reads(json_content("Labels"))
            .answers(
                const {
                    &[reply(
                        StatusCode::OK,
                        json_content("LabelStatus"),
                        "The node is as requested.",
                    )]
                },
            ),
    ]
}

fn bad_request(description: impl Into<String>) -> Problem {
    Problem::shipyard(StatusCode::BAD_REQUEST, "Invalid Input Error", description)
}

async fn put(
    State(state): State<ApiState>,
    Path(node): Path<String>,
    parameters: Parameters,
    body: JsonBody,
) -> Result<JsonReply, Problem> {
    let requested = labels(&body.promenade()?)?;
    parameters
        .without_slips(&["strategy", "dry-run"])
        .map_err(bad_request)?;
    let given = strategy(&parameters, PROMENADE)?;
    let dry_run = parameters.truth("dry-run")?;
    let workflow = state.workflow(PROMENADE)?;
    let strategy = given.unwrap_or_else(|| workflow.options().strategy);
    let put = workflow.nodes().put(&node, &requested, strategy, dry_run).await;
    let (_, outcome) = put.map_err(|error| refused(PROMENADE, &SubmitError::from(error)))?;
    let conflicts: Vec<Value> = outcome
        .conflicts
        .values()
        .map(|text| json!({"message": text, "error": false}))
        .collect();
    Ok(JsonReply(json!({
        "kind": "Status",
        "apiVersion": "v1.0",
        "metadata": {},
        "details": {
            "errorCount": 0,
            "messageList": conflicts,
            "diff": diff(&outcome),
            "protected": outcome.protected,
            "labels": outcome.labels,
            "strategy": strategy,
            "dryRun": dry_run,
        },
        "status": "Success",
        "message": "",
        "reason": "Update node labels",
        "code": "200 OK",
    })))
}

/// The labels of a body. What is no text is named, and would have been written as text by nobody.
fn labels(body: &Value) -> Result<Requested, Problem> {
    let Value::Object(labels) = body else {
        return Err(bad_request("Missing input: labels dict"));
    };
    let mut requested = Requested::new();
    let mut wrong = Vec::new();
    for (key, value) in labels {
        match value {
            Value::String(text) => {
                requested.insert(key.clone(), Some(text.clone()));
            }
            Value::Null => {
                requested.insert(key.clone(), None);
            }
            other => wrong.push(format!("{key}: the value must be a string, not {other}")),
        }
    }
    if wrong.is_empty() {
        return Ok(requested);
    }
    let messages = wrong
        .iter()
        .map(|text| json!({"message": text, "error": true}))
        .collect();
    Err(bad_request(wrong.join("; ")).with_messages(messages))
}

async fn show(State(state): State<ApiState>, Path(node): Path<String>) -> Result<JsonReply, Problem> {
    let workflow = state.workflow(PROMENADE)?;
    let live = workflow.nodes().read(&node).await;
    let live = live.map_err(|error| refused(PROMENADE, &SubmitError::from(error)))?;
    let declared = match workflow.committed_site().await {
        Ok(site) => {
            let resolver = site.resolver();
            let subject = resolver.subject(&node).filter(|subject| subject.is_declared());
            subject.map(|subject| {
                let mut resolution = resolver.resolve(subject);
                resolution.labels.retain(|label| !site.hides(label.span));
                resolution.label_set().to_map()
            })
        }
        Err(SubmitError::NothingCommitted) => None,
        Err(error) => return Err(refused(PROMENADE, &error)),
    };
    let owned: BTreeMap<&String, &String> = live.owned.iter().collect();
    Ok(JsonReply(json!({
        "kind": "NodeLabels",
        "apiVersion": "v1.0",
        "node": node,
        "labels": live.labels,
        "owned": owned.keys().collect::<Vec<_>>(),
        "declared": declared,
    })))
}
