//! Nodes that are assigned to their pool before they boot. The procedure is a proposal without manifests of its own; here are its
//! goals, its proposal and its three stories, with the objects of OpenShift that it speaks of.

use serde_json::json;

use super::{done, item};
use crate::{
    ignition_server::{Server, file},
    run::{Folder, command},
};

/// A pool of remote workers. Its selector is the implicit label, the annotation has those that are added to it.
const POOLS: &str = r#"apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata:
  name: worker
spec:
  machineConfigSelector:
    matchLabels:
      machineconfiguration.openshift.io/role: worker
  nodeSelector:
    matchLabels:
      node-role.kubernetes.io/worker: ""
---
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata:
  name: remote
  labels:
    pools.operator.machineconfiguration.openshift.io/remote: ""
  annotations:
    berth.dev/node-labels: telco.example/uplink=leased-line
spec:
  machineConfigSelector:
    matchExpressions:
    - key: machineconfiguration.openshift.io/role
      operator: In
      values: [worker, remote]
  nodeSelector:
    matchLabels:
      node.kubernetes.io/remote: ""
---
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata:
  name: core
spec:
  machineConfigSelector:
    matchExpressions:
    - key: machineconfiguration.openshift.io/role
      operator: In
      values: [worker, core]
  nodeSelector:
    matchLabels:
      node.kubernetes.io/core: ""
---
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  name: 01-worker-kubelet
  labels:
    machineconfiguration.openshift.io/role: worker
spec:
  config:
    ignition:
      version: 3.2.0
    systemd:
      units:
      - name: kubelet.service
        enabled: true
        contents: |
          [Service]
          Type=notify
          EnvironmentFile=/etc/os-release
          EnvironmentFile=-/etc/kubernetes/kubelet-env
          ExecStart=/usr/local/bin/kubenswrapper \
              /usr/bin/kubelet \
                --config=/etc/kubernetes/kubelet.conf \
                --node-labels=node-role.kubernetes.io/worker,node.openshift.io/os_id=${ID},${CUSTOM_KUBELET_LABELS} \
                --v=2
---
schema: drydock/Region/v1
metadata:
  schema: metadata/Document/v1
  name: georgia
  labels: {berth.dev/flavour: openshift}
  storagePolicy: cleartext
  layeringDefinition: {abstract: false, layer: site}
data: {}
"#;

/// A machine whose name says where it stands.
const MACHINES: &str = r"apiVersion: berth.dev/v1alpha1
kind: LabelRule
metadata:
  name: location
spec:
  match:
    namePatterns: ['[a-z]{6}[a-z]{2}[a-z][0-9]{2}']
  clli: hostname
  tables:
    places: {smyr: smyrna}
    hardware: {r: edge-1u}
  labels:
    telco.example/city: ${clli.place | places}
    topology.kubernetes.io/zone: ${clli.place}${clli.state}-${clli.site}
---
apiVersion: berth.dev/v1alpha1
kind: Berth
metadata:
  name: smyrgaear01
spec:
  pool: remote
";

fn site() -> Folder {
    let folder = Folder::new();
    folder
        .write("site/pools.yaml", POOLS)
        .write("site/machines.yaml", MACHINES);
    folder
}

/// Story 1: labels from a name that is a CLLI code.
#[test]
fn a_name_gives_labels() {
    let folder = site();
    done(&folder, "lint -f site");
    let resolved = done(&folder, "resolve -f site --node smyrgaear01 -o json").json();
    let labels = &resolved[0]["labels"];
    assert_eq!(labels["telco.example/city"], json!("smyrna"));
    assert_eq!(labels["topology.kubernetes.io/zone"], json!("smyrga-ea"));
    for key in ["telco.example/city", "topology.kubernetes.io/zone"] {
        assert_eq!(
            resolved[0]["routes"][key],
            json!("boot"),
            "before anything can look at the Node"
        );
    }
}

/// Proposal: "the pool's implicit and explicit labels should always flow through to the booted machine".
#[test]
fn the_pools_labels_are_in_what_the_machine_boots_from() {
    let folder = site();
    let mut berth = command();
    berth
        .current_dir(folder.path())
        .args(["ignition-server", "-f", "site", "--allow-anonymous"]);
    let server = Server::start(&mut berth);
    let by_command = |words: &str| serde_json::from_str(&done(&folder, words).stdout).unwrap();
    for (way, config) in [
        ("served to the machine", server.config("/node/smyrgaear01")),
        ("served to the pool", server.config("/config/remote")),
        ("printed for the pool", by_command("ignition -f site --pool remote")),
        (
            "printed for the machine",
            by_command("ignition -f site --node smyrgaear01"),
        ),
    ] {
        let env = file(&config, "/etc/kubernetes/kubelet-env").unwrap_or_else(|| panic!("{way}: {config:#}"));
        assert!(env.contains("node.kubernetes.io/remote="), "{way}: {env}");
        assert!(env.contains("telco.example/uplink=leased-line"), "{way}: {env}");
    }
}

