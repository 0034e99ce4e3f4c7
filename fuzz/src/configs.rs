//! Ignition configs from decisions: few names, so that entries of different configs meet.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::Choices;

/// What is right, and what is odd. A config with many odd things is refused before anything is merged, so they are rare.
type Words = (&'static [&'static str], &'static [&'static str]);

const NAMES: Words = (&["a", "b", "c", "d"], &["", "/a", "a b", "é"]);
const PATHS: Words = (&["/a", "/b", "/a/b", "/c"], &["", "a", "/a/../b", "/é", "/a/"]);
const SOURCES: Words = (
    &["data:,a", "data:;base64,YQ==", "https://example.com/a", "data:,%61"],
    &["", "data:,%", "s3://b/k", "arn:aws:s3:::b/k", "oem:///a", "ftp://a"],
);
const PROXIES: Words = (&["http://a", "https://b:80"], &["", "a", "ftp://a"]);
const UNITS: Words = (&["a.service", "b.service", "c.mount"], &["a", "", "a.x"]);
const DROP_INS: Words = (&["a.conf", "b.conf"], &["a", ""]);
const UNIT_TEXTS: Words = (
    &[
        "[Unit]\nA=b\n",
        "",
        "[Service]\nExecStart=\n",
        "[Install]\nWantedBy=a\n",
    ],
    &["[Unit", "A=b", "[Unit]\nA=\\\n b\n"],
);
const COMPRESSIONS: Words = (&["", "gzip"], &["xz"]);
const MODES: &[i64] = &[420, 384, 493, 0, 2541];

/// A config that reads as one of the versions 3.0 to 3.5, or nearly.
pub fn config(choices: &mut Choices<'_>) -> Value {
    let version = choices.pick(&["3.5.0", "3.4.0", "3.3.0", "3.2.0", "3.1.0", "3.0.0"]);
    let mut ignition = maybe(choices, |choices, ignition| {
        put(
            choices,
            ignition,
            "config",
            |choices| json!({"merge": keyed(choices, 2, "source", resource), "replace": resource(choices)}),
        );
        put(
            choices,
            ignition,
            "timeouts",
            |choices| json!({"httpTotal": number(choices)}),
        );
        put(
            choices,
            ignition,
            "security",
            |choices| json!({"tls": {"certificateAuthorities": keyed(choices, 2, "source", resource)}}),
        );
        put(
            choices,
            ignition,
            "proxy",
            |choices| json!({"httpProxy": word(choices, PROXIES), "noProxy": names(choices)}),
        );
    });
    ignition["version"] = version.into();
    let mut config = json!({ "ignition": ignition });
    config["storage"] = maybe(choices, storage);
    config["systemd"] = json!({"units": keyed(choices, 3, "name", unit)});
    config["passwd"] = maybe(choices, |choices, passwd| {
        put(choices, passwd, "users", |choices| keyed(choices, 2, "name", user));
        put(choices, passwd, "groups", |choices| {
            keyed(
                choices,
                2,
                "name",
                |choices| json!({"name": name(choices), "gid": number(choices)}),
            )
        });
    });
    if choices.one_in(4) {
        config["kernelArguments"] = json!({"shouldExist": names(choices), "shouldNotExist": choices.list(1, |_| "z")});
    }
    config
}

