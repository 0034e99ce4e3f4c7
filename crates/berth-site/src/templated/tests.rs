use berth_documents::DocumentSet;
use berth_labels::Flavour;
use berth_pools::{GENERATED_BY, KUBELET_CONFIGURATION, RenderOptions};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{Site, check_pools, load, render_pool};

const API: &str = "machineconfiguration.openshift.io/v1";
const ROLE: &str = "machineconfiguration.openshift.io/role";
const CERTIFICATE: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCi0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K";

fn object(api: &str, kind: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec})
}

fn pool(name: &str) -> Value {
    let selector = json!({"matchExpressions": [{"key": ROLE, "operator": "In", "values": ["worker", name]}]});
    let nodes = json!({"matchLabels": {format!("example.com/{name}"): ""}});
    let mut pool = object(
        API,
        "MachineConfigPool",
        name,
        &json!({"machineConfigSelector": selector, "nodeSelector": nodes}),
    );
    pool["metadata"]["labels"] = json!({"pool": name});
    pool
}

fn controller(extra: &Value) -> Value {
    let mut spec = json!({
        "clusterDNSIP": "10.96.0.10",
        "kubeAPIServerServingCAData": CERTIFICATE,
        "berth": {"family": "debian"},
    });
    for (name, value) in extra.as_object().unwrap() {
        spec[name] = value.clone();
    }
    object(API, "ControllerConfig", "machine-config-controller", &spec)
}

fn kubelet_config(pool: &str) -> Value {
    let selector = json!({"matchLabels": {"pool": pool}});
    let spec = json!({"machineConfigPoolSelector": selector, "kubeletConfig": {"maxPods": 400}});
    object(API, "KubeletConfig", "large", &spec)
}

fn machine_config(name: &str, by: Option<&str>) -> Value {
    let files = [berth_ignition::file("/etc/motd", 0o644, "theirs")];
    let config = json!({"ignition": {"version": "3.4.0"}, "storage": {"files": files}});
    let mut object = object(API, "MachineConfig", name, &json!({"config": config}));
    object["metadata"]["labels"] = json!({ROLE: "worker"});
    if let Some(by) = by {
        object["metadata"]["annotations"] = json!({GENERATED_BY: by, GENERATED_FROM: FROM_CONTROLLER_CONFIG});
    }
    object
}

fn credentials() -> Value {
    let mut secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull-secret"}});
    secret["stringData"] = json!({".dockerconfigjson": "{\"auths\": {}}"});
    secret
}

fn motd() -> Value {
    let data = json!({"any_00_motd": "## Says hello.\n#! file /etc/motd\nhello\n"});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "templates"}, "data": data})
}

fn read(objects: &[Value]) -> (Site, Vec<String>) {
    let set = DocumentSet::of_objects(objects);
    let (site, mut findings) = load(&set.sources, &set.documents);
    findings.extend(check_pools(&set.sources, &site, Flavour::Upstream));
    let findings = findings
        .iter()
        .map(|finding| format!("{}: {}", finding.lint.code, finding.message));
    (site, findings.collect())
}

fn rendered(site: &Site, pool: &str) -> berth_pools::Rendered {
    let pool = site.pools.iter().find(|it| *it.name.value == *pool).unwrap();
    render_pool(site, pool, &RenderOptions::default()).unwrap()
}

fn ignition(rendered: &berth_pools::Rendered) -> berth_ignition::Config {
    let config = rendered.spec.config.as_ref().unwrap();
    berth_ignition::parse(config).config.unwrap()
}

fn file(rendered: &berth_pools::Rendered, path: &str) -> Option<String> {
    let text = |file| String::from_utf8(berth_ignition::file_contents(file).expect("contents")).expect("text");
    ignition(rendered).find_file(path).map(text)
}

#[test]
fn a_controller_config_and_a_pool_are_enough() {
    let (site, findings) = read(&[
        pool("worker"),
        pool("infra"),
        controller(&json!({})),
        kubelet_config("infra"),
    ]);
    assert_eq!(findings, [] as [String; 0]);
    assert!(site.openshift.is_none(), "it is for Berth's own templates");
    let infra = rendered(&site, "infra");
    let worker = rendered(&site, "worker");
    let of_templates = ["00-worker", "01-worker-container-runtime", "01-worker-kubelet"];
    assert_eq!(worker.sources, of_templates);
    assert_eq!(infra.sources[..3], of_templates);
    assert_eq!(infra.sources[3..], ["99-infra-generated-kubelet"]);
    // The settings are written over the template's.
    let configuration = file(&infra, KUBELET_CONFIGURATION).unwrap();
    assert!(
        configuration.contains("maxPods: 400") && configuration.contains("10.96.0.10"),
        "{configuration}"
    );
    assert!(!file(&worker, KUBELET_CONFIGURATION).unwrap().contains("maxPods"));
}

#[test]
fn a_controller_config_of_openshift_is_the_operators() {
    let mut openshift = controller(&json!({}));
    openshift["spec"]["berth"] = Value::Null;
    let (site, _) = read(&[pool("worker"), openshift]);
    assert!(site.openshift.is_some());
    assert_eq!(site.generated, crate::Generated::default());
}

