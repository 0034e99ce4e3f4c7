//! Rules that source files and project pages are held to.

use std::{fs, path::Path};

use anyhow::{Context as _, Result};

use super::Violation;
use crate::workspace::Workspace;

/// A longer file is no longer read in one sitting; split it before it gets there.
const MOST_LINES: usize = 800;

/// The map that must name every crate.
const MAP: &str = "docs/ARCHITECTURE.md";

/// What no source file may hold: the text to look for, and what to do instead.
///
/// Each text is put together from two parts, so that this file does not find itself.
const BANNED: &[(&str, &str)] = &[
    (
        concat!("#[", "ignore"),
        "a test that does not run proves nothing: make it run, or delete it",
    ),
    (
        concat!("todo", "!("),
        "unfinished code does not go in: return an error, or leave the feature out",
    ),
    (
        concat!("unimplemented", "!("),
        "unfinished code does not go in: return an error, or leave the feature out",
    ),
];

/// What asks the system for the time, and the one file that may: tests and benches may too.
const SYSTEM_CLOCK: (&str, &str) = (concat!("Clock", "::system"), "crates/berth/src/io.rs");

/// What Nodes are written by, and the crates that may do so: the writer, and those that play a cluster.
const NODES: (&str, &[&str]) = (concat!("Api", "<Node>"), &["berth-nodes", "berth-sim", "berth-testing"]);

/// Source files that are too long or hold what they must not, and crates that the map or the lints miss.
pub fn source_violations(workspace: &Workspace) -> Result<Vec<Violation>> {
    let read = |path: &Path| {
        fs::read_to_string(workspace.root().join(path)).with_context(|| format!("cannot read {}", path.display()))
    };
    let mut violations = Vec::new();
    for folder in ["crates", "xtask", "fuzz"] {
        for path in workspace.files(folder, "rs")? {
            let text = read(&path)?;
            violations.extend(
                file_complaints(&text)
                    .into_iter()
                    .chain(clock_complaint(&path, &text))
                    .chain(node_complaints(&path, &text))
                    .map(|(line, message)| Violation {
                        place: format!("{}:{line}", path.display()),
                        message,
                    }),
            );
        }
    }
    let map = read(MAP.as_ref())?;
    for name in workspace.crates()? {
        if !is_on_the_map(&map, &name) {
            violations.push(Violation {
                place: format!("crates/{name}"),
                message: format!("is not named in {MAP}; add a line that says what it holds"),
            });
        }
        let manifest = format!("crates/{name}/Cargo.toml");
        if !read(manifest.as_ref())?.contains("[lints]\nworkspace = true") {
            violations.push(Violation {
                place: manifest,
                message: "does not take the lints of the workspace; add `[lints]` with `workspace = true`".to_owned(),
            });
        }
    }
    Ok(violations)
}

/// A crate is named in backticks, so that `berth` is not found inside `berth-site`.
fn is_on_the_map(map: &str, name: &str) -> bool {
    map.contains(&format!("`{name}`"))
}

/// Line numbers and messages for one file's text.
fn file_complaints(text: &str) -> Vec<(usize, String)> {
    let mut complaints = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for (banned, instead) in BANNED {
            if line.contains(banned) {
                complaints.push((index + 1, format!("has `{banned}`: {instead}")));
            }
        }
    }
    let lines = text.lines().count();
    if lines > MOST_LINES {
        complaints.push((
            lines,
            format!("the file has {lines} lines, over {MOST_LINES}: split it by subject"),
        ));
    }
    complaints
}

/// The clock is passed in, so one file of what is shipped makes it.
fn clock_complaint(path: &Path, text: &str) -> Option<(usize, String)> {
    let (system, place) = SYSTEM_CLOCK;
    let is_shipped = path.starts_with("crates") && path.iter().nth(2).is_some_and(|folder| folder == "src");
    if !is_shipped || path == Path::new(place) {
        return None;
    }
    let line = text.lines().position(|line| line.contains(system))?;
    Some((
        line + 1,
        format!("has `{system}`: the clock is passed in, from {place}"),
    ))
}

