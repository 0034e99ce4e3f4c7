//! The fields and types that a `KubeletConfig` may have, judged by the real kubelet.

use std::{collections::BTreeSet, fs, process::Command};

use berth_pools::{KUBELET_CONFIGURATION, KubeletConfig, ProtectKind, TemplateInput, kubelet_fields, templates};
use berth_testing::Programs;
use serde_json::{Map, Value, json};

const API: &str = "kubelet.config.k8s.io/v1beta1";

/// How many unknown fields one run of the kubelet names without leaving any out.
const NAMED_AT_ONCE: usize = 50;

/// A value that the kubelet can read for a type.
fn value(path: &str, kind: &str) -> Value {
    match kind {
        "object" | "map flag" => json!({}),
        "objects" => json!([{}]),
        "flag" => json!(true),
        "text" if path.ends_with("timeAdded") => json!("2026-01-01T00:00:00Z"),
        "text" => json!("a"),
        "duration" | "duration or int64" => json!("1s"),
        "quantity" => json!("1"),
        "number" => json!(0.5),
        "list text" => json!(["a"]),
        "list int32" => json!([1]),
        "map text" => json!({"a": "b"}),
        "map list" => json!({"a": ["b"]}),
        "map quantity" => json!({"a": "1"}),
        "int32" | "int64" | "unsigned" => json!(1),
        other => panic!("{path} has an unknown type {other}"),
    }
}

/// Writes a value to a path such as `reservedMemory[].limits`.
fn put(root: &mut Map<String, Value>, path: &str, value: Value) {
    let (parents, name) = path.rsplit_once('.').unwrap_or(("", path));
    let mut place = root;
    for parent in parents.split('.').filter(|parent| !parent.is_empty()) {
        let (name, in_list) = parent.strip_suffix("[]").map_or((parent, false), |name| (name, true));
        let value = place.get_mut(name).unwrap();
        let value = if in_list { &mut value[0] } else { value };
        place = value.as_object_mut().unwrap();
    }
    place.insert(name.to_owned(), value);
}

/// A configuration with every field in it.
fn everything() -> Map<String, Value> {
    let mut fields = Map::new();
    for (path, kind) in kubelet_fields() {
        put(&mut fields, path, value(path, kind));
    }
    let named = json!({"apiVersion": API, "kind": "KubeletConfiguration"});
    fields.extend(named.as_object().unwrap().clone());
    fields
}

/// What the kubelet says while it reads a configuration. It never starts: there is no such format of logs.
fn kubelet(programs: &Programs, fields: &Map<String, Value>) -> String {
    kubelet_reads(programs, &Value::Object(fields.clone()).to_string())
}

fn kubelet_reads(programs: &Programs, text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kubelet.json");
    fs::write(&file, text).unwrap();
    let output = Command::new(programs.path("kubelet"))
        .arg("--config")
        .arg(&file)
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success(), "the kubelet ran: {said}");
    said
}

/// The unknown fields that the kubelet names, without the places in lists.
fn unknown_to_kubelet(said: &str) -> BTreeSet<String> {
    let named = said.split("unknown field \\\"").skip(1);
    named
        .filter_map(|rest| Some(rest.split_once("\\\"")?.0.replace("[0]", "[]")))
        .collect()
}

fn problems(fields: &Map<String, Value>) -> Vec<(String, ProtectKind)> {
    let object = json!({"metadata": {"name": "a"}, "spec": {"kubeletConfig": fields}});
    let found = KubeletConfig::from_json(&object).unwrap().problems().into_iter();
    found
        .map(|found| {
            (
                found.path.trim_start_matches("spec.kubeletConfig.").to_owned(),
                found.kind,
            )
        })
        .collect()
}

#[test]
fn the_kubelet_knows_every_field_and_no_other() {
    let Some(programs) = Programs::for_test() else { return };
    let said = kubelet(&programs, &everything());
    assert!(
        !said.contains("unknown field") && !said.contains("failed to decode"),
        "{said}"
    );

    let paths: Vec<_> = kubelet_fields().collect();
    for paths in paths.chunks(NAMED_AT_ONCE) {
        let mut fields = everything();
        let misspelled: BTreeSet<String> = paths.iter().map(|(path, _)| format!("{path}X")).collect();
        for path in &misspelled {
            put(&mut fields, path, json!(1));
        }
        assert_eq!(unknown_to_kubelet(&kubelet(&programs, &fields)), misspelled);
        let refused = problems(&fields).into_iter().filter(|(path, _)| path.ends_with('X'));
        let refused: BTreeSet<_> = refused.map(|(path, _)| path.replace("[0]", "[]")).collect();
        assert_eq!(refused, misspelled);
    }
}

#[test]
fn values_that_stop_the_kubelet_are_refused() {
    let Some(programs) = Programs::for_test() else { return };
    // One field of each type, with values of every other.
    let mut kinds = BTreeSet::new();
    let one_of_each: Vec<_> = kubelet_fields()
        .filter(|(path, kind)| !path.contains('.') && kinds.insert(*kind))
        .collect();
    let values = [
        json!(true),
        json!(1),
        json!(0.5),
        json!(3_000_000_000_u64),
        json!("a"),
        json!("1s"),
        json!(["a"]),
        json!([{}]),
        json!({"a": "b"}),
    ];
    for (path, kind) in one_of_each {
        for value in &values {
            let fields = json!({path: value}).as_object().unwrap().clone();
            let mut whole = json!({"apiVersion": API, "kind": "KubeletConfiguration", "logging": {"format": "none"}});
            whole[path] = value.clone();
            let said = kubelet(&programs, whole.as_object().unwrap());
            let stops = said.contains("failed to decode");
            let refused = problems(&fields)
                .iter()
                .any(|(_, kind)| *kind == ProtectKind::StopsKubelet);
            assert_eq!(refused, stops, "{path} ({kind}) with {value}: {said}");
        }
    }
}

#[test]
fn the_kubelet_takes_what_templates_give_it() {
    let Some(programs) = Programs::for_test() else { return };
    let certificate = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCi0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K";
    for runtime in ["containerd", "cri-o"] {
        let spec = json!({
            "clusterDNSIP": "fd00::a",
            "kubeAPIServerServingCAData": certificate,
            "berth": {"family": "debian", "containerRuntime": runtime},
        });
        let made = templates(&TemplateInput {
            spec: &spec,
            ..TemplateInput::default()
        });
        let made = made.unwrap();
        let files = made.iter().flat_map(|config| {
            let ignition = config.spec.config.as_ref().unwrap();
            berth_ignition::parse(ignition).usable().unwrap().files().to_vec()
        });
        let file = files
            .into_iter()
            .find(|file| file.path == KUBELET_CONFIGURATION)
            .unwrap();
        let text = String::from_utf8(berth_ignition::file_contents(&file).unwrap()).unwrap();

        // With one field that is wrong it never starts, and names everything that is.
        let said = kubelet_reads(&programs, &format!("{text}maxPods: -1\n"));
        let invalid = |said: &str| said.matches("invalid configuration: ").count();
        assert!(said.contains("maxPods") && !said.contains("unknown field"), "{said}");
        assert_eq!(invalid(&said), 1, "{said}");
        let two = kubelet_reads(&programs, &format!("{text}maxPods: -1\nregistryPullQPS: -1\n"));
        assert_eq!(invalid(&two), 2, "{two}");
    }
}
