//! `MachineConfigPool` and `MachineConfig`.

use std::{collections::BTreeMap, sync::Arc};

use berth_documents::{Diagnostic, Document, Envelope, Node, Span};
use berth_labels::{Inversion, InvertError, LabelKey, LabelSelector, LabelValue};
use berth_pools::{
    BUILT_IN, CONTROLLER_CONFIG, ControllerConfig, MachineConfigError, OsImageStreams, PoolClass, TemplateReferences,
    has_templates, pull_secret, template_references,
};
use serde_json::json;

use super::{Object, host::one_of};
use crate::{
    configs::{check_alone, deepest},
    fields::{Fields, Report, SelectorField, label_list, string_map},
    lints,
    model::{
        ContainerRuntimeConfig, Declared, IntOrString, KubeletConfig, MachineConfig, Name, Pool, Spanned,
        TemplateDocuments,
    },
    names,
};

pub(super) fn read(object: &Object<'_>, report: &mut Report<'_>) -> Pool {
    let name = &object.name.value;
    let mut fields = Fields::open(object.body, "MachineConfigPool spec", report);
    let node_selector = fields.selector("nodeSelector", report);
    let broken = matches!(node_selector, SelectorField::Broken);
    let node_selector = node_selector.ok();
    let machine_config_selector = fields.selector("machineConfigSelector", report).ok();
    let paused = fields.bool("paused", report).unwrap_or_default();
    let max_unavailable = max_unavailable(&mut fields, report);
    fields.allow(&["configuration", "pinnedImageSets", "osImageStream"]);
    fields.finish(report);

    let explicit = annotation_labels(object, names::NODE_LABELS, report);
    let choices: BTreeMap<LabelKey, LabelValue> = annotation_labels(object, names::IMPLICIT_VALUES, report)
        .into_iter()
        .filter_map(|declared| Some((declared.key, declared.value?)))
        .collect();
    let implicit = match &node_selector {
        Some(selector) if !selector.value.is_empty() => invert(name, selector, &choices, report),
        _ if broken => None,
        Some(selector) => {
            let message = format!("the empty node selector of pool `{name}` selects no node");
            report.push(empty_selector(selector.span, message));
            None
        }
        None => {
            let message = format!("pool `{name}` has no node selector, so it selects no node");
            report.push(empty_selector(object.name.span, message));
            None
        }
    };
    check_machine_config_selector(object, machine_config_selector.as_ref(), report);
    let reserved_only = reserved_only(object, report);
    Pool {
        name: object.name.clone(),
        labels: labels(object, report),
        explicit,
        reserved_only,
        node_selector,
        broken_selector: broken,
        implicit,
        machine_config_selector,
        os_image_stream: object
            .body
            .and_then(|body| body.at(&["osImageStream", "name"]))
            .and_then(Node::as_str)
            .filter(|name| !name.is_empty())
            .map(str::to_owned),
        paused,
        max_unavailable,
    }
}

/// A built-in pool cannot be closed: OpenShift's own machines register in it, by flags of their units.
fn reserved_only(object: &Object<'_>, report: &mut Report<'_>) -> bool {
    let allowed = [("true", true), ("false", false)];
    let Some(said) = one_of(object, names::RESERVED_ONLY, &allowed, report).filter(|said| said.value) else {
        return false;
    };
    let name = object.name.value.as_ref();
    if BUILT_IN.contains(&name) {
        let message = format!("the built-in pool `{name}` cannot be reserved-only: any machine may register in it");
        let help = format!("remove `{}`, or set it on a custom pool", names::RESERVED_ONLY);
        report.push(Diagnostic::new(&lints::INVALID_VALUE, said.span, message).with_help(help));
        return false;
    }
    true
}

fn empty_selector(span: Span, message: String) -> Diagnostic {
    Diagnostic::new(&lints::EMPTY_SELECTOR, span, message).with_help("select the pool's nodes with matchLabels")
}

