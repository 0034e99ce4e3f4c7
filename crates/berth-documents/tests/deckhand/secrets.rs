//! What comes from an encrypted document stays secret wherever it goes.

use std::sync::Arc;

use berth_documents::deckhand::{
    DataSchemas, Listing, Query, RedactionKey, RenderOptions, RenderedDocument, Revision, View, canonical_json,
    deep_diff, redact, render, validation_entry,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::build::{Doc, SCHEMA, doc, policy, read, try_render};

const SECRET: &str = "k3Hq-unique-secret";

fn key() -> RedactionKey {
    RedactionKey::new(&[7; 32])
}

fn rendered(documents: impl IntoIterator<Item = Doc>) -> Vec<RenderedDocument> {
    let mut documents = try_render(documents).unwrap().documents;
    documents.retain(|it| !it.document.is_control());
    documents
}

/// The secret paths of one document.
fn paths(name: &str, documents: impl IntoIterator<Item = Doc>) -> Vec<String> {
    let documents = rendered(documents);
    let found = documents.iter().find(|it| it.document.name() == name).unwrap();
    found.secrets.paths().iter().map(ToString::to_string).collect()
}

fn source() -> Doc {
    let data = json!({"password": SECRET, "users": [{"name": "a", "key": SECRET}], "port": 22});
    doc("site", "source", data).encrypted()
}

#[test]
fn substituted_values_are_secret_and_nothing_else() {
    let target = doc(
        "site",
        "target",
        json!({"a": {"b": 1}, "url": "http://USER:PASS@host", "list": ["PASS", "x"]}),
    )
    .takes("source", ".password", json!({"path": ".a.password"}))
    .takes("source", ".users", json!([{"path": ".users"}, {"path": ".more.users"}]))
    .takes("source", ".password", json!({"path": ".url", "pattern": "PASS"}))
    .takes("source", ".port", json!({"path": ".url", "pattern": "NOT THERE"}))
    .takes(
        "source",
        ".password",
        json!({"path": ".list", "pattern": "PASS", "recurse": {"depth": -1}}),
    );
    let documents = [source(), target];
    assert_eq!(
        paths("target", documents.clone()),
        [".a.password", ".list[0]", ".more.users", ".url", ".users"]
    );
    assert_eq!(paths("source", documents.clone()), ["."]);
    let all = rendered(documents);
    let shown = redact(&all[1].document, &all[1].data, &all[1].secrets, &key());
    assert_eq!(shown["data"]["a"]["b"], 1);
    assert_eq!(shown["data"]["list"][1], "x");
    assert_eq!(shown["data"]["url"].as_str().map(str::len), Some(64));
}

#[test]
fn secrets_go_on_to_those_who_take_them() {
    let first = doc("site", "first", json!({"plain": 1})).takes("source", ".password", json!({"path": ".a.x"}));
    let second = doc("site", "second", json!({"text": "<P>"}))
        .takes("first", ".a", json!({"path": ".all"}))
        .takes("first", ".plain", json!({"path": ".plain"}))
        .takes("first", ".a", json!({"path": ".text", "pattern": "P"}));
    let third = doc("site", "third", json!({})).substitution(json!({
        "src": {"schema": SCHEMA, "name": "second", "path": ".all.x", "pattern": "k(.)", "match_group": 1},
        "dest": {"path": ".part"},
    }));
    let documents = [source(), first, second, third];
    assert_eq!(paths("second", documents.clone()), [".all.x", ".text"]);
    assert_eq!(paths("third", documents), [".part"]);
}

#[test]
fn layers_keep_secrets_until_they_are_overwritten() {
    let parent = || {
        doc("global", "parent", json!({"a": {"c": 1}, "list": [1, 2, 3]}))
            .labels(json!({"is": "parent"}))
            .abstracted()
            .takes(
                "source",
                ".password",
                json!([{"path": ".a.b"}, {"path": ".x"}, {"path": ".list[2]"}]),
            )
    };
    let child = |actions: &[&str], data: Value| {
        let child = doc("site", "child", data).child_of(json!({"is": "parent"}), actions);
        paths("child", [source(), parent(), child])
    };
    assert_eq!(child(&["merge ."], json!({})), [".a.b", ".list[2]", ".x"]);
    assert_eq!(child(&["merge ."], json!({"a": {"b": "plain"}})), [".list[2]", ".x"]);
    assert_eq!(child(&["merge .a"], json!({"a": {"c": 2}})), [".a.b", ".list[2]", ".x"]);
    assert_eq!(child(&["replace .a"], json!({"a": {}})), [".list[2]", ".x"]);
    assert_eq!(
        child(&["delete .x", "delete .list[0]"], json!({})),
        [".a.b", ".list[1]"]
    );
    assert_eq!(child(&["replace ."], json!({"x": 1})), [""; 0]);
    assert_eq!(child(&["delete ."], json!({})), [""; 0]);
}

#[test]
fn an_encrypted_parent_makes_its_children_secret() {
    let parent = doc("global", "parent", json!({"a": SECRET}))
        .labels(json!({"is": "parent"}))
        .encrypted();
    let child = |actions: &[&str]| {
        let child = doc("site", "child", json!({"a": "x"})).child_of(json!({"is": "parent"}), actions);
        paths("child", [parent.clone(), child])
    };
    assert_eq!(child(&["merge ."]), ["."]);
    assert_eq!(child(&["replace ."]), [""; 0]);
    let replacing = doc("site", "parent", json!({"b": 1}))
        .child_of(json!({"is": "parent"}), &["merge ."])
        .replacement();
    let taker = doc("site", "taker", json!({})).takes("parent", ".b", json!({"path": ".b"}));
    assert_eq!(paths("taker", [parent.clone(), replacing, taker]), [".b"]);
}

#[test]
fn validation_tells_nothing_of_a_secret() {
    let schema = json!({
        "type": "object",
        "properties": {
            "number": {"type": "integer"},
            "plain": {"type": "integer"},
            "map": {"additionalProperties": false},
            "any": {"anyOf": [{"type": "integer"}]},
        },
        "maxProperties": 1,
    });
    let asked = Doc(json!({
        "schema": "deckhand/DataSchema/v1",
        "metadata": {"schema": "metadata/Control/v1", "name": SCHEMA},
        "data": schema,
    }));
    let secret = doc("site", "source", json!({"a": SECRET, "map": {(SECRET): 1}}))
        .schema("example/Other/v1")
        .encrypted();
    let takes = |document: Doc, path: &str, to: &str| {
        document.substitution(
            json!({"src": {"schema": "example/Other/v1", "name": "source", "path": path}, "dest": {"path": to}}),
        )
    };
    let parent = takes(doc("global", "parent", json!({"plain": "shown"})), ".a", ".number");
    let parent = takes(takes(parent, ".map", ".map"), ".a", ".any");
    let parent = parent.labels(json!({"is": "parent"}));
    // The child has no substitution of its own.
    let child = doc("site", "child", json!({})).child_of(json!({"is": "parent"}), &["merge ."]);
    let documents = read([asked, secret, parent, child, policy(&["global", "site"])]);
    let rendered = render(&documents, RenderOptions::default()).unwrap();
    let (schemas, none) = DataSchemas::compile(&documents);
    assert_eq!(none, []);
    let violations = schemas.validate_all(&rendered.documents);
    let told: Vec<String> = violations.iter().map(ToString::to_string).collect();
    assert!(
        told.iter()
            .any(|it| it.contains("\"shown\" is not of type \"integer\"")),
        "{told:#?}"
    );
    let secret = |it: &&String| it.contains("a value that is secret does not meet the schema");
    assert_eq!(told.iter().filter(secret).count(), 1, "{told:#?}");
    assert!(!told.iter().any(|it| it.contains(SECRET)), "{told:#?}");
}

/// How one more document of a random site is made.
#[derive(Clone, Debug)]
struct Recipe {
    layer: usize,
    data: usize,
    parent: Option<(prop::sample::Index, Vec<(usize, usize)>)>,
    takes: Vec<(prop::sample::Index, usize, usize, usize)>,
    encrypted: bool,
    replacement: bool,
}

const LAYERS: [&str; 3] = ["global", "region", "site"];
const PATHS: [&str; 10] = [
    ".", ".a", ".a.b", ".c", ".c[0]", ".c[1].d", ".text", ".e.f", ".a.b.g", ".h",
];

fn recipes() -> impl Strategy<Value = Recipe> {
    let index = any::<prop::sample::Index>;
    (
        0..3_usize,
        0..4_usize,
        prop::option::of((index(), prop::collection::vec((0..3_usize, 0..PATHS.len()), 1..4))),
        prop::collection::vec((index(), 0..PATHS.len(), 0..PATHS.len(), 0..4_usize), 0..4),
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.1),
    )
        .prop_map(|(layer, data, parent, takes, encrypted, replacement)| Recipe {
            layer,
            data,
            parent,
            takes,
            encrypted,
            replacement,
        })
}

