//! Remote workers at day 0, second part: the pool without keepalived, the places of routers, and egress addresses. Labels that the
//! procedure sets with `oc label` are set here on Nodes as the cluster shows them.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{done, item, pool_of, strings};
use crate::{ignition_server::file, run::Folder};

const REMOTE: &str = "openshift-worker-2.ztp.lab.example";
const CENTRAL: &str = "openshift-worker-0.ztp.lab.example";
const ASSIGNABLE: &str = "k8s.ovn.org/egress-assignable";

/// Control plane and two workers in the network of the VIPs, one worker elsewhere.
const MACHINES: [(&str, &str, &str, &str); 6] = [
    ("openshift-master-0", "master", "control", "10.19.3.20"),
    ("openshift-master-1", "master", "control", "10.19.3.21"),
    ("openshift-master-2", "master", "control", "10.19.3.22"),
    (CENTRAL, "worker", "control", "10.19.3.30"),
    ("openshift-worker-1.ztp.lab.example", "worker", "control", "10.19.3.31"),
    (REMOTE, "worker", "remote", "10.19.142.32"),
];

/// The pool whose machines have no keepalived, chosen by host name, and its machine config.
const NO_KEEPALIVED: &str = r#"apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  labels:
    machineconfiguration.openshift.io/role: remoteworker
  name: 98-no-keepalived-static-pod
spec:
  config:
    ignition:
      config: {}
      security:
        tls: {}
      timeouts: {}
      version: 3.1.0
    networkd: {}
    passwd: {}
    storage:
      files:
      - contents:
          source: data:text/plain;charset=utf-8;base64,e30=
        mode: 420
        overwrite: true
        path: /etc/kubernetes/manifests/keepalived.yaml
  osImageURL: ""
---
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata:
  labels:
    pools.operator.machineconfiguration.openshift.io/remoteworker: ""
  name: remoteworker
spec:
  machineConfigSelector:
    matchExpressions:
      - key: machineconfiguration.openshift.io/role
        operator: In
        values:
        - remoteworker
        - worker
  nodeSelector:
    matchLabels:
      kubernetes.io/hostname: openshift-worker-2.ztp.lab.example
  paused: false
"#;

/// Routers on the control plane.
const DEFAULT: &str = r#"apiVersion: operator.openshift.io/v1
kind: IngressController
metadata:
  name: default
  namespace: openshift-ingress-operator
spec:
  nodePlacement:
    tolerations:
      - key: node-role.kubernetes.io/master
        effect: NoSchedule
    nodeSelector:
      matchLabels:
        node-role.kubernetes.io/master: ""
"#;

/// The default controller with another `nodePlacement`.
fn placed(placement: &str) -> String {
    let (head, _) = DEFAULT.split_once("  nodePlacement:").unwrap();
    format!("{head}{placement}")
}

const BY_HOSTNAME: &str = r#"  nodePlacement:
    nodeSelector:
      matchExpressions:
      - key: kubernetes.io/hostname
        operator: In
        values:
        - "openshift-master-0"
        - "openshift-master-1"
"#;

const NOT_REMOTE: &str = r"  nodePlacement:
    nodeSelector:
      matchExpressions:
      - key: node.openshift.io/remotenode
        operator: DoesNotExist
";

const SHARD: &str = r#"apiVersion: operator.openshift.io/v1
kind: IngressController
metadata:
  name: rwn
  namespace: openshift-ingress-operator
spec:
  replicas: 1
  domain: apps-rwn.ztp.lab.example
  nodePlacement:
    nodeSelector:
      matchLabels:
        kubernetes.io/hostname: "openshift-worker-2.ztp.lab.example"
  routeSelector:
    matchLabels:
      type: rwn-route
"#;

fn egress_ip(address: &str) -> String {
    format!(
        "apiVersion: k8s.ovn.org/v1\nkind: EgressIP\nmetadata:\n  name: egressips-rwn\nspec:\n  egressIPs:\n  - {address}\n  \
         namespaceSelector:\n    matchLabels:\n      type: rwn\n"
    )
}

fn airship(kind: &str, name: &str, labels: &Value, data: &Value) -> String {
    let document = json!({"schema": format!("drydock/{kind}/v1"), "metadata": {"schema": "metadata/Document/v1", "name": name,
        "labels": labels, "storagePolicy": "cleartext", "layeringDefinition": {"abstract": false, "layer": "site"}}, "data": data});
    format!("---\n{document}\n")
}

