//! The resources that are there from the start.

use std::sync::Arc;

use super::{Described, Generation, Resource, TYPES, Version};
use crate::table::Columns;

/// What tells one resource from another; everything else is the same for all.
struct Row {
    group: &'static str,
    version: &'static str,
    plural: &'static str,
    singular: &'static str,
    kind: &'static str,
    short: &'static [&'static str],
    namespaced: bool,
    status: bool,
    counted: bool,
    fields: &'static [&'static str],
    subresources: &'static [(&'static str, &'static str, &'static str)],
}

const EVENT_FIELDS: &[&str] = &[
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
];

const REGARDING_FIELDS: &[&str] = &[
    "regarding.kind",
    "regarding.namespace",
    "regarding.name",
    "regarding.uid",
    "regarding.apiVersion",
    "regarding.resourceVersion",
    "regarding.fieldPath",
    "reason",
    "reportingController",
    "type",
];

const PLAIN: Row = Row {
    group: "",
    version: "v1",
    plural: "",
    singular: "",
    kind: "",
    short: &[],
    namespaced: false,
    status: false,
    counted: false,
    fields: &[],
    subresources: &[],
};

const ADMISSION: &str = "admissionregistration.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";

const ROWS: &[Row] = &[
    Row {
        plural: "nodes",
        singular: "node",
        kind: "Node",
        short: &["no"],
        status: true,
        fields: &["spec.unschedulable"],
        ..PLAIN
    },
    Row {
        plural: "namespaces",
        singular: "namespace",
        kind: "Namespace",
        short: &["ns"],
        status: true,
        fields: &["status.phase"],
        subresources: &[("finalize", "Namespace", "v1")],
        ..PLAIN
    },
    Row {
        plural: "configmaps",
        singular: "configmap",
        kind: "ConfigMap",
        short: &["cm"],
        namespaced: true,
        ..PLAIN
    },
    Row {
        plural: "secrets",
        singular: "secret",
        kind: "Secret",
        namespaced: true,
        fields: &["type"],
        ..PLAIN
    },
    Row {
        plural: "serviceaccounts",
        singular: "serviceaccount",
        kind: "ServiceAccount",
        short: &["sa"],
        namespaced: true,
        ..PLAIN
    },
    Row {
        plural: "services",
        singular: "service",
        kind: "Service",
        short: &["svc"],
        namespaced: true,
        status: true,
        ..PLAIN
    },
    Row {
        plural: "events",
        singular: "event",
        kind: "Event",
        short: &["ev"],
        namespaced: true,
        fields: EVENT_FIELDS,
        ..PLAIN
    },
    Row {
        plural: "pods",
        singular: "pod",
        kind: "Pod",
        short: &["po"],
        namespaced: true,
        status: true,
        fields: &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "status.phase",
            "status.podIP",
        ],
        subresources: &[("eviction", "Eviction", "policy/v1"), ("binding", "Binding", "v1")],
        ..PLAIN
    },
    Row {
        group: "events.k8s.io",
        plural: "events",
        singular: "event",
        kind: "Event",
        short: &["ev"],
        namespaced: true,
        fields: REGARDING_FIELDS,
        ..PLAIN
    },
    Row {
        group: "coordination.k8s.io",
        plural: "leases",
        singular: "lease",
        kind: "Lease",
        namespaced: true,
        ..PLAIN
    },
    Row {
        group: "policy",
        plural: "poddisruptionbudgets",
        singular: "poddisruptionbudget",
        kind: "PodDisruptionBudget",
        short: &["pdb"],
        namespaced: true,
        status: true,
        counted: true,
        ..PLAIN
    },
    Row {
        group: "networking.k8s.io",
        plural: "networkpolicies",
        singular: "networkpolicy",
        kind: "NetworkPolicy",
        short: &["netpol"],
        namespaced: true,
        counted: true,
        ..PLAIN
    },
    Row {
        group: "apps",
        plural: "daemonsets",
        singular: "daemonset",
        kind: "DaemonSet",
        short: &["ds"],
        namespaced: true,
        status: true,
        counted: true,
        ..PLAIN
    },
    Row {
        group: "apps",
        plural: "replicasets",
        singular: "replicaset",
        kind: "ReplicaSet",
        short: &["rs"],
        namespaced: true,
        status: true,
        counted: true,
        ..PLAIN
    },
    Row {
        group: "apps",
        plural: "deployments",
        singular: "deployment",
        kind: "Deployment",
        short: &["deploy"],
        namespaced: true,
        status: true,
        counted: true,
        ..PLAIN
    },
    Row {
        group: "certificates.k8s.io",
        plural: "certificatesigningrequests",
        singular: "certificatesigningrequest",
        kind: "CertificateSigningRequest",
        short: &["csr"],
        status: true,
        fields: &["spec.signerName"],
        subresources: &[("approval", "CertificateSigningRequest", "certificates.k8s.io/v1")],
        ..PLAIN
    },
    Row {
        group: ADMISSION,
        plural: "mutatingwebhookconfigurations",
        singular: "mutatingwebhookconfiguration",
        kind: "MutatingWebhookConfiguration",
        counted: true,
        ..PLAIN
    },
    Row {
        group: ADMISSION,
        plural: "validatingwebhookconfigurations",
        singular: "validatingwebhookconfiguration",
        kind: "ValidatingWebhookConfiguration",
        counted: true,
        ..PLAIN
    },
    Row {
        group: ADMISSION,
        plural: "mutatingadmissionpolicies",
        singular: "mutatingadmissionpolicy",
        kind: "MutatingAdmissionPolicy",
        counted: true,
        ..PLAIN
    },
    Row {
        group: ADMISSION,
        plural: "mutatingadmissionpolicybindings",
        singular: "mutatingadmissionpolicybinding",
        kind: "MutatingAdmissionPolicyBinding",
        counted: true,
        ..PLAIN
    },
    Row {
        group: ADMISSION,
        plural: "validatingadmissionpolicies",
        singular: "validatingadmissionpolicy",
        kind: "ValidatingAdmissionPolicy",
        status: true,
        counted: true,
        ..PLAIN
    },
    Row {
        group: ADMISSION,
        plural: "validatingadmissionpolicybindings",
        singular: "validatingadmissionpolicybinding",
        kind: "ValidatingAdmissionPolicyBinding",
        counted: true,
        ..PLAIN
    },
    Row {
        group: "apiextensions.k8s.io",
        plural: "customresourcedefinitions",
        singular: "customresourcedefinition",
        kind: "CustomResourceDefinition",
        short: &["crd", "crds"],
        status: true,
        counted: true,
        ..PLAIN
    },
    Row {
        group: RBAC,
        plural: "clusterroles",
        singular: "clusterrole",
        kind: "ClusterRole",
        ..PLAIN
    },
    Row {
        group: RBAC,
        plural: "clusterrolebindings",
        singular: "clusterrolebinding",
        kind: "ClusterRoleBinding",
        ..PLAIN
    },
    Row {
        group: RBAC,
        plural: "roles",
        singular: "role",
        kind: "Role",
        namespaced: true,
        ..PLAIN
    },
    Row {
        group: RBAC,
        plural: "rolebindings",
        singular: "rolebinding",
        kind: "RoleBinding",
        namespaced: true,
        ..PLAIN
    },
];

