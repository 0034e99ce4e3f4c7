//! Documents that steer Deckhand itself.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::deckhand::{
    document::{Identity, Parts, StoragePolicy},
    form::{DATA_SCHEMA, Form, LAYERING_POLICY, SCHEMA_PATTERN, VALIDATION_POLICY, is_schema, without_version},
};

/// Control metadata may hold anything else; what is there in the usual form is understood.
pub(super) fn control_metadata(metadata: &Map<String, Value>, parts: &mut Parts) {
    parts.control = true;
    let layering = metadata.get("layeringDefinition");
    parts.identity.layer = layering
        .and_then(|layering| layering.get("layer"))
        .and_then(Value::as_str)
        .map(str::to_owned);
    if metadata.get("storagePolicy").and_then(Value::as_str) == Some("encrypted") {
        parts.storage_policy = StoragePolicy::Encrypted;
    }
}

impl Form {
    /// The data of the documents that steer Deckhand itself.
    pub(super) fn control_data(&mut self, identity: &Identity, data: &Value) {
        let kind = without_version(&identity.schema);
        if ![LAYERING_POLICY, VALIDATION_POLICY, DATA_SCHEMA].contains(&kind) {
            return;
        }
        let Some(data) = data.as_object() else {
            self.wrong_type(".data", data, "object");
            return;
        };
        match kind {
            LAYERING_POLICY => self.layer_order(data),
            VALIDATION_POLICY => self.validations(data),
            _ => {
                if !is_schema(&identity.name) {
                    self.push(
                        ".metadata.name",
                        format!("'{}' does not match '{SCHEMA_PATTERN}'", identity.name),
                    );
                }
            }
        }
    }

    fn layer_order(&mut self, data: &Map<String, Value>) {
        self.required(".data", data, &["layerOrder"]);
        self.only(".data", data, &["layerOrder"]);
        let mut seen = HashSet::new();
        for (index, layer) in self
            .list(".data", data, "layerOrder")
            .unwrap_or_default()
            .iter()
            .enumerate()
        {
            let at = format!(".data.layerOrder[{index}]");
            match layer.as_str() {
                Some(layer) if !seen.insert(layer) => self.push(&at, format!("'{layer}' is there twice")),
                Some(_) => {}
                None => self.wrong_type(&at, layer, "string"),
            }
        }
    }

    fn validations(&mut self, data: &Map<String, Value>) {
        self.required(".data", data, &["validations"]);
        self.only(".data", data, &["validations"]);
        for (index, validation) in self
            .list(".data", data, "validations")
            .unwrap_or_default()
            .iter()
            .enumerate()
        {
            let at = format!(".data.validations[{index}]");
            let Some(validation) = validation.as_object() else {
                self.wrong_type(&at, validation, "object");
                continue;
            };
            self.required(&at, validation, &["name"]);
            self.only(&at, validation, &["name", "expiresAfter"]);
            let _ = self.text(&at, validation, "expiresAfter");
            let name = self.text(&at, validation, "name");
            if let Some(name) = name.filter(|name| !name.ends_with("-validation") && !name.ends_with("-verification")) {
                self.push(
                    &format!("{at}.name"),
                    format!("'{name}' does not match '^.*-(validation|verification)$'"),
                );
            }
        }
    }
}
