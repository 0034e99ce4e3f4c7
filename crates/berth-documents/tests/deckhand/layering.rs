use serde_json::{Value, json};

use crate::build::{by_name, data_of, doc, try_render};

/// What a child with the actions makes of the parent's data.
fn layered(parent: Value, child: Value, actions: &[&str]) -> Result<Value, String> {
    let documents = [
        doc("global", "parent", parent).labels(json!({"k": "v"})),
        doc("site", "child", child).child_of(json!({"k": "v"}), actions),
    ];
    try_render(documents)
        .map(|rendered| by_name(&rendered).remove("child").unwrap())
        .map_err(|errors| errors.first().class().to_owned())
}

#[test]
fn actions() {
    let parent = json!({"a": {"x": 1, "y": 2}, "c": 9});
    let child = json!({"a": {"x": 7, "z": 3}, "b": 4});
    let table: &[(&[&str], Value)] = &[
        (&["merge ."], json!({"a": {"x": 7, "y": 2, "z": 3}, "b": 4, "c": 9})),
        (&["merge .a"], json!({"a": {"x": 7, "y": 2, "z": 3}, "c": 9})),
        (&["merge .b"], json!({"a": {"x": 1, "y": 2}, "b": 4, "c": 9})),
        (&["replace ."], child.clone()),
        (&["replace .a"], json!({"a": {"x": 7, "z": 3}, "c": 9})),
        (&["delete .a"], json!({"c": 9})),
        (&["delete .a.x"], json!({"a": {"y": 2}, "c": 9})),
        (&["delete ."], json!({})),
        (&["delete .c", "merge .a"], json!({"a": {"x": 7, "y": 2, "z": 3}})),
        (&["replace .", "delete .a"], json!({"b": 4})),
        (&["delete .", "replace ."], child.clone()),
        (&["merge .data"], json!({"a": {"x": 7, "y": 2, "z": 3}, "b": 4, "c": 9})),
        (&["merge $.data.a"], json!({"a": {"x": 7, "y": 2, "z": 3}, "c": 9})),
    ];
    for (actions, expected) in table {
        assert_eq!(
            layered(parent.clone(), child.clone(), actions).as_ref(),
            Ok(expected),
            "{actions:?}"
        );
    }
}

#[test]
fn lists_and_scalars_are_replaced_and_elements_can_be_named() {
    for (parent, child, actions, expected) in [
        (
            json!({"a": [1, 2, 3]}),
            json!({"a": [4]}),
            ["merge ."],
            json!({"a": [4]}),
        ),
        (json!({"a": {"b": 1}}), json!({"a": 5}), ["merge ."], json!({"a": 5})),
        (
            json!({"a": 5}),
            json!({"a": {"b": 1}}),
            ["merge .a"],
            json!({"a": {"b": 1}}),
        ),
        (json!([1]), json!({"a": 1}), ["merge ."], json!({"a": 1})),
        (json!("text"), json!("other"), ["merge ."], json!("other")),
        (
            json!({"a": [{"x": 1}, {"y": 2}]}),
            json!({"a": [{"z": 3}]}),
            ["merge .a[0]"],
            json!({"a": [{"x": 1, "z": 3}, {"y": 2}]}),
        ),
        (
            json!({"a": [1, 2]}),
            json!({"a": [7]}),
            ["replace .a[0]"],
            json!({"a": [7, 2]}),
        ),
        (
            json!({"a": [1, 2, 1]}),
            json!({}),
            ["delete .a[2]"],
            json!({"a": [1, 2]}),
        ),
        (
            json!({}),
            json!({"a": {"b": {"c": 1}}}),
            ["merge .a.b"],
            json!({"a": {"b": {"c": 1}}}),
        ),
        (
            json!({"database": 1}),
            json!({"database": 2}),
            ["replace .database"],
            json!({"database": 2}),
        ),
    ] {
        assert_eq!(layered(parent, child, &actions), Ok(expected), "{actions:?}");
    }
}

