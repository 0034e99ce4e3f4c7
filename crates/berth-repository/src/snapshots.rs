//! Revisions as they were read and rendered last, so that asking again costs little.
//!
//! A revision is never written again, so what was read of it stays true. Its number alone does not name it, because
//! numbers start again when everything is deleted; number and time together do.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use berth_documents::deckhand::{
    self, DataSchemas, DeckhandDocument, Edit, Identity, RedactionKey, RenderErrors, RenderOptions, RenderedDocument,
    Renderer, Violation,
};
use berth_store::{Revision, Store, StoredDocument};
use tokio::sync::OnceCell;

use crate::{error::Error, filed::FiledDocument, workers::Workers};

/// How many revisions are kept. Clients ask for the newest, the committed one, and the two of a comparison.
const KEPT: usize = 4;

/// The documents of a revision.
#[derive(Debug)]
pub(crate) struct Snapshot {
    number: u64,
    created_at: i64,
    pub(crate) documents: Vec<FiledDocument>,
    rendered: OnceCell<Result<Arc<Rendering>, RenderErrors>>,
    /// Whether the documents meet their schemas as they are written.
    written: OnceCell<Arc<[Violation]>>,
}

/// The documents of a revision as they are rendered.
#[derive(Debug)]
pub(crate) struct Rendering {
    /// Each after all that it depends on.
    pub(crate) documents: Vec<FiledDocument>,
    /// How they do not meet their schemas.
    pub(crate) violations: Vec<Violation>,
    /// How many had to be worked out; the others were known from the revision rendered before.
    pub(crate) recomputed: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Snapshots {
    /// The one used last comes first.
    kept: Mutex<VecDeque<Arc<Snapshot>>>,
    /// What was rendered last. It is taken out for as long as it is worked with: whoever comes meanwhile begins anew
    /// instead of waiting.
    workshop: Arc<Mutex<Option<Workshop>>>,
    workers: Workers,
}

/// The renderer, with the documents that it has.
#[derive(Debug, Default)]
struct Workshop {
    renderer: Option<Renderer>,
    documents: HashMap<Arc<Identity>, Arc<DeckhandDocument>>,
}

impl Snapshots {
    /// The documents of a revision.
    pub(crate) async fn read(&self, store: &dyn Store, revision: &Revision) -> Result<Arc<Snapshot>, Error> {
        if let Some(found) = self.find(revision) {
            return Ok(found);
        }
        let stored = store.documents(revision.id).await?;
        let known = self.known();
        let redaction = store.redaction_key();
        let mut buckets: HashMap<String, Arc<str>> = HashMap::new();
        let documents = stored
            .into_iter()
            .map(|stored| {
                let bucket = buckets
                    .entry(stored.bucket.clone())
                    .or_insert_with(|| Arc::from(stored.bucket.as_str()));
                file(stored, Arc::clone(bucket), &redaction, &known)
            })
            .collect::<Result<_, _>>()?;
        let snapshot = Arc::new(Snapshot {
            number: revision.id,
            created_at: revision.created_at,
            documents,
            rendered: OnceCell::new(),
            written: OnceCell::new(),
        });
        let mut kept = locked(&self.kept);
        kept.retain(|kept| !kept.is(revision));
        kept.push_front(Arc::clone(&snapshot));
        kept.truncate(KEPT);
        Ok(snapshot)
    }

    /// The threads for what takes a while.
    pub(crate) const fn workers(&self) -> &Workers {
        &self.workers
    }

    /// A revision rendered and validated.
    pub(crate) async fn render(&self, snapshot: &Arc<Snapshot>) -> Result<Arc<Rendering>, Error> {
        let render = || {
            let (slot, work) = (Arc::clone(&self.workshop), Arc::clone(snapshot));
            self.workers.run(move || {
                let mut workshop = locked(&slot).take().unwrap_or_default();
                let rendered = workshop.render(&work.documents);
                *locked(&slot) = Some(workshop);
                rendered.map(|rendered| Arc::new(rendered.validated(&work)))
            })
        };
        Ok(snapshot.rendered.get_or_try_init(render).await?.clone()?)
    }

    /// A revision rendered and validated with one document of another revision, which is not among the answer. Nothing of it
    /// is kept: which document that is changes with other revisions.
    pub(crate) async fn render_with(
        &self,
        snapshot: &Arc<Snapshot>,
        borrowed: FiledDocument,
    ) -> Result<Arc<Rendering>, Error> {
        let work = Arc::clone(snapshot);
        let rendered = self.workers.run(move || {
            let mut documents = work.documents.clone();
            documents.push(borrowed);
            let rendered = Workshop::default().render(&documents);
            rendered.map(|rendered| Arc::new(rendered.validated(&work)))
        });
        Ok(rendered.await??)
    }

    /// Forgets every revision.
    pub(crate) fn forget(&self) {
        locked(&self.kept).clear();
    }

