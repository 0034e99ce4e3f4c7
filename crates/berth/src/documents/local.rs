//! The operations in this process, on a database.

use std::sync::Arc;

use berth_api::{Collections, Document, RevisionList, Version};
use berth_clock::Clock;
use berth_documents::deckhand::{Listing, Query};
use berth_repository::{
    BufferMode, CommitOptions, Configdocs, ConfigdocsError, Error, FiledDocument, LoadOptions, Repository,
    RevisionQuery, Secrets, SiteRules, revision_list,
};
use berth_store::Write;
use serde_json::Value;

use super::{Incoming, Shown, StatusAnswer};
use crate::{
    args::DatabaseArgs,
    database::{self, IfMissing},
    failure::Failure,
    server::{Answer, join},
};

pub(crate) struct Local {
    repository: Arc<Repository>,
    configdocs: Configdocs,
    clock: Clock,
}

impl Local {
    pub(super) async fn open(args: &DatabaseArgs, if_missing: IfMissing, clock: &Clock) -> Result<Self, Failure> {
        let store = database::open(args, if_missing).await?;
        let repository = Arc::new(Repository::new(store));
        let configdocs = Configdocs::new(Arc::clone(&repository), Arc::new(SiteRules::default()));
        Ok(Self {
            repository,
            configdocs,
            clock: clock.clone(),
        })
    }

    /// In microseconds since 1970.
    fn now(&self) -> i64 {
        self.clock.microseconds()
    }

    pub(super) async fn revisions(&self) -> Result<RevisionList, Failure> {
        let revisions = self
            .repository
            .revisions(&RevisionQuery::default())
            .await
            .map_err(refused)?;
        Ok(revision_list(&revisions))
    }

    pub(super) async fn documents(&self, revision: u64, shown: Shown) -> Result<Vec<Document>, Failure> {
        let documents = if shown.rendered {
            let query = query(Listing::RenderedDocuments)?;
            self.repository.rendered_documents(revision, &query).await
        } else {
            let query = query(Listing::Documents)?;
            self.repository.documents(revision, &query).await
        };
        Ok(values(&documents.map_err(refused)?, shown.cleartext))
    }

    pub(super) async fn put(&self, bucket: &str, incoming: &Incoming, base: u64) -> Result<u64, Failure> {
        let write = Write::at(self.now()).on(base);
        let put = self
            .repository
            .put_bucket(bucket, &incoming.documents, write)
            .await
            .map_err(refused)?;
        Ok(put.revision.map_or(0, |revision| revision.id))
    }

    pub(super) async fn rollback(&self, to: u64, base: u64) -> Result<u64, Failure> {
        let result = self
            .repository
            .rollback(to, Write::at(self.now()).on(base))
            .await
            .map_err(refused)?;
        Ok(result.revision.map_or(0, |revision| revision.id))
    }

    pub(super) async fn put_tag(&self, revision: u64, tag: &str, data: Option<&Value>) -> Result<(), Failure> {
        self.repository
            .put_tag(revision, tag, data.cloned())
            .await
            .map_err(refused)?;
        Ok(())
    }

    pub(super) async fn delete_tag(&self, revision: u64, tag: &str) -> Result<(), Failure> {
        let deleted = self.repository.store().delete_tag(revision, tag).await;
        deleted.map_err(|error| refused(error.into()))
    }

    pub(super) async fn load(
        &self,
        name: &str,
        incoming: &Incoming,
        mode: BufferMode,
    ) -> Result<StatusAnswer, Failure> {
        let options = LoadOptions {
            mode,
            empty_collection: false,
        };
        let loaded = self
            .configdocs
            .load(name, &incoming.documents, options, self.now(), &owner())
            .await;
        Answer::of(loaded.map_err(not_staged)?.to_status())
    }

