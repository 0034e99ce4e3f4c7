//! Random configs for property tests.
//!
//! They are small and draw from few names, so that entries of different configs meet.

use std::collections::HashSet;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::{Config, SpecVersion, parse};

/// A valid config of the newest version that uses only what spec 3.0 has.
pub(crate) fn config() -> impl Strategy<Value = Config> {
    json().prop_map(|mut json| {
        json["ignition"]["version"] = SpecVersion::LATEST.as_str().into();
        parse(&json).config.unwrap_or_default()
    })
}

/// A config without a version, with only fields that spec 3.0 has.
pub(crate) fn json() -> impl Strategy<Value = Value> {
    let nodes = prop::collection::vec((0_usize..3, node()), 0..6);
    let units = prop::collection::vec(unit(), 0..3);
    let keys = prop::collection::vec("[a-d]", 0..4);
    (nodes, units, keys).prop_map(|(nodes, units, keys)| {
        let mut lists = [Vec::new(), Vec::new(), Vec::new()];
        let mut seen = HashSet::new();
        for (kind, mut node) in nodes {
            if !seen.insert(node["path"].to_string()) {
                continue;
            }
            let allowed: &[&str] = match kind {
                0 => &["path", "mode", "contents", "append", "user"],
                1 => &["path", "mode", "user"],
                _ => &["path", "target", "user"],
            };
            retain(&mut node, allowed);
            lists[kind].push(node);
        }
        let [files, directories, links] = lists;
        let mut json = json!({
            "ignition": {},
            "storage": {"files": files, "directories": directories, "links": links},
            "systemd": {"units": unique(units)},
            "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": strings(keys)}]},
        });
        crate::json::prune(&mut json);
        json["ignition"] = json!({});
        json
    })
}

fn retain(node: &mut Value, allowed: &[&str]) {
    if let Value::Object(members) = node {
        members.retain(|key, _| allowed.contains(&key.as_str()));
    }
}

fn unique(list: Vec<Value>) -> Vec<Value> {
    let mut seen = HashSet::new();
    let unseen = list.into_iter();
    unseen.filter(|entry| seen.insert(entry["name"].to_string())).collect()
}

fn strings(list: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    list.into_iter().filter(|text| seen.insert(text.clone())).collect()
}

fn object(members: impl IntoIterator<Item = (&'static str, Option<Value>)>) -> Value {
    let said = members
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Object(said.collect::<Map<_, _>>())
}

fn source() -> impl Strategy<Value = Value> {
    let compression = prop::option::of(prop::sample::select(&["", "gzip"]));
    ("[a-c]", compression).prop_map(|(data, compression)| {
        object([
            ("source", Some(format!("data:,{data}").into())),
            ("compression", compression.map(Value::from)),
        ])
    })
}

fn node() -> impl Strategy<Value = Value> {
    let append = prop::option::of(prop::collection::vec(source(), 1..3));
    let user = prop::option::of(0_i64..3);
    let mode = prop::option::of(prop::sample::select(&[0o644_i64, 0o600, 0o755]));
    ("/[a-d]", mode, prop::option::of(source()), append, user).prop_map(|(path, mode, contents, append, user)| {
        object([
            ("path", Some(path.into())),
            ("mode", mode.map(Value::from)),
            ("contents", contents),
            ("append", append.map(Value::from)),
            ("target", Some("/x".into())),
            ("user", user.map(|id| json!({"id": id}))),
        ])
    })
}

fn unit() -> impl Strategy<Value = Value> {
    let dropin = ("[a-c]\\.conf", "[a-c]")
        .prop_map(|(name, value)| json!({"name": name, "contents": format!("[Unit]\nA={value}\n")}));
    let dropins = prop::collection::vec(dropin, 0..3).prop_map(unique);
    let contents = prop::option::of("\\[Unit\\]\nA=[a-c]\n");
    ("[a-c]\\.service", contents, dropins, prop::option::of(any::<bool>())).prop_map(
        |(name, contents, dropins, enabled)| {
            object([
                ("name", Some(name.into())),
                ("contents", contents.map(Value::from)),
                ("dropins", Some(dropins.into())),
                ("enabled", enabled.map(Value::from)),
            ])
        },
    )
}
