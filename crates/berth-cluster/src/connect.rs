//! The way to a cluster.

use std::path::Path;

use kube::{
    Client, Config,
    config::{InferConfigError, KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use thiserror::Error;

/// Why there is no way to a cluster.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// Neither a kubeconfig nor a service account says where the cluster is.
    #[error("nothing says where the cluster is: there is no usable kubeconfig, and this is no pod")]
    Infer(#[source] Box<InferConfigError>),
    /// The kubeconfig cannot be used.
    #[error("cannot use the kubeconfig")]
    Kubeconfig(#[source] Box<KubeconfigError>),
    /// The client cannot be made from it.
    #[error("cannot make a client for the cluster")]
    Client(#[source] Box<kube::Error>),
}

/// Connects as kubectl does: with the given kubeconfig and context, else with `$KUBECONFIG`, `~/.kube/config` or the
/// service account of the pod. Nothing is sent yet.
pub async fn connect(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Client, ConnectError> {
    let options = KubeConfigOptions {
        context: context.map(str::to_owned),
        ..KubeConfigOptions::default()
    };
    let kubeconfig_error = |error| ConnectError::Kubeconfig(Box::new(error));
    let config = match (kubeconfig, context) {
        (Some(path), _) => {
            let kubeconfig = Kubeconfig::read_from(path).map_err(kubeconfig_error)?;
            Config::from_custom_kubeconfig(kubeconfig, &options)
                .await
                .map_err(kubeconfig_error)?
        }
        (None, Some(_)) => Config::from_kubeconfig(&options).await.map_err(kubeconfig_error)?,
        (None, None) => Config::infer()
            .await
            .map_err(|error| ConnectError::Infer(Box::new(error)))?,
    };
    Client::try_from(config).map_err(|error| ConnectError::Client(Box::new(error)))
}
