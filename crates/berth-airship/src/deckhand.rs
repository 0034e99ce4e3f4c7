//! Deckhand's routes: documents in buckets and revisions.

mod documents;
mod revisions;
mod validations;

use axum::http::StatusCode;
use berth_store::Error as StoreError;

use super::{endpoint::Endpoint, problem::Problem};

pub(super) use self::documents::shown;

pub(super) fn endpoints() -> Vec<Endpoint> {
    [documents::endpoints(), revisions::endpoints(), validations::endpoints()]
        .into_iter()
        .flatten()
        .collect()
}

/// The number of a revision in a path.
fn revision_number(text: &str) -> Result<u64, Problem> {
    text.parse().map_err(|_| {
        Problem::deckhand(
            StatusCode::BAD_REQUEST,
            "InvalidInputException",
            format!("Failed to process request due to invalid input: {text}"),
        )
    })
}

/// The number of a revision where Deckhand has no route for anything else.
fn rollback_number(text: &str) -> Result<u64, Problem> {
    text.parse().map_err(|_| {
        Problem::deckhand(
            StatusCode::NOT_FOUND,
            "HTTPNotFound",
            format!("The requested revision={text} was not found."),
        )
    })
}

fn store_problem(error: StoreError) -> Problem {
    berth_repository::Error::from(error).into()
}
