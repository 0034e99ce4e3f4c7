//! What a Berth remembers of its Node, for one that is created again.

use std::collections::{BTreeMap, BTreeSet};

use berth_pools::BUILT_IN;
use berth_site::Site;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::{Subject, pool::is_found};
use crate::{definitions::Answer, names, view::NodeView};
use berth_resources::{Berth, BerthStatus, Machine, Phase};

/// Keeps what a Node that is created anew has to get back.
pub(super) fn remember(subject: Subject<'_>, node: &NodeView, answer: &Answer, status: &mut BerthStatus) {
    if !node.has_kubelet {
        return;
    }
    if is_another(node, status) {
        forget(status);
    }
    let kubelet = names::KUBELET_LABELS
        .iter()
        .filter_map(|key| Some(((*key).to_owned(), node.labels.get(*key)?.clone())));
    // A label that is missing on a Node which was created anew is not a reason to forget it.
    status.kubelet_labels.extend(kubelet);
    status.registered_labels = registered(subject, node, answer, status);
    let configs = node
        .annotations
        .iter()
        .filter(|(key, _)| key.starts_with(names::MACHINE_CONFIG_PREFIX))
        .map(|(key, value)| (key.clone(), value.clone()));
    let configs: BTreeMap<String, String> = configs.collect();
    if !configs.is_empty() {
        status.annotations = configs;
    }
    if node.provider_id.is_some() {
        status.provider_id.clone_from(&node.provider_id);
    }
    if node.system_uuid.is_some() {
        status.machine = Some(Machine {
            system_uuid: node.system_uuid.clone(),
            mac_addresses: Vec::new(),
        });
    }
    if node.machine_id.is_some() {
        status.machine_id.clone_from(&node.machine_id);
    }
    status.machine_objects.clone_from(&node.machine_objects);
}

/// The labels with which a kubelet may create its Node whatever pool they are of, because the controllers put it right or follow it:
/// those that its machine's Nodes had in places which it may have no more, and which are in its flags of the last time it booted;
/// and those of built-in pools where a machine that nobody reserved has lost its Node, because it may be installed in another role.
pub fn may_register<'a>(site: &'a Site, berth: &'a Berth) -> BTreeSet<(&'a str, &'a str)> {
    let Some(status) = &berth.status else {
        return BTreeSet::new();
    };
    let last = [
        &status.labels,
        &status.removed_labels,
        &status.retired_labels,
        &status.found_labels,
    ];
    let last = last
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.as_str(), value.as_str()));
    let earlier = status
        .earlier_labels
        .iter()
        .flat_map(|(key, values)| values.iter().map(|value| (key.as_str(), value.as_str())));
    let is_free = is_found(berth) && status.phase == Some(Phase::Vacant);
    let built_in = site
        .pools
        .iter()
        .filter(|pool| is_free && BUILT_IN.contains(&pool.name.value.as_ref()));
    let of_pools = built_in.flat_map(|pool| {
        let implicit = pool.implicit.iter().flat_map(|implicit| implicit.labels.iter());
        let explicit = pool
            .explicit
            .iter()
            .filter_map(|declared| Some((&declared.key, declared.value.as_ref()?)));
        let all = implicit.chain(explicit);
        all.map(|(key, value)| (key.as_str(), value.as_str()))
    });
    last.chain(earlier).chain(of_pools).collect()
}

/// Whether the kubelet of a Node runs on another machine, or on another installation, than the one that was remembered.
pub(super) fn is_another(node: &NodeView, status: &BerthStatus) -> bool {
    let differs =
        |known: Option<&String>, now: Option<&String>| known.zip(now).is_some_and(|(known, now)| known != now);
    let known = status.machine.as_ref().and_then(|machine| machine.system_uuid.as_ref());
    node.has_kubelet
        && (differs(known, node.system_uuid.as_ref()) || differs(status.machine_id.as_ref(), node.machine_id.as_ref()))
}

/// Whether a kubelet reports for the first time on a Node that Berth created again. What is on it of the Machine Config Operator
/// is then what Berth gave back: its daemon runs later.
pub(super) fn is_filled_now(node: &NodeView, before: &BerthStatus) -> bool {
    node.has_kubelet && before.departure.is_some() && node.annotations.contains_key(names::OWNED_LABELS)
}

/// The part of a status that is written before the Node is: what the Node will not show once it is written. That is that somebody
/// moved it, which labels are gone on purpose, and which of its labels are Berth's. Should the write to the Node be the last thing
/// that happens, or not happen at all, whoever decides next knows all of it.
///
/// A Node that somebody moved is in its pool before Berth writes to it, so that this is said at once.
pub fn noted_ahead(before: Option<&BerthStatus>, after: &BerthStatus) -> BerthStatus {
    let mut ahead = BerthStatus {
        followed: after.followed.clone(),
        removed_labels: after.removed_labels.clone(),
        retired_labels: after.retired_labels.clone(),
        labels: after.labels.clone(),
        earlier_labels: after.earlier_labels.clone(),
        node_version: after.node_version.clone(),
        // That the Node is filled, and by whom, is decided again should the write fail.
        departure: after
            .departure
            .clone()
            .or_else(|| before.and_then(|before| before.departure.clone())),
        ..before.cloned().unwrap_or_default()
    };
    if before.is_some_and(|before| before.followed != after.followed) {
        ahead.pool.clone_from(&after.pool);
        ahead.found_labels.clone_from(&after.found_labels);
        ahead.registered_labels.clone_from(&after.registered_labels);
        let of_pool = |known: &Condition| known.type_ == names::condition::POOL_ASSIGNED;
        if let Some(assigned) = after.conditions.iter().find(|known| of_pool(known))
            && let Some(known) = ahead.conditions.iter_mut().find(|known| of_pool(known))
        {
            known.clone_from(assigned);
        }
    }
    ahead
}

/// Drops what was remembered of a machine's disk. What was reserved stays.
pub(super) fn forget(status: &mut BerthStatus) {
    status.kubelet_labels.clear();
    status.registered_labels.clear();
    let labelled = |key: &String| key == names::CUSTOM_POOL_LABELS_APPLIED;
    status.annotations.retain(|key, _| labelled(key));
    status.machine_id = None;
}

/// The labels of the Node that its kubelet gives itself when it registers, as far as nobody declares them and Berth did not set
/// them.
fn registered(
    subject: Subject<'_>,
    node: &NodeView,
    answer: &Answer,
    status: &BerthStatus,
) -> BTreeMap<String, String> {
    let unit = subject.registers;
    let by_unit = |key: &str| unit.is_some_and(|unit| unit.known.contains_key(key) || unit.open.contains(key));
    let of_old_disk = |key: &str| key == names::OS_ID && node.annotations.contains_key(names::INSTALLED_ANEW);
    let labels = node.labels.iter().filter(|(key, value)| {
        (names::REGISTERED_LABELS.contains(&key.as_str()) || by_unit(key))
            && !answer.labels.contains_key(key.as_str())
            && (status.labels.get(*key) != Some(*value) || by_unit(key))
            && !of_old_disk(key)
    });
    labels.map(|(key, value)| (key.clone(), value.clone())).collect()
}
