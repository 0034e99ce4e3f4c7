//! From a machine's disk to its kubelet's start.

use berth_labels::{Flavour, LabelSet};
use berth_units::{
    DropInRequest, EffectiveUnit, EnvFileContent, Environment, LABELS_PATH, LabelsFile, UnitTree, check_kubelet_unit,
    drop_in, see_through, seed_labels,
};

use super::Disk;

const UNIT: &str = "kubelet.service";

/// How the kubelet starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    /// The labels of its flags, in their order.
    pub(crate) labels: Vec<(String, String)>,
    /// Why it exits at once, if it does.
    pub(crate) stopped: Option<String>,
    /// What the generator said.
    pub(crate) notes: Vec<String>,
}

/// Boots: runs the generator, and starts the kubelet with the unit that results.
pub(crate) fn start(disk: &mut Disk, flavour: Flavour) -> Start {
    disk.begin_boot();
    let mut notes = Vec::new();
    let (unit, environment) = load(disk);
    let mut labels = seed_labels(&environment);
    labels.extend(
        disk.read(LABELS_PATH)
            .map(|text| LabelsFile::parse(text).labels)
            .unwrap_or_default(),
    );
    if !labels.is_empty() {
        generate(disk, &unit, &environment, &labels, flavour, &mut notes);
    }
    let (mut unit, environment) = load(disk);
    // A shell that only runs the command which its drop-in replaced starts the same kubelet.
    see_through(&mut unit);
    let facts = check_kubelet_unit(&unit, &environment, flavour);
    let stopped = match (&facts.refusal, facts.stoppers.first()) {
        (Some(refusal), _) => Some(refusal.to_string()),
        (None, Some(stopper)) => Some(format!("{}: {}", stopper.text, stopper.reason)),
        (None, None) => None,
    };
    Start {
        labels: facts.labels.into_iter().map(|label| (label.key, label.value)).collect(),
        stopped,
        notes,
    }
}

fn generate(
    disk: &mut Disk,
    unit: &EffectiveUnit,
    environment: &Environment,
    labels: &LabelSet,
    flavour: Flavour,
    notes: &mut Vec<String>,
) {
    let request = DropInRequest {
        labels,
        flavour,
        environment,
    };
    match drop_in(unit, request) {
        Ok(answer) => {
            let left = answer.left_out.iter();
            notes.extend(left.map(|left| format!("{} is left to the controller", left.label)));
            if let Some(text) = answer.text {
                disk.write(format!("/run/systemd/generator/{UNIT}.d/{}", answer.file_name), text);
            }
        }
        Err(error) => notes.push(format!("no labels are added: {error}")),
    }
}

fn load(disk: &Disk) -> (EffectiveUnit, Environment) {
    let mut tree = UnitTree::new();
    for (path, contents) in disk.files() {
        tree.add(path, contents.to_vec());
    }
    let unit = EffectiveUnit::load(&tree, UNIT);
    let environment = unit.environment(|path| match disk.read(path) {
        Some(text) => EnvFileContent::Text(text.to_vec()),
        None => EnvFileContent::Missing,
    });
    (unit, environment)
}

#[cfg(test)]
mod tests {
    use berth_labels::Label;

    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> LabelSet {
        pairs
            .iter()
            .map(|(key, value)| Label::parse_parts(key, value).unwrap())
            .collect()
    }

    #[test]
    fn the_labels_file_becomes_flags() {
        let mut disk = Disk::image();
        disk.write_labels(&labels(&[("site", "paris"), ("node-role.kubernetes.io/infra", "")]));
        let started = start(&mut disk, Flavour::Upstream);
        assert_eq!(started.labels, [("site".to_owned(), "paris".to_owned())]);
        assert_eq!(started.stopped, None);
        assert_eq!(started.notes.len(), 1, "{:?}", started.notes);
    }

    #[test]
    fn a_forbidden_flag_of_somebody_else_stops_the_kubelet() {
        let mut disk = Disk::image();
        disk.write(
            "/etc/default/kubelet",
            "KUBELET_EXTRA_ARGS=--node-labels=node-role.kubernetes.io/infra=\n",
        );
        let started = start(&mut disk, Flavour::Upstream);
        assert!(started.stopped.is_some());
    }

    /// The first of the two drop-ins of the older scripts stands on machines without labels of their own, too.
    #[test]
    fn a_shell_that_runs_the_original_command_starts_the_kubelet() {
        let mut disk = Disk::image();
        disk.write(
            "/usr/lib/systemd/system/kubelet.service",
            "[Service]\nEnvironmentFile=/etc/os-release\nExecStart=/usr/bin/kubelet --node-labels=os=${ID}\n",
        );
        disk.write(
            "/etc/systemd/system/kubelet.service.d/20-extra-labels-infra.conf",
            "[Service]\nExecStartPre=/usr/local/bin/extractExecStart %n %t/%N.env ORIG_EXECSTART\n\
             EnvironmentFile=-%t/%N.env\nExecStart=\nExecStart=bash -c \"${ORIG_EXECSTART}\"\n",
        );
        let started = start(&mut disk, Flavour::Upstream);
        assert_eq!(
            (started.stopped, started.labels),
            (None, vec![("os".to_owned(), "fedora".to_owned())])
        );
        disk.write(
            "/etc/systemd/system/kubelet.service.d/30-extra-labels.conf",
            "[Service]\nEnvironment=FIRST_BOOT_ONLY_KUBELET_NODE_EXTRA_LABELS=site=paris\n",
        );
        let started = start(&mut disk, Flavour::Upstream);
        assert!(
            started.labels.contains(&("site".to_owned(), "paris".to_owned())),
            "{started:?}"
        );
    }

    #[test]
    fn ignition_writes_the_disk() {
        let mut disk = Disk::image();
        let config = r#"{"ignition":{"version":"3.4.0"},"storage":{"files":[
            {"path":"/etc/berth/labels","contents":{"source":"data:,site%3Dparis%0A"}}]}}"#;
        assert_eq!(disk.write_ignition(config.as_bytes()).unwrap(), 1);
        assert_eq!(
            start(&mut disk, Flavour::Upstream).labels,
            [("site".to_owned(), "paris".to_owned())]
        );
        assert!(disk.write_ignition(b"{}").is_err());
    }
}
