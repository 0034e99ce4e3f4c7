//! A `ControllerConfig` in full mode: pools from nothing, and that it is what documents render to and machines are served.

use std::time::Duration;

use berth_cluster::{
    DocumentKind,
    controller::{Mode, Options, PoolOptions},
    list_documents,
};
use berth_decide::Serving;
use berth_pools::{CONTROLLER_CONFIG, RenderOptions, Rendered};
use berth_resources::{ControllerConfig, KubeletConfig, MachineConfig, MachineConfigPool};
use berth_site::render_pool;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api, CustomResourceExt as _, Resource, ResourceExt as _,
    api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::support::{Cluster, Needs, from_json, on_both, site};

on_both! {
    Needs::NOTHING;
    pools_come_from_a_controller_config,
}

const API: &str = "machineconfiguration.openshift.io/v1";
const ROLE: &str = "machineconfiguration.openshift.io/role";
const POOL: &str = "edge";
const CERTIFICATE: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCi0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K";

fn full(options: &mut Options) {
    options.mode = Mode::Full;
    options.admission = None;
    options.pools = PoolOptions {
        settle: Duration::from_millis(300),
        ..PoolOptions::default()
    };
}

fn pool() -> Value {
    json!({
        "apiVersion": API, "kind": "MachineConfigPool",
        "metadata": {"name": POOL, "labels": {"size": "large"}},
        "spec": {
            "nodeSelector": {"matchLabels": {"test.example/edge": ""}},
            "machineConfigSelector": {"matchExpressions": [{"key": ROLE, "operator": "In", "values": ["worker", POOL]}]},
        },
    })
}

fn controller_config(dns: &str) -> Value {
    json!({
        "apiVersion": API, "kind": "ControllerConfig", "metadata": {"name": CONTROLLER_CONFIG},
        "spec": {
            "clusterDNSIP": dns,
            "kubeAPIServerServingCAData": CERTIFICATE,
            "baseOSContainerImage": "registry.example/os:1",
            "pullSecret": {"name": "pull-secret"},
            "berth": {"family": "debian", "templates": {"name": "mine"}},
        },
    })
}

fn tuned() -> Value {
    json!({
        "apiVersion": API, "kind": "KubeletConfig", "metadata": {"name": "tuned"},
        "spec": {"machineConfigPoolSelector": {"matchLabels": {"size": "large"}}, "kubeletConfig": {"maxPods": 400}},
    })
}

fn mine(text: &str) -> Value {
    let data = json!({"any_00_motd": text});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}, "data": data})
}

fn credentials() -> Value {
    let data = json!({".dockerconfigjson": "eyJhdXRocyI6IHt9fQ=="});
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull-secret"},
        "type": "kubernetes.io/dockerconfigjson", "data": data,
    })
}

/// What the documents render to.
fn offline(objects: &[Value]) -> Rendered {
    let site = site(objects);
    let pool = site.pools.first().expect("a pool");
    render_pool(&site, pool, &RenderOptions::default()).expect("it renders")
}

async fn create<K>(api: Api<K>, object: &Value)
where
    K: Resource + Clone + DeserializeOwned + Serialize + std::fmt::Debug,
{
    let object: K = from_json(object.clone());
    api.create(&PostParams::default(), &object).await.expect("created");
}

impl Cluster {
    /// The pool gets this rendered config, with these contents.
    async fn gets(&self, wanted: &Rendered) {
        self.seen(POOL, "has its config", |pool: &MachineConfigPool| {
            let configuration = pool.spec.configuration.as_ref();
            configuration.is_some_and(|configuration| configuration.name.as_ref() == Some(&wanted.name))
        })
        .await;
        let configs = self.api::<MachineConfig>();
        let rendered = configs.get(&wanted.name).await.expect("the rendered config");
        let rendered = serde_json::to_value(rendered).expect("JSON");
        let read = berth_pools::MachineConfig::from_json(&rendered).expect("a machine config");
        assert_eq!(read.spec, wanted.spec);
    }

    /// A machine that boots gets the same: the pool is served what its status has when its nodes, none, run it.
    async fn serves(&self, wanted: &Rendered) {
        self.seen(POOL, "has completed", |pool: &MachineConfigPool| {
            let configuration = pool.status.clone().unwrap_or_default().configuration;
            configuration.is_some_and(|it| it.name.as_ref() == Some(&wanted.name))
        })
        .await;
        let documents = list_documents(&self.client, DocumentKind::SITE)
            .await
            .expect("the documents");
        let serving = Serving::of_cluster(&documents, None);
        let pool = serving.pools.get(POOL).expect("the pool");
        let served = pool.config.as_ref().expect("a config");
        assert_eq!((&served.name, &served.spec), (&wanted.name, &wanted.spec));
    }

