use std::{io, path::PathBuf, process::ExitStatus};

/// Why a test's control plane or kubelet is not as asked for.
#[derive(Debug, thiserror::Error)]
pub enum TestingError {
    /// A file could not be written or read.
    #[error("{}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A program could not be started.
    #[error("{program} cannot be started")]
    Start {
        /// Which one.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// A program ended that should run, or failed.
    #[error("{program} ended with {status}; the end of its output:\n{output}")]
    Ended {
        /// Which one.
        program: String,
        /// How it ended.
        status: ExitStatus,
        /// What it said last.
        output: String,
    },
    /// A program runs but does not do its work.
    #[error("{what} did not happen in {seconds} s; the end of the output of {program}:\n{output}")]
    Late {
        /// What was waited for.
        what: String,
        /// How long.
        seconds: u64,
        /// Who should have done it.
        program: String,
        /// What it said last.
        output: String,
    },
    /// A certificate could not be made.
    #[error("a certificate could not be made")]
    Certificate(#[from] rcgen::Error),
    /// No client could be made.
    #[error("the kubeconfig gives no client")]
    Kubeconfig(#[from] kube::config::KubeconfigError),
    /// The API server refused something that the set-up needs.
    #[error("the API server refused to {what}")]
    Api {
        /// What was asked.
        what: String,
        /// Its answer.
        source: Box<kube::Error>,
    },
    /// Something is not as it has to be.
    #[error("{0}")]
    Wrong(String),
    /// No free port on the loopback interface.
    #[error("no free port on the loopback interface")]
    Port(#[source] io::Error),
    /// The custom resource definitions of OpenShift are not here.
    #[error("OpenShift's custom resource definitions are not here; `cargo xtask envtest` brings them")]
    NoOpenshiftCrds,
}
