use berth_pools::GENERATED_BY;
use berth_site::{load, render_pool};

use super::*;
use crate::pools::{Rendering, SettingView, plan_settings, render};
use berth_documents::DocumentSet;
use berth_labels::Flavour;
use berth_site::GeneratingKind;

const API: &str = "machineconfiguration.openshift.io/v1";
const ROLE: &str = "machineconfiguration.openshift.io/role";
const CERTIFICATE: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCi0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K";

fn pool(name: &str) -> Value {
    json!({
        "apiVersion": API, "kind": "MachineConfigPool",
        "metadata": {"name": name, "uid": name, "resourceVersion": "1", "labels": {"pool": name}},
        "spec": {
            "machineConfigSelector": {"matchExpressions": [{"key": ROLE, "operator": "In", "values": ["worker", name]}]},
            "nodeSelector": {"matchLabels": {format!("example.com/{name}"): ""}},
        },
    })
}

fn controller() -> Value {
    json!({
        "apiVersion": API, "kind": "ControllerConfig",
        "metadata": {"name": "machine-config-controller", "uid": "u", "resourceVersion": "7", "generation": 3},
        "spec": {
            "clusterDNSIP": "10.96.0.10",
            "kubeAPIServerServingCAData": CERTIFICATE,
            "baseOSContainerImage": "quay.example/os:1",
            "pullSecret": {"name": "pull-secret"},
            "berth": {"family": "debian", "templates": {"name": "mine"}},
        },
    })
}

fn config_map() -> Value {
    let data = json!({"any_00_motd": "#! file /etc/motd\nhello\n"});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}, "data": data})
}

fn secret() -> Value {
    // {"auths": {}}
    let data = json!({".dockerconfigjson": "eyJhdXRocyI6IHt9fQ=="});
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull-secret"}, "data": data})
}

fn kubelet_config() -> Value {
    json!({
        "apiVersion": API, "kind": "KubeletConfig", "metadata": {"name": "large", "uid": "k"},
        "spec": {"machineConfigPoolSelector": {"matchLabels": {"pool": "infra"}}, "kubeletConfig": {"maxPods": 400}},
    })
}

fn views(objects: &[Value]) -> TemplateViews {
    let read = |object: &Value| {
        let kind = match object["kind"].as_str() {
            Some("ControllerConfig") => TemplateObject::ControllerConfig,
            Some("ConfigMap") => TemplateObject::ConfigMap,
            _ => TemplateObject::Secret,
        };
        let view = TemplateView::read(kind, object);
        ((kind, view.name.clone()), view)
    };
    objects.iter().map(read).collect()
}

fn pools() -> Vec<PoolView> {
    ["worker", "infra"].map(|name| PoolView::read(&pool(name))).into()
}

fn planned(known: &BTreeMap<String, MachineConfig>, objects: &[Value]) -> TemplatesPlan {
    plan_templates(&pools(), known, &views(objects), Timestamp::UNIX_EPOCH)
}

/// The cluster after a plan was carried out.
fn carried_out(known: &BTreeMap<String, MachineConfig>, plan: &TemplatesPlan) -> BTreeMap<String, MachineConfig> {
    let mut after = known.clone();
    for object in &plan.writes {
        let config = MachineConfig::from_json(object).unwrap();
        after.insert(config.name.clone(), config);
    }
    after.retain(|name, _| !plan.removals.contains(name));
    after
}

fn condition<'a>(status: &'a Value, kind: &str) -> (&'a str, &'a str) {
    let mut conditions = status["conditions"].as_array().unwrap().iter();
    let found = conditions.find(|condition| condition["type"] == kind).unwrap();
    (found["status"].as_str().unwrap(), found["message"].as_str().unwrap())
}

fn all() -> [Value; 3] {
    [controller(), config_map(), secret()]
}

#[test]
fn a_folder_renders_to_what_the_cluster_gets() {
    let objects = [&[pool("worker"), pool("infra"), kubelet_config()], &all()[..]].concat();
    let set = DocumentSet::of_objects(&objects);
    let site = load(&set.sources, &set.documents).0;
    let plan = planned(&BTreeMap::new(), &all());
    let setting = SettingView::read(GeneratingKind::KubeletConfig, &kubelet_config());
    let settings = plan_settings(&pools(), &plan.inputs, &[&setting], Timestamp::UNIX_EPOCH);
    for view in pools() {
        let pool = site.pools.iter().find(|pool| *pool.name.value == *view.name).unwrap();
        let offline = render_pool(&site, pool, &berth_pools::RenderOptions::default()).unwrap();
        let Rendering::Done(cluster) = render(
            &view,
            settings.inputs.values(),
            plan.controller.as_ref(),
            Flavour::Upstream,
        ) else {
            panic!("{} cannot be rendered", view.name);
        };
        assert_eq!(
            (&cluster.name, &cluster.spec, &cluster.sources),
            (&offline.name, &offline.spec, &offline.sources)
        );
        assert_eq!(cluster.spec.os_image_url, "quay.example/os:1");
    }
}

