//! The pool and the labels of nodes that have a Berth, by all that is known about them.

use std::collections::BTreeSet;

use berth_pools::{BUILT_IN, WORKER};
use berth_resources::Berth;

use crate::{
    definitions::{Answer, Definitions, Question},
    node::{Pin, pin, registered_in},
    view::NodeView,
};

/// One node as it is looked at before it is decided upon.
#[derive(Debug)]
pub struct Look<'a> {
    /// Its Berth.
    pub berth: &'a Berth,
    /// Its Node, if there is one.
    pub live: Option<&'a NodeView>,
    /// Its Node as it was when it was deleted.
    pub gone: Option<&'a NodeView>,
    /// The pool to ask for.
    pub pin: Pin,
}

impl<'a> Look<'a> {
    /// Finds the pool to ask for. `witnessed` says that the Node was seen in its place under these very definitions.
    pub fn new(
        definitions: &Definitions,
        berth: &'a Berth,
        live: Option<&'a NodeView>,
        gone: Option<&'a NodeView>,
        witnessed: bool,
    ) -> Self {
        Self {
            pin: pin(definitions, berth, live.or(gone), witnessed),
            berth,
            live,
            gone,
        }
    }
}

/// Resolves nodes; the answers are in their order. A Berth that says nothing about its pool, where no rule does either, keeps
/// the pool that its Node is in.
pub fn resolve(definitions: &mut Definitions, looks: &mut [Look<'_>]) -> Vec<Answer> {
    let mut answers = ask(definitions, looks.iter());
    let mut open = BTreeSet::new();
    for (index, (look, answer)) in looks.iter_mut().zip(&answers).enumerate() {
        let follows = look.pin.followed.is_some();
        if (answer.pool.is_some() && !follows) || answer.error().is_some() || look.berth.spec.pool.is_some() {
            continue;
        }
        let registered = look.live.and_then(|node| registered_in(definitions, look.berth, node));
        if follows && registered.as_deref().is_none_or(|role| !is_control_plane(role)) {
            continue;
        }
        let found = look
            .live
            .or(look.gone)
            .and_then(|node| definitions.placement(&node.name, &node.labels).ok())
            .and_then(|placement| placement.primary().map(ToString::to_string));
        let kept = || look.berth.status.as_ref().and_then(|status| status.pool.clone());
        let pool = registered
            .or(found)
            .or_else(kept)
            .filter(|pool| definitions.has_pool(pool));
        if let Some(pool) = pool {
            look.pin.pool = Some(pool);
            look.pin.followed = None;
            open.insert(index);
        }
    }
    let second = ask(definitions, open.iter().filter_map(|index| looks.get(*index)));
    for (index, answer) in open.into_iter().zip(second) {
        if let Some(slot) = answers.get_mut(index) {
            *slot = answer;
        }
    }
    answers
}

/// Whether a pool is one that no administrator moves a worker to.
fn is_control_plane(pool: &str) -> bool {
    pool != WORKER && BUILT_IN.contains(&pool)
}

fn ask<'a, 'b: 'a>(definitions: &mut Definitions, looks: impl Iterator<Item = &'a Look<'b>>) -> Vec<Answer> {
    let looks: Vec<(&Look<'_>, String)> = looks.map(|look| (look, look.berth.node_name())).collect();
    let questions: Vec<Question<'_>> = looks
        .iter()
        .map(|(look, name)| Question {
            node: name,
            berth: Some(look.berth),
            pin: look.pin.pool.as_deref().map(Some),
            live: look.live,
        })
        .collect();
    definitions.resolve(&questions)
}