pub(super) fn read_machine_config(object: &Object<'_>, report: &mut Report<'_>) -> MachineConfig {
    let mut fields = Fields::open(object.body, "MachineConfig spec", report);
    fields.allow(&[
        "osImageURL",
        "baseOSExtensionsContainerImage",
        "config",
        "kernelArguments",
        "extensions",
        "fips",
        "kernelType",
    ]);
    fields.finish(report);
    let mut config = MachineConfig {
        name: object.name.clone(),
        labels: labels(object, report),
        annotations: annotations(object, report),
        spec: object.body.cloned(),
        parsed: None,
    };
    let wire = json!({
        "metadata": {"name": &*config.name.value, "labels": &config.labels, "annotations": &config.annotations},
        "spec": object.body.map(Node::to_json),
    });
    match berth_pools::MachineConfig::from_json(&wire) {
        Ok(parsed) => {
            report.diagnostics.extend(check_alone(&config, &parsed));
            config.parsed = Some(Box::new(parsed));
        }
        Err(error) => report.push(unreadable(object, &error)),
    }
    config
}

pub(super) fn read_kubelet_config(object: &Object<'_>, report: &mut Report<'_>) -> Option<KubeletConfig> {
    let mut fields = Fields::open(object.body, "KubeletConfig spec", report);
    fields.allow(&[
        "autoSizingReserved",
        "kubeletConfig",
        "logLevel",
        "machineConfigPoolSelector",
        "tlsSecurityProfile",
    ]);
    fields.finish(report);
    if is_being_deleted(object) {
        return None;
    }
    match berth_pools::KubeletConfig::from_json(&selecting(object, report)) {
        Ok(parsed) => Some(KubeletConfig {
            name: object.name.clone(),
            spec: object.body.cloned(),
            parsed,
        }),
        Err(error) => {
            report.push(unreadable(object, &error));
            None
        }
    }
}

pub(super) fn read_runtime_config(object: &Object<'_>, report: &mut Report<'_>) -> Option<ContainerRuntimeConfig> {
    let mut fields = Fields::open(object.body, "ContainerRuntimeConfig spec", report);
    fields.allow(&["containerRuntimeConfig", "machineConfigPoolSelector"]);
    fields.finish(report);
    if is_being_deleted(object) {
        return None;
    }
    match berth_pools::ContainerRuntimeConfig::from_json(&selecting(object, report)) {
        Ok(parsed) => Some(ContainerRuntimeConfig {
            name: object.name.clone(),
            spec: object.body.cloned(),
            parsed,
        }),
        Err(error) => {
            report.push(unreadable(object, &error));
            None
        }
    }
}

/// An object that selects pools, as the API server would give it.
fn selecting(object: &Object<'_>, report: &mut Report<'_>) -> serde_json::Value {
    let created = object.document.root.at(&["metadata", "creationTimestamp"]);
    json!({
        "metadata": {
            "name": &*object.name.value,
            "annotations": annotations(object, report),
            "creationTimestamp": created.and_then(Node::as_str),
        },
        "spec": object.body.map(Node::to_json),
    })
}

/// Its machine configs go with it.
fn is_being_deleted(object: &Object<'_>) -> bool {
    let deleted = object.document.root.at(&["metadata", "deletionTimestamp"]);
    deleted.is_some_and(|time| !time.is_null())
}

pub(super) fn read_controller_config(object: &Object<'_>, report: &mut Report<'_>) -> Option<ControllerConfig> {
    let wire = json!({
        "metadata": {"annotations": annotations(object, report)},
        "spec": object.body.map(Node::to_json),
    });
    let read = ControllerConfig::from_json(&wire);
    read.map_err(|error| report.push(unreadable(object, &error))).ok()
}

/// Where machine configs are made of templates: the name and `spec` of the document that says with what.
pub(super) fn template_controller(
    config: Option<&ControllerConfig>,
    object: &Object<'_>,
    report: &mut Report<'_>,
) -> Option<(Name, Option<Node>)> {
    config?.for_templates.as_ref()?;
    if *object.name.value != *CONTROLLER_CONFIG {
        let message = format!(
            "no machine configs are made of templates for ControllerConfig `{}`",
            object.name.value
        );
        let diagnostic = Diagnostic::new(&lints::INVALID_CONTROLLER_CONFIG, object.name.span, message);
        report.push(diagnostic.with_help(format!("the one that counts is named {CONTROLLER_CONFIG}")));
        return None;
    }
    Some((object.name.clone(), object.body.cloned()))
}

