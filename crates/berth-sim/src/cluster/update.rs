//! Changing objects: whole, or by a patch.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    Caller, Cluster, WriteOptions, Written,
    create::{Managers, manager},
    events,
    metadata::{
        asks_for_other, check_finalizers, check_immutable, check_metadata, complete_node, decode, drop_empty_metadata,
        generation,
    },
    webhooks::{Admission, GROUP},
};
use crate::{
    admission::node_restriction,
    failure::{Cause, Failure},
    managed::{ApplyRequest, Operation, apply, read_entries, record_update},
    object::{
        as_map, at, has_finalizers, is_terminating, meta_mut, name, namespace, revision, set_or_remove, text, uid,
    },
    patch::{PatchKind, drop_nulls, json_patch, merge_patch, strategic_merge},
    policies,
    resources::{Generation, Hit, check_definition, complete_definition},
    schema::{evaluate_rules, validate},
    storage::{CommitError, Expect, Place},
};

/// How often a patch is tried again when somebody else was faster.
const ATTEMPTS: usize = 20;

/// Which object, and which part of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    pub(crate) hit: &'a Hit,
    pub(crate) place: &'a Place,
    /// Empty for the object itself.
    pub(crate) subresource: &'a str,
}

impl Cluster {
    /// Replaces an object.
    pub(crate) async fn update(
        &self,
        target: Target<'_>,
        object: Value,
        options: &WriteOptions,
        caller: &Caller,
    ) -> Result<Written, Failure> {
        let Target { hit, place, .. } = target;
        let full_name = hit.resource.full_name();
        let said = name(&object);
        if said != place.name {
            return Err(Failure::bad_request(format!(
                "the name of the object ({said}) does not match the name on the URL ({})",
                place.name
            )));
        }
        let asked = text(&object, &["metadata", "resourceVersion"]).to_owned();
        for _ in 0..ATTEMPTS {
            let Some(live) = self.stored(&hit.resource, place) else {
                let makes = ["leases", "events"].contains(&hit.resource.plural.as_str()) && asked.is_empty();
                if makes && target.subresource.is_empty() {
                    return self.create(hit, &place.namespace, object, options, caller).await;
                }
                return Err(Failure::not_found(&full_name, &place.name));
            };
            if asked.is_empty() && !hit.resource.unconditional {
                let why = "must be specified for an update";
                let cause = Cause::invalid("metadata.resourceVersion", &json!(0), why);
                return Err(Failure::invalid(
                    &hit.resource.kind,
                    &hit.resource.group,
                    &place.name,
                    &[cause],
                ));
            }
            if !asked.is_empty() && asked != text(&live, &["metadata", "resourceVersion"]) {
                return Err(Failure::modified(&full_name, &place.name));
            }
            let result = self
                .replace(target, &live, object.clone(), options, caller, Managers::Note)
                .await?;
            match result {
                Ok(written) => return Ok(written),
                Err(_) if asked.is_empty() => {}
                Err(_) => return Err(Failure::modified(&full_name, &place.name)),
            }
        }
        Err(Failure::modified(&full_name, &place.name))
    }

    /// Changes an object by a patch. Applying to an object that is not there makes it.
    pub(crate) async fn patch(
        &self,
        target: Target<'_>,
        kind: PatchKind,
        patch: &Value,
        options: &WriteOptions,
        caller: &Caller,
    ) -> Result<Written, Failure> {
        let Target { hit, place, .. } = target;
        let full_name = hit.resource.full_name();
        if kind == PatchKind::Strategic && !hit.resource.builtin {
            return Err(Failure::unsupported_media_type(
                "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
            ));
        }
        for _ in 0..ATTEMPTS {
            let stored = self.stored(&hit.resource, place);
            let live = stored.as_ref().map(|object| events::shown(hit, object));
            if kind == PatchKind::Apply {
                let object = self.applied(target, live.as_deref(), patch, options)?;
                let Some(stored) = stored else {
                    if !target.subresource.is_empty() {
                        return Err(Failure::not_found(&full_name, &place.name));
                    }
                    return self
                        .create_as(hit, &place.namespace, object, options, caller, Managers::Noted)
                        .await;
                };
                match self
                    .replace(target, &stored, object, options, caller, Managers::Noted)
                    .await?
                {
                    Ok(written) => return Ok(written),
                    Err(_) => continue,
                }
            }
            let (Some(stored), Some(live)) = (stored, live) else {
                return Err(Failure::not_found(&full_name, &place.name));
            };
            let object = patched(hit, &live, kind, patch)?;
            check_identity(target, &live, &object)?;
            let asked = text(&object, &["metadata", "resourceVersion"]);
            if !asked.is_empty() && asked != text(&live, &["metadata", "resourceVersion"]) {
                return Err(Failure::modified(&full_name, &place.name));
            }
            let written = self
                .replace(target, &stored, object, options, caller, Managers::Note)
                .await?;
            if let Ok(written) = written {
                return Ok(written);
            }
        }
        Err(Failure::modified(&full_name, &place.name))
    }

