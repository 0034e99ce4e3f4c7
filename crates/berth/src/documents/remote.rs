//! The operations on a server, over Deckhand's and Shipyard's routes.

use berth_api::{Collections, Document, Revision, RevisionList};
use berth_documents::emit;
use berth_repository::BufferMode;
use reqwest::{Method, RequestBuilder, StatusCode, header};
use serde_json::Value;

use super::{Incoming, Shown, StatusAnswer};
use crate::{
    failure::Failure,
    server::{Answer, Family, Server},
};

const YAML: &str = "application/x-yaml";

pub(crate) struct Remote(pub(super) Server);

impl Remote {
    pub(super) async fn revisions(&self) -> Result<RevisionList, Failure> {
        let request = self.0.request(Method::GET, &["revisions"], &[]);
        let list: Answer<RevisionList> = self.0.ask(Family::Deckhand, request).await?;
        Ok(list.into_read())
    }

    pub(super) async fn documents(&self, revision: u64, shown: Shown) -> Result<Vec<Document>, Failure> {
        let what = if shown.rendered {
            "rendered-documents"
        } else {
            "documents"
        };
        let path = ["revisions", &revision.to_string(), what];
        let query = [("cleartext-secrets", if shown.cleartext { "true" } else { "false" })];
        self.0
            .ask_many(Family::Deckhand, self.0.request(Method::GET, &path, &query))
            .await
    }

    pub(super) async fn put(&self, bucket: &str, incoming: &Incoming, base: u64) -> Result<u64, Failure> {
        let base = base.to_string();
        let query = [("base-revision", base.as_str())];
        let request = self.0.request(Method::PUT, &["buckets", bucket, "documents"], &query);
        let request = yaml(request, incoming.text());
        let documents: Vec<Document> = self.0.ask_many(Family::Deckhand, request).await?;
        let status = documents.first().and_then(|document| document.status.as_ref());
        let status = status.ok_or_else(|| self.0.not_berth(StatusCode::OK))?;
        Ok(status.revision)
    }

    pub(super) async fn rollback(&self, to: u64, base: u64) -> Result<u64, Failure> {
        let base = base.to_string();
        let query = [("base-revision", base.as_str())];
        let request = self.0.request(Method::POST, &["rollback", &to.to_string()], &query);
        let revision: Answer<Revision> = self.0.ask(Family::Deckhand, request).await?;
        Ok(revision.id)
    }

    pub(super) async fn put_tag(&self, revision: u64, tag: &str, data: Option<&Value>) -> Result<(), Failure> {
        let request = self
            .0
            .request(Method::POST, &["revisions", &revision.to_string(), "tags", tag], &[]);
        let request = match data {
            Some(data) => yaml(request, emit::to_yaml(data)),
            None => request,
        };
        self.0.tell(Family::Deckhand, request).await
    }

    pub(super) async fn delete_tag(&self, revision: u64, tag: &str) -> Result<(), Failure> {
        let request = self
            .0
            .request(Method::DELETE, &["revisions", &revision.to_string(), "tags", tag], &[]);
        self.0.tell(Family::Deckhand, request).await
    }

    pub(super) async fn load(
        &self,
        name: &str,
        incoming: &Incoming,
        mode: BufferMode,
    ) -> Result<StatusAnswer, Failure> {
        let request = self
            .0
            .request(Method::POST, &["configdocs", name], &[("buffermode", mode.as_str())]);
        self.0.ask(Family::Shipyard, yaml(request, incoming.text())).await
    }

    pub(super) async fn commit(&self, force: bool, dry_run: bool) -> Result<StatusAnswer, Failure> {
        let word = |flag| if flag { "true" } else { "false" };
        let query = [("force", word(force)), ("dryrun", word(dry_run))];
        let (status, mut values) = self
            .0
            .exchange(self.0.request(Method::POST, &["commitconfigdocs"], &query))
            .await?;
        // That the documents are not sound is an answer, also where its status says no.
        let is_answer = |value: &Value| value.get("reason").and_then(Value::as_str) == Some("Validation");
        match values.pop() {
            Some(answer) if status.is_success() || is_answer(&answer) => self.0.answer(answer),
            refusal => Err(self.0.refused(Family::Shipyard, status, refusal.as_ref())),
        }
    }

    pub(super) async fn collections(&self, versions: Option<&str>) -> Result<Answer<Collections>, Failure> {
        let query: Vec<(&str, &str)> = versions.map(|versions| ("versions", versions)).into_iter().collect();
        self.0
            .ask(Family::Shipyard, self.0.request(Method::GET, &["configdocs"], &query))
            .await
    }

    pub(super) async fn collection(
        &self,
        name: &str,
        version: &str,
        cleartext: bool,
    ) -> Result<Vec<Document>, Failure> {
        let query = [
            ("version", version),
            ("cleartext-secrets", if cleartext { "true" } else { "false" }),
        ];
        self.0
            .ask_many(
                Family::Shipyard,
                self.0.request(Method::GET, &["configdocs", name], &query),
            )
            .await
    }
}

fn yaml(request: RequestBuilder, text: String) -> RequestBuilder {
    request.header(header::CONTENT_TYPE, YAML).body(text)
}
