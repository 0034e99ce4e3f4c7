//! Every file of `examples/mistakes/hub` gives the findings it announces, and every lint of this crate has a file.

use std::{collections::BTreeSet, fmt::Write as _};

use berth_documents::{Diagnostic, Sources};
use berth_labels::Flavour;
use berth_site::{Resolver, load};
use berth_ztp::{CheckOptions, LINTS, ZtpInput, ZtpOptions, check, declared, manifests};

use crate::site::{documents, texts};

/// Found when manifests are made from a site, not in manifests.
const OF_SITES: &[&str] = &["ztp-no-cluster", "ztp-host"];

fn line(sources: &Sources, diagnostic: &Diagnostic) -> String {
    let (severity, code) = (diagnostic.severity(), diagnostic.code());
    match diagnostic.span.map(|span| sources.location(span)) {
        Some(at) => format!("{severity} {code} {}:{}", at.line().unwrap(), at.column().unwrap()),
        None => format!("{severity} {code} nowhere"),
    }
}

/// All findings about one file, in the order of the text. Documents of a site in it say what is declared.
fn findings(code: &str, text: &str) -> Vec<String> {
    let (mut sources, documents) = documents(&[(code.to_owned(), text.to_owned())]);
    let (site, _) = load(&sources, &documents);
    let resolver = Resolver::new(&site, Flavour::Openshift);
    let mut found = if OF_SITES.contains(&code) {
        let options = ZtpOptions::default();
        let input = ZtpInput {
            resolver: &resolver,
            ingress_controllers: &[],
            options: &options,
        };
        manifests(&input).diagnostics
    } else {
        let options = ZtpOptions::default();
        let wanted = declared(&ZtpInput {
            resolver: &resolver,
            ingress_controllers: &[],
            options: &options,
        });
        let options = CheckOptions {
            declared: Some(wanted).filter(|_| !site.berths.is_empty()),
            ..CheckOptions::default()
        };
        check(&mut sources, &documents, &options)
    };
    found.sort_by_key(|diagnostic| {
        let at = diagnostic.span.map(|span| sources.location(span));
        (at.and_then(|at| Some((at.line()?, at.column()?))), diagnostic.code())
    });
    found.iter().map(|diagnostic| line(&sources, diagnostic)).collect()
}

/// Code, text, announced findings, sentence.
fn mistakes() -> Vec<(String, String, Vec<String>, String)> {
    let files = texts("examples/mistakes/hub");
    let read = |(name, text): (String, String)| {
        let comments: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("# ")).collect();
        let finds = comments
            .iter()
            .filter_map(|line| line.strip_prefix("finds: "))
            .map(str::to_owned);
        let finds = finds.collect();
        let sentence = comments.iter().find(|line| !line.starts_with("finds: ")).copied();
        let sentence = sentence
            .unwrap_or_else(|| panic!("{name} does not say its mistake in words"))
            .to_owned();
        (name.trim_end_matches(".yaml").to_owned(), text, finds, sentence)
    };
    files.into_iter().map(read).collect()
}

#[test]
fn every_file_gives_exactly_the_findings_it_announces() {
    let mut wrong = String::new();
    for (code, text, finds, _) in mistakes() {
        let found = findings(&code, &text);
        if found != finds {
            let _ = writeln!(wrong, "{code}\n  expected: {finds:?}\n  found:    {found:?}");
        }
    }
    assert!(wrong.is_empty(), "files of examples/mistakes/hub:\n{wrong}");
}

#[test]
fn every_lint_has_a_file_that_shows_it_and_a_row() {
    let readme = include_str!("../../../../examples/mistakes/hub/README.md");
    let rows: Vec<&str> = readme.lines().filter(|line| line.starts_with("| [")).collect();
    let mistakes = mistakes();
    let expected: Vec<String> = mistakes
        .iter()
        .map(|(code, _, _, sentence)| format!("| [`{code}`]({code}.yaml) | {sentence} |"))
        .collect();
    assert_eq!(rows, expected, "the table in examples/mistakes/hub/README.md");
    let codes: BTreeSet<&str> = LINTS.iter().map(|lint| lint.code).collect();
    let files: BTreeSet<&str> = mistakes.iter().map(|(code, ..)| code.as_str()).collect();
    assert_eq!(files, codes);
    for lint in LINTS {
        let announced = format!("{} {} ", lint.severity, lint.code);
        let (_, _, finds, _) = mistakes.iter().find(|(code, ..)| code == lint.code).unwrap();
        assert!(
            finds.iter().any(|line| line.starts_with(&announced)),
            "{announced}: {finds:?}"
        );
    }
}
