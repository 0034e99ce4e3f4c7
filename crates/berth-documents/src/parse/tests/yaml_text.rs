use serde_json::json;

use super::{read, value};
use crate::node::{Node, Style};

#[test]
fn scalars_mean_what_kubectl_users_expect() {
    let text = "\
a: yes
b: 0644
c: 0x1F
d: 1_000
e: ~
f:
g: 1e3
h: 12:30
i: 2024-01-31
j: 'yes'
k: \"0644\"
l: |
  yes
m: .inf
n2: .nan
o: 18446744073709551615
";
    let expected = json!({
        "a": true, "b": 420, "c": 31, "d": 1000, "e": null, "f": null, "g": 1000.0, "h": "12:30", "i": "2024-01-31",
        "j": "yes", "k": "0644", "l": "yes\n", "m": ".inf", "n2": ".nan", "o": 18_446_744_073_709_551_615_u64,
    });
    assert_eq!(value(text), expected);
}

#[test]
fn tags_are_honoured() {
    let text = "\
a: !!str 12
b: !!int \"12\"
c: !!float 3
d: !!bool \"yes\"
e: !!null ''
f: !!binary aGVsbG8=
g: !!timestamp 2024-01-31
h: !!map {x: 1}
i: !!seq [1]
j: ! 12
k: !!str
l: &anchor !!str true
m: !<tag:yaml.org,2002:str> 5
";
    let expected = json!({
        "a": "12", "b": 12, "c": 3.0, "d": true, "e": null, "f": "hello", "g": "2024-01-31", "h": {"x": 1}, "i": [1], "j": "12",
        "k": "", "l": "true", "m": "5",
    });
    assert_eq!(value(text), expected);
}

#[test]
fn anchors_aliases_and_merge_keys() {
    let text = "\
base: &base {a: 1, b: 2}
more: &more
  c: 3
  a: 9
scalar: &s text
copy: *base
list: [*s, *s]
merged:
  <<: *base
  b: 7
several:
  <<: [*base, *more]
late:
  a: 0
  <<: *more
*s : by alias
quoted:
  '<<': 1
";
    let expected = json!({
        "base": {"a": 1, "b": 2}, "more": {"c": 3, "a": 9}, "scalar": "text", "copy": {"a": 1, "b": 2},
        "list": ["text", "text"], "merged": {"a": 1, "b": 7}, "several": {"a": 1, "b": 2, "c": 3},
        "late": {"a": 0, "c": 3}, "text": "by alias", "quoted": {"<<": 1},
    });
    assert_eq!(value(text), expected);
}

#[test]
fn a_value_through_an_alias_points_to_where_it_is_written() {
    let read = read("a: &x\n  zone: north\nb: *x\n");
    let zone = read.parsed.documents[0].root.at(&["b", "zone"]).unwrap();
    assert_eq!(read.place(zone.span), "2:9");
}

#[test]
fn keys_keep_their_spelling_and_order() {
    let read = read("z: 1\n1: a\n0644: b\n1.0: c\nb: 2\n");
    let map = read.parsed.documents[0].root.as_map().unwrap();
    let keys: Vec<_> = map.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["z", "1", "0644", "1.0", "b"]);
    assert_eq!(read.findings(), [""; 0]);
    let (key, node) = map.get_key_value("0644").unwrap();
    assert_eq!((read.place(key.span), node.as_str()), ("3:1".to_owned(), Some("b")));
    assert_eq!((map.len(), map.is_empty(), map.contains_key("zz")), (5, false, false));
}

#[test]
fn keys_that_are_no_strings_elsewhere_are_warned_of() {
    let read = read("yes: 1\nx:\n  ~: 2\n  'on': 3\n  : 4\n");
    assert_eq!(
        read.findings(),
        ["non-string-key 1:1", "non-string-key 3:3", "non-string-key 5:3"]
    );
    assert_eq!(read.values(), [json!({"yes": 1, "x": {"~": 2, "on": 3, "": 4}})]);
    assert_eq!(read.parsed.diagnostics[0].help.as_deref(), Some("write \"yes\""));
}

#[test]
fn every_node_knows_its_place() {
    let text = "\u{feff}# é\r\nname: é\r\nläbels: {zone: ü, rack: \"7\"}\r\nlist:\r\n  - a\r\n  - k: v\r\n    l: |\r\n      x\r\n      y\r\ntail: &t !!str 'q'\r\n";
    let read = read(text);
    assert_eq!(read.findings(), [""; 0]);
    let root = &read.parsed.documents[0].root;
    let shown = |path: &[&str]| {
        let node = root.at(path).unwrap();
        (read.place(node.span), read.sources.snippet(node.span).into_owned())
    };
    for (path, place, snippet) in [
        (&["name"][..], "2:7", "é"),
        (&["läbels"], "3:9", "{zone: ü, rack: \"7\"}"),
        (&["läbels", "zone"], "3:16", "ü"),
        (&["läbels", "rack"], "3:25", "\"7\""),
        (&["tail"], "10:16", "'q'"),
    ] {
        assert_eq!(shown(path), (place.to_owned(), snippet.to_owned()), "{path:?}");
    }
    let (key, list) = root.as_map().unwrap().get_key_value("list").unwrap();
    assert_eq!(
        (read.place(key.span), &*read.sources.snippet(key.span)),
        ("4:1".to_owned(), "list")
    );
    assert_eq!(read.place(list.span), "5:3");
    let inner = &list.as_seq().unwrap()[1];
    assert_eq!(read.place(inner.span), "6:5");
    assert_eq!(read.place(inner.get("l").unwrap().span), "8:7");
    // The document ends with its last value, and line breaks are read as one character.
    assert_eq!(inner.get("l").unwrap().as_str(), Some("x\ny\n"));
    assert_eq!(read.place(root.span), "2:1");
    assert!(read.sources.snippet(root.span).ends_with("'q'"));
}

