//! Machine configs of whole roles, made of templates: what a cluster without OpenShift's operator has instead of the operator's.
//!
//! ```text
//! `ControllerConfig`.spec ─┐
//! pull secret, `ConfigMap` ┼─► templates ──► 00-<role>, 01-<role>-kubelet, 01-<role>-container-runtime, 99-<role>-ssh
//! names of pools ────────┘
//! ```
//!
//! A template is a file with a comment at its top, lines `#! …` that say what it becomes, and the text. `{{name}}` stands for a
//! value. A line with a value that is not there is left out, and a line with a list is repeated for each item. A custom pool
//! needs no templates of its own: it takes the machine configs of the role `worker`.

mod files;
mod read;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use berth_ignition::{Encoding, SpecVersion, file_as};
use serde_json::{Value, json};

use self::{
    files::{FILES, TemplateFile},
    read::{Settings, Values},
    text::{Place, Template},
};
use crate::{
    machine_config::{GENERATED_BY, MachineConfig, MachineConfigSpec, ROLE_LABEL},
    pool::{MASTER, WORKER},
    reconcile::CORE,
};

/// The one `ControllerConfig` that counts.
pub const CONTROLLER_CONFIG: &str = "machine-config-controller";

/// The one Secret that the controllers may read, in the namespace they run in.
pub const PULL_SECRET: &str = "pull-secret";

/// Stands for all families or all roles.
const ANY: &str = "any";

/// What a machine config that is made of the `ControllerConfig` says it is made of.
pub const FROM_CONTROLLER_CONFIG: &str = "ControllerConfig/machine-config-controller";

/// The annotation in which machine configs of Berth's say what they are made of.
pub const GENERATED_FROM: &str = "berth.dev/generated-from";

/// The version with which Berth's controllers stamp what they make.
pub fn controller_version() -> String {
    format!("berth-{}", env!("CARGO_PKG_VERSION"))
}

/// What templates are made with.
#[derive(Clone, Copy, Debug, Default)]
pub struct TemplateInput<'a> {
    /// `spec` of the `ControllerConfig`.
    pub spec: &'a Value,
    /// The names of the cluster's pools.
    pub pools: &'a [&'a str],
    /// `data` of the `ConfigMap` that [`TemplateReferences::templates`] names, where it is there.
    pub overrides: Option<&'a BTreeMap<String, String>>,
    /// The Secret that [`TemplateReferences::pull_secret`] names, where it is there: the credentials as the kubelet reads them.
    pub pull_secret: Option<&'a Result<String, String>>,
}

/// The objects beside the `ControllerConfig` that templates need, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TemplateReferences {
    /// `spec.pullSecret.name`: a Secret.
    pub pull_secret: Option<String>,
    /// `spec.berth.templates.name`: a `ConfigMap`.
    pub templates: Option<String>,
}

/// Which object a finding is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TemplateObject {
    /// The `ControllerConfig`.
    ControllerConfig,
    /// The `ConfigMap` with people's templates.
    ConfigMap,
    /// The Secret with credentials.
    Secret,
}

/// Why no machine configs are made of templates.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct TemplateFinding {
    /// The object.
    pub object: TemplateObject,
    /// The field: `spec.berth.family`.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What would be right; may be empty.
    pub help: String,
    /// The object that the field names is not there. Everything else may be in order.
    pub is_missing_object: bool,
}

/// Whether Berth makes machine configs of templates with this `spec`; on OpenShift that is the operator's business.
pub fn has_templates(spec: &Value) -> bool {
    spec.get("berth").is_some_and(|berth| !berth.is_null())
}

