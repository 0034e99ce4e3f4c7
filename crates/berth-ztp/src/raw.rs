//! One object per thing, as the hub's operators take them.

use std::collections::BTreeMap;

use berth_site::{LoadBalancer, Platform};
use serde_json::{Map, Value, json};

use crate::{
    host::{Host, Hosts, Role},
    hub::disables_for_service,
    manifest::{Manifest, Stage},
    names::{BMAC, IGNORED_HOST, INFRA_ENV, NMSTATE_CLUSTER},
    rules::label_annotation,
    target::{RemoteWay, Target},
    ztp::{ZtpOptions, image_set},
};

/// The validations that the seed of all remote workers switched off.
pub(crate) const IGNORED_VALIDATIONS: &str = "belongs-to-machine-cidr,belongs-to-majority-group";

pub(crate) const WHY_IGNORED: &str = "Unsupported. Assisted Service wants every host in the machine network and in one \
    layer-2 group when the cluster moves its VIPs itself, and remote workers are in neither. The annotation lets the \
    installation start although these two validations fail. Advanced Cluster Management before 2.17 does not know it: \
    `--hub-release 2.16` switches the validations off for the whole hub instead.";

/// When a host is applied.
pub(crate) fn stage(target: &Target<'_>, host: &Host) -> Stage {
    if host.remote && target.remote_way == RemoteWay::Day2 {
        Stage::DayTwo
    } else {
        Stage::Install
    }
}

/// How many hosts of a role are there when the installation starts.
pub(crate) fn count(target: &Target<'_>, hosts: &Hosts, role: Role) -> usize {
    hosts
        .of_role(role)
        .filter(|host| stage(target, host) == Stage::Install)
        .count()
}

/// Whether the cluster is installed as a single node, which has neither VIPs nor a platform.
pub(crate) fn is_single(target: &Target<'_>, hosts: &Hosts) -> bool {
    let count = |role: Role| count(target, hosts, role);
    count(Role::Master) == 1 && count(Role::Worker) == 0 && count(Role::Arbiter) == 0
}

/// Whether validations that remote machines fail are ignored for this cluster, by an annotation.
pub(crate) fn ignores_validations(target: &Target<'_>, hosts: &Hosts, options: &ZtpOptions) -> bool {
    target.remote_way == RemoteWay::Unsupported
        && hosts.hosts.iter().any(|host| host.remote)
        && !disables_for_service(target, hosts, options)
}

/// The whole set, the namespace and the extra manifests aside.
pub(crate) fn raw(target: &Target<'_>, hosts: &Hosts, references: &[String], options: &ZtpOptions) -> Vec<Manifest> {
    let name = &*target.cluster.name.value;
    let mut manifests = Vec::new();
    for host in &hosts.hosts {
        if let Some(object) = nmstate_config(name, host) {
            let file = format!("20-nmstateconfig-{}.yaml", host.name);
            manifests.push(Manifest::new(stage(target, host), file, object));
        }
    }
    let install = |file: &str, object: Value| Manifest::new(Stage::Install, file, object);
    manifests.push(install(
        "30-clusterdeployment.yaml",
        cluster_deployment(target, options),
    ));
    manifests.push(agent_cluster_install(target, hosts, references, options));
    manifests.push(install("32-infraenv.yaml", infra_env(name, options)));
    manifests.push(install("40-managedcluster.yaml", managed_cluster(name)));
    manifests.push(install("41-klusterletaddonconfig.yaml", klusterlet(name)));
    for host in &hosts.hosts {
        let file = format!("50-baremetalhost-{}.yaml", host.name);
        manifests.push(Manifest::new(stage(target, host), file, bare_metal_host(name, host)));
    }
    manifests
}

fn cluster_deployment(target: &Target<'_>, options: &ZtpOptions) -> Value {
    let name = &*target.cluster.name.value;
    json!({
        "apiVersion": "hive.openshift.io/v1",
        "kind": "ClusterDeployment",
        "metadata": {"name": name, "namespace": name},
        "spec": {
            "baseDomain": target.base_domain,
            "clusterName": name,
            "clusterInstallRef": {
                "group": "extensions.hive.openshift.io",
                "kind": "AgentClusterInstall",
                "name": name,
                "version": "v1beta1",
            },
            "controlPlaneConfig": {"servingCertificates": {}},
            "installed": false,
            "platform": {"agentBareMetal": {"agentSelector": {"matchLabels": {"cluster-name": name}}}},
            "pullSecretRef": {"name": options.pull_secret},
        },
    })
}

