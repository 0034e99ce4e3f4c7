//! What an installation consists of, as objects: pure, so that it can be printed, compared and reviewed.
//!
//! The order is that of applying; taking away goes backwards. Admission policies that depend on the rules and pools of the cluster
//! are not among the objects: the controllers make them. Those that protect Berth's annotations are.

mod cluster;
mod daemons;
mod rbac;
mod webhooks;
mod workloads;

use berth_labels::Flavour;
use serde_json::{Value, json};

use crate::admission::{FailurePolicy, ROSTER, all_names, notes_policy};
use berth_resources::{CrdSet, bootstrap, crds};

pub use cluster::{
    PolicyKinds, PoolDefinitions, Removal, RemovalOptions, apply, display_name, kept_certificate, policy_kinds,
    pool_definitions, remove,
};
pub use daemons::{DAEMON, DAEMON_POLICY};
pub use rbac::{Right, rights};
pub use webhooks::{RENEW_BEFORE, ServingCertificate, WEBHOOK, WEBHOOK_SERVICE, judged};

/// The name of the service account, the workload and the roles.
pub const CONTROLLER: &str = "berth-controller";

/// Which controllers are to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InstallMode {
    /// Labels, Berths and pre-registration; rendering and rollout are left to the Machine Config Operator.
    #[default]
    Labels,
    /// Rendering and rollout too.
    Full,
}

impl InstallMode {
    /// The name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Labels => "labels",
            Self::Full => "full",
        }
    }
}

/// How Nodes are checked when they come in. Objects are checked by the webhook either way: what is in a machine config is
/// encoded, and no policy can read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Admission {
    /// By admission policies, which the API server evaluates itself, and by the webhook for what they cannot do.
    #[default]
    Policy,
    /// By the webhook alone.
    Webhook,
    /// Not at all, nor are objects. What protects Berth's own annotations is there all the same.
    Off,
}

/// What to install.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "choices of an installation, which do not depend on each other"
)]
pub struct InstallOptions {
    /// Which controllers run.
    pub mode: InstallMode,
    /// The namespace of the workloads.
    pub namespace: String,
    /// The image with the `berth` executable.
    pub image: String,
    /// How many controllers; one of them leads.
    pub replicas: u32,
    /// Let the controllers decide about certificate requests of reserved names.
    pub approve: bool,
    /// How Nodes are checked.
    pub admission: Admission,
    /// What the webhook shows who it is with; without one there is no webhook.
    pub certificate: Option<Box<ServingCertificate>>,
    /// Roots of client certificates, in PEM: reviews are then taken only from API servers that show one.
    pub client_authority: Option<String>,
    /// Whether the API server has validating policies. With them Berth's annotations are protected, however Nodes are checked.
    pub policies: bool,
    /// What happens when the check cannot be made.
    pub failure: FailurePolicy,
    /// Whose kubelets these are; `None` leaves it to the documents.
    pub flavour: Option<Flavour>,
    /// Install the definitions of pools and machine configs, which OpenShift has already.
    pub pool_definitions: bool,
    /// A Secret of the namespace whose key `address` names the database with the committed documents.
    pub database_secret: Option<String>,
    /// Install the node daemon, in full mode.
    pub daemon: bool,
    /// What the daemon does about things that are not as the config says, as on its command line.
    pub drift: &'static str,
}

impl InstallOptions {
    fn has_daemon(&self) -> bool {
        self.daemon && self.mode == InstallMode::Full
    }

    /// The certificate of the webhook, if there is to be one.
    fn serving(&self) -> Option<&ServingCertificate> {
        let certificate = self.certificate.as_deref();
        certificate.filter(|_| self.admission != Admission::Off)
    }
}

/// The objects, in the order of applying.
pub fn manifests(options: &InstallOptions) -> Vec<Value> {
    let mut objects = definitions(options.pool_definitions);
    objects.push(json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": options.namespace, "labels": {
            PART_OF: "berth",
            "pod-security.kubernetes.io/enforce": if options.has_daemon() { "privileged" } else { "restricted" },
        }},
    }));
    objects.extend(rbac::objects(options));
    objects.extend(workloads::objects(options));
    if options.policies {
        objects.extend(notes_policy(options.failure));
    }
    if options.mode == InstallMode::Full {
        objects.extend(daemons::objects(options));
    }
    if let Some(certificate) = options.serving() {
        objects.extend(webhooks::objects(options, certificate));
    }
    objects
}

