use serde_json::json;

use super::{lines, read};

#[test]
fn tabs_in_indentation_are_named() {
    for (text, place) in [
        ("a:\n\tb: 1\n", "2:1"),
        ("a:\n  b: 1\n\tc: 2\n", "3:1"),
        ("a:\n  b:\n  \tc: 2\n", "3:3"),
        ("a:\n- x\n\t- y\n", "3:1"),
        ("\ta: 1\n", "1:1"),
        ("a: 1\n---\n\tb: 1\n", "3:1"),
        ("a:\n\tb\n", "2:1"),
        ("x: é\na:\n  \tb: 1\n", "3:3"),
        ("a: foo\n\tbar: 1\n", "2:1"),
        ("x: 1\na:\tb\n", "2:3"),
    ] {
        let read = read(text);
        let finding = read.only_finding("yaml-tab");
        assert_eq!(read.place(finding.span.unwrap()), place, "{text:?}");
        assert_eq!(finding.help.as_deref(), Some("use spaces"));
    }
}

#[test]
fn duplicate_keys_name_both_places_and_keep_the_last_value() {
    let read = read("labels:\n  zone: a\n  rack: r\n  zone: b\n");
    assert_eq!(read.values(), [json!({"labels": {"zone": "b", "rack": "r"}})]);
    let finding = read.only_finding("duplicate-key");
    assert_eq!(read.place(finding.span.unwrap()), "4:3");
    assert_eq!(finding.message, "the key `zone` is here twice");
    let related: Vec<_> = finding
        .related
        .iter()
        .map(|(span, text)| (read.place(*span), text.as_str()))
        .collect();
    assert_eq!(related, [("2:3".to_owned(), "first here")]);
}

#[test]
fn duplicates_are_found_in_large_mappings_too() {
    let mut text = lines(40, |i| format!("k{i}: {i}\n"));
    text.push_str("k3: again\nk39: again\n\"k16\": again\n");
    assert_eq!(
        read(&text).findings(),
        ["duplicate-key 41:1", "duplicate-key 42:1", "duplicate-key 43:1"]
    );
}

#[test]
fn a_broken_document_does_not_hide_the_others() {
    let good = [json!({"a": 1}), json!({"c": 3})];
    for (broken, finding) in [
        ("b: [1, 2\n", "yaml-syntax"),
        ("b: \"open\n", "yaml-syntax"),
        ("b: 'open\n", "yaml-syntax"),
        ("b: x: y\n", "yaml-syntax"),
        ("b: @x\n", "yaml-syntax"),
        ("b: *nowhere\n", "yaml-syntax"),
        ("  b: 1\n c: 2\n", "yaml-syntax"),
        ("b:\n\tc: 1\n", "yaml-tab"),
        ("b: a\u{0}b\n", "yaml-syntax"),
        ("b: a\u{1b}b\n", "yaml-syntax"),
        ("]\n", "yaml-syntax"),
    ] {
        let text = format!("a: 1\n---\n{broken}---\nc: 3\n");
        let read = read(&text);
        assert_eq!(read.values(), good, "{broken:?}");
        let line = read
            .sources
            .location(read.only_finding(finding).span.unwrap())
            .line()
            .unwrap();
        assert!((3..=4).contains(&line), "{broken:?} line {line}");
        assert_eq!(read.findings().len(), 1, "{broken:?}");
    }
}

#[test]
fn several_broken_documents_are_all_named() {
    let read = read("a: [\n---\nb: 1\n---\nc: 'x\n...\n%YAML 1.1\n# note\n---\nd: 2\n--- \ne: }\n---\nf: 3\n");
    assert_eq!(read.values(), [json!({"b": 1}), json!({"d": 2}), json!({"f": 3})]);
    assert_eq!(
        read.findings(),
        ["yaml-syntax 2:1", "yaml-syntax 5:4", "yaml-syntax 12:4"]
    );
}

#[test]
fn findings_of_a_broken_document_are_not_doubled() {
    let read = read("a: 1\na: 2\nb: [\n---\nc: 1\nc: 2\n");
    assert_eq!(read.findings(), ["yaml-syntax 4:1", "duplicate-key 6:1"]);
}

