//! What full mode does with pools: pure functions from what the cluster shows to what is to be written.
//!
//! ```text
//! ControllerConfig, ConfigMap, Secret ── plan_templates ──► MachineConfigs
//! KubeletConfigs, ContainerRuntimeConfigs ── plan_settings ──► MachineConfigs
//! MachineConfigs ── render ──► rendered config ──► pool.spec.configuration
//! Nodes + pool   ── plan (berth-pools) ──► status, targets, taints ──► Nodes
//! desiredDrain   ── drain ──► cordon, evictions, lastAppliedDrain
//! references     ── collect ──► rendered configs that nobody needs any more
//! ```
//!
//! Membership and status come first and wait for nothing: neither for a rollout nor for a pause nor for the taints of
//! other nodes.

mod collect;
mod daemons;
mod drain;
mod machine_node;
mod nodes;
mod render;
mod settings;
mod settle;
mod status;
mod templates;
#[cfg(test)]
mod tests;
mod trouble;
mod view;

pub use collect::{Collected, Collection, collect, references};
pub use daemons::silent;
use daemons::silent_node;
pub use drain::{Backoff, Budgets, DrainRequest, PodView, StuckPod, describe_blocked, stuck_pods, to_evict};
pub use machine_node::{machine_node_spec, machine_node_status};
pub use nodes::{NodeChange, UPDATE_IN_PROGRESS, changes};
pub use render::{Rendering, configuration, object, reconcilable, render};
pub use settings::{Asked, SettingAnswer, SettingView, SettingsPlan, plan_settings};
pub use settle::Settle;
pub use status::{PoolNote, render_error, rollout, status};
pub use templates::{TemplateView, TemplateViews, TemplatesPlan, plan_templates};
pub use trouble::{NodeCase, NodeTrouble, Repair, STEP_DAEMON, drains, repair, troubles};
pub use view::{ConfigView, MemberView, PoolView, RenderedView, membership};
