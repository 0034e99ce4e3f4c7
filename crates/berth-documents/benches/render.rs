//! Rendering a large site: 5,000 documents in 4 layers with 2,500 substitutions, whole and after one change.
#![expect(
    clippy::unwrap_used,
    clippy::similar_names,
    reason = "a bench that cannot run should stop"
)]

use std::{
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use berth_documents::deckhand::{DeckhandDocument, Edit, RenderOptions, Renderer, read_documents};
use serde_json::{Value, json};

const LAYERS: [&str; 4] = ["global", "type", "region", "site"];
const DOCUMENTS: usize = 5_000;
const LIMIT: Duration = Duration::from_millis(500);
const ROUNDS: usize = 5;

fn documents() -> Vec<Value> {
    let mut documents = vec![json!({
        "schema": "deckhand/LayeringPolicy/v1",
        "metadata": {"schema": "metadata/Control/v1", "name": "layering-policy"},
        "data": {"layerOrder": LAYERS},
    })];
    for number in 0..DOCUMENTS {
        let (layer, chain) = (number % 4, number / 4);
        let mut layering = json!({"layer": LAYERS.get(layer), "abstract": layer < 2});
        if layer > 0 {
            layering["parentSelector"] = json!({"chain": format!("{chain}-{}", layer - 1)});
            layering["actions"] = json!([{"method": "merge", "path": "."}, {"method": "replace", "path": ".tuning"}]);
        }
        let mut metadata = json!({
            "schema": "metadata/Document/v1",
            "name": format!("node-{chain}-{layer}"),
            "labels": {"chain": format!("{chain}-{layer}"), "site": "s1"},
            "storagePolicy": "cleartext",
            "layeringDefinition": layering,
        });
        // Half of the documents take a value out of the next chain, so the graph is deep and wide.
        if layer >= 2 {
            let source = format!("node-{}-2", (chain + 1) % (DOCUMENTS / 4));
            let source = if layer == 2 { "secret".to_owned() } else { source };
            metadata["substitutions"] = json!([{
                "src": {"schema": "example/Node/v1", "name": source, "path": ".address"},
                "dest": [{"path": ".peers[0].address"}, {"path": ".url", "pattern": "ADDRESS"}],
            }]);
        }
        documents.push(json!({
            "schema": "example/Node/v1",
            "metadata": metadata,
            "data": {
                "address": format!("10.0.{}.{}", chain % 256, chain / 256),
                "url": "https://ADDRESS:8443/",
                "tuning": {"hugepages": number, "isolated": [1, 2, 3, 4]},
                "interfaces": (0..8).map(|port| json!({
                    "name": format!("eth{port}"), "mtu": 9000, "vlans": [port, port + 10],
                })).collect::<Vec<_>>(),
            },
        }));
    }
    documents.push(json!({
        "schema": "example/Node/v1",
        "metadata": {
            "schema": "metadata/Document/v1",
            "name": "secret",
            "storagePolicy": "cleartext",
            "layeringDefinition": {"layer": "site"},
        },
        "data": {"address": "192.0.2.1"},
    }));
    documents
}

#[expect(clippy::disallowed_methods, reason = "a bench measures time")]
fn timed<T>(mut work: impl FnMut() -> T) -> (Duration, T) {
    let mut times = Vec::new();
    let mut last = None;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        last = Some(black_box(work()));
        times.push(start.elapsed());
    }
    times.sort_unstable();
    (times[ROUNDS / 2], last.unwrap())
}

#[expect(clippy::print_stdout, reason = "a bench prints what it measured")]
fn main() {
    let raw = documents();
    let (reading, documents) = timed(|| read_documents(raw.clone()).unwrap());
    println!(
        "reading {DOCUMENTS} documents, form and hashes: {} ms",
        reading.as_millis()
    );

    let (rendering, rendered) = timed(|| {
        Renderer::new(documents.iter().cloned(), RenderOptions::default())
            .render()
            .unwrap()
    });
    let substitutions: usize = documents.iter().map(|document| document.substitutions().len()).sum();
    println!(
        "rendering {DOCUMENTS} documents, 4 layers, {substitutions} substitutions, {} returned: {} ms (limit {} ms; the original 78 s)",
        rendered.documents.len(),
        rendering.as_millis(),
        LIMIT.as_millis()
    );

    let mut renderer = Renderer::new(documents.iter().cloned(), RenderOptions::default());
    renderer.render().unwrap();
    let mut version = 0;
    let (again, rendered) = timed(|| {
        version += 1;
        let mut changed = raw[1].clone();
        changed["data"]["address"] = json!(format!("203.0.113.{version}"));
        let changed = Arc::new(DeckhandDocument::from_json(changed).unwrap());
        renderer.render_again([Edit::Put(changed)]).unwrap()
    });
    println!(
        "rendering again after one change of data: {} µs, {} documents rendered",
        again.as_micros(),
        rendered.recomputed
    );

    let (again, rendered) = timed(|| {
        version += 1;
        let mut changed = raw[1].clone();
        changed["metadata"]["labels"]["version"] = json!(version);
        let changed = Arc::new(DeckhandDocument::from_json(changed).unwrap());
        renderer.render_again([Edit::Put(changed)]).unwrap()
    });
    println!(
        "rendering again after one change of metadata: {} µs, {} documents rendered",
        again.as_micros(),
        rendered.recomputed
    );
    assert!(rendering < LIMIT, "rendering took {rendering:?}");
}
