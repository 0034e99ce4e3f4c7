//! Changes that the hub refuses, or takes without effect, because something is installed already.
//!
//! What was applied is not in a manifest. It is known from the manifests that the hub has, where somebody hands them in; from the spec
//! that an exported `ClusterInstance` says its operator saw last; from exported `Agent`s; and what is wanted, from the site.

mod objects;

use berth_documents::{Document, Node, Span};
use serde_json::Value;

use super::{
    CheckOptions, Findings,
    model::{HostView, Hub, Kind, Progress, Text, annotation, condition, name, namespace, same_mac, text_at},
};
use crate::lints;

/// The annotation with the spec that the operator of a `ClusterInstance` saw last.
const LAST_SPEC: &str = "clusterinstance.siteconfig.open-cluster-management.io/last-observed-spec";

/// Fields of a `ClusterInstance` and its nodes that can be changed when it is installed.
const FREE: &[&str] = &[
    "extraAnnotations",
    "extraLabels",
    "pruneManifests",
    "suppressedManifests",
];

/// Further ones of the cluster. Two have rules of their own.
const FREE_OF_CLUSTER: &[&str] = &["clusterImageSetNameRef", "nodes"];

/// Fields of the cluster with rules of their own.
const OWN_RULES: &[&str] = &["holdInstallation", "reinstall"];

/// Further ones of a node whose cluster is installed anew. Of `nodeNetwork` these are the interfaces.
const FREE_AT_REINSTALL: &[&str] = &["bmcAddress", "bootMACAddress", "rootDeviceHints"];

/// What the API server fills in, so that it is in an export and not in the manifest.
fn is_default(key: &str, value: &Value) -> bool {
    match key {
        "automatedCleaningMode" => value == "disabled",
        "bootMode" => value == "UEFI",
        "cpuArchitecture" => value == "x86_64",
        "cpuPartitioningMode" => value == "None",
        "hostPrefix" => value == 23,
        "networkType" => value == "OVNKubernetes",
        "role" => value == "master",
        "type" => value == "ClusterManaged",
        _ => false,
    }
}

pub(super) fn check(hub: &Hub<'_>, before: &Hub<'_>, options: &CheckOptions, findings: &mut Findings) {
    for document in hub.documents {
        let old = before.documents.iter().find(|old| {
            old.kind() == document.kind() && name(old) == name(document) && namespace(old) == namespace(document)
        });
        match document.kind() {
            "ClusterInstance" => instance(document, old, findings),
            "AgentClusterInstall" => objects::install(document, old, findings),
            "InfraEnv" => objects::infra_env(hub, document, old, findings),
            "BareMetalHost" => objects::host(document, old, findings),
            "Agent" => objects::agent(document, old, findings),
            _ => {}
        }
    }
    for host in &hub.hosts {
        if let Some(old) = before.hosts.iter().find(|old| is_same(old, host)) {
            applied(host, old, findings);
        }
        if let Some(agent) = hub
            .of_kind("Agent")
            .chain(before.of_kind("Agent"))
            .find(|it| is_of(it, host))
        {
            installed_with(host, agent, findings);
        }
        declared(host, options, findings);
    }
}

/// Whether two texts of a field mean the same; what the API server fills in does not count.
fn same(key: &str, old: Option<&Value>, new: Option<&Value>) -> bool {
    match (old, new) {
        (None, None) => true,
        (Some(one), None) | (None, Some(one)) => {
            let empty = match one {
                Value::Null | Value::Bool(false) => true,
                Value::String(text) => text.is_empty(),
                Value::Array(list) => list.is_empty(),
                Value::Object(map) => map.iter().all(|(key, value)| same(key, Some(value), None)),
                _ => false,
            };
            empty || is_default(key, one)
        }
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            let mut keys = old.keys().chain(new.keys());
            keys.all(|key| same(key, old.get(key), new.get(key)))
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) => {
            let pairs = || old.iter().zip(new);
            old.len() == new.len() && pairs().all(|(old, new)| same("", Some(old), Some(new)))
        }
        (Some(old), Some(new)) => old == new,
    }
}

/// The fields that differ, with their place; one that is gone has the place of its object.
fn differing(old: &Value, new: &Node, object: Span, free: &[&[&str]]) -> Vec<(String, Span, String)> {
    let is_free = |key: &str| free.iter().any(|list| list.contains(&key));
    let json = new.to_json();
    let mut found = Vec::new();
    for (key, value) in new.as_map().into_iter().flatten() {
        let (was, is) = (old.get(key.as_str()), json.get(key.as_str()));
        if !is_free(key.as_str()) && !same(key.as_str(), was, is) {
            found.push((key.as_str().to_owned(), value.span, words(was, is)));
        }
    }
    for (key, was) in old.as_object().into_iter().flatten() {
        if json.get(key).is_none() && !is_free(key) && !same(key, Some(was), None) {
            found.push((key.clone(), object, words(Some(was), None)));
        }
    }
    found
}

