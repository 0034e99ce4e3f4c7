//! Units and drop-ins.

use std::collections::HashSet;

use ignition_config::v3_5 as types;

use super::{At, Report, text};
use crate::unit_syntax;

const UNIT_DIRECTORY: &str = "/etc/systemd/system";

const UNIT_EXTENSIONS: [&str; 12] = [
    "automount",
    "device",
    "mount",
    "path",
    "scope",
    "service",
    "slice",
    "snapshot",
    "socket",
    "swap",
    "target",
    "timer",
];

pub(super) fn check(systemd: &types::Systemd, at: At<'_>, report: &mut Report) {
    let units = at.key("units");
    report.duplicates(units, systemd.units.as_deref(), |unit| &unit.name);
    for (index, unit) in systemd.units.iter().flatten().enumerate() {
        check_unit(unit, units.index(index), report);
    }
}

fn check_unit(unit: &types::Unit, at: At<'_>, report: &mut Report) {
    if !extension(&unit.name).is_some_and(|extension| UNIT_EXTENSIONS.contains(&extension)) {
        let message = format!("`{}` has no extension that systemd knows", unit.name);
        report.error(at.key("name"), message);
    }
    if let Some(contents) = text(unit.contents.as_deref()) {
        match unit_syntax::sections(contents) {
            Err(error) => {
                report.error(at.key("contents"), format!("not a unit file: {error}"));
            }
            Ok(sections) => {
                if unit.enabled == Some(true) && !sections.contains(&"Install") {
                    let message = "the unit is enabled but has no Install section, so nothing starts it";
                    report.warning(at.key("contents"), message);
                }
            }
        }
    }
    let dropins = at.key("dropins");
    report.duplicates(dropins, unit.dropins.as_deref(), |dropin| &dropin.name);
    for (index, dropin) in unit.dropins.iter().flatten().enumerate() {
        let at = dropins.index(index);
        if extension(&dropin.name) != Some("conf") {
            let message = format!("`{}` does not end in .conf", dropin.name);
            report.error(at.key("name"), message);
        }
        if let Some(contents) = text(dropin.contents.as_deref())
            && let Err(error) = unit_syntax::sections(contents)
        {
            report.error(at.key("contents"), format!("not a unit file: {error}"));
        }
    }
}

fn extension(name: &str) -> Option<&str> {
    let last = name.rsplit('/').next()?;
    last.rsplit_once('.').map(|(_, extension)| extension)
}

/// No file, directory or link has the path of a unit or drop-in of the config.
pub(super) fn check_conflicts(body: &types::Config, root: At<'_>, report: &mut Report) {
    let (Some(systemd), Some(storage)) = (&body.systemd, &body.storage) else {
        return;
    };
    let mut written = HashSet::new();
    for unit in systemd.units.iter().flatten() {
        if text(unit.contents.as_deref()).is_some() {
            written.insert(format!("{UNIT_DIRECTORY}/{}", unit.name));
        }
        let dropins = unit.dropins.iter().flatten();
        let dropins = dropins.filter(|dropin| text(dropin.contents.as_deref()).is_some());
        written.extend(dropins.map(|dropin| format!("{UNIT_DIRECTORY}/{}.d/{}", unit.name, dropin.name)));
    }
    let at = root.key("storage");
    let mut check = |path: &String, at: At<'_>| {
        if written.contains(path) {
            report.error(at.key("path"), "a unit or drop-in of this config has the same path");
        }
    };
    let list = at.key("files");
    for (index, node) in storage.files.iter().flatten().enumerate() {
        check(&node.path, list.index(index));
    }
    let list = at.key("directories");
    for (index, node) in storage.directories.iter().flatten().enumerate() {
        check(&node.path, list.index(index));
    }
    let list = at.key("links");
    for (index, node) in storage.links.iter().flatten().enumerate() {
        check(&node.path, list.index(index));
    }
}