fn storage(choices: &mut Choices<'_>, storage: &mut Value) {
    put(choices, storage, "files", |choices| keyed(choices, 3, "path", file));
    put(choices, storage, "links", |choices| {
        keyed(choices, 2, "path", |choices| {
            let mut link = node(choices);
            link["target"] = path(choices).into();
            put(choices, &mut link, "hard", |choices| choices.one_in(2).into());
            link
        })
    });
    put(choices, storage, "directories", |choices| {
        keyed(choices, 2, "path", |choices| {
            let mut directory = node(choices);
            put(choices, &mut directory, "mode", mode);
            directory
        })
    });
    if !choices.one_in(4) {
        return;
    }
    put(choices, storage, "disks", |choices| keyed(choices, 2, "device", disk));
    put(choices, storage, "raid", |choices| {
        keyed(choices, 2, "name", |choices| {
            json!({
                "name": name(choices), "level": choices.pick(&["raid1", "raid0", "linear", "stripe"]),
                "devices": ["/dev/a", "/dev/b"], "options": choices.list(2, name),
            })
        })
    });
    put(choices, storage, "filesystems", |choices| {
        keyed(choices, 2, "device", |choices| {
            json!({
                "device": path(choices), "path": path(choices), "format": choices.pick(&["xfs", "ext4", "vfat"]),
                "label": name(choices), "uuid": name(choices), "wipeFilesystem": choices.one_in(2),
                "options": choices.list(2, name), "mountOptions": choices.list(2, name),
            })
        })
    });
    put(choices, storage, "luks", |choices| keyed(choices, 2, "name", luks));
}

fn luks(choices: &mut Choices<'_>) -> Value {
    let mut luks = json!({"name": name(choices), "device": path(choices)});
    put(choices, &mut luks, "keyFile", resource);
    put(choices, &mut luks, "clevis", |choices| {
        json!({"tpm2": choices.one_in(2), "threshold": choices.below(3),
               "tang": choices.list(2, |choices| json!({"url": word(choices, SOURCES), "thumbprint": name(choices)}))})
    });
    put(choices, &mut luks, "discard", |choices| choices.one_in(2).into());
    put(choices, &mut luks, "openOptions", |choices| {
        choices.list(2, name).into()
    });
    put(
        choices,
        &mut luks,
        "cex",
        |choices| json!({"enabled": choices.one_in(2)}),
    );
    luks
}

fn disk(choices: &mut Choices<'_>) -> Value {
    let mut disk = json!({"device": path(choices), "wipeTable": choices.one_in(2)});
    disk["partitions"] = keyed(choices, 3, "number", |choices| {
        let mut partition = maybe(choices, |choices, partition| {
            put(choices, partition, "label", |choices| name(choices).into());
            put(choices, partition, "sizeMiB", number);
            put(choices, partition, "startMiB", number);
            put(choices, partition, "resize", |choices| choices.one_in(2).into());
            put(choices, partition, "shouldExist", |choices| choices.one_in(2).into());
        });
        partition["number"] = choices.below(4).into();
        partition
    });
    disk
}

fn file(choices: &mut Choices<'_>) -> Value {
    let mut file = node(choices);
    put(choices, &mut file, "mode", mode);
    put(choices, &mut file, "contents", resource);
    if !file["contents"].is_null() {
        put(choices, &mut file, "overwrite", |choices| choices.one_in(2).into());
    }
    put(choices, &mut file, "append", |choices| choices.list(3, resource).into());
    file
}

fn node(choices: &mut Choices<'_>) -> Value {
    let mut node = json!({"path": path(choices)});
    put(choices, &mut node, "user", |choices| json!({"id": number(choices)}));
    put(choices, &mut node, "group", |choices| json!({"name": name(choices)}));
    node
}

fn user(choices: &mut Choices<'_>) -> Value {
    let mut user = json!({"name": name(choices)});
    put(choices, &mut user, "sshAuthorizedKeys", names);
    put(choices, &mut user, "groups", names);
    put(choices, &mut user, "uid", number);
    put(choices, &mut user, "shouldExist", |choices| choices.one_in(2).into());
    put(choices, &mut user, "noCreateHome", |choices| choices.one_in(2).into());
    user
}

fn unit(choices: &mut Choices<'_>) -> Value {
    let mut unit = json!({"name": word(choices, UNITS)});
    put(choices, &mut unit, "contents", |choices| {
        word(choices, UNIT_TEXTS).into()
    });
    put(choices, &mut unit, "enabled", |choices| choices.one_in(2).into());
    put(choices, &mut unit, "mask", |choices| choices.one_in(2).into());
    put(choices, &mut unit, "dropins", |choices| {
        keyed(
            choices,
            2,
            "name",
            |choices| json!({"name": word(choices, DROP_INS), "contents": word(choices, UNIT_TEXTS)}),
        )
    });
    unit
}

