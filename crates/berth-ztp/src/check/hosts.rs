//! Names, labels, pools and overrides of hosts.

use std::collections::BTreeMap;

use berth_documents::{Node, Span};
use berth_labels::{LabelSelector, LabelSelectorRequirement, LabelValue};
use berth_site::REMOTE_WORKER;

use super::{
    CheckOptions, Findings,
    model::{Extra, HostView, Hub, Kind, Text, name, same_mac},
};
use crate::{
    lints,
    rules::{ANNOTATIONS_LIMIT, hostname_problem, label_problem},
    site_config::texts,
};

pub(super) fn check(hub: &Hub<'_>, options: &CheckOptions, findings: &mut Findings) {
    twice(hub, findings);
    for host in &hub.hosts {
        names(host, findings);
        labels(host, options, findings);
        pool(hub, host, findings);
    }
}

fn names(host: &HostView<'_>, findings: &mut Findings) {
    if let Some(problem) = hostname_problem(host.name.text) {
        findings.add(
            &lints::HOSTNAME,
            host.name.span,
            format!("the host name `{}` is refused: {problem}", host.name.text),
        );
    } else if let (Kind::Instance, Err(error)) = (host.kind, host.name.text.parse::<LabelValue>()) {
        // The templates make it the value of labels of the InfraEnv and the network.
        findings.add(
            &lints::HOSTNAME,
            host.name.span,
            format!(
                "the host name `{}` cannot be the value of a label: {error}",
                host.name.text
            ),
        );
    }
    if let Some(mac) = host.mac
        && !host.cards.is_empty()
        && !host.cards.iter().any(|card| same_mac(Some(*card), Some(mac)))
    {
        findings.add(
            &lints::BOOT_MAC,
            mac.span,
            format!(
                "`{}` boots from {}, which is not among its interfaces",
                host.name.text, mac.text
            ),
        );
    }
}

fn twice(hub: &Hub<'_>, findings: &mut Findings) {
    type Part = for<'h, 'a> fn(&'h HostView<'a>) -> Option<Text<'a>>;
    let parts: [(&str, Part); 2] = [
        ("host name", |host| Some(host.name)),
        ("management controller", |host| host.bmc),
    ];
    same_card(hub, findings);
    for (what, part) in parts {
        let mut seen: BTreeMap<(String, String), Text<'_>> = BTreeMap::new();
        for host in &hub.hosts {
            let Some(text) = part(host) else { continue };
            // Names are one cluster's; cards and controllers are the world's.
            let scope = if what == "host name" { host.cluster } else { "" };
            let key = (scope.to_owned(), text.text.to_ascii_lowercase());
            match seen.get(&key) {
                Some(first) => findings.add_related(
                    &lints::DUPLICATE_HOST,
                    text.span,
                    format!("{} is the {what} of two hosts", text.text),
                    first.span,
                    "first here",
                ),
                None => {
                    seen.insert(key, text);
                }
            }
        }
    }
}