#[test]
fn what_is_written_is_not_written_again_and_says_who_made_it() {
    let first = planned(&BTreeMap::new(), &all());
    assert_eq!(first.writes.len(), 3);
    for object in &first.writes {
        assert_eq!(object["metadata"]["ownerReferences"][0]["uid"], "u");
        assert_eq!(object["metadata"]["annotations"][GENERATED_BY], controller_version());
    }
    let known = carried_out(&BTreeMap::new(), &first);
    let second = planned(&known, &all());
    assert_eq!((second.writes, second.removals), (vec![], vec![]));
    assert_eq!(first.inputs, second.inputs);
    // Settings leave it alone.
    let settings = plan_settings(&pools(), &known, &[], Timestamp::UNIX_EPOCH);
    assert_eq!((settings.inputs, settings.removals), (known, vec![]));
}

#[test]
fn the_object_says_what_became_of_it_once() {
    let (view, status) = planned(&BTreeMap::new(), &all()).answer.unwrap();
    assert_eq!(status["observedGeneration"], 3);
    let message = format!(
        "sync completed towards (3) generation using controller version {}",
        controller_version()
    );
    assert_eq!(
        condition(&status, "TemplateControllerCompleted"),
        ("True", message.as_str())
    );
    assert_eq!(condition(&status, "TemplateControllerFailing"), ("False", ""));
    let mut said = controller();
    said["status"] = status;
    assert_eq!(planned(&BTreeMap::new(), &[said, config_map(), secret()]).answer, None);
    assert_eq!(view.name, CONTROLLER_CONFIG);
}

#[test]
fn a_bad_object_changes_nothing_and_names_the_field() {
    let known = carried_out(&BTreeMap::new(), &planned(&BTreeMap::new(), &all()));
    let changed = |pointer: &str, value: Value| {
        let mut objects = all();
        for object in &mut objects {
            if let Some(place) = object.pointer_mut(pointer) {
                *place = value.clone();
            }
        }
        objects.to_vec()
    };
    for (objects, why) in [
        (
            changed("/spec/berth/family", json!("arch")),
            "spec.berth.family: \"arch\" is not supported",
        ),
        (
            changed("/spec/kubeAPIServerServingCAData", json!("-")),
            "spec.kubeAPIServerServingCAData: it is not base64",
        ),
        (
            changed("/data/any_00_motd", json!("hello")),
            "ConfigMap data.any_00_motd: no line",
        ),
        (changed("/data/.dockerconfigjson", json!("e30=")), "Secret data: "),
        (
            vec![controller(), secret()],
            "spec.berth.templates.name: there is no ConfigMap `mine`",
        ),
        (
            vec![controller(), config_map()],
            "spec.pullSecret.name: there is no Secret `pull-secret`",
        ),
    ] {
        let plan = planned(&known, &objects);
        assert_eq!(
            (&plan.writes, &plan.removals, &plan.inputs),
            (&vec![], &vec![], &known),
            "{why}"
        );
        let (_, status) = plan.answer.unwrap();
        let (is, message) = condition(&status, "TemplateControllerFailing");
        assert!(is == "True" && message.contains(why), "{message}");
        assert_eq!(condition(&status, "TemplateControllerCompleted"), ("False", ""));
    }
}

#[test]
fn what_the_object_made_goes_with_it() {
    let mine = MachineConfig {
        name: "50-mine".to_owned(),
        ..MachineConfig::default()
    };
    let before: BTreeMap<_, _> = [(mine.name.clone(), mine)].into();
    let known = carried_out(&before, &planned(&before, &all()));
    assert_eq!(known.len(), 4);
    let mut deleting = controller();
    deleting["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let mut openshift = controller();
    openshift["spec"]["berth"] = Value::Null;
    for objects in [vec![config_map(), secret()], vec![deleting], vec![openshift]] {
        let plan = planned(&known, &objects);
        assert_eq!(carried_out(&known, &plan), before);
        assert_eq!((plan.inputs, plan.answer), (before.clone(), None));
    }
}

#[test]
fn a_newer_controller_is_not_fought_over() {
    let mut known = carried_out(&BTreeMap::new(), &planned(&BTreeMap::new(), &all()));
    let theirs = known.get_mut("00-worker").unwrap();
    theirs
        .annotations
        .insert(GENERATED_BY.to_owned(), "berth-99.0.0".to_owned());
    theirs.spec.kernel_arguments = vec!["quiet".to_owned()];
    let plan = planned(&known, &all());
    assert_eq!((&plan.writes, &plan.removals, &plan.inputs), (&vec![], &vec![], &known));
    let (_, status) = plan.answer.unwrap();
    let (_, message) = condition(&status, "TemplateControllerCompleted");
    assert!(
        message.contains("00-worker was made by berth-99.0.0, which is newer than"),
        "{message}"
    );
    // An older one's is made again.
    let older = known.get_mut("00-worker").unwrap();
    older
        .annotations
        .insert(GENERATED_BY.to_owned(), "berth-0.0.1".to_owned());
    assert_eq!(planned(&known, &all()).writes.len(), 1);
}
