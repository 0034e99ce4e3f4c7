//! The kubelet's unit inside a config.

use berth_ignition::{Config, DecodeError, file_contents};
use berth_units::{Content, EffectiveUnit, LoadState, UnitTree};

use crate::error::BootError;

const UNIT: &str = "kubelet.service";

/// The kubelet's unit as a machine with this config would have it, or nothing when the config brings no unit: the drop-ins
/// alone say nothing about the command.
pub fn kubelet_unit(config: &Config) -> Result<Option<EffectiveUnit>, BootError> {
    let mut tree = UnitTree::new();
    for unit in config.units().iter().filter(|unit| unit.name == UNIT) {
        if unit.mask == Some(true) {
            tree.add(format!("/etc/systemd/system/{UNIT}"), Content::Masked);
        }
    }
    for piece in config.unit_texts().filter(|piece| piece.unit == UNIT) {
        let path = match piece.dropin {
            None => format!("/etc/systemd/system/{UNIT}"),
            Some(name) => format!("/etc/systemd/system/{UNIT}.d/{name}"),
        };
        tree.add(path, piece.text);
    }
    for file in config.files().iter().filter(|file| is_unit_file(&file.path)) {
        let text = file_contents(file).map_err(|source: DecodeError| BootError::Contents {
            path: file.path.clone(),
            source,
        })?;
        tree.add(file.path.clone(), text);
    }
    let unit = EffectiveUnit::load(&tree, UNIT);
    Ok((unit.state() != LoadState::NotFound).then_some(unit))
}

fn is_unit_file(path: &str) -> bool {
    path.contains("/systemd/system/")
        && (path.ends_with(&format!("/{UNIT}"))
            || path.contains(&format!("/{UNIT}.d/"))
            || path.contains("/service.d/"))
}
