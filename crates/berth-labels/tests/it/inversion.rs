//! From a selector to the labels that satisfy it.

use std::collections::BTreeMap;

use berth_labels::{Inversion, InvertError, LabelKey, LabelValue, Selector};

use crate::support::{key, selector, set, value};

type Expression<'a> = (&'a str, &'a str, &'a [&'a str]);
type Labels<'a> = &'a [(&'a str, &'a str)];
type Expressions<'a> = &'a [Expression<'a>];

fn choices(text: &str) -> BTreeMap<LabelKey, LabelValue> {
    set(text).into_iter().collect()
}

fn compiled(labels: &[(&str, &str)], expressions: &[Expression<'_>]) -> Selector {
    selector(labels, expressions).compile().unwrap()
}

fn invert(labels: &[(&str, &str)], expressions: &[Expression<'_>], chosen: &str) -> Result<Inversion, InvertError> {
    compiled(labels, expressions).invert(&choices(chosen))
}

#[test]
fn labels_and_constraints() {
    type Row<'a> = (Labels<'a>, Expressions<'a>, &'a str, &'a str, &'a [&'a str]);
    let rows: [Row<'_>; 16] = [
        (&[], &[], "", "", &[]),
        (&[("role", "infra")], &[], "", "role=infra", &[]),
        (&[], &[("a", "In", &["x"])], "", "a=x", &[]),
        (&[], &[("a", "In", &["x", "x"])], "", "a=x", &[]),
        (&[], &[("a", "Exists", &[])], "", "a=", &[]),
        (&[], &[("a", "Exists", &[])], "a=v", "a=v", &[]),
        (&[("a", "x")], &[("a", "Exists", &[])], "", "a=x", &[]),
        (&[], &[("a", "In", &["x", "y"])], "a=y", "a=y", &[]),
        (
            &[],
            &[("a", "In", &["x", "y"]), ("a", "In", &["y", "z"])],
            "",
            "a=y",
            &[],
        ),
        (
            &[],
            &[("a", "In", &["x", "y"]), ("a", "NotIn", &["x"])],
            "",
            "a=y",
            &["a notin (x)"],
        ),
        (&[], &[("a", "NotIn", &["x"])], "", "", &["a notin (x)"]),
        (&[], &[("a", "DoesNotExist", &[])], "", "", &["!a"]),
        (
            &[],
            &[("a", "Exists", &[]), ("a", "NotIn", &["x"])],
            "",
            "a=",
            &["a notin (x)"],
        ),
        (
            &[],
            &[("a", "Exists", &[]), ("a", "NotIn", &[""])],
            "a=v",
            "a=v",
            &["a notin ()"],
        ),
        // No label follows from a key that may be absent, so a choice for it changes nothing.
        (&[], &[("a", "NotIn", &["x"])], "a=y,other=z", "", &["a notin (x)"]),
        (
            &[("node-role.kubernetes.io/worker", "")],
            &[
                ("zone", "In", &["b"]),
                ("drained", "DoesNotExist", &[]),
                ("tier", "NotIn", &["q", "p"]),
            ],
            "",
            "node-role.kubernetes.io/worker=,zone=b",
            &["!drained", "tier notin (p,q)"],
        ),
    ];
    for (labels, expressions, chosen, expected, constraints) in rows {
        let inversion = invert(labels, expressions, chosen).unwrap();
        assert_eq!(inversion.labels.to_string(), expected, "{labels:?} {expressions:?}");
        let texts: Vec<_> = inversion.constraints.iter().map(ToString::to_string).collect();
        assert_eq!(texts, constraints, "{labels:?} {expressions:?}");
    }
}

#[test]
fn several_values_without_a_choice_are_ambiguous() {
    let error = invert(&[], &[("zone", "In", &["b", "a", ""])], "other=a").unwrap_err();
    assert_eq!(
        error,
        InvertError::Ambiguous {
            key: key("zone"),
            values: vec![value(""), value("a"), value("b")]
        }
    );
    assert_eq!(error.code(), "ambiguous-selector");
    assert_eq!(
        error.to_string(),
        r#"the selector allows several values for zone: choose one of "", "a", "b""#
    );
}

#[test]
fn only_values_that_no_requirement_excludes_are_offered() {
    let error = invert(&[], &[("a", "In", &["x", "y", "z"]), ("a", "NotIn", &["x"])], "").unwrap_err();
    assert_eq!(
        error,
        InvertError::Ambiguous {
            key: key("a"),
            values: vec![value("y"), value("z")]
        }
    );
}

#[test]
fn a_key_that_must_exist_and_not_be_empty_needs_a_choice() {
    let expressions: Expressions<'_> = &[("a", "Exists", &[]), ("a", "NotIn", &[""])];
    let error = invert(&[], expressions, "").unwrap_err();
    assert_eq!(
        error,
        InvertError::Ambiguous {
            key: key("a"),
            values: Vec::new()
        }
    );
    assert_eq!(error.code(), "ambiguous-selector");
    assert_eq!(
        error.to_string(),
        "the selector wants a with a value, excludes the empty one and names no other: choose a value"
    );
}

#[test]
fn a_choice_must_meet_the_selector() {
    let rows: [(Labels<'_>, Expressions<'_>, &str, &str); 4] = [
        (
            &[],
            &[("a", "In", &["x", "y"])],
            "a=z",
            r#"the value "z" chosen for a does not meet the selector; allowed: "x", "y""#,
        ),
        (
            &[],
            &[("a", "In", &["x", "y", "z"]), ("a", "NotIn", &["z"])],
            "a=z",
            r#"the value "z" chosen for a does not meet the selector; allowed: "x", "y""#,
        ),
        (
            &[("a", "x")],
            &[],
            "a=z",
            r#"the value "z" chosen for a does not meet the selector; allowed: "x""#,
        ),
        (
            &[],
            &[("a", "Exists", &[]), ("a", "NotIn", &["z"])],
            "a=z",
            r#"the value "z" chosen for a does not meet the selector; the selector excludes it"#,
        ),
    ];
    for (labels, expressions, chosen, text) in rows {
        let error = invert(labels, expressions, chosen).unwrap_err();
        assert_eq!(error.to_string(), text);
        assert_eq!((error.code(), error.key()), ("invalid-choice", Some(&key("a"))));
    }
}

#[test]
fn contradictions_are_found() {
    let rows: [(Labels<'_>, Expressions<'_>); 7] = [
        (&[], &[("a", "Exists", &[]), ("a", "DoesNotExist", &[])]),
        (&[("a", "x")], &[("a", "DoesNotExist", &[])]),
        (&[("a", "x")], &[("a", "In", &["y"])]),
        (&[("a", "x")], &[("a", "NotIn", &["x"])]),
        (
            &[],
            &[("a", "In", &["x", "y"]), ("a", "NotIn", &["y"]), ("a", "NotIn", &["x"])],
        ),
        (&[], &[("a", "In", &["x", "y"]), ("a", "In", &["z"])]),
        (
            &[],
            &[("a", "DoesNotExist", &[]), ("a", "NotIn", &["y"]), ("a", "In", &["x"])],
        ),
    ];
    for (labels, expressions) in rows {
        // A choice cannot mend a contradiction.
        for chosen in ["", "a=x"] {
            let error = invert(labels, expressions, chosen).unwrap_err();
            assert!(
                matches!(&error, InvertError::Unsatisfiable { key: at, .. } if *at == key("a")),
                "{labels:?} {expressions:?}: {error}"
            );
            assert_eq!(error.code(), "unsatisfiable-selector");
        }
    }
    let error = invert(&[("a", "x")], &[("a", "DoesNotExist", &[])], "").unwrap_err();
    assert_eq!(
        error.to_string(),
        "no label can satisfy the selector: a must be present and absent at the same time"
    );
}

#[test]
fn a_selector_of_nothing_has_no_labels() {
    let error = Selector::nothing().invert(&BTreeMap::new()).unwrap_err();
    assert_eq!(error, InvertError::Nothing);
    assert_eq!(error.key(), None);
}

#[test]
fn violated_constraints_are_named() {
    let inversion = invert(
        &[("role", "infra")],
        &[("drained", "DoesNotExist", &[]), ("tier", "NotIn", &["spare"])],
        "",
    )
    .unwrap();
    let violated = |labels: &str| {
        let labels = set(labels);
        inversion.violated(&labels).map(ToString::to_string).collect::<Vec<_>>()
    };
    assert!(violated("role=infra,tier=front").is_empty());
    assert_eq!(violated("drained=,tier=spare"), ["!drained", "tier notin (spare)"]);
}
