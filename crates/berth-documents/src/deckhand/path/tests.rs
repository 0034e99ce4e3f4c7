use proptest::prelude::*;
use serde_json::json;

use super::*;

fn key(text: &str) -> PathPart {
    PathPart::Key(text.to_owned())
}

#[test]
fn spellings() {
    for (text, steps) in [
        (".", vec![]),
        ("$", vec![]),
        ("$.", vec![]),
        (".a", vec![key("a")]),
        ("$.a", vec![key("a")]),
        ("a.b", vec![key("a"), key("b")]),
        ("$a", vec![key("$a")]),
        (".a[0]", vec![key("a"), PathPart::Index(0)]),
        (".a.[0].b", vec![key("a"), PathPart::Index(0), key("b")]),
        (
            ".a[1][2].c",
            vec![key("a"), PathPart::Index(1), PathPart::Index(2), key("c")],
        ),
        ("$[3]", vec![PathPart::Index(3)]),
        (".[3]", vec![PathPart::Index(3)]),
        (".'a.b'.c", vec![key("a.b"), key("c")]),
        (".\"a'[0]\"", vec![key("a'[0]")]),
        (".a['b.c'].d", vec![key("a"), key("b.c"), key("d")]),
        (".a-b/c.d", vec![key("a-b/c"), key("d")]),
        (".ü.💡[0]", vec![key("ü"), key("💡"), PathPart::Index(0)]),
        (".data.a", vec![key("data"), key("a")]),
    ] {
        assert_eq!(Path::parse(text).unwrap().steps(), steps, "{text}");
    }
}

#[test]
fn data_prefix_of_actions_is_a_whole_step() {
    for (text, same) in [
        (".data", "."),
        (".data.a", ".a"),
        ("$.data[0]", "$[0]"),
        (".database", ".database"),
        (".database.data", ".database.data"),
        (".a.data", ".a.data"),
    ] {
        assert_eq!(Path::parse_action(text), Path::parse(same), "{text}");
    }
}

#[test]
fn what_is_not_a_path() {
    for text in [
        "",
        "..",
        "a..b",
        ".a.",
        ".a[",
        ".a[]",
        ".a[-1]",
        ".a[b]",
        ".a[*]",
        ".'a",
        ".a[0]b",
        ".''",
        ".a['']",
        ".a[99999999999999999999]",
    ] {
        Path::parse(text).expect_err(text);
    }
    assert_eq!(Path::parse(&".a".repeat(129)), Err(PathError::TooLong));
    assert!(Path::parse(&".a".repeat(128)).is_ok());
}

#[test]
fn set_creates_what_is_missing() {
    for (before, path, after) in [
        (json!({}), ".a.b", json!({"a": {"b": 7}})),
        (json!({}), ".a[1]", json!({"a": [{}, 7]})),
        (json!({}), ".a[1].b", json!({"a": [{}, {"b": 7}]})),
        (json!({}), ".a[0][1]", json!({"a": [[{}, 7]]})),
        (json!({"a": [{}]}), ".a[0][0]", json!({"a": [[7]]})),
        (json!({"a": null}), ".a.b", json!({"a": {"b": 7}})),
        (json!({"a": {"b": 1, "c": 2}}), ".a.b", json!({"a": {"b": 7, "c": 2}})),
        (json!({"a": [1, 2]}), ".a[1]", json!({"a": [1, 7]})),
        (json!({"a": 1}), ".", json!(7)),
        (json!(null), ".a", json!({"a": 7})),
    ] {
        let mut value = before.clone();
        Path::parse(path).unwrap().set(&mut value, json!(7)).unwrap();
        assert_eq!(value, after, "{before} {path}");
    }
}

#[test]
fn set_changes_nothing_when_the_way_is_blocked() {
    for (before, path, text) in [
        (json!({"a": 1}), ".a.b", "cannot go to .a.b: .a holds a number"),
        (
            json!({"a": {"x": 1}}),
            ".a[0]",
            "cannot go to .a[0]: .a holds a mapping",
        ),
        (json!({"a": []}), ".a.b", "cannot go to .a.b: .a holds a list"),
        (json!("x"), ".a", "cannot go to .a: . holds a string"),
        (
            json!({}),
            ".a[4096]",
            "cannot go to .a[4096]: more than 4096 list cells would have to be created",
        ),
    ] {
        let mut value = before.clone();
        let error = Path::parse(path).unwrap().set(&mut value, json!(7)).unwrap_err();
        assert_eq!(error.to_string(), text);
        assert_eq!(value, before);
    }
}

#[test]
fn delete_removes_what_the_path_names() {
    for (before, path, after) in [
        (json!({"a": {"k": 1}, "b": {"k": 1}}), ".b", json!({"a": {"k": 1}})),
        (json!({"a": {"k": 1, "l": 1}}), ".a.l", json!({"a": {"k": 1}})),
        (json!({"a": [1, 1, 2]}), ".a[1]", json!({"a": [1, 2]})),
        (json!({"a": 1}), ".", json!({})),
        (json!([1]), ".", json!({})),
    ] {
        let mut value = before.clone();
        assert!(Path::parse(path).unwrap().delete(&mut value).is_some());
        assert_eq!(value, after, "{before} {path}");
    }
    let mut value = json!({"a": [1]});
    for path in [".b", ".a[1]", ".a.b", ".b.c"] {
        assert_eq!(Path::parse(path).unwrap().delete(&mut value), None);
    }
}

proptest! {
    #[test]
    fn any_text_is_a_path_or_an_error(text in "\\PC*") {
        let _ = Path::parse_action(&text);
    }

    #[test]
    fn shown_paths_read_back(text in "\\$?\\.?[a.\\[\\]'\"0b]{0,12}") {
        if let Ok(path) = Path::parse(&text) {
            // A key with both quotes has no spelling; it cannot come from reading either.
            prop_assert_eq!(Path::parse(&path.to_string()), Ok(path));
        }
    }

    #[test]
    fn what_is_set_is_there(steps in prop::collection::vec((0..3_usize, any::<bool>()), 0..5)) {
        let path = Path { steps: steps.into_iter().map(|(n, index)| if index { PathPart::Index(n) } else { key(&n.to_string()) }).collect() };
        let mut value = json!({});
        path.set(&mut value, json!("here")).unwrap();
        prop_assert_eq!(path.get(&value), Some(&json!("here")));
        prop_assert_eq!(path.delete(&mut value), Some(json!("here")));
    }
}
