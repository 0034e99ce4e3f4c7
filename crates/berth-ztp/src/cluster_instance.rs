//! One `ClusterInstance`, from which the hub's siteconfig operator makes the objects.

use std::collections::BTreeMap;

use berth_site::LoadBalancer;
use serde_json::{Map, Value, json};

use crate::{
    host::{Host, Hosts, Role},
    manifest::{Manifest, Stage},
    names::{BMAC, IGNORED_HOST},
    raw::{
        IGNORED_VALIDATIONS, WHY_IGNORED, agent_cluster_install, cluster_networks, count, ignores_validations,
        interfaces, is_single, machine_networks, platform, stage, vips,
    },
    target::Target,
    ztp::{ZtpOptions, image_set},
};

/// The namespace of the operator's own templates.
pub(crate) const TEMPLATES: &str = "open-cluster-management";

/// The default templates have no words for these, so the object that has them is given as it is.
const WHY_RAW: &str = "The default templates of a ClusterInstance know neither a user-managed load balancer, user-managed \
    networking nor mastersSchedulable. So the ClusterInstance suppresses its AgentClusterInstall, and this is the one to \
    apply beside it.";

/// The instance, and what it cannot say.
pub(crate) fn cluster_instance(
    target: &Target<'_>,
    hosts: &Hosts,
    references: &[String],
    options: &ZtpOptions,
) -> Vec<Manifest> {
    let raw_install = target.user_managed_networking()
        || target.cluster.load_balancer == LoadBalancer::UserManaged
        || target.cluster.masters_schedulable.is_some();
    let later = hosts.hosts.iter().any(|host| stage(target, host) == Stage::DayTwo);
    let mut manifests = Vec::new();
    if raw_install {
        manifests.push(agent_cluster_install(target, hosts, references, options).comment(WHY_RAW));
    }
    let instance = |only: Option<Stage>| {
        let of_stage = |host: &&Host| only.is_none_or(|only| stage(target, host) == only);
        let nodes = hosts.hosts.iter().filter(of_stage).map(node).collect();
        object(target, hosts, references, options, nodes, raw_install)
    };
    let mut first = Manifest::new(
        Stage::Install,
        "50-clusterinstance.yaml",
        instance(Some(Stage::Install)),
    );
    if !raw_install && ignores_validations(target, hosts, options) {
        first = first.comment(WHY_IGNORED);
    }
    manifests.push(first);
    if later {
        manifests.push(
            Manifest::new(Stage::DayTwo, "50-clusterinstance.yaml", instance(None)).comment(
                "The same ClusterInstance with the remote machines. Apply it in place of the first when the cluster is \
                 installed: adding nodes is a change that a provisioned ClusterInstance allows.",
            ),
        );
    }
    manifests
}

fn object(
    target: &Target<'_>,
    hosts: &Hosts,
    references: &[String],
    options: &ZtpOptions,
    nodes: Vec<Value>,
    raw_install: bool,
) -> Value {
    let cluster = target.cluster;
    let name = &*cluster.name.value;
    let mut spec = Map::new();
    let mut set = |key: &str, value: Value| {
        spec.insert(key.to_owned(), value);
    };
    set("clusterName", json!(name));
    set("baseDomain", json!(target.base_domain));
    set("clusterImageSetNameRef", json!(image_set(options, target)));
    set("pullSecretRef", json!({"name": options.pull_secret}));
    let masters = count(target, hosts, Role::Master);
    let kind = match (masters, count(target, hosts, Role::Arbiter)) {
        (_, 1..) => "HighlyAvailableArbiter",
        (1, _) if count(target, hosts, Role::Worker) == 0 => "SNO",
        _ => "HighlyAvailable",
    };
    set("clusterType", json!(kind));
    let single = is_single(target, hosts);
    if !target.user_managed_networking() && !single {
        set("apiVIPs", vips(&cluster.api_vips));
        set("ingressVIPs", vips(&cluster.ingress_vips));
    }
    let machine = machine_networks(target);
    if !machine.is_empty() {
        set("machineNetwork", Value::Array(machine));
    }
    if !cluster.cluster_networks.is_empty() {
        set("clusterNetwork", Value::Array(cluster_networks(target)));
    }
    if !cluster.service_networks.is_empty() {
        // Objects here, plain texts in an AgentClusterInstall.
        let objects: Vec<Value> = cluster
            .service_networks
            .iter()
            .map(|net| json!({"cidr": net.value.to_string()}))
            .collect();
        set("serviceNetwork", Value::Array(objects));
    }
    set("networkType", json!("OVNKubernetes"));
    if !single || target.user_managed_networking() {
        set("platformType", json!(platform(target)));
    }
    if let Some(key) = &options.ssh_public_key {
        set("sshPublicKey", json!(key));
    }
    if !references.is_empty() {
        let references: Vec<Value> = references.iter().map(|name| json!({"name": name})).collect();
        set("extraManifestsRefs", Value::Array(references));
    }
    if raw_install {
        set("suppressedManifests", json!(["AgentClusterInstall"]));
    } else if ignores_validations(target, hosts, options) {
        set(
            "extraAnnotations",
            json!({"AgentClusterInstall": {IGNORED_HOST: IGNORED_VALIDATIONS}}),
        );
    }
    set(
        "templateRefs",
        json!([{"name": "ai-cluster-templates-v1", "namespace": TEMPLATES}]),
    );
    set("nodes", Value::Array(nodes));
    json!({
        "apiVersion": "siteconfig.open-cluster-management.io/v1alpha1",
        "kind": "ClusterInstance",
        "metadata": {"name": name, "namespace": name},
        "spec": spec,
    })
}

fn node(host: &Host) -> Value {
    let mut node = Map::new();
    let mut set = |key: &str, value: Value| {
        node.insert(key.to_owned(), value);
    };
    set("hostName", json!(host.name));
    set("role", json!(host.role.as_str()));
    set("bmcAddress", json!(host.bmc_address));
    set("bmcCredentialsName", json!({"name": host.bmc_credentials}));
    set("bootMACAddress", json!(host.boot_mac));
    set("bootMode", json!("UEFI"));
    set("automatedCleaningMode", json!("disabled"));
    if !host.labels.is_empty() {
        set("nodeLabels", json!(host.labels));
    }
    if let Some(ignition) = &host.ignition {
        set("ignitionConfigOverride", json!(ignition));
    }
    if let Some(pool) = &host.pool {
        let annotations: BTreeMap<String, &str> = [(format!("{BMAC}/machine-config-pool"), pool.as_str())].into();
        set("extraAnnotations", json!({"BareMetalHost": annotations}));
    }
    if let Some(state) = &host.nmstate {
        set(
            "nodeNetwork",
            json!({"interfaces": interfaces(host), "config": state.config}),
        );
    }
    set(
        "templateRefs",
        json!([{"name": "ai-node-templates-v1", "namespace": TEMPLATES}]),
    );
    Value::Object(node)
}
