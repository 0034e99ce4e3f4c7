//! The connection to a cluster.

use std::{
    error::Error as StdError,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use berth_decide::root_cause;
use kube::{
    Client, Config,
    client::{AuthError, ClientBuilder},
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use thiserror::Error;
use tower::{BoxError, util::MapResultLayer};
use tracing::{info, warn};

/// Why there is no connection to a cluster. The messages are complete; nothing was sent yet.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// Nobody named a kubeconfig, and there is none where kubectl looks for it.
    #[error("no kubeconfig: {} does not exist. Set KUBECONFIG or use --kubeconfig", shown(.0))]
    NoKubeconfig(PathBuf),
    /// The file that was named is not there.
    #[error("no kubeconfig: {} does not exist", .0.display())]
    Missing(PathBuf),
    /// The context is not in the kubeconfig.
    #[error("the kubeconfig has no context `{name}`{}", among(.known))]
    NoContext {
        /// The context asked for.
        name: String,
        /// The contexts that it has.
        known: Vec<String>,
    },
    /// The kubeconfig names no context, and neither did the caller.
    #[error("the kubeconfig has no current context. Set one with `kubectl config use-context`, or use --context")]
    NoCurrentContext,
    /// The kubeconfig cannot be used.
    #[error("cannot use the kubeconfig: {0}")]
    Kubeconfig(String),
    /// The client cannot be made from it.
    #[error("cannot make a client for the cluster: {0}")]
    Client(String),
}

/// The API server cannot be reached: nothing of it answered.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("cannot reach {server}: {reason}")]
pub struct Unreached {
    /// Its address, and the context that names it.
    pub server: String,
    /// What the network said, in a few words.
    pub reason: String,
}

impl Unreached {
    /// This error, if it is among the causes.
    pub fn among<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a Self> {
        causes(error).find_map(|cause| cause.downcast_ref())
    }
}

/// Connects as kubectl does: with the given kubeconfig and context, else with `$KUBECONFIG`, `~/.kube/config` or the
/// service account of the pod. Nothing is sent yet.
pub async fn connect(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Client, ConnectError> {
    let is_named = kubeconfig.is_some() || context.is_some();
    let (config, context) = match of_kubeconfig(kubeconfig, context).await {
        Ok(found) => found,
        // In a pod there is a service account and, as a rule, no kubeconfig.
        Err(error) if !is_named => (Config::incluster().map_err(|_| error)?, None),
        Err(error) => return Err(error),
    };
    let address = config.cluster_url.to_string();
    let address = address.trim_end_matches('/');
    let server = context.map_or_else(
        || address.to_owned(),
        |context| format!("{address} (context {context})"),
    );
    let builder = ClientBuilder::try_from(config).map_err(|error| ConnectError::Client(root_cause(&error)))?;
    let reach = Reach::new(server);
    let layer = MapResultLayer::new(move |outcome| reach.look(outcome));
    Ok(builder.with_layer(&layer).build())
}

/// The configuration of a kubeconfig, and the name of its context.
async fn of_kubeconfig(path: Option<&Path>, context: Option<&str>) -> Result<(Config, Option<String>), ConnectError> {
    let kubeconfig = match path {
        Some(path) => Kubeconfig::read_from(path),
        None => Kubeconfig::read(),
    };
    let kubeconfig = kubeconfig.map_err(|error| match error {
        KubeconfigError::ReadConfig(error, file) if error.kind() == io::ErrorKind::NotFound => match path {
            Some(_) => ConnectError::Missing(file),
            None => ConnectError::NoKubeconfig(file),
        },
        KubeconfigError::ReadConfig(error, file) => {
            ConnectError::Kubeconfig(format!("{}: {}", file.display(), root_cause(&error)))
        }
        // The place and what is wrong; an excerpt of the file follows.
        KubeconfigError::Parse(error) => {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            ConnectError::Kubeconfig(line.trim_start_matches("error: ").to_owned())
        }
        error => ConnectError::Kubeconfig(root_cause(&error)),
    })?;
    let known: Vec<String> = kubeconfig.contexts.iter().map(|context| context.name.clone()).collect();
    let context = context
        .map(str::to_owned)
        .or_else(|| kubeconfig.current_context.clone());
    let options = KubeConfigOptions {
        context: context.clone(),
        ..KubeConfigOptions::default()
    };
    let config = Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .map_err(|error| match error {
            KubeconfigError::LoadContext(name) => ConnectError::NoContext { name, known },
            KubeconfigError::CurrentContextNotSet => ConnectError::NoCurrentContext,
            error => ConnectError::Kubeconfig(root_cause(&error)),
        })?;
    Ok((config, context))
}

/// Whether the API server answers, for the log: every request of an outage fails for the same reason, and one line says it.
#[derive(Clone, Debug)]
struct Reach {
    server: Arc<str>,
    is_lost: Arc<AtomicBool>,
}

impl Reach {
    fn new(server: String) -> Self {
        Self {
            server: server.into(),
            is_lost: Arc::default(),
        }
    }

    /// Looks at what became of a request, and gives errors of the network the words of [`Unreached`].
    fn look<T>(&self, outcome: Result<T, BoxError>) -> Result<T, BoxError> {
        let error = match outcome {
            Ok(answer) => {
                if self.is_lost.swap(false, Ordering::Relaxed) {
                    info!("{} answers again", self.server);
                }
                return Ok(answer);
            }
            Err(error) => error,
        };
        let is_network = causes(&*error).any(<dyn StdError>::is::<io::Error>);
        // A plugin for credentials that cannot be started is not the network's fault.
        if !is_network || causes(&*error).any(<dyn StdError>::is::<AuthError>) {
            return Err(error);
        }
        let unreached = Unreached {
            server: self.server.to_string(),
            reason: root_cause(&*error),
        };
        if !self.is_lost.swap(true, Ordering::Relaxed) {
            warn!("{unreached}");
        }
        Err(unreached.into())
    }
}

fn causes<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}

/// The default file as people type it.
fn shown(path: &Path) -> String {
    if path.ends_with(".kube/config") {
        return "~/.kube/config".to_owned();
    }
    path.display().to_string()
}

fn among(names: &[String]) -> String {
    match names {
        [] => String::new(),
        names => format!("; it has {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use k8s_openapi::api::core::v1::Node;
    use kube::Api;

    use super::*;

    fn write(folder: &Path, text: &str) -> PathBuf {
        let file = folder.join("config");
        fs::write(&file, text).unwrap();
        file
    }

    const CONFIG: &str = "apiVersion: v1
kind: Config
clusters: [{name: site, cluster: {server: \"http://127.0.0.1:9\"}}]
contexts: [{name: a, context: {cluster: site, user: u}}, {name: b, context: {cluster: site, user: u}}]
users: [{name: u, user: {}}]
";

    #[tokio::test]
    async fn what_is_wrong_with_a_kubeconfig_is_said_in_one_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let said = async |path: &Path, context| connect(Some(path), context).await.err().unwrap().to_string();

        let nowhere = folder.path().join("nowhere");
        let missing = format!("no kubeconfig: {} does not exist", nowhere.display());
        assert_eq!(said(&nowhere, None).await, missing);

        let file = write(folder.path(), CONFIG);
        assert_eq!(
            said(&file, Some("c")).await,
            "the kubeconfig has no context `c`; it has a, b"
        );
        assert_eq!(
            said(&file, None).await,
            "the kubeconfig has no current context. Set one with `kubectl config use-context`, or use --context"
        );
        let broken = write(folder.path(), "clusters: 1");
        assert_eq!(
            said(&broken, None).await,
            "cannot use the kubeconfig: line 1 column 11: expected sequence start"
        );
    }

    #[test]
    fn a_machine_without_a_kubeconfig_is_told_what_to_set() {
        let error = ConnectError::NoKubeconfig("/home/u/.kube/config".into());
        assert_eq!(
            error.to_string(),
            "no kubeconfig: ~/.kube/config does not exist. Set KUBECONFIG or use --kubeconfig"
        );
    }

    /// A port of our own that nobody listens on: it was bound a moment ago and is free again.
    fn closed_port() -> u16 {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    }

    #[tokio::test]
    async fn a_server_that_does_not_answer_is_named_with_its_context() {
        let folder = tempfile::tempdir().unwrap();
        let port = closed_port();
        let file = write(folder.path(), &CONFIG.replace(":9\"", &format!(":{port}\"")));
        let client = connect(Some(&file), Some("a")).await.unwrap();
        let error = Api::<Node>::all(client).get("n").await.unwrap_err();
        let unreached = Unreached::among(&error).expect("nobody listens there");
        assert_eq!(
            unreached.to_string(),
            format!("cannot reach http://127.0.0.1:{port} (context a): connection refused")
        );
    }
}