/// A MAC address of two hosts, as the card to boot from or any other.
fn same_card(hub: &Hub<'_>, findings: &mut Findings) {
    let mut seen: BTreeMap<String, (usize, Text<'_>)> = BTreeMap::new();
    for (index, host) in hub.hosts.iter().enumerate() {
        for card in host.mac.iter().chain(&host.cards) {
            let key = card.text.to_ascii_lowercase();
            match seen.get(&key) {
                Some((other, _)) if *other == index => {}
                Some((_, first)) => {
                    findings.add_related(
                        &lints::DUPLICATE_HOST,
                        card.span,
                        format!("{} is the MAC address of two hosts", card.text),
                        first.span,
                        "first here",
                    );
                    // Once for each host.
                    break;
                }
                None => {
                    seen.insert(key, (index, *card));
                }
            }
        }
    }
}

fn labels(host: &HostView<'_>, options: &CheckOptions, findings: &mut Findings) {
    for (key, value) in &host.labels {
        // The generator of SiteConfigs makes texts of scalars.
        let read = match host.kind {
            Kind::SiteConfig => texts(value.to_json()),
            Kind::Raw | Kind::Instance => value.to_json(),
        };
        let problem = match read.as_str() {
            Some(text) => label_problem(key.text, Some(text)),
            None => Some(format!("its value is {} and not a text", value.type_name())),
        };
        if let Some(problem) = problem {
            findings.add(
                &lints::LABEL,
                key.span,
                format!("label `{}` of `{}`: {problem}", key.text, host.name.text),
            );
        }
        let declared = options.declared.as_ref().and_then(|nodes| nodes.get(host.name.text));
        let undeclared = declared.is_some_and(|declared| !declared.labels.contains_key(key.text));
        if undeclared && host.installed == Some(true) {
            frozen(host, key.span, &format!("`{}` be removed", key.text), findings);
        } else if undeclared {
            findings.add(
                &lints::STALE_LABEL,
                key.span,
                format!("the site declares no label `{}` for `{}`", key.text, host.name.text),
            );
        }
    }
    let declared = options.declared.as_ref().and_then(|nodes| nodes.get(host.name.text));
    for (key, value) in declared
        .into_iter()
        .flat_map(|declared| &declared.labels)
        .filter(|_| host.installed == Some(true))
    {
        let own = host.labels.iter().find(|(own, _)| own.text == key);
        if own.is_none_or(|(_, own)| own.as_str() != Some(value)) {
            let span = own.map_or(host.name.span, |(_, own)| own.span);
            frozen(host, span, &format!("`{key}={value}` be set"), findings);
        }
    }
    if host.annotations_size > ANNOTATIONS_LIMIT {
        findings.add(
            &lints::LABEL,
            host.name.span,
            format!(
                "the annotations of `{}` have {} bytes; 256 KiB is the limit",
                host.name.text, host.annotations_size
            ),
        );
    }
}

/// A change that the hub would refuse.
fn frozen(host: &HostView<'_>, span: Span, what: &str, findings: &mut Findings) {
    findings.add_with_help(
        &lints::FROZEN,
        span,
        format!(
            "`{}` is installed, and its nodeLabels cannot be changed any more: the site wants {what}",
            host.name.text
        ),
        "the labels of a Node that is there are changed in its own cluster; for a later installation use extraAnnotations of \
         BareMetalHost, which stay free",
    );
}

/// A selector as it is written.
pub(super) fn selector(node: Option<&Node>) -> Option<LabelSelector> {
    let node = node?;
    let texts = |node: Option<&Node>| {
        let items = node.and_then(Node::as_seq).unwrap_or_default();
        items
            .iter()
            .filter_map(|item| Some(item.as_str()?.to_owned()))
            .collect()
    };
    let labels = node.get("matchLabels").and_then(Node::as_map).into_iter().flatten();
    let expressions = node.get("matchExpressions").and_then(Node::as_seq).unwrap_or_default();
    let text = |item: &Node, key: &str| item.get(key).and_then(Node::as_str).unwrap_or_default().to_owned();
    Some(LabelSelector {
        match_labels: labels
            .filter_map(|(key, value)| Some((key.as_str().to_owned(), value.as_str()?.to_owned())))
            .collect(),
        match_expressions: expressions
            .iter()
            .map(|item| LabelSelectorRequirement {
                key: text(item, "key"),
                operator: text(item, "operator"),
                values: texts(item.get("values")),
            })
            .collect(),
    })
}

fn is_custom(pool: &str) -> bool {
    !matches!(pool, "master" | "worker" | "arbiter")
}

/// The custom pools of the extra manifests with their node selectors.
fn custom_pools<'a>(hub: &Hub<'a>) -> Vec<(&'a str, Extra<'a>, Option<LabelSelector>)> {
    hub.extras_of("MachineConfigPool")
        .filter_map(|extra| Some((name(extra.document)?, extra)))
        .filter(|(name, _)| is_custom(name))
        .map(|(name, extra)| {
            let node = extra.document.body().and_then(|spec| spec.get("nodeSelector"));
            (name, extra, selector(node))
        })
        .collect()
}

/// Whether the host's labels, with those that every node has, satisfy a selector.
pub(super) fn selects(selector: &LabelSelector, host: &HostView<'_>, remote: bool) -> bool {
    let Ok(compiled) = selector.compile() else {
        return false;
    };
    let role = format!("node-role.kubernetes.io/{}", host.role());
    compiled.matches_with(|key| {
        let own = host.labels.iter().find(|(own, _)| own.text == key);
        match own {
            Some((_, value)) => value.as_str(),
            None if key == "kubernetes.io/hostname" => Some(host.name.text),
            None if key == "kubernetes.io/os" => Some("linux"),
            None if key == role => Some(""),
            None if key == REMOTE_WORKER && remote => Some(""),
            None => None,
        }
    })
}

