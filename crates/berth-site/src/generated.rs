//! The machine configs that controllers make of `KubeletConfig` and `ContainerRuntimeConfig` objects.
//!
//! ```text
//! pools, machine configs, objects ──generate──► 99-<pool>-generated-kubelet[-N], and what became of each object
//! ```
//!
//! One function for every door: what a folder renders to is what the controllers write into a cluster.

use std::collections::{BTreeMap, BTreeSet};

use berth_documents::{Sources, parse};
use berth_ignition::Config;
use berth_labels::LabelSelector;
use berth_pools::{
    ContainerRuntimeConfig, KUBELET_CONFIGURATION, KubeletBase, KubeletConfig, MASTER, MachineConfig, NODE_SIZING,
    ProtectFinding, ProtectKind, STORAGE_CONFIGURATION, Selecting, generated_name, merge_order, select, suffixes,
};
use serde_json::{Map, Value};

use crate::templated::Templated;

/// The label that nodes of the control plane have.
const MASTER_LABEL: &str = "node-role.kubernetes.io/master";

/// What the versions of Berth's own controllers begin with.
const OURS: &str = "berth-";

/// A pool, as far as objects select it and machine configs are made for it.
#[derive(Clone, Copy, Debug)]
pub struct GeneratingPool<'a> {
    /// Its name, which is the role of what is made for it.
    pub name: &'a str,
    /// Its own labels.
    pub labels: &'a BTreeMap<String, String>,
    /// Which machine configs it takes.
    pub machine_config_selector: Option<&'a LabelSelector>,
    /// Which nodes are in it.
    pub node_selector: Option<&'a LabelSelector>,
}

/// The machine configs that are made of objects, and what became of each object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Generated {
    /// The machine configs, by name: those of templates too.
    pub configs: BTreeMap<String, MachineConfig>,
    /// What became of templates.
    pub templates: Templated,
    /// The objects, by kind and name.
    pub outcomes: Vec<Outcome>,
}

/// Which kind of object machine configs are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GeneratingKind {
    /// `ContainerRuntimeConfig`.
    ContainerRuntimeConfig,
    /// `KubeletConfig`.
    KubeletConfig,
}

/// What became of one object.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Its kind.
    pub kind: GeneratingKind,
    /// Its name.
    pub name: String,
    /// The number in the names of its machine configs; 0 for none.
    pub suffix: u8,
    /// Why nothing is made of it.
    pub problems: Vec<ProtectFinding>,
    /// Whether it selects any pool.
    pub selects: bool,
    /// The pools it is for.
    pub pools: Vec<PoolOutcome>,
}

/// What became of one object for one pool.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolOutcome {
    /// The pool.
    pub pool: String,
    /// The name of the machine config.
    pub machine_config: String,
    /// What became of it.
    pub made: Made,
}

/// Whether there is a machine config.
#[derive(Clone, Debug, PartialEq)]
pub enum Made {
    /// It was made.
    Here,
    /// Somebody else made one of this name, which counts.
    Given,
    /// The pool has nothing to build on; why.
    NoBase(String),
    /// The object and the pool do not go together.
    Refused(ProtectFinding),
}

impl GeneratingKind {
    /// The kind's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ContainerRuntimeConfig => "ContainerRuntimeConfig",
            Self::KubeletConfig => "KubeletConfig",
        }
    }

    /// The last part of the names of machine configs.
    fn what(self) -> &'static str {
        match self {
            Self::ContainerRuntimeConfig => "containerruntime",
            Self::KubeletConfig => "kubelet",
        }
    }
}

impl Outcome {
    /// What the object's condition says, as the original's: `Success`, or why not.
    pub fn message(&self) -> Result<&'static str, String> {
        let refusals = self.pools.iter().filter_map(|pool| match &pool.made {
            Made::Here | Made::Given => None,
            Made::NoBase(reason) => Some(format!("pool {}: {reason}", pool.pool)),
            Made::Refused(finding) => Some(in_words(finding)),
        });
        let reasons: Vec<String> = self.problems.iter().map(in_words).chain(refusals).collect();
        match (reasons.is_empty(), self.pools.is_empty()) {
            (true, false) => Ok("Success"),
            (true, true) => {
                let kind = self.kind.as_str();
                Err(format!(
                    "Error: {kind} {} does not match any MachineConfigPools",
                    self.name
                ))
            }
            (false, _) => Err(format!("Error: {}", reasons.join("; "))),
        }
    }
}

