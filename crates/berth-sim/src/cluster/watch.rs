//! Watches: what happens to a resource, from a revision on.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{sync::watch as channel, time::Instant};

use super::{Cluster, events, list::Filter};
use crate::{failure::Failure, resources::Hit, storage::RevisionError};

/// How often a quiet watch hears where it is.
const BOOKMARK_EVERY: Duration = Duration::from_mins(1);

/// What to watch.
#[derive(Clone, Debug, Default)]
pub(crate) struct WatchOptions {
    pub(crate) labels: String,
    pub(crate) fields: String,
    /// Empty and zero begin with what is there.
    pub(crate) revision: String,
    pub(crate) bookmarks: bool,
    /// Begin with what is there and say when that is through.
    pub(crate) initial_events: bool,
    pub(crate) timeout: Option<Duration>,
}

/// One thing that happened.
#[derive(Clone, Debug)]
pub(crate) enum WatchEvent {
    Added(Arc<Value>),
    Modified(Arc<Value>),
    Deleted(Arc<Value>),
    Bookmark(Value),
    Error(Value),
}

/// A watch that goes on.
#[derive(Debug)]
pub(crate) struct Watcher {
    cluster: Cluster,
    hit: Hit,
    namespace: Option<String>,
    filter: Filter,
    feed: channel::Receiver<u64>,
    closing: channel::Receiver<bool>,
    at: u64,
    ready: VecDeque<WatchEvent>,
    bookmarks: bool,
    next_bookmark: Instant,
    end: Option<Instant>,
    over: bool,
}

/// Why a watch goes on after waiting.
#[derive(Clone, Copy, Debug)]
enum Woken {
    Changed,
    Over,
    TimedOut,
    Quiet,
}

impl Cluster {
    /// Begins a watch.
    pub(crate) fn watch(&self, hit: &Hit, namespace: Option<&str>, options: &WatchOptions) -> Result<Watcher, Failure> {
        let filter = Filter::parse(hit, &options.labels, &options.fields)?;
        let asked = match options.revision.as_str() {
            "" => 0,
            text => text.parse::<u64>().map_err(|_| {
                Failure::bad_request(format!(
                    "invalid resource version: resourceVersion: Invalid value: \"{text}\": strconv.ParseUint: parsing \
                     \"{text}\": invalid syntax"
                ))
            })?,
        };
        // Subscribed before anything is read, so that nothing falls between.
        let feed = self.feed(&hit.resource.stored_as);
        #[expect(clippy::disallowed_methods, reason = "a time limit of a connection is on real time")]
        let start = Instant::from_std(std::time::Instant::now());
        let mut watcher = Watcher {
            cluster: self.clone(),
            hit: hit.clone(),
            namespace: namespace.map(str::to_owned),
            filter,
            feed,
            closing: self.closing(),
            at: asked,
            ready: VecDeque::new(),
            bookmarks: options.bookmarks,
            next_bookmark: start + BOOKMARK_EVERY,
            end: options.timeout.map(|timeout| start + timeout),
            over: false,
        };
        if asked == 0 || options.initial_events {
            let snapshot = self.storage().list(&hit.resource.stored_as, namespace);
            watcher.at = snapshot.revision;
            for (_, object) in snapshot.objects {
                let object = events::shown(hit, &object);
                if watcher.filter.passes(&object) {
                    watcher.ready.push_back(WatchEvent::Added(object));
                }
            }
            if options.initial_events {
                let bookmark = watcher.bookmark(true);
                watcher.ready.push_back(bookmark);
            }
        }
        Ok(watcher)
    }
}

impl Watcher {
    /// The next thing that happens; nothing when the watch is over.
    pub(crate) async fn next(&mut self) -> Option<WatchEvent> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.over {
                return None;
            }
            self.feed.mark_unchanged();
            self.read_on();
            if !self.ready.is_empty() || self.over {
                continue;
            }
            self.wait().await;
        }
    }

    async fn wait(&mut self) {
        let forever = self.next_bookmark + Duration::from_hours(24);
        let (end, next_bookmark) = (self.end.unwrap_or(forever), self.next_bookmark);
        let woken = tokio::select! {
            changed = self.feed.changed() => if changed.is_err() { Woken::Over } else { Woken::Changed },
            _ = self.closing.wait_for(|closing| *closing) => Woken::Over,
            () = tokio::time::sleep_until(end) => Woken::TimedOut,
            () = tokio::time::sleep_until(next_bookmark) => Woken::Quiet,
        };
        match woken {
            Woken::Changed => {}
            Woken::Over => self.over = true,
            Woken::TimedOut => {
                self.over = true;
                self.push_bookmark();
            }
            Woken::Quiet => {
                self.next_bookmark = next_bookmark + BOOKMARK_EVERY;
                self.push_bookmark();
            }
        }
    }

    fn push_bookmark(&mut self) {
        if self.bookmarks {
            let bookmark = self.bookmark(false);
            self.ready.push_back(bookmark);
        }
    }

    fn bookmark(&self, initial_end: bool) -> WatchEvent {
        let mut metadata = json!({"resourceVersion": self.at.to_string(), "creationTimestamp": null});
        if initial_end {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        WatchEvent::Bookmark(json!({
            "kind": self.hit.resource.kind,
            "apiVersion": self.hit.api_version(),
            "metadata": metadata,
        }))
    }

    /// Takes what has happened since the last time.
    fn read_on(&mut self) {
        let (changes, revision) = {
            let storage = self.cluster.storage();
            (
                storage.changes_after(&self.hit.resource.stored_as, self.at),
                storage.revision(),
            )
        };
        let changes = match changes {
            Ok(changes) => changes,
            Err(error) => {
                let failure = match error {
                    RevisionError::TooOld { .. } => Failure::expired(error.to_string()),
                    RevisionError::TooLarge { .. } => Failure::timeout(error.to_string()),
                };
                self.ready.push_back(WatchEvent::Error(failure.to_status()));
                self.over = true;
                return;
            }
        };
        for change in changes {
            let elsewhere = self
                .namespace
                .as_ref()
                .is_some_and(|namespace| *namespace != change.place.namespace);
            if elsewhere {
                continue;
            }
            let form = |object: &Arc<Value>| events::shown(&self.hit, object);
            let was_seen = change
                .before
                .as_ref()
                .is_some_and(|before| self.filter.passes(&form(before)));
            let shown = form(&change.shown);
            let is_seen = change.after.is_some() && self.filter.passes(&shown);
            match (was_seen, is_seen) {
                (false, true) => self.ready.push_back(WatchEvent::Added(shown)),
                (true, true) => self.ready.push_back(WatchEvent::Modified(shown)),
                (true, false) => self.ready.push_back(WatchEvent::Deleted(shown)),
                (false, false) => {}
            }
        }
        self.at = self.at.max(revision);
    }
}
