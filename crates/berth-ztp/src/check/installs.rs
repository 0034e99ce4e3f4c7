//! A `ClusterDeployment` and its `AgentClusterInstall`: what they say of each other and of the release.

use berth_documents::{Document, Node};

use super::{
    Findings,
    model::{Hub, annotation, name, namespace, text_at},
};
use crate::{lints, rules::cluster_name_problem};

pub(super) fn deployment(hub: &Hub<'_>, document: &Document, findings: &mut Findings) {
    let Some(spec) = document.body() else { return };
    let span = document.name().map_or_else(|| document.span(), |(_, span)| span);
    let platform = hub
        .of_kind("AgentClusterInstall")
        .find(|install| namespace(install) == namespace(document))
        .and_then(|install| Some(text_at(install.body()?, &["platformType"])?.text));
    if let Some(cluster) = text_at(spec, &["clusterName"]).filter(|name| !name.text.is_empty())
        && let Some(problem) = cluster_name_problem(cluster.text, platform == Some("None"))
    {
        findings.add(
            &lints::VALUE,
            cluster.span,
            format!("the cluster name `{}` is rejected: {problem}", cluster.text),
        );
    }
    let reference = spec.get("clusterInstallRef");
    if let (Some(_), Some(provisioning)) = (reference, spec.get("provisioning")) {
        findings.add(
            &lints::VALUE,
            provisioning.span,
            "`spec.provisioning` must not be set together with `clusterInstallRef`",
        );
    }
    if let Some(kind) = reference.and_then(|it| text_at(it, &["kind"]))
        && kind.text != "AgentClusterInstall"
        && spec.at(&["platform", "agentBareMetal"]).is_some()
    {
        findings.add_with_help(
            &lints::VALUE,
            kind.span,
            format!(
                "platform agentBareMetal is installed by an AgentClusterInstall, not by a {}",
                kind.text
            ),
            "write `kind: AgentClusterInstall`",
        );
    }
    let mut installs = hub
        .of_kind("AgentClusterInstall")
        .filter(|install| namespace(install) == namespace(document))
        .peekable();
    if let (Some(wanted), Some(other)) = (
        reference.and_then(|it| text_at(it, &["name"])),
        installs.peek().copied(),
    ) && !installs.any(|install| name(install) == Some(wanted.text))
    {
        findings.add(
            &lints::REFERENCE,
            wanted.span,
            format!(
                "there is no AgentClusterInstall `{}` in namespace `{}`; there is `{}`",
                wanted.text,
                namespace(document).unwrap_or_default(),
                name(other).unwrap_or_default()
            ),
        );
    }
    let installed = spec.get("installed").and_then(Node::as_bool) == Some(true);
    let secret = text_at(spec, &["pullSecretRef", "name"]).is_some_and(|name| !name.text.is_empty());
    if !secret && !installed {
        findings.add(
            &lints::REQUIRED,
            span,
            "a pull secret is required: `spec.pullSecretRef.name`",
        );
    }
}

/// What an `AgentClusterInstall` refers to.
pub(super) fn references(hub: &Hub<'_>, document: &Document, findings: &mut Findings) {
    let Some(spec) = document.body() else { return };
    let span = document.name().map_or_else(|| document.span(), |(_, span)| span);
    let deployment = hub
        .of_kind("ClusterDeployment")
        .find(|other| namespace(other) == namespace(document));
    let installed = deployment.is_some_and(|it| {
        let installed = it.body().and_then(|spec| spec.get("installed"));
        installed.and_then(Node::as_bool) == Some(true)
    });
    let image_set = text_at(spec, &["imageSetRef", "name"]).filter(|name| !name.text.is_empty());
    if image_set.is_none() && !installed {
        findings.add(
            &lints::REQUIRED,
            span,
            "`spec.imageSetRef.name` is required for a cluster that is not installed",
        );
    }
    if let (Some(wanted), Some(deployment)) = (text_at(spec, &["clusterDeploymentRef", "name"]), deployment)
        && name(deployment) != Some(wanted.text)
    {
        findings.add(
            &lints::REFERENCE,
            wanted.span,
            format!(
                "there is no ClusterDeployment `{}` in namespace `{}`; there is `{}`",
                wanted.text,
                namespace(document).unwrap_or_default(),
                name(deployment).unwrap_or_default()
            ),
        );
    }
    if let Some(url) = text_at(spec, &["ignitionEndpoint", "url"])
        && !["http://", "https://"]
            .iter()
            .any(|scheme| url.text.starts_with(scheme))
    {
        findings.add(
            &lints::VALUE,
            url.span,
            format!(
                "the URL scheme of the ignition endpoint must be http or https: `{}`",
                url.text
            ),
        );
    }
    if let Some(overrides) = annotation(document, INSTALL_CONFIG)
        && let Err(error) = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(overrides.text)
    {
        findings.add(
            &lints::VALUE,
            overrides.span,
            format!("the {INSTALL_CONFIG} annotation is not a JSON object: {error}"),
        );
    }
}

/// Annotation of an `AgentClusterInstall` with parts of the install config, as JSON.
const INSTALL_CONFIG: &str = "agent-install.openshift.io/install-config-overrides";

/// Image sets that clusters name and that are not among those that the folder has.
pub(super) fn image_sets(hub: &Hub<'_>, findings: &mut Findings) {
    let known: Vec<&str> = hub.of_kind("ClusterImageSet").filter_map(name).collect();
    if known.is_empty() {
        return;
    }
    for document in hub.documents {
        let path: &[&str] = match document.kind() {
            "AgentClusterInstall" => &["imageSetRef", "name"],
            "ClusterInstance" => &["clusterImageSetNameRef"],
            _ => continue,
        };
        if let Some(wanted) = document.body().and_then(|spec| text_at(spec, path))
            && !wanted.text.is_empty()
            && !known.contains(&wanted.text)
        {
            findings.add(
                &lints::REFERENCE,
                wanted.span,
                format!("there is no ClusterImageSet `{}` among the manifests", wanted.text),
            );
        }
    }
}
