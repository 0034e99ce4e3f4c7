//! Every condition that can be checked in the manifests of a hub is reported: a table by number, in `tests/conditions`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use berth_documents::{Sources, parse};
use berth_site::Release;
use berth_ztp::{CheckOptions, Declared, check};
use serde_json::Value;

/// How many conditions there are.
const CONDITIONS: u64 = 35;

/// What stands for the end of the manifests in a change.
const END: &str = "END";

const TABLE: &str = include_str!("../conditions/conditions.yaml");
const RAW: &str = include_str!("../conditions/raw.yaml");
const INSTANCE: &str = include_str!("../conditions/instance.yaml");

const HAPROXY: &str = "defaults
  mode tcp
  option httpchk GET /healthz/ready
  default-server check port 1936
backend routers
  server w0 10.19.3.24:443
  server w1 10.19.3.25:443
";

fn rows() -> Vec<Value> {
    let mut sources = Sources::new();
    let id = sources.add("conditions.yaml", format!("rows:\n{TABLE}"));
    let parsed = parse(&sources, id);
    parsed.documents[0].root.to_json()["rows"].as_array().unwrap().clone()
}

/// `{x*9}` becomes nine x.
fn long(text: &str) -> String {
    let Some((before, rest)) = text.split_once("{x*").or_else(|| text.split_once("{w*")) else {
        return text.to_owned();
    };
    let (count, after) = rest.split_once('}').unwrap();
    let letter = if text.contains("{x*") { "x" } else { "w" };
    format!("{before}{}{after}", letter.repeat(count.parse().unwrap()))
}

fn changed(text: &str, changes: &Value, row: &Value) -> String {
    let mut text = text.to_owned();
    for change in changes.as_array().into_iter().flatten() {
        let (from, to) = (change[0].as_str().unwrap(), long(change[1].as_str().unwrap()));
        if from == END {
            text.push_str(&to);
            continue;
        }
        assert!(text.contains(from), "{from}: {row}");
        text = text.replacen(from, &to, 1);
    }
    text
}

fn declared(row: &Value) -> Option<BTreeMap<String, Declared>> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let hosts = row["declared"].as_object()?.iter().map(|(name, host)| {
        let labels = host["labels"].as_object().into_iter().flatten();
        let declared = Declared {
            labels: labels.map(|(key, value)| (key.clone(), text(value).unwrap())).collect(),
            role: text(&host["role"]),
            ignition: text(&host["ignition"]),
        };
        (name.clone(), declared)
    });
    Some(hosts.collect())
}

/// The findings of a row: code, the text of the line, message.
fn found(base: &str, row: &Value) -> Vec<(String, String, String)> {
    let text = changed(base, &row["change"], row);
    let mut sources = Sources::new();
    let id = sources.add("hub.yaml", text.as_str());
    let parsed = parse(&sources, id);
    assert!(parsed.diagnostics.is_empty(), "{:?}\n{text}", parsed.diagnostics);
    let release = row["release"].as_str().unwrap_or("4.18");
    let mut options = CheckOptions {
        release: Some(release.parse::<Release>().unwrap()),
        declared: declared(row),
        ..CheckOptions::default()
    };
    if row["against"].is_array() {
        let id = sources.add("before.yaml", changed(&text, &row["against"], row));
        options.against = parse(&sources, id).documents;
    }
    let haproxy = row["haproxy"].as_str().unwrap_or_default();
    if !haproxy.is_empty() {
        options.load_balancers.push(sources.add("haproxy.cfg", haproxy));
    }
    let findings = check(&mut sources, &parsed.documents, &options);
    let line = |finding: berth_documents::Diagnostic| {
        let at = sources.location(finding.span.unwrap());
        let text = if at.file == "haproxy.cfg" { haproxy } else { &text };
        let line = text.lines().nth(at.line().unwrap() as usize - 1).unwrap_or_default();
        (finding.code().to_owned(), line.to_owned(), finding.message)
    };
    findings.into_iter().map(line).collect()
}

#[test]
fn nothing_is_wrong_with_what_the_rows_begin_with() {
    for base in [RAW, INSTANCE] {
        let row = serde_json::json!({"haproxy": HAPROXY, "against": []});
        assert_eq!(found(base, &row), Vec::new());
    }
}

#[test]
fn every_condition_is_reported_with_its_line() {
    let mut wrong = String::new();
    for row in rows() {
        let text = |key: &str| row[key].as_str().unwrap_or_default();
        let found = found(if text("base") == "raw" { RAW } else { INSTANCE }, &row);
        let hit = |(code, line, message): &(String, String, String)| {
            code == text("finds") && line.contains(text("line")) && message.contains(text("words"))
        };
        if !found.iter().any(hit) {
            let cut = |text: &str| text.chars().take(120).collect::<String>();
            let _ = writeln!(
                wrong,
                "condition {}: {} at `{}`",
                row["condition"],
                text("finds"),
                text("line")
            );
            for (code, line, message) in &found {
                let _ = writeln!(wrong, "  found {code} at `{}`: {}", cut(line), cut(message));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn no_condition_is_left_out() {
    let shown: BTreeSet<u64> = rows().iter().filter_map(|row| row["condition"].as_u64()).collect();
    assert_eq!(shown, (1..=CONDITIONS).collect());
}

/// What a hub lets people change, and what its API server fills in, is not a finding.
#[test]
fn free_changes_are_not_refused() {
    const DONE: &str = "status: {conditions: [{type: Provisioned, status: \"True\", reason: Completed}]}\n";
    let before = |changes: Value| serde_json::json!({"against": changes});
    for against in [
        // Filled in by the API server, or empty.
        serde_json::json!([
            [
                "    role: master  # of m0\n",
                "    role: master\n    bootMode: UEFI\n    ironicInspect: \"\"\n    automatedCleaningMode: disabled\n    nodeLabels: {}\n"
            ],
            [END, DONE]
        ]),
        serde_json::json!([
            [
                "  nodes:\n",
                "  networkType: OVNKubernetes\n  holdInstallation: false\n  nodes:\n"
            ],
            [END, DONE]
        ]),
        // Free at any time.
        serde_json::json!([
            [
                "    role: master  # of m0\n",
                "    role: master\n    extraAnnotations: {BareMetalHost: {a: b}}\n"
            ],
            [END, DONE]
        ]),
        serde_json::json!([["img4.18.5", "img4.18.4"], [END, DONE]]),
        // A host that was not there.
        serde_json::json!([["hostName: w1", "hostName: w9"], [END, DONE]]),
    ] {
        assert_eq!(found(INSTANCE, &before(against.clone())), Vec::new(), "{against}");
    }
    let held = serde_json::json!({
        "change": [["  nodes:\n", "  holdInstallation: true\n  nodes:\n"]],
        "against": [["telco.example", "other.example"], [END, "status: {conditions: [{type: Provisioned, status: \"False\", reason: InProgress}]}\n"]],
    });
    assert_eq!(found(INSTANCE, &held), Vec::new());
    // A host that its hub has not installed yet takes another role.
    let waiting = serde_json::json!([
        [
            "bmac.agent-install.openshift.io/role: worker  # of w1",
            "bmac.agent-install.openshift.io/role: master"
        ],
        [END, "status: {provisioning: {state: preparing}}\n"],
    ]);
    assert_eq!(found(RAW, &before(waiting)), Vec::new());
}
