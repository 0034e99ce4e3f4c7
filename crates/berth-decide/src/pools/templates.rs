//! The `ControllerConfig` of a cluster, and what it names: which machine configs are made of templates, and what the object is
//! to say about it.

use std::collections::{BTreeMap, BTreeSet};

use berth_pools::{
    CONTROLLER_CONFIG, ControllerConfig, MachineConfig, TemplateFinding, TemplateInput, TemplateObject,
    controller_version, pull_secret, template_references,
};
use berth_site::{Templated, outdated_templates, templated};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::PoolView;

/// An object that templates are made with, as the controllers remember it.
#[derive(Clone, Debug, PartialEq)]
pub struct TemplateView {
    /// Its kind.
    pub kind: TemplateObject,
    /// Its name.
    pub name: String,
    /// Which object it is.
    pub uid: String,
    /// Its version.
    pub resource_version: String,
    /// Its generation, which the status repeats.
    pub generation: Option<i64>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// What is made of it: its `spec` and annotations, or its data.
    content: Value,
    /// Its status as it stands.
    pub status: Value,
}

/// All of them, by kind and name.
pub type TemplateViews = BTreeMap<(TemplateObject, String), TemplateView>;

impl TemplateView {
    /// Reads the object as the API server gives it.
    pub fn read(kind: TemplateObject, object: &Value) -> Self {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let content = match kind {
            TemplateObject::ControllerConfig => json!({
                "metadata": {"annotations": object.pointer("/metadata/annotations")},
                "spec": object.get("spec"),
            }),
            TemplateObject::ConfigMap | TemplateObject::Secret => json!({"data": object.get("data")}),
        };
        Self {
            kind,
            name: text("/metadata/name").to_owned(),
            uid: text("/metadata/uid").to_owned(),
            resource_version: text("/metadata/resourceVersion").to_owned(),
            generation: object.pointer("/metadata/generation").and_then(Value::as_i64),
            deleting: !text("/metadata/deletionTimestamp").is_empty(),
            content,
            status: object.get("status").cloned().unwrap_or_default(),
        }
    }

    /// Whether something else could be made of it.
    pub fn generates_as(&self, other: &Self) -> bool {
        let key = |view: &Self| (view.uid.clone(), view.generation, view.deleting);
        key(self) == key(other) && self.content == other.content
    }
}

/// What follows from the `ControllerConfig`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TemplatesPlan {
    /// The machine configs of the cluster with those that are made.
    pub inputs: BTreeMap<String, MachineConfig>,
    /// Machine configs to write, as objects.
    pub writes: Vec<Value>,
    /// Machine configs that no template makes any more.
    pub removals: Vec<String>,
    /// The `ControllerConfig` with the status that it is to have, where it is another one.
    pub answer: Option<(TemplateView, Value)>,
    /// What pools are rendered with.
    pub controller: Option<ControllerConfig>,
}

/// Plans the machine configs that templates become.
///
/// Where anything is wrong, or an object that is named is not there, what was made earlier stays.
pub fn plan_templates<'a>(
    pools: impl IntoIterator<Item = &'a PoolView>,
    known: &BTreeMap<String, MachineConfig>,
    views: &TemplateViews,
    now: Timestamp,
) -> TemplatesPlan {
    let mut plan = TemplatesPlan {
        inputs: known.clone(),
        ..TemplatesPlan::default()
    };
    let key = (TemplateObject::ControllerConfig, CONTROLLER_CONFIG.to_owned());
    let controller = views.get(&key).filter(|view| !view.deleting);
    let read = controller.map(|view| ControllerConfig::from_json(&view.content));
    let spec = match &read {
        Some(Ok(config)) => config.for_templates.clone(),
        Some(Err(error)) => {
            plan.answer = controller.and_then(|view| answer(view, Err(error.to_string()), now));
            return plan;
        }
        None => None,
    };
    plan.controller = read.and_then(Result::ok);
    let (Some(view), Some(spec)) = (controller, spec) else {
        plan.remove(outdated_templates(known.values(), &BTreeSet::new()));
        return plan;
    };
    let templated = made(&spec, pools, known, views);
    if templated.findings.is_empty() {
        let mut kept: BTreeSet<&str> = templated.configs.keys().map(String::as_str).collect();
        kept.extend(templated.held.iter().map(|held| held.name.as_str()));
        plan.remove(outdated_templates(known.values(), &kept));
        for config in templated
            .configs
            .values()
            .filter(|config| known.get(&config.name) != Some(*config))
        {
            plan.writes.push(object(config, view));
        }
        let held = templated.held.iter().map(|held| format!("; {held}"));
        plan.answer = answer(view, Ok(held.collect()), now);
    } else {
        let findings: Vec<String> = templated.findings.iter().map(in_words).collect();
        plan.answer = answer(view, Err(findings.join("; ")), now);
    }
    plan.inputs.extend(templated.configs);
    plan
}

