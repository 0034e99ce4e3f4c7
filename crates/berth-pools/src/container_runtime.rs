//! `ContainerRuntimeConfig`: settings that people want for CRI-O on whole pools, and the machine configs that they become.

use std::collections::BTreeMap;

use berth_ignition::{Encoding, file_as};
use berth_labels::LabelSelector;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    generated::Selecting,
    kubelet_config::machine_config,
    machine_config::{MachineConfig, MachineConfigError, WireMetadata, null_is_default},
    protect::{ProtectFinding, ProtectKind},
};

/// Where the options of container storage are on a machine.
pub const STORAGE_CONFIGURATION: &str = "/etc/containers/storage.conf";

/// Where CRI-O reads further settings.
const DROP_INS: &str = "/etc/crio/crio.conf.d/01-ctrcfg-";

/// A `ContainerRuntimeConfig` of `machineconfiguration.openshift.io/v1`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContainerRuntimeConfig {
    /// Its name, the pools it is for, and its place among others.
    pub selecting: Selecting,
    settings: Settings,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Wire {
    #[serde(deserialize_with = "null_is_default")]
    metadata: WireMetadata,
    #[serde(deserialize_with = "null_is_default")]
    spec: WireSpec,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireSpec {
    #[serde(deserialize_with = "null_is_default")]
    machine_config_pool_selector: LabelSelector,
    #[serde(deserialize_with = "null_is_default")]
    container_runtime_config: Settings,
}

/// What CRI-O is to be like.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Settings {
    pids_limit: Option<i64>,
    log_level: Option<String>,
    log_size_max: Option<Quantity>,
    overlay_size: Option<Quantity>,
    default_runtime: Option<String>,
    /// Fields that nothing is made of.
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

/// A quantity as Kubernetes reads it, in whole units.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
struct Quantity {
    text: String,
    value: i128,
}

impl TryFrom<Value> for Quantity {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let text = match &value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => return Err("it is not a quantity such as \"8Gi\"".to_owned()),
        };
        let value = quantity(&text).ok_or_else(|| format!("`{text}` is not a quantity such as \"8Gi\""))?;
        Ok(Self { text, value })
    }
}

/// The value of a quantity, rounded up.
fn quantity(text: &str) -> Option<i128> {
    let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end)?;
    let factor: i128 = match unit {
        "" => 1,
        "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "P" => 1_000_000_000_000_000,
        "E" => 1_000_000_000_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        "Pi" => 1 << 50,
        "Ei" => 1 << 60,
        _ => return None,
    };
    let negative = number.starts_with('-');
    let digits = number.strip_prefix(['-', '+']).unwrap_or(number);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !is_digits(whole) || !is_digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let parse = |text: &str| {
        if text.is_empty() {
            Some(0)
        } else {
            text.parse::<i128>().ok()
        }
    };
    let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let exact = parse(whole)?
        .checked_mul(scale)?
        .checked_add(parse(fraction)?)?
        .checked_mul(factor)?;
    let rounded = exact.checked_add(scale - 1)? / scale;
    Some(if negative { -rounded } else { rounded })
}

