//! The boot labels of a machine follow its Node: a kubelet that registers anew does so in the pool where its Node is now.
//!
//! They count at the next registration alone, so that nothing has to notice. A file that a config manages is the config's.

use std::collections::BTreeMap;

use berth_labels::{Flavour, Label, LabelSet, Route, routes};
use berth_units::{LABELS_PATH, LabelsFile};

use crate::{
    host::{Host, HostError},
    item::{Entry, FileEntry},
};

/// Where the machine says whose kubelet it has.
const FLAVOUR_PATH: &str = "/etc/berth/flavour";

/// Writes those of the labels that a kubelet may set itself, if the machine has such a file and it says something else.
pub(crate) fn follow(host: &mut impl Host, labels: &BTreeMap<String, String>) -> Result<bool, HostError> {
    let Some(Entry::File(file)) = host.entry(LABELS_PATH)? else {
        return Ok(false);
    };
    let flavours = flavours(host)?;
    let mut wanted = LabelSet::default();
    for (key, value) in labels {
        // What is not a label is on no Node.
        let Ok(label) = Label::parse_parts(key, value) else {
            continue;
        };
        if flavours
            .iter()
            .all(|flavour| routes(*flavour, &label.key).contains(&Route::Boot))
        {
            wanted.insert(label.key, label.value);
        }
    }
    if LabelsFile::parse(&file.contents).labels == wanted {
        return Ok(false);
    }
    let text = LabelsFile::print(&wanted);
    let file = FileEntry {
        contents: text.into_bytes(),
        ..file
    };
    host.stage(LABELS_PATH, &file)?;
    host.sync_staged()?;
    host.place(LABELS_PATH)?;
    host.sync()?;
    Ok(true)
}

/// Whose rules hold here. A label that one kubelet refuses stops it forever, so where nobody says it both count.
fn flavours(host: &impl Host) -> Result<Vec<Flavour>, HostError> {
    let said = match host.entry(FLAVOUR_PATH)? {
        Some(Entry::File(file)) => String::from_utf8_lossy(&file.contents).trim().parse().ok(),
        _ => None,
    };
    Ok(said.map_or_else(|| Flavour::ALL.to_vec(), |flavour| vec![flavour]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        item::{Item, Setting},
        sim::SimHost,
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
}
