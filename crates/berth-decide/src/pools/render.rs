//! From machine configs to a pool's rendered config.

use berth_labels::Flavour;
use berth_pools::{
    ControllerConfig, GENERATED_BY, MachineConfig, MachineConfigSpec, ProtectFinding, ProtectKind, RenderOptions,
    Rendered, SelectError, protect, reconcile, select,
};
use serde_json::{Value, json};

use super::PoolView;
use crate::names;

/// What rendering a pool gave.
#[derive(Clone, Debug, PartialEq)]
pub enum Rendering {
    /// One config.
    Done(Box<Rendered>),
    /// It cannot be rendered; why. The pool keeps the config it has.
    Failed(String),
    /// The selector asks for nothing in particular, which is taken for a mistake.
    SelectingAll,
}

/// Renders a pool, with the images of the operating system that the `ControllerConfig` has. Machine configs that would lose the labels of the pool or stop its kubelets are not rendered: admission
/// keeps them out, but may have been silent when they came.
pub fn render<'a>(
    pool: &PoolView,
    inputs: impl IntoIterator<Item = &'a MachineConfig>,
    controller: Option<&ControllerConfig>,
    flavour: Flavour,
) -> Rendering {
    let Some(selector) = &pool.machine_config_selector else {
        return Rendering::Failed("the pool has no machineConfigSelector".to_owned());
    };
    let selected = match select(inputs, selector) {
        Ok(selected) => selected,
        Err(SelectError::SelectingAll) => return Rendering::SelectingAll,
        Err(error) => return Rendering::Failed(error.to_string()),
    };
    let losses = protect(selected.iter().copied(), &pool.labels, flavour);
    if let Some(loss) = losses.iter().find(|loss| loss.kind != ProtectKind::Unreadable) {
        let line = loss.line.map_or_else(String::new, |line| format!(", line {line}"));
        let ProtectFinding {
            machine_config,
            path,
            message,
            ..
        } = loss;
        return Rendering::Failed(format!("{machine_config} `{path}`{line}: {message}"));
    }
    let options = RenderOptions {
        os_image_stream: pool.os_image_stream.clone(),
        os_image_url: controller.map(|config| config.os_image.clone()).unwrap_or_default(),
        base_os_extensions_container_image: controller
            .map(|config| config.extensions_image.clone())
            .unwrap_or_default(),
        release_image_version: controller.and_then(|config| config.release_image_version.clone()),
        controller_version: None,
    };
    match berth_pools::render(&pool.name, selected, &options) {
        Ok(mut rendered) => {
            // After rendering: what Berth made is not judged by the version that others made theirs with.
            rendered.annotations.insert(GENERATED_BY.to_owned(), version());
            Rendering::Done(Box::new(rendered))
        }
        Err(error) => Rendering::Failed(error.to_string()),
    }
}

/// Whether running nodes can go from the config they have to the new one; if not, why. `current` is the pool's present
/// rendered config as an object.
pub fn reconcilable<'a>(
    current: &Value,
    rendered: &Rendered,
    inputs: impl IntoIterator<Item = &'a MachineConfig>,
) -> Result<(), String> {
    let spec = current.get("spec").cloned().unwrap_or_default();
    let Ok(spec) = serde_json::from_value::<MachineConfigSpec>(spec) else {
        // What cannot be read cannot be compared, and is not a reason to keep it.
        return Ok(());
    };
    reconcile(&spec, rendered, inputs).map_err(|error| error.to_string())
}

/// The rendered config as the object to create. It belongs to its pool, and is kept for those who refer to it even when
/// the pool is deleted.
pub fn object(rendered: &Rendered, pool: &PoolView) -> Value {
    let mut object = rendered.to_machine_config().to_json();
    if let Some(metadata) = object.get_mut("metadata") {
        metadata["finalizers"] = json!([names::IN_USE]);
        metadata["ownerReferences"] = json!([{
            "apiVersion": "machineconfiguration.openshift.io/v1",
            "kind": "MachineConfigPool",
            "name": pool.name,
            "uid": pool.uid,
            "controller": true,
            "blockOwnerDeletion": true,
        }]);
    }
    object
}

/// `spec.configuration` for a rendered config.
pub fn configuration(name: &str, sources: &[String]) -> Value {
    let source: Vec<Value> = sources
        .iter()
        .map(|name| {
            json!({
                "apiVersion": "machineconfiguration.openshift.io/v1",
                "kind": "MachineConfig",
                "name": name,
            })
        })
        .collect();
    json!({"name": name, "source": source})
}

pub(super) fn version() -> String {
    format!("berth-{}", env!("CARGO_PKG_VERSION"))
}
