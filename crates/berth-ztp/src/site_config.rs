//! `SiteConfig` files, which people still have, become `ClusterInstance`s.

use berth_documents::{Diagnostic, Document};

use crate::manifest::Manifest;

/// What a file became.
#[derive(Clone, Debug, Default)]
pub struct Converted {
    /// The objects.
    pub manifests: Vec<Manifest>,
    /// What got lost on the way, and why.
    pub notes: Vec<String>,
    /// What is wrong with the file.
    pub diagnostics: Vec<Diagnostic>,
}

/// Whether the document is a `SiteConfig`.
pub fn is_site_config(document: &Document) -> bool {
    document.kind() == "SiteConfig" && document.api_group() == "ran.openshift.io"
}

/// Converts every `SiteConfig` among the documents.
pub fn convert(_documents: &[Document]) -> Converted {
    Converted::default()
}
