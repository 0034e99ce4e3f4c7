//! Full mode and `--approve` with the rights that `berth install` gives, and the machines of a committed revision. The API
//! server asks, as OpenShift's does, whether whoever makes an object that keeps another one from going may do so.

use std::path::PathBuf;

use berth_testing::Identity;
use serde_json::{Value, json};

use super::{Cluster, label, patiently};
use crate::postgres_server;

const GROUP: &str = "machineconfiguration.openshift.io";

/// A certificate request of a kubelet, in the name of a node.
fn request(name: &str, node: &str) -> Value {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut parameters = rcgen::CertificateParams::new(Vec::new()).unwrap();
    let mut subject = rcgen::DistinguishedName::new();
    subject.push(rcgen::DnType::OrganizationName, "system:nodes");
    subject.push(rcgen::DnType::CommonName, format!("system:node:{node}"));
    parameters.distinguished_name = subject;
    let pem = parameters.serialize_request(&key).unwrap().pem().unwrap();
    json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": name},
        "spec": {
            "request": k8s_openapi::ByteString(pem.into_bytes()),
            "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
            "usages": ["digital signature", "client auth"],
        },
    })
}

fn with_token(cluster: &Cluster, node: &str) -> PathBuf {
    let token = cluster.berth(&format!("token create --bootstrap {node} --expires 1h -o json"));
    let mut kubeconfig = cluster.plane.kubeconfig(&Identity::admin()).unwrap();
    kubeconfig["users"] = json!([{"name": "test", "user": {"token": token.json()["token"]}}]);
    let name = format!("bootstrap-{node}.conf");
    cluster.folder.write(&name, kubeconfig.to_string());
    cluster.folder.path().join(name)
}

/// What replicas of a cluster share is a server, where there is one.
fn database() -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let server = runtime.unwrap().block_on(postgres_server::database());
    server.unwrap_or_else(|| "sqlite:committed.db".to_owned())
}

/// Puts documents into a database and commits them.
fn commit(cluster: &Cluster, database: &str, rack: &str) {
    let berth = |name: &str, more: &str| {
        format!(
            "---\napiVersion: berth.dev/v1alpha1\nkind: Berth\nmetadata: {{name: {name}}}\nspec:\n  pool: infra\n  \
             labels: {{example.com/rack: {rack}}}\n{more}"
        )
    };
    let mut text = super::pool("infra").to_string();
    text.push('\n');
    text.push_str(&berth("d1", "  preregister: Now\n"));
    text.push_str(&berth("d2", ""));
    cluster.folder.write("committed/site.yaml", text);
    for words in ["load site -f committed --replace", "commit"] {
        let done = cluster
            .folder
            .line(&format!("configdocs {words} --database {database}"));
        assert_eq!(done.exit, 0, "{done}");
    }
}

