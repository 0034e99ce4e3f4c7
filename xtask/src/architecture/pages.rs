//! Pages that people write: what they point to must exist.

use std::{fs, path::Path};

use anyhow::{Context as _, Result};

use super::Violation;
use crate::workspace::Workspace;

/// Folders whose files are named by their path from the root, in backticks.
const FOLDERS: &[&str] = &["crates/", "xtask/", "docs/", "examples/"];

/// Links and file names in the project's pages that lead nowhere.
pub fn page_violations(workspace: &Workspace) -> Result<Vec<Violation>> {
    let root = workspace.root();
    let mut violations = Vec::new();
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
