//! From spec 3.0 to 2.2.

use ignition_config::v3_5 as types;
use serde_json::Value;

use super::{TranslateError, v2};
use crate::SpecVersion;

const TARGET: SpecVersion = SpecVersion::V2_2;
const ROOT: &str = "root";

/// Reads the JSON of spec 3.0 and writes that of 2.2.
pub(super) fn step(newer: &Value, _target: SpecVersion) -> Result<Value, TranslateError> {
    let body = super::read_newest(newer)
        .map_err(|finding| TranslateError::not_expressible(finding.path, TARGET, finding.message))?;
    let old = config(body)?;
    serde_json::to_value(old).map_err(|error| TranslateError::not_expressible("$", TARGET, error.to_string()))
}

fn config(body: types::Config) -> Result<v2::Config, TranslateError> {
    let storage = body.storage.unwrap_or_default();
    let passwd = body.passwd.unwrap_or_default();
    let systemd = body.systemd.unwrap_or_default();
    let mounts = Mounts::new(storage.filesystems.as_deref().unwrap_or_default());
    Ok(v2::Config {
        ignition: ignition(body.ignition),
        networkd: v2::Networkd::default(),
        passwd: v2::Passwd {
            groups: list(passwd.groups, group),
            users: list(passwd.users, user),
        },
        systemd: v2::Systemd {
            units: list(systemd.units, unit),
        },
        storage: v2::Storage {
            directories: list(storage.directories, |node| directory(node, &mounts)),
            disks: disks(storage.disks)?,
            files: files(storage.files, &mounts)?,
            filesystems: filesystems(storage.filesystems),
            links: list(storage.links, |node| link(node, &mounts)),
            raid: list(storage.raid, raid),
        },
    })
}

fn list<T, U>(new: Option<Vec<T>>, translate: impl FnMut(T) -> U) -> Vec<U> {
    new.into_iter().flatten().map(translate).collect()
}

fn ignition(new: types::Ignition) -> v2::Ignition {
    let config = new.config.unwrap_or_default();
    let tls = new.security.and_then(|security| security.tls);
    let timeouts = new.timeouts.unwrap_or_default();
    v2::Ignition {
        config: v2::IgnitionConfig {
            append: list(config.merge, reference),
            replace: config.replace.filter(|replace| replace.source.is_some()).map(reference),
        },
        security: v2::Security {
            tls: v2::Tls {
                certificate_authorities: list(tls.and_then(|tls| tls.certificate_authorities), reference),
            },
        },
        timeouts: v2::Timeouts {
            http_response_headers: timeouts.http_response_headers,
            http_total: timeouts.http_total,
        },
        version: TARGET.as_str().to_owned(),
    }
}

fn verification(new: Option<types::Verification>) -> v2::Verification {
    v2::Verification {
        hash: new.and_then(|verification| verification.hash),
    }
}

fn reference(new: types::Resource) -> v2::Reference {
    v2::Reference {
        source: new.source.unwrap_or_default(),
        verification: verification(new.verification),
    }
}

fn contents(new: types::Resource) -> v2::Contents {
    v2::Contents {
        compression: new.compression.unwrap_or_default(),
        source: new.source.unwrap_or_default(),
        verification: verification(new.verification),
    }
}

/// A file of spec 3 with appended parts becomes several entries in spec 2.
fn files(new: Option<Vec<types::File>>, mounts: &Mounts) -> Result<Vec<v2::File>, TranslateError> {
    let mut files = Vec::new();
    for (at, file) in new.into_iter().flatten().enumerate() {
        let (filesystem, path) = mounts.place(&file.path);
        let entry = v2::File {
            append: false,
            contents: v2::Contents::default(),
            filesystem,
            group: owner_group(file.group),
            mode: file.mode,
            overwrite: None,
            path,
            user: owner_user(file.user),
        };
        let appended = file.append.unwrap_or_default();
        let written = file.contents.filter(|contents| contents.source.is_some());
        if written.is_none() && appended.is_empty() {
            return Err(TranslateError::not_expressible(
                format!("$.storage.files.{at}"),
                TARGET,
                "a file without contents keeps an existing one in spec 3; spec 2 would empty it",
            ));
        }
        if let Some(written) = written {
            files.push(v2::File {
                contents: contents(written),
                // Spec 3 does not overwrite unless told to, spec 2 does.
                overwrite: Some(file.overwrite.unwrap_or(false)),
                ..entry.clone()
            });
        }
        files.extend(appended.into_iter().map(|part| v2::File {
            append: true,
            contents: contents(part),
            ..entry.clone()
        }));
    }
    Ok(files)
}

fn disks(new: Option<Vec<types::Disk>>) -> Result<Vec<v2::Disk>, TranslateError> {
    let mut disks = Vec::new();
    for (at, disk) in new.into_iter().flatten().enumerate() {
        let mut partitions = Vec::new();
        for (nth, new) in disk.partitions.into_iter().flatten().enumerate() {
            let lost = [
                ("sizeMiB", new.size_mib.is_some()),
                ("startMiB", new.start_mib.is_some()),
                ("wipePartitionEntry", new.wipe_partition_entry == Some(true)),
                ("shouldExist", new.should_exist == Some(false)),
            ];
            if let Some((field, _)) = lost.into_iter().find(|(_, used)| *used) {
                return Err(TranslateError::FieldLost {
                    path: format!("$.storage.disks.{at}.partitions.{nth}.{field}"),
                    needs: SpecVersion::V3_0,
                    target: TARGET,
                });
            }
            partitions.push(v2::Partition {
                guid: new.guid.unwrap_or_default(),
                label: new.label.unwrap_or_default(),
                number: new.number.unwrap_or_default(),
                size: 0,
                start: 0,
                type_guid: new.type_guid.unwrap_or_default(),
            });
        }
        disks.push(v2::Disk {
            device: disk.device,
            partitions,
            wipe_table: disk.wipe_table.unwrap_or_default(),
        });
    }
    Ok(disks)
}