/// The cluster of the procedure. The remote worker carries the label by which its authors told it apart.
fn site() -> Folder {
    let folder = Folder::new();
    let mut text = airship("Region", "ztp", &json!({"berth.dev/flavour": "openshift"}), &json!({}));
    for (name, cidr) in [("control", "10.19.3.0/24"), ("remote", "10.19.142.0/24")] {
        text.push_str(&airship("Network", name, &json!({}), &json!({"cidr": cidr})));
    }
    for role in ["master", "worker"] {
        let pool = json!({"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
            "metadata": {"name": role}, "spec": {
                "machineConfigSelector": {"matchLabels": {"machineconfiguration.openshift.io/role": role}},
                "nodeSelector": {"matchLabels": {format!("node-role.kubernetes.io/{role}"): ""}}}});
        let config = json!({"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
            "metadata": {"name": format!("00-{role}"), "labels": {"machineconfiguration.openshift.io/role": role}},
            "spec": {"config": {"ignition": {"version": "3.2.0"}, "storage": {"files": [
                {"path": "/etc/kubernetes/manifests/keepalived.yaml", "mode": 420, "contents": {"source": "data:,kind%3A%20Pod%0A"}}]}}}});
        writeln!(text, "---\n{pool}\n---\n{config}").unwrap();
    }
    let cluster = json!({"apiVersion": "berth.dev/v1alpha1", "kind": "Cluster", "metadata": {"name": "ztp"}, "spec": {
        "baseDomain": "lab.example", "release": "4.9", "platform": "BareMetal", "apiVIPs": ["10.19.3.10"],
        "ingressVIPs": ["10.19.3.11"], "machineNetworks": ["control"],
        "remoteSites": [{"name": "rwn", "networks": ["remote"]}]}});
    writeln!(text, "---\n{cluster}").unwrap();
    for (name, role, network, address) in MACHINES {
        let mut data = json!({"addressing": [{"network": network, "address": address}]});
        let mut labels = json!({"berth.dev/pool": role});
        if name == REMOTE {
            data["metadata"] =
                json!({"owner_data": {"node.openshift.io/remotenode": "true", "node-role.kubernetes.io/worker": ""}});
            labels = json!({});
        }
        text.push_str(&airship("BaremetalNode", name, &labels, &data));
    }
    folder.write("site/site.yaml", text);
    folder
}

/// The Nodes, as `oc get nodes -o json` prints them, of which some are labelled for egress.
fn nodes(assignable: &[&str]) -> String {
    let items: Vec<Value> = MACHINES
        .iter()
        .map(|(name, role, _, address)| {
            let mut labels = json!({"kubernetes.io/hostname": name, "kubernetes.io/os": "linux",
                format!("node-role.kubernetes.io/{role}"): ""});
            if assignable.contains(name) {
                labels[ASSIGNABLE] = json!("");
            }
            if *name == REMOTE {
                labels["node.openshift.io/remotenode"] = json!("true");
            }
            json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels, "annotations": {
                "k8s.ovn.org/host-cidrs": format!("[\"{address}/24\"]"),
                "k8s.ovn.org/node-primary-ifaddr": format!("{{\"ipv4\":\"{address}/24\"}}")}},
                "spec": {}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}})
        })
        .collect();
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

/// "We remove the static pod definition using a MachineConfig and MachineConfigPool": from the first boot, and from no other worker.
#[test]
fn the_remote_worker_boots_without_keepalived() {
    let folder = site();
    folder
        .write("site/98_no_keepalived.yaml", NO_KEEPALIVED)
        .write("nodes.json", nodes(&[]));
    let lint = folder.line("lint -f site -o json").json();
    assert!(
        lint.as_array()
            .unwrap()
            .iter()
            .all(|finding| finding["severity"] != "error"),
        "{lint:#}"
    );
    // The documents and the live cluster say the same pool.
    for words in ["pools -f site -o json", "pools -f site --nodes nodes.json -o json"] {
        let pools = done(&folder, words).json();
        assert_eq!(pool_of(&pools, REMOTE), Some("remoteworker"), "{words}");
        assert_eq!(pool_of(&pools, CENTRAL), Some("worker"), "{words}");
    }
    let keepalived = |name: &str| {
        let config = done(&folder, &format!("ignition -f site --node {name} --way kubelet-env")).json();
        file(&config, "/etc/kubernetes/manifests/keepalived.yaml").unwrap()
    };
    assert_eq!(keepalived(REMOTE), "{}");
    assert_eq!(keepalived(CENTRAL), "kind: Pod\n");

    // The short name, as the procedure has it, is not the node's: the selector takes the whole one.
    folder.write(
        "site/98_no_keepalived.yaml",
        NO_KEEPALIVED.replace(
            "hostname: openshift-worker-2.ztp.lab.example",
            "hostname: openshift-worker-2",
        ),
    );
    let pools = done(&folder, "pools -f site -o json").json();
    assert_eq!(pool_of(&pools, REMOTE), Some("worker"));
}

