//! The order of documents has no influence on answers.

use berth_documents::{Document, Sources};
use berth_labels::Flavour;
use berth_site::{Resolver, load};
use proptest::prelude::*;

use super::{berth, node, pinned, pool, profile, rack, role_pool, rule};

/// Everything about the answers that does not name a place.
fn answers(documents: &[Document], sources: &Sources) -> Vec<String> {
    let (site, _) = load(sources, documents);
    let resolver = Resolver::new(&site, Flavour::Upstream);
    resolver
        .resolve_all()
        .iter()
        .map(|resolution| {
            let labels: Vec<String> = resolution
                .labels
                .iter()
                .map(|label| {
                    let beats: Vec<String> = label
                        .beats
                        .iter()
                        .map(|b| format!("{}:{:?}", site.source_name(b.source), b.value))
                        .collect();
                    format!(
                        "{}={} {} {} {beats:?}",
                        label.key,
                        label.value,
                        site.source_name(label.source),
                        label.route
                    )
                })
                .collect();
            let mut codes: Vec<String> = resolution
                .diagnostics
                .iter()
                .map(|d| format!("{} {}", d.code(), d.message))
                .collect();
            codes.sort();
            format!("{} {:?} {labels:?} {codes:?}", resolution.node, resolution.pool_name())
        })
        .collect()
}

fn labels() -> impl Strategy<Value = String> {
    prop::collection::btree_map(prop::sample::select(vec!["a", "b", "c", "'!a'", "'!b'"]), "[xy]", 0..4).prop_map(
        |map| {
            map.iter()
                .map(|(key, value)| format!("{key}: {value}"))
                .collect::<Vec<_>>()
                .join(", ")
        },
    )
}

/// A small site with every kind of source, whose parts agree and disagree at random.
fn site() -> impl Strategy<Value = Vec<String>> {
    let parts = (
        labels(),
        labels(),
        labels(),
        labels(),
        -1..2i64,
        -1..2i64,
        0..4usize,
        any::<bool>(),
    );
    parts.prop_map(|(root, leaf, own, berthed, first, second, pin, bad)| {
        let plain = |text: &str| text.replace("'!a'", "d").replace("'!b'", "e");
        let mut documents = vec![
            role_pool("master"),
            role_pool("worker"),
            pool("infra", "{matchLabels: {a: x}}"),
            pool("edge", "{matchExpressions: [{key: b, operator: Exists}, {key: c, operator: NotIn, values: [y]}]}"),
            rule("one", &format!("{{priority: {first}, match: {{namePatterns: ['n(?<n>.)']}}, labels: {{c: 'x${{n}}'}}, pool: infra}}")),
            rule("two", &format!("{{priority: {second}, match: {{racks: [r]}}, labels: {{c: y, f: g}}}}")),
            rule("three", "{match: {pools: [infra, edge]}, labels: {g: h}}"),
            rack("r", "{rack: r}"),
            profile("root", &format!("{{metadata: {{rack: r, owner_data: {{{root}}}}}}}")),
            profile("leaf", &format!("{{host_profile: root, metadata: {{owner_data: {{{leaf}}}}}}}")),
            node("n1", &format!("{{host_profile: leaf, metadata: {{owner_data: {{{own}}}}}}}")),
            node("n2", "{host_profile: root}"),
            berth("n1", &format!("{{labels: {{{}}}}}", plain(&berthed))),
            pinned("m1", ["infra", "edge", "worker", "nowhere"][pin], &format!("{{metadata: {{owner_data: {{{own}}}}}}}")),
        ];
        if bad {
            documents.push(pool("bad", "{matchExpressions: [{key: a, operator: Near}]}"));
        }
        documents
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn resolution_does_not_depend_on_document_order(texts in site(), seed in any::<u64>()) {
        let mut sources = Sources::new();
        let mut documents: Vec<Document> = Vec::new();
        for (number, text) in texts.iter().enumerate() {
            let id = sources.add(format!("{number}.yaml"), text.as_str());
            documents.extend(berth_documents::parse(&sources, id).documents);
        }
        let expected = answers(&documents, &sources);
        let mut state = seed;
        for index in (1..documents.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            documents.swap(index, usize::try_from(state >> 33).unwrap() % (index + 1));
        }
        prop_assert_eq!(answers(&documents, &sources), expected);
    }
}

/// Rules that need more patterns than a site may have together, and a plain one.
fn too_many_patterns() -> Vec<String> {
    let mut documents: Vec<String> = (0..30)
        .map(|number| {
            rule(
                &format!("large-{number:02}"),
                "{match: {namePatterns: ['(a{40}){99}']}, labels: {x: z}}",
            )
        })
        .collect();
    documents.push(rule("plain", "{match: {namePatterns: ['n.']}, labels: {a: b}}"));
    documents.push(node("n1", "{}"));
    documents
}

#[test]
fn the_same_patterns_are_refused_in_any_order() {
    let refused_of = |texts: &[String]| {
        let mut sources = Sources::new();
        let mut documents: Vec<Document> = Vec::new();
        for (number, text) in texts.iter().enumerate() {
            let id = sources.add(format!("{number}.yaml"), text.as_str());
            documents.extend(berth_documents::parse(&sources, id).documents);
        }
        let (site, findings) = load(&sources, &documents);
        assert_eq!(answers(&documents, &sources).concat().matches("a=b").count(), 1);
        let places: Vec<_> = findings.iter().map(|finding| finding.span.unwrap().source).collect();
        assert!(places.is_sorted(), "findings are in document order");
        let rules: Vec<String> = site.rules.iter().map(|rule| rule.name.value.to_string()).collect();
        (rules, findings.len())
    };
    let mut texts = too_many_patterns();
    let (rules, refused) = refused_of(&texts);
    assert_eq!((rules.len(), refused), (25, 6), "{rules:?}");
    assert!(rules.contains(&"plain".to_owned()));
    for by in [7, 16, 31] {
        texts.rotate_left(by);
        assert_eq!(refused_of(&texts), (rules.clone(), refused));
    }
    texts.reverse();
    assert_eq!(refused_of(&texts), (rules, refused));
}
