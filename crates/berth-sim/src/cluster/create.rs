//! Making objects.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    Caller, Cluster, WriteOptions, Written, events,
    metadata::{check_metadata, complete_node, decode, drop_empty_metadata},
    webhooks::{Admission, GROUP},
};
use crate::{
    admission::node_restriction,
    failure::Failure,
    managed::{Manager, Operation, record_update},
    object::{as_map, at, entry_map, is_terminating, meta_mut, name, namespace, set_or_remove, text},
    policies,
    resources::{Generation, Hit, check_definition, complete_definition},
    schema::{evaluate_rules, validate},
    storage::{CommitError, Expect, Place},
};

/// Whether the managers of fields are still to be noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Managers {
    /// By what changed.
    Note,
    /// An apply has noted them already.
    Noted,
}

impl Cluster {
    /// Makes an object.
    pub(crate) async fn create(
        &self,
        hit: &Hit,
        in_namespace: &str,
        object: Value,
        options: &WriteOptions,
        caller: &Caller,
    ) -> Result<Written, Failure> {
        self.create_as(hit, in_namespace, object, options, caller, Managers::Note)
            .await
    }

    pub(super) async fn create_as(
        &self,
        hit: &Hit,
        in_namespace: &str,
        object: Value,
        options: &WriteOptions,
        caller: &Caller,
        managers: Managers,
    ) -> Result<Written, Failure> {
        let mut warnings = Vec::new();
        let mut object = decode(hit, object, options, &mut warnings)?;
        drop_empty_metadata(&mut object);
        self.put_in_namespace(hit, in_namespace, &mut object)?;
        if !text(&object, &["metadata", "resourceVersion"]).is_empty() {
            return Err(Failure::already_versioned());
        }
        self.complete_metadata(hit, &mut object, managers);
        self.prepare(hit, &mut object, caller);
        let admission = Admission {
            hit,
            subresource: "",
            old: None,
            options,
            caller,
        };
        // What admission adds is nobody's.
        if managers == Managers::Note {
            let manager = manager(hit, options, caller, "");
            let now = self.now_text();
            let parts = hit.resource.parts();
            record_update(&hit.version().schema, parts, None, &mut object, &manager, &now);
        }
        let mut object = self.mutate(admission, object, &mut warnings).await?;
        let full_name = hit.resource.full_name();
        let place = Place::new(namespace(&object), name(&object));
        complete_node(hit, &mut object, true);
        let mut causes = check_metadata(hit, &object);
        causes.extend(validate(&hit.version().schema, &object, ""));
        if hit.resource.kind == "CustomResourceDefinition" {
            causes.extend(check_definition(&object));
        }
        if hit.resource.group == GROUP {
            causes.extend(policies::check(&hit.resource.kind, &object));
        }
        if causes.is_empty() {
            let verdict = evaluate_rules(&hit.version().schema, &object, None);
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
        node_restriction(self.0.flavour, &caller.identity, hit, None, Some(&object))?;
        self.approve(admission, Some(&object), &mut warnings).await?;
        events::kept(hit, &mut object);
        let object = if options.dry_run {
            if self.stored(&hit.resource, &place).is_some() {
                return Err(Failure::already_exists(&full_name, &place.name));
            }
            Arc::new(object)
        } else {
            self.put(&hit.resource.stored_as, place.clone(), Expect::Absent, object)
                .map_err(|error| match error {
                    CommitError::Exists => Failure::already_exists(&full_name, &place.name),
                    CommitError::Missing | CommitError::Changed => Failure::modified(&full_name, &place.name),
                })?
        };
        Ok(Written {
            object: events::shown(hit, &object),
            warnings,
            created: true,
        })
    }

    fn put_in_namespace(&self, hit: &Hit, in_namespace: &str, object: &mut Value) -> Result<(), Failure> {
        if !hit.resource.namespaced {
            meta_mut(object).remove("namespace");
            return Ok(());
        }
        let said = namespace(object);
        if !said.is_empty() && said != in_namespace {
            return Err(Failure::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        meta_mut(object).insert("namespace".to_owned(), json!(in_namespace));
        match self.storage().get("namespaces", &Place::new("", in_namespace)) {
            None => Err(Failure::not_found("namespaces", in_namespace)),
            Some(found) if is_terminating(found) => Err(Failure::forbidden(
                &hit.resource.full_name(),
                name(object),
                &format!("unable to create new content in namespace {in_namespace} because it is being terminated"),
            )),
            Some(_) => Ok(()),
        }
    }

    fn complete_metadata(&self, hit: &Hit, object: &mut Value, managers: Managers) {
        let generated = text(object, &["metadata", "generateName"]).to_owned();
        let suffix = (name(object).is_empty() && !generated.is_empty()).then(|| self.next_suffix());
        let (uid, now) = (self.next_uid(), self.now_text());
        let metadata = meta_mut(object);
        if let Some(suffix) = suffix {
            metadata.insert("name".to_owned(), json!(format!("{generated}{suffix}")));
        }
        for key in [
            "selfLink",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "resourceVersion",
        ] {
            metadata.remove(key);
        }
        if managers == Managers::Note {
            metadata.remove("managedFields");
        }
        metadata.insert("uid".to_owned(), json!(uid));
        metadata.insert("creationTimestamp".to_owned(), json!(now));
        let generation = (hit.resource.generation == Generation::Counted).then(|| json!(1));
        set_or_remove(metadata, "generation", generation);
    }

    /// What each kind fills in or does not let a client set.
    fn prepare(&self, hit: &Hit, object: &mut Value, caller: &Caller) {
        let now = self.now_text();
        if !hit.resource.builtin {
            if hit.version().status {
                as_map(object).remove("status");
            }
            return;
        }
        match hit.resource.kind.as_str() {
            "Namespace" => {
                let own = name(object).to_owned();
                let metadata = meta_mut(object);
                entry_map(metadata, "labels").insert("kubernetes.io/metadata.name".to_owned(), json!(own));
                let map = as_map(object);
                map.insert("spec".to_owned(), json!({"finalizers": ["kubernetes"]}));
                map.insert("status".to_owned(), json!({"phase": "Active"}));
            }
            "Pod" => {
                as_map(object).insert("status".to_owned(), json!({"phase": "Pending"}));
            }
            "CertificateSigningRequest" => {
                let map = as_map(object);
                map.remove("status");
                let spec = entry_map(map, "spec");
                spec.insert("username".to_owned(), json!(caller.identity.user));
                spec.insert("groups".to_owned(), json!(caller.identity.all_groups()));
            }
            "Secret" => {
                let texts = at(object, &["stringData"]).and_then(Value::as_object).cloned();
                let map = as_map(object);
                map.remove("stringData");
                for (key, value) in texts.into_iter().flatten() {
                    use base64::{Engine as _, engine::general_purpose::STANDARD};
                    let coded = STANDARD.encode(value.as_str().unwrap_or_default());
                    entry_map(map, "data").insert(key, json!(coded));
                }
            }
            "CustomResourceDefinition" => {
                as_map(object).remove("status");
                complete_definition(object, &now);
            }
            "ValidatingAdmissionPolicy" => {
                as_map(object).insert("status".to_owned(), json!({}));
            }
            "PodDisruptionBudget" | "DaemonSet" | "ReplicaSet" | "Deployment" => {
                as_map(object).remove("status");
            }
            _ => {}
        }
    }
}

/// Who writes, by the request or by the program that sent it.
pub(super) fn manager(hit: &Hit, options: &WriteOptions, caller: &Caller, subresource: &str) -> Manager {
    Manager {
        name: options.manager.clone().unwrap_or_else(|| caller.agent.clone()),
        operation: Operation::Update,
        api_version: hit.api_version(),
        subresource: subresource.to_owned(),
    }
}