fn make(recipe: &Recipe, number: usize, before: &[String]) -> Doc {
    let data = [
        json!({"a": {"b": {"g": "x"}}, "c": ["y", {"d": 1}], "text": "see P here"}),
        json!({"text": "P", "h": [["P", "P"], {"i": "P"}]}),
        json!({"e": {"f": "z"}, "a": "P"}),
        json!({}),
    ];
    let name = format!("d{number}");
    let mut document = doc(LAYERS[recipe.layer], &name, data[recipe.data].clone()).labels(json!({"is": name}));
    if let Some((parent, actions)) = &recipe.parent {
        let methods = ["merge", "replace", "delete"];
        let actions: Vec<String> = actions
            .iter()
            .map(|(method, path)| format!("{} {}", methods[*method], PATHS[*path]))
            .collect();
        let actions: Vec<&str> = actions.iter().map(String::as_str).collect();
        document = document.child_of(json!({"is": parent.get(before)}), &actions);
        if recipe.replacement {
            document = document.replacement();
            document.0["metadata"]["name"] = json!(parent.get(before));
        }
    }
    for (from, path, to, how) in &recipe.takes {
        let mut source = json!({"schema": SCHEMA, "name": from.get(before), "path": PATHS[*path]});
        let mut destination = json!({"path": PATHS[*to]});
        match how {
            1 => destination["pattern"] = json!("P"),
            2 => {
                destination["pattern"] = json!("[Pxyz]");
                destination["recurse"] = json!({"depth": -1});
            }
            3 => source["pattern"] = json!("k3.*"),
            _ => {}
        }
        document = document.substitution(json!({"src": source, "dest": destination}));
    }
    if recipe.encrypted {
        document.encrypted()
    } else {
        document
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_secret_gets_out_of_a_random_site(recipes in prop::collection::vec(recipes(), 1..14), shape in 0..4_usize) {
        let data = [
            json!(SECRET),
            json!({"a": {"b": SECRET}, "c": [SECRET, {"d": SECRET}], "text": SECRET, "h": 1}),
            json!({"a": {(SECRET): 1}, "text": format!("u:{SECRET}@h"), "e": {"f": [SECRET]}}),
            json!([SECRET, {"a": SECRET}]),
        ];
        let schema = Doc(json!({
            "schema": "deckhand/DataSchema/v1",
            "metadata": {"schema": "metadata/Control/v1", "name": SCHEMA},
            "data": {"not": {}, "type": "integer", "additionalProperties": {"type": "integer"}, "maxProperties": 0,
                "properties": {"a": {"enum": [1]}, "c": {"items": {"type": "null"}}, "text": {"pattern": "^$"}}},
        }));
        let source = doc("global", "d0", data[shape].clone()).labels(json!({"is": "d0"})).encrypted();
        let mut documents = vec![policy(&LAYERS), schema, source];
        let mut names = vec!["d0".to_owned()];
        let render_all = |documents: &[Doc]| render(&read(documents.iter().cloned()), RenderOptions::default());
        for recipe in &recipes {
            let document = make(recipe, names.len(), &names);
            documents.push(document);
            // Many recipes make no sense; those are left out.
            if render_all(&documents).is_ok() {
                names.push(format!("d{}", names.len()));
            } else {
                documents.pop();
            }
        }
        let rendered = render_all(&documents).unwrap().documents;
        for it in &rendered {
            let shown = canonical_json(&redact(&it.document, &it.data, &it.secrets, &key()));
            prop_assert!(!shown.contains(SECRET), "{shown}");
        }
        let (schemas, _) = DataSchemas::compile(&read(documents.iter().cloned()));
        for violation in schemas.validate_all(&rendered) {
            prop_assert!(!format!("{violation} {}", violation.schema_path).contains(SECRET), "{violation}");
        }
        let file = |documents: Vec<RenderedDocument>| -> Vec<(String, RenderedDocument)> {
            documents.into_iter().map(|it| ("b".to_owned(), it)).collect()
        };
        let emptied = rendered.iter().cloned().map(|mut it| {
            it.data = Arc::new(json!({"c": []}));
            it.document = doc("site", it.document.name(), json!({})).read();
            it
        });
        let (after, before) = (file(rendered.clone()), file(emptied.collect()));
        for (one, other) in [(&before, &after), (&after, &before)] {
            let one = Revision { number: 1, documents: one };
            let other = Revision { number: 2, documents: other };
            let told = format!("{:?}", deep_diff(&one, &other, &key()));
            prop_assert!(!told.contains(SECRET), "{told}");
        }
    }
}

/// Whoever may write documents could find a secret by sorting guesses around it.
#[test]
fn secrets_give_no_order() {
    let taker = |name: &str, from: &str| doc("site", name, json!({"n": name})).takes(from, ".", json!({"path": ".x"}));
    let documents = rendered([
        doc("site", "z", json!("z")).encrypted(),
        doc("site", "a", json!("a")).encrypted(),
        doc("site", "plain", json!("m")),
        taker("t1", "z"),
        taker("t2", "a"),
        taker("t3", "plain"),
    ]);
    let sorted = |column: &str| -> Vec<String> {
        let query = Query::parse(Listing::RenderedDocuments, [("sort", column)]).unwrap();
        let shown = query.apply(documents.clone(), |it| View {
            document: &it.document,
            data: &it.data,
            secrets: &it.secrets,
            bucket: "b",
            revision: 1,
        });
        shown.iter().map(|it| it.document.name().to_owned()).collect()
    };
    let takers = |names: Vec<String>| -> Vec<String> { names.into_iter().filter(|it| it.starts_with('t')).collect() };
    let written = takers(documents.iter().map(|it| it.document.name().to_owned()).collect());
    let without = |name: &str, mut names: Vec<String>| {
        names.retain(|it| it != name);
        names
    };
    let by_secret = takers(sorted("data.x"));
    assert_eq!(without("t3", by_secret.clone()), without("t3", written.clone()));
    assert_eq!(
        by_secret.last().map(String::as_str),
        Some("t3"),
        "what is not secret is sorted"
    );
    assert_eq!(without("t3", takers(sorted("data"))), without("t3", written));
}

fn schema_of(kind: &str, data: Value) -> Doc {
    Doc(json!({
        "schema": "deckhand/DataSchema/v1",
        "metadata": {"schema": "metadata/Control/v1", "name": kind},
        "data": data,
    }))
}

/// Everything that a validation says.
fn said(documents: Vec<Doc>) -> Vec<Value> {
    let documents = read(documents.into_iter().chain([policy(&LAYERS)]));
    let rendered = render(&documents, RenderOptions::default()).unwrap();
    let (schemas, none) = DataSchemas::compile(&documents);
    assert_eq!(none, []);
    let entry = validation_entry(&schemas.validate_all(&rendered.documents));
    entry["errors"].as_array().unwrap().clone()
}

/// Ways to ask what the first letter of a secret is, each with the answers to many questions in one validation.
fn questions(secret: &str) -> Vec<(&'static str, Vec<Doc>)> {
    let letters = || ('a'..='z').map(|letter| (letter, format!("^{letter}")));
    let passphrase = || {
        doc("site", "secret", json!(secret))
            .schema("deckhand/Passphrase/v1")
            .encrypted()
    };
    let taking = |name: &str, kind: &str, places: Vec<String>| {
        let dest: Vec<Value> = places.iter().map(|place| json!({"path": place})).collect();
        doc("site", name, json!({})).schema(kind).substitution(
            json!({"src": {"schema": "deckhand/Passphrase/v1", "name": "secret", "path": "."}, "dest": dest}),
        )
    };
    let all: Vec<Value> = letters().map(|(_, pattern)| json!({"pattern": pattern})).collect();
    let each: Value = letters()
        .map(|(it, pattern)| (it.to_string(), json!({"pattern": pattern})))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let conditions = |then: &dyn Fn(char) -> Value| -> Vec<Value> {
        letters()
            .map(|(it, pattern)| json!({"if": {"properties": {"p": {"pattern": pattern}}}, "then": then(it)}))
            .collect()
    };
    let draft = "http://json-schema.org/draft-07/schema#";
    let mut many = vec![passphrase()];
    for (letter, pattern) in letters() {
        let kind = format!("example/Kind{letter}/v1");
        many.push(schema_of(&kind, json!({"properties": {"p": {"pattern": pattern}}})));
        many.push(taking(&format!("t{letter}"), &kind, vec![".p".to_owned()]));
    }
    vec![
        (
            "patterns of a list",
            vec![passphrase(), schema_of("deckhand/Passphrase/v1", json!({"allOf": all}))],
        ),
        (
            "many places",
            vec![
                passphrase(),
                schema_of(SCHEMA, json!({"properties": each})),
                taking("taker", SCHEMA, letters().map(|(it, _)| format!(".{it}")).collect()),
            ],
        ),
        (
            "conditions about keys",
            vec![
                passphrase(),
                schema_of(
                    SCHEMA,
                    json!({"$schema": draft, "allOf": conditions(&|it| json!({"required": [it.to_string()]}))}),
                ),
                taking("taker", SCHEMA, vec![".p".to_owned()]),
            ],
        ),
        (
            "conditions about others",
            vec![
                passphrase(),
                schema_of(
                    SCHEMA,
                    json!({"$schema": draft, "allOf": conditions(&|it| json!({"properties": {"plain": {"enum": [it.to_string()]}}}))}),
                ),
                taking("taker", SCHEMA, vec![".p".to_owned()]).with("plain", json!(1)),
            ],
        ),
        (
            "alternatives",
            vec![
                passphrase(),
                schema_of(
                    SCHEMA,
                    json!({"allOf": letters().map(|(_, pattern)| json!({"anyOf": [{"properties": {"p": {"pattern": pattern}}}]})).collect::<Vec<_>>()}),
                ),
                taking("taker", SCHEMA, vec![".p".to_owned()]),
            ],
        ),
        ("many documents", many),
    ]
}

/// A schema asks questions of a secret; the answer is one word for all of them.
#[test]
fn a_schema_asks_nothing_out_of_a_secret() {
    for (one, other) in questions("hunter2").into_iter().zip(questions("swordfish")) {
        let name = one.0;
        let (mut one, mut other) = (said(one.1), said(other.1));
        assert!(one.len() <= 1, "{name}: {one:#?}");
        // Which document it is said of is the only thing that may differ.
        for entry in one.iter_mut().chain(&mut other) {
            assert_eq!(entry["schema_path"], "", "{name}");
            entry["name"] = Value::Null;
            entry["schema"] = Value::Null;
        }
        assert_eq!(one, other, "{name}");
    }
}

/// What a schema says of values that are not secret is said as before.
#[test]
fn what_is_not_secret_is_still_validated() {
    let asked = schema_of(
        SCHEMA,
        json!({
            "required": ["missing"],
            "additionalProperties": false,
            "properties": {"p": {"type": "string"}, "plain": {"type": "integer"}, "deep": {"anyOf": [{"maxProperties": 0}]}},
        }),
    );
    let secret = doc("site", "source", json!(SECRET))
        .schema("example/Other/v1")
        .encrypted();
    let taker = doc("site", "taker", json!({"plain": "x", "deep": {"a": 1}, "other": 1})).substitution(
        json!({"src": {"schema": "example/Other/v1", "name": "source", "path": "."}, "dest": {"path": ".p"}}),
    );
    let mut found: Vec<(String, String)> = said(vec![asked, secret, taker])
        .iter()
        .map(|it| {
            (
                it["path"].as_str().unwrap().to_owned(),
                it["schema_path"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    found.sort();
    let expected = [
        (".data", ".additionalProperties"),
        (".data", ".required"),
        (".data.deep", ".properties.deep.anyOf"),
        (".data.plain", ".properties.plain.type"),
    ];
    assert_eq!(
        found,
        expected.map(|(path, schema)| (path.to_owned(), schema.to_owned()))
    );
}

/// How a document takes a secret.
type Way = Box<dyn Fn(Doc) -> Doc>;

/// What the redacted target shows where a part of the secret went.
fn shown_of_a_part(secret: &str, target: &dyn Fn(Doc) -> Doc) -> Value {
    let source = doc("site", "source", json!({"password": secret})).encrypted();
    let documents = rendered([source, target(doc("site", "target", json!({"text": "<P>"})))]);
    let it = documents.iter().find(|it| it.document.name() == "target").unwrap();
    redact(&it.document, &it.data, &it.secrets, &key())["data"].clone()
}

/// A letter of a secret has so few values that its hash is the letter: whoever writes documents makes the hashes of all.
#[test]
fn a_part_of_a_secret_is_not_shown_as_a_hash() {
    let letter = |dest: Value| {
        move |document: Doc| {
            document.substitution(json!({
                "src": {"schema": SCHEMA, "name": "source", "path": ".password", "pattern": "^(.)", "match_group": 1},
                "dest": dest,
            }))
        }
    };
    let whole = |document: Doc| document.takes("source", ".password", json!({"path": ".x"}));
    let ways: Vec<(&str, Way)> = vec![
        ("a value", Box::new(letter(json!({"path": ".x"})))),
        ("a text", Box::new(letter(json!({"path": ".text", "pattern": "P"})))),
        (
            "an encrypted document",
            Box::new(move |it| letter(json!({"path": ".x"}))(it).encrypted()),
        ),
        (
            "a text cut afterwards",
            Box::new(move |it| {
                whole(it).takes("source", ".password", json!({"path": ".x", "pattern": "^.(?:.*)$"}))
                .substitution(json!({
                    "src": {"schema": SCHEMA, "name": "source", "path": ".password", "pattern": "^()", "match_group": 1},
                    "dest": {"path": ".x", "pattern": "[^hs]"},
                }))
            }),
        ),
        (
            "a pattern that is not found",
            Box::new(|it| {
                it.substitution(json!({
                    "src": {"schema": SCHEMA, "name": "source", "path": ".password", "pattern": "^h"},
                    "dest": {"path": ".x"},
                }))
            }),
        ),
    ];
    for (name, way) in &ways {
        assert_eq!(
            shown_of_a_part("hunter2", way),
            shown_of_a_part("swordfish", way),
            "{name}"
        );
    }
    assert_ne!(shown_of_a_part("hunter2", &whole), shown_of_a_part("swordfish", &whole));
}

/// A part goes on as one, into mappings and into those who take it from there.
#[test]
fn a_part_of_a_secret_stays_one() {
    let shown = |secret: &str| {
        let source = doc("site", "source", json!({"password": secret})).encrypted();
        let map = doc("site", "map", json!({"known": {"a": 1}})).encrypted();
        let middle = doc("site", "middle", json!({}))
            .takes("map", ".known", json!({"path": ".map"}))
            .substitution(json!({
                "src": {"schema": SCHEMA, "name": "source", "path": ".password", "pattern": "^."},
                "dest": [{"path": ".map.letter"}, {"path": ".letter"}],
            }));
        let last = doc("site", "last", json!({"text": "<P>"}))
            .takes("middle", ".map", json!({"path": ".map"}))
            .takes(
                "middle",
                ".letter",
                json!([{"path": ".letter"}, {"path": ".text", "pattern": "P"}]),
            );
        let documents = rendered([source, map, middle, last]);
        let takers = documents.iter().filter(|it| !it.document.is_encrypted());
        takers
            .map(|it| redact(&it.document, &it.data, &it.secrets, &key())["data"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(shown("hunter2"), shown("swordfish"));
}

/// Whether a match takes too long would be an answer.
#[test]
fn no_pattern_backtracks_over_a_secret() {
    let source = doc("site", "source", json!({"password": SECRET})).encrypted();
    let slow = doc("site", "target", json!({})).substitution(json!({
        "src": {"schema": SCHEMA, "name": "source", "path": ".password", "pattern": "^(?=k)((.+)+)+$"},
        "dest": {"path": ".x"},
    }));
    let errors = try_render([source.clone(), slow]).unwrap_err().to_string();
    assert!(errors.contains("needs backtracking"), "{errors}");
    let twice = doc("site", "target", json!({"x": "P"}))
        .takes("source", ".password", json!({"path": ".x", "pattern": "P"}))
        .takes("source", ".password", json!({"path": ".x", "pattern": "(?!k)3"}));
    let errors = try_render([source, twice]).unwrap_err().to_string();
    assert!(errors.contains("needs backtracking"), "{errors}");
}

/// A difference is not a comparison of parts either.
#[test]
fn a_part_that_changes_is_no_difference() {
    let revision = |secret: &str| {
        let source = doc("site", "source", json!({"password": secret})).encrypted();
        let target = doc("site", "target", json!({})).substitution(json!({
            "src": {"schema": SCHEMA, "name": "source", "path": ".password", "pattern": "^."},
            "dest": {"path": ".x"},
        }));
        let documents = rendered([source, target]);
        documents.into_iter().map(|it| ("b".to_owned(), it)).collect::<Vec<_>>()
    };
    let (one, other) = (revision("hunter2"), revision("swordfish"));
    let one = Revision {
        number: 1,
        documents: &one,
    };
    let other = Revision {
        number: 2,
        documents: &other,
    };
    let told = format!("{:?}", deep_diff(&one, &other, &key()));
    assert!(told.contains("source") && !told.contains("target"), "{told}");
}
