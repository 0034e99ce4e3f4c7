//! Label rules: templates, patterns, tables and CLLI codes, on any name.
//!
//! Input, one per line: template, pattern, node name, and then entries of a table as `code=value`.
#![no_main]

use berth_documents::{Sources, parse};
use berth_fuzz::assert_findings_fit;
use berth_labels::Flavour;
use berth_site::{Resolver, Template, TemplateError, check, close_matches, decode_clli, load};
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value, json};

/// In bytes.
const LONGEST_PATTERN: usize = 48;

fuzz_target!(|text: &str| {
    let mut lines = text.split('\n');
    let mut line = || lines.next().unwrap_or_default();
    let (template, pattern, name) = (line(), line(), line());
    for text in [template, pattern, name] {
        check_template(text);
        check_clli(text);
    }
    let _ = close_matches(template, [pattern, name]);
    let table: Map<String, Value> = lines
        .filter_map(|entry| entry.split_once('='))
        .map(|(code, value)| (code.to_owned(), value.into()))
        .collect();
    // The larger a pattern the longer it takes to compile, which others look after.
    let pattern = small_counts(&pattern[..pattern.floor_char_boundary(LONGEST_PATTERN)]);
    check_rule(template, &pattern, name, &table);
});

/// The pattern with counts of one digit: `a{9}` in place of `a{999}`.
fn small_counts(pattern: &str) -> String {
    let mut after_digit = false;
    let keep = |character: &char| {
        let is_digit = character.is_ascii_digit();
        !(std::mem::replace(&mut after_digit, is_digit) && is_digit)
    };
    pattern.chars().filter(keep).collect()
}

fn check_template(text: &str) {
    let Ok(template) = Template::parse(text) else {
        return;
    };
    let expanded: Result<String, TemplateError> =
        template.expand(|expression| Ok(format!("{:?}", expression.variable)));
    let expanded = expanded.expect("nothing in it fails");
    if let Some(literal) = template.as_literal() {
        assert_eq!(literal, expanded);
        assert_eq!(template.expressions().count(), 0);
    }
}

fn check_clli(code: &str) {
    if let Ok(clli) = decode_clli(code) {
        let joined = [clli.place, clli.state, clli.site, clli.entity.unwrap_or_default()].concat();
        assert_eq!(joined, code);
    }
}

fn check_rule(template: &str, pattern: &str, name: &str, table: &Map<String, Value>) {
    let documents = [
        json!({
            "apiVersion": "berth.dev/v1alpha1",
            "kind": "LabelRule",
            "metadata": {"name": "rule"},
            "spec": {
                "match": {"namePatterns": [pattern]},
                "clli": "hostname",
                "tables": {"codes": table},
                "labels": {"example.com/label": template},
            },
        }),
        json!({"apiVersion": "berth.dev/v1alpha1", "kind": "Berth", "metadata": {"name": name}, "spec": {}}),
    ];
    let mut sources = Sources::new();
    // JSON, because to print and read YAML takes longer than everything that follows.
    let id = sources.add("rule", documents.map(|document| document.to_string()).concat());
    let parsed = parse(&sources, id);
    assert_eq!(parsed.documents.len(), 2);
    let (site, findings) = load(&sources, &parsed.documents);
    assert_findings_fit(&sources, &findings);
    let resolver = Resolver::new(&site, Flavour::Upstream);
    let resolutions = resolver.resolve_all();
    assert_findings_fit(&sources, &check(&sources, &resolver, &resolutions));
}
