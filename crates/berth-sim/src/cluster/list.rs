//! Lists, whole or in pages.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use berth_labels::Selector;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Cluster, events};
use crate::{
    failure::Failure,
    resources::Hit,
    selectors::{FieldSelector, labels_match, parse_labels},
    storage::{Place, RevisionError},
};

/// What to list.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListOptions {
    pub(crate) labels: String,
    pub(crate) fields: String,
    /// Zero for all.
    pub(crate) limit: usize,
    pub(crate) continue_from: String,
    pub(crate) revision: String,
    /// `Exact` or `NotOlderThan`.
    pub(crate) revision_match: String,
}

/// A list.
#[derive(Clone, Debug)]
pub(crate) struct ListAnswer {
    pub(crate) revision: u64,
    pub(crate) items: Vec<Arc<Value>>,
    /// Where the next page begins.
    pub(crate) next: Option<String>,
    /// How many are left, where that is known.
    pub(crate) remaining: Option<usize>,
}

/// Where a page begins, and what the whole list was like.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Continue {
    revision: u64,
    namespace: String,
    name: String,
}

impl Continue {
    fn encode(&self) -> String {
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).unwrap_or_default())
    }

    fn decode(text: &str) -> Result<Self, Failure> {
        URL_SAFE_NO_PAD
            .decode(text)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .ok_or_else(|| Failure::bad_request("continue key is not valid"))
    }
}

/// Both selectors, compiled.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    pub(crate) labels: Selector,
    pub(crate) fields: FieldSelector,
}

impl Filter {
    pub(crate) fn parse(hit: &Hit, labels: &str, fields: &str) -> Result<Self, Failure> {
        Ok(Self {
            labels: parse_labels(labels)?,
            fields: FieldSelector::parse(fields, &hit.resource.selectable)?,
        })
    }

    /// Whether an object in the form that was asked for passes.
    pub(crate) fn passes(&self, object: &Value) -> bool {
        labels_match(&self.labels, object) && self.fields.matches(object)
    }
}

impl Cluster {
    /// The objects of a resource.
    pub(crate) fn list(
        &self,
        hit: &Hit,
        namespace: Option<&str>,
        options: &ListOptions,
    ) -> Result<ListAnswer, Failure> {
        let filter = Filter::parse(hit, &options.labels, &options.fields)?;
        let from = match options.continue_from.as_str() {
            "" => None,
            text => Some(Continue::decode(text)?),
        };
        let asked = match options.revision.as_str() {
            "" => 0,
            text => text.parse::<u64>().map_err(|_| {
                Failure::bad_request(format!(
                    "invalid resource version: resourceVersion: Invalid value: \"{text}\": strconv.ParseUint: parsing \
                     \"{text}\": invalid syntax"
                ))
            })?,
        };
        let stored_as = &hit.resource.stored_as;
        let snapshot = {
            let storage = self.storage();
            match (&from, options.revision_match.as_str()) {
                (Some(from), _) => storage.list_at(stored_as, namespace, from.revision).map_err(|_| {
                    Failure::expired(
                        "The provided continue parameter is too old to display a consistent list result. You can start \
                         a new list without the continue parameter.",
                    )
                })?,
                (None, "Exact") => storage
                    .list_at(stored_as, namespace, asked)
                    .map_err(|error| Failure::expired(error.to_string()))?,
                (None, _) => {
                    if asked > storage.revision() {
                        let error = RevisionError::TooLarge {
                            asked,
                            current: storage.revision(),
                        };
                        return Err(Failure::timeout(error.to_string()));
                    }
                    storage.list(stored_as, namespace)
                }
            }
        };
        let after = from.map(|from| Place::new(from.namespace, from.name));
        let mut matching = snapshot
            .objects
            .into_iter()
            .filter(|(place, _)| after.as_ref().is_none_or(|after| place > after))
            .map(|(place, object)| (place, events::shown(hit, &object)))
            .filter(|(_, object)| filter.passes(object));
        let mut items = Vec::new();
        let mut last = None;
        let limit = if options.limit == 0 { usize::MAX } else { options.limit };
        for (place, object) in matching.by_ref().take(limit) {
            items.push(object);
            last = Some(place);
        }
        let left = matching.count();
        let next = last.filter(|_| left > 0).map(|last| {
            Continue {
                revision: snapshot.revision,
                namespace: last.namespace,
                name: last.name,
            }
            .encode()
        });
        let selective = !(options.labels.is_empty() && options.fields.is_empty());
        Ok(ListAnswer {
            revision: snapshot.revision,
            items,
            remaining: next.as_ref().map(|_| left).filter(|_| !selective),
            next,
        })
    }
}
