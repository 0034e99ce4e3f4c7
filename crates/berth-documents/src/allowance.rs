//! How much one source may stand for, in proportion to its size.
//!
//! A few lines of aliases can stand for more than any memory holds. Trees share what aliases bring in, so reading takes no
//! memory for it; whoever makes something else of a tree (JSON, a rendered document, a print) does. So what a source
//! expands to is counted in the bytes that it takes written out, and a source that goes beyond its allowance is not read.

/// What aliases may bring in, whatever the size of the file. kubectl's reader takes up to 400,000 values, nearly all of
/// them through aliases; this is room for as many entries of label mappings.
const EXPANSION: usize = 64 << 20;
/// What aliases may bring in further for every byte of the file.
const EXPANSION_PER_BYTE: usize = 8;

/// How many values a file may hold, whatever its size.
const VALUES: usize = 200_000;
/// One more value is allowed for this many bytes. Files that people and tools write have twenty and more for each.
const BYTES_PER_VALUE: usize = 8;

/// A value as JSON in memory, without its text.
const SCALAR: usize = 64;
/// A key with its place in a mapping, without its text.
const KEY: usize = 32;
/// The first room that a mapping takes.
const MAPPING: usize = 576;

/// About how many bytes a value takes written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Weight(usize);

impl Weight {
    /// A scalar with a text of so many bytes, if it has one.
    pub(crate) const fn scalar(text: usize) -> Self {
        Self(SCALAR.saturating_add(text))
    }

    /// An empty list.
    pub(crate) const fn sequence() -> Self {
        Self(SCALAR)
    }

    /// An empty mapping.
    pub(crate) const fn mapping() -> Self {
        Self(MAPPING)
    }

    /// A key with a text of so many bytes.
    pub(crate) const fn key(text: usize) -> Self {
        Self(KEY.saturating_add(text))
    }

    pub(crate) const fn add(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

/// What a source may still stand for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    values: usize,
    expansion: usize,
}

impl Allowance {
    /// The allowance of a source with this text.
    pub(crate) const fn of(text: &str) -> Self {
        Self {
            values: VALUES + text.len() / BYTES_PER_VALUE,
            expansion: text.len().saturating_mul(EXPANSION_PER_BYTE).saturating_add(EXPANSION),
        }
    }

    /// Takes room for one value, if there is any.
    #[must_use]
    pub(crate) const fn take_value(&mut self) -> bool {
        match self.values.checked_sub(1) {
            Some(left) => {
                self.values = left;
                true
            }
            None => false,
        }
    }

    /// Takes room for what an alias brings in, if there is enough.
    #[must_use]
    pub(crate) const fn take_expansion(&mut self, weight: Weight) -> bool {
        match self.expansion.checked_sub(weight.0) {
            Some(left) => {
                self.expansion = left;
                true
            }
            None => false,
        }
    }
}

/// The limit of [`Allowance::take_value`] in words.
pub(crate) fn values_limit() -> String {
    format!("a file may hold {VALUES} values, and one more for every {BYTES_PER_VALUE} bytes")
}

/// The limit of [`Allowance::take_expansion`] in words.
pub(crate) fn expansion_limit() -> String {
    format!(
        "aliases may bring in {} MiB, and {EXPANSION_PER_BYTE} more bytes for every byte of the file",
        EXPANSION >> 20
    )
}
