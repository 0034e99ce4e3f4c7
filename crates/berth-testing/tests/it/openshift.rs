//! OpenShift's own definitions take the pools and machine configs of the examples, and of the texts that Berth began with.

use std::{
    fs,
    path::{Path, PathBuf},
};

use berth_testing::{ControlPlane, Options, Programs};

/// A pool and a machine config as people write them.
const AS_WRITTEN: &str = r#"
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata:
  name: as-written
spec:
  machineConfigSelector:
    matchExpressions:
      - {key: machineconfiguration.openshift.io/role, operator: In, values: [worker,infra]}
  nodeSelector:
    matchLabels:
      node-role.kubernetes.io/infra: ""
  paused: false
---
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  labels:
    machineconfiguration.openshift.io/role: infra
  name: 50-as-written
spec:
  config:
    ignition:
      version: 2.2.0
    storage:
      files:
      - contents:
          source: data:,test
        filesystem: root
        mode: 0644
        path: /etc/testinfra
"#;

const REFUSED: &str = r"
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata:
  name: refused
spec:
  paused: sometimes
";

#[tokio::test]
async fn openshifts_definitions_take_what_people_write() {
    let Some(programs) = Programs::with_openshift_for_test() else {
        return;
    };
    let plane = ControlPlane::start(&programs, Options::default()).await.unwrap();
    plane.install_openshift_crds().unwrap();

    let site = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/telco-site");
    let written = plane.folder().join("as-written.yaml");
    fs::write(&written, AS_WRITTEN).unwrap();
    let mut files: Vec<PathBuf> = vec![written];
    for folder in ["pools", "machine-configs"] {
        let entries = fs::read_dir(site.join(folder)).unwrap();
        files.extend(entries.map(|entry| entry.unwrap().path()));
    }
    assert!(files.len() > 5);
    plane.apply(&files).unwrap();

    let refused = plane.folder().join("refused.yaml");
    fs::write(&refused, REFUSED).unwrap();
    let error = plane.apply(&[refused]).unwrap_err().to_string();
    assert!(error.contains("spec.paused"), "{error}");
}
