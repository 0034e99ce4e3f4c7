//! A Berth as it is kept.

use std::{collections::BTreeMap, ops::Deref, sync::Arc};

use berth_decide::{Reserved, awaits_registration, names};
use berth_resources::{
    Berth, BerthSpec, BerthStatus, Departure, Followed, Machine, MachineObject, Phase, PoolPolicy, Preregister,
    Recreations, Taint,
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time};

use super::text::{KeptObject, Pairs, Text, all, optional, plain, plain_all, text};
use crate::controller::news::{Named, Versioned};

/// A [`Berth`], kept small. A clone is the same object.
///
/// Of its metadata it has what decisions and writes need; of the annotations those of Berth.
#[derive(Clone, Debug)]
pub(in crate::controller) struct KeptBerth(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// It changes with every write, so nobody shares it.
    version: Box<str>,
    facts: BerthFacts,
}

/// What a Berth says, whatever its version.
#[derive(Debug, PartialEq)]
pub(in crate::controller) struct BerthFacts {
    pub(in crate::controller) name: Text,
    /// Empty for one that the API server has not seen.
    pub(in crate::controller) uid: Text,
    generation: Option<i64>,
    pub(in crate::controller) created: Option<Timestamp>,
    deleted: Option<Timestamp>,
    labels: Pairs,
    annotations: Pairs,
    finalizers: Box<[Text]>,
    pub(in crate::controller) spec: Spec,
    pub(in crate::controller) status: Option<Status>,
}

#[derive(Debug, PartialEq)]
pub(in crate::controller) struct Spec {
    node_name: Option<Text>,
    machine: Option<KeptMachine>,
    pool: Option<Text>,
    labels: Pairs,
    taints: Box<[Taint]>,
    preregister: Preregister,
    pool_policy: PoolPolicy,
    pub(in crate::controller) release: bool,
}

#[derive(Debug, PartialEq)]
pub(in crate::controller) struct Status {
    observed_generation: Option<i64>,
    pub(in crate::controller) phase: Option<Phase>,
    node_name: Option<Text>,
    node_uid: Option<Text>,
    pub(in crate::controller) pool: Option<Text>,
    followed: Option<Box<Followed>>,
    pub(in crate::controller) labels: Pairs,
    earlier_labels: Box<[(Text, Box<[Text]>)]>,
    node_version: Option<Box<str>>,
    removed_labels: Pairs,
    retired_labels: Pairs,
    found_labels: Pairs,
    kubelet_labels: Pairs,
    provider_id: Option<Text>,
    pub(in crate::controller) annotations: Pairs,
    machine: Option<KeptMachine>,
    registered_labels: Pairs,
    machine_id: Option<Text>,
    machine_objects: Box<[KeptObject]>,
    pub(in crate::controller) departure: Option<Box<Departure>>,
    recreations: Option<Recreations>,
    conditions: Box<[KeptCondition]>,
}

#[derive(Debug, PartialEq)]
struct KeptMachine {
    system_uuid: Option<Text>,
    mac_addresses: Box<[Text]>,
}

#[derive(Debug, PartialEq)]
struct KeptCondition {
    kind: Text,
    status: Text,
    reason: Text,
    message: Text,
    observed_generation: Option<i64>,
    since: Timestamp,
}

impl From<&Berth> for KeptBerth {
    fn from(berth: &Berth) -> Self {
        let Berth { metadata, spec, status } = berth;
        let ours = |annotations: &BTreeMap<String, String>| {
            let ours = annotations.iter().filter(|(key, _)| key.starts_with(names::PREFIX));
            ours.map(|(key, value)| (key.clone(), value.clone())).collect()
        };
        let annotations: BTreeMap<String, String> = metadata.annotations.as_ref().map(ours).unwrap_or_default();
        let facts = BerthFacts {
            name: text(metadata.name.as_deref().unwrap_or_default()),
            uid: text(metadata.uid.as_deref().unwrap_or_default()),
            generation: metadata.generation,
            created: metadata.creation_timestamp.as_ref().map(|time| time.0),
            deleted: metadata.deletion_timestamp.as_ref().map(|time| time.0),
            labels: metadata.labels.as_ref().map(Pairs::from).unwrap_or_default(),
            annotations: Pairs::from(&annotations),
            finalizers: all(metadata.finalizers.iter().flatten()),
            spec: Spec::from(spec),
            status: status.as_ref().map(Status::from),
        };
        Self(Arc::new(Inner {
            version: metadata.resource_version.as_deref().unwrap_or_default().into(),
            facts,
        }))
    }
}

