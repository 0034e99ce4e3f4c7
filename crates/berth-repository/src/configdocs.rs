//! Shipyard's staging: collections are loaded into a buffer and committed together.
//!
//! There is no buffer as a thing of its own. Tags say which revision is the committed one, and what is newer is the
//! buffer. Loading and committing hold one lock, so they come one after the other, also on several servers.

mod error;
mod version;

use std::{collections::BTreeMap, sync::Arc};

use berth_api::{
    ApiVersion, BaseStatus, Collection, Collections, Empty, Findings, Status, StatusKind, StatusWord,
    ValidationMessage, Version,
};
use berth_documents::deckhand::{BucketChange, DeckhandDocument, Listing, Query, ValidationStatus};
use berth_store::{Conflict, DocumentChange, Revision, StagedVersions, Write};
use serde_json::{Map, Value};

use self::version::revision;
pub use self::{error::ConfigdocsError, version::BufferMode};
use crate::{
    error::Error,
    filed::FiledDocument,
    repository::{Put, Repository},
    revisions::bucket_change,
    site_rules::{DocumentRules, by_render_error, by_violation, failed_validation, missing_validation},
    validations::ValidationVerdict,
};

/// The lock that loading and committing hold.
pub const LOCK_NAME: &str = "configdocs_update";
/// How long the lock is held at most, should its owner not live to give it back.
pub const LOCK_SECONDS: i64 = 60;

/// The tag of a committed revision.
const COMMITTED_TAG: &str = "committed";

/// Staging on top of a repository.
#[derive(Clone, Debug)]
pub struct Configdocs {
    repository: Arc<Repository>,
    rules: Arc<dyn DocumentRules>,
}

/// How to load a collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadOptions {
    /// What to do with what the buffer has already.
    pub mode: BufferMode,
    /// Whether the collection may become empty.
    pub empty_collection: bool,
}

/// A collection that was loaded into the buffer.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The buffer.
    pub revision: Revision,
    /// What happened to each document.
    pub changes: BTreeMap<Arc<berth_documents::deckhand::Identity>, DocumentChange>,
    /// What is wrong with the documents of the buffer by their schemas. It is loaded all the same.
    pub messages: Vec<ValidationMessage>,
}

/// How to commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommitOptions {
    /// Whether to commit also what is not sound.
    pub force: bool,
    /// Whether only to validate.
    pub dry_run: bool,
}

/// What became of a commit.
#[derive(Clone, Debug)]
pub struct Commitment {
    /// The revision of the buffer.
    pub revision: u64,
    /// Whether it is the committed one now.
    pub committed: bool,
    /// What was asked for.
    pub options: CommitOptions,
    /// Everything that validation found.
    pub messages: Vec<ValidationMessage>,
}

impl Configdocs {
    /// Staging in a repository; a commit asks the rules.
    pub fn new(repository: Arc<Repository>, rules: Arc<dyn DocumentRules>) -> Self {
        Self { repository, rules }
    }

    /// What a commit asks.
    pub(crate) fn rules(&self) -> Arc<dyn DocumentRules> {
        Arc::clone(&self.rules)
    }

    /// The repository behind it.
    pub fn repository(&self) -> &Arc<Repository> {
        &self.repository
    }

    /// Which revisions are in which stage.
    ///
    /// # Errors
    /// When the store cannot be asked.
    pub async fn staged(&self) -> Result<StagedVersions, Error> {
        Ok(self.repository.store().staged().await?)
    }

    /// Loads a collection into the buffer. `owner` is a name that nobody else uses at the same time.
    ///
    /// # Errors
    /// [`ConfigdocsError`] says which; the buffer is as it was then, except that a buffer to be replaced may be the
    /// committed revision again.
    pub async fn load(
        &self,
        collection: &str,
        documents: &[Arc<DeckhandDocument>],
        options: LoadOptions,
        now: i64,
        owner: &str,
    ) -> Result<Loaded, ConfigdocsError> {
        if documents.is_empty() && !options.empty_collection {
            return Err(ConfigdocsError::EmptyCollection {
                collection: collection.to_owned(),
            });
        }
        let put = self
            .locked(now, owner, self.load_locked(collection, documents, options, now))
            .await?;
        // Validation may take a while, and nobody else shall wait for it.
        let violations = self.repository.violations_of(&put, now).await;
        let revision = put.revision.ok_or_else(|| ConfigdocsError::NothingNew {
            collection: collection.to_owned(),
        })?;
        Ok(Loaded {
            revision,
            changes: put.changes,
            messages: violations.iter().map(by_violation).collect(),
        })
    }

