//! Every file of `examples/mistakes` gives the findings it announces, and every lint has a file.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests: a folder that cannot be read fails the test"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use berth_documents::{Diagnostic, LINTS as DOCUMENT_LINTS, Lint, Sources, decode, parse};
use berth_labels::Flavour;
use berth_site::{LINTS as SITE_LINTS, Resolver, check, load};

/// Codes that no small file can show. The README of the folder says why.
const NOT_SHOWN: &[&str] = &["egress-label-search", "file-too-large", "ingress-backends"];

/// A file with what it says about itself.
struct Mistake {
    /// The file's name without its extension: the code it shows.
    code: String,
    file: String,
    bytes: Vec<u8>,
    /// `SEVERITY CODE LINE:COLUMN`, as announced.
    finds: Vec<String>,
    /// The mistake in words.
    sentence: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/mistakes")
}

fn lints() -> impl Iterator<Item = &'static Lint> {
    DOCUMENT_LINTS.iter().chain(SITE_LINTS).copied()
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All files that lint would read, by name.
fn mistakes() -> Vec<Mistake> {
    let folder = folder();
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    // The manifests in the folder `hub` are not documents of a site: `berth ztp check` reads them.
    let paths: BTreeSet<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.ends_with("hub"))
        .collect();
    let is = |path: &Path, extensions: &[&str]| {
        path.extension()
            .is_some_and(|extension| extensions.iter().any(|known| extension == *known))
    };
    for path in &paths {
        let companion = is(path, &["expect"])
            && ["yaml", "json"]
                .iter()
                .any(|extension| paths.contains(&path.with_extension(extension)));
        let known = companion || is(path, &["yaml", "json"]) || path.ends_with("README.md");
        assert!(known, "{} is neither a mistake nor a companion of one", path.display());
    }
    let files = paths.iter().filter(|path| is(path, &["yaml", "json"]));
    files.map(|path| mistake(path)).collect()
}

fn mistake(path: &Path) -> Mistake {
    let bytes = read(path);
    let companion = path.with_extension("expect");
    let header = if companion.exists() {
        read(&companion)
    } else {
        bytes.clone()
    };
    // Not every file is text: that is one of the mistakes.
    let header = String::from_utf8_lossy(&header).into_owned();
    let comments = || header.lines().map_while(|line| line.strip_prefix("# "));
    let file = path.file_name().unwrap().to_string_lossy().into_owned();
    let sentence = comments().find(|line| !line.starts_with("finds: "));
    Mistake {
        code: path.file_stem().unwrap().to_string_lossy().into_owned(),
        finds: comments()
            .filter_map(|line| line.strip_prefix("finds: "))
            .map(str::to_owned)
            .collect(),
        sentence: sentence
            .unwrap_or_else(|| panic!("{file} does not say its mistake in words"))
            .to_owned(),
        file,
        bytes,
    }
}

/// All findings about one file, in the order of the text.
fn findings(mistake: &Mistake) -> Vec<String> {
    let mut sources = Sources::new();
    let mut diagnostics: Vec<Diagnostic>;
    match decode(&mistake.bytes) {
        Err(error) => {
            let id = sources.add(mistake.file.as_str(), "");
            diagnostics = vec![error.to_diagnostic(id)];
        }
        Ok(text) => {
            let id = sources.add(mistake.file.as_str(), text);
            let parsed = parse(&sources, id);
            let (site, loaded) = load(&sources, &parsed.documents);
            let resolver = Resolver::new(&site, Flavour::Upstream);
            diagnostics = parsed.diagnostics;
            diagnostics.extend(loaded);
            diagnostics.extend(check(&sources, &resolver, &resolver.resolve_all()));
        }
    }
    diagnostics.sort_by(|a, b| {
        (a.span, a.severity(), a.code(), &a.message).cmp(&(b.span, b.severity(), b.code(), &b.message))
    });
    // What a profile lacks is found by the profile and by each of its nodes.
    diagnostics.dedup();
    diagnostics
        .iter()
        .map(|diagnostic| line(&sources, diagnostic))
        .collect()
}

fn line(sources: &Sources, diagnostic: &Diagnostic) -> String {
    let (severity, code) = (diagnostic.severity(), diagnostic.code());
    match diagnostic.span.map(|span| sources.location(span)) {
        Some(at) => format!("{severity} {code} {}:{}", at.line().unwrap(), at.column().unwrap()),
        None => format!("{severity} {code} nowhere"),
    }
}

#[test]
fn every_file_gives_exactly_the_findings_it_announces() {
    let mut wrong = String::new();
    for mistake in mistakes() {
        let found = findings(&mistake);
        if found != mistake.finds {
            let _ = writeln!(
                wrong,
                "{}\n  expected: {:?}\n  found:    {found:?}",
                mistake.file, mistake.finds
            );
        }
    }
    assert!(wrong.is_empty(), "files of examples/mistakes:\n{wrong}");
}

#[test]
fn every_lint_has_a_file_that_shows_it() {
    let files: BTreeMap<String, Mistake> = mistakes()
        .into_iter()
        .map(|mistake| (mistake.code.clone(), mistake))
        .collect();
    let codes: BTreeSet<&str> = lints().map(|lint| lint.code).collect();
    for lint in lints() {
        let announced = format!("{} {} ", lint.severity, lint.code);
        match files.get(lint.code) {
            Some(mistake) => assert!(
                mistake.finds.iter().any(|line| line.starts_with(&announced)),
                "{} does not announce `{announced}`, only {:?}",
                mistake.file,
                mistake.finds
            ),
            None => assert!(
                NOT_SHOWN.contains(&lint.code),
                "examples/mistakes has no file for `{}`",
                lint.code
            ),
        }
    }
    for mistake in files.values() {
        assert!(
            codes.contains(mistake.code.as_str()),
            "{} is named after no lint",
            mistake.file
        );
    }
}

#[test]
fn the_readme_lists_every_file() {
    let readme = read(&folder().join("README.md"));
    let readme = String::from_utf8_lossy(&readme);
    let found: Vec<&str> = readme.lines().filter(|line| line.starts_with("| [")).collect();
    let expected: Vec<String> = mistakes()
        .iter()
        .map(|mistake| format!("| [`{}`]({}) | {} |", mistake.code, mistake.file, mistake.sentence))
        .collect();
    assert_eq!(found, expected, "the table in examples/mistakes/README.md");
    for code in NOT_SHOWN {
        assert!(
            readme.contains(&format!("`{code}`")),
            "examples/mistakes/README.md does not explain why `{code}` is not shown"
        );
    }
}
