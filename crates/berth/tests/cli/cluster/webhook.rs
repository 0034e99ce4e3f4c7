//! The webhook of the controllers, as it is installed. Only its address differs: no Service has endpoints here.

use std::path::PathBuf;

use berth_testing::Identity;
use serde_json::{Value, json};

use super::{Cluster, checks, label, patiently};
use crate::run::{Outcome, finish};

/// What makes the controllers answer.
pub(super) const ANSWERING: &str =
    "--admission-listen 127.0.0.1:0 --tls-cert tls.crt --tls-key tls.key --flavour openshift";

/// The registration of the webhook with the API server, while nobody answers.
pub(super) struct Hooks {
    registrations: Vec<Value>,
    bundle: Value,
}

impl Hooks {
    /// Takes the registrations of an installation away, and makes a certificate for the address here.
    pub(super) fn take(cluster: &Cluster) -> Self {
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()])
            .unwrap()
            .self_signed(&key)
            .unwrap();
        cluster
            .folder
            .write("tls.crt", certificate.pem())
            .write("tls.key", key.serialize_pem());
        let registrations = ["mutating", "validating"].map(|kind| {
            let name = format!("{kind}webhookconfiguration berth");
            let mut hooks = cluster.get(&name).unwrap();
            assert_eq!(cluster.kubectl(&format!("delete {name}")).exit, 0);
            let metadata = hooks["metadata"].as_object_mut().unwrap();
            metadata.retain(|field, _| field == "name" || field == "labels");
            hooks
        });
        Self {
            registrations: registrations.to_vec(),
            bundle: json!(k8s_openapi::ByteString(certificate.pem().into_bytes())),
        }
    }

    /// Waits until the controllers answer, and tells the API server where.
    pub(super) fn register(&self, cluster: &Cluster) {
        let line = cluster.wait_for_log("admission reviews are answered");
        let port = line.split("127.0.0.1:").nth(1).unwrap().chars();
        let port: String = port.take_while(char::is_ascii_digit).collect();
        self.register_at(cluster, &format!("https://127.0.0.1:{port}"));
    }

    pub(super) fn register_at(&self, cluster: &Cluster, address: &str) {
        for hooks in &self.registrations {
            let mut hooks = hooks.clone();
            for hook in hooks["webhooks"].as_array_mut().unwrap() {
                let path = hook["clientConfig"]["service"]["path"].as_str().unwrap().to_owned();
                hook["clientConfig"] = json!({"url": format!("{address}{path}"), "caBundle": self.bundle});
            }
            let created = cluster.create(&hooks, None);
            assert_eq!(created.exit, 0, "{created}");
        }
    }
}

/// The webhook is registered, and no controller has run: the doctor does not say that objects are judged.
pub(super) fn nobody_answers_yet(cluster: &Cluster) {
    let warned = |words: &str| {
        let doctor = cluster.berth("doctor --approve -o json");
        let found = checks(&doctor, "admission");
        assert!(
            found
                .iter()
                .any(|(health, text)| health == "warning" && text.contains(words)),
            "{doctor}"
        );
        assert!(!found.iter().any(|(_, text)| text.contains("are judged")), "{doctor}");
        doctor
    };
    let doctor = warned("nobody answers the webhook, so objects come in unchecked");
    assert!(doctor.stdout.contains("the first controller"), "{doctor}");
    let strict = cluster.berth("install --approve --image example.com/berth:1 --admission-failure fail");
    assert_eq!(strict.exit, 0, "{strict}");
    warned("nobody answers the webhook, so objects are kept out");
    let lenient = cluster.berth("install --approve --image example.com/berth:1");
    assert_eq!(lenient.exit, 0, "{lenient}");
    // With an endpoint it is answered for.
    let slice = |endpoints: &Value| {
        cluster.apply(&json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4", "endpoints": endpoints,
            "metadata": {
                "name": "berth-webhook-1", "namespace": "berth-system",
                "labels": {"kubernetes.io/service-name": "berth-webhook"},
            },
        }));
    };
    slice(&json!([{"addresses": ["10.9.9.9"], "conditions": {"ready": false}}]));
    warned("come in unchecked");
    slice(&json!([{"addresses": ["10.9.9.9"], "conditions": {"ready": true}}]));
    let doctor = cluster.berth("doctor --approve -o json");
    let judged = (
        "ok".to_owned(),
        "objects are judged by the webhook when they come in".to_owned(),
    );
    assert!(checks(&doctor, "admission").contains(&judged), "{doctor}");
    let gone = cluster.kubectl("delete endpointslice berth-webhook-1 --namespace berth-system");
    assert_eq!(gone.exit, 0, "{gone}");
}

