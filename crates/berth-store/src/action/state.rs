//! How actions and their nodes stand, and what can be asked of them.

use std::{fmt, str::FromStr};

use crate::error::Error;

/// How an action stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ActionState {
    /// Kept, and not begun.
    Pending,
    /// Its nodes are worked on.
    Running,
    /// No further node is begun until somebody says so.
    Paused,
    /// Stopped, while nodes that were begun come to their end.
    Stopping,
    /// Ended, and every node is as declared.
    Success,
    /// Ended, and some nodes are not, or the action was stopped.
    Failed,
}

impl ActionState {
    const ALL: [Self; 6] = [
        Self::Pending,
        Self::Running,
        Self::Paused,
        Self::Stopping,
        Self::Success,
        Self::Failed,
    ];

    /// The word that is stored and shown, which is Airflow's for a run.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "scheduled",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Stopping => "shutdown",
            Self::Success => "success",
            Self::Failed => "failed",
        }
    }

    /// Whether nothing happens any more.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Success | Self::Failed)
    }

    pub(crate) fn from_column(text: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|state| state.as_str() == text);
        found.ok_or_else(|| Error::damaged(format!("{text} is not a state of an action")))
    }
}

impl fmt::Display for ActionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// How one node of an action stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SubtaskState {
    /// Not begun.
    Queued,
    /// Somebody works on it.
    Running,
    /// Done.
    Succeeded,
    /// Tried, and failed.
    Failed,
    /// Not tried, because the action was stopped before.
    Stopped,
}

impl SubtaskState {
    const ALL: [Self; 5] = [
        Self::Queued,
        Self::Running,
        Self::Succeeded,
        Self::Failed,
        Self::Stopped,
    ];

    /// The word that is stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Succeeded => "success",
            Self::Failed => "failure",
            Self::Stopped => "stopped",
        }
    }

    pub(crate) fn from_column(text: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|state| state.as_str() == text);
        found.ok_or_else(|| Error::damaged(format!("{text} is not a state of a node's work")))
    }
}

impl fmt::Display for SubtaskState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What can be asked of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Begin no further node, and end as failed.
    Stop,
    /// Begin no further node for now.
    Pause,
    /// Go on. Where the action waits for somebody to agree, this agrees.
    Unpause,
    /// Try again what failed and what was not tried, and nothing else.
    Retry,
}

impl Command {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Stop, Self::Pause, Self::Unpause, Self::Retry];

    /// The word in paths, on the command line and in the audit.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Pause => "pause",
            Self::Unpause => "unpause",
            Self::Retry => "retry",
        }
    }

    /// The state that the action should be in, as Shipyard names it.
    pub const fn asks_for(self) -> &'static str {
        match self {
            Self::Stop | Self::Pause => "running",
            Self::Unpause => "paused",
            Self::Retry => "failed",
        }
    }

    /// Whether it can be asked of an action in this state.
    pub const fn fits(self, state: ActionState) -> bool {
        use ActionState::{Failed, Paused, Pending, Running};
        match self {
            Self::Stop => matches!(state, Pending | Running | Paused),
            Self::Pause => matches!(state, Pending | Running),
            Self::Unpause => matches!(state, Paused),
            Self::Retry => matches!(state, Failed),
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// No command of this name exists.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Unknown control {0}")]
pub struct UnknownCommand(pub String);

impl FromStr for Command {
    type Err = UnknownCommand;

    fn from_str(text: &str) -> Result<Self, UnknownCommand> {
        let found = Self::ALL.into_iter().find(|command| command.as_str() == text);
        found.ok_or_else(|| UnknownCommand(text.to_owned()))
    }
}