impl From<&BerthSpec> for Spec {
    fn from(spec: &BerthSpec) -> Self {
        let BerthSpec {
            node_name,
            machine,
            pool,
            labels,
            taints,
            preregister,
            pool_policy,
            release,
        } = spec;
        Self {
            node_name: optional(node_name.as_ref()),
            machine: machine.as_ref().map(KeptMachine::from),
            pool: optional(pool.as_ref()),
            labels: labels.into(),
            taints: taints.as_slice().into(),
            preregister: *preregister,
            pool_policy: *pool_policy,
            release: *release,
        }
    }
}

impl From<&Spec> for BerthSpec {
    fn from(kept: &Spec) -> Self {
        Self {
            node_name: plain(kept.node_name.as_ref()),
            machine: kept.machine.as_ref().map(Machine::from),
            pool: plain(kept.pool.as_ref()),
            labels: kept.labels.map(),
            taints: kept.taints.to_vec(),
            preregister: kept.preregister,
            pool_policy: kept.pool_policy,
            release: kept.release,
        }
    }
}

impl From<&BerthStatus> for Status {
    fn from(status: &BerthStatus) -> Self {
        let BerthStatus {
            observed_generation,
            phase,
            node_name,
            node_uid,
            pool,
            followed,
            labels,
            earlier_labels,
            node_version,
            removed_labels,
            retired_labels,
            found_labels,
            kubelet_labels,
            provider_id,
            annotations,
            machine,
            registered_labels,
            machine_id,
            machine_objects,
            departure,
            recreations,
            conditions,
        } = status;
        Self {
            observed_generation: *observed_generation,
            phase: *phase,
            node_name: optional(node_name.as_ref()),
            node_uid: optional(node_uid.as_ref()),
            pool: optional(pool.as_ref()),
            followed: followed.clone().map(Box::new),
            labels: labels.into(),
            earlier_labels: earlier_labels
                .iter()
                .map(|(key, values)| (text(key), all(values)))
                .collect(),
            node_version: node_version.as_deref().map(Box::from),
            removed_labels: removed_labels.into(),
            retired_labels: retired_labels.into(),
            found_labels: found_labels.into(),
            kubelet_labels: kubelet_labels.into(),
            provider_id: optional(provider_id.as_ref()),
            annotations: annotations.into(),
            machine: machine.as_ref().map(KeptMachine::from),
            registered_labels: registered_labels.into(),
            machine_id: optional(machine_id.as_ref()),
            machine_objects: machine_objects.iter().map(KeptObject::from).collect(),
            departure: departure.clone().map(Box::new),
            recreations: recreations.clone(),
            conditions: conditions.iter().map(KeptCondition::from).collect(),
        }
    }
}

impl From<&Status> for BerthStatus {
    fn from(kept: &Status) -> Self {
        Self {
            observed_generation: kept.observed_generation,
            phase: kept.phase,
            node_name: plain(kept.node_name.as_ref()),
            node_uid: plain(kept.node_uid.as_ref()),
            pool: plain(kept.pool.as_ref()),
            followed: kept.followed.as_deref().cloned(),
            labels: kept.labels.map(),
            earlier_labels: kept
                .earlier_labels
                .iter()
                .map(|(key, values)| (key.to_string(), plain_all(values)))
                .collect(),
            node_version: kept.node_version.as_deref().map(str::to_owned),
            removed_labels: kept.removed_labels.map(),
            retired_labels: kept.retired_labels.map(),
            found_labels: kept.found_labels.map(),
            kubelet_labels: kept.kubelet_labels.map(),
            provider_id: plain(kept.provider_id.as_ref()),
            annotations: kept.annotations.map(),
            machine: kept.machine.as_ref().map(Machine::from),
            registered_labels: kept.registered_labels.map(),
            machine_id: plain(kept.machine_id.as_ref()),
            machine_objects: kept.machine_objects.iter().map(MachineObject::from).collect(),
            departure: kept.departure.as_deref().cloned(),
            recreations: kept.recreations.clone(),
            conditions: kept.conditions.iter().map(Condition::from).collect(),
        }
    }
}

impl From<&Machine> for KeptMachine {
    fn from(machine: &Machine) -> Self {
        let Machine {
            system_uuid,
            mac_addresses,
        } = machine;
        Self {
            system_uuid: optional(system_uuid.as_ref()),
            mac_addresses: all(mac_addresses),
        }
    }
}

