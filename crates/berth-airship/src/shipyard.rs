//! Shipyard's routes for staging: configdocs.

use axum::{
    Extension,
    extract::{Path, State},
    http::{HeaderValue, StatusCode, header::LOCATION},
    response::{IntoResponse, Response},
    routing::MethodFilter,
};
use berth_api::{Collections, CommitRefusal, Documents, Failure, Findings, Status, Version};
use berth_documents::deckhand::{Listing, Query};
use berth_repository::{BufferMode, CommitOptions, ConfigdocsError, Error, LoadOptions};

use super::{
    PREFIX,
    auth::{Caller, rules},
    body::{DocumentsReply, JsonReply, Parameters, TextBody},
    deckhand::shown,
    endpoint::{Endpoint, Family, Kind, Parameter, json, parameter, repeated, reply, yaml},
    problem::Problem,
    state::ApiState,
};

const VERSION: Parameter = parameter(
    "version",
    Kind::OneOf(&["buffer", "committed", "last_site_action", "successful_site_action"]),
    "The version; buffer unless given.",
);
const CLEARTEXT: Parameter = parameter(
    "cleartext-secrets",
    Kind::Truth,
    "Whether encrypted documents are shown as they are, to those who may see them.",
);
const VERBOSITY: Parameter = parameter("verbosity", Kind::Number, "0 to 5; nothing here depends on it.");

#[expect(clippy::too_many_lines, reason = "a table of routes")]
pub(super) fn endpoints() -> Vec<Endpoint> {
    const SHIPYARD: Family = Family::Shipyard;
    vec![
        Endpoint::new(
            SHIPYARD,
            MethodFilter::GET,
            "/api/v1.0/configdocs",
            "listCollections",
            collections,
        )
        .needs(&rules::CONFIGDOCS_STATUS)
        .says(
            "How every collection stands in two versions",
            "The older version is the base, whichever comes first. Without versions: what the buffer would change.",
        )
        .takes(
            const {
                &[
                    repeated(
                        "versions",
                        Kind::Text,
                        "Two versions, repeated or with a comma between; committed and buffer unless given.",
                    ),
                    VERBOSITY,
                ]
            },
        )
        .answers(const { &[reply(StatusCode::OK, json::<Collections>(), "The collections.")] }),
        Endpoint::new(
            SHIPYARD,
            MethodFilter::POST,
            "/api/v1.0/configdocs/{collection_id}",
            "loadCollection",
            load,
        )
        .needs(&rules::CREATE_CONFIGDOCS)
        .says(
            "Loads a collection into the buffer",
            "The collection is replaced as a whole. The answer says what is wrong with the documents of the buffer by \
             their schemas; they are loaded all the same.",
        )
        .takes(
            const {
                &[
                    parameter(
                        "buffermode",
                        Kind::OneOf(&["rejectoncontents", "append", "replace"]),
                        "What to do when the buffer has something already; rejectoncontents unless given.",
                    ),
                    parameter(
                        "empty-collection",
                        Kind::Truth,
                        "Whether the collection may become empty.",
                    ),
                    VERBOSITY,
                ]
            },
        )
        .reads(yaml::<Documents>())
        .answers(
            const {
                &[reply(
                    StatusCode::CREATED,
                    json::<Status<Findings>>(),
                    "The collection is in the buffer.",
                )]
            },
        ),
        Endpoint::new(
            SHIPYARD,
            MethodFilter::GET,
            "/api/v1.0/configdocs/{collection_id}",
            "showCollection",
            collection,
        )
        .needs(&rules::GET_CONFIGDOCS)
        .reveals(&rules::REVEAL_CONFIGDOCS)
        .says("The documents of a collection as they are written", "")
        .takes(const { &[VERSION, CLEARTEXT, VERBOSITY] })
        .answers(const { &[reply(StatusCode::OK, yaml::<Documents>(), "The documents.")] }),
        Endpoint::new(
            SHIPYARD,
            MethodFilter::POST,
            "/api/v1.0/commitconfigdocs",
            "commit",
            commit,
        )
        .needs(&rules::COMMIT_CONFIGDOCS)
        .says(
            "Validates the buffer and makes it the committed version",
            "The documents must render, meet their schemas, have passed the validations that their policies ask for, \
             and be a sound site by everything that `berth lint` knows.",
        )
        .takes(
            const {
                &[
                    parameter("force", Kind::Truth, "Whether to commit also what is not sound."),
                    parameter("dryrun", Kind::Truth, "Whether only to validate."),
                    VERBOSITY,
                ]
            },
        )
        .answers(
            const {
                &[
                    reply(
                        StatusCode::OK,
                        json::<Status<Findings>>(),
                        "It is committed, or would be.",
                    ),
                    reply(
                        StatusCode::BAD_REQUEST,
                        json::<CommitRefusal>(),
                        "It is not sound; the list says why.",
                    ),
                ]
            },
        ),
        Endpoint::new(
            SHIPYARD,
            MethodFilter::GET,
            "/api/v1.0/renderedconfigdocs",
            "listRenderedConfigdocs",
            rendered,
        )
        .needs(&rules::GET_RENDERED)
        .reveals(&rules::REVEAL_RENDERED)
        .says("The rendered documents of a version", "")
        .takes(const { &[VERSION, CLEARTEXT, VERBOSITY] })
        .answers(
            const {
                &[
                    reply(StatusCode::OK, yaml::<Documents>(), "The rendered documents."),
                    reply(
                        StatusCode::NOT_FOUND,
                        json::<Failure>(),
                        "No revision is in this version.",
                    ),
                ]
            },
        ),
    ]
}

