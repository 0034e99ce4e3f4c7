use serde_json::json;

use super::read;
use crate::document::Envelope;

#[test]
fn kubernetes_documents() {
    let read = read(
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfigPool\nmetadata:\n  name: infra\n  labels:\n    a: b\n  annotations:\n    c: d\nspec:\n  paused: true\n",
    );
    assert!(read.parsed.diagnostics.is_empty(), "{:?}", read.parsed.diagnostics);
    let document = &read.parsed.documents[0];
    assert_eq!(
        document.envelope,
        Envelope::Kubernetes {
            api_version: "machineconfiguration.openshift.io/v1".to_owned(),
            kind: "MachineConfigPool".to_owned(),
        }
    );
    assert_eq!(document.kind(), "MachineConfigPool");
    assert_eq!(
        (document.api_group(), document.version()),
        ("machineconfiguration.openshift.io", "v1")
    );
    let (name, span) = document.name().unwrap();
    assert_eq!((name, read.place(span)), ("infra", "4:9".to_owned()));
    assert_eq!(document.labels().unwrap().get("a").unwrap().as_str(), Some("b"));
    assert_eq!(document.annotations().unwrap().get("c").unwrap().as_str(), Some("d"));
    assert_eq!(document.body().unwrap().to_json(), json!({"paused": true}));
    assert_eq!(read.place(document.span()), "2:7");
}

#[test]
fn airship_documents() {
    let read = read(
        "schema: drydock/BaremetalNode/v1\nmetadata:\n  schema: metadata/Document/v1\n  name: n1\n  labels: {site: x}\ndata:\n  host_profile: p\n",
    );
    assert!(read.parsed.diagnostics.is_empty(), "{:?}", read.parsed.diagnostics);
    let document = &read.parsed.documents[0];
    assert_eq!(
        document.envelope,
        Envelope::Airship {
            schema: "drydock/BaremetalNode/v1".to_owned()
        }
    );
    assert_eq!(
        (document.api_group(), document.kind(), document.version()),
        ("drydock", "BaremetalNode", "v1")
    );
    assert_eq!(document.name().unwrap().0, "n1");
    assert_eq!(document.labels().unwrap().get("site").unwrap().as_str(), Some("x"));
    assert_eq!(document.body().unwrap().to_json(), json!({"host_profile": "p"}));
    assert_eq!(read.place(document.span()), "1:9");
}

#[test]
fn the_core_group_is_empty() {
    let read = read("apiVersion: v1\nkind: Node\nmetadata: {name: a}\n");
    let document = &read.parsed.documents[0];
    assert_eq!((document.api_group(), document.version()), ("", "v1"));
}

#[test]
fn documents_without_an_envelope() {
    for (text, place, message) in [
        (
            "# c\nname: x\nlabels: {}\n",
            "2:1",
            "the document has neither `apiVersion` and `kind` nor `schema`",
        ),
        ("- 1\n", "1:1", "a document is a mapping, and this is a list"),
        ("text\n", "1:1", "a document is a mapping, and this is a string"),
        (
            "{}",
            "1:1",
            "the document has neither `apiVersion` and `kind` nor `schema`",
        ),
        (
            "kind: Node\nmetadata: {name: x}\n",
            "1:7",
            "the document has `kind` but no `apiVersion`",
        ),
        (
            "apiVersion: v1\n",
            "1:13",
            "the document has `apiVersion` but no `kind`",
        ),
        (
            "apiVersion: v1\nkind: 5\n",
            "2:7",
            "`kind` is a string, and this is a number",
        ),
        (
            "apiVersion: v1\nkind:\n",
            "2:1",
            "`kind` is a string, and this is nothing",
        ),
        (
            "apiVersion: 1\nkind: Node\n",
            "1:13",
            "`apiVersion` is a string, and this is a number",
        ),
    ] {
        check(text, "unknown-envelope", place, message);
    }
}

