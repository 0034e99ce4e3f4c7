//! The syntax rules of label keys and values, byte for byte as Kubernetes checks them.

use crate::error::LabelProblem;

/// Kubernetes' limit for the name part of a key and for a value, in bytes.
const NAME_MAX_BYTES: usize = 63;

/// Kubernetes' limit for a DNS-1123 subdomain, in bytes.
const SUBDOMAIN_MAX_BYTES: usize = 253;

/// Every problem Kubernetes would report for this key, in its order; empty for a legal key.
pub(crate) fn key_problems(key: &str) -> Vec<LabelProblem> {
    let mut problems = Vec::new();
    let name = match key.split_once('/') {
        None => key,
        // Kubernetes stops here: with two slashes it cannot tell which part is the name.
        Some((_, rest)) if rest.contains('/') => return vec![LabelProblem::Slashes],
        Some((prefix, name)) => {
            if prefix.is_empty() {
                problems.push(LabelProblem::PrefixEmpty);
            } else {
                if prefix.len() > SUBDOMAIN_MAX_BYTES {
                    problems.push(LabelProblem::PrefixTooLong);
                }
                if !is_subdomain(prefix) {
                    problems.push(LabelProblem::PrefixSyntax);
                }
            }
            name
        }
    };
    if name.is_empty() {
        problems.push(LabelProblem::NameEmpty);
    } else if name.len() > NAME_MAX_BYTES {
        problems.push(LabelProblem::NameTooLong);
    }
    // An empty name fails the pattern too, and Kubernetes reports both.
    if !is_name(name) {
        problems.push(LabelProblem::NameSyntax);
    }
    problems
}

/// Every problem Kubernetes would report for this value, in its order; empty for a legal value.
pub(crate) fn value_problems(value: &str) -> Vec<LabelProblem> {
    let mut problems = Vec::new();
    if value.len() > NAME_MAX_BYTES {
        problems.push(LabelProblem::ValueTooLong);
    }
    if !value.is_empty() && !is_name(value) {
        problems.push(LabelProblem::ValueSyntax);
    }
    problems
}

/// `([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]`, without the length limit.
fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

/// A lower-case DNS-1123 subdomain, without the length limit. The single parts have no limit of their own here.
fn is_subdomain(text: &str) -> bool {
    let edge = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.split('.').all(|part| {
        let bytes = part.as_bytes();
        bytes.first().is_some_and(edge)
            && bytes.last().is_some_and(edge)
            && bytes.iter().all(|byte| edge(byte) || *byte == b'-')
    })
}
