//! Merging the machine configs of a large pool.
//!
//! `cargo bench -p berth-ignition --bench merge` prints the figure next to its limit
//! and fails when the limit is passed.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use berth_ignition::{Config, file, merge_all};
use criterion::{Criterion, criterion_group, criterion_main};

const CONFIGS: usize = 500;
const FILES: usize = 10;
const LIMIT: Duration = Duration::from_millis(100);

/// Half of the files are new in each config, half replace one of a hundred paths, and
/// all configs add a drop-in to one unit: the cases that cost most when lists
/// are walked again for each config.
fn configs() -> Vec<Config> {
    (0..CONFIGS).map(config).collect()
}

fn config(number: usize) -> Config {
    let mut config = Config::new();
    for nth in 0..FILES {
        let path = if nth % 2 == 0 {
            format!("/etc/own/{number}/{nth}")
        } else {
            format!("/etc/shared/{}", (number * FILES + nth) % 100)
        };
        config.set_file(file(path, 0o644, format!("contents {number} {nth}\n").repeat(20)));
    }
    let unit = serde_json::from_value(serde_json::json!({"units": [{
        "name": "kubelet.service",
        "dropins": [{"name": format!("{number}.conf"), "contents": "[Service]\n"}],
    }]}));
    config.as_v3_5_mut().systemd = unit.ok();
    config
}

#[expect(clippy::print_stdout, reason = "the figure is what a bench is for")]
#[expect(clippy::disallowed_methods, reason = "a bench measures time by the clock")]
fn merge(criterion: &mut Criterion) {
    let configs = configs();
    criterion.bench_function("merge 500 configs of ten files", |bencher| {
        bencher.iter(|| merge_all(black_box(&configs)));
    });
    let best = (0..5)
        .map(|_| {
            let start = Instant::now();
            black_box(merge_all(black_box(&configs)));
            start.elapsed()
        })
        .min()
        .unwrap_or(Duration::MAX);
    println!(
        "merge of {CONFIGS} configs of {FILES} files: {:.2} ms (limit {} ms; the original: 20.7 s)",
        best.as_secs_f64() * 1e3,
        LIMIT.as_millis(),
    );
    assert!(best < LIMIT, "slower than the limit");
}

criterion_group!(benches, merge);
criterion_main!(benches);
