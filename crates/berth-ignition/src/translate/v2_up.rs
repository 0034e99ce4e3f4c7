//! From spec 2.2 to the newest version.
//!
//! Spec 2 allows what spec 3 does not: the same file or unit twice. Such lists
//! were written by tools that append, so the last entry wins, drop-ins of one
//! unit are gathered, and ssh keys of one user are joined.

use std::collections::{HashMap, HashSet};

use ignition_config::v3_5 as types;
use serde_json::Value;

use super::v2;
use crate::{Config, Finding, SpecVersion, json, parse::unknown_key, validate::validate_as};

/// The one filesystem that has a place in spec 3 without further knowledge.
const ROOT: &str = "root";

/// An entry with its position in the config that was read, for findings.
type Placed<T> = (usize, T);

/// Reads a config of spec 2.2.
pub(crate) fn read_v2(json: &Value, findings: &mut Vec<Finding>) -> Result<Config, Finding> {
    let old: v2::Config = json::read(json, &mut |path| findings.push(unknown_key(path)))?;
    let mut refusals = refusals(&old);
    if let Some(last) = refusals.pop() {
        findings.append(&mut refusals);
        return Err(last);
    }

    let files = files(old.storage.files);
    let units = units(old.systemd.units);
    let users = users(old.passwd.users);
    let places = Places {
        files: files.iter().map(|(place, _)| *place).collect(),
        units: units.iter().map(|(place, _)| *place).collect(),
        users: users.iter().map(|(place, _)| *place).collect(),
    };
    let storage = types::Storage {
        directories: list(old.storage.directories, directory),
        disks: list(old.storage.disks, disk),
        files: list(files, |(_, file)| file),
        filesystems: None,
        links: list(old.storage.links, link),
        luks: None,
        raid: list(old.storage.raid, raid),
    };
    let mut body = types::Config::new(ignition(old.ignition));
    body.storage = Some(storage);
    body.systemd = Some(types::Systemd {
        units: list(units, |(_, unit)| unit),
    });
    body.passwd = Some(types::Passwd {
        groups: list(old.passwd.groups, group),
        users: list(users, |(_, user)| user),
    });

    // A pass through JSON drops the sections that stayed empty.
    let mut carried = serde_json::to_value(body).map_err(|error| Finding::error("$", error.to_string()))?;
    json::prune(&mut carried);
    let mut config = Config::written_as(SpecVersion::V2_2, super::read_newest(&carried)?);
    findings.extend(
        validate_as(&config, SpecVersion::V2_2)
            .into_iter()
            .map(|finding| places.restore(finding)),
    );
    super::mask_special_bits(&mut config);
    Ok(config)
}

/// Everything that spec 3 cannot say.
fn refusals(old: &v2::Config) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut refuse = |path: String, reason: &str| {
        found.push(Finding::error(
            path,
            format!("cannot be translated from spec 2.2 to 3: {reason}"),
        ));
    };
    if !old.networkd.units.is_empty() {
        refuse(
            "$.networkd.units".to_owned(),
            "spec 3 has no networkd units; write the files to /etc/systemd/network instead",
        );
    }
    for (at, filesystem) in old.storage.filesystems.iter().enumerate() {
        if filesystem.name != ROOT || filesystem.mount.is_some() {
            refuse(
                format!("$.storage.filesystems.{at}"),
                "only the filesystem `root` as it is has a known place",
            );
        }
    }
    let files = old.storage.files.iter().map(|file| &file.filesystem);
    let directories = old.storage.directories.iter().map(|node| &node.filesystem);
    let links = old.storage.links.iter().map(|link| &link.filesystem);
    let nodes = (files.enumerate().map(|node| ("files", node)))
        .chain(directories.enumerate().map(|node| ("directories", node)))
        .chain(links.enumerate().map(|node| ("links", node)));
    for (list, (at, filesystem)) in nodes {
        if filesystem != ROOT {
            refuse(
                format!("$.storage.{list}.{at}.filesystem"),
                "only the filesystem `root` has a known place",
            );
        }
    }
    for (at, user) in old.passwd.users.iter().enumerate() {
        if user.create.is_some() {
            refuse(
                format!("$.passwd.users.{at}.create"),
                "use the fields of the user itself",
            );
        }
    }
    for (at, disk) in old.storage.disks.iter().enumerate() {
        for (nth, partition) in disk.partitions.iter().enumerate() {
            if partition.size != 0 || partition.start != 0 {
                refuse(
                    format!("$.storage.disks.{at}.partitions.{nth}"),
                    "size and start are in sectors, whose size is not known here",
                );
            }
        }
    }
    found
}

