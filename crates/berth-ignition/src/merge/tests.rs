use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{SpecVersion, parse, strategy};

fn config(mut json: Value) -> Config {
    json["ignition"]["version"] = "3.5.0".into();
    parse(&json).config.unwrap()
}

/// Merges and gives the result as JSON, without the version.
fn merged(configs: impl IntoIterator<Item = Value>) -> Value {
    let merged = merge_all(configs.into_iter().map(config));
    let mut json = merged.as_v3_5_json();
    let ignition = json["ignition"].as_object_mut().unwrap();
    ignition.remove("version");
    if ignition.is_empty() {
        json.as_object_mut().unwrap().remove("ignition");
    }
    json
}

impl Config {
    fn as_v3_5_json(&self) -> Value {
        let mut json = serde_json::to_value(self.as_v3_5()).unwrap();
        crate::json::prune(&mut json);
        json
    }
}

fn files(files: Value) -> Value {
    let mut config = json!({});
    config["storage"]["files"] = files;
    config
}

#[test]
fn a_file_is_merged_field_by_field_in_the_parents_place() {
    let got = merged([
        files(json!([
            {"path": "/a", "mode": 420, "contents": {"source": "data:,1", "compression": "gzip",
                "verification": {"hash": "sha512-x"}}},
            {"path": "/b", "mode": 420},
        ])),
        files(json!([
            {"path": "/c"},
            {"path": "/a", "overwrite": true, "contents": {"source": "data:,2"}},
        ])),
    ]);
    // Compression and hash stay with the parent's value: that is Ignition's rule.
    assert_eq!(
        got,
        files(json!([
            {"path": "/a", "mode": 420, "overwrite": true, "contents": {"source": "data:,2",
                "compression": "gzip", "verification": {"hash": "sha512-x"}}},
            {"path": "/b", "mode": 420},
            {"path": "/c"},
        ]))
    );
}

#[test]
fn an_empty_string_is_a_value_and_null_is_not() {
    let got = merged([
        files(json!([{"path": "/a", "contents": {"source": "data:,1", "compression": "gzip"}}])),
        files(json!([{"path": "/a", "mode": null, "contents": {"compression": ""}}])),
    ]);
    assert_eq!(
        got,
        files(json!([{"path": "/a", "contents": {"source": "data:,1", "compression": ""}}]))
    );
}

#[test]
fn appended_parts_and_options_are_joined() {
    let got = merged([
        files(json!([{"path": "/a", "append": [{"source": "data:,1"}]}])),
        files(json!([{"path": "/a", "append": [{"source": "data:,1"}, {"source": "data:,2"}]}])),
    ]);
    assert_eq!(
        got,
        files(json!([{"path": "/a", "append": [
            {"source": "data:,1"}, {"source": "data:,1"}, {"source": "data:,2"},
        ]}]))
    );
    let storage = |options: Value| {
        json!({"storage": {
            "filesystems": [{"device": "/dev/a", "options": options, "mountOptions": options}],
            "raid": [{"name": "r", "options": options}],
            "luks": [{"name": "l", "options": options, "openOptions": options}],
        }})
    };
    assert_eq!(
        merged([storage(json!(["x"])), storage(json!(["x", "y"]))]),
        storage(json!(["x", "x", "y"]))
    );
}

#[test]
fn files_links_and_directories_share_their_paths() {
    let link = json!({"storage": {"links": [{"path": "/a", "target": "/x"}]}});
    let directory = json!({"storage": {"directories": [{"path": "/a", "mode": 493}]}});
    let file = files(json!([{"path": "/a"}]));
    assert_eq!(merged([file.clone(), link.clone()]), link);
    assert_eq!(merged([link.clone(), file.clone()]), file);
    assert_eq!(merged([file.clone(), directory.clone()]), directory);
    assert_eq!(merged([directory.clone(), link.clone()]), link);
    assert_eq!(merged([link, directory.clone(), file.clone()]), file);
    // What was removed and comes back has lost its place and its fields.
    assert_eq!(
        merged([
            files(json!([{"path": "/a", "mode": 420}, {"path": "/b"}])),
            directory,
            file,
        ]),
        files(json!([{"path": "/b"}, {"path": "/a"}]))
    );
}

#[test]
fn dropins_of_one_unit_gather_and_the_same_name_replaces() {
    let unit = |dropins: Value| json!({"systemd": {"units": [{"name": "kubelet.service", "dropins": dropins}]}});
    assert_eq!(
        merged([
            unit(json!([{"name": "a.conf", "contents": "1"}])),
            unit(json!([{"name": "b.conf", "contents": "2"}])),
            unit(json!([{"name": "a.conf", "contents": "3"}])),
        ]),
        unit(json!([{"name": "a.conf", "contents": "3"}, {"name": "b.conf", "contents": "2"}]))
    );
}

