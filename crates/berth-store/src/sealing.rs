//! Sealing of data at rest.
//!
//! From each key four are derived, so that no value serves two ends: one encrypts (AES-256-GCM-SIV, which leaks no more
//! than equality even if a nonce were to come twice), one makes the digests under which sealed bodies are filed, one makes
//! the hashes that stand for secrets in replies, and one becomes the key's name. The plain hash of a secret is not stored: for a short secret that would be the secret.
//!
//! The identity of the document is sealed in, so data cannot be moved from one document to another.

use std::{
    fmt,
    hash::{BuildHasher as _, Hasher as _, RandomState},
    sync::{Arc, OnceLock},
};

use aws_lc_rs::{
    aead::{AES_256_GCM_SIV, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    error::Unspecified,
    hkdf, hmac, rand,
};
use berth_documents::deckhand::{Identity, RedactionKey, canonical_json};
use serde_json::Value;

use crate::{
    body::{Digest, NewBody},
    error::Error,
};

/// In bytes.
const KEY_LENGTH: usize = 32;
/// In bytes; enough to tell keys apart.
const KEY_ID_LENGTH: usize = 8;

/// The name of a key, which tells nothing about it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(String);

impl KeyId {
    pub(crate) const fn from_column(text: String) -> Self {
        Self(text)
    }

    /// The name as a text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Why something is not a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// It has the wrong length.
    #[error("a sealing key has 32 bytes (64 hexadecimal digits), not {found} bytes")]
    Length {
        /// How many bytes there are.
        found: usize,
    },
    /// It is not written in hexadecimal digits.
    #[error("a sealing key is written in hexadecimal digits")]
    NotHexadecimal,
    /// The key cannot be used.
    #[error("the sealing key cannot be used")]
    Unusable,
}

/// A key of 32 random bytes.
pub struct SealingKey {
    id: KeyId,
    cipher: LessSafeKey,
    filing: hmac::Key,
    redaction: RedactionKey,
}

impl SealingKey {
    /// The key made of these bytes. They must be random: a password is not a key.
    pub fn new(secret: &[u8]) -> Result<Self, KeyError> {
        if secret.len() != KEY_LENGTH {
            return Err(KeyError::Length { found: secret.len() });
        }
        let root = hkdf::Salt::new(hkdf::HKDF_SHA256, b"berth-store").extract(secret);
        let cipher: [u8; KEY_LENGTH] = derive(&root, b"seal").map_err(|Unspecified| KeyError::Unusable)?;
        let filing: [u8; KEY_LENGTH] = derive(&root, b"file").map_err(|Unspecified| KeyError::Unusable)?;
        let redaction: [u8; KEY_LENGTH] = derive(&root, b"show").map_err(|Unspecified| KeyError::Unusable)?;
        let id: [u8; KEY_ID_LENGTH] = derive(&root, b"name").map_err(|Unspecified| KeyError::Unusable)?;
        let cipher = UnboundKey::new(&AES_256_GCM_SIV, &cipher).map_err(|Unspecified| KeyError::Unusable)?;
        Ok(Self {
            id: KeyId(format!("{:016x}", u64::from_be_bytes(id))),
            cipher: LessSafeKey::new(cipher),
            filing: hmac::Key::new(hmac::HMAC_SHA256, &filing),
            redaction: RedactionKey::new(&redaction),
        })
    }

    /// The key written in hexadecimal digits, with white space around it, as it is in a file or a variable.
    pub fn from_hexadecimal(text: &str) -> Result<Self, KeyError> {
        let digits: Option<Vec<u8>> = text
            .trim()
            .chars()
            .map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
            .collect();
        let digits = digits.ok_or(KeyError::NotHexadecimal)?;
        let (pairs, rest) = digits.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(KeyError::NotHexadecimal);
        }
        let secret: Vec<u8> = pairs.iter().map(|[high, low]| high << 4 | low).collect();
        Self::new(&secret)
    }

    /// The name of the key, stored beside what it seals.
    pub const fn id(&self) -> &KeyId {
        &self.id
    }

    /// The digest under which the data of a document is filed when this key seals it.
    fn digest(&self, identity: &Identity, content: &str) -> Digest {
        let mut filing = hmac::Context::with_key(&self.filing);
        filing.update(&bound(identity));
        filing.update(content.as_bytes());
        let mut digest = [0; 32];
        for (to, from) in digest.iter_mut().zip(filing.sign().as_ref()) {
            *to = *from;
        }
        Digest::new(digest)
    }

    fn seal(&self, identity: &Identity, content: String) -> Result<NewBody, Unspecified> {
        let digest = self.digest(identity, &content);
        let mut nonce = [0; NONCE_LEN];
        rand::fill(&mut nonce)?;
        let mut sealed = content.into_bytes();
        let tag = self.cipher.seal_in_place_separate_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(bound(identity)),
            &mut sealed,
        )?;
        let mut content = nonce.to_vec();
        content.append(&mut sealed);
        content.extend_from_slice(tag.as_ref());
        Ok(NewBody {
            digest,
            sealed_with: Some(self.id.clone()),
            content,
        })
    }

    fn open(&self, identity: &Identity, content: &[u8]) -> Result<Vec<u8>, Unspecified> {
        let (nonce, sealed) = content.split_first_chunk::<NONCE_LEN>().ok_or(Unspecified)?;
        let mut sealed = sealed.to_vec();
        let opened = self.cipher.open_in_place(
            Nonce::assume_unique_for_key(*nonce),
            Aad::from(bound(identity)),
            &mut sealed,
        )?;
        Ok(opened.to_vec())
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SealingKey({})", self.id)
    }
}

