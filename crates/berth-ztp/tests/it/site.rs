//! The example site, changed as a test wants it.

use std::{fs, path::Path};

use berth_documents::{Document, Sources, parse};
use berth_labels::Flavour;
use berth_site::{Resolver, load};
use berth_ztp::{CheckOptions, Manifests, ZtpInput, ZtpOptions, check, manifests};
use serde_json::Value;

/// All YAML texts of a folder below the workspace, by path.
pub(crate) fn texts(folder: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let (mut found, mut open) = (Vec::new(), vec![root.clone()]);
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "yaml") {
                let name = path.strip_prefix(&root).unwrap().display().to_string();
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "{folder}");
    found
}

pub(crate) fn documents(texts: &[(String, String)]) -> (Sources, Vec<Document>) {
    let mut sources = Sources::new();
    let mut documents = Vec::new();
    for (name, text) in texts {
        let id = sources.add(name.as_str(), text.as_str());
        let parsed = parse(&sources, id);
        assert!(parsed.diagnostics.is_empty(), "{name}: {:?}", parsed.diagnostics);
        documents.extend(parsed.documents);
    }
    (sources, documents)
}

/// The manifests of the example site after a change of its Cluster's text.
pub(crate) fn telco(options: &ZtpOptions, change: impl Fn(&str) -> String) -> Manifests {
    telco_with(options, change, &[])
}

/// The same with these ingress controllers.
pub(crate) fn telco_with(options: &ZtpOptions, change: impl Fn(&str) -> String, ingress: &[Value]) -> Manifests {
    let mut texts = texts("examples/telco-site");
    for (name, text) in &mut texts {
        if name == "cluster.yaml" {
            *text = change(text);
        }
    }
    let (sources, documents) = documents(&texts);
    let (site, findings) = load(&sources, &documents);
    assert!(!berth_site::has_errors(&findings), "{findings:?}");
    let resolver = Resolver::new(&site, Flavour::Openshift);
    manifests(&ZtpInput {
        resolver: &resolver,
        ingress_controllers: ingress,
        options,
    })
}

/// `SEVERITY CODE FILE:LINE MESSAGE` of each finding, sorted by place.
pub(crate) fn findings(texts: &[(String, String)], options: &CheckOptions) -> Vec<String> {
    let (mut sources, documents) = documents(texts);
    let mut found = check(&mut sources, &documents, options);
    found.sort_by_key(|finding| {
        let at = finding.span.map(|span| sources.location(span));
        (
            at.as_ref().map(|at| (at.file.clone(), at.line())),
            finding.message.clone(),
        )
    });
    let mut lines: Vec<String> = found
        .iter()
        .map(|finding| {
            let at = sources.location(finding.span.unwrap());
            let (severity, code) = (finding.severity(), finding.code());
            format!("{severity} {code} {} {}", at.without_column(), finding.message)
        })
        .collect();
    lines.dedup();
    lines
}

/// The same without the label that the example's pool gives its machines by hand.
pub(crate) fn telco_without_label(options: &ZtpOptions) -> Manifests {
    let mut texts = texts("examples/telco-site");
    for (_, text) in &mut texts {
        *text = text.replace("node.openshift.io/remote-worker=,", "");
    }
    let (sources, documents) = documents(&texts);
    let (site, _) = load(&sources, &documents);
    let resolver = Resolver::new(&site, Flavour::Openshift);
    manifests(&ZtpInput {
        resolver: &resolver,
        ingress_controllers: &[],
        options,
    })
}
