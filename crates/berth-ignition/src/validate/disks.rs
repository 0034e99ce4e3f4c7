//! Disks, partitions, arrays and filesystems.

use std::collections::{HashMap, HashSet};

use ignition_config::v3_5 as types;

use super::{At, Report, check_path, text};
use crate::SpecVersion;

/// A name in a GUID partition table has 36 UTF-16 units; Ignition counts bytes.
const PARTITION_LABEL_MAX: usize = 36;

pub(super) fn check(storage: &types::Storage, at: At<'_>, report: &mut Report) {
    let disks = at.key("disks");
    report.duplicates(disks, storage.disks.as_deref(), |disk| &disk.device);
    for (index, disk) in storage.disks.iter().flatten().enumerate() {
        check_disk(disk, disks.index(index), report);
    }
    let raid = at.key("raid");
    report.duplicates(raid, storage.raid.as_deref(), |array| &array.name);
    for (index, array) in storage.raid.iter().flatten().enumerate() {
        check_raid(array, raid.index(index), report);
    }
    let filesystems = at.key("filesystems");
    report.duplicates(filesystems, storage.filesystems.as_deref(), |filesystem| {
        &filesystem.device
    });
    for (index, filesystem) in storage.filesystems.iter().flatten().enumerate() {
        check_filesystem(filesystem, filesystems.index(index), report);
    }
}

fn check_disk(disk: &types::Disk, at: At<'_>, report: &mut Report) {
    if disk.device.is_empty() {
        report.error(at.key("device"), "a device is required");
        return;
    }
    report.on_error(at.key("device"), check_path(&disk.device));
    let list = at.key("partitions");
    let partitions = disk.partitions.as_deref().unwrap_or_default();
    for (index, partition) in partitions.iter().enumerate() {
        check_partition(partition, list.index(index), report);
    }
    check_collisions(partitions, list, report);
    if let Some(index) = overlapping(partitions) {
        report.error(list.index(index), "the partition overlaps another");
    }
    let unnumbered = partitions.iter().any(|partition| number(partition) == 0);
    let removed = partitions.iter().any(|partition| partition.should_exist == Some(false));
    if unnumbered && removed {
        let message = "partitions without a number cannot stand next to ones that should not exist";
        report.error(list, message);
    }
}

fn number(partition: &types::Partition) -> i64 {
    partition.number.unwrap_or_default()
}

fn check_collisions(partitions: &[types::Partition], at: At<'_>, report: &mut Report) {
    let mut numbers = HashSet::new();
    let mut labels = HashSet::new();
    for (index, partition) in partitions.iter().enumerate() {
        let number = number(partition);
        if number != 0 && !numbers.insert(number) {
            report.error(at.index(index), format!("the number {number} is used twice"));
        }
        if let Some(label) = &partition.label
            && !labels.insert(label)
        {
            report.error(at.index(index), format!("the label `{label}` is used twice"));
        }
    }
}

/// A partition whose given start and size collide with another's.
///
/// A start of zero means "wherever there is room", which cannot be judged.
fn overlapping(partitions: &[types::Partition]) -> Option<usize> {
    let mut spans: Vec<(i64, i64, usize)> = partitions
        .iter()
        .enumerate()
        .filter_map(|(index, partition)| {
            let start = partition.start_mib.filter(|start| *start != 0)?;
            let size = partition.size_mib?;
            let end = start.saturating_add(size.max(1)).saturating_sub(1);
            Some((start, end, index))
        })
        .collect();
    spans.sort_unstable();
    let mut reached = None;
    for (start, end, index) in spans {
        if reached.is_some_and(|reached| start <= reached) {
            return Some(index);
        }
        reached = reached.max(Some(end));
    }
    None
}

fn check_partition(partition: &types::Partition, at: At<'_>, report: &mut Report) {
    let described = partition.label.is_some()
        || text(partition.type_guid.as_deref()).is_some()
        || text(partition.guid.as_deref()).is_some()
        || partition.start_mib.is_some()
        || partition.size_mib.is_some();
    if partition.should_exist == Some(false) && described {
        report.error(at, "a partition that should not exist is described");
    }
    if number(partition) == 0 && partition.label.is_none() {
        report.error(at, "a partition needs a number or a label");
    }
    if let Some(label) = &partition.label {
        if label.len() > PARTITION_LABEL_MAX {
            let message = format!("the label is longer than {PARTITION_LABEL_MAX} bytes");
            report.error(at.key("label"), message);
        }
        if label.contains(':') {
            report.error(at.key("label"), "the label has a colon and would be cut off there");
        }
    }
    for (field, guid) in [("guid", &partition.guid), ("typeGuid", &partition.type_guid)] {
        if text(guid.as_deref()).is_some_and(|guid| !is_guid(guid)) {
            let message = "not of the form 01234567-89AB-CDEF-EDCB-A98765432101";
            report.error(at.key(field), message);
        }
    }
}

fn is_guid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    let hexadecimal = |group: &str| group.bytes().all(|byte| byte.is_ascii_hexdigit());
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12]) && groups.into_iter().all(hexadecimal)
}

fn check_raid(array: &types::Raid, at: At<'_>, report: &mut Report) {
    match text(array.level.as_deref()) {
        None => report.error(at.key("level"), "a level is required"),
        Some("linear" | "raid0" | "0" | "stripe") => {
            if array.spares.is_some_and(|spares| spares != 0) {
                report.error(at.key("level"), "this level has no spares");
            }
        }
        Some("raid1" | "1" | "mirror" | "raid4" | "4" | "raid5" | "5" | "raid6" | "6" | "raid10" | "10") => {}
        Some(level) => report.error(at.key("level"), format!("the level `{level}` is not known")),
    }
    let devices = at.key("devices");
    report.duplicates(devices, array.devices.as_deref(), String::as_str);
    let list = array.devices.as_deref().unwrap_or_default();
    if list.is_empty() {
        report.error(devices, "devices are required");
    }
    for (index, device) in list.iter().enumerate() {
        report.on_error(devices.index(index), check_path(device));
    }
}

fn check_filesystem(filesystem: &types::Filesystem, at: At<'_>, report: &mut Report) {
    if let Some(path) = text(filesystem.path.as_deref()) {
        report.on_error(at.key("path"), check_path(path));
    }
    report.on_error(at.key("device"), check_path(&filesystem.device));
    let label = text(filesystem.label.as_deref());
    let Some(format) = text(filesystem.format.as_deref()) else {
        let list = |list: &Option<Vec<String>>| list.as_ref().is_some_and(|list| !list.is_empty());
        let described = text(filesystem.path.as_deref()).is_some()
            || label.is_some()
            || text(filesystem.uuid.as_deref()).is_some()
            || filesystem.wipe_filesystem == Some(true)
            || list(&filesystem.options)
            || list(&filesystem.mount_options);
        if described {
            report.error(at.key("format"), "a filesystem that is described needs a format");
        }
        return;
    };
    let label_max: HashMap<&str, usize> =
        HashMap::from([("ext4", 16), ("btrfs", 256), ("xfs", 12), ("swap", 15), ("vfat", 11)]);
    let none = format == "none" && report.version >= SpecVersion::V3_3;
    match label_max.get(format) {
        None if none => {}
        None => {
            let message = format!(
                "the filesystem format `{format}` is not known in spec {}",
                report.version
            );
            report.error(at.key("format"), message);
        }
        Some(&max) => {
            if label.is_some_and(|label| label.len() > max) {
                let message = format!("a label of {format} has at most {max} bytes");
                report.error(at.key("label"), message);
            }
        }
    }
}