fn rule(name: &str, pattern: &str) -> Value {
    json!({"apiVersion": "berth.dev/v1alpha1", "kind": "LabelRule", "metadata": {"name": name},
        "spec": {"match": {"namePatterns": [pattern]}, "labels": {"example.com/site": "atl"}}})
}

fn kubelet_config(name: &str, pool: &str) -> Value {
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "KubeletConfig", "metadata": {"name": name},
        "spec": {
            "machineConfigPoolSelector": {"matchLabels": {"telco.example/pool": pool}},
            "kubeletConfig": {"registerNode": false},
        },
    })
}

/// Objects that came in before the webhook did.
pub(super) struct Mistakes(());

impl Mistakes {
    pub(super) fn before_anybody_looks(cluster: &Cluster) -> Self {
        for object in [rule("old", "("), kubelet_config("asleep", "quiet")] {
            let created = cluster.create(&object, None);
            assert_eq!(created.exit, 0, "{created}");
        }
        Self(())
    }

    /// Whoever does not change what is wrong may go on: finalizers come and go.
    pub(super) fn are_held_by_nothing(self, cluster: &Cluster) {
        a_wrong_rule_is_refused(cluster);
        let finalizers = |list: &str| {
            let patch = format!(r#"{{"metadata":{{"finalizers":{list}}}}}"#);
            let patched = cluster.kubectl(&format!("patch labelrule old --type merge --patch {patch}"));
            assert_eq!(patched.exit, 0, "{patched}");
        };
        finalizers(r#"["example.com/held"]"#);
        let pattern = r#"{"spec":{"match":{"namePatterns":["(("]}}}"#;
        let changed = cluster.kubectl(&format!("patch labelrule old --type merge --patch {pattern}"));
        assert!(changed.stderr.contains("invalid-pattern: "), "{changed}");
        assert_eq!(cluster.kubectl("delete labelrule old --wait=false").exit, 0);
        finalizers("[]");
        let Self(()) = self;
    }
}

/// A rule with a mistake is refused in the words of lint, once the API server has taken up the webhook.
fn a_wrong_rule_is_refused(cluster: &Cluster) {
    patiently(
        || format!("a wrong rule is taken: {}", cluster.log()),
        |attempt| {
            let answer = cluster.create(&rule(&format!("bad-{attempt}"), "("), None);
            cluster.kubectl(&format!("delete labelrule bad-{attempt} --ignore-not-found"));
            answer.stderr.contains("invalid-pattern: ").then_some(())
        },
    );
}

/// Berths, rules, machine configs, kubelet configs and pools are judged as `berth lint` would.
pub(super) fn objects_are_judged(cluster: &Cluster) {
    let apply = |example: &str| -> Outcome {
        let file = format!("{}/../../examples/{example}.yaml", env!("CARGO_MANIFEST_DIR"));
        finish(cluster.plane.kubectl().unwrap().args(["apply", "-f", &file]), b"")
    };
    assert_eq!(cluster.create(&rule("site", "s[0-9]+"), None).exit, 0);
    let berth = json!({"apiVersion": "berth.dev/v1alpha1", "kind": "Berth", "metadata": {"name": "wrong"},
        "spec": {"labels": {"a b": "c"}}});
    let refused = cluster.create(&berth, None);
    assert!(refused.stderr.contains("invalid-label-key: "), "{refused}");

    // A machine config that would take the labels of its pool away, and one that stops its kubelet: with the line.
    let lost = apply("mistakes/pool-labels-lost");
    assert!(lost.stderr.contains("pool-labels-lost: "), "{lost}\n{}", cluster.log());
    assert!(
        lost.stderr
            .contains("60-edge-debug `kubelet.service.d/30-debug.conf`, line 3"),
        "{lost}"
    );
    assert!(
        lost.stdout
            .contains("machineconfigpool.machineconfiguration.openshift.io/edge"),
        "the pool is fine: {lost}"
    );
    let stopped = apply("mistakes/kubelet-stopped");
    assert!(stopped.stderr.contains("kubelet-stopped: "), "{stopped}");
    // OpenShift's own kubelet unit is fine.
    let own = apply("telco-site/machine-configs/01-worker-kubelet");
    assert_eq!(own.exit, 0, "{own}");

    // A kubelet config that would keep nodes from registering, and a pool that would come to have one.
    let asleep = apply("mistakes/node-not-registered");
    assert!(asleep.stderr.contains("node-not-registered: "), "{asleep}");
    assert!(asleep.stderr.contains("spec.kubeletConfig.registerNode"), "{asleep}");
    assert_eq!(cluster.get("kubeletconfig edge-kubelet"), None);
    let joins = cluster.kubectl("label machineconfigpool storage telco.example/pool=quiet");
    assert!(
        joins.stderr.contains("node-not-registered: KubeletConfig/asleep "),
        "{joins}"
    );
    let other = cluster.kubectl("label machineconfigpool storage telco.example/pool=loud");
    assert_eq!(other.exit, 0, "{other}");
    let harmless = cluster.kubectl("annotate kubeletconfig asleep example.com/note=1");
    assert_eq!(harmless.exit, 0, "it selects no pool: {harmless}");
}

fn node(name: &str, labels: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}})
}

