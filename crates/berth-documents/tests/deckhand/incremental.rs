use std::sync::Arc;

use berth_documents::deckhand::{Edit, RenderOptions, Renderer};
use serde_json::{Value, json};

use crate::build::{Doc, by_name, doc, policy, read};

/// `top` ← `middle` ← `bottom` by layering, `taker` takes from `bottom`, and `alone` has nothing to do with them.
fn documents() -> Vec<Doc> {
    vec![
        policy(&["global", "region", "site"]),
        doc("global", "top", json!({"t": 1, "hidden": 1})).labels(json!({"of": "top"})),
        doc("region", "middle", json!({"m": 1, "hidden": 2}))
            .labels(json!({"of": "middle"}))
            .child_of(json!({"of": "top"}), &["merge ."]),
        doc("site", "bottom", json!({"b": 1})).child_of(json!({"of": "middle"}), &["merge ."]),
        doc("site", "taker", json!({})).takes("bottom", ".t", json!({"path": ".x"})),
        doc("site", "alone", json!({"a": 1})),
    ]
}

fn renderer() -> Renderer {
    let mut renderer = Renderer::new(read(documents()), RenderOptions::default());
    assert_eq!(renderer.render().unwrap().recomputed, 6);
    renderer
}

fn put(document: Doc) -> [Edit; 1] {
    [Edit::Put(document.read())]
}

fn with_data(name: &str, data: Value) -> Doc {
    let mut document = documents()
        .into_iter()
        .find(|document| document.0["metadata"]["name"] == name)
        .unwrap();
    document.0["data"] = data;
    document
}

#[test]
fn nothing_changed_nothing_rendered() {
    assert_eq!(renderer().render().unwrap().recomputed, 0);
    assert_eq!(
        renderer().render_again(put(documents().remove(1))).unwrap().recomputed,
        0
    );
}

#[test]
fn a_change_reaches_what_depends_on_it() {
    for (name, data, expected) in [
        ("alone", json!({"a": 2}), 1),
        ("taker", json!({"y": 1}), 1),
        ("bottom", json!({"b": 2}), 2),
        ("middle", json!({"m": 2, "hidden": 2}), 3),
        ("top", json!({"t": 2, "hidden": 1}), 4),
        // The child has its own value: what is below it does not change.
        ("top", json!({"t": 1, "hidden": 9}), 2),
    ] {
        let rendered = renderer().render_again(put(with_data(name, data.clone()))).unwrap();
        assert_eq!(rendered.recomputed, expected, "{name} {data}");
    }
    let rendered = renderer().render_again(put(with_data("top", json!({"t": 2})))).unwrap();
    assert_eq!(by_name(&rendered)["taker"], json!({"x": 2}));
}

#[test]
fn a_change_of_metadata_renders_what_got_other_input() {
    let mut renderer = renderer();
    let alone = doc("site", "alone", json!({"a": 1})).child_of(json!({"of": "middle"}), &["merge ."]);
    let rendered = renderer.render_again(put(alone)).unwrap();
    assert_eq!(rendered.recomputed, 1);
    assert_eq!(
        by_name(&rendered)["alone"],
        json!({"t": 1, "m": 1, "hidden": 2, "a": 1})
    );

    let gone = documents()[2].clone().read();
    let rendered = renderer
        .render_again([Edit::Remove(gone.identity().as_ref().clone())])
        .unwrap_err();
    assert_eq!(rendered.first().class(), "SubstitutionSourceDataNotFound");
}

#[test]
fn errors_go_away_with_their_cause() {
    let mut renderer = renderer();
    let before = renderer.render().unwrap();
    // Fails in the data, then in the plan, and is put right each time.
    for wrong in [
        with_data("top", json!({"no": "t"})),
        doc("nowhere", "extra", json!({})),
        doc("site", "extra", json!({})).takes("extra", ".", json!({"path": ".x"})),
    ] {
        let identity = wrong.clone().read().identity().as_ref().clone();
        renderer.render_again(put(wrong)).unwrap_err();
        renderer.render().unwrap_err();
        let mut changes = vec![Edit::Remove(identity)];
        changes.extend(put(documents().remove(1)));
        let after = renderer.render_again(changes).unwrap();
        assert_eq!(after.documents, before.documents);
    }
}

#[test]
fn duplicates_go_away_when_put_right() {
    let twice = doc("site", "alone", json!({"a": 2}));
    let mut renderer = Renderer::new(
        read(documents().into_iter().chain([twice.clone()])),
        RenderOptions::default(),
    );
    assert_eq!(renderer.render().unwrap_err().first().class(), "InvalidDocumentFormat");
    assert_eq!(
        by_name(&renderer.render_again(put(twice)).unwrap())["alone"],
        json!({"a": 2})
    );
}

#[test]
fn room_that_comes_free_is_used() {
    let options = RenderOptions {
        size_limit: 3000,
        size_factor: 0,
        ..RenderOptions::default()
    };
    let big = doc("site", "source", json!({"list": vec![1; 40]}));
    let taker = doc("site", "taker", json!({})).takes("source", ".", json!({"path": ".x"}));
    let mut renderer = Renderer::new(read([policy(&["site"]), big, taker]), options);
    assert_eq!(renderer.render().unwrap_err().first().status(), 400);
    let small = doc("site", "source", json!({"list": [1]}));
    let rendered = renderer.render_again(put(small)).unwrap();
    assert_eq!(by_name(&rendered)["taker"], json!({"x": {"list": [1]}}));
}

#[test]
fn untouched_data_is_shared_and_not_copied() {
    let alone = doc("site", "alone", json!({"a": 1})).read();
    let mut renderer = Renderer::new([policy(&["site"]).read(), Arc::clone(&alone)], RenderOptions::default());
    let rendered = renderer.render().unwrap();
    assert!(Arc::ptr_eq(&rendered.documents[1].data, alone.data()));
}
