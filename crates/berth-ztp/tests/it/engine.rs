//! The real Ignition on overrides: its validator, and its engine on a pointer with an override and a pool's config.

use std::fs;

use berth_ignition::{Encoding, encode};
use berth_testing::Ignition;
use berth_ztp::CheckOptions;
use serde_json::{Value, json};

use crate::{made::all, site::findings};

fn overrides(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let is_override = key.ends_with("/ignition-config-overrides") || key == "ignitionConfigOverride";
                match value {
                    Value::String(text) if is_override => found.push(text.clone()),
                    other => overrides(other, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| overrides(item, found)),
        _ => {}
    }
}

#[test]
fn ignition_takes_every_override() {
    let mut found = Vec::new();
    for (_, made) in all() {
        for manifest in &made.manifests {
            overrides(&manifest.object, &mut found);
        }
    }
    found.sort();
    found.dedup();
    assert!(found.len() >= 12, "{}", found.len());
    let Some(ignition) = Ignition::for_test() else {
        return;
    };
    for text in found {
        let verdict = ignition.judge(&text).unwrap();
        assert!(verdict.is_clean(), "{text}\n{verdict:?}");
    }
}

/// The service merges a host's override into the pointer, and the pointer's `merge` fetches the pool's config.
#[test]
fn the_pools_config_wins_over_an_override_as_the_checks_say() {
    let file = |path: &str, contents: &str| {
        json!({"path": path, "mode": 420, "overwrite": true,
            "contents": {"source": encode(contents.as_bytes(), Encoding::Percent).source}})
    };
    let both = "/etc/chrony.conf";
    let (override_only, pool_only) = ("/etc/kubernetes/kubelet-env", "/etc/pool");
    let pool =
        json!({"ignition": {"version": "3.2.0"}, "storage": {"files": [file(both, "pool"), file(pool_only, "pool")]}});
    let mut pointer = json!({"ignition": {"version": "3.2.0"},
        "storage": {"files": [file(both, "override"), file(override_only, "override")]}});

    // What the checks say of the same two.
    let manifests = format!(
        "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: w\n  namespace: c\n  labels:\n    \
         infraenvs.agent-install.openshift.io: c\n  annotations:\n    bmac.agent-install.openshift.io/role: worker\n    \
         bmac.agent-install.openshift.io/ignition-config-overrides: '{pointer}'\nspec: {{online: true}}\n---\napiVersion: \
         machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  name: m\n  labels:\n    \
         machineconfiguration.openshift.io/role: worker\nspec:\n  config: {pool}\n"
    );
    let found = findings(&[("set.yaml".to_owned(), manifests)], &CheckOptions::default());
    let hidden: Vec<&String> = found.iter().filter(|line| line.contains("ztp-override-path")).collect();
    assert!(hidden.len() == 1 && hidden[0].contains(both), "{found:#?}");

    let source = encode(pool.to_string().as_bytes(), Encoding::Base64).source;
    pointer["ignition"]["config"] = json!({"merge": [{"source": source}]});
    let Some(root) = Ignition::for_test().and_then(|ignition| ignition.write(&pointer.to_string()).unwrap()) else {
        return;
    };
    let read = |path: &str| fs::read_to_string(root.path(path)).unwrap();
    assert_eq!(
        (
            read(both).as_str(),
            read(override_only).as_str(),
            read(pool_only).as_str()
        ),
        ("pool", "override", "pool")
    );
}
