//! Relabelling as one action.
//!
//! ```text
//!  committed revision ──► declared (berth-decide) ──► Workflow::create ──► ActionStore
//!                                                                             │ claims, results
//!  Node ──► label_diff (berth-decide) ──► one merge patch ◄── NodeClient ◄── Engine ──► events
//! ```
//!
//! [`Workflow`] takes requests: it checks them in the order and with the words of the services that it stands for, and
//! keeps an action with what every node is to carry. [`Engine`] brings the nodes there, many at a time, and files an
//! outcome for each as it comes. It can be killed at any moment and goes on where it was. `berth_decide::label_diff` decides what one
//! node needs; nothing else does.
//!
//! There is no HTTP server in here. The clock and random numbers are passed in.

mod apply;
mod engine;
mod lifecycle;
mod outcome;
mod request;
mod site;
mod submit;
mod traffic;

pub use apply::{ApplyError, NodeClient};
pub use berth_nodes::{Pace, Patience};
pub use engine::{Engine, EngineOptions, Event};
pub use lifecycle::{Step, lifecycle, steps};
pub use outcome::{Outcome, ValueChange};
pub use request::{ACTION_NAMES, Caller, RelabelRequest, TaskRequest, is_same_parameter, misspelt_parameter};
pub use site::SiteSnapshot;
pub use submit::{DeploymentConfiguration, Preview, PreviewNode, SubmitError, Workflow, WorkflowOptions};
