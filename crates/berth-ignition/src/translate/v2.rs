//! The types of spec 2.2.
//!
//! In 2.2 most fields have a default that means "not said": an empty string,
//! false, or an empty list. They are left out when written.

use serde::{Deserialize, Serialize};

/// Whether a field has the value that means "not said".
fn unsaid<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Declares a struct whose fields all default and vanish at their default.
macro_rules! spec {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $kind:ty),* $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
        #[serde(default, rename_all = "camelCase")]
        pub(super) struct $name {
            $(
                #[serde(skip_serializing_if = "unsaid", deserialize_with = "null_is_default")]
                pub(super) $field: $kind,
            )*
        }
    )*};
}

/// Reads null as the default, as the program these files were written for does.
fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

spec! {
    /// The whole config.
    Config {
        ignition: Ignition,
        networkd: Networkd,
        passwd: Passwd,
        storage: Storage,
        systemd: Systemd,
    }
    /// What Ignition itself is told.
    Ignition {
        config: IgnitionConfig,
        security: Security,
        timeouts: Timeouts,
        version: String,
    }
    /// Further configs.
    IgnitionConfig {
        append: Vec<Reference>,
        replace: Option<Reference>,
    }
    /// Where something is fetched from.
    Reference {
        source: String,
        verification: Verification,
    }
    /// A hash to check.
    Verification { hash: Option<String> }
    /// TLS settings.
    Security { tls: Tls }
    /// Certificate authorities.
    Tls { certificate_authorities: Vec<Reference> }
    /// HTTP timeouts in seconds.
    Timeouts {
        http_response_headers: Option<i64>,
        http_total: Option<i64>,
    }
    /// Units of systemd-networkd, which spec 3 does not have.
    Networkd { units: Vec<serde_json::Value> }
    /// Users and groups.
    Passwd {
        groups: Vec<Group>,
        users: Vec<User>,
    }
    /// A group.
    Group {
        gid: Option<i64>,
        name: String,
        password_hash: String,
        system: bool,
    }
    /// A user.
    User {
        create: Option<serde_json::Value>,
        gecos: String,
        groups: Vec<String>,
        home_dir: String,
        name: String,
        no_create_home: bool,
        no_log_init: bool,
        no_user_group: bool,
        password_hash: Option<String>,
        primary_group: String,
        shell: String,
        ssh_authorized_keys: Vec<String>,
        system: bool,
        uid: Option<i64>,
    }
    /// Disks and what is on them.
    Storage {
        directories: Vec<Directory>,
        disks: Vec<Disk>,
        files: Vec<File>,
        filesystems: Vec<Filesystem>,
        links: Vec<Link>,
        raid: Vec<Raid>,
    }
    /// A user or group by number or name.
    Owner {
        id: Option<i64>,
        name: String,
    }
    /// A directory.
    Directory {
        filesystem: String,
        group: Option<Owner>,
        mode: Option<i64>,
        overwrite: Option<bool>,
        path: String,
        user: Option<Owner>,
    }
    /// A file.
    File {
        append: bool,
        contents: Contents,
        filesystem: String,
        group: Option<Owner>,
        mode: Option<i64>,
        overwrite: Option<bool>,
        path: String,
        user: Option<Owner>,
    }
    /// What is in a file.
    Contents {
        compression: String,
        source: String,
        verification: Verification,
    }
    /// A link.
    Link {
        filesystem: String,
        group: Option<Owner>,
        hard: bool,
        overwrite: Option<bool>,
        path: String,
        target: String,
        user: Option<Owner>,
    }
    /// A disk.
    Disk {
        device: String,
        partitions: Vec<Partition>,
        wipe_table: bool,
    }
    /// A partition. Size and start are in sectors, of a size the config does not say.
    Partition {
        guid: String,
        label: String,
        number: i64,
        size: i64,
        start: i64,
        type_guid: String,
    }
    /// A RAID array.
    Raid {
        devices: Vec<String>,
        level: String,
        name: String,
        options: Vec<String>,
        spares: i64,
    }
    /// A filesystem that files refer to by name.
    Filesystem {
        mount: Option<Mount>,
        name: String,
        path: Option<String>,
    }
    /// How to make and mount a filesystem.
    Mount {
        create: Option<serde_json::Value>,
        device: String,
        format: String,
        label: Option<String>,
        options: Vec<String>,
        uuid: Option<String>,
        wipe_filesystem: bool,
    }
    /// Units of systemd.
    Systemd { units: Vec<Unit> }
    /// A unit. `enable` is the older spelling of `enabled`.
    Unit {
        contents: String,
        dropins: Vec<Dropin>,
        enable: bool,
        enabled: Option<bool>,
        mask: bool,
        name: String,
    }
    /// A drop-in.
    Dropin {
        contents: String,
        name: String,
    }
}
