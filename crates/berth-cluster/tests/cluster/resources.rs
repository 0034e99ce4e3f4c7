//! The CRDs: what the API server takes and what it refuses.

use berth_resources::{Berth, LabelRule, MachineConfig, MachineConfigPool};
use kube::{
    Api,
    api::{DynamicObject, PostParams},
    core::ApiResource,
};
use serde_json::{Value, json};

use crate::support::{Cluster, Needs, from_json, on_both};

on_both! {
    Needs::NOTHING;
    wrong_objects_are_refused_and_openshifts_are_taken,
}

async fn create(cluster: &Cluster, resource: &ApiResource, object: Value) -> Result<(), String> {
    let api: Api<DynamicObject> = Api::all_with(cluster.client.clone(), resource);
    let object: DynamicObject = from_json(object);
    api.create(&PostParams::default(), &object)
        .await
        .map(|_| ())
        .map_err(|error| error.to_string())
}

async fn wrong_objects_are_refused_and_openshifts_are_taken(cluster: &mut Cluster) {
    let berth = ApiResource::erase::<Berth>(&());
    let rule = ApiResource::erase::<LabelRule>(&());
    let own = |kind: &str, spec: Value| json!({"apiVersion": "berth.dev/v1alpha1", "kind": kind, "metadata": {"name": "x"}, "spec": spec});
    for (resource, object, why) in [
        (&berth, own("Berth", json!({"poolPolicy": "sometimes"})), "poolPolicy"),
        (
            &berth,
            own("Berth", json!({"machine": {"macAddresses": ["no"]}})),
            "macAddresses",
        ),
        (
            &berth,
            own("Berth", json!({"taints": [{"key": "a", "effect": "Never"}]})),
            "effect",
        ),
        (
            &berth,
            own("Berth", json!({"labels": {"a": "x".repeat(64)}})),
            "Too long",
        ),
        (
            &rule,
            own("LabelRule", json!({"match": {"namePatterns": [".*"]}})),
            "a rule gives labels or a pool",
        ),
        (
            &rule,
            own("LabelRule", json!({"pool": "a", "match": {"pools": ["b"]}})),
            "cannot match by pool",
        ),
    ] {
        let error = create(cluster, resource, object.clone()).await.expect_err("refused");
        assert!(error.contains(why), "{object}: {error}");
    }
    // What OpenShift's schemas accept: a machine config without spec, null lists, fields that Berth does not know.
    let group = "machineconfiguration.openshift.io/v1";
    let (config, pool) = (
        ApiResource::erase::<MachineConfig>(&()),
        ApiResource::erase::<MachineConfigPool>(&()),
    );
    for (resource, object) in [
        (
            &config,
            json!({"apiVersion": group, "kind": "MachineConfig", "metadata": {"name": "a"}}),
        ),
        (
            &config,
            json!({"apiVersion": group, "kind": "MachineConfig", "metadata": {"name": "b"}, "spec": {
                "kernelArguments": null, "fips": false, "config": {"ignition": {"version": "3.4.0"}, "anything": [1]},
            }}),
        ),
        (
            &pool,
            json!({"apiVersion": group, "kind": "MachineConfigPool", "metadata": {"name": "p"}, "spec": {
                "maxUnavailable": "10%", "paused": true, "pinnedImageSets": [{"name": "x"}],
                "configuration": {"name": "rendered-p-1", "source": [{"kind": "MachineConfig", "name": "a"}]},
                "machineConfigSelector": {"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]},
            }}),
        ),
    ] {
        create(cluster, resource, object.clone())
            .await
            .unwrap_or_else(|error| panic!("{object}: {error}"));
    }
}
