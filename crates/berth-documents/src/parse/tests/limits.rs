use std::fmt::Write as _;

use super::{lines, read};

#[test]
fn deep_nesting_ends_with_a_finding() {
    for text in [
        format!("a: {}", "[".repeat(100_000)),
        "[".repeat(1_000_000),
        "{\"a\":".repeat(100_000),
        format!("- {}", "{a: ".repeat(1000)),
        format!("{}x", "- ".repeat(100_000)),
        format!("{}1{}", "[".repeat(129), "]".repeat(129)),
        lines(300, |level| format!("{}a:\n", " ".repeat(level))),
    ] {
        let read = read(&text);
        assert!(read.parsed.documents.is_empty());
        assert!(
            read.findings().iter().any(|finding| finding.starts_with("too-deep")),
            "{:.20} {:?}",
            text,
            read.findings()
        );
    }
    let allowed = format!("{}1{}", "[".repeat(128), "]".repeat(128));
    assert_eq!(read(&allowed).findings(), [""; 0]);
    assert_eq!(read(&format!("# yaml\n{allowed}")).findings(), [""; 0]);
}

#[test]
fn nesting_through_aliases_counts() {
    let mut text = format!("a0: &a0 {}1{}\n", "[".repeat(100), "]".repeat(100));
    for level in 1..40 {
        let _ = writeln!(
            text,
            "a{level}: &a{level} {}*a{}{}",
            "[".repeat(100),
            level - 1,
            "]".repeat(100)
        );
    }
    let read = read(&text);
    assert_eq!(read.findings(), ["too-deep 2:109"]);
    let help = read.only_finding("too-deep").help.as_deref().unwrap();
    assert!(help.contains("128 levels"), "{help}");
}

#[test]
fn alias_bombs_end_with_a_finding() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        let _ = writeln!(text, "a{level}: &a{level} [{aliases}]");
    }
    text.push_str("---\nb: 1\n");
    let read = read(&text);
    let finding = read.only_finding("alias-bomb");
    let help = finding.help.as_deref().unwrap();
    assert!(
        help.contains("write the values out") && help.contains("64 MiB"),
        "{help}"
    );
    // Ten of a million values each: the seventh line is the one that is too much.
    assert_eq!(read.sources.location(finding.span.unwrap()).line(), Some(6));
    assert_eq!(read.values(), [serde_json::json!({"b": 1})]);
}

#[test]
fn nested_anchors_do_not_multiply() {
    // Each of the hundred anchors holds all the elements, and they are there once.
    let element = "1,".repeat(15_000);
    let text = format!("x: {}{element}{}\nz: *a\n", "&a [".repeat(100), "]".repeat(100));
    assert_eq!(read(&text).findings(), [""; 0]);
}

#[test]
fn a_text_that_many_aliases_repeat_ends_with_a_finding() {
    let text = format!("a: &a {}\nb:\n{}", "x".repeat(100_000), "- *a\n".repeat(10_000));
    let read = read(&text);
    assert_eq!(read.findings(), ["alias-bomb 685:3"]);
}

#[test]
fn too_many_values_end_with_a_finding() {
    let dense = "1,".repeat(400_000);
    for text in [format!("[{dense}1]"), format!("x: [{dense}1]"), "-\n".repeat(400_000)] {
        let read = read(&text);
        let finding = read.only_finding("file-too-large");
        assert!(
            finding.help.as_deref().unwrap().contains("200000 values"),
            "{finding:?}"
        );
        assert!(read.parsed.documents.is_empty());
    }
    // Pieces that are read alone share what the whole may hold.
    let piece = format!("---\n{}", "-\n".repeat(50_000));
    let broken = format!("[}}\n{}", piece.repeat(8));
    let codes: Vec<_> = read(&broken).findings();
    assert!(codes.iter().any(|code| code.starts_with("file-too-large")), "{codes:?}");
}

#[test]
fn findings_beyond_a_number_are_counted() {
    let read = read(&"a:\n".repeat(5000));
    let findings = &read.parsed.diagnostics;
    assert_eq!(findings.len(), 2000);
    let last = findings.last().unwrap().help.as_deref().unwrap();
    assert!(
        last.ends_with("3000 more findings in this file are not shown"),
        "{last}"
    );
}

