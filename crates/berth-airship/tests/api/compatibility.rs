//! What clients of Airship's services can rely on, as a table of calls; the page about it is made from the same table.

use std::{fmt::Write as _, path::PathBuf};

use berth_airship::Auth;
use berth_repository::read_values;
use berth_workflow::WorkflowOptions;
use serde_json::Value;

use crate::{
    fixture::{Reply, YAML},
    relabelling::{JSON, On, Relabelling},
};

const TABLE: &str = include_str!("../compatibility/airship.yaml");
const DOCUMENTS: &str = include_str!("../compatibility/documents.yaml");
const LABELS: &str = include_str!("../compatibility/labels.yaml");

/// The policy that inputs are loaded with.
const POLICY: &str = "\
schema: deckhand/LayeringPolicy/v1
metadata: {schema: metadata/Control/v1, name: layering-policy}
data: {layerOrder: [global, type, site]}
---
";

fn read(table: &str) -> Vec<Value> {
    let table = read_values(table).unwrap().remove(0);
    table.as_array().unwrap().clone()
}

fn rows() -> Vec<Value> {
    read(TABLE)
}

fn list<'a>(row: &'a Value, key: &str) -> &'a [Value] {
    row.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// What becomes of the documents of an input in an empty server: rendered for Deckhand, committed for Drydock.
async fn load(server: &Relabelling, row: &Value, input: &Value) -> Reply {
    let api = &server.api;
    api.delete("revisions").await.expect(204);
    let policy = if row.get("bare").is_some() { "" } else { POLICY };
    let documents = format!("{policy}{}\n", text(input, "documents").unwrap());
    if text(row, "service") == Some("Drydock") {
        let loaded = api.post("configdocs/rows", &documents).await;
        return match loaded.status {
            201 => api.post("commitconfigdocs", "").await,
            _ => loaded,
        };
    }
    let put = api.put("rows", &documents).await;
    match put.status {
        200 => api.get("revisions/1/rendered-documents").await,
        _ => put,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_rule_about_documents_holds() {
    let server = Relabelling::empty(On::Sqlite, Auth::None, WorkflowOptions::default()).await;
    let server = server.expect("SQLite is always there");
    for row in read(DOCUMENTS) {
        let rule = text(&row, "rule").unwrap();
        for input in list(&row, "refused") {
            let reply = load(&server, &row, input).await;
            assert_eq!(
                u64::from(reply.status),
                input["answers"].as_u64().unwrap(),
                "{rule} {}",
                reply.body
            );
            let words = text(input, "says").unwrap_or_default();
            assert!(reply.body.contains(words), "{rule} {}", reply.body);
        }
        assert!(!list(&row, "accepted").is_empty(), "{rule}");
        for input in list(&row, "accepted") {
            let reply = load(&server, &row, input).await.expect(200);
            for (name, data) in input.get("renders").and_then(Value::as_object).into_iter().flatten() {
                let documents = reply.documents();
                let found = documents.iter().find(|it| it["metadata"]["name"] == name.as_str());
                assert_eq!(found.map(|it| &it["data"]), Some(data), "{rule}");
            }
        }
    }
}

fn text<'a>(row: &'a Value, key: &str) -> Option<&'a str> {
    row.get(key).and_then(Value::as_str)
}

