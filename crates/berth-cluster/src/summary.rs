//! What `berth status` shows: pools, berths, drift and conflicts.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client, ResourceExt as _,
    api::{DynamicObject, ListParams},
    core::ApiResource,
};
use serde::Serialize;

use crate::missing::is_missing;
use berth_decide::names::{condition, reason};
use berth_resources::{Berth, MachineConfigPool};

/// The state of a cluster in a few lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The pools, by name.
    pub pools: Vec<PoolSummary>,
    /// The Berths, by name.
    pub berths: Vec<BerthSummary>,
    /// Nodes that have no Berth.
    pub without_berth: Vec<String>,
}

/// One pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PoolSummary {
    /// Its name.
    pub name: String,
    /// Berths in it.
    pub berths: usize,
    /// Berths in it that are ready.
    pub ready: usize,
}

/// One Berth.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BerthSummary {
    /// Its name.
    pub name: String,
    /// The Node's name.
    pub node: String,
    /// The pool.
    pub pool: Option<String>,
    /// Where it stands.
    pub phase: &'static str,
    /// Whether all is as declared.
    pub ready: bool,
    /// Why not, in one word.
    pub reason: String,
    /// Why not, in a sentence.
    pub message: String,
}

impl BerthSummary {
    /// Whether a declared label is not there because an administrator removed it on purpose.
    pub fn is_held_back(&self) -> bool {
        self.ready && self.reason == reason::REMOVED_ON_PURPOSE
    }

    /// Whether something is not as declared. A machine that has not come yet, or whose place was given up, is not drift.
    pub fn has_drifted(&self) -> bool {
        !self.ready
            && ![reason::AWAITING_MACHINE, reason::PREREGISTERED, reason::RELEASED].contains(&self.reason.as_str())
    }
}

/// Reads a cluster.
pub async fn summary(client: &Client) -> kube::Result<Summary> {
    let all = ListParams::default();
    let berths = Api::<Berth>::all(client.clone()).list(&all).await?;
    let nodes = Api::<Node>::all(client.clone()).list_metadata(&all).await?;
    let pools: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::erase::<MachineConfigPool>(&()));
    let pools = match pools.list_metadata(&all).await {
        Ok(pools) => pools.iter().map(kube::ResourceExt::name_any).collect(),
        // A cluster need not have pools.
        Err(kube::Error::Api(status)) if is_missing(&status) => Vec::new(),
        Err(error) => return Err(error),
    };
    let nodes = nodes.iter().map(kube::ResourceExt::name_any);
    Ok(summarize(pools, &berths.items, nodes))
}

/// Sums up. Pools that only Berths know of are shown too.
pub fn summarize(
    pools: impl IntoIterator<Item = String>,
    berths: &[Berth],
    nodes: impl IntoIterator<Item = String>,
) -> Summary {
    let mut by_pool: BTreeMap<String, PoolSummary> = pools
        .into_iter()
        .map(|name| {
            let pool = PoolSummary {
                name: name.clone(),
                ..PoolSummary::default()
            };
            (name, pool)
        })
        .collect();
    let mut rows: Vec<BerthSummary> = berths.iter().map(row).collect();
    rows.sort_by(|left, right| left.name.cmp(&right.name));
    for row in &rows {
        if let Some(name) = &row.pool {
            let pool = by_pool.entry(name.clone()).or_default();
            pool.name.clone_from(name);
            pool.berths += 1;
            pool.ready += usize::from(row.ready);
        }
    }
    let mut without_berth: Vec<String> = nodes
        .into_iter()
        .filter(|node| !rows.iter().any(|row| row.node == *node))
        .collect();
    without_berth.sort();
    Summary {
        pools: by_pool.into_values().collect(),
        berths: rows,
        without_berth,
    }
}

fn row(berth: &Berth) -> BerthSummary {
    let status = berth.status.clone().unwrap_or_default();
    let ready = status.conditions.iter().find(|known| known.type_ == condition::READY);
    BerthSummary {
        name: berth.name_any(),
        node: berth.node_name(),
        pool: status.pool,
        phase: berth.phase().as_str(),
        ready: ready.is_some_and(|ready| ready.status == "True"),
        reason: ready.map_or_else(String::new, |ready| ready.reason.clone()),
        message: ready.map_or_else(
            || "no controller has looked at it yet; `berth doctor` says why".to_owned(),
            |ready| ready.message.clone(),
        ),
    }
}
