//! The pictures that the guides show are those that their commands draw.

use std::{fs, os::unix::fs::symlink, path::Path};

use crate::run::Folder;

/// When the pictures in the guides say that they were made.
const DATE: &str = "2026-03-02T08:00:00Z";

/// Draws a picture with the command of a guide, and compares it with the one that is checked in. With `BERTH_UPDATE_PICTURES=1` in
/// the environment it is written instead.
fn compare(name: &str, arguments: &str) {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let folder = Folder::new();
    // The command is typed as in the guide, and the picture goes nowhere else.
    symlink(
        root.canonicalize().unwrap().join("examples"),
        folder.path().join("examples"),
    )
    .unwrap();
    let outcome = folder.line(&format!("{arguments} --svg {name}"));
    assert!(outcome.exit <= 1, "{outcome}");
    let picture = fs::read_to_string(folder.path().join(name)).unwrap();
    let (before, typed) = picture.rsplit_once(" · ").expect("the command at the bottom");
    let (before, _date) = before.rsplit_once(" · ").expect("the date before it");
    let picture = format!("{before} · {DATE} · {typed}");
    let kept = root.join("docs/guides/pictures").join(name);
    if std::env::var_os("BERTH_UPDATE_PICTURES").is_some() {
        fs::write(&kept, picture).unwrap();
        return;
    }
    assert!(
        fs::read_to_string(&kept).is_ok_and(|kept| kept == picture),
        "{} is out of date: run the tests with BERTH_UPDATE_PICTURES=1 and look at it",
        kept.display()
    );
}

#[test]
fn the_forecast_of_the_tour() {
    compare(
        "window.svg",
        "forecast -f examples/telco-site --nodes examples/telco-cluster/nodes.yaml --window 4h",
    );
}

#[test]
fn the_rehearsal_of_ten_minutes() {
    compare(
        "night.svg",
        "rehearse -f examples/telco-site --nodes examples/telco-cluster/nodes.yaml --fail atlngamaw02",
    );
}
