//! Questions to which Berth and the operator give one answer, over objects that an API server has.

use berth_clock::Clock;
use berth_cluster::summary;
use berth_decide::Serving;
use berth_documents::DocumentSet;
use berth_pools::RenderOptions;
use berth_site::{Resolver, check, load, machine_configs, name_notes, render_pool};
use berth_testing::{Operator, operator};

use super::*;

const CONTROLLER_CONFIGS: (&str, &str) = ("ControllerConfig", "controllerconfigs");

/// The operator's object with images and certificates, where the cluster has the kind.
async fn controller_config(cluster: &Cluster) -> Value {
    let (kind, plural) = CONTROLLER_CONFIGS;
    let group = "machineconfiguration.openshift.io";
    let mut definition = machine_kind(group, "v1", kind, plural);
    definition["spec"]["scope"] = json!("Cluster");
    cluster.define(definition).await;
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural);
    let api: Api<DynamicObject> = Api::all_with(cluster.client.clone(), &resource);
    let name = "machine-config-controller";
    let object = json!({
        "apiVersion": format!("{group}/v1"), "kind": kind, "metadata": {"name": name},
        "spec": {
            "baseOSContainerImage": "registry.example/os@sha256:0123",
            "baseOSExtensionsContainerImage": "registry.example/extensions@sha256:4567",
            "kubeAPIServerServingCAData": "Q0E=", "clusterDNSIP": "172.30.0.10",
        },
    });
    let parameters = PatchParams::apply("operator").force();
    let applied = api.patch(name, &parameters, &Patch::Apply(object)).await;
    json!(applied.expect("a ControllerConfig"))
}

/// A machine config, as the operator generates it or as people write it.
async fn machine_config(cluster: &Cluster, name: &str, role: &str, generated: bool, config: Value) {
    let mut annotations = json!({});
    if generated {
        annotations["machineconfiguration.openshift.io/generated-by-controller-version"] = json!("4a1b2c");
    }
    let object: MachineConfig = from_json(json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
        "metadata": {
            "name": name, "labels": {"machineconfiguration.openshift.io/role": role}, "annotations": annotations,
        },
        "spec": {"config": config, "kernelArguments": ["nosmt"]},
    }));
    let configs: Api<MachineConfig> = cluster.api();
    configs.create(&PostParams::default(), &object).await.expect("a config");
}

/// The configs of two roles, and the pool `infra` that takes both.
async fn sources(cluster: &Cluster) {
    let unit = json!({"name": "kubelet.service", "enabled": true, "contents": UNIT});
    let worker = json!({"ignition": {"version": "3.4.0"}, "systemd": {"units": [unit]}});
    machine_config(cluster, "01-worker-kubelet", "worker", true, worker).await;
    let file = json!({"path": "/etc/motd", "mode": 420, "contents": {"source": "data:,infra%20%C3%A9"}});
    let drop_in =
        json!({"name": "kubelet.service", "dropins": [{"name": "20-a.conf", "contents": "[Service]\nNice=5\n"}]});
    let infra = json!({
        "ignition": {"version": "3.2.0"}, "storage": {"files": [file]}, "systemd": {"units": [drop_in]},
    });
    machine_config(cluster, "50-infra", "infra", false, infra).await;
    let select = Patch::Merge(json!({"spec": {"machineConfigSelector": {"matchExpressions": [{
        "key": "machineconfiguration.openshift.io/role", "operator": "In", "values": ["worker", "infra"],
    }]}}}));
    let pools: Api<MachineConfigPool> = cluster.api();
    pools
        .patch("infra", &PatchParams::default(), &select)
        .await
        .expect("a selector");
}

