//! Revisions and their documents.

use berth_store::{Conflict, DocumentChange, Error, RevisionFilter, Store, Write};
use serde_json::json;

use crate::fixture::{contents, document, layering_policy, policy_document, row, secret};

pub(super) async fn an_empty_store_has_nothing(store: &dyn Store) {
    assert_eq!(store.latest().await.unwrap(), 0);
    assert_eq!(store.revisions(&RevisionFilter::default()).await.unwrap(), []);
    assert_eq!(store.documents(0).await.unwrap(), []);
    for missing in [1, u64::MAX] {
        let error = store.documents(missing).await.unwrap_err();
        assert!(matches!(error, Error::RevisionNotFound { revision } if revision == missing));
        assert!(matches!(
            store.revision(missing).await,
            Err(Error::RevisionNotFound { .. })
        ));
        assert!(matches!(
            store.rollback(missing, Write::at(1)).await,
            Err(Error::RevisionNotFound { .. })
        ));
    }
    assert!(matches!(store.revision(0).await, Err(Error::RevisionNotFound { .. })));
}

pub(super) async fn a_put_makes_a_revision_with_the_documents_in_their_order(store: &dyn Store) {
    let documents = [document("b", json!(1)), document("a", json!(2))];
    let put = store.put_bucket("site", &documents, Write::at(42)).await.unwrap();
    let revision = put.revision.unwrap();
    assert_eq!((revision.id, revision.created_at), (1, 42));
    assert!(put.changes.values().all(|change| *change == DocumentChange::Created));
    assert_eq!(store.revision(1).await.unwrap(), revision);
    assert_eq!(
        contents(store, 1).await,
        [row("site", "b", 1, 1), row("site", "a", 1, 2)]
    );

    let stored = store.documents(1).await.unwrap().remove(0);
    assert_eq!(stored.data_hash().unwrap(), documents[0].data_hash().into());
    assert_eq!(stored.metadata_hash, documents[0].metadata_hash().into());
    assert_eq!(stored.into_document().unwrap(), *documents[0]);
}

pub(super) async fn a_put_replaces_its_bucket_and_leaves_others_alone(store: &dyn Store) {
    let one = [document("a", json!(1)), document("b", json!(1))];
    store.put_bucket("one", &one, Write::at(1)).await.unwrap();
    store
        .put_bucket("two", &[document("c", json!(1))], Write::at(2))
        .await
        .unwrap();
    let replacement = [document("b", json!(2)), document("d", json!(1))];
    let put = store.put_bucket("one", &replacement, Write::at(3)).await.unwrap();
    let changes: Vec<_> = put
        .changes
        .iter()
        .map(|(identity, change)| (identity.name.as_str(), *change))
        .collect();
    assert_eq!(
        changes,
        [
            ("a", DocumentChange::Deleted),
            ("b", DocumentChange::Modified),
            ("d", DocumentChange::Created)
        ]
    );
    assert_eq!(
        contents(store, 3).await,
        [row("two", "c", 2, 1), row("one", "b", 3, 2), row("one", "d", 3, 1)]
    );
    let buckets: Vec<String> = store.revision(3).await.unwrap().buckets.into_iter().collect();
    assert_eq!(buckets, ["one", "two"]);
}

pub(super) async fn an_unchanged_document_keeps_its_revision(store: &dyn Store) {
    for value in 1..=3 {
        let documents = [
            document("same", json!(0)),
            document("other", json!(value)),
            secret("secret", json!(0)),
        ];
        store.put_bucket("site", &documents, Write::at(value)).await.unwrap();
    }
    assert_eq!(
        contents(store, 3).await,
        [
            row("site", "same", 1, 0),
            row("site", "secret", 1, 0),
            row("site", "other", 3, 3)
        ]
    );
}

pub(super) async fn an_unchanged_put_makes_a_revision_all_the_same(store: &dyn Store) {
    let documents = [document("a", json!(1))];
    store.put_bucket("site", &documents, Write::at(1)).await.unwrap();
    let put = store.put_bucket("site", &documents, Write::at(2)).await.unwrap();
    assert_eq!(put.revision.unwrap().id, 2);
    assert_eq!(
        put.changes.into_values().collect::<Vec<_>>(),
        [DocumentChange::Unmodified]
    );
    assert_eq!(contents(store, 2).await, [row("site", "a", 1, 1)]);
}

