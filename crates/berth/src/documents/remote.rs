//! The operations on a server, over Deckhand's and Shipyard's routes.

use std::{error::Error as StdError, time::Duration};

use berth_documents::{Severity, Sources, emit, parse};
use berth_repository::BufferMode;
use reqwest::{Client, Method, RequestBuilder, StatusCode, Url, header};
use serde_json::Value;

use super::{Incoming, Shown};
use crate::failure::Failure;

const YAML: &str = "application/x-yaml";
/// Where all four services are.
const PREFIX: [&str; 2] = ["api", "v1.0"];
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Rendering and validating a large site takes its time.
const TIMEOUT: Duration = Duration::from_mins(5);

pub(crate) struct Remote {
    server: Url,
    client: Client,
}

/// Whose words an error has.
#[derive(Clone, Copy)]
enum Family {
    Deckhand,
    Shipyard,
}

impl Remote {
    pub(super) fn new(server: &str) -> Result<Self, Failure> {
        let wrong = |problem: String| Failure::Argument {
            message: format!("`{server}` is not the address of a server: {problem}"),
            hint: Some("write it as in http://127.0.0.1:8080 or https://berth.example.com".to_owned()),
        };
        let url: Url = server.parse().map_err(|error| wrong(format!("{error}")))?;
        if !matches!(url.scheme(), "http" | "https") || url.cannot_be_a_base() {
            return Err(wrong("it must begin with http:// or https://".to_owned()));
        }
        let client = Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(TIMEOUT)
            .build()
            .map_err(|error| Failure::Unreachable {
                server: server.to_owned(),
                source: Box::new(error),
            })?;
        Ok(Self { server: url, client })
    }

    fn request(&self, method: Method, path: &[&str], query: &[(&str, &str)]) -> RequestBuilder {
        let mut url = self.server.clone();
        // It cannot fail: the address was looked at when it was given.
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty();
            segments.extend(PREFIX).extend(path);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        self.client.request(method, url)
    }

    /// Sends a request and gives the status and the documents of the answer.
    async fn exchange(&self, request: RequestBuilder) -> Result<(StatusCode, Vec<Value>), Failure> {
        let unreachable = |error: reqwest::Error| Failure::Unreachable {
            server: self.server.to_string(),
            source: Box::new(error.without_url()) as Box<dyn StdError + Send + Sync>,
        };
        let response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        let text = response.text().await.map_err(unreachable)?;
        let values = values(&text).ok_or_else(|| self.not_berth(status))?;
        Ok((status, values))
    }

    /// Whatever answers there is not what was asked for.
    fn not_berth(&self, status: StatusCode) -> Failure {
        Failure::NotBerth {
            server: self.server.to_string(),
            status: status.as_u16(),
        }
    }

    async fn ask(&self, family: Family, request: RequestBuilder) -> Result<Vec<Value>, Failure> {
        let (status, values) = self.exchange(request).await?;
        if status.is_success() {
            return Ok(values);
        }
        Err(self.refused(family, status, values.first()))
    }

    fn refused(&self, family: Family, status: StatusCode, body: Option<&Value>) -> Failure {
        let text = |key: &str| body.and_then(|body| body.get(key)).and_then(Value::as_str);
        let Some(message) = text("message") else {
            return self.not_berth(status);
        };
        let message = match (family, text("reason")) {
            (Family::Shipyard, Some(reason)) => super::local::join(message, reason),
            _ => message.to_owned(),
        };
        let list = body
            .and_then(|body| body.pointer("/details/messageList"))
            .and_then(Value::as_array);
        Failure::Rejected {
            status: status.as_u16(),
            details: list
                .into_iter()
                .flatten()
                .filter_map(detail)
                .filter(|detail| !message.ends_with(detail.as_str()))
                .collect(),
            message,
        }
    }

    pub(super) async fn revisions(&self) -> Result<Value, Failure> {
        let values = self
            .ask(Family::Deckhand, self.request(Method::GET, &["revisions"], &[]))
            .await?;
        let list = values.into_iter().next().filter(|list| list.get("results").is_some());
        list.ok_or_else(|| self.not_berth(StatusCode::OK))
    }

    pub(super) async fn documents(&self, revision: u64, shown: Shown) -> Result<Vec<Value>, Failure> {
        let what = if shown.rendered {
            "rendered-documents"
        } else {
            "documents"
        };
        let path = ["revisions", &revision.to_string(), what];
        let query = [("cleartext-secrets", if shown.cleartext { "true" } else { "false" })];
        self.ask(Family::Deckhand, self.request(Method::GET, &path, &query))
            .await
    }

    pub(super) async fn put(&self, bucket: &str, incoming: &Incoming, base: u64) -> Result<u64, Failure> {
        let base = base.to_string();
        let query = [("base-revision", base.as_str())];
        let request = self.request(Method::PUT, &["buckets", bucket, "documents"], &query);
        let documents = self.ask(Family::Deckhand, yaml(request, incoming.text())).await?;
        let number = documents
            .first()
            .and_then(|document| document.pointer("/status/revision"));
        number
            .and_then(Value::as_u64)
            .ok_or_else(|| self.not_berth(StatusCode::OK))
    }

