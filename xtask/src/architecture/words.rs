//! Words that read as translated, in everything that people read: messages, help, comments that become documentation, pages.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};

use super::Violation;
use crate::workspace::Workspace;

/// What is not written, and what to write instead. `CONTRIBUTING.md` has the list with examples.
///
/// Each text is put together from two parts, so that this file does not find itself.
const TRANSLATED: &[(&str, &str)] = &[
    (concat!("for", " ever"), "forever"),
    (
        concat!("is told", " as"),
        "name what happens: \"is reported as\", \"counts as\"",
    ),
    (concat!("by the", " way `"), "via"),
    (concat!("not get", " there"), "do not complete"),
    (concat!("takes no", " part in"), "say what is missing: \"no such node\""),
    (
        concat!("cannot be", " had"),
        "say what failed: \"cannot read\", \"is not available\"",
    ),
    (concat!("Fore", "tell"), "Forecast"),
];

/// What may follow "is no" and "are no": comparisons, and what is not there.
const AFTER_NO: &[&str] = &[
    "admission",
    "better",
    "bigger",
    "different",
    "doubt",
    "earlier",
    "easier",
    "end",
    "larger",
    "later",
    "laxer",
    "less",
    "longer",
    "more",
    "need",
    "newer",
    "older",
    "one",
    "other",
    "shorter",
    "smaller",
    "stronger",
    "such",
    "weaker",
    "worse",
];

/// Pages that are not rewritten.
const QUOTES: &[&str] = &["docs/decisions"];

/// Lines that read as translated.
pub fn word_violations(workspace: &Workspace) -> Result<Vec<Violation>> {
    let mut paths = Vec::new();
    for folder in ["crates", "xtask"] {
        paths.extend(workspace.files(folder, "rs")?);
    }
    paths.extend(workspace.files("docs", "md")?);
    paths.extend(["README.md", "CHANGELOG.md"].map(PathBuf::from));
    let mut violations = Vec::new();
    for path in paths {
        if QUOTES.iter().any(|quotes| path.starts_with(quotes)) {
            continue;
        }
        let text = fs::read_to_string(workspace.root().join(&path))
            .with_context(|| format!("cannot read {}", path.display()))?;
        violations.extend(complaints(&path, &text));
    }
    Ok(violations)
}

fn complaints(path: &Path, text: &str) -> Vec<Violation> {
    let lines = text.lines().enumerate();
    let found = lines.filter_map(|(index, line)| {
        Some(Violation {
            place: format!("{}:{}", path.display(), index + 1),
            message: complaint(line)?,
        })
    });
    found.collect()
}

fn complaint(line: &str) -> Option<String> {
    let has = |words: &str| {
        let mut ends = line.match_indices(words).map(|(place, _)| place + words.len());
        ends.any(|end| {
            line.get(end..)
                .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
        })
    };
    let listed = TRANSLATED.iter().find(|(translated, _)| has(translated));
    listed
        .map(|(translated, instead)| format!("\"{translated}\" reads as translated; write: {instead}"))
        .or_else(|| negated_noun(line))
}

/// A noun behind a verb and "no" wants "is not a"; "there is no pod" is fine.
fn negated_noun(line: &str) -> Option<String> {
    [concat!(" is", " no "), concat!(" are", " no ")]
        .iter()
        .find_map(|verb| {
            let mut places = line.match_indices(verb);
            places.find_map(|(place, _)| {
                let before = line.get(..place)?.rsplit(|c: char| !c.is_alphanumeric()).next()?;
                let after = line.get(place + verb.len()..)?;
                let noun: String = after.chars().take_while(|c| c.is_alphanumeric() || *c == '-').collect();
                let is_fine =
                    before.eq_ignore_ascii_case("there") || AFTER_NO.contains(&noun.as_str()) || noun.is_empty();
                let verb = verb.trim();
                (!is_fine).then(|| {
                    format!(
                        "\"{verb} {noun}\" reads as translated; write: {}",
                        verb.replace("no", "not a")
                    )
                })
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negated_nouns_are_found_and_missing_things_are_not() {
        for line in [
            concat!("this is", " no pod"),
            concat!("/// `a` is", " no flag."),
            concat!("documents that are", " no manifests"),
        ] {
            assert!(complaint(line).is_some(), "{line}");
        }
        for line in [
            "there is no pod",
            "There are no nodes",
            "it is no longer there",
            "nothing is not a pod",
            "which is no better",
            "an outcome for every node",
        ] {
            assert_eq!(complaint(line), None, "{line}");
        }
    }

    #[test]
    fn every_listed_word_is_found_with_its_line() {
        for (translated, _) in TRANSLATED {
            let found = complaints(Path::new("a.md"), &format!("\nit {translated} b\n"));
            assert_eq!(found.len(), 1, "{translated}");
            assert_eq!(found[0].place, "a.md:2");
        }
    }
}
