//! Machines that the Machine API, Cluster API or Metal3 take away, also while the operator rolls a pool out.

use berth_testing::operator;

use super::*;

const STATE: &str = "machineconfiguration.openshift.io/state";

/// The definition of a kind that stands for machines.
pub(super) fn machine_kind(group: &str, version: &str, kind: &str, plural: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List")},
            "versions": [{
                "name": version, "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    })
}

#[expect(clippy::too_many_lines, reason = "the same for three kinds of objects")]
pub(super) async fn a_machine_that_is_taken_away_is_let_go(cluster: &mut Cluster) {
    let kinds = [
        ("machine.openshift.io", "v1beta1", "Machine", "machines"),
        ("cluster.x-k8s.io", "v1beta1", "Machine", "machines"),
        ("metal3.io", "v1alpha1", "BareMetalHost", "baremetalhosts"),
    ];
    for (group, version, kind, plural) in kinds {
        cluster.define(machine_kind(group, version, kind, plural)).await;
    }
    let api = |index: usize| -> Api<DynamicObject> {
        let (group, version, kind, plural) = kinds[index];
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
        Api::namespaced_with(cluster.client.clone(), "default", &resource)
    };
    // Which kind stands for the machine, whether its object exists, and whether it is being deleted.
    let machines = [
        ("stays", 0, true, false),
        ("mapi-leaves", 0, true, true),
        ("capi-leaves", 1, true, true),
        ("host-leaves", 2, true, true),
        ("mapi-gone", 0, false, false),
    ];
    for (name, kind, exists, _) in machines {
        let (group, version, kind_name, _) = kinds[kind];
        if exists {
            let object: DynamicObject = from_json(json!({
                "apiVersion": format!("{group}/{version}"), "kind": kind_name,
                "metadata": {"name": name, "namespace": "default", "finalizers": ["example.com/wait"]},
            }));
            api(kind)
                .create(&PostParams::default(), &object)
                .await
                .expect("a machine");
        }
        let annotations = match kind {
            0 => json!({"machine.openshift.io/machine": format!("default/{name}")}),
            1 => json!({"cluster.x-k8s.io/machine": name, "cluster.x-k8s.io/cluster-namespace": "default"}),
            _ => json!({}),
        };
        let provider = (kind == 2).then(|| format!("baremetalhost:///default/{name}/uid"));
        let node: Node = from_json(json!({
            "metadata": {"name": name, "labels": {INFRA: ""}, "annotations": annotations}, "spec": {"providerID": provider},
        }));
        cluster
            .api()
            .create(&PostParams::default(), &node)
            .await
            .expect("a Node");
        report(cluster, name, true).await;
        renew(cluster, name, 1).await;
    }
    let controllers = cluster.controllers(|_| {});
    for (name, kind, _, leaves) in machines {
        cluster
            .berth_with(name, "knew its machine", |berth| {
                let status = berth.status.as_ref();
                status.is_some_and(|status| !status.machine_objects.is_empty())
            })
            .await;
        if leaves {
            api(kind).delete(name, &DeleteParams::default()).await.expect("deleted");
        }
    }
    for (name, ..) in machines {
        cluster.delete_node(name).await;
    }
    comes_back(cluster, "stays").await;
    for (name, words) in [
        ("mapi-leaves", "Machine default/mapi-leaves is being deleted"),
        ("capi-leaves", "Machine default/capi-leaves is being deleted"),
        ("host-leaves", "BareMetalHost default/host-leaves is being deleted"),
        ("mapi-gone", "Machine default/mapi-gone is gone"),
    ] {
        let berth = cluster
            .berth_with(name, "let it go", is_vacant_for("MachineDeleted"))
            .await;
        let conditions = &berth.status.as_ref().expect("a status").conditions;
        assert!(
            conditions.iter().any(|condition| condition.message.starts_with(words)),
            "{conditions:?}"
        );
        assert!(!has_node(cluster, name).await, "{name}");
    }
    // Until it is switched off its kubelet goes on, which shows nothing. What is heard of another one was heard later.
    renew(cluster, "mapi-leaves", 0).await;
    let now = Clock::system().now();
    assert!(
        request_node(&cluster.client, "mapi-gone", now)
            .await
            .expect("an answer")
    );
    comes_back(cluster, "mapi-gone").await;
    controllers.stop().await;
    assert!(!has_node(cluster, "mapi-leaves").await);
    for (name, kind, exists, _) in machines {
        if exists {
            let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
            api(kind)
                .patch(name, &PatchParams::default(), &free)
                .await
                .expect("freed");
        }
    }
}

async fn annotate(cluster: &Cluster, name: &str, annotations: Value) {
    let patch = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
    let nodes: Api<Node> = cluster.api();
    nodes
        .patch(name, &PatchParams::default(), &patch)
        .await
        .expect("annotated");
}

/// A machine of the Machine API that serves in the pool `infra` with a config.
async fn join(cluster: &Cluster, machines: &Api<DynamicObject>, name: &str, old: &str) {
    let machine: DynamicObject = from_json(json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
        "metadata": {"name": name, "namespace": "default", "finalizers": ["example.com/wait"]},
    }));
    machines
        .create(&PostParams::default(), &machine)
        .await
        .expect("a machine");
    cluster.node(name, json!({INFRA: "", WORKER: ""})).await;
    let notes = json!({
        "machine.openshift.io/machine": format!("default/{name}"), CURRENT: old, DESIRED: old, STATE: "Done",
    });
    annotate(cluster, name, notes).await;
    report(cluster, name, true).await;
    renew(cluster, name, 1).await;
}

