//! Resolution at scale: 50,000 nodes, 200 rules, 40 pools, from YAML text to answers.
//!
//! Prints one line per stage beside its limit, and the memory at the highest. Timings are not assertions.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "a bench"
)]

use std::{
    fmt::Write as _,
    hint::black_box,
    time::{Duration, Instant},
};

use berth_documents::Sources;
use berth_labels::Flavour;
use berth_site::{Resolver, load};
use criterion::{Criterion, criterion_group, criterion_main};

const NODES: usize = 50_000;
const RULES: usize = 200;
const POOLS: usize = 40;
const PROFILES: usize = 12;
const RACKS: usize = 500;

fn site_text() -> String {
    let mut text = String::new();
    for pool in 0..POOLS {
        let name = match pool {
            0 => "master".to_owned(),
            1 => "worker".to_owned(),
            _ => format!("pool-{pool}"),
        };
        write!(
            text,
            "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfigPool\nmetadata:\n  name: {name}\n  annotations:\n    \
             berth.dev/node-labels: example.com/tier=t{pool}\nspec:\n  nodeSelector:\n    matchLabels:\n      node-role.kubernetes.io/{name}: \"\"\n---\n"
        )
        .expect("text");
    }
    for rule in 0..RULES {
        // A twentieth of the nodes match each of these rules; one in forty of the rules decides the pool.
        let (digit, letter) = (rule % 10, char::from(b'a' + u8::try_from(rule % 4).expect("small")));
        let pool = if rule < POOLS {
            format!("  pool: pool-{}\n", rule.max(2))
        } else {
            String::new()
        };
        let pattern = if rule < POOLS {
            format!("n[0-9]+p{rule}-.*")
        } else {
            format!("n[0-9]*{digit}p[0-9]+-(?<place>[a-z]{{3}}){letter}")
        };
        let value = if rule < POOLS {
            "fixed".to_owned()
        } else {
            "${place}".to_owned()
        };
        write!(
            text,
            "apiVersion: berth.dev/v1alpha1\nkind: LabelRule\nmetadata:\n  name: rule-{rule}\nspec:\n  priority: {rule}\n  match:\n    \
             namePatterns: ['{pattern}']\n{pool}  labels:\n    example.com/rule-{rule}: {value}\n---\n"
        )
        .expect("text");
    }
    for profile in 0..PROFILES {
        let parent = if profile % 3 == 0 {
            String::new()
        } else {
            format!("  host_profile: profile-{}\n", profile - 1)
        };
        write!(
            text,
            "schema: drydock/HostProfile/v1\nmetadata: {{schema: metadata/Document/v1, name: profile-{profile}}}\ndata:\n{parent}  metadata:\n    \
             owner_data: {{site: atlanta, depth: d{profile}, storage: ceph}}\n---\n"
        )
        .expect("text");
    }
    for rack in 0..RACKS {
        write!(
            text,
            "schema: drydock/Rack/v1\nmetadata: {{schema: metadata/Document/v1, name: rack-{rack}}}\ndata:\n  metadata:\n    owner_data: {{rack: r{rack}}}\n---\n"
        )
        .expect("text");
    }
    for node in 0..NODES {
        let letter = char::from(b'a' + u8::try_from(node % 4).expect("small"));
        write!(
            text,
            "schema: drydock/BaremetalNode/v1\nmetadata: {{schema: metadata/Document/v1, name: n{node}p{}-atl{letter}}}\ndata:\n  host_profile: profile-{}\n  \
             metadata:\n    rack: rack-{}\n    owner_data: {{serial: s{node}}}\n---\n",
            2 + node % (POOLS - 2),
            node % PROFILES,
            node % RACKS
        )
        .expect("text");
    }
    text
}

/// The most memory this process ever had resident, in MB.
fn peak_megabytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap_or_default();
    line.trim()
        .trim_end_matches(" kB")
        .trim()
        .parse::<u64>()
        .unwrap_or_default()
        / 1024
}

fn bench(criterion: &mut Criterion) {
    let text = site_text();
    let megabytes = text.len() / 1_000_000;
    let mut sources = Sources::new();
    let id = sources.add("site.yaml", text);
    let start = Instant::now();
    let site = {
        let parsed = berth_documents::parse(&sources, id);
        assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics.first());
        let (site, findings) = load(&sources, &parsed.documents);
        assert!(findings.is_empty(), "{:?}", findings.first());
        site
    };
    let loaded = start.elapsed();
    let start = Instant::now();
    let resolver = Resolver::new(&site, Flavour::Openshift);
    let resolutions = resolver.resolve_all();
    let answered = start.elapsed();
    assert_eq!(resolutions.len(), NODES);
    let labels: usize = resolutions.iter().map(|resolution| resolution.labels.len()).sum();
    let placed = resolutions
        .iter()
        .filter(|resolution| resolution.pool.is_some())
        .count();
    println!("reading {megabytes} MB of YAML into a site: {loaded:?}");
    println!(
        "resolving {NODES} nodes, {RULES} rules, {POOLS} pools: {answered:?} (limit 1 s); {labels} labels, {placed} nodes in a pool"
    );
    println!("peak resident memory: {} MB (limit 300 MB)", peak_megabytes());
    drop(resolutions);

    let mut group = criterion.benchmark_group("resolve");
    group.sample_size(10).measurement_time(Duration::from_secs(10));
    group.bench_function("50,000 nodes", |bencher| {
        bencher.iter(|| black_box(Resolver::new(&site, Flavour::Openshift).resolve_all().len()));
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
