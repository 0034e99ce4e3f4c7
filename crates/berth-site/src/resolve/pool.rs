//! The pool of a node: who chooses it, and whether the labels agree.

use std::sync::Arc;

use berth_documents::{Diagnostic, Span};
use berth_pools::{MembershipError, NodeLabelView};

use super::{Candidate, PoolSource, ResolvedLabel, Resolver, Source, Subject, kubelet_labels, matching, small};
use crate::{lints, model::Pool};

impl Resolver<'_> {
    pub(super) fn pinned_pool(
        &self,
        subject: &Subject,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<(usize, PoolSource)> {
        let by_node = subject
            .node
            .and_then(|index| Some((Source::Node(small(index)), self.site.nodes.get(index)?.pool.as_ref()?)));
        let by_berth = subject
            .berth
            .and_then(|index| Some((Source::Berth(small(index)), self.site.berths.get(index)?.pool.as_ref()?)));
        if let (Some((_, node)), Some((_, berth))) = (by_node, by_berth)
            && node.value != berth.value
        {
            let message = format!(
                "node `{}` is pinned to pool `{}` by its document and to pool `{}` by its Berth",
                subject.name, node.value, berth.value
            );
            diagnostics.push(
                Diagnostic::new(&lints::EQUAL_RANK, berth.span, message)
                    .with_related(node.span, "the node document says this"),
            );
            return None;
        }
        // What the controllers do: the Berth follows an administrator, as long as the pool is there.
        let followed = subject.berth.and_then(|index| {
            let name = self.site.berths.get(index)?.followed.as_ref()?;
            let pool = *self.pools.get(name.value.as_ref())?;
            Some((pool, PoolSource::Pinned(Source::Berth(small(index)), name.span)))
        });
        if followed.is_some() {
            return followed;
        }
        let (source, name) = by_node.or(by_berth)?;
        match self.pools.get(name.value.as_ref()) {
            Some(&index) => Some((index, PoolSource::Pinned(source, name.span))),
            None => {
                diagnostics.push(self.unknown_pool(name));
                None
            }
        }
    }

    /// The pool in which the controllers left the machine. It counts where nothing else says a pool.
    pub(super) fn given_pool(&self, subject: &Subject) -> Option<(usize, PoolSource)> {
        let index = subject.berth?;
        let name = self.site.berths.get(index)?.given.as_ref()?;
        let pool = *self.pools.get(name.value.as_ref())?;
        Some((pool, PoolSource::Pinned(Source::Berth(small(index)), name.span)))
    }

    pub(super) fn rule_pool(
        &self,
        rules: &[matching::Matched],
        node: &str,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<(usize, PoolSource)> {
        let giving = || {
            rules.iter().rev().filter_map(|matched| {
                let rule = self.site.rules.get(matched.rule as usize)?;
                let index = *self.pools.get(rule.pool.as_ref()?.value.as_ref())?;
                Some((matched.rule, rule, index))
            })
        };
        let (number, winner, index) = giving().next()?;
        let rival = giving().find(|(_, rule, other)| rule.priority == winner.priority && *other != index);
        if let (Some((_, rival, _)), Some(pool)) = (rival, &winner.pool) {
            let message = format!(
                "rules `{}` and `{}` have the same priority and give node `{node}` different pools; `{}` wins by name",
                winner.name.value, rival.name.value, winner.name.value
            );
            diagnostics.push(
                Diagnostic::new(&lints::RULE_TIE, pool.span, message)
                    .with_help("give one of them a higher `priority`")
                    .with_related(rival.name.span, "the other rule"),
            );
        }
        Some((index, PoolSource::Rule(number)))
    }

    /// The pool that the labels known so far select. An error or a tie is reported by the check at the end.
    pub(super) fn selected_pool(&self, subject: &Subject, candidates: &[Candidate]) -> Option<(usize, PoolSource)> {
        let folded = self.fold(candidates.to_vec(), subject, &mut Vec::new());
        let placement = self.place(subject, &folded.labels).ok()?;
        let index = *self.pools.get(placement.primary()?.as_ref())?;
        Some((index, PoolSource::Selector))
    }

    /// With all labels on, membership must give that very pool.
    pub(super) fn check_pool(
        &self,
        subject: &Subject,
        pool: Option<(usize, PoolSource)>,
        labels: &[ResolvedLabel],
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let pool = pool.and_then(|(index, source)| Some((self.site.pools.get(index)?, source)));
        if let Some((pool, source)) = pool {
            let Some(implicit) = &pool.implicit else {
                self.check_selectless(subject, pool, source, diagnostics);
                return;
            };
            let mut violated = false;
            for requirement in &implicit.constraints {
                if !requirement.accepts(subject.view(labels).value(requirement.key.as_str())) {
                    violated = true;
                    let label = labels.iter().find(|label| label.key == requirement.key);
                    diagnostics.push(self.constraint(subject, pool, source, &requirement.to_string(), label));
                }
            }
            if violated {
                return;
            }
        }
        match (pool, self.place(subject, labels)) {
            (Some((pool, source)), Ok(placement)) => {
                if placement.primary() != Some(&pool.name.value) {
                    diagnostics.push(self.mismatch(subject, pool, source, placement.primary(), labels));
                } else if let Some(custom) = &placement.overruled {
                    diagnostics.push(Self::overruled(subject, custom));
                }
            }
            (Some((pool, source)), Err(MembershipError::SeveralCustomPools { pools, .. })) => {
                let other = pools.iter().find(|name| **name != pool.name.value);
                diagnostics.push(self.mismatch(subject, pool, source, other, labels));
            }
            (None, Ok(placement)) => {
                let windows = subject.view(labels).value("kubernetes.io/os") == Some("windows");
                // With a reference that could not be followed the missing pool is a consequence, not a finding.
                if placement.primary().is_none() && !windows && !self.site.pools.is_empty() && diagnostics.is_empty() {
                    let message = format!("node `{}` is in no pool", subject.name);
                    diagnostics.push(
                        Diagnostic::new(&lints::NO_POOL, subject.span, message)
                            .with_help("pin it with label `berth.dev/pool` or a Berth, or give it a pool by a rule"),
                    );
                }
            }
            (None, Err(error)) => {
                let MembershipError::SeveralCustomPools { pools, .. } = &error;
                let names: Vec<String> = pools.iter().map(|name| format!("`{name}`")).collect();
                diagnostics.push(
                    Diagnostic::new(&lints::POOL_MISMATCH, subject.span, error.to_string()).with_help(format!(
                        "its labels satisfy pools {}; pin the node to one of them and remove the labels of the others",
                        names.join(" and ")
                    )),
                );
            }
        }
    }

    /// A pool without a selector takes no node, whoever chooses it. Selectors that are wrong in themselves have been
    /// reported as errors already.
    fn check_selectless(&self, subject: &Subject, pool: &Pool, source: PoolSource, diagnostics: &mut Vec<Diagnostic>) {
        let empty = pool
            .node_selector
            .as_ref()
            .is_none_or(|selector| selector.value.is_empty());
        if empty && !pool.broken_selector {
            let message = format!(
                "node `{}` should be in pool `{}`, but that pool selects no node",
                subject.name, pool.name.value
            );
            diagnostics.push(
                Diagnostic::new(&lints::POOL_MISMATCH, self.pool_span(subject, source), message)
                    .with_help("give the pool a nodeSelector"),
            );
        }
    }

    fn constraint(
        &self,
        subject: &Subject,
        pool: &Pool,
        source: PoolSource,
        requirement: &str,
        label: Option<&ResolvedLabel>,
    ) -> Diagnostic {
        let (span, message) = match label {
            Some(label) => (
                label.span,
                format!(
                    "{} gives node `{}` the label `{}={}`, but its pool `{}` requires `{requirement}`",
                    self.site.describe(label.source),
                    subject.name,
                    label.key,
                    label.value,
                    pool.name.value
                ),
            ),
            None => (
                self.pool_span(subject, source),
                format!(
                    "node `{}` does not meet `{requirement}` of its pool `{}`",
                    subject.name, pool.name.value
                ),
            ),
        };
        let selector = pool
            .node_selector
            .as_ref()
            .map_or(pool.name.span, |selector| selector.span);
        Diagnostic::new(&lints::POOL_CONSTRAINT, span, message).with_related(selector, "the pool's selector")
    }

    fn overruled(subject: &Subject, custom: &str) -> Diagnostic {
        let message = format!(
            "node `{}` has the labels of pool `{custom}`, but `master` wins",
            subject.name
        );
        Diagnostic::new(&lints::POOL_OVERRULED, subject.span, message)
    }

    /// Names the two pools and the label that leads to the other one.
    fn mismatch(
        &self,
        subject: &Subject,
        pool: &Pool,
        source: PoolSource,
        other: Option<&Arc<str>>,
        labels: &[ResolvedLabel],
    ) -> Diagnostic {
        let name = &pool.name.value;
        let Some(other) = other else {
            let message = format!(
                "node `{}` should be in pool `{name}`, but its labels put it in no pool",
                subject.name
            );
            return Diagnostic::new(&lints::POOL_MISMATCH, self.pool_span(subject, source), message);
        };
        let wanted = self.pools.get(other.as_ref());
        let wanted = wanted.and_then(|index| self.site.pools.get(*index)?.implicit.as_ref());
        let wants = |key: &str| wanted.is_some_and(|implicit| implicit.labels.contains_key(key));
        match labels.iter().find(|label| wants(label.key.as_str())) {
            Some(label) => {
                let message = format!(
                    "node `{}` should be in pool `{name}`, but the label `{}={}` from {} also puts it in pool `{other}`",
                    subject.name,
                    label.key,
                    label.value,
                    self.site.describe(label.source)
                );
                Diagnostic::new(&lints::POOL_MISMATCH, label.span, message)
                    .with_related(self.pool_span(subject, source), format!("pool `{name}` is chosen here"))
                    .with_help("remove the label, or choose the other pool")
            }
            None => {
                let own = kubelet_labels(&subject.name).into_iter().find(|(key, _)| wants(key));
                let labels = own.map_or_else(
                    || "its labels also put".to_owned(),
                    |(key, value)| format!("the label `{key}={value}`, which its kubelet sets, also puts"),
                );
                let message = format!(
                    "node `{}` should be in pool `{name}`, but {labels} it in pool `{other}`",
                    subject.name
                );
                Diagnostic::new(&lints::POOL_MISMATCH, self.pool_span(subject, source), message)
            }
        }
    }

    fn pool_span(&self, subject: &Subject, source: PoolSource) -> Span {
        match source {
            PoolSource::Pinned(_, span) => span,
            PoolSource::Rule(rule) => {
                let pool = self.site.rules.get(rule as usize).and_then(|rule| rule.pool.as_ref());
                pool.map_or(subject.span, |pool| pool.span)
            }
            PoolSource::Selector => subject.span,
        }
    }
}
