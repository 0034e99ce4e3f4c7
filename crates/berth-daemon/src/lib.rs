//! The node daemon: what a config makes of a host, the plan of an update, the journal, and the state machine.
//!
//! ```text
//! rendered config ──► HostConfig ──┐
//! config on disk ───► HostConfig ──┼─► UpdatePlan ──► steps ──► Host (a machine, or one in memory)
//! host, policy ────────────────────┘                    │
//!                                                        ▼
//! Node, journal ──► decide ──► one deed, and what the Node has to say        State in /etc/berth/state
//! ```
//!
//! What differs, in which order, with which undo and at which cost is decided by pure functions. [`Host`] is the thin
//! rest: a machine below some root, or [`sim::SimHost`], on which property tests cut the power at every operation. Nothing
//! here knows a network or a runtime: who speaks to the cluster calls [`Daemon::turn`] with what it saw.
//!
//! | module | what it holds |
//! |---|---|
//! | [`item`] | things on a host that a config manages, and their settings |
//! | [`host_config`] | a rendered config as settings of a host, and why a host cannot take one |
//! | [`plan`] | steps from what is on the host to what is wanted, with undo and cost |
//! | [`host`] | what the daemon does to a host, and a real one |
//! | [`sim`] | a host in memory that can lose its power |
//! | [`apply`] | carrying out steps, with the barriers that make them safe |
//! | [`journal`] | the state on disk |
//! | [`drift`] | what on the host is not as the config says |
//! | [`decide`] | the state machine |
//! | `labels` | boot labels that follow the Node |
//! | [`announce`] | what the Node's annotations have to say |
//! | [`daemon`] | the state machine carried out on a host |

pub mod announce;
pub mod apply;
pub mod daemon;
pub mod decide;
pub mod drift;
pub mod host;
pub mod host_config;
pub mod item;
pub mod journal;
mod labels;
pub mod plan;
pub mod sim;

pub use self::{
    announce::Announcement,
    daemon::{Daemon, News, Settings, StartError, Turn},
    decide::{Decision, Deed},
    drift::{Drift, DriftPolicy},
    host::{Capabilities, Host, HostError, RootHost, SystemDriver},
    host_config::{HostConfig, NodeConfig, Obstacle},
    item::{Entry, FileEntry, Item, Owner, Setting, System},
    journal::{ORIGINALS, STATE, State},
    plan::{Refused, Step, UpdatePlan},
};
