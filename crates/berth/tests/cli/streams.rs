//! Colours and pipes.

use berth_documents::{Sources, parse};

use crate::run::{command, finish, line};

const ESCAPE: char = '\u{1b}';

#[test]
fn a_pipe_gets_no_colours_unless_they_are_forced() {
    let args = ["lint", "-f", "nowhere"];
    let plain = finish(command().args(args), b"");
    assert!(!plain.stderr.contains(ESCAPE), "{plain}");
    let forced = finish(command().args(args).env("CLICOLOR_FORCE", "1"), b"");
    assert!(forced.stderr.contains(ESCAPE), "{forced}");
    let refused = finish(
        command().args(args).env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1"),
        b"",
    );
    assert!(!refused.stderr.contains(ESCAPE), "{refused}");
}

#[test]
fn a_reader_that_goes_away_does_not_change_the_verdict() {
    for (site, format, verdict) in [
        ("tests/fixtures/site", "table", 0),
        ("tests/fixtures/conflict", "table", 1),
        ("tests/fixtures/conflict", "json", 1),
        ("tests/fixtures/conflict", "yaml", 1),
        ("tests/fixtures/conflict", "name", 1),
    ] {
        // Closed before the program starts, so that not even the first byte finds a reader.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command()
            .args(["resolve", "-f", site, "-o", format])
            .stdout(writer)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(verdict), "{site} {format}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command().args(["lint", "--list"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("cannot write the output")
    );
}

#[test]
fn yaml_and_json_hold_the_same_data() {
    for words in [
        "explain -f tests/fixtures/site --node dal-w1",
        "plan -f tests/fixtures/site --nodes tests/fixtures/nodes.yaml",
        "diff tests/fixtures/diff/old tests/fixtures/diff/new",
        "rollout plan -f tests/fixtures/site --nodes tests/fixtures/nodes.yaml",
        "forecast -f tests/fixtures/site --nodes tests/fixtures/nodes.yaml --window 1h",
        "render -f tests/fixtures/diff/new --pool infra",
        r#"selector --invert {"matchLabels":{"a":"1","b":"true","c":""}}"#,
    ] {
        let json = line(&format!("{words} -o json"));
        let yaml = line(&format!("{words} -o yaml"));
        assert_eq!(json.exit, yaml.exit);
        let mut sources = Sources::new();
        let id = sources.add("output", yaml.stdout.as_str());
        let documents = parse(&sources, id).documents;
        assert_eq!(documents.len(), 1, "{yaml}");
        assert_eq!(documents[0].root.to_json(), json.json(), "{yaml}");
    }
}

#[test]
fn nothing_at_all_is_not_a_success() {
    for args in [
        &["lint", "-f", "-"][..],
        &["resolve", "-f", "-"],
        &["pools", "-f", "tests/fixtures/site", "--nodes", "-"],
        &["plan", "-f", "tests/fixtures/site", "--nodes", "-"],
    ] {
        let outcome = finish(command().args(args), b"\n");
        assert_eq!(outcome.exit, 2, "{args:?} {outcome}");
        assert!(outcome.stderr.contains("standard input"), "{args:?} {outcome}");
    }
}
