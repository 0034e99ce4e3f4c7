//! What the systems of a hub reject and accept, by tables that come from the reference: `tests/conformance`. The page
//! `docs/compatibility/remote-workers.md` is made from them.

use std::{collections::BTreeSet, fmt::Write as _, fs, path::Path};

use berth_documents::{Severity, Sources, parse};
use berth_site::Release;
use berth_ztp::{CheckOptions, LINTS, check};
use serde_json::Value;

/// The tables in the order of the page.
const TABLES: &[&str] = &[
    "assisted-service",
    "metal3",
    "siteconfig",
    "siteconfig-generator",
    "ingress-operator",
    "ovn-kubernetes",
];

/// What stands for the end of the manifests in a change.
const END: &str = "END";

/// The page that is made from the tables.
const PAGE: &str = "docs/compatibility/remote-workers.md";

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn table(name: &str) -> Value {
    let mut sources = Sources::new();
    let id = sources.add(name, read(&format!("conformance/{name}.yaml")));
    let parsed = parse(&sources, id);
    // A table is YAML and has no kind.
    let wrong = parsed.diagnostics.iter().find(|it| it.code() != "unknown-envelope");
    assert!(wrong.is_none(), "{name}: {wrong:?}");
    parsed.documents[0].root.to_json()
}

fn base(name: &str) -> String {
    let folder = match name {
        "raw" | "instance" => "conditions",
        _ => "conformance/base",
    };
    read(&format!("{folder}/{name}.yaml"))
}

/// `{x*9}` becomes nine x, wherever it stands.
fn long(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('*').filter(|at| *at >= 2 && rest[at - 2..].starts_with('{')) {
        let (count, after) = rest[at + 1..].split_once('}').unwrap();
        out.push_str(&rest[..at - 2]);
        out.push_str(&rest[at - 1..at].repeat(count.parse().unwrap()));
        rest = after;
    }
    out + rest
}

fn replace(text: &mut String, from: &str, to: &str, id: &str) {
    if from == END {
        text.push_str(&long(to));
        return;
    }
    assert!(text.contains(from), "{id}: {from}");
    *text = text.replacen(from, &long(to), 1);
}

/// One input of a row and what becomes of it.
struct Input {
    text: String,
    /// What was changed, for messages.
    change: String,
    is_refused: bool,
    /// What the hub has, for rules about changes.
    before: Option<String>,
}

fn inputs(row: &Value) -> Vec<Input> {
    let id = row["id"].as_str().unwrap();
    let names: Vec<&str> = match &row["base"] {
        Value::Array(names) => names.iter().map(|name| name.as_str().unwrap()).collect(),
        name => vec![name.as_str().unwrap_or_else(|| panic!("{id} has no base"))],
    };
    let mut text = names.iter().map(|name| base(name)).collect::<Vec<_>>().join("---\n");
    for change in row["with"].as_array().into_iter().flatten() {
        replace(&mut text, change[0].as_str().unwrap(), change[1].as_str().unwrap(), id);
    }
    let before = row["was"].as_array().map(|changes| {
        let mut before = text.clone();
        for change in changes {
            replace(
                &mut before,
                change[0].as_str().unwrap(),
                change[1].as_str().unwrap(),
                id,
            );
        }
        before
    });
    let mut inputs = Vec::new();
    for (key, is_refused) in [("refused", true), ("accepted", false)] {
        for value in row[key].as_array().into_iter().flatten() {
            let (from, to) = (row["from"].as_str().unwrap(), value.as_str().unwrap());
            let mut text = text.clone();
            replace(&mut text, from, to, id);
            inputs.push(Input {
                text,
                change: to.to_owned(),
                is_refused,
                before: before.clone(),
            });
        }
    }
    for edit in row["edits"].as_array().into_iter().flatten() {
        let is_refused = edit.get("refused").is_some();
        let changes = edit[if is_refused { "refused" } else { "accepted" }]
            .as_array()
            .unwrap();
        let mut text = text.clone();
        for change in changes {
            replace(&mut text, change[0].as_str().unwrap(), change[1].as_str().unwrap(), id);
        }
        inputs.push(Input {
            text,
            change: Value::Array(changes.clone()).to_string(),
            is_refused,
            before: before.clone(),
        });
    }
    inputs
}

/// Code and message of each error and warning.
fn found(row: &Value, input: &Input) -> Vec<(String, String)> {
    let text = &*input.text;
    let mut sources = Sources::new();
    let id = sources.add("hub.yaml", text);
    let parsed = parse(&sources, id);
    assert!(
        parsed.diagnostics.is_empty(),
        "{}: {:?}\n{text}",
        row["id"],
        parsed.diagnostics
    );
    let release = row["release"].as_str().unwrap_or("4.18");
    let mut options = CheckOptions {
        release: Some(release.parse::<Release>().unwrap()),
        ..CheckOptions::default()
    };
    if let Some(before) = &input.before {
        let id = sources.add("before.yaml", &**before);
        options.against = parse(&sources, id).documents;
    }
    check(&mut sources, &parsed.documents, &options)
        .into_iter()
        .filter(|finding| finding.severity() != Severity::Note)
        .map(|finding| (finding.code().to_owned(), finding.message))
        .collect()
}

