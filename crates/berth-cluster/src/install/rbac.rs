//! What the controllers may do: no more than they need. A test runs them with exactly these rights.

use serde_json::{Value, json};

use super::{Admission, CONTROLLER, InstallMode, InstallOptions, metadata};
use crate::admission::{CLAIMS_POLICY, LABELS_POLICY, NOTES_POLICY, ROSTER};
use crate::controller::MACHINE_KINDS;
use berth_decide::KUBELET_SIGNER;
use berth_pools::PULL_SECRET;

/// One right of the controllers, as the API server is asked about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Right {
    /// The API group; empty for the core.
    pub group: &'static str,
    /// The resource, with its subresource after a slash.
    pub resource: &'static str,
    /// What may be done with it.
    pub verbs: &'static [&'static str],
    /// Only objects of these names.
    pub names: &'static [&'static str],
    /// Only in this namespace; `None` for all.
    pub namespace: Option<String>,
}

const READ: &[&str] = &["get", "list", "watch"];
const KEEP: &[&str] = &["get", "create", "patch", "delete"];

/// Every right that the controllers need.
pub fn rights(options: &InstallOptions) -> Vec<Right> {
    let everywhere = |group, resource, verbs, names| Right {
        group,
        resource,
        verbs,
        names,
        namespace: None,
    };
    let any: &[&str] = &[];
    let machine_config = "machineconfiguration.openshift.io";
    let registration = "admissionregistration.k8s.io";
    let mut rights = vec![
        everywhere("", "nodes", &["get", "list", "watch", "create", "patch"], any),
        everywhere(
            "berth.dev",
            "berths",
            &["get", "list", "watch", "create", "patch", "delete"],
            any,
        ),
        everywhere("berth.dev", "berths/status", &["patch"], any),
        everywhere("berth.dev", "labelrules", READ, any),
        everywhere("berth.dev", "tokenbindings", READ, any),
        everywhere(machine_config, "machineconfigpools", READ, any),
        everywhere(machine_config, "machineconfigs", READ, any),
        everywhere(machine_config, "kubeletconfigs", READ, any),
        everywhere(machine_config, "containerruntimeconfigs", READ, any),
        everywhere(machine_config, "controllerconfigs", READ, any),
        everywhere("certificates.k8s.io", "certificatesigningrequests", READ, any),
        everywhere("events.k8s.io", "events", &["create", "patch"], any),
        // The kubelets' heartbeats show that a machine has come, and that it is alive.
        Right {
            group: "coordination.k8s.io",
            resource: "leases",
            verbs: &["list", "watch"],
            names: any,
            namespace: Some("kube-node-lease".to_owned()),
        },
        Right {
            group: "coordination.k8s.io",
            resource: "leases",
            verbs: &["get", "create", "update"],
            names: any,
            namespace: Some(options.namespace.clone()),
        },
    ];
    // A Node whose machine is being taken away is not created again.
    for (group, _, resource) in MACHINE_KINDS {
        rights.push(everywhere(group, resource, &["get"], any));
    }
    if options.admission != Admission::Off {
        // Whoever makes a policy with a parameter must be able to read every such parameter.
        rights.push(everywhere("berth.dev", "rosters", &["get"], any));
        rights.push(everywhere("berth.dev", "rosters", &["create", "patch"], &[ROSTER]));
    }
    if options.admission == Admission::Policy {
        for (resource, names) in [
            ("mutatingadmissionpolicies", &[LABELS_POLICY] as &[&str]),
            ("mutatingadmissionpolicybindings", &[LABELS_POLICY]),
            ("validatingadmissionpolicies", &[CLAIMS_POLICY, NOTES_POLICY]),
            ("validatingadmissionpolicybindings", &[CLAIMS_POLICY, NOTES_POLICY]),
        ] {
            rights.push(everywhere(registration, resource, KEEP, names));
        }
    }
    if options.approve {
        rights.push(everywhere(
            "certificates.k8s.io",
            "certificatesigningrequests/approval",
            &["patch"],
            any,
        ));
        rights.push(everywhere(
            "certificates.k8s.io",
            "signers",
            &["approve"],
            &[KUBELET_SIGNER],
        ));
        rights.push(everywhere("berth.dev", "tokenbindings/status", &["patch"], any));
        // Those of tokens that have long expired.
        rights.push(everywhere("berth.dev", "tokenbindings", &["delete"], any));
    }
    if options.mode == InstallMode::Full {
        rights.extend([
            everywhere("", "pods", &["get", "list"], any),
            everywhere("", "pods/eviction", &["create"], any),
            everywhere("policy", "poddisruptionbudgets", &["get", "list"], any),
            everywhere(machine_config, "machineconfigpools", &["patch"], any),
            everywhere(machine_config, "machineconfigpools/status", &["patch"], any),
            // A rendered config keeps its pool's deletion waiting, which clusters such as OpenShift allow only to those who may
            // set the pool's finalizers.
            everywhere(machine_config, "machineconfigpools/finalizers", &["update"], any),
            everywhere(machine_config, "machineconfigs", &["create", "patch", "delete"], any),
            // What is said about each node.
            everywhere(machine_config, "machineconfignodes", &["get", "create", "patch"], any),
            everywhere(machine_config, "machineconfignodes/status", &["patch"], any),
            // What became of them, and the number in the names of the machine configs that they become.
            everywhere(machine_config, "kubeletconfigs", &["patch"], any),
            everywhere(machine_config, "kubeletconfigs/status", &["patch"], any),
            everywhere(machine_config, "containerruntimeconfigs", &["patch"], any),
            everywhere(machine_config, "containerruntimeconfigs/status", &["patch"], any),
            everywhere(machine_config, "controllerconfigs/status", &["patch"], any),
        ]);
        rights.extend(for_templates(&options.namespace));
    }
    rights
}

