//! Other Deckhands, whose designs tasks may name.

use std::{path::Path, sync::Arc};

use berth_airship::OtherDeckhand;
use reqwest::{Client, StatusCode, Url, header::HeaderValue};

use super::outside::{self, Outside};
use crate::failure::Failure;

/// As much as a request may bring to this server.
const LIMIT: usize = 64 << 20;

/// How an address is written.
const HINT: &str = "write it as Shipyard has it, such as http://deckhand-int.ucp.svc.cluster.local:9000/api/v1.0";

/// The Deckhands of these addresses.
pub(super) fn others(addresses: &[String], ca: Option<&Path>) -> Result<Vec<OtherDeckhand>, Failure> {
    if addresses.is_empty() {
        return Ok(Vec::new());
    }
    let client = outside::client(ca)?;
    addresses.iter().map(|address| other(address, &client)).collect()
}

fn other(address: &str, client: &Client) -> Result<OtherDeckhand, Failure> {
    let url = outside::address(address, HINT)?;
    let host = url.host_str().unwrap_or_default();
    let authority = url
        .port()
        .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    let (scheme, client) = (url.scheme().to_owned(), client.clone());
    let fetch = Arc::new(
        move |revision, token: Option<String>| -> futures::future::BoxFuture<'static, _> {
            let (client, url) = (client.clone(), design_url(&url, revision));
            Box::pin(async move { fetch(&client, url, token).await })
        },
    );
    Ok(OtherDeckhand::new(scheme, authority, fetch))
}

/// Where the rendered documents of a revision are.
fn design_url(base: &Url, revision: u64) -> Url {
    let path = base.path().trim_end_matches('/');
    let path = if path.is_empty() { "/api/v1.0" } else { path };
    let mut url = base.clone();
    url.set_path(&format!("{path}/revisions/{revision}/rendered-documents"));
    url
}

async fn fetch(client: &Client, url: Url, token: Option<String>) -> Result<String, Outside> {
    let mut request = client.get(url).header("accept", "application/x-yaml");
    if let Some(Ok(mut token)) = token.as_deref().map(HeaderValue::from_str) {
        token.set_sensitive(true);
        request = request.header("x-auth-token", token);
    }
    let response = request.send().await?;
    match response.status() {
        StatusCode::OK => Ok(String::from_utf8(outside::body(response, LIMIT).await?)?),
        status => Err(format!("it answers with {status}").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_design_is_made_from_the_configured_one() {
        for (base, expected) in [
            (
                "http://deckhand:9000/api/v1.0",
                "http://deckhand:9000/api/v1.0/revisions/7/rendered-documents",
            ),
            (
                "http://deckhand:9000",
                "http://deckhand:9000/api/v1.0/revisions/7/rendered-documents",
            ),
            (
                "https://site.example/deckhand/api/v1.0/",
                "https://site.example/deckhand/api/v1.0/revisions/7/rendered-documents",
            ),
        ] {
            let url = design_url(&Url::parse(base).unwrap(), 7);
            assert_eq!(url.as_str(), expected);
        }
    }

    #[test]
    fn addresses_have_no_more_than_they_need() {
        let read = |text: &str| others(&[text.to_owned()], None);
        assert!(read("http://deckhand:9000/api/v1.0").is_ok());
        assert!(read("https://[2001:db8::1]:9000").is_ok());
        for text in [
            "deckhand:9000",
            "deckhand+http://deckhand:9000",
            "http://user:secret@deckhand",
            "http://deckhand?x=y",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
