//! From paths to a site.

use std::{io::Read, path::PathBuf};

use berth_documents::{Diagnostic, Sources, parse};

use crate::{failure::Failure, input};

/// What a folder of documents says.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The texts, for findings.
    pub(crate) sources: Sources,
    /// What is wrong with the documents.
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl Loaded {
    /// Reads the paths of `-f`.
    pub(crate) fn read(paths: &[PathBuf], stdin: &mut dyn Read) -> Result<Self, Failure> {
        let files = input::read(paths, stdin).map_err(Failure::Input)?;
        let mut sources = Sources::new();
        for file in files {
            sources.add(file.name, file.text);
        }
        let mut diagnostics = Vec::new();
        for id in sources.ids() {
            let parsed = parse(&sources, id);
            diagnostics.extend(parsed.diagnostics);
        }
        Ok(Self {
            sources,
            diagnostics,
        })
    }
}
