//! A whole Ignition config for a pool or for one machine.

use berth_ignition::{Config, Encoding, Finding, SpecVersion, file_as, file_contents, types, validate};
use berth_labels::Flavour;
use berth_units::{DEFAULT_KUBELET_PATH, EffectiveUnit, KUBELET_ENV_PATH, LABELS_PATH, LeftOut};
use serde_json::Value;

use crate::{
    boot_files::{BootFile, BootFiles, BootInput, ExistingFile, boot_files},
    error::BootError,
    kubelet_unit::kubelet_unit,
    way::Way,
};

/// The mode that Ignition gives a file without one.
const DEFAULT_MODE: u32 = 0o644;

/// What goes into a config.
#[derive(Debug, Clone, Copy)]
pub struct IgnitionInput<'a> {
    /// The config that the machine gets anyhow, such as its pool's rendered one.
    pub base: Option<&'a Config>,
    /// The labels and what is known. A unit and an environment file that the base brings count where none is given here.
    pub boot: BootInput<'a>,
    /// Further files for this machine.
    pub files: &'a [types::File],
    /// The version to write.
    pub spec: SpecVersion,
}

/// A config and what to know about it.
#[derive(Debug, Clone, PartialEq)]
pub struct IgnitionAnswer {
    /// The config.
    pub config: Value,
    /// The way that is taken.
    pub way: Way,
    /// The labels that need another route.
    pub left_out: Vec<LeftOut>,
    /// What a person should know.
    pub notes: Vec<String>,
}

/// Writes the config. It is one that Ignition accepts, or there is none.
pub fn ignition(input: &IgnitionInput<'_>) -> Result<IgnitionAnswer, BootError> {
    let mut config = input.base.cloned().unwrap_or_default();
    let BootFiles {
        way,
        files,
        labels,
        left_out,
        notes,
    } = files_on(&config, &input.boot)?;
    for file in &files {
        // Without labels there is nothing to hand over, unless the config has others. The Ignition server does the same.
        let says_nothing = file.contents.is_empty() || file.path == LABELS_PATH;
        if labels.is_empty() && says_nothing && config.find_file(&file.path).is_none() {
            continue;
        }
        let mut new = ignition_file(file);
        if let Some(old) = config.find_file(&file.path) {
            new.user.clone_from(&old.user);
            new.group.clone_from(&old.group);
        }
        config.set_file(new);
    }
    for file in input.files {
        config.set_file(file.clone());
    }
    Ok(IgnitionAnswer {
        config: write(&config, input.spec)?,
        way,
        left_out,
        notes,
    })
}

/// The boot files for a machine that has this config already.
fn files_on(config: &Config, boot: &BootInput<'_>) -> Result<BootFiles, BootError> {
    let unit: Option<EffectiveUnit> = match boot.unit {
        Some(_) => None,
        None => kubelet_unit(config)?,
    };
    let path = match boot.flavour {
        Flavour::Openshift => KUBELET_ENV_PATH,
        Flavour::Upstream => DEFAULT_KUBELET_PATH,
    };
    let old = config.find_file(path);
    let contents = old.map(file_contents).transpose();
    let contents = contents.map_err(|source| BootError::Contents {
        path: path.to_owned(),
        source,
    })?;
    let mode = old.and_then(|file| file.mode).and_then(|mode| u32::try_from(mode).ok());
    let environment = contents.as_deref().map(|contents| ExistingFile {
        contents,
        mode: mode.unwrap_or(DEFAULT_MODE),
    });
    boot_files(&BootInput {
        unit: boot.unit.or(unit.as_ref()),
        environment_file: boot.environment_file.or(environment),
        ..*boot
    })
}

/// An executable is compressed; text stays readable.
pub(crate) fn ignition_file(file: &BootFile) -> types::File {
    let encoding = if file.contents.starts_with(b"\x7fELF") {
        Encoding::GzipBase64
    } else {
        Encoding::Percent
    };
    file_as(file.path.as_str(), file.mode, &file.contents, encoding)
}

/// Writes a config in a version, if Ignition accepts it.
pub(crate) fn write(config: &Config, version: SpecVersion) -> Result<Value, BootError> {
    if let Some(finding) = validate(config).into_iter().find(Finding::is_error) {
        return Err(BootError::Refused {
            path: finding.path,
            message: finding.message,
        });
    }
    config
        .to_version(version)
        .map_err(|source| BootError::Version { version, source })
}
