//! Commands that speak to a cluster, against a real API server with OpenShift's own definitions.

use std::path::PathBuf;

use berth_resources::{CrdSet, crd_yaml, crds};
use berth_testing::{ControlPlane, Identity, Options, Programs};
use serde_json::{Value, json};

use crate::{
    ignition_server::{Server, file},
    run::{Folder, at_root, command, finish},
    served::Served,
};

const SITE: &str = "-f examples/telco-site";
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The parts of OVN-Kubernetes' definition that matter here, as strict about fields as the original.
const EGRESS_IP: &str = r"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: egressips.k8s.ovn.org}
spec:
  group: k8s.ovn.org
  scope: Cluster
  names: {kind: EgressIP, listKind: EgressIPList, plural: egressips, singular: egressip, shortNames: [eip]}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          spec:
            type: object
            required: [egressIPs, namespaceSelector]
            properties:
              egressIPs: {type: array, items: {type: string}}
              namespaceSelector: &selector
                type: object
                properties:
                  matchLabels: {type: object, additionalProperties: {type: string}}
                  matchExpressions:
                    type: array
                    items:
                      type: object
                      required: [key, operator]
                      properties:
                        key: {type: string}
                        operator: {type: string}
                        values: {type: array, items: {type: string}}
              podSelector: *selector
          status:
            type: object
            required: [items]
            properties:
              items:
                type: array
                items:
                  type: object
                  required: [egressIP, node]
                  properties: {egressIP: {type: string}, node: {type: string}}
";

/// What runs in the cluster: an address and routers.
const RUNNING: &str = r"
apiVersion: k8s.ovn.org/v1
kind: EgressIP
metadata: {name: egressips-rwn}
spec:
  egressIPs: [10.19.142.253]
  namespaceSelector: {matchLabels: {type: rwn}}
status:
  items: [{node: smyrgaear01, egressIP: 10.19.142.253}]
---
apiVersion: v1
kind: Namespace
metadata: {name: openshift-ingress}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: openshift-ingress}
---
apiVersion: v1
kind: Pod
metadata:
  name: router-default-1
  namespace: openshift-ingress
  labels: {ingresscontroller.operator.openshift.io/deployment-ingresscontroller: default}
spec:
  nodeName: atlngamai01
  containers: [{name: router, image: router}]
---
apiVersion: v1
kind: Pod
metadata: {name: another, namespace: openshift-ingress}
spec:
  nodeName: atlngamai02
  containers: [{name: other, image: other}]
";

struct Cluster {
    plane: ControlPlane,
    kubeconfig: String,
}

impl Cluster {
    async fn start(programs: &Programs) -> Self {
        let plane = ControlPlane::start(programs, Options::default()).await.unwrap();
        plane.install_openshift_crds().unwrap();
        let kubeconfig = plane.write_kubeconfig(&Identity::admin()).unwrap();
        let cluster = Self {
            kubeconfig: kubeconfig.display().to_string(),
            plane,
        };
        cluster.apply("egressip", EGRESS_IP).unwrap();
        for crd in crds(CrdSet::Berth) {
            cluster.apply("berth-crd", &crd_yaml(&crd)).unwrap();
        }
        cluster
            .apply(
                "namespace",
                "{apiVersion: v1, kind: Namespace, metadata: {name: openshift-ingress-operator}}",
            )
            .unwrap();
        cluster
    }

    /// Applies texts as kubectl does: a field that the definition does not know is refused.
    fn apply(&self, name: &str, text: &str) -> Result<(), String> {
        let file = self.plane.folder().join(format!("{name}.yaml"));
        std::fs::write(&file, text).map_err(|error| error.to_string())?;
        self.plane.apply(&[file]).map_err(|error| error.to_string())
    }

    fn apply_files(&self, files: &[&str]) {
        let files: Vec<PathBuf> = files.iter().map(|file| format!("{ROOT}/{file}").into()).collect();
        self.plane.apply(&files).unwrap();
    }

