//! The schemas of the kinds that are built in, from a text that people can read.
//!
//! ```text
//! package io.k8s.api.core.v1
//! type Taint : Keeps Pods away from a node.
//!   key! string : What the taint is about.
//!   effect! string
//! type NodeSpec
//!   taints []Taint
//!   podCIDRs []string set merge
//! ```
//!
//! A field has a name (`!` if it must be there), a type, and words: `set`, `key=a,b` for lists that merge when applied;
//! `merge`, `merge=KEY`, `retain` for strategic patches; `default=JSON`. A type with `kind` has the fields of every
//! object, one with `open` keeps what is not named, one with `atomic` is applied whole.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::Schema;

/// One type.
#[derive(Clone, Debug, Default)]
pub(crate) struct TypeText {
    package: String,
    description: String,
    kind: bool,
    open: bool,
    atomic: bool,
    fields: Vec<Field>,
}

#[derive(Clone, Debug)]
struct Field {
    name: String,
    required: bool,
    type_text: String,
    words: Vec<String>,
    description: String,
}

/// All types of the texts that were read.
#[derive(Clone, Debug, Default)]
pub(crate) struct CompactTypes {
    types: BTreeMap<String, TypeText>,
}

/// Whether types below are written out or referred to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Below {
    Inline,
    Reference,
}

impl CompactTypes {
    /// Reads a text. Lines that are not understood are left out; a test reads the texts of this crate strictly.
    pub(crate) fn read(texts: &[&str]) -> Self {
        let mut all = Self::default();
        for text in texts {
            let mut package = String::new();
            let mut current: Option<String> = None;
            for line in text.lines() {
                let (line, description) = line.split_once(" : ").unwrap_or((line, ""));
                let mut words = line.split_whitespace();
                match (line.starts_with(' '), words.next()) {
                    (_, None) => {}
                    (_, Some(word)) if word.starts_with('#') => {}
                    (false, Some("package")) => words.next().unwrap_or_default().clone_into(&mut package),
                    (false, Some("type")) => {
                        let name = words.next().unwrap_or_default().to_owned();
                        let marks: Vec<&str> = words.collect();
                        let text = TypeText {
                            package: package.clone(),
                            description: description.to_owned(),
                            kind: marks.contains(&"kind"),
                            open: marks.contains(&"open"),
                            atomic: marks.contains(&"atomic"),
                            fields: Vec::new(),
                        };
                        all.types.insert(name.clone(), text);
                        current = Some(name);
                    }
                    (_, Some(name)) => {
                        let Some(text) = current.as_ref().and_then(|current| all.types.get_mut(current)) else {
                            continue;
                        };
                        text.fields.push(Field {
                            name: name.trim_end_matches('!').to_owned(),
                            required: name.ends_with('!'),
                            type_text: words.next().unwrap_or("any").to_owned(),
                            words: words.map(str::to_owned).collect(),
                            description: description.to_owned(),
                        });
                    }
                }
            }
        }
        all
    }

    /// The name in `OpenAPI` documents.
    pub(crate) fn full_name(&self, name: &str) -> String {
        match self.types.get(name) {
            Some(text) => format!("{}.{name}", text.package),
            None => name.to_owned(),
        }
    }

    /// The schema of a type, with everything below it.
    pub(crate) fn schema(&self, name: &str) -> Schema {
        Schema::read(&self.render(name, Below::Inline))
    }

    /// The type and all types that it refers to, by their full names.
    pub(crate) fn components(&self, name: &str, into: &mut Map<String, Value>) {
        let full_name = self.full_name(name);
        if into.contains_key(&full_name) {
            return;
        }
        into.insert(full_name, self.render(name, Below::Reference));
        let Some(text) = self.types.get(name) else { return };
        if text.kind {
            self.components("ObjectMeta", into);
        }
        for field in &text.fields {
            let element = element_of(&field.type_text);
            if self.types.contains_key(element) {
                self.components(element, into);
            }
        }
    }

