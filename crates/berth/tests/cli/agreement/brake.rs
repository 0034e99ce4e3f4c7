//! When so many labels would go that somebody has to agree first: the same count and the same decision through every door.

use berth_clock::Clock;
use berth_sim::{ApiServer, Cluster, ClusterOptions, Identity, kubeconfig};
use serde_json::{Value, json};

use super::{
    Api, agree, array,
    doors::{Controllers, Repository},
    runtime,
    sites::Site,
    text,
};
use crate::up::program;

/// Of a site whose documents lose some labels.
fn every_door_counts(lost: usize, held: bool) {
    let Some(kubectl) = program("kubectl") else { return };
    let site = Site::losing(lost);
    let runtime = runtime();
    let cluster = Cluster::new(ClusterOptions::new(Clock::system(), 7));
    cluster.add_token("admin", Identity::administrator());
    let server = runtime
        .block_on(ApiServer::start(cluster, "127.0.0.1:0".parse().unwrap()))
        .unwrap();
    site.folder.write("kubeconfig", kubeconfig(&server.url(), "admin"));
    let api = Api {
        kubectl,
        kubeconfig: site.folder.path().join("kubeconfig"),
    };
    let repository = Repository::new(&site, "sqlite:berth.db", &api);
    Controllers::install(&api);
    api.make(&site.definitions());
    api.make(&site.bare_nodes());
    let mut controllers = Controllers::start(&site, &api);
    agree(&site, &site.bare_nodes(), &mut [&mut controllers]);
    drop(controllers);

    site.show(1);
    repository.commit(&site);
    let live = api.nodes();
    site.folder.write("live.json", live.to_string());
    let totals = site.berth("plan --nodes live.json -o json").json()["totals"].clone();
    assert_eq!(totals["removed"], json!(lost));
    let says = format!("{} of {} labels", totals["removed"], totals["owned"]);
    for words in ["plan", "forecast", "rehearse"] {
        let said = site.berth(&format!("{words} --nodes live.json"));
        assert_eq!(said.stderr.contains(&says), held, "{words}: {says}? {said}");
    }
    let findings: Vec<String> = array(&repository.careful_dry_run()["findings"])
        .iter()
        .map(text)
        .collect();
    assert_eq!(
        findings.iter().any(|finding| finding.starts_with(&says)),
        held,
        "a dry run: {says}? {findings:?}"
    );
    let mut controllers = Controllers::careful(&site, &api);
    if held {
        let said = controllers.waits_with("too many labels would go at once");
        for count in ["removed", "owned"] {
            assert_eq!(said[count], totals[count], "the controllers count {count}: {said}");
        }
        let labels = |nodes: &Value| super::sites::labels(nodes);
        assert_eq!(labels(&api.nodes()), labels(&live), "nothing went");
    } else {
        agree(&site, &live, &mut [&mut controllers]);
    }
}

#[test]
fn every_door_stops_at_a_mass_removal_and_counts_alike() {
    every_door_counts(12, true);
}

#[test]
fn no_door_stops_at_a_few_labels() {
    every_door_counts(3, false);
}