    /// Puts the rendered config of a pool of the example into the cluster, as its operator would, and says its name.
    fn render(&self, pool: &str, more: &[&str]) -> String {
        let folder = Folder::new();
        for (number, text) in more.iter().enumerate() {
            folder.write(&format!("{number}.yaml"), text);
        }
        let own = if more.is_empty() {
            String::new()
        } else {
            format!("-f {}", folder.path().display())
        };
        let outcome = at_root(&format!("render {SITE} {own} --pool {pool} -o json"));
        assert_eq!(outcome.exit, 0, "{outcome}");
        let mut rendered = outcome.json();
        rendered["metadata"]["ownerReferences"] = Value::Null;
        self.apply("rendered", &rendered.to_string()).unwrap();
        rendered["metadata"]["name"].as_str().unwrap().to_owned()
    }

    /// Says where a pool is going, what it has reached, and how many of its machines run the target.
    fn configure(&self, pool: &str, target: &str, reached: &str, updated: i64) {
        // The status first: with a new target and the old count the pool would say, for a moment, that a machine runs the target.
        let status =
            json!({"status": {"configuration": {"name": reached}, "updatedMachineCount": updated}}).to_string();
        let words = [
            "patch",
            "mcp",
            pool,
            "--subresource",
            "status",
            "--type",
            "merge",
            "-p",
            &status,
        ];
        self.kubectl(&words);
        let spec = json!({"spec": {"configuration": {"name": target}}}).to_string();
        self.kubectl(&["patch", "mcp", pool, "--type", "merge", "-p", &spec]);
    }

    fn kubectl(&self, words: &[&str]) -> String {
        let output = self.plane.kubectl().unwrap().args(words).output().unwrap();
        assert!(
            output.status.success(),
            "{words:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }
}

/// Who may use the API is said by the cluster's own roles.
fn callers_have_the_rights_that_rbac_gives(cluster: &Cluster) {
    let folder = Folder::new();
    for (name, verbs) in [
        ("looks", json!(["get", "list"])),
        ("works", json!(["get", "list", "create", "relabel"])),
    ] {
        let (role, account) = (
            format!("--clusterrole={name}"),
            format!("--serviceaccount=default:{name}"),
        );
        let file = format!("{name}-role");
        let granted = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name},
            "rules": [{"apiGroups": ["berth.dev"], "resources": ["actions", "revisions", "nodes"], "verbs": verbs}]});
        cluster.apply(&file, &granted.to_string()).unwrap();
        cluster.kubectl(&["create", "serviceaccount", name]);
        cluster.kubectl(&["create", "clusterrolebinding", name, &role, &account]);
        folder.write(name, cluster.kubectl(&["create", "token", name]));
    }
    folder.write("nobody", "a.b.c\n");
    let running = Served::start(command().current_dir(folder.path()).args([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--auth",
        "kubernetes",
        "--cluster-kubeconfig",
        &cluster.kubeconfig,
    ]));
    let server = format!("http://{}", running.address("the API is listening"));
    let asks = |who: Option<&str>, words: &str| {
        let mut command = command();
        command.current_dir(folder.path()).args(words.split_whitespace());
        command.args(["--server", &server]);
        if let Some(who) = who {
            command.args(["--token-file", who]);
        }
        finish(&mut command, b"")
    };
    for (who, words, exit, said) in [
        (Some("looks"), "actions", 0, "there is no action yet"),
        (Some("works"), "actions", 0, "there is no action yet"),
        (Some("works"), "relabel w1", 1, "No committed configdocs"),
        (Some("looks"), "relabel w1", 1, "Credentials do not permit access"),
        (
            Some("looks"),
            "configdocs commit",
            1,
            "Credentials do not permit access",
        ),
        (Some("nobody"), "actions", 1, "Credentials are not established"),
        (None, "actions", 1, "Credentials are not established"),
    ] {
        let outcome = asks(who, words);
        assert_eq!(outcome.exit, exit, "{who:?} {words}: {outcome}");
        assert!(outcome.stderr.contains(said), "{who:?} {words}: {outcome}");
    }
    let logged = running.logged();
    let token = std::fs::read_to_string(folder.path().join("works")).unwrap();
    assert!(!logged.is_empty() && logged.iter().all(|line| !line.to_string().contains(token.trim())));
}

