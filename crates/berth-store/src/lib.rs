//! The store of revisions: documents, tags, validation results and locks.
//!
//! ```text
//!  put_bucket, rollback ──► plan (pure) ──► one transaction ──► a new revision
//!  documents(revision) ◄── ranges (pure) ◄── rows with the range of revisions they belong to
//! ```
//!
//! [`Store`] keeps revisions and [`ActionStore`] actions: what users asked for, and its outcome on each node. Each store
//! is both, a [`Database`]. [`SqliteStore`] keeps everything in one file, [`PostgresStore`] in a database that several
//! servers share, [`MemoryStore`] in the process and for tests. They answer alike: one suite of tests runs against all
//! three.
//!
//! A revision is never written again. A document that does not change keeps its row, whose range of revisions simply
//! stays open, so a revision costs what it changes. Reading costs what the revision holds and not what came before or
//! after it: the ranges are filed as an interval tree in plain columns. Each distinct body is kept once, under its hash.
//!
//! The clock is an argument of every write that keeps a time. The only randomness is the nonce of sealed data, which no
//! caller may choose.

mod action;
mod action_store;
mod body;
mod check;
mod document;
mod error;
mod memory;
mod names;
mod open;
mod plan;
mod postgres;
mod ranges;
mod revision;
mod rows;
mod sealing;
mod sqlite;
mod store;

pub use action::{
    Action, ActionId, ActionIdError, ActionPage, ActionState, ActionValidation, AuditEntry, Begin, Claim, Command,
    Counts, Finished, Finishing, GivenLabels, LabelMemory, NewAction, NewNote, Note, Origin, Subtask, SubtaskPage,
    SubtaskState, UnknownCommand,
};
pub use action_store::{ActionStore, Database};
pub use body::Digest;
pub use check::{CheckReport, Damage};
pub use document::StoredDocument;
pub use error::{Conflict, Error};
pub use memory::MemoryStore;
pub use open::open;
pub use plan::DocumentChange;
pub use postgres::{PostgresStore, has_password};
pub use revision::{PutResult, Revision, RevisionFilter, StagedVersions, ValidationRecord, Write};
pub use sealing::{KeyError, KeyId, SealingKey, SealingKeys};
pub use sqlite::SqliteStore;
pub use store::Store;