pub(super) fn resources() -> Vec<Resource> {
    ROWS.iter().map(resource).collect()
}

fn resource(row: &Row) -> Resource {
    let second_events = row.group == "events.k8s.io";
    let type_name = if second_events { "NewEvent" } else { row.kind };
    let stored_as = if row.group.is_empty() || second_events {
        row.plural.to_owned()
    } else {
        format!("{}.{}", row.plural, row.group)
    };
    Resource {
        group: row.group.to_owned(),
        plural: row.plural.to_owned(),
        singular: row.singular.to_owned(),
        kind: row.kind.to_owned(),
        list_kind: format!("{}List", row.kind),
        short_names: row.short.iter().map(|&name| name.to_owned()).collect(),
        categories: if row.kind == "CustomResourceDefinition" || row.group == ADMISSION {
            vec!["api-extensions".to_owned()]
        } else if ["Pod", "Service", "DaemonSet", "ReplicaSet", "Deployment"].contains(&row.kind) {
            vec!["all".to_owned()]
        } else {
            Vec::new()
        },
        namespaced: row.namespaced,
        versions: vec![Version {
            name: row.version.to_owned(),
            schema: Arc::new(TYPES.schema(type_name)),
            described: Described::Type(type_name),
            columns: Columns::of_kind(row.kind),
            status: row.status,
            deprecated: None,
        }],
        storage_version: row.version.to_owned(),
        subresources: row.subresources,
        selectable: row.fields.iter().map(|&field| field.to_owned()).collect(),
        generation: if row.counted {
            Generation::Counted
        } else {
            Generation::None
        },
        builtin: true,
        unconditional: !["Lease", "CustomResourceDefinition"].contains(&row.kind),
        stored_as: stored_as.into(),
    }
}