    /// Whether the documents meet their schemas as far as that can be said before rendering: of documents that are
    /// complete as they are written.
    pub(crate) async fn violations_as_written(&self, snapshot: &Arc<Snapshot>) -> Result<Arc<[Violation]>, Error> {
        let validate = || {
            let work = Arc::clone(snapshot);
            self.workers.run(move || work.validate_as_written().into())
        };
        snapshot.written.get_or_try_init(validate).await.cloned()
    }

    /// The documents as they are written, if none of them asks for layering or substitution.
    pub(crate) async fn as_written(&self, snapshot: &Arc<Snapshot>) -> Result<Option<Rendering>, Error> {
        if !snapshot.documents.iter().all(is_complete) {
            return Ok(None);
        }
        Ok(Some(Rendering {
            documents: snapshot.documents.clone(),
            violations: self.violations_as_written(snapshot).await?.to_vec(),
            recomputed: 0,
        }))
    }

    fn find(&self, revision: &Revision) -> Option<Arc<Snapshot>> {
        let mut kept = locked(&self.kept);
        let index = kept.iter().position(|kept| kept.is(revision))?;
        let found = kept.remove(index)?;
        kept.push_front(Arc::clone(&found));
        Some(found)
    }

    /// Documents that are in memory already: most of them are in the next revision too.
    fn known(&self) -> HashMap<Arc<Identity>, Arc<DeckhandDocument>> {
        let newest = locked(&self.kept).front().map(Arc::clone);
        let documents = newest.iter().flat_map(|snapshot| &snapshot.documents);
        documents
            .map(|filed| (Arc::clone(filed.document.identity()), Arc::clone(&filed.document)))
            .collect()
    }
}

impl Snapshot {
    fn is(&self, revision: &Revision) -> bool {
        (self.number, self.created_at) == (revision.id, revision.created_at)
    }

    fn validate_as_written(&self) -> Vec<Violation> {
        let (schemas, mut violations) = DataSchemas::compile(self.documents.iter().map(|filed| &filed.document));
        let complete: Vec<RenderedDocument> = self
            .documents
            .iter()
            .filter(|filed| is_complete(filed))
            .map(FiledDocument::rendered)
            .collect();
        violations.extend(schemas.validate_all(&complete));
        violations
    }
}

/// Whether a document is the same after rendering.
fn is_complete(filed: &FiledDocument) -> bool {
    let document = &filed.document;
    !document.is_abstract()
        && !document.is_replacement()
        && document.parent_selector().is_empty()
        && document.substitutions().is_empty()
}

impl Workshop {
    fn render(&mut self, filed: &[FiledDocument]) -> Result<Rendered, RenderErrors> {
        let mut before = std::mem::take(&mut self.documents);
        let mut changes = Vec::new();
        for filed in filed {
            let identity = filed.document.identity();
            if before.remove(identity).as_ref() != Some(&filed.document) {
                changes.push(Edit::Put(Arc::clone(&filed.document)));
            }
            self.documents.insert(Arc::clone(identity), Arc::clone(&filed.document));
        }
        changes.extend(
            before
                .into_keys()
                .map(|identity| Edit::Remove(Identity::clone(&identity))),
        );
        let renderer = self
            .renderer
            .get_or_insert_with(|| Renderer::new([], RenderOptions::default()));
        renderer.render_again(changes).map(Rendered)
    }
}

/// Documents that were rendered, and not yet validated.
struct Rendered(deckhand::Rendered);

impl Rendered {
    fn validated(self, snapshot: &Snapshot) -> Rendering {
        let Self(result) = self;
        let filed = &snapshot.documents;
        let places: HashMap<&Identity, &FiledDocument> = filed
            .iter()
            .map(|filed| (filed.document.identity().as_ref(), filed))
            .collect();
        let (schemas, mut violations) = DataSchemas::compile(filed.iter().map(|filed| &filed.document));
        violations.extend(schemas.validate_all(&result.documents));
        let documents = result
            .documents
            .into_iter()
            .filter_map(|rendered| {
                let place = places.get(rendered.document.identity().as_ref())?;
                Some(FiledDocument {
                    bucket: Arc::clone(&place.bucket),
                    revision: place.revision,
                    redaction: place.redaction.clone(),
                    document: rendered.document,
                    data: rendered.data,
                    secrets: rendered.secrets,
                })
            })
            .collect();
        Rendering {
            documents,
            violations,
            recomputed: result.recomputed,
        }
    }
}

fn file(
    stored: StoredDocument,
    bucket: Arc<str>,
    redaction: &RedactionKey,
    known: &HashMap<Arc<Identity>, Arc<DeckhandDocument>>,
) -> Result<FiledDocument, Error> {
    let revision = stored.revision;
    let same = |document: &&Arc<DeckhandDocument>| {
        stored.metadata_hash == document.metadata_hash().into()
            && stored.data_hash().is_ok_and(|hash| hash == document.data_hash().into())
    };
    let document = match known.get(&stored.identity).filter(same) {
        Some(document) => Arc::clone(document),
        None => Arc::new(stored.into_document()?),
    };
    Ok(FiledDocument::as_written(document, redaction.clone(), bucket, revision))
}

/// What is locked here is whole at every moment, so a panic elsewhere is not a reason to stop.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
