//! The text that a machine sends.

use std::{fmt, fmt::Write as _};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq as _;

/// What a token begins with, so that scanners for leaked secrets, and people, know it.
const PREFIX: &str = "berth.";

/// Bytes of the name. It is public; it only has to be unique.
const ID_BYTES: usize = 8;

/// Bytes of the secret part: 256 bits.
const KEY_BYTES: usize = 32;

/// A token with its secret: `berth.<id>.<key>`.
///
/// It is printed only on purpose, with [`Self::reveal`].
#[derive(Clone)]
pub struct Secret {
    text: String,
    id_end: usize,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({PREFIX}{}.…)", self.id())
    }
}

impl Secret {
    /// A new one from the system's randomness.
    pub(super) fn generate() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; ID_BYTES + KEY_BYTES];
        getrandom::fill(&mut bytes)?;
        let (id, key) = bytes.split_at(ID_BYTES);
        let mut text = PREFIX.to_owned();
        append_hex(&mut text, id);
        let id_end = text.len();
        // A dot: base64url has every other character that a token may hold.
        text.push('.');
        URL_SAFE_NO_PAD.encode_string(key, &mut text);
        Ok(Self { text, id_end })
    }

    /// Reads what a client sent. Nothing if it cannot be a token.
    pub fn parse(text: &str) -> Option<Self> {
        let (id, key) = text.strip_prefix(PREFIX)?.split_once('.')?;
        let is_id = id.len() == 2 * ID_BYTES && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let is_key = URL_SAFE_NO_PAD.decode(key).is_ok_and(|key| key.len() == KEY_BYTES);
        (is_id && is_key).then(|| Self {
            text: text.to_owned(),
            id_end: PREFIX.len() + id.len(),
        })
    }

    /// The name of the token, which is not a secret.
    pub fn id(&self) -> &str {
        self.text.get(PREFIX.len()..self.id_end).unwrap_or_default()
    }

    /// The whole token, for the one who has to send it.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// What is stored.
    pub(super) fn hash(&self) -> String {
        let mut hash = String::with_capacity(64);
        append_hex(&mut hash, &Sha256::digest(self.text.as_bytes()));
        hash
    }

    /// Whether this is the token that was stored. Takes as long for a near miss as for a far one.
    pub(super) fn has_hash(&self, stored: &str) -> bool {
        self.hash().as_bytes().ct_eq(stored.as_bytes()).into()
    }
}

fn append_hex(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_secret_reads_back_and_hides_its_key() {
        let secret = Secret::generate().unwrap();
        let read = Secret::parse(secret.reveal()).unwrap();
        assert_eq!(read.id(), secret.id());
        assert!(read.has_hash(&secret.hash()));
        let key = secret.reveal().rsplit_once('.').unwrap().1;
        assert!(!format!("{secret:?}").contains(key));
        assert_ne!(Secret::generate().unwrap().reveal(), secret.reveal());
    }

    #[test]
    fn what_cannot_be_a_token_is_none() {
        let good = Secret::generate().unwrap().reveal().to_owned();
        let cut = good.get(..good.len() - 1).unwrap();
        let upper = good.replace("berth.", "BERTH.");
        for text in [
            "",
            "berth_",
            "berth__",
            "é",
            cut,
            &upper,
            &format!("{good}A"),
            &format!(" {good}"),
        ] {
            assert!(Secret::parse(text).is_none(), "{text}");
        }
    }
}
