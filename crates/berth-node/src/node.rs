//! What a node's disk says about its kubelet and its labels.

use berth_labels::{Flavour, LabelSet};
use berth_units::{EffectiveUnit, EnvFile, EnvFileContent, Environment, LABELS_PATH, LabelsFile, seed_labels};

use crate::{
    root::{Found, Root, is_missing},
    unit_tree::{Collected, collect},
};

/// The file that says whose kubelet it is.
const FLAVOUR_PATH: &str = "/etc/berth/flavour";

/// Where the system says what it is, the one that counts first.
const OS_RELEASE: &[&str] = &["/etc/os-release", "/usr/lib/os-release"];

/// OpenShift's wrapper in front of the kubelet.
const WRAPPER: &str = "kubenswrapper";

/// A node as far as its kubelet is concerned.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) unit: EffectiveUnit,
    pub(crate) environment: Environment,
    pub(crate) labels: LabelSet,
    pub(crate) flavour: Flavour,
    /// How the flavour is known.
    pub(crate) flavour_from: String,
    /// What was odd.
    pub(crate) problems: Vec<String>,
    unread: Vec<String>,
}

impl Node {
    /// Reads everything. What cannot be read is a problem, not a failure.
    pub(crate) fn read(root: &Root) -> Self {
        let Collected {
            unit,
            mut problems,
            unread,
        } = collect(root);
        let environment = unit.environment(|path| match root.read(path) {
            Ok(Found::Text(text)) => EnvFileContent::Text(text),
            Ok(Found::Device) => EnvFileContent::Text(Vec::new()),
            Err(error) if is_missing(&error) => EnvFileContent::Missing,
            Err(_) => EnvFileContent::Unread,
        });
        // The labels file is Berth's own word, so it counts more than what older scripts left in a drop-in.
        let mut labels = seed_labels(&environment);
        match labels_file(root, LABELS_PATH, &mut problems) {
            Ok(found) => labels.extend(found.unwrap_or_default()),
            Err(message) => problems.push(message),
        }
        let (flavour, flavour_from) = flavour(root, Some(&unit), &mut problems);
        Self {
            unit,
            environment,
            labels,
            flavour,
            flavour_from,
            problems,
            unread,
        }
    }

    /// Refuses a unit of which a file cannot be read: what is written for it could undo what that file says.
    pub(crate) fn must_be_known(&self) -> Result<(), String> {
        if self.unread.is_empty() {
            return Ok(());
        }
        Err(format!("{}; the unit starts as it is", self.unread.join("; ")))
    }
}

/// The labels of a file, or nothing where there is none. Bad lines are problems; the others count.
pub(crate) fn labels_file(root: &Root, path: &str, problems: &mut Vec<String>) -> Result<Option<LabelSet>, String> {
    let text = root
        .read_optional(path)
        .map_err(|error| format!("{path}: cannot be read: {error}"))?;
    let Some(text) = text else {
        return Ok(None);
    };
    let file = LabelsFile::parse(&text);
    problems.extend(file.diagnostics.iter().map(|found| format!("{path}:{found}")));
    Ok(Some(file.labels))
}

/// Whose kubelet it is: what the file says, else what the unit and the system look like.
pub(crate) fn flavour(root: &Root, unit: Option<&EffectiveUnit>, problems: &mut Vec<String>) -> (Flavour, String) {
    match root.read_optional(FLAVOUR_PATH) {
        Ok(Some(text)) => match String::from_utf8_lossy(&text).trim().parse::<Flavour>() {
            Ok(flavour) => return (flavour, FLAVOUR_PATH.to_owned()),
            Err(error) => problems.push(format!("{FLAVOUR_PATH}: {error}")),
        },
        Ok(None) => {}
        Err(error) => problems.push(format!("{FLAVOUR_PATH}: cannot be read: {error}")),
    }
    if unit.is_some_and(has_wrapper) {
        return (Flavour::Openshift, format!("the unit runs {WRAPPER}"));
    }
    for path in OS_RELEASE {
        let Ok(Some(text)) = root.read_optional(path) else {
            continue;
        };
        let release = EnvFile::parse(&text);
        let id = release.get("ID").map_or("", |entry| entry.value.as_str());
        if matches!(id, "rhcos" | "scos") {
            return (Flavour::Openshift, format!("{path} says ID={id}"));
        }
        // Images that are named after the system they are built on still say which OpenShift they are for.
        if release.get("OPENSHIFT_VERSION").is_some() {
            return (Flavour::Openshift, format!("{path} names an OPENSHIFT_VERSION"));
        }
        break;
    }
    (Flavour::Upstream, "nothing says that it is another".to_owned())
}

fn has_wrapper(unit: &EffectiveUnit) -> bool {
    unit.list("Service", "ExecStart")
        .iter()
        .flat_map(|setting| setting.commands())
        .any(|command| {
            let program = command.path().rsplit('/').next();
            program == Some(WRAPPER)
                || command
                    .argv()
                    .iter()
                    .any(|word| word.rsplit('/').next() == Some(WRAPPER))
        })
}
