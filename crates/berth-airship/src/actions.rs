//! Shipyard's actions: asking for them, looking at them, steering them.

mod create;
mod read;

use axum::{
    Extension,
    extract::{Path, State},
    http::StatusCode,
    routing::MethodFilter,
};
use berth_api::{
    ActionDetail, ActionPreview, ActionValidation, Actions, CreatedAction, NewAction, SiteStatuses, Step, Text,
    WorkflowDetail, Workflows,
};
use berth_store::{Action, ActionId, Command};

use super::{
    auth::{Caller, rules},
    endpoint::{Content, Endpoint, Family, Kind, Parameter, content, empty, json, parameter, reply},
    problem::Problem,
    state::ApiState,
    workflow::store_refused,
};

const SHIPYARD: Family = Family::Shipyard;

const VERBOSITY: Parameter = parameter(
    "verbosity",
    Kind::Number,
    "0 to 5: notes above it are left out; 1 unless given.",
);
pub(super) const STRATEGY: Parameter = parameter(
    "strategy",
    Kind::OneOf(&["mirror", "owned", "promenade"]),
    "How labels follow: what is not declared goes (mirror), what Berth set goes (owned), or exactly as Promenade did it. \
     The server's own way unless given.",
);
pub(super) const DRY_RUN: Parameter = parameter("dry-run", Kind::Truth, "Whether only to say what would change.");
pub(super) const MASS_REMOVAL: Parameter = parameter(
    "allow-mass-removal",
    Kind::Truth,
    "Whether more than a tenth of all labels that Berth set may go.",
);
const TEXT: Content = content::<Text>("text/plain; charset=utf-8");

#[expect(clippy::too_many_lines, reason = "a table of routes")]
pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(SHIPYARD, MethodFilter::GET, "/api/v1.0/actions", "listActions", read::list)
            .needs(&rules::LIST_ACTIONS)
            .says(
                "Actions, newest first",
                "When there are more, the header X-Next-Marker names where to go on, and Link has the address of the next \
                 page.",
            )
            .takes(
                const {
                    &[
                        parameter("limit", Kind::Number, "How many at most: 1 to 1000; 100 unless given."),
                        parameter("marker", Kind::Text, "Only actions older than this one."),
                        parameter(
                            "lifecycle",
                            Kind::Text,
                            "Only those: Pending, Processing, Paused, Complete, Failed; several with commas between.",
                        ),
                        VERBOSITY,
                    ]
                },
            )
            .answers(const { &[reply(StatusCode::OK, json::<Actions>(), "The actions.")] }),
        Endpoint::new(
            SHIPYARD,
            MethodFilter::POST,
            "/api/v1.0/actions",
            "createAction",
            create::create,
        )
        .needs(&rules::CREATE_ACTION)
        .says(
            "Relabels nodes",
            "The action `update_labels` (also `relabel_nodes`) gives its target nodes exactly the labels that the committed \
             documents declare for them. Everything is checked first: that a revision is committed and took part in a site \
             action, that the nodes exist in it, that no error touches them, and that no other action runs (409).",
        )
        .takes(
            const {
                &[
                    parameter(
                        "allow-intermediate-commits",
                        Kind::Truth,
                        "Taken and kept for Shipyard's clients; it concerns site actions only.",
                    ),
                    STRATEGY,
                    DRY_RUN,
                    MASS_REMOVAL,
                    VERBOSITY,
                ]
            },
        )
        .reads(json::<NewAction>())
        .answers(
            const {
                &[
                    reply(StatusCode::CREATED, json::<CreatedAction>(), "The action has begun."),
                    reply(StatusCode::OK, json::<ActionPreview>(), "What it would do, for a dry run."),
                ]
            },
        ),
        Endpoint::new(
            SHIPYARD,
            MethodFilter::GET,
            "/api/v1.0/actions/{action_id}",
            "showAction",
            read::show,
        )
        .needs(&rules::GET_ACTION)
        .says(
            "One action",
            "With its steps, its validations, who asked what of it, and the outcome of every node.",
        )
        .takes(const { &[VERBOSITY] })
        .answers(const { &[reply(StatusCode::OK, json::<ActionDetail>(), "The action.")] }),
        Endpoint::new(
            SHIPYARD,
            MethodFilter::POST,
            "/api/v1.0/actions/{action_id}/control/{control_verb}",
            "controlAction",
            control,
        )
        .needs(&rules::CONTROL_ACTION)
        .says(
            "Steers an action",
            "`stop` begins no further node and ends the action, `pause` begins none until `unpause`, `retry` tries again what \
             failed and nothing else. The identifier is that of an action or of a task.",
        )
        .takes(const { &[VERBOSITY] })
        .answers(const { &[empty(StatusCode::ACCEPTED, "It is done, and filed in the audit.")] }),
        Endpoint::new(
            SHIPYARD,
            MethodFilter::GET,
            "/api/v1.0/actions/{action_id}/steps/{step_id}",
            "showStep",
            read::step,
        )
        .needs(&rules::GET_STEP)
        .says("One step of an action", "")
        .takes(const { &[VERBOSITY] })
        .answers(const { &[reply(StatusCode::OK, json::<Step>(), "The step.")] }),
        Endpoint::new(
            SHIPYARD,
            MethodFilter::GET,
            "/api/v1.0/actions/{action_id}/steps/{step_id}/logs",
            "showStepLogs",
            read::logs,
        )
        .needs(&rules::GET_STEP_LOGS)
        .says("What a step did", "One line for each note and each node.")
        .takes(const { &[parameter("try", Kind::Number, "Which attempt; those that were have one log together."), VERBOSITY] })
        .answers(const { &[reply(StatusCode::OK, TEXT, "The lines.")] }),
        Endpoint::new(
            SHIPYARD,
            MethodFilter::GET,
            "/api/v1.0/actions/{action_id}/validations/{validation_id}",
            "showActionValidation",
            read::validation,
        )
        .needs(&rules::GET_ACTION_VALIDATION)
        .says(
            "What was found before an action began",
            "Errors in documents that do not concern its nodes do not keep it from beginning.",
        )
        .takes(const { &[VERBOSITY] })
        .answers(const { &[reply(StatusCode::OK, json::<ActionValidation>(), "The finding.")] }),
        Endpoint::new(
            SHIPYARD,
            MethodFilter::GET,
            "/api/v1.0/notedetails/{note_id}",
            "showNote",
            read::note,
        )
        .needs(&rules::GET_NOTE)
        .says("The whole of a note", "")
        .takes(const { &[VERBOSITY] })
        .answers(const { &[reply(StatusCode::OK, TEXT, "The text.")] }),
        Endpoint::new(
            SHIPYARD,
            MethodFilter::GET,
            "/api/v1.0/workflows",
            "listWorkflows",
            read::workflows,
        )
        .needs(&rules::LIST_WORKFLOWS)
        .says("The runs of actions, newest first", "At most a thousand.")
        .takes(const { &[parameter("since", Kind::Text, "Only those since this time, in ISO 8601."), VERBOSITY] })
        .answers(const { &[reply(StatusCode::OK, json::<Workflows>(), "The runs.")] }),
        Endpoint::new(
            SHIPYARD,
            MethodFilter::GET,
            "/api/v1.0/workflows/{workflow_id}",
            "showWorkflow",
            read::workflow,
        )
        .needs(&rules::GET_WORKFLOW)
        .says("One run with its steps", "")
        .takes(const { &[VERBOSITY] })
        .answers(const { &[reply(StatusCode::OK, json::<WorkflowDetail>(), "The run.")] }),
        Endpoint::new(
            SHIPYARD,
            MethodFilter::GET,
            "/api/v1.0/site_statuses",
            "siteStatuses",
            read::site_statuses,
        )
        .needs(&rules::GET_SITE_STATUSES)
        .says(
            "How the declared nodes stand",
            "Whether each has joined the cluster. Nothing is known of the power of machines.",
        )
        .takes(
            const {
                &[
                    parameter(
                        "filters",
                        Kind::Text,
                        "nodes-provision-status, machines-power-state, or both with a comma between; both unless given.",
                    ),
                    VERBOSITY,
                ]
            },
        )
        .answers(const { &[reply(StatusCode::OK, json::<SiteStatuses>(), "The statuses.")] }),
    ]
}