/// The keys of a store: one that seals, and older ones that only open.
#[derive(Clone, Debug, Default)]
pub struct SealingKeys {
    keys: Arc<Vec<SealingKey>>,
}

/// What became of sealed data.
#[derive(Debug)]
pub(crate) enum Opened {
    /// The content in the clear.
    Content(Vec<u8>),
    /// The key is not there.
    NoKey,
}

impl SealingKeys {
    /// No key: documents that ask to be sealed are refused.
    pub fn none() -> Self {
        Self::default()
    }

    /// The first key seals and opens, the others open what they have sealed before.
    pub fn new(keys: Vec<SealingKey>) -> Self {
        Self { keys: Arc::new(keys) }
    }

    /// The key of the hashes that stand for secrets in replies: derived from the key that seals, so that all servers with
    /// that key show the same. Without a key there is nothing sealed, and what is redacted then has a key that this process
    /// made up.
    pub fn redaction_key(&self) -> RedactionKey {
        self.keys.first().map_or_else(process_key, |key| key.redaction.clone())
    }

    fn by_id(&self, id: &KeyId) -> Option<&SealingKey> {
        self.keys.iter().find(|key| key.id == *id)
    }

    /// Seals the data of a document.
    pub(crate) fn seal(&self, identity: &Arc<Identity>, data: &Value) -> Result<NewBody, Error> {
        let key = self.keys.first().ok_or_else(|| Error::NoSealingKey {
            identity: Arc::clone(identity),
        })?;
        key.seal(identity, canonical_json(data))
            .map_err(|Unspecified| Error::Sealing {
                identity: Arc::clone(identity),
            })
    }

    /// Whether a sealed body, of which only the digest is known, has this data.
    pub(crate) fn is_same(&self, identity: &Identity, data: &Value, id: &KeyId, digest: Digest) -> bool {
        self.by_id(id)
            .is_some_and(|key| key.digest(identity, &canonical_json(data)) == digest)
    }

    /// Opens a sealed body, and checks that it is the one that was filed under this digest.
    pub(crate) fn open(
        &self,
        identity: &Identity,
        id: &KeyId,
        digest: Digest,
        content: &[u8],
    ) -> Result<Opened, Error> {
        let Some(key) = self.by_id(id) else {
            return Ok(Opened::NoKey);
        };
        let damaged = || Error::damaged(format!("the sealed data of document {identity} was changed"));
        let opened = key.open(identity, content).map_err(|Unspecified| damaged())?;
        let text = str::from_utf8(&opened).map_err(|_| damaged())?;
        if key.digest(identity, text) != digest {
            return Err(damaged());
        }
        Ok(Opened::Content(opened))
    }
}

/// A key that no other process has.
pub(crate) fn process_key() -> RedactionKey {
    static KEY: OnceLock<RedactionKey> = OnceLock::new();
    let make = || {
        let mut bytes = [0; KEY_LENGTH];
        if rand::fill(&mut bytes).is_err() {
            // What the standard library seeds its tables with is random too.
            for chunk in bytes.chunks_mut(size_of::<u64>()) {
                let random = RandomState::new().build_hasher().finish().to_be_bytes();
                chunk.iter_mut().zip(random).for_each(|(to, from)| *to = from);
            }
        }
        RedactionKey::new(&bytes)
    };
    KEY.get_or_init(make).clone()
}

