//! Traffic as a cluster shows it: who hosts which egress address, and where routers run.

use std::collections::{BTreeMap, HashMap};

use berth_documents::{Diagnostic, Document, Node, Sources};
use berth_placement::{
    Capacity, HostedAddress, Hosting, LabelChanges, Moves, PlacementNode, RunningRouter, Taint, Traffic, moves,
    relabelled,
};

use super::{Placement, egress_ips};
use crate::{
    load::load,
    model::{ObservedNode, Site},
    network::ObservedNetwork,
};

/// The label of a router pod: the ingress controller that it belongs to.
pub const ROUTER_LABEL: &str = "ingresscontroller.operator.openshift.io/deployment-ingresscontroller";

/// What a cluster shows at one moment: `EgressIP`s with their status, `IngressController`s, router pods and Nodes.
#[derive(Debug, Default)]
pub struct LiveTraffic {
    /// The objects, without their state.
    pub site: Site,
    /// What runs where.
    pub hosting: Hosting,
}

impl LiveTraffic {
    /// Reads the objects, and says what of them cannot be read.
    pub fn read(sources: &Sources, documents: &[Document]) -> (Self, Vec<Diagnostic>) {
        let (site, findings) = load(sources, documents);
        let hosted = site.egress_ips.iter().flat_map(|object| {
            object.status.iter().map(|(node, address)| HostedAddress {
                egress_ip: object.name.value.to_string(),
                address: address.value.clone(),
                node: node.clone(),
            })
        });
        let hosting = Hosting {
            addresses: hosted.collect(),
            routers: documents.iter().filter_map(router).collect(),
        };
        (Self { site, hosting }, findings)
    }
}

fn router(document: &Document) -> Option<RunningRouter> {
    if document.kind() != "Pod" {
        return None;
    }
    let controller = document.labels()?.get(ROUTER_LABEL)?.as_str()?;
    // A pod that has ended serves nobody; its successor is another pod.
    let phase = document.root.at(&["status", "phase"]).and_then(Node::as_str);
    if matches!(phase, Some("Succeeded" | "Failed")) {
        return None;
    }
    Some(RunningRouter {
        pod: document.name()?.0.to_owned(),
        controller: controller.to_owned(),
        node: document
            .root
            .at(&["spec", "nodeName"])
            .and_then(Node::as_str)
            .map(str::to_owned),
    })
}

/// Takes the networks of a node from what the cluster found there.
pub(super) fn observed_networks(node: &mut PlacementNode, network: &ObservedNetwork) {
    node.primary.clone_from(&network.primary);
    node.secondary = network
        .host
        .iter()
        .filter(|address| !network.primary.contains(address))
        .copied()
        .collect();
    node.addresses.clone_from(&network.addresses);
    if let Some(cloud) = &network.cloud {
        node.primary.clone_from(&cloud.networks);
        node.capacity = Some(Capacity {
            total: cloud.capacity,
            ipv4: cloud.capacity_ipv4,
            ipv6: cloud.capacity_ipv6,
        });
    }
}

/// Taints that Kubernetes sets while a node is in some condition. They come and go, and say nothing about where pods belong.
const CONDITIONS: [&str; 7] = [
    "node.cloudprovider.kubernetes.io/uninitialized",
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/network-unavailable",
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/pid-pressure",
    "node.kubernetes.io/unreachable",
];

/// The lasting taints of a live node.
pub(super) fn observed_taints(live: &ObservedNode) -> Vec<Taint> {
    let lasting = live.taints.iter().filter(|taint| !CONDITIONS.contains(&&*taint.key));
    let taints = lasting.map(|taint| Taint {
        key: taint.key.clone(),
        value: taint.value.clone(),
        effect: taint.effect.clone(),
    });
    taints.collect()
}

impl Placement<'_> {
    /// Takes the nodes as a cluster shows them. What is only in the documents is not there; a node that is only in the cluster joins
    /// the others.
    pub fn observe(&mut self, live: &LiveTraffic) {
        let mut known: HashMap<&str, &ObservedNode> = HashMap::new();
        for node in &live.site.observed {
            known.insert(&node.name.value, node);
        }
        for node in &mut self.nodes {
            match known.remove(node.name.as_str()) {
                Some(live) => observe_node(node, live),
                None => node.not_ready = true,
            }
        }
        for live in live
            .site
            .observed
            .iter()
            .filter(|live| known.contains_key(&*live.name.value))
        {
            let mut node = PlacementNode {
                name: live.name.value.to_string(),
                ..PlacementNode::default()
            };
            observe_node(&mut node, live);
            node.remote_site = self.site_of(&node);
            self.nodes.push(node);
            self.pools.push(None);
            self.spans.push((live.name.span, None));
        }
    }

    /// Which egress addresses and routers move when nodes are relabelled, beginning with what the cluster shows. Objects that it has
    /// none of are the site's.
    pub fn live_moves(&self, changes: &BTreeMap<String, LabelChanges>, live: &LiveTraffic) -> Moves {
        let mut traffic = self.traffic();
        let has_egress = !live.site.egress_ips.is_empty();
        if has_egress {
            traffic.egress = egress_ips(&live.site);
        }
        if !live.site.ingress_controllers.is_empty() {
            let controllers = live.site.ingress_controllers.iter();
            traffic.controllers = controllers.map(|document| document.controller.clone()).collect();
        }
        let found = |traffic: &Traffic, hosting: Option<&Hosting>| {
            moves(&self.nodes, &relabelled(&self.nodes, changes), traffic, hosting)
        };
        let shown = found(&traffic, Some(&live.hosting));
        if has_egress {
            return shown;
        }
        // Nobody hosts an address yet: where OVN-Kubernetes would put it is all there is to say.
        Moves {
            addresses: found(&traffic, None).addresses,
            ..shown
        }
    }
}

fn observe_node(node: &mut PlacementNode, live: &ObservedNode) {
    node.labels.clone_from(&live.labels);
    node.taints = observed_taints(live);
    node.not_ready = live.ready == Some(false);
    if live.network.is_known() {
        observed_networks(node, &live.network);
    }
}