fn not_found(title: &str, description: String) -> Problem {
    Problem::shipyard(StatusCode::NOT_FOUND, title, description)
}

/// An action by the text in a path. `unknown` is what Shipyard says before the identifier; it differs from route to route.
pub(super) async fn find(state: &ApiState, text: &str, unknown: &str) -> Result<Action, Problem> {
    let store = state.actions(SHIPYARD)?;
    let missing = || not_found("Action not found", format!("{unknown}{text}"));
    let id: ActionId = text.parse().map_err(|_| missing())?;
    match store.action(&id).await {
        Ok(action) if action.origin == berth_store::Origin::Action => Ok(action),
        Ok(_) | Err(berth_store::Error::ActionNotFound { .. }) => Err(missing()),
        Err(error) => Err(store_refused(SHIPYARD, error)),
    }
}

async fn control(
    State(state): State<ApiState>,
    Extension(caller): Extension<Caller>,
    Path((id, verb)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    let action = match state.actions(SHIPYARD)?.task(&id).await {
        // A task that is held is resumed by the identifier that its document shows.
        Ok(task) => task,
        Err(_) => find(&state, &id, "Unknown action ").await?,
    };
    let command: Command = verb
        .parse()
        .map_err(|_| not_found("Control not supported", format!("Unknown control {verb}")))?;
    let (user, now) = (caller.user(), state.now());
    // Steering needs no cluster: whoever carries the action out reads it in the store.
    let done = match state.workflow(SHIPYARD) {
        Ok(workflow) => workflow
            .control(&action.id, command, user, now)
            .await
            .map_err(|error| super::workflow::refused(SHIPYARD, &error)),
        Err(_) => state
            .actions(SHIPYARD)?
            .control_action(&action.id, command, user, now)
            .await
            .map_err(|error| store_refused(SHIPYARD, error)),
    };
    done.map(|_| StatusCode::ACCEPTED)
}
