//! Manifests that the installer puts into the new cluster.

use std::collections::{BTreeMap, BTreeSet};

use berth_documents::{Diagnostic, emit::to_yaml};
use berth_pools::ROLE_LABEL;
use berth_site::{IntOrString, LoadBalancer, NODE_LABELS, Pool, Site};
use serde_json::{Map, Value, json};

use crate::{
    host::{Hosts, Role},
    lints,
    manifest::{Manifest, Stage},
    names::KEEPALIVED,
    rules::{MANIFEST_LIMIT, operator_makes},
    target::{DETECTS_REMOTE, Target},
};

/// How much one `ConfigMap` holds; etcd takes 1.5 MiB with everything around it.
const CONFIG_MAP_LIMIT: usize = 900 << 10;

/// The extra manifests in `ConfigMaps`.
#[derive(Debug, Default)]
pub(crate) struct Extra {
    pub(crate) manifests: Vec<Manifest>,
    /// The names of the `ConfigMaps`.
    pub(crate) references: Vec<String>,
}

/// What goes into the cluster beside the pools' own objects.
pub(crate) fn extra(
    target: &Target<'_>,
    hosts: &mut Hosts,
    ingress: &[Value],
    findings: &mut Vec<Diagnostic>,
) -> Extra {
    let site = target.site;
    let pools: Vec<(String, Value)> = sorted(site.pools.iter().filter(|pool| !is_built_in(&pool.name.value)))
        .into_iter()
        .map(|pool| (format!("pool-{}.yaml", pool.name.value), pool_object(pool)))
        .collect();
    built_in_pools(site, hosts);
    let mut configs = machine_configs(site, hosts);
    configs.extend(keepalived(target, hosts, findings));
    let routers = routers(target, hosts, ingress);

    let mut extra = Extra::default();
    let name = &*target.cluster.name.value;
    for (number, what, comment, files) in [
        (
            "10",
            "pools",
            "Each pool is alone in its file: the service looks for a pool in the first document of a file only.",
            pools,
        ),
        (
            "11",
            "machine-configs",
            "What the pools' machines run from their first boot on.",
            configs,
        ),
        ("12", "ingress", "Where the routers run.", routers),
    ] {
        for (index, part) in parts(files).into_iter().enumerate() {
            let suffix = if index == 0 {
                String::new()
            } else {
                format!("-{}", index + 1)
            };
            let reference = format!("{name}-{what}{suffix}");
            let file = format!("{number}-extra-manifests-{what}{suffix}.yaml");
            let object = json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": reference, "namespace": name},
                "data": part,
            });
            extra
                .manifests
                .push(Manifest::new(Stage::Install, file, object).comment(comment));
            extra.references.push(reference);
        }
    }
    extra
}

fn sorted<'a>(pools: impl Iterator<Item = &'a Pool>) -> Vec<&'a Pool> {
    let mut pools: Vec<&Pool> = pools.collect();
    pools.sort_by(|a, b| a.name.value.cmp(&b.name.value));
    pools
}

fn is_built_in(pool: &str) -> bool {
    matches!(pool, "master" | "worker" | "arbiter")
}

fn built_in_pools(site: &Site, hosts: &mut Hosts) {
    let set: Vec<String> = sorted(site.pools.iter().filter(|pool| is_built_in(&pool.name.value)))
        .into_iter()
        .filter(|pool| pool.max_unavailable.is_some() || pool.paused)
        .map(|pool| pool.name.value.to_string())
        .collect();
    if !set.is_empty() {
        hosts.note(format!(
            "the operator makes the pools {} itself: what the documents set there (maxUnavailable, paused) is for the installed \
             cluster",
            crate::host::listed(&set)
        ));
    }
}

