//! A shard whose routers run on the nodes of a remote site.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    REMOTE_WORKER, Server, indices,
    rewrite::{label_rule, matching},
};
use crate::node::PlacementNode;

/// Everything for a shard at a remote site.
#[derive(Clone, Debug)]
pub struct Shard {
    /// The nodes of the site, by their place in the input.
    pub nodes: Vec<usize>,
    /// The controller.
    pub ingress_controller: Value,
    /// The rule that makes the nodes fit for routers, and tells them from those of other sites.
    pub rule: Value,
    /// The label that a Route needs.
    pub route_label: (String, String),
    /// The nodes as a load balancer knows them, those with a known address.
    pub servers: Vec<Server>,
}

/// Plans a shard for a remote site. `None` where no node stands in it.
///
/// The operator gives every router an affinity that refuses nodes whose remote-worker label is empty, as the platform sets it. So the
/// rule gives the label the site's name as value, which passes and selects the site's nodes in one.
pub fn shard(nodes: &[PlacementNode], pools: &[Option<String>], site: &str, domain: &str) -> Option<Shard> {
    let at_site = indices(nodes, |node| node.remote_site.as_deref() == Some(site));
    if at_site.is_empty() {
        return None;
    }
    let route_label = ("type".to_owned(), format!("{site}-route"));
    let ingress_controller = json!({
        "apiVersion": "operator.openshift.io/v1",
        "kind": "IngressController",
        "metadata": {"name": site, "namespace": "openshift-ingress-operator"},
        "spec": {
            "domain": domain,
            "replicas": at_site.len().min(2),
            "endpointPublishingStrategy": {"type": "HostNetwork"},
            "nodePlacement": {"nodeSelector": {"matchLabels": {REMOTE_WORKER: site}}},
            "routeSelector": {"matchLabels": {route_label.0.clone(): route_label.1.clone()}},
        },
    });
    let rule = label_rule(
        &format!("ingress-{site}"),
        &matching(nodes, &at_site, pools),
        &BTreeMap::from([(REMOTE_WORKER.to_owned(), site.to_owned())]),
    );
    let servers = at_site
        .iter()
        .filter_map(|index| nodes.get(*index))
        .filter_map(|node| {
            Some(Server {
                name: node.name.clone(),
                address: node.primary.first()?.addr(),
            })
        })
        .collect();
    Some(Shard {
        nodes: at_site,
        ingress_controller,
        rule,
        route_label,
        servers,
    })
}
