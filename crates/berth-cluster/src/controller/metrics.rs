//! What Prometheus sees.

use std::sync::{Arc, atomic::AtomicU64};

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

use crate::api::Phase;

/// Labels of [`Metrics::wrote`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Write {
    kind: &'static str,
    verb: &'static str,
    outcome: &'static str,
}

/// Label of the number of Berths.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InPhase {
    phase: &'static str,
}

/// The counters and gauges of one controller.
#[derive(Clone, Debug)]
pub(super) struct Metrics {
    registry: Arc<Registry>,
    writes: Family<Write, Counter>,
    berths: Family<InPhase, Gauge>,
    pub(super) decisions: Counter,
    pub(super) conflicts: Gauge<i64>,
    pub(super) held_removals: Gauge<i64>,
    pub(super) leading: Gauge<i64>,
    pub(super) nodes: Gauge<i64>,
    pub(super) waiting: Gauge<i64>,
    pub(super) unusable: Counter<u64, AtomicU64>,
}

impl Metrics {
    pub(super) fn new() -> Self {
        let mut registry = Registry::with_prefix("berth");
        let writes = Family::default();
        registry.register(
            "writes",
            "Requests that write, by kind, verb and outcome",
            writes.clone(),
        );
        let berths = Family::default();
        registry.register("berths", "Berths by phase", berths.clone());
        let decisions = Counter::default();
        registry.register("decisions", "How often a node was decided upon", decisions.clone());
        let gauge = |registry: &mut Registry, name: &str, help: &str| {
            let gauge: Gauge<i64> = Gauge::default();
            registry.register(name, help, gauge.clone());
            gauge
        };
        let conflicts = gauge(
            &mut registry,
            "label_conflicts",
            "Declared keys that somebody else set to another value",
        );
        let held_removals = gauge(
            &mut registry,
            "held_removals",
            "Labels that the brake on mass removal holds back",
        );
        let leading = gauge(&mut registry, "leading", "Whether this replica leads");
        let nodes = gauge(&mut registry, "nodes", "Nodes in the cluster");
        let waiting = gauge(&mut registry, "waiting_nodes", "Nodes that wait to be looked at");
        let unusable = Counter::default();
        registry.register(
            "failed_writes",
            "Writes that failed and are tried again",
            unusable.clone(),
        );
        Self {
            registry: Arc::new(registry),
            writes,
            berths,
            decisions,
            conflicts,
            held_removals,
            leading,
            nodes,
            waiting,
            unusable,
        }
    }

    pub(super) fn wrote(&self, kind: &'static str, verb: &'static str, done: bool) {
        let outcome = if done { "done" } else { "failed" };
        self.writes.get_or_create(&Write { kind, verb, outcome }).inc();
    }

    pub(super) fn berths(&self, phase: Phase, count: usize) {
        let gauge = self.berths.get_or_create(&InPhase { phase: phase.as_str() });
        gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// The text that Prometheus scrapes.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
