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
const ROUTES: &str = include_str!("../compatibility/routes.yaml");

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

/// The identifiers of what the server made, by the names that routes have for them.
type Made = Vec<(&'static str, String)>;

/// A row with the identifiers in place of their names.
fn filled(row: &Value, made: &Made) -> Value {
    let mut text = row.to_string();
    for (name, id) in made {
        text = text.replace(&format!("{{{name}}}"), id);
    }
    serde_json::from_str(&text).unwrap()
}

/// What is wrong with the answer to the request of a row.
async fn wrong_answer(server: &Relabelling, row: &Value) -> Option<String> {
    let reply = send(server, row).await;
    let words = || list(row, "has").iter().map(|words| words.as_str().unwrap());
    let is_right = Some(u64::from(reply.status)) == row["answers"].as_u64();
    let missing: Vec<&str> = words().filter(|words| !reply.body.contains(words)).collect();
    (!is_right || !missing.is_empty()).then(|| {
        let route = text(row, "route").unwrap();
        format!("{route} answers {}, without {missing:?}: {}", reply.status, reply.body)
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_of_the_reference_answers() {
    let server = Relabelling::empty(On::Sqlite, Auth::None, WorkflowOptions::default()).await;
    let server = server.expect("SQLite is always there");
    server.commit(crate::relabelling::SITE).await;
    server.site_action().await;
    let action = server
        .relabel(&serde_json::json!(["node1", "node2"]))
        .await
        .expect(201)
        .json();
    let id = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut made: Made = vec![
        ("action", id(&action["id"])),
        ("revision", id(&action["committed_rev_id"])),
    ];
    let is_early = |row: &&Value| row.get("early").is_some();
    let mut wrong = Vec::new();
    for row in read(ROUTES).iter().filter(is_early) {
        wrong.extend(wrong_answer(&server, &filled(row, &made)).await);
    }
    let unpaused = format!("actions/{}/control/unpause", made[0].1);
    server.send("POST", &unpaused, None).await.expect(202);
    server.work();
    let ended = server.ended(&made[0].1).await;
    let runs = server.api.get("workflows").await.expect(200).json();
    made.extend([
        ("note", id(&ended["notes"][0]["note_id"])),
        ("task", id(&ended["task_id"])),
        ("workflow", id(&runs[0]["workflow_id"])),
    ]);
    for row in read(ROUTES).iter().filter(|row| !is_early(row)) {
        wrong.extend(wrong_answer(&server, &filled(row, &made)).await);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The routes of each service, methods one by one: those of the reference, and the others of Drydock's code.
const REFERENCE: &[(&str, &[&str])] = &[
    (
        "Shipyard",
        &[
            "GET /actions",
            "GET /actions/{action_id}",
            "GET /actions/{action_id}/steps/{step_id}",
            "GET /actions/{action_id}/steps/{step_id}/logs",
            "GET /actions/{action_id}/validations/{validation_id}",
            "GET /configdocs",
            "GET /configdocs/{collection_id}",
            "GET /health",
            "GET /notedetails/{note_id}",
            "GET /renderedconfigdocs",
            "GET /site_statuses",
            "GET /versions",
            "GET /workflows",
            "GET /workflows/{workflow_id}",
            "POST /actions",
            "POST /actions/{action_id}/control/{control_verb}",
            "POST /commitconfigdocs",
            "POST /configdocs/{collection_id}",
        ],
    ),
    (
        "Drydock",
        &[
            "DELETE /tasks",
            "GET /bootactions/nodes/{hostname}/files",
            "GET /bootactions/nodes/{hostname}/units",
            "GET /designs",
            "GET /designs/{design_id}",
            "GET /designs/{design_id}/parts",
            "GET /designs/{design_id}/parts/{kind}",
            "GET /designs/{design_id}/parts/{kind}/{name}",
            "GET /health",
            "GET /health/extended",
            "GET /nodes",
            "GET /nodes/{hostname}/builddata",
            "GET /tasks",
            "GET /tasks/{task_id}",
            "GET /tasks/{task_id}/builddata",
            "POST /bootactions/{action_id}",
            "POST /designs",
            "POST /designs/{design_id}/parts",
            "POST /nodefilter",
            "POST /tasks",
            "POST /validatedesign",
        ],
    ),
    (
        "Promenade",
        &[
            "GET /health",
            "GET /join-scripts",
            "POST /validatedesign",
            "PUT /node-labels/{node_name}",
        ],
    ),
    (
        "Deckhand",
        &[
            "DELETE /revisions",
            "DELETE /revisions/{revision_id}/tags",
            "DELETE /revisions/{revision_id}/tags/{tag}",
            "GET /health",
            "GET /revisions",
            "GET /revisions/{revision_id}",
            "GET /revisions/{revision_id}/deepdiff/{comparison_revision_id}",
            "GET /revisions/{revision_id}/diff/{comparison_revision_id}",
            "GET /revisions/{revision_id}/documents",
            "GET /revisions/{revision_id}/rendered-documents",
            "GET /revisions/{revision_id}/tags",
            "GET /revisions/{revision_id}/tags/{tag}",
            "GET /revisions/{revision_id}/validations",
            "GET /revisions/{revision_id}/validations/detail",
            "GET /revisions/{revision_id}/validations/{validation_name}",
            "GET /revisions/{revision_id}/validations/{validation_name}/entries/{entry_id}",
            "POST /revisions/{revision_id}/tags/{tag}",
            "POST /revisions/{revision_id}/validations/{validation_name}",
            "POST /rollback/{revision_id}",
            "PUT /buckets/{bucket_name}/documents",
        ],
    ),
];

/// A route is on the page with what holds, and with the reason where it is not there.
#[test]
fn every_route_of_the_reference_is_in_the_table() {
    let table = read(ROUTES);
    for (service, routes) in REFERENCE {
        let rows: Vec<&Value> = table
            .iter()
            .filter(|row| text(row, "service") == Some(service))
            .collect();
        let mut listed: Vec<&str> = rows.iter().map(|row| text(row, "route").unwrap()).collect();
        listed.sort_unstable();
        assert_eq!(listed, *routes, "{service}");
        for row in rows {
            assert!(text(row, "holds").is_some_and(|holds| holds.ends_with('.')), "{row}");
            let succeeds = row["answers"].as_u64().unwrap() < 400;
            assert!(succeeds || row.get("differs").is_some(), "{row}");
        }
    }
    let count: usize = REFERENCE.iter().map(|(_, routes)| routes.len()).sum();
    assert_eq!(table.len(), count);
}

/// What the server describes and none of the four services has: method and path with its summary.
fn own_routes() -> Vec<(String, String)> {
    let description = berth_airship::Api::description();
    let mut own = Vec::new();
    for (path, item) in description["paths"].as_object().unwrap() {
        for (method, about) in item.as_object().unwrap() {
            let short = path.strip_prefix("/api/v1.0").unwrap_or(path);
            let route = format!("{} {short}", method.to_uppercase());
            // The reference writes some parameters otherwise.
            let known = REFERENCE.iter().flat_map(|(_, routes)| *routes);
            if !known.into_iter().any(|known| *known == route) {
                own.push((route, about["summary"].as_str().unwrap().to_owned()));
            }
        }
    }
    own
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
        "Promenade removes every label that is not declared, except those with `kubernetes.io` in their key. Berth keeps the labels that identify a pool and those of known operators, unless a request names them, with the strategy `promenade` too.",
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

/// The routes of a service, with what holds and what differs.
fn table_of_routes(routes: &[Value], service: &str) -> String {
    let mut page = format!(
        "\n## {service}\n\nRoutes:\n\n| route | answer | what holds | what differs on purpose, and why |\n|---|---|---|---|\n"
    );
    for row in routes.iter().filter(|row| text(row, "service") == Some(service)) {
        writeln!(
            page,
            "| `{}` | {} | {} | {} |",
            text(row, "route").unwrap(),
            row["answers"],
            text(row, "holds").unwrap(),
            text(row, "differs").unwrap_or_default()
        )
        .unwrap();
    }
    page
}

fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    let (rows, documents) = (rows(), read(DOCUMENTS));
    let routes = read(ROUTES);
    // A row that is refused with words of the service is there; one without any is not.
    let is_there = |row: &&Value| row["answers"].as_u64().unwrap() < 400 || row.get("has").is_some();
    let served = routes.iter().filter(is_there).count();
    writeln!(
        page,
        "\nOf the {} routes of the four services {served} answer. {} are not there: what belongs to deploying machines, and what Deckhand replaced.",
        routes.len(),
        routes.len() - served
    )
    .unwrap();
    for service in ["Deckhand", "Shipyard", "Drydock", "Promenade"] {
        page.push_str(&table_of_routes(&routes, service));
        writeln!(
            page,
            "\nCalls:\n\n| rule | request | answer | passes |\n|---|---|---|---|"
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
    page.push_str(
        "\n## Routes of Berth\n\nNone of the four services has these.\n\n| route | what it is for |\n|---|---|\n",
    );
    for (route, summary) in own_routes() {
        writeln!(page, "| `{route}` | {summary} |").unwrap();
    }
    page.push_str("\n## Different on purpose in general\n\n| what | why |\n|---|---|\n");
    for (what, why) in ON_PURPOSE {
        writeln!(page, "| {what} | {why} |").unwrap();
    }
    page
}