#[test]
fn styles_are_kept() {
    let read = read("a: b\nc: 'd'\ne: \"f\"\ng: |\n  h\ni: >\n  j\nk: []\nl:\nm: 1\n");
    let root = &read.parsed.documents[0].root;
    let style = |key: &str| root.get(key).unwrap().style;
    assert_eq!(
        ["a", "c", "e", "g", "i", "k", "l", "m"].map(style),
        [
            Style::Plain,
            Style::SingleQuoted,
            Style::DoubleQuoted,
            Style::BlockScalar,
            Style::BlockScalar,
            Style::Collection,
            Style::Plain,
            Style::Plain
        ]
    );
    assert!(root.get("m").is_some_and(Node::is_plain));
    assert!(!root.get("c").is_some_and(Node::is_plain));
}

#[test]
fn accessors_answer_only_for_their_type() {
    let read = read("s: x\nb: true\ni: -5\nu: 18446744073709551615\nf: 1.5\nn: null\nl: [1]\nm: {k: v}\n'n': 1\n");
    let root = &read.parsed.documents[0].root;
    let get = |key: &str| root.get(key).unwrap();
    assert_eq!(get("s").as_str(), Some("x"));
    assert_eq!(get("b").as_bool(), Some(true));
    assert_eq!(
        (get("i").as_i64(), get("i").as_u64(), get("i").as_f64()),
        (Some(-5), None, Some(-5.0))
    );
    assert_eq!((get("u").as_i64(), get("u").as_u64()), (None, Some(u64::MAX)));
    assert_eq!((get("f").as_f64(), get("f").as_i64()), (Some(1.5), None));
    assert_eq!(get("l").as_seq().map(<[Node]>::len), Some(1));
    assert_eq!(get("m").get("k").and_then(Node::as_str), Some("v"));
    assert!(get("s").as_map().is_none() && get("s").get("k").is_none() && get("m").as_str().is_none());
    let names = ["s", "b", "i", "f", "l", "m"].map(|key| get(key).type_name());
    assert_eq!(
        names,
        ["a string", "a boolean", "a number", "a number", "a list", "a mapping"]
    );
}

#[test]
fn many_documents_and_empty_ones() {
    for (text, expected) in [
        ("", vec![]),
        ("\n\n", vec![]),
        ("# only a comment\n", vec![]),
        ("\u{feff}", vec![]),
        ("\u{feff}a: 1\n", vec![json!({"a": 1})]),
        ("---\n---\n# nothing\n---\n", vec![]),
        (
            "---\na: 1\n---\n---\nb: 2\n...\n",
            vec![json!({"a": 1}), json!({"b": 2})],
        ),
        ("a: 1\r\n---\r\nb: 2\r\n", vec![json!({"a": 1}), json!({"b": 2})]),
        ("%YAML 1.1\n---\na: 1\n", vec![json!({"a": 1})]),
        (
            "a: 1\n...\n%YAML 1.2\n---\nb: yes\n",
            vec![json!({"a": 1}), json!({"b": true})],
        ),
        ("--- {a: 1}\n--- # note\nb: 2\n", vec![json!({"a": 1}), json!({"b": 2})]),
        ("a: 1\n--- ~\n", vec![json!({"a": 1})]),
        (
            "a: |\n  ---\n  x\n---\nb: 1",
            vec![json!({"a": "---\nx\n"}), json!({"b": 1})],
        ),
    ] {
        let read = read(text);
        assert_eq!(read.values(), expected, "{text:?}");
        assert_eq!(read.findings(), [""; 0], "{text:?}");
        let indexes: Vec<_> = read.parsed.documents.iter().map(|document| document.index).collect();
        assert_eq!(indexes, (0..expected.len()).collect::<Vec<_>>());
    }
}

#[test]
fn tabs_that_do_not_indent_are_allowed() {
    let text = "a: \"x\ty\"\nb: \t1\nc: |\n  \tx\nd: x\t# note\n\t\ne: [1,\t2]\n";
    assert_eq!(
        value(text),
        json!({"a": "x\ty", "b": 1, "c": "\tx\n", "d": "x", "e": [1, 2]})
    );
}

#[test]
fn nodes_are_small() {
    assert_eq!(size_of::<Node>(), 40);
}