/// Patches of Nodes go through the one writer, which sends none that could land on another Node or version than was seen.
fn node_complaints(path: &Path, text: &str) -> Vec<(usize, String)> {
    let (api, writers) = NODES;
    let mut parts = path.iter().skip(1);
    let is_writer = parts
        .next()
        .is_some_and(|name| writers.iter().any(|writer| name == *writer));
    if !path.starts_with("crates") || is_writer || parts.next().is_none_or(|folder| folder != "src") {
        return Vec::new();
    }
    let mut nodes: Vec<&str> = Vec::new();
    let mut complaints = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some((before, _)) = line.split_once(api) {
            let name = before.trim_end_matches(['&', ' ', ':']);
            let name = name
                .rsplit(|character: char| !character.is_alphanumeric() && character != '_')
                .next();
            nodes.extend(name.filter(|name| before.contains(':') && !name.is_empty()));
        }
        let by_it = |name: &&str| {
            let methods = ["patch", "replace"];
            let by_method = methods.iter().any(|method| {
                line.contains(&format!(" {name}.{method}")) || line.contains(&format!("({name}.{method}"))
            });
            let handed_over = [format!("(&{name},"), format!("({name},")];
            by_method || (line.contains("patch") && handed_over.iter().any(|call| line.contains(call)))
        };
        if nodes.iter().any(by_it) || (line.contains(api) && line.contains(").patch")) {
            complaints.push((
                index + 1,
                "writes a Node past the writer of berth-nodes, which sees to it that patches name uid and resourceVersion".to_owned(),
            ));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_is_asked_for_the_time_in_one_place() {
        let text = format!("\nlet clock = {}();\n", SYSTEM_CLOCK.0);
        let complaint = |path: &str| clock_complaint(Path::new(path), &text).map(|(line, _)| line);
        assert_eq!(complaint("crates/berth/src/commands/serve.rs"), Some(2));
        assert_eq!(complaint(SYSTEM_CLOCK.1), None);
        assert_eq!(complaint("crates/berth/tests/cli/up.rs"), None);
    }

    #[test]
    fn nodes_are_written_in_one_place() {
        let complaints = |path: &str, lines: &str| -> Vec<usize> {
            let text = lines.replace("NODES", NODES.0);
            let found = node_complaints(Path::new(path), &text);
            found.into_iter().map(|(line, _)| line).collect()
        };
        let wrong = "let nodes: NODES = all();\n    let pools = all();\n    nodes.patch(name);\n    pools.patch(name);\n    \
                     patch_metadata(&nodes, &node);\n    self.nodes.patch(name);\n    wait(nodes.replace(name));\n";
        assert_eq!(complaints("crates/berth/src/a.rs", wrong), [3, 5, 7]);
        assert_eq!(
            complaints(
                "crates/berth-cluster/src/a/b.rs",
                "fn a(api: &NODES) {\n    api.patch_metadata(b)\n}\n"
            ),
            [2]
        );
        assert!(complaints("crates/berth-nodes/src/nodes.rs", wrong).is_empty());
        assert!(complaints("crates/berth/tests/cli/a.rs", wrong).is_empty());
        let reads = "let nodes: NODES = all();\n    nodes.list_metadata(name);\n";
        assert!(complaints("crates/berth/src/a.rs", reads).is_empty());
    }

    #[test]
    fn banned_texts_are_found_with_their_line() {
        for (banned, _) in BANNED {
            let text = format!("fn a() {{}}\n    {banned}\n");
            let complaints = file_complaints(&text);
            assert_eq!(complaints.len(), 1, "{complaints:?}");
            assert_eq!(complaints[0].0, 2);
        }
    }

    #[test]
    fn the_limit_itself_is_allowed() {
        assert_eq!(file_complaints(&"\n".repeat(MOST_LINES)), []);
        assert_eq!(file_complaints(&"\n".repeat(MOST_LINES + 1)).len(), 1);
    }

    #[test]
    fn a_crate_is_on_the_map_only_under_its_own_name() {
        let map = "| `berth-site` | the site |";
        assert!(is_on_the_map(map, "berth-site"));
        assert!(!is_on_the_map(map, "berth"));
    }
}
