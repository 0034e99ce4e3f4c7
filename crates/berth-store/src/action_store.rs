//! The trait of stores that keep actions.

use std::{collections::BTreeMap, fmt};

use async_trait::async_trait;
use serde_json::Value;

use crate::{
    action::{
        Action, ActionId, ActionPage, ActionValidation, AuditEntry, Begin, Claim, Command, Finished, Finishing,
        GivenLabels, LabelMemory, NewAction, NewNote, Note, Subtask, SubtaskPage,
    },
    error::Error,
    store::Store,
};

/// A store of actions: what users asked for, and what came of it on each node.
///
/// Writes follow one another, also those of several processes. Each is whole or not there at all, whenever the process
/// ends. Nodes are handed out by [`claim`](Self::claim) until a time; whoever does not come back with a result until then
/// has lost the node, and a result that comes later is not taken because its fence is an old one. So every node has one
/// outcome, however many servers work on an action and however often they die.
///
/// Times are microseconds since 1970 and come from the caller.
#[async_trait]
pub trait ActionStore: fmt::Debug + Send + Sync {
    /// Keeps a new action with its nodes, and audits it as `invoke`. One without nodes is done at once.
    ///
    /// # Errors
    /// [`Conflict::ActionRunning`](crate::Conflict::ActionRunning) when another action of its group is not finished. This
    /// is decided in the same transaction, so of two at once one wins. [`Error::Name`] and [`Error::TooDeep`] for what
    /// cannot be stored.
    async fn create_action(&self, new: &NewAction) -> Result<Action, Error>;

    /// One action.
    ///
    /// # Errors
    /// [`Error::ActionNotFound`].
    async fn action(&self, id: &ActionId) -> Result<Action, Error>;

    /// The action whose execution this is.
    ///
    /// # Errors
    /// [`Error::TaskNotFound`].
    async fn task(&self, task_id: &str) -> Result<Action, Error>;

    /// Actions, newest first.
    async fn actions(&self, page: &ActionPage) -> Result<Vec<Action>, Error>;

    /// All actions that are not finished, oldest first.
    async fn open_actions(&self) -> Result<Vec<Action>, Error>;

    /// The nodes of an action, in their order.
    ///
    /// # Errors
    /// [`Error::ActionNotFound`].
    async fn subtasks(&self, id: &ActionId, page: SubtaskPage) -> Result<Vec<Subtask>, Error>;

    /// Does what a user asks of an action, and audits it.
    ///
    /// # Errors
    /// [`Error::ActionNotFound`], [`Conflict::ActionState`](crate::Conflict::ActionState) when the action is not in a
    /// state for it, and for a retry also [`Conflict::ActionRunning`](crate::Conflict::ActionRunning).
    async fn control_action(&self, id: &ActionId, command: Command, user: &str, now: i64) -> Result<Action, Error>;

    /// Begins an action that is pending; one in another state stays as it is.
    ///
    /// # Errors
    /// [`Error::ActionNotFound`].
    async fn begin_action(&self, id: &ActionId, begin: &Begin, now: i64) -> Result<Action, Error>;

    /// Hands out nodes of running actions to `owner` until a time: those that nobody has, and those whose lease has ended.
    /// Older actions come first.
    async fn claim(&self, owner: &str, limit: u32, now: i64, until: i64) -> Result<Vec<Claim>, Error>;

    /// Holds everything that `owner` has until a later time, and says how many nodes that are.
    async fn renew(&self, owner: &str, until: i64) -> Result<u64, Error>;

    /// Puts everything back that `owner` has, and says how many nodes that were. Who starts again under its old name need
    /// not wait for its own leases to end.
    async fn give_back(&self, owner: &str, now: i64) -> Result<u64, Error>;

    /// Files results. With its last node an action ends. What those that are taken did to labels is remembered with them.
    async fn finish(&self, results: &[Finished], now: i64) -> Result<Finishing, Error>;

    /// The labels that one node, or every node, has or may have by actions. They outlive the actions.
    async fn given_labels(&self, node: Option<&str>) -> Result<BTreeMap<String, GivenLabels>, Error>;

    /// Remembers what was done to the labels of a node outside of an action.
    ///
    /// # Errors
    /// [`Error::Name`] for what cannot be stored.
    async fn remember_labels(&self, node: &str, done: &LabelMemory) -> Result<(), Error>;

    /// Writes notes.
    ///
    /// # Errors
    /// [`Error::Name`] for what cannot be stored.
    async fn add_notes(&self, notes: &[NewNote], now: i64) -> Result<(), Error>;

    /// The notes about something, in the order in which they were written.
    async fn notes(&self, about: &str) -> Result<Vec<Note>, Error>;

    /// The notes about several things up to a verbosity, in the order in which they were written. A page of actions is shown by
    /// one question instead of one for each.
    async fn notes_about(&self, things: &[String], verbosity: u8) -> Result<Vec<Note>, Error>;

    /// One note.
    async fn note(&self, id: u64) -> Result<Option<Note>, Error>;

    /// Who asked what of an action, in the order in which it was asked.
    async fn audit(&self, id: &ActionId) -> Result<Vec<AuditEntry>, Error>;

    /// Files what was found before an action began.
    ///
    /// # Errors
    /// [`Error::ActionNotFound`], [`Error::Name`], [`Error::TooDeep`].
    async fn add_action_validation(&self, id: &ActionId, name: &str, details: &Value) -> Result<u64, Error>;

    /// What was found before an action began.
    async fn action_validations(&self, id: &ActionId) -> Result<Vec<ActionValidation>, Error>;

    /// Removes finished actions that ended before a time, with all that belongs to them, and says how many.
    async fn purge_actions(&self, ended_before: i64) -> Result<u64, Error>;
}

/// A store of everything: documents in revisions, and actions.
pub trait Database: Store + ActionStore {}

impl<T: Store + ActionStore> Database for T {}
