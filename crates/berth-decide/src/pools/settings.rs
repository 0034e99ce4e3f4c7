//! `KubeletConfig` and `ContainerRuntimeConfig` objects of a cluster: which machine configs are made of them, and what the objects
//! are to say about it.

use std::collections::BTreeMap;

use berth_pools::{
    ContainerRuntimeConfig, FROM_CONTROLLER_CONFIG, GENERATED_BY, KubeletConfig, MachineConfig, NAME_SUFFIX,
};
use berth_site::{GeneratingKind, GeneratingPool, Made, Outcome, generate};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{PoolView, render::version};
use crate::names;

/// What the versions of Berth's own controllers begin with.
const OURS: &str = "berth-";

/// An object that machine configs are made of, as the controllers remember it.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingView {
    /// Its kind.
    pub kind: GeneratingKind,
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
    /// What it asks for; or why that cannot be read.
    pub asked: Result<Asked, String>,
    /// Its status as it stands.
    pub status: Value,
}

/// What an object asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// A `ContainerRuntimeConfig`.
    Runtime(Box<ContainerRuntimeConfig>),
    /// A `KubeletConfig`.
    Kubelet(Box<KubeletConfig>),
}

impl SettingView {
    /// Reads the object as the API server gives it.
    pub fn read(kind: GeneratingKind, object: &Value) -> Self {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let asked = match kind {
            GeneratingKind::ContainerRuntimeConfig => {
                ContainerRuntimeConfig::from_json(object).map(|read| Asked::Runtime(Box::new(read)))
            }
            GeneratingKind::KubeletConfig => {
                KubeletConfig::from_json(object).map(|read| Asked::Kubelet(Box::new(read)))
            }
        };
        Self {
            kind,
            name: text("/metadata/name").to_owned(),
            uid: text("/metadata/uid").to_owned(),
            resource_version: text("/metadata/resourceVersion").to_owned(),
            generation: object.pointer("/metadata/generation").and_then(Value::as_i64),
            deleting: !text("/metadata/deletionTimestamp").is_empty(),
            asked: asked.map_err(|error| error.to_string()),
            status: object.get("status").cloned().unwrap_or_default(),
        }
    }

    /// Whether something else could be made of it.
    pub fn generates_as(&self, other: &Self) -> bool {
        let key = |view: &Self| (view.uid.clone(), view.generation, view.deleting);
        key(self) == key(other) && self.asked == other.asked
    }

    /// What its machine configs say they are made of.
    fn origin(&self) -> String {
        format!("{}/{}", self.kind.as_str(), self.name)
    }

    fn suffix(&self) -> Option<&str> {
        match self.asked.as_ref().ok()? {
            Asked::Runtime(config) => config.selecting.suffix.as_deref(),
            Asked::Kubelet(config) => config.selecting.suffix.as_deref(),
        }
    }
}

/// What follows from the objects of a cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SettingsPlan {
    /// The machine configs to render pools from, by name.
    pub inputs: BTreeMap<String, MachineConfig>,
    /// Machine configs to write, as objects.
    pub writes: Vec<Value>,
    /// Machine configs of Berth's that nothing makes any more.
    pub removals: Vec<String>,
    /// What objects are to say that do not say it yet.
    pub answers: Vec<SettingAnswer>,
}

/// What one object is to say.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingAnswer {
    /// The object.
    pub setting: SettingView,
    /// The number in the names of its machine configs, where its annotation does not have it.
    pub suffix: Option<String>,
    /// Its status, where it is another one.
    pub status: Option<Value>,
}

/// Plans the machine configs of all objects.
///
/// An object that is refused changes nothing: what was made of it earlier stays, for its own pools too. What is made of an object
/// goes with it, also if the object went while nobody looked.
pub fn plan_settings<'a>(
    pools: impl IntoIterator<Item = &'a PoolView>,
    known: &BTreeMap<String, MachineConfig>,
    settings: &[&SettingView],
    now: Timestamp,
) -> SettingsPlan {
    let pools: Vec<GeneratingPool<'_>> = pools.into_iter().map(PoolView::generating).collect();
    let living: Vec<&SettingView> = settings.iter().copied().filter(|setting| !setting.deleting).collect();
    let (mut kubelet, mut runtime) = (Vec::new(), Vec::new());
    for setting in &living {
        match &setting.asked {
            Ok(Asked::Kubelet(config)) => kubelet.push(&**config),
            Ok(Asked::Runtime(config)) => runtime.push(&**config),
            Err(_) => {}
        }
    }
    let configs: Vec<&MachineConfig> = known.values().collect();
    let generated = generate(&pools, &configs, &kubelet, &runtime);
    let outcome_of = |setting: &SettingView| {
        let mut outcomes = generated.outcomes.iter();
        outcomes.find(|outcome| outcome.kind == setting.kind && outcome.name == setting.name)
    };

    let mut plan = SettingsPlan::default();
    for config in generated.configs.values() {
        let maker = living
            .iter()
            .find(|setting| outcome_of(setting).is_some_and(|outcome| makes(outcome, &config.name)));
        let Some(setting) = maker else { continue };
        let mut config = config.clone();
        config.annotations.insert(GENERATED_BY.to_owned(), version());
        config
            .annotations
            .insert(names::GENERATED_FROM.to_owned(), setting.origin());
        if known.get(&config.name) != Some(&config) {
            plan.writes.push(object(&config, setting));
        }
        plan.inputs.insert(config.name.clone(), config);
    }
    for config in known
        .values()
        .filter(|config| !plan.inputs.contains_key(&config.name))
        .collect::<Vec<_>>()
    {
        let stays = match origin(config) {
            None => true,
            Some(origin) => living
                .iter()
                .any(|setting| setting.origin() == origin && keeps(outcome_of(setting), config, &pools)),
        };
        if stays {
            plan.inputs.insert(config.name.clone(), config.clone());
        } else {
            plan.removals.push(config.name.clone());
        }
    }
    let answers = living
        .iter()
        .filter_map(|setting| answer(setting, outcome_of(setting), now));
    plan.answers = answers.collect();
    plan
}

