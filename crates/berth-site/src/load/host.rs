//! drydock's racks, host profiles and bare-metal nodes.

use berth_documents::Diagnostic;
use berth_labels::Flavour;

use super::{Object, berth::reference, network};
use crate::{
    fields::{Fields, Report},
    lints,
    model::{BaremetalNode, HostData, HostProfile, Rack, Spanned},
    names,
};

pub(super) fn read_rack(object: &Object<'_>, report: &mut Report<'_>) -> Rack {
    let mut fields = Fields::open(object.body, "Rack", report);
    let clli = fields.open_field("location", report).string("clli", report);
    let mut metadata = fields.open_field("metadata", report);
    let owner_data = metadata.labels("owner_data", false, report);
    metadata.allow(&["tags"]);
    metadata.finish(report);
    let local_networks = fields.names("local_networks", report);
    fields.allow(&["tor_switches"]);
    fields.finish(report);
    Rack {
        name: object.name.clone(),
        clli,
        local_networks,
        owner_data,
    }
}

pub(super) fn read_profile(object: &Object<'_>, report: &mut Report<'_>) -> HostProfile {
    let mut fields = Fields::open(object.body, "HostProfile", report);
    let data = host_data(&mut fields, report);
    fields.finish(report);
    HostProfile {
        name: object.name.clone(),
        data,
    }
}

pub(super) fn read_node(object: &Object<'_>, report: &mut Report<'_>) -> BaremetalNode {
    let mut fields = Fields::open(object.body, "BaremetalNode", report);
    let data = host_data(&mut fields, report);
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
fn one_of<T: Copy>(
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

fn host_data(fields: &mut Fields<'_>, report: &mut Report<'_>) -> HostData {
    let profile = fields.name("host_profile", report);
    let hardware_profile = fields.name("hardware_profile", report);
    fields.allow(&["storage", "platform"]);
    let mut metadata = fields.open_field("metadata", report);
    let data = HostData {
        profile,
        hardware_profile,
        rack: metadata.name("rack", report),
        tags: metadata.strings("tags", report),
        owner_data: metadata.labels("owner_data", true, report),
        network: network::host_network(fields, &mut metadata, report),
    };
    metadata.finish(report);
    data
}