impl From<&KeptMachine> for Machine {
    fn from(kept: &KeptMachine) -> Self {
        Self {
            system_uuid: plain(kept.system_uuid.as_ref()),
            mac_addresses: plain_all(&kept.mac_addresses),
        }
    }
}

impl From<&Condition> for KeptCondition {
    fn from(condition: &Condition) -> Self {
        let Condition {
            last_transition_time,
            message,
            observed_generation,
            reason,
            status,
            type_,
        } = condition;
        Self {
            kind: text(type_),
            status: text(status),
            reason: text(reason),
            message: text(message),
            observed_generation: *observed_generation,
            since: last_transition_time.0,
        }
    }
}

impl From<&KeptCondition> for Condition {
    fn from(kept: &KeptCondition) -> Self {
        Self {
            last_transition_time: Time(kept.since),
            message: kept.message.to_string(),
            observed_generation: kept.observed_generation,
            reason: kept.reason.to_string(),
            status: kept.status.to_string(),
            type_: kept.kind.to_string(),
        }
    }
}

impl KeptBerth {
    /// What was put in, as far as it is kept.
    pub(in crate::controller) fn berth(&self) -> Berth {
        let said = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Berth {
            metadata: ObjectMeta {
                name: said(&self.name),
                uid: said(&self.uid),
                resource_version: said(self.version()),
                generation: self.generation,
                creation_timestamp: self.created.map(Time),
                deletion_timestamp: self.deleted.map(Time),
                labels: self.labels.optional_map(),
                annotations: self.annotations.optional_map(),
                finalizers: (!self.finalizers.is_empty()).then(|| plain_all(&self.finalizers)),
                ..ObjectMeta::default()
            },
            spec: BerthSpec::from(&self.spec),
            status: self.status.as_ref().map(BerthStatus::from),
        }
    }

    /// The name of the Node.
    pub(in crate::controller) fn node_name(&self) -> &Text {
        self.spec.node_name.as_ref().unwrap_or(&self.name)
    }

    /// The phase; a Berth that nobody has looked at is reserved.
    pub(in crate::controller) fn phase(&self) -> Phase {
        self.status.as_ref().and_then(|status| status.phase).unwrap_or_default()
    }

    /// Whether the place is kept: nobody gave it up.
    pub(in crate::controller) fn is_held(&self) -> bool {
        !self.spec.release && self.deleted.is_none()
    }

    /// Whether the Node is left to the kubelet.
    pub(in crate::controller) fn awaits_registration(&self) -> bool {
        let status = self.status.as_ref().map(BerthStatus::from);
        status.is_some_and(|status| awaits_registration(&status))
    }

    /// The pool of the status, where the place is kept.
    pub(in crate::controller) fn pool(&self) -> Option<&Text> {
        let pool = self.status.as_ref().and_then(|status| status.pool.as_ref());
        pool.filter(|_| self.is_held())
    }

    /// Where the machine belongs, empty where it is not known; `None` for a place that is given up.
    pub(in crate::controller) fn place(&self) -> Option<&str> {
        let pool = self.pool().or(self.spec.pool.as_ref()).map(|pool| &**pool);
        self.is_held().then(|| pool.unwrap_or_default())
    }

    /// Whether this is what it declares.
    pub(in crate::controller) fn declares(&self, spec: &BerthSpec) -> bool {
        BerthSpec::from(&self.spec) == *spec
    }

    /// What is compared with the documents.
    pub(in crate::controller) fn reserved(&self) -> Reserved {
        Reserved {
            name: self.name.to_string(),
            node: self.node_name().to_string(),
            by: self.labels.get(names::RESERVED_BY).map(str::to_owned),
            spec: BerthSpec::from(&self.spec),
        }
    }

    pub(in crate::controller) fn machine_objects(&self) -> Vec<MachineObject> {
        let objects = self.status.iter().flat_map(|status| &status.machine_objects);
        objects.map(MachineObject::from).collect()
    }

    /// Whether both say the same, whatever their versions.
    pub(in crate::controller) fn says_the_same(&self, other: &Self) -> bool {
        self.0.facts == other.0.facts
    }
}

impl Deref for KeptBerth {
    type Target = BerthFacts;

    fn deref(&self) -> &BerthFacts {
        &self.0.facts
    }
}

impl Named for KeptBerth {
    fn name(&self) -> &str {
        &self.name
    }
}

impl Versioned for KeptBerth {
    fn uid(&self) -> &str {
        &self.uid
    }

    fn version(&self) -> &str {
        &self.0.version
    }
}