fn pool(hub: &Hub<'_>, host: &HostView<'_>, findings: &mut Findings) {
    let pools = custom_pools(hub);
    let remote = hub.is_remote(host);
    let matching: Vec<&str> = pools
        .iter()
        .filter(|(_, _, selector)| {
            selector
                .as_ref()
                .is_some_and(|selector| selects(selector, host, remote))
        })
        .map(|(name, ..)| *name)
        .collect();
    if let [first, second, ..] = matching.as_slice() {
        findings.add(
            &lints::POOL,
            host.name.span,
            format!(
                "`{}` has the labels of two custom pools, `{first}` and `{second}`",
                host.name.text
            ),
        );
    }
    let Some(pool) = host.pool else {
        if let (Some(first), "worker") = (matching.first(), host.role()) {
            findings.add_with_help(
                &lints::POOL,
                host.name.span,
                format!(
                    "`{}` has the labels of pool `{first}` and boots as a worker, then reboots",
                    host.name.text
                ),
                "name the pool by the annotation bmac.agent-install.openshift.io/machine-config-pool",
            );
        }
        return;
    };
    if host.role() == "master" {
        findings.add(
            &lints::POOL,
            pool.span,
            format!("`{}` is a master: its pool is silently ignored", host.name.text),
        );
        return;
    }
    let declared = pools.iter().find(|(name, ..)| *name == pool.text);
    let declared = declared.map(|(_, extra, selector)| (extra, selector.as_ref()));
    named_pool(hub, host, pool, declared, findings);
}

/// The pool that a host names, as the service looks for it.
fn named_pool(
    hub: &Hub<'_>,
    host: &HostView<'_>,
    pool: Text<'_>,
    declared: Option<(&Extra<'_>, Option<&LabelSelector>)>,
    findings: &mut Findings,
) {
    match declared {
        None if pool.text == "worker" => findings.add_with_help(
            &lints::POOL_MANIFEST,
            pool.span,
            "machine config pool worker was not found: the service looks for it among the extra manifests",
            "leave the annotation out: a worker boots as one",
        ),
        None => findings.add_with_help(
            &lints::POOL_MANIFEST,
            pool.span,
            format!("machine config pool {} was not found", pool.text),
            "put the pool first in a file of its own among the extra manifests",
        ),
        Some((extra, _)) if !extra.first => findings.add_related(
            &lints::POOL_MANIFEST,
            pool.span,
            format!(
                "machine config pool {} was not found: the service reads the first document of each file only",
                pool.text
            ),
            extra.document.span(),
            "the pool, not the first of its file",
        ),
        Some((extra, _)) if !is_searched(extra) => findings.add_related(
            &lints::POOL_MANIFEST,
            pool.span,
            format!(
                "machine config pool {} was not found: the service reads files ending in yaml, yml or json",
                pool.text
            ),
            extra.document.span(),
            "the pool",
        ),
        Some((extra, _)) if !is_referenced(hub, host, extra) => findings.add_related(
            &lints::POOL_MANIFEST,
            pool.span,
            format!(
                "machine config pool {} was not found: the cluster does not name the ConfigMap it is in",
                pool.text
            ),
            extra.document.span(),
            "the pool",
        ),
        Some((_, selector)) => {
            let remote = hub.is_remote(host);
            if selector.is_some_and(|selector| !selects(selector, host, remote)) {
                findings.add(
                    &lints::POOL,
                    pool.span,
                    format!(
                        "`{}` has no labels that satisfy the nodeSelector of pool `{}`: the node goes back to worker",
                        host.name.text, pool.text
                    ),
                );
            }
        }
    }
}

/// Whether the service looks for pools in the file.
fn is_searched(extra: &Extra<'_>) -> bool {
    let key = extra.file.map(|file| file.key.as_str());
    key.is_none_or(|key| [".yaml", ".yml", ".json"].iter().any(|end| key.ends_with(end)))
}

/// Whether the host's cluster takes the file. A cluster that names no `ConfigMap` is taken for a part of the set.
fn is_referenced(hub: &Hub<'_>, host: &HostView<'_>, extra: &Extra<'_>) -> bool {
    let (Some(cluster), Some(file)) = (hub.cluster_of(host), extra.file) else {
        return true;
    };
    cluster.references.is_empty() || cluster.references.iter().any(|it| it.text == file.map)
}
