use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{Sources, node::Node, yaml};

fn read(text: &str) -> Vec<Value> {
    let mut sources = Sources::new();
    let id = sources.add("f", text);
    let stream = yaml::read(id, text);
    assert!(stream.diagnostics.last().is_none(), "{text}\n{:?}", stream.diagnostics);
    stream.roots.iter().map(Node::to_json).collect()
}

#[test]
fn documents_read_as_kubectl_prints_them() {
    let value = json!({
        "a": "plain text",
        "b": [1, -2.5, true, null, [], {}, "x"],
        "c": {"nested": {"deep": "v"}, "list": [{"k": 1, "l": [2]}, [3, [4]], "text\nof lines\n"]},
        "script": "#!/bin/sh\nset -eu\n\nexec true\n",
        "unfinished": "one\n  two",
        "tail": "one\ntwo\n\n",
    });
    let expected = "\
a: plain text
b:
- 1
- -2.5
- true
- null
- []
- {}
- x
c:
  list:
  - k: 1
    l:
    - 2
  - - 3
    - - 4
  - |
    text
    of lines
  nested:
    deep: v
script: |
  #!/bin/sh
  set -eu

  exec true
tail: |+
  one
  two

unfinished: |-
  one
    two
";
    assert_eq!(to_yaml(&value), expected);
    assert_eq!(read(expected), [value]);
}

#[test]
fn strings_that_some_reader_takes_for_something_else_are_quoted() {
    for text in [
        "",
        "yes",
        "No",
        "on",
        "y",
        "N",
        "true",
        "null",
        "~",
        "0644",
        "0o644",
        "0x1F",
        "1_000",
        "1e3",
        "1e400",
        "12:30",
        "190:20:30",
        "2024-01-31",
        "2001-12-14T21:59:43Z",
        "1.5",
        "42",
        "-1",
        "+1",
        ".5",
        ".inf",
        "-.inf",
        ".nan",
        "=",
        "<<",
        "- a",
        "-",
        "?",
        "? x",
        ":",
        ": x",
        "a: b",
        "a:",
        "a #b",
        "#a",
        "&a",
        "*a",
        "!a",
        "|",
        ">",
        "%a",
        "@a",
        "`a",
        "[a",
        "{a",
        "]",
        "}",
        ",",
        "---",
        "--- a",
        "...",
        " a",
        "a ",
        "a\tb",
        "'a'",
        "\"a\"",
    ] {
        let printed = to_yaml(&json!(text));
        assert!(printed.starts_with(['"', '\'']), "{text:?} is printed as {printed}");
        assert_eq!(read(&printed), [json!(text)], "{printed}");
        let printed = to_yaml(&json!({ text: text }));
        assert!(printed.starts_with(['"', '\'']), "{text:?} is printed as {printed}");
        assert_eq!(read(&printed), [json!({ text: text })], "{printed}");
    }
}

#[test]
fn ordinary_strings_have_no_quotes() {
    for text in [
        "worker",
        "node-role.kubernetes.io/worker",
        "10.0.0.1",
        "10.0.0.0/24",
        "v1",
        "a:b",
        "a#b",
        "it's",
        "say \"x\"",
        "berth.dev/v1alpha1",
        "-x",
        "--flag=1",
        "1.2.3",
        "3f-a",
        "nodes",
        "üñí",
        "a, b",
        "00:1a:2b:3c:4d:5e",
        "http://x:1/y",
    ] {
        assert_eq!(to_yaml(&json!(text)), format!("{text}\n"));
        assert_eq!(read(text), [json!(text)]);
    }
}

#[test]
fn odd_characters_are_escaped() {
    for (text, expected) in [
        ("a\u{0}b", "\"a\\x00b\"\n"),
        ("a\rb", "\"a\\rb\"\n"),
        ("\u{85}\u{2028}", "\"\\x85\\u2028\"\n"),
        ("\u{feff}", "\"\\ufeff\"\n"),
        ("\n", "\"\\n\"\n"),
        (" a\nb", "\" a\\nb\"\n"),
        ("C:\\x: y", "'C:\\x: y'\n"),
        ("\u{1f600}", "\u{1f600}\n"),
    ] {
        assert_eq!(to_yaml(&json!(text)), expected);
        assert_eq!(read(expected), [json!(text)]);
    }
}

#[test]
fn very_long_keys_are_announced() {
    let value = json!({ "k".repeat(2000): {"a": [1]}, "l".repeat(2000): [1], "m".repeat(1500): 1 });
    assert_eq!(read(&to_yaml(&value)), [value]);
}

#[test]
fn several_documents_have_markers_between_them() {
    let values = [json!({"a": 1}), json!([2])];
    let printed = to_yaml_documents(&values);
    assert_eq!(printed, "a: 1\n---\n- 2\n");
    assert_eq!(read(&printed), values);
}

fn values() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "[ -~\n\t]{0,12}",
        any::<String>(),
        "[-+.0-9_:eExXoOabf]{1,8}",
        "[yYnNoOfFtTrRuUeEsSaAlL~]{1,5}",
        "( ?[a-z#:'\"-]{0,4}\n){0,4}[a-z ]{0,3}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((text.clone(), inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn reading_what_was_printed_gives_the_same_value(value in values()) {
        prop_assume!(!value.is_null());
        let printed = to_yaml(&value);
        prop_assert_eq!(read(&printed), [value], "{}", printed);
    }
}

#[test]
fn deep_values_come_back() {
    let deep = |value: Value| {
        (0..40).fold(value, |inner, level| {
            if level % 3 == 0 {
                json!([inner, {"x": [1, "a: b", "two\nlines\n"]}])
            } else {
                json!({"k": inner, "": null})
            }
        })
    };
    for value in [
        json!("text"),
        json!("two\nlines\n"),
        json!({"a": [], "b": {}, "'": "\"", "yes": "no", "\u{1}é": 1.5}),
        json!({"k".repeat(2000): {"v".repeat(2000): [[["- x"]]]}}),
    ] {
        assert_eq!(read(&to_yaml(&deep(value.clone()))), [deep(value)]);
    }
}