    async fn load_locked(
        &self,
        collection: &str,
        documents: &[Arc<DeckhandDocument>],
        options: LoadOptions,
        now: i64,
    ) -> Result<Put, ConfigdocsError> {
        let staged = self.staged().await?;
        let buffered = self.buffered(&staged).await?;
        let is_empty = buffered.values().all(|change| *change == BucketChange::Unmodified);
        if !is_empty {
            let differs = |change: &BucketChange| *change != BucketChange::Unmodified;
            match options.mode {
                BufferMode::Replace => {
                    let to = staged.committed.unwrap_or_default();
                    // Not validated: it is the committed revision again, and the next write makes another one.
                    let store = self.repository.store();
                    store.rollback(to, Write::at(now)).await.map_err(Error::from)?;
                }
                BufferMode::Append if !buffered.get(collection).is_some_and(differs) => {}
                BufferMode::Append | BufferMode::RejectOnContents => {
                    return Err(ConfigdocsError::BufferNotEmpty { mode: options.mode });
                }
            }
        }
        let suitable = |error: Error| match error {
            Error::Store(berth_store::Error::Conflict(conflict @ Conflict::Duplicate { .. })) => {
                ConfigdocsError::ElsewhereToo { conflict }
            }
            error if error.status() < 500 => ConfigdocsError::Unsuitable(Box::new(error)),
            error => ConfigdocsError::Repository(error),
        };
        // Tried out first, because a revision that changes nothing shall not be made.
        let trial = self
            .repository
            .put_bucket(collection, documents, Write::at(now).dry_run())
            .await
            .map_err(suitable)?;
        if trial.revision.is_none() || trial.changes.values().all(|it| *it == DocumentChange::Unmodified) {
            return Err(ConfigdocsError::NothingNew {
                collection: collection.to_owned(),
            });
        }
        let put = self.repository.put_unvalidated(collection, documents, Write::at(now));
        put.await.map_err(suitable)
    }

    /// Validates the buffer and makes it the committed revision. `owner` as for [`load`](Self::load).
    ///
    /// # Errors
    /// [`ConfigdocsError::BufferEmpty`], [`ConfigdocsError::BufferChanged`], [`ConfigdocsError::Locked`]. That the documents are not sound is not an error but an
    /// answer.
    pub async fn commit(&self, options: CommitOptions, now: i64, owner: &str) -> Result<Commitment, ConfigdocsError> {
        // Validation may take a while, and nobody else shall wait for it: the lock is given back meanwhile.
        let buffer = self.locked(now, owner, self.buffer()).await?;
        let messages = self.validate(buffer).await?;
        let is_sound = !messages.iter().any(|message| message.error);
        let committed = !options.dry_run && (is_sound || options.force);
        if committed {
            self.locked(now, owner, self.commit_locked(buffer)).await?;
        }
        Ok(Commitment {
            revision: buffer,
            committed,
            options,
            messages,
        })
    }

    /// The revision of the buffer.
    async fn buffer(&self) -> Result<u64, ConfigdocsError> {
        let staged = self.staged().await?;
        let buffered = self.buffered(&staged).await?;
        staged
            .buffer
            .filter(|_| buffered.values().any(|change| *change != BucketChange::Unmodified))
            .ok_or(ConfigdocsError::BufferEmpty)
    }

    /// Commits the revision that was validated, if it is the buffer still.
    async fn commit_locked(&self, validated: u64) -> Result<(), ConfigdocsError> {
        if self.buffer().await? != validated {
            return Err(ConfigdocsError::BufferChanged);
        }
        let data = Some(Value::Object(Map::new()));
        self.repository.put_tag(validated, COMMITTED_TAG, data).await?;
        Ok(())
    }