#[test]
fn what_is_wrong_with_an_envelope() {
    for (text, code, place, message) in [
        (
            "apiVersion: v1\nkind: Node\nmetadata: {name: x}\nschema: a/B/v1\ndata: {}\n",
            "two-envelopes",
            "4:1",
            "the document has `apiVersion` and `kind`, and `schema` as well",
        ),
        (
            "schema: BaremetalNode\nmetadata: {name: x}\n",
            "airship-schema",
            "1:9",
            "`BaremetalNode` is not of the form `namespace/Kind/vN`",
        ),
        (
            "schema: drydock/Baremetal-Node/v1\nmetadata: {name: x}\n",
            "airship-schema",
            "1:9",
            "`drydock/Baremetal-Node/v1` is not of the form `namespace/Kind/vN`",
        ),
        (
            "schema: drydock/Rack/1\nmetadata: {name: x}\n",
            "airship-schema",
            "1:9",
            "`drydock/Rack/1` is not of the form `namespace/Kind/vN`",
        ),
        (
            "apiVersion: v1\nkind: Node\n",
            "missing-name",
            "2:7",
            "the Node has no `metadata.name`",
        ),
        (
            "apiVersion: v1\nkind: Node\nmetadata: {name: ''}\n",
            "missing-name",
            "2:7",
            "the Node has no `metadata.name`",
        ),
        (
            "schema: drydock/Rack/v1\nmetadata: {}\n",
            "missing-name",
            "1:9",
            "the Rack has no `metadata.name`",
        ),
        (
            "apiVersion: v1\nkind: Node\nmetadata:\n  name: 0123\n",
            "missing-name",
            "4:9",
            "`metadata.name` is a string, and this is a number",
        ),
    ] {
        check(text, code, place, message);
    }
}

/// The only finding of a text, which still gives its document.
fn check(text: &str, code: &str, place: &str, message: &str) {
    let read = read(text);
    let finding = read.only_finding(code);
    assert_eq!(finding.message, message, "{text:?}");
    assert_eq!(read.place(finding.span.unwrap()), place, "{text:?}");
    assert_eq!(
        read.parsed.diagnostics.len(),
        1,
        "{text:?} {:?}",
        read.parsed.diagnostics
    );
    assert_eq!(read.parsed.documents.len(), 1, "{text:?}");
    let is_known = read.parsed.documents[0].envelope != Envelope::None;
    assert_eq!(is_known, code != "unknown-envelope", "{text:?}");
}

#[test]
fn help_for_a_name_that_is_no_string_shows_it_quoted() {
    let read = read("apiVersion: v1\nkind: Node\nmetadata: {name: 0123}\n");
    assert_eq!(
        read.only_finding("missing-name").help.as_deref(),
        Some("write \"0123\"")
    );
}

#[test]
fn configuration_files_need_no_name() {
    for text in [
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: []\n",
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n",
        "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n",
    ] {
        assert!(read(text).parsed.diagnostics.is_empty(), "{text}");
    }
}

#[test]
fn lists_are_taken_apart() {
    let text = "\
apiVersion: v1
kind: List
metadata: {resourceVersion: ''}
items:
- apiVersion: v1
  kind: Node
  metadata: {name: a}
- apiVersion: v1
  kind: List
  items:
  - apiVersion: v1
    kind: Node
    metadata: {name: b}
---
apiVersion: v1
kind: NodeList
items:
- metadata: {name: c}
- metadata: {}
---
apiVersion: v1
kind: List
items:
---
apiVersion: v1
kind: List
---
apiVersion: example.com/v1
kind: AllowList
metadata: {name: d}
";
    let read = read(text);
    let found: Vec<_> = read
        .parsed
        .documents
        .iter()
        .map(|document| {
            let name = document.name().map_or("-", |(name, _)| name);
            format!(
                "{} {} {} {}",
                document.index,
                document.kind(),
                name,
                read.place(document.span())
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            "0 Node a 6:9",
            "1 Node b 12:11",
            "2 Node c 18:3",
            "3 Node - 19:3",
            "4 AllowList d 29:7"
        ]
    );
    assert_eq!(read.findings(), ["missing-name 19:3"]);
}

#[test]
fn lists_in_json_are_taken_apart() {
    let read = read(
        "{\"apiVersion\":\"v1\",\"items\":[{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"a\"}}],\"kind\":\"List\"}",
    );
    assert!(read.parsed.diagnostics.is_empty());
    assert_eq!(read.parsed.documents[0].name().unwrap().0, "a");
}
