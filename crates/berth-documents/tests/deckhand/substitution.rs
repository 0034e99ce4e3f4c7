use berth_documents::deckhand::{RenderOptions, render};
use serde_json::{Value, json};

use crate::build::{SCHEMA, by_name, data_of, doc, policy, read, try_render};

/// What a document with `data` becomes by one substitution from a document with `source`.
fn substituted(source: Value, path: &str, dest: Value, data: Value) -> Result<Value, String> {
    with_source(json!({"path": path}), source, dest, data)
}

fn with_source(mut src: Value, source: Value, dest: Value, data: Value) -> Result<Value, String> {
    src["schema"] = json!(SCHEMA);
    src["name"] = json!("source");
    let documents = [
        doc("site", "source", source),
        doc("global", "target", data).substitution(json!({"src": src, "dest": dest})),
    ];
    try_render(documents)
        .map(|rendered| by_name(&rendered).remove("target").unwrap())
        .map_err(|errors| format!("{} {}", errors.first().status(), errors.first().class()))
}

#[test]
fn values_go_where_they_should() {
    let source = json!({"a": {"b": [1, {"c": "deep"}]}, "n": 5});
    for (path, dest, data, expected) in [
        (
            ".a.b[1].c",
            json!({"path": ".x"}),
            json!({"x": "old", "y": 1}),
            json!({"x": "deep", "y": 1}),
        ),
        (
            ".n",
            json!({"path": ".new.place"}),
            json!({}),
            json!({"new": {"place": 5}}),
        ),
        (
            ".n",
            json!({"path": ".list[2].v"}),
            json!({}),
            json!({"list": [{}, {}, {"v": 5}]}),
        ),
        (
            ".a",
            json!({"path": "."}),
            json!({"gone": 1}),
            json!({"b": [1, {"c": "deep"}]}),
        ),
        (
            "$",
            json!({"path": ".all"}),
            json!(null),
            json!({"all": {"a": {"b": [1, {"c": "deep"}]}, "n": 5}}),
        ),
        (
            ".n",
            json!([{"path": ".x"}, {"path": ".y[0]"}]),
            json!({}),
            json!({"x": 5, "y": [5]}),
        ),
        (".n", json!({"path": ".'a.b'"}), json!({}), json!({"a.b": 5})),
    ] {
        assert_eq!(
            substituted(source.clone(), path, dest.clone(), data),
            Ok(expected),
            "{path} {dest}"
        );
    }
}

#[test]
fn a_source_that_is_no_mapping_is_the_value() {
    assert_eq!(
        substituted(json!("secret"), ".does.not.matter", json!({"path": ".x"}), json!({})),
        Ok(json!({"x": "secret"}))
    );
    assert_eq!(
        substituted(json!([1]), ".[0]", json!({"path": ".x"}), json!({})),
        Ok(json!({"x": [1]}))
    );
}

#[test]
fn patterns_replace_inside_the_text() {
    for (value, pattern, text, expected) in [
        (
            json!("pw"),
            "INSERT_[A-Z]+_HERE",
            "http://admin:INSERT_PASSWORD_HERE@host",
            "http://admin:pw@host",
        ),
        (json!("x"), "A", "A-A-b", "x-x-b"),
        (json!(8080), "PORT", "host:PORT", "host:8080"),
        (json!(true), "FLAG", "on=FLAG", "on=True"),
        (json!(r"a\1$0\d"), "P", "[P]", r"[a\1$0\d]"),
        (json!("v"), "(?<=key=)NAME", "NAME key=NAME", "NAME key=v"),
        (json!("v"), "absent", "text", "text"),
        (json!("ü"), "é", "aéb", "aüb"),
        (json!(""), "x", "axb", "ab"),
    ] {
        let dest = json!({"path": ".t", "pattern": pattern});
        assert_eq!(
            substituted(json!({"v": value}), ".v", dest, json!({"t": text})),
            Ok(json!({"t": expected})),
            "{pattern}"
        );
    }
}

#[test]
fn patterns_need_a_text() {
    for data in [
        json!({}),
        json!({"t": 1}),
        json!({"t": {}}),
        json!({"t": null}),
        json!("x"),
    ] {
        let dest = json!({"path": ".t", "pattern": "P"});
        assert_eq!(
            substituted(json!({"v": 1}), ".v", dest, data.clone()),
            Err("400 MissingDocumentPattern".to_owned()),
            "{data}"
        );
    }
}

#[test]
fn patterns_recurse_to_a_depth() {
    let data = json!({"top": "P", "list": ["P", {"deep": ["P"]}], "n": 1});
    for (path, depth, expected) in [
        (".", -1, json!({"top": "v", "list": ["v", {"deep": ["v"]}], "n": 1})),
        (".", 0, data.clone()),
        (".", 1, json!({"top": "v", "list": ["P", {"deep": ["P"]}], "n": 1})),
        (".", 2, json!({"top": "v", "list": ["v", {"deep": ["P"]}], "n": 1})),
        (".", 4, json!({"top": "v", "list": ["v", {"deep": ["v"]}], "n": 1})),
        (".list", 1, json!({"top": "P", "list": ["v", {"deep": ["P"]}], "n": 1})),
        // A text at the path itself is replaced whatever the depth.
        (".top", 0, json!({"top": "v", "list": ["P", {"deep": ["P"]}], "n": 1})),
    ] {
        let dest = json!({"path": path, "pattern": "P", "recurse": {"depth": depth}});
        assert_eq!(
            substituted(json!("v"), ".", dest, data.clone()),
            Ok(expected),
            "{path} {depth}"
        );
    }
}

