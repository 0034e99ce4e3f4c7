//! Rules that hold for any documents.

use std::sync::Arc;

use berth_documents::deckhand::{
    BucketChange, DataSchemas, DeckhandDocument, Edit, Listing, Query, RedactionKey, RenderErrors, RenderOptions,
    Rendered, RenderedDocument, Renderer, SecretPaths, View, diff, read_documents, redact, render,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

static NONE: SecretPaths = SecretPaths::none();

use crate::build::{Doc, doc, policy, read};

const LAYERS: [&str; 3] = ["global", "region", "site"];

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3..3_i64).prop_map(Value::from),
        "[abP]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[abc]", inner, 0..3).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn mapping() -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[abc]", value(), 1..4).prop_map(|map| Value::Object(map.into_iter().collect()))
}

fn path() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(".".to_owned()),
        "\\.[abc]",
        "\\.[abc]\\.[abc]",
        "\\.[abc]\\[[01]\\]"
    ]
}

/// A document with the given number. Labels, selectors and sources refer to other numbers, so all kinds of relations and
/// of mistakes come up.
fn document(number: usize, count: usize) -> impl Strategy<Value = Doc> {
    let action = (
        prop_oneof![4 => Just("merge"), 1 => Just("replace"), 1 => Just("delete")],
        path(),
    );
    (
        0..LAYERS.len(),
        mapping(),
        prop::option::of((0..count, prop::collection::vec(action, 1..3))),
        prop::collection::vec((0..count, path(), path(), any::<bool>()), 0..2),
        prop::bool::weighted(0.2),
    )
        .prop_map(move |(layer, data, parent, sources, is_abstract)| {
            let mut document = doc(LAYERS[layer], &format!("d{number}"), data).labels(json!({"number": number}));
            if let Some((parent, actions)) = parent {
                let actions: Vec<_> = actions
                    .iter()
                    .map(|(method, path)| format!("{method} {path}"))
                    .collect();
                let actions: Vec<_> = actions.iter().map(String::as_str).collect();
                document = document.child_of(json!({"number": parent}), &actions);
            }
            for (source, from, to, pattern) in sources {
                let mut dest = json!({"path": to});
                if pattern {
                    dest["pattern"] = json!("P");
                    dest["recurse"] = json!({"depth": -1});
                }
                document = document.takes(&format!("d{source}"), &from, dest);
            }
            if is_abstract { document.abstracted() } else { document }
        })
}

fn documents(count: usize) -> impl Strategy<Value = Vec<Doc>> {
    (0..count).map(|number| document(number, count)).collect::<Vec<_>>()
}

fn render_all(documents: &[Arc<DeckhandDocument>]) -> Result<Rendered, RenderErrors> {
    let policy = policy(&LAYERS).read();
    let all: Vec<_> = documents.iter().cloned().chain([policy]).collect();
    render(&all, RenderOptions::default())
}

fn comparable(result: Result<Rendered, RenderErrors>) -> Result<Vec<Value>, RenderErrors> {
    result.map(|rendered| rendered.documents.iter().map(RenderedDocument::to_json).collect())
}

