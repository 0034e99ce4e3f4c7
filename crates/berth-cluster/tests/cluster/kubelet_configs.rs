//! `KubeletConfig` objects in full mode: what becomes of them, and that it is what documents render to.

use std::time::Duration;

use berth_cluster::controller::{Mode, Options, PoolOptions};
use berth_pools::RenderOptions;
use berth_resources::{KubeletConfig, MachineConfig, MachineConfigPool};
use berth_site::render_pool;
use kube::{
    Resource, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::support::{Cluster, Needs, from_json, on_both, site};

on_both! {
    Needs::NOTHING;
    kubelet_configs_become_machine_configs,
}

const API: &str = "machineconfiguration.openshift.io/v1";
const ROLE: &str = "machineconfiguration.openshift.io/role";
const POOL: &str = "edge";
const MADE: &str = "99-edge-generated-kubelet";

fn full(options: &mut Options) {
    options.mode = Mode::Full;
    options.admission = None;
    options.pools = PoolOptions {
        settle: Duration::from_millis(300),
        ..PoolOptions::default()
    };
}

/// A pool with a kubelet's configuration.
fn definitions() -> Vec<Value> {
    let text = "kind:%20KubeletConfiguration%0AapiVersion:%20kubelet.config.k8s.io/v1beta1%0AmaxPods:%20250%0A";
    let file = json!({
        "path": "/etc/kubernetes/kubelet.conf", "mode": 0o644, "contents": {"source": format!("data:,{text}")},
    });
    vec![
        json!({
            "apiVersion": API, "kind": "MachineConfigPool",
            "metadata": {"name": POOL, "labels": {"size": "large"}},
            "spec": {
                "nodeSelector": {"matchLabels": {"test.example/edge": ""}},
                "machineConfigSelector": {"matchLabels": {ROLE: POOL}},
            },
        }),
        json!({
            "apiVersion": API, "kind": "MachineConfig",
            "metadata": {"name": "01-edge-kubelet", "labels": {ROLE: POOL}},
            "spec": {"config": {
                "ignition": {"version": "3.5.0"},
                "storage": {"files": [file]},
            }},
        }),
    ]
}

fn tuned(fields: &Value) -> Value {
    json!({
        "apiVersion": API, "kind": "KubeletConfig", "metadata": {"name": "tuned"},
        "spec": {"machineConfigPoolSelector": {"matchLabels": {"size": "large"}}, "kubeletConfig": fields},
    })
}

/// The name that the documents render to.
fn offline(objects: &[Value]) -> String {
    let site = site(objects);
    let pool = site.pools.first().expect("a pool");
    render_pool(&site, pool, &RenderOptions::default())
        .expect("it renders")
        .name
}

impl Cluster {
    async fn declare<K>(&self, object: &Value)
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Serialize + std::fmt::Debug,
    {
        let object: K = from_json(object.clone());
        self.api::<K>()
            .create(&PostParams::default(), &object)
            .await
            .expect("created");
    }

    async fn targets(&self, config: &str) {
        self.seen(POOL, "has its config", |pool: &MachineConfigPool| {
            let configuration = pool.spec.configuration.as_ref();
            configuration.is_some_and(|configuration| configuration.name.as_deref() == Some(config))
        })
        .await;
    }

    async fn says(&self, kind: &str, generation: i64) -> String {
        let object: KubeletConfig = self
            .seen("tuned", "was answered", |object: &KubeletConfig| {
                let Some(status) = &object.status else { return false };
                let conditions = status.conditions.iter().flatten();
                status.observed_generation == Some(generation)
                    && conditions
                        .into_iter()
                        .any(|condition| condition.type_.as_deref() == Some(kind))
            })
            .await;
        let conditions = object.status.and_then(|status| status.conditions).unwrap_or_default();
        conditions
            .into_iter()
            .find_map(|condition| condition.message)
            .unwrap_or_default()
    }
}

async fn kubelet_configs_become_machine_configs(cluster: &mut Cluster) {
    let definitions = definitions();
    let [pool, base] = definitions.as_slice() else {
        panic!("two objects")
    };
    cluster.declare::<MachineConfig>(base).await;
    cluster.declare::<MachineConfigPool>(pool).await;
    let controllers = cluster.controllers(full);
    let plain = offline(&definitions);
    cluster.targets(&plain).await;

    let wanted = tuned(&json!({"maxPods": 400}));
    cluster.declare::<KubeletConfig>(&wanted).await;
    let with = offline(&[definitions.clone(), vec![wanted]].concat());
    assert_ne!(with, plain);
    cluster.targets(&with).await;
    assert_eq!(cluster.says("Success", 1).await, "Success");
    let made: MachineConfig = cluster.seen(MADE, "was made", |_: &MachineConfig| true).await;
    let owner = &made.owner_references()[0];
    assert_eq!((owner.kind.as_str(), owner.name.as_str()), ("KubeletConfig", "tuned"));
    let edit = async |fields: Value| {
        let patch = Patch::Merge(json!({"spec": {"kubeletConfig": fields}}));
        let objects = cluster.api::<KubeletConfig>();
        objects
            .patch("tuned", &PatchParams::default(), &patch)
            .await
            .expect("edited");
    };

    // A field that no kubelet knows: the object says so, and its pool keeps what it has.
    edit(json!({"maxPodz": 1})).await;
    let message = cluster.says("Failure", 2).await;
    assert!(message.contains("maxPodz"), "{message}");
    cluster.targets(&with).await;
    edit(json!({"maxPodz": null, "maxPods": 500})).await;
    cluster.says("Success", 3).await;
    let more = offline(&[definitions.clone(), vec![tuned(&json!({"maxPods": 500}))]].concat());
    cluster.targets(&more).await;

    // Somebody deletes what was made; it is made again.
    let configs = cluster.api::<MachineConfig>();
    configs.delete(MADE, &DeleteParams::default()).await.expect("deleted");
    let uid = made.uid();
    cluster
        .seen(MADE, "is there again", |config: &MachineConfig| config.uid() != uid)
        .await;

    // The object goes, and with it what was made, also while no controller runs.
    controllers.stop().await;
    let objects = cluster.api::<KubeletConfig>();
    objects
        .delete("tuned", &DeleteParams::default())
        .await
        .expect("deleted");
    let controllers = cluster.controllers(full);
    cluster.targets(&plain).await;
    let mut looks = 0;
    while configs.get_opt(MADE).await.expect("an answer").is_some() {
        looks += 1;
        assert!(looks < 600, "{MADE} is still there");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    controllers.stop().await;
}
