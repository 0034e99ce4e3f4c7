//! Admission webhooks: whom a write concerns, what they are asked, and what their answers mean.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{Caller, Cluster, WriteOptions, policies::whole};
use crate::{
    failure::Failure,
    object::{at, items, name, namespace, text},
    patch::json_patch,
    policies::{self, Subject, conditions},
    resources::Hit,
    selectors::object_selector_matches,
    storage::Place,
};

pub(super) const GROUP: &str = "admissionregistration.k8s.io";
const MUTATING: &str = "mutatingwebhookconfigurations.admissionregistration.k8s.io";
const VALIDATING: &str = "validatingwebhookconfigurations.admissionregistration.k8s.io";

/// A write on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Admission<'a> {
    pub(super) hit: &'a Hit,
    /// Empty for the object itself.
    pub(super) subresource: &'a str,
    pub(super) old: Option<&'a Value>,
    pub(super) options: &'a WriteOptions,
    pub(super) caller: &'a Caller,
}

impl Admission<'_> {
    fn operation(&self, new: Option<&Value>) -> &'static str {
        match (self.old, new) {
            (None, _) => "CREATE",
            (Some(_), Some(_)) => "UPDATE",
            (Some(_), None) => "DELETE",
        }
    }
}

impl Cluster {
    /// Lets mutating policies and webhooks change an object before it is written.
    pub(super) async fn mutate(
        &self,
        admission: Admission<'_>,
        object: Value,
        warnings: &mut Vec<String>,
    ) -> Result<Value, Failure> {
        let mut object = self.mutate_by_policies(admission, object)?;
        for webhook in self.webhooks(MUTATING, admission, Some(&object))? {
            let Some(response) = self.ask(&webhook, admission, Some(&object), warnings).await? else {
                continue;
            };
            let patch = text(&response, &["patch"]);
            if patch.is_empty() {
                continue;
            }
            let said = text(&webhook, &["name"]);
            let broken = |why: String| Failure::internal(format!("failed calling webhook \"{said}\": {why}"));
            let patch: Value = STANDARD
                .decode(patch)
                .ok()
                .and_then(|bytes| serde_json::from_slice(&bytes).ok())
                .ok_or_else(|| broken("its patch is not JSON patch in base64".to_owned()))?;
            object = json_patch(&object, &patch).map_err(|failure| broken(failure.message))?;
        }
        Ok(object)
    }

    /// Lets validating policies and webhooks refuse a write.
    pub(super) async fn approve(
        &self,
        admission: Admission<'_>,
        new: Option<&Value>,
        warnings: &mut Vec<String>,
    ) -> Result<(), Failure> {
        if new.is_none() {
            // Mutating webhooks hear of deletions too, and there is nothing to change then.
            for webhook in self.webhooks(MUTATING, admission, None)? {
                self.ask(&webhook, admission, None, warnings).await?;
            }
        }
        self.validate_by_policies(admission, new, warnings)?;
        for webhook in self.webhooks(VALIDATING, admission, new)? {
            self.ask(&webhook, admission, new, warnings).await?;
        }
        Ok(())
    }

    /// The webhooks that a write concerns, by the names of their configurations. Nobody is asked about webhooks themselves:
    /// a broken one could never be taken away.
    fn webhooks(&self, kind: &str, admission: Admission<'_>, new: Option<&Value>) -> Result<Vec<Value>, Failure> {
        if admission.hit.resource.group == GROUP {
            return Ok(Vec::new());
        }
        let configurations: Vec<Arc<Value>> = {
            let storage = self.storage();
            storage.iter(kind, None).map(|(_, object)| Arc::clone(object)).collect()
        };
        let Some(object) = new.or(admission.old) else {
            return Ok(Vec::new());
        };
        let concerned = configurations
            .iter()
            .flat_map(|configuration| items(configuration, &["webhooks"]))
            .filter(|webhook| {
                items(webhook, &["rules"]).any(|rule| concerns(rule, admission, new))
                    && at(webhook, &["objectSelector"]).is_none_or(|it| object_selector_matches(Some(it), object))
                    && self.namespace_matches(webhook, admission.hit, object)
            });
        let mut all = Vec::new();
        for webhook in concerned {
            if conditions_hold(webhook, admission, new)? {
                all.push(webhook.clone());
            }
        }
        Ok(all)
    }

