//! The columns of the kinds that are built in.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Column, age};
use crate::object::{at, condition, is_terminating, items, label, meta, name, text};

type Cells = fn(&Value, Timestamp) -> Vec<Value>;

const fn column(name: &'static str, kind: &'static str, priority: u8) -> Column {
    Column { name, kind, priority }
}

const fn string(name: &'static str) -> Column {
    column(name, "string", 0)
}

const fn wide(name: &'static str) -> Column {
    column(name, "string", 1)
}

const NODE: &[Column] = &[
    string("Name"),
    string("Status"),
    string("Roles"),
    string("Age"),
    string("Version"),
    wide("Internal-IP"),
    wide("External-IP"),
    wide("OS-Image"),
    wide("Kernel-Version"),
    wide("Container-Runtime"),
];
const POD: &[Column] = &[
    string("Name"),
    string("Ready"),
    string("Status"),
    string("Restarts"),
    string("Age"),
    wide("IP"),
    wide("Node"),
    wide("Nominated Node"),
    wide("Readiness Gates"),
];
const NAMESPACE: &[Column] = &[string("Name"), string("Status"), string("Age")];
const LEASE: &[Column] = &[string("Name"), string("Holder"), string("Age")];
const CONFIG_MAP: &[Column] = &[string("Name"), column("Data", "integer", 0), string("Age")];
const SECRET: &[Column] = &[
    string("Name"),
    string("Type"),
    column("Data", "integer", 0),
    string("Age"),
];
const EVENT: &[Column] = &[
    string("Last Seen"),
    string("Type"),
    string("Reason"),
    string("Object"),
    wide("Subobject"),
    wide("Source"),
    string("Message"),
    wide("First Seen"),
    wide("Count"),
    wide("Name"),
];
const REQUEST: &[Column] = &[
    string("Name"),
    string("Age"),
    string("SignerName"),
    string("Requestor"),
    string("RequestedDuration"),
    string("Condition"),
];
const BUDGET: &[Column] = &[
    string("Name"),
    string("Min Available"),
    string("Max Unavailable"),
    column("Allowed Disruptions", "integer", 0),
    string("Age"),
];
const DEFINITION: &[Column] = &[string("Name"), column("Created At", "date", 0)];
const OTHER: &[Column] = &[string("Name"), string("Age")];

pub(super) fn of_kind(kind: &str) -> (&'static [Column], Cells) {
    match kind {
        "Node" => (NODE, node),
        "Pod" => (POD, pod),
        "Namespace" => (NAMESPACE, |object, now| {
            vec![
                json!(name(object)),
                json!(text(object, &["status", "phase"])),
                created(object, now),
            ]
        }),
        "Lease" => (LEASE, |object, now| {
            vec![
                json!(name(object)),
                json!(text(object, &["spec", "holderIdentity"])),
                created(object, now),
            ]
        }),
        "ConfigMap" => (CONFIG_MAP, |object, now| {
            vec![json!(name(object)), json!(entries(object)), created(object, now)]
        }),
        "Secret" => (SECRET, |object, now| {
            vec![
                json!(name(object)),
                json!(text(object, &["type"])),
                json!(entries(object)),
                created(object, now),
            ]
        }),
        "Event" => (EVENT, event),
        "CertificateSigningRequest" => (REQUEST, request),
        "PodDisruptionBudget" => (BUDGET, budget),
        "CustomResourceDefinition" => (DEFINITION, |object, _| {
            vec![
                json!(name(object)),
                json!(text(object, &["metadata", "creationTimestamp"])),
            ]
        }),
        _ => (OTHER, |object, now| vec![json!(name(object)), created(object, now)]),
    }
}

fn created(object: &Value, now: Timestamp) -> Value {
    let since = at(object, &["metadata", "creationTimestamp"]).and_then(Value::as_str);
    json!(age(since, now))
}

fn entries(object: &Value) -> usize {
    ["data", "binaryData"]
        .iter()
        .filter_map(|key| object.get(key)?.as_object())
        .map(serde_json::Map::len)
        .sum()
}

fn or_none(text: &str) -> Value {
    json!(if text.is_empty() { "<none>" } else { text })
}