/// Where the entries that were kept stood in the config that was read.
struct Places {
    files: Vec<usize>,
    units: Vec<usize>,
    users: Vec<usize>,
}

impl Places {
    fn restore(&self, mut finding: Finding) -> Finding {
        let lists = [
            ("$.storage.files.", &self.files),
            ("$.systemd.units.", &self.units),
            ("$.passwd.users.", &self.users),
        ];
        for (prefix, places) in lists {
            let Some(rest) = finding.path.strip_prefix(prefix) else {
                continue;
            };
            let (index, tail) = rest.split_once('.').unwrap_or((rest, ""));
            let place = index.parse::<usize>().ok().and_then(|at| places.get(at));
            if let Some(place) = place {
                let dot = if tail.is_empty() { "" } else { "." };
                finding.path = format!("{prefix}{place}{dot}{tail}");
            }
            break;
        }
        finding
    }
}

fn list<T, U>(old: Vec<T>, translate: impl FnMut(T) -> U) -> Option<Vec<U>> {
    (!old.is_empty()).then(|| old.into_iter().map(translate).collect())
}

fn said(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

fn yes(flag: bool) -> Option<bool> {
    flag.then_some(true)
}

fn ignition(old: v2::Ignition) -> types::Ignition {
    types::Ignition {
        config: Some(types::IgnitionConfig {
            merge: list(old.config.append, reference),
            replace: old.config.replace.map(reference),
        }),
        security: Some(types::Security {
            tls: Some(types::SecurityTls {
                certificate_authorities: list(old.security.tls.certificate_authorities, reference),
            }),
        }),
        timeouts: Some(types::Timeouts {
            http_response_headers: old.timeouts.http_response_headers,
            http_total: old.timeouts.http_total,
        }),
        ..types::Ignition::default()
    }
}

fn verification(old: v2::Verification) -> Option<types::Verification> {
    let hash = old.hash?;
    Some(types::Verification { hash: Some(hash) })
}

fn reference(old: v2::Reference) -> types::Resource {
    types::Resource {
        source: Some(old.source),
        verification: verification(old.verification),
        ..types::Resource::default()
    }
}

/// The files, each path once.
///
/// A file replaces what came before at its path; an append adds to it.
fn files(old: Vec<v2::File>) -> Vec<Placed<types::File>> {
    let mut kept: Vec<Option<Placed<types::File>>> = Vec::new();
    let mut slots: HashMap<String, usize> = HashMap::new();
    for (place, old) in old.into_iter().enumerate() {
        let contents = types::Resource {
            compression: said(old.contents.compression),
            http_headers: None,
            source: Some(old.contents.source),
            verification: verification(old.contents.verification),
        };
        let mut file = types::File {
            group: owner_group(old.group),
            mode: old.mode,
            user: owner_user(old.user),
            ..types::File::new(old.path)
        };
        let before = slots.get(&file.path).and_then(|&slot| kept.get_mut(slot));
        if old.append {
            if let Some(Some((_, before))) = before {
                before.append.get_or_insert_default().push(contents);
                before.mode = file.mode.or(before.mode);
                before.user = file.user.or_else(|| before.user.take());
                before.group = file.group.or_else(|| before.group.take());
                continue;
            }
            file.append = Some(vec![contents]);
            file.overwrite = Some(false);
        } else {
            if let Some(before) = before {
                *before = None;
            }
            file.contents = Some(contents);
            // Spec 2 overwrites unless told not to, spec 3 only when told to.
            file.overwrite = Some(old.overwrite.unwrap_or(true));
        }
        slots.insert(file.path.clone(), kept.len());
        kept.push(Some((place, file)));
    }
    kept.into_iter().flatten().collect()
}

/// The units, each name once: the last, with the drop-ins of all.
fn units(old: Vec<v2::Unit>) -> Vec<Placed<types::Unit>> {
    let mut kept: Vec<Placed<types::Unit>> = Vec::new();
    let mut slots: HashMap<String, usize> = HashMap::new();
    for (place, old) in old.into_iter().enumerate().rev() {
        let dropins = old.dropins.into_iter().map(|dropin| types::Dropin {
            contents: said(dropin.contents),
            name: dropin.name,
        });
        if let Some((_, unit)) = slots.get(&old.name).and_then(|&slot| kept.get_mut(slot)) {
            let gathered = unit.dropins.get_or_insert_default();
            for dropin in dropins {
                if gathered.iter().all(|later| later.name != dropin.name) {
                    gathered.push(dropin);
                }
            }
            continue;
        }
        slots.insert(old.name.clone(), kept.len());
        let unit = types::Unit {
            contents: said(old.contents),
            dropins: Some(dropins.collect()),
            // `enabled` wins over its older spelling.
            enabled: old.enabled.or_else(|| yes(old.enable)),
            mask: yes(old.mask),
            name: old.name,
        };
        kept.push((place, unit));
    }
    kept.reverse();
    kept
}

/// The users, each name once: the last, with the ssh keys of all in order.
fn users(old: Vec<v2::User>) -> Vec<Placed<types::User>> {
    let mut keys: HashMap<String, Vec<String>> = HashMap::new();
    let mut seen: HashSet<(String, String)> = HashSet::new();
    let mut last: HashMap<String, usize> = HashMap::new();
    for (place, user) in old.iter().enumerate() {
        last.insert(user.name.clone(), place);
        for key in &user.ssh_authorized_keys {
            if seen.insert((user.name.clone(), key.clone())) {
                keys.entry(user.name.clone()).or_default().push(key.clone());
            }
        }
    }
    let kept = old.into_iter().enumerate();
    kept.filter(|(place, user)| last.get(&user.name) == Some(place))
        .map(|(place, user)| {
            let keys = keys.remove(&user.name);
            (place, self::user(user, keys))
        })
        .collect()
}

fn user(old: v2::User, keys: Option<Vec<String>>) -> types::User {
    types::User {
        gecos: said(old.gecos),
        groups: list(old.groups, |group| group),
        home_dir: said(old.home_dir),
        name: old.name,
        no_create_home: yes(old.no_create_home),
        no_log_init: yes(old.no_log_init),
        no_user_group: yes(old.no_user_group),
        password_hash: old.password_hash,
        primary_group: said(old.primary_group),
        shell: said(old.shell),
        should_exist: None,
        ssh_authorized_keys: keys,
        system: yes(old.system),
        uid: old.uid,
    }
}

fn group(old: v2::Group) -> types::Group {
    types::Group {
        gid: old.gid,
        name: old.name,
        password_hash: said(old.password_hash),
        should_exist: None,
        system: yes(old.system),
    }
}

fn owner_user(old: Option<v2::Owner>) -> Option<types::NodeUser> {
    old.map(|old| types::NodeUser {
        id: old.id,
        name: said(old.name),
    })
}

fn owner_group(old: Option<v2::Owner>) -> Option<types::NodeGroup> {
    old.map(|old| types::NodeGroup {
        id: old.id,
        name: said(old.name),
    })
}

fn directory(old: v2::Directory) -> types::Directory {
    types::Directory {
        group: owner_group(old.group),
        mode: old.mode,
        overwrite: old.overwrite,
        path: old.path,
        user: owner_user(old.user),
    }
}

fn link(old: v2::Link) -> types::Link {
    types::Link {
        group: owner_group(old.group),
        hard: yes(old.hard),
        overwrite: old.overwrite,
        path: old.path,
        target: Some(old.target),
        user: owner_user(old.user),
    }
}

fn disk(old: v2::Disk) -> types::Disk {
    types::Disk {
        device: old.device,
        partitions: list(old.partitions, |old| types::Partition {
            guid: said(old.guid),
            // Spec 3 wants a number or a label; an empty label is one.
            label: (old.number == 0 || !old.label.is_empty()).then_some(old.label),
            number: (old.number != 0).then_some(old.number),
            type_guid: said(old.type_guid),
            ..types::Partition::default()
        }),
        wipe_table: yes(old.wipe_table),
    }
}

fn raid(old: v2::Raid) -> types::Raid {
    types::Raid {
        devices: list(old.devices, |device| device),
        level: Some(old.level),
        name: old.name,
        options: list(old.options, |option| option),
        spares: (old.spares != 0).then_some(old.spares),
    }
}
