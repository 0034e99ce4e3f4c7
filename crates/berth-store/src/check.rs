//! What is wrong with a store: the judge of rows, fed by the back ends.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    sync::Arc,
};

use berth_documents::deckhand::Identity;
use serde_json::Value;

use crate::{
    body::{self, Digest},
    ranges::fork,
    rows,
    sealing::{KeyId, Opened, SealingKeys},
};

/// The result of looking through a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// What is wrong; empty when nothing is.
    pub problems: Vec<Damage>,
    /// How many revisions were looked at.
    pub revisions: u64,
    /// How many stored documents were looked at, those that several revisions share counted once.
    pub documents: u64,
    /// How many sealed documents could not be looked into, for want of their keys.
    pub sealed: u64,
}

/// Something that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Damage {
    /// Where, such as `revision 7` or `body 12`.
    pub place: String,
    /// What.
    pub message: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.place, self.message)
    }
}

/// A row of `versions` with everything that is in it.
#[derive(Debug)]
pub(crate) struct CheckedVersion {
    pub(crate) id: i64,
    pub(crate) identity: Arc<Identity>,
    pub(crate) bucket: String,
    pub(crate) revision: i64,
    pub(crate) valid_from: i64,
    pub(crate) valid_to: Option<i64>,
    pub(crate) fork: Option<i64>,
    pub(crate) data: i64,
    pub(crate) metadata: i64,
}

/// A row of `bodies`.
#[derive(Debug)]
pub(crate) struct CheckedBody {
    pub(crate) id: i64,
    pub(crate) digest: Vec<u8>,
    pub(crate) sealed_with: Option<KeyId>,
    pub(crate) content: Vec<u8>,
}

#[derive(Debug)]
enum Body {
    /// A value, with name and layer if it has them as metadata does.
    Open(Option<(String, Option<String>)>),
    Sealed(KeyId, Digest, Vec<u8>),
    Broken,
}

/// Takes all rows, revisions and bodies first, and judges them.
#[derive(Debug)]
pub(crate) struct Checker {
    keys: SealingKeys,
    report: CheckReport,
    revisions: BTreeMap<i64, String>,
    bodies: HashMap<i64, Body>,
    /// For each document the ranges in which it was there.
    chains: HashMap<Arc<Identity>, Vec<(i64, Option<i64>)>>,
    /// For each revision how many documents a bucket gained or lost.
    buckets: BTreeMap<i64, BTreeMap<String, i64>>,
    entries: BTreeMap<(i64, String), i64>,
}

impl Checker {
    pub(crate) fn new(keys: SealingKeys) -> Self {
        Self {
            keys,
            report: CheckReport::default(),
            revisions: BTreeMap::new(),
            bodies: HashMap::new(),
            chains: HashMap::new(),
            buckets: BTreeMap::new(),
            entries: BTreeMap::new(),
        }
    }

    pub(crate) fn problem(&mut self, place: impl Into<String>, message: impl Into<String>) {
        self.report.problems.push(Damage {
            place: place.into(),
            message: message.into(),
        });
    }

    pub(crate) fn revision(&mut self, id: i64, buckets: String) {
        self.report.revisions += 1;
        self.revisions.insert(id, buckets);
    }

    pub(crate) fn body(&mut self, body: CheckedBody) {
        let place = format!("body {}", body.id);
        let checked = match (Digest::from_column(&body.digest), body.sealed_with) {
            (Err(error), _) => {
                self.problem(place, error.to_string());
                Body::Broken
            }
            (Ok(digest), Some(key)) => Body::Sealed(key, digest, body.content),
            (Ok(digest), None) if Digest::of_content(&body.content) != digest => {
                self.problem(
                    place,
                    format!("the content does not have the hash {digest} it is filed under"),
                );
                Body::Broken
            }
            (Ok(_), None) => match body::read(&body.content) {
                Ok(value) => Body::Open(named(&value)),
                Err(_) => {
                    self.problem(place, "the content is not JSON");
                    Body::Broken
                }
            },
        };
        self.bodies.insert(body.id, checked);
    }

    pub(crate) fn version(&mut self, version: CheckedVersion) {
        self.report.documents += 1;
        let place = format!("document {} from revision {}", version.identity, version.valid_from);
        for problem in self
            .range_problems(&version)
            .into_iter()
            .chain(self.body_problems(&version))
        {
            self.problem(&place, problem);
        }
        let mut count = |revision: i64, by: i64| {
            let buckets = self.buckets.entry(revision).or_default();
            *buckets.entry(version.bucket.clone()).or_default() += by;
        };
        count(version.valid_from, 1);
        if let Some(end) = version.valid_to {
            count(end, -1);
        }
        self.chains
            .entry(version.identity)
            .or_default()
            .push((version.valid_from, version.valid_to));
    }