#[test]
fn source_patterns_take_a_part() {
    let source = json!({"url": "https://10.0.0.1:8443/"});
    for (src, expected) in [
        (json!({"path": ".url", "pattern": r"\d+\.\d+\.\d+\.\d+"}), "10.0.0.1"),
        (
            json!({"path": ".url", "pattern": r"(\w+)://([^:]+):(\d+)", "match_group": 3}),
            "8443",
        ),
        (
            json!({"path": ".url", "pattern": r"(\w+)://([^:]+):(\d+)", "match_group": 1, "deepcopy": true}),
            "https",
        ),
        (json!({"path": ".url", "pattern": "nowhere"}), "https://10.0.0.1:8443/"),
    ] {
        assert_eq!(
            with_source(src.clone(), source.clone(), json!({"path": ".x"}), json!({})),
            Ok(json!({"x": expected})),
            "{src}"
        );
    }
    for src in [
        json!({"path": ".", "pattern": "x"}),
        json!({"path": ".url", "pattern": "(http)", "match_group": 2}),
        json!({"path": ".url", "pattern": "("}),
    ] {
        assert_eq!(
            with_source(src.clone(), source.clone(), json!({"path": ".x"}), json!({})),
            Err("500 UnknownSubstitutionError".to_owned()),
            "{src}"
        );
    }
}

#[test]
fn missing_data_is_an_error() {
    for (source, path) in [(json!({"a": 1}), ".b"), (json!({"a": null}), ".a"), (json!(null), ".")] {
        assert_eq!(
            substituted(source, path, json!({"path": ".x"}), json!({})),
            Err("400 SubstitutionSourceDataNotFound".to_owned())
        );
    }
}

#[test]
fn substitution_comes_after_layering_and_reaches_children() {
    let documents = [
        doc("site", "secret", json!("s3cret")),
        doc("global", "parent", json!({"url": "PASSWORD@host"}))
            .labels(json!({"of": "parent"}))
            .abstracted()
            .takes("secret", ".", json!({"path": ".url", "pattern": "PASSWORD"})),
        doc("site", "child", json!({"own": "PASSWORD"}))
            .child_of(json!({"of": "parent"}), &["merge ."])
            .takes("secret", ".", json!({"path": ".own", "pattern": "PASSWORD"})),
        doc("region", "third", json!({})).takes("child", ".url", json!({"path": ".copied"})),
    ];
    let rendered = by_name(&try_render(documents).unwrap());
    assert_eq!(rendered["child"], json!({"url": "s3cret@host", "own": "s3cret"}));
    assert_eq!(rendered["third"], json!({"copied": "s3cret@host"}));
}

#[test]
fn abstract_documents_are_no_sources() {
    let documents = [
        doc("site", "source", json!(1)).abstracted(),
        doc("site", "target", json!({})).takes("source", ".", json!({"path": ".x"})),
    ];
    let errors = try_render(documents).unwrap_err();
    assert_eq!(errors.first().class(), "SubstitutionSourceNotFound");
}

#[test]
fn missing_sources_can_be_left_out() {
    let documents = read([
        policy(&["site"]),
        doc("site", "target", json!({"x": "kept"})).takes("nowhere", ".", json!({"path": ".x"})),
    ]);
    let options = RenderOptions {
        fail_on_missing_source: false,
        ..RenderOptions::default()
    };
    assert_eq!(
        by_name(&render(&documents, options).unwrap())["target"],
        json!({"x": "kept"})
    );
}

#[test]
fn several_substitutions_go_in_order() {
    let documents = [
        doc("site", "one", json!("P2")),
        doc("site", "two", json!("end")),
        doc("site", "target", json!({"t": "P1"}))
            .takes("one", ".", json!({"path": ".t", "pattern": "P1"}))
            .takes("two", ".", json!({"path": ".t", "pattern": "P2"})),
    ];
    assert_eq!(data_of("target", documents), json!({"t": "end"}));
}

/// Forty documents that each take the one before twice would be 2^40 values.
#[test]
fn documents_that_double_each_other_hit_the_limit() {
    let mut documents = vec![doc("site", "d0", json!({"x": "y"}))];
    for number in 1..40 {
        let before = format!("d{}", number - 1);
        documents.push(doc("site", &format!("d{number}"), json!({})).takes(
            &before,
            ".",
            json!([{"path": ".a"}, {"path": ".b"}]),
        ));
    }
    let documents = read(documents.into_iter().chain([policy(&["site"])]));
    let options = RenderOptions {
        size_limit: 10_000_000,
        size_factor: 0,
        ..RenderOptions::default()
    };
    let errors = render(&documents, options).unwrap_err();
    assert_eq!(
        errors.to_string(),
        "Rendering document [example/Kind/v1, site] d12 would make the rendered documents larger than the limit of \
         10000000 bytes."
    );
}

#[test]
fn documents_that_nest_each_other_hit_the_limit() {
    let mut documents = vec![doc("site", "d0", json!({"x": "y"}))];
    for number in 1..300 {
        let before = format!("d{}", number - 1);
        documents.push(doc("site", &format!("d{number}"), json!({})).takes(&before, ".", json!({"path": ".a"})));
    }
    let errors = try_render(documents).unwrap_err();
    assert_eq!(errors.first().class(), "UnknownSubstitutionError");
    assert!(errors.to_string().contains("nested deeper than 120 levels"), "{errors}");
}
