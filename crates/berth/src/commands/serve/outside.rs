//! Services that the server asks: their addresses, clients for them, and answers of a bounded size.

use std::{path::Path, time::Duration};

use reqwest::{Certificate, Client, Response, Url};

use crate::failure::Failure;

/// So long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(5);

/// What goes wrong while a service is asked.
pub(super) type Outside = Box<dyn std::error::Error + Send + Sync>;

/// Reads the address of a service. `hint` says how it is written.
pub(super) fn address(text: &str, hint: &str) -> Result<Url, Failure> {
    let wrong = |message: String| Failure::Argument {
        message,
        hint: Some(hint.to_owned()),
    };
    let url =
        Url::parse(text).map_err(|error| wrong(format!("`{}` is not an address: {error}", without_user(text))))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(wrong(format!(
            "`{}` is not an address of a web server",
            without_user(text)
        )));
    }
    // It stands in logs and messages, where no password belongs.
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
        return Err(wrong(format!(
            "the address of `{}` has more than scheme, host, port and path",
            url.host_str().unwrap_or_default()
        )));
    }
    Ok(url)
}

/// An address without what may be a name and a password.
fn without_user(text: &str) -> String {
    match text.rsplit_once('@') {
        Some((_, place)) => format!("…@{place}"),
        None => text.to_owned(),
    }
}

/// A client that trusts the authorities of a file, or those of the system, and goes nowhere else than it is told.
pub(super) fn client(ca: Option<&Path>) -> Result<Client, Failure> {
    let unusable = |message: String| Failure::Argument { message, hint: None };
    let mut client = Client::builder()
        .connect_timeout(CONNECT)
        .redirect(reqwest::redirect::Policy::none());
    if let Some(path) = ca {
        let pem = std::fs::read(path).map_err(|error| unusable(format!("{}: {error}", path.display())))?;
        let certificates = Certificate::from_pem_bundle(&pem);
        let certificates = certificates.map_err(|error| unusable(format!("{}: {error}", path.display())))?;
        client = certificates
            .into_iter()
            .fold(client, reqwest::ClientBuilder::add_root_certificate);
    }
    client.build().map_err(|error| unusable(error.to_string()))
}

/// The body of an answer, if it is not larger than this.
pub(super) async fn body(mut response: Response, limit: usize) -> Result<Vec<u8>, Outside> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > limit {
            return Err(format!("its answer is larger than {limit} bytes").into());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
