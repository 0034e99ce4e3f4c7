//! Pages that people write: what they point to must exist.

use std::{fs, path::Path};

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
    for folder in [".", "docs", "docs/decisions"].map(Path::new) {
        let mut pages = Vec::new();
        for entry in fs::read_dir(root.join(folder)).with_context(|| format!("cannot list {}", folder.display()))? {
            let path = folder.join(entry?.file_name());
            if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
        pages.sort();
        for page in pages {
            let text =
                fs::read_to_string(root.join(&page)).with_context(|| format!("cannot read {}", page.display()))?;
            for (line, target) in targets(&text) {
                let (base, path) = match target {
                    Target::Link(path) => (folder, path),
                    Target::File(path) => (Path::new("."), path),
                };
                if !root.join(base).join(path).exists() {
                    let page = page.strip_prefix(".").unwrap_or(&page).display();
                    violations.push(Violation {
                        place: format!("{page}:{line}"),
                        message: format!("names {path}, which does not exist"),
                    });
                }
            }
        }
    }
    Ok(violations)
}

/// Tests that the page about security names and that no source file has.
fn missing_tests(workspace: &Workspace) -> Result<Vec<Violation>> {
    let page = workspace.root().join(SECURITY);
    let page = fs::read_to_string(&page).with_context(|| format!("cannot read {}", page.display()))?;
    let mut sources = String::new();
    for file in workspace.rust_files("crates")? {
        let path = workspace.root().join(file);
        sources.push_str(&fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?);
    }
    Ok(tests_named(&page)
        .into_iter()
        .filter(|(_, test)| !sources.contains(&format!("fn {test}(")))
        .map(|(line, test)| Violation {
            place: format!("{SECURITY}:{line}"),
            message: format!("names the test {test}, which does not exist"),
        })
        .collect())
}

/// The names in the last cells of tables whose last column is `test`, with their lines.
fn tests_named(page: &str) -> Vec<(usize, &str)> {
    let mut tests = Vec::new();
    let mut names_tests = false;
    for (index, line) in page.lines().enumerate() {
        let Some(row) = line.strip_suffix('|') else {
            names_tests = false;
            continue;
        };
        let cell = row.rsplit('|').next().unwrap_or_default().trim();
        names_tests |= cell == "test";
        if names_tests {
            tests.extend(cell.split('`').skip(1).step_by(2).map(|test| (index + 1, test)));
        }
    }
    tests
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
        let page =
            "| a | test |\n|---|---|\n| `x` | `one_holds`, `two_holds` |\n\n| a | b |\n|---|---|\n| x | `other` |\n";
        assert_eq!(tests_named(page), [(3, "one_holds"), (3, "two_holds")]);
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