#[test]
fn kernel_arguments_are_added_or_removed_not_both() {
    let args = |exist: &[&str], not: &[&str]| json!({"kernelArguments": {"shouldExist": exist, "shouldNotExist": not}});
    assert_eq!(
        merged([args(&["a", "b"], &["c"]), args(&["c", "a"], &["b"])]),
        args(&["a", "c"], &["b"])
    );
}

#[test]
fn a_header_without_value_removes_the_parents() {
    let headers =
        |headers: Value| files(json!([{"path": "/a", "contents": {"source": "http://x", "httpHeaders": headers}}]));
    assert_eq!(
        merged([
            headers(json!([{"name": "a", "value": "1"}, {"name": "b", "value": "2"}])),
            headers(json!([{"name": "a"}, {"name": "b", "value": "3"}, {"name": "c"}])),
        ]),
        headers(json!([{"name": "b", "value": "3"}, {"name": "c"}]))
    );
}

#[test]
fn keys_of_the_other_lists() {
    let table = [
        // Plain strings are a set in the order of first mention.
        (
            json!({"passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["a", "b"], "uid": 1}]}}),
            json!({"passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["c", "a"]}, {"name": "x"}]}}),
            json!({"passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["a", "b", "c"], "uid": 1}, {"name": "x"}]}}),
        ),
        (
            json!({"passwd": {"groups": [{"name": "g", "gid": 1}]}}),
            json!({"passwd": {"groups": [{"name": "g", "system": true}]}}),
            json!({"passwd": {"groups": [{"name": "g", "gid": 1, "system": true}]}}),
        ),
        // A filesystem is known by its device, not by its path.
        (
            json!({"storage": {"filesystems": [{"device": "/dev/a", "path": "/x"}]}}),
            json!({"storage": {"filesystems": [{"device": "/dev/b", "path": "/x"}, {"device": "/dev/a", "path": "/y"}]}}),
            json!({"storage": {"filesystems": [{"device": "/dev/a", "path": "/y"}, {"device": "/dev/b", "path": "/x"}]}}),
        ),
        // A partition is known by its number, or by its label when it has none.
        (
            json!({"storage": {"disks": [{"device": "/dev/a", "partitions": [{"number": 1, "label": "x"}, {"label": "y"}]}]}}),
            json!({"storage": {"disks": [{"device": "/dev/a", "partitions": [{"number": 1, "label": "z"}, {"label": "y", "sizeMiB": 5}, {"number": 2, "label": "y"}]}]}}),
            json!({"storage": {"disks": [{"device": "/dev/a", "partitions": [{"number": 1, "label": "z"}, {"label": "y", "sizeMiB": 5}, {"number": 2, "label": "y"}]}]}}),
        ),
        (
            json!({"storage": {"raid": [{"name": "r", "level": "1", "devices": ["/dev/a"]}]}}),
            json!({"storage": {"raid": [{"name": "r", "devices": ["/dev/b", "/dev/a"]}]}}),
            json!({"storage": {"raid": [{"name": "r", "level": "1", "devices": ["/dev/a", "/dev/b"]}]}}),
        ),
        (
            json!({"storage": {"luks": [{"name": "l", "clevis": {"tang": [{"url": "http://x", "thumbprint": "1"}]}}]}}),
            json!({"storage": {"luks": [{"name": "l", "clevis": {"tpm2": true, "tang": [{"url": "http://x", "thumbprint": "2"}]}}]}}),
            json!({"storage": {"luks": [{"name": "l", "clevis": {"tpm2": true, "tang": [{"url": "http://x", "thumbprint": "2"}]}}]}}),
        ),
        (
            json!({"ignition": {"config": {"merge": [{"source": "http://a"}]}, "timeouts": {"httpTotal": 1}}}),
            json!({"ignition": {"config": {"merge": [{"source": "http://b"}, {"source": "http://a", "compression": "gzip"}]}, "timeouts": {"httpResponseHeaders": 2}}}),
            json!({"ignition": {"config": {"merge": [{"source": "http://a", "compression": "gzip"}, {"source": "http://b"}]}, "timeouts": {"httpTotal": 1, "httpResponseHeaders": 2}}}),
        ),
    ];
    for (parent, child, want) in table {
        assert_eq!(merged([parent, child]), want);
    }
}

#[test]
fn nothing_merged_is_an_empty_config_of_the_newest_version() {
    assert_eq!(merge_all(Vec::<Config>::new()), Config::new());
    assert_eq!(merge_all([Config::new()]).written_in(), SpecVersion::LATEST);
}

/// Ignition's rules read literally: two lists at a time, walked for each entry.
mod literal {
    use super::*;

    /// The list named by `key` in the child, merged over that in the parent.
    pub(super) fn lists(parent: &[Value], child: &[Value], others: &[Value], key: &str) -> Vec<Value> {
        let same = |a: &Value, b: &Value| a[key] == b[key];
        let kept = parent.iter().filter(|old| !others.iter().any(|new| same(old, new)));
        let mut result: Vec<Value> = kept
            .map(|old| match child.iter().find(|new| same(old, new)) {
                None => old.clone(),
                Some(new) => fields(old, new),
            })
            .collect();
        let unseen = child.iter().filter(|new| !parent.iter().any(|old| same(old, new)));
        result.extend(unseen.cloned());
        result
    }

    fn fields(old: &Value, new: &Value) -> Value {
        let mut result = old.clone();
        for (name, value) in new.as_object().unwrap() {
            result[name] = match (&old[name], value) {
                (Value::Object(_), Value::Object(_)) => fields(&old[name], value),
                (Value::Array(first), Value::Array(second)) if name == "append" => {
                    [first.as_slice(), second].concat().into()
                }
                (Value::Array(first), Value::Array(second)) => lists(first, second, &[], "name").into(),
                _ => value.clone(),
            };
        }
        result
    }
}

fn files_only(mut config: Config) -> Config {
    if let Some(storage) = &mut config.as_v3_5_mut().storage {
        storage.links = None;
        storage.directories = None;
    }
    config
}

fn list(config: &Config, pointer: &str) -> Vec<Value> {
    let json = config.as_v3_5_json();
    let list = json.pointer(pointer).and_then(Value::as_array);
    list.cloned().unwrap_or_default()
}

proptest! {
    #[test]
    fn all_at_once_is_the_same_as_pair_by_pair(configs in prop::collection::vec(strategy::config(), 0..6)) {
        let folded = configs.iter().fold(None, |parent: Option<Config>, child| {
            Some(parent.map_or_else(|| merge_all([child]), |parent| merge(&parent, child)))
        });
        prop_assert_eq!(merge_all(&configs), folded.unwrap_or_default());
    }

    #[test]
    fn merging_is_associative(a in strategy::config(), b in strategy::config(), c in strategy::config()) {
        // A path that changes from link to file and back loses its place, or not, depending
        // on what is merged first; so only where every path keeps its kind.
        let [a, b, c] = [a, b, c].map(files_only);
        prop_assert_eq!(merge(&merge(&a, &b), &c), merge(&a, &merge(&b, &c)));
    }

    #[test]
    fn an_empty_config_changes_nothing(config in strategy::config()) {
        let empty = Config::new();
        prop_assert_eq!(merge(&config, &empty).into_v3_5(), config.clone().into_v3_5());
        prop_assert_eq!(merge(&empty, &config).into_v3_5(), config.clone().into_v3_5());
    }

    #[test]
    fn a_config_over_itself_changes_nothing_but_joined_lists(config in strategy::config()) {
        let mut config = config;
        for file in config.as_v3_5_mut().storage.iter_mut().flat_map(|storage| storage.files.iter_mut().flatten()) {
            file.append = None;
        }
        prop_assert_eq!(merge(&config, &config).into_v3_5(), config.clone().into_v3_5());
    }

    #[test]
    fn two_configs_merge_as_the_rules_read(a in strategy::config(), b in strategy::config()) {
        let got = merge(&a, &b);
        let kinds = ["/storage/files", "/storage/links", "/storage/directories"];
        for kind in kinds {
            let others = kinds.iter().filter(|other| **other != kind);
            let others: Vec<Value> = others.flat_map(|other| list(&b, other)).collect();
            prop_assert_eq!(
                list(&got, kind),
                literal::lists(&list(&a, kind), &list(&b, kind), &others, "path")
            );
        }
        let units = "/systemd/units";
        prop_assert_eq!(
            list(&got, units),
            literal::lists(&list(&a, units), &list(&b, units), &[], "name")
        );
    }

    #[test]
    fn merged_valid_configs_have_no_duplicates(configs in prop::collection::vec(strategy::config(), 0..5)) {
        let merged = merge_all(&configs);
        let duplicate = crate::validate(&merged)
            .into_iter()
            .find(|finding| finding.message.contains("more than once"));
        prop_assert_eq!(duplicate, None);
    }
}
