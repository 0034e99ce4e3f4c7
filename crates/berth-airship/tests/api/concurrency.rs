//! Several writers at once: nothing is lost, and what cannot be is refused.

use std::sync::Arc;

use crate::fixture::{Served, document, on_both};

on_both!(
    no_write_is_lost,
    of_two_owners_one_is_refused,
    who_builds_on_an_old_revision_is_refused,
);

const WRITERS: usize = 4;
const WRITES: usize = 8;

async fn no_write_is_lost(api: Served) {
    let api = Arc::new(api);
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let api = Arc::clone(&api);
            tokio::spawn(async move {
                for write in 0..WRITES {
                    let body = document(&format!("w{writer}"), "site", &format!("{{n: {write}}}"));
                    api.put(&format!("bucket{writer}"), &body).await.expect(200);
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let total = WRITERS * WRITES;
    assert_eq!(api.get("revisions").await.yaml()["count"], total);
    let newest = api
        .get(&format!("revisions/{total}/documents?sort=metadata.name"))
        .await
        .expect(200);
    assert_eq!(newest.documents().len(), WRITERS);
    for kept in newest.documents() {
        assert_eq!(kept["data"]["n"], WRITES - 1, "{kept}");
    }
    let store = berth_store::open(&api.database, berth_store::SealingKeys::none())
        .await
        .unwrap();
    assert_eq!(store.check().await.unwrap().problems, []);
}

async fn of_two_owners_one_is_refused(api: Served) {
    let api = Arc::new(api);
    for round in 0..5 {
        let body = document(&format!("shared{round}"), "site", "1");
        let rivals: Vec<_> = (0..2)
            .map(|rival| {
                let (api, body) = (Arc::clone(&api), body.clone());
                tokio::spawn(async move { api.put(&format!("rival{round}-{rival}"), &body).await.status })
            })
            .collect();
        let mut answers = Vec::new();
        for rival in rivals {
            answers.push(rival.await.unwrap());
        }
        answers.sort_unstable();
        assert_eq!(answers, [200, 409]);
    }
}

async fn who_builds_on_an_old_revision_is_refused(api: Served) {
    let yaml = [("Content-Type", "application/x-yaml")];
    let body = |n: u8| document("shared", "site", &format!("{{n: {n}}}"));
    let put = async |base: &str, n: u8| {
        let path = format!("/api/v1.0/buckets/site/documents?base-revision={base}");
        api.send("PUT", &path, &yaml, Some(&body(n))).await
    };
    put("0", 1).await.expect(200);
    let late = put("0", 2).await.expect(409).yaml();
    assert_eq!(
        late["message"],
        "the newest revision is 1 and not 0: somebody else has written in between"
    );
    api.post("rollback/0?base-revision=0", "").await.expect(409);
    let kept = api.get("revisions/1/documents").await.expect(200);
    assert_eq!(kept.documents()[0]["data"]["n"], 1);
    assert_eq!(api.get("revisions").await.yaml()["count"], 1, "nothing was written");
    put("x", 2).await.expect(400);
    put("1", 2).await.expect(200);
    api.post("rollback/1?base-revision=2", "").await.expect(201);
}