fn made<'a>(
    spec: &Value,
    pools: impl IntoIterator<Item = &'a PoolView>,
    known: &BTreeMap<String, MachineConfig>,
    views: &TemplateViews,
) -> Templated {
    let references = template_references(spec);
    let named = |kind, name: Option<String>| views.get(&(kind, name?)).filter(|view| !view.deleting);
    let overrides = named(TemplateObject::ConfigMap, references.templates).map(|view| {
        let data = view
            .content
            .get("data")
            .and_then(Value::as_object)
            .into_iter()
            .flatten();
        // The API server takes nothing but strings.
        let texts = data.filter_map(|(key, text)| Some((key.clone(), text.as_str()?.to_owned())));
        texts.collect::<BTreeMap<_, _>>()
    });
    let credentials = named(TemplateObject::Secret, references.pull_secret).map(|view| pull_secret(&view.content));
    let pools: Vec<&str> = pools.into_iter().map(|pool| pool.name.as_str()).collect();
    let configs: Vec<&MachineConfig> = known.values().collect();
    let input = TemplateInput {
        spec,
        pools: &pools,
        overrides: overrides.as_ref(),
        pull_secret: credentials.as_ref(),
    };
    templated(&input, &configs)
}

impl TemplatesPlan {
    fn remove(&mut self, names: Vec<String>) {
        for name in &names {
            self.inputs.remove(name);
        }
        self.removals = names;
    }
}

fn in_words(finding: &TemplateFinding) -> String {
    match finding.object {
        TemplateObject::ControllerConfig => finding.to_string(),
        TemplateObject::ConfigMap => format!("ConfigMap {finding}"),
        TemplateObject::Secret => format!("Secret {finding}"),
    }
}

/// The machine config as the object to write.
fn object(config: &MachineConfig, controller: &TemplateView) -> Value {
    let mut object = config.to_json();
    if let Some(metadata) = object.get_mut("metadata") {
        metadata["ownerReferences"] = json!([{
            "apiVersion": "machineconfiguration.openshift.io/v1",
            "kind": "ControllerConfig",
            "name": controller.name,
            "uid": controller.uid,
            "controller": true,
        }]);
    }
    object
}

/// The status with the original's conditions, where it is another one than the object has.
fn answer(view: &TemplateView, outcome: Result<String, String>, now: Timestamp) -> Option<(TemplateView, Value)> {
    let generation = view.generation.unwrap_or_default();
    let towards = format!(
        "({generation}) generation using controller version {}",
        controller_version()
    );
    let (completed, failing, message) = match outcome {
        Ok(held) => ("True", "False", format!("sync completed towards {towards}{held}")),
        Err(why) => ("False", "True", format!("failed to sync towards {towards}: {why}")),
    };
    let now = now.round(jiff::Unit::Second).unwrap_or(now).to_string();
    let said = |kind: &str, status: &str| {
        let known = view
            .status
            .get("conditions")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let mut known = known.filter(|known| known.get("type").is_some_and(|it| it == kind));
        let since = known.find(|known| known.get("status").is_some_and(|it| it == status));
        let since = since.and_then(|known| known.get("lastTransitionTime")).cloned();
        let message = if status == "True" { message.as_str() } else { "" };
        json!({
            "type": kind,
            "status": status,
            "message": message,
            "lastTransitionTime": since.unwrap_or_else(|| json!(now)),
        })
    };
    let status = json!({
        "observedGeneration": view.generation,
        "conditions": [
            said("TemplateControllerCompleted", completed),
            said("TemplateControllerRunning", "False"),
            said("TemplateControllerFailing", failing),
        ],
    });
    (view.status != status).then(|| (view.clone(), status))
}

#[cfg(test)]
mod tests;
