//! Extra manifests: their files, pools, machine configs.

use std::collections::BTreeMap;

use berth_documents::{Document, Node, Severity, Sources};
use berth_labels::Flavour;
use berth_site::{check_pools, load};

use super::{
    CheckOptions, Findings,
    clusters::release,
    hosts::selector,
    ignition::{config_files, config_role},
    model::{Hub, name, text_at},
    nodes::groups,
};
use crate::{
    lints,
    names::{COREDNS, KEEPALIVED},
    rules::{MANIFEST_LIMIT, manifest_name_problem},
    target::DETECTS_REMOTE,
};

/// What keeps the machines of a pool from becoming nodes. Labels that a pool would lose are set by the service all the same.
const BROKEN_POOLS: &[&str] = &["render-failed", "kubelet-stopped", "node-not-registered"];

pub(super) fn check(sources: &Sources, hub: &Hub<'_>, options: &CheckOptions, findings: &mut Findings) {
    files(hub, findings);
    let kinds = ["MachineConfigPool", "MachineConfig", "KubeletConfig"];
    let objects = hub.extras.iter().map(|extra| extra.document);
    let objects: Vec<Document> = objects.filter(|it| kinds.contains(&it.kind())).cloned().collect();
    let (_, wrong) = load(sources, &objects);
    findings.of_objects(wrong, Severity::Error);
    for group in groups(hub) {
        let objects = group.extras.iter().map(|extra| extra.document);
        let objects: Vec<Document> = objects.filter(|it| kinds.contains(&it.kind())).cloned().collect();
        let (site, _) = load(sources, &objects);
        let broken = check_pools(sources, &site, Flavour::Openshift).into_iter();
        findings.of_objects(
            broken.filter(|it| BROKEN_POOLS.contains(&it.code())).collect(),
            Severity::Error,
        );
    }
    for extra in hub.extras_of("MachineConfigPool") {
        pool(hub, extra.document, findings);
    }
    for extra in hub.extras_of("MachineConfig") {
        machine_config(hub, extra.document, options, findings);
    }
    let assisted = !hub.clusters.is_empty();
    for extra in hub.extras_of("Node") {
        if assisted || extra.file.is_some() {
            findings.add_with_help(
                &lints::MANIFEST,
                extra.document.span(),
                format!(
                    "Node `{}` among the extra manifests makes an assisted installation fail: it never becomes Ready",
                    name(extra.document).unwrap_or_default()
                ),
                "give the labels by annotations of the host and its Ignition override",
            );
        }
    }
}

fn files(hub: &Hub<'_>, findings: &mut Findings) {
    let referenced = |map: &str| {
        hub.clusters
            .iter()
            .any(|cluster| cluster.references.iter().any(|it| it.text == map))
    };
    let any_reference = hub.clusters.iter().any(|cluster| !cluster.references.is_empty());
    let mut seen: BTreeMap<(&str, &str), berth_documents::Span> = BTreeMap::new();
    for file in hub.files {
        if any_reference && !referenced(&file.map) {
            continue;
        }
        if let Some(problem) = manifest_name_problem(&file.key) {
            findings.add(&lints::MANIFEST, file.span, format!("`{}`: {problem}", file.key));
        }
        for problem in file.problems.iter().filter(|_| referenced(&file.map)) {
            findings.add(
                &lints::MANIFEST,
                file.span,
                format!("`{}` cannot be read: {problem}", file.key),
            );
        }
        if file.is_blank && referenced(&file.map) {
            findings.add(&lints::MANIFEST, file.span, format!("manifest `{}` is empty", file.key));
        }
        if file.size > MANIFEST_LIMIT {
            findings.add(
                &lints::MANIFEST,
                file.span,
                format!("`{}` has more than 1 MiB", file.key),
            );
        }
        let key = (file.namespace.as_str(), file.key.as_str());
        match seen.get(&key) {
            Some(first) => findings.add_related(
                &lints::MANIFEST,
                file.span,
                format!("Conflict in manifest names ('{}' is not unique)", file.key),
                *first,
                "first here",
            ),
            None => {
                seen.insert(key, file.span);
            }
        }
    }
    for cluster in &hub.clusters {
        if let (Some(installed), Some(reference)) = (cluster.installed, cluster.references.first()) {
            findings.add_related(
                &lints::MANIFEST,
                reference.span,
                format!(
                    "`{}` is installed already: hosts join it at day 2, and extra manifests are not applied",
                    cluster.name
                ),
                installed,
                "installed",
            );
        }
        for reference in &cluster.references {
            let maps: Vec<&Document> = hub.of_kind("ConfigMap").collect();
            if !maps.is_empty() && !maps.iter().any(|map| name(map) == Some(reference.text)) {
                findings.add(
                    &lints::MANIFEST,
                    reference.span,
                    format!("there is no ConfigMap `{}` among the manifests", reference.text),
                );
            }
        }
    }
}

