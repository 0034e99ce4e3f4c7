//! The second version of the description, with the names of the kinds alone.
//!
//! `kubectl` reads it for one thing: it looks itself whether everything in a `List` is of a kind that there is. What the
//! fields of the items are is checked when they are written.

use serde_json::{Map, Value, json};

use super::path_of;
use crate::resources::Registry;

/// The form that `kubectl` asks for, and takes no other.
pub(crate) const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

/// The same form in the words of an answer.
pub(crate) const PROTOBUF_ANSWER: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

const KIND: &str = "x-kubernetes-group-version-kind";

/// The numbers of the fields that are written.
mod number {
    pub(super) const SWAGGER: u8 = 1;
    pub(super) const INFO: u8 = 2;
    pub(super) const INFO_TITLE: u8 = 1;
    pub(super) const INFO_VERSION: u8 = 2;
    pub(super) const PATHS: u8 = 8;
    pub(super) const DEFINITIONS: u8 = 9;
    /// Of everything that is a list of named values.
    pub(super) const NAMED: u8 = 1;
    pub(super) const NAME: u8 = 1;
    pub(super) const VALUE: u8 = 2;
    pub(super) const SCHEMA_EXTENSION: u8 = 31;
    pub(super) const ANY_YAML: u8 = 2;
}

/// `/openapi/v2`.
pub(crate) fn kinds(registry: &Registry) -> Value {
    let definitions: Map<String, Value> = named(registry)
        .map(|(name, kind)| (name, json!({KIND: [kind]})))
        .collect();
    json!({
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": crate::discovery::version()["gitVersion"]},
        "paths": {},
        "definitions": definitions,
    })
}

/// `/openapi/v2` in the form that `kubectl` asks for.
pub(crate) fn kinds_in_protobuf(registry: &Registry) -> Vec<u8> {
    let mut definitions = Vec::new();
    for (name, kind) in named(registry) {
        // JSON is YAML.
        let yaml = field(number::ANY_YAML, json!([kind]).to_string().as_bytes());
        let extension = [field(number::NAME, KIND.as_bytes()), field(number::VALUE, &yaml)].concat();
        let schema = field(number::SCHEMA_EXTENSION, &extension);
        let definition = [field(number::NAME, name.as_bytes()), field(number::VALUE, &schema)].concat();
        definitions.extend(field(number::NAMED, &definition));
    }
    let version = crate::discovery::version();
    let version = version["gitVersion"].as_str().unwrap_or_default();
    let info = [
        field(number::INFO_TITLE, b"Kubernetes"),
        field(number::INFO_VERSION, version.as_bytes()),
    ]
    .concat();
    [
        field(number::SWAGGER, b"2.0"),
        field(number::INFO, &info),
        field(number::PATHS, b""),
        field(number::DEFINITIONS, &definitions),
    ]
    .concat()
}

/// All kinds, each with a name of its own.
fn named(registry: &Registry) -> impl Iterator<Item = (String, Value)> {
    registry.iter().flat_map(|resource| {
        resource.versions.iter().map(|version| {
            let kind = json!({"group": resource.group, "version": version.name, "kind": resource.kind});
            let name = format!("{}/{}", path_of(&resource.group, &version.name), resource.kind);
            (name.replace('/', "."), kind)
        })
    })
}

/// A field of bytes, as it is on the wire.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut wire = Vec::with_capacity(bytes.len().saturating_add(6));
    varint((u64::from(number) << 3) | 2, &mut wire);
    varint(u64::try_from(bytes.len()).unwrap_or(u64::MAX), &mut wire);
    wire.extend_from_slice(bytes);
    wire
}

fn varint(mut number: u64, into: &mut Vec<u8>) {
    loop {
        let low = u8::try_from(number & 0x7f).unwrap_or(0x7f);
        number >>= 7;
        if number == 0 {
            into.push(low);
            return;
        }
        into.push(low | 0x80);
    }
}