#[test]
fn what_the_systems_reject_is_found_and_what_they_accept_is_not() {
    let mut wrong = String::new();
    for name in TABLES {
        for row in table(name)["rows"].as_array().unwrap() {
            for input in inputs(row) {
                let found = found(row, &input);
                let code = row["finds"].as_str().unwrap();
                let fine = if input.is_refused {
                    found.iter().any(|(found, _)| found == code)
                } else {
                    found.is_empty()
                };
                if !fine {
                    let wanted = if input.is_refused { code } else { "nothing" };
                    let _ = writeln!(
                        wrong,
                        "{}: `{}` must give {wanted}: {found:?}",
                        row["id"],
                        input.change.trim_end()
                    );
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_row_has_both_sides_and_an_id_of_its_own() {
    let mut ids = BTreeSet::new();
    for name in TABLES {
        for row in table(name)["rows"].as_array().unwrap() {
            let id = row["id"].as_str().unwrap().to_owned();
            let inputs = inputs(row);
            assert!(inputs.iter().any(|input| input.is_refused), "{id} rejects nothing");
            let one_sided = row["differs"].is_string();
            assert!(
                one_sided || inputs.iter().any(|input| !input.is_refused),
                "{id} accepts nothing"
            );
            assert!(row["rule"].as_str().is_some_and(|rule| rule.ends_with('.')), "{id}");
            assert!(ids.insert(id.clone()), "{id} is there twice");
        }
    }
}

/// The page, from the tables alone.
fn page() -> String {
    let mut page = String::from(
        "# Remote workers: what a hub rejects\n\n\
         This page is generated from the tables in `crates/berth-ztp/tests/conformance`; a test keeps it current. Each rule comes from \
         the system's own CRDs, webhooks, controllers or documentation. The test gives `berth ztp check` every input of a rule: what the \
         system rejects must be found, and what it accepts must give neither an error nor a warning.\n\n\
         | System | Rules | Rejected inputs | Accepted inputs |\n|---|---|---|---|\n",
    );
    let mut totals = (0, 0, 0);
    let tables: Vec<Value> = TABLES.iter().map(|name| table(name)).collect();
    for table in &tables {
        let rows = table["rows"].as_array().unwrap();
        let inputs: Vec<Input> = rows.iter().flat_map(inputs).collect();
        let refused = inputs.iter().filter(|input| input.is_refused).count();
        let accepted = inputs.len() - refused;
        let system = table["system"].as_str().unwrap();
        let _ = writeln!(page, "| {system} | {} | {refused} | {accepted} |", rows.len());
        totals = (totals.0 + rows.len(), totals.1 + refused, totals.2 + accepted);
    }
    let _ = writeln!(
        page,
        "| **Total** | **{}** | **{}** | **{}** |",
        totals.0, totals.1, totals.2
    );
    for table in &tables {
        let _ = write!(
            page,
            "\n## {}\n\n{}\n\n| Rule | Id | Finding |\n|---|---|---|\n",
            table["system"].as_str().unwrap(),
            table["about"].as_str().unwrap()
        );
        let rows = table["rows"].as_array().unwrap();
        for row in rows {
            let code = row["finds"].as_str().unwrap();
            let lint = LINTS.iter().chain(berth_site::LINTS).find(|lint| lint.code == code);
            let lint = lint.unwrap_or_else(|| panic!("{}: there is no lint {code}", row["id"]));
            let release = row["release"]
                .as_str()
                .map_or_else(String::new, |release| format!(" ({release})"));
            let _ = writeln!(
                page,
                "| {}{release} | `{}` | `{code}` ({}) |",
                row["rule"].as_str().unwrap().replace('|', "\\|"),
                row["id"].as_str().unwrap(),
                lint.severity
            );
        }
        let differing: Vec<&Value> = rows.iter().filter(|row| row["differs"].is_string()).collect();
        if !differing.is_empty() {
            page.push_str("\nWhat differs on purpose:\n\n");
            for row in differing {
                let _ = writeln!(
                    page,
                    "- `{}`: {}",
                    row["id"].as_str().unwrap(),
                    row["differs"].as_str().unwrap()
                );
            }
        }
    }
    page
}

/// With `INSTA_UPDATE=always` the page is written.
#[test]
fn the_page_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE);
    let page = page();
    if std::env::var_os("INSTA_UPDATE").is_some_and(|value| value == "always") {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &page).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == page,
        "{PAGE} is not current: run `INSTA_UPDATE=always cargo test -p berth-ztp conformance` and commit it"
    );
}
