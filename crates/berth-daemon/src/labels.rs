//! The boot labels of a machine follow its Node: a kubelet that registers anew does so in the pool where its Node is now.
//!
//! They count at the next registration alone, so that nothing has to notice. A file that a config manages is the config's.

use std::collections::BTreeMap;

use berth_labels::{Flavour, Label, LabelSet, Route, routes};
use berth_units::{
    EnvFile, KUBELET_ENV_PATH, KUBELET_ENV_STATE_PATH, KUBELET_ENV_VARIABLE, LABELS_PATH, LabelChange, LabelsFile,
    merge_kubelet_env,
};

use crate::{
    host::{Host, HostError},
    item::{Entry, FileEntry},
};

/// Where the machine says whose kubelet it has.
const FLAVOUR_PATH: &str = "/etc/berth/flavour";

/// The permissions of what is remembered.
const STATE_MODE: u32 = 0o644;

/// Writes those of the labels that a kubelet may set itself where the machine has boot labels, unless they are there. A path of which
/// `managed` says so is a config's.
pub(crate) fn follow(
    host: &mut impl Host,
    labels: &BTreeMap<String, String>,
    managed: impl Fn(&str) -> bool,
) -> Result<bool, HostError> {
    let said = said_flavour(host)?;
    let gave = labels_in(host, LABELS_PATH)?;
    let has_file = gave.is_some();
    let mut changed = false;
    if !managed(KUBELET_ENV_PATH) {
        // OpenShift's own file, so its rules hold. It comes first: the other one says what the machine was given.
        let flavour = said.unwrap_or(Flavour::Openshift);
        let gave = gave.unwrap_or_default();
        changed |= follow_environment(host, &allowed(labels, &[flavour]), &gave, flavour)?;
    }
    if has_file && !managed(LABELS_PATH) {
        // A label that one kubelet refuses stops it forever, so where nobody says whose rules hold both count.
        let flavours = said.map_or_else(|| Flavour::ALL.to_vec(), |flavour| vec![flavour]);
        changed |= follow_file(host, &allowed(labels, &flavours))?;
    }
    Ok(changed)
}

/// The labels that a kubelet may set itself by all of these rules.
fn allowed(labels: &BTreeMap<String, String>, flavours: &[Flavour]) -> LabelSet {
    let mut allowed = LabelSet::default();
    for (key, value) in labels {
        // What is not a label is on no Node.
        let Ok(label) = Label::parse_parts(key, value) else {
            continue;
        };
        if flavours
            .iter()
            .all(|flavour| routes(*flavour, &label.key).contains(&Route::Boot))
        {
            allowed.insert(label.key, label.value);
        }
    }
    allowed
}

fn follow_file(host: &mut impl Host, wanted: &LabelSet) -> Result<bool, HostError> {
    if labels_in(host, LABELS_PATH)?.as_ref() == Some(wanted) {
        return Ok(false);
    }
    write(host, LABELS_PATH, LabelsFile::print(wanted).into_bytes())?;
    Ok(true)
}

