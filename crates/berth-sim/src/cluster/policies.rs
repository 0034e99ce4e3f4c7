//! Admission policies on a cluster: which of them a write concerns, their parameters, and what becomes of the write.

use std::{
    borrow::Cow,
    sync::{Arc, PoisonError},
};

use serde_json::{Value, json};

use super::{
    Cluster,
    metadata::drop_empty_metadata,
    webhooks::{Admission, GROUP, concerns, request},
};
use crate::{
    failure::Failure,
    object::{at, items, name, namespace, text},
    patch::drop_nulls,
    policies::{Policy, PolicySet, Subject, mutate},
    schema::fill_defaults,
    selectors::object_selector_matches,
    storage::Place,
};

pub(super) const VALIDATING: &str = "validatingadmissionpolicies.admissionregistration.k8s.io";
pub(super) const VALIDATING_BINDINGS: &str = "validatingadmissionpolicybindings.admissionregistration.k8s.io";
pub(super) const MUTATING: &str = "mutatingadmissionpolicies.admissionregistration.k8s.io";
pub(super) const MUTATING_BINDINGS: &str = "mutatingadmissionpolicybindings.admissionregistration.k8s.io";

/// The policies of a cluster, compiled.
#[derive(Debug, Default)]
pub(super) struct PoliciesOfCluster {
    validating: PolicySet,
    mutating: PolicySet,
}

/// A policy that a write concerns, by one of its bindings, with one of its parameters or none.
struct Invocation {
    policy: Arc<Policy>,
    binding: Arc<Value>,
    params: Option<Arc<Value>>,
}

/// A policy that cannot be asked about a write that it concerns.
struct Misfit {
    policy: Arc<Policy>,
    binding: Arc<Value>,
    why: String,
}

impl Cluster {
    /// Reads all policies anew.
    pub(super) fn read_policies(&self) {
        let all = |resource: &str| -> Vec<Arc<Value>> {
            let storage = self.storage();
            storage
                .iter(resource, None)
                .map(|(_, object)| Arc::clone(object))
                .collect()
        };
        let known = self.policies();
        let read = PoliciesOfCluster {
            validating: known.validating.read(&all(VALIDATING), &all(VALIDATING_BINDINGS)),
            mutating: known.mutating.read(&all(MUTATING), &all(MUTATING_BINDINGS)),
        };
        *self.0.policies.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(read);
    }