pub(super) async fn emptying_an_empty_bucket_makes_no_revision(store: &dyn Store) {
    assert_eq!(
        store.put_bucket("site", &[], Write::at(1)).await.unwrap().revision,
        None
    );
    store
        .put_bucket("site", &[document("a", json!(1))], Write::at(2))
        .await
        .unwrap();
    let emptied = store
        .put_bucket("site", &[], Write::at(3))
        .await
        .unwrap()
        .revision
        .unwrap();
    assert_eq!(emptied.id, 2);
    assert!(emptied.buckets.is_empty());
    assert_eq!(contents(store, 2).await, []);
    assert_eq!(
        store.put_bucket("site", &[], Write::at(4)).await.unwrap().revision,
        None
    );
    assert_eq!(store.latest().await.unwrap(), 2);
}

pub(super) async fn a_document_that_comes_back_is_new(store: &dyn Store) {
    store
        .put_bucket("site", &[document("a", json!(1))], Write::at(1))
        .await
        .unwrap();
    store.put_bucket("site", &[], Write::at(2)).await.unwrap();
    store
        .put_bucket("other", &[document("a", json!(1))], Write::at(3))
        .await
        .unwrap();
    assert_eq!(contents(store, 3).await, [row("other", "a", 3, 1)]);
}

pub(super) async fn a_document_in_another_bucket_is_a_conflict(store: &dyn Store) {
    store
        .put_bucket("one", &[document("a", json!(1))], Write::at(1))
        .await
        .unwrap();
    let documents = [document("b", json!(1)), document("a", json!(1))];
    let error = store.put_bucket("two", &documents, Write::at(2)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "Document [example/Kind/v1, site] a already exists in bucket: one"
    );
    assert!(matches!(error, Error::Conflict(Conflict::Duplicate { bucket, .. }) if bucket == "one"));
    assert_eq!(store.latest().await.unwrap(), 1, "nothing was written");
}

pub(super) async fn a_document_twice_in_a_request_is_a_conflict(store: &dyn Store) {
    let documents = [document("a", json!(1)), document("a", json!(2))];
    let error = store.put_bucket("one", &documents, Write::at(2)).await.unwrap_err();
    assert!(matches!(error, Error::Conflict(Conflict::Duplicate { .. })));
    assert_eq!(store.latest().await.unwrap(), 0);
}

pub(super) async fn layers_make_different_documents(store: &dyn Store) {
    let global = policy_document("a", "global", "cleartext", json!("global"));
    store.put_bucket("one", &[global], Write::at(1)).await.unwrap();
    store
        .put_bucket("two", &[document("a", json!("site"))], Write::at(2))
        .await
        .unwrap();
    assert_eq!(
        contents(store, 2).await,
        [row("one", "a", 1, "global"), row("two", "a", 2, "site")]
    );
}

pub(super) async fn there_is_one_layering_policy(store: &dyn Store) {
    store
        .put_bucket("one", &[layering_policy("first")], Write::at(1))
        .await
        .unwrap();
    // Also in the same bucket, and also if the first goes with the same write.
    for bucket in ["one", "two"] {
        let error = store
            .put_bucket(bucket, &[layering_policy("second")], Write::at(2))
            .await
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "A singleton document [deckhand/LayeringPolicy/v1, None] first already exists in the system. \
             The new document(s) [deckhand/LayeringPolicy/v1, None] second cannot be created. \
             To create a document with a new name, delete the current one first."
        );
    }
    store
        .put_bucket("one", &[layering_policy("first")], Write::at(3))
        .await
        .unwrap();
    store.put_bucket("one", &[], Write::at(4)).await.unwrap();
    store
        .put_bucket("two", &[layering_policy("second")], Write::at(5))
        .await
        .unwrap();
    store.put_bucket("two", &[], Write::at(6)).await.unwrap();
    let both = [layering_policy("first"), layering_policy("second")];
    let error = store.put_bucket("two", &both, Write::at(7)).await.unwrap_err();
    assert!(matches!(error, Error::Conflict(Conflict::Singleton { .. })));
}

