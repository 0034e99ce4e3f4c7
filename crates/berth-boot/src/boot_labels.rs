//! Which labels may go by the boot route.

use berth_labels::{Flavour, Label, LabelSet, Route, Writer, permission, routes};
use berth_units::LeftOut;

/// The labels that a kubelet can register with, and the rest with the reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BootLabels {
    /// The labels for the kubelet's flag.
    pub labels: LabelSet,
    /// Those that would stop the kubelet or be refused by the API server. They need another route.
    pub left_out: Vec<LeftOut>,
}

impl BootLabels {
    /// Sorts the labels by the flavour's rules.
    pub fn choose(labels: &LabelSet, flavour: Flavour) -> Self {
        let mut chosen = Self::default();
        for (key, value) in labels {
            if routes(flavour, key).contains(&Route::Boot) {
                chosen.labels.insert(key.clone(), value.clone());
                continue;
            }
            let refusal = [Writer::Flag, Writer::Create]
                .into_iter()
                .map(|writer| permission(flavour, writer, key))
                .find(|answer| !answer.allowed);
            chosen.left_out.push(LeftOut {
                label: Label::from((key.clone(), value.clone())),
                reason: refusal.map(|answer| answer.reason.into_owned()).unwrap_or_default(),
            });
        }
        chosen
    }
}
