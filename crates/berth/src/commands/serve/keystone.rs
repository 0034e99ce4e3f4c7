//! Asking a Keystone about tokens.

use std::{path::Path, sync::Arc};

use berth_airship::{AskKeystone, KeystoneAnswer};
use reqwest::{Certificate, Client, StatusCode, Url, header::HeaderValue};

use crate::failure::Failure;

/// Reads the address of a Keystone, as clients have it in `OS_AUTH_URL`: with or without its version.
pub(super) fn address(text: &str) -> Result<Url, Failure> {
    let wrong = |message: String| Failure::Argument {
        message,
        hint: Some("write it as clients have it in OS_AUTH_URL, such as https://keystone.example/v3".to_owned()),
    };
    let url = Url::parse(text).map_err(|error| wrong(format!("`{text}` is not an address: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(wrong(format!("`{text}` is not an address of a web server")));
    }
    Ok(url)
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
    let unusable = |message: String| Failure::Argument { message, hint: None };
    let mut client = Client::builder().redirect(reqwest::redirect::Policy::none());
    if let Some(path) = ca {
        let pem = std::fs::read(path).map_err(|error| unusable(format!("{}: {error}", path.display())))?;
        let certificates = Certificate::from_pem_bundle(&pem);
        let certificates = certificates.map_err(|error| unusable(format!("{}: {error}", path.display())))?;
        client = certificates
            .into_iter()
            .fold(client, reqwest::ClientBuilder::add_root_certificate);
    }
    let client = client.build().map_err(|error| unusable(error.to_string()))?;
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
            let body = response.bytes().await?;
            Ok(Some(serde_json::from_slice(&body)?))
        }
        // A token that is not known may not ask, and there is nothing to be found.
        StatusCode::UNAUTHORIZED | StatusCode::NOT_FOUND => Ok(None),
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