fn pool_object(pool: &Pool) -> Value {
    let mut metadata = Map::new();
    metadata.insert("name".to_owned(), json!(&*pool.name.value));
    if !pool.labels.is_empty() {
        metadata.insert("labels".to_owned(), json!(pool.labels));
    }
    let explicit: Vec<String> = pool
        .explicit
        .iter()
        .filter_map(|label| Some(format!("{}={}", label.key, label.value.as_ref()?)))
        .collect();
    if !explicit.is_empty() {
        metadata.insert("annotations".to_owned(), json!({NODE_LABELS: explicit.join(",")}));
    }
    let mut spec = Map::new();
    for (key, selector) in [
        ("machineConfigSelector", &pool.machine_config_selector),
        ("nodeSelector", &pool.node_selector),
    ] {
        if let Some(selector) = selector {
            spec.insert(key.to_owned(), selector_json(&selector.value));
        }
    }
    match pool.max_unavailable.as_ref().map(|max| &max.value) {
        Some(IntOrString::Int(number)) => {
            spec.insert("maxUnavailable".to_owned(), json!(number));
        }
        Some(IntOrString::String(text)) => {
            spec.insert("maxUnavailable".to_owned(), json!(text));
        }
        None => {}
    }
    if pool.paused {
        spec.insert("paused".to_owned(), json!(true));
    }
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfigPool",
        "metadata": metadata,
        "spec": spec,
    })
}

fn selector_json(selector: &berth_labels::LabelSelector) -> Value {
    let mut json = Map::new();
    if !selector.match_labels.is_empty() {
        json.insert("matchLabels".to_owned(), json!(selector.match_labels));
    }
    let expressions: Vec<Value> = selector
        .match_expressions
        .iter()
        .map(|expression| {
            let mut value = json!({"key": expression.key, "operator": expression.operator});
            if let (Value::Object(map), false) = (&mut value, expression.values.is_empty()) {
                map.insert("values".to_owned(), json!(expression.values));
            }
            value
        })
        .collect();
    if !expressions.is_empty() {
        json.insert("matchExpressions".to_owned(), Value::Array(expressions));
    }
    Value::Object(json)
}

fn object(kind: &str, name: &str, maps: [(&str, &BTreeMap<String, String>); 2], spec: Option<Value>) -> Value {
    let mut metadata = Map::new();
    metadata.insert("name".to_owned(), json!(name));
    for (key, map) in maps {
        if !map.is_empty() {
            metadata.insert(key.to_owned(), json!(map));
        }
    }
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": kind,
        "metadata": metadata,
        "spec": spec.unwrap_or_else(|| json!({})),
    })
}

fn machine_configs(site: &Site, hosts: &mut Hosts) -> Vec<(String, Value)> {
    let mut files = BTreeMap::new();
    let mut left = Vec::new();
    for config in &site.machine_configs {
        let name = &*config.name.value;
        if operator_makes(name) {
            left.push(name.to_owned());
            continue;
        }
        let spec = config.spec.as_ref().map(berth_documents::Node::to_json);
        let maps = [("labels", &config.labels), ("annotations", &config.annotations)];
        files.insert(
            format!("machineconfig-{name}.yaml"),
            object("MachineConfig", name, maps, spec),
        );
    }
    let kubelet = site
        .kubelet_configs
        .iter()
        .map(|it| ("KubeletConfig", &it.name, &it.spec));
    let runtime = site
        .runtime_configs
        .iter()
        .map(|it| ("ContainerRuntimeConfig", &it.name, &it.spec));
    for (kind, name, spec) in kubelet.chain(runtime) {
        let spec = spec.as_ref().map(berth_documents::Node::to_json);
        let none = BTreeMap::new();
        files.insert(
            format!("{}-{}.yaml", kind.to_lowercase(), name.value),
            object(kind, &name.value, [("labels", &none), ("annotations", &none)], spec),
        );
    }
    if !left.is_empty() {
        left.sort();
        hosts.note(format!(
            "machine configs that the operator makes itself are left out: {}",
            crate::host::listed(&left)
        ));
    }
    files.into_iter().collect()
}

