//! Documents that take long to validate: everybody else goes on.

use std::sync::{Arc, Mutex, mpsc};

use berth_api::ValidationMessage;
use berth_repository::{DocumentRules, FiledDocument};
use tokio::sync::Notify;

use crate::fixture::{LAYERS, Served, document};

/// A schema whose pattern never comes to an end, and a document with texts for it.
fn slow() -> String {
    let texts = vec![format!("{}c", "a".repeat(60)); 100].join(", ");
    format!(
        "---\nschema: deckhand/DataSchema/v1\nmetadata: {{schema: metadata/Control/v1, name: example/Kind/v1}}\n\
         data: {{properties: {{texts: {{items: {{pattern: '^((a+)(?!x))+b$'}}}}}}}}\n{}",
        document("slow", "site", &format!("{{texts: [{texts}]}}"))
    )
}

/// One thread serves everything here, so that nothing is answered while it is busy with something else.
#[tokio::test]
async fn a_slow_validation_keeps_nobody_waiting() {
    let api = Arc::new(Served::sqlite().await);
    api.put("mop", &format!("{LAYERS}{}", document("a", "site", "{n: 1}")))
        .await
        .expect(200);
    let writing = tokio::spawn({
        let api = Arc::clone(&api);
        async move { api.put("other", &slow()).await }
    });
    // The revision is there before it is validated.
    while api.get("revisions").await.expect(200).yaml()["count"] != 2 {
        tokio::task::yield_now().await;
    }
    let rendering = tokio::spawn({
        let api = Arc::clone(&api);
        async move { api.get("revisions/2/rendered-documents").await }
    });
    api.send("GET", "/health", &[], None).await.expect(204);
    assert_eq!(
        api.get("revisions/1/rendered-documents").await.expect(200).names(),
        ["layers", "a"]
    );
    assert!(!writing.is_finished() && !rendering.is_finished(), "both still run");
    let written = writing.await.unwrap().expect(200);
    assert_eq!(written.names().len(), 2);
    let refused = rendering.await.unwrap().expect(400);
    assert!(
        refused.body.contains("all patterns together take too long"),
        "{}",
        refused.body
    );
}

/// A schema for documents of a kind, and a document of it.
fn pair(kind: &str, schema: &str, data: &str) -> String {
    format!(
        "---\nschema: deckhand/DataSchema/v1\nmetadata: {{schema: metadata/Control/v1, name: example/{kind}/v1}}\n\
         data: {schema}\n{}",
        document("slow", "site", data).replace("example/Kind/v1", &format!("example/{kind}/v1"))
    )
}

/// Schemas that once kept a thread busy for minutes or forever, each with a document and what is said of it.
fn slow_ones() -> Vec<(String, &'static str)> {
    let text = format!("{}c", "a".repeat(60));
    let texts = vec![text.as_str(); 100].join(", ");
    let keys: Vec<String> = (0..300)
        .map(|number| format!("{}{number}: 1", "a".repeat(40)))
        .collect();
    let patterns: Vec<String> = (0..20)
        .map(|number| format!("'^((a+)(?!x))+b{number}$': {{}}"))
        .collect();
    let definitions: Vec<String> = (1..=60)
        .map(|level| {
            let before = format!("{{$ref: '#/definitions/a{}'}}", level - 1);
            format!("a{level}: {{allOf: [{before}, {before}]}}")
        })
        .collect();
    vec![
        (
            pair(
                "Boundaries",
                "{properties: {texts: {items: {pattern: '^(?:\\Ba|a)+b$'}}}}",
                &format!("{{texts: [{texts}]}}"),
            ),
            "does not match",
        ),
        (
            pair(
                "Keys",
                &format!("{{patternProperties: {{{}}}}}", patterns.join(", ")),
                &format!("{{{}}}", keys.join(", ")),
            ),
            "takes too long",
        ),
        (
            pair(
                "References",
                &format!(
                    "{{allOf: [{{$ref: '#/definitions/a60'}}], definitions: {{a0: {{}}, {}}}}}",
                    definitions.join(", ")
                ),
                "{n: 1}",
            ),
            "look at the values",
        ),
        (
            pair(
                "Backtracking",
                "{properties: {texts: {items: {pattern: '^((a+)(?!x))+b$'}}}}",
                &format!("{{texts: [{texts}]}}"),
            ),
            "takes too long",
        ),
    ]
}

