//! A client of the server: its address, our credentials, and what its refusals mean.

use std::{error::Error as StdError, time::Duration};

use berth_documents::{Severity, Sources, parse};
use reqwest::{Certificate, Client, Method, RequestBuilder, Response, StatusCode, Url, header};
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
        let wrong = |problem: String| Failure::Argument {
            message: format!("`{server}` is not the address of a server: {problem}"),
            hint: Some("write it as in http://127.0.0.1:8080 or https://berth.example.com".to_owned()),
        };
        let address: Url = server.parse().map_err(|error| wrong(format!("{error}")))?;
        if !matches!(address.scheme(), "http" | "https") || address.cannot_be_a_base() {
            return Err(wrong("it must begin with http:// or https://".to_owned()));
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
            server: server.to_owned(),
            source: Box::new(error),
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

    pub(crate) async fn ask(&self, family: Family, request: RequestBuilder) -> Result<Vec<Value>, Failure> {
        let response = self.send(request).await?;
        self.read(family, response).await
    }

    /// The documents of an answer, or why there are none.
    pub(crate) async fn read(&self, family: Family, response: Response) -> Result<Vec<Value>, Failure> {
        let (status, values) = self.documents(response).await?;
        if status.is_success() {
            return Ok(values);
        }
        Err(self.refused(family, status, values.first()))
    }

    pub(crate) fn refused(&self, family: Family, status: StatusCode, body: Option<&Value>) -> Failure {
        let text = |key: &str| body.and_then(|body| body.get(key)).and_then(Value::as_str);
        let Some(message) = text("message") else {
            return self.not_berth(status);
        };
        let message = match (family, text("reason")) {
            (Family::Shipyard, Some(reason)) => join(message, reason),
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

    /// Sends a request; whatever comes back is an answer.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Response, Failure> {
        request.send().await.map_err(|error| self.unreachable(error))
    }

    /// The network did not carry a request or its answer.
    pub(crate) fn unreachable(&self, error: reqwest::Error) -> Failure {
        Failure::Unreachable {
            server: self.address.to_string(),
            source: Box::new(error.without_url()) as Box<dyn StdError + Send + Sync>,
        }
    }

    /// The only document of an answer.
    pub(crate) fn one(&self, values: Vec<Value>) -> Result<Value, Failure> {
        values.into_iter().next().ok_or_else(|| self.not_berth(StatusCode::OK))
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

/// The documents of an answer, in YAML or JSON; nothing when it is neither. No text is no document.
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
