//! The machine configs of a site: read, rendered per pool, and judged for what they would do to its labels.

mod objects;
mod operator;

use std::collections::BTreeMap;

use berth_documents::{Diagnostic, Lint, Node, Sources, Span, Style};
use berth_labels::{Flavour, LabelSet};
use berth_pools::{
    ProtectFinding, ProtectKind, ProtectedLabels, RenderError, RenderOptions, RenderProblem, Rendered, SelectError,
    TemplateInput, protect, render, select, validate,
};

use crate::{
    generated::{Generated, GeneratingPool, generate},
    lints,
    model::{Declared, MachineConfig, Pool, Site},
    templated::{Templated, templated},
};

pub use operator::{NameDoubt, name_doubts, name_notes};

/// Why a pool has no rendered config.
#[derive(Debug, thiserror::Error)]
pub enum PoolRenderError {
    /// The pool does not say which machine configs it takes.
    #[error("pool {0} has no machineConfigSelector")]
    NoSelector(String),
    /// No machine config, or an unusable selector.
    #[error("pool {pool}: {error}")]
    Select {
        /// The pool.
        pool: String,
        /// The reason.
        error: SelectError,
    },
    /// Machine configs that cannot be read; each has its finding.
    #[error("pool {pool}: machine config {} cannot be read", .configs.join(", "))]
    Unreadable {
        /// The pool.
        pool: String,
        /// Their names.
        configs: Vec<String>,
    },
    /// They do not go together.
    #[error("Failed to render configuration for pool {pool}: {error}")]
    Render {
        /// The pool.
        pool: String,
        /// What is wrong.
        error: RenderError,
    },
}

/// The machine configs that can be read, in document order, and those that controllers make of other objects.
pub fn machine_configs(site: &Site) -> Vec<&berth_pools::MachineConfig> {
    let generated = &site.generated.configs;
    let documents = site
        .machine_configs
        .iter()
        .filter_map(|config| config.parsed.as_deref());
    // One of the same name was made by Berth earlier.
    let documents = documents.filter(|config| !generated.contains_key(&config.name));
    documents.chain(generated.values()).collect()
}

/// The machine configs that controllers make of objects of the site.
pub(crate) fn generated_of(site: &Site) -> Generated {
    let pools: Vec<GeneratingPool<'_>> = site
        .pools
        .iter()
        .map(|pool| GeneratingPool {
            name: &pool.name.value,
            labels: &pool.labels,
            machine_config_selector: pool.machine_config_selector.as_ref().map(|selector| &selector.value),
            node_selector: pool.node_selector.as_ref().map(|selector| &selector.value),
        })
        .collect();
    let configs: Vec<_> = site
        .machine_configs
        .iter()
        .filter_map(|config| config.parsed.as_deref())
        .collect();
    let templates = templated_of(site, &configs);
    let mut configs = configs;
    configs.retain(|config| !templates.configs.contains_key(&config.name));
    configs.extend(templates.configs.values());
    let kubelet: Vec<_> = site.kubelet_configs.iter().map(|config| &config.parsed).collect();
    let runtime: Vec<_> = site.runtime_configs.iter().map(|config| &config.parsed).collect();
    let mut generated = generate(&pools, &configs, &kubelet, &runtime);
    generated.configs.extend(templates.configs.clone());
    generated.templates = templates;
    generated
}

fn templated_of(site: &Site, configs: &[&berth_pools::MachineConfig]) -> Templated {
    let spec = site
        .controller_config
        .as_ref()
        .and_then(|config| config.for_templates.as_ref());
    let Some(spec) = spec.filter(|_| site.template_documents.controller.is_some()) else {
        return Templated::default();
    };
    let pools: Vec<&str> = site.pools.iter().map(|pool| &*pool.name.value).collect();
    let documents = &site.template_documents;
    let input = TemplateInput {
        spec,
        pools: &pools,
        overrides: documents.overrides.as_ref().map(|(_, data)| data),
        pull_secret: documents.pull_secret.as_ref().map(|(_, credentials)| credentials),
    };
    templated(&input, configs)
}

/// Merges the machine configs of a pool, with what OpenShift's operator takes from its own objects where the documents have
/// them.
pub fn render_pool(site: &Site, pool: &Pool, options: &RenderOptions) -> Result<Rendered, PoolRenderError> {
    let name = || pool.name.value.to_string();
    let Some(selector) = &pool.machine_config_selector else {
        return Err(PoolRenderError::NoSelector(name()));
    };
    let unreadable: Vec<String> = match selector.value.compile() {
        Ok(compiled) => site
            .machine_configs
            .iter()
            .filter(|config| config.parsed.is_none())
            .filter(|config| compiled.matches_with(|key| config.labels.get(key).map(String::as_str)))
            .map(|config| config.name.value.to_string())
            .collect(),
        Err(_) => Vec::new(),
    };
    if !unreadable.is_empty() {
        return Err(PoolRenderError::Unreadable {
            pool: name(),
            configs: unreadable,
        });
    }
    let configs = select(machine_configs(site), &selector.value)
        .map_err(|error| PoolRenderError::Select { pool: name(), error })?;
    let options = operator::options(site, pool, &configs, options);
    render(&pool.name.value, configs, &options).map_err(|error| PoolRenderError::Render { pool: name(), error })
}

