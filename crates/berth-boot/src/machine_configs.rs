//! Machine configs that carry a pool's boot labels.

use berth_ignition::{Config, SpecVersion};
use berth_pools::{MachineConfig, MachineConfigSpec, ROLE_LABEL, SIZE_LIMIT, UserPolicy};
use berth_units::LeftOut;
use serde_json::Value;

use crate::{
    boot_files::{BootFile, BootInput, GENERATOR_PATH, boot_files},
    error::BootError,
    ignition::{ignition_file, write},
    policy::{disruption_policy, machine_configuration},
    way::Way,
};

/// What the names of the machine configs begin and end with; the pool's name is between.
const OWN_NAMES: [(&str, &str); 2] = [("98-", "-berth-generator"), ("99-", "-berth-labels")];

/// Whether a machine config of this name is one that [`machine_configs`] makes. What a pool has without Berth is what it
/// has without these: otherwise labels of yesterday would be taken for somebody else's.
pub fn is_own_machine_config(name: &str) -> bool {
    OWN_NAMES.iter().any(|(before, after)| {
        name.len() > before.len() + after.len() && name.starts_with(before) && name.ends_with(after)
    })
}

/// What goes into machine configs.
#[derive(Debug, Clone, Copy)]
pub struct MachineConfigInput<'a> {
    /// The pool.
    pub pool: &'a str,
    /// The labels and what is known about the pool's machines.
    pub boot: BootInput<'a>,
    /// The Ignition version to write.
    pub spec: SpecVersion,
}

/// Machine configs and what belongs to them.
#[derive(Debug, Clone, PartialEq)]
pub struct MachineConfigs {
    /// The way that is taken.
    pub way: Way,
    /// The machine configs: the labels, and apart from them the executable, so that a change of labels stays small.
    pub machine_configs: Vec<MachineConfig>,
    /// What a change of the files needs.
    pub policy: UserPolicy,
    /// The labels that need another route.
    pub left_out: Vec<LeftOut>,
    /// What a person should know.
    pub notes: Vec<String>,
}

impl MachineConfigs {
    /// All objects to apply, the policy first: without it the files would cost a reboot.
    pub fn objects(&self) -> Vec<Value> {
        std::iter::once(machine_configuration(&self.policy))
            .chain(self.machine_configs.iter().map(MachineConfig::to_json))
            .collect()
    }
}

/// Makes the machine configs of a pool. Everything is a file with a policy of its own; a drop-in of a unit would count as
/// a change of that unit, and make OpenShift reboot.
pub fn machine_configs(input: &MachineConfigInput<'_>) -> Result<MachineConfigs, BootError> {
    let files = boot_files(&input.boot)?;
    let (generator, labels): (Vec<&BootFile>, Vec<&BootFile>) =
        files.files.iter().partition(|file| file.path == GENERATOR_PATH);
    let mut machine_configs = Vec::new();
    for (name, part) in OWN_NAMES
        .into_iter()
        .zip([generator, labels])
        .filter(|(_, part)| !part.is_empty())
        .map(|((before, after), part)| (format!("{before}{}{after}", input.pool), part))
    {
        machine_configs.push(machine_config(name, input, &part)?);
    }
    check_size(&machine_configs)?;
    Ok(MachineConfigs {
        policy: disruption_policy(&files),
        way: files.way,
        machine_configs,
        left_out: files.left_out,
        notes: files.notes,
    })
}

fn machine_config(
    name: String,
    input: &MachineConfigInput<'_>,
    files: &[&BootFile],
) -> Result<MachineConfig, BootError> {
    let mut config = Config::new();
    for file in files {
        config.set_file(ignition_file(file));
    }
    Ok(MachineConfig {
        name,
        labels: [(ROLE_LABEL.to_owned(), input.pool.to_owned())].into(),
        spec: MachineConfigSpec {
            config: Some(write(&config, input.spec)?),
            ..MachineConfigSpec::default()
        },
        ..MachineConfig::default()
    })
}

fn check_size(machine_configs: &[MachineConfig]) -> Result<(), BootError> {
    let sizes: Vec<(String, usize)> = machine_configs
        .iter()
        .map(|config| (config.name.clone(), config.to_json().to_string().len()))
        .collect();
    let total = sizes.iter().map(|(_, size)| size).sum();
    if total > SIZE_LIMIT {
        return Err(BootError::TooLarge {
            total,
            limit: SIZE_LIMIT,
            sizes,
        });
    }
    Ok(())
}
