//! What machines are served before they are nodes: the config of each pool, and the place of each machine.

use std::collections::BTreeMap;

use berth_documents::Severity;
use berth_labels::{Flavour, LabelSet, Route, choose_route};
use berth_pools::{ControllerConfig, MachineConfig, RenderOptions};
use berth_resources::Berth;
use berth_site::{Pool, Resolution, Resolver, name_notes, render_pool};
use serde_json::Value;

use crate::{
    chain::Chain,
    definitions::{Definitions, Question},
    node::{current_pool, first_of},
    pools::PoolView,
    which::{PoolConfigurations, which_config},
};

/// Everything that machines can be served, at one moment.
#[derive(Clone, Debug, Default)]
pub struct Serving {
    /// Whose kubelet runs on the machines.
    pub flavour: Flavour,
    /// The pools, by name.
    pub pools: BTreeMap<String, PoolServing>,
    /// The machines, by the names of their Nodes; or why the place of one is in doubt. A wrong config costs a reboot, so that
    /// such a machine gets none.
    pub nodes: BTreeMap<String, Result<Place, String>>,
    /// What OpenShift's operator serves beside rendered configs: certificates.
    pub controller_config: Option<ControllerConfig>,
    /// What is odd and stops nothing.
    pub notices: Vec<String>,
}

/// What the machines of one pool are served.
#[derive(Clone, Debug)]
pub struct PoolServing {
    /// Its rendered config, or why there is none yet.
    pub config: Result<MachineConfig, String>,
    /// The labels that every machine of the pool registers with.
    pub labels: LabelSet,
}

/// Where one machine belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its pool.
    pub pool: String,
    /// The labels that it registers with: those of the route `boot`.
    pub labels: LabelSet,
}

impl Serving {
    /// What the documents of a site say: configs are rendered from them.
    pub fn of_site(resolver: &Resolver<'_>, options: &RenderOptions) -> Self {
        let mut serving = Self {
            flavour: resolver.flavour(),
            controller_config: resolver.site().controller_config.clone(),
            ..Self::default()
        };
        serving.render(resolver, options);
        for resolution in resolver.resolve_all() {
            serving.nodes.insert(resolution.node.to_string(), place(&resolution));
        }
        serving
    }

    /// What a cluster has: its rendered configs, chosen as its operator chooses them, and the places that its Berths have now.
    /// Without a flavour the objects say it.
    pub fn of_cluster<'a>(objects: impl IntoIterator<Item = &'a Value>, flavour: impl Into<Option<Flavour>>) -> Self {
        let mut cluster = Objects::default();
        for object in objects {
            cluster.add(object);
        }
        let mut definitions = Definitions::new(cluster.others.iter().copied(), flavour);
        let mut serving = Self {
            flavour: definitions.flavour(),
            controller_config: definitions.site().controller_config.clone(),
            notices: definitions
                .findings()
                .iter()
                .filter(|finding| finding.severity == Severity::Error)
                .map(|finding| format!("{}: {}", finding.place(), finding.message))
                .collect(),
            ..Self::default()
        };
        let resolver = Resolver::new(definitions.site(), definitions.flavour());
        for object in &cluster.pools {
            let pool = PoolView::read(object);
            let config = cluster.config(&pool);
            let labels = serving.pool_labels(&resolver, &pool.name);
            serving.pools.insert(pool.name, PoolServing { config, labels });
        }
        drop(resolver);
        serving.reserve(&mut definitions, &cluster.berths);
        serving
    }

    /// What documents say, with the places that Berths have now: for a cluster in which nobody renders configs.
    #[must_use]
    pub fn with_places(mut self, definitions: &mut Definitions, berths: &[Berth]) -> Self {
        self.reserve(definitions, berths);
        self
    }

    fn reserve(&mut self, definitions: &mut Definitions, berths: &[Berth]) {
        let reserved = first_of(berths);
        let pins: Vec<Option<&str>> = reserved.iter().map(|berth| current_pool(definitions, berth)).collect();
        let names: Vec<String> = reserved.iter().map(|berth| berth.node_name()).collect();
        let questions: Vec<Question<'_>> = reserved
            .iter()
            .zip(&pins)
            .zip(&names)
            .map(|((berth, pin), name)| Question {
                node: name,
                berth: Some(berth),
                pin: pin.map(Some),
                live: None,
            })
            .collect();
        let answers = definitions.resolve(&questions);
        for (name, answer) in names.into_iter().zip(answers) {
            let place = match (answer.error(), &answer.pool) {
                (Some(error), _) => Err(error.message.clone()),
                (None, None) => Err(in_no_pool(&name)),
                (None, Some(pool)) => Ok(Place {
                    pool: pool.to_string(),
                    labels: self.boot_labels(&answer.labels),
                }),
            };
            self.nodes.insert(name, place);
        }
    }

    fn render(&mut self, resolver: &Resolver<'_>, options: &RenderOptions) {
        let site = resolver.site();
        let mut pools: Vec<&Pool> = site.pools.iter().collect();
        pools.sort_by(|a, b| a.name.value.cmp(&b.name.value));
        // A name that is there twice has been reported; which of them counts cannot be known.
        pools.dedup_by(|a, b| a.name.value == b.name.value);
        let mut named = Vec::new();
        for pool in pools {
            let config = match render_pool(site, pool, options) {
                Ok(rendered) => {
                    self.notices.extend(rendered.warnings.iter().map(ToString::to_string));
                    let config = rendered.to_machine_config();
                    named.push((pool, rendered));
                    Ok(config)
                }
                Err(error) => {
                    let reason = Chain(&error).to_string();
                    self.notices
                        .push(format!("{reason}; its machines are told to try again"));
                    Err(reason)
                }
            };
            let name = pool.name.value.to_string();
            let labels = self.pool_labels(resolver, &name);
            self.pools.insert(name, PoolServing { config, labels });
        }
        let named = named.iter().map(|(pool, rendered)| (*pool, rendered));
        self.notices.extend(name_notes(site, self.flavour, named));
    }

    fn pool_labels(&self, resolver: &Resolver<'_>, pool: &str) -> LabelSet {
        self.boot_labels(&resolver.pool_labels(pool).unwrap_or_default())
    }

    fn boot_labels(&self, labels: &LabelSet) -> LabelSet {
        let boot = labels
            .iter()
            .filter(|(key, _)| choose_route(self.flavour, key) == Route::Boot);
        boot.map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}

