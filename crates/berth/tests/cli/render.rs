//! `berth render`.

use serde_json::json;

use crate::{
    judge::ignition_takes,
    run::{Folder, at_root, line},
};

const TELCO: &str = "-f examples/telco-site";
const POOLS: [&str; 4] = ["infra", "master", "worker", "worker-rwn"];

#[test]
fn golden_renders_of_the_telco_site() {
    for pool in POOLS {
        let outcome = at_root(&format!("render {TELCO} --pool {pool}"));
        insta::assert_snapshot!(format!("telco_{pool}"), outcome);
    }
    insta::assert_snapshot!("telco_table", at_root(&format!("render {TELCO} -o table")));
    insta::assert_snapshot!("telco_wide", at_root(&format!("render {TELCO} -o wide")));
    insta::assert_snapshot!("telco_name", at_root(&format!("render {TELCO} -o name")));
}

#[test]
fn all_pools_are_a_stream_in_yaml_and_an_array_in_json() {
    let one = |pool: &str| at_root(&format!("render {TELCO} --pool {pool} -o yaml")).stdout;
    let stream = at_root(&format!("render {TELCO}")).stdout;
    assert_eq!(stream, POOLS.map(one).join("---\n"));

    let array = at_root(&format!("render {TELCO} -o json")).json();
    let objects = POOLS.map(|pool| at_root(&format!("render {TELCO} --pool {pool} -o json")).json());
    assert_eq!(array, json!(objects));
}

#[test]
fn ignition_takes_every_rendered_config() {
    for (folder, count) in [
        ("examples/telco-site", POOLS.len()),
        ("crates/berth/tests/fixtures/diff/new", 2),
    ] {
        let objects = at_root(&format!("render -f {folder} -o json")).json();
        let objects = objects.as_array().unwrap();
        assert_eq!(objects.len(), count);
        for object in objects {
            ignition_takes(object["metadata"]["name"].as_str().unwrap(), &object["spec"]["config"]);
        }
    }
}

#[test]
fn the_operating_system_is_part_of_the_name() {
    let name = |more: &str| {
        let outcome = line(&format!(
            "render -f tests/fixtures/diff/old --pool worker {more} -o json"
        ));
        (
            outcome.json()["metadata"]["name"].clone(),
            outcome.json()["spec"]["osImageURL"].clone(),
        )
    };
    let (plain, none) = name("");
    let (with, image) = name("--os-image-url registry.example/os:9");
    assert_ne!(plain, with);
    assert_eq!((none, image), (json!(""), json!("registry.example/os:9")));
}

#[test]
fn the_order_of_files_does_not_matter() {
    let text = std::fs::read_to_string("tests/fixtures/diff/old/site.yaml").unwrap();
    let mut parts: Vec<&str> = text.split("---\n").collect();
    parts.reverse();
    let folder = Folder::new();
    for (number, part) in parts.iter().enumerate() {
        folder.write(&format!("{number}.yaml"), part);
    }
    let there = line("render -f tests/fixtures/diff/old -o name").stdout;
    assert_eq!(folder.line("render -f . -o name").stdout, there);
    assert!(there.starts_with("machineconfig/rendered-infra-"), "{there}");
}

#[test]
fn an_unknown_pool_is_exit_2_with_close_matches() {
    insta::assert_snapshot!("unknown_pool", line("render -f tests/fixtures/diff/old --pool wrker"));
}

