//! `Berth`.

use std::{collections::BTreeMap, sync::Arc};

use berth_documents::{Diagnostic, Mapping, Node};

use super::{Object, name_problem};
use crate::{
    fields::{Fields, Report, label_key, label_value},
    lints,
    model::{Berth, Name, PoolPolicy, Preregister, Spanned, Taint, WrittenLabels},
    network::MacAddress,
};

pub(super) fn read(object: &Object<'_>, report: &mut Report<'_>) -> Berth {
    let mut fields = Fields::open(object.body, "Berth spec", report);
    let node_name = fields.name("nodeName", report).unwrap_or_else(|| object.name.clone());
    if let Some(problem) = name_problem(&node_name.value) {
        let message = format!("`{}` is not a node name: {problem}", node_name.value);
        report.push(Diagnostic::new(&lints::INVALID_NAME, node_name.span, message));
    }
    let mut machine = fields.open_field("machine", report);
    let system_uuid = machine.string("systemUUID", report).map(|text| text.value);
    let mac_addresses = machine.strings("macAddresses", report);
    machine.finish(report);
    for mac in &mac_addresses {
        check_mac(mac, report);
    }
    let pool = fields.name("pool", report);
    let mut berth = Berth {
        name: object.name.clone(),
        node_name,
        followed: followed(object, pool.as_ref()),
        given: status(object, "pool").and_then(name),
        pool,
        labels: fields.labels("labels", false, report),
        taints: taints(&mut fields, report),
        preregister: fields
            .choice(
                "preregister",
                &[("OnRequest", Preregister::OnRequest), ("Now", Preregister::Now)],
                report,
            )
            .unwrap_or_default(),
        pool_policy: fields
            .choice(
                "poolPolicy",
                &[("follow", PoolPolicy::Follow), ("enforce", PoolPolicy::Enforce)],
                report,
            )
            .unwrap_or_default(),
        release: fields.bool("release", report).unwrap_or_default(),
        system_uuid,
        mac_addresses,
        written: written(object),
    };
    if berth.pool_policy == PoolPolicy::Enforce {
        berth.followed = None;
    }
    fields.finish(report);
    berth
}

fn status<'a>(object: &'a Object<'_>, field: &str) -> Option<&'a Node> {
    object.document.root.get("status")?.get(field)
}

fn name(node: &Node) -> Option<Name> {
    Some(Spanned::new(Arc::from(node.as_str()?), node.span))
}

/// The pool of an administrator's move, unless the declaration changed since.
fn followed(object: &Object<'_>, declared: Option<&Name>) -> Option<Name> {
    let followed = status(object, "followed")?;
    let then = followed.get("declared").and_then(Node::as_str);
    let now = declared.map(|pool| pool.value.as_ref());
    followed.get("pool").and_then(name).filter(|_| then == now)
}

/// The status is the controllers' own: what is not a label there is passed over.
fn written(object: &Object<'_>) -> Option<WrittenLabels> {
    let status = object.document.root.get("status")?;
    let labels = |field: &str| -> BTreeMap<String, String> {
        let Some(entries) = status.get(field).and_then(Node::as_map) else {
            return BTreeMap::new();
        };
        let texts = entries.iter();
        texts
            .filter_map(|(key, node)| Some((key.as_str().to_owned(), node.as_str()?.to_owned())))
            .collect()
    };
    let lists = |field: &str| -> BTreeMap<String, Vec<String>> {
        let entries = status.get(field).and_then(Node::as_map);
        let lists = entries.into_iter().flat_map(Mapping::iter);
        lists
            .filter_map(|(key, node)| {
                let values = node.as_seq()?.iter().filter_map(Node::as_str);
                Some((key.as_str().to_owned(), values.map(str::to_owned).collect()))
            })
            .collect()
    };
    Some(WrittenLabels {
        last: labels("labels"),
        earlier: lists("earlierLabels"),
        removed: labels("removedLabels"),
    })
}

fn check_mac(mac: &Spanned<String>, report: &mut Report<'_>) {
    if let Err(error) = mac.value.parse::<MacAddress>() {
        let message = format!("`{}` is not a MAC address", mac.value);
        report.push(Diagnostic::new(&lints::INVALID_VALUE, mac.span, message).with_help(error.to_string()));
    }
}

fn taints(fields: &mut Fields<'_>, report: &mut Report<'_>) -> Vec<Taint> {
    let Some(node) = fields.get("taints") else {
        return Vec::new();
    };
    let Some(items) = node.as_seq() else {
        report.push(Diagnostic::new(
            &lints::WRONG_TYPE,
            node.span,
            "`taints` must be a list",
        ));
        return Vec::new();
    };
    items.iter().filter_map(|item| taint(item, report)).collect()
}

fn taint(item: &Node, report: &mut Report<'_>) -> Option<Taint> {
    const EFFECTS: &[(&str, &str)] = &[
        ("NoSchedule", "NoSchedule"),
        ("PreferNoSchedule", "PreferNoSchedule"),
        ("NoExecute", "NoExecute"),
    ];
    let mut fields = Fields::open(Some(item), "taint", report);
    let key = fields.string("key", report);
    let value = fields.get("value");
    let effect = fields.choice("effect", EFFECTS, report);
    fields.finish(report);
    for field in ["key", "effect"] {
        if item.get(field).is_none() {
            report.push(Diagnostic::new(
                &lints::MISSING_FIELD,
                item.span,
                format!("this taint has no `{field}`"),
            ));
        }
    }
    let key = key.and_then(|key| label_key(&key.value, key.span, report))?;
    let value = match value {
        Some(node) => label_value(&key, node, report)?,
        None => berth_labels::LabelValue::default(),
    };
    Some(Taint {
        key,
        value,
        effect: effect?.to_owned(),
    })
}

/// The name of a machine as an annotation or label gives it.
pub(super) fn reference(node: &Node, what: &str, report: &mut Report<'_>) -> Option<Spanned<Arc<str>>> {
    crate::fields::string(node, what, report).map(|text| Spanned::new(Arc::from(text.value), text.span))
}
