//! Documents: a tree and the envelope that says what it is.

use crate::{
    node::{Mapping, Node},
    source::Span,
};

/// One document.
#[derive(Clone, Debug)]
pub struct Document {
    /// The whole document.
    pub root: Node,
    /// What the document says it is.
    pub envelope: Envelope,
    /// Position among the documents of its source, counted from 0 after lists are taken apart.
    pub index: usize,
}

/// What a document says it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Envelope {
    /// `apiVersion`, `kind`, `metadata` and mostly `spec`.
    Kubernetes {
        /// Group and version, such as `machineconfiguration.openshift.io/v1`.
        api_version: String,
        /// The kind, such as `MachineConfigPool`.
        kind: String,
    },
    /// `schema`, `metadata` and `data`.
    Airship {
        /// Namespace, kind and version, such as `drydock/BaremetalNode/v1`.
        schema: String,
    },
    /// Neither; a finding says what was expected.
    None,
}

impl Document {
    /// `metadata.name` and its place.
    pub fn name(&self) -> Option<(&str, Span)> {
        let node = self.root.at(&["metadata", "name"])?;
        Some((node.as_str()?, node.span))
    }

    /// The kind: `kind` of Kubernetes documents, the middle part of an Airship schema, else empty.
    pub fn kind(&self) -> &str {
        match &self.envelope {
            Envelope::Kubernetes { kind, .. } => kind,
            Envelope::Airship { schema } => schema.split('/').nth(1).unwrap_or(""),
            Envelope::None => "",
        }
    }

    /// The API group (empty for the core group), or the namespace of an Airship schema.
    pub fn api_group(&self) -> &str {
        match &self.envelope {
            Envelope::Kubernetes { api_version, .. } => api_version.split_once('/').map_or("", |(group, _)| group),
            Envelope::Airship { schema } => schema.split('/').next().unwrap_or(""),
            Envelope::None => "",
        }
    }

    /// The version, such as `v1`.
    pub fn version(&self) -> &str {
        match &self.envelope {
            Envelope::Kubernetes { api_version, .. } => api_version
                .split_once('/')
                .map_or(api_version.as_str(), |(_, version)| version),
            Envelope::Airship { schema } => schema.split('/').nth(2).unwrap_or(""),
            Envelope::None => "",
        }
    }

    /// `metadata`, if it is a mapping.
    pub fn metadata(&self) -> Option<&Mapping> {
        self.root.get("metadata")?.as_map()
    }

    /// `metadata.labels`, if it is a mapping.
    pub fn labels(&self) -> Option<&Mapping> {
        self.metadata()?.get("labels")?.as_map()
    }

    /// `metadata.annotations`, if it is a mapping.
    pub fn annotations(&self) -> Option<&Mapping> {
        self.metadata()?.get("annotations")?.as_map()
    }

    /// What the document is about: `spec` of Kubernetes documents, `data` of Airship documents.
    pub fn body(&self) -> Option<&Node> {
        match self.envelope {
            Envelope::Kubernetes { .. } => self.root.get("spec"),
            Envelope::Airship { .. } => self.root.get("data"),
            Envelope::None => None,
        }
    }

    /// The place of the kind or schema, for findings about the whole document.
    pub fn span(&self) -> Span {
        let key = match self.envelope {
            Envelope::Airship { .. } => "schema",
            Envelope::Kubernetes { .. } | Envelope::None => "kind",
        };
        self.root.get(key).map_or(self.root.span, |node| node.span)
    }
}
