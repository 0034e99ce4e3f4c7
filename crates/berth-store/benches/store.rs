//! How long storing takes, and whether a long history slows reading down. Prints what it measured beside its limit.

#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]
#![expect(clippy::disallowed_methods, reason = "a bench reads the clock")]

use std::{
    error::Error,
    sync::Arc,
    time::{Duration, Instant},
};

use berth_documents::deckhand::DeckhandDocument;
use berth_store::{SealingKey, SealingKeys, SqliteStore, Store, Write, open};
use serde_json::json;

const DOCUMENTS: usize = 5_000;
const REVISIONS: u64 = 10_000;
/// Of the site in the long history; small, so that it can be written in a short time.
const SITE: usize = 200;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn document(number: usize, value: u64, policy: &str) -> Result<Arc<DeckhandDocument>> {
    let interfaces: Vec<_> = (0..6)
        .map(|port| json!({"name": format!("eno{port}"), "mtu": 9000}))
        .collect();
    let document = json!({
        "schema": "drydock/BaremetalNode/v1",
        "metadata": {
            "schema": "metadata/Document/v1",
            "name": format!("node-{number:05}"),
            "storagePolicy": policy,
            "layeringDefinition": {"layer": "site"},
            "labels": {"rack": format!("rack-{}", number % 40)},
        },
        "data": {"value": value, "number": number, "interfaces": interfaces},
    });
    Ok(Arc::new(DeckhandDocument::from_json(document)?))
}

fn documents(count: usize, value: u64, policy: &str) -> Result<Vec<Arc<DeckhandDocument>>> {
    (0..count).map(|number| document(number, value, policy)).collect()
}

/// The best of a few: other programs on the machine make runs slower, never faster.
async fn best<F: Future<Output = Result<()>>>(runs: u32, mut run: impl FnMut() -> F) -> Result<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..runs {
        let start = Instant::now();
        run().await?;
        best = best.min(start.elapsed());
    }
    Ok(best)
}

async fn storing(name: &str, store: &dyn Store) -> Result<()> {
    for policy in ["cleartext", "encrypted"] {
        let first = documents(DOCUMENTS, 1, policy)?;
        let changed = documents(DOCUMENTS, 2, policy)?;
        store.delete_all().await?;
        let start = Instant::now();
        store.put_bucket("site", &first, Write::at(1)).await?;
        let new = start.elapsed();
        let start = Instant::now();
        store.put_bucket("site", &changed, Write::at(1)).await?;
        let replaced = start.elapsed();
        let start = Instant::now();
        store.put_bucket("site", &changed, Write::at(1)).await?;
        let unchanged = start.elapsed();
        let read = best(5, async || {
            store.documents(3).await?;
            Ok(())
        })
        .await?;
        println!(
            "{name}: storing {DOCUMENTS} {policy} documents {} ms (limit 1 s; the original 50 s), all changed {} ms, \
             none changed {} ms, reading them {} ms",
            new.as_millis(),
            replaced.as_millis(),
            unchanged.as_millis(),
            read.as_millis()
        );
    }
    Ok(())
}

/// Revision after revision changes one document of a small site.
async fn history(name: &str, store: &dyn Store) -> Result<()> {
    store.delete_all().await?;
    let mut site = documents(SITE, 0, "cleartext")?;
    let start = Instant::now();
    let mut early = Duration::ZERO;
    for revision in 1..=REVISIONS {
        let number = usize::try_from(revision)? % SITE;
        if let Some(place) = site.get_mut(number) {
            *place = document(number, revision, "cleartext")?;
        }
        store.put_bucket("site", &site, Write::at(1)).await?;
        if revision == 100 {
            early = start.elapsed() / 100;
        }
    }
    let mean = start.elapsed() / u32::try_from(REVISIONS)?;
    let mut lines = Vec::new();
    for revision in [10, REVISIONS / 2, REVISIONS] {
        let read = best(50, async || {
            let found = store.documents(revision).await?;
            assert_eq!(found.len(), SITE);
            Ok(())
        })
        .await?;
        lines.push(format!("revision {revision} in {} µs", read.as_micros()));
    }
    println!(
        "{name}: of {REVISIONS} revisions of {SITE} documents, reading {} (limit: the same); \
         one write {} µs at the beginning, {} µs in the mean",
        lines.join(", "),
        early.as_micros(),
        mean.as_micros()
    );
    let start = Instant::now();
    let report = store.check().await?;
    assert!(report.problems.is_empty());
    println!("{name}: checking all of it {} ms", start.elapsed().as_millis());
    Ok(())
}

async fn run() -> Result<()> {
    let keys = SealingKeys::new(vec![SealingKey::new(&[7; 32])?]);
    let folder = tempfile::tempdir()?;
    let sqlite = SqliteStore::open(&folder.path().join("berth.db"), keys.clone()).await?;
    storing("SQLite", &sqlite).await?;
    history("SQLite", &sqlite).await?;
    // A server of your choice: `cargo bench -p berth-store -- postgres://…`; its store is emptied.
    if let Some(url) = std::env::args().find(|argument| argument.starts_with("postgres")) {
        let postgres = open(&url, keys).await?;
        storing("PostgreSQL", postgres.as_ref()).await?;
        history("PostgreSQL", postgres.as_ref()).await?;
    }
    Ok(())
}

fn main() -> Result<()> {
    // `cargo test` runs benches too, to see that they start; there is nothing to measure in a debug build.
    if !std::env::args().any(|argument| argument == "--bench") {
        return Ok(());
    }
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(run())
}
