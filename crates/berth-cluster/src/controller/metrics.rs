//! What Prometheus sees.

use std::sync::{Arc, atomic::AtomicU64};

use berth_pools::PoolCounts;
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

use berth_resources::Phase;

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

/// Labels of the number of machines in a pool.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InPool {
    pool: String,
    state: &'static str,
}

/// The counters and gauges of one controller.
#[derive(Clone, Debug)]
pub(super) struct Metrics {
    registry: Arc<Registry>,
    writes: Family<Write, Counter>,
    berths: Family<InPhase, Gauge>,
    machines: Family<InPool, Gauge>,
    pub(super) drains: Gauge<i64>,
    pub(super) late_drains: Counter<u64, AtomicU64>,
    pub(super) rendered: Gauge<i64>,
    pub(super) decisions: Counter,
    pub(super) pool_plans: Counter,
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
        let pool_plans = Counter::default();
        registry.register("pool_plans", "How often a pool was planned", pool_plans.clone());
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
        let machines = Family::default();
        registry.register("pool_machines", "Machines of a pool by state", machines.clone());
        let drains = gauge(&mut registry, "drains", "Drains that are under way");
        let rendered = gauge(&mut registry, "rendered_configs", "Rendered configs in the cluster");
        let late_drains = Counter::default();
        registry.register(
            "late_drains",
            "Drains that took longer than an hour",
            late_drains.clone(),
        );
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
            machines,
            drains,
            late_drains,
            rendered,
            decisions,
            pool_plans,
            conflicts,
            held_removals,
            leading,
            nodes,
            waiting,
            unusable,
        }
    }

    pub(super) fn wrote(&self, kind: &'static str, verb: &'static str, done: bool) {
        // Reading changes nothing.
        if matches!(verb, "get" | "list") {
            return;
        }
        let outcome = if done { "done" } else { "failed" };
        self.writes.get_or_create(&Write { kind, verb, outcome }).inc();
    }

    pub(super) fn pool(&self, pool: &str, counts: &PoolCounts) {
        for (state, count) in [
            ("all", counts.machine),
            ("updated", counts.updated),
            ("ready", counts.ready),
            ("unavailable", counts.unavailable),
            ("degraded", counts.degraded),
        ] {
            let pool = pool.to_owned();
            let gauge = self.machines.get_or_create(&InPool { pool, state });
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
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
