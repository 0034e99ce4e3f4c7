//! Shows what the kubelet would be started with.

use std::{fmt::Write as _, process::ExitCode};

use berth_units::{DropInRequest, EffectiveUnit, KubeletCommand, LoadState, drop_in};

use crate::{
    log::{self, say},
    node::Node,
    root::Root,
    unit_tree::hiding,
};

/// Prints the answer for this node; exit code 1 when labels do not reach the kubelet.
pub(crate) fn run(root: &Root) -> ExitCode {
    let node = Node::read(root);
    let (text, good) = describe(root, &node);
    for problem in &node.problems {
        say(problem);
    }
    let printed = log::print(&text);
    if good && node.problems.is_empty() {
        printed
    } else {
        ExitCode::FAILURE
    }
}

fn describe(root: &Root, node: &Node) -> (String, bool) {
    let mut text = String::new();
    line(&mut text, "unit", node.unit.name());
    for source in node.unit.sources() {
        line(&mut text, "", &source.path);
    }
    line(
        &mut text,
        "flavour",
        &format!("{} ({})", node.flavour, node.flavour_from),
    );
    if node.unit.state() == LoadState::Masked {
        line(&mut text, "refused", "the unit is masked");
        return (text, false);
    }
    if let Err(message) = node.must_be_known() {
        line(&mut text, "refused", &message);
        return (text, false);
    }
    let request = DropInRequest {
        labels: &node.labels,
        flavour: node.flavour,
        environment: &node.environment,
    };
    let answer = match drop_in(&node.unit, request) {
        Ok(answer) => answer,
        Err(error) => {
            line(&mut text, "refused", &log::chain(&error));
            return (text, false);
        }
    };
    let mut good = answer.left_out.is_empty();
    for note in &answer.notes {
        line(&mut text, "note", note);
    }
    let unit = match &answer.text {
        Some(drop_in) => {
            line(&mut text, "drop-in", answer.file_name);
            if let Some(path) = hiding(root, answer.file_name) {
                line(&mut text, "hidden by", &path);
                good = false;
            }
            with_drop_in(&node.unit, answer.file_name, drop_in)
        }
        None => {
            line(&mut text, "drop-in", "none is needed");
            node.unit.clone()
        }
    };
    for command in unit
        .list("Service", "ExecStart")
        .iter()
        .flat_map(|setting| setting.commands())
    {
        let Ok(kubelet) = KubeletCommand::find(command, &node.environment) else {
            continue;
        };
        let mut title = "command";
        for argument in node.environment.expand(command) {
            line(&mut text, title, &argument.text);
            title = "";
        }
        title = "labels";
        for label in kubelet.node_labels() {
            line(&mut text, title, &format!("{}={}", label.key, label.value));
            title = "";
        }
    }
    for left in &answer.left_out {
        line(&mut text, "left out", &format!("{}: {}", left.label, left.reason));
    }
    (text, good)
}

/// The unit once the drop-in is there; one of that name that is there already is replaced.
fn with_drop_in(unit: &EffectiveUnit, name: &str, text: &str) -> EffectiveUnit {
    let unit = unit.without_drop_ins(&[name]);
    let texts: Vec<_> = unit
        .sources()
        .iter()
        .map(|source| (source.path.as_str(), source.file.print()))
        .collect();
    let Some(((path, fragment), rest)) = texts.split_first() else {
        return unit;
    };
    let mut drop_ins: Vec<(&str, &[u8])> = rest.iter().map(|(path, text)| (*path, text.as_slice())).collect();
    drop_ins.push((name, text.as_bytes()));
    EffectiveUnit::assemble(unit.name(), (path, fragment), &drop_ins)
}

fn line(text: &mut String, title: &str, value: &str) {
    // Nothing that a file holds may end the line or speak to the terminal.
    let value: String = value.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{title:<10} {value}");
}
