//! Layering: the parent's rendered data, changed by the child's actions.

use std::sync::Arc;

use serde_json::Value;

use crate::deckhand::{
    budget::{Budget, CELL, size},
    document::{Action, DeckhandDocument, Method},
    error::RenderError,
    secrets::SecretPaths,
};

/// What a document was rendered to.
#[derive(Clone, Copy)]
pub(crate) struct Parent<'a> {
    pub(crate) document: &'a DeckhandDocument,
    pub(crate) data: &'a Arc<Value>,
    pub(crate) secrets: &'a SecretPaths,
}

/// The child's data laid over the parent's rendered data, and what of it is secret.
pub(crate) fn layer(
    child: &DeckhandDocument,
    parent: Parent<'_>,
    budget: &mut Budget,
) -> Result<(Arc<Value>, SecretPaths), RenderError> {
    // Replacing everything leaves the child's data as it is: no copy of either is needed.
    if let [action] = child.actions()
        && action.method == Method::Replace
        && action.path.is_root()
    {
        return Ok((Arc::clone(child.data()), SecretPaths::none()));
    }
    // What both have together is the most that can come of it, but for the cells that paths create.
    budget.check(size(parent.data).saturating_add(size(child.data())), child)?;
    let (mut data, mut secrets) = (Value::clone(parent.data), parent.secrets.clone());
    for action in child.actions() {
        apply(action, child, parent.document, &mut data, &mut secrets, budget)?;
    }
    Ok((Arc::new(data), secrets))
}

fn apply(
    action: &Action,
    child: &DeckhandDocument,
    parent: &DeckhandDocument,
    data: &mut Value,
    secrets: &mut SecretPaths,
    budget: &mut Budget,
) -> Result<(), RenderError> {
    let missing = || RenderError::MissingDocumentKey {
        action: describe(action),
        parent: parent.identity().clone(),
        child: child.identity().clone(),
    };
    let from_child = || action.path.get(child.data()).ok_or_else(missing);
    let steps = action.path.steps();
    let mut put = |data: &mut Value, secrets: &mut SecretPaths, value: Value| {
        let created = action
            .path
            .set(data, value)
            .map_err(|error| RenderError::LayeringFailed {
                action: describe(action),
                parent: parent.identity().clone(),
                child: child.identity().clone(),
                detail: error.to_string(),
            })?;
        secrets.put(steps, SecretPaths::none());
        budget.spend(created.saturating_mul(CELL), child)
    };
    match action.method {
        Method::Delete => {
            action.path.delete(data).ok_or_else(missing)?;
            secrets.remove(steps);
            Ok(())
        }
        Method::Replace => put(data, secrets, from_child()?.clone()),
        Method::Merge => {
            let value = from_child()?;
            match action.path.get_mut(data) {
                Some(place) => {
                    secrets.overlay(steps, place, value);
                    merge(place, value);
                    Ok(())
                }
                None => put(data, secrets, value.clone()),
            }
        }
    }
}

/// Mappings are merged key by key; anything else is replaced.
fn merge(target: &mut Value, layer: &Value) {
    match (target, layer) {
        (Value::Object(target), Value::Object(layer)) => {
            for (key, value) in layer {
                match target.get_mut(key) {
                    Some(place) => merge(place, value),
                    None => {
                        target.insert(key.clone(), value.clone());
                    }
                }
            }
        }
        (target, layer) => *target = layer.clone(),
    }
}

/// An action as Deckhand's messages show it.
fn describe(action: &Action) -> String {
    format!(
        "{{'method': '{}', 'path': '{}'}}",
        action.method.as_str(),
        action.written
    )
}
