//! A machine shows elsewhere than in the cluster that it is about to join.

use jiff::Timestamp;
use kube::{
    Api, Client, ResourceExt as _,
    api::{ListParams, Patch, PatchParams},
};
use serde_json::json;

use berth_decide::names;
use berth_resources::Berth;

/// Asks for the Node of a machine to be created, by a note on its Berth. `false` when no Berth reserves the name.
pub async fn request_node(client: &Client, node: &str, now: Timestamp) -> kube::Result<bool> {
    let berths: Api<Berth> = Api::all(client.clone());
    let found = match berths.get_opt(node).await? {
        Some(berth) if berth.node_name() == node => Some(berth),
        // A Berth may have another name than its Node.
        _ => {
            let all = berths.list(&ListParams::default()).await?;
            all.items.into_iter().find(|berth| berth.node_name() == node)
        }
    };
    let Some(berth) = found else {
        return Ok(false);
    };
    let patch = Patch::Merge(json!({"metadata": {"annotations": {names::REQUESTED: now.to_string()}}}));
    let parameters = PatchParams {
        field_manager: Some(names::FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    berths.patch(&berth.name_any(), &parameters, &patch).await?;
    Ok(true)
}