    fn policies(&self) -> Arc<PoliciesOfCluster> {
        Arc::clone(&self.0.policies.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets mutating policies change an object.
    pub(super) fn mutate_by_policies(&self, admission: Admission<'_>, mut object: Value) -> Result<Value, Failure> {
        let policies = self.policies();
        let (invocations, misfits) = self.invocations(&policies.mutating, admission, Some(&object));
        if invocations.is_empty() && misfits.is_empty() {
            return Ok(object);
        }
        let mut refusals: Vec<String> = misfits.iter().map(Misfit::told).collect();
        let request = request("", admission, Some(&object));
        let inside = self.namespace_of(admission, &object);
        let typed = admission.hit.resource.builtin;
        let schema = &admission.hit.version().schema;
        let old = admission.old.map(|old| whole(admission, old));
        for invocation in invocations {
            let now = whole(admission, &object);
            let subject = Subject {
                object: Some(&now),
                old: old.as_deref(),
                request: &request,
                namespace: inside.as_deref(),
                params: invocation.params.as_deref(),
            };
            let made = mutate(&invocation.policy, subject, schema, |object| {
                if typed {
                    drop_nulls(object);
                    drop_empty_metadata(object);
                }
                fill_defaults(schema, object);
            });
            match made {
                Ok(Some(made)) => object = made,
                Ok(None) => {}
                Err(errors) if invocation.policy.fails() => {
                    let (policy, binding) = (invocation.policy.name(), name(&invocation.binding));
                    refusals.extend(
                        errors
                            .into_iter()
                            .map(|error| format!("policy '{policy}' with binding '{binding}' denied request: {error}")),
                    );
                }
                Err(errors) => {
                    let policy = invocation.policy.name();
                    tracing::debug!(policy, ?errors, "the policy is ignored");
                }
            }
        }
        if refusals.is_empty() {
            return Ok(object);
        }
        let resource = &admission.hit.resource;
        Err(Failure::refused_by_mutation(
            &resource.plural,
            &resource.group,
            name(&object),
            &refusals,
        ))
    }

    /// Lets validating policies refuse a write.
    pub(super) fn validate_by_policies(
        &self,
        admission: Admission<'_>,
        new: Option<&Value>,
        warnings: &mut Vec<String>,
    ) -> Result<(), Failure> {
        let policies = self.policies();
        let (invocations, misfits) = self.invocations(&policies.validating, admission, new);
        let Some(about) = new.or(admission.old) else {
            return Ok(());
        };
        let mut denied: Vec<(String, String)> = misfits
            .iter()
            .map(|misfit| {
                let (policy, binding) = (misfit.policy.name(), name(&misfit.binding));
                let why = &misfit.why;
                (
                    format!("ValidatingAdmissionPolicy '{policy}' with binding '{binding}' denied request: {why}"),
                    String::new(),
                )
            })
            .collect();
        if invocations.is_empty() && denied.is_empty() {
            return Ok(());
        }
        let request = request("", admission, new);
        let inside = self.namespace_of(admission, about);
        let old = admission.old.map(|old| whole(admission, old));
        let now = new.map(|new| whole(admission, new));
        for invocation in invocations {
            let subject = Subject {
                object: now.as_deref(),
                old: old.as_deref(),
                request: &request,
                namespace: inside.as_deref(),
                params: invocation.params.as_deref(),
            };
            let (policy, binding) = (invocation.policy.name(), name(&invocation.binding));
            for decision in invocation.policy.validate(subject) {
                for action in items(&invocation.binding, &["spec", "validationActions"]) {
                    let message = &decision.message;
                    match action.as_str().unwrap_or_default() {
                        "Deny" => denied.push((
                            format!(
                                "ValidatingAdmissionPolicy '{policy}' with binding '{binding}' denied request: {message}"
                            ),
                            decision.reason.clone(),
                        )),
                        "Warn" => warnings.push(format!(
                            "Validation failed for ValidatingAdmissionPolicy '{policy}' with binding '{binding}': \
                             {message}"
                        )),
                        // There is no audit log here; whoever looks for it finds it among the traces.
                        _ => tracing::info!(policy, binding, message, "a validation failed"),
                    }
                }
            }
        }
        match denied.first() {
            None => Ok(()),
            Some((message, reason)) => {
                let resource = &admission.hit.resource;
                Err(Failure::denied_by_policy(
                    (&resource.plural, &resource.group),
                    name(about),
                    message,
                    reason,
                ))
            }
        }
    }

    fn invocations(
        &self,
        set: &PolicySet,
        admission: Admission<'_>,
        new: Option<&Value>,
    ) -> (Vec<Invocation>, Vec<Misfit>) {
        let (mut found, mut misfits) = (Vec::new(), Vec::new());
        if admission.hit.resource.group == GROUP {
            return (found, misfits);
        }
        for (policy, bindings) in set.iter() {
            if !policy.constraints().is_some_and(|it| self.fits(it, admission, new)) {
                continue;
            }
            for binding in bindings {
                let narrower = at(binding, &["spec", "matchResources"]);
                if !narrower.is_none_or(|it| self.fits(it, admission, new)) {
                    continue;
                }
                match self.params(policy, binding, new.or(admission.old)) {
                    Ok(all) => found.extend(all.into_iter().map(|params| Invocation {
                        policy: Arc::clone(policy),
                        binding: Arc::clone(binding),
                        params,
                    })),
                    Err(why) if policy.fails() => misfits.push(Misfit {
                        policy: Arc::clone(policy),
                        binding: Arc::clone(binding),
                        why: format!("failed to configure binding: {why}"),
                    }),
                    Err(_) => {}
                }
            }
        }
        (found, misfits)
    }

    /// Whether `matchConstraints` or `matchResources` are about a write.
    fn fits(&self, resources: &Value, admission: Admission<'_>, new: Option<&Value>) -> bool {
        let about = new.or(admission.old);
        let rule_fits = |rule: &Value| {
            let names: Vec<&str> = items(rule, &["resourceNames"]).filter_map(Value::as_str).collect();
            concerns(rule, admission, new)
                && (names.is_empty() || about.is_some_and(|object| names.contains(&name(object))))
        };
        let mut rules = items(resources, &["resourceRules"]).peekable();
        if rules.peek().is_some() && !rules.any(rule_fits) {
            return false;
        }
        if items(resources, &["excludeResourceRules"]).any(rule_fits) {
            return false;
        }
        // Either state of the object can be meant.
        let object_fits = at(resources, &["objectSelector"]).is_none_or(|selector| {
            let mut states = new.into_iter().chain(admission.old);
            states.any(|object| object_selector_matches(Some(selector), object))
        });
        object_fits && about.is_some_and(|object| self.namespace_matches(resources, admission.hit, object))
    }

    /// The parameters of a binding: none where the policy has none, and one policy for each of them otherwise.
    fn params(
        &self,
        policy: &Policy,
        binding: &Value,
        about: Option<&Value>,
    ) -> Result<Vec<Option<Arc<Value>>>, String> {
        let (Some((api_version, kind)), Some(reference)) = (policy.param_kind(), at(binding, &["spec", "paramRef"]))
        else {
            return Ok(vec![None]);
        };
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let registry = self.registry();
        let resource = registry
            .iter()
            .find(|resource| resource.group == group && resource.kind == kind && resource.version(version).is_some())
            .ok_or_else(|| format!("paramKind kind `{api_version}, Kind={kind}` not known"))?;
        let said = text(reference, &["namespace"]);
        let inside = match (resource.namespaced, said) {
            (false, "") => "",
            (false, _) => {
                return Err("paramRef.namespace must not be provided for a cluster-scoped `paramKind`".to_owned());
            }
            (true, "") => match about.map(namespace).unwrap_or_default() {
                "" => {
                    let why = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources";
                    return Err(why.to_owned());
                }
                own => own,
            },
            (true, said) => said,
        };
        let wanted = text(reference, &["name"]);
        let found: Vec<Option<Arc<Value>>> = if wanted.is_empty() {
            let selector = at(reference, &["selector"]);
            let storage = self.storage();
            let within = resource.namespaced.then_some(inside);
            let all = storage.iter(&resource.stored_as, within);
            all.filter(|(_, object)| object_selector_matches(selector, object))
                .map(|(_, object)| Some(Arc::clone(object)))
                .collect()
        } else {
            let object = self.stored(resource, &Place::new(inside, wanted));
            object.into_iter().map(Some).collect()
        };
        if found.is_empty() && text(reference, &["parameterNotFoundAction"]) == "Deny" {
            return Err("no params found for policy binding with `Deny` parameterNotFoundAction".to_owned());
        }
        Ok(found)
    }

    pub(super) fn namespace_of(&self, admission: Admission<'_>, object: &Value) -> Option<Arc<Value>> {
        if !admission.hit.resource.namespaced {
            return None;
        }
        let place = Place::new("", namespace(object));
        self.storage().get("namespaces", &place).cloned()
    }
}

impl Misfit {
    fn told(&self) -> String {
        let (policy, binding, why) = (self.policy.name(), name(&self.binding), &self.why);
        format!("policy '{policy}' with binding '{binding}' denied request: {why}")
    }
}

/// An object with the parts that every one of its kind has.
pub(super) fn whole<'a>(admission: Admission<'_>, object: &'a Value) -> Cow<'a, Value> {
    let resource = &admission.hit.resource;
    let properties = &admission.hit.version().schema.properties;
    let mut whole = Cow::Borrowed(object);
    if resource.builtin {
        for part in resource.parts() {
            if properties.contains_key(*part) && object.get(part).is_none() {
                whole.to_mut()[*part] = json!({});
            }
        }
    }
    whole
}
