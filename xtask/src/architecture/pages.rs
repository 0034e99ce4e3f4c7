//! Pages that people write: what they point to must exist.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};

use super::Violation;
use crate::workspace::Workspace;

/// Folders whose files are named by their path from the root, in backticks.
const FOLDERS: &[&str] = &["crates/", "xtask/", "docs/", "examples/"];

/// The page whose tables name a test in the last cell of every row.
const SECURITY: &str = "docs/security.md";

/// Links and file names in the project's pages that lead nowhere, and tests that do not exist.
pub fn page_violations(workspace: &Workspace) -> Result<Vec<Violation>> {
    let root = workspace.root();
    let mut violations = missing_tests(workspace)?;
    let mut pages = workspace.files("docs", "md")?;
    pages.extend(
        [
            "README.md",
            "CONTRIBUTING.md",
            "CHANGELOG.md",
            "MAINTAINERS.md",
            "SECURITY.md",
        ]
        .map(PathBuf::from),
    );
    for page in pages {
        let text = fs::read_to_string(root.join(&page)).with_context(|| format!("cannot read {}", page.display()))?;
        let folder = page.parent().unwrap_or_else(|| Path::new("."));
        for (line, target) in targets(&text) {
            let (base, path) = match target {
                Target::Link(path) => (folder, path),
                Target::File(path) => (Path::new("."), path),
            };
            if !root.join(base).join(path).exists() {
                violations.push(Violation {
                    place: format!("{}:{line}", page.display()),
                    message: format!("names {path}, which does not exist"),
                });
            }
        }
    }
    Ok(violations)
}

/// Tests that the page about security names and that do not run, and rows without any.
fn missing_tests(workspace: &Workspace) -> Result<Vec<Violation>> {
    let page = workspace.root().join(SECURITY);
    let page = fs::read_to_string(&page).with_context(|| format!("cannot read {}", page.display()))?;
    let mut tests = BTreeSet::new();
    for file in workspace.files("crates", "rs")? {
        let path = workspace.root().join(file);
        let source = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        tests.extend(tests_in(&source).map(str::to_owned));
    }
    let mut violations = Vec::new();
    for (line, named) in rows_with_tests(&page) {
        let mut complain = |message: String| {
            violations.push(Violation {
                place: format!("{SECURITY}:{line}"),
                message,
            });
        };
        if named.is_empty() {
            complain("the row names no test".to_owned());
        }
        for test in named.into_iter().filter(|test| !tests.contains(*test)) {
            complain(format!("names the test {test}, which does not exist or is not a test"));
        }
    }
    Ok(violations)
}

/// The names of the tests in a source file: functions with an attribute for it, and the scenarios of which `on_both!` makes
/// tests.
fn tests_in(source: &str) -> impl Iterator<Item = &str> {
    let (mut is_test, mut is_list) = (false, false);
    source.lines().map(str::trim).filter_map(move |line| {
        if line.starts_with("on_both! {") {
            is_list = true;
        } else if line == "}" {
            is_list = false;
        } else if is_list {
            return line.strip_suffix(',').filter(|name| is_name(name));
        }
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            is_test = true;
            return None;
        }
        // Further attributes and comments may stand between.
        if line.is_empty() || line.starts_with(['#', '/']) || !is_test {
            return None;
        }
        let found = line.split_once("fn ").map(|(_, rest)| rest);
        // An attribute may have several lines.
        is_test = found.is_none() && !line.ends_with('{');
        found?.split('(').next().filter(|name| is_name(name))
    })
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|letter| letter == '_' || letter.is_ascii_alphanumeric())
}

/// The rows of tables whose last column is `test`: their lines, and the names in their last cells.
fn rows_with_tests(page: &str) -> Vec<(usize, Vec<&str>)> {
    let mut rows = Vec::new();
    let mut names_tests = false;
    for (index, line) in page.lines().enumerate() {
        let Some(row) = line.strip_suffix('|') else {
            names_tests = false;
            continue;
        };
        let cell = row.rsplit('|').next().unwrap_or_default().trim();
        if cell == "test" {
            names_tests = true;
        } else if names_tests && !cell.chars().all(|sign| sign == '-') {
            rows.push((index + 1, cell.split('`').skip(1).step_by(2).collect()));
        }
    }
    rows
}

#[derive(Debug, PartialEq, Eq)]
enum Target<'a> {
    /// Relative to the page.
    Link(&'a str),
    /// Relative to the root of the workspace.
    File(&'a str),
}

/// Everything in a page's text that should be a file, with the number of its line.
fn targets(text: &str) -> Vec<(usize, Target<'_>)> {
    let mut targets = Vec::new();
    let mut in_block = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
            continue;
        }
        if in_block {
            continue;
        }
        // Between backticks is every second part.
        for code in line.split('`').skip(1).step_by(2) {
            let is_path = FOLDERS.iter().any(|folder| code.starts_with(folder));
            // `<name>` and `*` stand for something the reader fills in.
            if is_path && !code.contains(['<', '*', ' ']) {
                targets.push((index + 1, Target::File(code)));
            }
        }
        for rest in line.split("](").skip(1) {
            let link = rest.split([')', '#']).next().unwrap_or_default();
            if !link.is_empty() && !link.contains("://") && !link.starts_with("mailto:") {
                targets.push((index + 1, Target::Link(link)));
            }
        }
    }
    targets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_found_in_the_last_cells_of_their_tables() {
        let page = "| a | test |\n|---|---|\n| `x` | `one_holds`, `two_holds` |\n| `y` | none |\n\n| a | b |\n|---|---|\n| x | `other` |\n";
        assert_eq!(
            rows_with_tests(page),
            [(3, vec!["one_holds", "two_holds"]), (4, vec![])]
        );
    }

    #[test]
    fn only_functions_that_run_as_tests_are_tests() {
        let source = "\
fn helper() {}
#[test]
fn plain() {
    fn inner() {}
}
#[tokio::test(
    flavor = \"multi_thread\"
)]
#[expect(clippy::unwrap_used)]
async fn asynchronous() {}
// #[test]
fn commented() {}
proptest! {
    /// Whatever is given.
    #[test]
    fn property(
        given in any::<u8>(),
    ) {}
}
on_both! {
    Needs { machines: true };
    scenario,
    another,
}
struct Other {
    field,
}
";
        let found: Vec<&str> = tests_in(source).collect();
        assert_eq!(found, ["plain", "asynchronous", "property", "scenario", "another"]);
    }

    #[test]
    fn files_and_links_are_found_and_placeholders_are_not() {
        let text = "\
See [the map](docs/ARCHITECTURE.md#crates), [below](#below) and [the web](https://example.com/a).
The code is in `crates/berth/src/lib.rs`; yours in `crates/berth/src/commands/<name>.rs`; `cargo xtask test` runs it.
```
[not a link](nowhere.md)
```
";
        assert_eq!(
            targets(text),
            [
                (1, Target::Link("docs/ARCHITECTURE.md")),
                (2, Target::File("crates/berth/src/lib.rs")),
            ]
        );
    }
}
