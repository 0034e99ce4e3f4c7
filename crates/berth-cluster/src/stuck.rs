//! What keeps nodes from what their pools want, read from a cluster, and what can be done about it there.

use std::collections::BTreeSet;

use berth_decide::{
    NodeView, TroubledNode,
    pools::{
        Budgets, NodeCase, NodeTrouble, PoolView, Repair, STEP_DAEMON, StuckPod, drains, membership, repair,
        stuck_pods, troubles,
    },
};
use berth_nodes::{Hold, Nodes, Trouble, WriteError};
use jiff::Timestamp;
use k8s_openapi::api::{core::v1::Pod, policy::v1::PodDisruptionBudget};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, Preconditions},
};

use crate::{
    inspect::{Inspection, configs, pool_of},
    missing::is_missing,
};

/// The Pods of so many nodes are looked at; a rollout drains few at once.
const DRAINS: usize = 32;

/// What keeps each of the nodes from what its pool wants. That its daemon does not answer is said of pools as a whole.
pub(crate) async fn troubled(
    client: &Client,
    pools: &[PoolView],
    nodes: &[NodeView],
    now: Timestamp,
) -> kube::Result<Vec<TroubledNode>> {
    if pools.iter().all(|pool| pool.target.is_none()) {
        return Ok(Vec::new());
    }
    let membership = membership(pools);
    let known = rendered_names(client).await?;
    let (mut found, mut looks) = (Vec::new(), 0_usize);
    for node in nodes {
        let Some(pool) = pool_of(&membership, pools, node) else {
            continue;
        };
        let mut stuck = Vec::new();
        if drains(node) && looks < DRAINS {
            looks += 1;
            stuck = stuck_on(client, &node.name, now).await?;
        }
        let asked = wanted(node, pool);
        let case = NodeCase {
            node,
            pool: Some(pool),
            // Whoever may not see them takes it that they are there.
            configs: known.as_ref().unwrap_or(&asked),
            stuck: &stuck,
            now,
        };
        let of_node = troubles(&case)
            .into_iter()
            .filter(|trouble| trouble.step != STEP_DAEMON);
        found.extend(of_node.map(|trouble| TroubledNode {
            node: node.name.clone(),
            pool: pool.name.clone(),
            trouble,
        }));
    }
    found.sort_by(|left, right| (&left.pool, &left.node).cmp(&(&right.pool, &right.node)));
    Ok(found)
}

fn wanted(node: &NodeView, pool: &PoolView) -> BTreeSet<String> {
    let desired = node.annotations.get(berth_pools::annotation::DESIRED_CONFIG);
    desired.into_iter().chain(&pool.target).cloned().collect()
}

/// The names of all configs; `None`: they may not be seen.
async fn rendered_names(client: &Client) -> kube::Result<Option<BTreeSet<String>>> {
    match configs(client).list_metadata(&ListParams::default()).await {
        Ok(configs) => Ok(Some(configs.iter().map(ResourceExt::name_any).collect())),
        Err(kube::Error::Api(status)) if status.is_forbidden() || is_missing(&status) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The Pods that keep a drain from ending. Without the right to list Pods there are none.
pub(crate) async fn stuck_on(client: &Client, node: &str, now: Timestamp) -> kube::Result<Vec<StuckPod>> {
    let here = ListParams::default().fields(&format!("spec.nodeName={node}"));
    let pods = match Api::<Pod>::all(client.clone()).list(&here).await {
        Ok(pods) => pods.items,
        Err(kube::Error::Api(status)) if status.is_forbidden() => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let namespaces: BTreeSet<String> = pods.iter().filter_map(ResourceExt::namespace).collect();
    let mut budgets = Budgets::default();
    for namespace in namespaces {
        let api = Api::<PodDisruptionBudget>::namespaced(client.clone(), &namespace);
        match api.list(&ListParams::default()).await {
            Ok(found) => budgets.extend(&found.items),
            Err(kube::Error::Api(status)) if status.is_forbidden() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(stuck_pods(&pods, &budgets, now))
}

/// How to put things right.
#[derive(Clone, Copy, Debug, Default)]
pub struct MendOptions {
    /// Nothing is written.
    pub dry_run: bool,
    /// Pods that a disruption budget holds are deleted.
    pub delete_pods: bool,
}

/// What was put right.
#[derive(Clone, Debug, Default)]
pub struct Mended {
    /// What was done.
    pub done: Vec<Repair>,
    /// What cannot be put right from here, or was not asked for.
    pub left: Vec<NodeTrouble>,
}

/// Puts right what keeps a node from going on, as far as that is in the cluster.
pub async fn mend(client: &Client, found: Inspection, options: MendOptions) -> Result<Mended, WriteError> {
    let mut mended = Mended::default();
    for trouble in found.troubles {
        match &trouble.repair {
            Some(Repair::DeletePods(_)) if !options.delete_pods => mended.left.push(trouble),
            Some(repair) => mended.done.push(repair.clone()),
            None => mended.left.push(trouble),
        }
    }
    let nodes = Nodes::new(client.clone(), Hold::endless());
    let patch = repair(&found.node, &mended.done);
    if !patch.is_empty() {
        nodes.patch_metadata(&found.node.name, &patch, options.dry_run).await?;
    }
    for repair in &mended.done {
        if let Repair::DeletePods(pods) = repair {
            for pod in pods {
                delete(&nodes, pod, options.dry_run).await?;
            }
        }
    }
    Ok(mended)
}

/// Deletes this very Pod. One that is gone has been replaced by another, which stays.
async fn delete(nodes: &Nodes, pod: &StuckPod, dry_run: bool) -> Result<(), WriteError> {
    let api: Api<Pod> = Api::namespaced(nodes.client().clone(), &pod.namespace);
    let parameters = DeleteParams {
        dry_run,
        preconditions: Some(Preconditions {
            uid: pod.uid.clone(),
            resource_version: None,
        }),
        ..DeleteParams::default()
    };
    match nodes.send(api.delete(&pod.name, &parameters)).await {
        Ok(_) => Ok(()),
        Err(error) if matches!(error.trouble(), Trouble::Missing | Trouble::Conflict) => Ok(()),
        Err(error) => Err(error),
    }
}
