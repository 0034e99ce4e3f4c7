//! What `berth status` shows, read from a cluster.

use berth_decide::{Summary, summarize};
use berth_pools::NodeState;
use berth_resources::Berth;
use k8s_openapi::api::core::v1::Node;
use kube::{Api, Client, ResourceExt as _, api::ListParams};

use crate::inspect::pools;

/// Reads a cluster.
pub async fn summary(client: &Client) -> kube::Result<Summary> {
    let all = ListParams::default();
    let berths = Api::<Berth>::all(client.clone()).list(&all).await?;
    let nodes = Api::<Node>::all(client.clone()).list_metadata(&all).await?;
    let pools = pools(client).await?;
    let nodes: Vec<NodeState> = nodes
        .into_iter()
        .map(|node| NodeState {
            name: node.name_any(),
            labels: node.metadata.labels.unwrap_or_default(),
            annotations: node.metadata.annotations.unwrap_or_default(),
            ..NodeState::default()
        })
        .collect();
    Ok(summarize(&pools, &berths.items, &nodes))
}
