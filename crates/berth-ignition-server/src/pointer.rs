//! The small config that a machine boots from: it only says where the real one is.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use berth_ignition::SpecVersion;
use http::{HeaderName, HeaderValue, Uri};
use rustls::pki_types::{CertificateDer, pem, pem::PemObject as _};
use serde_json::{Value, json};

use berth_tokens::Secret;

/// The oldest version with headers for the request; the more machines can read it the better.
const VERSION: SpecVersion = SpecVersion::V3_1;

/// What a pointer says.
#[derive(Clone, Debug, Default)]
pub struct Pointer<'a> {
    /// Where the config is, `https://berth.example.com:22623/node/n1`.
    pub url: &'a str,
    /// The certificates by which the machine knows the server, in PEM. Without them it uses those of its image.
    pub ca_pem: Option<&'a [u8]>,
    /// The token that the machine shows.
    pub token: Option<&'a Secret>,
    /// Further headers of the request.
    pub headers: &'a [(String, String)],
}

/// Why there is no such pointer.
#[derive(Debug, thiserror::Error)]
pub enum PointerError {
    /// The machine could not ask for that.
    #[error("`{0}` is not a URL such as https://berth.example.com:22623/config/worker")]
    Url(String),
    /// Everybody on the way could read the token.
    #[error("a token is not sent over plain HTTP; use an https URL")]
    TokenWithoutTls,
    /// Certificates mean nothing without TLS.
    #[error("certificates are of no use for a plain HTTP URL; use an https URL")]
    CertificatesWithoutTls,
    /// The certificates are not in PEM.
    #[error("the certificates cannot be read as PEM")]
    Certificates(#[source] pem::Error),
    /// There is no certificate among them.
    #[error("there is no certificate in the PEM text")]
    NoCertificates,
    /// A header is not one that can be sent.
    #[error("`{name}` cannot be sent as a header with this value")]
    Header {
        /// The header's name.
        name: String,
    },
    /// The token's own header was given too.
    #[error("the token is sent in the header Authorization; leave out either")]
    TwoAuthorizations,
}

/// Writes the pointer config.
pub fn pointer(pointer: &Pointer<'_>) -> Result<Value, PointerError> {
    let is_tls = is_tls(pointer.url)?;
    if pointer.token.is_some() && !is_tls {
        return Err(PointerError::TokenWithoutTls);
    }
    let mut source = json!({"source": pointer.url});
    let headers = headers(pointer)?;
    if !headers.is_empty() {
        source["httpHeaders"] = Value::Array(headers);
    }
    let mut ignition = json!({"version": VERSION.as_str(), "config": {"merge": [source]}});
    if let Some(pem) = pointer.ca_pem {
        if !is_tls {
            return Err(PointerError::CertificatesWithoutTls);
        }
        let count = CertificateDer::pem_slice_iter(pem)
            .collect::<Result<Vec<_>, _>>()
            .map_err(PointerError::Certificates)?
            .len();
        if count == 0 {
            return Err(PointerError::NoCertificates);
        }
        let source = format!("data:text/plain;charset=utf-8;base64,{}", STANDARD.encode(pem));
        ignition["security"] = json!({"tls": {"certificateAuthorities": [{"source": source}]}});
    }
    Ok(json!({"ignition": ignition}))
}

fn is_tls(url: &str) -> Result<bool, PointerError> {
    let refuse = || PointerError::Url(url.to_owned());
    let uri: Uri = url.parse().map_err(|_| refuse())?;
    match (uri.scheme_str(), uri.host()) {
        (Some("https"), Some(host)) if !host.is_empty() => Ok(true),
        (Some("http"), Some(host)) if !host.is_empty() => Ok(false),
        _ => Err(refuse()),
    }
}

fn headers(pointer: &Pointer<'_>) -> Result<Vec<Value>, PointerError> {
    let mut headers = Vec::new();
    if let Some(token) = pointer.token {
        headers.push(json!({"name": "Authorization", "value": format!("Bearer {}", token.reveal())}));
    }
    for (name, value) in pointer.headers {
        let refuse = || PointerError::Header { name: name.clone() };
        let legal: HeaderName = name.parse().map_err(|_| refuse())?;
        HeaderValue::from_str(value).map_err(|_| refuse())?;
        if legal == http::header::AUTHORIZATION && pointer.token.is_some() {
            return Err(PointerError::TwoAuthorizations);
        }
        headers.push(json!({"name": name, "value": value}));
    }
    Ok(headers)
}

#[cfg(test)]
mod tests;
