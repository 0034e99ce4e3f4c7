//! What all commands that speak to a cluster have in common.

use berth_cluster::{Unreached, is_missing_kind};
use berth_decide::root_cause;
use kube::{Client, core::Status};

use crate::{args::ClusterArgs, failure::Failure};

/// Who is spoken to, where the error does not know the address.
const SERVER: &str = "the cluster's API server";

/// Connects to the cluster that the arguments name. Nothing is sent yet.
pub(crate) async fn connect(args: &ClusterArgs) -> Result<Client, Failure> {
    let (kubeconfig, context) = (args.kubeconfig.as_deref(), args.context.as_deref());
    Ok(berth_cluster::connect(kubeconfig, context).await?)
}

/// The cluster could not be reached.
fn unreachable(error: &kube::Error) -> Failure {
    let (server, reason) = match Unreached::among(error) {
        Some(Unreached { server, reason }) => (server.clone(), reason.clone()),
        None => (SERVER.to_owned(), root_cause(error)),
    };
    Failure::Unreachable { server, reason }
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

/// The cluster does not do what it was asked. What the API server refuses is not trouble with the way to it.
pub(crate) fn refused(what: &str, error: kube::Error) -> Failure {
    match error {
        kube::Error::Api(status) if status.code == 429 || status.code >= 500 => Failure::Unreachable {
            server: SERVER.to_owned(),
            reason: status.message,
        },
        kube::Error::Api(status) if is_missing_kind(&status) => Failure::Refused {
            message: format!("the API server does not have the kind of {what}"),
            hint: None,
        },
        kube::Error::Api(status) => Failure::Refused {
            hint: what_helps(&status).map(str::to_owned),
            message: format!("the API server refuses {what}: {}", status.message),
        },
        error => unreachable(&error),
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
