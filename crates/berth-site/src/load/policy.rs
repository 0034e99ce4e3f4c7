//! OpenShift's `MachineConfiguration`: the cluster's policies for what a change of files and units needs.

use berth_documents::{Diagnostic, Node};
use berth_pools::{Action, FilePolicy, UnitPolicy, UserPolicy};

use super::Object;
use crate::{
    fields::{Fields, Report},
    lints,
};

const TYPES: &[(&str, ActionType)] = &[
    ("None", ActionType::None),
    ("DaemonReload", ActionType::DaemonReload),
    ("Reload", ActionType::Reload),
    ("Restart", ActionType::Restart),
    ("Drain", ActionType::Drain),
    ("Reboot", ActionType::Reboot),
];

#[derive(Clone, Copy)]
enum ActionType {
    None,
    DaemonReload,
    Reload,
    Restart,
    Drain,
    Reboot,
}

/// Reads `spec.nodeDisruptionPolicy`. A policy with an action that cannot be read is left out: without it the change
/// needs a reboot, which is never too little.
pub(super) fn read(object: &Object<'_>, report: &mut Report<'_>) -> UserPolicy {
    // The operator has many other fields that say nothing about machines.
    let node = object.body.and_then(|body| body.get("nodeDisruptionPolicy"));
    let mut fields = Fields::open(node, "nodeDisruptionPolicy", report);
    let mut policy = UserPolicy::default();
    for item in list(&mut fields, "files", report) {
        let mut entry = Fields::open(Some(item), "a file policy", report);
        let path = required(&mut entry, item, "path", report);
        let actions = actions(&mut entry, item, report);
        entry.finish(report);
        if let (Some(path), Some(actions)) = (path, actions) {
            policy.files.push(FilePolicy { path, actions });
        }
    }
    for item in list(&mut fields, "units", report) {
        let mut entry = Fields::open(Some(item), "a unit policy", report);
        let name = required(&mut entry, item, "name", report);
        let actions = actions(&mut entry, item, report);
        entry.finish(report);
        if let (Some(name), Some(actions)) = (name, actions) {
            policy.units.push(UnitPolicy { name, actions });
        }
    }
    if let Some(item) = fields.get("sshkey") {
        let mut entry = Fields::open(Some(item), "sshkey", report);
        policy.ssh_keys = actions(&mut entry, item, report);
        entry.finish(report);
    }
    fields.finish(report);
    policy
}

fn list<'a>(fields: &mut Fields<'a>, key: &'static str, report: &mut Report<'_>) -> &'a [Node] {
    let Some(node) = fields.get(key) else {
        return &[];
    };
    node.as_seq().unwrap_or_else(|| {
        let message = format!("`{key}` must be a list, found {}", node.type_name());
        report.push(Diagnostic::new(&lints::WRONG_TYPE, node.span, message));
        &[]
    })
}

fn required(fields: &mut Fields<'_>, item: &Node, key: &'static str, report: &mut Report<'_>) -> Option<String> {
    let text = fields.string(key, report);
    if text.is_none() && item.get(key).is_none() {
        missing(item, key, report);
    }
    text.map(|text| text.value)
}

fn missing(item: &Node, key: &str, report: &mut Report<'_>) {
    let message = format!("this policy has no `{key}`");
    report.push(Diagnostic::new(&lints::MISSING_FIELD, item.span, message));
}

/// The actions of a policy, unless one of them cannot be read.
fn actions(fields: &mut Fields<'_>, item: &Node, report: &mut Report<'_>) -> Option<Vec<Action>> {
    if item.get("actions").is_none() {
        fields.allow(&["actions"]);
        missing(item, "actions", report);
        return None;
    }
    // Read them all, so that every mistake is found.
    let actions: Vec<Option<Action>> = list(fields, "actions", report)
        .iter()
        .map(|item| action(item, report))
        .collect();
    let actions: Vec<Action> = actions.into_iter().collect::<Option<_>>()?;
    let alone = [Action::None, Action::Reboot];
    if actions.len() > 1
        && let Some(only) = actions.iter().find(|action| alone.contains(action))
    {
        let message = format!("the action `{only}` stands alone: OpenShift refuses others beside it");
        report.push(Diagnostic::new(&lints::INVALID_VALUE, item.span, message));
        return None;
    }
    Some(actions)
}

fn action(item: &Node, report: &mut Report<'_>) -> Option<Action> {
    let mut fields = Fields::open(Some(item), "an action", report);
    let kind = fields.choice("type", TYPES, report);
    if item.get("type").is_none() {
        missing(item, "type", report);
    }
    let action = match kind? {
        ActionType::None => Some(Action::None),
        ActionType::DaemonReload => Some(Action::DaemonReload),
        ActionType::Drain => Some(Action::Drain),
        ActionType::Reboot => Some(Action::Reboot),
        ActionType::Reload => service(&mut fields, item, "reload", report).map(Action::Reload),
        ActionType::Restart => service(&mut fields, item, "restart", report).map(Action::Restart),
    };
    fields.finish(report);
    action
}

fn service(fields: &mut Fields<'_>, item: &Node, key: &'static str, report: &mut Report<'_>) -> Option<String> {
    let mut inner = fields.open_field(key, report);
    let name = inner.string("serviceName", report);
    inner.finish(report);
    if name.is_none() && item.at(&[key, "serviceName"]).is_none() {
        missing(item, &format!("{key}.serviceName"), report);
    }
    name.map(|name| name.value)
}
