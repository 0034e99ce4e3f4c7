//! Objects that name each other: hosts and images, networks, secrets, the hub's own settings.

mod templates;

use std::collections::BTreeMap;

use berth_documents::{Document, Node, Span};
use berth_labels::{LabelSelector, LabelValue};

use super::{
    Findings, installs,
    model::{HostView, Hub, Kind, Text, name, namespace, text_at},
};
use crate::{lints, names::INFRA_ENV, rules::hostname_problem};

/// Where hosts are seen without `watchAllNamespaces`.
const MACHINE_API: &str = "openshift-machine-api";

pub(super) fn check(hub: &Hub<'_>, findings: &mut Findings) {
    for document in hub.documents {
        match document.kind() {
            "BareMetalHost" => infra_env_of(hub, document, findings),
            "InfraEnv" => infra_env(hub, document, findings),
            "NMStateConfig" => nmstate(hub, document, findings),
            "AgentServiceConfig" => service(document, findings),
            "Provisioning" => provisioning(hub, document, findings),
            "Secret" => secret(hub, document, findings),
            "ClusterDeployment" => installs::deployment(hub, document, findings),
            "AgentClusterInstall" => {
                install(document, findings);
                installs::references(hub, document, findings);
            }
            "ClusterInstance" => {
                instance(document, findings);
                templates::check(hub, document, findings);
            }
            "SiteConfig" => site_config(document, findings),
            _ => {}
        }
    }
    mixed(hub, findings);
    pull_secrets(hub, findings);
    credentials(hub, findings);
    installs::image_sets(hub, findings);
}

fn infra_env_of(hub: &Hub<'_>, document: &Document, findings: &mut Findings) {
    let span = document.name().map_or_else(|| document.span(), |(_, span)| span);
    let host = name(document).unwrap_or_default();
    let label = document.labels().and_then(|labels| labels.get(INFRA_ENV));
    let named = label.and_then(|node| Some((node, node.as_str()?)));
    let Some((node, wanted)) = named.filter(|(_, wanted)| !wanted.is_empty()) else {
        findings.add_with_help(
            &lints::INFRA_ENV,
            span,
            format!("host `{host}` has no label {INFRA_ENV} with a value, so it never boots the image"),
            "name the InfraEnv of its namespace",
        );
        return;
    };
    if let Err(error) = wanted.parse::<LabelValue>() {
        findings.add(
            &lints::INFRA_ENV,
            node.span,
            format!("`{wanted}` cannot be the value of a label, so host `{host}` is refused: {error}"),
        );
        return;
    }
    let mut known = hub.of_kind("InfraEnv").peekable();
    // Without any InfraEnv the folder holds only a part of the set.
    if known.peek().is_none() {
        return;
    }
    if !known.any(|env| name(env) == Some(wanted) && namespace(env) == namespace(document)) {
        findings.add(
            &lints::INFRA_ENV,
            node.span,
            format!(
                "there is no InfraEnv `{wanted}` in namespace `{}`, so host `{host}` never boots the image",
                namespace(document).unwrap_or_default()
            ),
        );
    }
}

/// The selector of an `InfraEnv` for static networks, unless it is empty: such a one selects none.
fn selector(env: &Document) -> Option<(&Node, LabelSelector)> {
    let node = env.body()?.get("nmStateConfigLabelSelector")?;
    let selector = super::hosts::selector(Some(node))?;
    let is_empty = selector.match_labels.is_empty() && selector.match_expressions.is_empty();
    (!is_empty).then_some((node, selector))
}

/// Whether a selector takes a static network.
fn takes(selector: &LabelSelector, config: &Document) -> bool {
    let labels = config.labels();
    let compiled = selector.compile();
    compiled.is_ok_and(|compiled| compiled.matches_with(|key| labels?.get(key)?.as_str()))
}