    /// What the object says about this generation.
    async fn answered(&self, kind: &str, generation: i64) -> String {
        let is_it = |object: &ControllerConfig| {
            let status = object.status.clone().unwrap_or_default();
            let mut conditions = status.conditions.into_iter().flatten();
            let found = conditions.find(|it| it.type_.as_deref() == Some(kind) && it.status.as_deref() == Some("True"));
            found
                .filter(|_| status.observed_generation == Some(generation))
                .map(|it| it.message.unwrap_or_default())
        };
        let object: ControllerConfig = self
            .seen(CONTROLLER_CONFIG, "was answered", |it| is_it(it).is_some())
            .await;
        is_it(&object).unwrap_or_default()
    }
}

async fn pools_come_from_a_controller_config(cluster: &mut Cluster) {
    let namespace = cluster.client.default_namespace().to_owned();
    let config_maps: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), &namespace);
    let secrets: Api<Secret> = Api::namespaced(cluster.client.clone(), &namespace);
    let controller_configs = cluster.api::<ControllerConfig>();
    let configs = cluster.api::<MachineConfig>();
    let motd = mine("#! file /etc/motd\nhello\n");
    create(cluster.api::<MachineConfigPool>(), &pool()).await;
    create(cluster.api::<KubeletConfig>(), &tuned()).await;
    create(secrets.clone(), &credentials()).await;
    // As people write it: the type has not every field.
    let written: Api<DynamicObject> = Api::all_with(cluster.client.clone(), &ControllerConfig::api_resource());
    create(written, &controller_config("10.96.0.10")).await;
    let controllers = cluster.controllers(full);

    // The ConfigMap that it names is not there yet: it says so, and nothing is made.
    let message = cluster.answered("TemplateControllerFailing", 1).await;
    assert!(
        message.contains("spec.berth.templates.name: there is no ConfigMap `mine`"),
        "{message}"
    );
    assert_eq!(configs.get_opt("00-worker").await.expect("an answer"), None);
    create(config_maps.clone(), &motd).await;
    let all = [
        pool(),
        tuned(),
        controller_config("10.96.0.10"),
        motd.clone(),
        credentials(),
    ];
    let first = offline(&all);
    let message = cluster.answered("TemplateControllerCompleted", 1).await;
    assert!(
        message.starts_with("sync completed towards (1) generation using controller version berth-"),
        "{message}"
    );
    cluster.gets(&first).await;
    let made: MachineConfig = cluster
        .seen("01-worker-kubelet", "was made", |_: &MachineConfig| true)
        .await;
    assert_eq!(made.owner_references()[0].kind, "ControllerConfig");

    cluster.serves(&first).await;

    // A field that is wrong is named, and the pool keeps what it has.
    let edit = async |dns: &str| {
        let patch = Patch::Merge(json!({"spec": {"clusterDNSIP": dns}}));
        controller_configs
            .patch(CONTROLLER_CONFIG, &PatchParams::default(), &patch)
            .await
            .expect("edited");
    };
    edit("ten").await;
    let message = cluster.answered("TemplateControllerFailing", 2).await;
    assert!(message.contains("spec.clusterDNSIP"), "{message}");
    cluster.gets(&first).await;
    edit("10.96.0.11").await;
    cluster.answered("TemplateControllerCompleted", 3).await;
    let second = offline(&[pool(), tuned(), controller_config("10.96.0.11"), motd, credentials()]);
    assert_ne!(second.name, first.name);
    cluster.gets(&second).await;

    // People change a template, and somebody deletes what was made: it is made again.
    let changed = mine("#! file /etc/motd\ngood morning\n");
    let patch = Patch::Merge(json!({"data": changed["data"]}));
    config_maps
        .patch("mine", &PatchParams::default(), &patch)
        .await
        .expect("edited");
    let third = offline(&[pool(), tuned(), controller_config("10.96.0.11"), changed, credentials()]);
    cluster.gets(&third).await;
    configs
        .delete("01-worker-kubelet", &DeleteParams::default())
        .await
        .expect("deleted");
    let uid = made.uid();
    cluster
        .seen("01-worker-kubelet", "is there again", |config: &MachineConfig| {
            config.uid() != uid
        })
        .await;

    // The object goes, while no controller runs, and with it what was made of it.
    controllers.stop().await;
    delete(controller_configs.clone(), CONTROLLER_CONFIG).await;
    let controllers = cluster.controllers(full);
    let mut looks = 0;
    while configs.get_opt("00-worker").await.expect("an answer").is_some() {
        looks += 1;
        assert!(looks < 600, "00-worker is still there");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    controllers.stop().await;
    delete(cluster.api::<KubeletConfig>(), "tuned").await;
    delete(config_maps, "mine").await;
    delete(secrets, "pull-secret").await;
}

async fn delete<K: Clone + std::fmt::Debug + serde::de::DeserializeOwned>(objects: Api<K>, name: &str) {
    objects.delete(name, &DeleteParams::default()).await.expect("deleted");
}
