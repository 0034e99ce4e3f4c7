//! Texts of every shape: what it takes to read them.

use std::fmt::Write as _;

use super::{BASE, read};

/// How many bytes reading takes for one byte of text, at most. The densest values are two bytes of text and forty in
/// memory, in a list that grows by doubling and is copied once.
const PER_BYTE: u64 = 80;

/// What looking for the end of brackets takes, where a key can stand.
const BRACKETS: u64 = 15 << 20;

const LENGTH: usize = 300_000;

/// Texts of about 300 kB and the finding that each gives.
fn texts() -> Vec<(&'static str, String, &'static [&'static str])> {
    let repeat = |part: &str, length: usize| part.repeat(length / part.len());
    let numbered = |count: usize, line: &dyn Fn(usize) -> String| (0..count).map(line).collect::<String>();
    vec![
        (
            "site",
            numbered(2000, &|i| {
                format!(
                    "---\nschema: a/B/v1\nmetadata:\n  name: n{i}\n  layeringDefinition: {{layer: site, abstract: false}}\ndata:\n  labels: {{zone: z{i}, rack: \"r\"}}\n  list: [1, 2, {{a: b}}]\n"
                )
            }),
            &[],
        ),
        ("dense JSON", format!("[{}1]", repeat("1,", LENGTH)), &[]),
        ("dense JSON lists", format!("[{}1]", repeat("[],", LENGTH)), &[]),
        (
            "dense JSON mappings",
            format!("[{}1]", repeat("{\"\":1},", LENGTH)),
            &[],
        ),
        (
            "dense JSON with a mistake",
            format!("[{}1", repeat("1,", LENGTH)),
            &["json-syntax"],
        ),
        ("a dense list of a key", format!("x: [{}1]", repeat("1,", LENGTH)), &[]),
        (
            "a dense list where a key can stand",
            format!("- [{}1]", repeat("1,", LENGTH)),
            &["yaml-syntax"],
        ),
        (
            "a dense mapping where a key can stand",
            format!("-\n  {{{}}}", repeat("a,", LENGTH)),
            &["yaml-syntax"],
        ),
        (
            "an open list where a key can stand",
            format!("- &a [{}", repeat("1,", LENGTH)),
            &["yaml-syntax"],
        ),
        ("short lists where keys can stand", repeat("- [1,1]\n", LENGTH), &[]),
        ("a dense block list", repeat("-\n", LENGTH), &[]),
        ("a nested block list", repeat("- - - -\n", LENGTH), &[]),
        ("documents", repeat("--- a\n", LENGTH), &[]),
        ("empty documents", repeat("---\n", LENGTH), &[]),
        ("broken documents", repeat("--- [\n", LENGTH), &["yaml-syntax"]),
        ("equal keys", repeat("a:\n", LENGTH), &["duplicate-key"]),
        (
            "keys that are booleans",
            numbered(30_000, &|i| format!("- y: {i}\n")),
            &["non-string-key"],
        ),
        ("unknown tags", repeat("- !x\n", LENGTH), &["yaml-tag"]),
        ("keys that are lists", repeat("- ? [1]\n", LENGTH), &["complex-key"]),
        ("a long text", format!("x: {}", repeat("a ", LENGTH)), &[]),
        ("a long quoted text", format!("x: \"{}\"", repeat("\\n", LENGTH)), &[]),
        ("a long block text", format!("x: |\n{}", repeat("  a\n", LENGTH)), &[]),
        (
            "a long folded text",
            format!("x: >\n{}", repeat("  a\n\n", LENGTH)),
            &[],
        ),
        ("a long key", format!("? {}\n: 1", repeat("a", LENGTH)), &[]),
        (
            "long binary data",
            format!("x: !!binary {}", repeat("YWFh", LENGTH)),
            &[],
        ),
        ("comments", repeat("# a\n", LENGTH), &[]),
        ("a long comment", format!("a: 1 # {}", repeat("a ", LENGTH)), &[]),
        ("blank lines", repeat(" \n", LENGTH), &[]),
        (
            "anchors",
            format!("{}- *a0\n", numbered(30_000, &|i| format!("- &a{i} 1\n"))),
            &[],
        ),
        (
            "nested anchors",
            format!(
                "x: {}{}{}\nz: *a\n",
                repeat("&a [", 400),
                repeat("1,", 30_000),
                repeat("]", 100)
            ),
            &[],
        ),
        ("brackets", repeat("[", LENGTH), &["too-deep"]),
        (
            "brackets of a key",
            format!("a: {}", repeat("[", LENGTH)),
            &["too-deep"],
        ),
        (
            "deep levels",
            numbered(700, &|i| format!("{}a:\n", " ".repeat(i))),
            &["too-deep"],
        ),
        ("beyond ASCII", format!("x: \"{}\"", repeat("é", LENGTH)), &[]),
        (
            "control characters",
            repeat("a: \u{1}\n---\n", LENGTH),
            &["yaml-syntax"],
        ),
    ]
}

#[test]
fn reading_takes_a_small_multiple_of_the_text() {
    let mut report = String::new();
    let (mut too_much, mut wrong) = (Vec::new(), Vec::new());
    for (name, text, expected) in texts() {
        let read = read(&text);
        if read.codes() != expected {
            wrong.push((name, read.codes()));
        }
        let length = text.len() as u64;
        let _ = writeln!(
            report,
            "{:>8} for {length:>8}, {:>4} per byte: {name}",
            read.peak,
            read.peak / length
        );
        if read.peak > PER_BYTE * length + BRACKETS + BASE {
            too_much.push(name);
        }
    }
    assert_eq!(wrong, [], "{report}");
    assert!(too_much.is_empty(), "{too_much:?}\n{report}");
}