#[test]
fn brackets_where_a_key_can_stand_end() {
    let long = "word, ".repeat(30_000);
    let found = |text: &str| read(text).findings();
    for text in [
        format!("- [{long}]"),
        format!("- a\n- &x !!seq [{long}]"),
        format!("x:\n  [{long}]"),
        format!("- - {{{long}}}"),
        format!("x: [[{long}]]"),
        format!("--- # c\n[{long}]"),
    ] {
        let findings = found(&text);
        assert!(
            matches!(&findings[..], [one] if one.starts_with("yaml-syntax")),
            "{text:.20} {findings:?}"
        );
    }
    for text in [
        format!("x: [{long}]"),
        format!("x: {{a: [{long}], b: {{c: [{long}]}}}}"),
        format!("x: |\n  [{long}]\nz: '[{long}'"),
        format!("x: &x 1\nz:\n{}", "- [*x, {a: *x}]\n- [a, 'b]']\n".repeat(20_000)),
    ] {
        assert_eq!(found(&text), [""; 0], "{text:.20}");
    }
    // What is wrong inside brackets is said, however long the rest is.
    assert_eq!(found(&format!("- [a, b: c: d]\n- [{long}]")), ["yaml-syntax 1:11"]);
}

#[test]
fn long_json_documents_of_a_stream_are_read_as_json() {
    let items: Vec<String> = (0..20_000).map(|number| format!("{{\"a\": {number}}}")).collect();
    let long = format!("[{}]", items.join(", "));
    let text = format!("a: 1\n--- # one\n{long}\n...\n---\n{long}\n---\nb: 2\n");
    let read = read(&text);
    assert_eq!(read.findings(), [""; 0]);
    let values = read.values();
    assert_eq!(values.len(), 4);
    assert_eq!(values[1].as_array().unwrap().len(), 20_000);
    assert_eq!(values[1], values[2]);
    assert_eq!(values[3], serde_json::json!({"b": 2}));
}

#[test]
fn ordinary_use_of_aliases_is_allowed() {
    let mut text = "labels: &labels {a: 1, b: 2, c: 3}\nnodes:\n".to_owned();
    for node in 0..2000 {
        let _ = writeln!(text, "- name: node-{node}\n  labels: *labels");
    }
    assert_eq!(read(&text).findings(), [""; 0]);
}

#[test]
fn ten_megabytes_are_read() {
    let mut yaml = String::new();
    let mut count = 0;
    while yaml.len() < 10_000_000 {
        let _ = write!(
            yaml,
            "---\nschema: drydock/BaremetalNode/v1\nmetadata:\n  schema: metadata/Document/v1\n  name: node-{count}\n  storagePolicy: cleartext\ndata:\n  host_profile: worker\n  metadata:\n    rack: r{}\n    tags: [worker, 'remote', \"x\"]\n    owner_data:\n      zone: zone-{}\n      enabled: \"true\"\n",
            count % 40,
            count % 7,
        );
        count += 1;
    }
    let from_yaml = read(&yaml);
    assert_eq!(from_yaml.parsed.diagnostics, []);
    assert_eq!(from_yaml.parsed.documents.len(), count);
    let last = from_yaml.parsed.documents.last().unwrap();
    assert_eq!(last.name().unwrap().0, format!("node-{}", count - 1));
    assert_eq!(
        from_yaml.sources.location(last.span()).line(),
        u32::try_from((count - 1) * 14 + 2).ok()
    );
}

#[test]
fn large_flat_collections_are_read() {
    let keys = lines(100_000, |i| format!("k{i}: {i}\n"));
    let keys = read(&keys);
    assert_eq!(keys.findings(), [""; 0]);
    assert_eq!(keys.parsed.documents[0].root.as_map().unwrap().len(), 100_000);
    let json: Vec<_> = (0..100_000).map(|i| format!("\"k{i}\": {i}")).collect();
    let json = read(&format!("{{{}}}", json.join(",")));
    assert_eq!(json.findings(), [""; 0]);
    assert_eq!(json.parsed.documents[0].root.as_map().unwrap().len(), 100_000);
}

#[test]
fn many_directives_are_cut_in_one_pass() {
    let text = format!("a: [\n...\n{}---\nb: 1\n", "%NOTE x\n# y\n".repeat(200_000));
    let read = read(&text);
    assert_eq!(read.values(), [serde_json::json!({"b": 1})]);
    assert_eq!(read.findings(), ["yaml-syntax 2:1"]);
}
