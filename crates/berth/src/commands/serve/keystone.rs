//! Asking a Keystone about tokens.

use std::{path::Path, sync::Arc};

use berth_airship::{AskKeystone, KeystoneAnswer};
use reqwest::{Client, StatusCode, Url, header::HeaderValue};

use super::outside;
use crate::failure::Failure;

/// Keystone's answer about a token without its catalogue has about a thousand bytes, and some more for each role.
const LIMIT: usize = 1 << 20;

/// Reads the address of a Keystone, as clients have it in `OS_AUTH_URL`: with or without its version.
pub(super) fn address(text: &str) -> Result<Url, Failure> {
    outside::address(
        text,
        "write it as clients have it in OS_AUTH_URL, such as https://keystone.example/v3",
    )
}

/// Where tokens are validated.
fn tokens_url(keystone: &Url) -> Url {
    let path = keystone.path().trim_end_matches('/');
    let path = path.strip_suffix("/v3").unwrap_or(path);
    let mut url = keystone.clone();
    url.set_path(&format!("{path}/v3/auth/tokens"));
    // The list of services is long, and nobody reads it here.
    url.set_query(Some("nocatalog"));
    url
}

/// Asks the Keystone of an address. A token may ask about itself, so that Berth needs no account of its own.
pub(super) fn ask(keystone: &Url, ca: Option<&Path>) -> Result<AskKeystone, Failure> {
    let client = outside::client(ca)?;
    let url = tokens_url(keystone);
    Ok(Arc::new(move |token| {
        let (client, url) = (client.clone(), url.clone());
        Box::pin(async move { validate(&client, url, &token).await })
    }))
}

async fn validate(client: &Client, url: Url, token: &str) -> KeystoneAnswer {
    let Ok(mut value) = HeaderValue::from_str(token) else {
        return Ok(None);
    };
    value.set_sensitive(true);
    let request = client
        .get(url)
        .header("x-auth-token", value.clone())
        .header("x-subject-token", value);
    let response = request.send().await?;
    match response.status() {
        StatusCode::OK => {
            let body = outside::body(response, LIMIT).await?;
            Ok(Some(serde_json::from_slice(&body)?))
        }
        // A token that is not known may not ask. Nothing is to be found only where no Keystone is.
        StatusCode::UNAUTHORIZED => Ok(None),
        StatusCode::NOT_FOUND => Err(format!(
            "it answers with {}; is it the address of a Keystone?",
            StatusCode::NOT_FOUND
        )
        .into()),
        status => Err(format!("it answers with {status}").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_taken_as_clients_have_it() {
        for text in [
            "https://keystone.example/v3",
            "https://keystone.example/v3/",
            "https://keystone.example",
        ] {
            let url = tokens_url(&address(text).unwrap());
            assert_eq!(url.as_str(), "https://keystone.example/v3/auth/tokens?nocatalog");
        }
        let behind = tokens_url(&address("http://host:5000/identity/v3").unwrap());
        assert_eq!(behind.as_str(), "http://host:5000/identity/v3/auth/tokens?nocatalog");
        for text in ["keystone", "ftp://x/v3", "https://"] {
            assert!(address(text).is_err(), "{text}");
        }
    }
}
