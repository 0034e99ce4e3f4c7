//! Merging configs by Ignition's own rules.
//!
//! | what | rule |
//! |---|---|
//! | struct | field by field |
//! | optional value | the child's if it says one |
//! | list with keys | entries of one key are merged in the parent's place, new ones go to the end |
//! | files, links, directories | one key space: a child's link removes a parent's file of that path |
//! | kernel arguments to add and to remove | one key space too |
//! | appended file parts, options | joined |
//! | HTTP header without a value | removes the parent's header of that name |
//!
//! All configs are merged at once: the values of each field are gathered over all
//! configs and each list is gone through once, with a map from key to place.
//! Folding pair by pair gives the same result but walks what is already merged again
//! and again, which is quadratic in the number of configs.

mod list;
mod rule;
mod types;

use crate::Config;

/// Something of which several versions, weakest first, become one.
trait Merge: Sized {
    /// Merges the versions after `first` into it, in order.
    fn merge(first: Self, later: Vec<Self>) -> Self;
}

/// Merges a child into a parent; where both say something the child wins.
///
/// ```
/// use berth_ignition::{Config, file, file_contents, merge};
///
/// let (mut pool, mut node) = (Config::new(), Config::new());
/// pool.set_file(file("/etc/motd", 0o644, "worker"));
/// pool.set_file(file("/etc/issue", 0o644, "hello"));
/// node.set_file(file("/etc/motd", 0o644, "w1"));
/// let merged = merge(&pool, &node);
/// assert_eq!(merged.files().len(), 2);
/// let motd = merged.find_file("/etc/motd").map(file_contents);
/// assert_eq!(motd.transpose()?, Some(b"w1".to_vec()));
/// # Ok::<(), berth_ignition::DecodeError>(())
/// ```
pub fn merge(parent: &Config, child: &Config) -> Config {
    merge_all([parent, child])
}

/// Merges any number of configs, weakest first.
///
/// Takes configs or references to them. The time is linear in their total size.
/// No config at all gives an empty one.
pub fn merge_all<C: Into<Config>>(configs: impl IntoIterator<Item = C>) -> Config {
    let mut bodies = configs.into_iter().map(|config| config.into().into_v3_5());
    match bodies.next() {
        None => Config::new(),
        Some(first) => Config::from_v3_5(Merge::merge(first, bodies.collect())),
    }
}

#[cfg(test)]
mod tests;