fn kubelet(cluster: &Cluster, name: &str) -> PathBuf {
    cluster.plane.write_kubeconfig(&Identity::kubelet(name)).unwrap()
}

/// Tries to register in the pool `edge`, to which the machine does not belong.
fn register_in_edge(cluster: &Cluster, name: &str) -> Outcome {
    cluster.create(
        &node(name, &json!({"telco.example/edge": ""})),
        Some(&kubelet(cluster, name)),
    )
}

/// The same, and it is refused.
fn claim(cluster: &Cluster, name: &str) -> Outcome {
    let refused = register_in_edge(cluster, name);
    assert_ne!(refused.exit, 0, "{refused}");
    let text = format!("node {name} claims the labels of pool edge, which is not reserved for it");
    assert!(refused.stderr.contains(&text), "{refused}");
    refused
}

/// The same for a Node that exists.
fn claim_later(cluster: &Cluster, name: &str) -> Outcome {
    let mut patch = cluster.plane.kubectl().unwrap();
    patch.env("KUBECONFIG", kubelet(cluster, name));
    let labels = r#"{"metadata":{"labels":{"telco.example/edge":""}}}"#;
    let refused = finish(patch.args(["patch", "node", name, "--patch", labels]), b"");
    assert!(refused.stderr.contains("claims the labels of pool edge"), "{refused}");
    refused
}

fn is_told(cluster: &Cluster, name: &str) {
    cluster.wait_for("events --all-namespaces", |events| {
        let events = events["items"].as_array().unwrap();
        events
            .iter()
            .any(|event| event["reason"] == "PoolClaimRefused" && event["involvedObject"]["name"] == name)
    });
}

fn joins(cluster: &Cluster, name: &str) {
    let own = json!({"example.com/own": "1"});
    let joined = cluster.create(&node(name, &own), Some(&kubelet(cluster, name)));
    assert_eq!(joined.exit, 0, "{joined}");
    let joined = cluster.get(&format!("node {name}")).unwrap();
    assert_eq!(label(&joined, "example.com/site"), Some("atl"));
}