/// What a machine config of Berth's says it was made of.
fn origin(config: &MachineConfig) -> Option<&str> {
    config.generated_by().filter(|by| by.starts_with(OURS))?;
    let origin = config.annotations.get(names::GENERATED_FROM)?;
    // What is made of templates is not made of settings.
    (origin != FROM_CONTROLLER_CONFIG).then_some(origin.as_str())
}

fn makes(outcome: &Outcome, config: &str) -> bool {
    let mut pools = outcome.pools.iter();
    pools.any(|pool| pool.made == Made::Here && pool.machine_config == config)
}

/// Whether what was made of an object earlier stays although it is not made now.
fn keeps(outcome: Option<&Outcome>, config: &MachineConfig, pools: &[GeneratingPool<'_>]) -> bool {
    // One that cannot be read says nothing about what it wants.
    let Some(outcome) = outcome else { return true };
    let of_pool =
        |pool: &GeneratingPool<'_>| config.labels.get(berth_pools::ROLE_LABEL).map(String::as_str) == Some(pool.name);
    let refused = outcome
        .pools
        .iter()
        .any(|pool| pool.machine_config == config.name && matches!(pool.made, Made::NoBase(_) | Made::Refused(_)));
    refused || (!outcome.problems.is_empty() && pools.iter().any(of_pool))
}

/// The machine config as the object to write.
fn object(config: &MachineConfig, setting: &SettingView) -> Value {
    let mut object = config.to_json();
    if let Some(metadata) = object.get_mut("metadata") {
        metadata["ownerReferences"] = json!([{
            "apiVersion": "machineconfiguration.openshift.io/v1",
            "kind": setting.kind.as_str(),
            "name": setting.name,
            "uid": setting.uid,
            "controller": true,
        }]);
    }
    object
}

fn answer(setting: &SettingView, outcome: Option<&Outcome>, now: Timestamp) -> Option<SettingAnswer> {
    let (kind, message) = match (outcome.map(Outcome::message), &setting.asked) {
        (Some(Ok(message)), _) => ("Success", message.to_owned()),
        (Some(Err(message)), _) => ("Failure", message),
        (None, Err(error)) => ("Failure", format!("Error: {error}")),
        (None, Ok(_)) => return None,
    };
    let made = outcome.filter(|outcome| outcome.pools.iter().any(|pool| pool.made == Made::Here));
    let suffix = made.map(|outcome| match outcome.suffix {
        0 => String::new(),
        number => number.to_string(),
    });
    let suffix = suffix.filter(|suffix| setting.suffix() != Some(suffix));
    let before = setting.status.pointer("/conditions/0");
    let is = |key: &str, value: &str| before.and_then(|before| before.get(key)?.as_str()) == Some(value);
    let is_said = is("type", kind) && is("message", &message);
    let is_observed = setting.status.get("observedGeneration").and_then(Value::as_i64) == setting.generation;
    let status = (!(is_said && is_observed)).then(|| {
        let now = now.round(jiff::Unit::Second).unwrap_or(now).to_string();
        let since = before
            .filter(|_| is("type", kind))
            .and_then(|before| before.get("lastTransitionTime"));
        json!({
            "observedGeneration": setting.generation,
            "conditions": [{
                "type": kind,
                "status": "True",
                "message": message,
                "lastTransitionTime": since.cloned().unwrap_or_else(|| json!(now)),
            }],
        })
    });
    (suffix.is_some() || status.is_some()).then(|| SettingAnswer {
        setting: setting.clone(),
        suffix,
        status,
    })
}

impl SettingAnswer {
    /// The annotation with the number.
    pub fn annotations(&self) -> Option<Value> {
        let suffix = self.suffix.as_ref()?;
        Some(json!({NAME_SUFFIX: suffix}))
    }
}

#[cfg(test)]
mod tests;
