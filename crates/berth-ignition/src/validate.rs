//! Ignition's own rules for a config.

use crate::{Config, Finding, SpecVersion};

/// Judges a config by the rules of the version it was written in.
pub fn validate(config: &Config) -> Vec<Finding> {
    validate_as(config, config.written_in())
}

/// Judges a config by the rules of any version.
pub(crate) fn validate_as(_config: &Config, _version: SpecVersion) -> Vec<Finding> {
    Vec::new()
}
