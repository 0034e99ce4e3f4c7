//! What can be a name in every store.

use crate::error::Error;

/// In bytes. `PostgreSQL` refuses index entries over about 2,700 bytes, and three names share one.
const MAX_NAME: usize = 512;

/// Names that one store takes and another refuses are refused by all.
pub(crate) fn check(what: &'static str, name: &str) -> Result<(), Error> {
    let reason = if name.is_empty() {
        "must not be empty"
    } else if name.len() > MAX_NAME {
        "must not be longer than 512 bytes"
    } else if name.contains('\0') {
        "must not contain a NUL character"
    } else {
        return Ok(());
    };
    Err(Error::Name { what, reason })
}

/// A free text: as long as it likes, and empty if it likes.
pub(crate) fn check_text(what: &'static str, text: &str) -> Result<(), Error> {
    if text.contains('\0') {
        return Err(Error::Name {
            what,
            reason: "must not contain a NUL character",
        });
    }
    Ok(())
}