/// A field of the kubelet's own configuration is named as the original does it.
fn in_words(finding: &ProtectFinding) -> String {
    if finding.path.starts_with("spec.kubeletConfig") {
        format!("KubeletConfiguration: {}", finding.message)
    } else {
        finding.message.clone()
    }
}

/// Makes the machine configs of all objects, over the machine configs that the pools have.
///
/// A machine config of the same name that somebody else made counts: in a dump of OpenShift it is the operator's. One of
/// Berth's own is made again. The order of the arguments does not matter.
pub fn generate(
    pools: &[GeneratingPool<'_>],
    machine_configs: &[&MachineConfig],
    kubelet_configs: &[&KubeletConfig],
    runtime_configs: &[&ContainerRuntimeConfig],
) -> Generated {
    let mut generated = Generated::default();
    if kubelet_configs.is_empty() && runtime_configs.is_empty() {
        return generated;
    }
    let mut pools = pools.to_vec();
    pools.sort_by_key(|pool| pool.name);
    let mut maker = Maker {
        machine_configs,
        given: machine_configs
            .iter()
            .filter(|config| !is_ours(config))
            .map(|config| config.name.as_str())
            .collect(),
        bases: BTreeMap::new(),
    };
    let runtime = runtime_configs.iter().map(|config| Source::Runtime(config));
    generated.add(
        GeneratingKind::ContainerRuntimeConfig,
        runtime.collect(),
        &pools,
        &mut maker,
    );
    let kubelet = kubelet_configs.iter().map(|config| Source::Kubelet(config));
    generated.add(GeneratingKind::KubeletConfig, kubelet.collect(), &pools, &mut maker);
    generated
}

impl Generated {
    fn add(
        &mut self,
        kind: GeneratingKind,
        mut sources: Vec<Source<'_>>,
        pools: &[GeneratingPool<'_>],
        maker: &mut Maker<'_>,
    ) {
        sources.sort_by_key(|source| source.selecting().name.as_str());
        let judged: Vec<(Source<'_>, Vec<&GeneratingPool<'_>>, Vec<ProtectFinding>)> = sources
            .into_iter()
            .map(|source| {
                let pools = pools.iter().filter(|pool| source.selecting().selects(pool.labels));
                (source, pools.collect(), source.problems())
            })
            .collect();
        // One that is refused takes no number, but keeps the one that it has.
        let numbered: Vec<(&Selecting, BTreeSet<&str>)> = judged
            .iter()
            .filter(|(source, _, problems)| problems.is_empty() || source.selecting().suffix.is_some())
            .map(|(source, pools, _)| (source.selecting(), pools.iter().map(|pool| pool.name).collect()))
            .collect();
        let suffixes = numbered
            .iter()
            .map(|(object, _)| object.name.as_str())
            .zip(suffixes(&numbered));
        let suffixes: BTreeMap<&str, _> = suffixes.collect();
        for (source, pools, mut problems) in judged {
            let name = source.selecting().name.as_str();
            let suffix = match suffixes.get(name) {
                Some(Err(error)) => {
                    problems.push(source.refused("metadata", error.to_string()));
                    0
                }
                Some(Ok(suffix)) => *suffix,
                None => 0,
            };
            let mut outcome = Outcome {
                kind,
                name: name.to_owned(),
                suffix,
                problems,
                selects: !pools.is_empty(),
                pools: Vec::new(),
            };
            for pool in pools {
                let machine_config = generated_name(pool.name, kind.what(), suffix);
                if outcome.problems.is_empty() || maker.given.contains(machine_config.as_str()) {
                    let made = self.make(source, pool, &machine_config, maker);
                    outcome.pools.push(PoolOutcome {
                        pool: pool.name.to_owned(),
                        machine_config,
                        made,
                    });
                }
            }
            self.outcomes.push(outcome);
        }
    }

    fn make(&mut self, source: Source<'_>, pool: &GeneratingPool<'_>, name: &str, maker: &mut Maker<'_>) -> Made {
        if maker.given.contains(name) {
            return Made::Given;
        }
        let base = maker.base(pool);
        let made = match source {
            Source::Runtime(config) => config.generate(pool.name, name.to_owned(), base.storage.as_deref()),
            Source::Kubelet(config) => {
                if let Some(problem) = config.static_pods_problem(pool.name, is_control_plane(pool)) {
                    return Made::Refused(problem);
                }
                let configuration = match &base.configuration {
                    Ok(configuration) => configuration,
                    Err(reason) => return Made::NoBase(reason.clone()),
                };
                let base = KubeletBase {
                    configuration,
                    node_sizing: base.node_sizing,
                    log_variable: base.log_variable,
                };
                config.generate(pool.name, name.to_owned(), base)
            }
        };
        match made {
            Ok(config) => {
                self.configs.insert(name.to_owned(), config);
                Made::Here
            }
            Err(finding) => Made::Refused(finding),
        }
    }

    /// The objects that something is made of for a pool, with the machine configs.
    pub fn of_pool<'a>(&'a self, pool: &'a str) -> impl Iterator<Item = (&'a Outcome, &'a PoolOutcome)> {
        self.outcomes.iter().flat_map(move |outcome| {
            let of_pool = outcome.pools.iter().filter(move |it| it.pool == pool);
            of_pool.map(move |it| (outcome, it))
        })
    }

    /// The object that a machine config is made of.
    pub fn origin(&self, machine_config: &str) -> Option<&Outcome> {
        let made = |it: &PoolOutcome| it.made == Made::Here && it.machine_config == machine_config;
        self.outcomes.iter().find(|outcome| outcome.pools.iter().any(made))
    }
}

/// An object that machine configs are made of.
#[derive(Clone, Copy)]
enum Source<'a> {
    Runtime(&'a ContainerRuntimeConfig),
    Kubelet(&'a KubeletConfig),
}

impl<'a> Source<'a> {
    fn selecting(self) -> &'a Selecting {
        match self {
            Self::Runtime(config) => &config.selecting,
            Self::Kubelet(config) => &config.selecting,
        }
    }

    fn problems(self) -> Vec<ProtectFinding> {
        match self {
            Self::Runtime(config) => config.problems(),
            Self::Kubelet(config) => config.problems(),
        }
    }

    fn refused(self, path: &str, message: String) -> ProtectFinding {
        ProtectFinding {
            machine_config: self.selecting().name.clone(),
            path: path.to_owned(),
            line: None,
            kind: ProtectKind::RefusedField,
            message,
            help: String::new(),
        }
    }
}

/// What is looked up again and again while machine configs are made.
struct Maker<'a> {
    machine_configs: &'a [&'a MachineConfig],
    /// The names of those that Berth did not make.
    given: BTreeSet<&'a str>,
    bases: BTreeMap<String, Base>,
}

