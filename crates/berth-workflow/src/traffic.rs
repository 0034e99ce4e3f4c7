//! What carries traffic in the cluster right now, and where: read before nodes are relabelled.

use berth_documents::{DocumentSet, object_name};
use berth_site::{LiveTraffic, ROUTER_LABEL};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, GroupVersionKind, ListParams},
};
use serde_json::json;

/// Where router pods are.
const ROUTERS: &str = "openshift-ingress";

/// Objects in one answer of a list.
const LIST_PAGE: u32 = 500;

/// Reads what carries traffic. A kind that the cluster does not have has no objects.
pub(crate) async fn live_traffic(client: &Client) -> kube::Result<LiveTraffic> {
    let kinds = [
        ("", "v1", "Node", "nodes", None),
        ("k8s.ovn.org", "v1", "EgressIP", "egressips", None),
        (
            "operator.openshift.io",
            "v1",
            "IngressController",
            "ingresscontrollers",
            None,
        ),
        ("", "v1", "Pod", "pods", Some(ROUTERS)),
    ];
    let mut set = DocumentSet::default();
    for (group, version, kind, plural, namespace) in kinds {
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
        let (api, mut page): (Api<DynamicObject>, _) = match namespace {
            None => (Api::all_with(client.clone(), &resource), ListParams::default()),
            Some(namespace) => (
                Api::namespaced_with(client.clone(), namespace, &resource),
                ListParams::default().labels(ROUTER_LABEL),
            ),
        };
        page = page.limit(LIST_PAGE);
        loop {
            let list = match api.list(&page).await {
                Ok(list) => list,
                // A kind without a definition is answered with a code alone.
                Err(kube::Error::Api(status)) if status.code == 404 => break,
                Err(error) => return Err(error),
            };
            for mut object in list.items {
                object.metadata.managed_fields = None;
                let mut value = serde_json::to_value(object).map_err(kube::Error::SerdeError)?;
                // Objects of a list do not say what they are.
                value["apiVersion"] = json!(resource.api_version);
                value["kind"] = json!(kind);
                set.add_object(object_name(&value), &value);
            }
            match list.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => page = page.continue_token(&token),
                None => break,
            }
        }
    }
    // What the API server took is not judged here.
    Ok(LiveTraffic::read(&set.sources, &set.documents).0)
}
