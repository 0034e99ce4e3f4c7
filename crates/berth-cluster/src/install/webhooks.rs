//! The webhook's registration with the API server.

use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::{InstallOptions, metadata, workloads::CERTIFICATE_SECRET};
use crate::admission::{FailurePolicy, MUTATE_PATH, VALIDATE_PATH};

/// The name of both webhook configurations.
pub const WEBHOOK: &str = "berth";
/// The Service in front of the webhook.
pub const WEBHOOK_SERVICE: &str = "berth-webhook";

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
    let rule = |group: &str, resource: &str, operations: &[&str]| json!([{"apiGroups": [group], "apiVersions": ["*"], "resources": [resource], "operations": operations}]);
    let kubelets = json!([{"name": "kubelet", "expression": "'system:nodes' in request.userInfo.groups"}]);
    let webhook = |name: &str, path: &str, rules: Value, failure: FailurePolicy| {
        json!({
            "name": format!("{name}.berth.dev"),
            "admissionReviewVersions": ["v1"],
            "clientConfig": client(path),
            "failurePolicy": failure.as_str(),
            "rules": rules,
            // A wrong claim is told as an event, though not in a dry run.
            "sideEffects": "NoneOnDryRun",
            "timeoutSeconds": 5,
        })
    };
    let mut labels = webhook("labels", MUTATE_PATH, rule("", "nodes", &["CREATE"]), options.failure);
    labels["matchConditions"] = kubelets.clone();
    let mut claims = webhook(
        "claims",
        VALIDATE_PATH,
        rule("", "nodes", &["CREATE", "UPDATE"]),
        options.failure,
    );
    claims["matchConditions"] = kubelets;
    let changes: &[&str] = &["CREATE", "UPDATE"];
    let berths = webhook(
        "berths",
        VALIDATE_PATH,
        rule("berth.dev", "berths", changes),
        FailurePolicy::Ignore,
    );
    let rules = webhook(
        "labelrules",
        VALIDATE_PATH,
        rule("berth.dev", "labelrules", changes),
        FailurePolicy::Ignore,
    );
    let configs = webhook(
        "machineconfigs",
        VALIDATE_PATH,
        rule("machineconfiguration.openshift.io", "machineconfigs", changes),
        FailurePolicy::Ignore,
    );
    vec![
        json!({
            "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
            "metadata": metadata(CERTIFICATE_SECRET, Some(&options.namespace)),
            "data": {
                "tls.crt": bytes(&certificate.certificate),
                "tls.key": bytes(&certificate.key),
                "ca.crt": bytes(&certificate.authority),
            },
        }),
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": metadata(WEBHOOK, None), "webhooks": [labels],
        }),
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": metadata(WEBHOOK, None), "webhooks": [claims, berths, rules, configs],
        }),
    ]
}
