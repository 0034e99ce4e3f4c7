use berth_documents::DocumentSet;
use berth_pools::{GENERATED_BY, RenderOptions};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{Site, load, render_pool};

const API: &str = "machineconfiguration.openshift.io/v1";
const ROLE: &str = "machineconfiguration.openshift.io/role";

fn object(kind: &str, name: &str, labels: &Value, spec: &Value) -> Value {
    json!({"apiVersion": API, "kind": kind, "metadata": {"name": name, "labels": labels}, "spec": spec})
}

fn pool(name: &str) -> Value {
    let selector = json!({"matchExpressions": [{"key": ROLE, "operator": "In", "values": ["worker", name]}]});
    let nodes = json!({"matchLabels": {format!("example.com/{name}"): ""}});
    object(
        "MachineConfigPool",
        name,
        &json!({"pool": name, "all": ""}),
        &json!({"machineConfigSelector": selector, "nodeSelector": nodes}),
    )
}

fn machine_config(name: &str, role: &str, files: &[(&str, &str)]) -> Value {
    let files: Vec<_> = files
        .iter()
        .map(|(path, text)| berth_ignition::file(*path, 0o644, text))
        .collect();
    let config = json!({"ignition": {"version": "3.4.0"}, "storage": {"files": files}});
    object("MachineConfig", name, &json!({ROLE: role}), &json!({"config": config}))
}

fn base() -> Value {
    let text =
        "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\nmaxPods: 250\ncgroupDriver: systemd\n";
    machine_config("01-worker-kubelet", "worker", &[(KUBELET_CONFIGURATION, text)])
}

fn kubelet_config(name: &str, pool: &str, fields: &Value) -> Value {
    let selector = json!({"matchLabels": {"pool": pool}});
    object(
        "KubeletConfig",
        name,
        &json!({}),
        &json!({"machineConfigPoolSelector": selector, "kubeletConfig": fields}),
    )
}

fn with_suffix(mut object: Value, suffix: &str) -> Value {
    object["metadata"]["annotations"] = json!({berth_pools::NAME_SUFFIX: suffix});
    object
}

fn site(objects: &[Value]) -> Site {
    let set = DocumentSet::of_objects(objects);
    load(&set.sources, &set.documents).0
}

/// The kubelet configuration that a pool's machines get.
fn rendered(site: &Site, pool: &str) -> String {
    let pool = site.pools.iter().find(|it| *it.name.value == *pool).unwrap();
    let rendered = render_pool(site, pool, &RenderOptions::default()).unwrap();
    let ignition = berth_ignition::parse(rendered.spec.config.as_ref().unwrap())
        .config
        .unwrap();
    String::from_utf8(contents(&ignition, KUBELET_CONFIGURATION).unwrap().unwrap()).unwrap()
}

fn names(site: &Site) -> Vec<&str> {
    site.generated.configs.keys().map(String::as_str).collect()
}

fn messages(site: &Site) -> Vec<(&str, Result<&'static str, String>)> {
    let outcomes = site.generated.outcomes.iter();
    outcomes
        .map(|outcome| (outcome.name.as_str(), outcome.message()))
        .collect()
}

#[test]
fn a_folder_with_a_kubelet_config_renders_to_what_the_cluster_will_have() {
    let objects = [
        pool("worker"),
        pool("infra"),
        base(),
        kubelet_config("large", "infra", &json!({"maxPods": 500})),
    ];
    let site = site(&objects);
    assert_eq!(names(&site), ["99-infra-generated-kubelet"]);
    assert_eq!(messages(&site), [("large", Ok("Success"))]);
    let expected =
        "apiVersion: kubelet.config.k8s.io/v1beta1\ncgroupDriver: systemd\nkind: KubeletConfiguration\nmaxPods: 500\n";
    assert_eq!(rendered(&site, "infra"), expected);
    assert!(rendered(&site, "worker").contains("maxPods: 250"));
    let infra = site.pools.iter().find(|pool| &*pool.name.value == "infra").unwrap();
    let sources = render_pool(&site, infra, &RenderOptions::default()).unwrap().sources;
    assert_eq!(sources, ["01-worker-kubelet", "99-infra-generated-kubelet"]);
}

