//! The site that the controllers follow.

use std::{path::PathBuf, sync::Arc};

use berth_documents::Severity;
use berth_repository::{Repository, SiteDocuments};
use berth_site::{Resolver, Site};
use tokio::sync::watch;

use crate::{
    args::FlavourArg,
    failure::Failure,
    findings::Finding,
    site::Loaded,
    sources::{Committed, Declared, Files, Reading, on_a_thread},
    vital,
};

/// The site of a source, and again after every change. A source with errors changes nothing.
pub(in crate::commands) type Documents = watch::Receiver<Arc<Site>>;

/// Follows a folder. Whoever starts a controller looks at it, so mistakes are said at once.
pub(in crate::commands) fn of_folder(paths: &[PathBuf], flavour: FlavourArg) -> Result<Documents, Failure> {
    let mut files = Files::new(paths)?;
    let site = match files.read()? {
        Reading::Version { content, .. } => sound(content, flavour)
            .map_err(|problems| Failure::Unusable(format!("the site has errors: {}", problems.join("; "))))?,
        Reading::Nothing(_) => Site::default(),
    };
    Ok(following(Box::new(files), Arc::new(site), flavour))
}

/// Follows the committed revision. Until something is committed there is an empty source, which proves nothing.
pub(super) fn of_database(repository: Repository, flavour: FlavourArg) -> Documents {
    of_repository(Arc::default(), Arc::new(repository), flavour)
}

/// Follows the committed revision, from a site that is known already.
pub(in crate::commands) fn of_repository(
    known: Arc<Site>,
    repository: Arc<Repository>,
    flavour: FlavourArg,
) -> Documents {
    following(Box::new(Committed::new(repository)), known, flavour)
}

fn following(source: Declared, known: Arc<Site>, flavour: FlavourArg) -> Documents {
    let (sender, receiver) = watch::channel(known);
    vital::spawn("documents", follow(source, flavour, sender));
    receiver
}

async fn follow(mut source: Declared, flavour: FlavourArg, sender: watch::Sender<Arc<Site>>) {
    loop {
        match source.look().await {
            Ok(None | Some(Reading::Nothing(_))) => {}
            Ok(Some(Reading::Version { name, content })) => {
                let count = content.set.documents.len();
                match on_a_thread(move || sound(content, flavour)).await {
                    Ok(site) => {
                        tracing::info!(source = name, documents = count, "the documents are read");
                        sender.send_replace(Arc::new(site));
                    }
                    Err(problems) => {
                        for problem in problems {
                            tracing::error!("{problem}");
                        }
                        tracing::error!(source = name, "the documents have errors; the last good state holds");
                    }
                }
            }
            Err(failure) => tracing::error!("the documents cannot be read: {}", failure.messages().join("; ")),
        }
        tokio::select! {
            () = sender.closed() => return,
            () = source.changed() => {}
        }
    }
}

/// The site of documents, or what is wrong with them.
pub(in crate::commands) fn sound(documents: SiteDocuments, flavour: FlavourArg) -> Result<Site, Vec<String>> {
    let SiteDocuments { set, secrets, .. } = documents;
    let loaded = Loaded::new(set);
    let resolver = Resolver::new(&loaded.site, flavour.of(&loaded.site));
    let errors: Vec<String> = loaded
        .findings_without_nodes(&resolver)
        .into_iter()
        .filter(|finding| finding.severity() == Severity::Error)
        .map(|finding| secrets.veil(finding))
        .map(|finding| {
            format!(
                "{}: {}",
                Finding::new(&loaded.sources, &finding).name(),
                finding.message
            )
        })
        .collect();
    drop(resolver);
    if errors.is_empty() {
        Ok(loaded.site.declared())
    } else {
        Err(errors)
    }
}