/// ` from a to b`, where both can be said in a few words.
fn words(old: Option<&Value>, new: Option<&Value>) -> String {
    let short = |value: Option<&Value>| match value {
        None | Some(Value::Null) => Some("nothing".to_owned()),
        Some(Value::Array(_)) => None,
        Some(value) => Some(value.to_string()).filter(|text| text.len() <= 60),
    };
    match (short(old), short(new)) {
        (Some(old), Some(new)) => format!(" from {old} to {new}"),
        _ => String::new(),
    }
}

fn instance(document: &Document, old: Option<&Document>, findings: &mut Findings) {
    let Some(spec) = document.body() else { return };
    let own = document.name().map_or_else(|| document.span(), |(_, span)| span);
    let seen = annotation(document, LAST_SPEC);
    let last = || serde_json::from_str::<Value>(seen?.text).ok();
    let handed_in = old.and_then(|old| Some((old.body()?.to_json(), old.span())));
    let Some((was, place)) = handed_in.or_else(|| Some((last()?, seen?.span))) else {
        return;
    };
    let status = [old, Some(document)]
        .into_iter()
        .flatten()
        .find(|it| Progress::of_instance(it) != Progress::Unknown);
    let progress = status.map_or(Progress::Unknown, Progress::of_instance);
    let is_held = |spec: &Value| spec.get("holdInstallation").and_then(Value::as_bool) == Some(true);
    let now = spec.to_json();
    if !is_held(&was) && is_held(&now) {
        let span = spec.get("holdInstallation").map_or(own, |node| node.span);
        let why = "it can only be set to true during creation, not during updates";
        refuse(findings, span, "`holdInstallation` is switched on", why, place);
    }
    let cluster = name(document).unwrap_or_default();
    let anew = is_new_generation(&was, &now, status);
    let why = match progress {
        Progress::Running | Progress::Free if is_held(&was) => return,
        Progress::Running | Progress::Free => {
            format!(
                "`{cluster}` is not installed yet (spec update not allowed during provisioning or cluster reinstalls)"
            )
        }
        Progress::Done => format!("`{cluster}` is installed (detected unauthorized changes in immutable fields)"),
        Progress::Unknown => format!("once `{cluster}` is installed the hub refuses it"),
    };
    let running = matches!(progress, Progress::Running | Progress::Free);
    if !same("reinstall", was.get("reinstall"), now.get("reinstall")) && (running || !anew) {
        let span = spec.get("reinstall").map_or(own, |node| node.span);
        let why = if running {
            &*why
        } else {
            "a reinstallation needs a generation that was never used"
        };
        refuse(findings, span, "`reinstall` is changed", why, place);
    }
    let free: &[&[&str]] = if running {
        &[&["nodes"], OWN_RULES]
    } else {
        &[FREE, FREE_OF_CLUSTER, OWN_RULES]
    };
    for (field, span, change) in differing(&was, spec, own, free) {
        if !comes_or_goes(&field, &was, &now) {
            refuse(findings, span, &format!("`{field}` is changed{change}"), &why, place);
        }
    }
    let free: &[&[&str]] = match (running, anew) {
        (true, _) => &[],
        (false, true) => &[FREE, FREE_AT_REINSTALL],
        (false, false) => &[FREE],
    };
    let name_of = |node: &Value| node.get("hostName").and_then(Value::as_str).map(str::to_owned);
    let old_nodes = was.get("nodes").and_then(Value::as_array);
    let mut kept = Vec::new();
    for node in spec.get("nodes").and_then(Node::as_seq).unwrap_or_default() {
        let Some(host) = text_at(node, &["hostName"]) else {
            continue;
        };
        kept.push(host.text);
        let same_host = |old: &&Value| name_of(old).as_deref() == Some(host.text);
        let Some(was) = old_nodes.into_iter().flatten().find(same_host) else {
            if running {
                refuse(findings, host.span, &format!("`{}` is added", host.text), &why, place);
            }
            continue;
        };
        let now = node.to_json();
        for (field, span, change) in differing(was, node, host.span, free) {
            let config = |node: &Value| node.pointer("/nodeNetwork/config").cloned();
            let interfaces = anew && !running && field == "nodeNetwork" && config(was) == config(&now);
            if !interfaces && !comes_or_goes(&field, was, &now) {
                let what = format!("`{field}` of `{}` is changed{change}", host.text);
                refuse(findings, span, &what, &why, place);
            }
        }
    }
    for gone in old_nodes.into_iter().flatten().filter_map(name_of).filter(|_| running) {
        if !kept.contains(&&*gone) {
            refuse(findings, own, &format!("`{gone}` is taken away"), &why, place);
        }
    }
}

