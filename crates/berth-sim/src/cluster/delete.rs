//! Removing objects, at once or when everybody has finished.

use std::sync::Arc;

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::{Caller, Cluster, DeleteOptions, ListOptions, WriteOptions, events, seconds, webhooks::Admission};
use crate::{
    admission::node_restriction,
    failure::Failure,
    object::{as_map, entry_map, has_finalizers, is_terminating, meta_mut, name, namespace, revision, text, uid},
    resources::{Generation, Hit},
    storage::{CommitError, Expect, Place},
};

/// How often a deletion is tried again when somebody else was faster.
const ATTEMPTS: usize = 20;

/// What became of the object.
#[derive(Clone, Debug)]
pub(crate) enum Deleted {
    /// It is gone.
    Gone(Arc<Value>),
    /// It goes when its finalizers are done or its time is over.
    Terminating(Arc<Value>),
}

impl Cluster {
    /// Deletes an object.
    pub(crate) async fn delete(
        &self,
        hit: &Hit,
        place: &Place,
        options: &DeleteOptions,
        caller: &Caller,
    ) -> Result<Deleted, Failure> {
        let full_name = hit.resource.full_name();
        for _ in 0..ATTEMPTS {
            let Some(live) = self.stored(&hit.resource, place) else {
                return Err(Failure::not_found(&full_name, &place.name));
            };
            check_preconditions(hit, &place.name, &live, options)?;
            let shown = events::shown(hit, &live);
            node_restriction(self.0.flavour, &caller.identity, hit, Some(&shown), None)?;
            let write = WriteOptions {
                dry_run: options.dry_run,
                ..WriteOptions::default()
            };
            let admission = Admission {
                hit,
                subresource: "",
                old: Some(&shown),
                options: &write,
                caller,
            };
            self.approve(admission, None, &mut Vec::new()).await?;
            if hit.resource.kind == "Namespace" && namespace(&live).is_empty() && NEVER_DELETED.contains(&name(&live)) {
                return Err(Failure::forbidden(
                    &full_name,
                    name(&live),
                    "this namespace may not be deleted",
                ));
            }
            match self.delete_once(hit, place, &live, options) {
                Ok(deleted) => return Ok(deleted),
                Err(CommitError::Missing) => return Err(Failure::not_found(&full_name, &place.name)),
                Err(CommitError::Changed | CommitError::Exists) => {}
            }
        }
        Err(Failure::modified(&full_name, &place.name))
    }

    fn delete_once(
        &self,
        hit: &Hit,
        place: &Place,
        live: &Arc<Value>,
        options: &DeleteOptions,
    ) -> Result<Deleted, CommitError> {
        let resource = &hit.resource;
        let mut last = (**live).clone();
        let grace = grace_seconds(hit, live, options);
        let orphans = options.propagation.as_deref() == Some("Orphan");
        let waits = has_finalizers(live) || grace > 0 || resource.kind == "Namespace";
        if waits {
            if is_terminating(live) && grace >= current_grace(live) {
                return Ok(Deleted::Terminating(events::shown(hit, live)));
            }
            let until = self
                .now()
                .checked_add(SignedDuration::from_secs(grace))
                .unwrap_or_else(|_| self.now());
            let generation = super::metadata::generation(live);
            let metadata = meta_mut(&mut last);
            metadata.insert("deletionTimestamp".to_owned(), json!(seconds(until)));
            metadata.insert("deletionGracePeriodSeconds".to_owned(), json!(grace));
            if resource.generation == Generation::Counted {
                metadata.insert("generation".to_owned(), json!(generation.saturating_add(1)));
            }
            if resource.kind == "Namespace" {
                entry_map(as_map(&mut last), "status").insert("phase".to_owned(), json!("Terminating"));
            }
            if options.dry_run {
                return Ok(Deleted::Terminating(events::shown(hit, &Arc::new(last))));
            }
            let put = self.put(
                &resource.stored_as,
                place.clone(),
                Expect::Revision(revision(live)),
                last,
            )?;
            return Ok(match self.stored(resource, place) {
                Some(_) => Deleted::Terminating(events::shown(hit, &put)),
                None => Deleted::Gone(events::shown(hit, &put)),
            });
        }
        if options.dry_run {
            return Ok(Deleted::Gone(events::shown(hit, live)));
        }
        if orphans {
            self.orphan_dependents(uid(live));
        }
        let gone = self.remove(&resource.stored_as, place.clone(), revision(live), last)?;
        Ok(Deleted::Gone(events::shown(hit, &gone)))
    }

    /// Deletes all objects that a list gives.
    pub(crate) async fn delete_collection(
        &self,
        hit: &Hit,
        in_namespace: Option<&str>,
        list: &ListOptions,
        options: &DeleteOptions,
        caller: &Caller,
    ) -> Result<Vec<Arc<Value>>, Failure> {
        let answer = self.list(hit, in_namespace, list)?;
        for object in &answer.items {
            let place = Place::new(namespace(object), name(object));
            match self.delete(hit, &place, options, caller).await {
                Ok(_) => {}
                Err(failure) if failure.code == 404 => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(answer.items)
    }
}

/// Namespaces that a cluster cannot be without.
const NEVER_DELETED: [&str; 3] = ["default", "kube-public", "kube-system"];

fn check_preconditions(hit: &Hit, name: &str, live: &Value, options: &DeleteOptions) -> Result<(), Failure> {
    let kind = &hit.resource.kind;
    let differs = |asked: &Option<String>, found: &str| asked.as_ref().is_some_and(|asked| asked != found);
    let found = uid(live);
    if differs(&options.uid, found) {
        let why = format!(
            "the UID in the precondition ({}) does not match the UID in record ({found}). The object might have been \
             deleted and then recreated",
            options.uid.as_deref().unwrap_or_default()
        );
        return Err(Failure::conflict(kind, name, &why));
    }
    let found = text(live, &["metadata", "resourceVersion"]);
    if differs(&options.revision, found) {
        let why = format!(
            "the ResourceVersion in the precondition ({}) does not match the ResourceVersion in record ({found}). The \
             object might have been modified",
            options.revision.as_deref().unwrap_or_default()
        );
        return Err(Failure::conflict(kind, name, &why));
    }
    Ok(())
}

/// Only Pods on a node take time to end: their kubelet stops them.
fn grace_seconds(hit: &Hit, live: &Value, options: &DeleteOptions) -> i64 {
    let runs = hit.resource.kind == "Pod" && !text(live, &["spec", "nodeName"]).is_empty();
    if !runs || ["Succeeded", "Failed"].contains(&text(live, &["status", "phase"])) {
        return 0;
    }
    let own = crate::object::at(live, &["spec", "terminationGracePeriodSeconds"]).and_then(Value::as_i64);
    options.grace_seconds.or(own).unwrap_or(30).max(0)
}

fn current_grace(live: &Value) -> i64 {
    crate::object::at(live, &["metadata", "deletionGracePeriodSeconds"])
        .and_then(Value::as_i64)
        .unwrap_or(0)
}
