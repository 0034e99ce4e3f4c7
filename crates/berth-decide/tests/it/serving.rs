//! What machines are served: one answer for a folder, a cluster and an embedded one.

use berth_decide::{Definitions, Place, Serving};
use berth_documents::Sources;
use berth_labels::Flavour;
use berth_pools::RenderOptions;
use berth_resources::Berth;
use berth_site::{Resolver, load};
use serde_json::{Value, json};

fn pool(name: &str, target: &str, reached: &str, updated: i64, paused: bool) -> Value {
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
        "metadata": {"name": name, "annotations": {"berth.dev/node-labels": format!("example.com/of={name}")}},
        "spec": {
            "paused": paused,
            "nodeSelector": {"matchLabels": {format!("node-role.kubernetes.io/{name}"): ""}},
            "machineConfigSelector": {"matchLabels": {"machineconfiguration.openshift.io/role": name}},
            "configuration": {"name": target},
        },
        "status": {"configuration": {"name": reached}, "updatedMachineCount": updated},
    })
}

fn config(name: &str, role: Option<&str>) -> Value {
    let labels = role.map(|role| json!({"machineconfiguration.openshift.io/role": role}));
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
        "metadata": {"name": name, "labels": labels.unwrap_or_else(|| json!({}))},
        "spec": {"config": {"ignition": {"version": "3.4.0"}}},
    })
}

fn berth(name: &str, spec: &Value, status: &Value) -> Value {
    json!({
        "apiVersion": "berth.dev/v1alpha1", "kind": "Berth",
        "metadata": {"name": name, "generation": 1}, "spec": spec, "status": status,
    })
}

fn place(serving: &Serving, node: &str) -> Place {
    serving.nodes[node].clone().unwrap()
}

fn labels(place: &Place) -> Vec<String> {
    let labels = place.labels.iter();
    labels.map(|(key, value)| format!("{key}={value}")).collect()
}

#[test]
fn a_new_machine_gets_a_config_that_the_cluster_has_and_that_survived() {
    for (target, reached, updated, paused, expected) in [
        (
            "rendered-infra-new",
            "rendered-infra-old",
            0,
            false,
            Some("rendered-infra-old"),
        ),
        (
            "rendered-infra-new",
            "rendered-infra-old",
            0,
            true,
            Some("rendered-infra-old"),
        ),
        (
            "rendered-infra-new",
            "rendered-infra-old",
            1,
            false,
            Some("rendered-infra-new"),
        ),
        ("rendered-infra-gone", "rendered-infra-gone", 1, false, None),
        ("", "", 0, false, None),
    ] {
        let objects = [
            pool("infra", target, reached, updated, paused),
            config("rendered-infra-old", None),
            config("rendered-infra-new", None),
            // What would be rendered anew from this is nothing that the cluster has.
            config("50-infra", Some("infra")),
        ];
        let serving = Serving::of_cluster(&objects, Flavour::Openshift);
        let served = &serving.pools["infra"].config;
        let name = served.as_ref().ok().map(|config| config.name.as_str());
        assert_eq!(name, expected, "{target} {reached} {updated} {paused}: {served:?}");
        if let Err(reason) = served {
            assert!(reason.contains("pool infra"), "{reason}");
        }
    }
}

#[test]
fn a_moved_machine_is_served_the_pool_where_it_is_now() {
    let objects = |spec: Value, status: Value| {
        [
            pool("infra", "rendered-infra-1", "rendered-infra-1", 1, false),
            pool("edge", "rendered-edge-1", "rendered-edge-1", 1, false),
            config("rendered-infra-1", None),
            config("rendered-edge-1", None),
            berth("w1", &spec, &status),
        ]
    };
    let served = |spec: Value, status: Value| {
        let serving = Serving::of_cluster(&objects(spec, status), Flavour::Openshift);
        place(&serving, "w1").pool
    };
    let followed = json!({"pool": "edge", "declared": "infra"});
    for (what, spec, status, expected) in [
        ("not looked at yet", json!({"pool": "infra"}), json!({}), "infra"),
        (
            "moved by an administrator",
            json!({"pool": "infra"}),
            json!({"observedGeneration": 1, "pool": "edge", "followed": followed}),
            "edge",
        ),
        (
            "moved by its declaration, which nobody has looked at yet",
            json!({"pool": "edge"}),
            json!({"observedGeneration": 0, "pool": "infra"}),
            "edge",
        ),
        (
            "a move that the Berth does not follow",
            json!({"pool": "infra", "poolPolicy": "enforce"}),
            json!({"observedGeneration": 0, "pool": "edge", "followed": followed}),
            "infra",
        ),
        (
            "adopted, so that nothing but its Node says the pool",
            json!({}),
            json!({"observedGeneration": 1, "pool": "edge"}),
            "edge",
        ),
        (
            "in a pool that is gone",
            json!({"pool": "infra"}),
            json!({"observedGeneration": 1, "pool": "gone"}),
            "infra",
        ),
    ] {
        assert_eq!(served(spec, status), expected, "{what}");
    }
    let released = objects(json!({"pool": "infra", "release": true}), json!({}));
    assert!(Serving::of_cluster(&released, Flavour::Openshift).nodes.is_empty());
}

#[test]
fn documents_and_a_cluster_with_the_same_objects_serve_the_same() {
    let objects = [
        pool("worker", "rendered-worker-1", "rendered-worker-1", 1, false),
        config("rendered-worker-1", None),
        config("50-worker", Some("worker")),
        berth(
            "w1",
            &json!({"pool": "worker", "labels": {"example.com/own": "1"}}),
            &json!({}),
        ),
    ];
    let mut sources = Sources::new();
    let mut documents = Vec::new();
    for object in &objects {
        let id = sources.add("site", object.to_string());
        documents.extend(berth_documents::parse(&sources, id).documents);
    }
    let (site, _) = load(&sources, &documents);
    for flavour in [Flavour::Upstream, Flavour::Openshift] {
        let of_site = Serving::of_site(&Resolver::new(&site, flavour), &RenderOptions::default());
        let of_cluster = Serving::of_cluster(&objects, flavour);
        assert_eq!(of_site.nodes, of_cluster.nodes);
        assert_eq!(of_site.pools["worker"].labels, of_cluster.pools["worker"].labels);
        let berths: Vec<Berth> = vec![serde_json::from_value(objects[3].clone()).unwrap()];
        let embedded = of_site
            .clone()
            .with_places(&mut Definitions::new(&objects[..3], flavour), &berths);
        assert_eq!(embedded.nodes, of_site.nodes);

        // OpenShift's kubelet may give itself this role.
        let mut expected = vec!["example.com/of=worker", "example.com/own=1"];
        if flavour == Flavour::Openshift {
            expected.push("node-role.kubernetes.io/worker=");
        }
        assert_eq!(labels(&place(&of_cluster, "w1")), expected);
        let pool = &of_cluster.pools["worker"].labels;
        assert_eq!(pool.len(), expected.len() - 1, "{pool:?}");
    }
}