/// The networks, in the words of an `AgentClusterInstall`.
fn networking(target: &Target<'_>) -> Value {
    let cluster = target.cluster;
    let mut networking = Map::new();
    let machine: Vec<Value> = machine_networks(target);
    if !machine.is_empty() {
        networking.insert("machineNetwork".to_owned(), Value::Array(machine));
    }
    if !cluster.cluster_networks.is_empty() {
        networking.insert("clusterNetwork".to_owned(), Value::Array(cluster_networks(target)));
    }
    if !cluster.service_networks.is_empty() {
        let plain: Vec<String> = cluster
            .service_networks
            .iter()
            .map(|net| net.value.to_string())
            .collect();
        networking.insert("serviceNetwork".to_owned(), json!(plain));
    }
    if target.user_managed_networking() {
        networking.insert("userManagedNetworking".to_owned(), json!(true));
    }
    Value::Object(networking)
}

pub(crate) fn machine_networks(target: &Target<'_>) -> Vec<Value> {
    let cidr = |network: &berth_site::Network| Some(json!({"cidr": network.cidr.as_ref()?.value.to_string()}));
    target.machine_networks().into_iter().filter_map(cidr).collect()
}

pub(crate) fn cluster_networks(target: &Target<'_>) -> Vec<Value> {
    let entry = |network: &berth_site::ClusterNetwork| {
        let mut value = json!({"cidr": network.cidr.value.to_string()});
        if let (Some(prefix), Value::Object(map)) = (network.host_prefix, &mut value) {
            map.insert("hostPrefix".to_owned(), json!(prefix));
        }
        value
    };
    target.cluster.cluster_networks.iter().map(entry).collect()
}

pub(crate) fn vips(vips: &[berth_site::Spanned<std::net::IpAddr>]) -> Value {
    json!(vips.iter().map(|vip| vip.value.to_string()).collect::<Vec<_>>())
}