#[test]
fn of_several_the_newest_wins_and_each_starts_from_the_base() {
    let mut old = kubelet_config("z-old", "infra", &json!({"maxPods": 100, "podsPerCore": 4}));
    old["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
    let mut new = kubelet_config("a-new", "infra", &json!({"maxPods": 200}));
    new["metadata"]["creationTimestamp"] = json!("2026-02-01T00:00:00Z");
    let site = site(&[pool("infra"), base(), new, old]);
    assert_eq!(
        names(&site),
        ["99-infra-generated-kubelet", "99-infra-generated-kubelet-1"]
    );
    let text = rendered(&site, "infra");
    assert!(text.contains("maxPods: 200") && !text.contains("podsPerCore"), "{text}");
}

#[test]
fn what_the_operator_made_counts_and_what_berth_made_is_made_again() {
    let given = |by: Option<&str>| {
        let text = "kind: KubeletConfiguration\nmaxPods: 1\n";
        let mut given = machine_config(
            "99-infra-generated-kubelet-2",
            "infra",
            &[(KUBELET_CONFIGURATION, text)],
        );
        if let Some(by) = by {
            given["metadata"]["annotations"] = json!({GENERATED_BY: by});
        }
        given
    };
    for (by, pods) in [
        (Some("4c1f"), "maxPods: 1\n"),
        (None, "maxPods: 1\n"),
        (Some("berth-0.1.0"), "maxPods: 500\n"),
    ] {
        let config = with_suffix(kubelet_config("large", "infra", &json!({"maxPods": 500})), "2");
        let site = site(&[pool("infra"), base(), given(by), config]);
        assert!(rendered(&site, "infra").ends_with(pods), "{by:?}");
        assert_eq!(messages(&site), [("large", Ok("Success"))]);
    }
}

#[test]
fn the_template_is_the_base_whatever_people_write_beside_it() {
    let mut template = base();
    template["metadata"]["annotations"] = json!({GENERATED_BY: "4c1f"});
    let own = "kind: KubeletConfiguration\nmaxPods: 7\nport: 1\n";
    let own = machine_config("50-own", "infra", &[(KUBELET_CONFIGURATION, own)]);
    let config = kubelet_config("large", "infra", &json!({"podsPerCore": 4}));
    let with_template = site(&[pool("infra"), template, own.clone(), config.clone()]);
    assert!(rendered(&with_template, "infra").contains("maxPods: 250"));
    let without = site(&[pool("infra"), base(), own, config]);
    assert!(rendered(&without, "infra").contains("maxPods: 7"));
}

#[test]
fn what_cannot_be_made_says_why() {
    let no_base = "Error: pool infra: no machine config of the pool has /etc/kubernetes/kubelet.conf";
    let not_one = |text: &str| machine_config("01-worker-kubelet", "worker", &[(KUBELET_CONFIGURATION, text)]);
    let of_file = |reason: &str| {
        format!("Error: pool infra: /etc/kubernetes/kubelet.conf of machine config 01-worker-kubelet: {reason}")
    };
    let fine = || json!({"maxPods": 500});
    for (base, fields, pool, expected) in [
        (machine_config("a", "worker", &[]), fine(), "infra", no_base.to_owned()),
        (not_one("apiVersion: v1\nkind: Config\n"), fine(), "infra", of_file("it is not a KubeletConfiguration")),
        (not_one("a: 1\n---\nb: 1\n"), fine(), "infra", of_file("it is not one YAML document")),
        (
            base(),
            fine(),
            "storage",
            "Error: KubeletConfig large does not match any MachineConfigPools".to_owned(),
        ),
        (
            base(),
            json!({"cgroupDriver": "cgroupfs", "maxPod": 1}),
            "infra",
            "Error: KubeletConfiguration: maxPod is not a field of the kubelet's configuration, so it would have no effect; \
             KubeletConfiguration: cgroupDriver is not allowed to be set, but contains: cgroupfs"
                .to_owned(),
        ),
        (
            base(),
            json!({"staticPodPath": "/pods"}),
            "infra",
            "Error: KubeletConfiguration: staticPodPath must be empty for pool \"infra\", but contains: \"/pods\"".to_owned(),
        ),
    ] {
        let site = site(&[super::tests::pool("infra"), base, kubelet_config("large", pool, &fields)]);
        assert_eq!(messages(&site), [("large", Err(expected))]);
        assert_eq!(names(&site), Vec::<&str>::new());
    }
}

#[test]
fn a_refused_object_takes_no_number_but_keeps_the_one_it_has() {
    let wrong = || kubelet_config("a-wrong", "infra", &json!({"registerNode": false}));
    let right = || kubelet_config("right", "infra", &json!({"maxPods": 500}));
    assert_eq!(
        names(&site(&[pool("infra"), base(), wrong(), right()])),
        ["99-infra-generated-kubelet"]
    );
    let site = site(&[pool("infra"), base(), with_suffix(wrong(), ""), right()]);
    assert_eq!(names(&site), ["99-infra-generated-kubelet-1"]);
}

#[test]
fn runtime_configs_are_rendered_too() {
    let selector = json!({"matchLabels": {"pool": "infra"}});
    let spec = json!({"machineConfigPoolSelector": selector, "containerRuntimeConfig": {"pidsLimit": 2048}});
    let config = object("ContainerRuntimeConfig", "pids", &json!({}), &spec);
    let site = site(&[pool("infra"), base(), config]);
    assert_eq!(names(&site), ["99-infra-generated-containerruntime"]);
    let infra = site.pools.first().unwrap();
    let rendered = render_pool(&site, infra, &RenderOptions::default()).unwrap();
    let ignition = berth_ignition::parse(rendered.spec.config.as_ref().unwrap())
        .config
        .unwrap();
    let text = contents(&ignition, "/etc/crio/crio.conf.d/01-ctrcfg-pidsLimit")
        .unwrap()
        .unwrap();
    assert_eq!(
        String::from_utf8(text).unwrap(),
        "[crio]\n  [crio.runtime]\n    pids_limit = 2048\n"
    );
}

#[test]
fn one_that_is_being_deleted_is_no_longer_there() {
    let mut config = kubelet_config("large", "infra", &json!({"maxPods": 500}));
    config["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let site = site(&[pool("infra"), base(), config]);
    assert_eq!(site.generated, Generated::default());
}

fn some_config() -> impl Strategy<Value = Value> {
    let fields = prop_oneof![
        (1..900_u32).prop_map(|pods| json!({"maxPods": pods})),
        Just(json!({"evictionHard": {"memory.available": "5%"}})),
        Just(json!({"cgroupDriver": "cgroupfs"})),
        Just(json!({"registerNode": false})),
        Just(json!({"maxPod": 1})),
        Just(json!(7)),
    ];
    let created = prop_oneof![
        Just(None),
        (1..9_u8).prop_map(|day| Some(format!("2026-01-0{day}T00:00:00Z")))
    ];
    (
        fields,
        prop::sample::select(vec!["pool", "all"]),
        prop::sample::select(vec!["worker", "infra", ""]),
        created,
    )
        .prop_map(|(fields, key, value, created)| {
            let mut config = kubelet_config("", "", &fields);
            config["spec"]["machineConfigPoolSelector"] = json!({"matchLabels": {key: value}});
            config["metadata"]["creationTimestamp"] = json!(created);
            config
        })
}

fn named(configs: Vec<Value>) -> Vec<Value> {
    let named = configs.into_iter().enumerate().map(|(number, mut config)| {
        config["metadata"]["name"] = json!(format!("config-{number}"));
        config
    });
    named.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_order_of_objects_does_not_matter(configs in prop::collection::vec(some_config(), 0..6), swaps in any::<u64>()) {
        let mut objects = vec![pool("worker"), pool("infra"), base()];
        objects.extend(named(configs));
        let before = site(&objects).generated;
        let count = objects.len();
        for (at, swap) in (0..count).zip(swaps.to_le_bytes()) {
            objects.swap(at, usize::from(swap) % count);
        }
        prop_assert_eq!(site(&objects).generated, before);
    }

    #[test]
    fn a_bad_object_changes_nothing_for_others(configs in prop::collection::vec(some_config(), 0..6)) {
        let mut objects = vec![pool("worker"), pool("infra"), base()];
        objects.extend(named(configs));
        let all = site(&objects).generated;
        let bad: Vec<&str> = all.outcomes.iter().filter(|it| !it.problems.is_empty()).map(|it| it.name.as_str()).collect();
        objects.retain(|it| !bad.contains(&it["metadata"]["name"].as_str().unwrap()));
        prop_assert_eq!(site(&objects).generated.configs, all.configs);
    }

    #[test]
    fn the_newest_that_goes_leaves_everything_as_it_was(configs in prop::collection::vec(some_config(), 0..6)) {
        let mut objects = vec![pool("worker"), pool("infra"), base()];
        objects.extend(named(configs));
        let before = site(&objects).generated.configs;
        objects.push(kubelet_config("newest", "infra", &json!({"maxPods": 999})));
        let with = site(&objects).generated.configs;
        for (name, config) in &before {
            prop_assert_eq!(with.get(name), Some(config));
        }
        objects.pop();
        prop_assert_eq!(site(&objects).generated.configs, before);
    }
}