    fn range_problems(&self, version: &CheckedVersion) -> Vec<String> {
        let mut problems = Vec::new();
        for revision in [Some(version.valid_from), version.valid_to, Some(version.revision)] {
            if let Some(revision) = revision.filter(|revision| !self.revisions.contains_key(revision)) {
                problems.push(format!(
                    "row {} names revision {revision}, which is not there",
                    version.id
                ));
            }
        }
        if version.revision > version.valid_from {
            problems.push(format!(
                "is said to have changed in revision {}, which is later",
                version.revision
            ));
        }
        match (version.valid_to, version.fork) {
            (None, None) => {}
            (Some(end), _) if end <= version.valid_from => {
                problems.push(format!("ends with revision {end}, before it begins"));
            }
            (Some(end), Some(node)) if node == fork(version.valid_from, end.saturating_sub(1)) => {}
            (end, node) => problems.push(format!(
                "ends with {end:?} and is filed under {node:?}, which do not fit"
            )),
        }
        problems
    }

    fn body_problems(&mut self, version: &CheckedVersion) -> Vec<String> {
        let mut problems = Vec::new();
        match self.bodies.get(&version.metadata) {
            None => problems.push(format!("its metadata, body {}, is not there", version.metadata)),
            Some(Body::Open(Some((name, layer))))
                if *name == version.identity.name && *layer == version.identity.layer => {}
            Some(Body::Open(_) | Body::Sealed(..)) => {
                problems.push(format!(
                    "body {} is not the metadata of this document",
                    version.metadata
                ));
            }
            // Reported with the body.
            Some(Body::Broken) => {}
        }
        match self.bodies.get(&version.data) {
            None => problems.push(format!("its data, body {}, is not there", version.data)),
            Some(Body::Sealed(key, digest, content)) => {
                match self.keys.open(&version.identity, key, *digest, content) {
                    Ok(Opened::Content(content)) if body::read(&content).is_ok() => {}
                    Ok(Opened::Content(_)) => problems.push("its sealed data is not JSON".to_owned()),
                    Ok(Opened::NoKey) => self.report.sealed += 1,
                    Err(error) => problems.push(error.to_string()),
                }
            }
            Some(Body::Open(_) | Body::Broken) => {}
        }
        problems
    }

    pub(crate) fn tag(&mut self, revision: i64, tag: &str, data: &str) {
        let place = format!("tag {tag} of revision {revision}");
        self.attached(&place, revision, data);
    }

    /// Reports must come by revision, name and number.
    pub(crate) fn validation(&mut self, revision: i64, name: &str, entry: i64, report: &str) {
        let place = format!("report {entry} of validation {name} of revision {revision}");
        self.attached(&place, revision, report);
        let next = self.entries.entry((revision, name.to_owned())).or_default();
        let expected = *next;
        *next += 1;
        if entry != expected {
            self.problem(place, format!("report {expected} is missing"));
        }
    }

    fn attached(&mut self, place: &str, revision: i64, json: &str) {
        if !self.revisions.contains_key(&revision) {
            self.problem(place, "the revision is not there");
        }
        if rows::json(json).is_err() {
            self.problem(place, "the content is not JSON");
        }
    }

    pub(crate) fn finish(mut self) -> CheckReport {
        self.check_numbers();
        self.check_chains();
        self.check_buckets();
        self.report.problems.sort_unstable();
        self.report
    }

    fn check_numbers(&mut self) {
        let missing: Vec<i64> = (1_i64..)
            .zip(self.revisions.keys())
            .filter(|(expected, found)| expected != *found)
            .map(|(expected, _)| expected)
            .take(1)
            .collect();
        for revision in missing {
            self.problem(format!("revision {revision}"), "is missing");
        }
    }

    fn check_chains(&mut self) {
        let mut problems = Vec::new();
        for (identity, ranges) in &mut self.chains {
            ranges.sort_unstable();
            for pair in ranges.windows(2) {
                if let [(_, end), (next, _)] = pair
                    && end.is_none_or(|end| end > *next)
                {
                    problems.push((format!("document {identity}"), format!("is twice in revision {next}")));
                }
            }
        }
        for (place, message) in problems {
            self.problem(place, message);
        }
    }

    fn check_buckets(&mut self) {
        let mut problems = Vec::new();
        let mut sizes: BTreeMap<String, i64> = BTreeMap::new();
        let mut changes = std::mem::take(&mut self.buckets);
        for (id, column) in &self.revisions {
            for (bucket, by) in changes.remove(id).unwrap_or_default() {
                *sizes.entry(bucket).or_default() += by;
            }
            sizes.retain(|_, size| *size != 0);
            let held: BTreeSet<&String> = sizes.keys().collect();
            if rows::buckets_column(held.iter().copied()) != *column {
                problems.push((
                    format!("revision {id}"),
                    format!("names the buckets {column} and has documents in {held:?}"),
                ));
            }
        }
        for (place, message) in problems {
            self.problem(place, message);
        }
    }
}

fn named(value: &Value) -> Option<(String, Option<String>)> {
    let name = value.get("name")?.as_str()?.to_owned();
    let layer = value.pointer("/layeringDefinition/layer").and_then(Value::as_str);
    Some((name, layer.map(ToOwned::to_owned)))
}
