//! Actions: what users ask for, how far it is on each node, and who asked what of it.

mod id;
mod labels;
mod state;

use serde_json::Value;

use crate::{body, error::Error, names};

pub use id::{ActionId, ActionIdError};
pub use labels::{GivenLabels, LabelMemory};
pub use state::{ActionState, Command, SubtaskState, UnknownCommand};

/// From which door an action came, and where it is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// A Shipyard action. It is listed among the actions, and its execution among the tasks.
    Action,
    /// A Drydock task of its own. It is listed among the tasks alone.
    Task,
}

impl Origin {
    /// The word that is stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Action => "action",
            Self::Task => "task",
        }
    }

    pub(crate) fn from_column(text: &str) -> Result<Self, Error> {
        let found = [Self::Action, Self::Task]
            .into_iter()
            .find(|origin| origin.as_str() == text);
        found.ok_or_else(|| Error::damaged(format!("{text} is not an origin of an action")))
    }
}

/// An action that is to be kept.
#[derive(Clone, Debug, PartialEq)]
pub struct NewAction {
    /// Its identifier, which sorts by time.
    pub id: ActionId,
    /// The identifier of its execution, a UUID in its usual form.
    pub task_id: String,
    /// From which door it came.
    pub origin: Origin,
    /// The name under which it was asked for, such as `update_labels`.
    pub name: String,
    /// The parameters as they were given.
    pub parameters: Value,
    /// Who asked.
    pub user: String,
    /// The caller's own mark, or the identifier of the request.
    pub context_marker: String,
    /// The revision from which the labels come.
    pub revision: Option<u64>,
    /// What the caller said of intermediate commits; only shown.
    pub allow_intermediate_commits: Option<bool>,
    /// What else belongs to it, in the form that the caller gives it: how to do it, filters, references.
    pub options: Value,
    /// Actions of one group exclude one another: while one of them is not finished, no other can be created.
    pub exclusive: Option<String>,
    /// The nodes, each with what the caller needs for its work, in the order in which they are worked on.
    pub nodes: Vec<(String, Value)>,
    /// When it is created, in microseconds since 1970.
    pub now: i64,
}

impl NewAction {
    /// What one store takes and another refuses is refused by all.
    pub(crate) fn check(&self) -> Result<(), Error> {
        names::check("the name of an action", &self.name)?;
        names::check("the identifier of a task", &self.task_id)?;
        if let Some(group) = &self.exclusive {
            names::check("the group of an action", group)?;
        }
        for (what, text) in [("the user", &self.user), ("the context marker", &self.context_marker)] {
            names::check_text(what, text)?;
        }
        for (what, value) in [("the parameters", &self.parameters), ("the options", &self.options)] {
            body::check_depth(what, value)?;
        }
        for (node, work) in &self.nodes {
            names::check("the name of a node", node)?;
            body::check_depth("the work on a node", work)?;
        }
        Ok(())
    }
}

/// An action as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// Its identifier.
    pub id: ActionId,
    /// The identifier of its execution.
    pub task_id: String,
    /// From which door it came.
    pub origin: Origin,
    /// The name under which it was asked for.
    pub name: String,
    /// The parameters as they were given.
    pub parameters: Value,
    /// Who asked.
    pub user: String,
    /// The caller's own mark.
    pub context_marker: String,
    /// The revision from which the labels come.
    pub revision: Option<u64>,
    /// What the caller said of intermediate commits.
    pub allow_intermediate_commits: Option<bool>,
    /// What else belongs to it.
    pub options: Value,
    /// The group whose actions exclude one another.
    pub exclusive: Option<String>,
    /// How it stands.
    pub state: ActionState,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// How many of its nodes are in which state.
    pub counts: Counts,
    /// When it was created, in microseconds since 1970.
    pub created_at: i64,
    /// When its first attempt began.
    pub started_at: Option<i64>,
    /// When something about it changed last.
    pub updated_at: i64,
    /// When it ended. A retry takes this away again.
    pub finished_at: Option<i64>,
    /// Who stopped it, if somebody did.
    pub stopped_by: Option<String>,
}

/// How many nodes of an action are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counts {
    /// Not begun.
    pub queued: u64,
    /// Being worked on.
    pub running: u64,
    /// Done.
    pub succeeded: u64,
    /// Tried, and failed.
    pub failed: u64,
    /// Not tried, because the action was stopped before.
    pub stopped: u64,
}

impl Counts {
    /// All nodes.
    pub fn total(self) -> u64 {
        self.queued + self.running + self.succeeded + self.failed + self.stopped
    }

