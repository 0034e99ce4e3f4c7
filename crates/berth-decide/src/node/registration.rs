//! The Node that is created before its kubelet registers, or again after somebody deleted it.

use std::{collections::BTreeMap, time::Duration};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{
    api::core::v1::{Node, NodeSpec, Taint},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

use super::{Subject, memory::is_filled_now};
use crate::{
    definitions::{Answer, Definitions},
    names,
    view::NodeView,
};
use berth_labels::{Flavour, LabelKey};
use berth_resources::{Berth, BerthStatus, Recreations};

/// So often a Node is created again at once: people delete Nodes, and want them back.
const AT_ONCE: i32 = 3;
/// The first wait; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_secs(10);
/// The longest wait.
const LONGEST_WAIT: Duration = Duration::from_mins(10);
/// A Node that stayed so long is not one that keeps being deleted.
const CALM: SignedDuration = SignedDuration::from_mins(20);

/// A certificate request of a kubelet that may join under the name: it asks, or was just let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KubeletRequest {
    /// When it was made.
    pub created: Option<Timestamp>,
    /// Nobody has decided about it.
    pub open: bool,
    /// It was made with bootstrap credentials: the machine has no certificate on its disk.
    pub bootstrap: bool,
}

/// How a machine has shown itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shown {
    /// It is about to join.
    pub(super) at_all: bool,
    /// It is a new installation: it fetched its Ignition, or asks with bootstrap credentials.
    pub(super) anew: bool,
    /// It fetched its Ignition by its own name, so that it is installed for its place.
    pub(super) fetched: bool,
}

/// Whether the machine of a place without a Node shows itself, since its Node went if it had one.
pub(super) fn shown(subject: Subject<'_>, since: Option<Timestamp>) -> Shown {
    let asks = |request: &&KubeletRequest| request.open || counts(request.created, since);
    let fetched = fetched(subject.berth, since);
    Shown {
        fetched,
        at_all: fetched || subject.requests.iter().any(|request| asks(&request)),
        anew: fetched || subject.requests.iter().filter(asks).any(|request| request.bootstrap),
    }
}

/// Whether the machine of a Node is installed anew: it shows itself as a new machine does, since its kubelet was last heard of.
/// What came before a kubelet filled a Node that Berth created again may be seen after it.
pub(super) fn is_installed_anew(subject: Subject<'_>, node: &NodeView, status: &BerthStatus) -> bool {
    let since = if node.has_kubelet && !is_filled_now(node, status) {
        node.silent_since
    } else {
        status.departure.as_ref().map(|departure| departure.time)
    };
    let Some(since) = since else { return false };
    // One from before may wait for its approval for days.
    let mut asks = subject.requests.iter().filter(|request| request.bootstrap);
    fetched(subject.berth, Some(since)) || asks.any(|request| counts(request.created, Some(since)))
}

/// Whether something counts that happened at a time. Kubernetes keeps seconds.
fn counts(time: Option<Timestamp>, since: Option<Timestamp>) -> bool {
    let Some(since) = since else { return true };
    time.is_some_and(|time| since.duration_since(time) <= SignedDuration::from_secs(1))
}

fn fetched(berth: &Berth, since: Option<Timestamp>) -> bool {
    let annotations = berth.metadata.annotations.as_ref();
    let noted = annotations.and_then(|annotations| annotations.get(names::REQUESTED));
    noted.is_some_and(|noted| counts(noted.parse().ok(), since))
}

/// How long to wait before the Node is created once more; `None` to do it at once.
pub(super) fn wait(recreations: Option<&Recreations>, now: Timestamp) -> Option<Duration> {
    let recreations = recreations?;
    let doublings = u32::try_from(recreations.count.checked_sub(AT_ONCE)?).ok()?;
    let delay = FIRST_WAIT
        .saturating_mul(2u32.saturating_pow(doublings.min(16)))
        .min(LONGEST_WAIT);
    let passed = Duration::try_from(now.duration_since(recreations.last)).unwrap_or_default();
    delay.checked_sub(passed).filter(|left| !left.is_zero())
}

/// Whether the Node has stayed long enough to forget how often it was deleted.
pub(super) fn is_calm(recreations: Option<&Recreations>, now: Timestamp) -> bool {
    recreations.is_some_and(|recreations| now.duration_since(recreations.last) > CALM)
}

pub(super) fn count(recreations: Option<&Recreations>, now: Timestamp) -> Recreations {
    Recreations {
        count: recreations.map_or(1, |recreations| recreations.count.saturating_add(1)),
        last: super::conditions::whole_seconds(now),
    }
}

/// A Node to create, and what Berth will own on it.
#[derive(Debug)]
pub(super) struct Created {
    pub(super) node: Node,
    pub(super) owned: BTreeMap<String, String>,
}

