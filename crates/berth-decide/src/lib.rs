//! The core that decides: from a site, what was observed and the policy to decisions, as values.
//!
//! ```text
//! objects ── Definitions ──► Answer ── decide ──► Decision (at most one write to the Node, and the Berth's status)
//!                            certificate request ──► CertificateDecision
//!                            pools ──► rendered config, next step of a rollout, status
//! ```
//!
//! Everything here is pure: the clock is an argument, nothing is read and nothing is written. Whoever has a question (the
//! command line, the API, actions, controllers, the Ignition server, admission) asks it here, so that all get the same
//! answer.

mod certificate;
mod declared;
mod definitions;
mod look;
pub mod names;
mod node;
mod plan;
pub mod pools;
mod relabel;
mod serving;
mod summary;
mod view;
mod which;

pub use certificate::{
    CertificateDecision, CertificateRequest, KUBELET_SIGNER, Places, RequestState, Requester, SpentToken, Wanted,
    decide_certificate, is_node_name, judge_certificate,
};
pub use declared::Declaration;
pub use definitions::{
    Answer, Definitions, Finding, Question, flavour_of, is_changed, plain, validate, validate_among,
};
pub use look::{Look, resolve};
pub use node::{
    Cause, Decision, Move, NodeWrite, Note, Pin, Reservation, Settings, Subject, adopt, current_pool, decide, first_of,
    is_adoptable, is_in_place, made_by, merge_diff, pin, reserve, seniority,
};
pub use plan::{NodePlan, Plan, Presence, Reboot, Totals, needs_reboot, plan};
pub use relabel::{LabelDiff, LabelPolicy, NodeState, Refusal, Requested, Strategy, UnknownStrategy, label_diff};
pub use serving::{Place, PoolServing, Serving};
pub use summary::{BerthSummary, PoolSummary, Summary, summarize};
pub use view::NodeView;
pub use which::{PoolConfigurations, which_config};
