//! A client of the server: its address, our credentials, and what its refusals mean.

use std::{ops::Deref, time::Duration};

use berth_api::{FoundIn, Message};
use berth_decide::root_cause;
use berth_documents::{Severity, Sources, parse};
use reqwest::{Certificate, Client, Method, RequestBuilder, Response, StatusCode, Url, header};
use serde::{Deserialize as _, Serialize, Serializer, de::DeserializeOwned};
use serde_json::Value;

use crate::{args::ServerArgs, failure::Failure, files};

/// Where all four services are.
const PREFIX: [&str; 2] = ["api", "v1.0"];
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Rendering and validating a large site takes its time.
const TIMEOUT: Duration = Duration::from_mins(5);

/// A server that is spoken to.
#[derive(Debug)]
pub(crate) struct Server {
    address: Url,
    client: Client,
}

/// Whose words an error has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Family {
    /// Deckhand's: the message says it all.
    Deckhand,
    /// Shipyard's: a title, and the reason beside it.
    Shipyard,
}

impl Server {
    /// The server that was named, if one was.
    pub(crate) fn named(args: &ServerArgs) -> Result<Option<Self>, Failure> {
        args.server.as_deref().map(|server| Self::new(server, args)).transpose()
    }

    /// The server of a command that cannot do without one.
    pub(crate) fn required(args: &ServerArgs) -> Result<Self, Failure> {
        Self::named(args)?.ok_or_else(|| Failure::Argument {
            message: "no server is named".to_owned(),
            hint: Some(
                "say `--server URL` or set BERTH_SERVER; `berth serve --listen 127.0.0.1:8080` runs one".to_owned(),
            ),
        })
    }

    fn new(server: &str, args: &ServerArgs) -> Result<Self, Failure> {
        // No message has the address as it was given: there may be a password in it, from the environment.
        let shown = server.rsplit_once('@').map_or(server, |(_, place)| place);
        let wrong = |problem: String| Failure::Argument {
            message: format!("`{shown}` is not the address of a server: {problem}"),
            hint: Some("write it as in http://127.0.0.1:8080 or https://berth.example.com".to_owned()),
        };
        let address: Url = server.parse().map_err(|error| wrong(format!("{error}")))?;
        if !matches!(address.scheme(), "http" | "https") || address.cannot_be_a_base() {
            return Err(wrong("it must begin with http:// or https://".to_owned()));
        }
        if !address.username().is_empty() || address.password().is_some() {
            return Err(wrong(
                "a server knows its clients by tokens, and not by name and password".to_owned(),
            ));
        }
        let mut client = Client::builder().connect_timeout(CONNECT_TIMEOUT);
        if let Some(file) = &args.server_ca {
            let bytes = files::read(file)?;
            let certificates = Certificate::from_pem_bundle(&bytes).unwrap_or_default();
            if certificates.is_empty() {
                return Err(Failure::Argument {
                    message: format!("`{}` holds no certificate", file.display()),
                    hint: Some("it must be in PEM: `-----BEGIN CERTIFICATE-----`".to_owned()),
                });
            }
            for certificate in certificates {
                client = client.add_root_certificate(certificate);
            }
        }
        if let Some(token) = token(args)? {
            client = client.default_headers(header::HeaderMap::from_iter([(header::AUTHORIZATION, token)]));
        }
        let client = client.build().map_err(|error| Failure::Unreachable {
            server: shown.to_owned(),
            reason: root_cause(&error),
        })?;
        Ok(Self { address, client })
    }

    /// The address as it was given.
    pub(crate) const fn address(&self) -> &Url {
        &self.address
    }

    /// A request to one of the services.
    pub(crate) fn request(&self, method: Method, path: &[&str], query: &[(&str, &str)]) -> RequestBuilder {
        let mut url = self.address.clone();
        // It cannot fail: the address was looked at when it was given.
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty();
            segments.extend(PREFIX).extend(path);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        self.client.request(method, url).timeout(TIMEOUT)
    }

    /// Sends a request and gives the status and the documents of the answer.
    pub(crate) async fn exchange(&self, request: RequestBuilder) -> Result<(StatusCode, Vec<Value>), Failure> {
        let response = self.send(request).await?;
        self.documents(response).await
    }

    async fn documents(&self, response: Response) -> Result<(StatusCode, Vec<Value>), Failure> {
        let status = response.status();
        let text = response.text().await.map_err(|error| self.unreachable(error))?;
        let values = values(&text).ok_or_else(|| self.not_berth(status))?;
        Ok((status, values))
    }

    /// Whatever answers there is not what was asked for.
    pub(crate) fn not_berth(&self, status: StatusCode) -> Failure {
        Failure::NotBerth {
            server: self.address.to_string(),
            status: status.as_u16(),
        }
    }

