//! Kubernetes node labels: syntax, selectors, who may set which key, and how a key reaches a Node.
//!
//! Everything here is pure: the same input gives the same answer, with no clock, no environment and no network. The
//! node executable links this crate, so it depends on nothing heavy; serialisation is behind the `serde` feature.
//!
//! ```text
//! text ──► LabelKey, LabelValue, Label, LabelSet      what Kubernetes accepts, to the byte
//!          LabelSelector ──► Selector ──► Inversion   which labels a node must carry to be selected
//!          NodeLabels                                 what a kubelet reads from --node-labels
//!          permission, choose_route, route_proof      who may set a key, and how it reaches the Node
//!          OwnershipDiff, promenade_diff              what to patch on a live Node
//!          Brake                                      when so much would go that a person has to agree
//! ```

mod brake;
mod error;
mod invert;
mod key;
mod label;
mod node_labels;
mod ownership;
mod permission;
mod promenade;
mod quote;
mod route;
mod selector;
mod set;
mod syntax;
mod value;
mod wire;

pub use brake::Brake;
pub use error::{LabelError, LabelProblem};
pub use invert::{Inversion, InvertError};
pub use key::LabelKey;
pub use label::Label;
pub use node_labels::NodeLabels;
pub use ownership::{Conflict, ConflictPolicy, OwnershipDiff, UnknownPolicy, narrowed};
pub use permission::{Flavour, Permission, UnknownFlavour, UnknownWriter, Writer, permission};
pub use promenade::promenade_diff;
pub use route::{Route, UnknownRoute, choose_route, route_proof, routes};
pub use selector::{Operator, Requirement, Selector};
pub use set::LabelSet;
pub use value::LabelValue;
pub use wire::{LabelSelector, LabelSelectorRequirement, RequirementProblem, SelectorError, ToMapError};