fn infra_env(hub: &Hub<'_>, document: &Document, findings: &mut Findings) {
    let Some(spec) = document.body() else { return };
    if let Some(field) = spec.get("agentLabelSelector") {
        findings.add_with_help(
            &lints::FIELD,
            field.span,
            "an InfraEnv has `agentLabelSelector` in its status only; in spec it is dropped",
            "remove it; labels for the agents go into `agentLabels`",
        );
    }
    image_rules(spec, findings);
    crowded(hub, document, findings);
    let static_networks = hub
        .of_kind("NMStateConfig")
        .any(|config| namespace(config) == namespace(document));
    let selector = selector(document);
    if let Some((node, Err(error))) = selector.as_ref().map(|(node, selector)| (node, selector.compile())) {
        findings.add(
            &lints::VALUE,
            node.span,
            format!("invalid label selector, so the image is never made: {error}"),
        );
    }
    if static_networks && selector.is_none() {
        findings.add(
            &lints::NMSTATE,
            spec.get("nmStateConfigLabelSelector")
                .map_or_else(|| document.span(), |node| node.span),
            "the namespace has NMStateConfigs, and the InfraEnv selects none: static networks are not applied",
        );
    }
}

/// As many static networks as a discovery image holds when each is small: its Ignition config is limited to 256 KiB.
const MOST_NETWORKS: usize = 3960;

/// An image that cannot hold the networks that it selects.
fn crowded(hub: &Hub<'_>, document: &Document, findings: &mut Findings) {
    let Some((node, selector)) = selector(document) else {
        return;
    };
    let selected = hub
        .of_kind("NMStateConfig")
        .filter(|config| takes(&selector, config))
        .count();
    if selected > MOST_NETWORKS {
        findings.add_with_help(
            &lints::NMSTATE,
            node.span,
            format!(
                "the InfraEnv selects {selected} NMStateConfigs; its image holds 256 KiB of them, which is about {MOST_NETWORKS} \
                 small ones"
            ),
            "spread the hosts over several InfraEnvs",
        );
    }
}

/// Settings of a discovery image that exclude each other, and kernel arguments that cannot be passed on.
fn image_rules(spec: &Node, findings: &mut Findings) {
    if let (Some(_), Some(sources)) = (spec.get("additionalNTPSources"), spec.get("ntpSources")) {
        findings.add(
            &lints::VALUE,
            sources.span,
            "either `additionalNTPSources` or `ntpSources` can be set, not both",
        );
    }
    for key in ["additionalNTPSources", "ntpSources"] {
        for source in spec.get(key).and_then(Node::as_seq).unwrap_or_default() {
            let Some(text) = source.as_str() else { continue };
            let legal = text.parse::<std::net::IpAddr>().is_ok() || hostname_problem(text).is_none();
            if !legal {
                findings.add(
                    &lints::VALUE,
                    source.span,
                    format!("`{text}` is neither a host name nor an IP address"),
                );
            }
        }
    }
    for argument in spec.get("kernelArguments").and_then(Node::as_seq).unwrap_or_default() {
        let Some(value) = text_at(argument, &["value"]) else {
            continue;
        };
        // Blanks only between quotation marks.
        let parts: Vec<&str> = value.text.split('"').collect();
        let outside = parts.iter().step_by(2);
        let blank = outside.clone().any(|part| part.contains([' ', '\t', '\n', '\r']));
        if value.text.is_empty() || parts.len().is_multiple_of(2) || blank {
            findings.add(
                &lints::VALUE,
                value.span,
                format!("`{}` is not one kernel argument", value.text),
            );
        }
    }
}

fn nmstate(hub: &Hub<'_>, document: &Document, findings: &mut Findings) {
    let span = document.name().map_or_else(|| document.span(), |(_, span)| span);
    let envs: Vec<&Document> = hub
        .of_kind("InfraEnv")
        .filter(|env| namespace(env) == namespace(document))
        .collect();
    let selected = envs
        .iter()
        .any(|env| selector(env).is_some_and(|(_, selector)| takes(&selector, document)));
    if !envs.is_empty() && !selected {
        findings.add(
            &lints::NMSTATE,
            span,
            format!(
                "no InfraEnv of the namespace selects NMStateConfig `{}` by its labels: the network is not applied",
                name(document).unwrap_or_default()
            ),
        );
    }
    let Some(spec) = document.body() else { return };
    static_network(spec, span, findings);
    super::metal::cards(spec, findings);
}

