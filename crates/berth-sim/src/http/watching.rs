//! A watch as a stream of lines.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Response, header};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{
    Answer,
    accept::{Form, metadata_of},
    body::AnswerBody,
};
use crate::{
    cluster::{Cluster, WatchEvent, Watcher},
    object::text,
    resources::Hit,
    table::{RowObject, table},
};

/// How many lines wait for a client that reads slowly, before the watch waits for it.
const WAITING_LINES: usize = 64;

/// Answers with everything that the watch sees, until it ends or the client goes.
pub(super) fn answer(watcher: Watcher, hit: Hit, form: Form, include: RowObject, cluster: Cluster) -> Answer {
    let (sender, receiver) = mpsc::channel(WAITING_LINES);
    tokio::spawn(send_all(watcher, sender, move |event| {
        line(&event, &hit, form, include, &cluster)
    }));
    let mut answer = Response::new(AnswerBody::Stream(receiver));
    answer
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

async fn send_all(mut watcher: Watcher, sender: mpsc::Sender<Bytes>, line: impl Fn(WatchEvent) -> Bytes) {
    loop {
        let event = tokio::select! {
            event = watcher.next() => event,
            () = sender.closed() => return,
        };
        let Some(event) = event else { return };
        if sender.send(line(event)).await.is_err() {
            return;
        }
    }
}

fn line(event: &WatchEvent, hit: &Hit, form: Form, include: RowObject, cluster: &Cluster) -> Bytes {
    let shown = |object: &Arc<Value>| match form {
        Form::Whole => object.to_string(),
        Form::Metadata => metadata_of(object).to_string(),
        Form::Table => rows(
            hit,
            &[object],
            text(object, &["metadata", "resourceVersion"]),
            include,
            cluster,
        ),
    };
    let (kind, object) = match event {
        WatchEvent::Added(object) => ("ADDED", shown(object)),
        WatchEvent::Modified(object) => ("MODIFIED", shown(object)),
        WatchEvent::Deleted(object) => ("DELETED", shown(object)),
        WatchEvent::Error(status) => ("ERROR", status.to_string()),
        WatchEvent::Bookmark(object) => {
            let object = match form {
                Form::Whole => object.to_string(),
                Form::Metadata => metadata_of(object).to_string(),
                Form::Table => rows(
                    hit,
                    &[],
                    text(object, &["metadata", "resourceVersion"]),
                    include,
                    cluster,
                ),
            };
            ("BOOKMARK", object)
        }
    };
    Bytes::from(format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n"))
}

fn rows(hit: &Hit, objects: &[&Arc<Value>], revision: &str, include: RowObject, cluster: &Cluster) -> String {
    table(
        &hit.version().columns,
        objects.iter().map(|object| &***object),
        &json!({"resourceVersion": revision}),
        include,
        cluster.now(),
    )
    .to_string()
}
