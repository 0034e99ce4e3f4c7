//! How much memory a site takes at most, counted at the allocator: a small multiple of what was sent, whatever was sent.
#![expect(clippy::unwrap_used, reason = "a helper that fails stops its test")]

use std::fmt::Write as _;

use allocation_counter::measure;
use berth_documents::{Sources, parse};
use berth_labels::Flavour;
use berth_site::{Resolver, load};

/// What a site may take in any case: the budget of its patterns.
const BASE: u64 = 48 << 20;

/// Patterns as rules whose labels take what the pattern captures, and a node for them.
fn site(patterns: impl IntoIterator<Item = String>) -> String {
    let mut text = String::new();
    for (number, pattern) in patterns.into_iter().enumerate() {
        writeln!(
            text,
            "schema: berth/LabelRule/v1\nmetadata: {{name: r{number}}}\n\
             data: {{match: {{namePatterns: ['{pattern}']}}, labels: {{a: '${{c}}'}}}}\n---"
        )
        .unwrap();
    }
    text + "schema: drydock/BaremetalNode/v1\nmetadata: {name: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}\ndata: {}\n"
}

/// What it takes to read a site and resolve its nodes, and how many patterns were refused.
fn cost(text: &str) -> (u64, usize) {
    let mut refused = 0;
    let taken = measure(|| {
        let mut sources = Sources::new();
        let id = sources.add("site.yaml", text);
        let parsed = parse(&sources, id);
        let (site, findings) = load(&sources, &parsed.documents);
        let mut findings: Vec<_> = findings.iter().map(berth_documents::Diagnostic::code).collect();
        findings.retain(|code| *code == "invalid-pattern");
        refused = findings.len();
        let resolver = Resolver::new(&site, Flavour::Upstream);
        assert_eq!(resolver.resolve_all().len(), 1);
    });
    (taken.bytes_max, refused)
}

#[test]
fn patterns_take_a_small_multiple_of_their_text() {
    let many = |count: usize, pattern: &str| -> Vec<String> {
        (0..count)
            .map(|number| pattern.replace('N', &number.to_string()))
            .collect()
    };
    for (what, patterns, is_refused) in [
        ("classes", many(200, r"(?<c>\w{15}xN|a*)"), false),
        ("classes without end", many(5000, r"(?<c>\w{150}xN|a*)"), true),
        (
            "classes one after the other",
            many(100, &format!("(?<c>{}|a*)", r"\w".repeat(2000))),
            true,
        ),
        (
            "categories",
            many(100, &format!("(?<c>{}|a*)", r"\pL".repeat(1300))),
            true,
        ),
        ("repetitions", many(10, "(?<c>((a{1000}){1000}){1000})N"), true),
        ("ways out", many(900, "(?<c>a{0,900}|N)"), true),
        (
            "captures",
            many(
                50,
                &format!(
                    "(?<c>a*){}",
                    (0..300).map(|n| format!("(?<c{n}>a?)")).collect::<Vec<_>>().concat()
                ),
            ),
            true,
        ),
        ("groups", many(50, &format!("(?<c>a*){}", "(a?)".repeat(1000))), false),
        (
            "classes of many ranges",
            many(100, "(?<c>[acegikmoqsuwy1357]{900}|a*)N"),
            true,
        ),
        ("names", many(5000, "(?<c>a*|node-number-N)"), false),
        ("a long one", vec![format!("(?<c>a*|{})", "b".repeat(100_000))], true),
    ] {
        let text = site(patterns);
        let (peak, refused) = cost(&text);
        let most = BASE + 20 * text.len() as u64;
        assert!(peak <= most, "{what}: {peak} bytes for {} bytes of text", text.len());
        assert_eq!(refused > 0, is_refused, "{what}: {refused} refused");
    }
}
