//! One node between what it runs and what its pool wants, read from a cluster.

use std::collections::{BTreeMap, BTreeSet};

use berth_decide::{
    NodeView,
    pools::{NodeCase, NodeTrouble, PoolView, drains, membership, troubles},
};
use berth_documents::DocumentSet;
use berth_nodes::{Hold, Nodes, Trouble, WriteError};
use berth_pools::{
    Action, Change, DisruptionPolicy, MachineConfig, MachineConfigSpec, Membership, annotation, diff_specs_with,
};
use berth_resources::{MachineConfig as MachineConfigResource, MachineConfigPool};
use berth_site::name_problem;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client, ResourceExt as _,
    api::{DynamicObject, ListParams},
    core::{ApiResource, GroupVersionKind},
};
use tracing::warn;

use crate::{missing::is_missing, stuck::stuck_on};

/// The object with the cluster's policies for what a change needs.
const POLICIES: &str = "cluster";

/// A node and what it is to become.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// The Node.
    pub node: NodeView,
    /// Its pool; `None`: it is in none, or in several.
    pub pool: Option<PoolView>,
    /// What differs between what it runs and what it is to run, with what each change needs; `None`: one of the two is not in
    /// the cluster.
    pub changes: Option<Vec<Change>>,
    /// What all changes need together.
    pub actions: BTreeSet<Action>,
    /// What keeps it from going on.
    pub troubles: Vec<NodeTrouble>,
}

/// Looks at a node; `None`: there is no such Node.
pub async fn inspect(client: &Client, name: &str, now: Timestamp) -> Result<Option<Inspection>, WriteError> {
    let nodes = Nodes::new(client.clone(), Hold::endless());
    let api: Api<Node> = Api::all(client.clone());
    let node = match name_problem(name) {
        None => nodes.send(api.get_opt(name)).await?,
        // What no Node can be called would be a path to something else.
        Some(_) => None,
    };
    let Some(node) = node else {
        return Ok(None);
    };
    let node = NodeView::from(node);
    let pools = pools(client).await.map_err(WriteError::Refused)?;
    let pool = pool_of(&membership(&pools), &pools, &node).cloned();
    let said = |key: &str| node.annotations.get(key).filter(|text| !text.is_empty());
    let (current, desired) = (said(annotation::CURRENT_CONFIG), said(annotation::DESIRED_CONFIG));
    let target = pool.as_ref().and_then(|pool| pool.target.as_ref());
    let mut specs = BTreeMap::new();
    for config in [current, desired, target].into_iter().flatten() {
        if let Some(spec) = rendered(&nodes, config).await? {
            specs.insert(config.clone(), spec);
        }
    }
    let spec = |name: Option<&String>| specs.get(name?);
    let mut changes = None;
    let mut actions = BTreeSet::new();
    if let (Some(old), Some(new)) = (spec(current), spec(desired).or_else(|| spec(target))) {
        let policy = disruption_policy(&nodes).await?;
        if let Ok(diff) = diff_specs_with(old, new, &policy) {
            if !diff.is_empty() {
                actions = diff.actions();
            }
            changes = Some(diff.changes);
        }
    }
    let configs = specs.into_keys().collect();
    let stuck = if drains(&node) {
        stuck_on(client, name, now).await.map_err(WriteError::Refused)?
    } else {
        Vec::new()
    };
    let troubles = troubles(&NodeCase {
        node: &node,
        pool: pool.as_ref(),
        configs: &configs,
        stuck: &stuck,
        now,
    });
    Ok(Some(Inspection {
        node,
        pool,
        changes,
        actions,
        troubles,
    }))
}

/// The pools of a cluster, which need not have any.
pub(crate) async fn pools(client: &Client) -> kube::Result<Vec<PoolView>> {
    let pools: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::erase::<MachineConfigPool>(&()));
    match pools.list(&ListParams::default()).await {
        Ok(pools) => Ok(pools
            .items
            .into_iter()
            .filter_map(|pool| Some(PoolView::read(&serde_json::to_value(pool).ok()?)))
            .collect()),
        Err(kube::Error::Api(status)) if is_missing(&status) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// The pool whose config a node runs.
pub(crate) fn pool_of<'a>(membership: &Membership, pools: &'a [PoolView], node: &NodeView) -> Option<&'a PoolView> {
    let placement = membership.of(&node.name, &node.labels).ok()?;
    let primary = placement.primary()?;
    pools.iter().find(|pool| *pool.name == **primary)
}

/// What rendered configs are asked through.
pub(crate) fn configs(client: &Client) -> Api<DynamicObject> {
    Api::all_with(client.clone(), &ApiResource::erase::<MachineConfigResource>(&()))
}

/// A config of the cluster; `None`: there is none of this name.
pub(crate) async fn rendered(nodes: &Nodes, name: &str) -> Result<Option<MachineConfigSpec>, WriteError> {
    match nodes.send(configs(nodes.client()).get(name)).await {
        Ok(object) => Ok(spec(object)),
        Err(error) if matches!(error.trouble(), Trouble::Missing | Trouble::Unnameable(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What a config says. One that cannot be read is as good as none.
pub(crate) fn spec(object: DynamicObject) -> Option<MachineConfigSpec> {
    let name = object.name_any();
    let read = serde_json::to_value(object).map_err(|error| error.to_string());
    let read = read.and_then(|json| MachineConfig::from_json(&json).map_err(|error| error.to_string()));
    match read {
        Ok(config) => Some(config.spec),
        Err(error) => {
            warn!(name, error, "the rendered config cannot be read");
            None
        }
    }
}

/// What a change needs in this cluster: Berth's policies with the cluster's own on top. Whoever may not read these goes by Berth's.
pub(crate) async fn disruption_policy(nodes: &Nodes) -> Result<DisruptionPolicy, WriteError> {
    let kind = GroupVersionKind::gvk("operator.openshift.io", "v1", "MachineConfiguration");
    let policies: Api<DynamicObject> = Api::all_with(nodes.client().clone(), &ApiResource::from_gvk(&kind));
    let found = match nodes.send(policies.get(POLICIES)).await {
        Ok(found) => serde_json::to_value(found).ok(),
        Err(error) => match error.trouble() {
            Trouble::Missing | Trouble::Forbidden(_) => None,
            _ => return Err(error),
        },
    };
    let set = DocumentSet::of_objects(&found);
    let (site, _) = berth_site::load(&set.sources, &set.documents);
    Ok(DisruptionPolicy::default().with(&site.disruption))
}
