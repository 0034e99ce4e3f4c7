//! Reports of validations.

use axum::{
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::MethodFilter,
};
use berth_api::{
    ValidationDetails, ValidationEntries, ValidationEntry, ValidationList, ValidationReceipt, ValidationReport,
};
use berth_repository::{BodyError, Error, read_object};

use super::revision_number;
use crate::{
    auth::rules,
    body::{YamlBody, YamlReply},
    endpoint::{Endpoint, Family, reply, yaml},
    problem::Problem,
    state::ApiState,
};

pub(super) fn endpoints() -> Vec<Endpoint> {
    const DECKHAND: Family = Family::Deckhand;
    vec![
        Endpoint::new(
            DECKHAND,
            MethodFilter::POST,
            "/api/v1.0/revisions/{revision_id}/validations/{validation_name}",
            "addValidation",
            add,
        )
        .needs(&rules::CREATE_VALIDATION)
        .says(
            "Files the report of a validation",
            "It must say its status and its validator.",
        )
        .reads(yaml::<ValidationReport>())
        .answers(
            const {
                &[reply(
                    StatusCode::CREATED,
                    yaml::<ValidationReceipt>(),
                    "What was filed.",
                )]
            },
        ),
        Endpoint::new(
            DECKHAND,
            MethodFilter::GET,
            "/api/v1.0/revisions/{revision_id}/validations",
            "listValidations",
            list,
        )
        .needs(&rules::LIST_VALIDATIONS)
        .says(
            "What each validation of a revision amounts to",
            "A validation that a ValidationPolicy asks for and nobody reported is a failure; one that no policy asks \
             for is ignored.",
        )
        .answers(const { &[reply(StatusCode::OK, yaml::<ValidationList>(), "Names and verdicts.")] }),
        Endpoint::new(
            DECKHAND,
            MethodFilter::GET,
            "/api/v1.0/revisions/{revision_id}/validations/detail",
            "listValidationDetails",
            detail,
        )
        .needs(&rules::LIST_VALIDATIONS)
        .says("Every report of a revision in full", "")
        .answers(const { &[reply(StatusCode::OK, yaml::<ValidationDetails>(), "The reports.")] }),
        Endpoint::new(
            DECKHAND,
            MethodFilter::GET,
            "/api/v1.0/revisions/{revision_id}/validations/{validation_name}",
            "listValidationEntries",
            named,
        )
        .needs(&rules::LIST_VALIDATIONS)
        .says("The reports under one name", "Each with its number and status.")
        .answers(
            const {
                &[reply(
                    StatusCode::OK,
                    yaml::<ValidationEntries>(),
                    "The reports in short.",
                )]
            },
        ),
        Endpoint::new(
            DECKHAND,
            MethodFilter::GET,
            "/api/v1.0/revisions/{revision_id}/validations/{validation_name}/entries/{entry_id}",
            "showValidationEntry",
            entry,
        )
        .needs(&rules::SHOW_VALIDATION)
        .says("One report in full", "")
        .answers(const { &[reply(StatusCode::OK, yaml::<ValidationEntry>(), "The report.")] }),
    ]
}

async fn add(
    State(state): State<ApiState>,
    Path((revision, name)): Path<(String, String)>,
    YamlBody(text): YamlBody,
) -> Result<Response, Problem> {
    let revision = revision_number(&revision)?;
    let report = read_object(&text)
        .and_then(|report| report.ok_or(BodyError::Empty))
        .map_err(Error::from)?;
    let now = state.now();
    let entry = state.repository.add_validation(revision, &name, report, now).await?;
    Ok((StatusCode::CREATED, YamlReply(entry.to_receipt())).into_response())
}

async fn list(
    State(state): State<ApiState>,
    Path(revision): Path<String>,
) -> Result<YamlReply<ValidationList>, Problem> {
    let validations = state.repository.validations(revision_number(&revision)?).await?;
    Ok(YamlReply(validations.to_list()))
}

async fn detail(
    State(state): State<ApiState>,
    Path(revision): Path<String>,
) -> Result<YamlReply<ValidationDetails>, Problem> {
    let validations = state.repository.validations(revision_number(&revision)?).await?;
    Ok(YamlReply(validations.to_details()))
}

async fn named(
    State(state): State<ApiState>,
    Path((revision, name)): Path<(String, String)>,
) -> Result<YamlReply<ValidationEntries>, Problem> {
    let validations = state.repository.validations(revision_number(&revision)?).await?;
    Ok(YamlReply(validations.named_to_list(&name)))
}

async fn entry(
    State(state): State<ApiState>,
    Path((revision, name, entry)): Path<(String, String, String)>,
) -> Result<YamlReply<ValidationEntry>, Problem> {
    let id = entry
        .parse()
        .map_err(|_| Problem::bad_request("The {entry_id} parameter must be an integer."))?;
    let validations = state.repository.validations(revision_number(&revision)?).await?;
    Ok(YamlReply(validations.entry(&name, id)?.to_api()))
}