/// One API server for everything: starting it costs more than all of this together.
#[tokio::test]
async fn a_cluster_takes_what_is_printed_and_is_read_again() {
    let Some(programs) = Programs::with_openshift_for_test() else {
        return;
    };
    let cluster = Cluster::start(&programs).await;
    everything_printed_is_accepted(&cluster);
    egress_addresses_are_verified(&cluster);
    // Of all that was applied, what the server shall serve.
    cluster.kubectl(&["delete", "machineconfigpools,machineconfigs,labelrules", "--all"]);
    machine_configs_are_served(&cluster);
    callers_have_the_rights_that_rbac_gives(&cluster);
}

/// The texts of the extra manifests in a folder that `berth ztp` wrote.
fn extra_manifests(folder: &Folder) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        if !path.to_string_lossy().contains("extra-manifests") {
            continue;
        }
        let mut sources = berth_documents::Sources::new();
        let id = sources.add("map", std::fs::read_to_string(&path).unwrap());
        for document in berth_documents::parse(&sources, id).documents {
            let json = document.root.to_json();
            let data = json["data"].as_object().unwrap().iter();
            texts.extend(data.map(|(key, text)| (key.clone(), text.as_str().unwrap().to_owned())));
        }
    }
    texts
}

fn everything_printed_is_accepted(cluster: &Cluster) {
    // Before and after remote workers are detected, in both forms.
    let mut kinds = Vec::new();
    for words in [
        "--release 4.12",
        "--release 4.18",
        "--as clusterinstance --release 4.18",
    ] {
        let folder = Folder::new();
        let made = at_root(&format!("ztp {SITE} {words} -o {}", folder.path().display()));
        assert_eq!(made.exit, 0, "{made}");
        let texts = extra_manifests(&folder);
        assert!(!texts.is_empty(), "{words}");
        for (name, text) in texts {
            cluster
                .apply(&name, &text)
                .unwrap_or_else(|error| panic!("{words} {name}: {error}\n{text}"));
            kinds.extend(
                text.lines()
                    .filter(|line| line.starts_with("kind: "))
                    .map(str::to_owned),
            );
        }
    }
    for kind in ["MachineConfigPool", "MachineConfig", "IngressController"] {
        assert!(kinds.contains(&format!("kind: {kind}")), "{kind}: {kinds:?}");
    }
    let fixture = |name: &str| format!("{SITE} -f crates/berth/tests/fixtures/remote-workers/{name}.yaml");
    for words in [
        format!("ingress shard {SITE} --remote smyrna --domain apps-smyrna.georgia.telco.example"),
        format!("ingress rewrite {}", fixture("selectors")),
        format!("egress plan {} --write", fixture("egress")),
    ] {
        let printed = at_root(&words).stdout;
        assert!(printed.contains("kind: LabelRule"), "{words}: {printed}");
        cluster
            .apply("printed", &printed)
            .unwrap_or_else(|error| panic!("{words}: {error}\n{printed}"));
        // A field that there is not is refused, so the verdict means something.
        let misspelled = printed.replacen("\n  labels:", "\n  lables:", 1);
        assert_ne!(misspelled, printed, "{printed}");
        let error = cluster.apply("misspelled", &misspelled).unwrap_err();
        assert!(error.contains("lables"), "{error}");
    }
    let shard = at_root(&format!(
        "ingress shard {SITE} --remote smyrna --domain apps-smyrna.georgia.telco.example -o json"
    ));
    let mut controller = shard.json()["ingress_controller"].clone();
    controller["spec"]["nodePlacment"] = json!({});
    let error = cluster.apply("shard", &controller.to_string()).unwrap_err();
    assert!(error.contains("nodePlacment"), "{error}");
    cluster.apply_files(&["examples/telco-site/ingress/default.yaml"]);
}

