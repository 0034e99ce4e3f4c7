//! Many writers at once: no write is lost, and each sees what was there before it.

use std::{collections::BTreeSet, sync::Arc};

use berth_store::{Conflict, Error, Store, Write, open};
use serde_json::json;

use crate::fixture::{Fixture, Kind, contents, document, keys, row};

const WRITERS: u64 = 12;
const ROUNDS: u64 = 8;

/// The store twice, opened on its own each time as two servers would, or the same one where there is only one.
async fn servers(fixture: &Fixture) -> [Arc<dyn Store>; 2] {
    let second = if fixture.address.is_empty() {
        Arc::clone(&fixture.store)
    } else {
        open(&fixture.address, keys(1)).await.unwrap()
    };
    [Arc::clone(&fixture.store), second]
}

async fn writers_of_different_buckets_all_succeed(kind: Kind) {
    let Some(fixture) = kind.start().await else { return };
    let servers = servers(&fixture).await;
    let mut tasks = tokio::task::JoinSet::new();
    for (writer, store) in (0..WRITERS).zip(servers.iter().cycle().cloned()) {
        tasks.spawn(async move {
            let mut made = Vec::new();
            for round in 0..ROUNDS {
                let documents = [document(&format!("of {writer}"), json!(round))];
                let put = store
                    .put_bucket(&format!("bucket {writer}"), &documents, Write::at(1))
                    .await
                    .unwrap();
                made.push((writer, round, put.revision.unwrap().id));
            }
            made
        });
    }
    let made: Vec<_> = tasks.join_all().await.into_iter().flatten().collect();
    let ids: BTreeSet<u64> = made.iter().map(|(_, _, id)| *id).collect();
    assert_eq!(
        ids,
        (1..=WRITERS * ROUNDS).collect(),
        "each write has a revision of its own"
    );
    for (writer, round, id) in made {
        let found = contents(fixture.store.as_ref(), id).await;
        let expected = row(&format!("bucket {writer}"), &format!("of {writer}"), id, round);
        assert!(found.contains(&expected), "revision {id} has {found:?}");
        if id == WRITERS * ROUNDS {
            assert_eq!(found.len() as u64, WRITERS, "nobody's documents are lost");
        }
    }
    assert_eq!(fixture.store.check().await.unwrap().problems, []);
}

async fn readers_that_write_back_lose_nothing(kind: Kind) {
    let Some(fixture) = kind.start().await else { return };
    let servers = servers(&fixture).await;
    let mut tasks = tokio::task::JoinSet::new();
    for store in servers.iter().cycle().take(6) {
        let store = Arc::clone(store);
        tasks.spawn(async move {
            let mut added = 0;
            while added < ROUNDS {
                let base = store.latest().await.unwrap();
                let seen = contents(store.as_ref(), base).await;
                let count = seen.first().map_or(0, |(_, _, _, data)| data.as_u64().unwrap());
                let documents = [document("counter", json!(count + 1))];
                match store.put_bucket("site", &documents, Write::at(1).on(base)).await {
                    Ok(_) => added += 1,
                    Err(Error::Conflict(Conflict::Stale { expected, latest })) => {
                        assert_eq!(expected, base);
                        assert!(latest > base);
                    }
                    Err(error) => panic!("{error:?}"),
                }
            }
        });
    }
    tasks.join_all().await;
    let latest = fixture.store.latest().await.unwrap();
    assert_eq!(
        contents(fixture.store.as_ref(), latest).await,
        [row("site", "counter", latest, 6 * ROUNDS)]
    );
}

async fn one_of_many_gets_the_lock(kind: Kind) {
    let Some(fixture) = kind.start().await else { return };
    let servers = servers(&fixture).await;
    let mut tasks = tokio::task::JoinSet::new();
    for (writer, store) in (0..WRITERS).zip(servers.iter().cycle().cloned()) {
        tasks.spawn(async move {
            store
                .acquire_lock("lock", &format!("owner {writer}"), 0, 60)
                .await
                .is_ok()
        });
    }
    let got: usize = tasks.join_all().await.into_iter().map(usize::from).sum();
    assert_eq!(got, 1);
}

async fn reports_that_come_together_get_different_numbers(kind: Kind) {
    let Some(fixture) = kind.start().await else { return };
    let servers = servers(&fixture).await;
    let documents = [document("a", json!(1))];
    fixture
        .store
        .put_bucket("site", &documents, Write::at(1))
        .await
        .unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for store in servers.iter().cycle().take(10) {
        let store = Arc::clone(store);
        tasks.spawn(async move { store.add_validation(1, "check", &json!({}), 1).await.unwrap().entry });
    }
    let numbers: BTreeSet<u64> = tasks.join_all().await.into_iter().collect();
    assert_eq!(numbers, (0..10).collect());
}

/// While somebody deletes everything again and again, a reader sees a whole revision or none.
async fn deleting_everything_leaves_no_half_revision(kind: Kind) {
    let Some(fixture) = kind.start().await else { return };
    let [first, second] = servers(&fixture).await;
    let writer = tokio::spawn(async move {
        let documents: Vec<_> = (0..20).map(|number| document(&number.to_string(), json!(1))).collect();
        for _ in 0..15 {
            first.put_bucket("site", &documents, Write::at(1)).await.unwrap();
            first.delete_all().await.unwrap();
        }
    });
    while !writer.is_finished() {
        match second.documents(1).await {
            Ok(found) => assert_eq!(found.len(), 20),
            Err(Error::RevisionNotFound { .. }) => tokio::task::yield_now().await,
            Err(error) => panic!("{error:?}"),
        }
    }
    writer.await.unwrap();
}

macro_rules! on_all_stores {
    ($($case:ident,)*) => {
        on_all_stores!(@kind memory Memory $($case,)*);
        on_all_stores!(@kind sqlite Sqlite $($case,)*);
        on_all_stores!(@kind postgres Postgres $($case,)*);
    };
    (@kind $name:ident $kind:ident $($case:ident,)*) => {
        mod $name {
            use crate::fixture::Kind;
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
                async fn $case() {
                    super::$case(Kind::$kind).await;
                }
            )*
        }
    };
}

on_all_stores! {
    writers_of_different_buckets_all_succeed,
    readers_that_write_back_lose_nothing,
    one_of_many_gets_the_lock,
    reports_that_come_together_get_different_numbers,
    deleting_everything_leaves_no_half_revision,
}
