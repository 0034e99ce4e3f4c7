//! Matching, compiling and the plain map form of selectors.

use std::collections::BTreeMap;

use berth_labels::{Operator, RequirementProblem, Selector, SelectorError};

use crate::support::{key, selector, set, value};

type Expression<'a> = (&'a str, &'a str, &'a [&'a str]);

#[test]
fn operators_match_as_in_kubernetes() {
    let rows: [(Expression<'_>, &str, bool); 17] = [
        (("a", "In", &["x", "y"]), "a=x", true),
        (("a", "In", &["x", "y"]), "a=z", false),
        (("a", "In", &["x", "y"]), "", false),
        (("a", "In", &[""]), "a=", true),
        (("a", "In", &[""]), "", false),
        (("a", "NotIn", &["x", "y"]), "a=z", true),
        (("a", "NotIn", &["x", "y"]), "a=x", false),
        (("a", "NotIn", &["x", "y"]), "", true),
        (("a", "NotIn", &[""]), "a=", false),
        (("a", "NotIn", &[""]), "", true),
        (("a", "NotIn", &[""]), "a=true", true),
        (("a", "Exists", &[]), "a=", true),
        (("a", "Exists", &[]), "a=x", true),
        (("a", "Exists", &[]), "b=x", false),
        (("a", "DoesNotExist", &[]), "a=", false),
        (("a", "DoesNotExist", &[]), "b=x", true),
        (("a", "DoesNotExist", &[]), "", true),
    ];
    for (expression, labels, matches) in rows {
        let compiled = selector(&[], &[expression]).compile().unwrap();
        assert_eq!(compiled.matches(&set(labels)), matches, "{expression:?} on {labels:?}");
        let raw = set(labels).to_map();
        assert_eq!(
            compiled.matches_with(|key| raw.get(key).map(String::as_str)),
            matches,
            "{expression:?} on the plain map of {labels:?}"
        );
    }
}

#[test]
fn all_requirements_must_hold() {
    let compiled = selector(
        &[("pool", "infra")],
        &[("rack", "In", &["r1", "r2"]), ("drained", "DoesNotExist", &[])],
    )
    .compile()
    .unwrap();
    assert!(compiled.matches(&set("pool=infra,rack=r2,other=x")));
    assert!(!compiled.matches(&set("pool=infra,rack=r3")));
    assert!(!compiled.matches(&set("pool=worker,rack=r1")));
    assert!(!compiled.matches(&set("pool=infra,rack=r1,drained=")));
}

#[test]
fn an_observed_label_may_be_illegal_and_is_still_compared() {
    let raw = BTreeMap::from([("a".to_owned(), "not legal!".to_owned())]);
    let lookup = |key: &str| raw.get(key).map(String::as_str);
    assert!(
        selector(&[], &[("a", "Exists", &[])])
            .compile()
            .unwrap()
            .matches_with(lookup)
    );
    assert!(!selector(&[("a", "x")], &[]).compile().unwrap().matches_with(lookup));
}

#[test]
fn everything_and_nothing() {
    let everything = selector(&[], &[]).compile().unwrap();
    assert_eq!(everything, Selector::everything());
    assert!(everything.is_empty() && everything.matches(&set("")) && everything.matches(&set("a=b")));
    let nothing = Selector::nothing();
    assert!(!nothing.is_empty() && !nothing.matches(&set("")) && !nothing.matches(&set("a=b")));
    assert!(nothing.requirements().is_empty());
    assert!(!selector(&[("a", "b")], &[]).compile().unwrap().is_empty());
}

#[test]
fn the_text_form_is_sorted_by_key() {
    let compiled = selector(
        &[("m", "1"), ("a", "")],
        &[
            ("z", "DoesNotExist", &[]),
            ("k", "In", &["y", "x"]),
            ("e", "Exists", &[]),
            ("n", "NotIn", &["q", "p", "q"]),
        ],
    )
    .compile()
    .unwrap();
    assert_eq!(compiled.to_string(), "a=,e,k in (x,y),m=1,n notin (p,q),!z");
    assert_eq!(Selector::everything().to_string(), "");
}

#[test]
fn match_labels_compile_to_in_with_one_value() {
    let compiled = selector(&[("a", "b")], &[]).compile().unwrap();
    let [requirement] = compiled.requirements() else {
        panic!("one requirement")
    };
    assert_eq!(requirement.key, key("a"));
    assert_eq!(requirement.operator, Operator::In);
    assert_eq!(requirement.values.iter().collect::<Vec<_>>(), [&value("b")]);
}

#[test]
fn compile_errors_are_those_of_kubernetes() {
    let value_text = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', \
         and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex \
         used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
    let name_text = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with \
         an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
         '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    let rows: [(Expression<'_>, String); 9] = [
        (
            ("a", "Contains", &["b"]),
            r#""Contains" is not a valid label selector operator"#.to_owned(),
        ),
        (
            ("a", "in", &["b"]),
            r#""in" is not a valid label selector operator"#.to_owned(),
        ),
        (
            ("a", "", &[]),
            r#""" is not a valid label selector operator"#.to_owned(),
        ),
        (
            ("a", "In", &[]),
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty".to_owned(),
        ),
        (
            ("a", "NotIn", &[]),
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty".to_owned(),
        ),
        (
            ("a", "Exists", &["x", "y"]),
            r#"values: Invalid value: ["x","y"]: values set must be empty for exists and does not exist"#.to_owned(),
        ),
        (
            ("a", "DoesNotExist", &["<b>"]),
            format!(
                r#"[values: Invalid value: ["\u003cb\u003e"]: values set must be empty for exists and does not exist, values[0][a]: Invalid value: "<b>": {value_text}]"#
            ),
        ),
        (
            ("a", "In", &["ok", "no good"]),
            format!(r#"values[1][a]: Invalid value: "no good": {value_text}"#),
        ),
        (
            ("-\t\"", "In", &[]),
            format!(
                r#"[key: Invalid value: "-\t\"": {name_text}, values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty]"#
            ),
        ),
    ];
    for (expression, text) in rows {
        let error = selector(&[], &[expression]).compile().unwrap_err();
        assert_eq!(error.to_string(), text, "{expression:?}");
    }
    let error = selector(&[("a", "b c")], &[]).compile().unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(r#"values[0][a]: Invalid value: "b c": {value_text}"#)
    );
    let SelectorError::Requirement { key, problems } = error else {
        panic!("a bad requirement")
    };
    assert_eq!(key, "a");
    assert!(matches!(
        problems.as_slice(),
        [RequirementProblem::Value { index: 0, .. }]
    ));
}

#[test]
fn plain_map_form() {
    type Row<'a> = (&'a [(&'a str, &'a str)], &'a [Expression<'a>], &'a str);
    let rows: [Row<'_>; 5] = [
        (&[], &[], ""),
        (&[("a", "b")], &[], "a=b"),
        (&[], &[("zone", "In", &["east"])], "zone=east"),
        (&[("a", "b")], &[("c", "In", &[""])], "a=b,c="),
        // The expression wins without a word, as in the API machinery.
        (&[("a", "b")], &[("a", "In", &["other"])], "a=other"),
    ];
    for (labels, expressions, map) in rows {
        assert_eq!(
            selector(labels, expressions).to_map().unwrap(),
            set(map).to_map(),
            "{labels:?} {expressions:?}"
        );
    }
}