    pub(super) async fn commit(&self, force: bool, dry_run: bool) -> Result<StatusAnswer, Failure> {
        let options = CommitOptions { force, dry_run };
        let commitment = self.configdocs.commit(options, self.now(), &owner()).await;
        Answer::of(commitment.map_err(not_staged)?.to_status())
    }

    pub(super) async fn collections(&self, versions: Option<&str>) -> Result<Answer<Collections>, Failure> {
        let versions = versions.map(two_versions).transpose()?;
        let collections = self.configdocs.collections(versions).await;
        let collections = collections.map_err(|error| match error {
            ConfigdocsError::VersionNotFound { .. } => Failure::Rejected {
                status: 404,
                message: join("Version does not exist", &error.to_string()),
                details: Vec::new(),
            },
            error => not_staged(error),
        })?;
        Answer::of(collections)
    }

    pub(super) async fn collection(
        &self,
        name: &str,
        version: &str,
        cleartext: bool,
    ) -> Result<Vec<Document>, Failure> {
        let documents = self.configdocs.collection(name, one_version(version)?).await;
        Ok(values(&documents.map_err(not_staged)?, cleartext))
    }
}

fn query(listing: Listing) -> Result<Query, Failure> {
    Query::parse(listing, [("", ""); 0]).map_err(|error| refused(error.into()))
}

fn values(documents: &[FiledDocument], cleartext: bool) -> Vec<Document> {
    let secrets = Secrets::asked(cleartext);
    documents.iter().map(|document| document.to_api(secrets)).collect()
}

/// A name for the lock that no other process of this machine uses.
fn owner() -> String {
    format!("berth, process {}", std::process::id())
}

const VERSIONS: &str = "version must be buffer, committed, last_site_action, successful_site_action";

fn bad_request(title: &str, reason: &str) -> Failure {
    Failure::Rejected {
        status: 400,
        message: join(title, reason),
        details: Vec::new(),
    }
}

fn one_version(text: &str) -> Result<Version, Failure> {
    let wrong = |()| bad_request("Invalid version query parameter specified", VERSIONS);
    text.trim().parse().map_err(wrong)
}

fn two_versions(text: &str) -> Result<(Version, Version), Failure> {
    let version = |name: &str| {
        let wrong = |()| {
            bad_request(
                "Invalid version detected",
                &format!("{name} is not a version; {VERSIONS}"),
            )
        };
        name.parse().map_err(wrong)
    };
    match text.split(',').map(str::trim).collect::<Vec<_>>().as_slice() {
        [one, other] => Ok((version(one)?, version(other)?)),
        _ => Err(bad_request(
            "Incorrect number of versions for comparison",
            "Two versions must be given, with a comma between them",
        )),
    }
}

/// A refusal in the words that a server would send. What is wrong with the database itself is said as it is.
fn refused(error: Error) -> Failure {
    let status = error.status();
    match error {
        Error::Store(error) if status >= 500 => Failure::Store(error),
        error => Failure::Rejected {
            status,
            details: details(&error),
            message: match &error {
                Error::Render(errors) => errors.first().to_string(),
                error => error.to_string(),
            },
        },
    }
}

fn details(error: &Error) -> Vec<String> {
    match error {
        Error::Render(errors) => errors.iter().map(ToString::to_string).collect(),
        Error::Invalid { violations } => violations.iter().map(ToString::to_string).collect(),
        _ => Vec::new(),
    }
}

fn not_staged(error: ConfigdocsError) -> Failure {
    let (status, title, reason) = (error.status(), error.title(), error.to_string());
    let advice = error.advice();
    match error {
        ConfigdocsError::Repository(error) => refused(error),
        error => {
            let inner = match &error {
                ConfigdocsError::Unsuitable(inner) | ConfigdocsError::NotRendered(inner) => details(inner),
                _ => Vec::new(),
            };
            Failure::Rejected {
                status,
                message: join(&title, &reason),
                details: advice.map(str::to_owned).into_iter().chain(inner).collect(),
            }
        }
    }
}