    pub(super) async fn rollback(&self, to: u64, base: u64) -> Result<u64, Failure> {
        let base = base.to_string();
        let query = [("base-revision", base.as_str())];
        let request = self.request(Method::POST, &["rollback", &to.to_string()], &query);
        let answer = self.ask(Family::Deckhand, request).await?;
        let number = answer.first().and_then(|revision| revision.get("id"));
        number
            .and_then(Value::as_u64)
            .ok_or_else(|| self.not_berth(StatusCode::OK))
    }

    pub(super) async fn put_tag(&self, revision: u64, tag: &str, data: Option<&Value>) -> Result<(), Failure> {
        let request = self.request(Method::POST, &["revisions", &revision.to_string(), "tags", tag], &[]);
        let request = match data {
            Some(data) => yaml(request, emit::to_yaml(data)),
            None => request,
        };
        self.ask(Family::Deckhand, request).await?;
        Ok(())
    }

    pub(super) async fn delete_tag(&self, revision: u64, tag: &str) -> Result<(), Failure> {
        let request = self.request(Method::DELETE, &["revisions", &revision.to_string(), "tags", tag], &[]);
        self.ask(Family::Deckhand, request).await?;
        Ok(())
    }

    pub(super) async fn load(&self, name: &str, incoming: &Incoming, mode: BufferMode) -> Result<Value, Failure> {
        let request = self.request(Method::POST, &["configdocs", name], &[("buffermode", mode.as_str())]);
        let answer = self.ask(Family::Shipyard, yaml(request, incoming.text())).await?;
        self.one(answer)
    }

    pub(super) async fn commit(&self, force: bool, dry_run: bool) -> Result<Value, Failure> {
        let word = |flag| if flag { "true" } else { "false" };
        let query = [("force", word(force)), ("dryrun", word(dry_run))];
        let (status, values) = self
            .exchange(self.request(Method::POST, &["commitconfigdocs"], &query))
            .await?;
        // That the documents are not sound is an answer, also where its status says no.
        let is_answer = |value: &&Value| value.get("reason").and_then(Value::as_str) == Some("Validation");
        if status.is_success() || values.first().as_ref().is_some_and(is_answer) {
            return self.one(values);
        }
        Err(self.refused(Family::Shipyard, status, values.first()))
    }

    pub(super) async fn collections(&self, versions: Option<&str>) -> Result<Value, Failure> {
        let query: Vec<(&str, &str)> = versions.map(|versions| ("versions", versions)).into_iter().collect();
        let answer = self
            .ask(Family::Shipyard, self.request(Method::GET, &["configdocs"], &query))
            .await?;
        self.one(answer)
    }

    pub(super) async fn collection(&self, name: &str, version: &str, cleartext: bool) -> Result<Vec<Value>, Failure> {
        let query = [
            ("version", version),
            ("cleartext-secrets", if cleartext { "true" } else { "false" }),
        ];
        self.ask(
            Family::Shipyard,
            self.request(Method::GET, &["configdocs", name], &query),
        )
        .await
    }

    fn one(&self, values: Vec<Value>) -> Result<Value, Failure> {
        values.into_iter().next().ok_or_else(|| self.not_berth(StatusCode::OK))
    }
}

fn yaml(request: RequestBuilder, text: String) -> RequestBuilder {
    request.header(header::CONTENT_TYPE, YAML).body(text)
}

/// The documents of an answer, in YAML or JSON; nothing when it is neither. No text is no document.
fn values(text: &str) -> Option<Vec<Value>> {
    // A list is not a set of documents, but an answer of Shipyard's.
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        return Some(vec![value]);
    }
    let mut sources = Sources::new();
    let id = sources.add("answer", text);
    let parsed = parse(&sources, id);
    let is_syntax =
        |code: &str| !["unknown-envelope", "two-envelopes", "airship-schema", "missing-name"].contains(&code);
    let broken = |it: &berth_documents::Diagnostic| it.severity() == Severity::Error && is_syntax(it.code());
    let values: Vec<Value> = parsed
        .documents
        .iter()
        .map(|document| document.root.to_json())
        .collect();
    let is_data = values.iter().all(Value::is_object);
    (is_data && !parsed.diagnostics.iter().any(broken)).then_some(values)
}

/// One entry of a list of messages, with the document and the place that it is about.
fn detail(entry: &Value) -> Option<String> {
    let message = entry.get("message")?.as_str()?;
    let text = |pointer: &str| entry.pointer(pointer).and_then(Value::as_str);
    match (
        text("/documents/0/schema"),
        text("/documents/0/name"),
        text("/diagnostic/path"),
    ) {
        (Some(schema), Some(name), Some(path)) => {
            let layer = text("/documents/0/layer").unwrap_or("None");
            Some(format!("[{schema}, {layer}] {name}: {path}: {message}"))
        }
        _ => Some(message.to_owned()),
    }
}
