//! Which routes controllers serve: whether two serve the same, and whether some are served by none.
//!
//! A selector looks at each label by itself, so that the values it names, one value it does not name, and no value at all stand for
//! every possible label.

use std::collections::{BTreeMap, BTreeSet};

use berth_labels::{LabelSelector, LabelValue, Requirement, Selector};

use super::{DEFAULT_CONTROLLER, IngressController};
use crate::problem::{PlacementProblem, ProblemKind};

/// How many combinations of labels are looked at.
const COMBINATIONS: usize = 20_000;

/// A label of the route or of its namespace.
type Key = (Side, String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Route,
    Namespace,
}

/// What a controller demands of routes. `None` where a selector cannot be read; that is reported elsewhere.
fn demands(controller: &IngressController) -> Option<Vec<(Key, Requirement)>> {
    let mut demands = Vec::new();
    for (side, selector) in [
        (Side::Route, &controller.route_selector),
        (Side::Namespace, &controller.namespace_selector),
    ] {
        let compiled = selector.as_ref().map(LabelSelector::compile).transpose().ok()?;
        for requirement in compiled.iter().flat_map(Selector::requirements) {
            demands.push(((side, requirement.key.to_string()), requirement.clone()));
        }
    }
    Some(demands)
}

/// The values that stand for all: those that are named, another one, and none.
fn candidates(demands: &[(Key, Requirement)]) -> BTreeMap<&Key, Vec<Option<String>>> {
    let mut named: BTreeMap<&Key, BTreeSet<&str>> = BTreeMap::new();
    for (key, requirement) in demands {
        named
            .entry(key)
            .or_default()
            .extend(requirement.values.iter().map(LabelValue::as_str));
    }
    named
        .into_iter()
        .map(|(key, values)| {
            let mut other = "other".to_owned();
            while values.contains(other.as_str()) {
                other.push('x');
            }
            let all = values.into_iter().map(|value| Some(value.to_owned()));
            (key, all.chain([None, Some(other)]).collect())
        })
        .collect()
}

/// Whether two controllers serve the same routes.
pub(super) fn overlap(first: &IngressController, second: &IngressController) -> Option<PlacementProblem> {
    let (ours, theirs) = (demands(first)?, demands(second)?);
    let all: Vec<(Key, Requirement)> = ours.iter().chain(&theirs).cloned().collect();
    let together = candidates(&all).iter().all(|(key, values)| {
        values.iter().any(|value| {
            all.iter()
                .filter(|(other, _)| other == *key)
                .all(|(_, requirement)| requirement.accepts(value.as_deref()))
        })
    });
    if !together {
        return None;
    }
    let message = format!(
        "ingress controllers `{}` and `{}` serve the same routes: nothing in their selectors keeps them apart",
        first.name, second.name
    );
    let problem = PlacementProblem::new(ProblemKind::IngressOverlap, message);
    let (shard, default) = if first.name == DEFAULT_CONTROLLER {
        (second, first)
    } else {
        (first, second)
    };
    Some(match shard.route_selector.as_ref().and_then(|selector| selector.match_labels.first_key_value()) {
        Some((key, value)) => problem.with_help(format!(
            "let `{}` leave them out: routeSelector: {{matchExpressions: [{{key: {key}, operator: NotIn, values: [{value}]}}]}}",
            default.name
        )),
        None => problem.with_help("give each of them a routeSelector or namespaceSelector that leaves out what the others serve"),
    })
}

/// An example of a route that no controller serves.
pub(super) fn unserved(controllers: &[IngressController]) -> Option<PlacementProblem> {
    if controllers.is_empty() {
        return None;
    }
    let demands: Vec<Vec<(Key, Requirement)>> = controllers.iter().map(demands).collect::<Option<_>>()?;
    if demands.iter().any(Vec::is_empty) {
        return None;
    }
    let all: Vec<(Key, Requirement)> = demands.iter().flatten().cloned().collect();
    let candidates: Vec<(&Key, Vec<Option<String>>)> = candidates(&all).into_iter().collect();
    let total = candidates
        .iter()
        .try_fold(1_usize, |total, (_, values)| total.checked_mul(values.len()));
    let total = total.filter(|total| *total <= COMBINATIONS)?;
    let served = |labels: &BTreeMap<&Key, Option<&str>>| {
        demands.iter().any(|demands| {
            demands
                .iter()
                .all(|(key, requirement)| requirement.accepts(labels.get(key).copied().flatten()))
        })
    };
    (0..total).find_map(|number| {
        let mut rest = number;
        let mut labels: BTreeMap<&Key, Option<&str>> = BTreeMap::new();
        for (key, values) in &candidates {
            let value = values.get(rest % values.len())?;
            rest /= values.len();
            labels.insert(key, value.as_deref());
        }
        (!served(&labels)).then(|| describe(&labels))
    })
}

fn describe(labels: &BTreeMap<&Key, Option<&str>>) -> PlacementProblem {
    let words: Vec<String> = labels
        .iter()
        .map(|((side, key), value)| {
            let whose = match side {
                Side::Route => "",
                Side::Namespace => " on its namespace",
            };
            match value {
                Some(value) => format!("{key}={value}{whose}"),
                None => format!("no {key}{whose}"),
            }
        })
        .collect();
    PlacementProblem::new(
        ProblemKind::IngressUnserved,
        format!("no ingress controller serves a route with {}", words.join(" and ")),
    )
    .with_help("let one controller, most often `default`, serve what the others leave out")
}