/// Every physical interface of a static network has its MAC address.
pub(super) fn static_network(spec: &Node, span: Span, findings: &mut Findings) {
    fn list(node: Option<&Node>) -> &[Node] {
        node.and_then(Node::as_seq).unwrap_or_default()
    }
    let mapped: Vec<&str> = list(spec.get("interfaces"))
        .iter()
        .filter_map(|item| Some(text_at(item, &["name"])?.text))
        .collect();
    if mapped.is_empty() {
        findings.add(
            &lints::NMSTATE,
            span,
            "at least one interface with its MAC address must be provided",
        );
    }
    for interface in list(spec.at(&["config", "interfaces"])) {
        let (Some(card), Some(kind)) = (text_at(interface, &["name"]), text_at(interface, &["type"])) else {
            continue;
        };
        if kind.text == "ethernet" && !mapped.contains(&card.text) {
            findings.add(
                &lints::NMSTATE,
                card.span,
                format!(
                    "mac-interface mapping for interface {} is missing: it is in the config and not in `interfaces`",
                    card.text
                ),
            );
        }
    }
}

/// The service looks for networks in all namespaces.
fn mixed(hub: &Hub<'_>, findings: &mut Findings) {
    let mut seen: BTreeMap<String, &Document> = BTreeMap::new();
    let said = |selector: &LabelSelector| format!("{selector:?}");
    for env in hub.of_kind("InfraEnv") {
        let Some((node, wanted)) = selector(env) else {
            continue;
        };
        let mut configs = hub.of_kind("NMStateConfig");
        let strange = configs.find(|config| namespace(config) != namespace(env) && takes(&wanted, config));
        let key = said(&wanted);
        let own = name(env).unwrap_or_default();
        match (seen.get(&key), strange) {
            (Some(other), _) if namespace(other) != namespace(env) => findings.add_related(
                &lints::NMSTATE_MIXED,
                node.span,
                format!(
                    "InfraEnv `{own}` selects the same NMStateConfigs as `{}` of namespace `{}`: the service looks in all namespaces",
                    name(other).unwrap_or_default(),
                    namespace(other).unwrap_or_default()
                ),
                other.span(),
                "the other",
            ),
            (Some(_), _) => {}
            (None, strange) => {
                // The other of two equal selectors is reported for both.
                let alone = |config: &&Document| {
                    !hub.of_kind("InfraEnv").any(|other| {
                        let same = selector(other).is_some_and(|(_, other)| said(&other) == key);
                        namespace(other) == namespace(config) && same
                    })
                };
                if let Some(config) = strange.filter(alone) {
                    findings.add_related(
                        &lints::NMSTATE_MIXED,
                        node.span,
                        format!(
                            "InfraEnv `{own}` also selects NMStateConfig `{}` of namespace `{}`: the service looks in all namespaces",
                            name(config).unwrap_or_default(),
                            namespace(config).unwrap_or_default()
                        ),
                        config.span(),
                        "selected",
                    );
                }
                seen.insert(key, env);
            }
        }
    }
    mixed_by_name(hub, findings);
}

/// The default templates of a `ClusterInstance` label the network of a host with its name alone.
fn mixed_by_name(hub: &Hub<'_>, findings: &mut Findings) {
    let mut seen: BTreeMap<&str, &HostView<'_>> = BTreeMap::new();
    for host in hub
        .hosts
        .iter()
        .filter(|host| host.kind == Kind::Instance && !host.cards.is_empty())
    {
        match seen.get(host.name.text) {
            Some(other) if other.cluster != host.cluster => findings.add_related(
                &lints::NMSTATE_MIXED,
                host.name.span,
                format!(
                    "`{}` is a host of cluster `{}` too, and the templates label static networks by host name (nmstate-label): the \
                     service looks in all namespaces",
                    host.name.text, other.cluster
                ),
                other.name.span,
                "the other",
            ),
            Some(_) => {}
            None => {
                seen.insert(host.name.text, host);
            }
        }
    }
}