/// What people give to templates beside the `ControllerConfig`: of Secrets one.
fn for_templates(namespace: &str) -> [Right; 2] {
    let here = |resource, names| Right {
        group: "",
        resource,
        verbs: READ,
        names,
        namespace: Some(namespace.to_owned()),
    };
    [here("configmaps", &[]), here("secrets", &[PULL_SECRET])]
}

/// Every right that a node daemon needs. That it writes its own Node alone no rule can say; the
/// admission policy of the daemons does.
pub(super) fn daemon_rights() -> Vec<Right> {
    let right = |group, resource, verbs, namespace: Option<&str>| Right {
        group,
        resource,
        verbs,
        names: &[],
        namespace: namespace.map(str::to_owned),
    };
    vec![
        right("", "nodes", &["get", "list", "watch", "patch"], None),
        right("machineconfiguration.openshift.io", "machineconfigs", READ, None),
        right("operator.openshift.io", "machineconfigurations", &["get"], None),
        right("events.k8s.io", "events", &["create", "patch"], None),
        right("coordination.k8s.io", "leases", &["get"], Some("kube-node-lease")),
    ]
}

fn rule(right: &Right) -> Value {
    let mut rule = json!({"apiGroups": [right.group], "resources": [right.resource], "verbs": right.verbs});
    if !right.names.is_empty() {
        rule["resourceNames"] = json!(right.names);
    }
    rule
}

pub(super) fn objects(options: &InstallOptions) -> Vec<Value> {
    of_account(CONTROLLER, &options.namespace, &rights(options))
}

/// A service account with these rights.
pub(super) fn of_account(account: &str, namespace: &str, rights: &[Right]) -> Vec<Value> {
    let group = "rbac.authorization.k8s.io";
    let api = format!("{group}/v1");
    let subject = json!([{"kind": "ServiceAccount", "name": account, "namespace": namespace}]);
    let rules = |namespace: Option<&str>| -> Vec<Value> {
        rights
            .iter()
            .filter(|right| right.namespace.as_deref() == namespace)
            .map(rule)
            .collect()
    };
    let mut objects = vec![
        json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(account, Some(namespace)),
        }),
        json!({
            "apiVersion": api, "kind": "ClusterRole", "metadata": metadata(account, None), "rules": rules(None),
        }),
        json!({
            "apiVersion": api, "kind": "ClusterRoleBinding", "metadata": metadata(account, None),
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": account},
            "subjects": subject,
        }),
    ];
    let mut namespaces: Vec<&str> = rights.iter().filter_map(|right| right.namespace.as_deref()).collect();
    namespaces.sort_unstable();
    namespaces.dedup();
    for namespace in namespaces {
        objects.push(json!({
            "apiVersion": api, "kind": "Role", "metadata": metadata(account, Some(namespace)),
            "rules": rules(Some(namespace)),
        }));
        objects.push(json!({
            "apiVersion": api, "kind": "RoleBinding", "metadata": metadata(account, Some(namespace)),
            "roleRef": {"apiGroup": group, "kind": "Role", "name": account},
            "subjects": subject,
        }));
    }
    objects
}
