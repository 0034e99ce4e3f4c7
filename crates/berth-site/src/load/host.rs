//! drydock's racks, host profiles and bare-metal nodes.

use berth_documents::{Diagnostic, Node};
use berth_labels::Flavour;

use super::{Object, berth::reference, network};
use crate::{
    fields::{Fields, Report},
    lints,
    model::{BaremetalNode, Declared, HostData, HostProfile, Rack, Spanned},
    names,
};

pub(super) fn read_rack(object: &Object<'_>, report: &mut Report<'_>) -> Rack {
    let mut fields = Fields::open(object.body, "Rack", report);
    let clli = fields.open_field("location", report).string("clli", report);
    let mut metadata = fields.open_field("metadata", report);
    let (owner_data, unusable) = owner_data(&mut metadata, false, report);
    metadata.allow(&["tags"]);
    metadata.finish(report);
    let local_networks = fields.names("local_networks", report);
    fields.allow(&["tor_switches", "labels"]);
    fields.finish(report);
    Rack {
        name: object.name.clone(),
        clli,
        local_networks,
        owner_data,
        unusable,
    }
}

pub(super) fn read_profile(object: &Object<'_>, report: &mut Report<'_>) -> HostProfile {
    let mut fields = Fields::open(object.body, "HostProfile", report);
    let data = host_data(object, &mut fields, report);
    fields.finish(report);
    HostProfile {
        name: object.name.clone(),
        data,
    }
}

pub(super) fn read_node(object: &Object<'_>, report: &mut Report<'_>) -> BaremetalNode {
    let mut fields = Fields::open(object.body, "BaremetalNode", report);
    let data = host_data(object, &mut fields, report);
    let addressing = network::addressing(&mut fields, report);
    fields.finish(report);
    // Airship documents have labels but no annotations, so that both places are read.
    let pin = [object.document.labels(), object.document.annotations()]
        .into_iter()
        .flatten()
        .find_map(|map| map.get(names::POOL));
    BaremetalNode {
        name: object.name.clone(),
        pool: pin.and_then(|node| reference(node, &format!("`{}`", names::POOL), report)),
        addressing,
        data,
    }
}

/// Whose kubelet the region runs, said in the document's label or annotation.
pub(super) fn read_flavour(object: &Object<'_>, report: &mut Report<'_>) -> Option<Spanned<Flavour>> {
    let allowed = [("upstream", Flavour::Upstream), ("openshift", Flavour::Openshift)];
    one_of(object, names::FLAVOUR, &allowed, report)
}

/// Whether nodes of the region get labels that say what the documents know of them.
pub(super) fn read_dynamic(object: &Object<'_>, report: &mut Report<'_>) -> Option<bool> {
    let allowed = [("enabled", true), ("disabled", false)];
    one_of(object, names::DYNAMIC_LABELS, &allowed, report).map(|said| said.value)
}

/// A choice that a document's label or annotation says.
pub(super) fn one_of<T: Copy>(
    object: &Object<'_>,
    key: &str,
    allowed: &[(&str, T)],
    report: &mut Report<'_>,
) -> Option<Spanned<T>> {
    let maps = [object.document.labels(), object.document.annotations()];
    let node = maps.into_iter().flatten().find_map(|map| map.get(key))?;
    let text = reference(node, &format!("`{key}`"), report)?;
    if let Some((_, value)) = allowed.iter().find(|(name, _)| **name == *text.value) {
        return Some(Spanned::new(*value, text.span));
    }
    let names: Vec<String> = allowed.iter().map(|(name, _)| format!("`{name}`")).collect();
    let message = format!("`{key}` cannot be `{}`", text.value);
    let help = format!("allowed values: {}", names.join(", "));
    report.push(Diagnostic::new(&lints::INVALID_VALUE, text.span, message).with_help(help));
    None
}

/// Whether a credential is written in the document itself, and neither inherited from another layer nor substituted.
fn is_written(object: &Object<'_>, credential: &Node) -> bool {
    const PATHS: [&str; 2] = [".oob.credential", "$.oob.credential"];
    let root = object.document.root.span;
    let inside = root.source == credential.span.source && (root.start..=root.end).contains(&credential.span.start);
    let substitutions = object.document.root.at(&["metadata", "substitutions"]);
    let mut destinations = substitutions
        .and_then(Node::as_seq)
        .unwrap_or_default()
        .iter()
        .filter_map(|substitution| substitution.get("dest"))
        .flat_map(|dest| dest.as_seq().unwrap_or_else(|| std::slice::from_ref(dest)))
        .filter_map(|dest| dest.get("path")?.as_str());
    inside && !destinations.any(|path| PATHS.contains(&path))
}

/// Labels, and where Airship's rules hold what cannot be one: that concerns the nodes that use it.
fn owner_data(metadata: &mut Fields<'_>, removals: bool, report: &mut Report<'_>) -> (Vec<Declared>, Vec<Diagnostic>) {
    let before = report.diagnostics.len();
    let labels = metadata.labels("owner_data", removals, report);
    let found = report.diagnostics.iter().skip(before);
    let unusable = found.filter(|found| {
        let of_kubernetes = [&lints::INVALID_LABEL_KEY, &lints::INVALID_LABEL_VALUE];
        report.airship && of_kubernetes.contains(&found.lint)
    });
    let unusable = unusable.cloned().collect();
    (labels, unusable)
}

fn host_data(object: &Object<'_>, fields: &mut Fields<'_>, report: &mut Report<'_>) -> HostData {
    let profile = fields.name("host_profile", report);
    let hardware_profile = fields.name("hardware_profile", report);
    fields.allow(&["storage", "platform"]);
    let mut metadata = fields.open_field("metadata", report);
    let (owner_data, unusable) = owner_data(&mut metadata, true, report);
    let data = HostData {
        profile,
        hardware_profile,
        unusable,
        rack: metadata.name("rack", report),
        tags: metadata.strings("tags", report),
        owner_data,
        network: network::host_network(
            fields,
            &mut metadata,
            &|credential| is_written(object, credential),
            report,
        ),
    };
    metadata.finish(report);
    data
}
