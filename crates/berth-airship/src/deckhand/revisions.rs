//! Revisions, differences and tags.

use axum::{
    extract::{Path, State},
    http::{HeaderMap, StatusCode, header::HOST},
    response::{IntoResponse, Response},
    routing::MethodFilter,
};
use berth_api::{DeepDiff, Diff, Revision, RevisionList, TagData, Tags};
use berth_repository::{BodyError, Error, RevisionQuery, bucket_diff, read_values, revision_list};
use serde_json::Value;

use super::{revision_number, store_problem};
use crate::{
    PREFIX,
    auth::rules,
    body::{Parameters, YamlBody, YamlReply},
    endpoint::{Endpoint, Family, Kind, empty, parameter, repeated, reply, yaml},
    problem::Problem,
    state::ApiState,
};

#[expect(clippy::too_many_lines, reason = "a table of routes")]
pub(super) fn endpoints() -> Vec<Endpoint> {
    const DECKHAND: Family = Family::Deckhand;
    vec![
        Endpoint::new(
            DECKHAND,
            MethodFilter::GET,
            "/api/v1.0/revisions",
            "listRevisions",
            list,
        )
        .needs(&rules::LIST_REVISIONS)
        .says("Lists revisions", "Oldest first.")
        .takes(
            const {
                &[
                    repeated(
                        "tag",
                        Kind::Text,
                        "Only revisions with this tag; repeated means any of them.",
                    ),
                    parameter("sort", Kind::OneOf(&["id", "createdAt"]), "The field to sort by."),
                    parameter(
                        "order",
                        Kind::OneOf(&["asc", "desc"]),
                        "The direction; asc unless given.",
                    ),
                ]
            },
        )
        .answers(const { &[reply(StatusCode::OK, yaml::<RevisionList>(), "The revisions.")] }),
        Endpoint::new(
            DECKHAND,
            MethodFilter::DELETE,
            "/api/v1.0/revisions",
            "deleteRevisions",
            delete_all,
        )
        .needs(&rules::DELETE_REVISIONS)
        .says(
            "Removes everything",
            "All revisions with their documents, tags and validations. The next revision is number 1 again.",
        )
        .answers(const { &[empty(StatusCode::NO_CONTENT, "Everything is gone.")] }),
        Endpoint::new(
            DECKHAND,
            MethodFilter::GET,
            "/api/v1.0/revisions/{revision_id}",
            "showRevision",
            show,
        )
        .needs(&rules::SHOW_REVISION)
        .says("One revision", "With what its validation policies make of it.")
        .answers(const { &[reply(StatusCode::OK, yaml::<Revision>(), "The revision.")] }),
        Endpoint::new(
            DECKHAND,
            MethodFilter::GET,
            "/api/v1.0/revisions/{revision_id}/diff/{comparison_revision_id}",
            "diffRevisions",
            diff,
        )
        .needs(&rules::SHOW_DIFF)
        .says(
            "What happened to each bucket between two revisions",
            "The order of the two does not matter. 0 is the empty revision.",
        )
        .answers(
            const {
                &[reply(
                    StatusCode::OK,
                    yaml::<Diff>(),
                    "Each bucket with what happened to it.",
                )]
            },
        ),
        Endpoint::new(
            DECKHAND,
            MethodFilter::GET,
            "/api/v1.0/revisions/{revision_id}/deepdiff/{comparison_revision_id}",
            "deepDiffRevisions",
            deep_diff,
        )
        .needs(&rules::SHOW_DEEP_DIFF)
        .says(
            "What happened to each rendered document from one revision to another",
            "The data of encrypted documents stays hidden.",
        )
        .answers(
            const {
                &[reply(
                    StatusCode::OK,
                    yaml::<DeepDiff>(),
                    "Each bucket, and what is inside if it changed.",
                )]
            },
        ),
        Endpoint::new(
            DECKHAND,
            MethodFilter::GET,
            "/api/v1.0/revisions/{revision_id}/tags",
            "listTags",
            tags,
        )
        .needs(&rules::LIST_TAGS)
        .says("All tags of a revision", "Each with its data.")
        .answers(const { &[reply(StatusCode::OK, yaml::<Tags>(), "The tags.")] }),
        Endpoint::new(
            DECKHAND,
            MethodFilter::DELETE,
            "/api/v1.0/revisions/{revision_id}/tags",
            "deleteTags",
            delete_tags,
        )
        .needs(&rules::DELETE_TAGS)
        .says("Takes all tags of a revision away", "")
        .answers(const { &[empty(StatusCode::NO_CONTENT, "They are gone.")] }),
        Endpoint::new(
            DECKHAND,
            MethodFilter::POST,
            "/api/v1.0/revisions/{revision_id}/tags/{tag}",
            "putTag",
            put_tag,
        )
        .needs(&rules::CREATE_TAG)
        .says(
            "Sets a tag of a revision",
            "New, or again with other data. The data is a mapping; without a body it is empty.",
        )
        .reads(yaml::<TagData>())
        .answers(const { &[reply(StatusCode::CREATED, yaml::<Tags>(), "The tag.")] }),
        Endpoint::new(
            DECKHAND,
            MethodFilter::GET,
            "/api/v1.0/revisions/{revision_id}/tags/{tag}",
            "showTag",
            tag,
        )
        .needs(&rules::SHOW_TAG)
        .says("One tag of a revision", "")
        .answers(const { &[reply(StatusCode::OK, yaml::<Tags>(), "The tag.")] }),
        Endpoint::new(
            DECKHAND,
            MethodFilter::DELETE,
            "/api/v1.0/revisions/{revision_id}/tags/{tag}",
            "deleteTag",
            delete_tag,
        )
        .needs(&rules::DELETE_TAG)
        .says("Takes one tag away", "")
        .answers(const { &[empty(StatusCode::NO_CONTENT, "It is gone.")] }),
    ]
}