    fn render(&self, name: &str, below: Below) -> Value {
        let Some(text) = self.types.get(name) else {
            return json!({"x-kubernetes-preserve-unknown-fields": true});
        };
        let mut properties = Map::new();
        if text.kind {
            properties.insert(
                "apiVersion".to_owned(),
                json!({"type": "string", "description": "The group and version of the kind."}),
            );
            properties.insert(
                "kind".to_owned(),
                json!({"type": "string", "description": "What kind of object this is."}),
            );
            let mut metadata = self.type_json("ObjectMeta", below);
            describe(
                &mut metadata,
                "Name, labels and what the API server keeps about every object.",
            );
            properties.insert("metadata".to_owned(), metadata);
        }
        for field in &text.fields {
            properties.insert(field.name.clone(), self.field_json(field, below));
        }
        let required: Vec<&str> = text
            .fields
            .iter()
            .filter(|field| field.required)
            .map(|field| field.name.as_str())
            .collect();
        let mut schema = json!({"type": "object"});
        if !properties.is_empty() {
            schema["properties"] = Value::Object(properties);
        }
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        if text.open {
            schema["x-kubernetes-preserve-unknown-fields"] = json!(true);
        }
        if text.atomic {
            schema["x-kubernetes-map-type"] = json!("atomic");
        }
        describe(&mut schema, &text.description);
        schema
    }

    fn field_json(&self, field: &Field, below: Below) -> Value {
        let mut schema = self.type_json(&field.type_text, below);
        let mut strategy = Vec::new();
        for word in &field.words {
            match word.split_once('=').unwrap_or((word, "")) {
                ("set", _) => schema["x-kubernetes-list-type"] = json!("set"),
                ("atomic", _) => {
                    let what = if field.type_text.starts_with("[]") {
                        "list"
                    } else {
                        "map"
                    };
                    schema[format!("x-kubernetes-{what}-type")] = json!("atomic");
                }
                ("key", keys) => {
                    schema["x-kubernetes-list-type"] = json!("map");
                    schema["x-kubernetes-list-map-keys"] = keys.split(',').map(Value::from).collect();
                }
                ("merge", key) => {
                    strategy.push("merge");
                    if !key.is_empty() {
                        schema["x-kubernetes-patch-merge-key"] = json!(key);
                    }
                }
                ("retain", _) => strategy.push("retainKeys"),
                ("default", value) => {
                    schema["default"] = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
                }
                _ => {}
            }
        }
        if !strategy.is_empty() {
            schema["x-kubernetes-patch-strategy"] = json!(strategy.join(","));
        }
        describe(&mut schema, &field.description);
        schema
    }

    fn type_json(&self, type_text: &str, below: Below) -> Value {
        if let Some(item) = type_text.strip_prefix("[]") {
            return json!({"type": "array", "items": self.type_json(item, below)});
        }
        if let Some(value) = type_text.strip_prefix("map<").and_then(|rest| rest.strip_suffix('>')) {
            return json!({"type": "object", "additionalProperties": self.type_json(value, below)});
        }
        match type_text {
            "string" => json!({"type": "string"}),
            "bytes" => json!({"type": "string", "format": "byte"}),
            "time" => json!({"type": "string", "format": "date-time"}),
            "int32" | "int64" => json!({"type": "integer", "format": type_text}),
            "bool" => json!({"type": "boolean"}),
            "number" => json!({"type": "number"}),
            "intstr" | "quantity" => json!({"x-kubernetes-int-or-string": true}),
            "any" => json!({"x-kubernetes-preserve-unknown-fields": true}),
            "object" => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
            name if below == Below::Inline => self.render(name, below),
            // A reference cannot have a description beside it unless it is wrapped.
            name => json!({"allOf": [{"$ref": format!("#/components/schemas/{}", self.full_name(name))}]}),
        }
    }

    /// Every word in a type place that names no type: for the test that holds the texts together.
    #[cfg(test)]
    pub(crate) fn dangling(&self) -> Vec<String> {
        const WORDS: [&str; 12] = [
            "string", "bytes", "time", "int32", "int64", "bool", "number", "intstr", "quantity", "any", "object", "",
        ];
        self.types
            .iter()
            .flat_map(|(name, text)| text.fields.iter().map(move |field| (name, field)))
            .filter(|(_, field)| {
                let element = element_of(&field.type_text);
                !WORDS.contains(&element) && !self.types.contains_key(element)
            })
            .map(|(name, field)| format!("{name}.{}: {}", field.name, field.type_text))
            .collect()
    }

    #[cfg(test)]
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.types.keys().map(String::as_str)
    }
}

fn element_of(type_text: &str) -> &str {
    let mut element = type_text;
    loop {
        let inner = element
            .strip_prefix("[]")
            .or_else(|| element.strip_prefix("map<").and_then(|rest| rest.strip_suffix('>')));
        match inner {
            Some(inner) => element = inner,
            None => return element,
        }
    }
}

fn describe(schema: &mut Value, description: &str) {
    if !description.is_empty() {
        schema["description"] = json!(description);
    }
}