#[test]
fn the_plain_map_form_checks_no_syntax() {
    let map = selector(&[("not legal", "!")], &[("-", "In", &["?"])])
        .to_map()
        .unwrap();
    assert_eq!(map.get("not legal").map(String::as_str), Some("!"));
    assert_eq!(map.get("-").map(String::as_str), Some("?"));
}

#[test]
fn what_has_no_plain_map_form() {
    let single = r#"operator "In" without a single value cannot be converted into the old label selector format"#;
    let rows: [(Expression<'_>, &str); 9] = [
        (("a", "In", &[]), single),
        (("a", "In", &["x", "y"]), single),
        (("a", "In", &["x", "x"]), single),
        (
            ("a", "NotIn", &["x"]),
            r#"operator "NotIn" cannot be converted into the old label selector format"#,
        ),
        (
            ("a", "NotIn", &[]),
            r#"operator "NotIn" cannot be converted into the old label selector format"#,
        ),
        (
            ("a", "Exists", &[]),
            r#"operator "Exists" cannot be converted into the old label selector format"#,
        ),
        (
            ("a", "DoesNotExist", &[]),
            r#"operator "DoesNotExist" cannot be converted into the old label selector format"#,
        ),
        (("a", "Gt", &["1"]), r#""Gt" is not a valid selector operator"#),
        (
            ("a", "a\"b\u{1}\n\u{a0}", &[]),
            r#""a\"b\x01\n\u00a0" is not a valid selector operator"#,
        ),
    ];
    for (expression, text) in rows {
        let error = selector(&[("keep", "me")], &[expression]).to_map().unwrap_err();
        assert_eq!(error.to_string(), text, "{expression:?}");
    }
}
