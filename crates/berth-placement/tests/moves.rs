//! What a change of labels moves.

#![expect(clippy::unwrap_used, reason = "helpers of tests: what cannot be read fails the test")]

use std::collections::{BTreeMap, BTreeSet};

use berth_labels::LabelSelector;
use berth_placement::{
    EGRESS_ASSIGNABLE, EgressIp, HostedAddress, Hosting, IngressContext, IngressController, LabelChanges, Moves,
    PlacementNode, RunningRouter, Traffic, moves, plan_egress, relabelled,
};
use proptest::prelude::*;

fn node(name: &str, address: &str, labels: &[(&str, &str)]) -> PlacementNode {
    PlacementNode {
        name: name.to_owned(),
        primary: vec![address.parse().unwrap()],
        labels: labels
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
        ..PlacementNode::default()
    }
}

const EGRESS: (&str, &str) = (EGRESS_ASSIGNABLE, "");
const ROUTERS: (&str, &str) = ("routers", "yes");

/// Three machines of one network: two may host addresses, two may run routers.
fn fleet() -> Vec<PlacementNode> {
    vec![
        node("a", "10.0.0.1/24", &[EGRESS, ROUTERS]),
        node("b", "10.0.0.2/24", &[EGRESS]),
        node("c", "10.0.0.3/24", &[ROUTERS]),
    ]
}

fn traffic() -> Traffic {
    Traffic {
        egress: vec![EgressIp {
            name: "shop".to_owned(),
            addresses: vec!["10.0.0.50".to_owned()],
            all_namespaces: false,
        }],
        controllers: vec![IngressController {
            name: "default".to_owned(),
            node_selector: Some(LabelSelector {
                match_labels: BTreeMap::from([("routers".to_owned(), "yes".to_owned())]),
                ..LabelSelector::default()
            }),
            ..IngressController::default()
        }],
        ingress_context: IngressContext::default(),
        ..Traffic::default()
    }
}

fn hosting(node: &str, router: &str) -> Hosting {
    Hosting {
        addresses: vec![HostedAddress {
            egress_ip: "shop".to_owned(),
            address: "10.0.0.50".to_owned(),
            node: node.to_owned(),
        }],
        routers: vec![RunningRouter {
            pod: "router-default-1".to_owned(),
            controller: "default".to_owned(),
            node: Some(router.to_owned()),
        }],
    }
}

fn change(node: &str, change: LabelChanges) -> BTreeMap<String, LabelChanges> {
    BTreeMap::from([(node.to_owned(), change)])
}

fn without(key: &str) -> LabelChanges {
    LabelChanges {
        remove: BTreeSet::from([key.to_owned()]),
        ..LabelChanges::default()
    }
}

fn after(change: &BTreeMap<String, LabelChanges>, hosting: Option<&Hosting>) -> Moves {
    let before = fleet();
    moves(&before, &relabelled(&before, change), &traffic(), hosting)
}

#[test]
fn nothing_moves_when_nothing_changes() {
    let found = after(&BTreeMap::new(), Some(&hosting("b", "a")));
    assert!(found.is_quiet());
    assert_eq!(found.sentences(), Vec::<String>::new());
    assert_eq!(found.controllers, []);
    // Where the address is counts, not where a fresh assignment would put it.
    assert_eq!(found.addresses[0].to.as_deref(), Some("b"));
}

#[test]
fn an_address_leaves_the_node_that_loses_the_label() {
    let found = after(&change("b", without(EGRESS_ASSIGNABLE)), Some(&hosting("b", "a")));
    assert!(!found.is_quiet());
    assert_eq!(
        found.sentences(),
        [
            "egress address 10.0.0.50 (EgressIP `shop`) moves from b to a: it is not labelled k8s.ovn.org/egress-assignable; connections \
             through it break"
        ]
    );
    // Nobody said where it is: OVN-Kubernetes would have put it on `a`, which keeps its label.
    assert!(after(&change("b", without(EGRESS_ASSIGNABLE)), None).is_quiet());
    assert!(!after(&change("a", without(EGRESS_ASSIGNABLE)), None).is_quiet());
}

#[test]
fn an_address_without_another_node_is_gone() {
    let mut change = change("a", without(EGRESS_ASSIGNABLE));
    change.insert("b".to_owned(), without(EGRESS_ASSIGNABLE));
    let found = after(&change, Some(&hosting("b", "a")));
    assert_eq!(
        (found.addresses[0].from.as_deref(), &found.addresses[0].to),
        (Some("b"), &None)
    );
    assert!(found.sentences()[0].contains("leaves b and finds no other node"));
}

#[test]
fn a_router_on_a_node_that_is_not_selected_any_more_does_not_stay() {
    let found = after(&change("a", without("routers")), Some(&hosting("b", "a")));
    assert_eq!(
        found.sentences(),
        [
            "router router-default-1 (ingress controller `default`) does not stay on a: its controller does not select the node; it runs \
             on until it is started again; it can go to c",
            "ingress controller `default` loses a, has 1 node left for its routers",
        ]
    );
    // A label that nothing looks at moves nothing.
    let other = LabelChanges {
        set: BTreeMap::from([("rack".to_owned(), "r1".to_owned())]),
        ..LabelChanges::default()
    };
    assert!(after(&change("a", other), Some(&hosting("b", "a"))).is_quiet());
}

#[test]
fn a_reboot_moves_what_is_on_the_node_whatever_its_labels() {
    let reboots = LabelChanges {
        reboots: true,
        ..LabelChanges::default()
    };
    let found = after(&change("a", reboots), Some(&hosting("a", "a")));
    assert_eq!(found.addresses[0].reason.as_deref(), Some("the node reboots"));
    assert_eq!(found.addresses[0].to.as_deref(), Some("b"));
    assert_eq!(found.routers[0].reason.as_deref(), Some("the node reboots"));
    assert_eq!(found.routers[0].to, ["c"]);
}

