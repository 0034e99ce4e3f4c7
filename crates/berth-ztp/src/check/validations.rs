//! Lists of validations that are switched off.

use berth_documents::Document;

use super::{
    Findings,
    model::{ClusterView, Hub, Text, annotation, name, text_at},
};
use crate::{lints, names::SERVICE_CONFIG};

/// Host validations of the service.
const HOST_VALIDATIONS: &[&str] = &[
    "connected",
    "media-connected",
    "has-inventory",
    "inventory-not-fully-truncated",
    "has-min-cpu-cores",
    "has-min-valid-disks",
    "has-min-memory",
    "machine-cidr-defined",
    "has-cpu-cores-for-role",
    "has-memory-for-role",
    "hostname-unique",
    "hostname-valid",
    "belongs-to-machine-cidr",
    "belongs-to-majority-group",
    "valid-platform-network-settings",
    "ntp-synced",
    "time-synced-between-host-and-service",
    "container-images-available",
    "lso-requirements-satisfied",
    "ocs-requirements-satisfied",
    "odf-requirements-satisfied",
    "lvm-requirements-satisfied",
    "cnv-requirements-satisfied",
    "mce-requirements-satisfied",
    "mtv-requirements-satisfied",
    "osc-requirements-satisfied",
    "sufficient-installation-disk-speed",
    "sufficient-network-latency-requirement-for-role",
    "sufficient-packet-loss-requirement-for-role",
    "has-default-route",
    "api-domain-name-resolved-correctly",
    "api-int-domain-name-resolved-correctly",
    "apps-domain-name-resolved-correctly",
    "compatible-with-cluster-platform",
    "dns-wildcard-not-configured",
    "disk-encryption-requirements-satisfied",
    "non-overlapping-subnets",
    "vsphere-disk-uuid-enabled",
    "compatible-agent",
    "no-skip-installation-disk",
    "no-skip-missing-disk",
    "no-ip-collisions-in-network",
    "no-iscsi-nic-belongs-to-machine-cidr",
    "mtu-valid",
    "ignition-downloadable",
    "release-domain-name-resolved-correctly",
    "all",
];

/// Those that cannot be ignored.
const NEVER_IGNORED: &[&str] = &[
    "connected",
    "has-inventory",
    "inventory-not-fully-truncated",
    "machine-cidr-defined",
    "hostname-unique",
    "hostname-valid",
];

/// Cluster validations of the service. Those of single operators have one form: see [`is_of_an_operator`].
const CLUSTER_VALIDATIONS: &[&str] = &[
    "machine-cidr-defined",
    "cluster-cidr-defined",
    "service-cidr-defined",
    "no-cidrs-overlapping",
    "networks-same-address-families",
    "network-prefix-valid",
    "machine-cidr-equals-to-calculated-cidr",
    "api-vips-defined",
    "api-vips-valid",
    "ingress-vips-defined",
    "ingress-vips-valid",
    "all-hosts-are-ready-to-install",
    "sufficient-masters-count",
    "dns-domain-defined",
    "pull-secret-set",
    "ntp-server-configured",
    "network-type-valid",
    "platform-requirements-satisfied",
    "all",
];

/// New operators bring validations of their own with every release.
fn is_of_an_operator(id: &str) -> bool {
    id.ends_with("-requirements-satisfied")
}

const CLUSTER_NEVER_IGNORED: &[&str] = &[
    "api-vips-defined",
    "ingress-vips-defined",
    "all-hosts-are-ready-to-install",
    "sufficient-masters-count",
    "pull-secret-set",
];

pub(super) fn check(hub: &Hub<'_>, findings: &mut Findings) {
    for cluster in &hub.clusters {
        ignored(cluster, findings);
    }
    service_wide(hub, findings);
}

fn ignored(cluster: &ClusterView<'_>, findings: &mut Findings) {
    for (list, known, never, whose) in [
        (cluster.ignored_host, HOST_VALIDATIONS, NEVER_IGNORED, "host"),
        (
            cluster.ignored_cluster,
            CLUSTER_VALIDATIONS,
            CLUSTER_NEVER_IGNORED,
            "cluster",
        ),
    ] {
        // An empty list is one: it takes the cluster out of the service-wide one.
        let Some(list) = list.filter(|list| !list.text.trim().is_empty()) else {
            continue;
        };
        ids(list, known, never, whose, findings);
        findings.add(
            &lints::VALIDATIONS_OFF,
            list.span,
            format!(
                "the cluster installs although these fail, which is not supported: {}",
                list.text
            ),
        );
    }
}

/// Looks at each id of a list.
fn ids(list: Text<'_>, known: &[&str], never: &[&str], what: &str, findings: &mut Findings) {
    let mut seen = Vec::new();
    for id in list.text.split(',') {
        let problem = if id.trim().is_empty() {
            "an item of the list is empty".to_owned()
        } else if never.contains(&id.trim()) {
            format!("unable to ignore the following {what} validations ({})", id.trim())
        } else if !known.contains(&id.trim()) && !is_of_an_operator(id.trim()) {
            format!("Validation ID '{}' is not a known {what} validation", id.trim())
        } else if seen.contains(&id.trim()) {
            format!("`{}` is here twice", id.trim())
        } else {
            seen.push(id.trim());
            continue;
        };
        findings.add(&lints::VALIDATIONS, list.span, problem);
    }
}

/// The lists that hold for the whole service, under this key.
fn service_lists<'a>(hub: &'a Hub<'_>, key: &'static str) -> impl Iterator<Item = Text<'a>> {
    let maps = hub.documents.iter().filter(|document| document.kind() == "ConfigMap");
    maps.filter_map(move |map: &Document| text_at(map.root.get("data")?, &[key]))
}

pub(super) fn service_list<'a>(hub: &'a Hub<'_>) -> impl Iterator<Item = Text<'a>> {
    service_lists(hub, "DISABLED_HOST_VALIDATIONS")
}

type OfCluster = for<'a> fn(&ClusterView<'a>) -> Option<Text<'a>>;

fn service_wide(hub: &Hub<'_>, findings: &mut Findings) {
    let lists: [(&'static str, &[&str], &str, OfCluster); 2] = [
        ("DISABLED_HOST_VALIDATIONS", HOST_VALIDATIONS, "host", |cluster| {
            cluster.ignored_host
        }),
        (
            "DISABLED_CLUSTER_VALIDATIONS",
            CLUSTER_VALIDATIONS,
            "cluster",
            |cluster| cluster.ignored_cluster,
        ),
    ];
    for (key, known, what, of_cluster) in lists {
        for list in service_lists(hub, key) {
            ids(list, known, &[], what, findings);
            findings.add(
                &lints::VALIDATIONS_OFF,
                list.span,
                "these validations are off for every cluster of the hub, which is not supported",
            );
            if let Some(own) = hub.clusters.iter().find_map(of_cluster) {
                findings.add_related(
                    &lints::VALIDATIONS,
                    list.span,
                    "a cluster has a list of its own, so this one does not count for it".to_owned(),
                    own.span,
                    "the cluster's",
                );
            }
        }
    }
    for config in hub.of_kind("AgentServiceConfig") {
        let Some(wanted) = annotation(config, SERVICE_CONFIG) else {
            continue;
        };
        let mut maps = hub.of_kind("ConfigMap");
        if !maps.any(|map| name(map) == Some(wanted.text)) && service_list(hub).next().is_some() {
            findings.add(
                &lints::VALIDATIONS,
                wanted.span,
                format!("there is no ConfigMap `{}`, so the list does not count", wanted.text),
            );
        }
    }
}
