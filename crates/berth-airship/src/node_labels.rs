//! Promenade's labels of one node.

use std::collections::BTreeSet;

use axum::{
    extract::{Path, State},
    http::StatusCode,
    routing::MethodFilter,
};
use berth_api::{
    ApiVersion, Empty, LabelChangeDetails, LabelStatus, Labels, Message, NodeLabels, NodeLabelsKind, PlainMessage,
    Status, StatusKind, StatusWord,
};
use berth_decide::Requested;
use berth_workflow::SubmitError;
use serde_json::Value;

use super::{
    actions::{DRY_RUN, STRATEGY},
    auth::rules,
    body::{JsonBody, JsonReply, Parameters},
    endpoint::{Endpoint, Family, json, reply},
    problem::Problem,
    state::ApiState,
    workflow::{diff, refused, strategy, strategy_word},
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
            .answers(const { &[reply(StatusCode::OK, json::<NodeLabels>(), "The labels.")] }),
        Endpoint::new(PROMENADE, MethodFilter::PUT, PATH, "putNodeLabels", put)
            .needs(&rules::UPDATE_NODE_LABELS)
            .says(
                "Makes the labels of a node follow the request",
                "Labels are set, changed and removed in one write, and nothing is written when nothing changes. A null \
                 asks for a key to be removed. One label that is not legal refuses the whole request.",
            )
            .takes(const { &[STRATEGY, DRY_RUN] })
            .reads(json::<Labels>())
            .answers(
                const {
                    &[reply(
                        StatusCode::OK,
                        json::<LabelStatus>(),
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
) -> Result<JsonReply<LabelStatus>, Problem> {
    let requested = labels(&body.promenade()?)?;
    parameters
        .without_slips(&["strategy", "dry-run"])
        .map_err(bad_request)?;
    let given = strategy(&parameters, PROMENADE)?;
    let dry_run = parameters.truth("dry-run")?;
    let workflow = state.workflow(PROMENADE)?;
    let strategy = given.unwrap_or_else(|| workflow.options().strategy);
    let nodes = workflow.nodes_of_site().await;
    let nodes = nodes.map_err(|error| refused(PROMENADE, &error))?;
    let put = nodes.put(&node, &requested, strategy, dry_run).await;
    let (_, outcome) = put.map_err(|error| refused(PROMENADE, &SubmitError::from(error)))?;
    let diff = diff(&outcome);
    let conflicts = outcome.conflicts.into_values().map(|message| PlainMessage {
        message,
        error: false,
        name: None,
        path: None,
    });
    Ok(JsonReply(Status {
        kind: StatusKind::Status,
        api_version: ApiVersion::V1,
        metadata: Empty {},
        status: StatusWord::Success,
        message: String::new(),
        reason: "Update node labels".to_owned(),
        details: LabelChangeDetails {
            error_count: 0,
            message_list: conflicts.collect(),
            diff,
            protected: outcome.protected,
            labels: outcome.labels,
            strategy: strategy_word(strategy),
            dry_run,
        },
        code: "200 OK".to_owned(),
    }))
}

/// The labels of a body. What is not text is named, and would have been written as text by nobody.
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
    let messages = wrong.iter().map(Message::error).collect();
    Err(bad_request(wrong.join("; ")).with_messages(messages))
}

async fn show(State(state): State<ApiState>, Path(node): Path<String>) -> Result<JsonReply<NodeLabels>, Problem> {
    let workflow = state.workflow(PROMENADE)?;
    let live = workflow.nodes().read(&node).await;
    let live = live.map_err(|error| refused(PROMENADE, &SubmitError::from(error)))?;
    let declared = match workflow.committed_site().await {
        Ok(site) => {
            let resolver = site.resolver();
            let subject = resolver.subject(&node).filter(|subject| subject.is_declared());
            subject.map(|subject| resolver.resolve(subject).label_set().to_map())
        }
        Err(SubmitError::NothingCommitted) => None,
        Err(error) => return Err(refused(PROMENADE, &error)),
    };
    let owned: BTreeSet<&String> = live.owned.keys().collect();
    Ok(JsonReply(NodeLabels {
        kind: NodeLabelsKind::NodeLabels,
        api_version: ApiVersion::V1,
        node,
        labels: live.labels,
        owned: owned.into_iter().cloned().collect(),
        declared,
    }))
}
