//! Why a request is refused, in the words of the services that Berth stands for.

use berth_api::{Message, PlainMessage, ValidationMessage};
use berth_store::{Command, Conflict};

use crate::apply::ApplyError;

/// Why a request is refused. Nothing was changed then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// There is no action of this name.
    #[error("Unsupported Action: {}{}", .0, instead(.0))]
    UnsupportedAction(String),
    /// The nodes are not named as they should be.
    #[error(
        "The target_nodes parameter for this action should be a list with one or more string values representing node \
         names"
    )]
    InvalidTargets,
    /// Another parameter is not as it should be.
    #[error("The {name} parameter {problem}")]
    InvalidParameter {
        /// Which one.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// There is no committed revision.
    #[error("Unable to locate a committed revision in Deckhand")]
    NothingCommitted,
    /// Shipyard's own document is missing.
    #[error("InvalidConfigurationDocuments")]
    NoDeploymentConfiguration(Box<ValidationMessage>),
    /// No revision took part in a site action.
    #[error(
        "No revision of the configuration documents has taken part in a site action, so there is no deployed site whose \
         labels could be updated. Run the site action first; if it was done by other means, record it with \
         `berth site-action record`, or switch this check off on the server"
    )]
    NoSiteAction,
    /// Nodes that the committed revision does not have.
    #[error("Nodes that are not in the committed revision {revision}: {}", names.join(", "))]
    UnknownNodes {
        /// The committed revision.
        revision: u64,
        /// The names.
        names: Vec<String>,
    },
    /// The revision of an action was deleted.
    #[error(
        "The labels of this action come from revision {revision}, which was deleted. Create a new action: it takes the labels of \
         the committed revision"
    )]
    RevisionGone {
        /// The revision.
        revision: u64,
        /// What was asked of the action.
        command: Command,
    },
    /// Errors in the documents touch the nodes.
    #[error("The documents have errors that concern the nodes of this action: {}", told(.0))]
    Blocked(Vec<ValidationMessage>),
    /// The documents cannot be read.
    #[error(transparent)]
    Documents(#[from] berth_repository::Error),
    /// The store did not do it: something is in the way, or is not there.
    #[error(transparent)]
    Store(#[from] berth_store::Error),
    /// The cluster did not do it.
    #[error(transparent)]
    Cluster(#[from] ApplyError),
    /// The server is about to end.
    #[error("the work was interrupted")]
    Interrupted,
}

/// What to do instead of an action that Shipyard knows and Berth does not run.
fn instead(name: &str) -> &'static str {
    match name {
        "deploy_site" | "update_site" | "update_software" => {
            ". Berth relabels nodes and deploys nothing: run the action with the tool that deploys the site, and record it here \
             with `berth site-action record`. To change labels, create the action update_labels"
        }
        "redeploy_server" => {
            ". Berth installs no machines: redeploy the server with the tool that deploys the site. Its Node gets its labels again \
             when it registers"
        }
        "test_site" => {
            ". Berth runs no Helm tests; `berth doctor` and `berth plan` check what Berth is responsible for"
        }
        _ => "",
    }
}

fn told(messages: &[ValidationMessage]) -> String {
    let mut told: Vec<&str> = messages
        .iter()
        .take(3)
        .map(|message| message.message.as_str())
        .collect();
    let more = messages.len().saturating_sub(told.len());
    let count = format!("and {more} more");
    if more > 0 {
        told.push(&count);
    }
    told.join("; ")
}

impl SubmitError {
    /// The HTTP status.
    pub fn status(&self) -> u16 {
        match self {
            Self::UnsupportedAction(_)
            | Self::InvalidTargets
            | Self::InvalidParameter { .. }
            | Self::NothingCommitted
            | Self::NoDeploymentConfiguration(_)
            | Self::NoSiteAction
            | Self::UnknownNodes { .. }
            | Self::Blocked(_) => 400,
            Self::RevisionGone { .. } => 409,
            Self::Documents(error) => error.status(),
            Self::Store(error) => match error {
                berth_store::Error::Conflict(_) => 409,
                berth_store::Error::ActionNotFound { .. } | berth_store::Error::TaskNotFound { .. } => 404,
                berth_store::Error::Name { .. } | berth_store::Error::TooDeep { .. } => 400,
                _ => 500,
            },
            Self::Cluster(error) => error.status(),
            Self::Interrupted => 503,
        }
    }

    /// What the error document says as its message.
    pub fn title(&self) -> String {
        let title = match self {
            Self::UnsupportedAction(_) => "Unable to start action",
            Self::InvalidTargets => "Invalid target_nodes parameter",
            Self::InvalidParameter { name, .. } => return format!("Invalid {name} parameter"),
            Self::NothingCommitted => "No committed configdocs",
            Self::NoDeploymentConfiguration(_) | Self::Blocked(_) => "Document validation failed",
            Self::NoSiteAction => "No site action",
            Self::UnknownNodes { .. } => "Unknown nodes",
            Self::RevisionGone { command, .. } => return format!("Unable to {command} action"),
            Self::Documents(_) => "Unable to read the committed configdocs",
            Self::Store(error) => match error {
                berth_store::Error::Conflict(Conflict::ActionRunning { .. }) => "Conflicting action",
                berth_store::Error::Conflict(Conflict::ActionState { command, .. }) => {
                    return format!("Unable to {command} action");
                }
                berth_store::Error::ActionNotFound { .. } => "Action not found",
                berth_store::Error::TaskNotFound { .. } => "Task not found",
                _ => "Database Error",
            },
            Self::Cluster(error) => match error {
                ApplyError::NotFound { .. } => "Node not found",
                ApplyError::InvalidName { .. } | ApplyError::Refused(_) => "Invalid Input Error",
                ApplyError::Conflict { .. } | ApplyError::Controllers { .. } => "Conflict",
                ApplyError::Store(_) => "Database Error",
                ApplyError::Forbidden { .. }
                | ApplyError::BerthsForbidden { .. }
                | ApplyError::Unavailable { .. }
                | ApplyError::NotHeld { .. }
                | ApplyError::GivenUp => "Kubernetes API Error",
            },
            Self::Interrupted => "Internal Server Error",
        };
        title.to_owned()
    }

    /// What the error document says as its reason.
    pub fn description(&self) -> String {
        self.to_string()
    }

    /// The entries of the list of messages, where there is more to say than the description.
    pub fn messages(&self) -> Vec<Message> {
        match self {
            Self::NoDeploymentConfiguration(message) => vec![Message::Finding((**message).clone())],
            Self::Blocked(messages) => messages.iter().cloned().map(Message::Finding).collect(),
            Self::UnknownNodes { names, .. } => {
                let unknown = |name: &String| PlainMessage {
                    message: format!("Unknown node: {name}"),
                    error: true,
                    name: Some(name.clone()),
                    path: None,
                };
                names.iter().map(|name| Message::Plain(unknown(name))).collect()
            }
            _ => Vec::new(),
        }
    }
}
