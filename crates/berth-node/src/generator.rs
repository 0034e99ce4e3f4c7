//! The systemd generator. It never stands in the way of a boot: what is odd is logged, nothing is written then, and the
//! kubelet starts as it would without Berth.

use std::{fs, path::Path, process::ExitCode};

use berth_units::{DropInRequest, LoadState, drop_in};

use crate::{
    log,
    node::Node,
    root::{Keep, Root, write_atomically},
    unit_tree::{UNIT, hiding},
};

/// Writes the drop-in to the generator directory. The answer is always success.
pub(crate) fn run(root: &Root, directory: &Path) -> ExitCode {
    let mut messages = Vec::new();
    if let Err(message) = generate(root, directory, &mut messages) {
        messages.push(format!("no labels are added: {message}"));
    }
    if root.is_running_system() {
        log::to_kernel(&messages);
    } else {
        log::to_stderr(&messages);
    }
    ExitCode::SUCCESS
}

fn generate(root: &Root, directory: &Path, messages: &mut Vec<String>) -> Result<(), String> {
    let mut node = Node::read(root);
    messages.append(&mut node.problems);
    // A machine without labels is none of ours, and a masked kubelet is somebody's wish.
    if node.labels.is_empty() || node.unit.state() == LoadState::Masked {
        return Ok(());
    }
    node.must_be_known()?;
    let answer = drop_in(
        &node.unit,
        DropInRequest {
            labels: &node.labels,
            flavour: node.flavour,
            environment: &node.environment,
        },
    )
    .map_err(|error| log::chain(&error))?;
    messages.extend(answer.notes);
    for left in &answer.left_out {
        messages.push(format!("{} is left out: {}", left.label, left.reason));
    }
    let Some(text) = answer.text else {
        return Ok(());
    };
    if let Some(path) = hiding(root, answer.file_name) {
        messages.push(format!(
            "{path} hides the generated drop-in; remove it to let labels change"
        ));
    }
    let folder = directory.join(format!("{UNIT}.d"));
    fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let path = folder.join(answer.file_name);
    write_atomically(&path, text.as_bytes(), Keep::ThisBoot)
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}
