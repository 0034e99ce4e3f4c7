//! The controllers as a Deployment, and what belongs to it.

use serde_json::{Value, json};

use super::{Admission, CONTROLLER, InstallOptions, metadata};
use crate::admission::FailurePolicy;

const HEALTH_PORT: u16 = 8081;
/// Where the webhook listens in its pod.
pub(super) const WEBHOOK_PORT: u16 = 9443;
/// Where the certificate of the webhook is mounted.
const CERTIFICATES: &str = "/etc/berth/webhook";
/// The key of that Secret with the roots of client certificates.
pub(super) const CLIENT_AUTHORITY: &str = "client-ca.crt";
/// The Secret with the certificate of the webhook.
pub(super) const CERTIFICATE_SECRET: &str = "berth-webhook";

/// Label of namespaces whose Pods may gather the controllers' metrics.
const METRICS: &str = "berth.dev/metrics";

fn selector() -> Value {
    json!({"app.kubernetes.io/name": CONTROLLER})
}

fn arguments(options: &InstallOptions) -> Vec<String> {
    let mut arguments: Vec<String> = [
        "controller",
        "--mode",
        options.mode.as_str(),
        "--lease-namespace",
        &options.namespace,
        "--health-listen",
    ]
    .map(str::to_owned)
    .to_vec();
    arguments.push(format!("0.0.0.0:{HEALTH_PORT}"));
    arguments.extend(["--log-format", "json"].map(str::to_owned));
    if options.approve {
        arguments.push("--approve".to_owned());
    }
    let admission = match options.admission {
        Admission::Policy => "policy",
        Admission::Webhook => "webhook",
        Admission::Off => "off",
    };
    arguments.extend(["--admission".to_owned(), admission.to_owned()]);
    if options.failure == FailurePolicy::Fail {
        arguments.extend(["--admission-failure", "fail"].map(str::to_owned));
    }
    if let Some(flavour) = options.flavour {
        arguments.extend(["--flavour".to_owned(), flavour.to_string()]);
    }
    if options.serving().is_some() {
        arguments.extend([
            "--admission-listen".to_owned(),
            format!("0.0.0.0:{WEBHOOK_PORT}"),
            "--tls-cert".to_owned(),
            format!("{CERTIFICATES}/tls.crt"),
            "--tls-key".to_owned(),
            format!("{CERTIFICATES}/tls.key"),
        ]);
        if options.client_authority.is_some() {
            arguments.push("--admission-client-ca".to_owned());
            arguments.push(format!("{CERTIFICATES}/{CLIENT_AUTHORITY}"));
        }
    }
    arguments
}

/// Who may ask the controllers for something. The API server asks the webhook from the network of its host, which no selector
/// names, so that everybody may; what it answers is not a secret. Health and metrics are for probes, which come from the Pod's own
/// node and are always let through, and for those who gather metrics.
fn network_policy(options: &InstallOptions) -> Value {
    let namespaces = |labels: Value| json!({"namespaceSelector": {"matchLabels": labels}});
    let mut ingress = vec![json!({
        "ports": [{"port": "health", "protocol": "TCP"}],
        "from": [
            namespaces(json!({"kubernetes.io/metadata.name": options.namespace})),
            namespaces(json!({"network.openshift.io/policy-group": "monitoring"})),
            namespaces(json!({METRICS: "true"})),
        ],
    })];
    if options.serving().is_some() {
        ingress.push(json!({"ports": [{"port": "webhook", "protocol": "TCP"}]}));
    }
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
        "metadata": metadata(CONTROLLER, Some(&options.namespace)),
        "spec": {"podSelector": {"matchLabels": selector()}, "policyTypes": ["Ingress"], "ingress": ingress},
    })
}

pub(super) fn objects(options: &InstallOptions) -> Vec<Value> {
    let namespace = Some(options.namespace.as_str());
    let port = |name: &str, port: u16| json!({"name": name, "containerPort": port});
    let probe = |path: &str| json!({"httpGet": {"path": path, "port": "health"}, "periodSeconds": 10});
    let mut container = json!({
        "name": "controller",
        "image": options.image,
        "args": arguments(options),
        "ports": [port("health", HEALTH_PORT)],
        "livenessProbe": probe("/healthz"),
        "readinessProbe": probe("/readyz"),
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "512Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": {"drop": ["ALL"]},
        },
    });
    let mut pod = json!({
        "serviceAccountName": CONTROLLER,
        "priorityClassName": "system-cluster-critical",
        "securityContext": {"runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
        // The controllers bring up nodes, so they may not wait for one of those.
        "tolerations": [
            {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"},
            {"key": "node-role.kubernetes.io/master", "operator": "Exists", "effect": "NoSchedule"},
        ],
        "topologySpreadConstraints": [{
            "maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": selector()},
        }],
    });
    // In the environment alone: arguments are seen by everybody on the node, and its password with them.
    if let Some(secret) = &options.database_secret {
        container["env"] = json!([{
            "name": "BERTH_DATABASE", "valueFrom": {"secretKeyRef": {"name": secret, "key": "address"}},
        }]);
    }
    let mut services = vec![json!({
        "apiVersion": "v1", "kind": "Service", "metadata": metadata("berth-metrics", namespace),
        "spec": {"selector": selector(), "ports": [{"name": "metrics", "port": HEALTH_PORT, "targetPort": "health"}]},
    })];
    if options.serving().is_some() {
        container["ports"] = json!([port("health", HEALTH_PORT), port("webhook", WEBHOOK_PORT)]);
        container["volumeMounts"] = json!([{"name": "webhook", "mountPath": CERTIFICATES, "readOnly": true}]);
        pod["volumes"] = json!([{"name": "webhook", "secret": {"secretName": CERTIFICATE_SECRET}}]);
        services.push(json!({
            "apiVersion": "v1", "kind": "Service", "metadata": metadata(super::WEBHOOK_SERVICE, namespace),
            "spec": {"selector": selector(), "ports": [{"name": "https", "port": 443, "targetPort": "webhook"}]},
        }));
    }
    pod["containers"] = json!([container]);
    let mut objects = services;
    objects.push(network_policy(options));
    objects.push(json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata(CONTROLLER, namespace),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": selector()}},
    }));
    objects.push(json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata(CONTROLLER, namespace),
        "spec": {
            "replicas": options.replicas,
            "selector": {"matchLabels": selector()},
            "template": {"metadata": {"labels": selector()}, "spec": pod},
        },
    }));
    objects
}