/// Every object that an installation can bring, whatever its options, and that the controllers make while they run, without
/// definitions: what there is to take away. It comes in the order of taking away: the workloads first, so that nothing is put back, then
/// what the API server asks or evaluates, and at the end what the workloads needed.
pub(crate) fn everything(namespace: &str) -> Vec<Value> {
    let unknown = || "unknown".to_owned();
    let most = InstallOptions {
        mode: InstallMode::Full,
        namespace: namespace.to_owned(),
        image: unknown(),
        replicas: 2,
        approve: true,
        admission: Admission::Policy,
        policies: true,
        certificate: Some(Box::new(ServingCertificate {
            certificate: unknown(),
            key: unknown(),
            authority: unknown(),
        })),
        client_authority: Some(unknown()),
        failure: FailurePolicy::Fail,
        flavour: None,
        pool_definitions: false,
        database_secret: Some(unknown()),
        daemon: true,
        drift: "report",
    };
    let object = |api_version: &str, kind: &str, namespace: Option<&str>, name: &str| {
        let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}});
        if let Some(namespace) = namespace {
            object["metadata"]["namespace"] = json!(namespace);
        }
        object
    };
    let registration = "admissionregistration.k8s.io/v1";
    let rbac = "rbac.authorization.k8s.io/v1";
    let mut objects = manifests(&most);
    // What the controllers make.
    // The policy that protects annotations is brought by `install`, and so is there already.
    let made = all_names().map(|(kind, _, name)| object(registration, kind, None, name));
    let is_new = |made: &Value| objects.iter().all(|object| display_name(object) != display_name(made));
    let made: Vec<Value> = made.into_iter().filter(is_new).collect();
    objects.extend(made);
    objects.push(object("coordination.k8s.io/v1", "Lease", Some(namespace), CONTROLLER));
    objects.push(object("berth.dev/v1alpha1", "Roster", None, ROSTER));
    // What earlier versions brought.
    for kind in ["Role", "RoleBinding"] {
        objects.push(object(rbac, kind, Some(bootstrap::NAMESPACE), CONTROLLER));
    }
    let is = |object: &Value, kind: &str| object.get("kind").and_then(Value::as_str) == Some(kind);
    objects.retain(|object| !is(object, "CustomResourceDefinition") && !is(object, "Namespace"));
    objects.reverse();
    objects.sort_by_key(removal_step);
    objects
}

/// When an object goes, compared with others.
fn removal_step(object: &Value) -> u8 {
    match object.get("kind").and_then(Value::as_str).unwrap_or_default() {
        "Deployment" | "DaemonSet" => 0,
        kind if kind.ends_with("WebhookConfiguration") => 1,
        kind if kind.ends_with("AdmissionPolicyBinding") => 2,
        kind if kind.ends_with("AdmissionPolicy") => 3,
        _ => 4,
    }
}

/// The definitions of Berth's resources, and of pools where the cluster has none.
pub fn definitions(pools: bool) -> Vec<Value> {
    let mut sets = vec![CrdSet::Berth];
    if pools {
        sets.push(CrdSet::MachineConfig);
    }
    let definitions = sets.into_iter().flat_map(crds);
    definitions
        .filter_map(|crd| {
            let mut value = serde_json::to_value(crd).ok()?;
            value["apiVersion"] = json!("apiextensions.k8s.io/v1");
            value["kind"] = json!("CustomResourceDefinition");
            Some(value)
        })
        .collect()
}

/// The label by which the parts of an installation are known.
pub const PART_OF: &str = "app.kubernetes.io/part-of";

fn metadata(name: &str, namespace: Option<&str>) -> Value {
    let mut metadata = json!({"name": name, "labels": {PART_OF: "berth"}});
    if let Some(namespace) = namespace {
        metadata["namespace"] = json!(namespace);
    }
    metadata
}

#[cfg(test)]
mod tests;
