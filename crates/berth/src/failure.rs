//! Why a command could not give an answer.
//!
//! An answer of no (findings, failed nodes) is not a failure: it is printed as data and ends in [`Exit::No`].

use std::{error::Error as StdError, io, path::PathBuf};

use berth_cluster::{ConnectError, controller::RunError, daemon};
pub(crate) use berth_decide::Chain;
use berth_ignition_server::PointerError;
use berth_iso::{ArchiveError, ImageError};
use berth_listen::ListenError;
use berth_tokens::TokenError;
use thiserror::Error;

use crate::{exit::Exit, input::InputError};

/// A run that ends without an answer.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// Paths that cannot be read; one message each.
    #[error("unreadable input")]
    Input(Vec<InputError>),
    /// A name that is not there.
    #[error("{what} `{name}` {problem}")]
    Unknown {
        /// What kind of thing was named.
        what: &'static str,
        /// The name.
        name: String,
        /// What is wrong with it.
        problem: String,
        /// Names that were perhaps meant.
        close: Vec<String>,
    },
    /// An argument that parses, but does not mean anything.
    #[error("{message}")]
    Argument {
        /// What is wrong.
        message: String,
        /// What would be right.
        hint: Option<String>,
    },
    /// The output could not be written.
    #[error("cannot write the output")]
    Write(#[from] io::Error),
    /// A file that the user named could not be written.
    #[error("cannot write `{}`", .path.display())]
    WriteFile {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A file that the user named could not be read.
    #[error("cannot read `{}`", .path.display())]
    ReadFile {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The tokens could not be read or changed.
    #[error(transparent)]
    Tokens(#[from] TokenError),
    /// There is no such pointer.
    #[error(transparent)]
    Pointer(#[from] PointerError),
    /// The server cannot start.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The system gives the server no threads or no signals.
    #[error("cannot start the server")]
    Runtime(#[source] io::Error),
    /// A live image without a usable embed area.
    #[error("cannot use `{}`", .path.display())]
    Image {
        /// The image.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: ImageError,
    },
    /// A live image whose embed area holds something else than an archive.
    #[error("cannot use what is in `{}`", .path.display())]
    Area {
        /// The image.
        path: PathBuf,
        /// What is wrong with the archive.
        #[source]
        source: ArchiveError,
        /// What to do.
        hint: Option<String>,
    },
    /// What was asked for is not done, for a reason in the data.
    #[error("{message}")]
    Refused {
        /// The reason.
        message: String,
        /// What would be possible.
        hint: Option<String>,
    },
    /// The repository does not do what it was asked, in its own words.
    #[error("{message}")]
    Rejected {
        /// The HTTP status that says this.
        status: u16,
        /// What is wrong.
        message: String,
        /// Everything that is wrong, where there is more to say.
        details: Vec<String>,
    },
    /// A server does not answer.
    #[error("cannot reach {server}: {reason}")]
    Unreachable {
        /// Its address.
        server: String,
        /// What the network said, in a few words.
        reason: String,
    },
    /// The controllers ended by themselves.
    #[error(transparent)]
    Controllers(#[from] RunError),
    /// The node daemon cannot begin, or ended by itself.
    #[error(transparent)]
    Daemon(#[from] daemon::RunError),
    /// No kubeconfig leads to a cluster.
    #[error(transparent)]
    NoCluster(#[from] ConnectError),
    /// Something answers, and it is not a repository of documents.
    #[error("what answers at {server} is not Berth (status {status})")]
    NotBerth {
        /// Its address.
        server: String,
        /// The status of the answer.
        status: u16,
    },
    /// A server answers in a form that this version does not know.
    #[error("the answer of {server} does not have the expected form")]
    Unexpected {
        /// Its address.
        server: String,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// The database does not do what it was asked.
    #[error(transparent)]
    Store(#[from] berth_store::Error),
    /// What was given cannot be answered with, and why has been printed.
    #[error("{0}")]
    Unusable(String),
    /// The data could not be put into the format asked for.
    #[error("cannot print as {format}")]
    Format {
        /// The format.
        format: &'static str,
        /// What the serialiser said.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
}

impl Failure {
    /// How the run ends. A reader that went away (`berth … | head`) has what it wanted.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Write(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
            Self::Refused { .. }
            | Self::Image {
                source: ImageError::NoArea,
                ..
            } => Exit::No,
            Self::Store(error) => store_exit(error),
            Self::Controllers(RunError::Panicked { .. }) => Exit::Unreachable,
            Self::Unreachable { .. } | Self::NoCluster(_) | Self::NotBerth { .. } | Self::Unexpected { .. } => {
                Exit::Unreachable
            }
            Self::Rejected { status, .. } => match status {
                404 => Exit::Usage,
                500.. => Exit::Unreachable,
                _ => Exit::No,
            },
            _ => Exit::Usage,
        }
    }

    /// The messages to print, one error each.
    pub(crate) fn messages(&self) -> Vec<String> {
        match self {
            Self::Input(errors) => errors.iter().map(|error| Chain(error).to_string()).collect(),
            Self::Rejected { message, details, .. } => {
                let more = details.iter().filter(|detail| *detail != message).cloned();
                std::iter::once(message.clone()).chain(more).collect()
            }
            other => vec![Chain(other).to_string()],
        }
    }

    /// What the user can do about it.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { close, .. } if !close.is_empty() => {
                let names: Vec<_> = close.iter().map(|name| format!("`{name}`")).collect();
                Some(format!("did you mean {}?", names.join(" or ")))
            }
            Self::NotBerth { .. } => Some("give the address without a path, as in http://127.0.0.1:8080".to_owned()),
            Self::Rejected { status: 401, .. } => Some(
                "give the server's token with --token-file or in BERTH_TOKEN; `berth token create --role` makes one"
                    .to_owned(),
            ),
            Self::Store(berth_store::Error::Tls { .. }) => Some(
                "a PostgreSQL server on another machine must show a certificate for its name; add `sslrootcert=FILE` to the \
                 address for a certificate authority of your own, or say `sslmode=require` to encrypt without checking, or \
                 `sslmode=disable`"
                    .to_owned(),
            ),
            Self::Argument { hint, .. } | Self::Area { hint, .. } | Self::Refused { hint, .. } => hint.clone(),
            Self::Image { source, .. } => match source {
                ImageError::NoArea => Some("live images of Fedora CoreOS and RHEL CoreOS have one".to_owned()),
                ImageError::Truncated { .. } => Some("copy or download the image again".to_owned()),
                _ => None,
            },
            _ => None,
        }
    }
}

/// A refusal is an answer; a database that does not answer could not be reached; the rest is mistyped.
fn store_exit(error: &berth_store::Error) -> Exit {
    use berth_store::Error;
    match error {
        Error::Conflict(_) | Error::NoSealingKey { .. } | Error::Sealed { .. } | Error::Damaged { .. } => Exit::No,
        Error::Database { .. } | Error::Tls { .. } => Exit::Unreachable,
        _ => Exit::Usage,
    }
}
