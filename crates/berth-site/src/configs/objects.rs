//! Findings about the objects that machine configs are made of.

use berth_documents::{Diagnostic, Node, Span};
use berth_pools::{ProtectFinding, ProtectKind, TemplateObject};

use super::{deepest, diagnostic};
use crate::{
    generated::{GeneratingKind, Made, Outcome},
    lints,
    model::{Name, Site},
};

/// Why machine configs are not made of objects, or would not reach the pools that they are for.
pub(super) fn check(site: &Site) -> Vec<Diagnostic> {
    let mut findings = templates(site);
    for outcome in &site.generated.outcomes {
        let Some((name, spec)) = document(site, outcome) else {
            continue;
        };
        let about = |finding: &ProtectFinding| {
            let path = finding.path.trim_start_matches("spec.");
            let span = spec.and_then(|spec| deepest(spec, path)).unwrap_or(name.span);
            diagnostic(finding, Some(span))
        };
        let kind = outcome.kind.as_str();
        let mut note = |message: String| {
            let message = format!("{kind} `{}` {message}", outcome.name);
            findings.push(Diagnostic::new(&lints::KUBELET_CONFIG_NOT_RENDERED, name.span, message));
        };
        if !outcome.selects {
            note("is for no pool: its machineConfigPoolSelector selects no pool by its labels".to_owned());
        }
        for pool in &outcome.pools {
            match &pool.made {
                Made::Given | Made::Refused(_) => {}
                Made::NoBase(reason) => note(format!(
                    "is for pool `{}` and is not part of its rendered config: {reason}",
                    pool.pool
                )),
                Made::Here if is_taken(site, &pool.pool, &pool.machine_config) => {}
                Made::Here => note(format!(
                    "is for pool `{}`, which does not select its machine config {}: that has the role {}",
                    pool.pool, pool.machine_config, pool.pool
                )),
            }
        }
        // What would stop machines stops none as long as it is for no pool: a pool that comes to select it is what is wrong then.
        let harms = |problem: &&ProtectFinding| outcome.selects || problem.kind == ProtectKind::RefusedField;
        findings.extend(outcome.problems.iter().filter(harms).map(about));
        let refusals = outcome.pools.iter().filter_map(|pool| match &pool.made {
            Made::Refused(finding) => Some(about(finding)),
            _ => None,
        });
        findings.extend(refusals);
    }
    findings
}

/// Why no machine configs are made of templates.
fn templates(site: &Site) -> Vec<Diagnostic> {
    let Some((name, spec)) = &site.template_documents.controller else {
        return Vec::new();
    };
    let documents = &site.template_documents;
    let templates = &site.generated.templates;
    let findings = templates.findings.iter().map(|finding| {
        let path = finding.path.trim_start_matches("spec.");
        let (kind, name, span) = match finding.object {
            TemplateObject::ControllerConfig => {
                let place = spec.as_ref().and_then(|spec| deepest(spec, path));
                ("ControllerConfig", name, place.unwrap_or(name.span))
            }
            TemplateObject::ConfigMap => {
                let name = documents.overrides.as_ref().map_or(name, |(name, _)| name);
                ("ConfigMap", name, name.span)
            }
            TemplateObject::Secret => {
                let name = documents.pull_secret.as_ref().map_or(name, |(name, _)| name);
                ("Secret", name, name.span)
            }
        };
        let lint = if finding.is_missing_object {
            &lints::TEMPLATES_NOT_RENDERED
        } else {
            &lints::INVALID_CONTROLLER_CONFIG
        };
        let message = format!("{kind} `{}` `{}`: {}", name.value, finding.path, finding.message);
        let diagnostic = Diagnostic::new(lint, span, message);
        if finding.help.is_empty() {
            diagnostic
        } else {
            diagnostic.with_help(finding.help.clone())
        }
    });
    let held = templates.held.iter().map(|held| {
        let mut configs = site.machine_configs.iter();
        let config = configs.find(|config| *config.name.value == *held.name);
        let span = config.map_or(name.span, |config| config.name.span);
        Diagnostic::new(&lints::TEMPLATES_NOT_RENDERED, span, format!("machine config {held}"))
    });
    findings.chain(held).collect()
}

/// Where the object is that a machine config is made of.
pub(super) fn origin_span(site: &Site, machine_config: &str) -> Option<Span> {
    if site.generated.templates.configs.contains_key(machine_config) {
        return site.template_documents.controller.as_ref().map(|(name, _)| name.span);
    }
    let outcome = site.generated.origin(machine_config)?;
    document(site, outcome).map(|(name, _)| name.span)
}

fn document<'a>(site: &'a Site, outcome: &Outcome) -> Option<(&'a Name, Option<&'a Node>)> {
    match outcome.kind {
        GeneratingKind::ContainerRuntimeConfig => {
            let mut configs = site.runtime_configs.iter();
            let config = configs.find(|config| *config.name.value == *outcome.name)?;
            Some((&config.name, config.spec.as_ref()))
        }
        GeneratingKind::KubeletConfig => {
            let mut configs = site.kubelet_configs.iter();
            let config = configs.find(|config| *config.name.value == *outcome.name)?;
            Some((&config.name, config.spec.as_ref()))
        }
    }
}

/// Whether a pool takes a machine config that was made for it.
fn is_taken(site: &Site, pool: &str, machine_config: &str) -> bool {
    let pool = site.pools.iter().find(|it| *it.name.value == *pool);
    let selector = pool.and_then(|pool| pool.machine_config_selector.as_ref());
    let config = site.generated.configs.get(machine_config);
    match (selector.and_then(|selector| selector.value.compile().ok()), config) {
        (Some(selector), Some(config)) => selector.matches_with(|key| config.labels.get(key).map(String::as_str)),
        _ => false,
    }
}
