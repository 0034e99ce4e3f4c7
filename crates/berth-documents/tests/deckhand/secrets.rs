//! What comes from an encrypted document stays secret wherever it goes.

use std::sync::Arc;

use berth_documents::deckhand::{
    DataSchemas, Listing, Query, RedactionKey, RenderOptions, RenderedDocument, Revision, View, canonical_json,
    deep_diff, redact, render,
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
    assert!(told.len() >= 8, "{told:#?}");
    assert!(
        told.iter()
            .any(|it| it.contains("\"shown\" is not of type \"integer\"")),
        "{told:#?}"
    );
    assert!(
        told.contains(
            &"[example/Kind/v1, site] child: .data.number: the value, which is secret, does not meet the schema"
                .to_owned()
        ),
        "{told:#?}"
    );
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
            let told = deep_diff(&one, &other, &key()).to_json().to_string();
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
