use berth_pools::ROLE_LABEL;

use super::*;

const KUBELET: &str = "99-infra-generated-kubelet";

fn pool(name: &str) -> PoolView {
    PoolView::read(&json!({
        "metadata": {"name": name, "uid": name, "resourceVersion": "1", "labels": {"pool": name}},
        "spec": {
            "machineConfigSelector": {"matchExpressions": [
                {"key": ROLE_LABEL, "operator": "In", "values": ["worker", name]},
            ]},
        },
    }))
}

fn base() -> MachineConfig {
    let text = "kind:%20KubeletConfiguration%0AapiVersion:%20kubelet.config.k8s.io/v1beta1%0AmaxPods:%20250%0A";
    let file = json!({
        "path": "/etc/kubernetes/kubelet.conf", "mode": 0o644, "contents": {"source": format!("data:,{text}")},
    });
    MachineConfig::from_json(&json!({
        "metadata": {"name": "01-worker-kubelet", "labels": {ROLE_LABEL: "worker"}},
        "spec": {"config": {
            "ignition": {"version": "3.4.0"},
            "storage": {"files": [file]},
        }},
    }))
    .unwrap()
}

fn object(name: &str, pool: &str, fields: &Value) -> Value {
    json!({
        "metadata": {"name": name, "uid": format!("uid-{name}"), "resourceVersion": "7", "generation": 1},
        "spec": {"machineConfigPoolSelector": {"matchLabels": {"pool": pool}}, "kubeletConfig": fields},
    })
}

/// A cluster that does what is planned.
struct World {
    pools: Vec<PoolView>,
    configs: BTreeMap<String, MachineConfig>,
    objects: BTreeMap<String, Value>,
    second: i64,
}

impl World {
    fn new() -> Self {
        Self {
            pools: vec![pool("worker"), pool("infra")],
            configs: [base()].map(|config| (config.name.clone(), config)).into(),
            objects: BTreeMap::new(),
            second: 0,
        }
    }

    fn put(&mut self, object: Value) {
        self.objects
            .insert(object["metadata"]["name"].as_str().unwrap().to_owned(), object);
    }

    fn plan(&mut self) -> SettingsPlan {
        self.second += 1;
        let read = |object| SettingView::read(GeneratingKind::KubeletConfig, object);
        let settings: Vec<SettingView> = self.objects.values().map(read).collect();
        let settings: Vec<&SettingView> = settings.iter().collect();
        let now = Timestamp::from_second(self.second).unwrap();
        plan_settings(&self.pools, &self.configs, &settings, now)
    }

    /// Carries a plan out; after that there is nothing left to do.
    fn settle(&mut self) -> SettingsPlan {
        let plan = self.plan();
        for object in &plan.writes {
            let config = MachineConfig::from_json(object).unwrap();
            self.configs.insert(config.name.clone(), config);
        }
        for name in &plan.removals {
            self.configs.remove(name);
        }
        for answer in &plan.answers {
            let object = self.objects.get_mut(&answer.setting.name).unwrap();
            if let Some(annotations) = answer.annotations() {
                object["metadata"]["annotations"] = annotations;
            }
            if let Some(status) = &answer.status {
                object["status"] = status.clone();
            }
        }
        let again = self.plan();
        assert_eq!(
            (again.writes, again.removals, again.answers),
            (Vec::new(), Vec::new(), Vec::new()),
            "it settles"
        );
        assert_eq!(again.inputs, self.configs, "what is rendered from is what is written");
        plan
    }

    fn condition(&self, name: &str) -> (&str, &str) {
        let condition = &self.objects[name]["status"]["conditions"][0];
        (
            condition["type"].as_str().unwrap(),
            condition["message"].as_str().unwrap(),
        )
    }
}

#[test]
fn an_object_becomes_a_machine_config_that_says_what_it_is_made_of() {
    let mut world = World::new();
    world.put(object("tuned", "infra", &json!({"maxPods": 400})));
    let plan = world.settle();
    let [written] = plan.writes.as_slice() else {
        panic!("{plan:?}")
    };
    assert_eq!(written["metadata"]["name"], KUBELET);
    assert_eq!(written["metadata"]["ownerReferences"][0]["uid"], "uid-tuned");
    assert_eq!(
        written["metadata"]["annotations"][names::GENERATED_FROM],
        "KubeletConfig/tuned"
    );
    assert_eq!(written["metadata"]["labels"][ROLE_LABEL], "infra");
    assert_eq!(world.condition("tuned"), ("Success", "Success"));
    assert_eq!(world.objects["tuned"]["metadata"]["annotations"][NAME_SUFFIX], "");
    assert_eq!(world.objects["tuned"]["status"]["observedGeneration"], 1);
}

