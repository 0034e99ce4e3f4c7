//! Finding a node's pool among many.
//!
//! `cargo bench -p berth-pools --bench membership` prints the figure next to its limit and fails when the limit is
//! passed.

use std::{
    collections::BTreeMap,
    hint::black_box,
    time::{Duration, Instant},
};

use berth_labels::LabelSelector;
use berth_pools::{MASTER, Membership, WORKER};
use criterion::{Criterion, criterion_group, criterion_main};

const POOLS: usize = 40;
const LIMIT: Duration = Duration::from_micros(2);
/// Short batches: the best of many is not spoilt by whatever else the machine does.
const ROUNDS: u32 = 1000;

fn role(name: &str) -> String {
    format!("node-role.kubernetes.io/{name}")
}

fn pools() -> Vec<(String, LabelSelector)> {
    let custom = (0..POOLS - 2).map(|number| format!("pool-{number}"));
    [MASTER.to_owned(), WORKER.to_owned()]
        .into_iter()
        .chain(custom)
        .map(|name| {
            let selector = LabelSelector {
                match_labels: [(role(&name), String::new())].into(),
                match_expressions: Vec::new(),
            };
            (name, selector)
        })
        .collect()
}

/// A node as clusters have them: its roles among a dozen labels of other meaning.
fn node() -> BTreeMap<String, String> {
    let mut labels: BTreeMap<_, _> = [
        ("beta.kubernetes.io/arch", "amd64"),
        ("beta.kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", "amd64"),
        ("kubernetes.io/hostname", "worker-17"),
        ("kubernetes.io/os", "linux"),
        ("node.kubernetes.io/instance-type", "metal"),
        ("node.openshift.io/os_id", "rhcos"),
        ("topology.kubernetes.io/region", "west"),
        ("topology.kubernetes.io/zone", "west-1"),
        ("example.com/rack", "r17"),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into();
    labels.insert(role(WORKER), String::new());
    labels.insert(role("pool-20"), String::new());
    labels
}

#[expect(clippy::print_stdout, reason = "the figure is what a bench is for")]
#[expect(clippy::disallowed_methods, reason = "a bench measures time by the clock")]
fn membership(criterion: &mut Criterion) {
    let pools = pools();
    let membership = Membership::new(pools.iter().map(|(name, selector)| (name.as_str(), Some(selector))));
    let node = node();
    assert!(
        membership
            .of("worker-17", &node)
            .is_ok_and(|found| found.pools.len() == 2)
    );
    criterion.bench_function("membership among 40 pools", |bencher| {
        bencher.iter(|| membership.of("worker-17", black_box(&node)));
    });
    let best = (0..500)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..ROUNDS {
                black_box(membership.of("worker-17", black_box(&node))).ok();
            }
            start.elapsed() / ROUNDS
        })
        .min()
        .unwrap_or(Duration::MAX);
    println!(
        "membership of a node among {POOLS} pools: {} ns (limit {} µs; the original 75 µs)",
        best.as_nanos(),
        LIMIT.as_micros(),
    );
    assert!(best < LIMIT, "slower than the limit");
}

criterion_group!(benches, membership);
criterion_main!(benches);
