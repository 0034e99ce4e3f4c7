//! From the text of a request or a file to documents.

use std::sync::Arc;

use berth_documents::{
    Severity, Sources,
    deckhand::{self, DeckhandDocument},
    parse,
};
use serde_json::{Map, Value};

use crate::error::Error;

/// Findings about what a document is. Those are for the form of documents to judge, which says it in Deckhand's words.
const NOT_SYNTAX: [&str; 4] = ["unknown-envelope", "two-envelopes", "airship-schema", "missing-name"];

/// Why a text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// It is not YAML.
    #[error("The request body must be properly formatted YAML. Details: {details}.")]
    Syntax {
        /// What is wrong, and where.
        details: String,
    },
    /// It holds something that is not a document.
    #[error(
        "Expected a list of valid objects. Invalid entries found at following indexes: {}.",
        indexes.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
    )]
    NotObjects {
        /// Their positions, counted from 1.
        indexes: Vec<usize>,
    },
    /// There is nothing in it.
    #[error("The request body must not be empty.")]
    Empty,
    /// It holds several documents where one is asked for, or something that is not a mapping.
    #[error("Expected one object in the request body.")]
    NotOneObject,
}

/// Every document of a text as a value.
///
/// # Errors
/// [`BodyError::Syntax`]
pub fn read_values(text: &str) -> Result<Vec<Value>, BodyError> {
    let mut sources = Sources::new();
    let id = sources.add("request", text);
    let parsed = parse(&sources, id);
    let wrong = parsed
        .diagnostics
        .iter()
        .find(|finding| finding.severity() == Severity::Error && !NOT_SYNTAX.contains(&finding.code()));
    if let Some(finding) = wrong {
        let place = finding.span.and_then(|span| {
            let place = sources.location(span);
            Some(format!("line {}, column {}: ", place.line()?, place.column()?))
        });
        return Err(BodyError::Syntax {
            details: match &finding.help {
                Some(help) => format!("{}{} ({help})", place.unwrap_or_default(), finding.message),
                None => format!("{}{}", place.unwrap_or_default(), finding.message),
            },
        });
    }
    Ok(parsed
        .documents
        .iter()
        .map(|document| document.root.to_json())
        .collect())
}

/// The documents of a text, all of whose mistakes are reported together.
///
/// # Errors
/// [`Error::Body`], [`Error::Read`]
pub fn read_documents(text: &str) -> Result<Vec<Arc<DeckhandDocument>>, Error> {
    let values = read_values(text)?;
    let is_object = |value: &Value| value.as_object().is_some_and(|map| !map.is_empty());
    let indexes: Vec<usize> = (1..)
        .zip(&values)
        .filter(|(_, value)| !is_object(value))
        .map(|(index, _)| index)
        .collect();
    if !indexes.is_empty() {
        return Err(BodyError::NotObjects { indexes }.into());
    }
    Ok(deckhand::read_documents(values)?)
}

/// The one mapping of a text; nothing when the text is empty.
///
/// # Errors
/// [`BodyError::Syntax`], [`BodyError::NotOneObject`]
pub fn read_object(text: &str) -> Result<Option<Map<String, Value>>, BodyError> {
    let mut values = read_values(text)?.into_iter();
    match (values.next(), values.next()) {
        (None | Some(Value::Null), None) => Ok(None),
        (Some(Value::Object(object)), None) => Ok(Some(object)),
        _ => Err(BodyError::NotOneObject),
    }
}
