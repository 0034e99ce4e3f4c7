//! Where the controllers read which machines there are: a folder, or the committed revision of a database.

use std::{io, path::PathBuf, sync::Arc, time::Duration};

use berth_documents::{
    Severity, Sources,
    deckhand::{Listing, Query},
};
use berth_repository::{Repository, site_texts};
use berth_site::Resolver;
use serde_json::Value;
use tokio::sync::watch;

use crate::{
    args::FlavourArg,
    failure::{Chain, Failure},
    findings::Finding,
    input::{self, Fingerprint},
    site::Loaded,
    vital,
};

/// How often to look whether something changed.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The objects of a source, and again after every change. A source with errors changes nothing.
pub(in crate::commands) type Documents = watch::Receiver<Arc<Vec<Value>>>;

type Texts = Vec<(String, String)>;

/// Where documents come from, and what was seen of it last.
enum Source {
    Folder {
        paths: Vec<PathBuf>,
        seen: Option<Fingerprint>,
    },
    Database {
        repository: Arc<Repository>,
        /// Number and time: numbers begin again when everything is deleted.
        seen: Option<(u64, i64)>,
    },
}

/// Follows a folder. Whoever starts a controller looks at it, so mistakes are said at once.
pub(super) fn of_folder(paths: Vec<PathBuf>, flavour: FlavourArg) -> Result<Documents, Failure> {
    let seen = Some(Fingerprint::of(&paths));
    let texts = input::read_text(&paths, &mut io::empty()).map_err(Failure::Input)?;
    let objects = objects(texts, flavour)
        .map_err(|problems| Failure::Unusable(format!("the site has errors: {}", problems.join("; "))))?;
    let (sender, receiver) = watch::channel(Arc::new(objects));
    vital::spawn("documents", follow(Source::Folder { paths, seen }, flavour, sender));
    Ok(receiver)
}

/// Follows the committed revision. Until something is committed there is an empty source, which proves nothing.
pub(super) fn of_database(repository: Repository, flavour: FlavourArg) -> Documents {
    of_repository(Vec::new(), Arc::new(repository), flavour)
}

/// Follows the committed revision, from objects that are known already.
pub(in crate::commands) fn of_repository(
    known: Vec<Value>,
    repository: Arc<Repository>,
    flavour: FlavourArg,
) -> Documents {
    let (sender, receiver) = watch::channel(Arc::new(known));
    let source = Source::Database { repository, seen: None };
    vital::spawn("documents", follow(source, flavour, sender));
    receiver
}

async fn follow(mut source: Source, flavour: FlavourArg, sender: watch::Sender<Arc<Vec<Value>>>) {
    loop {
        match source.look().await {
            Ok(None) => {}
            Ok(Some((what, texts))) => match objects(texts, flavour) {
                Ok(objects) => {
                    tracing::info!(source = what, documents = objects.len(), "the documents are read");
                    sender.send_replace(Arc::new(objects));
                }
                Err(problems) => {
                    for problem in problems {
                        tracing::error!("{problem}");
                    }
                    tracing::error!(source = what, "the documents have errors; the last good state holds");
                }
            },
            Err(problem) => tracing::error!("the documents cannot be read: {problem}"),
        }
        tokio::select! {
            () = sender.closed() => return,
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
}

impl Source {
    /// The name and the texts, if they changed since the last look.
    async fn look(&mut self) -> Result<Option<(String, Texts)>, String> {
        match self {
            Self::Folder { paths, seen } => {
                let now = Fingerprint::of(paths);
                if seen.as_ref() == Some(&now) {
                    return Ok(None);
                }
                *seen = Some(now);
                let joined = |errors: Vec<input::InputError>| {
                    let said: Vec<String> = errors.iter().map(|error| Chain(error).to_string()).collect();
                    said.join("; ")
                };
                let texts = input::read_text(paths, &mut io::empty()).map_err(joined)?;
                Ok(Some(("site".to_owned(), texts)))
            }
            Self::Database { repository, seen } => {
                let store = repository.store();
                let Some(number) = store
                    .staged()
                    .await
                    .map_err(|error| Chain(&error).to_string())?
                    .committed
                else {
                    return Ok(None);
                };
                let revision = store.revision(number).await;
                let created = revision.map_err(|error| Chain(&error).to_string())?.created_at;
                if *seen == Some((number, created)) {
                    return Ok(None);
                }
                let query = Query::parse::<&str, &str>(Listing::RenderedDocuments, []);
                let query = query.map_err(|error| Chain(&error).to_string())?;
                let documents = repository.site_documents(number, &query).await;
                let documents = documents.map_err(|error| Chain(&error).to_string())?;
                *seen = Some((number, created));
                Ok(Some((format!("revision {number}"), site_texts(&documents))))
            }
        }
    }
}

/// The documents as JSON, or what is wrong with them.
fn objects(texts: Texts, flavour: FlavourArg) -> Result<Vec<Value>, Vec<String>> {
    let mut sources = Sources::new();
    let mut objects = Vec::new();
    for (name, text) in &texts {
        let id = sources.add(name.clone(), text.as_str());
        let parsed = berth_documents::parse(&sources, id);
        objects.extend(parsed.documents.iter().map(|document| document.root.to_json()));
    }
    let loaded = Loaded::from_texts(texts);
    let resolver = Resolver::new(&loaded.site, flavour.of(&loaded.site));
    let errors: Vec<String> = loaded
        .findings_without_nodes(&resolver)
        .iter()
        .filter(|finding| finding.severity() == Severity::Error)
        .map(|finding| format!("{}: {}", Finding::new(&loaded.sources, finding).name(), finding.message))
        .collect();
    if errors.is_empty() { Ok(objects) } else { Err(errors) }
}