fn egress_addresses_are_verified(cluster: &Cluster) {
    cluster.apply_files(&["examples/telco-cluster/nodes.yaml"]);
    // What the API server puts on a new Node until a controller sees it ready.
    cluster.kubectl(&["taint", "nodes", "--all", "node.kubernetes.io/not-ready-"]);
    cluster.apply("running", RUNNING).unwrap();
    cluster.kubectl(&["label", "node", "smyrgaear01", "k8s.ovn.org/egress-assignable="]);
    let verify = |words: &str| at_root(&format!("egress verify --kubeconfig {} {words}", cluster.kubeconfig));
    // Against the site's documents, and against the cluster's own objects.
    for documents in [SITE, ""] {
        let outcome = verify(&format!("{documents} -o json"));
        let json = outcome.json();
        let address = &json["addresses"][0];
        assert_eq!(
            (&address["address"], &address["node"], &address["stays"]),
            (&json!("10.19.142.253"), &json!("smyrgaear01"), &json!(true)),
            "{outcome}"
        );
        let routers: Vec<&Value> = json["routers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|router| &router["pod"])
            .collect();
        assert_eq!(routers, ["router-default-1"], "{outcome}");
        assert_eq!(json["routers"][0]["stays"], json!(true), "{outcome}");
    }
    let outcome = verify("--relabel smyrgaear01=k8s.ovn.org/egress-assignable- -o json");
    assert_eq!(outcome.exit, 1, "{outcome}");
    let address = &outcome.json()["addresses"][0];
    assert_eq!(address["stays"], json!(false), "{outcome}");
    assert_eq!(
        address["reason"],
        json!("it is not labelled k8s.ovn.org/egress-assignable"),
        "{outcome}"
    );
    // Another pool of the cluster takes the node, with a config that makes it reboot.
    cluster.apply_files(&[
        "examples/telco-site/pools/worker.yaml",
        "examples/telco-site/pools/infra.yaml",
        "examples/telco-site/machine-configs/00-worker.yaml",
        "examples/telco-site/machine-configs/50-infra.yaml",
    ]);
    let move_it = "--relabel atlngamai01=node-role.kubernetes.io/infra- \
                   --relabel atlngamai01=node-role.kubernetes.io/worker= -o json";
    let outcome = verify(move_it);
    assert_eq!(outcome.json()["reboots"], json!(["atlngamai01"]), "{outcome}");
    assert_eq!(outcome.json()["routers"][0]["stays"], json!(false), "{outcome}");

    let nobody = at_root("egress verify --kubeconfig no/such/kubeconfig");
    assert_eq!(nobody.exit, 3, "{nobody}");
}

fn machine_configs_are_served(cluster: &Cluster) {
    cluster.apply_files(&[
        "examples/telco-site/pools/master.yaml",
        "examples/telco-site/pools/worker.yaml",
        "examples/telco-site/pools/infra.yaml",
        "examples/telco-site/machine-configs/00-worker.yaml",
        "examples/telco-site/machine-configs/01-worker-kubelet.yaml",
        "examples/telco-site/machine-configs/50-infra.yaml",
        "examples/telco-site/berths/atlngamaw05.yaml",
    ]);
    let mut berth = command();
    berth
        .args([
            "ignition-server",
            "--from-cluster",
            "--allow-anonymous",
            "--flavour",
            "openshift",
        ])
        .args(["--cluster-kubeconfig", &cluster.kubeconfig]);
    let server = Server::start(&mut berth);
    // Nobody has rendered anything yet, and the server does not make up what the cluster does not have.
    let (status, body) = server.get("/config/infra", "");
    assert_eq!(status, 503, "{body}");
    assert!(body.contains("pool infra has no rendered config yet"), "{body}");

    let first = cluster.render("infra", &[]);
    cluster.configure("infra", &first, &first, 1);
    let rendered = |path: &str| {
        let (status, body) = server.get(path, "");
        if status != 200 {
            return body;
        }
        let config: Value = serde_json::from_str(&body).unwrap();
        let annotations = file(&config, "/etc/machine-config-daemon/node-annotations.json").unwrap();
        let annotations: Value = serde_json::from_str(&annotations).unwrap();
        annotations["machineconfiguration.openshift.io/currentConfig"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    until("the first config", || rendered("/config/infra") == first);
    assert_eq!(health(&server)["status"], json!("ok"));

    // The next config is for new machines once one has survived it, also where the pool is paused.
    let late = json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
        "metadata": {"name": "60-late", "labels": {"machineconfiguration.openshift.io/role": "infra"}},
        "spec": {"config": {"ignition": {"version": "3.4.0"}, "storage": {"files": [
            {"path": "/etc/motd.d/late", "mode": 420, "contents": {"source": "data:,late"}},
        ]}}},
    })
    .to_string();
    cluster.apply("late", &late).unwrap();
    let second = cluster.render("infra", &[&late]);
    assert_ne!(first, second);
    cluster.configure("infra", &second, &first, 0);
    cluster.kubectl(&["label", "mcp", "infra", "seen=1"]);
    assert_eq!(rendered("/config/infra"), first);
    cluster.configure("infra", &second, &first, 1);
    until("the second config", || rendered("/config/infra") == second);
    assert_eq!(
        file(&server.config("/config/infra"), "/etc/motd.d/late").as_deref(),
        Some("late")
    );

    // A machine that moved gets the config of the pool where it is now.
    let worker = cluster.render("worker", &[]);
    cluster.configure("worker", &worker, &worker, 1);
    until("the workers' config", || rendered("/config/worker") == worker);
    let labels = file(&server.config("/config/worker"), "/etc/berth/labels").unwrap();
    assert!(labels.contains("node-role.kubernetes.io/worker="), "{labels}");
    assert_eq!(rendered("/node/atlngamaw05"), second, "its declared pool");
    let labels = file(&server.config("/node/atlngamaw05"), "/etc/berth/labels").unwrap();
    assert!(labels.contains("telco.example/dataplane=ovs"), "{labels}");
    let moved = json!({"status": {
        "observedGeneration": 1, "pool": "worker", "followed": {"pool": "worker", "declared": "infra"},
    }});
    let moved = moved.to_string();
    cluster.kubectl(&[
        "patch",
        "berth",
        "atlngamaw05",
        "--subresource",
        "status",
        "--type",
        "merge",
        "-p",
        &moved,
    ]);
    until("its new pool", || rendered("/node/atlngamaw05") == worker);
    let labels = file(&server.config("/node/atlngamaw05"), "/etc/berth/labels").unwrap();
    assert!(labels.contains("node-role.kubernetes.io/worker="), "{labels}");
    assert!(labels.contains("telco.example/dataplane=ovs"), "{labels}");

    // A config that is named and not there is said, and the machine tries again.
    cluster.configure("infra", "rendered-infra-gone", "rendered-infra-gone", 1);
    until("the config is gone", || {
        let (status, body) = server.get("/config/infra", "");
        status == 503 && body.contains("rendered-infra-gone")
    });

    // A cluster that is not there, at the start.
    let nobody = at_root(
        "ignition-server --from-cluster --cluster-kubeconfig no/such --plain-listen 127.0.0.1:0 --allow-anonymous",
    );
    assert_eq!(nobody.exit, 3, "{nobody}");
}

fn health(server: &Server) -> Value {
    let (status, body) = server.get("/healthz", "");
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).unwrap()
}

/// Far longer than anything here takes.
const LOOKS: u32 = 1_200;

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..LOOKS {
        if holds() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("{what} never came");
}
