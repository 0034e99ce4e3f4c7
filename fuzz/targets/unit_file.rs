//! Unit files: what is read prints as it was, and a drop-in made for a unit is the same when it is already there.
//!
//! Input: the unit, then its drop-ins, separated by lines of `====`.
#![no_main]

use std::sync::LazyLock;

use berth_fuzz::byte_parts;
use berth_labels::{Flavour, LabelSet, NodeLabels};
use berth_units::{
    DropInRequest, EffectiveUnit, EnvFile, EnvFileContent, Environment, LabelsFile, UnitFile, check_kubelet_unit,
    drop_in, see_through, seed_labels,
};
use libfuzzer_sys::fuzz_target;

const NAMES: [&str; 3] = ["10-a.conf", "50-b.conf", "90-c.conf"];

static LABELS: LazyLock<LabelSet> =
    LazyLock::new(|| NodeLabels::parse(["pool=infra,example.com/rack=r1,node-role.kubernetes.io/infra="]).valid());

fuzz_target!(|data: &[u8]| {
    let parts = byte_parts(data, 1 + NAMES.len());
    for part in &parts {
        check_file(part);
    }
    let drop_ins: Vec<(&str, &[u8])> = NAMES.into_iter().zip(parts[1..].iter().copied()).collect();
    check_unit(parts[0], &drop_ins);
});

fn check_file(source: &[u8]) {
    let file = UnitFile::parse(source);
    assert_eq!(file.print(), source);
    let mut end = 0;
    for item in file.items() {
        assert_eq!(item.span().start, end);
        assert_eq!(file.bytes(item), &source[item.span()]);
        end = item.span().end;
    }
    assert_eq!(end, source.len());
    for found in file.assignments() {
        // The first and last bytes; all of them would take quadratic time.
        for byte in [0, found.value().len() / 2, found.value().len().saturating_sub(1)] {
            let (line, column) = found.position(byte);
            assert!(line >= found.line() && line <= found.last_line() && column > 0);
        }
    }
    let _ = EnvFile::parse(source);
    let labels = LabelsFile::parse(source).labels;
    assert_eq!(LabelsFile::parse(LabelsFile::print(&labels).as_bytes()).labels, labels);
}

fn check_unit(fragment: &[u8], drop_ins: &[(&str, &[u8])]) {
    let unit = EffectiveUnit::assemble("kubelet.service", ("kubelet.service", fragment), drop_ins);
    let environment = unit.environment(|_| EnvFileContent::Missing);
    let _ = (seed_labels(&environment), unit.refusal(), unit.service_type());
    for flavour in [Flavour::Upstream, Flavour::Openshift] {
        let _ = check_kubelet_unit(&unit, &environment, flavour);
        let Some((file_name, text)) = make(&unit, &environment, flavour) else {
            continue;
        };
        let mut with_own: Vec<(&str, &[u8])> = drop_ins.to_vec();
        with_own.push((file_name, text.as_bytes()));
        with_own.sort_by_key(|(name, _)| *name);
        let applied = EffectiveUnit::assemble("kubelet.service", ("kubelet.service", fragment), &with_own);
        assert_eq!(environment, applied.environment(|_| EnvFileContent::Missing), "{text}");
        let again = make(&applied, &environment, flavour);
        assert_eq!(
            again,
            Some((file_name, text.clone())),
            "its own output changes the answer"
        );
        check_applied(&unit, &applied, &environment, flavour, &text);
    }
}

/// The drop-in, if one can be made and is needed.
fn make(unit: &EffectiveUnit, environment: &Environment, flavour: Flavour) -> Option<(&'static str, String)> {
    let request = DropInRequest {
        labels: &LABELS,
        flavour,
        environment,
    };
    let made = drop_in(unit, request).ok()?;
    made.text.map(|text| (made.file_name, text))
}

/// The kubelet of the changed unit starts wherever the old one did, has the labels, and keeps those it had.
fn check_applied(
    unit: &EffectiveUnit,
    applied: &EffectiveUnit,
    environment: &Environment,
    flavour: Flavour,
    text: &str,
) {
    assert_eq!(applied.refusal(), None, "{text}");
    // An override that only runs the command it replaced hides what is wrong with that command, and the drop-in takes its place.
    let mut replaced = unit.clone();
    see_through(&mut replaced);
    let before = check_kubelet_unit(&replaced, environment, flavour);
    let after = check_kubelet_unit(applied, environment, flavour);
    let stoppers = after.stoppers.iter().map(|stopper| &stopper.reason);
    let known: Vec<_> = before.stoppers.iter().map(|stopper| &stopper.reason).collect();
    let new: Vec<_> = stoppers.filter(|reason| !known.contains(reason)).collect();
    assert!(new.is_empty(), "{new:?}\n{text}");
    for label in &before.labels {
        let now = after.labels.iter().find(|other| other.key == label.key);
        // A label that is wanted with another value takes the place of the old one.
        let is_kept = now.is_some_and(|now| now.value == label.value);
        assert!(is_kept || LABELS.contains_key(&label.key), "{label:?}\n{text}");
    }
}