/// A new version of the definition brought `cpuArchitecture`, so it may come and go.
fn comes_or_goes(field: &str, was: &Value, now: &Value) -> bool {
    field == "cpuArchitecture" && (was.get(field).is_none() || now.get(field).is_none())
}

/// Whether a reinstallation is asked for that the hub has not seen.
fn is_new_generation(was: &Value, now: &Value, status: Option<&Document>) -> bool {
    let Some(wanted) = now.pointer("/reinstall/generation").and_then(Value::as_str) else {
        return false;
    };
    let seen = status
        .and_then(|it| it.root.at(&["status", "reinstall"]))
        .map(Node::to_json)
        .unwrap_or_default();
    let history = seen.get("history").and_then(Value::as_array).into_iter().flatten();
    let mut used = history
        .map(|record| record.get("generation"))
        .chain([seen.get("observedGeneration"), was.pointer("/reinstall/generation")])
        .flatten();
    !used.any(|generation| generation == wanted)
}

fn refuse(findings: &mut Findings, span: Span, what: &str, why: &str, place: Span) {
    findings.add_related(
        &lints::FROZEN,
        span,
        format!("{what}: {why}"),
        place,
        "what the hub has",
    );
}

fn is_same(old: &HostView<'_>, new: &HostView<'_>) -> bool {
    old.cluster == new.cluster && (same_mac(old.mac, new.mac) || old.name.text == new.name.text)
}

/// Compares a host with what was applied. A `ClusterInstance` is compared as a whole; the others speak by annotations, which the service
/// stores until the installation starts.
fn applied(host: &HostView<'_>, old: &HostView<'_>, findings: &mut Findings) {
    let who = host.name.text;
    for (key, _) in &old.labels {
        let kept = host.labels.iter().any(|(own, _)| own.text == key.text);
        let refused = host.kind == Kind::Instance && (old.installed.or(host.installed)) != Some(false);
        if !kept && !refused {
            findings.add_related(
                &lints::STALE_LABEL,
                host.name.span,
                format!(
                    "label `{}` of `{who}` is gone from its manifest; a Node that is there keeps it until somebody removes it: `berth \
                     plan`, or by hand",
                    key.text
                ),
                key.span,
                "was here",
            );
        }
    }
    if host.kind == Kind::Instance {
        return;
    }
    // A BareMetalHost is compared as an object.
    if let (Some(new), Some(was), Kind::SiteConfig) = (host.mac, old.mac, host.kind)
        && !new.text.eq_ignore_ascii_case(was.text)
    {
        let why = "the API server refuses it for a BareMetalHost that has one";
        let what = format!("the boot MAC address of `{who}` is changed");
        refuse(findings, new.span, &what, why, was.span);
    }
    let why = match old.installed.or(host.installed) {
        Some(false) => return,
        Some(true) => format!("`{who}` is installed, and the service stores it no more"),
        None => format!("once `{who}` is installed the service stores it no more"),
    };
    for (what, new, was) in [
        ("role", host.role, old.role),
        ("pool", host.pool, old.pool),
        ("Ignition override", host.ignition, old.ignition),
    ] {
        compare(host, what, new, was.map(|was| was.text), &why, old.name.span, findings);
    }
    for (key, value) in &host.labels {
        let was = old.labels.iter().find(|(own, _)| own.text == key.text);
        if was.and_then(|(_, was)| was.as_str()) != value.as_str() {
            let what = format!("label `{}` of `{who}` is changed", key.text);
            refuse(
                findings,
                key.span,
                &what,
                &why,
                was.map_or(old.name.span, |(was, _)| was.span),
            );
        }
    }
}

/// One field of a host. Ignition is compared as JSON.
fn compare(
    host: &HostView<'_>,
    what: &str,
    new: Option<Text<'_>>,
    was: Option<&str>,
    why: &str,
    place: Span,
    findings: &mut Findings,
) {
    let json = |text: &str| serde_json::from_str::<Value>(text).ok();
    let equal = match (new, was) {
        (Some(new), Some(was)) => new.text == was || json(new.text).is_some_and(|new| Some(new) == json(was)),
        (new, was) => new.map(|new| new.text) == was,
    };
    if equal {
        return;
    }
    let who = host.name.text;
    let text = |text: Option<&str>| {
        text.filter(|text| text.len() <= 60)
            .map(|text| Value::String(text.to_owned()))
    };
    let change = match (new, was) {
        (None, Some(_)) => format!("the {what} of `{who}` is gone, and its Agent keeps the old one"),
        (new, was) => {
            let (old, new) = (text(was), text(new.map(|new| new.text)));
            let words = if what == "Ignition override" {
                String::new()
            } else {
                words(old.as_ref(), new.as_ref())
            };
            format!("the {what} of `{who}` is changed{words}")
        }
    };
    refuse(
        findings,
        new.map_or(host.name.span, |new| new.span),
        &change,
        why,
        place,
    );
}

