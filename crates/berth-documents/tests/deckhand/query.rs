use berth_documents::deckhand::{Listing, Query, QueryError, SecretPaths, View};
use serde_json::json;

use crate::build::{doc, read};

static NONE: SecretPaths = SecretPaths::none();

/// The names of the documents that a query shows.
fn names(listing: Listing, parameters: &[(&str, &str)]) -> Vec<String> {
    let documents = read([
        doc("site", "c", json!({"rank": 10}))
            .schema("promenade/Node/v1")
            .labels(json!({"k": "v", "n": 1})),
        doc("global", "a", json!({"rank": 9}))
            .schema("promenade/Node/v2")
            .labels(json!({"k": "v", "other": "x"}))
            .abstracted(),
        doc("region", "b", json!({"rank": "x"}))
            .schema("promenadex/Node/v1")
            .labels(json!({"k": "w", "flag": true})),
        doc("site", "d", json!({})).schema("drydock/Node/v1"),
    ]);
    let buckets = ["one", "two", "one", "three"];
    let entries = documents.iter().zip(buckets).zip(1..).collect();
    Query::parse(listing, parameters.iter().copied())
        .unwrap()
        .apply(entries, |((document, bucket), revision)| View {
            document,
            data: document.data(),
            secrets: &NONE,
            bucket,
            revision: *revision,
        })
        .into_iter()
        .map(|((document, _), _)| document.name().to_owned())
        .collect()
}

#[test]
fn filters_sorts_and_limits() {
    let table: &[(&[(&str, &str)], &str)] = &[
        (&[], "cabd"),
        (&[("unknown", "x")], "cabd"),
        (&[("schema", "promenade")], "ca"),
        (&[("schema", "promenade/Node")], "ca"),
        (&[("schema", "promenade/Node/v1")], "c"),
        (&[("schema", "promen")], ""),
        (&[("schema", "Node")], ""),
        (&[("schema", "drydock"), ("schema", "promenadex")], "bd"),
        (&[("metadata.name", "b")], "b"),
        (&[("metadata.layeringDefinition.layer", "site")], "cd"),
        (
            &[
                ("metadata.layeringDefinition.layer", "site"),
                ("metadata.layeringDefinition.layer", "region"),
            ],
            "cbd",
        ),
        (&[("metadata.layeringDefinition.abstract", "true")], "a"),
        (&[("metadata.layeringDefinition.abstract", "FALSE")], "cbd"),
        (&[("metadata.label", "k=v")], "ca"),
        (&[("metadata.label", "k=v"), ("metadata.label", "other=x")], "a"),
        (&[("metadata.label", "n=1")], "c"),
        (&[("metadata.label", "flag=True")], "b"),
        (&[("metadata.label", "k=")], ""),
        (&[("status.bucket", "one")], "cb"),
        (&[("status.bucket", "two"), ("status.bucket", "three")], "ad"),
        (&[("status.bucket", "one"), ("metadata.label", "k=v")], "c"),
        (&[("sort", "metadata.name")], "abcd"),
        (&[("sort", "metadata.name"), ("order", "desc")], "dcba"),
        (&[("order", "desc")], "dbac"),
        (&[("order", "asc")], "cabd"),
        (&[("sort", "status.bucket")], "cbda"),
        (&[("sort", "status.bucket"), ("sort", "metadata.name")], "bcda"),
        (&[("sort", "status.bucket,metadata.name")], "bcda"),
        (&[("sort", "status.bucket"), ("order", "desc")], "adcb"),
        (&[("sort", "schema")], "dcab"),
        // Missing comes first, numbers go by size and before texts.
        (&[("sort", "data.rank")], "dacb"),
        (&[("sort", "status.revision"), ("order", "desc")], "dbac"),
        (&[("limit", "2")], "ca"),
        (&[("sort", "metadata.name"), ("limit", "2")], "ab"),
        (&[("limit", "0")], ""),
        (&[("limit", "100")], "cabd"),
    ];
    for (parameters, expected) in table {
        assert_eq!(
            names(Listing::Documents, parameters).concat(),
            *expected,
            "{parameters:?}"
        );
    }
    // Rendered documents are never abstract, so the filter means nothing there.
    assert_eq!(
        names(
            Listing::RenderedDocuments,
            &[("metadata.layeringDefinition.abstract", "nonsense")]
        )
        .concat(),
        "cabd"
    );
}

#[test]
fn what_cannot_be_understood_is_refused() {
    let parse = |key: &str, value: &str| Query::parse(Listing::Documents, [(key, value)]);
    let value = |value: &str| value.to_owned();
    assert_eq!(parse("limit", "many"), Err(QueryError::Limit { value: value("many") }));
    assert_eq!(parse("limit", "-1"), Err(QueryError::Limit { value: value("-1") }));
    assert_eq!(
        parse("metadata.label", "k"),
        Err(QueryError::Label { value: value("k") })
    );
    assert_eq!(parse("sort", "a..b"), Err(QueryError::Sort { value: value("a..b") }));
    assert_eq!(
        parse("cleartext-secrets", "yes").unwrap_err().to_string(),
        "The cleartext-secrets parameter must be true or false, not 'yes'."
    );
    assert!(parse("cleartext-secrets", "True").unwrap().cleartext_secrets());
    assert!(!parse("x", "y").unwrap().cleartext_secrets());
}
