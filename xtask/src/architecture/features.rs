//! Features: what the test command builds once, and what the executable for clusters leaves out.
//!
//! `cargo xtask` and the tests of the whole workspace must ask for the same features of every crate. Where they differ,
//! cargo compiles that crate and all that depends on it twice in every run of the test command.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, bail};

use super::Violation;
use crate::workspace::Workspace;

/// The emulator: `berth` has it with its feature `up` alone.
const EMULATOR: [&str; 2] = ["berth-cel", "berth-sim"];

/// Crates that `cargo xtask` builds with other features than the tests do, and what is built into every `berth`.
pub fn feature_violations(workspace: &Workspace) -> Result<Vec<Violation>> {
    let root = workspace.root().display().to_string();
    let from_outside = |mut lines: BTreeSet<String>| {
        lines.retain(|line| !line.contains(&root));
        lines
    };
    let ours = tree(workspace, &["--package", "xtask", "--edges", "normal,build"])?;
    let tests = tree(workspace, &["--workspace", "--edges", "normal,build,dev"])?;
    let mut violations = compare(&from_outside(ours), &from_outside(tests));
    let selection = ["--package", "berth", "--no-default-features", "--edges", "normal,build"];
    violations.extend(emulator(&tree(workspace, &selection)?));
    Ok(violations)
}

fn emulator(without_up: &BTreeSet<String>) -> Vec<Violation> {
    let name = |line: &str| EMULATOR.into_iter().find(|name| line.split(' ').next() == Some(name));
    without_up
        .iter()
        .filter_map(|line| name(line))
        .map(|name| Violation {
            place: name.to_owned(),
            message: "is part of the emulator and must come into `berth` by its feature `up` alone".to_owned(),
        })
        .collect()
}

fn compare(ours: &BTreeSet<String>, tests: &BTreeSet<String>) -> Vec<Violation> {
    ours.difference(tests)
        .map(|line| Violation {
            place: line.split(' ').next().unwrap_or_default().to_owned(),
            message: format!(
                "is built with the features `{}` for `cargo xtask` and with others for the tests, so that it is built \
                 twice; name the missing features under `dependencies` in xtask/Cargo.toml",
                line.rsplit(' ').next().unwrap_or_default()
            ),
        })
        .collect()
}

/// One line for each package: name, version, features.
fn tree(workspace: &Workspace, selection: &[&str]) -> Result<BTreeSet<String>> {
    let output = workspace
        .cargo()
        .args(["tree", "--locked", "--prefix", "none"])
        .args(["--format", "{p} {f}"])
        .args(selection)
        .output()
        .context("cargo cannot be started")?;
    if !output.status.success() {
        bail!(
            "`cargo tree` failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter(|line| !line.is_empty())
        // Said again further down the tree.
        .map(|line| line.trim_end_matches(" (*)").replace(" (proc-macro)", ""))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_with_other_features_is_named() {
        let lines = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect::<BTreeSet<_>>();
        let ours = lines(&["tokio v1.0.0 net,rt", "serde v1.0.0 std"]);
        let tests = lines(&["tokio v1.0.0 net,rt,time", "serde v1.0.0 std", "insta v1.0.0 json"]);
        let violations = compare(&ours, &tests);
        assert_eq!(violations.len(), 1);
        assert_eq!(violations[0].place, "tokio");
        assert!(violations[0].message.contains("`net,rt`"));
    }

    #[test]
    fn an_emulator_in_every_executable_is_named() {
        let tree = [
            "berth v0.1.0 (/berth) ",
            "berth-sim v0.1.0 (/berth) default",
            "serde v1.0.0 std",
        ];
        let violations = emulator(&tree.into_iter().map(str::to_owned).collect());
        assert_eq!(violations.len(), 1);
        assert_eq!(violations[0].place, "berth-sim");
    }
}
