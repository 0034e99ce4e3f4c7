//! A `ControllerConfig` with `spec.berth` among the documents, through the commands that render.

use std::fs;

use serde_json::{Value, json};

use crate::run::{Folder, Outcome, at_root};

/// The certificates of the example, and others.
const CERTIFICATE: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCi0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K";
const OTHER_CERTIFICATE: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCm90aGVyCi0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K";

/// The documents of `examples/pool-cluster`.
fn folder() -> Folder {
    let folder = Folder::new();
    for name in ["controller-config", "pools", "kubelet-config"] {
        let path = format!("{}/../../examples/pool-cluster/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(path).unwrap();
        folder
            .write(&format!("old/{name}.yaml"), &text)
            .write(&format!("new/{name}.yaml"), &text);
    }
    folder
}

fn changed(folder: &Folder, from: &str, to: &str) {
    let path = format!(
        "{}/../../examples/pool-cluster/controller-config.yaml",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from));
    folder.write("new/controller-config.yaml", text.replace(from, to));
}

fn file(outcome: &Outcome, path: &str) -> String {
    let config = berth_ignition::parse(&outcome.json()["spec"]["config"]).config.unwrap();
    String::from_utf8(berth_ignition::file_contents(config.find_file(path).unwrap()).unwrap()).unwrap()
}

#[test]
fn a_pool_cluster_from_nothing() {
    let lint = at_root("lint -f examples/pool-cluster");
    assert_eq!(lint.exit, 0, "{lint}");
    insta::assert_snapshot!(at_root("templates -f examples/pool-cluster -o table"));
    let rendered = at_root("render -f examples/pool-cluster --pool infra -o json");
    let configuration = file(&rendered, "/etc/kubernetes/kubelet.conf");
    assert!(
        configuration.contains("maxPods: 400") && configuration.contains("10.96.0.10"),
        "{configuration}"
    );
    // A machine of the pool gets the same file.
    let ignition = at_root("ignition -f examples/pool-cluster --node infra-1 --flavour upstream");
    assert_eq!(ignition.exit, 0, "{ignition}");
}

#[test]
fn a_role_or_a_pool_can_be_asked_for() {
    let names = |arguments: &str| at_root(&format!("templates -f examples/pool-cluster -o name {arguments}")).stdout;
    let all = names("");
    assert_eq!(
        all,
        "machineconfig/00-worker\nmachineconfig/01-worker-container-runtime\nmachineconfig/01-worker-kubelet\nmachineconfig/99-worker-ssh\n"
    );
    assert_eq!(names("--role worker"), all);
    assert_eq!(names("--role master"), "");
    assert_eq!(names("--pool infra"), all);
}

#[test]
fn what_is_printed_can_be_kept_and_renders_the_same() {
    let folder = folder();
    let name =
        |at: &str| folder.line(&format!("render -f {at} --pool infra -o json")).json()["metadata"]["name"].clone();
    let before = name("new");
    let printed = folder.line("templates -f new");
    assert_eq!(printed.exit, 0, "{printed}");
    folder.write("new/templates.yaml", printed.stdout);
    let lint = folder.line("lint -f new");
    assert_eq!(lint.exit, 0, "{lint}");
    assert_eq!(name("new"), before);
}

#[test]
fn certificates_cost_no_reboot_and_the_kubelet_does() {
    let folder = folder();
    let actions = || -> Value {
        let diff = folder.line("diff old new -o json").json();
        let pools = diff["pools"].as_array().unwrap().iter();
        pools.map(|pool| pool["actions"].clone()).collect()
    };
    changed(
        &folder,
        &format!("kubeAPIServerServingCAData: {CERTIFICATE}"),
        &format!("kubeAPIServerServingCAData: {OTHER_CERTIFICATE}"),
    );
    assert_eq!(actions(), json!([["none"], ["none"]]));
    changed(&folder, "/usr/bin/kubelet", "/opt/kubelet");
    assert_eq!(actions(), json!([["reboot"], ["reboot"]]));
}

#[test]
fn what_is_wrong_is_shown_with_its_place() {
    let folder = folder();
    changed(&folder, "family: debian", "family: windows");
    for command in ["lint", "templates"] {
        let outcome = folder.line(&format!("{command} -f new"));
        assert_eq!(outcome.exit, 1, "{outcome}");
        let all = format!("{outcome}");
        assert!(
            all.contains("error[invalid-controller-config]") && all.contains("controller-config.yaml:12:13"),
            "{all}"
        );
    }
    let nothing = at_root("templates -f examples/telco-site");
    assert_eq!(nothing.exit, 1, "{nothing}");
    assert!(
        nothing
            .stderr
            .contains("no ControllerConfig `machine-config-controller` with `spec.berth`"),
        "{nothing}"
    );
}
