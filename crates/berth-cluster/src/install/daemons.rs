//! The node daemon as a `DaemonSet`, and what it may do.

use berth_daemon::announce;
use berth_pools::annotation;
use serde_json::{Value, json};

use super::{InstallOptions, metadata, rbac};

/// The name of the service account, the workload and the roles of the node daemon.
pub const DAEMON: &str = "berth-daemon";

/// The admission policy that keeps every daemon to the annotations of its own Node.
pub const DAEMON_POLICY: &str = "berth-daemon-own-node";

/// In a token of a Pod: the node that it runs on.
const NODE_OF_TOKEN: &str = "authentication.kubernetes.io/node-name";

/// Where the daemon has the file system of its host.
const HOST: &str = "/host";

/// How long a daemon may take to end what it does to its host. Whatever it does not end it goes on with at its next start.
const GRACE_SECONDS: u32 = 120;

fn selector() -> Value {
    json!({"app.kubernetes.io/name": DAEMON})
}

fn daemon_set(options: &InstallOptions) -> Value {
    let container = json!({
        "name": "daemon",
        "image": options.image,
        "args": ["daemon", "--root", HOST, "--drift", options.drift, "--log-format", "json"],
        "env": [{"name": "BERTH_NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}},
        // It writes files of the host, sets what is booted next and starts the host again.
        "securityContext": {"privileged": true, "runAsUser": 0, "readOnlyRootFilesystem": true},
        "volumeMounts": [{"name": "host", "mountPath": HOST, "mountPropagation": "HostToContainer"}],
    });
    let pod = json!({
        "serviceAccountName": DAEMON,
        "priorityClassName": "system-node-critical",
        // What it changes can be the network of Pods; and systemd is process 1 of the host.
        "hostNetwork": true,
        "hostPID": true,
        "dnsPolicy": "ClusterFirstWithHostNet",
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"operator": "Exists"}],
        "containers": [container],
        "volumes": [{"name": "host", "hostPath": {"path": "/", "type": "Directory"}}],
    });
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata(DAEMON, Some(&options.namespace)),
        "spec": {
            "selector": {"matchLabels": selector()},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}},
            "template": {"metadata": {"labels": selector()}, "spec": pod},
        },
    })
}

/// Rights cannot say that a daemon writes its own Node alone, and there only what is a daemon's; its token says which node that is.
fn policy(options: &InstallOptions) -> [Value; 2] {
    let api = "admissionregistration.k8s.io/v1";
    let account = format!("system:serviceaccount:{}:{DAEMON}", options.namespace);
    let extra = "request.userInfo.extra";
    let own = format!(
        "has({extra}) && '{NODE_OF_TOKEN}' in {extra} && {extra}['{NODE_OF_TOKEN}'].exists(node, node == object.metadata.name)"
    );
    let same = |field: &str| {
        format!(
            "has(object.{field}) == has(oldObject.{field}) && (!has(object.{field}) || object.{field} == oldObject.{field})"
        )
    };
    let rest = [
        "spec",
        "metadata.labels",
        "metadata.finalizers",
        "metadata.ownerReferences",
    ];
    let rest = rest.map(same).join(" && ");
    let annotations =
        |object: &str| format!("has({object}.metadata.annotations) ? {object}.metadata.annotations : {{}}");
    let written: Vec<String> = announce::WRITTEN.iter().map(|key| format!("'{key}'")).collect();
    let written = format!("k in [{}]", written.join(", "));
    let desired = format!("'{}'", annotation::DESIRED_CONFIG);
    let kept = "(k in variables.before && variables.before[k] == variables.notes[k])";
    let first = format!("(k == {desired} && !(k in variables.before && variables.before[k] != ''))");
    let others = format!(
        "variables.notes.all(k, {written} || {first} || {kept}) && variables.before.all(k, {written} || k in variables.notes)"
    );
    [
        json!({
            "apiVersion": api, "kind": "ValidatingAdmissionPolicy", "metadata": metadata(DAEMON_POLICY, None),
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": [{
                    "apiGroups": [""], "apiVersions": ["v1"], "resources": ["nodes"], "operations": ["UPDATE"],
                }]},
                "matchConditions": [{"name": "a-node-daemon", "expression": format!("request.userInfo.username == '{account}'")}],
                "variables": [
                    {"name": "notes", "expression": annotations("object")},
                    {"name": "before", "expression": annotations("oldObject")},
                ],
                "validations": [
                    {"expression": own, "message": "a node daemon writes its own Node and no other", "reason": "Forbidden"},
                    {
                        "expression": rest,
                        "message": "a node daemon writes annotations and nothing else",
                        "reason": "Forbidden",
                    },
                    {
                        "expression": others,
                        "message": "a node daemon writes its own annotations and no others",
                        "reason": "Forbidden",
                    },
                ],
            },
        }),
        json!({
            "apiVersion": api, "kind": "ValidatingAdmissionPolicyBinding", "metadata": metadata(DAEMON_POLICY, None),
            "spec": {"policyName": DAEMON_POLICY, "validationActions": ["Deny"]},
        }),
    ]
}

pub(super) fn objects(options: &InstallOptions) -> Vec<Value> {
    // Before the rights that it limits.
    let mut objects = policy(options).to_vec();
    objects.extend(rbac::of_account(DAEMON, &options.namespace, &rbac::daemon_rights()));
    if options.has_daemon() {
        objects.push(daemon_set(options));
    }
    objects
}