    /// Nodes that have no outcome yet.
    pub fn open(self) -> u64 {
        self.queued + self.running
    }
}

/// Which actions to list, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionPage {
    /// Only those that came by this door.
    pub origin: Option<Origin>,
    /// Only those older than this one: the last of the page before.
    pub before: Option<ActionId>,
    /// How many at most.
    pub limit: u32,
}

/// Which nodes of an action to list, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubtaskPage {
    /// Only those after this place: that of the last one of the page before.
    pub after: Option<u32>,
    /// How many at most.
    pub limit: u32,
}

impl SubtaskPage {
    /// All nodes at once.
    pub const ALL: Self = Self {
        after: None,
        limit: u32::MAX,
    };
}

/// One node of an action.
#[derive(Clone, Debug, PartialEq)]
pub struct Subtask {
    /// The action.
    pub action: ActionId,
    /// Its place in the action, from 0.
    pub ordinal: u32,
    /// The node.
    pub node: String,
    /// What the caller needs for its work.
    pub work: Value,
    /// How it stands.
    pub state: SubtaskState,
    /// How often it was begun. It is also the fence: a result is taken from the one who began it last, and only from it.
    pub fence: u64,
    /// When it was begun last, in microseconds since 1970.
    pub started_at: Option<i64>,
    /// When it ended.
    pub finished_at: Option<i64>,
    /// What came of it.
    pub outcome: Option<Value>,
}

/// A node that was handed to somebody to work on, until its lease ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The action.
    pub action: ActionId,
    /// The node's place in the action.
    pub ordinal: u32,
    /// The node.
    pub node: String,
    /// What the caller needs for its work.
    pub work: Value,
    /// What the result must carry.
    pub fence: u64,
    /// What belongs to the action as a whole: [`NewAction::options`].
    pub options: Value,
}

/// The result of a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// The action.
    pub action: ActionId,
    /// The node's place in the action.
    pub ordinal: u32,
    /// The fence of the claim.
    pub fence: u64,
    /// Whether it went well.
    pub success: bool,
    /// What came of it.
    pub outcome: Value,
    /// What it did to the labels of the node. It is remembered with the result, and longer than the action.
    pub labels: LabelMemory,
}

/// What results did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Finishing {
    /// For each result, in its order, whether it was taken. One with an old fence is not.
    pub taken: Vec<bool>,
    /// Every action that was touched, as it stands now.
    pub actions: Vec<Action>,
}

/// How an action begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begin {
    /// Its nodes may be worked on.
    Run,
    /// Somebody has to agree first: the action is paused, and a note says why.
    Hold {
        /// What the note says.
        reason: String,
    },
}

/// A note that is to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewNote {
    /// What it is about, such as `action/01B…` or `step/01B…/relabel_nodes`.
    pub about: String,
    /// Whom it concerns, such as the name of an action or a node.
    pub subject: String,
    /// What kind of note it is.
    pub kind: String,
    /// The text.
    pub text: String,
    /// From which verbosity on it is shown, 1 to 5.
    pub verbosity: u8,
    /// Where more is to be read.
    pub link: Option<String>,
}

impl NewNote {
    /// The note that says why an action waits for somebody to agree.
    pub(crate) fn held(action: &Action, reason: &str) -> Self {
        Self {
            about: format!("action/{}", action.id),
            subject: action.name.clone(),
            kind: "held".to_owned(),
            text: reason.replace('\0', ""),
            verbosity: 1,
            link: None,
        }
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        names::check("what a note is about", &self.about)?;
        for text in [
            Some(&self.subject),
            Some(&self.kind),
            Some(&self.text),
            self.link.as_ref(),
        ] {
            names::check_text("a note", text.map_or("", String::as_str))?;
        }
        Ok(())
    }
}

/// A note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Its number.
    pub id: u64,
    /// What it says.
    pub note: NewNote,
    /// When it was written, in microseconds since 1970.
    pub created_at: i64,
}

/// One line of who asked what of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// Its number.
    pub id: u64,
    /// The action.
    pub action: ActionId,
    /// What was asked: `invoke`, `stop`, `pause`, `unpause` or `retry`.
    pub command: String,
    /// Who asked.
    pub user: String,
    /// When, in microseconds since 1970.
    pub created_at: i64,
}

/// What was found before an action began, and did not keep it from beginning.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionValidation {
    /// Its number.
    pub id: u64,
    /// The action.
    pub action: ActionId,
    /// Whose validation it is.
    pub name: String,
    /// What was found.
    pub details: Value,
}
