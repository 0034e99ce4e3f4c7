//! Ignition's own rules for a config.
//!
//! An error here is an error to Ignition and the other way round; a test asks
//! `ignition-validate`. Warnings are Ignition's, and a few more where a config is
//! accepted but must fail on the machine.

mod at;
mod disks;
mod ignition;
mod luks;
mod resource;
mod storage;
mod systemd;

use std::collections::HashSet;

use ignition_config::v3_5 as types;

use self::at::At;
use crate::{Config, Finding, SpecVersion};

/// Judges a config by the rules of the version it was written in.
pub fn validate(config: &Config) -> Vec<Finding> {
    validate_as(config, config.written_in())
}

/// Judges a config by the rules of any version.
pub(crate) fn validate_as(config: &Config, version: SpecVersion) -> Vec<Finding> {
    let mut report = Report {
        version,
        findings: Vec::new(),
    };
    let root = At::root();
    let body = config.as_v3_5();
    ignition::check(&body.ignition, root.key("ignition"), &mut report);
    if let Some(arguments) = &body.kernel_arguments {
        let at = root.key("kernelArguments");
        let mut seen = HashSet::new();
        let lists = [
            ("shouldExist", arguments.should_exist.as_deref()),
            ("shouldNotExist", arguments.should_not_exist.as_deref()),
        ];
        for (name, list) in lists {
            report.duplicates_with(&mut seen, at.key(name), list, String::as_str);
        }
    }
    if let Some(passwd) = &body.passwd {
        check_passwd(passwd, root.key("passwd"), &mut report);
    }
    if let Some(storage) = &body.storage {
        storage::check(storage, root.key("storage"), &mut report);
    }
    if let Some(systemd) = &body.systemd {
        systemd::check(systemd, root.key("systemd"), &mut report);
    }
    if version >= SpecVersion::V3_4 {
        systemd::check_conflicts(body, root, &mut report);
    }
    report.findings
}

fn check_passwd(passwd: &types::Passwd, at: At<'_>, report: &mut Report) {
    report.duplicates(at.key("groups"), passwd.groups.as_deref(), |group| &group.name);
    report.duplicates(at.key("users"), passwd.users.as_deref(), |user| &user.name);
    let users = at.key("users");
    for (index, user) in passwd.users.iter().flatten().enumerate() {
        let at = users.index(index);
        report.duplicates(at.key("groups"), user.groups.as_deref(), String::as_str);
        let keys = user.ssh_authorized_keys.as_deref();
        report.duplicates(at.key("sshAuthorizedKeys"), keys, String::as_str);
    }
}

/// Findings under construction, and the version whose rules hold.
struct Report {
    version: SpecVersion,
    findings: Vec<Finding>,
}

impl Report {
    fn error(&mut self, at: At<'_>, message: impl Into<String>) {
        self.findings.push(Finding::error(at.to_string(), message));
    }

    fn warning(&mut self, at: At<'_>, message: impl Into<String>) {
        self.findings.push(Finding::warning(at.to_string(), message));
    }

    fn on_error<E: ToString>(&mut self, at: At<'_>, result: Result<(), E>) {
        if let Err(error) = result {
            self.error(at, error.to_string());
        }
    }

    /// No two entries of a list have the same key.
    fn duplicates<'a, T>(&mut self, at: At<'_>, list: Option<&'a [T]>, key: impl Fn(&'a T) -> &'a str) {
        self.duplicates_with(&mut HashSet::new(), at, list, key);
    }

    /// The same over several lists that share their keys.
    fn duplicates_with<'a, T>(
        &mut self,
        seen: &mut HashSet<&'a str>,
        at: At<'_>,
        list: Option<&'a [T]>,
        key: impl Fn(&'a T) -> &'a str,
    ) {
        for (index, entry) in list.into_iter().flatten().enumerate() {
            let key = key(entry);
            if !seen.insert(key) {
                self.error(at.index(index), format!("`{key}` is defined more than once"));
            }
        }
    }
}

/// What is wrong with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum PathError {
    #[error("there is no path")]
    Missing,
    #[error("the path is not absolute")]
    Relative,
    #[error("the path is not in its simplest form")]
    NotSimple,
}

fn check_path(path: &str) -> Result<(), PathError> {
    let Some(rest) = path.strip_prefix('/') else {
        return Err(if path.is_empty() {
            PathError::Missing
        } else {
            PathError::Relative
        });
    };
    let simple = rest.is_empty() || rest.split('/').all(|part| !matches!(part, "" | "." | ".."));
    if simple { Ok(()) } else { Err(PathError::NotSimple) }
}

/// The text of an optional string, if there is any.
fn text(value: Option<&str>) -> Option<&str> {
    value.filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests;