/// What the machine configs of a pool have that generated ones build on.
struct Base {
    configuration: Result<Map<String, Value>, String>,
    node_sizing: bool,
    log_variable: bool,
    storage: Option<String>,
}

impl Maker<'_> {
    fn base(&mut self, pool: &GeneratingPool<'_>) -> &Base {
        let configs = self.machine_configs;
        self.bases
            .entry(pool.name.to_owned())
            .or_insert_with(|| Base::of(pool, configs))
    }
}

impl Base {
    fn of(pool: &GeneratingPool<'_>, configs: &[&MachineConfig]) -> Self {
        let own = configs.iter().copied().filter(|config| !is_generated(&config.name));
        let selected = pool
            .machine_config_selector
            .and_then(|selector| select(own, selector).ok());
        let mut base = Self {
            configuration: Err(format!("no machine config of the pool has {KUBELET_CONFIGURATION}")),
            node_sizing: false,
            log_variable: false,
            storage: None,
        };
        // What a controller wrote is the template; what people wrote beside it is merged when the pool is rendered.
        let mut of_template = false;
        for config in merge_order(selected.unwrap_or_default()) {
            let Some(ignition) = config
                .spec
                .config
                .as_ref()
                .and_then(|json| berth_ignition::parse(json).config)
            else {
                continue;
            };
            base.node_sizing |= contents(&ignition, NODE_SIZING).is_some();
            base.log_variable |= asks_for_log_level(&ignition);
            base.storage = contents(&ignition, STORAGE_CONFIGURATION)
                .and_then(|contents| String::from_utf8(contents.ok()?).ok())
                .or_else(|| base.storage.take());
            let is_template = config.generated_by().is_some();
            if let Some(contents) = contents(&ignition, KUBELET_CONFIGURATION).filter(|_| is_template || !of_template) {
                of_template = is_template;
                let in_config = |reason| format!("{KUBELET_CONFIGURATION} of machine config {}: {reason}", config.name);
                base.configuration = contents.and_then(|bytes| configuration(&bytes)).map_err(in_config);
            }
        }
        base
    }
}

