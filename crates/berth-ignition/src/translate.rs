//! Translation between spec versions.
//!
//! ```text
//! 2.2 ◄──► 3.0 ◄──► 3.1 ◄──► 3.2 ◄──► 3.3 ◄──► 3.4 ◄──► 3.5 (internal)
//! ```
//!
//! Up always works for the 3.x versions. Each step down refuses a config that
//! uses something the older version cannot say; nothing is dropped in silence.

mod down;
mod v2;
mod v2_down;
mod v2_up;

use ignition_config::{v3_0, v3_1, v3_2, v3_3, v3_4, v3_5};
use serde::Deserialize as _;
use serde_json::Value;

use crate::{Config, Finding, SpecVersion, json};

pub(crate) use v2_up::read_v2;

/// The permission bits above `rwxrwxrwx`: setuid, setgid, sticky.
pub(crate) const SPECIAL_BITS: i64 = 0o7000;

/// Why a config cannot be written in a version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TranslateError {
    /// A field that the older version does not have.
    #[error("{path} needs spec {needs} and would be lost in {target}")]
    FieldLost {
        /// The field, `$.storage.luks.0.cex`.
        path: String,
        /// The oldest version that has it.
        needs: SpecVersion,
        /// The version that was asked for.
        target: SpecVersion,
    },
    /// A value that the older version does not allow, or cannot express.
    #[error("{path} cannot be written in spec {target}: {reason}")]
    NotExpressible {
        /// The field.
        path: String,
        /// The version that was asked for.
        target: SpecVersion,
        /// What stands in the way.
        reason: String,
    },
    /// No chain of steps leads there.
    #[error("there is no translation from spec {from} to {target}")]
    NoPath {
        /// Where the translation began.
        from: SpecVersion,
        /// The version that was asked for.
        target: SpecVersion,
    },
}

impl TranslateError {
    fn not_expressible(path: impl Into<String>, target: SpecVersion, reason: impl Into<String>) -> Self {
        Self::NotExpressible {
            path: path.into(),
            target,
            reason: reason.into(),
        }
    }
}

/// One step down: takes the JSON of the newer version, gives that of the older.
type Translation = fn(&Value, SpecVersion) -> Result<Value, TranslateError>;

/// Every step down that exists. What can be served follows from this table.
const STEPS: [(SpecVersion, SpecVersion, Translation); 6] = [
    (SpecVersion::V3_5, SpecVersion::V3_4, down::step::<v3_4::Config>),
    (SpecVersion::V3_4, SpecVersion::V3_3, down::step::<v3_3::Config>),
    (SpecVersion::V3_3, SpecVersion::V3_2, down::step::<v3_2::Config>),
    (SpecVersion::V3_2, SpecVersion::V3_1, down::step::<v3_1::Config>),
    (SpecVersion::V3_1, SpecVersion::V3_0, down::step::<v3_0::Config>),
    (SpecVersion::V3_0, SpecVersion::V2_2, v2_down::step),
];

/// The versions that a config of version `from` can be written in, oldest
/// first, itself included.
pub fn reachable(from: SpecVersion) -> Vec<SpecVersion> {
    SpecVersion::ALL
        .into_iter()
        .filter(|&target| route(from, target).is_some())
        .collect()
}

/// The steps that lead down from one version to another.
fn route(from: SpecVersion, target: SpecVersion) -> Option<Vec<(SpecVersion, Translation)>> {
    let mut steps = Vec::new();
    let mut here = from;
    while here != target {
        // Each version has one step down and it leads to an older one, so this ends.
        let &(_, to, step) = STEPS.iter().find(|(start, to, _)| *start == here && to < start)?;
        steps.push((to, step));
        here = to;
    }
    Some(steps)
}

impl Config {
    /// Writes the config in a version, as JSON.
    ///
    /// Refuses when something in the config cannot be said in that version; the
    /// error names the field.
    pub fn to_version(&self, target: SpecVersion) -> Result<Value, TranslateError> {
        let from = SpecVersion::LATEST;
        let steps = route(from, target).ok_or(TranslateError::NoPath { from, target })?;
        if target < SpecVersion::V3_4 {
            down::refuse_special_bits(self, target)?;
        }
        down::refuse_what_the_rules_forbid(self, target)?;
        let mut json = self.to_json();
        for (to, step) in steps {
            json = step(&json, target)?;
            // A step can leave nothing behind but the version itself.
            if let Some(version) = json.pointer_mut("/ignition/version") {
                *version = Value::from(to.as_str());
            }
        }
        Ok(json)
    }

    /// The config in the newest version, without members that say nothing.
    fn to_json(&self) -> Value {
        let mut json = serde_json::to_value(self.as_v3_5()).unwrap_or_default();
        json::prune(&mut json);
        json
    }
}

/// Clears setuid, setgid and sticky bits in a config from before 3.4.
///
/// Ignition ignored them then; kept, they would begin to have an effect.
pub(crate) fn mask_special_bits(config: &mut Config) {
    if config.written_in() >= SpecVersion::V3_4 {
        return;
    }
    let Some(storage) = &mut config.as_v3_5_mut().storage else {
        return;
    };
    let files = storage.files.iter_mut().flatten().map(|file| &mut file.mode);
    let directories = storage.directories.iter_mut().flatten();
    for mode in files.chain(directories.map(|directory| &mut directory.mode)) {
        *mode = mode.map(|mode| mode & !SPECIAL_BITS);
    }
}

/// Reads the newest types from JSON that this crate has written, so that there is no unknown key to look for.
pub(crate) fn read_newest(json: &Value) -> Result<v3_5::Config, Finding> {
    v3_5::Config::deserialize(json).or_else(|_| json::read(json, &mut |_| {}))
}

#[cfg(test)]
mod tests;