impl ContainerRuntimeConfig {
    /// Reads the object as the API server would give it.
    pub fn from_json(json: &Value) -> Result<Self, MachineConfigError> {
        let wire: Wire = serde_path_to_error::deserialize(json).map_err(MachineConfigError::field)?;
        Ok(Self {
            selecting: Selecting::new(wire.metadata, wire.spec.machine_config_pool_selector)?,
            settings: wire.spec.container_runtime_config,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.selecting.name
    }

    /// Whether it is for a pool with these labels.
    pub fn selects(&self, pool_labels: &BTreeMap<String, String>) -> bool {
        self.selecting.selects(pool_labels)
    }

    /// Why no machine config is made of it. The rules are the original's.
    pub fn problems(&self) -> Vec<ProtectFinding> {
        let mut found = Vec::new();
        let mut refuse = |field: &str, message: String| found.push(self.refused(field, message));
        let settings = &self.settings;
        if let Some(limit) = settings.pids_limit.filter(|limit| *limit != 0 && *limit < 20) {
            refuse("pidsLimit", format!("invalid PidsLimit {limit}"));
        }
        if let Some(size) = settings
            .log_size_max
            .as_ref()
            .filter(|size| (1..=8192).contains(&size.value))
        {
            refuse(
                "logSizeMax",
                format!("invalid LogSizeMax \"{}\", cannot be less than 8kB", size.text),
            );
        }
        if let Some(size) = settings.overlay_size.as_ref().filter(|size| size.value < 0) {
            refuse(
                "overlaySize",
                format!("invalid overlaySize \"{}\", cannot be less than 0", size.text),
            );
        }
        let levels = ["", "error", "fatal", "panic", "warn", "info", "debug", "trace"];
        if let Some(level) = settings.log_level.as_deref().filter(|level| !levels.contains(level)) {
            let message = format!(
                "invalid LogLevel \"{level}\", must be one of error, fatal, panic, warn, info, debug, or trace"
            );
            refuse("logLevel", message);
        }
        if let Some(runtime) = settings
            .default_runtime
            .as_deref()
            .filter(|it| !["", "crun", "runc"].contains(it))
        {
            refuse(
                "defaultRuntime",
                format!("invalid DefaultRuntime \"{runtime}\", must be one of crun, runc"),
            );
        }
        for field in settings.others.keys() {
            refuse(field, format!("no machine config can be made of {field}"));
        }
        found
    }

    /// The machine config of a pool. `storage` is the pool's [`STORAGE_CONFIGURATION`].
    pub fn generate(&self, pool: &str, name: String, storage: Option<&str>) -> Result<MachineConfig, ProtectFinding> {
        let settings = &self.settings;
        let mut files = Vec::new();
        if let Some(size) = settings.overlay_size.as_ref().filter(|size| size.value != 0) {
            let Some(text) = storage.and_then(|text| with_overlay_size(text, &size.text)) else {
                let message = format!(
                    "overlaySize is written into {STORAGE_CONFIGURATION}, and no machine config of pool {pool} has that file with [storage.options]"
                );
                return Err(self.refused("overlaySize", message));
            };
            files.push(file_as(STORAGE_CONFIGURATION, 0o644, text, Encoding::Base64));
        }
        let mut drop_in = |name: &str, key: &str, value: String| {
            let text = format!("[crio]\n  [crio.runtime]\n    {key} = {value}\n");
            files.push(file_as(format!("{DROP_INS}{name}"), 0o644, text, Encoding::Base64));
        };
        let text = |text: &Option<String>| {
            text.as_deref()
                .filter(|text| !text.is_empty())
                .map(|text| format!("\"{text}\""))
        };
        if let Some(level) = text(&settings.log_level) {
            drop_in("logLevel", "log_level", level);
        }
        if let Some(limit) = settings.pids_limit.filter(|limit| *limit != 0) {
            drop_in("pidsLimit", "pids_limit", limit.to_string());
        }
        if let Some(size) = settings.log_size_max.as_ref().filter(|size| size.value != 0) {
            drop_in("logSizeMax", "log_size_max", size.value.to_string());
        }
        if let Some(runtime) = text(&settings.default_runtime) {
            drop_in("defaultRuntime", "default_runtime", runtime);
        }
        Ok(machine_config(pool, name, &json!(files)))
    }

    fn refused(&self, field: &str, message: String) -> ProtectFinding {
        ProtectFinding {
            machine_config: self.name().to_owned(),
            path: format!("spec.containerRuntimeConfig.{field}"),
            line: None,
            kind: ProtectKind::RefusedField,
            message,
            help: String::new(),
        }
    }
}

/// The options of container storage with another size, where there is a table for it. Everything else stays as it is written.
fn with_overlay_size(text: &str, size: &str) -> Option<String> {
    let mut lines: Vec<&str> = text.lines().collect();
    let header = lines.iter().position(|line| line.trim() == "[storage.options]")?;
    let after = lines
        .iter()
        .skip(header + 1)
        .position(|line| line.trim_start().starts_with('['));
    let end = after.map_or(lines.len(), |after| header + 1 + after);
    let line = format!("size = \"{size}\"");
    let is_size = |line: &&str| line.split_once('=').is_some_and(|(key, _)| key.trim() == "size");
    let old = lines.iter().take(end).skip(header + 1).position(is_size);
    match old.and_then(|old| lines.get_mut(header + 1 + old)) {
        Some(old) => *old = &line,
        None => lines.insert(header + 1, &line),
    }
    Some(lines.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use berth_ignition::{file_contents, parse};

    use super::*;

    fn config(settings: &Value) -> ContainerRuntimeConfig {
        let json = json!({"metadata": {"name": "large"}, "spec": {"containerRuntimeConfig": settings}});
        ContainerRuntimeConfig::from_json(&json).unwrap()
    }

    fn files(settings: &Value, storage: Option<&str>) -> Vec<(String, String)> {
        let generated = config(settings)
            .generate("infra", "99-infra".to_owned(), storage)
            .unwrap();
        let ignition = parse(generated.spec.config.as_ref().unwrap()).usable().unwrap();
        let text = |file| String::from_utf8(file_contents(file).unwrap()).unwrap();
        ignition
            .files()
            .iter()
            .map(|file| (file.path.clone(), text(file)))
            .collect()
    }

    #[test]
    fn every_setting_has_its_file() {
        let settings = json!({"pidsLimit": 2048, "logLevel": "debug", "logSizeMax": "16Ki", "defaultRuntime": "crun"});
        let drop_in = |name: &str, line: &str| {
            let text = format!("[crio]\n  [crio.runtime]\n    {line}\n");
            (format!("/etc/crio/crio.conf.d/01-ctrcfg-{name}"), text)
        };
        assert_eq!(
            files(&settings, None),
            [
                drop_in("logLevel", "log_level = \"debug\""),
                drop_in("pidsLimit", "pids_limit = 2048"),
                drop_in("logSizeMax", "log_size_max = 16384"),
                drop_in("defaultRuntime", "default_runtime = \"crun\""),
            ]
        );
    }

    #[test]
    fn the_size_of_overlays_is_written_over_the_pools_storage() {
        let storage =
            "[storage]\ndriver = \"overlay\"\n[storage.options]\n# sizes\n[storage.options.overlay]\nsize = \"\"\n";
        let expected = "[storage]\ndriver = \"overlay\"\n[storage.options]\nsize = \"8Gi\"\n# sizes\n[storage.options.overlay]\nsize = \"\"\n";
        let written = files(&json!({"overlaySize": "8Gi"}), Some(storage));
        assert_eq!(written, [(STORAGE_CONFIGURATION.to_owned(), expected.to_owned())]);
        let again = expected.replace("8Gi", "9Gi");
        assert_eq!(
            files(&json!({"overlaySize": "9Gi"}), Some(expected)),
            [(STORAGE_CONFIGURATION.to_owned(), again)]
        );
        for storage in [None, Some("[storage]\n")] {
            let refused = config(&json!({"overlaySize": "8Gi"})).generate("infra", String::new(), storage);
            assert_eq!(refused.unwrap_err().path, "spec.containerRuntimeConfig.overlaySize");
        }
    }

    #[test]
    fn what_cri_o_does_not_take_is_refused() {
        for (settings, message) in [
            (json!({"pidsLimit": 19}), "invalid PidsLimit 19"),
            (
                json!({"logSizeMax": "8k"}),
                "invalid LogSizeMax \"8k\", cannot be less than 8kB",
            ),
            (
                json!({"overlaySize": "-8Gi"}),
                "invalid overlaySize \"-8Gi\", cannot be less than 0",
            ),
            (
                json!({"logLevel": "loud"}),
                "invalid LogLevel \"loud\", must be one of error, fatal, panic, warn, info, debug, or trace",
            ),
            (
                json!({"defaultRuntime": "kata"}),
                "invalid DefaultRuntime \"kata\", must be one of crun, runc",
            ),
            (json!({"pidLimit": 40}), "no machine config can be made of pidLimit"),
        ] {
            let found: Vec<_> = config(&settings)
                .problems()
                .into_iter()
                .map(|found| found.message)
                .collect();
            assert_eq!(found, [message]);
        }
        let fine = json!({"pidsLimit": 0, "logSizeMax": 0, "overlaySize": "0", "logLevel": "", "defaultRuntime": null});
        assert_eq!(config(&fine).problems(), []);
    }

    #[test]
    fn quantities_are_kubernetes() {
        for (text, value) in [
            ("8Gi", 8 << 30),
            ("1.5k", 1500),
            ("0", 0),
            ("-2Ki", -2048),
            ("1.0001", 2),
            ("5M", 5_000_000),
        ] {
            assert_eq!(quantity(text), Some(value), "{text}");
        }
        for text in ["", "Gi", "1 Gi", "1gi", "a", "--1", "1.2.3"] {
            assert_eq!(quantity(text), None, "{text}");
        }
    }
}