/// The objects that the `ControllerConfig` among the documents names.
pub(super) fn references<'a>(mut documents: impl Iterator<Item = &'a Document>) -> TemplateReferences {
    let controller = documents.find(|document| document.kind() == "ControllerConfig");
    let spec = controller.and_then(Document::body).map(Node::to_json);
    let spec = spec.filter(has_templates);
    spec.map(|spec| template_references(&spec)).unwrap_or_default()
}

/// Takes a `ConfigMap` or `Secret` that the `ControllerConfig` names; others are nothing that Berth uses.
pub(super) fn read_referenced(
    document: &Document,
    references: &TemplateReferences,
    documents: &mut TemplateDocuments,
    report: &mut Report<'_>,
) -> bool {
    let Envelope::Kubernetes { api_version, kind } = &document.envelope else {
        return false;
    };
    let Some((name, span)) = document.name().filter(|_| api_version == "v1") else {
        return false;
    };
    let is = |reference: &Option<String>| reference.as_deref() == Some(name);
    let object_name = Spanned::new(Arc::from(name), span);
    match kind.as_str() {
        "ConfigMap" if is(&references.templates) && documents.overrides.is_none() => {
            let data = document.root.get("data").filter(|data| !data.is_null());
            let data = data
                .map(|data| string_map(data, "a template", report))
                .unwrap_or_default();
            documents.overrides = Some((object_name, data));
            true
        }
        "Secret" if is(&references.pull_secret) && documents.pull_secret.is_none() => {
            documents.pull_secret = Some((object_name, pull_secret(&document.root.to_json())));
            true
        }
        _ => false,
    }
}

pub(super) fn read_os_image_streams(object: &Object<'_>, report: &mut Report<'_>) -> Option<OsImageStreams> {
    let wire = json!({"status": object.document.root.get("status").map(Node::to_json)});
    let read = OsImageStreams::from_json(&wire);
    read.map_err(|error| report.push(unreadable(object, &error))).ok()
}

fn unreadable(object: &Object<'_>, error: &MachineConfigError) -> Diagnostic {
    let (span, message) = match error {
        MachineConfigError::Field { path, message } => {
            let place = object
                .body
                .and_then(|body| deepest(body, path.trim_start_matches("spec.")));
            (
                place.unwrap_or(object.name.span),
                format!(
                    "`{path}` of {} `{}`: {message}",
                    object.document.kind(),
                    object.name.value
                ),
            )
        }
        MachineConfigError::NoName => (object.name.span, error.to_string()),
    };
    Diagnostic::new(&lints::INVALID_MACHINE_CONFIG, span, message)
}

fn labels(object: &Object<'_>, report: &mut Report<'_>) -> BTreeMap<String, String> {
    metadata(object, "labels", report)
}

fn annotations(object: &Object<'_>, report: &mut Report<'_>) -> BTreeMap<String, String> {
    metadata(object, "annotations", report)
}

fn metadata(object: &Object<'_>, field: &str, report: &mut Report<'_>) -> BTreeMap<String, String> {
    object
        .document
        .root
        .at(&["metadata", field])
        .filter(|node| !node.is_null())
        .map(|node| string_map(node, "a value in metadata", report))
        .unwrap_or_default()
}

fn annotation_labels(object: &Object<'_>, annotation: &str, report: &mut Report<'_>) -> Vec<Declared> {
    object
        .document
        .annotations()
        .and_then(|map| map.get(annotation))
        .map(|node| label_list(node, &format!("annotation `{annotation}`"), report))
        .unwrap_or_default()
}