pub(super) fn build(definitions: &Definitions, subject: Subject<'_>, status: &BerthStatus, answer: &Answer) -> Created {
    let berth = subject.berth;
    let mut owned = answer.labels.to_map();
    owned.retain(|key, value| status.removed_labels.get(key) != Some(value));
    let mut labels = of_kubelet(definitions, subject, status, answer, &owned);
    labels.extend(owned.clone());
    let mut annotations = status.annotations.clone();
    annotations.insert(names::OWNED_LABELS.to_owned(), berth_site::write_owned(&owned));
    if let Some(pool) = answer.pool.as_deref() {
        annotations.insert(names::POOL.to_owned(), pool.to_owned());
        if definitions.flavour() == Flavour::Openshift {
            annotations.insert(names::CUSTOM_POOL_LABELS_APPLIED.to_owned(), String::new());
        }
    }
    let taints: Vec<Taint> = berth
        .spec
        .taints
        .iter()
        .map(|taint| Taint {
            key: taint.key.clone(),
            value: taint.value.clone(),
            effect: taint.effect.as_str().to_owned(),
            time_added: None,
        })
        .collect();
    let node = Node {
        metadata: ObjectMeta {
            name: Some(berth.node_name()),
            labels: Some(labels),
            annotations: Some(annotations),
            ..ObjectMeta::default()
        },
        spec: Some(NodeSpec {
            taints: (!taints.is_empty()).then_some(taints),
            provider_id: status.provider_id.clone(),
            ..NodeSpec::default()
        }),
        status: None,
    };
    Created { node, owned }
}

/// What the kubelet would give itself if it created the Node: what the Node had before, and what the unit of its pool's config
/// says. None of it is Berth's, and none of it puts the Node into another pool.
fn of_kubelet(
    definitions: &Definitions,
    subject: Subject<'_>,
    status: &BerthStatus,
    answer: &Answer,
    owned: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut labels = subject.registers.map(|unit| unit.known.clone()).unwrap_or_default();
    labels.extend(status.registered_labels.clone());
    labels.retain(|key, value| {
        let unwanted = [&status.removed_labels, &status.retired_labels];
        !unwanted.iter().any(|labels| labels.get(key) == Some(value)) && !answer.labels.contains_key(key.as_str())
    });
    if let Some(pool) = answer.pool.as_deref() {
        let name = subject.berth.node_name();
        let is_in_place = |labels: &BTreeMap<String, String>| {
            let mut all = labels.clone();
            all.extend(owned.clone());
            let found = definitions.placement(&name, &all);
            found.is_ok_and(|found| found.primary().is_some_and(|primary| **primary == *pool))
        };
        if !is_in_place(&labels) {
            let others = definitions
                .site()
                .pools
                .iter()
                .filter(|other| *other.name.value != *pool);
            let foreign: Vec<&str> = others
                .filter_map(|other| other.implicit.as_ref())
                .flat_map(|implicit| implicit.labels.keys().map(LabelKey::as_str))
                .collect();
            labels.retain(|key, _| !foreign.contains(&key.as_str()));
        }
    }
    labels.extend(status.kubelet_labels.clone());
    labels
}

/// Whether the machine is the reserved one; `None` where there is nothing to compare.
///
/// A MAC address can only confirm: a machine shows the one of its gateway, and may have more than were declared.
pub(super) fn identity(berth: &Berth, node: &NodeView) -> Option<bool> {
    let machine = berth.spec.machine.as_ref()?;
    let by_uuid = machine
        .system_uuid
        .as_deref()
        .zip(node.system_uuid.as_deref())
        .map(|(wanted, reported)| wanted.eq_ignore_ascii_case(reported));
    let by_mac = node.mac_address.as_deref().and_then(|shown| {
        let mut declared = machine.mac_addresses.iter();
        declared
            .any(|declared| declared.eq_ignore_ascii_case(shown))
            .then_some(true)
    });
    by_uuid.or(by_mac)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use berth_resources::{BerthSpec, Machine};

    #[test]
    fn a_mac_address_confirms_and_a_system_uuid_decides() {
        let annotation = r#"{"default":{"mode":"shared","mac-address":"52:54:00:AA:bb:01"}}"#;
        let node = |uuid: &str| -> NodeView {
            let node: Node = serde_json::from_value(json!({
                "metadata": {"name": "w1", "annotations": {"k8s.ovn.org/l3-gateway-config": annotation}},
            }))
            .unwrap();
            NodeView {
                system_uuid: Some(uuid.to_owned()).filter(|uuid| !uuid.is_empty()),
                ..NodeView::from(node)
            }
        };
        let berth = |uuid: Option<&str>, macs: &[&str]| {
            let machine = Machine {
                system_uuid: uuid.map(str::to_owned),
                mac_addresses: macs.iter().map(|mac| (*mac).to_owned()).collect(),
            };
            Berth::new(
                "w1",
                BerthSpec {
                    machine: Some(machine),
                    ..BerthSpec::default()
                },
            )
        };
        for (uuid, macs, shown, expected) in [
            (None, vec!["52:54:00:aa:BB:01"], "", Some(true)),
            (None, vec!["52:54:00:00:00:99"], "", None),
            (Some("A"), vec![], "a", Some(true)),
            (Some("A"), vec!["52:54:00:aa:bb:01"], "b", Some(false)),
            (Some("A"), vec!["52:54:00:aa:bb:01"], "", Some(true)),
        ] {
            assert_eq!(
                identity(&berth(uuid, &macs), &node(shown)),
                expected,
                "{uuid:?} {macs:?} {shown}"
            );
        }
    }
}
