use serde_json::json;

use super::*;
use crate::{Sources, parse};

const POLICY: &str = "\
schema: deckhand/LayeringPolicy/v1
metadata: {schema: metadata/Control/v1, name: layers}
data: {layerOrder: [global, site]}
";

fn documents(texts: &[(&str, &str)]) -> (Sources, Vec<Document>) {
    let mut sources = Sources::new();
    let mut documents = Vec::new();
    for (name, text) in texts {
        let id = sources.add(*name, *text);
        let parsed = parse(&sources, id);
        assert_eq!(parsed.diagnostics, [], "{name}");
        documents.extend(parsed.documents);
    }
    (sources, documents)
}

/// Each scalar of the data with the place where it is written.
fn places(sources: &Sources, node: &Node, path: &str, found: &mut Vec<String>) {
    match &node.value {
        Value::Map(map) => map
            .iter()
            .for_each(|(key, node)| places(sources, node, &format!("{path}.{}", key.as_str()), found)),
        Value::Seq(items) => items
            .iter()
            .enumerate()
            .for_each(|(index, node)| places(sources, node, &format!("{path}[{index}]"), found)),
        _ => found.push(format!("{path}={} {}", node.to_json(), sources.location(node.span))),
    }
}

const GLOBAL: &str = "\
schema: example/Rack/v1
metadata:
  schema: metadata/Document/v1
  name: any
  labels: {rack: any}
  storagePolicy: cleartext
  layeringDefinition: {abstract: true, layer: global}
data:
  power: a
  tags: [x, z]
  url: http://HOST/
---
schema: example/Hosts/v1
metadata:
  schema: metadata/Document/v1
  name: hosts
  storagePolicy: cleartext
  layeringDefinition: {layer: global}
data:
  first: atl
  deep: {list: [1, 2]}
";

const SITE: &str = "\
apiVersion: v1
kind: Node
metadata: {name: n1}
---
schema: example/Rack/v1
metadata:
  schema: metadata/Document/v1
  name: r1
  storagePolicy: cleartext
  layeringDefinition:
    layer: site
    parentSelector: {rack: any}
    actions: [{method: merge, path: .}]
  substitutions:
  - src: {schema: example/Hosts/v1, name: hosts, path: .first}
    dest: {path: .url, pattern: HOST}
  - src: {schema: example/Hosts/v1, name: hosts, path: .deep}
    dest: {path: .new.place}
data:
  power: b
";

#[test]
fn every_value_keeps_the_place_where_it_is_written() {
    let (sources, documents) = documents(&[("policy", POLICY), ("global", GLOBAL), ("site", SITE)]);
    let (layered, diagnostics) = layer(&documents);
    assert_eq!(diagnostics, []);
    let names: Vec<_> = layered.iter().map(|document| document.name().unwrap().0).collect();
    // The policy and the abstract document have done their work; the others are in the order of the files.
    assert_eq!(names, ["hosts", "n1", "r1"]);
    let rack = &layered[2];
    assert_eq!(
        rack.body().unwrap().to_json(),
        json!({"power": "b", "tags": ["x", "z"], "url": "http://atl/", "new": {"place": {"list": [1, 2]}}})
    );
    let mut found = Vec::new();
    places(&sources, rack.body().unwrap(), "", &mut found);
    assert_eq!(
        found,
        [
            ".new.place.list[0]=1 global:21:17",
            ".new.place.list[1]=2 global:21:20",
            ".power=\"b\" site:20:10",
            ".tags[0]=\"x\" global:10:10",
            ".tags[1]=\"z\" global:10:13",
            // The value that was put into the text.
            ".url=\"http://atl/\" global:20:10",
        ]
    );
}

#[test]
fn without_a_policy_nothing_is_touched() {
    let (_, documents) = documents(&[("global", GLOBAL)]);
    let (same, diagnostics) = layer(&documents);
    assert!(matches!(same, Cow::Borrowed(same) if same.len() == 2));
    assert_eq!(diagnostics, []);
}

fn findings(texts: &[(&str, &str)]) -> Vec<String> {
    let (sources, documents) = documents(texts);
    let (layered, diagnostics) = layer(&documents);
    assert!(layered.is_empty());
    diagnostics
        .iter()
        .map(|finding| {
            let place = finding.span.map(|span| sources.location(span).to_string());
            let related = finding.related.iter();
            let related: Vec<_> = related
                .map(|(span, text)| format!("{} {text}", sources.location(*span)))
                .collect();
            format!(
                "{} {} {} {related:?}",
                finding.code(),
                place.unwrap_or_default(),
                finding.message
            )
        })
        .collect()
}

#[test]
fn errors_name_all_documents_and_their_places() {
    let site = SITE.replace("method: merge, path: .", "method: delete, path: .no");
    insta::assert_debug_snapshot!("missing_key", findings(&[("p", POLICY), ("g", GLOBAL), ("s", &site)]));
    let site = SITE.replace("name: hosts, path: .first", "name: host, path: .first");
    insta::assert_debug_snapshot!("no_source", findings(&[("p", POLICY), ("g", GLOBAL), ("s", &site)]));
    let site = SITE.replace("layer: site", "layer: sight");
    insta::assert_debug_snapshot!("layer", findings(&[("p", POLICY), ("g", GLOBAL), ("s", &site)]));
    insta::assert_debug_snapshot!(
        "twice",
        findings(&[("p", POLICY), ("g", GLOBAL), ("s", SITE), ("t", SITE)])
    );
    let site = SITE.replace("  storagePolicy: cleartext\n", "  comment: no\n");
    insta::assert_debug_snapshot!("form", findings(&[("p", POLICY), ("g", GLOBAL), ("s", &site)]));
    let schema = "\
schema: deckhand/DataSchema/v1
metadata: {schema: metadata/Control/v1, name: example/Rack/v1}
data: {properties: {tags: {items: {enum: [x]}}}}
";
    insta::assert_debug_snapshot!(
        "schema",
        findings(&[("p", POLICY), ("g", GLOBAL), ("s", SITE), ("d", schema)])
    );
}
