//! Answers that are ready to be sent.

use std::{
    fmt::Write as _,
    sync::{Arc, OnceLock},
};

use berth_ignition::SpecVersion;
use bytes::Bytes;
use http::HeaderValue;
use sha2::{Digest, Sha256};

use crate::assemble::AssembleError;

/// A config in one version, with the headers that depend on it.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) body: Bytes,
    pub(crate) etag: HeaderValue,
    pub(crate) length: HeaderValue,
}

impl Answer {
    pub(crate) fn new(body: Vec<u8>) -> Self {
        // A strong tag: equal bytes and nothing else have it, in this process and in any other.
        let mut etag = String::with_capacity(34);
        etag.push('"');
        for byte in Sha256::digest(&body).iter().take(16) {
            // Writing to a string cannot fail.
            let _ = write!(etag, "{byte:02x}");
        }
        etag.push('"');
        Self {
            length: HeaderValue::from(body.len()),
            // Hex digits between quotes are a legal value.
            etag: HeaderValue::try_from(etag).unwrap_or_else(|_| HeaderValue::from_static("\"\"")),
            body: Bytes::from(body),
        }
    }
}

/// A finished answer, or why there is none. A failure is kept too: it would be the same next time.
pub(crate) type Built = Result<Arc<Answer>, AssembleError>;

/// The answers of one config, one place for each version.
#[derive(Debug, Default)]
pub(crate) struct Answers([OnceLock<Built>; SpecVersion::ALL.len()]);

impl Answers {
    /// The answer, if it was built before.
    pub(crate) fn ready(&self, version: SpecVersion) -> Option<Built> {
        self.slot(version)?.get().cloned()
    }

    /// The answer, built if need be. Of several callers one builds and the others wait.
    pub(crate) fn get_or_build(&self, version: SpecVersion, build: impl FnOnce() -> Built) -> Built {
        match self.slot(version) {
            Some(slot) => slot.get_or_init(build).clone(),
            None => build(),
        }
    }

    fn slot(&self, version: SpecVersion) -> Option<&OnceLock<Built>> {
        let index = SpecVersion::ALL.iter().position(|known| *known == version)?;
        self.0.get(index)
    }
}
