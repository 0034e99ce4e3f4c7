//! Where a label comes from, as it is printed.

use berth_documents::{Sources, Span};
use berth_site::{Beaten, Resolution, ResolvedLabel, Site, Source};
use serde::Serialize;

/// A source with its place. The fields are a contract.
#[derive(Debug, Serialize)]
pub(crate) struct Origin {
    /// `kind/name`.
    pub(crate) source: String,
    pub(crate) file: String,
    /// `None` where the object is in no file.
    pub(crate) line: Option<u32>,
}

impl Origin {
    pub(crate) fn new(site: &Site, sources: &Sources, source: Source, span: Span) -> Self {
        let location = sources.location(span);
        Self {
            source: site.source_name(source),
            line: location.line(),
            file: location.file,
        }
    }
}

/// A statement that lost. The fields are a contract.
#[derive(Debug, Serialize)]
pub(crate) struct BeatenReport {
    /// `None` for a removal.
    value: Option<String>,
    #[serde(flatten)]
    origin: Origin,
}

impl BeatenReport {
    pub(crate) fn all(site: &Site, sources: &Sources, beaten: &[Beaten]) -> Vec<Self> {
        beaten
            .iter()
            .map(|beaten| Self {
                value: beaten.value.as_ref().map(|value| value.as_str().to_owned()),
                origin: Origin::new(site, sources, beaten.source, beaten.span),
            })
            .collect()
    }
}

/// A value with its source and what it beat. The fields are a contract.
#[derive(Debug, Serialize)]
pub(crate) struct Provenance {
    value: String,
    #[serde(flatten)]
    origin: Origin,
    beats: Vec<BeatenReport>,
}

impl Provenance {
    pub(crate) fn new(site: &Site, sources: &Sources, label: &ResolvedLabel) -> Self {
        Self {
            value: label.value.as_str().to_owned(),
            origin: Origin::new(site, sources, label.source, label.span),
            beats: BeatenReport::all(site, sources, &label.beats),
        }
    }
}

/// `a=1,b=2`.
pub(crate) fn label_list(resolution: &Resolution) -> String {
    let labels: Vec<String> = resolution
        .labels
        .iter()
        .map(|label| format!("{}={}", label.key, label.value))
        .collect();
    labels.join(",")
}
