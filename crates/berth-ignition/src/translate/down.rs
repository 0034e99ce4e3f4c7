//! One step down among the 3.x versions.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{SPECIAL_BITS, TranslateError};
use crate::{Config, Finding, SpecVersion, json, validate::validate_as};

/// Reads the newer version's JSON with the older version's types.
///
/// A key that these do not know, with a value that means something, is what
/// would be lost.
pub(super) fn step<T: DeserializeOwned + Serialize>(
    newer: &Value,
    target: SpecVersion,
) -> Result<Value, TranslateError> {
    let needs = newer
        .pointer("/ignition/version")
        .and_then(Value::as_str)
        .and_then(|version| version.parse().ok())
        .unwrap_or(SpecVersion::LATEST);
    let mut lost = None;
    let older: T = json::read(newer, &mut |path| {
        let default = json::at(newer, &path).is_none_or(|value| is_default(&path, value));
        if lost.is_none() && !default {
            lost = Some(path);
        }
    })
    .map_err(|finding| TranslateError::not_expressible(finding.path, target, finding.message))?;
    if let Some(path) = lost {
        return Err(TranslateError::FieldLost { path, needs, target });
    }
    let mut json =
        serde_json::to_value(older).map_err(|error| TranslateError::not_expressible("$", target, error.to_string()))?;
    json::prune(&mut json);
    Ok(json)
}

/// Whether leaving the field out means the same.
fn is_default(path: &str, value: &Value) -> bool {
    match value {
        Value::Null => true,
        // A user or group exists unless the config says otherwise.
        Value::Bool(value) => *value == path.ends_with(".shouldExist"),
        Value::String(text) => text.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        Value::Object(members) => members
            .iter()
            .all(|(key, value)| is_default(&format!("{path}.{key}"), value)),
        Value::Number(_) => false,
    }
}

/// Before 3.4 Ignition ignores the special bits, so they would be lost.
pub(super) fn refuse_special_bits(config: &Config, target: SpecVersion) -> Result<(), TranslateError> {
    let Some(storage) = &config.as_v3_5().storage else {
        return Ok(());
    };
    let files = storage.files.iter().flatten().map(|file| file.mode);
    let directories = storage.directories.iter().flatten();
    let directories = directories.map(|directory| directory.mode);
    let special = |(_, mode): &(usize, Option<i64>)| mode.is_some_and(|mode| mode & SPECIAL_BITS != 0);
    let file = files.enumerate().find(special);
    let directory = directories.enumerate().find(special);
    let found = file
        .map(|found| ("files", found))
        .or_else(|| directory.map(|found| ("directories", found)));
    match found {
        None => Ok(()),
        Some((list, (index, mode))) => Err(TranslateError::not_expressible(
            format!("$.storage.{list}.{index}.mode"),
            target,
            format!(
                "mode {:#o} has setuid, setgid or sticky bits, which need spec {}",
                mode.unwrap_or_default(),
                SpecVersion::V3_4
            ),
        )),
    }
}

/// Judges the config by the rules of the target, so that what is written is
/// valid there: a hash function, a URL scheme or a filesystem format can be too new.
pub(super) fn refuse_what_the_rules_forbid(config: &Config, target: SpecVersion) -> Result<(), TranslateError> {
    match validate_as(config, target).into_iter().find(Finding::is_error) {
        None => Ok(()),
        Some(finding) => Err(TranslateError::not_expressible(finding.path, target, finding.message)),
    }
}