/// The variable of OpenShift's kubelet unit, on a machine that has its labels from there. Labels of others in it stay. What was
/// put there is remembered as `berth-node` does it; where nobody remembers, it is what the machine was `given`.
fn follow_environment(
    host: &mut impl Host,
    wanted: &LabelSet,
    given: &LabelSet,
    flavour: Flavour,
) -> Result<bool, HostError> {
    let Some(Entry::File(file)) = host.entry(KUBELET_ENV_PATH)? else {
        return Ok(false);
    };
    let remembered = labels_in(host, KUBELET_ENV_STATE_PATH)?;
    if remembered.is_none() && EnvFile::parse(&file.contents).get(KUBELET_ENV_VARIABLE).is_none() {
        return Ok(false);
    }
    let previous = remembered.as_ref().unwrap_or(given);
    // Of a key that changes the memory has one value alone. After a crash what the machine was given still has the other.
    let mut text = file.contents.clone();
    for previous in [given, previous] {
        let change = LabelChange {
            labels: wanted,
            previous,
            flavour,
        };
        let merged = merge_kubelet_env(&text, None, change)
            .map_err(|error| HostError::Unable(format!("{KUBELET_ENV_PATH}: nothing is written: {error}")))?;
        text = merged.text;
    }
    let changed = text != file.contents;
    // A crash between the two files must not leave a label that nobody knows later.
    let mut either = previous.clone();
    either.extend(wanted.iter().map(|(key, value)| (key.clone(), value.clone())));
    if changed && remembered.as_ref() != Some(&either) {
        write(host, KUBELET_ENV_STATE_PATH, LabelsFile::print(&either).into_bytes())?;
    }
    if changed {
        write(host, KUBELET_ENV_PATH, text)?;
    }
    if labels_in(host, KUBELET_ENV_STATE_PATH)?.as_ref() != Some(wanted) {
        write(host, KUBELET_ENV_STATE_PATH, LabelsFile::print(wanted).into_bytes())?;
    }
    Ok(changed)
}

fn labels_in(host: &impl Host, path: &str) -> Result<Option<LabelSet>, HostError> {
    Ok(match host.entry(path)? {
        Some(Entry::File(file)) => Some(LabelsFile::parse(&file.contents).labels),
        _ => None,
    })
}

/// Replaces a file, with its mode and owner.
fn write(host: &mut impl Host, path: &str, contents: Vec<u8>) -> Result<(), HostError> {
    let file = match host.entry(path)? {
        Some(Entry::File(file)) => FileEntry { contents, ..file },
        _ => FileEntry::new(contents, STATE_MODE),
    };
    host.stage(path, &file)?;
    host.sync_staged()?;
    host.place(path)?;
    host.sync()
}