/// The policies refuse, and the webhook tells it as an event: policies cannot.
pub(super) fn kubelets_are_judged_by_policies(cluster: &Cluster) {
    let by_policy = |outcome: &Outcome| outcome.stderr.contains("ValidatingAdmissionPolicy 'berth-pool-claims'");
    // Whoever asks before the controllers have seen the annotation is let in.
    let closed = cluster.kubectl("annotate machineconfigpool edge berth.dev/reserved-only=true");
    assert_eq!(closed.exit, 0, "{closed}");
    patiently(
        || "no policy refuses".to_owned(),
        |attempt| {
            let early = format!("early-{attempt}");
            let answer = register_in_edge(cluster, &early);
            cluster.kubectl(&format!("delete node {early} --ignore-not-found"));
            by_policy(&answer).then_some(())
        },
    );
    let thief = "thief-policy";
    assert!(by_policy(&claim(cluster, thief)));
    is_told(cluster, thief);
    joins(cluster, "s1");
    assert!(by_policy(&claim_later(cluster, "s1")));
    is_told(cluster, "s1");
}

/// Before Kubernetes 1.36: the webhook alone.
pub(super) fn kubelets_are_judged_without_policies(cluster: &Cluster) {
    for name in ["mutating", "validating"] {
        for kind in ["policybinding", "policy"] {
            cluster.kubectl(&format!("delete {name}admission{kind} --all"));
        }
        cluster.kubectl(&format!("delete {name}webhookconfiguration berth"));
    }
    let before = cluster.get("secret berth-webhook --namespace berth-system").unwrap();
    let installed = cluster.berth("install --approve --image example.com/berth:1 --admission webhook");
    assert_eq!(installed.exit, 0, "{installed}");
    let after = cluster.get("secret berth-webhook --namespace berth-system").unwrap();
    assert_eq!(before["data"], after["data"], "a good certificate stays");
    let hooks = Hooks::take(cluster);
    let running = cluster.controller(
        &cluster.service_account(),
        &format!("--site site --admission webhook {ANSWERING}"),
    );
    hooks.register(cluster);
    a_wrong_rule_is_refused(cluster);
    joins(cluster, "s3");
    claim(cluster, "thief");
    is_told(cluster, "thief");
    claim_later(cluster, "s3");
    is_told(cluster, "s3");
    let doctor = cluster.berth("doctor --approve -o json");
    for (check, words) in [("certificates", "days"), ("admission", "judged by the webhook")] {
        let found = checks(&doctor, check);
        assert!(
            found
                .iter()
                .any(|(health, text)| health == "ok" && text.contains(words)),
            "{doctor}"
        );
    }
    assert_eq!(running.stop(), Some(0));
    cluster.lacks_no_right();
    is_answered_by_serve(cluster, &hooks);
    // A webhook that is silent keeps nobody from joining.
    let joined = cluster.create(&node("s2", &json!({})), Some(&kubelet(cluster, "s2")));
    assert_eq!(joined.exit, 0, "{joined}");
}

/// `berth serve` answers in place of the controllers.
fn is_answered_by_serve(cluster: &Cluster, hooks: &Hooks) {
    for kind in ["mutating", "validating"] {
        cluster.kubectl(&format!("delete {kind}webhookconfiguration berth"));
    }
    let running = cluster.start(
        "serve --admission-listen 127.0.0.1:0 --admission-cert tls.crt --admission-key tls.key --flavour openshift \
         --cluster-kubeconfig",
        &cluster.service_account(),
    );
    hooks.register(cluster);
    a_wrong_rule_is_refused(cluster);
    joins(cluster, "s4");
    claim(cluster, "robber");
    is_told(cluster, "robber");
    assert_eq!(running.stop(), Some(0), "{}", cluster.log());
    cluster.lacks_no_right();
    assert!(
        !cluster.folder.path().join("berth.db").exists(),
        "who answers reviews needs no database"
    );
}
