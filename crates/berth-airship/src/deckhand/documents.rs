//! Buckets, documents as written and as rendered, and rollback.

use axum::{
    Extension,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::MethodFilter,
};
use berth_api::{Document, DocumentStatus, Documents, Revision};
use berth_documents::deckhand::{Listing, Query};
use berth_repository::{Error, FiledDocument, Secrets};
use berth_store::Write;

use super::{revision_number, revisions::address, rollback_number};
use crate::{
    auth::{Caller, rules},
    body::{DocumentsReply, Parameters, YamlBody, YamlReply},
    endpoint::{Endpoint, Family, Kind, Parameter, parameter, repeated, reply, yaml},
    problem::Problem,
    state::ApiState,
};

const SCHEMA: Parameter = repeated(
    "schema",
    Kind::Text,
    "Namespace, namespace/kind, or the whole schema; no parts of words.",
);
const NAME: Parameter = repeated("metadata.name", Kind::Text, "The name of the document.");
const LAYER: Parameter = repeated(
    "metadata.layeringDefinition.layer",
    Kind::Text,
    "The layer; repeated means any of them.",
);
const ABSTRACT: Parameter = parameter(
    "metadata.layeringDefinition.abstract",
    Kind::Truth,
    "Whether the document is abstract.",
);
const LABEL: Parameter = repeated("metadata.label", Kind::Text, "key=value; repeated means all of them.");
const BUCKET: Parameter = repeated("status.bucket", Kind::Text, "The bucket; repeated means any of them.");
const SORT: Parameter = repeated(
    "sort",
    Kind::Text,
    "A field to sort by, such as metadata.name; repeated for several columns. Otherwise documents come in the order of \
     their creation.",
);
const ORDER: Parameter = parameter(
    "order",
    Kind::OneOf(&["asc", "desc"]),
    "The direction; asc unless given.",
);
const LIMIT: Parameter = parameter("limit", Kind::Number, "How many documents at most.");
const CLEARTEXT: Parameter = parameter(
    "cleartext-secrets",
    Kind::Truth,
    "Whether encrypted documents are shown as they are, to those who may see them; otherwise hashes stand for their data.",
);

const BASE: Parameter = parameter(
    "base-revision",
    Kind::Number,
    "The revision that the request builds on. It is refused (409) when that is not the newest one any more, so that \
     nobody's change is lost. Without it the last request wins.",
);

pub(super) fn endpoints() -> Vec<Endpoint> {
    const DECKHAND: Family = Family::Deckhand;
    vec![
        Endpoint::new(
            DECKHAND,
            MethodFilter::PUT,
            "/api/v1.0/buckets/{bucket_name}/documents",
            "putBucketDocuments",
            put_bucket,
        )
        .needs(&rules::CREATE_DOCUMENTS)
        .says(
            "Replaces everything in a bucket",
            "Makes a new revision. Documents of the bucket that are not in the request are gone in it; other buckets \
             stay as they are. Nothing is stored when a document has the wrong form (400), is in another bucket, or is \
             a second LayeringPolicy (409). Documents that do not meet their DataSchema are stored, and the finding is \
             filed under the validations of the revision.",
        )
        .takes(const { &[BASE] })
        .reads(yaml::<Documents>())
        .answers(
            const {
                &[reply(
                    StatusCode::OK,
                    yaml::<Documents>(),
                    "The documents with the new revision; one document with status alone when the bucket is empty now.",
                )]
            },
        ),
        Endpoint::new(
            DECKHAND,
            MethodFilter::GET,
            "/api/v1.0/revisions/{revision_id}/documents",
            "listDocuments",
            documents,
        )
        .needs(&rules::LIST_DOCUMENTS)
        .reveals(&rules::REVEAL_DOCUMENTS)
        .says(
            "The documents of a revision as they are written",
            "An empty list is an empty body.",
        )
        .takes(
            const {
                &[
                    SCHEMA, NAME, LAYER, ABSTRACT, LABEL, BUCKET, SORT, ORDER, LIMIT, CLEARTEXT,
                ]
            },
        )
        .answers(const { &[reply(StatusCode::OK, yaml::<Documents>(), "The documents.")] }),
        Endpoint::new(
            DECKHAND,
            MethodFilter::GET,
            "/api/v1.0/revisions/{revision_id}/rendered-documents",
            "listRenderedDocuments",
            rendered_documents,
        )
        .needs(&rules::LIST_DOCUMENTS)
        .reveals(&rules::REVEAL_DOCUMENTS)
        .says(
            "The documents of a revision after layering and substitution",
            "Abstract and replaced documents are not among them. All of them are validated before any is shown.",
        )
        .takes(const { &[SCHEMA, NAME, LAYER, LABEL, BUCKET, SORT, ORDER, LIMIT, CLEARTEXT] })
        .answers(const { &[reply(StatusCode::OK, yaml::<Documents>(), "The rendered documents.")] }),
        Endpoint::new(
            DECKHAND,
            MethodFilter::POST,
            "/api/v1.0/rollback/{revision_id}",
            "rollback",
            rollback,
        )
        .needs(&rules::CREATE_DOCUMENTS)
        .says(
            "Goes back to a revision",
            "Makes a new revision with the documents of an earlier one. 0 is the empty revision.",
        )
        .takes(const { &[BASE] })
        .answers(const { &[reply(StatusCode::CREATED, yaml::<Revision>(), "The new revision.")] }),
    ]
}