fn bad_request(title: &str, description: &str) -> Problem {
    Problem::shipyard(StatusCode::BAD_REQUEST, title, description)
}

async fn collections(State(state): State<ApiState>, parameters: Parameters) -> Result<JsonReply<Collections>, Problem> {
    // Shipyard's command line repeats the parameter, people write a comma.
    let named: Vec<&str> = parameters
        .iter()
        .filter(|(name, _)| *name == "versions")
        .flat_map(|(_, value)| value.split(','))
        .map(str::trim)
        .collect();
    let versions = (!named.is_empty()).then(|| two_versions(&named)).transpose()?;
    let collections = state.configdocs.collections(versions).await;
    let collections = collections.map_err(|error| match error {
        ConfigdocsError::VersionNotFound { .. } => {
            Problem::shipyard(StatusCode::NOT_FOUND, "Version does not exist", error.to_string())
        }
        error => error.into(),
    })?;
    Ok(JsonReply(collections))
}

fn two_versions(names: &[&str]) -> Result<(Version, Version), Problem> {
    let [one, other] = names else {
        return Err(bad_request(
            "Incorrect number of versions for comparison",
            "Two versions must be given, with a comma between them",
        ));
    };
    let version = |name: &str| {
        name.parse::<Version>().map_err(|()| {
            bad_request(
                "Invalid version detected",
                &format!("{name} is not a version; {}", one_of_versions()),
            )
        })
    };
    Ok((version(one)?, version(other)?))
}

fn one_of_versions() -> String {
    format!(
        "version must be {}",
        ["buffer", "committed", "last_site_action", "successful_site_action"].join(", ")
    )
}

async fn load(
    State(state): State<ApiState>,
    Path(collection): Path<String>,
    parameters: Parameters,
    TextBody(text): TextBody,
) -> Result<Response, Problem> {
    let empty_collection = parameters.truth("empty-collection")?;
    let mode = match parameters.get("buffermode") {
        None => BufferMode::default(),
        Some(mode) => mode.parse().map_err(|()| {
            bad_request(
                "Invalid buffermode parameter",
                "buffermode must be rejectoncontents, append, replace",
            )
        })?,
    };
    if text.is_empty() && !empty_collection {
        return Err(bad_request(
            "Content-Length is a required header",
            "Content Length is 0 or not specified",
        ));
    }
    let documents = state.repository.read_documents(text).await;
    let documents = documents.map_err(|error| ConfigdocsError::Unsuitable(Box::new(error)))?;
    let options = LoadOptions { mode, empty_collection };
    let loaded = state
        .configdocs
        .load(&collection, &documents, options, state.now(), &state.new_id())
        .await?;
    let mut response = (StatusCode::CREATED, JsonReply(loaded.to_status())).into_response();
    if let Ok(location) = HeaderValue::try_from(format!("{PREFIX}/configdocs/{collection}")) {
        response.headers_mut().insert(LOCATION, location);
    }
    Ok(response)
}

async fn commit(State(state): State<ApiState>, parameters: Parameters) -> Result<Response, Problem> {
    let options = CommitOptions {
        force: parameters.truth("force")?,
        dry_run: parameters.truth("dryrun")?,
    };
    let commitment = state.configdocs.commit(options, state.now(), &state.new_id()).await?;
    let status = StatusCode::from_u16(commitment.status()).unwrap_or(StatusCode::BAD_REQUEST);
    Ok((status, JsonReply(commitment.to_status())).into_response())
}

fn version(parameters: &Parameters) -> Result<Version, Problem> {
    match parameters.get("version") {
        None => Ok(Version::Buffer),
        Some(name) => name
            .parse()
            .map_err(|()| bad_request("Invalid version query parameter specified", &one_of_versions())),
    }
}

async fn collection(
    State(state): State<ApiState>,
    Extension(caller): Extension<Caller>,
    Path(collection): Path<String>,
    parameters: Parameters,
) -> Result<DocumentsReply, Problem> {
    let (version, cleartext) = (version(&parameters)?, parameters.truth("cleartext-secrets")?);
    let documents = state.configdocs.collection(&collection, version).await?;
    Ok(DocumentsReply(shown(&documents, caller.secrets(cleartext))))
}

async fn rendered(
    State(state): State<ApiState>,
    Extension(caller): Extension<Caller>,
    parameters: Parameters,
) -> Result<DocumentsReply, Problem> {
    let (version, cleartext) = (version(&parameters)?, parameters.truth("cleartext-secrets")?);
    let query = Query::parse::<&str, &str>(Listing::RenderedDocuments, [])
        .map_err(|error| ConfigdocsError::from(Error::from(error)))?;
    let documents = state.configdocs.rendered(version, &query).await?;
    Ok(DocumentsReply(shown(&documents, caller.secrets(cleartext))))
}
