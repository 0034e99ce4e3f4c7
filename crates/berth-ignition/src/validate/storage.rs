//! Files, directories and links.

use std::collections::HashSet;

use ignition_config::v3_5 as types;

use super::{At, Report, check_path, disks, luks, resource, text};
use crate::{SpecVersion, translate::SPECIAL_BITS};

const MODE_MAX: i64 = 0o7777;

pub(super) fn check(storage: &types::Storage, at: At<'_>, report: &mut Report) {
    let mut seen = HashSet::new();
    let (directories, files, links) = (at.key("directories"), at.key("files"), at.key("links"));
    report.duplicates_with(&mut seen, directories, storage.directories.as_deref(), |node| {
        &node.path
    });
    report.duplicates_with(&mut seen, files, storage.files.as_deref(), |node| &node.path);
    report.duplicates_with(&mut seen, links, storage.links.as_deref(), |node| &node.path);

    for (index, directory) in storage.directories.iter().flatten().enumerate() {
        let at = directories.index(index);
        check_node(
            &directory.path,
            directory.user.as_ref(),
            directory.group.as_ref(),
            at,
            report,
        );
        check_mode(directory.mode, at.key("mode"), report);
    }
    for (index, file) in storage.files.iter().flatten().enumerate() {
        check_file(file, files.index(index), report);
    }
    for (index, link) in storage.links.iter().flatten().enumerate() {
        let at = links.index(index);
        check_node(&link.path, link.user.as_ref(), link.group.as_ref(), at, report);
    }
    check_paths_through(storage, at, report);
    check_link_targets(storage, links, report);
    disks::check(storage, at, report);
    luks::check(storage.luks.as_deref(), at.key("luks"), report);
}

fn check_file(file: &types::File, at: At<'_>, report: &mut Report) {
    check_node(&file.path, file.user.as_ref(), file.group.as_ref(), at, report);
    check_mode(file.mode, at.key("mode"), report);
    let source = file.contents.as_ref().and_then(|contents| contents.source.as_ref());
    if file.overwrite == Some(true) && source.is_none() {
        report.error(at.key("overwrite"), "overwrite must be false when there is no source");
    }
    if let Some(contents) = &file.contents {
        resource::check(contents, at.key("contents"), report);
    }
    let append = at.key("append");
    for (index, part) in file.append.iter().flatten().enumerate() {
        resource::check(part, append.index(index), report);
    }
}

fn check_node(
    path: &str,
    user: Option<&types::NodeUser>,
    group: Option<&types::NodeGroup>,
    at: At<'_>,
    report: &mut Report,
) {
    report.on_error(at.key("path"), check_path(path));
    let both = "an owner is given by id or by name, not both";
    if user.is_some_and(|user| user.id.is_some() && text(user.name.as_deref()).is_some()) {
        report.error(at.key("user"), both);
    }
    if group.is_some_and(|group| group.id.is_some() && text(group.name.as_deref()).is_some()) {
        report.error(at.key("group"), both);
    }
}

fn check_mode(mode: Option<i64>, at: At<'_>, report: &mut Report) {
    let Some(mode) = mode else {
        return;
    };
    if !(0..=MODE_MAX).contains(&mode) {
        report.error(at, format!("mode {mode} (decimal) is not between 0 and 0o7777"));
    } else if mode & SPECIAL_BITS != 0 && report.version < SpecVersion::V3_4 {
        let needs = SpecVersion::V3_4;
        report.warning(
            at,
            format!("setuid, setgid and sticky bits need spec {needs} and are ignored"),
        );
    }
}

/// No path goes through a link of the config: which file is meant would depend on
/// the order of writing. Through a file it can only fail, which Ignition finds out
/// late.
fn check_paths_through(storage: &types::Storage, at: At<'_>, report: &mut Report) {
    let links = storage.links.iter().flatten().map(|link| link.path.as_str());
    let links: HashSet<&str> = links.collect();
    let files = storage.files.iter().flatten().map(|file| file.path.as_str());
    let files: HashSet<&str> = files.collect();
    let mut check = |path: &str, at: At<'_>| {
        for parent in parents(path) {
            if links.contains(parent) {
                report.error(at, format!("the path goes through the link {parent}"));
            }
            if files.contains(parent) {
                report.warning(at, format!("the path goes through the file {parent}"));
            }
        }
    };
    let list = at.key("directories");
    for (index, node) in storage.directories.iter().flatten().enumerate() {
        check(&node.path, list.index(index));
    }
    let list = at.key("files");
    for (index, node) in storage.files.iter().flatten().enumerate() {
        check(&node.path, list.index(index));
    }
    let list = at.key("links");
    for (index, node) in storage.links.iter().flatten().enumerate() {
        check(&node.path, list.index(index));
    }
}

/// The parents of a path, innermost first, without the root.
fn parents(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(path.rsplit_once('/'), |(parent, _)| parent.rsplit_once('/')).map(|(parent, _)| parent)
}

fn check_link_targets(storage: &types::Storage, at: At<'_>, report: &mut Report) {
    let directories = storage.directories.iter().flatten();
    let directories: HashSet<&str> = directories.map(|node| node.path.as_str()).collect();
    for (index, link) in storage.links.iter().flatten().enumerate() {
        let at = at.index(index);
        let Some(target) = text(link.target.as_deref()) else {
            // Before 3.3 the target could be empty as long as it was there.
            if report.version >= SpecVersion::V3_3 {
                report.error(at.key("target"), "a link needs a target");
            }
            continue;
        };
        if link.hard != Some(true) {
            continue;
        }
        let target = if target.starts_with('/') {
            clean(target)
        } else {
            clean(&format!("{}/{target}", link.path))
        };
        if directories.contains(target.as_str()) {
            report.error(at, format!("a hard link cannot lead to the directory {target}"));
        }
    }
}

/// An absolute path in its simplest form.
fn clean(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}