fn service(document: &Document, findings: &mut Findings) {
    if let Some((given, span)) = document.name()
        && given != "agent"
    {
        findings.add_with_help(
            &lints::HUB,
            span,
            format!("an AgentServiceConfig named `{given}` is refused: Invalid name"),
            "name it `agent`",
        );
    }
    let images = document
        .body()
        .and_then(|spec| spec.get("osImages"))
        .and_then(Node::as_seq);
    for image in images.unwrap_or_default() {
        if let Some(field) = image.get("rootFSUrl") {
            findings.add(
                &lints::FIELD,
                field.span,
                "`rootFSUrl` is ignored: the image is taken from `url`",
            );
        }
    }
}

/// The only name of a Provisioning that the hub reads.
const PROVISIONING: &str = "provisioning-configuration";

fn provisioning(hub: &Hub<'_>, document: &Document, findings: &mut Findings) {
    if let Some((given, span)) = document.name()
        && given != PROVISIONING
    {
        findings.add_with_help(
            &lints::HUB,
            span,
            format!("a Provisioning named `{given}` is ignored"),
            &format!("name it `{PROVISIONING}`"),
        );
    }
    let watches = document.body().and_then(|spec| spec.get("watchAllNamespaces"));
    let elsewhere = hub
        .of_kind("BareMetalHost")
        .find(|host| namespace(host) != Some(MACHINE_API));
    if let Some(host) = elsewhere
        && watches.and_then(Node::as_bool) != Some(true)
    {
        findings.add_with_help(
            &lints::HUB,
            watches.map_or_else(|| document.span(), |node| node.span),
            format!(
                "hosts of namespace `{}` are not looked at: `watchAllNamespaces` is not true",
                namespace(host).unwrap_or_default()
            ),
            "set `watchAllNamespaces: true`",
        );
    }
}

fn secret(hub: &Hub<'_>, document: &Document, findings: &mut Findings) {
    let span = document.name().map_or_else(|| document.span(), |(_, span)| span);
    let own = name(document).unwrap_or_default();
    let find = |key: &str| {
        let at = |map: &str| document.root.get(map).and_then(|map| map.get(key));
        at("data").or_else(|| at("stringData"))
    };
    if let Some(kind) = find("type") {
        findings.add_with_help(
            &lints::SECRET,
            kind.span,
            "`type` is a field of the Secret itself; here it is one of its values",
            "move it to the top level",
        );
    }
    if find(".dockerconfigjson").is_some() {
        let kind = document.root.get("type").and_then(Node::as_str);
        if kind != Some("kubernetes.io/dockerconfigjson") && find("type").is_none() {
            findings.add_with_help(
                &lints::SECRET,
                span,
                format!(
                    "Secret `{own}` holds a pull secret and is of type {}",
                    kind.unwrap_or("Opaque")
                ),
                "type: kubernetes.io/dockerconfigjson",
            );
        }
        return;
    }
    let users: Vec<&str> = controllers(hub)
        .filter(|(secret, _)| secret.text == own)
        .map(|(_, namespace)| namespace)
        .collect();
    let Some(user) = users.first() else { return };
    for key in ["username", "password"] {
        if find(key).is_none() {
            findings.add(
                &lints::SECRET,
                span,
                format!("Secret `{own}` is for a management controller and has no `{key}`"),
            );
        }
    }
    let there = namespace(document).unwrap_or_default();
    let elsewhere = hub
        .of_kind("Secret")
        .any(|other| name(other) == Some(own) && users.iter().any(|user| namespace(other) == Some(user)));
    if !users.contains(&there) && !elsewhere {
        findings.add(
            &lints::SECRET,
            span,
            format!("Secret `{own}` is in namespace `{there}`, and the host that names it in `{user}`"),
        );
    }
}