/// Documents whose relations hold: parents in higher layers, sources with lower numbers, paths that are there.
fn sound_documents() -> impl Strategy<Value = Vec<Doc>> {
    let one = (
        mapping(),
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        any::<bool>(),
        any::<bool>(),
    );
    prop::collection::vec(one, 1..10).prop_map(|parts| {
        let mut documents: Vec<Doc> = Vec::new();
        for (number, (data, parent, source, has_parent, has_source)) in parts.into_iter().enumerate() {
            let layer = number * LAYERS.len() / 10;
            let mut document = doc(LAYERS[layer], &format!("d{number}"), data).labels(json!({"number": number}));
            let above = documents
                .iter()
                .filter(|other| other.0["metadata"]["layeringDefinition"]["layer"] != LAYERS[layer])
                .count();
            if has_parent && above > 0 {
                document = document.child_of(json!({"number": parent.index(above)}), &["merge ."]);
            }
            if has_source && number > 0 {
                let source = source.index(number);
                document = document.takes(&format!("d{source}"), ".", json!({"path": ".substituted"}));
            }
            documents.push(document);
        }
        documents
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn the_order_of_documents_does_not_matter(
        (documents, shuffled) in prop_oneof![documents(6).boxed(), sound_documents().boxed()]
            .prop_flat_map(|documents| (Just(documents.clone()), Just(documents).prop_shuffle())),
    ) {
        let one = comparable(render_all(&read(documents)));
        let other = comparable(render_all(&read(shuffled)));
        prop_assert_eq!(one, other);
    }

    #[test]
    fn sound_documents_render_and_rendering_them_again_changes_nothing(documents in sound_documents()) {
        let rendered = render_all(&read(documents)).unwrap();
        let concrete: Vec<_> = rendered.documents.iter().map(RenderedDocument::to_json).collect();
        let again = render(&read_documents(concrete.clone()).unwrap(), RenderOptions::default()).unwrap();
        let again: Vec<_> = again.documents.iter().map(RenderedDocument::to_json).collect();
        prop_assert_eq!(concrete, again);
    }

    #[test]
    fn rendering_again_is_rendering_from_the_start(
        start in documents(6),
        edits in prop::collection::vec(
            (0..6_usize).prop_flat_map(|number| prop_oneof![
                3 => document(number, 6).prop_map(Some),
                1 => Just(None),
            ].prop_map(move |document| (number, document))),
            1..8,
        ),
    ) {
        let mut current: Vec<Option<Arc<DeckhandDocument>>> = read(start).into_iter().map(Some).collect();
        let mut renderer = Renderer::new(
            current.iter().flatten().cloned().chain([policy(&LAYERS).read()]),
            RenderOptions::default(),
        );
        let first = comparable(renderer.render());
        prop_assert_eq!(first, comparable(render_all(&current.iter().flatten().cloned().collect::<Vec<_>>())));
        for (number, document) in edits {
            let document = document.map(Doc::read);
            let mut changes = Vec::new();
            if let Some(before) = current[number].take() {
                // An edit may move a document to another layer, which is another identity.
                changes.push(Edit::Remove(before.identity().as_ref().clone()));
            }
            changes.extend(document.clone().map(Edit::Put));
            current[number] = document;
            let all: Vec<_> = current.iter().flatten().cloned().collect();
            prop_assert_eq!(comparable(renderer.render_again(changes)), comparable(render_all(&all)));
        }
    }

    #[test]
    fn data_edits_are_rendered_as_from_the_start(
        start in sound_documents(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), mapping()), 1..6),
    ) {
        let mut raw = start;
        let mut renderer = Renderer::new(read(raw.clone()).into_iter().chain([policy(&LAYERS).read()]), RenderOptions::default());
        renderer.render().unwrap();
        for (index, data) in edits {
            let index = index.index(raw.len());
            raw[index].0["data"] = data;
            let again = renderer.render_again([Edit::Put(raw[index].clone().read())]).unwrap();
            prop_assert!(again.recomputed <= raw.len());
            prop_assert_eq!(comparable(Ok(again)), comparable(render_all(&read(raw.clone()))));
        }
    }

    #[test]
    fn any_json_is_read_or_refused(mut values in prop::collection::vec(any_document(), 0..4)) {
        for value in &values {
            if let Ok(document) = DeckhandDocument::from_json(value.clone()) {
                let _ = redact(&document, document.data(), &SecretPaths::none(), &RedactionKey::new(&[1; 32]));
                prop_assert!(DeckhandDocument::from_json(document.to_json()).unwrap() == document);
            }
        }
        values.push(policy(&LAYERS).0);
        values.retain(|value| DeckhandDocument::from_json(value.clone()).is_ok());
        if let Ok(documents) = read_documents(values) {
            let (schemas, _) = DataSchemas::compile(&documents);
            if let Ok(rendered) = render(&documents, RenderOptions::default()) {
                let _ = schemas.validate_all(&rendered.documents);
            }
        }
    }

    #[test]
    fn any_parameters_are_read_or_refused(
        parameters in prop::collection::vec((prop_oneof![Just("sort"), Just("limit"), Just("order"), Just("metadata.label"), Just("x")], "\\PC{0,8}"), 0..5),
        documents in sound_documents(),
    ) {
        if let Ok(query) = Query::parse(Listing::Documents, parameters) {
            let documents = read(documents);
            let shown = query.apply(documents.clone(), |document| View { document, data: document.data(), secrets: &NONE, bucket: "b", revision: 1 });
            prop_assert!(shown.len() <= documents.len());
        }
    }

    #[test]
    fn a_revision_does_not_differ_from_itself(documents in sound_documents()) {
        let documents: Vec<_> = read(documents).into_iter().map(|document| ("b".to_owned(), document)).collect();
        let revision = berth_documents::deckhand::Revision { number: 3, documents: &documents };
        prop_assert!(diff(&revision, &revision).values().all(|change| *change == BucketChange::Unmodified));
    }
}

/// Values that look like documents, with parts missing or of the wrong type.
fn any_document() -> impl Strategy<Value = Value> {
    let odd = value();
    let text = |good: &'static str| prop_oneof![6 => Just(Value::from(good)), 1 => value()];
    (
        text("deckhand/DataSchema/v1"),
        prop_oneof![text("metadata/Control/v1"), text("metadata/Document/v1")],
        text("example/Kind/v1"),
        prop_oneof![
            value(),
            Just(json!({"layer": "site", "parentSelector": {"a": 1}, "actions": [{"method": "merge", "path": "."}]}))
        ],
        prop_oneof![
            value(),
            Just(json!([{"src": {"schema": "a/b/v1", "name": "a", "path": "."}, "dest": {"path": ".a"}}]))
        ],
        odd,
        prop::collection::vec("(\\$ref|type|properties|schema|data|labels)", 0..2),
    )
        .prop_map(
            |(schema, metadata_schema, name, layering, substitutions, data, extra)| {
                let mut metadata = Map::new();
                metadata.insert("schema".to_owned(), metadata_schema);
                metadata.insert("name".to_owned(), name);
                metadata.insert("storagePolicy".to_owned(), json!("cleartext"));
                metadata.insert("layeringDefinition".to_owned(), layering);
                metadata.insert("substitutions".to_owned(), substitutions);
                let mut data = data;
                for key in extra {
                    data = json!({ key: data });
                }
                json!({"schema": schema, "metadata": metadata, "data": data})
            },
        )
}