/// "We configure the Ingress Operator so routers run on master nodes", never on the remote worker.
#[test]
fn routers_run_on_the_control_plane() {
    let folder = site();
    folder.write("default.yaml", DEFAULT);
    let check = done(&folder, "ingress check -f site -f default.yaml -o json").json();
    assert_eq!(
        strings(&check[0]["nodes"]),
        ["openshift-master-0", "openshift-master-1", "openshift-master-2"]
    );
    // On the remote worker "ingress will be broken": its network has no VIP.
    folder.write(
        "default.yaml",
        placed(&format!(
            "  nodePlacement:\n    nodeSelector:\n      matchLabels:\n        kubernetes.io/hostname: {REMOTE}\n"
        )),
    );
    let check = folder.line("ingress check -f site -f default.yaml -o json").json();
    item(&check[0]["findings"], "code", "ingress-outside-vip");
}

/// The two selectors that the operator refuses, its own words, and what to write instead.
#[test]
fn selectors_that_the_operator_refuses_are_rewritten() {
    let old = "cannot be converted into the old label selector format";
    for (placement, operator, meant) in [
        (
            BY_HOSTNAME,
            "operator \"In\" without a single value",
            vec!["openshift-master-0", "openshift-master-1"],
        ),
        (
            NOT_REMOTE,
            "operator \"DoesNotExist\"",
            MACHINES
                .iter()
                .map(|machine| machine.0)
                .filter(|name| *name != REMOTE)
                .collect(),
        ),
    ] {
        let folder = site();
        folder.write("default.yaml", placed(placement));
        let check = folder.line("ingress check -f site -f default.yaml -o json");
        assert_eq!(check.exit, 1, "{check}");
        assert_eq!(
            check.json()[0]["error"],
            json!(format!(
                "failed to ensure deployment: failed to build router deployment: ingresscontroller \"default\" has invalid \
                 spec.nodePlacement.nodeSelector: {operator} {old}"
            ))
        );
        let rewritten = done(&folder, "ingress rewrite -f site -f default.yaml").stdout;
        folder.write("rewritten.yaml", rewritten);
        let check = folder.line("ingress check -f site -f rewritten.yaml -o json").json();
        assert_eq!(check[0]["error"], Value::Null, "{check:#}");
        assert_eq!(strings(&check[0]["nodes"]), meant);
    }
}

