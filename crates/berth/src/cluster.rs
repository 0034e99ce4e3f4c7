//! What all commands that speak to a cluster have in common.

use std::error::Error;

use berth_cluster::is_missing_kind;
use kube::core::Status;

use crate::failure::Failure;

/// Who is spoken to.
const SERVER: &str = "the cluster's API server";

/// The cluster could not be reached.
pub(crate) fn unreachable(error: impl Error + Send + Sync + 'static) -> Failure {
    Failure::Unreachable {
        server: SERVER.to_owned(),
        source: Box::new(error),
    }
}

/// The cluster does not give what was asked for. An API server that refuses was reached, and says why in its own words.
pub(crate) fn unanswered(error: kube::Error) -> Failure {
    match error {
        kube::Error::Api(status) if is_missing_kind(&status) => Failure::Refused {
            message: "Berth is not installed in this cluster: its definitions are missing".to_owned(),
            hint: Some("run `berth install`; `berth doctor` says what else is missing".to_owned()),
        },
        error => refused("this", error),
    }
}

/// The cluster does not do what it was asked. What the API server refuses is no trouble with the way to it.
pub(crate) fn refused(what: &str, error: kube::Error) -> Failure {
    match error {
        kube::Error::Api(status) if status.code == 429 || status.code >= 500 => Failure::Unreachable {
            server: SERVER.to_owned(),
            source: status.message.into(),
        },
        kube::Error::Api(status) if is_missing_kind(&status) => Failure::Refused {
            message: format!("the API server does not have the kind of {what}"),
            hint: None,
        },
        kube::Error::Api(status) => Failure::Refused {
            hint: what_helps(&status).map(str::to_owned),
            message: format!("the API server refuses {what}: {}", status.message),
        },
        error => unreachable(error),
    }
}

/// A namespace on its way out forbids everything to everybody, whatever their rights.
fn what_helps(status: &Status) -> Option<&'static str> {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    if causes.into_iter().any(|cause| cause.reason == "NamespaceTerminating") {
        return Some("the namespace is being deleted: wait until it is gone, and try again");
    }
    status
        .is_forbidden()
        .then_some("an administrator of the cluster can do this")
}
