//! What all commands that speak to a cluster have in common.

use std::error::Error;

use crate::failure::Failure;

/// The cluster could not be reached.
pub(crate) fn unreachable(error: impl Error + Send + Sync + 'static) -> Failure {
    Failure::Unreachable {
        server: "the cluster's API server".to_owned(),
        source: Box::new(error),
    }
}
