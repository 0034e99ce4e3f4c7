//! Objects as rows, for clients that print tables.

mod age;
mod cells;
mod jsonpath;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::object::{at, items, name, text};

pub(crate) use age::age;
pub(crate) use jsonpath::JsonPath;

/// The columns of a kind.
#[derive(Clone, Debug)]
pub(crate) enum Columns {
    /// Those of a kind that is built in.
    Builtin(&'static [Column], fn(&Value, Timestamp) -> Vec<Value>),
    /// Those of a definition.
    Custom(Vec<CustomColumn>),
}

/// One column of a kind that is built in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    name: &'static str,
    kind: &'static str,
    /// Above zero only in wide tables.
    priority: u8,
}

/// One column of a definition.
#[derive(Clone, Debug)]
pub(crate) struct CustomColumn {
    name: String,
    kind: String,
    format: String,
    description: String,
    priority: i64,
    path: Option<JsonPath>,
}

impl Columns {
    /// The columns of a kind that is built in; name and age if it has no others.
    pub(crate) fn of_kind(kind: &str) -> Self {
        let (columns, cells) = cells::of_kind(kind);
        Self::Builtin(columns, cells)
    }

    /// The columns of a version of a definition; age if it names none.
    pub(crate) fn of_definition(version: &Value) -> Self {
        let mut columns: Vec<CustomColumn> = items(version, &["additionalPrinterColumns"])
            .map(|column| CustomColumn {
                name: text(column, &["name"]).to_owned(),
                kind: text(column, &["type"]).to_owned(),
                format: text(column, &["format"]).to_owned(),
                description: text(column, &["description"]).to_owned(),
                priority: column.get("priority").and_then(Value::as_i64).unwrap_or(0),
                path: JsonPath::parse(text(column, &["jsonPath"])),
            })
            .collect();
        if at(version, &["additionalPrinterColumns"]).is_none() {
            columns.push(CustomColumn {
                name: "Age".to_owned(),
                kind: "date".to_owned(),
                format: String::new(),
                description: "How long the object has been there.".to_owned(),
                priority: 0,
                path: JsonPath::parse(".metadata.creationTimestamp"),
            });
        }
        Self::Custom(columns)
    }

    fn definitions(&self) -> Vec<Value> {
        let definition = |name: &str, kind: &str, format: &str, description: &str, priority: i64| json!({"name": name, "type": kind, "format": format, "description": description, "priority": priority});
        match self {
            Self::Builtin(columns, _) => columns
                .iter()
                .map(|column| {
                    let format = if column.name == "Name" { "name" } else { "" };
                    definition(column.name, column.kind, format, "", i64::from(column.priority))
                })
                .collect(),
            Self::Custom(columns) => {
                let mut all = vec![definition("Name", "string", "name", "", 0)];
                all.extend(columns.iter().map(|column| {
                    definition(
                        &column.name,
                        &column.kind,
                        &column.format,
                        &column.description,
                        column.priority,
                    )
                }));
                all
            }
        }
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        match self {
            Self::Builtin(_, cells) => cells(object, now),
            Self::Custom(columns) => {
                let mut all = vec![json!(name(object))];
                all.extend(columns.iter().map(|column| column.cell(object, now)));
                all
            }
        }
    }
}

impl CustomColumn {
    fn cell(&self, object: &Value, now: Timestamp) -> Value {
        let found = self.path.as_ref().map(|path| path.find(object)).unwrap_or_default();
        let Some(first) = found.first() else {
            return Value::Null;
        };
        match self.kind.as_str() {
            "date" => json!(age(first.as_str(), now)),
            "string" => match first {
                Value::String(text) => json!(text),
                Value::Null => Value::Null,
                other => json!(other.to_string()),
            },
            "integer" => first.as_i64().map_or(Value::Null, |number| json!(number)),
            "number" => first.as_f64().map_or(Value::Null, |number| json!(number)),
            "boolean" => first.as_bool().map_or(Value::Null, |flag| json!(flag)),
            _ => Value::Null,
        }
    }
}

/// How much of each object a row carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RowObject {
    Nothing,
    #[default]
    Metadata,
    Whole,
}

impl RowObject {
    /// From the query `includeObject`.
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "None" => Self::Nothing,
            "Object" => Self::Whole,
            _ => Self::Metadata,
        }
    }
}

/// A table of objects.
pub(crate) fn table<'a>(
    columns: &Columns,
    objects: impl IntoIterator<Item = &'a Value>,
    list_metadata: &Value,
    include: RowObject,
    now: Timestamp,
) -> Value {
    let rows: Vec<Value> = objects
        .into_iter()
        .map(|object| {
            let mut row = json!({"cells": columns.cells(object, now)});
            match include {
                RowObject::Nothing => {}
                RowObject::Metadata => {
                    row["object"] = json!({
                        "kind": "PartialObjectMetadata",
                        "apiVersion": "meta.k8s.io/v1",
                        "metadata": object.get("metadata"),
                    });
                }
                RowObject::Whole => row["object"] = object.clone(),
            }
            row
        })
        .collect();
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": list_metadata,
        "columnDefinitions": columns.definitions(),
        "rows": rows,
    })
}