/// Everything that is wrong with a machine config on its own, each finding at its place.
pub(crate) fn check_alone(config: &MachineConfig, parsed: &berth_pools::MachineConfig) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for problem in validate(parsed) {
        match &problem {
            RenderProblem::Ignition { findings: errors, .. } => {
                findings.extend(errors.iter().map(|error| {
                    let path = format!("config.{}", error.path.trim_start_matches('$').trim_start_matches('.'));
                    let message = format!(
                        "Ignition would refuse machine config `{}`: {}",
                        config.name.value, error.message
                    );
                    Diagnostic::new(&lints::INVALID_MACHINE_CONFIG, span_at(config, &path), message)
                }));
            }
            other => {
                let span = match other {
                    RenderProblem::KernelType { .. } => span_at(config, "kernelType"),
                    RenderProblem::Extensions { .. } => span_at(config, "extensions"),
                    RenderProblem::FileMode { path, .. } => file_field(config, path, "mode"),
                    _ => config.name.span,
                };
                findings.push(Diagnostic::new(&lints::INVALID_MACHINE_CONFIG, span, other.to_string()));
            }
        }
    }
    findings
}

/// What is wrong with the machine configs of each pool taken together.
pub fn check_pools(sources: &Sources, site: &Site, flavour: Flavour) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    findings.extend(objects::check(site));
    if machine_configs(site).is_empty() {
        return findings;
    }
    let alone: Vec<RenderProblem> = machine_configs(site).into_iter().flat_map(validate).collect();
    for pool in &site.pools {
        findings.extend(check_labels(sources, site, pool, flavour));
        let selector = pool.machine_config_selector.as_ref();
        match render_pool(site, pool, &RenderOptions::default()) {
            Err(
                error @ PoolRenderError::Select {
                    error: SelectError::NoneFound { .. } | SelectError::SelectingAll,
                    ..
                },
            ) => {
                let span = selector.map_or(pool.name.span, |selector| selector.span);
                findings.push(Diagnostic::new(&lints::POOL_WITHOUT_CONFIGS, span, error.to_string()));
            }
            // An invalid selector and what cannot be read have been reported where they were read.
            Ok(_)
            | Err(
                PoolRenderError::NoSelector(_) | PoolRenderError::Unreadable { .. } | PoolRenderError::Select { .. },
            ) => {}
            Err(PoolRenderError::Render { error, .. }) => {
                let span = selector.map_or(pool.name.span, |selector| selector.span);
                let together = error.problems.iter().filter(|problem| !alone.contains(problem));
                findings.extend(together.map(|problem| {
                    let message = format!(
                        "the machine configs of pool `{}` do not go together: {problem}",
                        pool.name.value
                    );
                    Diagnostic::new(&lints::RENDER_FAILED, span, message)
                }));
            }
        }
    }
    findings
}

/// The labels of a pool that no configuration may lose.
pub fn protected_labels(pool: &Pool) -> ProtectedLabels {
    ProtectedLabels {
        pool: pool.name.value.to_string(),
        identifying: pool
            .implicit
            .as_ref()
            .map(|implicit| implicit.labels.clone())
            .unwrap_or_default(),
        explicit: explicit(&pool.explicit),
    }
}

/// No configuration may lose the labels that identify a pool, or keep its nodes from registering.
fn check_labels(sources: &Sources, site: &Site, pool: &Pool, flavour: Flavour) -> Vec<Diagnostic> {
    let labels = protected_labels(pool);
    let selected = pool
        .machine_config_selector
        .as_ref()
        .and_then(|selector| select(machine_configs(site), &selector.value).ok())
        .unwrap_or_default();
    let found = protect(selected, &labels, flavour);
    let configs: BTreeMap<&str, &MachineConfig> = site
        .machine_configs
        .iter()
        .map(|config| (config.name.value.as_ref(), config))
        .collect();
    let findings = found.iter().map(|finding| {
        let name = finding.machine_config.as_str();
        let config = configs.get(name).filter(|_| !site.generated.configs.contains_key(name));
        let span = config.map(|config| content_span(sources, config, finding));
        diagnostic(finding, span.or_else(|| objects::origin_span(site, name)))
    });
    findings.collect()
}

