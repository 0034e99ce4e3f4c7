//! The Node that is created before its kubelet registers, or again after somebody deleted it.

use std::{collections::BTreeMap, time::Duration};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{
    api::core::v1::{Node, NodeSpec, Taint},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

use super::Subject;
use crate::{definitions::Answer, names, view::NodeView};
use berth_resources::{Berth, BerthStatus, Preregister, Recreations};

/// So often a Node is created again at once: people delete Nodes, and want them back.
const AT_ONCE: i32 = 3;
/// The first wait; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_secs(10);
/// The longest wait.
const LONGEST_WAIT: Duration = Duration::from_mins(10);
/// A Node that stayed so long is not one that keeps being deleted.
const CALM: SignedDuration = SignedDuration::from_mins(20);

/// Whether the Node is to be created.
pub(super) fn wanted(subject: Subject<'_>, settled: bool) -> bool {
    let asked = subject
        .berth
        .metadata
        .annotations
        .as_ref()
        .is_some_and(|annotations| annotations.contains_key(names::REQUESTED));
    settled || subject.requested || asked || subject.berth.spec.preregister == Preregister::Now
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

pub(super) fn build(berth: &Berth, status: &BerthStatus, answer: &Answer) -> Created {
    let mut owned = answer.labels.to_map();
    owned.retain(|key, value| status.removed_labels.get(key) != Some(value));
    let mut labels = status.kubelet_labels.clone();
    labels.extend(owned.clone());
    let mut annotations = status.annotations.clone();
    annotations.insert(names::OWNED_LABELS.to_owned(), berth_site::write_owned(&owned));
    if let Some(pool) = answer.pool.as_deref() {
        annotations.insert(names::POOL.to_owned(), pool.to_owned());
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