/// The objects of a cluster, by what they are for.
#[derive(Default)]
struct Objects<'a> {
    pools: Vec<&'a Value>,
    configs: BTreeMap<&'a str, &'a Value>,
    berths: Vec<Berth>,
    /// What pools and rules are read from. Machine configs are not: what they render to is in the cluster.
    others: Vec<&'a Value>,
}

impl<'a> Objects<'a> {
    fn add(&mut self, object: &'a Value) {
        match object.get("kind").and_then(Value::as_str) {
            Some("Berth") => self.berths.extend(serde_json::from_value(object.clone()).ok()),
            Some("MachineConfig") => {
                let name = object.pointer("/metadata/name").and_then(Value::as_str);
                self.configs.extend(name.map(|name| (name, object)));
            }
            Some("MachineConfigPool") => {
                self.pools.push(object);
                self.others.push(object);
            }
            _ => self.others.push(object),
        }
    }

    /// The rendered config that new machines of a pool get.
    fn config(&self, pool: &PoolView) -> Result<MachineConfig, String> {
        let name = &pool.name;
        let chosen = which_config(PoolConfigurations {
            target: pool.target.as_deref().unwrap_or_default(),
            reached: pool.completed().unwrap_or_default(),
            updated_machines: i64::from(pool.status.updated_machine_count.unwrap_or_default()),
        });
        let Some(chosen) = chosen else {
            return Err(format!(
                "pool {name} has no rendered config yet: the Machine Config Operator or `berth controller --mode full` makes it"
            ));
        };
        let Some(object) = self.configs.get(chosen) else {
            return Err(format!(
                "pool {name} is at {chosen}, and the cluster has no such MachineConfig"
            ));
        };
        MachineConfig::from_json(object).map_err(|error| format!("{chosen}: {}", Chain(&error)))
    }
}

/// Where the documents put a machine.
fn place(resolution: &Resolution) -> Result<Place, String> {
    let mut diagnostics = resolution.diagnostics.iter();
    if let Some(error) = diagnostics.find(|it| it.severity() == Severity::Error) {
        return Err(error.message.clone());
    }
    let pool = resolution.pool_name().ok_or_else(|| in_no_pool(&resolution.node))?;
    let boot = resolution.labels.iter().filter(|label| label.route == Route::Boot);
    Ok(Place {
        pool: pool.to_owned(),
        labels: boot.map(|label| (label.key.clone(), label.value.clone())).collect(),
    })
}

fn in_no_pool(node: &str) -> String {
    format!("node {node} is in no pool")
}
