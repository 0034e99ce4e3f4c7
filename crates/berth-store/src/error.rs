//! What can go wrong in the store.

use std::{path::PathBuf, sync::Arc};

use berth_documents::deckhand::{FormErrors, Identity};
use sqlx::postgres::PgConnectOptions;

use crate::{
    action::{ActionId, ActionState, Command},
    sealing::KeyId,
};

/// Why the store did not do what it was asked. Nothing was changed then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request does not fit to what is stored; answered as 409.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// There is no such revision; answered as 404.
    #[error("The requested revision={revision} was not found.")]
    RevisionNotFound {
        /// The number asked for.
        revision: u64,
    },
    /// The revision has no such tag; answered as 404.
    #[error("The requested tag '{tag}' for revision {revision} was not found.")]
    TagNotFound {
        /// The revision.
        revision: u64,
        /// The tag asked for.
        tag: String,
    },
    /// There is no such action; answered as 404.
    #[error("Unknown Action: {id}")]
    ActionNotFound {
        /// The identifier asked for.
        id: ActionId,
    },
    /// There is no such task; answered as 404.
    #[error("Task {id} does not exist")]
    TaskNotFound {
        /// The identifier asked for.
        id: String,
    },
    /// A name cannot be stored; answered as 400.
    #[error("{what} {reason}")]
    Name {
        /// Which name, such as `the bucket`.
        what: &'static str,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A value is nested so deep that it could not be read again; answered as 400.
    #[error("{what} is nested more than {limit} levels deep")]
    TooDeep {
        /// Which value, such as `the data of a tag`.
        what: &'static str,
        /// How deep a value may be.
        limit: usize,
    },
    /// A document asks to be sealed and there is no key; answered as 400.
    #[error(
        "document {identity} has storagePolicy encrypted and the store has no sealing key; \
         give it one with --sealing-key-file (`openssl rand -hex 32` makes it), or make the document cleartext"
    )]
    NoSealingKey {
        /// The document.
        identity: Arc<Identity>,
    },
    /// The data is sealed with a key that the store was not given.
    #[error("the data of document {identity} is sealed with key {key}, which the store was not given")]
    Sealed {
        /// The document.
        identity: Arc<Identity>,
        /// The key that would open it.
        key: KeyId,
    },
    /// Sealing failed, which a sound machine does not do.
    #[error("the data of document {identity} cannot be sealed")]
    Sealing {
        /// The document.
        identity: Arc<Identity>,
    },
    /// What is stored is not what was written.
    #[error("the database is damaged: {problem}; `berth store check` lists everything that is wrong")]
    Damaged {
        /// What is wrong and where.
        problem: String,
    },
    /// A stored document has not the form of a document any more.
    #[error("stored document {identity} has the wrong form")]
    Form {
        /// The document.
        identity: Arc<Identity>,
        /// What is wrong.
        source: Box<FormErrors>,
    },
    /// A newer program has made or changed the database.
    #[error(
        "the database has schema version {found} and this program knows versions up to {known}; \
         run a version of berth that knows {found}, or restore a backup from before the upgrade"
    )]
    NewerSchema {
        /// The version in the database.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// The database belongs to another program.
    #[error("{place} is a database of another program; berth needs one of its own")]
    ForeignDatabase {
        /// Which database.
        place: String,
    },
    /// The text that names the database cannot be understood.
    #[error("the database must be given as sqlite:PATH or postgres://USER@HOST/NAME, not '{given}'")]
    Address {
        /// What was given, without anything that may be a password.
        given: String,
    },
    /// This kind of store cannot do it.
    #[error("{what}; {instead}")]
    Unsupported {
        /// What cannot be done.
        what: &'static str,
        /// What to do instead.
        instead: &'static str,
    },
    /// A file of the store cannot be used.
    #[error("{doing} {} failed", path.display())]
    File {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// The way to the database is not safe: the server does not do TLS, or cannot show who it is.
    #[error("cannot connect to the database on {host} with TLS")]
    Tls {
        /// Where the server is.
        host: String,
        /// The reason.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The database did not answer as it should.
    #[error("{doing} failed in the database")]
    Database {
        /// What was tried.
        doing: &'static str,
        /// The reason.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Why a request does not fit to what is stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Conflict {
    /// The document is already there: in another bucket, or twice in one request.
    #[error("Document {identity} already exists in bucket: {bucket}")]
    Duplicate {
        /// The document.
        identity: Arc<Identity>,
        /// The bucket that has it.
        bucket: String,
    },
    /// There may be one such document only, and there is one with another name.
    #[error(
        "A singleton document {existing} already exists in the system. The new document(s) {} cannot be created. \
         To create a document with a new name, delete the current one first.",
        list(.new)
    )]
    Singleton {
        /// The document that is there.
        existing: Arc<Identity>,
        /// The documents that cannot be created beside it.
        new: Vec<Arc<Identity>>,
    },
    /// Somebody else has written since the caller looked.
    #[error("the newest revision is {latest} and not {expected}: somebody else has written in between")]
    Stale {
        /// The revision that the caller builds on.
        expected: u64,
        /// The newest revision.
        latest: u64,
    },
    /// Somebody else holds the lock.
    #[error("lock {name} is held by {owner}")]
    Locked {
        /// The lock.
        name: String,
        /// Who holds it.
        owner: String,
        /// When it ends at the latest, in microseconds since 1970.
        expires_at: i64,
    },
    /// Another action that excludes this one is not finished.
    #[error("{name} conflicts with {state} {other} {id}; wait for it to end, or stop it")]
    ActionRunning {
        /// The name of the action that cannot be created.
        name: String,
        /// The name of the other one.
        other: String,
        /// The other one.
        id: ActionId,
        /// How the other one stands.
        state: ActionState,
    },
    /// The action is not in a state for it.
    #[error("dag_run state must be {}, but is {found}", command.asks_for())]
    ActionState {
        /// What was asked.
        command: Command,
        /// How the action stands.
        found: ActionState,
    },
}

impl Error {
    /// An action is not there.
    pub(crate) fn no_action(id: &ActionId) -> Self {
        Self::ActionNotFound { id: id.clone() }
    }

    pub(crate) fn connecting(options: &PgConnectOptions, source: sqlx::Error) -> Self {
        match source {
            sqlx::Error::Tls(source) => Self::Tls {
                host: options.get_host().to_owned(),
                source,
            },
            // What is wrong with a handshake or a certificate comes as an error of reading.
            sqlx::Error::Io(source) if source.kind() == std::io::ErrorKind::InvalidData => Self::Tls {
                host: options.get_host().to_owned(),
                source: Box::new(source),
            },
            other => Self::database("connecting")(other),
        }
    }

    pub(crate) fn database(doing: &'static str) -> impl FnOnce(sqlx::Error) -> Self {
        move |source| Self::Database {
            doing,
            source: Box::new(source),
        }
    }

    pub(crate) fn damaged(problem: impl Into<String>) -> Self {
        Self::Damaged {
            problem: problem.into(),
        }
    }
}

fn list(identities: &[Arc<Identity>]) -> String {
    let names: Vec<String> = identities.iter().map(ToString::to_string).collect();
    names.join(", ")
}
