//! From documents, or the objects of a cluster, to a catalog; and a folder as their source.

use std::{fmt::Write as _, io, path::PathBuf};

use berth_decide::Serving;
use berth_documents::{Diagnostic, Severity, Sources};
use berth_pools::RenderOptions;
use berth_server::{Catalog, CommonFiles};
use berth_site::Resolver;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::in_one_line;
use crate::{
    args::{FlavourArg, IgnitionServerOptions},
    failure::Failure,
    files,
    findings::Finding,
    input::{self, Fingerprint},
    rendering,
    site::Loaded,
};

/// What makes a catalog of documents.
#[derive(Clone)]
pub(super) struct Maker {
    flavour: FlavourArg,
    options: RenderOptions,
    kubeconfig: Option<Vec<u8>>,
}

/// The documents of a folder.
pub(super) struct SiteSource {
    paths: Vec<PathBuf>,
    maker: Maker,
    /// The files as they were before they were read last.
    seen: Option<Fingerprint>,
}

/// What came of reading.
pub(super) enum Reading {
    /// Something to serve, and what is odd about it.
    Catalog {
        catalog: Box<Catalog>,
        notices: Vec<String>,
    },
    /// Documents with mistakes in them.
    Broken(Broken),
}

/// Mistakes that keep a site from being served.
pub(super) struct Broken {
    pub(super) sources: Sources,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl Broken {
    /// Writes every mistake to the log.
    pub(super) fn log(&self) {
        for diagnostic in self.diagnostics.iter().filter(|it| it.severity() == Severity::Error) {
            let finding = Finding::new(&self.sources, diagnostic);
            tracing::error!(place = finding.name(), "{}", diagnostic.message);
        }
    }
}

impl Broken {
    /// The first mistake, and how many more there are.
    pub(super) fn in_words(&self) -> String {
        let mut errors = self.diagnostics.iter().filter(|it| it.severity() == Severity::Error);
        let Some(first) = errors.next() else {
            return "the site has errors".to_owned();
        };
        let place = Finding::new(&self.sources, first).name();
        match errors.count() {
            0 => format!("{place}: {}", first.message),
            more => format!("{place}: {} (and {more} more)", first.message),
        }
    }
}

impl SiteSource {
    /// A source that has not been read yet.
    pub(super) fn new(args: &IgnitionServerOptions, maker: Maker) -> Result<Self, Failure> {
        if args.paths.iter().any(|path| path.as_os_str() == "-") {
            return Err(Failure::Argument {
                message: "a server follows files; it cannot read its site from standard input".to_owned(),
                hint: None,
            });
        }
        Ok(Self {
            paths: args.paths.clone(),
            maker,
            seen: None,
        })
    }

    /// Whether any file is not as it was when it was read last.
    pub(super) fn has_changed(&self) -> bool {
        self.seen.as_ref() != Some(&Fingerprint::of(&self.paths))
    }

    /// Reads everything and builds the catalog.
    pub(super) fn read(&mut self) -> Result<Reading, Failure> {
        // Taken before the files are read: what changes in between is seen at the next look.
        self.seen = Some(Fingerprint::of(&self.paths));
        let texts = input::read_text(&self.paths, &mut io::empty()).map_err(Failure::Input)?;
        self.maker.make(revision("files", &texts), texts)
    }
}

impl Maker {
    /// A maker for these options.
    pub(super) fn new(args: &IgnitionServerOptions) -> Result<Self, Failure> {
        Ok(Self {
            flavour: args.flavour,
            options: rendering::options(args.os_image_url.as_deref()),
            kubeconfig: args.kubeconfig.as_deref().map(files::read).transpose()?,
        })
    }

    /// The catalog of documents, each with its name, under the name of their revision.
    pub(super) fn make(&self, revision: String, texts: Vec<(String, String)>) -> Result<Reading, Failure> {
        let loaded = Loaded::from_texts(texts);
        let flavour = self.flavour.of(&loaded.site);
        let resolver = Resolver::new(&loaded.site, flavour);
        let mut diagnostics = loaded.findings_without_nodes(&resolver);
        if diagnostics.iter().any(|it| it.severity() == Severity::Error) {
            diagnostics.retain(|it| it.severity() == Severity::Error);
            crate::findings::sort(&loaded.sources, &mut diagnostics);
            drop(resolver);
            return Ok(Reading::Broken(Broken {
                diagnostics,
                sources: loaded.sources,
            }));
        }
        self.catalog(Serving::of_site(&resolver, &self.options), revision)
    }

    /// The catalog of what a cluster has.
    pub(super) fn make_of_cluster<'a>(
        &self,
        revision: String,
        objects: impl IntoIterator<Item = &'a Value>,
    ) -> Result<Reading, Failure> {
        self.catalog(Serving::of_cluster(objects, self.flavour.or_upstream()), revision)
    }

    fn catalog(&self, serving: Serving, revision: String) -> Result<Reading, Failure> {
        let common = CommonFiles {
            kubeconfig: self.kubeconfig.clone(),
            ..CommonFiles::default()
        };
        let made = Catalog::make(serving, revision, common)
            .map_err(|error| Failure::Unusable(format!("the site cannot be served: {}", in_one_line(&error))))?;
        Ok(Reading::Catalog {
            catalog: Box::new(made.catalog),
            notices: made.notices,
        })
    }
}

/// A name for the content of all files: equal content has an equal name, wherever the folder lies.
pub(super) fn revision(prefix: &str, texts: &[(String, String)]) -> String {
    let mut hash = Sha256::new();
    for (name, text) in texts {
        let name = name.rsplit('/').next().unwrap_or(name);
        for part in [name, text] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
    }
    let mut revision = format!("{prefix}-");
    for byte in hash.finalize().iter().take(6) {
        // Writing to a string cannot fail.
        let _ = write!(revision, "{byte:02x}");
    }
    revision
}
