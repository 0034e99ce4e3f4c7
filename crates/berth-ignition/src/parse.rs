//! From JSON to a config with findings.

use ignition_config::{v3_0, v3_1, v3_2, v3_3, v3_4, v3_5};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{Config, Finding, SpecVersion, UnsupportedVersion, json, translate, validate};

/// The outcome of parsing.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// The config, unless something in it cannot be represented at all. A config
    /// that breaks rules is still given, next to the errors that say so.
    pub config: Option<Config>,
    /// What is wrong or suspicious.
    pub findings: Vec<Finding>,
}

impl Parsed {
    /// The config, if Ignition would use it: nothing worse than warnings.
    pub fn usable(self) -> Result<Config, Vec<Finding>> {
        match self.config {
            Some(config) if !self.findings.iter().any(Finding::is_error) => Ok(config),
            _ => Err(self.findings),
        }
    }
}

/// Parses a config of any supported version and validates it.
///
/// Keys that the version does not know are warnings and are dropped, as Ignition
/// does.
///
/// ```
/// use berth_ignition::{SpecVersion, parse};
/// use serde_json::json;
///
/// let parsed = parse(&json!({"ignition": {"version": "2.2.0"}, "systemd": {"units": [{"name": "a.service"}]}}));
/// let config = parsed.usable().map_err(|findings| format!("{findings:?}"))?;
/// assert_eq!(config.to_version(SpecVersion::V3_2)?["ignition"]["version"], "3.2.0");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn parse(json: &Value) -> Parsed {
    let mut findings = Vec::new();
    let config = match read(json, &mut findings) {
        Ok(config) => Some(config),
        Err(finding) => {
            findings.push(finding);
            None
        }
    };
    Parsed { config, findings }
}

fn read(json: &Value, findings: &mut Vec<Finding>) -> Result<Config, Finding> {
    let Some(version) = SpecVersion::field_of(json) else {
        return Err(Finding::error(
            "$.ignition.version",
            format!(
                "the config names no spec version; use one of {}",
                SpecVersion::supported()
            ),
        ));
    };
    let version: SpecVersion = version
        .parse()
        .map_err(|error: UnsupportedVersion| Finding::error("$.ignition.version", error.to_string()))?;
    let body = match version {
        SpecVersion::V2_2 => return translate::read_v2(json, findings),
        SpecVersion::V3_0 => read_as::<v3_0::Config>(json, findings),
        SpecVersion::V3_1 => read_as::<v3_1::Config>(json, findings),
        SpecVersion::V3_2 => read_as::<v3_2::Config>(json, findings),
        SpecVersion::V3_3 => read_as::<v3_3::Config>(json, findings),
        SpecVersion::V3_4 => read_as::<v3_4::Config>(json, findings),
        SpecVersion::V3_5 => read_as::<v3_5::Config>(json, findings),
    }?;
    let mut config = Config::written_as(version, body);
    findings.extend(validate(&config));
    translate::mask_special_bits(&mut config);
    Ok(config)
}

/// Reads the types of one version and carries them to the newest.
fn read_as<T: DeserializeOwned + Serialize>(
    json: &Value,
    findings: &mut Vec<Finding>,
) -> Result<v3_5::Config, Finding> {
    let typed: T = json::read(json, &mut |path| findings.push(unknown_key(path)))?;
    let mut carried = serde_json::to_value(typed).map_err(|error| Finding::error("$", error.to_string()))?;
    json::prune(&mut carried);
    // What an old version knows every newer one knows too, so nothing is lost.
    translate::read_newest(&carried)
}

pub(crate) fn unknown_key(path: String) -> Finding {
    let key = path.rsplit('.').next().unwrap_or_default().to_owned();
    Finding::warning(path, format!("the key `{key}` is unknown and has no effect"))
}

#[cfg(test)]
mod tests;