/// The platform's name.
pub(crate) fn platform(target: &Target<'_>) -> &'static str {
    match target.cluster.platform {
        Platform::BareMetal => "BareMetal",
        Platform::None => "None",
        Platform::VSphere => "VSphere",
        Platform::Nutanix => "Nutanix",
        Platform::External => "External",
    }
}

/// The object that says what is installed.
pub(crate) fn agent_cluster_install(
    target: &Target<'_>,
    hosts: &Hosts,
    references: &[String],
    options: &ZtpOptions,
) -> Manifest {
    let cluster = target.cluster;
    let name = &*cluster.name.value;
    let mut spec = Map::new();
    let mut set = |key: &str, value: Value| {
        spec.insert(key.to_owned(), value);
    };
    set("clusterDeploymentRef", json!({"name": name}));
    set("imageSetRef", json!({"name": image_set(options, target)}));
    set("networking", networking(target));
    let single = is_single(target, hosts);
    if !single || target.user_managed_networking() {
        set("platformType", json!(platform(target)));
    }
    if !target.user_managed_networking() && !single {
        set("apiVIPs", vips(&cluster.api_vips));
        set("ingressVIPs", vips(&cluster.ingress_vips));
        if cluster.load_balancer == LoadBalancer::UserManaged {
            set("loadBalancer", json!({"type": "UserManaged"}));
        }
    }
    let mut requirements = json!({
        "controlPlaneAgents": count(target, hosts, Role::Master),
        "workerAgents": count(target, hosts, Role::Worker),
    });
    let arbiters = count(target, hosts, Role::Arbiter);
    if let (1.., Value::Object(map)) = (arbiters, &mut requirements) {
        map.insert("arbiterAgents".to_owned(), json!(arbiters));
    }
    set("provisionRequirements", requirements);
    if let Some(schedulable) = cluster.masters_schedulable {
        set("mastersSchedulable", json!(schedulable));
    }
    if let Some(key) = &options.ssh_public_key {
        set("sshPublicKey", json!(key));
    }
    if !references.is_empty() {
        let references: Vec<Value> = references.iter().map(|name| json!({"name": name})).collect();
        set("manifestsConfigMapRefs", Value::Array(references));
    }
    let mut metadata = json!({"name": name, "namespace": name});
    let unsupported = ignores_validations(target, hosts, options);
    if let (true, Value::Object(map)) = (unsupported, &mut metadata) {
        map.insert("annotations".to_owned(), json!({IGNORED_HOST: IGNORED_VALIDATIONS}));
    }
    let object = json!({
        "apiVersion": "extensions.hive.openshift.io/v1beta1",
        "kind": "AgentClusterInstall",
        "metadata": metadata,
        "spec": spec,
    });
    let manifest = Manifest::new(Stage::Install, "31-agentclusterinstall.yaml", object);
    if unsupported {
        manifest.comment(WHY_IGNORED)
    } else {
        manifest
    }
}

fn infra_env(name: &str, options: &ZtpOptions) -> Value {
    let mut spec = json!({
        "clusterRef": {"name": name, "namespace": name},
        "nmStateConfigLabelSelector": {"matchLabels": {NMSTATE_CLUSTER: name}},
        "pullSecretRef": {"name": options.pull_secret},
    });
    if let (Some(key), Value::Object(map)) = (&options.ssh_public_key, &mut spec) {
        map.insert("sshAuthorizedKey".to_owned(), json!(key));
    }
    json!({
        "apiVersion": "agent-install.openshift.io/v1beta1",
        "kind": "InfraEnv",
        "metadata": {"name": name, "namespace": name},
        "spec": spec,
    })
}

fn nmstate_config(cluster: &str, host: &Host) -> Option<Value> {
    let state = host.nmstate.as_ref()?;
    Some(json!({
        "apiVersion": "agent-install.openshift.io/v1beta1",
        "kind": "NMStateConfig",
        "metadata": {"name": host.name, "namespace": cluster, "labels": {NMSTATE_CLUSTER: cluster}},
        "spec": {"interfaces": interfaces(host), "config": state.config},
    }))
}

pub(crate) fn interfaces(host: &Host) -> Vec<Value> {
    let interfaces = host.nmstate.iter().flat_map(|state| &state.interfaces);
    interfaces
        .map(|(name, mac)| json!({"name": name, "macAddress": mac}))
        .collect()
}

fn bare_metal_host(cluster: &str, host: &Host) -> Value {
    let mut annotations: BTreeMap<String, String> = BTreeMap::new();
    annotations.insert(format!("{BMAC}/role"), host.role.as_str().to_owned());
    annotations.insert(format!("{BMAC}/hostname"), host.name.clone());
    if let Some(pool) = &host.pool {
        annotations.insert(format!("{BMAC}/machine-config-pool"), pool.clone());
    }
    if let Some(ignition) = &host.ignition {
        annotations.insert(format!("{BMAC}/ignition-config-overrides"), ignition.clone());
    }
    for (key, value) in &host.labels {
        annotations.insert(label_annotation(key), value.clone());
    }
    let mut bmc = json!({"address": host.bmc_address, "credentialsName": host.bmc_credentials});
    if let (true, Value::Object(map)) = (host.bmc_insecure, &mut bmc) {
        map.insert("disableCertificateVerification".to_owned(), json!(true));
    }
    json!({
        "apiVersion": "metal3.io/v1alpha1",
        "kind": "BareMetalHost",
        "metadata": {
            "name": host.name,
            "namespace": cluster,
            "labels": {INFRA_ENV: cluster},
            "annotations": annotations,
        },
        "spec": {
            "automatedCleaningMode": "disabled",
            "bmc": bmc,
            "bootMACAddress": host.boot_mac,
            "bootMode": "UEFI",
            "online": true,
        },
    })
}

fn managed_cluster(name: &str) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {"name": name},
        "spec": {"hubAcceptsClient": true},
    })
}

fn klusterlet(name: &str) -> Value {
    json!({
        "apiVersion": "agent.open-cluster-management.io/v1",
        "kind": "KlusterletAddonConfig",
        "metadata": {"name": name, "namespace": name},
        "spec": {
            "clusterName": name,
            "clusterNamespace": name,
            "clusterLabels": {"cloud": "auto-detect", "vendor": "auto-detect"},
            "applicationManager": {"enabled": false},
            "certPolicyController": {"enabled": false},
            "policyController": {"enabled": true},
            "searchCollector": {"enabled": false},
        },
    })
}