const POOL: &str = "\
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {name: worker}
spec:
  machineConfigSelector: {matchLabels: {machineconfiguration.openshift.io/role: worker}}
  nodeSelector: {matchLabels: {node-role.kubernetes.io/worker: \"\"}}
";

fn machine_config(spec: &str) -> String {
    format!(
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\n\
         metadata: {{name: 50-a, labels: {{machineconfiguration.openshift.io/role: worker}}}}\nspec:\n{spec}"
    )
}

#[test]
fn a_machine_config_that_cannot_be_used_is_shown_with_its_place() {
    let folder = Folder::new();
    folder.write("pool.yaml", POOL).write(
        "config.yaml",
        machine_config(
            "  kernelType: fast\n  config:\n    ignition: {version: 3.2.0}\n    storage:\n      files:\n      \
             - path: etc/motd\n",
        ),
    );
    insta::assert_snapshot!("invalid", folder.line("render -f . --pool worker"));
    let outcome = folder.line("render -f . --pool worker -o json");
    assert_eq!((outcome.exit, outcome.stdout.as_str()), (1, ""), "{outcome}");
}

#[test]
fn a_pool_without_machine_configs_says_so() {
    let folder = Folder::new();
    folder.write("pool.yaml", POOL);
    insta::assert_snapshot!("no_configs", folder.line("render -f . --pool worker"));
}

#[test]
fn labels_of_the_pool_cannot_be_lost() {
    let folder = Folder::new();
    folder.write("pool.yaml", POOL).write(
        "config.yaml",
        machine_config(
            "  config:\n    ignition: {version: 3.2.0}\n    systemd:\n      units:\n      - name: kubelet.service\n        \
             dropins:\n        - name: 99-mine.conf\n          contents: |\n            [Service]\n            ExecStart=\n            \
             ExecStart=/usr/bin/kubelet --node-labels=a/b/c=d\n",
        ),
    );
    let outcome = folder.line("render -f . --pool worker -o name");
    assert_eq!(outcome.exit, 1, "{outcome}");
    assert!(outcome.stderr.contains("config.yaml:"), "{outcome}");
}

#[test]
fn a_config_that_is_nearly_too_large_is_a_warning() {
    let folder = Folder::new();
    let filler = "x".repeat(1_300_000);
    folder.write("pool.yaml", POOL).write(
        "config.yaml",
        machine_config(&format!(
            "  config:\n    ignition: {{version: 3.2.0}}\n    storage:\n      files:\n      - path: /a\n        \
             mode: 0644\n        contents: {{source: \"data:,{filler}\"}}\n"
        )),
    );
    let outcome = folder.line("render -f . -o name");
    assert_eq!(outcome.exit, 0);
    assert!(
        outcome
            .stderr
            .starts_with("warning: rendered MachineConfig rendered-worker-"),
        "{}",
        outcome.stderr
    );
    assert!(
        outcome.stderr.contains("% of the 1572864 bytes allowed"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn the_images_come_from_the_controller_config_and_what_is_missing_is_said() {
    let folder = Folder::new();
    let site = |more: &str| format!("render {TELCO} {more} --pool worker -o json");
    let without = at_root(&site(""));
    let note = "note: the Machine Config Operator may name the rendered config of worker differently: there is no ControllerConfig";
    assert!(without.stderr.contains(note), "{without}");
    folder.write(
        "controller.yaml",
        "\
apiVersion: machineconfiguration.openshift.io/v1
kind: ControllerConfig
metadata: {name: machine-config-controller}
spec:
  baseOSContainerImage: registry.example/os@sha256:01
  baseOSExtensionsContainerImage: registry.example/extensions@sha256:02
  anything: else
",
    );
    let path = folder.path().join("controller.yaml");
    let with = at_root(&site(&format!("-f {}", path.display())));
    assert!(!with.stderr.contains("ControllerConfig"), "{with}");
    assert!(
        with.stderr
            .contains("none of its machine configs was generated by the operator"),
        "{with}"
    );
    let (before, after) = (without.json(), with.json());
    assert_eq!(after["spec"]["osImageURL"], "registry.example/os@sha256:01");
    assert_eq!(
        after["spec"]["baseOSExtensionsContainerImage"],
        "registry.example/extensions@sha256:02"
    );
    assert_eq!(before["spec"]["config"], after["spec"]["config"]);
    assert_ne!(before["metadata"]["name"], after["metadata"]["name"]);
}

/// Who shows the name of a rendered config, or compares it with what nodes have, says that the operator's may differ: once.
#[test]
fn every_command_that_uses_a_name_says_that_it_may_differ() {
    let nodes = "--nodes examples/telco-cluster/nodes.yaml";
    let words = "may name the rendered config of";
    let all = format!("{words} infra, master, worker, worker-rwn differently");
    let infra = format!("{words} infra differently");
    let site = "examples/telco-site";
    for (line, note) in [
        (format!("render {TELCO} -o name"), &all),
        (format!("render {TELCO} --pool infra -o name"), &infra),
        (format!("rollout plan {TELCO} {nodes}"), &all),
        (format!("rollout plan {TELCO} {nodes} --pool infra -o json"), &infra),
        (format!("forecast {TELCO} {nodes}"), &all),
        (format!("rehearse {TELCO} {nodes}"), &all),
        (format!("diff {site} {site}"), &all),
        (format!("diff {site} {site} --pool infra"), &infra),
    ] {
        let outcome = at_root(&line);
        assert_eq!(outcome.stderr.matches(words).count(), 1, "{line}: {outcome}");
        assert!(outcome.stderr.contains(note), "{line}: {outcome}");
        let elsewhere = at_root(&format!("{line} --flavour upstream"));
        assert!(!elsewhere.stderr.contains(words), "{line}: {elsewhere}");
    }
    // These use no name.
    for line in [
        format!("pools {TELCO} -o wide"),
        format!("plan {TELCO} {nodes} -o wide"),
        format!("ignition {TELCO} --pool infra"),
        format!("ignition {TELCO} --node smyrgaear01"),
        format!("machineconfig {TELCO} --pool infra"),
        format!("resolve {TELCO} -o json"),
    ] {
        let outcome = at_root(&line);
        assert_ne!(outcome.stdout, "", "{line}: {outcome}");
        for text in [&outcome.stdout, &outcome.stderr] {
            assert!(
                !text.contains("rendered-") && !text.contains(words),
                "{line}: {outcome}"
            );
        }
    }
}

#[test]
fn nothing_is_said_where_the_operators_inputs_are_known() {
    let folder = Folder::new();
    folder.write(
        "site.yaml",
        "\
apiVersion: machineconfiguration.openshift.io/v1
kind: ControllerConfig
metadata: {name: machine-config-controller}
spec: {baseOSContainerImage: registry.example/os@sha256:01, baseOSExtensionsContainerImage: registry.example/extensions@sha256:02}
---
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {name: worker}
spec:
  nodeSelector: {matchLabels: {node-role.kubernetes.io/worker: \"\"}}
  machineConfigSelector: {matchLabels: {machineconfiguration.openshift.io/role: worker}}
---
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  name: 00-worker
  labels: {machineconfiguration.openshift.io/role: worker}
  annotations: {machineconfiguration.openshift.io/generated-by-controller-version: 4a1b2c}
spec: {config: {ignition: {version: 3.4.0}}}
",
    );
    folder.write(
        "nodes.yaml",
        "apiVersion: v1\nkind: Node\nmetadata: {name: w1, labels: {node-role.kubernetes.io/worker: \"\"}}\n",
    );
    for line in [
        "render -f site.yaml -o name",
        "rollout plan -f site.yaml --nodes nodes.yaml",
        "forecast -f site.yaml --nodes nodes.yaml",
        "rehearse -f site.yaml --nodes nodes.yaml",
        "diff site.yaml site.yaml",
    ] {
        let outcome = folder.line(line);
        assert_eq!(
            (outcome.exit, outcome.stderr.contains("differently")),
            (0, false),
            "{line}: {outcome}"
        );
    }
}
