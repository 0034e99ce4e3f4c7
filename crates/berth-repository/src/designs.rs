//! Designs of another Deckhand: whether they say what a revision of this store says, and whether they are sound.

use std::{collections::BTreeMap, fmt, sync::Arc};

use berth_api::ValidationMessage;
use berth_documents::deckhand::{self, Query, SecretPaths};
use serde_json::Value;

use crate::{
    body::{BodyError, read_values},
    configdocs::Configdocs,
    error::Error,
    filed::FiledDocument,
};

/// Whose documents a design is made of: what Drydock reads of it.
const DRYDOCK: &str = "drydock/";

/// A document that two designs do not have alike.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DesignDifference {
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// How it differs.
    pub kind: DifferenceKind,
}

/// How a document of another design differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DifferenceKind {
    /// Only the revision of this store has it.
    OnlyHere,
    /// Only the other design has it.
    OnlyThere,
    /// Both have it, with other data.
    Other,
}

impl fmt::Display for DesignDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { schema, name, kind } = self;
        match kind {
            DifferenceKind::OnlyHere => write!(f, "{schema} {name} is only here"),
            DifferenceKind::OnlyThere => write!(f, "{schema} {name} is only there"),
            DifferenceKind::Other => write!(f, "{schema} {name} has other data there"),
        }
    }
}

impl Configdocs {
    /// Which of Drydock's documents the text of another design does not have as a revision has them. Secrets are not compared:
    /// neither side shows them.
    ///
    /// # Errors
    /// When the revision cannot be rendered or the text cannot be read.
    pub async fn design_differences(&self, revision: u64, text: String) -> Result<Vec<DesignDifference>, Error> {
        let own = self.repository().site_documents(revision, &Query::default()).await?;
        self.repository()
            .workers()
            .run(move || Ok(differences(&own, &rendered(&text)?)))
            .await?
    }

    /// Everything that validation finds in the text of another design, which is rendered already.
    ///
    /// # Errors
    /// When the text cannot be read.
    pub async fn validate_design(&self, text: String) -> Result<Vec<ValidationMessage>, Error> {
        let redaction = self.repository().store().redaction_key();
        let rules = self.rules();
        self.repository()
            .workers()
            .run(move || {
                let bucket: Arc<str> = Arc::from("design");
                let documents = deckhand::read_documents(rendered(&text)?)?;
                let filed: Vec<FiledDocument> = documents
                    .into_iter()
                    .map(|document| FiledDocument::as_written(document, redaction.clone(), Arc::clone(&bucket), 0))
                    .collect();
                Ok(rules.check(&filed))
            })
            .await?
    }
}

/// The documents of a reply, without what the other side adds to them.
fn rendered(text: &str) -> Result<Vec<Value>, Error> {
    let mut values = read_values(text)?;
    let is_document = |value: &Value| value.get("schema").is_some_and(Value::is_string);
    let indexes: Vec<usize> = (1..)
        .zip(&values)
        .filter(|(_, value)| !is_document(value))
        .map(|(index, _)| index)
        .collect();
    if !indexes.is_empty() {
        return Err(BodyError::NotObjects { indexes }.into());
    }
    for map in values.iter_mut().filter_map(Value::as_object_mut) {
        map.remove("status");
    }
    Ok(values)
}

fn differences(own: &[FiledDocument], other: &[Value]) -> Vec<DesignDifference> {
    let mut others: BTreeMap<(&str, &str), &Value> = other
        .iter()
        .filter_map(|document| {
            let schema = document.get("schema")?.as_str()?;
            let name = document.pointer("/metadata/name")?.as_str()?;
            let data = document.get("data").unwrap_or(&Value::Null);
            schema.starts_with(DRYDOCK).then_some(((schema, name), data))
        })
        .collect();
    let mut found = Vec::new();
    let mut add = |schema: &str, name: &str, kind| {
        found.push(DesignDifference {
            schema: schema.to_owned(),
            name: name.to_owned(),
            kind,
        });
    };
    for filed in own.iter().filter(|filed| filed.document.schema().starts_with(DRYDOCK)) {
        let (schema, name) = (filed.document.schema(), filed.document.name());
        match others.remove(&(schema, name)) {
            None => add(schema, name, DifferenceKind::OnlyHere),
            Some(data) => {
                let secrets = if filed.document.is_encrypted() {
                    &SecretPaths::whole()
                } else {
                    filed.secrets.as_ref()
                };
                let shown = |data: &Value| secrets.replaced(data, &mut |_, _, _| Value::Null);
                if shown(data) != shown(&filed.data) {
                    add(schema, name, DifferenceKind::Other);
                }
            }
        }
    }
    for (schema, name) in others.into_keys() {
        add(schema, name, DifferenceKind::OnlyThere);
    }
    found.sort();
    found
}
