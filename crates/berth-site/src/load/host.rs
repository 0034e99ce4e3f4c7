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
    let maps = [object.document.labels(), object.document.annotations()];
    let node = maps.into_iter().flatten().find_map(|map| map.get(names::FLAVOUR))?;
    let text = reference(node, &format!("`{}`", names::FLAVOUR), report)?;
    match text.value.parse() {
        Ok(flavour) => Some(Spanned::new(flavour, text.span)),
        Err(_) => {
            let message = format!("`{}` cannot be `{}`", names::FLAVOUR, text.value);
            report.push(
                Diagnostic::new(&lints::INVALID_VALUE, text.span, message)
                    .with_help("allowed values: `upstream`, `openshift`"),
            );
            None
        }
    }
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