fn invert(
    pool: &str,
    selector: &Spanned<LabelSelector>,
    choices: &BTreeMap<LabelKey, LabelValue>,
    report: &mut Report<'_>,
) -> Option<Inversion> {
    let Ok(compiled) = selector.value.compile() else {
        for error in selector.value.errors() {
            let message = format!("the node selector of pool `{pool}` is invalid: {error}");
            report.push(
                Diagnostic::new(&lints::INVALID_SELECTOR, selector.span, message)
                    .with_help("this pool selects no node until it is corrected; other pools are not affected"),
            );
        }
        return None;
    };
    match compiled.invert(choices) {
        Ok(inversion) => Some(inversion),
        Err(error @ (InvertError::Ambiguous { .. } | InvertError::Choice { .. })) => {
            let message = format!("pool `{pool}`: {error}");
            let help = format!("choose one with annotation `{}`", names::IMPLICIT_VALUES);
            report.push(Diagnostic::new(&lints::AMBIGUOUS_SELECTOR, selector.span, message).with_help(help));
            None
        }
        Err(error) => {
            let message = format!("pool `{pool}`: {error}");
            report.push(Diagnostic::new(&lints::UNSATISFIABLE_SELECTOR, selector.span, message));
            None
        }
    }
}

/// OpenShift's admission lets a custom pool in only when it takes the worker role's configuration too.
fn check_machine_config_selector(
    object: &Object<'_>,
    selector: Option<&Spanned<LabelSelector>>,
    report: &mut Report<'_>,
) {
    if PoolClass::of(&object.name.value) != PoolClass::Custom || object.name.value.as_ref() == "arbiter" {
        return;
    }
    let Some(selector) = selector else { return };
    let errors = selector.value.errors();
    for error in &errors {
        let message = format!(
            "the machine config selector of pool `{}` is invalid: {error}",
            object.name.value
        );
        report.push(Diagnostic::new(&lints::INVALID_SELECTOR, selector.span, message));
    }
    if !errors.is_empty() {
        return;
    }
    let inherits = ["master", "worker", "arbiter"].iter().any(|role| {
        selector
            .value
            .match_labels
            .get(names::ROLE)
            .is_some_and(|value| value == role)
    }) || selector
        .value
        .match_expressions
        .iter()
        .filter(|r| r.key == names::ROLE)
        .any(|requirement| {
            let worker = requirement.values.iter().any(|value| value == "worker");
            match requirement.operator.as_str() {
                "In" => worker,
                "NotIn" => !worker,
                _ => false,
            }
        });
    if !inherits {
        let message = format!(
            "pool `{}` does not take the machine configs of role `worker`",
            object.name.value
        );
        report.push(
            Diagnostic::new(&lints::POOL_WITHOUT_WORKER, selector.span, message).with_help(format!(
                "select `{}` with `operator: In` and values that contain `worker`",
                names::ROLE
            )),
        );
    }
}

fn max_unavailable(fields: &mut Fields<'_>, report: &mut Report<'_>) -> Option<Spanned<IntOrString>> {
    let node = fields.get("maxUnavailable")?;
    let value = node
        .as_i64()
        .map(IntOrString::Int)
        .or_else(|| node.as_str().map(|text| IntOrString::String(text.to_owned())));
    let meaningful = match &value {
        Some(IntOrString::Int(number)) => (0..=i64::from(i32::MAX)).contains(number),
        Some(IntOrString::String(text)) => text.strip_suffix('%').is_some_and(|digits| {
            digits.bytes().all(|b| b.is_ascii_digit()) && matches!(digits.parse::<u8>(), Ok(0..=100))
        }),
        None => false,
    };
    if !meaningful {
        let written = report.sources.snippet(node.span);
        report.push(
            Diagnostic::new(
                &lints::INVALID_MAX_UNAVAILABLE,
                node.span,
                format!("`maxUnavailable` cannot be {written}"),
            )
            .with_help("write a whole number of at least 1, or a percentage from \"1%\" to \"100%\""),
        );
        return None;
    }
    if matches!(&value, Some(IntOrString::Int(0)))
        || matches!(&value, Some(IntOrString::String(text)) if text.trim_start_matches('0') == "%")
    {
        report.push(
            Diagnostic::new(
                &lints::ZERO_MAX_UNAVAILABLE,
                node.span,
                "`maxUnavailable` 0 is read as 1",
            )
            .with_help("to hold the pool still, write `paused: true`"),
        );
    }
    value.map(|value| Spanned::new(value, node.span))
}
