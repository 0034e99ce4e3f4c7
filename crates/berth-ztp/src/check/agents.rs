//! Agents: the service makes them, and people write into their `spec`.

use berth_documents::{Document, Node};
use berth_labels::{LabelKey, LabelValue};

use super::{Findings, model::text_at};
use crate::{
    lints,
    rules::{hostname_problem, installer_args_problem, override_problem},
};

const DISK_ID: &str = "installation_disk_id";
const DISK_PATH: &str = "installation_disk_path";

/// What is wrong with a text.
type Problem = fn(&str) -> Option<String>;

pub(super) fn check(document: &Document, findings: &mut Findings) {
    if document.kind() != "Agent" {
        return;
    }
    let Some(spec) = document.body() else { return };
    let filled = |key: &str| text_at(spec, &[key]).filter(|text| !text.text.is_empty());
    let texts: [(&str, &'static berth_documents::Lint, Problem); 3] = [
        ("hostname", &lints::HOSTNAME, hostname_problem),
        ("installerArgs", &lints::INSTALLER_ARGS, installer_args_problem),
        ("ignitionConfigOverrides", &lints::OVERRIDE, |text| {
            override_problem(text).err()
        }),
    ];
    for (key, lint, problem) in texts {
        if let Some(text) = filled(key)
            && let Some(problem) = problem(text.text)
        {
            findings.add(
                lint,
                text.span,
                format!("`spec.{key}` of the Agent is rejected: {problem}"),
            );
        }
    }
    if let (Some(_), Some(path)) = (filled(DISK_ID), filled(DISK_PATH)) {
        findings.add_with_help(
            &lints::VALUE,
            path.span,
            format!("either `{DISK_ID}` or `{DISK_PATH}` can be set, not both"),
            "remove one of them",
        );
    }
    let labels = spec.get("nodeLabels").and_then(Node::as_map).into_iter().flatten();
    for (key, value) in labels {
        let problem = match (key.as_str().parse::<LabelKey>(), value.as_str()) {
            (Err(error), _) => Some(error.to_string()),
            (Ok(_), Some(text)) => text.parse::<LabelValue>().err().map(|error| error.to_string()),
            (Ok(_), None) => Some(format!("its value is {} and must be a string", value.type_name())),
        };
        if let Some(problem) = problem {
            findings.add(
                &lints::LABEL,
                key.span,
                format!("label `{}` of the Agent: {problem}", key.as_str()),
            );
        }
    }
}