/// As many slow requests as are worked on at a time: they come to an end, and another revision is rendered.
#[tokio::test]
async fn slow_validations_do_not_stop_others() {
    let api = Arc::new(Served::sqlite().await);
    let quick = format!("{LAYERS}{}", document("a", "site", "{n: 1}"));
    api.put("mop", &quick).await.expect(200);
    let mut writing = Vec::new();
    for (number, (documents, _)) in slow_ones().into_iter().enumerate() {
        let write = Arc::clone(&api);
        let bucket = format!("slow{number}");
        let written = tokio::spawn(async move { write.put(&bucket, &documents).await });
        // The revision is there before it is validated.
        while api.get("revisions").await.expect(200).yaml()["count"] != number + 2 && !written.is_finished() {
            tokio::task::yield_now().await;
        }
        writing.push(written);
    }
    api.send("GET", "/health", &[], None).await.expect(204);
    assert_eq!(
        api.get("revisions/1/rendered-documents").await.expect(200).names(),
        ["layers", "a"]
    );
    for written in writing {
        written.await.unwrap().expect(200);
    }
    // Each by itself is refused with the reason.
    for (documents, reason) in slow_ones() {
        let api = Served::sqlite().await;
        api.put("mop", &format!("{quick}{documents}")).await.expect(200);
        let refused = api.get("revisions/1/rendered-documents").await.expect(400);
        assert!(refused.body.contains(reason), "{reason}: {:.600}", refused.body);
    }
}

/// Rules that say when they are asked, and answer when they are told to.
#[derive(Debug)]
struct Waiting {
    asked: Arc<Notify>,
    answer: Mutex<mpsc::Receiver<()>>,
}

impl DocumentRules for Waiting {
    fn check(&self, _: &[FiledDocument]) -> Vec<ValidationMessage> {
        self.asked.notify_one();
        let _ = self.answer.lock().unwrap().recv();
        Vec::new()
    }
}

#[tokio::test]
async fn a_commit_that_is_validated_holds_no_lock() {
    let asked = Arc::new(Notify::new());
    let (answer, waiting) = mpsc::channel();
    let rules = Waiting {
        asked: Arc::clone(&asked),
        answer: Mutex::new(waiting),
    };
    let api = Arc::new(Served::with_rules(Arc::new(rules)).await);
    api.post(
        "configdocs/one",
        &format!("{LAYERS}{}", document("a", "site", "{n: 1}")),
    )
    .await
    .expect(201);
    let commit = || {
        let api = Arc::clone(&api);
        tokio::spawn(async move { api.post("commitconfigdocs", "").await })
    };
    let first = commit();
    asked.notified().await;
    api.send("GET", "/health", &[], None).await.expect(204);
    api.post("configdocs/two?buffermode=append", &document("b", "site", "{n: 1}"))
        .await
        .expect(201);
    assert_eq!(
        api.get("revisions/2/rendered-documents")
            .await
            .expect(200)
            .names()
            .len(),
        3
    );
    assert!(!first.is_finished());
    answer.send(()).unwrap();
    // What was validated is not the buffer any more.
    let changed = first.await.unwrap().expect(409);
    assert!(
        changed.body.contains("changed while it was validated"),
        "{}",
        changed.body
    );
    let second = commit();
    asked.notified().await;
    answer.send(()).unwrap();
    second.await.unwrap().expect(200);
}

/// A text of 150 kB that 12,000 aliases repeat: 240 kB that once took 2 GB and ended the server.
#[tokio::test]
async fn an_upload_that_expands_is_refused_with_its_place() {
    let api = Served::sqlite().await;
    let bomb = format!(
        "{}  text: &a {}\n  all:\n{}",
        document("bomb", "site", ""),
        "x".repeat(150_000),
        "  - *a\n".repeat(12_000)
    );
    let refused = api.put("mop", &bomb).await.expect(400);
    for told in [
        "line 471, column 5",
        "expand to far more than the file holds",
        "write the values out",
        "64 MiB",
    ] {
        assert!(refused.body.contains(told), "{told}: {:.600}", refused.body);
    }
    let staged = api.post("configdocs/one", &bomb).await.expect(400);
    assert!(staged.body.contains("write the values out"), "{:.600}", staged.body);
    assert_eq!(api.get("revisions").await.expect(200).yaml()["count"], 0);
}
