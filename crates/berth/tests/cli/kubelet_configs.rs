//! A `KubeletConfig` among the documents, through every command that renders.

use serde_json::{Value, json};

use crate::run::{Folder, Outcome};

const SITE: &str = "\
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata:
  name: infra
  labels: {example.com/pool: infra}
spec:
  machineConfigSelector:
    matchExpressions:
    - {key: machineconfiguration.openshift.io/role, operator: In, values: [worker, infra]}
  nodeSelector:
    matchLabels: {example.com/infra: \"\"}
---
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  name: 01-worker-kubelet
  labels: {machineconfiguration.openshift.io/role: worker}
spec:
  config:
    ignition: {version: 3.4.0}
    storage:
      files:
      - path: /etc/kubernetes/kubelet.conf
        contents:
          source: data:,kind%3A%20KubeletConfiguration%0AapiVersion%3A%20kubelet.config.k8s.io%2Fv1beta1%0AmaxPods%3A%20250%0A
---
apiVersion: berth.dev/v1alpha1
kind: Berth
metadata:
  name: w1
spec:
  pool: infra
";

const MORE_PODS: &str = "\
apiVersion: machineconfiguration.openshift.io/v1
kind: KubeletConfig
metadata:
  name: more-pods
spec:
  machineConfigPoolSelector:
    matchLabels: {example.com/pool: infra}
  kubeletConfig:
    maxPods: 500
";

fn folder() -> Folder {
    let folder = Folder::new();
    folder
        .write("old/site.yaml", SITE)
        .write("new/site.yaml", SITE)
        .write("new/more-pods.yaml", MORE_PODS);
    folder
}

fn name_of(outcome: &Outcome) -> Value {
    outcome.json()["metadata"]["name"].clone()
}

#[test]
fn what_it_becomes_is_rendered_and_its_cost_is_counted() {
    let folder = folder();
    let old = name_of(&folder.line("render -f old --pool infra -o json"));
    let rendered = folder.line("render -f new --pool infra -o json");
    let new = name_of(&rendered);
    let files = rendered.json()["spec"]["config"]["storage"]["files"].clone();
    let config = berth_ignition::parse(&rendered.json()["spec"]["config"])
        .config
        .unwrap();
    let file = config.find_file("/etc/kubernetes/kubelet.conf").unwrap();
    assert_eq!(files.as_array().unwrap().len(), 1);
    assert_eq!(
        String::from_utf8(berth_ignition::file_contents(file).unwrap()).unwrap(),
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 500\n"
    );

    let lint = folder.line("lint -f new");
    assert_eq!(lint.exit, 0, "{lint}");
    let diff = folder.line("diff old new -o json").json();
    let pool = &diff["pools"][0];
    assert_eq!((&pool["old"], &pool["new"]), (&old, &new));
    assert_eq!(pool["changes"][0]["name"], json!("/etc/kubernetes/kubelet.conf"));
    assert_eq!(pool["actions"], json!(["reboot"]));
}

#[test]
fn one_that_is_refused_changes_nothing_and_is_an_error() {
    let folder = folder();
    let old = name_of(&folder.line("render -f old --pool infra -o json"));
    let wrong = MORE_PODS.replace("maxPods: 500", "maxPods: 500\n    clusterDomain: other.example");
    folder.write("new/more-pods.yaml", wrong);
    let lint = folder.line("lint -f new");
    assert_eq!(lint.exit, 1, "{lint}");
    let all = format!("{lint}");
    assert!(
        all.contains("error[refused-setting]") && all.contains("more-pods.yaml:10:20"),
        "{all}"
    );
    let rendered = folder.line("render -f new --pool infra -o json");
    assert!(rendered.exit != 0 || name_of(&rendered) == old, "{rendered}");
}