/// The operator's view of the pool `infra`: its counts, and whom it targets next with `maxUnavailable: 1`.
async fn seen(cluster: &Cluster) -> (operator::PoolCounts, Vec<String>) {
    let pools = objects::<MachineConfigPool>(cluster).await;
    let nodes = objects::<Node>(cluster).await;
    let mut infra = pools.iter().filter(|pool| pool["metadata"]["name"] == "infra");
    let infra = infra.next().expect("a pool");
    let next = operator::next_of(infra, 1, &pools, &nodes);
    let next = next.into_iter().map(str::to_owned).collect();
    (operator::pool_counts(infra, &pools, &nodes), next)
}

/// Machine deleted, Node deleted, and Berth lets go: the rollout of a pool with `maxUnavailable: 1` goes on and ends.
pub(super) async fn a_deleted_machine_holds_up_no_rollout(cluster: &mut Cluster) {
    let (group, version, kind, plural) = ("machine.openshift.io", "v1beta1", "Machine", "machines");
    cluster.define(machine_kind(group, version, kind, plural)).await;
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
    let machines: Api<DynamicObject> = Api::namespaced_with(cluster.client.clone(), "default", &resource);
    let (old, new) = ("rendered-infra-1", "rendered-infra-2");
    let names = ["r1", "r2", "r3"];
    for name in names {
        join(cluster, &machines, name, old).await;
    }
    let target = Patch::Merge(json!({"spec": {"configuration": {"name": new}}}));
    let pools: Api<MachineConfigPool> = cluster.api();
    pools
        .patch("infra", &PatchParams::default(), &target)
        .await
        .expect("a target");
    let history = cluster.history().await;
    let controllers = cluster.controllers(|options| options.flavour = Some(Flavour::Openshift));
    for name in names {
        cluster
            .berth_with(name, "knew its machine and was settled", |berth| {
                let status = berth.status.as_ref();
                berth.phase() == Phase::Occupied && status.is_some_and(|status| !status.machine_objects.is_empty())
            })
            .await;
    }
    let (counts, next) = seen(cluster).await;
    assert_eq!((counts.machines, counts.unavailable, next.len()), (3, 0, 1), "{next:?}");

    // The Machine is marked, and its controller cordons the Node: as without Berth, nothing moves meanwhile.
    let leaves = &next[0];
    machines
        .delete(leaves, &DeleteParams::default())
        .await
        .expect("marked as deleted");
    let cordon = Patch::Merge(json!({"spec": {"unschedulable": true}}));
    cluster
        .api::<Node>()
        .patch(leaves, &PatchParams::default(), &cordon)
        .await
        .expect("cordoned");
    let (counts, blocked) = seen(cluster).await;
    assert_eq!((counts.machines, counts.unavailable, blocked.len()), (3, 1, 0));

    // The Node goes, and stays away.
    cluster.delete_node(leaves).await;
    cluster
        .berth_with(leaves, "let it go", is_vacant_for("MachineDeleted"))
        .await;
    let mut moved = Vec::new();
    for _ in &names[1..] {
        let (counts, next) = seen(cluster).await;
        assert_eq!(
            (counts.machines, counts.unavailable, next.len()),
            (2, 0, 1),
            "{counts:?}"
        );
        let name = &next[0];
        annotate(cluster, name, json!({DESIRED: new, STATE: "Working"})).await;
        let (counts, others) = seen(cluster).await;
        assert_eq!((counts.unavailable, others.len()), (1, 0), "one at a time");
        annotate(cluster, name, json!({CURRENT: new, STATE: "Done"})).await;
        moved.push(name.clone());
    }
    moved.sort();
    let expected: Vec<&str> = names.into_iter().filter(|name| name != leaves).collect();
    assert_eq!(moved, expected);
    let (counts, next) = seen(cluster).await;
    assert!(counts.all_updated() && next.is_empty(), "{counts:?}");
    assert_eq!(counts.machines, 2);
    controllers.stop().await;
    assert!(!has_node(cluster, leaves).await);
    let uids: std::collections::BTreeSet<Option<String>> =
        history.of(leaves).iter().map(kube::ResourceExt::uid).collect();
    assert!(uids.len() <= 1, "it was never created again: {uids:?}");

    // Why it matters: had it come back, the next rollout would wait for a machine that is gone.
    cluster.node(leaves, json!({INFRA: "", WORKER: ""})).await;
    let target = Patch::Merge(json!({"spec": {"configuration": {"name": "rendered-infra-3"}}}));
    pools
        .patch("infra", &PatchParams::default(), &target)
        .await
        .expect("a target");
    let (counts, next) = seen(cluster).await;
    assert_eq!((counts.machines, counts.unavailable, next.len()), (3, 1, 0));
    for name in names {
        let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        machines
            .patch(name, &PatchParams::default(), &free)
            .await
            .expect("freed");
        let _ = machines.delete(name, &DeleteParams::default()).await;
    }
}