/// The contents that a config gives a file; nothing where it gives none.
fn contents(ignition: &Config, path: &str) -> Option<Result<Vec<u8>, String>> {
    let file = ignition.find_file(path)?;
    file.contents.as_ref()?.source.as_ref()?;
    Some(berth_ignition::file_contents(file).map_err(|error| error.to_string()))
}

/// Reads a kubelet's configuration as the kubelet does.
fn configuration(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not text".to_owned())?;
    let mut sources = Sources::new();
    let id = sources.add(KUBELET_CONFIGURATION, text);
    let read = parse(&sources, id);
    let [document] = read.documents.as_slice() else {
        return Err("it is not one YAML document".to_owned());
    };
    match document.root.to_json() {
        Value::Object(fields) if fields.get("kind").is_some_and(|kind| kind == "KubeletConfiguration") => Ok(fields),
        _ => Err("it is not a KubeletConfiguration".to_owned()),
    }
}

/// Whether the kubelet's unit has its log level from a variable.
fn asks_for_log_level(ignition: &Config) -> bool {
    const VARIABLE: &str = "KUBELET_LOG_LEVEL";
    let mut units = ignition.units().iter().filter(|unit| unit.name == "kubelet.service");
    let in_unit = units.any(|unit| {
        let drop_ins = unit.dropins.iter().flatten().map(|drop_in| &drop_in.contents);
        let mut texts = std::iter::once(&unit.contents).chain(drop_ins).flatten();
        texts.any(|text| text.contains(VARIABLE))
    });
    let mut files = ignition
        .files()
        .iter()
        .filter(|file| file.path.starts_with("/etc/systemd/system/kubelet.service.d/"));
    in_unit
        || files.any(|file| {
            let contents = berth_ignition::file_contents(file);
            contents.is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(VARIABLE))
        })
}

/// Whether a machine config is made of such an object.
fn is_generated(name: &str) -> bool {
    let kinds = [GeneratingKind::ContainerRuntimeConfig, GeneratingKind::KubeletConfig];
    name.starts_with("99-")
        && kinds
            .iter()
            .any(|kind| name.contains(&format!("-generated-{}", kind.what())))
}

pub(crate) fn is_ours(config: &MachineConfig) -> bool {
    config.generated_by().is_some_and(|version| version.starts_with(OURS))
}

/// Whether the pool's machines run the control plane.
fn is_control_plane(pool: &GeneratingPool<'_>) -> bool {
    let selects_masters = pool.node_selector.is_some_and(|selector| {
        let mut expressions = selector.match_expressions.iter();
        selector.match_labels.contains_key(MASTER_LABEL)
            || expressions.any(|it| it.key == MASTER_LABEL && matches!(it.operator.as_str(), "Exists" | "In"))
    });
    pool.name == MASTER || pool.name == "arbiter" || selects_masters
}

#[cfg(test)]
mod tests;
