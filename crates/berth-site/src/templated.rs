//! The machine configs that templates become, beside those that are there already.
//!
//! ```text
//! ControllerConfig, ConfigMap, Secret, pools ──templates──► machine configs ──templated──► those that count
//! ```

use std::collections::{BTreeMap, BTreeSet};

use berth_pools::{
    FROM_CONTROLLER_CONFIG, GENERATED_FROM, MachineConfig, TemplateFinding, TemplateInput, controller_version,
    templates,
};

use crate::generated::is_ours;

/// What became of the templates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Templated {
    /// The machine configs that are made, by name.
    pub configs: BTreeMap<String, MachineConfig>,
    /// Those that count instead of one that would be made.
    pub held: Vec<Held>,
    /// Why nothing is made.
    pub findings: Vec<TemplateFinding>,
}

/// A machine config that is not made, for there is one of this name already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The machine config.
    pub name: String,
    /// The newer version of Berth that made it; nothing where somebody else did.
    pub newer: Option<String>,
}

impl std::fmt::Display for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.newer {
            Some(version) => write!(
                f,
                "{} was made by {version}, which is newer than {}",
                self.name,
                controller_version()
            ),
            None => write!(f, "{} was not made by Berth, and counts as it is", self.name),
        }
    }
}

/// Makes the machine configs of templates.
///
/// One of the same name that somebody else made counts as it is, and so does one of a newer version of Berth: two versions
/// that run side by side do not write over each other. Where anything is wrong nothing is made, and what is there stays.
pub fn templated(input: &TemplateInput<'_>, machine_configs: &[&MachineConfig]) -> Templated {
    let made = match templates(input) {
        Ok(made) => made,
        Err(findings) => {
            return Templated {
                findings,
                ..Templated::default()
            };
        }
    };
    let mut templated = Templated::default();
    let known: BTreeMap<&str, &MachineConfig> = machine_configs
        .iter()
        .map(|config| (config.name.as_str(), *config))
        .collect();
    for config in made {
        let held = known.get(config.name.as_str()).and_then(|known| held(known));
        match held {
            Some(held) => templated.held.push(held),
            None => {
                templated.configs.insert(config.name.clone(), config);
            }
        }
    }
    templated
}

fn held(config: &MachineConfig) -> Option<Held> {
    let newer = match config.generated_by().filter(|_| is_ours(config)) {
        None => None,
        Some(by) if is_newer(by) => Some(by.to_owned()),
        Some(_) => return None,
    };
    Some(Held {
        name: config.name.clone(),
        newer,
    })
}

/// The names of machine configs that were made of templates by this version of Berth or an older one, and that `kept` does not have.
pub fn outdated_templates<'a>(
    machine_configs: impl IntoIterator<Item = &'a MachineConfig>,
    kept: &BTreeSet<&str>,
) -> Vec<String> {
    let of_templates = |config: &&MachineConfig| {
        is_ours(config)
            && config
                .annotations
                .get(GENERATED_FROM)
                .is_some_and(|from| from == FROM_CONTROLLER_CONFIG)
    };
    let outdated = machine_configs.into_iter().filter(of_templates).filter(|config| {
        let is_newer = config.generated_by().is_some_and(is_newer);
        !is_newer && !kept.contains(config.name.as_str())
    });
    outdated.map(|config| config.name.clone()).collect()
}

/// Whether a newer version of Berth is meant.
fn is_newer(by: &str) -> bool {
    match (numbers(by), numbers(&controller_version())) {
        (Some(theirs), Some(ours)) => theirs > ours,
        _ => false,
    }
}

/// The numbers of `berth-1.2.3`.
fn numbers(version: &str) -> Option<Vec<u64>> {
    let version = version.strip_prefix("berth-")?;
    let plain = version.split(['-', '+']).next().unwrap_or_default();
    plain.split('.').map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests;