    pub(super) fn namespace_matches(&self, webhook: &Value, hit: &Hit, object: &Value) -> bool {
        let Some(selector) = at(webhook, &["namespaceSelector"]) else {
            return true;
        };
        let place = match (hit.resource.namespaced, hit.resource.kind.as_str()) {
            (true, _) => Place::new("", namespace(object)),
            (false, "Namespace") => Place::new("", name(object)),
            // What is in no namespace is not restricted by one.
            (false, _) => return true,
        };
        let found = self.storage().get("namespaces", &place).cloned();
        found.is_some_and(|namespace| object_selector_matches(Some(selector), &namespace))
    }

    /// Asks one webhook. Nothing if it cannot be asked and that does not matter.
    async fn ask(
        &self,
        webhook: &Value,
        admission: Admission<'_>,
        new: Option<&Value>,
        warnings: &mut Vec<String>,
    ) -> Result<Option<Value>, Failure> {
        let said = text(webhook, &["name"]);
        let effects = text(webhook, &["sideEffects"]);
        if admission.options.dry_run && !["None", "NoneOnDryRun"].contains(&effects) {
            return Err(Failure::bad_request(format!(
                "admission webhook \"{said}\" does not support dry run"
            )));
        }
        let request_uid = self.next_uid();
        let review = review(&request_uid, admission, new);
        let answer = call(webhook, &review).await.and_then(|answer| {
            let response = answer.get("response").cloned().unwrap_or_default();
            if text(&response, &["uid"]) == request_uid {
                Ok(response)
            } else {
                Err("expected response.uid to be that of the request".to_owned())
            }
        });
        let response = match answer {
            Ok(response) => response,
            Err(why) if text(webhook, &["failurePolicy"]) == "Ignore" => {
                tracing::warn!(webhook = said, why, "the webhook is ignored");
                return Ok(None);
            }
            Err(why) => {
                return Err(Failure::internal(format!(
                    "failed calling webhook \"{said}\": failed to call webhook: {why}"
                )));
            }
        };
        warnings.extend(
            items(&response, &["warnings"])
                .filter_map(Value::as_str)
                .map(str::to_owned),
        );
        if response.get("allowed") == Some(&json!(true)) {
            return Ok(Some(response));
        }
        Err(Failure::denied_by_webhook(said, response.get("status")))
    }
}

/// Whether a rule is about this write.
pub(super) fn concerns(rule: &Value, admission: Admission<'_>, new: Option<&Value>) -> bool {
    let resource = &admission.hit.resource;
    let any = |key: &str, value: &str| {
        items(rule, &[key])
            .filter_map(Value::as_str)
            .any(|given| given == "*" || given == value)
    };
    let scope = match text(rule, &["scope"]) {
        "Cluster" => !resource.namespaced,
        "Namespaced" => resource.namespaced,
        _ => true,
    };
    let whole = |given: &str| match given.split_once('/') {
        None => admission.subresource.is_empty() && (given == "*" || given == resource.plural),
        Some((plural, part)) => {
            (plural == "*" || plural == resource.plural) && (part == admission.subresource || part == "*")
        }
    };
    scope
        && any("operations", admission.operation(new))
        && any("apiGroups", &resource.group)
        && any("apiVersions", &admission.hit.version().name)
        && items(rule, &["resources"]).filter_map(Value::as_str).any(whole)
}

fn review(request_uid: &str, admission: Admission<'_>, new: Option<&Value>) -> Value {
    let mut request = request(request_uid, admission, new);
    request["object"] = json!(new);
    request["oldObject"] = json!(admission.old);
    json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})
}

