//! What `berth status` shows, read from a cluster.

use berth_decide::{NodeView, Summary, pools::MemberView, summarize};
use berth_pools::NodeState;
use berth_resources::Berth;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::{Api, Client, api::ListParams};

use crate::{inspect::pools, stuck::troubled};

/// Reads a cluster.
pub async fn summary(client: &Client, now: Timestamp) -> kube::Result<Summary> {
    let all = ListParams::default();
    let berths = Api::<Berth>::all(client.clone()).list(&all).await?;
    let nodes = Api::<Node>::all(client.clone()).list(&all).await?;
    let pools = pools(client).await?;
    let nodes: Vec<NodeView> = nodes.items.into_iter().map(NodeView::from).collect();
    let troubled = troubled(client, &pools, &nodes, now).await?;
    let states: Vec<NodeState> = nodes
        .into_iter()
        .map(|node| NodeState {
            labels: node.labels.clone(),
            ..MemberView::from(node).state
        })
        .collect();
    Ok(Summary {
        troubled,
        ..summarize(&pools, &berths.items, &states)
    })
}