pub(super) fn pools_are_rolled_out_and_requests_are_approved(cluster: &Cluster) {
    let installed = cluster.berth("install --mode full --approve --admission off --image example.com/berth:1");
    assert_eq!(installed.exit, 0, "{installed}");
    let database = database();
    commit(cluster, &database, "r1");
    let running = cluster.controller(
        &cluster.service_account(),
        &format!("--mode full --approve --admission off --flavour openshift --database {database}"),
    );

    // The machines of the committed revision, and of the next one.
    let in_rack = |rack: &'static str| {
        move |node: &Value| {
            label(node, "example.com/rack") == Some(rack) && label(node, "node-role.kubernetes.io/infra") == Some("")
        }
    };
    cluster.wait_for("node d1", in_rack("r1"));
    commit(cluster, &database, "r2");
    cluster.wait_for("node d1", in_rack("r2"));

    // A machine asks for its certificate with its own token: first the Node, then the approval.
    assert_eq!(cluster.get("node d2"), None, "it has not asked yet");
    let asked = cluster.create(&request("of-d2", "d2"), Some(&with_token(cluster, "d2")));
    assert_eq!(asked.exit, 0, "{asked}");
    let stranger = cluster.create(&request("of-d1", "d1"), Some(&with_token(cluster, "d3")));
    assert_eq!(stranger.exit, 0, "{stranger}");
    let decided = |name: &str, decision: &str| {
        cluster.wait_for(&format!("certificatesigningrequest {name}"), |request| {
            request["status"]["conditions"][0]["type"] == decision
        })
    };
    decided("of-d2", "Approved");
    assert!(in_rack("r2")(&cluster.get("node d2").unwrap()));
    decided("of-d1", "Denied");

    // The pool is rendered, and the rendered config belongs to it.
    // Until then the pool has the config that another part of this test gave it.
    let is_rendered = |pool: &Value| {
        let name = pool["spec"]["configuration"]["name"].as_str();
        name.is_some_and(|name| name != "rendered-infra-1")
    };
    let pool = cluster.wait_for("machineconfigpool infra", |pool| {
        is_rendered(pool) && pool["status"]["machineCount"].as_u64() >= Some(2)
    });
    let rendered = pool["spec"]["configuration"]["name"].as_str().unwrap();
    let rendered = cluster.get(&format!("machineconfig {rendered}")).unwrap();
    let owner = &rendered["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&owner["name"], &owner["blockOwnerDeletion"]),
        (&json!("infra"), &json!(true))
    );

    // A daemon asks for a drain: cordoned, emptied and answered. In no pool there is nothing to wait for.
    cluster.apply(
        &json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "default"}}),
    );
    cluster.apply(&json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "guest", "namespace": "default"},
        "spec": {"nodeName": "s1", "terminationGracePeriodSeconds": 0, "containers": [{"name": "c", "image": "c"}]},
    }));
    let drain = format!("annotate node s1 {GROUP}/desiredDrain=drain-1");
    assert_eq!(cluster.kubectl(&drain).exit, 0);
    let key = format!("{GROUP}/lastAppliedDrain");
    let node = cluster.wait_for("node s1", |node| node["metadata"]["annotations"][&key] == "drain-1");
    assert_eq!(node["spec"]["unschedulable"], true, "{node}");
    patiently(
        || "the pod stays".to_owned(),
        |_| cluster.get("pod guest").is_none().then_some(()),
    );
    assert_eq!(running.stop(), Some(0), "{}", cluster.log());
    cluster.lacks_no_right();
    let doctor = cluster.berth("doctor --mode full --approve -o json");
    let access = super::checks(&doctor, "access");
    assert!(access.iter().all(|(health, _)| health == "ok"), "{access:?}");

    // Somebody lets kube-controller-manager approve whatever bootstrap tokens ask for.
    let role = "system:certificates.k8s.io:certificatesigningrequests:nodeclient";
    let bind = format!("create clusterrolebinding too-much --clusterrole={role} --group=system:bootstrappers");
    assert_eq!(cluster.kubectl(&bind).exit, 0);
    let doctor = patiently(
        || "the doctor never warns".to_owned(),
        |_| {
            let doctor = cluster.berth("doctor --mode full --approve -o json");
            (super::checks(&doctor, "approvers")[0].0 == "warning").then_some(doctor)
        },
    );
    assert!(
        doctor.stdout.contains("kubectl delete clusterrolebinding too-much"),
        "{doctor}"
    );
}

/// The daemon with the rights and the token that its Pod has.
pub(super) fn a_daemon_writes_its_own_node_and_no_other(cluster: &Cluster) {
    // The nodes of the pool are not changed by anybody, and that is said.
    let doctor = cluster.berth("doctor --mode full --approve -o json");
    let daemons = super::checks(&doctor, "daemons");
    assert!(
        daemons
            .iter()
            .any(|(health, message)| health == "error"
                && message.contains("pool infra: no node daemon answers on d1, d2")),
        "{daemons:?}"
    );
    let status = cluster.berth("status");
    assert!(
        status.stdout.contains("infra: no node daemon answers on d1, d2"),
        "{status}"
    );

    let bound = "--bound-object-kind Node --bound-object-name d1";
    let token = cluster.kubectl(&format!(
        "create token berth-daemon --namespace berth-system --duration 1h {bound}"
    ));
    assert_eq!(token.exit, 0, "{token}");
    let mut kubeconfig = cluster.plane.kubeconfig(&Identity::admin()).unwrap();
    kubeconfig["users"] = json!([{"name": "test", "user": {"token": token.stdout.trim()}}]);
    cluster.folder.write("daemon.conf", kubeconfig.to_string());
    cluster.folder.write("root/proc/sys/kernel/random/boot_id", "boot-1\n");
    let conf = cluster.folder.path().join("daemon.conf");
    let writes = |words: &str| {
        let mut kubectl = cluster.plane.kubectl().unwrap();
        let words = words.split_whitespace().chain(["--dry-run=server"]);
        crate::run::finish(kubectl.env("KUBECONFIG", &conf).args(words), b"")
    };
    for (words, why) in [
        (
            "annotate node d2 example.com/a=b",
            "a node daemon writes its own Node and no other",
        ),
        (
            "annotate node d2 machineconfiguration.openshift.io/state=Degraded --overwrite",
            "a node daemon writes its own Node and no other",
        ),
        (
            "label node d1 example.com/a=b",
            "a node daemon writes annotations and nothing else",
        ),
        (
            "annotate node d1 berth.dev/owned-labels=a --overwrite",
            "a node daemon writes its own annotations and no others",
        ),
        (
            "annotate node d1 berth.dev/pool-",
            "a node daemon writes its own annotations and no others",
        ),
        (
            "annotate node d1 machineconfiguration.openshift.io/lastAppliedDrain=drain-x --overwrite",
            "a node daemon writes its own annotations and no others",
        ),
    ] {
        // It takes the API server a moment to know a policy.
        patiently(
            || format!("`{words}` is allowed"),
            |_| writes(words).stderr.contains(why).then_some(()),
        );
    }
    for own in ["machineconfiguration.openshift.io/state=Done", "berth.dev/drift=a"] {
        let written = writes(&format!("annotate node d1 {own} --overwrite"));
        assert_eq!(written.exit, 0, "{written}");
    }
    kubelets_leave_annotations_of_berth_alone(cluster);

    let running = cluster.start("daemon --node-name d1 --root root --kubeconfig", &conf);
    let node = cluster.wait_for("node d1", |node| {
        node["metadata"]["annotations"][format!("{GROUP}/state")] == "Done"
    });
    assert_eq!(
        node["metadata"]["annotations"][format!("{GROUP}/currentConfig")],
        "not-yet-set"
    );
    cluster.wait_for("events", |events| {
        let events = events["items"].as_array().unwrap().iter();
        events
            .clone()
            .any(|event| event["reason"] == "Started" && event["involvedObject"]["name"] == "d1")
    });
    assert_eq!(running.stop(), Some(0), "{}", cluster.log());
    // It says what is wanted where nobody did; from then on that is not a daemon's to say.
    let wanted = writes("annotate node d1 machineconfiguration.openshift.io/desiredConfig=rendered-other --overwrite");
    assert!(wanted.stderr.contains("its own annotations and no others"), "{wanted}");
    cluster.lacks_no_right();
    people_look_after_a_node(cluster);
}

