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
mod chain;
mod costs;
mod declared;
mod definitions;
mod following;
mod look;
pub mod names;
mod node;
mod patch;
mod plan;
pub mod pools;
mod relabel;
mod serving;
mod summary;
mod systems;
mod units;
mod view;
mod which;

pub use certificate::{
    CertificateDecision, CertificateRequest, KUBELET_SIGNER, Places, RequestState, Requester, SpentToken, Wanted,
    decide_certificate, is_node_name, judge_certificate,
};
pub use chain::{Chain, root_cause};
pub use costs::Costs;
pub use declared::{BerthDeclaration, Declaration};
pub use definitions::{
    Answer, Definitions, Finding, Question, is_changed, plain, validate, validate_among, validate_rule,
};
pub use following::{Lag, held_back, lag};
pub use look::{Look, resolve};
pub use node::{
    Absence, Cause, Decision, KubeletRequest, MachineState, Move, NodeWrite, Note, Pin, Pulse, Reservation, Reserved,
    Settings, Subject, adopt, awaits_registration, current_pool, decide, first_of, holder, is_adoptable,
    is_by_documents, is_in_place, made_by, may_register, noted_ahead, pin, reserve, seniority,
};
pub use patch::{MapPatch, NodePatch, merge_diff};
pub use plan::{NodePlan, Plan, Presence, Reboot, Totals, plan};
pub use relabel::{
    Given, LabelDiff, LabelPolicy, NodeState, Refusal, Requested, Strategy, UnknownStrategy, label_diff,
};
pub use serving::{Place, PoolServing, Serving};
pub use summary::{BerthSummary, PoolSummary, Summary, TroubledNode, summarize};
pub use systems::{BootConfig, Witness, config_with_built_image, os_id_of_image};
pub use units::UnitLabels;
pub use view::NodeView;
pub use which::{PoolConfigurations, which_config};