#[test]
fn what_is_written_down_again_is_made_again_and_renders_the_same() {
    let objects = [pool("worker"), controller(&json!({}))];
    let (first, _) = read(&objects);
    let written: Vec<Value> = first.generated.configs.values().map(MachineConfig::to_json).collect();
    let (second, findings) = read(&[&objects[..], &written[..]].concat());
    assert_eq!(findings, [] as [String; 0]);
    assert_eq!(rendered(&first, "worker"), rendered(&second, "worker"));
}

#[test]
fn others_and_newer_versions_are_not_fought_over() {
    for (by, held) in [
        (
            None,
            "machine config 00-worker was not made by Berth, and counts as it is",
        ),
        (
            Some("4c1f"),
            "machine config 00-worker was not made by Berth, and counts as it is",
        ),
        (
            Some("berth-99.0.0"),
            "machine config 00-worker was made by berth-99.0.0, which is newer than berth-",
        ),
        (Some("berth-0.0.1"), ""),
        (Some("berth-next"), ""),
    ] {
        let (site, findings) = read(&[pool("worker"), controller(&json!({})), machine_config("00-worker", by)]);
        let theirs = file(&rendered(&site, "worker"), "/etc/motd");
        assert_eq!(theirs.is_some(), !held.is_empty(), "{by:?}");
        let found = findings
            .iter()
            .any(|finding| finding.starts_with(&format!("templates-not-rendered: {held}")));
        assert_eq!(found, !held.is_empty(), "{findings:?}");
    }
}

#[test]
fn what_is_outdated_is_what_no_template_makes_any_more() {
    let configs: Vec<MachineConfig> = [
        machine_config("00-worker", Some("berth-0.0.1")),
        machine_config("00-master", Some("berth-0.0.1")),
        machine_config("00-edge", Some("berth-99.0.0")),
        machine_config("00-mine", None),
    ]
    .iter()
    .map(|object| MachineConfig::from_json(object).unwrap())
    .collect();
    assert_eq!(outdated_templates(&configs, &["00-worker"].into()), ["00-master"]);
}

#[test]
fn objects_that_are_named_have_to_be_among_the_documents() {
    let named = controller(&json!({
        "pullSecret": {"name": "pull-secret"},
        "berth": {"family": "debian", "templates": {"name": "templates"}},
    }));
    let (site, findings) = read(&[pool("worker"), named.clone(), motd(), credentials()]);
    assert_eq!(findings, [] as [String; 0]);
    let worker = rendered(&site, "worker");
    assert_eq!(file(&worker, "/etc/motd").as_deref(), Some("hello\n"));
    assert_eq!(
        file(&worker, "/var/lib/kubelet/config.json").as_deref(),
        Some("{\"auths\": {}}\n")
    );

    let (site, findings) = read(&[pool("worker"), named, machine_config("00-worker", None)]);
    let missing = [
        "templates-not-rendered: ControllerConfig `machine-config-controller` `spec.pullSecret.name`: there is no Secret `pull-secret`",
        "templates-not-rendered: ControllerConfig `machine-config-controller` `spec.berth.templates.name`: there is no ConfigMap `templates`",
    ];
    assert_eq!(findings, missing);
    assert_eq!(rendered(&site, "worker").sources, ["00-worker"]);
}

#[test]
fn what_is_wrong_is_an_error_at_its_place_and_changes_nothing_else() {
    let objects = [pool("worker"), machine_config("50-mine", None)];
    let (before, _) = read(&objects);
    let wrong = controller(&json!({"clusterDNSIP": "ten", "berth": {"family": "arch"}}));
    let (after, findings) = read(&[&objects[..], &[wrong]].concat());
    assert_eq!(
        findings,
        [
            "invalid-controller-config: ControllerConfig `machine-config-controller` `spec.berth.family`: \"arch\" is not supported",
            "invalid-controller-config: ControllerConfig `machine-config-controller` `spec.clusterDNSIP`: \"ten\" is not an IP address",
        ]
    );
    assert_eq!(rendered(&before, "worker"), rendered(&after, "worker"));

    let mut other = controller(&json!({}));
    other["metadata"]["name"] = json!("mine");
    let (_, findings) = read(&[pool("worker"), other]);
    assert!(findings[0].starts_with("invalid-controller-config: "), "{findings:?}");
}

proptest! {
    #[test]
    fn the_order_of_documents_does_not_matter(
        objects in Just(vec![
            pool("worker"), pool("infra"), motd(), credentials(), kubelet_config("infra"), machine_config("50-mine", None),
            controller(&json!({
                "pullSecret": {"name": "pull-secret"},
                "berth": {"family": "fedora", "containerRuntime": "cri-o", "templates": {"name": "templates"}},
            })),
        ]).prop_shuffle(),
    ) {
        let (site, findings) = read(&objects);
        prop_assert_eq!(findings, [] as [String; 0]);
        let mut sorted = objects.clone();
        sorted.sort_by_key(ToString::to_string);
        let (other, _) = read(&sorted);
        for pool in ["worker", "infra"] {
            prop_assert_eq!(rendered(&site, pool), rendered(&other, pool));
        }
    }
}