async fn put_bucket(
    State(state): State<ApiState>,
    Path(bucket): Path<String>,
    parameters: Parameters,
    YamlBody(text): YamlBody,
) -> Result<DocumentsReply, Problem> {
    let documents = state.repository.read_documents(text).await?;
    let put = state
        .repository
        .put_bucket(&bucket, &documents, write(&state, &parameters)?)
        .await?;
    let mut shown = shown(&put.documents, Secrets::Redacted);
    if let Some(revision) = put.revision.filter(|_| shown.0.is_empty()) {
        let status = DocumentStatus {
            bucket,
            revision: revision.id,
            secret_paths: None,
        };
        shown.0.push(Document {
            status: Some(status),
            ..Document::default()
        });
    }
    Ok(DocumentsReply(shown))
}

async fn documents(
    State(state): State<ApiState>,
    Extension(caller): Extension<Caller>,
    Path(revision): Path<String>,
    parameters: Parameters,
) -> Result<DocumentsReply, Problem> {
    let revision = existing(&revision)?;
    let query = Query::parse(Listing::Documents, parameters.iter()).map_err(Error::from)?;
    let documents = state.repository.documents(revision, &query).await?;
    let secrets = caller.secrets(query.cleartext_secrets());
    Ok(DocumentsReply(shown(&documents, secrets)))
}

async fn rendered_documents(
    State(state): State<ApiState>,
    Extension(caller): Extension<Caller>,
    Path(revision): Path<String>,
    parameters: Parameters,
) -> Result<DocumentsReply, Problem> {
    let revision = existing(&revision)?;
    let query = Query::parse(Listing::RenderedDocuments, parameters.iter()).map_err(Error::from)?;
    let documents = state.repository.rendered_documents(revision, &query).await?;
    let secrets = caller.secrets(query.cleartext_secrets());
    Ok(DocumentsReply(shown(&documents, secrets)))
}

async fn rollback(
    State(state): State<ApiState>,
    Path(revision): Path<String>,
    parameters: Parameters,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let to = rollback_number(&revision)?;
    let result = state.repository.rollback(to, write(&state, &parameters)?).await?;
    let id = match result.revision {
        Some(revision) => revision.id,
        None => state.repository.store().latest().await.map_err(super::store_problem)?,
    };
    let view = state.repository.revision(id).await?;
    Ok((StatusCode::CREATED, YamlReply(view.to_api(&address(&headers)))).into_response())
}

/// How a request wants to be written.
fn write(state: &ApiState, parameters: &Parameters) -> Result<Write, Problem> {
    let write = Write::at(state.now());
    match parameters.get(BASE.name) {
        Some(base) => Ok(write.on(revision_number(base)?)),
        None => Ok(write),
    }
}

/// Revision 0 is there to compare with and to go back to; it has no documents that could be asked for.
fn existing(text: &str) -> Result<u64, Problem> {
    match revision_number(text)? {
        0 => Err(super::store_problem(berth_store::Error::RevisionNotFound {
            revision: 0,
        })),
        revision => Ok(revision),
    }
}

pub(crate) fn shown(documents: &[FiledDocument], secrets: Secrets) -> Documents {
    Documents(documents.iter().map(|filed| filed.to_api(secrets)).collect())
}
