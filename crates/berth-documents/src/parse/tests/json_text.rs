use serde_json::json;

use super::{read, value};

#[test]
fn json_is_read_strictly() {
    let text = "\u{feff} \n{\n\t\"a\": [1, -2, 1.5, 1e3, true, false, null, 18446744073709551615],\n\t\"b\": \"\\u00e9\\ud83d\\ude00\\n\\/\",\n\t\"c\": {}, \"d\": [], \"yes\": \"0644\"\n}\n";
    let expected = json!({
        "a": [1, -2, 1.5, 1e3, true, false, null, u64::MAX], "b": "é😀\n/", "c": {}, "d": [], "yes": "0644",
    });
    assert_eq!(value(text), expected);
}

#[test]
fn documents_may_follow_each_other() {
    let read = read("{\"a\": 1}\n{\"b\": 2}[3]");
    assert_eq!(read.values(), [json!({"a": 1}), json!({"b": 2}), json!([3])]);
    assert_eq!(read.findings(), [""; 0]);
}

#[test]
fn places_and_duplicates() {
    let read = read("{\n  \"é\": {\"b\": \"x\", \"b\": \"y\"}\n}");
    assert_eq!(read.findings(), ["duplicate-key 2:19"]);
    assert_eq!(read.values(), [json!({"é": {"b": "y"}})]);
    let finding = read.only_finding("duplicate-key");
    assert_eq!(read.place(finding.related[0].0), "2:9");
    let node = read.parsed.documents[0].root.at(&["é", "b"]).unwrap();
    assert_eq!(
        (read.place(node.span), &*read.sources.snippet(node.span)),
        ("2:24".to_owned(), "\"y\"")
    );
}

#[test]
fn flow_style_is_yaml() {
    for (text, expected) in [
        ("{a: 1, b: yes}\n", vec![json!({"a": 1, "b": true})]),
        ("{\"a\": 1,}\n", vec![json!({"a": 1})]),
        ("{\"a\": 0644} # note\n", vec![json!({"a": 420})]),
        ("{\"a\": 1}\n---\nb: 2\n", vec![json!({"a": 1}), json!({"b": 2})]),
        ("[a, b]\n", vec![json!(["a", "b"])]),
    ] {
        let read = read(text);
        assert_eq!(read.values(), expected, "{text:?}");
        assert_eq!(read.findings(), [""; 0], "{text:?}");
    }
}

#[test]
fn mistakes_are_named_where_they_are() {
    for (text, place, message) in [
        (
            "{\"a\": 1 \"b\": 2}",
            "1:9",
            "expected a comma or `}` in JSON, found `\"`",
        ),
        ("{\"a\": 1", "1:8", "the JSON ends where a comma or `}` is expected"),
        (
            "{\n \"a\" 1}",
            "2:6",
            "expected a colon after the key in JSON, found `1`",
        ),
        ("{\"a\": [1, 2}", "1:12", "expected a comma or `]` in JSON, found `}`"),
        ("{\"a\": \"x\n", "1:7", "the string is not closed on its line"),
        ("{\"a\": \"\\q\"]", "1:8", "this is not an escape that JSON knows"),
        ("{\"a\": \"\\ud800\"]", "1:8", "this escape is half of a character"),
        ("{\"a\": \"\\u12\"]", "1:8", "`\\u` needs four hexadecimal digits"),
        (
            "{\"a\": \"x\ty\"]",
            "1:9",
            "a control character in a string must be escaped",
        ),
        ("{\"a\": 1e999]", "1:7", "the number is too large"),
        ("{\"a\": 01]", "1:7", "a number in JSON does not begin with 0"),
        ("{\"a\": -]", "1:8", "expected a digit in JSON, found `]`"),
    ] {
        let read = read(text);
        let finding = read.only_finding("json-syntax");
        assert_eq!(finding.message, message, "{text:?}");
        assert_eq!(read.place(finding.span.unwrap()), place, "{text:?}");
        assert_eq!(read.findings().len(), 1, "{text:?}");
    }
}

#[test]
fn documents_before_a_mistake_are_kept() {
    let read = read("{\"a\": 1}\n{\"b\": }]\n");
    assert_eq!(read.values(), [json!({"a": 1})]);
    assert_eq!(read.findings(), ["json-syntax 2:7"]);
}

#[test]
fn what_is_more_like_yaml_gets_the_error_of_yaml() {
    let read = read("{a: 1}\n---\nb: [\n---\nc: 3\n");
    assert_eq!(read.values(), [json!({"a": 1}), json!({"c": 3})]);
    assert_eq!(read.findings(), ["yaml-syntax 4:1"]);
}