/// The Secrets of management controllers with the namespace in which each is looked for.
fn controllers<'a>(hub: &Hub<'a>) -> impl Iterator<Item = (Text<'a>, &'a str)> {
    let raw = hub.of_kind("BareMetalHost").filter_map(|host| {
        let secret = text_at(host.body()?, &["bmc", "credentialsName"])?;
        Some((secret, namespace(host).unwrap_or_default()))
    });
    let nodes = |list: Option<&'a Node>| list.and_then(Node::as_seq).unwrap_or_default();
    let secret = |node: &'a Node| text_at(node, &["bmcCredentialsName", "name"]);
    let instances = hub.of_kind("ClusterInstance").flat_map(move |instance| {
        let own = namespace(instance).unwrap_or_default();
        let list = nodes(instance.body().and_then(|spec| spec.get("nodes")));
        // A host that is there already has its Secret beside it.
        let place = move |node| text_at(node, &["hostRef", "namespace"]).map_or(own, |text| text.text);
        list.iter().filter_map(move |node| Some((secret(node)?, place(node))))
    });
    let configs = hub.of_kind("SiteConfig").flat_map(move |config| {
        let clusters = nodes(config.body().and_then(|spec| spec.get("clusters")));
        clusters.iter().flat_map(move |cluster| {
            let own = text_at(cluster, &["clusterName"]).map_or("", |name| name.text);
            nodes(cluster.get("nodes"))
                .iter()
                .filter_map(move |node| Some((secret(node)?, own)))
        })
    });
    raw.chain(instances).chain(configs)
}