/// Before nodes could tell that they are remote, keepalived has to be taken from them by their pool.
fn keepalived(target: &Target<'_>, hosts: &Hosts, findings: &mut Vec<Diagnostic>) -> Vec<(String, Value)> {
    if target.release >= DETECTS_REMOTE || !target.moves_vips() {
        return Vec::new();
    }
    let mut pools = BTreeSet::new();
    for host in hosts.hosts.iter().filter(|host| host.remote) {
        let Some(pool) = &host.pool else {
            findings.push(
                Diagnostic::new(
                    &lints::KEEPALIVED,
                    host.span,
                    format!(
                        "`{}` is remote and in pool `{}`: before {DETECTS_REMOTE} keepalived can be kept off a whole pool only, and \
                         there it would go from the machines beside the VIP too",
                        host.name,
                        host.role.as_str()
                    ),
                )
                .with_help("give remote machines a pool of their own"),
            );
            continue;
        };
        let beside = hosts
            .hosts
            .iter()
            .find(|other| !other.remote && other.pool.as_ref() == Some(pool));
        if let Some(beside) = beside {
            findings.push(
                Diagnostic::new(
                    &lints::KEEPALIVED,
                    host.span,
                    format!(
                        "pool `{pool}` holds `{}`, which is remote, and `{}`, which is not: before {DETECTS_REMOTE} keepalived can be \
                         kept off the whole pool only",
                        host.name, beside.name
                    ),
                )
                .with_help("give remote machines a pool of their own"),
            );
            continue;
        }
        pools.insert(pool);
    }
    pools
        .into_iter()
        .map(|pool| {
            let name = format!("99-{pool}-no-keepalived");
            let config = json!({
                "apiVersion": "machineconfiguration.openshift.io/v1",
                "kind": "MachineConfig",
                "metadata": {"name": name, "labels": {ROLE_LABEL: pool}},
                "spec": {"config": {
                    "ignition": {"version": "3.2.0"},
                    "storage": {"files": [
                        {"path": KEEPALIVED, "mode": 0o644, "overwrite": true, "contents": {"source": "data:,"}},
                    ]},
                }},
            });
            (format!("machineconfig-{name}.yaml"), config)
        })
        .collect()
}

/// The ingress controllers of the documents, and the default one where it would go astray.
fn routers(target: &Target<'_>, hosts: &mut Hosts, ingress: &[Value]) -> Vec<(String, Value)> {
    let name = |value: &Value| value["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let mut files: BTreeMap<String, Value> = ingress
        .iter()
        .map(|controller| {
            (
                format!("ingresscontroller-{}.yaml", name(controller)),
                controller.clone(),
            )
        })
        .collect();
    let remote: Vec<String> = hosts
        .hosts
        .iter()
        .filter(|host| host.remote)
        .map(|host| host.name.clone())
        .collect();
    let default_given = ingress.iter().any(|controller| name(controller) == "default");
    if remote.is_empty() || default_given || target.detects_remote() {
        return files.into_iter().collect();
    }
    if target.user_managed_networking() {
        hosts.note(format!(
            "nothing keeps routers off {}: with user-managed networking the load balancer has to know where they run",
            crate::host::listed(&remote)
        ));
        return files.into_iter().collect();
    }
    let why = if target.cluster.load_balancer == LoadBalancer::UserManaged {
        "with a user-managed load balancer no node calls itself remote; let it send ports 80 and 443 to the control plane"
    } else {
        "before 4.13 no node calls itself remote"
    };
    hosts.note(format!(
        "the default routers are put on the control plane, since nothing else keeps them off {}: {why}",
        crate::host::listed(&remote)
    ));
    let mut tolerations = Vec::new();
    if target.cluster.masters_schedulable != Some(true) || hosts.of_role(Role::Worker).count() >= 2 {
        tolerations.push(json!({
            "key": "node-role.kubernetes.io/master", "operator": "Exists", "effect": "NoSchedule",
        }));
    }
    let controller = json!({
        "apiVersion": "operator.openshift.io/v1",
        "kind": "IngressController",
        "metadata": {"name": "default", "namespace": "openshift-ingress-operator"},
        "spec": {"nodePlacement": {
            "nodeSelector": {"matchLabels": {"node-role.kubernetes.io/master": ""}},
            "tolerations": tolerations,
        }},
    });
    files.insert("ingresscontroller-default.yaml".to_owned(), controller);
    files.into_iter().collect()
}

/// The files in as many parts as their size asks for.
fn parts(files: Vec<(String, Value)>) -> Vec<BTreeMap<String, String>> {
    let mut parts: Vec<BTreeMap<String, String>> = Vec::new();
    let mut size = 0;
    for (name, object) in files {
        let text = to_yaml(&object);
        let weight = name.len() + text.len().min(MANIFEST_LIMIT);
        if parts.is_empty() || size + weight > CONFIG_MAP_LIMIT {
            parts.push(BTreeMap::new());
            size = 0;
        }
        size += weight;
        if let Some(part) = parts.last_mut() {
            part.insert(name, text);
        }
    }
    parts
}
