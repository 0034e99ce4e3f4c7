//! The name of a rendered config, the same as the Machine Config Operator gives it.

use std::fmt::Write as _;

use md5::{Digest as _, Md5};
use serde_json::Value;

use super::operator_yaml;

/// What the operator hashes before the spec. It must never change: other bytes give every rendered config another name.
const SALT: [u8; 80] = [
    16, 124, 206, 228, 139, 56, 175, 175, 79, 229, 134, 118, 157, 154, 211, 110, 25, 93, 47, 253, 172, 106, 37, 7, 174,
    13, 160, 185, 110, 17, 87, 52, 219, 131, 12, 206, 218, 141, 116, 135, 188, 181, 192, 151, 233, 62, 126, 165, 64,
    83, 179, 119, 15, 168, 208, 197, 146, 107, 58, 227, 133, 188, 238, 26, 33, 26, 235, 202, 32, 173, 31, 234, 41, 144,
    148, 79, 6, 206, 23, 22,
];

/// `rendered-<pool>-<hash>`. The hash is of the spec alone, so that equal specs have equal hashes in all pools.
pub(super) fn rendered(pool: &str, spec: &Value) -> String {
    let mut hash = Md5::new();
    hash.update(SALT);
    hash.update(operator_yaml::write(spec));
    let mut name = format!("rendered-{pool}-");
    for byte in hash.finalize() {
        // Writing to a string cannot fail.
        let _ = write!(name, "{byte:02x}");
    }
    name
}