/// Credentials that are missing where those of other controllers are among the manifests.
fn credentials(hub: &Hub<'_>, findings: &mut Findings) {
    let secrets: Vec<&str> = hub.of_kind("Secret").filter_map(name).collect();
    let all: Vec<(Text<'_>, &str)> = controllers(hub).collect();
    let (there, missing): (Vec<_>, Vec<_>) = all.into_iter().partition(|(secret, _)| secrets.contains(&secret.text));
    // A folder with the Secrets of one host may be about that host.
    if there.len() <= missing.len() {
        return;
    }
    for (secret, place) in missing.iter().filter(|(secret, _)| !secret.text.is_empty()) {
        findings.add(
            &lints::REFERENCE,
            secret.span,
            format!(
                "there is no Secret `{}` among the manifests, where other controllers have theirs; it is looked for in `{place}`",
                secret.text
            ),
        );
    }
}

fn pull_secrets(hub: &Hub<'_>, findings: &mut Findings) {
    let secrets: Vec<&Document> = hub.of_kind("Secret").collect();
    for document in hub.documents {
        if !matches!(document.kind(), "ClusterDeployment" | "InfraEnv" | "ClusterInstance") {
            continue;
        }
        let Some(wanted) = document
            .body()
            .and_then(|spec| text_at(spec, &["pullSecretRef", "name"]))
        else {
            continue;
        };
        let named: Vec<&&Document> = secrets
            .iter()
            .filter(|secret| name(secret) == Some(wanted.text))
            .collect();
        if !named.is_empty() && !named.iter().any(|secret| namespace(secret) == namespace(document)) {
            findings.add(
                &lints::SECRET,
                wanted.span,
                format!(
                    "Secret `{}` is not in namespace `{}`, where it is looked for",
                    wanted.text,
                    namespace(document).unwrap_or_default()
                ),
            );
        }
    }
}

fn install(document: &Document, findings: &mut Findings) {
    let Some(spec) = document.body() else { return };
    for (old, new) in [
        ("apiVIP", "apiVIPs"),
        ("ingressVIP", "ingressVIPs"),
        ("manifestsConfigMapRef", "manifestsConfigMapRefs"),
    ] {
        let Some((key, node)) = spec.as_map().and_then(|map| map.get_key_value(old)) else {
            continue;
        };
        findings.add(
            &lints::FIELD,
            key.span,
            format!("`{old}` has given way to the list `{new}`"),
        );
        let first = spec.get(new).and_then(Node::as_seq).and_then(<[Node]>::first);
        if let (Some(first), Some(text)) = (first.and_then(Node::as_str), node.as_str())
            && first != text
        {
            findings.add(
                &lints::NETWORK,
                node.span,
                format!("{old} must be the same as the first element of {new}"),
            );
        }
    }
    let services = spec.at(&["networking", "serviceNetwork"]).and_then(Node::as_seq);
    for entry in services
        .unwrap_or_default()
        .iter()
        .filter(|entry| entry.as_map().is_some())
    {
        findings.add_with_help(
            &lints::FIELD,
            entry.span,
            "an AgentClusterInstall has plain texts in `serviceNetwork`",
            "write `- 172.30.0.0/16`",
        );
    }
}

fn site_config(document: &Document, findings: &mut Findings) {
    let list = |node: Option<&'_ Node>| node.and_then(Node::as_seq).map(<[Node]>::to_vec).unwrap_or_default();
    for cluster in list(document.body().and_then(|spec| spec.get("clusters"))) {
        for node in list(cluster.get("nodes")) {
            if let Some(network) = node.get("nodeNetwork") {
                static_network(network, network.span, findings);
            }
        }
        for entry in list(cluster.get("serviceNetwork"))
            .iter()
            .filter(|entry| entry.as_map().is_some())
        {
            findings.add_with_help(
                &lints::FIELD,
                entry.span,
                "a SiteConfig has plain texts in `serviceNetwork`",
                "write `- 172.30.0.0/16`",
            );
        }
    }
}

/// Why the operator refuses the generation of a reinstallation. That it is there is a rule of the definition.
fn generation_problem(text: &str) -> Option<String> {
    /// How long it may be: a name of Kubernetes, with room for what the operator adds.
    const LONGEST: usize = 153;
    let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if text.len() > LONGEST {
        return Some(format!("it has {} characters and may have {LONGEST}", text.len()));
    }
    let fits = text.bytes().all(legal) && !text.starts_with('-') && !text.ends_with('-');
    (!fits).then(|| format!("`{text}` is not made of lower-case letters and digits, with hyphens between them"))
}

fn instance(document: &Document, findings: &mut Findings) {
    let Some(spec) = document.body() else { return };
    for entry in spec.get("serviceNetwork").and_then(Node::as_seq).unwrap_or_default() {
        if entry.as_str().is_some() {
            findings.add_with_help(
                &lints::FIELD,
                entry.span,
                "a ClusterInstance has objects in `serviceNetwork`",
                "write `- cidr: 172.30.0.0/16`",
            );
        }
    }
    if let Some(generation) = text_at(spec, &["reinstall", "generation"])
        && let Some(problem) = generation_problem(generation.text)
    {
        findings.add(
            &lints::VALUE,
            generation.span,
            format!("the generation of the reinstallation is rejected: {problem}"),
        );
    }
    for (old, new) in [("apiVIP", "apiVIPs"), ("ingressVIP", "ingressVIPs")] {
        if let Some((key, _)) = spec.as_map().and_then(|map| map.get_key_value(old)) {
            findings.add(
                &lints::FIELD,
                key.span,
                format!("a ClusterInstance has no `{old}`: use the list `{new}`"),
            );
        }
    }
    for node in spec.get("nodes").and_then(Node::as_seq).unwrap_or_default() {
        if let Some(network) = node.get("nodeNetwork") {
            static_network(network, network.span, findings);
        }
    }
    for maps in ["extraAnnotations", "extraLabels"] {
        let Some(above) = spec.get(maps) else { continue };
        for node in spec.get("nodes").and_then(Node::as_seq).unwrap_or_default() {
            for (kind, own) in node.get(maps).and_then(Node::as_map).into_iter().flatten() {
                let Some(hidden) = above.get(kind.as_str()).and_then(Node::as_map) else {
                    continue;
                };
                let lost = hidden.iter().find(|(key, _)| own.get(key.as_str()).is_none());
                if let Some((lost, _)) = lost {
                    findings.add_related(
                        &lints::HIDDEN_ANNOTATIONS,
                        kind.span,
                        format!(
                            "this hides `{}` of the cluster's {maps} for {}",
                            lost.as_str(),
                            kind.as_str()
                        ),
                        lost.span,
                        "hidden",
                    );
                }
            }
        }
    }
}