pub(super) async fn a_stale_base_is_a_conflict(store: &dyn Store) {
    let documents = [document("a", json!(1))];
    store.put_bucket("site", &documents, Write::at(1).on(0)).await.unwrap();
    for base in [0, 2] {
        let error = store
            .put_bucket("site", &documents, Write::at(2).on(base))
            .await
            .unwrap_err();
        assert!(matches!(
            error,
            Error::Conflict(Conflict::Stale { expected, latest: 1 }) if expected == base
        ));
        assert!(matches!(
            store.rollback(0, Write::at(2).on(base)).await,
            Err(Error::Conflict(Conflict::Stale { .. }))
        ));
    }
    store.rollback(0, Write::at(3).on(1)).await.unwrap();
}

pub(super) async fn a_dry_run_changes_nothing(store: &dyn Store) {
    store
        .put_bucket("site", &[document("a", json!(1))], Write::at(1))
        .await
        .unwrap();
    let documents = [document("a", json!(2)), secret("b", json!(1))];
    let tried = store
        .put_bucket("site", &documents, Write::at(2).dry_run())
        .await
        .unwrap();
    let rolled = store.rollback(0, Write::at(2).dry_run()).await.unwrap();
    assert_eq!(
        rolled.changes.into_values().collect::<Vec<_>>(),
        [DocumentChange::Deleted]
    );
    assert_eq!(store.latest().await.unwrap(), 1);
    assert_eq!(contents(store, 1).await, [row("site", "a", 1, 1)]);
    let done = store.put_bucket("site", &documents, Write::at(2)).await.unwrap();
    assert_eq!(tried, done);
}

pub(super) async fn rollback_brings_documents_back(store: &dyn Store) {
    let first = [
        document("a", json!(1)),
        document("b", json!(1)),
        document("c", json!(1)),
    ];
    store.put_bucket("site", &first, Write::at(1)).await.unwrap();
    let second = [
        document("a", json!(2)),
        document("b", json!(1)),
        document("d", json!(1)),
    ];
    store.put_bucket("site", &second, Write::at(2)).await.unwrap();
    store
        .put_bucket("more", &[document("e", json!(1))], Write::at(3))
        .await
        .unwrap();

    let back = store.rollback(1, Write::at(4)).await.unwrap();
    assert_eq!(back.revision.as_ref().unwrap().id, 4);
    assert_eq!(back.revision.unwrap().buckets.into_iter().collect::<Vec<_>>(), ["site"]);
    assert_eq!(
        contents(store, 4).await,
        [row("site", "b", 1, 1), row("site", "a", 4, 1), row("site", "c", 4, 1)]
    );
    // What is the same now shows the revision gone back to, wherever it came from.
    store.rollback(3, Write::at(5)).await.unwrap();
    let again = contents(store, 5).await;
    assert!(again.contains(&row("site", "b", 3, 1)), "{again:?}");
    assert!(again.contains(&row("site", "a", 5, 2)), "{again:?}");
    assert!(again.contains(&row("more", "e", 5, 1)), "{again:?}");
}

pub(super) async fn rollback_to_nothing_empties_everything(store: &dyn Store) {
    store
        .put_bucket("one", &[document("a", json!(1))], Write::at(1))
        .await
        .unwrap();
    store
        .put_bucket("two", &[secret("b", json!(1))], Write::at(2))
        .await
        .unwrap();
    let back = store.rollback(0, Write::at(3)).await.unwrap();
    assert!(back.revision.unwrap().buckets.is_empty());
    assert_eq!(contents(store, 3).await, []);
    store.rollback(2, Write::at(4)).await.unwrap();
    assert_eq!(contents(store, 4).await, [row("one", "a", 4, 1), row("two", "b", 4, 1)]);
}

pub(super) async fn rollback_moves_documents_back_to_their_buckets(store: &dyn Store) {
    store
        .put_bucket("one", &[document("a", json!(1))], Write::at(1))
        .await
        .unwrap();
    store.put_bucket("one", &[], Write::at(2)).await.unwrap();
    store
        .put_bucket("two", &[document("a", json!(1))], Write::at(3))
        .await
        .unwrap();
    store.rollback(1, Write::at(4)).await.unwrap();
    assert_eq!(contents(store, 4).await, [row("one", "a", 1, 1)]);
}

pub(super) async fn deleting_everything_starts_again_at_one(store: &dyn Store) {
    for now in 1..=3 {
        store
            .put_bucket("site", &[document("a", json!(now))], Write::at(now))
            .await
            .unwrap();
    }
    store.put_tag(2, "committed", &json!({})).await.unwrap();
    store.add_validation(2, "v", &json!({}), 1).await.unwrap();
    store.delete_all().await.unwrap();
    an_empty_store_has_nothing(store).await;
    let put = store
        .put_bucket("site", &[document("a", json!(9))], Write::at(9))
        .await
        .unwrap();
    assert_eq!(put.revision.unwrap().id, 1);
    assert_eq!(contents(store, 1).await, [row("site", "a", 1, 9)]);
}

