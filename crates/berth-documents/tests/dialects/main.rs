//! One reader, two dialects: plain scalars mean in the Kubernetes envelope what kubectl takes them for, and in the Airship
//! envelope what PyYAML takes them for. The judges are the real readers.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "helpers of tests: what cannot be prepared fails the test"
)]

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use berth_documents::{Severity, Sources, parse};
use serde_json::Value;

/// What people write without quotes.
const WRITTEN: &[&str] = &[
    "y",
    "Y",
    "n",
    "N",
    "yes",
    "Yes",
    "YES",
    "no",
    "No",
    "NO",
    "on",
    "On",
    "off",
    "OFF",
    "true",
    "True",
    "TRUE",
    "tRUE",
    "false",
    "False",
    "~",
    "null",
    "Null",
    "NULL",
    "nULL",
    "none",
    "08",
    "09",
    "007",
    "0644",
    "0o12",
    "0o644",
    "0O7",
    "0x1F",
    "0X1F",
    "0b101",
    "0B101",
    "1e3",
    "1E3",
    "1e+3",
    "1.5e3",
    "1.5e+3",
    "1.e+3",
    "1.5",
    "1.",
    ".5",
    "-.5",
    "+.5",
    "+1",
    "-1",
    "+1.5",
    "1_000",
    "1_000.5",
    "_1",
    "1_",
    "0_7",
    "-0",
    "-0644",
    "-0x1f",
    "12:30",
    "12:30:45",
    "1:90",
    "01:30",
    "190:20:30.15",
    "52:54:00:12:34:56",
    "52:54:00:a1:03:ab",
    "2.0.1",
    "10.0.0.1",
    "10.0.0.0/8",
    "v1.2",
    "1.2.3",
    "4-43",
    "ttyS1,115200n8",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "18446744073709551615",
    "0.1",
    "1e",
    "e3",
    "1e-3",
    "1.0e-3",
    "6.02e+23",
    "--",
    "-",
    ".",
    "..",
    "+",
    "abc",
    "a b",
    "0x",
    "0b",
    "0o",
    "0o8",
    "0b2",
    "0xg",
    "1-2",
    "1+2",
    "0.0",
    "00",
    "000",
    "0000.5",
    "08.5",
    "0_",
    "3e8",
    "1e10",
];

/// Every text of up to three of the characters that numbers and booleans are made of.
fn enumerated() -> Vec<String> {
    const CHARACTERS: &str = "0178+-._eExobynN:";
    let mut texts = vec![String::new()];
    let mut all = Vec::new();
    for _ in 0..3 {
        texts = texts
            .iter()
            .flat_map(|text| CHARACTERS.chars().map(move |character| format!("{text}{character}")))
            .collect();
        all.extend(texts.iter().cloned());
    }
    // A colon begins or ends something else, and a dash alone is a list.
    all.retain(|text| !text.starts_with(':') && !text.ends_with(':') && text != "-");
    all
}

fn texts() -> Vec<String> {
    let mut all: Vec<String> = WRITTEN
        .iter()
        .filter(|text| **text != "-")
        .map(|text| (*text).to_owned())
        .collect();
    all.extend(enumerated());
    all
}

/// A document in an envelope, with every text as a value.
fn document(envelope: &str, texts: &[String]) -> String {
    let mut text = format!("{envelope}data:\n");
    for (number, written) in texts.iter().enumerate() {
        writeln!(text, "  v{number}: {written}").unwrap();
    }
    text
}

const KUBERNETES: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: scalars\n";
const AIRSHIP: &str = "schema: example/Scalars/v1\nmetadata:\n  schema: metadata/Document/v1\n  name: scalars\n";

/// What Berth reads.
fn berth(text: &str) -> BTreeMap<String, Value> {
    let mut sources = Sources::new();
    let id = sources.add("test", text);
    let parsed = parse(&sources, id);
    let errors = parsed
        .diagnostics
        .iter()
        .filter(|finding| finding.severity() == Severity::Error);
    let errors: Vec<_> = errors.map(|finding| &finding.message).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let data = parsed.documents[0].root.get("data").unwrap().to_json();
    data.as_object().unwrap().clone().into_iter().collect()
}

fn run(command: &mut Command, input: &str) -> Value {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the judge starts");
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("the judge prints JSON")
}

fn missing(what: &str) {
    let required = std::env::var_os("BERTH_REQUIRE_TOOLS").is_some_and(|value| value == "1");
    assert!(!required, "BERTH_REQUIRE_TOOLS is set, and {what} is not installed");
    eprintln!("{what} is not installed: nothing is compared with it");
}

/// A Python that has PyYAML: the one on the PATH, or Debian's.
fn python() -> Option<&'static str> {
    let has_yaml = |python: &&str| {
        let output = Command::new(python).args(["-c", "import yaml"]).output();
        output.is_ok_and(|output| output.status.success())
    };
    ["python3", "/usr/bin/python3"].into_iter().find(has_yaml)
}

fn kubectl() -> Option<PathBuf> {
    let envtest = std::env::var_os("BERTH_ENVTEST").map(|folder| Path::new(&folder).join("kubectl"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join("kubectl"));
    envtest.into_iter().chain(on_path).find(|program| program.is_file())
}

/// Whether two readers mean the same value. 1000.0 and 1000 are one number in JSON.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        _ => one == other,
    }
}

