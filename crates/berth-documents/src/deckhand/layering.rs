//! Layering: the parent's rendered data, changed by the child's actions.

use std::sync::Arc;

use serde_json::Value;

use crate::deckhand::{
    document::{Action, DeckhandDocument, Method},
    error::RenderError,
};

/// The child's data laid over the parent's rendered data.
pub(crate) fn layer(
    child: &DeckhandDocument,
    parent: &DeckhandDocument,
    parent_data: &Arc<Value>,
) -> Result<Arc<Value>, RenderError> {
    // Replacing everything leaves the child's data as it is: no copy of either is needed.
    if let [action] = child.actions()
        && action.method == Method::Replace
        && action.path.is_root()
    {
        return Ok(Arc::clone(child.data()));
    }
    let mut data = Value::clone(parent_data);
    for action in child.actions() {
        apply(action, child, parent, &mut data)?;
    }
    Ok(Arc::new(data))
}

fn apply(
    action: &Action,
    child: &DeckhandDocument,
    parent: &DeckhandDocument,
    data: &mut Value,
) -> Result<(), RenderError> {
    let missing = || RenderError::MissingDocumentKey {
        action: describe(action),
        parent: parent.identity().clone(),
        child: child.identity().clone(),
    };
    let from_child = || action.path.get(child.data()).ok_or_else(missing);
    let put = |data: &mut Value, value: Value| {
        action
            .path
            .set(data, value)
            .map_err(|error| RenderError::LayeringFailed {
                action: describe(action),
                parent: parent.identity().clone(),
                child: child.identity().clone(),
                detail: error.to_string(),
            })
    };
    match action.method {
        Method::Delete => action.path.delete(data).map(drop).ok_or_else(missing),
        Method::Replace => put(data, from_child()?.clone()),
        Method::Merge => {
            let value = from_child()?;
            match action.path.get_mut(data) {
                Some(place) => {
                    merge(place, value);
                    Ok(())
                }
                None => put(data, value.clone()),
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
