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
    assert!(finding.help.as_deref().unwrap().contains("10000 values"), "{finding:?}");
    assert_eq!(read.sources.location(finding.span.unwrap()).line, 4);
    assert_eq!(read.values(), [serde_json::json!({"b": 1})]);
}

#[test]
fn nested_anchors_do_not_multiply() {
    // Every level would be copied once more.
    let element = "1,".repeat(20_000);
    let text = format!("x: {}{element}{}\ny: *a\n", "&a [".repeat(100), "]".repeat(100));
    let found = read(&text).findings();
    assert!(found[0].starts_with("alias-bomb"), "{found:?}");
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
        from_yaml.sources.location(last.span()).line as usize,
        (count - 1) * 14 + 2
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
