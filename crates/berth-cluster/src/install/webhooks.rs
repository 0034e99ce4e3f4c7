//! The webhook's registration with the API server.

use jiff::Timestamp;
use k8s_openapi::ByteString;
use serde_json::{Value, json};
use x509_parser::pem::parse_x509_pem;

use super::{
    Admission, InstallOptions, metadata,
    workloads::{CERTIFICATE_SECRET, CLIENT_AUTHORITY},
};
use crate::admission::{FailurePolicy, MUTATE_PATH, VALIDATE_PATH, labels_of_kubelets};

/// The name of both webhook configurations.
pub const WEBHOOK: &str = "berth";
/// The Service in front of the webhook.
pub const WEBHOOK_SERVICE: &str = "berth-webhook";

/// A new certificate of the webhook is due so many seconds before the end of the old one.
pub const RENEW_BEFORE: i64 = 30 * 24 * 3600;

/// Which objects are judged when they come in: group and resource.
pub fn judged() -> [(&'static str, &'static str); 5] {
    let machine_config = "machineconfiguration.openshift.io";
    [
        ("berth.dev", "berths"),
        ("berth.dev", "labelrules"),
        (machine_config, "machineconfigs"),
        (machine_config, "kubeletconfigs"),
        (machine_config, "machineconfigpools"),
    ]
}

/// The certificate with which the webhook shows who it is, all in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServingCertificate {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
    /// The one that signed it, which the API server is told to trust.
    pub authority: String,
}

impl ServingCertificate {
    /// How many seconds are left until its end; `None` if it cannot be read.
    pub fn seconds_left(&self, now: Timestamp) -> Option<i64> {
        let (_, pem) = parse_x509_pem(self.certificate.as_bytes()).ok()?;
        let ends = pem.parse_x509().ok()?.validity().not_after.timestamp();
        Some(ends.saturating_sub(now.as_second()))
    }
}

fn bytes(text: &str) -> Value {
    json!(ByteString(text.as_bytes().to_vec()))
}

pub(super) fn objects(options: &InstallOptions, certificate: &ServingCertificate) -> Vec<Value> {
    let client = |path: &str| {
        json!({
            "service": {"name": WEBHOOK_SERVICE, "namespace": options.namespace, "path": path},
            "caBundle": bytes(&certificate.authority),
        })
    };
    let changes = ["CREATE", "UPDATE"];
    let rule = |group: &str, resources: &[&str]| json!([{"apiGroups": [group], "apiVersions": ["*"], "resources": resources, "operations": changes}]);
    let webhook = |name: &str, path: &str, rules: Value, failure: FailurePolicy| {
        json!({
            "name": name,
            "admissionReviewVersions": ["v1"],
            "clientConfig": client(path),
            "failurePolicy": failure.as_str(),
            "rules": rules,
            // A wrong claim becomes an event, though not in a dry run.
            "sideEffects": "NoneOnDryRun",
            "timeoutSeconds": 5,
        })
    };
    // Where policies judge Nodes, nobody has to wait for the webhook.
    let failure = match options.admission {
        Admission::Policy => FailurePolicy::Ignore,
        Admission::Webhook | Admission::Off => options.failure,
    };
    // A kubelet changes its labels through the status, too.
    let nodes = rule("", &["nodes", "nodes/status"]);
    let mut labels = webhook("labels.berth.dev", MUTATE_PATH, nodes.clone(), failure);
    labels["matchConditions"] = labels_of_kubelets();
    let mut claims = webhook("claims.berth.dev", VALIDATE_PATH, nodes, failure);
    claims["matchConditions"] = labels_of_kubelets();
    let mut validating = vec![claims];
    validating.extend(judged().map(|(group, resource)| {
        let name = format!("{resource}.berth.dev");
        webhook(&name, VALIDATE_PATH, rule(group, &[resource]), options.failure)
    }));
    let mut secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
        "metadata": metadata(CERTIFICATE_SECRET, Some(&options.namespace)),
        "data": {
            "tls.crt": bytes(&certificate.certificate),
            "tls.key": bytes(&certificate.key),
            "ca.crt": bytes(&certificate.authority),
        },
    });
    if let Some(authority) = &options.client_authority {
        secret["data"][CLIENT_AUTHORITY] = bytes(authority);
    }
    vec![
        secret,
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": metadata(WEBHOOK, None), "webhooks": [labels],
        }),
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": metadata(WEBHOOK, None), "webhooks": validating,
        }),
    ]
}