/// Whether an `Agent` is the host's, by its card or its name.
fn is_of(agent: &Document, host: &HostView<'_>) -> bool {
    let interfaces = agent
        .root
        .at(&["status", "inventory", "interfaces"])
        .and_then(Node::as_seq);
    let cards = interfaces
        .unwrap_or_default()
        .iter()
        .filter_map(|it| text_at(it, &["macAddress"]));
    let by_card = cards.into_iter().any(|card| same_mac(Some(card), host.mac));
    let names = [
        text_at(&agent.root, &["spec", "hostname"]),
        text_at(&agent.root, &["status", "inventory", "hostname"]),
    ];
    by_card || names.iter().flatten().any(|name| name.text == host.name.text)
}

/// Compares a host with the Agent that installed it.
fn installed_with(host: &HostView<'_>, agent: &Document, findings: &mut Findings) {
    let done = condition(agent, "Installed").is_some_and(|(status, reason)| {
        status == "True" || matches!(reason, "InstallationInProgress" | "InstallationFailed")
    });
    let Some(spec) = agent.body().filter(|_| done) else {
        return;
    };
    let who = host.name.text;
    let why = format!("the Agent of `{who}` was installed otherwise, and the service stores no change");
    let was = |key: &str| Some(text_at(spec, &[key])?.text);
    let own = agent.span();
    // A role that nobody asked for was chosen by the service.
    if host.role.is_some_and(|role| role.text != "auto-assign") || host.kind != Kind::Raw {
        let role = Text {
            text: host.role(),
            span: host.role.map_or(host.name.span, |role| role.span),
        };
        compare(host, "role", Some(role), was("role"), &why, own, findings);
    }
    compare(host, "pool", host.pool, was("machineConfigPool"), &why, own, findings);
    // At day 2 the service adds the cluster's certificate to an override, so one that is only there is its own.
    if host.ignition.is_some() {
        let overrides = was("ignitionConfigOverrides");
        let contained = |new: &str, was: &str| {
            let json = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
            is_within(&json(new), &json(was))
        };
        let kept = host
            .ignition
            .zip(overrides)
            .is_some_and(|(new, was)| contained(new.text, was));
        if !kept {
            compare(host, "Ignition override", host.ignition, overrides, &why, own, findings);
        }
    }
    let labels = spec.get("nodeLabels");
    for (key, value) in &host.labels {
        let was = labels.and_then(|labels| labels.get(key.text)).and_then(Node::as_str);
        if was != value.as_str() {
            refuse(
                findings,
                key.span,
                &format!("label `{}` of `{who}` is changed", key.text),
                &why,
                own,
            );
        }
    }
}

/// Whether everything of one value is in the other.
fn is_within(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => {
            let mut part = part.iter();
            part.all(|(key, value)| whole.get(key).is_some_and(|other| is_within(value, other)))
        }
        (Value::Array(part), Value::Array(whole)) => {
            part.iter().all(|item| whole.iter().any(|other| is_within(item, other)))
        }
        (part, whole) => part == whole,
    }
}

/// Compares an installed host with what the site wants: role and override; labels are compared with the others.
fn declared(host: &HostView<'_>, options: &CheckOptions, findings: &mut Findings) {
    let wanted = options.declared.as_ref().and_then(|nodes| nodes.get(host.name.text));
    let Some(wanted) = wanted.filter(|_| host.installed == Some(true)) else {
        return;
    };
    let help = "what a machine was installed with is changed by installing it again";
    let who = host.name.text;
    if let Some(role) = wanted.role.as_deref().filter(|role| *role != host.role()) {
        findings.add_with_help(
            &lints::FROZEN,
            host.role.map_or(host.name.span, |it| it.span),
            format!(
                "`{who}` is installed as {}, and its role cannot be changed any more: the site wants {role}",
                host.role()
            ),
            help,
        );
    }
    let json = |text: &str| serde_json::from_str::<Value>(text).ok();
    let own = host.ignition.and_then(|text| json(text.text));
    if let Some(ignition) = wanted.ignition.as_deref().and_then(json)
        && own.as_ref().is_none_or(|own| !is_within(&ignition, own))
    {
        findings.add_with_help(
            &lints::FROZEN,
            host.ignition.map_or(host.name.span, |text| text.span),
            format!(
                "`{who}` is installed, and its Ignition override cannot be changed any more: the site wants another"
            ),
            help,
        );
    }
}
