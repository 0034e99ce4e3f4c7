//! From what a source has to a catalog.

use berth_cluster::Snapshot;
use berth_decide::{Definitions, Serving};
use berth_documents::{Diagnostic, Severity, Sources};
use berth_ignition_server::{Catalog, CommonFiles};
use berth_pools::RenderOptions;
use berth_repository::SiteDocuments;
use berth_resources::Berth;
use berth_site::Resolver;

use super::in_one_line;
use crate::{
    args::{FlavourArg, IgnitionServerOptions},
    failure::Failure,
    files,
    findings::Finding,
    rendering,
    site::Loaded,
    sources::{PlacedDocuments, Reading, on_a_thread},
};

/// What makes a catalog of documents.
#[derive(Clone)]
pub(super) struct Maker {
    flavour: FlavourArg,
    options: RenderOptions,
    kubeconfig: Option<Vec<u8>>,
    kubelet_ca: Option<Vec<u8>>,
}

/// What came of reading.
pub(super) enum Made {
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

impl Maker {
    /// A maker for these options.
    pub(super) fn new(args: &IgnitionServerOptions) -> Result<Self, Failure> {
        Ok(Self {
            flavour: args.flavour,
            options: rendering::options(args.os_image_url.as_deref()),
            kubeconfig: args.kubeconfig.as_deref().map(files::read).transpose()?,
            kubelet_ca: args.kubelet_ca.as_deref().map(files::read).transpose()?,
        })
    }

    /// The catalog of what was read, made on a thread: rendering pools may take a while, and others want to be answered meanwhile.
    pub(super) async fn make<T>(&self, reading: Reading<T>) -> Result<Made, Failure>
    where
        T: Content + Send + 'static,
    {
        let maker = self.clone();
        on_a_thread(move || maker.make_here(reading)).await
    }

    /// The same on this thread.
    pub(super) fn make_here<T: Content>(&self, reading: Reading<T>) -> Result<Made, Failure> {
        match reading {
            Reading::Version { name, content } => content.made(self, name),
            Reading::Nothing(why) => Ok(Made::Catalog {
                catalog: Box::new(Catalog::loading(why)),
                notices: vec![format!("{why}; machines are told to try again")],
            }),
        }
    }

    fn catalog(&self, serving: Serving, revision: String) -> Result<Made, Failure> {
        let common = CommonFiles {
            kubeconfig: self.kubeconfig.clone(),
            kubelet_ca: self.kubelet_ca.clone(),
            ..CommonFiles::default()
        };
        let made = Catalog::make(serving, revision, common)
            .map_err(|error| Failure::Unusable(format!("the site cannot be served: {}", in_one_line(&error))))?;
        Ok(Made::Catalog {
            catalog: Box::new(made.catalog),
            notices: made.notices,
        })
    }
}

/// What a catalog is made of.
pub(super) trait Content {
    /// The catalog, under the name of the version.
    fn made(self, maker: &Maker, name: String) -> Result<Made, Failure>;
}

impl Content for SiteDocuments {
    fn made(self, maker: &Maker, name: String) -> Result<Made, Failure> {
        of_documents(&self, None, maker, name)
    }
}

impl Content for PlacedDocuments {
    fn made(self, maker: &Maker, name: String) -> Result<Made, Failure> {
        of_documents(&self.documents, Some(&self.berths), maker, name)
    }
}

/// The catalog of documents, with the places that Berths have now. What is said about documents, in the log and to everybody who asks
/// how the server is, has no secret in it.
fn of_documents(
    documents: &SiteDocuments,
    berths: Option<&[Berth]>,
    maker: &Maker,
    name: String,
) -> Result<Made, Failure> {
    let SiteDocuments { set, secrets, .. } = documents;
    let loaded = Loaded::new(set.clone());
    let resolver = Resolver::new(&loaded.site, maker.flavour.of(&loaded.site));
    let mut diagnostics = loaded.findings_without_nodes(&resolver);
    diagnostics.retain(|it| it.severity() == Severity::Error);
    if !diagnostics.is_empty() {
        crate::findings::sort(&loaded.sources, &mut diagnostics);
        drop(resolver);
        return Ok(Made::Broken(Broken {
            diagnostics: diagnostics.into_iter().map(|finding| secrets.veil(finding)).collect(),
            sources: loaded.sources,
        }));
    }
    let mut serving = Serving::of_site(&resolver, &maker.options);
    if let Some(berths) = berths {
        let mut definitions = Definitions::of_cluster_made_from(&set.documents, resolver.flavour());
        serving = serving.with_places(&mut definitions, berths);
    }
    let mut made = maker.catalog(serving, name)?;
    if let Made::Catalog { notices, .. } = &mut made {
        for notice in notices {
            *notice = secrets.veil_text(std::mem::take(notice));
        }
    }
    Ok(made)
}

impl Content for Snapshot {
    fn made(self, maker: &Maker, name: String) -> Result<Made, Failure> {
        maker.catalog(Serving::of_cluster(self.objects(), maker.flavour.typed()), name)
    }
}
