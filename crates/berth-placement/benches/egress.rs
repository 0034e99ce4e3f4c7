//! The egress plan of a large cluster: 1,000 nodes, 500 addresses.

use std::{collections::BTreeMap, hint::black_box};

use berth_placement::{EGRESS_ASSIGNABLE, EgressContext, EgressIp, PlacementNode, plan_egress};
use criterion::{Criterion, criterion_group, criterion_main};
use ipnet::{IpNet, Ipv4Net};

/// Forty sites with a network each; every tenth node is in the next site's network too, every third is labelled.
fn nodes(count: u32) -> Vec<PlacementNode> {
    let network = |site: u32, host: u32| -> IpNet {
        let address = (10 << 24) | (site << 16) | (host + 10);
        Ipv4Net::new_assert(address.into(), 16).into()
    };
    (0..count)
        .map(|index| {
            let site = index % 40;
            let labels = (index % 3 == 0).then(|| (EGRESS_ASSIGNABLE.to_owned(), String::new()));
            PlacementNode {
                name: format!("node-{index:04}"),
                labels: labels.into_iter().collect::<BTreeMap<_, _>>(),
                primary: vec![network(site, index)],
                secondary: (index % 10 == 0)
                    .then(|| network((site + 1) % 40, index))
                    .into_iter()
                    .collect(),
                ..PlacementNode::default()
            }
        })
        .collect()
}

/// Objects of five addresses from neighbouring sites.
fn egress(addresses: u32) -> Vec<EgressIp> {
    (0..addresses / 5)
        .map(|object| EgressIp {
            name: format!("egress-{object:03}"),
            addresses: (0..5)
                .map(|number| format!("10.{}.200.{}", (object + number / 2) % 40, object * 2 % 200 + number))
                .collect(),
            all_namespaces: false,
        })
        .collect()
}

fn plan(criterion: &mut Criterion) {
    let (nodes, egress) = (nodes(1_000), egress(500));
    criterion.bench_function("egress plan, 1000 nodes, 500 addresses", |bencher| {
        bencher.iter(|| plan_egress(black_box(&nodes), black_box(&egress), &EgressContext::default()));
    });
}

criterion_group!(benches, plan);
criterion_main!(benches);
