//! What is told of an error: nothing of a secret, and of the rest not more than somebody reads.
//!
//! Whoever writes a schema asks questions, and whether a value meets it is the answer. So of everything that depends on a
//! secret there is one answer for a whole validation, whatever the number of questions.

use std::{
    fmt::{self, Write as _},
    sync::Arc,
};

use jsonschema::{ValidationError, error::ValidationErrorKind as Kind};
use serde_json::Value;

use super::{Violation, schema::Schema, visits::TooMuch};
use crate::deckhand::{document::Identity, path::PathPart, render::RenderedDocument, secrets::SecretPaths};

/// What is wrong, or nothing where that depends on a secret.
pub(super) fn violation(
    schema: &Schema,
    rendered: &RenderedDocument,
    secrets: &SecretPaths,
    error: &ValidationError<'_>,
) -> Option<Violation> {
    let pointer = error.instance_path().as_str();
    let here = at(pointer, &rendered.data, secrets);
    if depends_on(&here, error.kind()) || schema.compiled.has_conditions && !secrets.is_none() {
        return None;
    }
    let (schema_path, message) = if schema.is_secret {
        let message = "the value does not meet the schema, which is secret";
        (String::new(), message.to_owned())
    } else {
        let schema_path = cut(&dotted(error.schema_path().as_str()), LONGEST_PATH);
        (schema_path, message(error, &here))
    };
    Some(Violation {
        document: Arc::clone(rendered.document.identity()),
        schema: Some(Arc::clone(&schema.identity)),
        path: cut(&place(pointer), LONGEST_PATH),
        schema_path,
        message,
    })
}

/// The one answer for everything that depends on secrets.
pub(super) fn of_secrets(document: &Arc<Identity>, schema: &Schema) -> Violation {
    Violation {
        document: Arc::clone(document),
        schema: Some(Arc::clone(&schema.identity)),
        path: ".data".to_owned(),
        schema_path: String::new(),
        message: "a value that is secret does not meet the schema; whether others do is not told".to_owned(),
    }
}

/// That a document is not validated, and why.
pub(super) fn not_validated(document: &Arc<Identity>, schema: &Schema, reason: TooMuch) -> Violation {
    Violation {
        document: Arc::clone(document),
        schema: Some(Arc::clone(&schema.identity)),
        path: ".data".to_owned(),
        schema_path: String::new(),
        message: format!("the document was not validated: {reason}"),
    }
}

/// That a document has errors, when there is no room for them.
pub(super) fn without_details(document: &Arc<Identity>, schema: &Schema) -> Violation {
    Violation {
        document: Arc::clone(document),
        schema: Some(Arc::clone(&schema.identity)),
        path: ".data".to_owned(),
        schema_path: String::new(),
        message: "the document does not meet the schema; it is too large to say where".to_owned(),
    }
}

/// That there are more violations than are listed.
pub(super) fn more(document: &Arc<Identity>) -> Violation {
    Violation {
        document: Arc::clone(document),
        schema: None,
        path: ".data".to_owned(),
        schema_path: String::new(),
        message: "there are more violations, which are left out".to_owned(),
    }
}

/// How long a message may be, in bytes.
const LONGEST: usize = 500;

/// How long a path may be, in bytes. Data is deep, and a path that is cut leads nowhere.
const LONGEST_PATH: usize = 4000;

/// What something says, cut where it gets long. Nothing longer is ever written.
pub(super) fn short(told: &dyn fmt::Display) -> String {
    cut(told, LONGEST)
}

fn cut(told: &dyn fmt::Display, longest: usize) -> String {
    let mut text = Short(String::new(), longest);
    // The only way to fail is to be too long.
    if write!(text, "{told}").is_err() {
        text.0.push('…');
    }
    text.0
}

/// A text, and how long it may become.
struct Short(String, usize);

impl fmt::Write for Short {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let left = self.1.saturating_sub(self.0.len());
        if part.len() <= left {
            self.0.push_str(part);
            return Ok(());
        }
        self.0
            .push_str(part.get(..part.floor_char_boundary(left)).unwrap_or_default());
        Err(fmt::Error)
    }
}

/// Whether an error at a value depends on what is secret in it. Keys, and how many values there are, are not secret in a
/// value that is not secret as a whole.
fn depends_on(secrets: &SecretPaths, kind: &Kind) -> bool {
    let about_keys = matches!(
        kind,
        Kind::Type { .. }
            | Kind::Required { .. }
            | Kind::AdditionalProperties { .. }
            | Kind::AdditionalItems { .. }
            | Kind::MinProperties { .. }
            | Kind::MaxProperties { .. }
            | Kind::MinItems { .. }
            | Kind::MaxItems { .. }
    );
    secrets.is_whole() || !secrets.is_none() && !about_keys
}

fn message(error: &ValidationError<'_>, secrets: &SecretPaths) -> String {
    match error.kind() {
        // A pattern of ours does not know its text.
        Kind::Custom { message, .. } => format!("{} {}", short(error.instance().as_ref()), short(message)),
        _ if secrets.is_none() => short(error),
        _ => short(&error.masked_with("the value")),
    }
}

/// What is secret of the value that a JSON pointer names.
fn at(pointer: &str, data: &Value, secrets: &SecretPaths) -> SecretPaths {
    let mut value = Some(data);
    let mut steps = Vec::new();
    for part in pointer.split('/').skip(1) {
        let key = part.replace("~1", "/").replace("~0", "~");
        steps.push(match (value, key.parse()) {
            (Some(Value::Array(items)), Ok(index)) => {
                value = items.get(index);
                PathPart::Index(index)
            }
            (inside, _) => {
                value = inside.and_then(|inside| inside.get(&key));
                PathPart::Key(key)
            }
        });
    }
    secrets.at(&steps)
}

/// A place in a document's data from a JSON pointer.
pub(super) fn place(pointer: &str) -> String {
    format!(".data{}", dotted(pointer))
}

fn dotted(pointer: &str) -> String {
    pointer
        .split('/')
        .skip(1)
        .map(|step| step.replace("~1", "/").replace("~0", "~"))
        .fold(String::new(), |mut path, step| {
            if !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit()) {
                path.push('[');
                path.push_str(&step);
                path.push(']');
            } else {
                path.push('.');
                path.push_str(&step);
            }
            path
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut() {
        assert_eq!(short(&"x"), "x");
        assert_eq!(short(&"x".repeat(LONGEST)), "x".repeat(LONGEST));
        let cut = short(&format!("x{}", "é".repeat(LONGEST)));
        assert!(cut.ends_with("é…") && cut.len() <= LONGEST + 3, "{cut}");
    }
}
