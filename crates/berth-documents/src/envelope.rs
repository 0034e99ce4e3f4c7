//! From trees to documents: recognising the envelope, taking lists apart.

use crate::{
    diagnostic::Diagnostic,
    document::{Document, Envelope},
    findings::Findings,
    lints::{AIRSHIP_SCHEMA, MISSING_NAME, TWO_ENVELOPES, UNKNOWN_ENVELOPE},
    node::{Mapping, Node, Value},
    parse::Read,
    source::{Sources, Span},
};

/// What the items of a typed list (`NodeList`) are, where they do not say it themselves.
#[derive(Clone, Debug)]
struct ItemType {
    api_version: String,
    kind: String,
}

/// Adds the document, or the items of the list, that a tree holds.
pub(crate) fn add_document(sources: &Sources, root: Node, read: &mut Read) {
    add(sources, root, None, read);
}

/// Calls itself for the items of lists, so its depth is limited by the depth of trees.
fn add(sources: &Sources, root: Node, implied: Option<&ItemType>, read: &mut Read) {
    if let Some(item_type) = list_of(&root) {
        for item in items_of(&root) {
            add(sources, item.clone(), item_type.as_ref(), read);
        }
        return;
    }
    let envelope = envelope(&root, implied, &mut read.findings);
    let document = Document {
        root,
        envelope,
        index: read.documents.len(),
    };
    check_name(sources, &document, &mut read.findings);
    read.documents.push(document);
}

/// Whether the tree is a list of documents, and what its items are if the list says so.
#[expect(clippy::option_option, reason = "not a list; a list of anything; a list of one kind")]
fn list_of(root: &Node) -> Option<Option<ItemType>> {
    let kind = root.get("kind")?.as_str()?;
    let api_version = root.get("apiVersion")?.as_str()?;
    let item_kind = kind.strip_suffix("List")?;
    let items = root.get("items");
    if item_kind.is_empty() {
        return (api_version == "v1").then_some(None);
    }
    matches!(items?.value, Value::Seq(_) | Value::Null).then(|| {
        Some(ItemType {
            api_version: api_version.to_owned(),
            kind: item_kind.to_owned(),
        })
    })
}

fn items_of(root: &Node) -> &[Node] {
    root.get("items").and_then(Node::as_seq).unwrap_or_default()
}

fn envelope(root: &Node, implied: Option<&ItemType>, findings: &mut Findings) -> Envelope {
    let Some(mapping) = root.as_map() else {
        findings.push(
            Diagnostic::new(
                &UNKNOWN_ENVELOPE,
                root.span,
                format!("a document is a mapping, and this is {}", root.type_name()),
            )
            .with_help(EXPECTED),
        );
        return Envelope::None;
    };
    let text = |key: &str| mapping.get(key).and_then(Node::as_str).filter(|text| !text.is_empty());
    let api_version = text("apiVersion").or_else(|| implied.map(|implied| implied.api_version.as_str()));
    let kind = text("kind").or_else(|| implied.map(|implied| implied.kind.as_str()));
    match (api_version, kind, text("schema")) {
        (Some(api_version), Some(kind), schema) => {
            if schema.is_some() {
                findings.push(two_envelopes(mapping, root.span));
            }
            Envelope::Kubernetes {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
            }
        }
        (_, _, Some(schema)) => {
            check_schema(mapping, schema, findings);
            Envelope::Airship {
                schema: schema.to_owned(),
            }
        }
        _ => {
            findings.push(unknown_envelope(mapping, root.span));
            Envelope::None
        }
    }
}

const EXPECTED: &str = "a Kubernetes document has `apiVersion` and `kind`, an Airship document has `schema`";

fn unknown_envelope(mapping: &Mapping, whole: Span) -> Diagnostic {
    let wrong = ["apiVersion", "kind", "schema"].into_iter().find_map(|key| {
        let (key, node) = mapping.get_key_value(key)?;
        match node.as_str() {
            Some("") => Some((key, node, "an empty string")),
            Some(_) => None,
            None => Some((key, node, node.type_name())),
        }
    });
    if let Some((key, node, found)) = wrong {
        let message = format!("`{}` is a string, and this is {found}", key.text);
        let span = if node.is_null() { key.span } else { node.span };
        return Diagnostic::new(&UNKNOWN_ENVELOPE, span, message).with_help(EXPECTED);
    }
    let (message, span) = match (mapping.get("apiVersion"), mapping.get("kind")) {
        (Some(node), None) => ("the document has `apiVersion` but no `kind`", node.span),
        (None, Some(node)) => ("the document has `kind` but no `apiVersion`", node.span),
        _ => {
            // The first key is a better place than the whole document.
            let span = mapping.iter().next().map_or(whole, |(key, _)| key.span);
            ("the document has neither `apiVersion` and `kind` nor `schema`", span)
        }
    };
    Diagnostic::new(&UNKNOWN_ENVELOPE, span, message).with_help(EXPECTED)
}

fn two_envelopes(mapping: &Mapping, whole: Span) -> Diagnostic {
    let place = |key: &str| mapping.get_key_value(key).map(|(key, _)| key.span);
    let finding = Diagnostic::new(
        &TWO_ENVELOPES,
        place("schema").unwrap_or(whole),
        "the document has `apiVersion` and `kind`, and `schema` as well",
    )
    .with_help("remove one of the two, or put a `---` line between two documents");
    match place("kind") {
        Some(kind) => finding.with_related(kind, "it is read as a Kubernetes document because of this"),
        None => finding,
    }
}

/// Airship's rule: letters, letters, and `v` with a number.
fn check_schema(mapping: &Mapping, schema: &str, findings: &mut Findings) {
    let letters = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphabetic());
    let version = |part: &str| {
        part.strip_prefix('v')
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let parts: Vec<_> = schema.split('/').collect();
    if matches!(parts[..], [namespace, kind, number] if letters(namespace) && letters(kind) && version(number)) {
        return;
    }
    findings.push(
        Diagnostic::new(
            &AIRSHIP_SCHEMA,
            mapping.get("schema").map(|node| node.span),
            format!("`{schema}` is not of the form `namespace/Kind/vN`"),
        )
        .with_help("write it as in `drydock/BaremetalNode/v1`"),
    );
}

fn check_name(sources: &Sources, document: &Document, findings: &mut Findings) {
    let described = match &document.envelope {
        Envelope::None => return,
        Envelope::Kubernetes { kind, .. } if is_configuration(document) && document.metadata().is_none() => {
            let _ = kind;
            return;
        }
        Envelope::Kubernetes { .. } | Envelope::Airship { .. } => document.kind(),
    };
    let node = document.root.at(&["metadata", "name"]);
    let finding = match node {
        Some(node) if node.as_str().is_some_and(|name| !name.is_empty()) => return,
        Some(node) if !node.is_null() && node.as_str().is_none() => {
            let finding = Diagnostic::new(
                &MISSING_NAME,
                node.span,
                format!("`metadata.name` is a string, and this is {}", node.type_name()),
            );
            if node.is_plain() {
                finding.with_help(format!("write \"{}\"", sources.snippet(node.span)))
            } else {
                finding
            }
        }
        _ => Diagnostic::new(
            &MISSING_NAME,
            document.span(),
            format!("the {described} has no `metadata.name`"),
        )
        .with_help("add a `metadata` mapping with a `name`"),
    };
    findings.push(finding);
}

/// Configuration files of Kubernetes tools look like documents but are not objects, and have no name.
fn is_configuration(document: &Document) -> bool {
    let group = document.api_group();
    group == "kubeadm.k8s.io" || group == "config.k8s.io" || group.ends_with(".config.k8s.io")
}
