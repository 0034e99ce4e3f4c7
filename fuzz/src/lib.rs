//! What the fuzz targets share: ways to make structured input from bytes, and checks that several targets make.
//!
//! Every target is a program of its own in `targets/`. It may panic: a panic is how it says that a property broke.

mod choices;
mod configs;
mod spans;
mod translation;

pub use choices::Choices;
pub use configs::{config, drop_empty};
pub use spans::{assert_findings_fit, assert_nodes_fit};
pub use translation::assert_translates;

/// A line of this between two texts of one input. Mutation keeps it whole more often than a single odd byte.
pub const SEPARATOR: &str = "\n====\n";

/// The parts of an input that holds several texts; at most `most`, the last one takes the rest.
pub fn byte_parts(bytes: &[u8], most: usize) -> Vec<&[u8]> {
    let separator = SEPARATOR.as_bytes();
    let mut parts = Vec::new();
    let mut rest = bytes;
    while parts.len() + 1 < most
        && let Some(at) = rest.windows(separator.len()).position(|window| window == separator)
    {
        parts.push(&rest[..at]);
        rest = &rest[at + separator.len()..];
    }
    parts.push(rest);
    parts
}
