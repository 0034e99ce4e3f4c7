//! The real Ignition on overrides: its validator, and its engine on a pointer with an override and a pool's config.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::{MetadataExt as _, symlink},
    path::Path,
    process::{Command, Stdio},
};

use berth_ignition::{Encoding, encode};
use berth_ztp::CheckOptions;
use serde_json::{Value, json};

use crate::{made::all, site::findings};

const VALIDATOR: &str = "/usr/bin/ignition-validate";
const ENGINE: &str = "/usr/lib/dracut/modules.d/30ignition/ignition";

/// Whether the program is here. Where everything must be checked, a missing program is a failure.
fn is_here(program: &str) -> bool {
    let here = Path::new(program).exists();
    let required = std::env::var_os("BERTH_REQUIRE_TOOLS").is_some_and(|value| value == "1");
    assert!(here || !required, "{program} is missing");
    here
}

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
    if !is_here(VALIDATOR) {
        return;
    }
    for text in found {
        let mut child = Command::new(VALIDATOR)
            .arg("-")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success() && said.is_empty(), "{text}\n{said}");
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

    let is_root = fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0);
    if !is_here(ENGINE) || !is_root {
        return;
    }
    let source = encode(pool.to_string().as_bytes(), Encoding::Base64).source;
    pointer["ignition"]["config"] = json!({"merge": [{"source": source}]});
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let root = at("root");
    fs::create_dir_all(root.join("etc/selinux")).unwrap();
    fs::create_dir(at("bin")).unwrap();
    // The engine ends with a relabelling by SELinux's tools, which is not what is tested here and not installed.
    fs::write(
        root.join("etc/selinux/config"),
        "SELINUX=disabled\nSELINUXTYPE=targeted\n",
    )
    .unwrap();
    symlink("/bin/true", at("bin/setfiles")).unwrap();
    fs::write(at("config.ign"), pointer.to_string()).unwrap();
    for stage in ["fetch", "files"] {
        let output = Command::new(ENGINE)
            .args(["--platform", "file", "--log-to-stdout", "--stage", stage])
            .arg("--root")
            .arg(&root)
            .arg("--config-cache")
            .arg(at("cache.json"))
            .arg("--state-file")
            .arg(at("state"))
            .arg("--neednet")
            .arg(at("neednet"))
            .env("IGNITION_CONFIG_FILE", at("config.ign"))
            .env("PATH", format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", at("bin").display()))
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{stage}: {}",
            String::from_utf8_lossy(&output.stdout)
        );
    }
    let read = |path: &str| fs::read_to_string(root.join(path.trim_start_matches('/'))).unwrap();
    assert_eq!(
        (
            read(both).as_str(),
            read(override_only).as_str(),
            read(pool_only).as_str()
        ),
        ("pool", "override", "pool")
    );
}
