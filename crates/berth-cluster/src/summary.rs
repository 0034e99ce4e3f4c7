//! What `berth status` shows, read from a cluster.

use berth_decide::{Summary, summarize};
use berth_resources::{Berth, MachineConfigPool};
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client,
    api::{DynamicObject, ListParams},
    core::ApiResource,
};

use crate::missing::is_missing;

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
