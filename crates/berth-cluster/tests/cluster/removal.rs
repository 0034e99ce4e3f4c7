//! After Berth has been removed a cluster is as if it had never been there.

use berth_cluster::{
    admission::FailurePolicy,
    controller::Mode,
    install::{
        Admission, InstallMode, InstallOptions, RemovalOptions, ServingCertificate, apply, display_name, manifests,
        remove,
    },
};
use berth_resources::{Berth, MachineConfig, MachineConfigPool};
use berth_testing::Identity;
use k8s_openapi::{
    api::{
        admissionregistration::v1::{
            MutatingWebhookConfiguration, ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
            ValidatingWebhookConfiguration,
        },
        core::v1::Node,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Resource, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::support::{Cluster, INFRA, Needs, WORKER, condition, from_json, has, on_both};

on_both! {
    Needs::NOTHING;
    whatever_is_installed_is_taken_away,
    nothing_is_left_and_kubelets_and_administrators_are_on_their_own,
}

/// The objects of an installation, without definitions and its namespace, which have rules of their own.
fn installation(namespace: &str, mode: InstallMode, admission: Admission) -> Vec<Value> {
    let text = |text: &str| text.to_owned();
    let mut objects = manifests(&InstallOptions {
        mode,
        namespace: namespace.to_owned(),
        image: text("example.com/berth:1"),
        replicas: 2,
        approve: true,
        admission,
        policies: true,
        certificate: Some(Box::new(ServingCertificate {
            certificate: text("c"),
            key: text("k"),
            authority: text("a"),
        })),
        client_authority: Some(text("roots")),
        failure: FailurePolicy::Ignore,
        flavour: None,
        pool_definitions: false,
        database_secret: Some(text("database")),
        daemon: true,
        drift: "report",
    });
    objects.retain(|object| object["kind"] != "CustomResourceDefinition");
    objects
}

async fn whatever_is_installed_is_taken_away(cluster: &mut Cluster) {
    for (namespace, mode, admission) in [
        ("berth-labels", InstallMode::Labels, Admission::Policy),
        ("berth-full", InstallMode::Full, Admission::Policy),
        ("berth-webhook", InstallMode::Full, Admission::Webhook),
        ("berth-off", InstallMode::Full, Admission::Off),
    ] {
        let objects = installation(namespace, mode, admission);
        for object in &objects {
            // The API server knows the certificate to be none.
            if object["kind"]
                .as_str()
                .is_some_and(|kind| kind.ends_with("WebhookConfiguration"))
            {
                continue;
            }
            apply(&cluster.client, object, false)
                .await
                .unwrap_or_else(|error| panic!("{}: {error}", display_name(object)));
        }
        let options = |dry_run| RemovalOptions {
            namespace: namespace.to_owned(),
            keep_definitions: true,
            pools_too: false,
            dry_run,
        };
        let removal = remove(&cluster.client, &options(false)).await.expect("removed");
        for object in &objects {
            let name = display_name(object);
            let is_webhook = name.contains("WebhookConfiguration/");
            assert!(
                is_webhook || removal.removed.contains(&name),
                "{name} stays: {removal:#?}"
            );
        }
        let again = remove(&cluster.client, &options(true))
            .await
            .expect("an answer")
            .removed;
        // Nobody ends namespaces on an API server without controllers.
        assert!(
            again.iter().all(|name| name.starts_with("Namespace/")),
            "there is something left to remove: {again:?}"
        );
    }
}

const EDGE: &str = "example.com/edge";

/// A kubelet registers with a label of a pool, and an administrator moves its Node.
async fn life_of_a_node(cluster: &Cluster, name: &str) -> Result<(), String> {
    let client = cluster.client_of(&Identity::kubelet(name)).await;
    let node: Node = from_json(json!({"metadata": {"name": name, "labels": {EDGE: "", "rack": "r1"}}}));
    let created = Api::<Node>::all(client).create(&PostParams::default(), &node).await;
    let created = created.map_err(|error| error.to_string())?;
    let labels = created.labels();
    if labels.get(EDGE).is_none() || labels.get("rack").is_none_or(|rack| rack != "r1") || labels.len() != 2 {
        return Err(format!("registered as {labels:?}"));
    }
    let patch = Patch::Merge(json!({"metadata": {"labels": {EDGE: null, INFRA: ""}}}));
    let moved = cluster.api::<Node>().patch(name, &PatchParams::default(), &patch).await;
    let moved = moved.map_err(|error| error.to_string())?;
    if moved.labels().contains_key(EDGE) || !has(&moved, INFRA, "") || moved.annotations().keys().next().is_some() {
        return Err(format!("moved to {:?}", moved.metadata));
    }
    Ok(())
}

async fn names<K>(cluster: &Cluster) -> Vec<String>
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned,
{
    let all = cluster.api::<K>().list(&ListParams::default()).await.expect("a list");
    all.items.iter().map(ResourceExt::name_any).collect()
}

#[expect(clippy::too_many_lines, reason = "one story, before and after the removal")]
async fn nothing_is_left_and_kubelets_and_administrators_are_on_their_own(cluster: &mut Cluster) {
    cluster.reserved_pool_of("edge", json!({EDGE: ""}), "").await;
    life_of_a_node(cluster, "before")
        .await
        .expect("a cluster without Berth");
    cluster.delete_node("before").await;

    // Berth in full mode, with everything that it leaves in a cluster: Berths, policies, rendered configs, notes on Nodes.
    let config: MachineConfig = from_json(json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
        "metadata": {"name": "00-worker", "labels": {"machineconfiguration.openshift.io/role": "worker"}},
        "spec": {"config": {"ignition": {"version": "3.2.0"}}},
    }));
    let configs: Api<MachineConfig> = cluster.api();
    configs.create(&PostParams::default(), &config).await.expect("a config");
    let select = Patch::Merge(json!({"spec": {"machineConfigSelector": {
        "matchLabels": {"machineconfiguration.openshift.io/role": "worker"},
    }}}));
    let pools: Api<MachineConfigPool> = cluster.api();
    pools
        .patch("infra", &PatchParams::default(), &select)
        .await
        .expect("a pool");
    cluster.node("w1", json!({WORKER: ""})).await;
    cluster
        .berth("w2", json!({"pool": "infra", "preregister": "Now"}))
        .await;
    let controllers = cluster.controllers(|options| {
        options.mode = Mode::Full;
    });
    for name in ["w1", "w2"] {
        cluster
            .berth_with(name, "was settled", |berth| {
                condition(berth, "LabelsInSync").is_some_and(|(status, _)| status == "True")
            })
            .await;
    }
    cluster
        .node_with("w2", "was noted", |node| {
            has(node, "tier", "infra") && node.annotations().keys().any(|key| key.starts_with("berth.dev/"))
        })
        .await;
    let rendered = cluster
        .seen::<MachineConfigPool>("infra", "was rendered", |pool| rendered(pool).is_some())
        .await;
    let rendered = rendered_name(&rendered);
    cluster
        .seen::<MachineConfig>(&rendered, "was kept", |config| !config.finalizers().is_empty())
        .await;
    cluster
        .seen::<ValidatingAdmissionPolicy>("berth-pool-claims", "was there", |_| true)
        .await;
    cluster
        .seen::<ValidatingAdmissionPolicyBinding>("berth-pool-claims", "was there", |_| true)
        .await;
    // Strangers do not get into a pool that is reserved.
    let mut refused = false;
    for attempt in 0..600 {
        let name = format!("during{attempt}");
        let lived = life_of_a_node(cluster, &name).await;
        refused = lived.is_err_and(|error| error.contains("claims the labels of pool edge"));
        if refused {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert!(refused, "nobody refuses it");
    controllers.stop().await;
    let nodes_before = cluster
        .api::<Node>()
        .list(&ListParams::default())
        .await
        .expect("a list");

    let removal = |dry_run| RemovalOptions {
        namespace: "berth-system".to_owned(),
        keep_definitions: false,
        pools_too: false,
        dry_run,
    };
    // A dry run says the same and does nothing.
    let foreseen = remove(&cluster.client, &removal(true)).await.expect("foreseen");
    assert!(!names::<Berth>(cluster).await.is_empty());
    let removed = remove(&cluster.client, &removal(false)).await.expect("removed");
    assert_eq!(foreseen, removed);
    assert!(
        removed
            .removed
            .contains(&"annotation berth.dev/owned-labels of Node/w2".to_owned()),
        "{removed:#?}"
    );

    for left in [
        names::<ValidatingAdmissionPolicy>(cluster).await,
        names::<ValidatingAdmissionPolicyBinding>(cluster).await,
        names::<MutatingWebhookConfiguration>(cluster).await,
        names::<ValidatingWebhookConfiguration>(cluster).await,
    ] {
        assert_eq!(left, <[String; 0]>::default());
    }
    // Definitions go when their last object has gone.
    let definitions: Api<CustomResourceDefinition> = cluster.api();
    for name in [
        "berths.berth.dev",
        "labelrules.berth.dev",
        "rosters.berth.dev",
        "tokenbindings.berth.dev",
    ] {
        let gone = kube::runtime::wait::await_condition(
            definitions.clone(),
            name,
            |definition: Option<&CustomResourceDefinition>| definition.is_none(),
        );
        gone.await.expect("a watch");
    }
    // Nodes have their labels and taints, and no note.
    for before in nodes_before {
        let after = cluster.api::<Node>().get(&before.name_any()).await.expect("a Node");
        assert_eq!(after.labels(), before.labels());
        let taints = |node: &Node| node.spec.as_ref().and_then(|spec| spec.taints.clone());
        assert_eq!(taints(&after), taints(&before));
        assert_eq!(after.finalizers(), <[String; 0]>::default());
        let notes: Vec<&String> = after
            .annotations()
            .keys()
            .filter(|key| key.starts_with("berth.dev/"))
            .collect();
        assert_eq!(notes, <[&String; 0]>::default());
    }
    // Nobody holds a rendered config any more.
    configs
        .delete(&rendered, &DeleteParams::default())
        .await
        .expect("deleted");
    assert!(configs.get_opt(&rendered).await.expect("an answer").is_none());

    // The API server forgets policies a moment after they are gone.
    let mut last = Ok(());
    for attempt in 0..600 {
        last = life_of_a_node(cluster, &format!("after{attempt}")).await;
        if last.is_ok() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    last.expect("as without Berth");
}

fn rendered(pool: &MachineConfigPool) -> Option<Value> {
    let spec = serde_json::to_value(pool).ok()?;
    let name = spec.pointer("/spec/configuration/name")?.clone();
    name.as_str().filter(|name| !name.is_empty())?;
    Some(name)
}

fn rendered_name(pool: &MachineConfigPool) -> String {
    let name = rendered(pool).unwrap_or_default();
    name.as_str().unwrap_or_default().to_owned()
}
