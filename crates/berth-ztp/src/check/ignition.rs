//! Ignition overrides of hosts, and what the configs of their pools make of them.

use berth_documents::{Document, Node, Span};
use berth_ignition::{decode_data_url, file_contents, parse};
use berth_site::REMOTE_WORKER;
use berth_units::{KUBELET_ENV_PATH, KUBELET_ENV_VARIABLE};

use super::{
    CheckOptions, Findings,
    clusters::release,
    model::{HostView, Hub, Kind, text_at},
};
use crate::{
    lints,
    rules::{operator_owns, override_problem},
    target::DETECTS_REMOTE,
};

pub(super) fn check(hub: &Hub<'_>, options: &CheckOptions, findings: &mut Findings) {
    for host in &hub.hosts {
        ignition(hub, host, findings);
        label_file(hub, host, options, findings);
    }
    for document in hub.documents {
        match (document.kind(), document.body()) {
            ("InfraEnv" | "ClusterInstance", Some(spec)) => of_image(spec, findings),
            ("SiteConfig", Some(spec)) => {
                let clusters = spec.get("clusters").and_then(Node::as_seq).unwrap_or_default();
                for cluster in clusters {
                    of_image(cluster, findings);
                }
            }
            _ => {}
        }
    }
}

/// What is added to the discovery image. That it is JSON is a rule of its own.
fn of_image(spec: &Node, findings: &mut Findings) {
    let Some(text) = text_at(spec, &["ignitionConfigOverride"]).filter(|text| !text.text.is_empty()) else {
        return;
    };
    if serde_json::from_str::<serde_json::Value>(text.text).is_ok()
        && let Err(problem) = override_problem(text.text)
    {
        findings.add(
            &lints::OVERRIDE,
            text.span,
            format!("the override of the discovery image is refused: {problem}"),
        );
    }
}

fn ignition(hub: &Hub<'_>, host: &HostView<'_>, findings: &mut Findings) {
    let Some(text) = host.ignition else { return };
    let who = host.name.text;
    if host.kind == Kind::Instance && text.text.contains('\'') {
        findings.add_with_help(
            &lints::OVERRIDE,
            text.span,
            format!("the override of `{who}` has an apostrophe, which ends the quotes of the template around it"),
            "write \\u0027",
        );
    }
    let value = match override_problem(text.text) {
        Ok(value) => Some(value),
        Err(problem) => {
            findings.add(
                &lints::OVERRIDE,
                text.span,
                format!("the override of `{who}` is refused: {problem}"),
            );
            serde_json::from_str(text.text).ok()
        }
    };
    let Some(value) = value else { return };
    let files = value.pointer("/storage/files").and_then(serde_json::Value::as_array);
    for file in files.into_iter().flatten() {
        let Some(path) = file["path"].as_str() else { continue };
        // Ignition merges the fields of a file one by one.
        let sticks = if file["contents"]["compression"]
            .as_str()
            .is_some_and(|it| !it.is_empty())
        {
            ", except that its `compression` stays and makes the pool's content unreadable"
        } else {
            ""
        };
        let by_config = configs_of(hub, host).find(|document| writes(document, path));
        if let Some(config) = by_config {
            findings.add_related(
                &lints::OVERRIDE_PATH,
                text.span,
                format!(
                    "{path} is also in the config of the pool of `{who}`, which wins at first boot: this has no effect{sticks}"
                ),
                config.span(),
                "the machine config",
            );
        } else if operator_owns(path) {
            findings.add_with_help(
                &lints::OVERRIDE_PATH,
                text.span,
                format!("{path} is a file of the operator's templates, which win at first boot: this has no effect on `{who}`{sticks}"),
                "put it into a MachineConfig of the host's pool",
            );
        }
    }
}

/// A file that gives the kubelet its labels hides the one that a remote node gives itself.
fn label_file(hub: &Hub<'_>, host: &HostView<'_>, options: &CheckOptions, findings: &mut Findings) {
    let Some(cluster) = hub.cluster_of(host) else { return };
    if !hub.is_remote(host) || release(cluster, options).is_some_and(|release| release < DETECTS_REMOTE) {
        return;
    }
    let by_override = host.ignition.and_then(|text| {
        let value: serde_json::Value = serde_json::from_str(text.text).ok()?;
        let config = parse(&value).config?;
        let contents = file_contents(config.find_file(KUBELET_ENV_PATH)?).ok()?;
        Some((contents, text.span))
    });
    // The pool's file wins.
    let Some((contents, span)) = pool_file(hub, host, KUBELET_ENV_PATH).or(by_override) else {
        return;
    };
    let contents = String::from_utf8_lossy(&contents);
    if !contents.contains(KUBELET_ENV_VARIABLE) {
        return;
    }
    let who = host.name.text;
    let after = contents
        .split_once(REMOTE_WORKER)
        .map(|(_, after)| after.strip_prefix('=').unwrap_or(after));
    let value = after.map(|after| after.split([',', '"', '\'', '\n', ' ']).next().unwrap_or_default());
    match value {
        None => findings.add(
            &lints::REMOTE_LABEL,
            span,
            format!("`{who}` is remote, and the file with its labels hides {REMOTE_WORKER}: routers may land there"),
        ),
        Some("") => {}
        Some(value) => findings.add(
            &lints::REMOTE_LABEL,
            span,
            format!(
                "`{who}` is remote and has {REMOTE_WORKER}={value}: only an empty value keeps the default router away"
            ),
        ),
    }
}

/// The machine configs that a host's pool takes.
pub(super) fn configs_of<'a>(hub: &Hub<'a>, host: &HostView<'_>) -> impl Iterator<Item = &'a Document> {
    let role = host.pool.map_or_else(|| host.role(), |pool| pool.text).to_owned();
    let worker = host.role() == "worker";
    hub.extras_of("MachineConfig")
        .map(|extra| extra.document)
        .filter(move |document| {
            let own = config_role(document);
            own == Some(role.as_str()) || (worker && own == Some("worker"))
        })
}

/// What the machine configs of a host's pool write to a path, and where that is said.
pub(super) fn pool_file(hub: &Hub<'_>, host: &HostView<'_>, path: &str) -> Option<(Vec<u8>, Span)> {
    configs_of(hub, host).flat_map(config_files).find_map(|file| {
        text_at(file, &["path"]).filter(|text| text.text == path)?;
        let source = text_at(file, &["contents", "source"])?;
        let contents = decode_data_url(source.text).ok()?;
        Some((contents, source.span))
    })
}

pub(super) fn config_role(document: &Document) -> Option<&str> {
    document.labels()?.get(berth_pools::ROLE_LABEL)?.as_str()
}

/// The files of a machine config.
pub(super) fn config_files(document: &Document) -> &[Node] {
    let files = document
        .body()
        .and_then(|spec| spec.at(&["config", "storage", "files"]));
    files.and_then(Node::as_seq).unwrap_or_default()
}

fn writes(document: &Document, path: &str) -> bool {
    config_files(document)
        .iter()
        .any(|file| file.get("path").and_then(Node::as_str) == Some(path))
}