    fn applied(
        &self,
        target: Target<'_>,
        live: Option<&Value>,
        config: &Value,
        options: &WriteOptions,
    ) -> Result<Value, Failure> {
        let hit = target.hit;
        let Some(manager) = options.manager.as_ref().filter(|manager| !manager.is_empty()) else {
            let cause = Cause::required("fieldManager", "is required for apply patch");
            return Err(Failure::invalid("PatchOptions", "meta.k8s.io", "", &[cause]));
        };
        if at(config, &["metadata", "managedFields"]).is_some_and(|fields| !fields.is_null()) {
            return Err(Failure::bad_request("metadata.managedFields must be nil"));
        }
        let mut config = config.clone();
        if !config.is_object() {
            return Err(Failure::bad_request("an applied configuration must be an object"));
        }
        let said = name(&config);
        if !said.is_empty() && said != target.place.name {
            return Err(Failure::bad_request(format!(
                "the name of the object ({said}) does not match the name on the URL ({})",
                target.place.name
            )));
        }
        // What the configuration says of the revision is a condition, and nothing that is owned.
        let asked = text(&config, &["metadata", "resourceVersion"]).to_owned();
        if let Some(live) = live
            && !asked.is_empty()
            && asked != text(live, &["metadata", "resourceVersion"])
        {
            return Err(Failure::modified(&hit.resource.full_name(), &target.place.name));
        }
        let metadata = meta_mut(&mut config);
        metadata.insert("name".to_owned(), json!(target.place.name));
        metadata.remove("resourceVersion");
        drop_nulls(&mut config);
        let manager = crate::managed::Manager {
            name: manager.clone(),
            operation: Operation::Apply,
            api_version: hit.api_version(),
            subresource: target.subresource.to_owned(),
        };
        let now = self.now_text();
        let applied = apply(
            live,
            &ApplyRequest {
                schema: &hit.version().schema,
                config: &config,
                manager: &manager,
                force: options.force,
                has_status: hit.version().status,
                now: &now,
            },
        )?;
        Ok(applied.object)
    }