/// What is asked about a write, without the object.
pub(super) fn request(request_uid: &str, admission: Admission<'_>, new: Option<&Value>) -> Value {
    let Admission {
        hit,
        caller,
        options,
        old,
        ..
    } = admission;
    let resource = &hit.resource;
    let version = &hit.version().name;
    let kind = json!({"group": resource.group, "version": version, "kind": resource.kind});
    let plural = json!({"group": resource.group, "version": version, "resource": resource.plural});
    let about = new.or(old);
    let mut request = json!({
        "uid": request_uid,
        "kind": kind,
        "resource": plural,
        "requestKind": kind,
        "requestResource": plural,
        "name": about.map(name).unwrap_or_default(),
        "operation": admission.operation(new),
        "userInfo": {"username": caller.identity.user, "groups": caller.identity.all_groups()},
        "dryRun": options.dry_run,
        "options": Value::Null,
    });
    if !admission.subresource.is_empty() {
        request["subResource"] = json!(admission.subresource);
        request["requestSubResource"] = json!(admission.subresource);
    }
    let inside = about.map(namespace).unwrap_or_default();
    if !inside.is_empty() {
        request["namespace"] = json!(inside);
    }
    request
}

/// Whether the `matchConditions` of a webhook hold.
fn conditions_hold(webhook: &Value, admission: Admission<'_>, new: Option<&Value>) -> Result<bool, Failure> {
    let conditions = conditions(webhook, &["matchConditions"]);
    if conditions.is_empty() {
        return Ok(true);
    }
    let request = request("", admission, new);
    let (now, old) = (
        new.map(|new| whole(admission, new)),
        admission.old.map(|old| whole(admission, old)),
    );
    let subject = Subject {
        object: now.as_deref(),
        old: old.as_deref(),
        request: &request,
        namespace: None,
        params: None,
    };
    let fails = text(webhook, &["failurePolicy"]) != "Ignore";
    policies::conditions_hold(&conditions, &[], subject, fails).map_err(|why| {
        let resource = &admission.hit.resource;
        let about = new.or(admission.old).map(name).unwrap_or_default();
        Failure::forbidden(&resource.full_name(), about, &why)
    })
}

/// Sends a review and reads the answer. The words are for the person whose write fails by it.
async fn call(webhook: &Value, review: &Value) -> Result<Value, String> {
    let url = text(webhook, &["clientConfig", "url"]);
    if url.is_empty() {
        return Err("the embedded API has no network of Services: give clientConfig.url".to_owned());
    }
    let seconds = at(webhook, &["timeoutSeconds"]).and_then(Value::as_u64).unwrap_or(10);
    let mut client = reqwest::Client::builder()
        .timeout(Duration::from_secs(seconds.clamp(1, 30)))
        .no_proxy();
    let bundle = text(webhook, &["clientConfig", "caBundle"]);
    if !bundle.is_empty() {
        let pem = STANDARD
            .decode(bundle)
            .map_err(|_| "caBundle is not base64".to_owned())?;
        let certificates =
            reqwest::Certificate::from_pem_bundle(&pem).map_err(|_| "caBundle holds no certificates".to_owned())?;
        for certificate in certificates {
            client = client.add_root_certificate(certificate);
        }
    }
    let client = client.build().map_err(|error| causes(&error))?;
    let body = serde_json::to_vec(review).map_err(|error| error.to_string())?;
    let sent = client
        .post(url)
        .header("content-type", "application/json")
        .header("accept", "application/json")
        .body(body)
        .send()
        .await;
    let answer = sent.map_err(|error| format!("Post \"{url}\": {}", causes(&error)))?;
    let status = answer.status();
    let bytes = answer
        .bytes()
        .await
        .map_err(|error| format!("Post \"{url}\": {}", causes(&error)))?;
    if !status.is_success() {
        return Err(format!("an error on the server (status {})", status.as_u16()));
    }
    serde_json::from_slice(&bytes).map_err(|error| format!("its answer is not an AdmissionReview: {error}"))
}

/// An error with its causes.
fn causes(error: &reqwest::Error) -> String {
    let mut said = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        said.push_str(": ");
        said.push_str(&error.to_string());
        cause = error.source();
    }
    said
}