#[test]
fn delete_goes_by_path_and_not_by_value() {
    let parent = json!({"a": {"k": 1}, "b": {"k": 1}});
    assert_eq!(layered(parent, json!({}), &["delete .b"]), Ok(json!({"a": {"k": 1}})));
}

#[test]
fn missing_paths_are_errors() {
    for (actions, expected) in [
        (["merge .x"], "MissingDocumentKey"),
        (["replace .x"], "MissingDocumentKey"),
        (["delete .x"], "MissingDocumentKey"),
        (["replace .a.b"], "MissingDocumentKey"),
    ] {
        let result = layered(json!({"a": 1}), json!({"a": {"b": 1}}), &actions);
        assert_eq!(result, Err(expected.to_owned()), "{actions:?}");
    }
}

#[test]
fn the_nearest_higher_layer_gives_the_parent() {
    let global = doc("global", "g", json!({"from": "global"})).labels(json!({"k": "v", "only": "g"}));
    let region = doc("region", "r", json!({"from": "region"})).labels(json!({"k": "v"}));
    let child = |selector: Value| doc("site", "s", json!({"own": 1})).child_of(selector, &["merge .own"]);
    let documents = |selector| [global.clone(), region.clone(), child(selector)];
    assert_eq!(
        data_of("s", documents(json!({"k": "v"}))),
        json!({"from": "region", "own": 1})
    );
    // The middle has no match: the grandparent is taken.
    assert_eq!(
        data_of("s", documents(json!({"k": "v", "only": "g"}))),
        json!({"from": "global", "own": 1})
    );
    // Nothing matches: the child stays as it is.
    assert_eq!(data_of("s", documents(json!({"k": "other"}))), json!({"own": 1}));
}

#[test]
fn labels_of_any_type_match_by_value() {
    let documents = |label: Value, wanted: Value| {
        [
            doc("global", "g", json!({"from": "g"})).labels(json!({"k": label})),
            doc("site", "s", json!({"own": 1})).child_of(json!({"k": wanted}), &["merge ."]),
        ]
    };
    let both = json!({"from": "g", "own": 1});
    assert_eq!(data_of("s", documents(json!(1), json!(1))), both);
    assert_eq!(data_of("s", documents(json!({"x": 1}), json!({"x": 1}))), both);
    assert_eq!(data_of("s", documents(json!("1"), json!(1))), json!({"own": 1}));
}

#[test]
fn children_start_from_the_rendered_parent() {
    let documents = [
        doc("global", "g", json!({"a": 1}))
            .labels(json!({"of": "g"}))
            .abstracted(),
        doc("region", "r", json!({"b": 2}))
            .labels(json!({"of": "r"}))
            .abstracted()
            .child_of(json!({"of": "g"}), &["merge ."]),
        doc("site", "s", json!({"c": 3})).child_of(json!({"of": "r"}), &["merge ."]),
    ];
    let rendered = by_name(&try_render(documents).unwrap());
    // Abstract documents are not returned.
    assert_eq!(
        rendered.into_iter().collect::<Vec<_>>(),
        [("s".to_owned(), json!({"a": 1, "b": 2, "c": 3}))]
    );
}

#[test]
fn a_document_comes_after_what_it_needs() {
    let documents = [
        doc("site", "a", json!({})).child_of(json!({"of": "z"}), &["merge ."]),
        doc("global", "z", json!({}))
            .labels(json!({"of": "z"}))
            .takes("m", ".", json!({"path": ".m"})),
        doc("site", "m", json!({"x": 1})),
    ];
    let rendered = try_render(documents).unwrap();
    let names: Vec<_> = rendered
        .documents
        .iter()
        .map(|rendered| rendered.document.name())
        .collect();
    assert_eq!(names, ["layering-policy", "m", "z", "a"]);
}