/// Sends the call of a row.
async fn send(server: &Relabelling, row: &Value) -> Reply {
    let host = server.api.address.to_string();
    let call = text(row, "call").or_else(|| row.as_str()).unwrap();
    let (method, path) = call.split_once(' ').unwrap();
    let (media_type, body) = match (row.get("json"), text(row, "yaml")) {
        (Some(json), _) => (JSON, Some(json.to_string().replace("HOST", &host))),
        (None, Some(yaml)) => (YAML, Some(yaml.to_owned())),
        (None, None) => (YAML, (method != "GET").then(String::new)),
    };
    let path = match path.strip_prefix('/') {
        Some(_) => path.to_owned(),
        None => format!("/api/v1.0/{path}"),
    };
    server
        .api
        .send(method, &path, &[("Content-Type", media_type)], body.as_deref())
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_row_of_the_table_holds() {
    let server = Relabelling::ready(On::Sqlite).await.unwrap();
    for row in rows() {
        let rule = text(&row, "rule").unwrap();
        let reply = send(&server, &row).await;
        let expected = row["answers"].as_u64().unwrap();
        assert_eq!(u64::from(reply.status), expected, "{rule} {}", reply.body);
        if let Some(words) = text(&row, "says") {
            assert!(reply.body.contains(words), "{rule} {}", reply.body);
        }
        if let Some(passes) = row.get("passes") {
            let reply = send(&server, passes).await;
            let expected = passes.get("answers").and_then(Value::as_u64).unwrap_or(200);
            assert_eq!(u64::from(reply.status), expected, "{rule} {passes} {}", reply.body);
        }
    }
}

/// Every row has a Node of its own.
#[tokio::test(flavor = "multi_thread")]
async fn labels_become_what_promenade_makes_of_them() {
    let server = Relabelling::empty(On::Sqlite, Auth::None, WorkflowOptions::default()).await;
    let server = server.expect("SQLite is always there");
    for (number, row) in read(LABELS).iter().enumerate() {
        let rule = text(row, "rule").unwrap();
        let pairs = |key: &str| -> Vec<(String, String)> {
            let labels = row[key].as_object().unwrap().iter();
            labels
                .map(|(key, value)| (key.clone(), value.as_str().unwrap().to_owned()))
                .collect()
        };
        let before = pairs("before");
        let before: Vec<(&str, &str)> = before.iter().map(|(key, value)| (&**key, &**value)).collect();
        let node = format!("box{number}");
        server.add_node(&node, &before).await;
        let path = format!("node-labels/{node}?strategy=promenade");
        let answer = server.send("PUT", &path, Some(&row["labels"])).await.expect(200).json();
        assert_eq!(answer["status"], "Success", "{rule}");
        let mut after: Vec<String> = pairs("after")
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        after.sort_unstable();
        assert_eq!(server.labels(&node).await, after, "{rule}");
    }
}

/// A refusal without a request that passes beside it could be a refusal of everything.
#[test]
fn every_refusal_has_a_row_that_must_pass() {
    for row in rows() {
        let refuses = row["answers"].as_u64().unwrap() >= 400;
        assert_eq!(refuses, row.get("passes").is_some(), "{row}");
    }
}

#[test]
fn the_page_is_made_from_the_table() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/compatibility/airship.md");
    let page = page();
    if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        written, page,
        "run INSTA_UPDATE=always cargo test -p berth-airship the_page_is_made_from_the_table"
    );
}

const INTRODUCTION: &str = "\
<!-- Made from the tables in crates/berth-airship/tests/compatibility/ by the test `the_page_is_made_from_the_table`; do not edit. -->

# Compatibility with Airship

Berth serves the parts of Deckhand, Shipyard, Drydock and Promenade that have to do with documents, nodes and labels. Every row below
is a request that the tests send to a server, or a rule about documents with inputs that the tests load into one. What is refused has
something beside it that must pass.

Documents in Airship's envelope follow Airship's rules: what Deckhand and Drydock take, Berth takes. Four sites in the shape of
published ones commit without an error, render document by document as Deckhand renders them, and relabel with every label; they are in
`crates/berth-airship/tests/sites/`. What only Kubernetes asks for, such as a legal label, is judged when a node uses it.

Deckhand's functional suite and Shipyard's, Drydock's and Promenade's own clients work without changes, with a Keystone that tells who calls. The suite
leaves its connections open: it needs `--max-connections-per-address`.

Scalars without quotes mean what PyYAML takes them for in Airship's envelope, and what kubectl takes them for in Kubernetes' envelope.
Both readers judge the same 5,000 texts in `crates/berth-documents/tests/dialects/`.
";

