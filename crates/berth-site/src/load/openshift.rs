//! What only an OpenShift cluster has.

use berth_documents::Node;
use berth_pools::GENERATED_BY;

use super::{Kind, Object};
use crate::{model::Spanned, names};

/// Why this document is from an OpenShift cluster, with the place that shows it. On plain Kubernetes with Berth's own pools
/// none of it is there.
pub(super) fn evidence(kind: Kind, object: &Object<'_>) -> Option<Spanned<String>> {
    let document = object.document;
    let name = &object.name.value;
    let label = |key: &str| document.labels().and_then(|labels| labels.get(key));
    let (node, reason) = match kind {
        Kind::ControllerConfig => {
            // With `spec.berth` it is for Berth's own templates.
            let of_berth = object
                .body
                .and_then(|body| body.get("berth"))
                .is_some_and(|berth| !berth.is_null());
            let reason = format!("ControllerConfig `{name}` is the Machine Config Operator's");
            (None, (!of_berth).then_some(reason)?)
        }
        Kind::MachineConfigPool => {
            let built_in = label(names::BUILT_IN)?;
            (Some(built_in), format!("pool `{name}` is built into OpenShift"))
        }
        Kind::MachineConfig => {
            let annotations = document.annotations()?;
            let version = annotations.get(GENERATED_BY)?;
            let is_operators = |version: &str| !version.is_empty() && !version.starts_with("berth-");
            version.as_str().filter(|version| is_operators(version))?;
            let reason = format!("the Machine Config Operator generated machine config `{name}`");
            (Some(version), reason)
        }
        Kind::Node => {
            let os = label(names::OS_ID)?;
            let reason = format!("node `{name}` has the label {}", names::OS_ID);
            (Some(os), reason)
        }
        _ => return None,
    };
    let span = node.map_or(object.name.span, |node: &Node| node.span);
    Some(Spanned::new(reason, span))
}