/// The mount points, by which spec 2 names filesystems.
struct Mounts(Vec<String>);

impl Mounts {
    fn new(filesystems: &[types::Filesystem]) -> Self {
        let mut paths: Vec<String> = filesystems
            .iter()
            .filter_map(|filesystem| filesystem.path.clone())
            .filter(|path| path.starts_with('/') && path != "/")
            .collect();
        // The longest first, so that the innermost mount is found.
        paths.sort_by_key(|path| std::cmp::Reverse(path.len()));
        Self(paths)
    }

    /// The filesystem a path is on, and the path within it.
    fn place(&self, path: &str) -> (String, String) {
        let within = |mount: &String| {
            let rest = path.strip_prefix(mount.as_str())?;
            // `/variable` is not on `/var`.
            rest.starts_with('/').then(|| (mount.clone(), rest.to_owned()))
        };
        self.0
            .iter()
            .find_map(within)
            .unwrap_or_else(|| (ROOT.to_owned(), path.to_owned()))
    }
}

fn filesystems(new: Option<Vec<types::Filesystem>>) -> Vec<v2::Filesystem> {
    let mut unnamed = 0_u32;
    list(new, |new| {
        let name = match new.path.as_deref() {
            None | Some("") => {
                unnamed = unnamed.saturating_add(1);
                unnamed.to_string()
            }
            Some("/") => ROOT.to_owned(),
            Some(path) => path.to_owned(),
        };
        v2::Filesystem {
            name,
            path: None,
            mount: Some(v2::Mount {
                create: None,
                device: new.device,
                format: new.format.unwrap_or_default(),
                label: new.label,
                options: new.options.unwrap_or_default(),
                uuid: new.uuid,
                wipe_filesystem: new.wipe_filesystem.unwrap_or_default(),
            }),
        }
    })
}

fn owner_user(new: Option<types::NodeUser>) -> Option<v2::Owner> {
    new.and_then(|new| owner(new.id, new.name))
}

fn owner_group(new: Option<types::NodeGroup>) -> Option<v2::Owner> {
    new.and_then(|new| owner(new.id, new.name))
}

/// An owner that is neither a number nor a name says nothing, and is not read back.
fn owner(id: Option<i64>, name: Option<String>) -> Option<v2::Owner> {
    let name = name.unwrap_or_default();
    (id.is_some() || !name.is_empty()).then_some(v2::Owner { id, name })
}

fn directory(new: types::Directory, mounts: &Mounts) -> v2::Directory {
    let (filesystem, path) = mounts.place(&new.path);
    v2::Directory {
        filesystem,
        group: owner_group(new.group),
        mode: new.mode,
        overwrite: new.overwrite,
        path,
        user: owner_user(new.user),
    }
}

fn link(new: types::Link, mounts: &Mounts) -> v2::Link {
    let (filesystem, path) = mounts.place(&new.path);
    v2::Link {
        filesystem,
        group: owner_group(new.group),
        hard: new.hard.unwrap_or_default(),
        overwrite: new.overwrite,
        path,
        target: new.target.unwrap_or_default(),
        user: owner_user(new.user),
    }
}

fn raid(new: types::Raid) -> v2::Raid {
    v2::Raid {
        devices: new.devices.unwrap_or_default(),
        level: new.level.unwrap_or_default(),
        name: new.name,
        options: new.options.unwrap_or_default(),
        spares: new.spares.unwrap_or_default(),
    }
}

fn unit(new: types::Unit) -> v2::Unit {
    v2::Unit {
        contents: new.contents.unwrap_or_default(),
        dropins: list(new.dropins, |dropin| v2::Dropin {
            contents: dropin.contents.unwrap_or_default(),
            name: dropin.name,
        }),
        enable: false,
        enabled: new.enabled,
        mask: new.mask.unwrap_or_default(),
        name: new.name,
    }
}

fn group(new: types::Group) -> v2::Group {
    v2::Group {
        gid: new.gid,
        name: new.name,
        password_hash: new.password_hash.unwrap_or_default(),
        system: new.system.unwrap_or_default(),
    }
}

fn user(new: types::User) -> v2::User {
    v2::User {
        create: None,
        gecos: new.gecos.unwrap_or_default(),
        groups: new.groups.unwrap_or_default(),
        home_dir: new.home_dir.unwrap_or_default(),
        name: new.name,
        no_create_home: new.no_create_home.unwrap_or_default(),
        no_log_init: new.no_log_init.unwrap_or_default(),
        no_user_group: new.no_user_group.unwrap_or_default(),
        password_hash: new.password_hash,
        primary_group: new.primary_group.unwrap_or_default(),
        shell: new.shell.unwrap_or_default(),
        ssh_authorized_keys: new.ssh_authorized_keys.unwrap_or_default(),
        system: new.system.unwrap_or_default(),
        uid: new.uid,
    }
}