#[test]
fn syntax_errors_have_exact_places_and_help() {
    for (text, place, message, help) in [
        (
            "metadata:\n  name: rack: 7\n",
            "2:13",
            "this is not YAML: mapping values are not allowed in this context",
            Some("quote the value if it contains `: `, or check the indentation"),
        ),
        (
            "é: @x\n",
            "1:4",
            "this is not YAML: unexpected character: `@'",
            Some("quote the value: it begins with a character that has a meaning in YAML"),
        ),
        (
            "a: *nope\n",
            "1:4",
            "the alias `*nope` refers to no anchor before it",
            Some("define the anchor with `&` earlier in the same document, or quote the value"),
        ),
        (
            "a: &x 1\n---\nb: [*x]\n",
            "3:5",
            "the alias `*x` refers to no anchor before it",
            Some("define the anchor with `&` earlier in the same document, or quote the value"),
        ),
        (
            "é:\n  a: 'x\n  b: 'y'\n",
            "2:6",
            "this is not YAML: the quote that opens here is not closed",
            Some("close the quote"),
        ),
        (
            "a:\n  b: \"x\n",
            "2:6",
            "this is not YAML: the quote that opens here is not closed",
            Some("close the quote"),
        ),
        (
            "a:\n  b: \"x\ny z\"\n",
            "2:6",
            "this is not YAML: the quoted text that begins here goes on in a line that is not indented",
            Some("indent every line of the text more than its key, or write it on one line"),
        ),
        (
            "a: \"x\nb: \"y\"\n",
            "1:4",
            "this is not YAML: the quote that opens here is not closed",
            Some("close the quote"),
        ),
        (
            "a: \"x \"y\" z\"\n",
            "1:8",
            "this is not YAML: invalid trailing content after double-quoted scalar",
            Some("check that the quote before this one is closed, and write a quote inside the text as `\\\"`"),
        ),
        (
            "a: b\u{7}\n",
            "1:5",
            "the control character U+0007 is not allowed in YAML",
            Some("remove it, or write it as an escape in a double-quoted string"),
        ),
    ] {
        let read = read(text);
        let finding = read.only_finding("yaml-syntax");
        assert_eq!(read.place(finding.span.unwrap()), place, "{text:?}");
        assert_eq!((finding.message.as_str(), finding.help.as_deref()), (message, help));
    }
}

#[test]
fn keys_tags_and_merges_that_cannot_be_used() {
    for (text, finding, expected) in [
        ("a: {{ node }}\nb: 1\n", "complex-key 1:5", json!({"a": {}, "b": 1})),
        ("? [x, y]\n: 1\nb: 2\n", "complex-key 1:3", json!({"b": 2})),
        ("a: !!int three\n", "yaml-tag 1:10", json!({"a": "three"})),
        ("a: !vault secret\n", "yaml-tag 1:4", json!({"a": "secret"})),
        ("a: &x !vault secret\n", "yaml-tag 1:7", json!({"a": "secret"})),
        ("a: !vault &x secret\n", "yaml-tag 1:4", json!({"a": "secret"})),
        ("a: !vault\n  b: 1\n", "yaml-tag 1:4", json!({"a": {"b": 1}})),
        ("a: !vault |\n  b\n", "yaml-tag 1:4", json!({"a": "b\n"})),
        ("a: [!vault [b], c]\n", "yaml-tag 1:5", json!({"a": [["b"], "c"]})),
        ("a: !vault\nb: 1\n", "yaml-tag 1:4", json!({"a": null, "b": 1})),
        ("a: !!binary '*'\n", "yaml-tag 1:13", json!({"a": "*"})),
        ("a: !!set {x: 1}\n", "yaml-tag 1:4", json!({"a": {"x": 1}})),
        ("a: !!map [1]\n", "yaml-tag 1:10", json!({"a": [1]})),
        ("a:\n  <<: common\n  b: 1\n", "merge-key 2:7", json!({"a": {"b": 1}})),
        ("a:\n  <<: [{x: 1}, 2]\n", "merge-key 2:7", json!({"a": {"x": 1}})),
        (
            "a: &x [1, *x]\nb: 1\n",
            "recursive-alias 1:11",
            json!({"a": [1, null], "b": 1}),
        ),
    ] {
        let read = read(text);
        assert_eq!(read.findings(), [finding], "{text:?}");
        assert_eq!(read.values(), [expected], "{text:?}");
    }
}

#[test]
fn a_placeholder_that_was_not_filled_in_is_called_that() {
    for (text, place, message) in [
        ("a: {{ node }}\n", "1:5", "`{{ node }}` looks like"),
        ("é: [{{x|y}}]\n", "1:6", "`{{x|y}}` looks like"),
        ("a: {{\n  x }}\n", "1:5", "`{{ … }}` looks like"),
        ("a: {{x: 1}: 2}\n", "1:5", "`{{ … }}` looks like"),
        ("? {x: 1}\n: 2\n", "1:3", "a mapping is used as a key"),
    ] {
        let read = read(text);
        let finding = read.only_finding("complex-key");
        assert_eq!(read.place(finding.span.unwrap()), place, "{text:?}");
        assert!(finding.message.starts_with(message), "{}", finding.message);
        assert!(finding.help.as_deref().unwrap().contains("quote"), "{text:?}");
    }
}