    /// Puts a new state in the place of a live one. The inner error says that somebody else was faster.
    async fn replace(
        &self,
        target: Target<'_>,
        live: &Arc<Value>,
        object: Value,
        options: &WriteOptions,
        caller: &Caller,
        managers: Managers,
    ) -> Result<Result<Written, CommitError>, Failure> {
        let Target {
            hit,
            place,
            subresource,
        } = target;
        let full_name = hit.resource.full_name();
        let mut warnings = Vec::new();
        let old = events::shown(hit, live);
        let mut new = decode(hit, object, options, &mut warnings)?;
        drop_empty_metadata(&mut new);
        if !uid(&new).is_empty() && uid(&new) != uid(&old) {
            return Err(Failure::conflict(
                &full_name,
                &place.name,
                &format!(
                    "Precondition failed: UID in precondition: {}, UID in object meta: {}",
                    uid(&new),
                    uid(&old)
                ),
            ));
        }
        if !namespace(&new).is_empty() && namespace(&new) != place.namespace {
            return Err(Failure::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        self.keep(target, &old, &mut new, managers);
        let admission = Admission {
            hit,
            subresource,
            old: Some(&old),
            options,
            caller,
        };
        // What admission changes is nobody's.
        if managers == Managers::Note {
            let manager = manager(hit, options, caller, subresource);
            let now = self.now_text();
            let parts = hit.resource.parts();
            record_update(&hit.version().schema, parts, Some(&old), &mut new, &manager, &now);
        }
        let mut new = self.mutate(admission, new, &mut warnings).await?;
        complete_node(hit, &mut new, false);
        let mut causes = check_metadata(hit, &new);
        causes.extend(check_finalizers(&old, &new));
        causes.extend(validate(&hit.version().schema, &new, ""));
        causes.extend(check_immutable(hit, &old, &new));
        if hit.resource.kind == "CustomResourceDefinition" {
            causes.extend(check_definition(&new));
        }
        if hit.resource.group == GROUP {
            causes.extend(policies::check(&hit.resource.kind, &new));
        }
        if causes.is_empty() {
            let verdict = evaluate_rules(&hit.version().schema, &new, Some(&old));
            causes.extend(verdict.causes);
            warnings.extend(verdict.warnings);
        }
        if !causes.is_empty() {
            return Err(Failure::invalid(
                &hit.resource.kind,
                &hit.resource.group,
                &place.name,
                &causes,
            ));
        }
        node_restriction(self.0.flavour, &caller.identity, hit, Some(&old), Some(&new))?;
        self.approve(admission, Some(&new), &mut warnings).await?;
        let written = |object: &Arc<Value>, warnings| Written {
            object: events::shown(hit, object),
            warnings,
            created: false,
        };
        events::kept(hit, &mut new);
        if new == **live || options.dry_run {
            return Ok(Ok(written(&Arc::new(new), warnings)));
        }
        let stored_as = &hit.resource.stored_as;
        let ended = is_terminating(&new)
            && !has_finalizers(&new)
            && hit.resource.kind != "Namespace"
            && at(&new, &["metadata", "deletionGracePeriodSeconds"])
                .and_then(Value::as_i64)
                .unwrap_or(0)
                == 0;
        let result = if ended {
            self.remove(stored_as, place.clone(), revision(live), new)
        } else {
            self.put(stored_as, place.clone(), Expect::Revision(revision(live)), new)
        };
        match result {
            Ok(object) => Ok(Ok(written(&object, warnings))),
            Err(CommitError::Missing) => Err(Failure::not_found(&full_name, &place.name)),
            Err(error) => Ok(Err(error)),
        }
    }

    /// Keeps what this part of the object does not write.
    fn keep(&self, target: Target<'_>, old: &Value, new: &mut Value, managers: Managers) {
        let Target { hit, subresource, .. } = target;
        let part = |key: &str| old.get(key).cloned();
        match subresource {
            "status" if hit.resource.builtin => {
                let spec = part("spec");
                set_or_remove(as_map(new), "spec", spec);
            }
            "status" => {
                let status = new.get("status").cloned();
                let managed = at(new, &["metadata", "managedFields"]).cloned();
                *new = old.clone();
                set_or_remove(as_map(new), "status", status);
                if managers == Managers::Noted {
                    set_or_remove(meta_mut(new), "managedFields", managed);
                }
            }
            "approval" => {
                let mut conditions = at(new, &["status", "conditions"]).cloned();
                if let Some(Value::Array(conditions)) = &mut conditions {
                    let now = self.now_text();
                    for condition in conditions {
                        let condition = as_map(condition);
                        condition.entry("lastUpdateTime").or_insert_with(|| json!(now));
                        condition.entry("lastTransitionTime").or_insert_with(|| json!(now));
                    }
                }
                *new = old.clone();
                let status = crate::object::entry_map(as_map(new), "status");
                set_or_remove(status, "conditions", conditions);
            }
            "finalize" => {
                let spec = new.get("spec").cloned();
                *new = old.clone();
                set_or_remove(as_map(new), "spec", spec);
            }
            _ => {
                if hit.version().status {
                    set_or_remove(as_map(new), "status", part("status"));
                }
                if hit.resource.kind == "Namespace" {
                    set_or_remove(as_map(new), "spec", part("spec"));
                }
                if hit.resource.kind == "CustomResourceDefinition" {
                    complete_definition(new, &self.now_text());
                }
            }
        }
        let counted = hit.resource.generation == Generation::Counted;
        let next = generation(old).saturating_add(i64::from(counted && asks_for_other(old, new)));
        let says = subresource.is_empty() && says_managers(new);
        let metadata = meta_mut(new);
        for key in [
            "name",
            "namespace",
            "uid",
            "creationTimestamp",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "resourceVersion",
        ] {
            set_or_remove(metadata, key, at(old, &["metadata", key]).cloned());
        }
        metadata.remove("selfLink");
        set_or_remove(metadata, "generation", (next > 0).then(|| json!(next)));
        if managers == Managers::Note && !says {
            let managed = at(old, &["metadata", "managedFields"]).cloned();
            set_or_remove(metadata, "managedFields", managed);
        }
    }
}

/// Whether a write says who manages what, and not only nothing: one empty entry takes all away, and an empty list, which
/// clients that know of no managers send, leaves all as it is.
fn says_managers(new: &Value) -> bool {
    let Some(Value::Array(entries)) = at(new, &["metadata", "managedFields"]) else {
        return false;
    };
    matches!(entries.as_slice(), [only] if *only == json!({}))
        || (!entries.is_empty() && read_entries(new).len() == entries.len())
}

/// A patch cannot make another object of the one that it is for.
fn check_identity(target: Target<'_>, live: &Value, patched: &Value) -> Result<(), Failure> {
    let (said, place) = (name(patched), target.place);
    if said != place.name {
        return Err(Failure::bad_request(format!(
            "the name of the object ({said}) does not match the name on the URL ({})",
            place.name
        )));
    }
    let said = uid(patched);
    if !said.is_empty() && said != uid(live) {
        let cause = Cause::invalid("metadata.uid", &json!(said), "field is immutable");
        let resource = &target.hit.resource;
        return Err(Failure::invalid(&resource.kind, &resource.group, &place.name, &[cause]));
    }
    Ok(())
}

fn patched(hit: &Hit, live: &Value, kind: PatchKind, patch: &Value) -> Result<Value, Failure> {
    match kind {
        PatchKind::Json => json_patch(live, patch),
        PatchKind::Strategic => {
            let mut object = live.clone();
            strategic_merge(&hit.version().schema, &mut object, patch)?;
            Ok(object)
        }
        PatchKind::Merge | PatchKind::Apply => {
            if !patch.is_object() {
                return Err(Failure::bad_request("a merge patch must be an object"));
            }
            let mut object = live.clone();
            merge_patch(&mut object, patch);
            Ok(object)
        }
    }
}