    /// Sends a request and reads the one document of its answer.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        family: Family,
        request: RequestBuilder,
    ) -> Result<Answer<T>, Failure> {
        let response = self.send(request).await?;
        self.read(family, response).await
    }

    /// The one document of an answer, or why there is none.
    pub(crate) async fn read<T: DeserializeOwned>(
        &self,
        family: Family,
        response: Response,
    ) -> Result<Answer<T>, Failure> {
        let mut documents = self.accepted(family, response).await?;
        documents.truncate(1);
        let document = documents.pop().ok_or_else(|| self.not_berth(StatusCode::OK))?;
        self.answer(document)
    }

    /// Sends a request and reads all documents of its answer.
    pub(crate) async fn ask_many<T: DeserializeOwned>(
        &self,
        family: Family,
        request: RequestBuilder,
    ) -> Result<Vec<T>, Failure> {
        let response = self.send(request).await?;
        let documents = self.accepted(family, response).await?;
        let read = |document| serde_json::from_value(document).map_err(|source| self.unexpected(source));
        documents.into_iter().map(read).collect()
    }

    /// Sends a request whose answer says no more than that it is done.
    pub(crate) async fn tell(&self, family: Family, request: RequestBuilder) -> Result<(), Failure> {
        let response = self.send(request).await?;
        self.accepted(family, response).await?;
        Ok(())
    }

    async fn accepted(&self, family: Family, response: Response) -> Result<Vec<Value>, Failure> {
        let (status, values) = self.documents(response).await?;
        if status.is_success() {
            return Ok(values);
        }
        Err(self.refused(family, status, values.first()))
    }

    /// Reads a document of an answer.
    pub(crate) fn answer<T: DeserializeOwned>(&self, document: Value) -> Result<Answer<T>, Failure> {
        let read = T::deserialize(&document).map_err(|source| self.unexpected(source))?;
        Ok(Answer { document, read })
    }

    fn unexpected(&self, source: serde_json::Error) -> Failure {
        Failure::Unexpected {
            server: self.address.to_string(),
            source,
        }
    }

    pub(crate) fn refused(&self, family: Family, status: StatusCode, body: Option<&Value>) -> Failure {
        let Some(refusal) = body.and_then(|body| berth_api::Failure::deserialize(body).ok()) else {
            return self.not_berth(status);
        };
        let message = match family {
            Family::Shipyard => join(&refusal.message, &refusal.reason),
            Family::Deckhand => refusal.message,
        };
        let messages = refusal.details.map(|details| details.message_list).unwrap_or_default();
        let details = messages.iter().map(detail);
        Failure::Rejected {
            status: status.as_u16(),
            details: details.filter(|detail| !message.ends_with(detail.as_str())).collect(),
            message,
        }
    }

    /// Sends a request; whatever comes back is an answer.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Response, Failure> {
        request.send().await.map_err(|error| self.unreachable(error))
    }

    /// The network did not carry a request or its answer.
    pub(crate) fn unreachable(&self, error: reqwest::Error) -> Failure {
        Failure::Unreachable {
            server: self.address.to_string().trim_end_matches('/').to_owned(),
            reason: root_cause(&error.without_url()),
        }
    }
}

/// An answer as it was sent, which is how it is printed, and as it is read.
#[derive(Clone, Debug)]
pub(crate) struct Answer<T> {
    document: Value,
    read: T,
}

impl<T: Serialize> Answer<T> {
    /// What a server would have sent.
    pub(crate) fn of(read: T) -> Result<Self, Failure> {
        let document = serde_json::to_value(&read).map_err(|error| Failure::Format {
            format: "JSON",
            source: error.into(),
        })?;
        Ok(Self { document, read })
    }
}

impl<T> Answer<T> {
    /// What was read.
    pub(crate) fn into_read(self) -> T {
        self.read
    }
}

impl<T> Deref for Answer<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.read
    }
}

impl<T> Serialize for Answer<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.document.serialize(serializer)
    }
}

/// The header with the token, if there is one. It is marked, so that it is not printed with the request.
fn token(args: &ServerArgs) -> Result<Option<header::HeaderValue>, Failure> {
    let (place, text) = match (&args.token_file, &args.token) {
        (Some(file), _) => (
            format!("`{}`", file.display()),
            String::from_utf8_lossy(&files::read(file)?).into_owned(),
        ),
        (None, Some(token)) => ("BERTH_TOKEN".to_owned(), token.clone()),
        (None, None) => return Ok(None),
    };
    let unusable = |problem: &str| Failure::Argument {
        message: format!("{place}: {problem}"),
        hint: Some("it holds one token on one line, as `berth token create` prints it".to_owned()),
    };
    let text = text.trim();
    if text.is_empty() {
        return Err(unusable("there is no token in it"));
    }
    let header = header::HeaderValue::from_str(&format!("Bearer {text}"));
    let mut header = header.map_err(|_| unusable("what is in it is not a token"))?;
    header.set_sensitive(true);
    Ok(Some(header))
}

/// A title and its reason. Some titles say it all.
pub(crate) fn join(title: &str, reason: &str) -> String {
    if title == reason {
        title.to_owned()
    } else {
        format!("{title}: {reason}")
    }
}

/// The documents of an answer, in YAML or JSON; nothing when it is neither. No text is not a document.
pub(crate) fn values(text: &str) -> Option<Vec<Value>> {
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
fn detail(message: &Message) -> String {
    if let Message::Violation(violation) = message
        && let Some(FoundIn {
            schema: Some(schema),
            name: Some(name),
            layer,
        }) = violation.documents.first()
    {
        let layer = layer.as_deref().unwrap_or("None");
        let path = &violation.diagnostic.path;
        return format!("[{schema}, {layer}] {name}: {path}: {}", violation.message);
    }
    message.text().to_owned()
}