    /// Everything that validation finds in a revision. Documents that cannot be rendered are not looked at further.
    ///
    /// # Errors
    /// When the revision cannot be read.
    pub async fn validate(&self, revision: u64) -> Result<Vec<ValidationMessage>, Error> {
        let rendering = match self.repository.rendering(revision).await {
            Ok(rendering) => rendering,
            Err(Error::Render(errors)) => return Ok(errors.iter().map(by_render_error).collect()),
            Err(error) => return Err(error),
        };
        let mut messages: Vec<ValidationMessage> = Vec::new();
        let validations = self.repository.validations(revision).await?;
        for summary in validations.summaries() {
            match summary.verdict {
                ValidationVerdict::Missing => messages.push(missing_validation(&summary.name)),
                ValidationVerdict::Counted(ValidationStatus::Failure) => {
                    let failed = validations
                        .named(&summary.name)
                        .filter(|entry| entry.status() == ValidationStatus::Failure);
                    messages.extend(failed.flat_map(|entry| failed_validation(&entry.name, &entry.report)));
                }
                ValidationVerdict::Counted(ValidationStatus::Success) | ValidationVerdict::Ignored(_) => {}
            }
        }
        let Some(rendering) = rendering else {
            return Ok(messages);
        };
        for message in rendering.violations.iter().map(by_violation) {
            // The report that was filed when the documents came has some of them already.
            let known = |other: &ValidationMessage| other.message == message.message && named(other) == named(&message);
            if !messages.iter().any(known) {
                messages.push(message);
            }
        }
        let rules = Arc::clone(&self.rules);
        let check = move || rules.check(&rendering.documents);
        messages.extend(self.repository.workers().run(check).await?);
        Ok(messages)
    }

    /// How every collection stands in two versions, the older one first whatever their order. Without versions: what the
    /// buffer would change.
    ///
    /// # Errors
    /// [`ConfigdocsError::VersionNotFound`], [`ConfigdocsError::SameVersion`].
    pub async fn collections(&self, versions: Option<(Version, Version)>) -> Result<Collections, ConfigdocsError> {
        let staged = self.staged().await?;
        let ((base, base_revision), (new, new_revision)) = match versions {
            None => {
                let committed = staged.committed.unwrap_or_default();
                let buffer = staged.buffer.unwrap_or(committed);
                ((Version::Committed, committed), (Version::Buffer, buffer))
            }
            Some((one, other)) if one == other => return Err(ConfigdocsError::SameVersion),
            Some((one, other)) => {
                let (base, new) = (one.min(other), one.max(other));
                // Shipyard asks for site actions to have been there. Before the first commit there is nothing, and in an empty
                // buffer is what is committed.
                let number = |version: Version, otherwise: u64| match (revision(version, &staged), version) {
                    (Some(revision), _) => Ok(revision),
                    (None, Version::Committed | Version::Buffer) => Ok(otherwise),
                    (None, version) => Err(ConfigdocsError::VersionNotFound { version }),
                };
                let old = number(base, 0)?;
                ((base, old), (new, number(new, staged.buffer.unwrap_or(old))?))
            }
        };
        let changes = self.repository.diff(base_revision, new_revision).await?;
        let before = match base_revision {
            0 => None,
            revision => Some(self.repository.store().revision(revision).await.map_err(Error::from)?),
        };
        let present = |name: &str| before.as_ref().is_some_and(|revision| revision.buckets.contains(name));
        let collections = changes.into_iter().map(|(collection_name, change)| Collection {
            base_version: base,
            base_revision,
            base_status: if present(&collection_name) {
                BaseStatus::Present
            } else {
                BaseStatus::NotPresent
            },
            new_version: new,
            new_revision,
            new_status: bucket_change(change),
            collection_name,
        });
        Ok(Collections(collections.collect()))
    }

    /// The documents of a collection as they are written. The buffer has only what differs from the committed revision.
    ///
    /// # Errors
    /// [`ConfigdocsError::NoDocuments`].
    pub async fn collection(&self, collection: &str, version: Version) -> Result<Vec<FiledDocument>, ConfigdocsError> {
        let missing = || ConfigdocsError::NoDocuments {
            collection: collection.to_owned(),
            version,
        };
        let staged = self.staged().await?;
        if version == Version::Buffer {
            let buffered = self.buffered(&staged).await?;
            let change = buffered.get(collection).copied();
            if change.is_none_or(|change| change == BucketChange::Unmodified) {
                return Err(missing());
            }
        }
        let revision = revision(version, &staged).ok_or_else(missing)?;
        let parameters = [("status.bucket", collection)];
        let query = Query::parse(Listing::Documents, parameters).map_err(Error::from)?;
        let documents = self.repository.documents(revision, &query).await?;
        if documents.is_empty() && version != Version::Buffer {
            return Err(missing());
        }
        Ok(documents)
    }