/// The sharded controller on the remote worker.
#[test]
fn a_shard_runs_on_the_remote_worker() {
    let folder = site();
    folder.write("default.yaml", DEFAULT).write("shard.yaml", SHARD);
    let check = folder
        .line("ingress check -f site -f default.yaml -f shard.yaml -o json")
        .json();
    let shard = item(&check, "controller", "rwn");
    assert_eq!(shard["map"], json!({"kubernetes.io/hostname": REMOTE}));
    assert_eq!(strings(&shard["nodes"]), [REMOTE]);
    // The routes are served twice until the default controller leaves them out.
    let findings: Vec<&Value> = shard["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["code"])
        .collect();
    assert_eq!(findings, [&json!("ingress-overlap")]);
    let apart = format!(
        "{DEFAULT}  routeSelector:\n    matchExpressions:\n    - {{key: type, operator: NotIn, values: [rwn-route]}}\n"
    );
    folder.write("default.yaml", apart);
    done(&folder, "ingress check -f site -f default.yaml -f shard.yaml");

    // "We deployed an external HAProxy": the nodes of its domain are the shard's.
    let made = done(
        &folder,
        "ingress shard -f site --remote rwn --domain apps-rwn.ztp.lab.example -o json",
    )
    .json();
    assert_eq!(strings(&made["nodes"]), [REMOTE]);
    assert_eq!(made["route_label"], json!("type=rwn-route"));
    assert!(
        made["haproxy"].as_str().unwrap().contains("10.19.142.32:443"),
        "{made:#}"
    );

    // Since 4.13 the platform itself keeps routers off a remote worker, and this shard stays Pending.
    let newer = std::fs::read_to_string(folder.path().join("site/site.yaml")).unwrap();
    folder.write("site/site.yaml", newer.replace("\"4.9\"", "\"4.18\""));
    let check = folder
        .line("ingress check -f site -f default.yaml -f shard.yaml -o json")
        .json();
    item(
        &item(&check, "controller", "rwn")["findings"],
        "code",
        "ingress-remote-label",
    );
}

fn address(plan: &Value) -> &Value {
    let addresses = plan["addresses"].as_array().unwrap();
    assert_eq!(addresses.len(), 1, "{plan:#}");
    &addresses[0]
}

/// From an address that the remote worker cannot host to one that it can, label by label.
#[test]
fn egress_addresses_follow_labels_and_networks() {
    let folder = site();
    folder.write("egressip.yaml", egress_ip("10.19.3.50"));
    let plan = || {
        folder
            .line("egress plan -f site -f egressip.yaml --nodes nodes.json -o json")
            .json()
    };

    // `oc label node openshift-worker-2… k8s.ovn.org/egress-assignable=""`: not in its network.
    folder.write("nodes.json", nodes(&[REMOTE]));
    let first = plan();
    assert_eq!(address(&first)["best"], Value::Null);
    assert_eq!(
        item(&address(&first)["refused"], "node", REMOTE)["reason"],
        json!("no network of the node contains 10.19.3.50: it is in 10.19.142.0/24")
    );

    // Before `oc label node openshift-worker-0… …`: it would host the address.
    let observed = |address: &str, node: Option<&str>| {
        let items: Vec<Value> = node
            .iter()
            .map(|node| json!({"node": node, "egressIP": address}))
            .collect();
        format!("{}status: {}\n", egress_ip(address), json!({"items": items}))
    };
    folder.write("observed.yaml", observed("10.19.3.50", None));
    let verify = |relabel: &str| {
        let words = "egress verify -f site -f egressip.yaml --nodes nodes.json --observed observed.yaml";
        folder.line(&format!("{words} --relabel {relabel} -o json")).json()
    };
    let with = verify(&format!("{CENTRAL}={ASSIGNABLE}="));
    assert_eq!(
        (&address(&with)["to"], &address(&with)["best"]),
        (&json!(CENTRAL), &json!(CENTRAL))
    );
    // After it.
    folder.write("nodes.json", nodes(&[REMOTE, CENTRAL]));
    let second = plan();
    assert_eq!(
        (&address(&second)["best"], &address(&second)["greedy"]),
        (&json!(CENTRAL), &json!(CENTRAL))
    );

    // `oc label node openshift-worker-0… k8s.ovn.org/egress-assignable-`: nobody is left.
    folder.write("observed.yaml", observed("10.19.3.50", Some(CENTRAL)));
    let without = verify(&format!("{CENTRAL}={ASSIGNABLE}-"));
    assert_eq!(
        (&address(&without)["stays"], &address(&without)["to"]),
        (&json!(false), &Value::Null)
    );
    assert_eq!(
        address(&without)["reason"],
        json!(format!("it is not labelled {ASSIGNABLE}"))
    );

    // `oc delete egressip`, and an address of the remote network.
    folder
        .write("nodes.json", nodes(&[REMOTE]))
        .write("egressip.yaml", egress_ip("10.19.142.253"));
    let last = plan();
    assert_eq!(
        (&address(&last)["best"], &address(&last)["greedy"]),
        (&json!(REMOTE), &json!(REMOTE))
    );
    assert_eq!(strings(&last["label"]), [REMOTE]);
}

/// What people label by hand stays theirs: a plan leaves it alone, and so do the controllers, until people remove it.
#[test]
fn a_label_by_hand_is_left_to_people() {
    let folder = site();
    folder.write("nodes.json", nodes(&[REMOTE]));
    let plan = folder.line("plan -f site --nodes nodes.json -o json").json();
    let remote = item(&plan["nodes"], "node", REMOTE);
    assert_eq!(
        (&remote["remove"], &remote["conflicts"]),
        (&json!([]), &json!([])),
        "{remote:#}"
    );
    assert!(strings(&remote["keep"]).contains(&ASSIGNABLE), "{remote:#}");

    folder.write(
        "label.txt",
        format!(
            "power-on {CENTRAL}\nuntil {CENTRAL} Occupied\nuntil {CENTRAL} in-sync\nlabel {CENTRAL} {ASSIGNABLE}=\npass 60s\n\
             until {CENTRAL} in-sync\nshow {CENTRAL}\nlabel {CENTRAL} {ASSIGNABLE}-\npass 60s\nuntil {CENTRAL} in-sync\nshow {CENTRAL}\n"
        ),
    );
    let played = done(&folder, "up -f site --scenario label.txt");
    let shown: Vec<&str> = played
        .stdout
        .lines()
        .filter(|line| line.starts_with("    Node"))
        .collect();
    assert_eq!(shown.len(), 2, "{played}");
    assert!(shown[0].contains(ASSIGNABLE), "{played}");
    assert!(!shown[1].contains(ASSIGNABLE), "{played}");
}