fn explicit(declared: &[Declared]) -> LabelSet {
    declared
        .iter()
        .filter_map(|declared| Some((declared.key.clone(), declared.value.clone()?)))
        .collect()
}

fn diagnostic(finding: &ProtectFinding, span: Option<Span>) -> Diagnostic {
    let lint: &'static Lint = match finding.kind {
        ProtectKind::DropsLabels | ProtectKind::OverridesLabel | ProtectKind::RefusedLabel => &lints::POOL_LABELS_LOST,
        ProtectKind::StopsKubelet => &lints::KUBELET_STOPPED,
        ProtectKind::StopsRegistration => &lints::NODE_NOT_REGISTERED,
        ProtectKind::RefusedField => &lints::REFUSED_SETTING,
        ProtectKind::Unreadable => &lints::UNREADABLE_CONTENT,
    };
    let at = finding.line.map_or_else(String::new, |line| format!(", line {line}"));
    let message = format!("{} `{}`{at}: {}", finding.machine_config, finding.path, finding.message);
    let diagnostic = Diagnostic::new(lint, span, message);
    if finding.help.is_empty() {
        diagnostic
    } else {
        diagnostic.with_help(finding.help.clone())
    }
}

/// The place of a finding inside a unit, drop-in or file. Units are written as text, so that the very line can be
/// shown; the contents of files are encoded, so that their source has to do.
fn content_span(sources: &Sources, config: &MachineConfig, finding: &ProtectFinding) -> Span {
    let text = unit_text(config, &finding.path);
    match (text, finding.line) {
        (Some(text), Some(line)) => line_span(sources, text, line),
        (Some(text), None) => text.span,
        (None, _) => file_field(config, &finding.path, "contents"),
    }
}

/// The contents of `kubelet.service` or of a drop-in `kubelet.service.d/NAME`.
fn unit_text<'a>(config: &'a MachineConfig, path: &str) -> Option<&'a Node> {
    let units = config.spec.as_ref()?.at(&["config", "systemd", "units"])?.as_seq()?;
    let (unit, dropin) = match path.split_once(".d/") {
        Some((unit, dropin)) => (unit, Some(dropin)),
        None => (path, None),
    };
    let named = |node: &&Node, name: &str| node.get("name").and_then(Node::as_str) == Some(name);
    let unit = units.iter().find(|node| named(node, unit))?;
    match dropin {
        None => unit.get("contents"),
        Some(dropin) => unit
            .get("dropins")?
            .as_seq()?
            .iter()
            .find(|node| named(node, dropin))?
            .get("contents"),
    }
}

/// The span of one line of a block scalar, or of the whole value where lines cannot be told apart.
fn line_span(sources: &Sources, text: &Node, line: u32) -> Span {
    let whole = text.span;
    if text.style != Style::BlockScalar {
        return whole;
    }
    let written = sources.snippet(whole);
    // `|` and `>` stand alone on the line before the text; some readers give the text without them.
    let header = usize::from(written.starts_with(['|', '>']));
    let mut start = 0;
    for (number, piece) in written.split_inclusive('\n').enumerate() {
        if number == (line as usize).saturating_sub(1) + header {
            let indent = piece.len() - piece.trim_start().len();
            let offset = |at: usize| whole.start.saturating_add(u32::try_from(at).unwrap_or(u32::MAX));
            return Span::new(
                whole.source,
                offset(start + indent),
                offset(start + piece.trim_end().len().max(indent)),
            );
        }
        start += piece.len();
    }
    whole
}

/// A field of the file with this path.
fn file_field(config: &MachineConfig, path: &str, field: &str) -> Span {
    let files = config
        .spec
        .as_ref()
        .and_then(|spec| spec.at(&["config", "storage", "files"]))
        .and_then(Node::as_seq);
    let file = files
        .into_iter()
        .flatten()
        .find(|file| file.get("path").and_then(Node::as_str) == Some(path));
    let found = file.map(|file| file.get(field).unwrap_or(file).span);
    found.unwrap_or(config.name.span)
}

fn span_at(config: &MachineConfig, path: &str) -> Span {
    config
        .spec
        .as_ref()
        .and_then(|spec| deepest(spec, path))
        .unwrap_or(config.name.span)
}

/// The deepest node on a path such as `config.storage.files.2.mode` or `kernelArguments[0]`.
pub(crate) fn deepest(root: &Node, path: &str) -> Option<Span> {
    let mut node = root;
    let mut found = None;
    for step in path.split(['.', '[', ']']).filter(|step| !step.is_empty()) {
        let next = match step.parse::<usize>() {
            Ok(index) => node.as_seq().and_then(|items| items.get(index)),
            Err(_) => node.get(step),
        };
        let Some(next) = next else { break };
        node = next;
        found = Some(node.span);
    }
    found
}
