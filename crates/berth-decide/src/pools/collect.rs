//! Rendered configs that nobody refers to.
//!
//! A rendered config is needed as long as a pool, a Node or a Berth names it: a machine that is degraded, or whose Node
//! is gone, has to find what it runs. One that nobody names is marked with the time, kept for a while (a machine may
//! have been given it at boot and not have registered yet), and then let go.

use std::{collections::BTreeSet, time::Duration};

use jiff::Timestamp;

use super::RenderedView;
use crate::names;

/// What to do about one rendered config.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Collection {
    /// Note that nobody refers to it.
    Mark(String),
    /// Somebody refers to it again.
    Unmark(String),
    /// Delete it, and let it go.
    Remove(RenderedView),
}

/// What to do now, and when to look again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// What to do now.
    pub work: Vec<Collection>,
    /// When the next one may go.
    pub next: Option<Timestamp>,
}

/// The rendered configs that annotations name, of a Node or as a Berth remembers them.
pub fn references<'a>(annotations: impl IntoIterator<Item = (&'a str, &'a str)>) -> BTreeSet<String> {
    annotations
        .into_iter()
        .filter(|(key, _)| key.starts_with(names::MACHINE_CONFIG_PREFIX))
        .filter_map(|(_, value)| {
            let value = value.strip_prefix("drain-").unwrap_or(value);
            let value = value.strip_prefix("uncordon-").unwrap_or(value);
            value.starts_with("rendered-").then(|| value.to_owned())
        })
        .collect()
}

/// Looks at all rendered configs. Those that Berth did not make are left alone.
pub fn collect<'a>(
    rendered: impl IntoIterator<Item = &'a RenderedView>,
    used: &BTreeSet<String>,
    now: Timestamp,
    keep: Duration,
) -> Collected {
    let mut collected = Collected::default();
    for config in rendered.into_iter().filter(|config| config.is_ours()) {
        let is_used = used.contains(&config.name);
        match (is_used, config.unused_since) {
            (true, None) => {}
            (true, Some(_)) => collected.work.push(Collection::Unmark(config.name.clone())),
            (false, None) => collected.work.push(Collection::Mark(config.name.clone())),
            (false, Some(since)) => {
                let due = since.checked_add(keep).unwrap_or(Timestamp::MAX);
                if due <= now {
                    collected.work.push(Collection::Remove(config.clone()));
                } else {
                    collected.next = Some(collected.next.map_or(due, |next| next.min(due)));
                }
            }
        }
    }
    collected
}