/// The names of the objects that templates need, as far as they are written.
pub fn template_references(spec: &Value) -> TemplateReferences {
    let text = |pointer: &str| {
        let text = spec.pointer(pointer).and_then(Value::as_str);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    TemplateReferences {
        pull_secret: text("/pullSecret/name"),
        templates: text("/berth/templates/name"),
    }
}

/// The credentials in a Secret of the type `kubernetes.io/dockerconfigjson`, as the API server gives it or a person writes it.
pub fn pull_secret(secret: &Value) -> Result<String, String> {
    read::pull_secret(secret)
}

/// Makes the machine configs of all roles that the pools have: always those of `worker`, which custom pools inherit.
///
/// Nothing is made where anything is wrong. The answer has the order of the names, and nothing of it depends on the order in which
/// the inputs are written.
pub fn templates(input: &TemplateInput<'_>) -> Result<Vec<MachineConfig>, Vec<TemplateFinding>> {
    let mut findings = Vec::new();
    let settings = read::settings(input, &mut findings);
    let overrides = Overrides::read(input.overrides, &mut findings);
    let mut made = Vec::new();
    for role in roles(input.pools) {
        for (config, files) in configs(role, &settings.family, &overrides) {
            made.extend(machine_config(role, config, &files, &settings, &mut findings));
        }
        if is_base(role) && !settings.ssh_keys.is_empty() {
            let mut config = empty(role, format!("99-{role}-ssh"));
            config.spec.config = Some(json!({
                "ignition": {"version": SpecVersion::LATEST.as_str()},
                "passwd": {"users": [{"name": CORE, "sshAuthorizedKeys": settings.ssh_keys}]},
            }));
            made.push(config);
        }
    }
    made.sort_by(|a, b| a.name.cmp(&b.name));
    if findings.is_empty() {
        Ok(made)
    } else {
        findings.dedup();
        Err(findings)
    }
}

fn is_base(role: &str) -> bool {
    role == WORKER || role == MASTER
}

fn roles<'a>(pools: &[&'a str]) -> BTreeSet<&'a str> {
    pools.iter().copied().chain([WORKER]).collect()
}

/// One template of one role, before it is filled in.
struct Source<'a> {
    /// Where it comes from: a key of the `ConfigMap`, or nothing.
    key: Option<&'a str>,
    text: &'a str,
}

/// The templates of a role, by machine config and by name; the more a template says for whom it is, the stronger it is, and what
/// people write is stronger than what comes along.
fn configs<'a>(
    role: &str,
    family: &str,
    overrides: &'a Overrides<'a>,
) -> BTreeMap<&'a str, BTreeMap<&'a str, Source<'a>>> {
    let mut configs: BTreeMap<&str, BTreeMap<&str, Source<'_>>> = BTreeMap::new();
    let inherits_any = is_base(role);
    let fits = |file: &&TemplateFile, (of_family, of_role): (bool, bool)| {
        let family_fits = file.family == if of_family { family } else { ANY };
        let role_fits = file.role == if of_role { role } else { ANY };
        family_fits && role_fits
    };
    if inherits_any {
        for rank in [(false, false), (true, false), (false, true), (true, true)] {
            for file in FILES.iter().filter(|file| fits(file, rank)) {
                let source = Source {
                    key: None,
                    text: file.text,
                };
                configs.entry(file.config).or_default().insert(file.name, source);
            }
        }
    }
    for wanted in [ANY, role] {
        if wanted == ANY && !inherits_any {
            continue;
        }
        for item in overrides.0.iter().filter(|item| item.role == wanted) {
            let templates = configs.entry(item.config).or_default();
            if item.text.trim().is_empty() {
                templates.remove(item.name);
            } else {
                let source = Source {
                    key: Some(item.key),
                    text: item.text,
                };
                templates.insert(item.name, source);
            }
        }
    }
    configs
}

fn machine_config(
    role: &str,
    config: &str,
    sources: &BTreeMap<&str, Source<'_>>,
    settings: &Settings,
    findings: &mut Vec<TemplateFinding>,
) -> Option<MachineConfig> {
    let (mut files, mut units) = (BTreeMap::new(), BTreeMap::<String, Unit>::new());
    // People's come last, so that they are the ones that are named.
    let (own, peoples): (Vec<_>, Vec<_>) = sources.iter().partition(|(_, source)| source.key.is_none());
    for (name, source) in own.into_iter().chain(peoples) {
        let mut wrong = |message: String| {
            let finding = TemplateFinding {
                object: source
                    .key
                    .map_or(TemplateObject::ControllerConfig, |_| TemplateObject::ConfigMap),
                path: source
                    .key
                    .map_or_else(|| (*name).to_owned(), |key| format!("data.{key}")),
                message,
                help: String::new(),
                is_missing_object: false,
            };
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        };
        let template = match Template::parse(source.text) {
            Ok(template) => template,
            Err(message) => {
                wrong(message);
                continue;
            }
        };
        for values in each(&template, settings) {
            let filled = match template.fill(&values) {
                Ok(Some(filled)) => filled,
                Ok(None) => continue,
                Err(message) => {
                    wrong(message);
                    continue;
                }
            };
            match filled.place {
                Place::File { path, mode } => {
                    let file = file_as(&path, mode, filled.text, Encoding::Base64);
                    if files.insert(path.clone(), file).is_some() {
                        wrong(format!("another template of {config} writes {path} too"));
                    }
                }
                Place::Unit { name, enabled } => {
                    let unit = units.entry(name.clone()).or_default();
                    if unit.contents.replace(filled.text).is_some() {
                        wrong(format!("another template of {config} writes the unit {name} too"));
                    }
                    unit.enabled |= enabled;
                }
                Place::DropIn { unit, name } => {
                    let drop_ins = &mut units.entry(unit).or_default().drop_ins;
                    if drop_ins.insert(name.clone(), filled.text).is_some() {
                        wrong(format!("another template of {config} writes the drop-in {name} too"));
                    }
                }
            }
        }
    }
    if files.is_empty() && units.is_empty() {
        return None;
    }
    let mut ignition = json!({"ignition": {"version": SpecVersion::LATEST.as_str()}});
    if !files.is_empty() {
        ignition["storage"] = json!({"files": files.values().collect::<Vec<_>>()});
    }
    if !units.is_empty() {
        let units: Vec<Value> = units.iter().map(|(name, unit)| unit.to_json(name)).collect();
        ignition["systemd"] = json!({"units": units});
    }
    let mut made = empty(role, config_name(config, role));
    made.spec.config = Some(ignition);
    Some(made)
}