pub(super) async fn data_of_every_kind_comes_back(store: &dyn Store) {
    let values = [
        json!(null),
        json!(true),
        json!(""),
        json!("nul \u{0} and \u{10ffff} and ü"),
        json!([]),
        json!({}),
        json!({"": [{"b": 1, "a": 2}]}),
        json!(0.1),
        json!(-0.0),
        json!(1e300),
        json!(u64::MAX),
        json!(i64::MIN),
        json!("x".repeat(1_000_000)),
    ];
    let documents: Vec<_> = (0..)
        .zip(&values)
        .flat_map(|(number, value)| {
            [
                document(&format!("open {number}"), value.clone()),
                secret(&format!("sealed {number}"), value.clone()),
            ]
        })
        .collect();
    store.put_bucket("site", &documents, Write::at(i64::MIN)).await.unwrap();
    for (stored, written) in store.documents(1).await.unwrap().into_iter().zip(&documents) {
        assert_eq!(stored.data().unwrap(), written.data().as_ref());
        assert_eq!(stored.data_hash().unwrap(), written.data_hash().into());
        assert_eq!(stored.metadata, **written.metadata());
    }
}

pub(super) async fn names_that_some_store_cannot_hold_are_refused(store: &dyn Store) {
    let long = "x".repeat(513);
    for bad in ["", "a\0b", long.as_str()] {
        let put = store.put_bucket(bad, &[document("a", json!(1))], Write::at(1)).await;
        assert!(matches!(put, Err(Error::Name { .. })), "{bad:?}");
    }
    for bad in ["a\0b", long.as_str()] {
        let put = store.put_bucket("site", &[document(bad, json!(1))], Write::at(1)).await;
        assert!(matches!(put, Err(Error::Name { .. })), "{bad:?}");
    }
    // As deep as a document can be.
    let deepest = (0..119).fold(json!(1), |inner, _| json!([inner]));
    store
        .put_bucket("deep", &[document("a", deepest.clone())], Write::at(1))
        .await
        .unwrap();
    assert_eq!(contents(store, 1).await, [row("deep", "a", 1, deepest)]);
    let deep = (0..128).fold(json!(1), |inner, _| json!([inner]));
    assert!(matches!(
        store.put_tag(1, "deep", &deep).await,
        Err(Error::TooDeep { .. })
    ));
    assert!(matches!(
        store.add_validation(1, "deep", &deep, 1).await,
        Err(Error::TooDeep { .. })
    ));

    let longest = "ü".repeat(256);
    let document = policy_document(&longest, &longest, "cleartext", json!(1));
    store.put_bucket(&longest, &[document], Write::at(1)).await.unwrap();
    store.put_tag(1, &longest, &json!({})).await.unwrap();
    for bad in ["", "a\0b", long.as_str()] {
        assert!(matches!(
            store.put_tag(1, bad, &json!({})).await,
            Err(Error::Name { .. })
        ));
        assert!(matches!(
            store.add_validation(1, bad, &json!({}), 1).await,
            Err(Error::Name { .. })
        ));
        assert!(matches!(
            store.acquire_lock(bad, "me", 1, 2).await,
            Err(Error::Name { .. })
        ));
    }
}

pub(super) async fn old_revisions_stay_as_they_were(store: &dyn Store) {
    let mut expected = Vec::new();
    for revision in 1..=40_u64 {
        // Document n changes every n revisions.
        let documents: Vec<_> = (1..=6_u64)
            .map(|period| document(&format!("every {period}"), json!(revision / period)))
            .collect();
        store.put_bucket("site", &documents, Write::at(1)).await.unwrap();
        expected.push(contents(store, revision).await);
    }
    for (revision, expected) in (1..).zip(&expected) {
        assert_eq!(contents(store, revision).await, *expected, "revision {revision}");
        for (_, name, changed, data) in expected {
            let period: u64 = name.strip_prefix("every ").unwrap().parse().unwrap();
            assert_eq!(*data, json!(revision / period));
            assert_eq!(*changed, (revision / period * period).max(1));
        }
    }
}
