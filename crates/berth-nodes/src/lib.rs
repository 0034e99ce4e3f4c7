//! The one way in which Berth reads and writes Nodes and their Berths.
//!
//! ```text
//!  controllers ─┐                       ┌─ Hold: may it be sent, and how long may it take?
//!               ├──► NodePatch ──► Nodes┤
//!  actions ─────┘   (berth-decide)      └─ WriteError ──► Trouble: what an answer means ──► Pace: when to try again
//! ```
//!
//! What is written is decided in `berth-decide`; who decides when, and what is done about trouble, is up to the controllers and
//! to actions. Nothing here runs by itself.

mod hold;
mod nodes;
mod pace;
mod trouble;

pub use hold::Hold;
pub use nodes::{Nodes, parameters};
pub use pace::{Over, Pace, Patience, Pauses};
pub use trouble::{Trouble, WriteError, told};
