//! From paths to a site.

use std::{
    collections::BTreeMap,
    io::Read,
    path::{Path, PathBuf},
};

use berth_documents::{Diagnostic, Document, DocumentSet, Node, Severity, Sources};
use berth_pools::NodeState;
use berth_repository::{SecretPlaces, SiteDocuments};
use berth_site::{ObservedNode, Resolution, Resolver, Site, Subject, load};

use crate::{
    failure::{Chain, Failure},
    input,
    output::{Printer, excerpts},
};

/// What the documents say.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The texts, for findings.
    pub(crate) sources: Sources,
    /// The site.
    pub(crate) site: Site,
    /// What is wrong with the documents, each looked at alone.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The rendered config that a pool's `spec.configuration` names, by pool.
    pub(crate) configured: BTreeMap<String, String>,
    /// What must not be repeated in words.
    pub(crate) secrets: SecretPlaces,
    /// There was no document at all.
    empty: bool,
}

/// Live nodes, seen in two ways.
#[derive(Debug)]
pub(crate) struct Observation {
    /// As the site sees them: labels and who owns them.
    pub(crate) nodes: Vec<ObservedNode>,
    /// As a rollout sees them: what they run and whether they serve.
    pub(crate) states: Vec<NodeState>,
}

impl Loaded {
    /// Reads the paths of `-f`.
    pub(crate) fn read(paths: &[PathBuf], stdin: &mut dyn Read) -> Result<Self, Failure> {
        Self::new(input::read_documents(paths, stdin)?).or_nothing_read(paths)
    }

    /// Reads the paths of `-f`; a file that is not text becomes a finding like any other mistake.
    pub(crate) fn read_with_mistakes(paths: &[PathBuf], stdin: &mut dyn Read) -> Result<Self, Failure> {
        let mut set = DocumentSet::default();
        for file in input::read(paths, stdin).map_err(Failure::Input)? {
            match file.text {
                Ok(text) => {
                    set.add_text(file.name, text);
                }
                Err(error) => set
                    .diagnostics
                    .push(error.to_diagnostic(set.sources.add(file.name, ""))),
            }
        }
        Self::new(set).or_nothing_read(paths)
    }

    /// The site of documents that were read already.
    pub(crate) fn new(set: DocumentSet) -> Self {
        let DocumentSet {
            sources,
            documents,
            mut diagnostics,
        } = set;
        let (site, findings) = load(&sources, &documents);
        diagnostics.extend(findings);
        Self {
            sources,
            site,
            diagnostics,
            configured: configured(&documents),
            secrets: SecretPlaces::default(),
            empty: documents.is_empty(),
        }
    }

    /// The site of documents of a revision.
    pub(crate) fn of_site(documents: SiteDocuments) -> Self {
        let SiteDocuments { set, secrets, .. } = documents;
        Self {
            secrets,
            ..Self::new(set)
        }
    }

    /// Nothing at all was read: most often the program before the pipe failed, and silence would look like success.
    fn or_nothing_read(self, paths: &[PathBuf]) -> Result<Self, Failure> {
        if self.empty && self.diagnostics.is_empty() {
            let names: Vec<String> = paths.iter().map(|path| described(path)).collect();
            return Err(Failure::Argument {
                message: format!("there is no document in {}", names.join(", ")),
                hint: None,
            });
        }
        Ok(self)
    }

    /// Every finding about the documents and their machine configs; those about single nodes are left out.
    pub(crate) fn findings_without_nodes(&self, resolver: &Resolver<'_>) -> Vec<Diagnostic> {
        let mut diagnostics = berth_site::check(&self.sources, resolver, &[]);
        diagnostics.extend_from_slice(&self.diagnostics);
        diagnostics
    }

    /// Reads the live nodes of `--nodes`. They stay apart from the Nodes among the documents.
    ///
    /// A node that cannot be read ends the run: a plan without it would look complete.
    pub(crate) fn observe(
        &mut self,
        path: &Path,
        stdin: &mut dyn Read,
        printer: &mut Printer<'_>,
    ) -> Result<Vec<ObservedNode>, Failure> {
        Ok(self.observe_documents(path, stdin, printer)?.1)
    }

    /// The same, with what a rollout has to know of each node.
    pub(crate) fn observe_states(
        &mut self,
        path: &Path,
        stdin: &mut dyn Read,
        printer: &mut Printer<'_>,
    ) -> Result<Observation, Failure> {
        let (documents, nodes) = self.observe_documents(path, stdin, printer)?;
        let states = documents
            .iter()
            .filter(|document| document.kind() == "Node")
            .map(|document| NodeState::from_json(&document.root.to_json()))
            .collect::<Result<_, _>>()
            .map_err(|error| not_nodes(Chain(&error).to_string()))?;
        Ok(Observation { nodes, states })
    }

