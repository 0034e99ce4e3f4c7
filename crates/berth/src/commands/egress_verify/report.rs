//! What `berth egress verify` prints.

use std::{collections::BTreeMap, fmt::Write as _};

use berth_placement::Moves;
use berth_site::Placement;
use serde::Serialize;

use crate::output::{Report, Table, counted};

/// What stays and what moves. The fields are a contract.
#[derive(Debug, Serialize)]
pub(super) struct VerifyReport {
    addresses: Vec<AddressReport>,
    routers: Vec<RouterReport>,
    controllers: Vec<ControllerReport>,
    reboots: Vec<String>,
}

#[derive(Debug, Serialize)]
struct AddressReport {
    egressip: String,
    address: String,
    node: Option<String>,
    best: Option<String>,
    stays: bool,
    to: Option<String>,
    reason: Option<String>,
}

#[derive(Debug, Serialize)]
struct RouterReport {
    pod: String,
    controller: String,
    node: Option<String>,
    stays: bool,
    to: Vec<String>,
    reason: Option<String>,
}

#[derive(Debug, Serialize)]
struct ControllerReport {
    controller: String,
    lost: Vec<String>,
    gained: Vec<String>,
    left: usize,
}

impl VerifyReport {
    pub(super) fn new(moves: &Moves, after: &Placement<'_>, reboots: Vec<String>) -> Self {
        let plan = after.egress().plan;
        let objects = &after.site().egress_ips;
        let best: BTreeMap<(&str, &str), &str> = plan
            .addresses
            .iter()
            .filter_map(|address| {
                let object = objects.get(address.egress_ip)?;
                let node = after.nodes.get(address.best? as usize)?;
                Some(((&*object.name.value, address.written.as_str()), node.name.as_str()))
            })
            .collect();
        let addresses = moves.addresses.iter().map(|address| AddressReport {
            egressip: address.egress_ip.clone(),
            address: address.address.clone(),
            node: address.from.clone(),
            best: best
                .get(&(address.egress_ip.as_str(), address.address.as_str()))
                .map(|node| (*node).to_owned()),
            stays: address.stays(),
            to: address.to.clone().filter(|_| !address.stays()),
            reason: address.reason.clone(),
        });
        let routers = moves.routers.iter().map(|router| RouterReport {
            pod: router.pod.clone(),
            controller: router.controller.clone(),
            node: router.from.clone(),
            stays: router.stays(),
            to: router.to.clone(),
            reason: router.reason.clone(),
        });
        let controllers = moves.controllers.iter().map(|controller| ControllerReport {
            controller: controller.controller.clone(),
            lost: controller.lost.clone(),
            gained: controller.gained.clone(),
            left: controller.left,
        });
        Self {
            addresses: addresses.collect(),
            routers: routers.collect(),
            controllers: controllers.collect(),
            reboots,
        }
    }
}

impl Report for VerifyReport {
    fn text(&self, _wide: bool) -> String {
        let mut table = Table::new(["KIND", "OWNER", "NAME", "NODE", "THEN", "TO", "REASON"]);
        for address in &self.addresses {
            let then = match (&address.node, &address.to, address.stays) {
                (_, _, true) => "stays",
                (Some(_), Some(_), _) => "moves",
                (Some(_), None, _) => "ends",
                (None, Some(_), _) => "comes",
                (None, None, _) => "nowhere",
            };
            table.row([
                "address".to_owned(),
                address.egressip.clone(),
                address.address.clone(),
                address.node.clone().unwrap_or_default(),
                then.to_owned(),
                address.to.clone().unwrap_or_default(),
                address.reason.clone().unwrap_or_default(),
            ]);
        }
        for router in &self.routers {
            let to = match router.to.as_slice() {
                [] => String::new(),
                [only] => only.clone(),
                [first, ..] => format!("{first} or {} more", router.to.len() - 1),
            };
            table.row([
                "router".to_owned(),
                router.controller.clone(),
                router.pod.clone(),
                router.node.clone().unwrap_or_default(),
                if router.stays { "stays" } else { "moves" }.to_owned(),
                to,
                router.reason.clone().unwrap_or_default(),
            ]);
        }
        let mut text = table.to_string();
        for controller in &self.controllers {
            let nodes = |word: &str, names: &[String]| match names {
                [] => String::new(),
                names => format!(" {word} {},", names.join(", ")),
            };
            let _ = writeln!(
                text,
                "ingress controller {}:{}{} {} left for its routers",
                controller.controller,
                nodes("loses", &controller.lost),
                nodes("gets", &controller.gained),
                counted(controller.left, "node"),
            );
        }
        if !self.reboots.is_empty() {
            let _ = writeln!(text, "reboots into another pool: {}", self.reboots.join(", "));
        }
        text
    }

    fn names(&self) -> Vec<String> {
        let moving = self.addresses.iter().filter(|address| !address.stays);
        moving.map(|address| format!("egressip/{}", address.egressip)).collect()
    }
}
