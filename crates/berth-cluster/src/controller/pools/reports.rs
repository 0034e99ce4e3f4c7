//! The objects about nodes: a `MachineConfigNode` for each, where the cluster has the kind. One that somebody else made, such as
//! OpenShift's operator, is theirs to write.

use berth_decide::{
    merge_diff, names,
    pools::{MemberView, machine_node_spec, machine_node_status},
};
use berth_nodes::parameters;
use berth_resources::{MachineConfigNode, MachineConfigNodeStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{
    Api, ResourceExt as _,
    api::{Patch, PostParams},
};
use serde_json::json;

use super::jobs::Answer;
use crate::{
    controller::writer::{WriteError, Writer},
    missing::{is_missing, is_missing_kind},
};

/// Says who made an object.
const MADE_BY: &str = "app.kubernetes.io/managed-by";

/// Makes the object say what the Node says.
pub(super) async fn write(writer: &Writer, node: &MemberView, pool: Option<&str>) -> Result<Answer, WriteError> {
    let api: Api<MachineConfigNode> = Api::all(writer.client());
    let name = &node.state.name;
    let spec = machine_node_spec(node, pool);
    let found = match writer.request("report", "get", api.get_opt(name)).await {
        Ok(found) => found,
        Err(WriteError::Refused(kube::Error::Api(status))) if is_missing_kind(&status) => return Ok(Answer::NoReports),
        Err(error) => return Err(error),
    };
    // The object of a Node that was deleted goes with it.
    let of_node = |found: &MachineConfigNode| found.owner_references().iter().any(|owner| owner.uid == node.uid);
    let mut object = match found {
        None => {
            let mut made = MachineConfigNode::new(name, spec.clone());
            made.metadata.owner_references = Some(vec![owner(node)]);
            made.metadata.labels = Some([(MADE_BY.to_owned(), names::FIELD_MANAGER.to_owned())].into());
            let parameters = PostParams {
                field_manager: Some(names::FIELD_MANAGER.to_owned()),
                ..PostParams::default()
            };
            let made = api.create(&parameters, &made);
            match writer.request("report", "create", made).await {
                Ok(made) => made,
                // The definition went between the two requests, or was never there for a `GET` to say so.
                Err(WriteError::Refused(kube::Error::Api(status))) if is_missing(&status) => {
                    return Ok(Answer::NoReports);
                }
                Err(error) => return Err(error),
            }
        }
        Some(found) if found.labels().get(MADE_BY).is_some_and(|by| by == names::FIELD_MANAGER) => found,
        Some(_) => return Ok(Answer::Nothing),
    };
    if object.spec != spec || !of_node(&object) {
        let patch = Patch::Merge(json!({
            "metadata": {"resourceVersion": object.resource_version(), "ownerReferences": [owner(node)]},
            "spec": spec,
        }));
        let parameters = parameters();
        let patched = api.patch(name, &parameters, &patch);
        object = writer.request("report", "patch", patched).await?;
    }
    let before = object.status.clone().unwrap_or_default();
    let after = machine_node_status(node, &before, object.metadata.generation, writer.now());
    if let Some(patch) = difference(&before, &after) {
        let patch = Patch::Merge(json!({
            "metadata": {"resourceVersion": object.resource_version()}, "status": patch,
        }));
        let parameters = parameters();
        let patched = api.patch_status(name, &parameters, &patch);
        writer.request("report", "status", patched).await?;
    }
    Ok(Answer::Nothing)
}

fn difference(before: &MachineConfigNodeStatus, after: &MachineConfigNodeStatus) -> Option<serde_json::Value> {
    merge_diff(&serde_json::to_value(before).ok()?, &serde_json::to_value(after).ok()?)
}

/// The Node, with which the object goes.
fn owner(node: &MemberView) -> OwnerReference {
    OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Node".to_owned(),
        name: node.state.name.clone(),
        uid: node.uid.clone(),
        ..OwnerReference::default()
    }
}