fn pool(hub: &Hub<'_>, document: &Document, findings: &mut Findings) {
    let Some(own) = name(document) else { return };
    let Some(spec) = document.body() else { return };
    let wanted = spec.get("machineConfigSelector");
    let custom = !matches!(own, "master" | "worker" | "arbiter");
    if custom {
        let takes = selector(wanted)
            .and_then(|selector| selector.compile().ok())
            .is_some_and(|selector| selector.matches_with(|key| (key == berth_pools::ROLE_LABEL).then_some("worker")));
        if !takes {
            findings.add_with_help(
                &lints::POOL_ROLE,
                wanted.map_or_else(|| document.span(), |node| node.span),
                format!("pool `{own}` does not take the machine configs of role worker"),
                &format!("machineConfigSelector: role In [worker, {own}]"),
            );
        }
    }
    let node_selector = spec.get("nodeSelector");
    let hostname = node_selector.and_then(|node| node.at(&["matchLabels", "kubernetes.io/hostname"]));
    let listed = node_selector
        .and_then(|node| node.get("matchExpressions"))
        .and_then(Node::as_seq);
    let listed = listed
        .unwrap_or_default()
        .iter()
        .filter(|item| text_at(item, &["key"]).is_some_and(|key| key.text == "kubernetes.io/hostname"))
        .filter_map(|item| item.get("values").and_then(Node::as_seq))
        .flatten();
    for node in hostname.into_iter().chain(listed) {
        hostname_value(hub, node, findings);
    }
}

/// A host name in a selector must be one that a node has.
pub(super) fn hostname_value(hub: &Hub<'_>, node: &Node, findings: &mut Findings) {
    let Some(wanted) = node.as_str() else { return };
    if hub.hosts.is_empty() || hub.hosts.iter().any(|host| host.name.text == wanted) {
        return;
    }
    let first = |text: &str| text.split('.').next().unwrap_or_default().to_owned();
    let close = hub.hosts.iter().find(|host| first(host.name.text) == first(wanted));
    let help = close.map(|host| format!("the node is called `{}`", host.name.text));
    findings.add_with_help(
        &lints::HOSTNAME_SELECTOR,
        node.span,
        format!("no host is called `{wanted}`, so this selects nothing"),
        help.as_deref().unwrap_or("write the node's name as it registers"),
    );
}

fn machine_config(hub: &Hub<'_>, document: &Document, options: &CheckOptions, findings: &mut Findings) {
    let role = config_role(document).unwrap_or_default();
    for file in config_files(document) {
        if let Some(mode) = file.get("mode")
            && let (true, Some(number)) = (mode.is_plain(), mode.as_i64())
        {
            // Read as octal here; a mode whose octal digits all fit is what was meant.
            let as_decimal_digits = [644, 755, 600, 640, 444, 400, 700].contains(&number);
            if as_decimal_digits {
                findings.add_with_help(
                    &lints::FILE_MODE,
                    mode.span,
                    format!("mode {number} is a decimal number and no permission that anybody wants"),
                    "write 420 for 0644, 493 for 0755, 384 for 0600",
                );
            } else if hub_text_is_octal(mode) {
                findings.add_with_help(
                    &lints::FILE_MODE,
                    mode.span,
                    "a mode with a leading zero is octal for some readers and decimal for others",
                    &format!("write {number}"),
                );
            }
        }
        let Some(path) = text_at(file, &["path"]) else { continue };
        let source = text_at(file, &["contents", "source"]).map_or("data:,", |it| it.text);
        let emptied = matches!(
            source,
            "data:," | "" | "data:,%7B%7D" | "data:;base64,e30=" | "data:text/plain;charset=utf-8;base64,e30="
        ) || source.ends_with("base64,e30=")
            || source.ends_with("base64,");
        if !emptied {
            continue;
        }
        if path.text == COREDNS {
            findings.add(
                &lints::KEEPALIVED,
                path.span,
                format!("without coredns the nodes of role `{role}` cannot resolve the cluster's names"),
            );
        }
        if path.text == KEEPALIVED {
            keepalived(hub, role, path.span, options, findings);
        }
    }
}

/// The reader has made a number of it already; only a plain scalar four or more bytes wide for three octal digits had a zero.
fn hub_text_is_octal(mode: &Node) -> bool {
    let width = mode.span.end.saturating_sub(mode.span.start);
    let digits = mode.as_i64().map_or(0, |number| number.to_string().len());
    mode.as_i64().is_some_and(|number| (64..=0o7777).contains(&number)) && width as usize > digits
}

fn keepalived(hub: &Hub<'_>, role: &str, span: berth_documents::Span, options: &CheckOptions, findings: &mut Findings) {
    let on_masters = hub.extras_of("IngressController").any(|extra| {
        let labels = extra
            .document
            .body()
            .and_then(|spec| spec.at(&["nodePlacement", "nodeSelector", "matchLabels"]));
        name(extra.document) == Some("default")
            && labels.is_some_and(|labels| {
                ["master", "control-plane"]
                    .iter()
                    .any(|role| labels.get(&format!("node-role.kubernetes.io/{role}")).is_some())
            })
    });
    if role == "worker" {
        if !on_masters {
            findings.add(
                &lints::KEEPALIVED,
                span,
                "keepalived is taken from all workers while the default routers run there: nobody serves the ingress VIP",
            );
        }
        return;
    }
    let recent = hub
        .clusters
        .iter()
        .any(|cluster| release(cluster, options).is_some_and(|release| release >= DETECTS_REMOTE));
    if recent || options.release.is_some_and(|release| release >= DETECTS_REMOTE) {
        findings.add(
            &lints::KEEPALIVED,
            span,
            format!("from {DETECTS_REMOTE} on keepalived sleeps on remote workers by itself: this is not needed"),
        );
    }
}
