//! Nodes and Berths as the caches hold them.
//!
//! A cluster has ten thousand of each, and most of what they say is what others say too: keys and values of labels, reasons
//! and messages of conditions. What a watch or a write shows is reduced here, once, before anything stores it: each text is
//! held once ([`text`]), maps are slices of pairs, and both engines share the one object. A decision takes the object apart
//! again: [`KeptNode::view`] and [`KeptBerth::berth`] give what was put in, as far as decisions read it.

mod berth;
mod berths;
mod node;
#[cfg(test)]
mod tests;
mod text;

pub(super) use self::{
    berth::KeptBerth,
    berths::Berths,
    node::KeptNode,
    text::{Text, text},
};
