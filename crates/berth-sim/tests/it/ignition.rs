//! Machines that fetch their config from the real Ignition server, with real tokens; and many of them.

use std::{collections::BTreeMap, sync::Arc};

use berth_clock::Clock;
use berth_ignition_server::{Access, Catalog, CatalogHandle, IgnitionService, NodeConfig};
use berth_labels::{Flavour, Label, LabelSet};
use berth_listen::{ListenOptions, Server};
use berth_pools::MachineConfig;
use berth_sim::{Cluster, ClusterOptions, Disk, Fleet, Habits, IgnitionSource, Phase, SimulatedTime};
use berth_tokens::{NewToken, TokenScope, TokenStore};
use berth_units::{LABELS_PATH, LabelsFile};
use serde_json::json;
use tempfile::TempDir;

use crate::program::loopback;

fn fleet(seed: u64) -> Fleet {
    let time = SimulatedTime::starting_at("2026-03-01T10:00:00Z".parse().unwrap());
    let cluster = Cluster::new(ClusterOptions::new(time.clock(), seed));
    let mut fleet = Fleet::new(cluster, time, Flavour::Upstream, seed);
    fleet.approve_all(true);
    fleet
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_registers_with_the_labels_that_the_server_gave_it() {
    let labels: LabelSet = [Label::parse_parts("site", "paris").unwrap()].into_iter().collect();
    let rendered = MachineConfig::from_json(&json!({
        "metadata": {"name": "rendered-worker-0123"},
        "spec": {"config": {"ignition": {"version": "3.4.0"}}},
    }))
    .unwrap();
    let mut catalog = Catalog::builder("r1");
    catalog.pool("worker", rendered);
    for name in ["w1", "w2"] {
        catalog.node(
            name,
            NodeConfig {
                pool: "worker".to_owned(),
                labels: labels.clone(),
                files: vec![berth_ignition::file(LABELS_PATH, 0o644, LabelsFile::print(&labels))],
            },
        );
    }
    let folder = TempDir::new().unwrap();
    let tokens = TokenStore::open(folder.path().join("tokens.json")).unwrap();
    let now: jiff::Timestamp = "2026-03-01T10:00:00Z".parse().unwrap();
    let new = NewToken {
        scope: TokenScope::Node("w1".to_owned()),
        expires: None,
        single_use: true,
        comment: String::new(),
    };
    let token = tokens.create(new, now).unwrap();
    let service = IgnitionService::new(
        CatalogHandle::new(catalog.build().unwrap()),
        Access::Tokens(Arc::new(tokens)),
        Clock::stopped(now),
    );
    let listen = ListenOptions {
        plain: Some(loopback()),
        ..ListenOptions::default()
    };
    let server = Server::bind(listen, service).await.unwrap();
    let address = server.plain_address().unwrap();
    let serving = tokio::spawn(server.run(std::future::pending()));

    let mut fleet = fleet(1);
    let known = BTreeMap::from([("w1".to_owned(), token.secret.reveal().to_owned())]);
    fleet.fetch_from(IgnitionSource::new(address, known).unwrap());
    for name in ["w1", "w2"] {
        fleet.add(name, Disk::image(), Habits::default());
        fleet.power_on(name).unwrap();
    }
    fleet.run(200).await;
    let said = fleet.take_transcript().join("\n");
    assert!(said.contains("w1     kubelet makes its Node with site=paris"), "{said}");
    assert_eq!(fleet.phase("w1"), Some(Phase::Running));
    // The other machine has no token: it is refused, and tries again and again.
    assert!(said.contains("w2     Ignition: 401"), "{said}");
    assert_eq!(fleet.phase("w2"), Some(Phase::Booting));
    // A token for one boot is enough, because Ignition runs once.
    fleet.power_off("w1").unwrap();
    fleet.power_on("w1").unwrap();
    fleet.run(200).await;
    assert_eq!((fleet.phase("w1"), fleet.boots("w1")), (Some(Phase::Running), Some(2)));
    serving.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn many_machines_boot_alike_for_the_same_seed() {
    let run = async |seed: u64| {
        let mut fleet = fleet(seed);
        for index in 0..200 {
            let name = format!("w{index}");
            let habits = Habits {
                boot_jitter: 300,
                ..Habits::default()
            };
            fleet.add(&name, Disk::image(), habits);
            fleet.power_on(&name).unwrap();
        }
        fleet.run(400).await;
        let names: Vec<String> = fleet.names().map(str::to_owned).collect();
        assert!(names.iter().all(|name| fleet.phase(name) == Some(Phase::Running)));
        (fleet.take_transcript(), fleet.cluster().revision())
    };
    let (first, revision) = run(5).await;
    assert_eq!((first.clone(), revision), run(5).await);
    assert_ne!(first, run(6).await.0);
}
