//! The rule for each field of each type.

use std::borrow::Cow;

use ignition_config::v3_5::{
    Cex, Clevis, ClevisCustom, Config, Directory, Disk, Dropin, File, Filesystem, Group, HttpHeadersItem, Ignition,
    IgnitionConfig, KernelArguments, Link, Luks, NodeGroup, NodeUser, Partition, Passwd, Proxy, Raid, Resource,
    Security, SecurityTls, Storage, Systemd, Tang, Timeouts, Unit, User, Verification,
};

use super::{
    Merge,
    list::{Keyed, Slots},
    rule,
};

/// Merges structs field by field. A field without a rule does not compile.
macro_rules! fields {
    ($($type:ident { $($field:ident: $rule:ident),* $(,)? })*) => {$(
        impl Merge for $type {
            fn merge(first: Self, later: Vec<Self>) -> Self {
                $(let mut $field = Vec::with_capacity(later.len());)*
                for version in later {
                    $($field.push(version.$field);)*
                }
                Self { $($field: rule::$rule(first.$field, $field)),* }
            }
        }
    )*};
}

fields! {
    Config { ignition: section, kernel_arguments: merge, passwd: merge, storage: merge, systemd: merge }
    Ignition { config: merge, proxy: merge, security: merge, timeouts: merge, version: always }
    IgnitionConfig { merge: keyed, replace: merge }
    Proxy { http_proxy: replace, https_proxy: replace, no_proxy: keyed }
    Security { tls: merge }
    SecurityTls { certificate_authorities: keyed }
    Timeouts { http_response_headers: replace, http_total: replace }
    Resource { compression: replace, http_headers: headers, source: replace, verification: merge }
    HttpHeadersItem { name: always, value: replace }
    Verification { hash: replace }
    Passwd { groups: keyed, users: keyed }
    Group { gid: replace, name: always, password_hash: replace, should_exist: replace, system: replace }
    User {
        gecos: replace,
        groups: keyed,
        home_dir: replace,
        name: always,
        no_create_home: replace,
        no_log_init: replace,
        no_user_group: replace,
        password_hash: replace,
        primary_group: replace,
        shell: replace,
        should_exist: replace,
        ssh_authorized_keys: keyed,
        system: replace,
        uid: replace,
    }
    Directory { group: merge, mode: replace, overwrite: replace, path: always, user: merge }
    File {
        append: append,
        contents: merge,
        group: merge,
        mode: replace,
        overwrite: replace,
        path: always,
        user: merge,
    }
    Link { group: merge, hard: replace, overwrite: replace, path: always, target: replace, user: merge }
    NodeGroup { id: replace, name: replace }
    NodeUser { id: replace, name: replace }
    Disk { device: always, partitions: keyed, wipe_table: replace }
    Partition {
        guid: replace,
        label: replace,
        number: replace,
        resize: replace,
        should_exist: replace,
        size_mib: replace,
        start_mib: replace,
        type_guid: replace,
        wipe_partition_entry: replace,
    }
    Filesystem {
        device: always,
        format: replace,
        label: replace,
        mount_options: append,
        options: append,
        path: replace,
        uuid: replace,
        wipe_filesystem: replace,
    }
    Raid { devices: keyed, level: replace, name: always, options: append, spares: replace }
    Luks {
        cex: merge,
        clevis: merge,
        device: replace,
        discard: replace,
        key_file: merge,
        label: replace,
        name: always,
        open_options: append,
        options: append,
        uuid: replace,
        wipe_volume: replace,
    }
    Cex { enabled: replace }
    Clevis { custom: merge, tang: keyed, threshold: replace, tpm2: replace }
    ClevisCustom { config: replace, needs_network: replace, pin: replace }
    Tang { advertisement: replace, thumbprint: replace, url: replace }
    Systemd { units: keyed }
    Unit { contents: replace, dropins: keyed, enabled: replace, mask: replace, name: always }
    Dropin { contents: replace, name: always }
}

/// Names the field that is the key of an entry.
macro_rules! keys {
    ($($type:ident: $field:ident,)*) => {$(
        impl Keyed for $type {
            fn key(&self) -> Cow<'_, str> {
                Cow::Borrowed(&self.$field)
            }
        }
    )*};
}

keys! {
    Directory: path,
    Disk: device,
    Dropin: name,
    File: path,
    // The device, not the path: one device holds one filesystem.
    Filesystem: device,
    Group: name,
    HttpHeadersItem: name,
    Link: path,
    Luks: name,
    Raid: name,
    Unit: name,
    User: name,
}

impl Keyed for Resource {
    fn key(&self) -> Cow<'_, str> {
        self.source.as_deref().unwrap_or_default().into()
    }
}

impl Keyed for Tang {
    fn key(&self) -> Cow<'_, str> {
        self.url.as_deref().unwrap_or_default().into()
    }
}

impl Keyed for Partition {
    fn key(&self) -> Cow<'_, str> {
        match (self.number, &self.label) {
            (Some(number), _) if number != 0 => format!("number:{number}").into(),
            (_, Some(label)) => format!("label:{label}").into(),
            (_, None) => "".into(),
        }
    }
}

/// A plain string is its own key, so a list of them is a set in the order of
/// first mention.
impl Keyed for String {
    fn key(&self) -> Cow<'_, str> {
        self.into()
    }
}

impl Merge for String {
    fn merge(first: Self, later: Vec<Self>) -> Self {
        rule::always(first, later)
    }
}

impl Merge for Storage {
    fn merge(first: Self, later: Vec<Self>) -> Self {
        let (mut directories, mut files, mut links) = (Slots::default(), Slots::default(), Slots::default());
        let (mut disks, mut filesystems, mut luks, mut raid) = (vec![], vec![], vec![], vec![]);
        for version in std::iter::once(first).chain(later) {
            for directory in version.directories.into_iter().flatten() {
                files.remove(&directory.path);
                links.remove(&directory.path);
                directories.add(directory);
            }
            for file in version.files.into_iter().flatten() {
                directories.remove(&file.path);
                links.remove(&file.path);
                files.add(file);
            }
            for link in version.links.into_iter().flatten() {
                directories.remove(&link.path);
                files.remove(&link.path);
                links.add(link);
            }
            disks.push(version.disks);
            filesystems.push(version.filesystems);
            luks.push(version.luks);
            raid.push(version.raid);
        }
        Self {
            directories: directories.finish(),
            disks: rule::keyed(None, disks),
            files: files.finish(),
            filesystems: rule::keyed(None, filesystems),
            links: links.finish(),
            luks: rule::keyed(None, luks),
            raid: rule::keyed(None, raid),
        }
    }
}

impl Merge for KernelArguments {
    fn merge(first: Self, later: Vec<Self>) -> Self {
        let (mut exist, mut not_exist) = (Slots::default(), Slots::default());
        for version in std::iter::once(first).chain(later) {
            for argument in version.should_exist.into_iter().flatten() {
                not_exist.remove(&argument);
                exist.add(argument);
            }
            for argument in version.should_not_exist.into_iter().flatten() {
                exist.remove(&argument);
                not_exist.add(argument);
            }
        }
        Self {
            should_exist: exist.finish(),
            should_not_exist: not_exist.finish(),
        }
    }
}