fn node(object: &Value, now: Timestamp) -> Vec<Value> {
    let mut status = vec![match condition(object, "Ready") {
        "True" => "Ready",
        "" => "Unknown",
        _ => "NotReady",
    }];
    if at(object, &["spec", "unschedulable"]).and_then(Value::as_bool) == Some(true) {
        status.push("SchedulingDisabled");
    }
    let labels = meta(object).and_then(|meta| meta.get("labels")?.as_object());
    let mut roles: Vec<&str> = labels
        .into_iter()
        .flatten()
        .filter_map(|(key, _)| key.strip_prefix("node-role.kubernetes.io/"))
        .filter(|role| !role.is_empty())
        .chain(label(object, "kubernetes.io/role").filter(|role| !role.is_empty()))
        .collect();
    roles.sort_unstable();
    roles.dedup();
    let address = |kind: &str| {
        items(object, &["status", "addresses"])
            .find(|address| text(address, &["type"]) == kind)
            .map_or("", |address| text(address, &["address"]))
    };
    let info = |key: &str| text(object, &["status", "nodeInfo", key]);
    let or_unknown = |text: &str| json!(if text.is_empty() { "<unknown>" } else { text });
    vec![
        json!(name(object)),
        json!(status.join(",")),
        or_none(&roles.join(",")),
        created(object, now),
        json!(info("kubeletVersion")),
        or_none(address("InternalIP")),
        or_none(address("ExternalIP")),
        or_unknown(info("osImage")),
        or_unknown(info("kernelVersion")),
        or_unknown(info("containerRuntimeVersion")),
    ]
}

fn pod(object: &Value, now: Timestamp) -> Vec<Value> {
    let statuses = || items(object, &["status", "containerStatuses"]);
    let ready = statuses().filter(|status| status.get("ready").and_then(Value::as_bool) == Some(true));
    let restarts: i64 = statuses()
        .filter_map(|status| status.get("restartCount")?.as_i64())
        .sum();
    let reason = text(object, &["status", "reason"]);
    let phase = if is_terminating(object) {
        "Terminating"
    } else if reason.is_empty() {
        text(object, &["status", "phase"])
    } else {
        reason
    };
    vec![
        json!(name(object)),
        json!(format!(
            "{}/{}",
            ready.count(),
            items(object, &["spec", "containers"]).count()
        )),
        json!(phase),
        json!(restarts.to_string()),
        created(object, now),
        or_none(text(object, &["status", "podIP"])),
        or_none(text(object, &["spec", "nodeName"])),
        or_none(text(object, &["status", "nominatedNodeName"])),
        json!("<none>"),
    ]
}

fn event(object: &Value, now: Timestamp) -> Vec<Value> {
    let time = |keys: &[&str]| keys.iter().find_map(|key| object.get(key)?.as_str());
    let last = at(object, &["series", "lastObservedTime"])
        .and_then(Value::as_str)
        .or_else(|| time(&["lastTimestamp", "eventTime"]));
    let first = time(&["firstTimestamp", "eventTime"]);
    let about = |key: &str| text(object, &["involvedObject", key]);
    let component = text(object, &["source", "component"]);
    let source = if component.is_empty() {
        text(object, &["reportingComponent"]).to_owned()
    } else {
        let host = text(object, &["source", "host"]);
        if host.is_empty() {
            component.to_owned()
        } else {
            format!("{component}, {host}")
        }
    };
    let count = at(object, &["series", "count"])
        .or_else(|| object.get("count"))
        .and_then(Value::as_i64)
        .unwrap_or(1);
    vec![
        json!(age(last, now)),
        json!(text(object, &["type"])),
        json!(text(object, &["reason"])),
        json!(format!("{}/{}", about("kind").to_lowercase(), about("name"))),
        json!(about("fieldPath")),
        json!(source),
        json!(text(object, &["message"]).trim()),
        json!(age(first, now)),
        json!(count.to_string()),
        json!(name(object)),
    ]
}

fn request(object: &Value, now: Timestamp) -> Vec<Value> {
    let has = |kind: &str| items(object, &["status", "conditions"]).any(|found| text(found, &["type"]) == kind);
    let mut state = if has("Denied") {
        "Denied"
    } else if has("Approved") {
        "Approved"
    } else {
        "Pending"
    }
    .to_owned();
    if has("Failed") {
        state.push_str(",Failed");
    }
    if !text(object, &["status", "certificate"]).is_empty() {
        state.push_str(",Issued");
    }
    let duration = at(object, &["spec", "expirationSeconds"]).and_then(Value::as_i64);
    vec![
        json!(name(object)),
        created(object, now),
        or_none(text(object, &["spec", "signerName"])),
        json!(text(object, &["spec", "username"])),
        json!(duration.map_or_else(|| "<none>".to_owned(), |seconds| format!("{seconds}s"))),
        json!(state),
    ]
}

fn budget(object: &Value, now: Timestamp) -> Vec<Value> {
    let bound = |key: &str| match at(object, &["spec", key]) {
        Some(Value::String(text)) => json!(text),
        Some(Value::Null) | None => json!("N/A"),
        Some(other) => json!(other.to_string()),
    };
    vec![
        json!(name(object)),
        bound("minAvailable"),
        bound("maxUnavailable"),
        at(object, &["status", "disruptionsAllowed"])
            .cloned()
            .unwrap_or_else(|| json!(0)),
        created(object, now),
    ]
}
