//! The description of the API: made from the list of endpoints, and a page for people made from it.

mod page;

use std::sync::Arc;

use axum::{Router, response::Html, routing::get};
use berth_api::Failure;
use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::{
    body::JsonReply,
    endpoint::{self, Content, Endpoint, Family, Kind, Parameter},
    state::ApiState,
};

/// Which paths have no family: the description does not describe itself.
pub(super) const OWN_PATHS: [&str; 2] = ["/openapi.json", "/docs"];

/// The description of every endpoint.
#[derive(Clone, Debug)]
pub(super) struct Description {
    document: Arc<Value>,
    page: Arc<str>,
}

impl Description {
    pub(super) fn new(endpoints: &[Endpoint]) -> Self {
        Self {
            document: Arc::new(document(endpoints)),
            page: Arc::from(page::render(endpoints)),
        }
    }

    pub(super) fn to_json(&self) -> Value {
        Value::clone(&self.document)
    }

    /// The routes that show it.
    pub(super) fn routes(self) -> Router<ApiState> {
        let Self { document, page } = self;
        let [json, html] = OWN_PATHS;
        Router::new()
            .route(json, get(async move || JsonReply(Value::clone(&document))))
            .route(html, get(async move || Html(page.to_string())))
    }
}

fn document(endpoints: &[Endpoint]) -> Value {
    let mut schemas = generator();
    let mut paths: Map<String, Value> = Map::new();
    for endpoint in endpoints {
        let item = paths.entry(endpoint.path).or_insert_with(|| json!({}));
        if let Value::Object(item) = item {
            item.insert(
                endpoint.method.as_str().to_ascii_lowercase(),
                operation(endpoint, &mut schemas),
            );
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Berth",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Documents in revisions, their staging, and relabelling as one action. Compatible with Deckhand, Shipyard, Drydock and Promenade.",
        },
        "tags": Family::ALL.map(|family| json!({"name": family.name()})),
        "paths": paths,
        "components": {
            "schemas": schemas.take_definitions(true),
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "token": {"type": "apiKey", "in": "header", "name": "X-Auth-Token"},
            },
        },
    })
}

/// Makes schemas of types, as they are written into answers. `OpenAPI` 3.1 has the schemas of JSON Schema itself.
fn generator() -> SchemaGenerator {
    let place = |settings: &mut SchemaSettings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    };
    SchemaSettings::draft2020_12()
        .for_serialize()
        .with(place)
        .into_generator()
}

fn operation(endpoint: &Endpoint, schemas: &mut SchemaGenerator) -> Value {
    let mut operation = Map::new();
    operation.insert("operationId".to_owned(), Value::from(endpoint.id));
    operation.insert("tags".to_owned(), json!([endpoint.family.name()]));
    operation.insert("summary".to_owned(), Value::from(endpoint.summary));
    if !endpoint.description.is_empty() {
        operation.insert("description".to_owned(), Value::from(endpoint.description));
    }
    match endpoint.rule {
        None => operation.insert("security".to_owned(), json!([])),
        Some(rule) => {
            // The rule's name, for those who hand out rights.
            operation.insert("x-berth-rule".to_owned(), Value::from(rule.name));
            operation.insert("security".to_owned(), json!([{"bearer": []}, {"token": []}]))
        }
    };
    let parameters: Vec<Value> = path_parameters(endpoint.path)
        .map(path_parameter)
        .chain(endpoint.parameters.iter().map(query_parameter))
        .collect();
    if !parameters.is_empty() {
        operation.insert("parameters".to_owned(), Value::Array(parameters));
    }
    if let Some(body) = endpoint.body {
        operation.insert("requestBody".to_owned(), json!({"content": content(body, schemas)}));
    }
    let mut responses = Map::new();
    for reply in endpoint.replies {
        let mut response = json!({"description": reply.description});
        if let (Some(body), Value::Object(response)) = (reply.content, &mut response) {
            response.insert("content".to_owned(), content(body, schemas));
        }
        responses.insert(reply.status.as_u16().to_string(), response);
    }
    // What the listener refuses is in JSON everywhere.
    let mut refusal = content(endpoint::json::<Failure>(), schemas);
    if let (Family::Deckhand, Value::Object(refusal)) = (endpoint.family, &mut refusal) {
        let yaml = endpoint::yaml::<Failure>();
        refusal.insert(yaml.media_type.to_owned(), json!({"schema": (yaml.schema)(schemas)}));
    }
    let refusal = json!({"description": "What is wrong.", "content": refusal});
    responses.insert("default".to_owned(), refusal);
    operation.insert("responses".to_owned(), Value::Object(responses));
    Value::Object(operation)
}

/// The names in braces.
pub(super) fn path_parameters(path: &str) -> impl Iterator<Item = &str> {
    path.split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

fn path_parameter(name: &str) -> Value {
    let schema = match name {
        "revision_id" | "comparison_revision_id" | "entry_id" => json!({"type": "integer", "minimum": 0}),
        _ => json!({"type": "string"}),
    };
    json!({"name": name, "in": "path", "required": true, "schema": schema})
}

fn query_parameter(parameter: &Parameter) -> Value {
    let one = match parameter.kind {
        Kind::Text => json!({"type": "string"}),
        Kind::Truth => json!({"type": "boolean"}),
        Kind::Number => json!({"type": "integer", "minimum": 0}),
        Kind::OneOf(values) => json!({"type": "string", "enum": values}),
    };
    let schema = if parameter.repeated {
        json!({"type": "array", "items": one})
    } else {
        one
    };
    json!({"name": parameter.name, "in": "query", "description": parameter.description, "schema": schema})
}

fn content(content: Content, schemas: &mut SchemaGenerator) -> Value {
    json!({content.media_type: {"schema": (content.schema)(schemas)}})
}