/// Which config a new machine boots with, also where its Node was found and nobody declared its pool.
pub(super) async fn machines_are_served_what_the_operator_serves(cluster: &mut Cluster) {
    let controller = controller_config(cluster).await;
    for pool in ["worker", "infra", "storage"] {
        rendered(cluster, pool, &format!("rendered-{pool}-1"), UNIT, "").await;
    }
    // `infra` has a target that no machine runs, `storage` one that a machine runs.
    let pools: Api<MachineConfigPool> = cluster.api();
    for (pool, updated) in [("infra", 0), ("storage", 1)] {
        let next: MachineConfig = from_json(json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
            "metadata": {"name": format!("rendered-{pool}-2")},
            "spec": {"config": {"ignition": {"version": "3.4.0"}}},
        }));
        let configs: Api<MachineConfig> = cluster.api();
        configs.create(&PostParams::default(), &next).await.expect("a config");
        let spec = Patch::Merge(json!({"spec": {"configuration": {"name": format!("rendered-{pool}-2")}}}));
        pools
            .patch(pool, &PatchParams::default(), &spec)
            .await
            .expect("a target");
        let status = Patch::Merge(json!({"status": {"updatedMachineCount": updated}}));
        pools
            .patch_status(pool, &PatchParams::default(), &status)
            .await
            .expect("a count");
    }
    cluster.node("found", json!({INFRA: "", WORKER: ""})).await;
    let controllers = cluster.controllers(|options| options.flavour = Some(Flavour::Openshift));
    cluster
        .berth_with("found", "was adopted", |berth| {
            berth.status.as_ref().and_then(|status| status.pool.as_deref()) == Some("infra")
        })
        .await;
    controllers.stop().await;

    let pools = objects::<MachineConfigPool>(cluster).await;
    let mut all = vec![controller];
    all.extend(objects::<MachineConfig>(cluster).await);
    all.extend(objects::<Berth>(cluster).await);
    all.extend(pools.iter().cloned());
    let serving = Serving::of_cluster(&all, None::<Flavour>);
    assert_eq!(serving.flavour, Flavour::Openshift);
    for pool in &pools {
        let name = pool["metadata"]["name"].as_str().expect("a name");
        let config = serving.pools[name].config.as_ref().expect("a config");
        assert_eq!(config.name, operator::served_config(pool), "{pool}");
    }
    let served = |pool: &str| serving.pools[pool].config.as_ref().expect("a config").name.clone();
    assert_eq!(
        [served("worker"), served("infra"), served("storage")],
        ["rendered-worker-1", "rendered-infra-1", "rendered-storage-2"]
    );
    let place = serving.nodes["found"].as_ref().expect("a place");
    assert_eq!(place.pool, "infra");
    let certificates = serving.controller_config.map(|config| config.kubelet_ca);
    assert_eq!(certificates.as_deref(), Some(b"CA".as_slice()));
}

/// The name of a rollout, from the objects of a cluster, before the operator has rendered it.
pub(super) async fn a_rendered_config_has_the_operators_name(cluster: &mut Cluster) {
    let Some(operator) = Operator::for_test() else {
        return;
    };
    let controller = controller_config(cluster).await;
    sources(cluster).await;
    let mut all = vec![controller.clone()];
    all.extend(objects::<MachineConfig>(cluster).await);
    all.extend(objects::<MachineConfigPool>(cluster).await);
    let set = DocumentSet::of_objects(&all);
    let (site, findings) = load(&set.sources, &set.documents);
    assert_eq!(findings, []);
    let infra = site
        .pools
        .iter()
        .find(|pool| &*pool.name.value == "infra")
        .expect("a pool");
    let ours = render_pool(&site, infra, &RenderOptions::default()).expect("rendered");
    let configs = machine_configs(&site).into_iter();
    let inputs: Vec<Value> = configs
        .filter(|config| ours.sources.contains(&config.name))
        .map(berth_pools::MachineConfig::to_json)
        .collect();
    assert_eq!(inputs.len(), 2);
    let theirs = operator.render("infra", &[(inputs, Some(controller))]);
    let theirs = theirs.into_iter().next().expect("an answer").expect("rendered");
    assert_eq!((&ours.name, json!(ours.spec)), (&theirs.name, theirs.spec));
    // Nothing is missing, so that nothing is said about the name. Without the operator's object it is.
    let notes = |all: &[Value]| {
        let set = DocumentSet::of_objects(all);
        let site = load(&set.sources, &set.documents).0;
        let infra = site
            .pools
            .iter()
            .find(|pool| &*pool.name.value == "infra")
            .expect("a pool");
        let rendered = render_pool(&site, infra, &RenderOptions::default()).expect("rendered");
        name_notes(&site, site.flavour_for(None), [(infra, &rendered)]).len()
    };
    assert_eq!((notes(&all), notes(&all[1..])), (0, 1));
}