/// Story 2 and the first goal: the pool by its labels is the pool by its Ignition config, so nothing reboots.
#[test]
fn a_machine_boots_once() {
    let folder = site();
    // What makes the pool another one than worker's: a later move would cost a reboot.
    folder.write(
        "site/remote.yaml",
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata: {name: 50-remote, labels: \
         {machineconfiguration.openshift.io/role: remote}}\nspec: {config: {ignition: {version: 3.4.0}, storage: {files: [{path: \
         /etc/remote, contents: {source: 'data:,x'}}]}}}\n",
    );
    let up = done(&folder, "up -f site --once --without-berth --speed 300");
    assert!(
        up.stdout
            .contains("All 1 machines are in their places with all their labels, after 1 boots")
            || up.stdout.contains("after 1 boot"),
        "{up}"
    );
    assert!(up.stdout.contains("1 reboot saved"), "{up}");
}

/// Story 3, and the second and third goal: relabelling moves a node, and health checks that delete it do not move it back.
#[test]
fn a_moved_node_comes_back_in_its_new_pool() {
    let folder = site();
    folder.write(
        "remediation.txt",
        "power-on smyrgaear01\nuntil smyrgaear01 Occupied\nuntil smyrgaear01 in-sync\n\
         label smyrgaear01 node.kubernetes.io/core=,node.kubernetes.io/remote-\n\
         until smyrgaear01 pool core\nuntil smyrgaear01 in-sync\n\
         delete-node smyrgaear01\nuntil smyrgaear01 new-node\nuntil smyrgaear01 ready\nuntil smyrgaear01 Occupied\n\
         until smyrgaear01 in-sync\nshow smyrgaear01\n",
    );
    let played = done(&folder, "up -f site --scenario remediation.txt");
    let shown: Vec<&str> = played.stdout.lines().filter(|line| line.starts_with("    ")).collect();
    assert_eq!(shown[0].trim(), "Berth smyrgaear01: Occupied, pool core", "{played}");
    assert!(shown[1].contains("node.kubernetes.io/core"), "{played}");
    assert!(!shown[1].contains("node.kubernetes.io/remote"), "{played}");
}

/// Proposal: "it should be impossible to configure a kubelet such that the identifying labels are lost".
#[test]
fn no_configuration_loses_the_identifying_labels() {
    let folder = site();
    let config = |body: &str| {
        format!(
            "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  name: 99-mine\n  labels:\n    \
             machineconfiguration.openshift.io/role: remote\nspec:\n  config:\n    ignition:\n      version: 3.2.0\n{body}"
        )
    };
    // Alternative 3 of the proposal: a whole unit in the Ignition config, which does not know what the next release adds.
    let unit = config(
        "    systemd:\n      units:\n      - name: kubelet.service\n        contents: |\n          [Service]\n          \
         ExecStart=/usr/bin/kubelet --config=/etc/kubernetes/kubelet.conf --node-labels=mine=1\n",
    );
    let drop_in = config(
        "    systemd:\n      units:\n      - name: kubelet.service\n        dropins:\n        - name: 20-mine.conf\n          \
         contents: |\n            [Service]\n            ExecStart=\n            ExecStart=/usr/bin/kubelet --v=4\n",
    );
    let env = config(
        "    storage:\n      files:\n      - path: /etc/kubernetes/kubelet-env\n        mode: 420\n        contents:\n          \
         source: data:,CUSTOM_KUBELET_LABELS%3Dmine%3D1%0A\n",
    );
    let kubelet_config = "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nmetadata:\n  name: mine\nspec:\n  \
         machineConfigPoolSelector:\n    matchLabels:\n      pools.operator.machineconfiguration.openshift.io/remote: \"\"\n  \
         kubeletConfig:\n    registerNode: false\n";
    for (text, code) in [
        (&*unit, "pool-labels-lost"),
        (&*drop_in, "pool-labels-lost"),
        (&*env, "pool-labels-lost"),
        (kubelet_config, "node-not-registered"),
    ] {
        folder.write("site/mine.yaml", text);
        let lint = folder.line("lint -f site -o json");
        assert_eq!(lint.exit, 1, "{text}\n{lint}");
        let found = lint.json();
        let finding = item(&found, "code", code);
        assert_eq!(finding["severity"], json!("error"), "{finding:#}");
        assert_eq!(finding["file"], json!("site/mine.yaml"), "{finding:#}");
    }
}

/// Proposal: "it should be possible to add labels directly to the pool", and to add only.
#[test]
fn labels_of_the_pool_are_added_and_never_fought_over() {
    let folder = site();
    let node = |uplink: &str| {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "smyrgaear01", "labels": {
            "kubernetes.io/hostname": "smyrgaear01", "node.kubernetes.io/remote": "", "node-role.kubernetes.io/worker": "",
            "telco.example/city": "smyrna", "topology.kubernetes.io/zone": "smyrga-ea", "telco.example/uplink": uplink}}})
        .to_string()
    };
    folder.write("nodes.json", node("satellite"));
    let plan = folder.line("plan -f site --nodes nodes.json -o json");
    assert_eq!(plan.exit, 1, "{plan}");
    let plan = plan.json();
    let mine = item(&plan["nodes"], "node", "smyrgaear01");
    assert_eq!((&mine["set"], &mine["remove"]), (&json!({}), &json!([])), "{mine:#}");
    assert!(
        mine["conflicts"].to_string().contains("telco.example/uplink"),
        "{mine:#}"
    );
    // A source that claims the pool's own label is an error before it reaches anything.
    folder.write(
        "site/machines.yaml",
        format!("{MACHINES}  labels: {{node.kubernetes.io/remote: \"no\"}}\n"),
    );
    let lint = folder.line("lint -f site -o json");
    assert_eq!(lint.exit, 1, "{lint}");
    item(&lint.json(), "code", "implicit-override");
}
