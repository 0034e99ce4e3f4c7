//! `cargo xtask` and the tests of the whole workspace must ask for the same features of every crate.
//!
//! Where they differ, cargo compiles that crate and all that depends on it twice in every run of the test command.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, bail};

use super::Violation;
use crate::workspace::Workspace;

/// Crates that `cargo xtask` builds with other features than the tests do.
pub fn feature_violations(workspace: &Workspace) -> Result<Vec<Violation>> {
    let ours = tree(workspace, &["--package", "xtask", "--edges", "normal,build"])?;
    let tests = tree(workspace, &["--workspace", "--edges", "normal,build,dev"])?;
    Ok(compare(&ours, &tests))
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

/// One line for each package from outside: name, version, features.
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
    let root = workspace.root().display().to_string();
    Ok(String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter(|line| !line.is_empty() && !line.contains(&root))
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
}