fn resource(choices: &mut Choices<'_>) -> Value {
    maybe(choices, |choices, resource| {
        if !choices.one_in(16) {
            resource["source"] = word(choices, SOURCES).into();
        }
        put(choices, resource, "compression", |choices| {
            word(choices, COMPRESSIONS).into()
        });
        let remote = resource["source"]
            .as_str()
            .is_some_and(|source| source.starts_with("http"));
        if remote || choices.one_in(64) {
            put(choices, resource, "httpHeaders", |choices| {
                keyed(choices, 2, "name", |choices| {
                    let mut header = json!({"name": name(choices)});
                    put(choices, &mut header, "value", |choices| name(choices).into());
                    header
                })
            });
        }
        if choices.one_in(64) {
            resource["verification"] = json!({"hash": choices.pick(&["sha512-00", "sha256-", "", "md5-0"])});
        }
    })
}

fn word(choices: &mut Choices<'_>, (right, odd): Words) -> &'static str {
    if choices.one_in(64) {
        choices.pick(odd)
    } else {
        choices.pick(right)
    }
}

fn name(choices: &mut Choices<'_>) -> &'static str {
    word(choices, NAMES)
}

fn path(choices: &mut Choices<'_>) -> &'static str {
    word(choices, PATHS)
}

fn number(choices: &mut Choices<'_>) -> Value {
    let odd = choices.one_in(64);
    choices
        .pick(if odd { &[-1, i64::MAX, i64::MIN] } else { &[0, 1, 1000] })
        .into()
}

fn mode(choices: &mut Choices<'_>) -> Value {
    let odd = choices.one_in(64);
    choices
        .pick(if odd { &[4096, -1, 1_000_000, i64::MAX] } else { MODES })
        .into()
}

/// Up to `most` entries, mostly without two of the same key.
fn keyed(choices: &mut Choices<'_>, most: usize, key: &str, make: fn(&mut Choices<'_>) -> Value) -> Value {
    let mut list = choices.list(most, make);
    if !choices.one_in(64) {
        let mut seen = HashSet::new();
        list.retain(|entry| seen.insert(entry[key].to_string()));
    }
    list.into()
}

/// Up to three names, mostly without a repeat.
fn names(choices: &mut Choices<'_>) -> Value {
    let mut list = choices.list(3, name);
    if !choices.one_in(64) {
        let mut seen = HashSet::new();
        list.retain(|name| seen.insert(*name));
    }
    list.into()
}

/// An object that may stay empty.
fn maybe(choices: &mut Choices<'_>, fill: impl FnOnce(&mut Choices<'_>, &mut Value)) -> Value {
    let mut object = Value::Object(Map::new());
    if !choices.is_empty() {
        fill(choices, &mut object);
    }
    object
}

/// A member that may be left out, or be null.
fn put(choices: &mut Choices<'_>, object: &mut Value, key: &str, make: impl FnOnce(&mut Choices<'_>) -> Value) {
    match choices.below(8) {
        0..4 => {}
        7 if choices.one_in(4) => object[key] = Value::Null,
        _ => object[key] = make(choices),
    }
}

/// Removes members that say nothing, as reading does: null, and empty lists and objects. Elements of lists stay.
pub fn drop_empty(json: &mut Value) {
    match json {
        Value::Object(members) => {
            members.values_mut().for_each(drop_empty);
            members.retain(|_, value| match value {
                Value::Null => false,
                Value::Array(elements) => !elements.is_empty(),
                Value::Object(members) => !members.is_empty(),
                Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
            });
        }
        Value::Array(elements) => elements.iter_mut().for_each(drop_empty),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