/// What is not in a table of calls, and differs on purpose.
const ON_PURPOSE: &[(&str, &str)] = &[
    (
        "A key that YAML does not read as a string",
        "Deckhand turns an unquoted key `on` into `true`. Berth keeps it as it is written and warns.",
    ),
    (
        "Dates",
        "PyYAML makes a date of `2026-11-18`, which Deckhand cannot store. Berth keeps the text.",
    ),
    (
        "Deleting in a layering action",
        "Deckhand deletes the first equal value, wherever it is. Berth deletes what the path names.",
    ),
    (
        "Several labels in a node filter",
        "Drydock's code joins them with OR and its documentation says AND. Berth follows the documentation.",
    ),
    (
        "Labels of other owners",
        "Promenade removes every label that is not declared, except those with `kubernetes.io` in their key. Berth keeps the labels that identify a pool and those of known operators; the strategy `promenade` does exactly what Promenade does.",
    ),
    (
        "Passwords of management controllers",
        "Drydock needs `oob.credential`. One that is written in clear text is a warning, which stops no commit.",
    ),
    (
        "Networks, storage and boot actions",
        "Drydock validates them for the machines that it deploys. Berth carries the documents along and does not judge them.",
    ),
    (
        "Site actions",
        "Berth deploys nothing. A site action that another tool carried out is recorded with `berth site-action record`.",
    ),
];

fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    let (rows, documents) = (rows(), read(DOCUMENTS));
    for service in ["Deckhand", "Shipyard", "Drydock", "Promenade"] {
        writeln!(
            page,
            "\n## {service}\n\nCalls:\n\n| rule | request | answer | passes |\n|---|---|---|---|"
        )
        .unwrap();
        for row in rows.iter().filter(|row| text(row, "service") == Some(service)) {
            let call = |row: &Value| format!("`{}`", text(row, "call").or_else(|| row.as_str()).unwrap());
            let passes = row.get("passes").map(call).unwrap_or_default();
            writeln!(
                page,
                "| {} | {} | {} | {passes} |",
                text(row, "rule").unwrap(),
                call(row),
                row["answers"]
            )
            .unwrap();
        }
        let rules: Vec<&Value> = documents
            .iter()
            .filter(|row| text(row, "service") == Some(service))
            .collect();
        if !rules.is_empty() {
            writeln!(
                page,
                "\nDocuments:\n\n| rule | inputs that are refused | inputs that are taken |\n|---|---|---|"
            )
            .unwrap();
            for row in rules {
                let (refused, accepted) = (list(row, "refused"), list(row, "accepted"));
                let statuses: Vec<String> = refused.iter().map(|input| input["answers"].to_string()).collect();
                let statuses = statuses.join(", ");
                writeln!(
                    page,
                    "| {} | {statuses} | {} |",
                    text(row, "rule").unwrap(),
                    accepted.len()
                )
                .unwrap();
            }
        }
        if service == "Promenade" {
            page.push_str("\nLabels, with `strategy=promenade`:\n\n| rule | on the Node | sent | on the Node then |\n|---|---|---|---|\n");
            for row in read(LABELS) {
                let cell = |key: &str| format!("`{}`", row[key]);
                let cells = [cell("before"), cell("labels"), cell("after")].join(" | ");
                writeln!(page, "| {} | {cells} |", text(&row, "rule").unwrap()).unwrap();
            }
        }
        let differs: Vec<&Value> = rows
            .iter()
            .chain(&documents)
            .filter(|row| text(row, "service") == Some(service) && row.get("differs").is_some())
            .collect();
        if !differs.is_empty() {
            writeln!(page, "\nDifferent on purpose:\n").unwrap();
            for row in differs {
                writeln!(
                    page,
                    "- {} {}",
                    text(row, "rule").unwrap(),
                    text(row, "differs").unwrap()
                )
                .unwrap();
            }
        }
    }
    page.push_str("\n## Different on purpose in general\n\n| what | why |\n|---|---|\n");
    for (what, why) in ON_PURPOSE {
        writeln!(page, "| {what} | {why} |").unwrap();
    }
    page
}