/// The identity in a form in which no two are alike: each part with its length before it.
fn bound(identity: &Identity) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut part = |text: Option<&str>| match text {
        Some(text) => {
            bytes.push(1);
            bytes.extend_from_slice(&(text.len() as u64).to_be_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
        None => bytes.push(0),
    };
    part(Some(&identity.schema));
    part(identity.layer.as_deref());
    part(Some(&identity.name));
    bytes
}

/// A length that is known when the program is compiled.
struct Length<const N: usize>;

impl<const N: usize> hkdf::KeyType for Length<N> {
    fn len(&self) -> usize {
        N
    }
}

fn derive<const N: usize>(root: &hkdf::Prk, purpose: &[u8]) -> Result<[u8; N], Unspecified> {
    let mut key = [0; N];
    root.expand(&[purpose], Length::<N>)?.fill(&mut key)?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn identity(name: &str) -> Arc<Identity> {
        Arc::new(Identity {
            schema: "example/Kind/v1".to_owned(),
            layer: Some("site".to_owned()),
            name: name.to_owned(),
        })
    }

    fn keys(seeds: &[u8]) -> SealingKeys {
        SealingKeys::new(
            seeds
                .iter()
                .map(|&seed| SealingKey::new(&[seed; 32]).unwrap())
                .collect(),
        )
    }

    fn open(keys: &SealingKeys, identity: &Identity, body: &NewBody) -> Result<Opened, Error> {
        keys.open(identity, body.sealed_with.as_ref().unwrap(), body.digest, &body.content)
    }

    #[test]
    fn sealed_data_comes_back_and_is_not_visible() {
        let (keys, document) = (keys(&[1]), identity("a"));
        let body = keys.seal(&document, &json!("correct horse")).unwrap();
        assert!(!body.content.windows(5).any(|window| window == b"horse"));
        let Opened::Content(content) = open(&keys, &document, &body).unwrap() else {
            panic!("the key is there")
        };
        assert_eq!(content, br#""correct horse""#);
    }

    #[test]
    fn the_digest_does_not_give_the_secret_away() {
        let secret = json!("1234");
        let plain = Digest::from(berth_documents::deckhand::ContentHash::of(&secret));
        let one = keys(&[1]).seal(&identity("a"), &secret).unwrap().digest;
        assert_ne!(one, plain);
        assert_ne!(one, keys(&[2]).seal(&identity("a"), &secret).unwrap().digest);
        assert_ne!(one, keys(&[1]).seal(&identity("b"), &secret).unwrap().digest);
        assert_eq!(one, keys(&[1]).seal(&identity("a"), &secret).unwrap().digest);
    }

    #[test]
    fn data_moved_to_another_document_is_refused() {
        let keys = keys(&[1]);
        let body = keys.seal(&identity("a"), &json!("x")).unwrap();
        assert!(matches!(open(&keys, &identity("b"), &body), Err(Error::Damaged { .. })));
    }

    #[test]
    fn every_changed_byte_is_noticed() {
        let (keys, document) = (keys(&[1]), identity("a"));
        let mut body = keys.seal(&document, &json!("secret")).unwrap();
        for index in 0..body.content.len() {
            body.content[index] ^= 1;
            assert!(
                matches!(open(&keys, &document, &body), Err(Error::Damaged { .. })),
                "byte {index}"
            );
            body.content[index] ^= 1;
        }
        body.content.truncate(5);
        assert!(matches!(open(&keys, &document, &body), Err(Error::Damaged { .. })));
    }

    #[test]
    fn an_older_key_still_opens_and_another_key_says_that_it_is_another() {
        let document = identity("a");
        let body = keys(&[1]).seal(&document, &json!("x")).unwrap();
        assert!(matches!(open(&keys(&[2, 1]), &document, &body), Ok(Opened::Content(_))));
        assert!(matches!(open(&keys(&[2]), &document, &body), Ok(Opened::NoKey)));
        assert_ne!(
            keys(&[2, 1]).seal(&document, &json!("x")).unwrap().sealed_with,
            body.sealed_with
        );
    }

    #[test]
    fn without_a_key_nothing_is_sealed() {
        let refused = SealingKeys::none().seal(&identity("a"), &json!("x")).unwrap_err();
        assert!(matches!(refused, Error::NoSealingKey { .. }));
    }

    #[test]
    fn keys_are_read_from_hexadecimal_digits() {
        let text = "01".repeat(32);
        let key = SealingKey::from_hexadecimal(&format!(" {text}\n")).unwrap();
        assert_eq!(key.id(), SealingKey::new(&[1; 32]).unwrap().id());
        assert_eq!(format!("{key:?}"), format!("SealingKey({})", key.id()));
        assert_eq!(
            SealingKey::from_hexadecimal("0102").unwrap_err(),
            KeyError::Length { found: 2 }
        );
        assert_eq!(
            SealingKey::from_hexadecimal("xy").unwrap_err(),
            KeyError::NotHexadecimal
        );
        assert_eq!(
            SealingKey::from_hexadecimal("012").unwrap_err(),
            KeyError::NotHexadecimal
        );
    }
}
