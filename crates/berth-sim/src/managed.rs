//! Who set which field: field sets, their wire form, and server-side apply.

mod apply;
mod compare;
mod entries;
mod last_applied;
mod merge;
mod path;
mod set;
#[cfg(test)]
mod tests;

pub(crate) use apply::{ApplyRequest, apply};
pub(crate) use entries::{Manager, Operation, read_entries, record_update};
pub(crate) use merge::merged;