#[test]
fn what_the_cluster_hosts_and_nobody_asks_for_is_shown() {
    let mut hosting = hosting("b", "a");
    hosting.addresses[0].address = "10.0.0.51".to_owned();
    let found = after(&BTreeMap::new(), Some(&hosting));
    let reasons: Vec<_> = found
        .addresses
        .iter()
        .map(|address| address.reason.as_deref().unwrap())
        .collect();
    assert_eq!(
        reasons,
        ["no node hosts it now", "no EgressIP of the site has the address"]
    );
}

#[test]
fn a_new_label_takes_nothing_away() {
    let gets = LabelChanges {
        set: BTreeMap::from([(EGRESS_ASSIGNABLE.to_owned(), String::new())]),
        ..LabelChanges::default()
    };
    assert!(after(&change("c", gets), Some(&hosting("b", "a"))).is_quiet());
}

proptest! {
    /// Whatever is relabelled: an address stays exactly if its node can still host it, and never goes where it cannot be.
    #[test]
    fn addresses_stay_where_they_can(
        networks in prop::collection::vec(0_u8..3, 1..8),
        labels in prop::collection::vec(any::<(bool, bool)>(), 8),
        objects in prop::collection::vec(prop::collection::vec(0_u8..3, 1..3), 1..4),
    ) {
        let before: Vec<PlacementNode> = networks
            .iter()
            .zip(&labels)
            .enumerate()
            .map(|(number, (network, (labelled, _)))| {
                let labels: &[_] = if *labelled { &[EGRESS] } else { &[] };
                node(&format!("n{number}"), &format!("10.0.{network}.{}/24", number + 1), labels)
            })
            .collect();
        let mut changes = BTreeMap::new();
        for (node, (_, changed)) in before.iter().zip(&labels) {
            if *changed && node.labels.is_empty() {
                let set = BTreeMap::from([(EGRESS_ASSIGNABLE.to_owned(), String::new())]);
                changes.insert(node.name.clone(), LabelChanges { set, ..LabelChanges::default() });
            } else if *changed {
                changes.insert(node.name.clone(), without(EGRESS_ASSIGNABLE));
            }
        }
        let egress = objects.iter().enumerate().map(|(object, addresses)| EgressIp {
            name: format!("e{object}"),
            addresses: addresses.iter().enumerate().map(|(at, network)| format!("10.0.{network}.{}", 100 + object * 10 + at)).collect(),
            all_namespaces: false,
        });
        let traffic = Traffic { egress: egress.collect(), ..Traffic::default() };
        let nodes = relabelled(&before, &changes);
        let found = moves(&before, &nodes, &traffic, None);
        let plan = plan_egress(&nodes, &traffic.egress, &traffic.egress_context);
        prop_assert_eq!(found.addresses.len(), plan.addresses.len());
        for address in &plan.addresses {
            let moved = found.addresses.iter().find(|moved| moved.address == address.written).unwrap();
            let can = |name: &str| address.feasible.iter().any(|index| nodes[*index as usize].name == name);
            if let Some(from) = &moved.from {
                prop_assert_eq!(moved.stays(), can(from));
            }
            prop_assert!(moved.to.as_deref().is_none_or(can));
            prop_assert_eq!(moved.reason.is_none(), moved.stays());
        }
        // No node hosts two addresses of one object.
        for object in &traffic.egress {
            let mut hosts: Vec<_> = found.addresses.iter().filter(|a| a.egress_ip == object.name).filter_map(|a| a.to.as_ref()).collect();
            let count = hosts.len();
            hosts.sort();
            hosts.dedup();
            prop_assert_eq!(hosts.len(), count);
        }
    }
}

/// OVN-Kubernetes takes two addresses of an `EgressIP` on one node for a broken status and assigns both again.
#[test]
fn two_addresses_of_an_egress_ip_do_not_stay_on_one_node() {
    let mut traffic = traffic();
    traffic.egress[0].addresses.push("10.0.0.51".to_owned());
    let hosted = |address: &str| HostedAddress {
        egress_ip: "shop".to_owned(),
        address: address.to_owned(),
        node: "a".to_owned(),
    };
    let hosting = Hosting {
        addresses: vec![hosted("10.0.0.50"), hosted("10.0.0.51")],
        routers: Vec::new(),
    };
    let found = moves(&fleet(), &fleet(), &traffic, Some(&hosting));
    let to: BTreeSet<&str> = found
        .addresses
        .iter()
        .filter_map(|address| address.to.as_deref())
        .collect();
    assert_eq!(to, BTreeSet::from(["a", "b"]), "{found:?}");
    assert!(!found.is_quiet());
    let moving = found.addresses.iter().find(|address| !address.stays()).unwrap();
    assert!(
        moving
            .reason
            .as_deref()
            .is_some_and(|reason| reason.contains("two addresses")),
        "{moving:?}"
    );
    // Addresses of two objects share a node.
    let mut other = traffic.clone();
    other.egress[0].addresses.pop();
    other.egress.push(EgressIp {
        name: "bank".to_owned(),
        addresses: vec!["10.0.0.51".to_owned()],
        all_namespaces: false,
    });
    let mut hosting = hosting;
    hosting.addresses[1].egress_ip = "bank".to_owned();
    assert!(moves(&fleet(), &fleet(), &other, Some(&hosting)).is_quiet());
}
