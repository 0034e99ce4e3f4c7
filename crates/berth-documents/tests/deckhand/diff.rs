use std::sync::Arc;

use berth_documents::deckhand::{
    BucketChange, BucketDiff, DeckhandDocument, DocumentDiff, RedactionKey, RenderedDocument, Revision, deep_diff,
    diff, value_diff,
};
use serde_json::{Value, json};

use crate::build::{Doc, doc};

type Filed<D> = Vec<(String, D)>;

fn filed(documents: &[(&str, Doc)]) -> Filed<Arc<DeckhandDocument>> {
    documents
        .iter()
        .map(|(bucket, document)| ((*bucket).to_owned(), document.clone().read()))
        .collect()
}

fn rendered(documents: &[(&str, Doc)]) -> Filed<RenderedDocument> {
    filed(documents)
        .into_iter()
        .map(|(bucket, document)| {
            let rendered = RenderedDocument {
                data: Arc::clone(document.data()),
                secrets: Arc::default(),
                document,
            };
            (bucket, rendered)
        })
        .collect()
}

fn changes(one: (u64, &[(&str, Doc)]), other: (u64, &[(&str, Doc)])) -> String {
    let (one_filed, other_filed) = (filed(one.1), filed(other.1));
    let one = Revision {
        number: one.0,
        documents: &one_filed,
    };
    let other = Revision {
        number: other.0,
        documents: &other_filed,
    };
    let changes = diff(&one, &other);
    assert_eq!(changes, diff(&other, &one), "the order does not matter");
    changes
        .iter()
        .map(|(bucket, change)| format!("{bucket} {change:?}").to_lowercase())
        .collect::<Vec<_>>()
        .join(", ")
}

#[test]
fn buckets() {
    let a = |data: i64| ("x", doc("site", "a", json!(data)));
    let b = |data: i64| ("x", doc("site", "b", json!(data)));
    let other = ("y", doc("site", "c", json!(1)));
    assert_eq!(changes((0, &[]), (0, &[])), "");
    assert_eq!(changes((1, &[a(1)]), (0, &[])), "x created");
    assert_eq!(changes((1, &[a(1), b(1)]), (2, &[b(1), a(1)])), "x unmodified");
    assert_eq!(changes((1, &[a(1)]), (2, &[a(2)])), "x modified");
    assert_eq!(changes((1, &[a(1)]), (2, &[a(1), b(1)])), "x modified");
    assert_eq!(
        changes((1, &[a(1)]), (2, &[a(1), other.clone()])),
        "x unmodified, y created"
    );
    assert_eq!(
        changes((1, &[a(1), other.clone()]), (2, &[a(1)])),
        "x unmodified, y deleted"
    );
    // Hashes are compared as a multiset: two equal documents are not one.
    let twice = [("x", doc("site", "a", json!(1))), ("x", doc("site", "a", json!(1)))];
    assert_eq!(changes((1, &[a(1)]), (2, &twice)), "x modified");
}

#[test]
fn inside_of_buckets() {
    let before = rendered(&[
        ("x", doc("site", "same", json!({"a": 1}))),
        ("x", doc("site", "changed", json!({"foo": 2}))),
        ("x", doc("site", "gone", json!({}))),
        ("x", doc("site", "secret", json!("one")).encrypted()),
        ("y", doc("site", "other", json!({}))),
    ]);
    let after = rendered(&[
        ("x", doc("site", "same", json!({"a": 1}))),
        ("x", doc("site", "changed", json!({"foo": 3})).labels(json!({"k": "v"}))),
        ("x", doc("site", "new", json!({}))),
        ("x", doc("site", "secret", json!("two")).encrypted()),
        ("y", doc("site", "other", json!({}))),
    ]);
    let mut diff = deep_diff(
        &Revision {
            number: 3,
            documents: &before,
        },
        &Revision {
            number: 4,
            documents: &after,
        },
        &RedactionKey::new(&[1; 32]),
    );
    assert_eq!(diff.buckets.remove("y"), Some((BucketChange::Unmodified, None)));
    let named = |name: &str| ("example/Kind/v1".to_owned(), name.to_owned());
    let changed = DocumentDiff {
        data: Some(json!({"values_changed": {"root['foo']": {"new_value": 3, "old_value": 2}}})),
        metadata: json!({"dictionary_item_added": ["root['labels']"]}),
    };
    let secret = DocumentDiff {
        data: None,
        metadata: json!({}),
    };
    let inside = BucketDiff {
        added: [named("new")].into(),
        deleted: [named("gone")].into(),
        changed: [(named("changed"), changed), (named("secret"), secret)].into(),
    };
    assert_eq!(
        diff.buckets,
        [("x".to_owned(), (BucketChange::Modified, Some(inside)))].into()
    );
}

#[test]
fn inside_of_values() {
    let table: &[(Value, Value, Value)] = &[
        (json!({"a": 1}), json!({"a": 1}), json!({})),
        (
            json!(1),
            json!(2),
            json!({"values_changed": {"root": {"new_value": 2, "old_value": 1}}}),
        ),
        (
            json!({"a": 1}),
            json!({"a": "1"}),
            json!({"type_changes": {"root['a']": {
                "old_type": "<class 'int'>", "new_type": "<class 'str'>", "old_value": 1, "new_value": "1",
            }}}),
        ),
        (
            json!({"a": 1}),
            json!({}),
            json!({"dictionary_item_removed": ["root['a']"]}),
        ),
        (
            json!({"l": [1]}),
            json!({"l": [1, 2]}),
            json!({"iterable_item_added": {"root['l'][1]": 2}}),
        ),
        (
            json!([1, [2, 3]]),
            json!([1, [2]]),
            json!({"iterable_item_removed": {"root[1][1]": 3}}),
        ),
    ];
    for (before, after, expected) in table {
        assert_eq!(&value_diff(before, after), expected);
    }
}
