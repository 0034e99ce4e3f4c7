//! Changes of the objects themselves, as the webhooks of Assisted Service and Metal3 judge them.

use berth_documents::{Document, Node};
use serde_json::Value;

use super::{
    super::model::{Hub, Progress, name, namespace, text_at},
    Findings, differing, refuse, words,
};
use crate::lints;

pub(super) fn install(document: &Document, old: Option<&Document>, findings: &mut Findings) {
    let (Some(spec), Some(old)) = (document.body(), old) else {
        return;
    };
    let Some(was) = old.body().map(Node::to_json) else {
        return;
    };
    let own = document.name().map_or_else(|| document.span(), |(_, span)| span);
    let cluster = name(document).unwrap_or_default();
    let progress = Progress::of_install(old);
    let free: &[&str] = match progress {
        Progress::Done => &["clusterMetadata", "ignitionEndpoint", "provisionRequirements"],
        _ => &["clusterMetadata", "ignitionEndpoint"],
    };
    for (field, span, change) in differing(&was, spec, own, &[free]) {
        let why = match (progress, field.as_str()) {
            (_, "imageSetRef") => "it never can be after creation".to_owned(),
            (Progress::Free, _) => continue,
            (Progress::Unknown, _) => format!("once the installation of `{cluster}` has started the hub refuses it"),
            _ => format!("the spec of `{cluster}` is immutable after install started"),
        };
        refuse(
            findings,
            span,
            &format!("`{field}` is changed{change}"),
            &why,
            old.span(),
        );
    }
}

pub(super) fn infra_env(hub: &Hub<'_>, document: &Document, old: Option<&Document>, findings: &mut Findings) {
    let Some(spec) = document.body() else { return };
    let was = old.and_then(Document::body).map(Node::to_json);
    // What the hub has already, it took.
    let had_version = was.as_ref().is_some_and(|was| was.get("osImageVersion").is_some());
    if let (Some(_), Some(version), false) = (spec.get("clusterRef"), spec.get("osImageVersion"), had_version)
        && !(was.is_some() && is_installed(hub, spec))
    {
        findings.add(
            &lints::VALUE,
            version.span,
            "either `clusterRef` or `osImageVersion` can be set, not both, until the cluster is installed",
        );
    }
    let (Some(old), Some(was)) = (old, was) else { return };
    let own = document.name().map_or_else(|| document.span(), |(_, span)| span);
    for (field, span, change) in differing(&was, spec, own, &[]) {
        if matches!(field.as_str(), "clusterRef" | "cpuArchitecture") {
            let why = "an InfraEnv keeps it from its creation on";
            refuse(
                findings,
                span,
                &format!("`{field}` is changed{change}"),
                why,
                old.span(),
            );
        }
    }
}

/// Whether the cluster that an `InfraEnv` names is installed.
fn is_installed(hub: &Hub<'_>, spec: &Node) -> bool {
    let wanted = |key: &str| text_at(spec, &["clusterRef", key]).map(|text| text.text);
    let mut named = hub
        .of_kind("ClusterDeployment")
        .filter(|it| name(it) == wanted("name") && namespace(it) == wanted("namespace"));
    named.any(|it| it.body().and_then(|spec| spec.get("installed")?.as_bool()) == Some(true))
}

/// A host that the hub has.
pub(super) fn host(document: &Document, old: Option<&Document>, findings: &mut Findings) {
    let (Some(spec), Some(old)) = (document.body(), old) else {
        return;
    };
    let Some(was) = old.body() else { return };
    let own = document.name().map_or_else(|| document.span(), |(_, span)| span);
    let who = name(document).unwrap_or_default();
    let status = |path: &[&str]| {
        let node = old.root.get("status")?;
        Some(text_at(node, path)?.text)
    };
    let state = status(&["provisioning", "state"]);
    let (old_mac, mac) = (text_at(was, &["bootMACAddress"]), text_at(spec, &["bootMACAddress"]));
    if let Some(old_mac) = old_mac.filter(|mac| !mac.text.is_empty())
        && mac.is_none_or(|mac| !mac.text.eq_ignore_ascii_case(old_mac.text))
    {
        let what = match mac {
            Some(_) => format!("the boot MAC address of `{who}` is changed"),
            None => format!("the boot MAC address of `{who}` is gone"),
        };
        refuse(
            findings,
            mac.map_or(own, |mac| mac.span),
            &what,
            "the API server refuses it for a BareMetalHost that has one",
            old_mac.span,
        );
    }
    let address = |spec| text_at(spec, &["bmc", "address"]).filter(|address| !address.text.is_empty());
    let may_move = state == Some("registering") || status(&["operationalStatus"]) == Some("detached");
    if let Some(old_address) = address(was)
        && address(spec).is_none_or(|address| address.text != old_address.text)
        && !may_move
    {
        refuse(
            findings,
            address(spec).map_or(own, |address| address.span),
            &format!("the BMC address of `{who}` is changed"),
            "the hub refuses it unless the host is registering or detached",
            old_address.span,
        );
    }
    let is_external = |spec: &Node| {
        spec.get("externallyProvisioned")
            .filter(|node| node.as_bool() == Some(true))
            .map(|node| node.span)
    };
    if let (Some(span), None) = (is_external(spec), is_external(was))
        && state != Some("available")
    {
        refuse(
            findings,
            span,
            &format!("`externallyProvisioned` of `{who}` is switched on"),
            "the hub refuses it for a host that is not in the state available",
            old.span(),
        );
    }
}

/// States of a host that is being installed.
const INSTALLING: &[&str] = &[
    "preparing-for-installation",
    "preparing-failed",
    "preparing-successful",
    "installing",
    "installing-in-progress",
    "installing-pending-user-action",
];

/// The cluster of an `Agent`.
pub(super) fn agent(document: &Document, old: Option<&Document>, findings: &mut Findings) {
    let (Some(spec), Some(old)) = (document.body(), old) else {
        return;
    };
    let Some(was) = old.body() else { return };
    let status = |path: &[&str]| {
        let node = old.root.get("status")?;
        Some(text_at(node, path)?.text)
    };
    let cluster = |spec: &Node| {
        spec.get("clusterDeploymentName")
            .filter(|node| !node.is_null())
            .map(Node::to_json)
    };
    let (then, now): (Option<Value>, Option<Value>) = (cluster(was), cluster(spec));
    let installing = status(&["debugInfo", "state"]).is_some_and(|state| INSTALLING.contains(&state));
    let released = now.is_none() && status(&["kind"]) == Some("AddToExistingClusterHost");
    if then == now || !installing || released {
        return;
    }
    let own = document.name().map_or_else(|| document.span(), |(_, span)| span);
    let span = spec.get("clusterDeploymentName").map_or(own, |node| node.span);
    refuse(
        findings,
        span,
        &format!(
            "`clusterDeploymentName` is changed{}",
            words(then.as_ref(), now.as_ref())
        ),
        "the host is being installed",
        old.span(),
    );
}
