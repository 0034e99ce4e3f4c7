//! Folds the statements of all sources into one answer per key.

use berth_documents::{Diagnostic, Span};
use berth_labels::{LabelKey, LabelValue, Route};

use super::{Beaten, Removed, ResolvedLabel, Source};
use crate::{lints, model::Site};

/// The strength of a source. The order of the variants is the order of strength.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// What the documents know of the host beside its labels.
    Fact,
    /// Explicit labels of the pool.
    Explicit,
    /// Rules, by their place in the order of priority and name.
    Rule(u32),
    /// The rack.
    Rack,
    /// The profile chain, by depth: the profile nearest to the node is strongest.
    Profile(u32),
    /// The node document or Berth.
    Node,
    /// The pool's selector.
    Implicit,
}

/// One statement of one source about one key.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) key: LabelKey,
    pub(super) value: Option<LabelValue>,
    pub(super) rank: Rank,
    pub(super) source: Source,
    pub(super) span: Span,
}

/// The outcome, each list by key.
#[derive(Debug, Default)]
pub(super) struct Folded {
    pub(super) labels: Vec<ResolvedLabel>,
    pub(super) removed: Vec<Removed>,
}

pub(super) fn fold(
    site: &Site,
    node: &str,
    mut candidates: Vec<Candidate>,
    route: impl Fn(&LabelKey) -> Route,
    diagnostics: &mut Vec<Diagnostic>,
) -> Folded {
    // Strongest first within a key. Sources of one rank are told apart by their kind, so that the order of documents
    // has no influence.
    candidates.sort_by(|a, b| {
        a.key
            .cmp(&b.key)
            .then(b.rank.cmp(&a.rank))
            .then(a.source.cmp(&b.source))
    });
    let mut folded = Folded {
        labels: Vec::with_capacity(candidates.len()),
        removed: Vec::new(),
    };
    for group in candidates.chunk_by(|a, b| a.key == b.key) {
        let Some((winner, losers)) = group.split_first() else {
            continue;
        };
        if !judge(site, node, winner, losers, diagnostics) {
            continue;
        }
        let beats: Vec<Beaten> = losers
            .iter()
            .map(|loser| Beaten {
                source: loser.source,
                value: loser.value.clone(),
                span: loser.span,
            })
            .collect();
        let (key, source, span) = (winner.key.clone(), winner.source, winner.span);
        match &winner.value {
            Some(value) => {
                let route = route(&key);
                folded.labels.push(ResolvedLabel {
                    key,
                    value: value.clone(),
                    source,
                    span,
                    route,
                    beats,
                });
            }
            None if beats.iter().any(|beaten| beaten.value.is_some()) => {
                folded.removed.push(Removed {
                    key,
                    source,
                    span,
                    beats,
                });
            }
            None => {}
        }
    }
    folded
}

/// Reports what is wrong among the statements about one key; `false` when there is no answer.
fn judge(site: &Site, node: &str, winner: &Candidate, losers: &[Candidate], diagnostics: &mut Vec<Diagnostic>) -> bool {
    kubelet_label(node, winner, diagnostics);
    let key = &winner.key;
    for loser in losers.iter().filter(|loser| loser.value != winner.value) {
        let said = |candidate: &Candidate| match &candidate.value {
            Some(value) => format!("says `{key}={value}`"),
            None => format!("removes `{key}`"),
        };
        match (winner.rank, loser.rank) {
            (Rank::Implicit, _) => {
                let message = format!(
                    "{} {} for node `{node}`, but {} needs `{key}={}`",
                    site.describe(loser.source),
                    said(loser),
                    site.describe(winner.source),
                    winner.value.as_ref().map(LabelValue::as_str).unwrap_or_default()
                );
                diagnostics.push(
                    Diagnostic::new(&lints::IMPLICIT_OVERRIDE, loser.span, message)
                        .with_help("labels that identify a pool cannot be changed; to move the node, change its pool")
                        .with_related(winner.span, "the pool's selector"),
                );
            }
            (strong, weak) if strong == weak => {
                let message = format!(
                    "for node `{node}` {} {} and {} {}",
                    site.describe(winner.source),
                    said(winner),
                    site.describe(loser.source),
                    said(loser)
                );
                diagnostics.push(
                    Diagnostic::new(&lints::EQUAL_RANK, winner.span, message)
                        .with_help("remove one of the two")
                        .with_related(loser.span, "the other statement"),
                );
                return false;
            }
            (Rank::Rule(strong), Rank::Rule(weak)) => {
                let rule = |index: u32| site.rules.get(index as usize);
                if let (Some(strong), Some(weak)) = (rule(strong), rule(weak))
                    && strong.priority == weak.priority
                {
                    let message = format!(
                        "rules `{}` and `{}` have the same priority and different values for `{key}` on node `{node}`; `{}` wins by name",
                        strong.name.value, weak.name.value, strong.name.value
                    );
                    diagnostics.push(
                        Diagnostic::new(&lints::RULE_TIE, winner.span, message)
                            .with_help("give one of them a higher `priority`")
                            .with_related(loser.span, "the other value"),
                    );
                }
            }
            _ => {}
        }
    }
    true
}

/// The kubelet keeps some keys equal to what it finds on the machine.
fn kubelet_label(node: &str, winner: &Candidate, diagnostics: &mut Vec<Diagnostic>) {
    let Some(value) = &winner.value else { return };
    let own = match winner.key.as_str() {
        "kubernetes.io/hostname" => value.as_str() == node || node.split('.').next() == Some(value.as_str()),
        "kubernetes.io/os" | "kubernetes.io/arch" => false,
        _ => true,
    };
    if !own {
        let message = format!("the kubelet of node `{node}` sets `{}` itself", winner.key);
        diagnostics.push(Diagnostic::new(&lints::KUBELET_LABEL, winner.span, message).with_help("leave the label out"));
    }
}