/// The address of the API as the client knows it, for links.
pub(super) fn address(headers: &HeaderMap) -> String {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    match host {
        Some(host) => format!("http://{host}{PREFIX}"),
        None => PREFIX.to_owned(),
    }
}

async fn list(State(state): State<ApiState>, parameters: Parameters) -> Result<YamlReply<RevisionList>, Problem> {
    let query = RevisionQuery::parse(parameters.iter());
    let revisions = state.repository.revisions(&query).await?;
    Ok(YamlReply(revision_list(&revisions)))
}

async fn delete_all(State(state): State<ApiState>) -> Result<StatusCode, Problem> {
    state.repository.delete_all().await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn show(
    State(state): State<ApiState>,
    Path(revision): Path<String>,
    headers: HeaderMap,
) -> Result<YamlReply<Revision>, Problem> {
    let view = state.repository.revision(revision_number(&revision)?).await?;
    Ok(YamlReply(view.to_api(&address(&headers))))
}

async fn diff(
    State(state): State<ApiState>,
    Path((one, other)): Path<(String, String)>,
) -> Result<YamlReply<Diff>, Problem> {
    let (one, other) = (revision_number(&one)?, revision_number(&other)?);
    Ok(YamlReply(bucket_diff(state.repository.diff(one, other).await?)))
}

async fn deep_diff(
    State(state): State<ApiState>,
    Path((from, to)): Path<(String, String)>,
) -> Result<YamlReply<DeepDiff>, Problem> {
    let (from, to) = (revision_number(&from)?, revision_number(&to)?);
    let diff = state.repository.deep_diff(from, to).await?;
    Ok(YamlReply(berth_repository::deep_diff(diff)))
}

async fn tags(State(state): State<ApiState>, Path(revision): Path<String>) -> Result<YamlReply<Tags>, Problem> {
    let revision = revision_number(&revision)?;
    let tags = state.repository.store().tags(revision).await.map_err(store_problem)?;
    Ok(YamlReply(berth_repository::tags(tags)))
}

async fn delete_tags(State(state): State<ApiState>, Path(revision): Path<String>) -> Result<StatusCode, Problem> {
    let revision = revision_number(&revision)?;
    let store = state.repository.store();
    store.delete_tags(revision).await.map_err(store_problem)?;
    Ok(StatusCode::NO_CONTENT)
}

async fn put_tag(
    State(state): State<ApiState>,
    Path((revision, tag)): Path<(String, String)>,
    YamlBody(text): YamlBody,
) -> Result<Response, Problem> {
    let revision = revision_number(&revision)?;
    let mut values = read_values(&text).map_err(Error::from)?.into_iter();
    let (data, None) = (values.next(), values.next()) else {
        return Err(Error::from(BodyError::NotOneObject).into());
    };
    let data = state.repository.put_tag(revision, &tag, data).await?;
    Ok((StatusCode::CREATED, one_tag(tag, data)).into_response())
}

async fn tag(
    State(state): State<ApiState>,
    Path((revision, tag)): Path<(String, String)>,
) -> Result<YamlReply<Tags>, Problem> {
    let revision = revision_number(&revision)?;
    let data = state
        .repository
        .store()
        .tag(revision, &tag)
        .await
        .map_err(store_problem)?;
    Ok(one_tag(tag, data))
}

async fn delete_tag(
    State(state): State<ApiState>,
    Path((revision, tag)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    let revision = revision_number(&revision)?;
    let store = state.repository.store();
    store.delete_tag(revision, &tag).await.map_err(store_problem)?;
    Ok(StatusCode::NO_CONTENT)
}

fn one_tag(tag: String, data: Value) -> YamlReply<Tags> {
    YamlReply(berth_repository::tags([(tag, data)]))
}