#[test]
fn what_an_object_made_goes_with_it_and_people_s_own_stays() {
    let mut world = World::new();
    let own = MachineConfig {
        name: "99-worker-generated-kubelet".to_owned(),
        ..base()
    };
    world.configs.insert(own.name.clone(), own);
    world.put(object("tuned", "infra", &json!({"maxPods": 400})));
    world.settle();
    world.objects.get_mut("tuned").unwrap()["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert_eq!(world.settle().removals, [KUBELET], "while it is being deleted");
    world.objects.clear();
    world.settle();
    assert_eq!(world.configs.len(), 2);

    // It went while nobody looked; or its pool did.
    world.put(object("tuned", "infra", &json!({"maxPods": 400})));
    world.settle();
    world.objects.clear();
    assert_eq!(world.settle().removals, [KUBELET]);
    world.put(object("tuned", "infra", &json!({"maxPods": 400})));
    world.settle();
    world.pools.pop();
    assert_eq!(world.settle().removals, [KUBELET]);
    assert_eq!(world.condition("tuned").0, "Failure");
}

#[test]
fn a_refused_object_changes_nothing_for_anybody() {
    let mut world = World::new();
    world.put(object("good", "worker", &json!({"maxPods": 300})));
    world.put(object("tuned", "infra", &json!({"maxPods": 400})));
    world.settle();
    let before = world.configs.clone();
    for wrong in [
        json!({"maxPodz": 500}),
        json!({"maxPods": "many"}),
        json!({"staticPodPath": "/x"}),
    ] {
        let mut object = object("tuned", "infra", &wrong);
        object["metadata"]["generation"] = json!(2);
        object["metadata"]["annotations"] = json!({NAME_SUFFIX: ""});
        world.put(object);
        world.settle();
        assert_eq!(world.configs, before, "{wrong}");
        let (kind, message) = world.condition("tuned");
        assert!(kind == "Failure" && message.starts_with("Error: "), "{message}");
    }
    // One that cannot be read at all.
    let mut object = object("tuned", "infra", &json!({}));
    object["spec"]["logLevel"] = json!("loud");
    world.put(object);
    world.settle();
    assert_eq!(world.configs, before);
    assert_eq!(world.condition("tuned").0, "Failure");
    assert_eq!(world.condition("good").0, "Success");
}

#[test]
fn numbers_stay_when_an_older_object_goes() {
    let mut world = World::new();
    let at = |mut object: Value, time: &str| {
        object["metadata"]["creationTimestamp"] = json!(time);
        object
    };
    world.put(at(object("b", "infra", &json!({"maxPods": 1})), "2026-01-01T00:00:00Z"));
    world.put(at(object("a", "infra", &json!({"maxPods": 2})), "2026-01-02T00:00:00Z"));
    world.settle();
    assert_eq!(world.objects["a"]["metadata"]["annotations"][NAME_SUFFIX], "1");
    world.objects.remove("b");
    assert_eq!(world.settle().removals, [KUBELET]);
    assert!(world.configs.contains_key("99-infra-generated-kubelet-1"));
}

#[test]
fn a_condition_keeps_its_time_as_long_as_it_holds() {
    let mut world = World::new();
    world.put(object("tuned", "nowhere", &json!({"maxPods": 400})));
    world.settle();
    let since = |world: &World| world.objects["tuned"]["status"]["conditions"][0]["lastTransitionTime"].clone();
    let first = since(&world);
    assert_eq!(world.condition("tuned").0, "Failure", "it selects no pool");
    let mut changed = world.objects["tuned"].clone();
    changed["metadata"]["generation"] = json!(2);
    world.put(changed);
    world.settle();
    assert_eq!(since(&world), first);
    assert_eq!(world.objects["tuned"]["status"]["observedGeneration"], 2);
    let mut changed = world.objects["tuned"].clone();
    changed["spec"]["machineConfigPoolSelector"] = json!({"matchLabels": {"pool": "infra"}});
    world.put(changed);
    world.settle();
    assert_eq!(world.condition("tuned").0, "Success");
    assert_ne!(since(&world), first);
}
