//! A Node as it is kept.

use std::{collections::BTreeMap, ops::Deref, sync::Arc};

use berth_decide::{NodeView, pools::MemberView};
use berth_pools::NodeConditions;
use berth_resources::MachineObject;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Taint;

use super::text::{KeptObject, Pairs, Text, optional, plain, text};
use crate::controller::news::{Named, Versioned};

/// A [`NodeView`], kept small. A clone is the same object.
#[derive(Clone, Debug)]
pub(in crate::controller) struct KeptNode(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// It changes with every word of the kubelet, so nobody shares it.
    version: Box<str>,
    facts: NodeFacts,
}

/// What a Node says, whatever its version.
#[derive(Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(in crate::controller) struct NodeFacts {
    pub(in crate::controller) name: Text,
    pub(in crate::controller) uid: Text,
    created: Option<Timestamp>,
    deleting: bool,
    pub(in crate::controller) labels: Pairs,
    pub(in crate::controller) annotations: Pairs,
    taints: Box<[Taint]>,
    unschedulable: bool,
    pub(in crate::controller) conditions: NodeConditions,
    provider_id: Option<Text>,
    system_uuid: Option<Text>,
    machine_id: Option<Text>,
    machine_objects: Box<[KeptObject]>,
    mac_address: Option<Text>,
    pub(in crate::controller) has_kubelet: bool,
    pub(in crate::controller) reports: bool,
    pub(in crate::controller) ready_since: Option<Timestamp>,
    silent_since: Option<Timestamp>,
}

impl From<NodeView> for KeptNode {
    fn from(node: NodeView) -> Self {
        let NodeView {
            name,
            uid,
            resource_version,
            created,
            deleting,
            labels,
            annotations,
            taints,
            unschedulable,
            conditions,
            provider_id,
            system_uuid,
            machine_id,
            machine_objects,
            mac_address,
            has_kubelet,
            reports,
            ready_since,
            silent_since,
        } = node;
        let facts = NodeFacts {
            name: text(&name),
            uid: text(&uid),
            created,
            deleting,
            labels: Pairs::from(&labels),
            annotations: Pairs::from(&annotations),
            taints: taints.into(),
            unschedulable,
            conditions,
            provider_id: optional(provider_id.as_ref()),
            system_uuid: optional(system_uuid.as_ref()),
            machine_id: optional(machine_id.as_ref()),
            machine_objects: machine_objects.iter().map(KeptObject::from).collect(),
            mac_address: optional(mac_address.as_ref()),
            has_kubelet,
            reports,
            ready_since,
            silent_since,
        };
        Self(Arc::new(Inner {
            version: resource_version.into(),
            facts,
        }))
    }
}

impl KeptNode {
    /// What was put in.
    pub(in crate::controller) fn view(&self) -> NodeView {
        self.view_with(self.labels.map())
    }

    fn view_with(&self, labels: BTreeMap<String, String>) -> NodeView {
        NodeView {
            name: self.name.to_string(),
            uid: self.uid.to_string(),
            resource_version: self.version().to_owned(),
            created: self.created,
            deleting: self.deleting,
            labels,
            annotations: self.annotations.map(),
            taints: self.taints.to_vec(),
            unschedulable: self.unschedulable,
            conditions: self.conditions,
            provider_id: plain(self.provider_id.as_ref()),
            system_uuid: plain(self.system_uuid.as_ref()),
            machine_id: plain(self.machine_id.as_ref()),
            machine_objects: self.machine_objects(),
            mac_address: plain(self.mac_address.as_ref()),
            has_kubelet: self.has_kubelet,
            reports: self.reports,
            ready_since: self.ready_since,
            silent_since: self.silent_since,
        }
    }

    /// What its pool needs to know. A plan looks at all nodes of a pool, so labels that it does not read are left out before.
    pub(in crate::controller) fn member(&self) -> MemberView {
        let read = self.labels.iter().filter(|(key, _)| MemberView::reads(key));
        let labels = read.map(|(key, value)| (key.to_owned(), value.to_owned()));
        MemberView::from(self.view_with(labels.collect()))
    }

    pub(in crate::controller) fn machine_objects(&self) -> Vec<MachineObject> {
        self.machine_objects.iter().map(MachineObject::from).collect()
    }

    /// Whether both say the same, whatever their versions.
    pub(in crate::controller) fn says_the_same(&self, other: &Self) -> bool {
        self.0.facts == other.0.facts
    }
}

impl Deref for KeptNode {
    type Target = NodeFacts;

    fn deref(&self) -> &NodeFacts {
        &self.0.facts
    }
}

impl Named for KeptNode {
    fn name(&self) -> &str {
        &self.name
    }
}

impl Versioned for KeptNode {
    fn uid(&self) -> &str {
        &self.uid
    }

    fn version(&self) -> &str {
        &self.0.version
    }
}