fn compare(texts: &[String], berth: &BTreeMap<String, Value>, judge: &dyn Fn(usize) -> Option<Value>) {
    let mut wrong = String::new();
    for (number, written) in texts.iter().enumerate() {
        let read = &berth[&format!("v{number}")];
        if let Some(judged) = judge(number)
            && !same(read, &judged)
        {
            writeln!(wrong, "{written}: {read}, and the judge reads {judged}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn the_kubernetes_envelope_means_what_kubectl_reads() {
    let Some(kubectl) = kubectl() else {
        return missing("kubectl");
    };
    let texts = texts();
    let text = document(KUBERNETES, &texts);
    // With --local it asks no cluster: it reads, adds the annotation and prints.
    let mut command = Command::new(kubectl);
    command.args(["annotate", "--local", "-f", "-", "-o", "json", "read=yes"]);
    let judged = run(&mut command, &text);
    let judge = |number: usize| judged["data"].get(format!("v{number}")).cloned().or(Some(Value::Null));
    compare(&texts, &berth(&text), &judge);
}

/// Reads each text as the value of a key, as Airship's services do, and prints a list. What it gives up on is not judged.
const PYTHON: &str = "
import json, sys, yaml
def read(text):
    try:
        value = yaml.safe_load('data: ' + text)['data']
        json.dumps(value, allow_nan=False)
        return [value]
    except Exception:
        return []
print(json.dumps([read(text) for text in json.load(sys.stdin)]))
";

#[test]
fn the_airship_envelope_means_what_pyyaml_reads() {
    let Some(python) = python() else {
        return missing("PyYAML");
    };
    let texts = texts();
    let mut command = Command::new(python);
    command.args(["-c", PYTHON]);
    let judged = run(&mut command, &serde_json::to_string(&texts).unwrap());
    let judge = |number: usize| judged[number].get(0).cloned();
    let answered = (0..texts.len()).filter(|number| judge(*number).is_some()).count();
    assert!(
        answered * 100 > texts.len() * 95,
        "PyYAML answered for {answered} of {}",
        texts.len()
    );
    compare(&texts, &berth(&document(AIRSHIP, &texts)), &judge);
}

/// The readers disagree here, so one of the two tests above would fail if both envelopes had one dialect.
#[test]
fn the_dialects_differ_where_the_readers_do() {
    for (written, kubernetes, airship) in [
        ("y", "true", "\"y\""),
        ("N", "false", "\"N\""),
        ("08", "8", "\"08\""),
        ("1e3", "1000.0", "\"1e3\""),
        ("0o12", "10", "\"0o12\""),
        ("12:30", "\"12:30\"", "750"),
        ("yes", "true", "true"),
        ("0644", "420", "420"),
    ] {
        let read = |envelope: &str| berth(&document(envelope, &[written.to_owned()]))["v0"].to_string();
        assert_eq!(
            (&*read(KUBERNETES), &*read(AIRSHIP)),
            (kubernetes, airship),
            "{written}"
        );
    }
}

#[test]
fn a_key_that_is_there_twice_is_an_error_to_kubernetes_and_a_warning_to_airship() {
    for (envelope, severity) in [(KUBERNETES, Severity::Error), (AIRSHIP, Severity::Warning)] {
        let mut sources = Sources::new();
        let id = sources.add("test", format!("{envelope}data:\n  zone: a\n  zone: b\n"));
        let parsed = parse(&sources, id);
        let found: Vec<_> = parsed.diagnostics.iter().map(|it| (it.code(), it.severity())).collect();
        assert_eq!(found, [("duplicate-key", severity)]);
        let zone = parsed.documents[0].root.at(&["data", "zone"]).unwrap();
        assert_eq!(zone.as_str(), Some("b"));
    }
}

#[test]
fn each_document_of_a_file_has_the_dialect_of_its_envelope() {
    let text = format!(
        "{AIRSHIP}data:\n  a: y\n---\n{KUBERNETES}data:\n  a: y\n...\n%YAML 1.1\n---\n{{schema: example/Flow/v1, metadata: {{name: a}}, \
         data: {{a: &it [08, y], b: *it}}}}\n---\n{AIRSHIP}data: {{a: 1e3}}\n"
    );
    let mut sources = Sources::new();
    let id = sources.add("test", text.as_str());
    let parsed = parse(&sources, id);
    assert_eq!(parsed.diagnostics, []);
    let read: Vec<String> = parsed
        .documents
        .iter()
        .map(|document| document.root.get("data").unwrap().to_json().to_string())
        .collect();
    assert_eq!(
        read,
        [
            r#"{"a":"y"}"#,
            r#"{"a":true}"#,
            r#"{"a":["08","y"],"b":["08","y"]}"#,
            r#"{"a":"1e3"}"#
        ]
    );
    // A value that is read again has its place in the file, not in its document.
    let value = parsed.documents[3].root.at(&["data", "a"]).unwrap();
    assert_eq!(
        text.get(value.span.start as usize..value.span.end as usize),
        Some("1e3")
    );
}

/// The envelope is found by a text that may be a number or a date in the other dialect. The reader went back and forth between
/// the two until its stack was used up.
#[test]
fn a_schema_that_is_not_a_text_in_the_other_dialect_is_read_all_the_same() {
    for written in WRITTEN.iter().chain(&["7:7", "190:20:30", "2026-11-18", "1_000"]) {
        for text in [
            format!("schema: {written}\n"),
            format!("schema: {written}\nmetadata: {{name: {written}}}\ndata: {{a: {written}}}\n"),
            format!("---\nschema: {written}\n---\nschema: {written}\n...\n"),
        ] {
            let mut sources = Sources::new();
            let id = sources.add("input", text.as_str());
            let parsed = parse(&sources, id);
            let documents = text.matches("schema:").count();
            assert!(
                parsed.documents.len() == documents || !parsed.diagnostics.is_empty(),
                "{text}: {:?}",
                parsed.diagnostics
            );
        }
    }
}
