//! Tags, stages, validations and locks.

use std::collections::BTreeMap;

use berth_store::{Conflict, Error, RevisionFilter, StagedVersions, Store, Write};
use serde_json::json;

use crate::fixture::document;

async fn revisions(store: &dyn Store, count: i64) {
    for now in 1..=count {
        store
            .put_bucket("site", &[document("a", json!(now))], Write::at(now))
            .await
            .unwrap();
    }
}

pub(super) async fn tags_are_set_replaced_listed_and_deleted(store: &dyn Store) {
    revisions(store, 2).await;
    assert!(matches!(
        store.put_tag(3, "a", &json!({})).await,
        Err(Error::RevisionNotFound { revision: 3 })
    ));
    store.put_tag(1, "a", &json!({"who": "me"})).await.unwrap();
    store.put_tag(1, "b", &json!({})).await.unwrap();
    store.put_tag(1, "a", &json!({"who": "you"})).await.unwrap();
    store.put_tag(2, "a", &json!({})).await.unwrap();
    assert_eq!(store.tag(1, "a").await.unwrap(), json!({"who": "you"}));
    let tags = BTreeMap::from([("a".to_owned(), json!({"who": "you"})), ("b".to_owned(), json!({}))]);
    assert_eq!(store.tags(1).await.unwrap(), tags);
    assert_eq!(store.revision(1).await.unwrap().tags, tags);

    let missing = store.tag(1, "c").await.unwrap_err();
    assert_eq!(
        missing.to_string(),
        "The requested tag 'c' for revision 1 was not found."
    );
    assert!(matches!(store.delete_tag(1, "c").await, Err(Error::TagNotFound { .. })));
    assert!(matches!(
        store.delete_tag(3, "a").await,
        Err(Error::RevisionNotFound { .. })
    ));
    store.delete_tag(1, "a").await.unwrap();
    assert!(matches!(store.tag(1, "a").await, Err(Error::TagNotFound { .. })));
    store.delete_tags(1).await.unwrap();
    assert_eq!(store.tags(1).await.unwrap(), BTreeMap::new());
    assert_eq!(store.tags(2).await.unwrap().len(), 1);
    assert!(matches!(
        store.delete_tags(3).await,
        Err(Error::RevisionNotFound { .. })
    ));
}

pub(super) async fn revisions_are_listed_by_tag(store: &dyn Store) {
    revisions(store, 4).await;
    for (revision, tag) in [(1, "a"), (2, "b"), (3, "a"), (3, "b")] {
        store.put_tag(revision, tag, &json!({})).await.unwrap();
    }
    for (tags, expected) in [
        (vec![], vec![1, 2, 3, 4]),
        (vec!["a"], vec![1, 3]),
        (vec!["a", "b"], vec![1, 2, 3]),
        (vec!["c"], vec![]),
    ] {
        let filter = RevisionFilter {
            tags: tags.into_iter().map(str::to_owned).collect(),
        };
        let found = store.revisions(&filter).await.unwrap();
        let ids: Vec<u64> = found.iter().map(|revision| revision.id).collect();
        assert_eq!(ids, expected, "{filter:?}");
        for revision in found {
            assert_eq!(revision, store.revision(revision.id).await.unwrap());
        }
    }
}

pub(super) async fn stages_follow_from_tags(store: &dyn Store) {
    assert_eq!(store.staged().await.unwrap(), StagedVersions::default());
    revisions(store, 5).await;
    let mut expected = StagedVersions {
        buffer: Some(5),
        ..StagedVersions::default()
    };
    assert_eq!(store.staged().await.unwrap(), expected, "everything is buffer");

    store.put_tag(1, "committed", &json!({})).await.unwrap();
    store.put_tag(1, "site-action-success", &json!({})).await.unwrap();
    store.put_tag(2, "rollback_commit", &json!({})).await.unwrap();
    store.put_tag(2, "site-action-failure", &json!({})).await.unwrap();
    store.put_tag(4, "unrelated", &json!({})).await.unwrap();
    expected = StagedVersions {
        committed: Some(2),
        buffer: Some(5),
        last_site_action: Some(2),
        successful_site_action: Some(1),
    };
    assert_eq!(store.staged().await.unwrap(), expected);

    store.put_tag(5, "committed", &json!({})).await.unwrap();
    expected = StagedVersions {
        committed: Some(5),
        buffer: None,
        ..expected
    };
    assert_eq!(store.staged().await.unwrap(), expected, "no buffer");
}

pub(super) async fn validations_are_numbered_by_name(store: &dyn Store) {
    revisions(store, 2).await;
    for (revision, name, entry) in [(1, "b", 0), (1, "a", 0), (1, "b", 1), (2, "b", 0)] {
        let report = json!({"status": "success", "of": [revision, name]});
        let record = store.add_validation(revision, name, &report, 7).await.unwrap();
        assert_eq!((record.entry, record.created_at, &record.report), (entry, 7, &report));
    }
    let records = store.validations(1).await.unwrap();
    let found: Vec<_> = records
        .iter()
        .map(|record| (record.name.as_str(), record.entry))
        .collect();
    assert_eq!(found, [("a", 0), ("b", 0), ("b", 1)]);
    assert_eq!(records[2].report, json!({"status": "success", "of": [1, "b"]}));
    assert!(matches!(
        store.validations(3).await,
        Err(Error::RevisionNotFound { .. })
    ));
    assert!(matches!(
        store.add_validation(0, "a", &json!({}), 1).await,
        Err(Error::RevisionNotFound { .. })
    ));
}

pub(super) async fn a_lock_has_one_owner_until_it_expires(store: &dyn Store) {
    store.acquire_lock("update", "me", 100, 160).await.unwrap();
    store.acquire_lock("other", "you", 100, 160).await.unwrap();
    let error = store.acquire_lock("update", "you", 159, 219).await.unwrap_err();
    let Error::Conflict(Conflict::Locked { owner, expires_at, .. }) = error else {
        panic!("{error}");
    };
    assert_eq!((owner.as_str(), expires_at), ("me", 160));
    store.acquire_lock("update", "me", 150, 200).await.unwrap();
    assert!(
        store.acquire_lock("update", "you", 199, 300).await.is_err(),
        "held longer"
    );
    store.acquire_lock("update", "you", 200, 300).await.unwrap();
    assert!(
        !store.release_lock("update", "me").await.unwrap(),
        "it is not mine any more"
    );
    assert!(store.acquire_lock("update", "me", 201, 300).await.is_err());
    assert!(store.release_lock("update", "you").await.unwrap());
    assert!(!store.release_lock("update", "you").await.unwrap());
    store.acquire_lock("update", "me", 202, 300).await.unwrap();
}