/// `berth lint` on what `oc get -o yaml` gives.
pub(super) async fn a_dump_of_the_cluster_says_whose_rules_hold(cluster: &mut Cluster) {
    sources(cluster).await;
    let mut all = objects::<MachineConfig>(cluster).await;
    all.extend(objects::<MachineConfigPool>(cluster).await);
    let set = DocumentSet::of_objects(&all);
    let (site, _) = load(&set.sources, &set.documents);
    let stopped = |flavour: Flavour| {
        let resolver = Resolver::new(&site, flavour);
        let found = check(&set.sources, &resolver, &resolver.resolve_all());
        found
            .iter()
            .filter(|finding| finding.code() == "kubelet-stopped")
            .count()
    };
    assert_eq!(site.flavour_for(None), Flavour::Openshift);
    assert_eq!(stopped(site.flavour_for(None)), 0);
    assert_ne!(stopped(Flavour::Upstream), 0, "the unit gives the worker's role");
}

const MANY: usize = 100;

/// After an administrator moved a hundred Nodes, and of places that were given up.
pub(super) async fn pools_are_counted_as_the_operator_counts_them(cluster: &mut Cluster) {
    let names: Vec<String> = (0..MANY).map(|number| format!("n{number:03}")).collect();
    for name in &names {
        cluster.node(name, json!({WORKER: ""})).await;
    }
    let controllers = cluster.controllers(|options| options.flavour = Some(Flavour::Openshift));
    counted(cluster, [("infra", 0), ("worker", MANY)]).await;
    for name in &names {
        cluster.label(name, json!({INFRA: ""})).await;
    }
    counted(cluster, [("infra", MANY), ("worker", 0)]).await;
    // A place is given up, and its Node goes.
    cluster.edit_berth("n000", json!({"release": true})).await;
    cluster
        .berth_with("n000", "was released", |berth| berth.phase() == Phase::Released)
        .await;
    cluster.delete_node("n000").await;
    counted(cluster, [("infra", MANY - 1), ("worker", 0)]).await;
    controllers.stop().await;
    assert!(!has_node(cluster, "n000").await);
}

/// Waits until Berth's counts are these, and the operator's are the same.
async fn counted<const POOLS: usize>(cluster: &Cluster, expected: [(&str, usize); POOLS]) {
    let pools = objects::<MachineConfigPool>(cluster).await;
    let counted = async {
        loop {
            let summary = summary(&cluster.client, Clock::system().now())
                .await
                .expect("a summary");
            let count = |name: &str| {
                summary
                    .pools
                    .iter()
                    .find(|pool| pool.name == name)
                    .map(|pool| pool.berths)
            };
            if expected.iter().all(|(name, number)| count(name) == Some(*number)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let patience = Duration::from_mins(3);
    assert!(
        tokio::time::timeout(patience, counted).await.is_ok(),
        "never counted {expected:?}: {:?}",
        summary(&cluster.client, Clock::system().now())
            .await
            .expect("a summary")
            .pools
    );
    let nodes = objects::<Node>(cluster).await;
    for (name, number) in expected {
        assert_eq!(operator::nodes_of(name, &pools, &nodes).len(), number, "{name}");
    }
}