/// Also where Nodes are not checked otherwise (`--admission off`).
fn kubelets_leave_annotations_of_berth_alone(cluster: &Cluster) {
    let kubeconfig = cluster.plane.kubeconfig(&Identity::kubelet("d1")).unwrap();
    cluster.folder.write("kubelet.conf", kubeconfig.to_string());
    let conf = cluster.folder.path().join("kubelet.conf");
    let writes = |words: &str| {
        let mut kubectl = cluster.plane.kubectl().unwrap();
        let words = words.split_whitespace().chain(["--dry-run=server", "--overwrite"]);
        crate::run::finish(kubectl.env("KUBECONFIG", &conf).args(words), b"")
    };
    for annotation in [
        "owned-labels={}",
        "pool=other",
        "given-up=rendered-infra-1",
        "new=1",
        "force=1",
    ] {
        let written = writes(&format!("annotate node d1 berth.dev/{annotation}"));
        assert!(
            written.stderr.contains("writes annotations that begin with berth.dev/"),
            "{annotation} {written}"
        );
    }
    let written = writes("annotate node d1 example.com/own=1");
    assert_eq!(written.exit, 0, "{written}");
}

/// What a person is shown of a daemon, and can do about it.
fn people_look_after_a_node(cluster: &Cluster) {
    let shown = cluster.berth("node show d1");
    assert_eq!(shown.exit, 0, "{shown}");
    assert!(shown.stdout.contains("Runs:       not-yet-set"), "{shown}");
    let silent = cluster.berth("node show d2 -o json");
    assert_eq!(silent.exit, 1, "{silent}");
    assert_eq!(silent.json()["troubles"][0]["step"], "daemon");
    let missing = cluster.berth("node show nobody");
    assert_eq!(missing.exit, 2, "{missing}");
    let forced = cluster.berth("node force d1");
    assert_eq!(forced.exit, 0, "{forced}");
    let annotation = |node: &Value, key: &str| node["metadata"]["annotations"][key].as_str().map(str::to_owned);
    let node = cluster.get("node d1").unwrap();
    assert!(annotation(&node, "berth.dev/force").is_some(), "{node}");

    // Somebody tells it to take a config that nobody has, and leaves it cordoned.
    let desired = format!("{GROUP}/desiredConfig");
    let tell = format!("annotate node d1 --overwrite {desired}=rendered-infra-gone");
    assert_eq!(cluster.kubectl(&tell).exit, 0);
    let status = cluster.berth("status");
    for line in [
        "nodes in trouble:",
        "  d1 (infra)",
        "    config: rendered-infra-gone is wanted and is not in the cluster",
        "      `berth node repair d1` has it take rendered-infra-",
    ] {
        assert!(status.stdout.contains(line), "{line}: {status}");
    }
    let tried = cluster.berth("node repair d1 --dry-run");
    assert_eq!(tried.exit, 1, "its daemon does not answer: {tried}");
    assert!(
        tried.stdout.contains("would repair: desiredConfig is rendered-infra-"),
        "{tried}"
    );
    let node = cluster.get("node d1").unwrap();
    assert_eq!(annotation(&node, &desired).as_deref(), Some("rendered-infra-gone"));
    cluster.berth("node repair d1");
    let pool = cluster.get("machineconfigpool infra").unwrap();
    let node = cluster.get("node d1").unwrap();
    assert_eq!(
        annotation(&node, &desired).as_deref(),
        pool["spec"]["configuration"]["name"].as_str()
    );
}