fn said_flavour(host: &impl Host) -> Result<Option<Flavour>, HostError> {
    Ok(match host.entry(FLAVOUR_PATH)? {
        Some(Entry::File(file)) => String::from_utf8_lossy(&file.contents).trim().parse().ok(),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        item::{Item, Setting},
        sim::{Cut, Faults, Random, SimHost},
    };

    const ROLE: &str = "node-role.kubernetes.io/worker";

    fn ship(host: &mut SimHost, path: &str, text: &str) {
        let file = FileEntry::new(text, 0o640);
        host.ship(Item::Path(path.to_owned()), Setting::Entry(Entry::File(file)));
    }

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        pairs.iter().map(pair).collect()
    }

    fn follow(host: &mut SimHost, labels: &BTreeMap<String, String>) -> Result<bool, HostError> {
        super::follow(host, labels, |_| false)
    }

    fn text(host: &SimHost, path: &str) -> String {
        match host.entry(path).unwrap() {
            Some(Entry::File(file)) => String::from_utf8(file.contents).unwrap(),
            other => panic!("{path}: {other:?}"),
        }
    }

    fn read(host: &SimHost) -> String {
        match host.entry(LABELS_PATH).unwrap() {
            Some(Entry::File(file)) => {
                assert_eq!(file.mode, 0o640, "its mode stays");
                LabelsFile::parse(&file.contents).labels.to_string()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_machine_without_the_file_gets_none() {
        let mut host = SimHost::default();
        assert!(!follow(&mut host, &labels(&[("tier", "infra")])).unwrap());
        assert_eq!(host.entry(LABELS_PATH).unwrap(), None);
    }

    #[test]
    fn the_file_says_what_a_kubelet_may_say() {
        let wanted = labels(&[("tier", "infra"), (ROLE, "")]);
        for (flavour, expected) in [
            ("upstream\n", "tier=infra"),
            ("openshift\n", "node-role.kubernetes.io/worker=,tier=infra"),
            ("", "tier=infra"),
        ] {
            let mut host = SimHost::default();
            ship(&mut host, LABELS_PATH, "# ours\ntier=worker\n");
            if !flavour.is_empty() {
                ship(&mut host, FLAVOUR_PATH, flavour);
            }
            assert!(follow(&mut host, &wanted).unwrap());
            assert_eq!(read(&host), expected, "{flavour}");
            let operations = host.operations();
            assert!(!follow(&mut host, &wanted).unwrap(), "once is enough");
            assert_eq!(host.operations(), operations);
            assert_eq!(host.leftovers(), Vec::<&str>::new());
        }
    }

    #[test]
    fn the_variable_of_the_kubelets_unit_follows_and_labels_of_others_stay() {
        let mut host = SimHost::default();
        ship(
            &mut host,
            KUBELET_ENV_PATH,
            "X=1\nCUSTOM_KUBELET_LABELS=theirs=1,tier=worker\n",
        );
        ship(&mut host, LABELS_PATH, "tier=worker\n");
        for (wanted, expected) in [
            (&[("tier", "infra"), ("rack", "r1")][..], "theirs=1,tier=infra,rack=r1"),
            (
                &[("rack", "r1"), (ROLE, "")],
                "theirs=1,rack=r1,node-role.kubernetes.io/worker=",
            ),
            (&[], "theirs=1"),
            (&[("tier", "edge")], "theirs=1,tier=edge"),
        ] {
            assert!(follow(&mut host, &labels(wanted)).unwrap(), "{expected}");
            let found = text(&host, KUBELET_ENV_PATH);
            assert_eq!(found, format!("X=1\nCUSTOM_KUBELET_LABELS={expected}\n"));
            let operations = host.operations();
            assert!(!follow(&mut host, &labels(wanted)).unwrap(), "once is enough");
            assert_eq!(host.operations(), operations);
        }
        // Nothing had to notice.
        let only = ["stage", "sync", "place"];
        let other = host
            .log()
            .iter()
            .find(|line| !only.iter().any(|verb| line.starts_with(verb)));
        assert_eq!(other, None);
    }

    #[test]
    fn a_machine_that_has_its_labels_elsewhere_keeps_its_environment() {
        let mut host = SimHost::default();
        ship(&mut host, KUBELET_ENV_PATH, "X=1\n");
        assert!(!follow(&mut host, &labels(&[("tier", "infra")])).unwrap());
        assert_eq!(text(&host, KUBELET_ENV_PATH), "X=1\n");
        assert_eq!(host.entry(KUBELET_ENV_STATE_PATH).unwrap(), None);
        // What a config manages is the config's.
        ship(&mut host, KUBELET_ENV_PATH, "CUSTOM_KUBELET_LABELS=tier=worker\n");
        ship(&mut host, LABELS_PATH, "tier=worker\n");
        let all = labels(&[("tier", "infra")]);
        assert!(super::follow(&mut host, &all, |path| path == KUBELET_ENV_PATH).unwrap());
        assert_eq!(text(&host, KUBELET_ENV_PATH), "CUSTOM_KUBELET_LABELS=tier=worker\n");
        assert_eq!(read(&host), "tier=infra");
    }

    #[test]
    fn a_daemon_that_ends_between_the_files_leaves_no_label_that_nobody_knows() {
        for last in 1..=12 {
            let mut host = SimHost::default();
            ship(&mut host, KUBELET_ENV_PATH, "CUSTOM_KUBELET_LABELS=tier=worker\n");
            ship(&mut host, LABELS_PATH, "tier=worker\n");
            host.set_faults(Faults {
                last: Some(last),
                ..Faults::default()
            });
            assert_eq!(
                follow(&mut host, &labels(&[("tier", "a"), ("rack", "r1")])),
                Err(HostError::Down),
                "{last}"
            );
            let mut host = host.after(Cut::Power, &mut Random::new(7));
            // Meanwhile somebody has other plans.
            follow(&mut host, &labels(&[("zone", "z")])).unwrap();
            assert_eq!(
                text(&host, KUBELET_ENV_PATH),
                "CUSTOM_KUBELET_LABELS=zone=z\n",
                "{last}"
            );
        }
    }
}