    /// The rendered documents of a version.
    ///
    /// # Errors
    /// [`ConfigdocsError::VersionNotFound`], [`ConfigdocsError::NotRendered`].
    pub async fn rendered(&self, version: Version, query: &Query) -> Result<Vec<FiledDocument>, ConfigdocsError> {
        let staged = self.staged().await?;
        let revision = revision(version, &staged).ok_or(ConfigdocsError::VersionNotFound { version })?;
        let rendered = self.repository.site_documents(revision, query).await;
        rendered.map_err(|error| match error {
            error @ (Error::Render(_) | Error::Invalid { .. }) => ConfigdocsError::NotRendered(Box::new(error)),
            error => error.into(),
        })
    }

    /// What the buffer changes, by collection; empty when there is no buffer.
    async fn buffered(&self, staged: &StagedVersions) -> Result<BTreeMap<String, BucketChange>, Error> {
        match staged.buffer {
            None => Ok(BTreeMap::new()),
            Some(buffer) => self.repository.diff(staged.committed.unwrap_or_default(), buffer).await,
        }
    }

    /// Does something while nobody else loads or commits.
    async fn locked<T>(
        &self,
        now: i64,
        owner: &str,
        work: impl Future<Output = Result<T, ConfigdocsError>>,
    ) -> Result<T, ConfigdocsError> {
        let store = self.repository.store();
        let until = now.saturating_add(LOCK_SECONDS * 1_000_000);
        store
            .acquire_lock(LOCK_NAME, owner, now, until)
            .await
            .map_err(|error| match error {
                berth_store::Error::Conflict(Conflict::Locked { .. }) => ConfigdocsError::Locked,
                error => Error::from(error).into(),
            })?;
        let result = work.await;
        // The lock ends by itself, so failing to give it back is not a reason to hide what was done.
        let _ = store.release_lock(LOCK_NAME, owner).await;
        result
    }
}

fn named(message: &ValidationMessage) -> Option<(&str, &str)> {
    let document = message.documents.first()?;
    Some((&document.schema, &document.name))
}

impl Loaded {
    /// The answer as Shipyard gives it.
    pub fn to_status(&self) -> Status<Findings> {
        status_document(&self.messages, "", false)
    }
}

impl Commitment {
    /// Whether nothing that was found keeps the documents from being committed.
    pub fn is_sound(&self) -> bool {
        !self.messages.iter().any(|message| message.error)
    }

    /// The HTTP status of the answer.
    pub fn status(&self) -> u16 {
        if self.is_sound() || self.options.dry_run || self.committed {
            200
        } else {
            400
        }
    }

    /// The answer as Shipyard gives it.
    pub fn to_status(&self) -> Status<Findings> {
        let suffix = if self.options.dry_run {
            " DRYRUN"
        } else if self.committed && !self.is_sound() {
            " FORCED SUCCESS"
        } else {
            ""
        };
        status_document(&self.messages, suffix, self.status() == 200)
    }
}

fn status_document(messages: &[ValidationMessage], suffix: &str, accepted: bool) -> Status<Findings> {
    let errors = messages.iter().filter(|message| message.error).count();
    let (status, message) = if errors == 0 {
        (StatusWord::Success, "Validations succeeded")
    } else {
        (StatusWord::Failure, "Validations failed")
    };
    let code = if errors == 0 || accepted {
        "200 OK"
    } else {
        "400 Bad Request"
    };
    Status {
        kind: StatusKind::Status,
        api_version: ApiVersion::V1,
        metadata: Empty {},
        status,
        message: format!("{message}{suffix}"),
        reason: "Validation".to_owned(),
        details: Findings {
            error_count: errors,
            message_list: messages.to_vec(),
        },
        code: code.to_owned(),
    }
}