    fn observe_documents(
        &mut self,
        path: &Path,
        stdin: &mut dyn Read,
        printer: &mut Printer<'_>,
    ) -> Result<(Vec<Document>, Vec<ObservedNode>), Failure> {
        let texts = input::read_text(&[path.to_owned()], stdin).map_err(Failure::Input)?;
        if texts.iter().all(|(_, text)| text.trim().is_empty()) {
            return Err(not_nodes(format!("there is nothing in {}", described(path))));
        }
        let add = |set: &mut DocumentSet| {
            for (name, text) in texts {
                set.add_text(name, text);
            }
        };
        self.observe_set(&path.display().to_string(), add, printer)
    }

    /// The same for documents that come from somewhere else, which `from` names.
    pub(crate) fn observe_set(
        &mut self,
        from: &str,
        add: impl FnOnce(&mut DocumentSet),
        printer: &mut Printer<'_>,
    ) -> Result<(Vec<Document>, Vec<ObservedNode>), Failure> {
        let mut set = DocumentSet {
            sources: std::mem::take(&mut self.sources),
            ..DocumentSet::default()
        };
        add(&mut set);
        let DocumentSet {
            sources,
            documents,
            mut diagnostics,
        } = set;
        self.sources = sources;
        let (site, findings) = load(&self.sources, &documents);
        diagnostics.extend(findings);
        diagnostics.retain(|diagnostic| diagnostic.severity() <= Severity::Warning);

        let nodes = documents.iter().filter(|document| document.kind() == "Node").count();
        let errors = diagnostics
            .iter()
            .any(|diagnostic| diagnostic.severity() == Severity::Error);
        if errors || site.observed.len() < nodes {
            printer.aside(&excerpts(&self.sources, &diagnostics))?;
            return Err(not_nodes(format!("the nodes of `{from}` cannot be read")));
        }
        match documents.first() {
            Some(other) if nodes == 0 => {
                let kind = other.kind();
                return Err(not_nodes(format!(
                    "`{from}` holds no Node, but a document of kind `{kind}`"
                )));
            }
            Some(_) => {}
            None => printer.warning(&format!("there is no Node in `{from}`"))?,
        }
        Ok((documents, site.observed))
    }
}

fn configured(documents: &[Document]) -> BTreeMap<String, String> {
    let text = |document: &Document, path: &[&str]| document.root.at(path).and_then(Node::as_str).map(str::to_owned);
    documents
        .iter()
        .filter(|document| document.kind() == "MachineConfigPool")
        .filter_map(|document| {
            let pool = text(document, &["metadata", "name"])?;
            let configuration = document.body()?.at(&["configuration", "name"])?;
            Some((pool, configuration.as_str()?.to_owned()))
        })
        .collect()
}

/// A path as messages call it.
pub(crate) fn described(path: &Path) -> String {
    if path == Path::new("-") {
        "standard input".to_owned()
    } else {
        format!("`{}`", path.display())
    }
}

fn not_nodes(message: String) -> Failure {
    Failure::Argument {
        message,
        hint: Some("`--nodes` takes what `kubectl get nodes -o yaml` prints".to_owned()),
    }
}

/// Refuses to read standard input for two purposes: the second would find it empty.
pub(crate) fn stdin_once(paths: &[PathBuf], nodes: Option<&Path>) -> Result<(), Failure> {
    let stdin = Path::new("-");
    if nodes == Some(stdin) && paths.iter().any(|path| path == stdin) {
        return Err(Failure::Argument {
            message: "standard input can be given to `-f` or to `--nodes`, not to both".to_owned(),
            hint: None,
        });
    }
    Ok(())
}

/// Resolves the named nodes, or all when none is named.
pub(crate) fn resolve_named(resolver: &Resolver<'_>, names: &[String]) -> Result<Vec<Resolution>, Failure> {
    if names.is_empty() {
        return Ok(resolver.resolve_all());
    }
    let mut subjects = names
        .iter()
        .map(|name| subject(resolver, name))
        .collect::<Result<Vec<_>, _>>()?;
    subjects.sort_by(|a, b| a.name.cmp(&b.name));
    subjects.dedup_by(|a, b| a.name == b.name);
    Ok(subjects.into_iter().map(|subject| resolver.resolve(subject)).collect())
}

/// A node by name.
pub(crate) fn subject<'a>(resolver: &'a Resolver<'_>, name: &str) -> Result<&'a Subject, Failure> {
    resolver.subject(name).ok_or_else(|| {
        let names = resolver.subjects().iter().map(|subject| &*subject.name);
        Failure::Unknown {
            what: "node",
            name: name.to_owned(),
            problem: "is not in the documents".to_owned(),
            close: berth_site::close_matches(name, names)
                .into_iter()
                .map(str::to_owned)
                .collect(),
        }
    })
}
