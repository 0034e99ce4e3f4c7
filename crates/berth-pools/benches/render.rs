//! Rendering a pool with very many machine configs.
//!
//! `cargo bench -p berth-pools --bench render` prints the figure next to its limit and fails when the limit is passed.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use berth_pools::{MachineConfig, MachineConfigSpec, ROLE_LABEL, RenderOptions, render};
use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::json;

const CONFIGS: usize = 500;
const FILES: usize = 10;
const LIMIT: Duration = Duration::from_millis(100);

/// Half of the files are new in each machine config, half replace one of a hundred paths, and all add a drop-in to
/// one unit: the cases that cost most when lists are walked again for each config.
fn config(number: usize) -> MachineConfig {
    let files: Vec<_> = (0..FILES)
        .map(|nth| {
            let path = if nth % 2 == 0 {
                format!("/etc/own/{number}/{nth}")
            } else {
                format!("/etc/shared/{}", (number * FILES + nth) % 100)
            };
            let source = format!("data:,{}", format!("contents%20{number}%20{nth}%0A").repeat(5));
            json!({"path": path, "mode": 420, "contents": {"source": source}})
        })
        .collect();
    MachineConfig {
        name: format!("{number:04}-config"),
        labels: [(ROLE_LABEL.to_owned(), "worker".to_owned())].into(),
        spec: MachineConfigSpec {
            config: Some(json!({
                "ignition": {"version": "3.2.0"},
                "storage": {"files": files},
                "systemd": {"units": [{
                    "name": "kubelet.service",
                    "dropins": [{"name": format!("{number}.conf"), "contents": "[Service]\n"}],
                }]},
            })),
            ..MachineConfigSpec::default()
        },
        ..MachineConfig::default()
    }
}

#[expect(clippy::print_stdout, reason = "the figure is what a bench is for")]
#[expect(clippy::disallowed_methods, reason = "a bench measures time by the clock")]
fn rendering(criterion: &mut Criterion) {
    let configs: Vec<_> = (0..CONFIGS).map(config).collect();
    let options = RenderOptions::default();
    let rendered = render("worker", &configs, &options);
    assert!(rendered.is_ok(), "{:?}", rendered.err());
    criterion.bench_function("render 500 machine configs of ten files", |bencher| {
        bencher.iter(|| render("worker", black_box(&configs), &options));
    });
    // The best of many is not spoilt by whatever else the machine does.
    let best = (0..30)
        .map(|_| {
            let start = Instant::now();
            black_box(render("worker", black_box(&configs), &options)).ok();
            start.elapsed()
        })
        .min()
        .unwrap_or(Duration::MAX);
    println!(
        "merge of {CONFIGS} machine configs of ten files: {:.1} ms (limit {} ms; the original 20.7 s)",
        best.as_secs_f64() * 1e3,
        LIMIT.as_millis(),
    );
    assert!(best < LIMIT, "slower than the limit");
}

criterion_group!(benches, rendering);
criterion_main!(benches);