/// The values with which a template is filled in: once, or once for each registry.
fn each(template: &Template<'_>, settings: &Settings) -> Vec<Values> {
    if template.is_for_registries() {
        let registries = settings.registries.iter();
        let with = |own: &Values| {
            let mut values = settings.values.clone();
            values.extend(own.clone());
            values
        };
        registries.map(with).collect()
    } else {
        vec![settings.values.clone()]
    }
}

#[derive(Default)]
struct Unit {
    contents: Option<String>,
    enabled: bool,
    drop_ins: BTreeMap<String, String>,
}

impl Unit {
    fn to_json(&self, name: &str) -> Value {
        let mut unit = json!({"name": name});
        if self.enabled {
            unit["enabled"] = json!(true);
        }
        if let Some(contents) = &self.contents {
            unit["contents"] = json!(contents);
        }
        if !self.drop_ins.is_empty() {
            let drop_ins = self.drop_ins.iter();
            let drop_ins = drop_ins.map(|(name, contents)| json!({"name": name, "contents": contents}));
            unit["dropins"] = drop_ins.collect();
        }
        unit
    }
}

fn empty(role: &str, name: String) -> MachineConfig {
    MachineConfig {
        name,
        labels: [(ROLE_LABEL.to_owned(), role.to_owned())].into(),
        annotations: [
            (GENERATED_BY.to_owned(), controller_version()),
            (GENERATED_FROM.to_owned(), FROM_CONTROLLER_CONFIG.to_owned()),
        ]
        .into(),
        spec: MachineConfigSpec::default(),
    }
}

/// `00` becomes `00-<role>`, `01-kubelet` becomes `01-<role>-kubelet`.
fn config_name(config: &str, role: &str) -> String {
    match config.split_once('-') {
        Some((number, what)) => format!("{number}-{role}-{what}"),
        None => format!("{config}-{role}"),
    }
}

/// People's templates.
struct Overrides<'a>(Vec<Override<'a>>);

/// `<role>_<config>_<name>`, with the text.
struct Override<'a> {
    key: &'a str,
    role: &'a str,
    config: &'a str,
    name: &'a str,
    text: &'a str,
}

impl<'a> Overrides<'a> {
    fn read(data: Option<&'a BTreeMap<String, String>>, findings: &mut Vec<TemplateFinding>) -> Self {
        let mut overrides = Vec::new();
        for (key, text) in data.into_iter().flatten() {
            let parts = key.split_once('_').and_then(|(role, rest)| {
                let (config, name) = rest.split_once('_')?;
                let is_right = !role.is_empty() && !name.is_empty() && is_config(config);
                is_right.then_some((role, config, name))
            });
            match parts {
                Some((role, config, name)) => overrides.push(Override {
                    key,
                    role,
                    config,
                    name,
                    text,
                }),
                None => findings.push(TemplateFinding {
                    object: TemplateObject::ConfigMap,
                    path: format!("data.{key}"),
                    message: "it is not the name of a template".to_owned(),
                    help: "write ROLE_CONFIG_NAME, such as worker_00_motd or any_01-kubelet_kubelet.conf".to_owned(),
                    is_missing_object: false,
                }),
            }
        }
        Self(overrides)
    }
}

/// Two digits, and perhaps what the machine config is about. 98 and 99 are for what is made of other objects.
fn is_config(config: &str) -> bool {
    let (number, what) = config.split_once('-').unwrap_or((config, "x"));
    let is_number = number.len() == 2 && number.bytes().all(|byte| byte.is_ascii_digit()) && number < "97";
    let is_word = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    is_number && is_word(what)
}

#[cfg(test)]
mod tests;
