//! The metadata of documents that are layered.

use serde_json::{Map, Value};

use crate::deckhand::{
    document::{Action, Depth, Destination, Method, Parts, Source, StoragePolicy, Substitution},
    form::{Form, SCHEMA_PATTERN, is_schema, shown},
    path::Path,
};

impl Form {
    pub(super) fn document_metadata(&mut self, metadata: &Map<String, Value>, parts: &mut Parts) {
        const AT: &str = ".metadata";
        self.required(AT, metadata, &["storagePolicy", "layeringDefinition"]);
        self.only(
            AT,
            metadata,
            &[
                "schema",
                "name",
                "labels",
                "replacement",
                "layeringDefinition",
                "substitutions",
                "storagePolicy",
            ],
        );
        parts.replacement = self.boolean(AT, metadata, "replacement").unwrap_or_default();
        match self.text(AT, metadata, "storagePolicy") {
            Some("encrypted") => parts.storage_policy = StoragePolicy::Encrypted,
            Some("cleartext") | None => {}
            Some(other) => self.push(
                ".metadata.storagePolicy",
                format!("'{other}' is not one of ['encrypted', 'cleartext']"),
            ),
        }
        if let Some(layering) = self.object(AT, metadata, "layeringDefinition") {
            self.layering(layering, parts);
        }
        for (index, value) in self
            .list(AT, metadata, "substitutions")
            .unwrap_or_default()
            .iter()
            .enumerate()
        {
            let at = format!(".metadata.substitutions[{index}]");
            match value.as_object() {
                Some(map) => {
                    if let Some(substitution) = self.substitution(&at, map) {
                        parts.substitutions.push(substitution);
                    }
                }
                None => self.wrong_type(&at, value, "object"),
            }
        }
    }

    fn layering(&mut self, layering: &Map<String, Value>, parts: &mut Parts) {
        const AT: &str = ".metadata.layeringDefinition";
        self.required(AT, layering, &["layer"]);
        self.only(AT, layering, &["layer", "abstract", "parentSelector", "actions"]);
        parts.identity.layer = self.text(AT, layering, "layer").map(str::to_owned);
        parts.is_abstract = self.boolean(AT, layering, "abstract").unwrap_or_default();
        for (one, other) in [("parentSelector", "actions"), ("actions", "parentSelector")] {
            if layering.contains_key(one) && !layering.contains_key(other) {
                self.push(AT, format!("'{other}' is a required property with '{one}'"));
            }
        }
        parts.parent_selector = self.pairs(AT, layering, "parentSelector");
        if parts.parent_selector.is_empty() && layering.get("parentSelector").is_some_and(Value::is_object) {
            self.push(
                &format!("{AT}.parentSelector"),
                "{} does not have enough properties".to_owned(),
            );
        }
        let actions = self.list(AT, layering, "actions");
        if actions.is_some_and(<[_]>::is_empty) {
            self.push(&format!("{AT}.actions"), "[] is too short".to_owned());
        }
        for (index, value) in actions.unwrap_or_default().iter().enumerate() {
            let at = format!("{AT}.actions[{index}]");
            match value.as_object() {
                Some(map) => {
                    if let Some(action) = self.action(&at, map) {
                        parts.actions.push(action);
                    }
                }
                None => self.wrong_type(&at, value, "object"),
            }
        }
    }

    fn action(&mut self, at: &str, map: &Map<String, Value>) -> Option<Action> {
        self.required(at, map, &["method", "path"]);
        self.only(at, map, &["method", "path"]);
        let method = match map.get("method").map(|method| (method, method.as_str())) {
            Some((_, Some("merge"))) => Some(Method::Merge),
            Some((_, Some("replace"))) => Some(Method::Replace),
            Some((_, Some("delete"))) => Some(Method::Delete),
            Some((other, _)) => {
                let message = format!("{} is not one of ['replace', 'delete', 'merge']", shown(other));
                self.push(&format!("{at}.method"), message);
                None
            }
            None => None,
        };
        let written = self.text(at, map, "path")?;
        let path = self.parsed(&format!("{at}.path"), written, Path::parse_action);
        Some(Action {
            method: method?,
            path,
            written: written.to_owned(),
        })
    }

    fn substitution(&mut self, at: &str, map: &Map<String, Value>) -> Option<Substitution> {
        self.required(at, map, &["dest", "src"]);
        self.only(at, map, &["dest", "src"]);
        let mut destinations = Vec::new();
        let here = format!("{at}.dest");
        match map.get("dest") {
            Some(Value::Object(dest)) => destinations.extend(self.destination(&here, dest)),
            Some(Value::Array(dests)) => {
                if dests.is_empty() {
                    self.push(&here, "[] is too short".to_owned());
                }
                for (index, dest) in dests.iter().enumerate() {
                    let here = format!("{here}[{index}]");
                    match dest.as_object() {
                        Some(dest) => destinations.extend(self.destination(&here, dest)),
                        None => self.wrong_type(&here, dest, "object"),
                    }
                }
            }
            Some(other) => self.wrong_type(&here, other, "object"),
            None => {}
        }
        let source = self.object(at, map, "src")?;
        let source = self.source(&format!("{at}.src"), source)?;
        Some(Substitution { source, destinations })
    }

    fn source(&mut self, at: &str, map: &Map<String, Value>) -> Option<Source> {
        self.required(at, map, &["schema", "name", "path"]);
        self.only(
            at,
            map,
            &["schema", "name", "path", "pattern", "match_group", "deepcopy"],
        );
        // Values are never shared between documents here, so the switch has nothing to do; it is checked all the same.
        let _ = self.boolean(at, map, "deepcopy");
        let schema = self.text(at, map, "schema");
        if let Some(schema) = schema.filter(|schema| !is_schema(schema)) {
            self.push(
                &format!("{at}.schema"),
                format!("'{schema}' does not match '{SCHEMA_PATTERN}'"),
            );
        }
        let name = self.text(at, map, "name");
        let written = self.text(at, map, "path");
        let path = written.map(|written| self.parsed(&format!("{at}.path"), written, Path::parse));
        let pattern = self.text(at, map, "pattern");
        let match_group = match map.get("match_group") {
            None => 0,
            Some(value) => value
                .as_u64()
                .and_then(|group| usize::try_from(group).ok())
                .unwrap_or_else(|| {
                    self.push(
                        &format!("{at}.match_group"),
                        format!("{} is not a group number", shown(value)),
                    );
                    0
                }),
        };
        Some(Source {
            schema: schema?.to_owned(),
            name: name?.to_owned(),
            path: path?,
            written: written?.to_owned(),
            pattern: pattern.map(str::to_owned),
            match_group,
        })
    }

    fn destination(&mut self, at: &str, map: &Map<String, Value>) -> Option<Destination> {
        self.required(at, map, &["path"]);
        self.only(at, map, &["path", "pattern", "recurse"]);
        let pattern = self.text(at, map, "pattern").map(str::to_owned);
        let recurse = self.object(at, map, "recurse").and_then(|recurse| {
            let at = format!("{at}.recurse");
            self.required(&at, recurse, &["depth"]);
            let depth = recurse.get("depth")?;
            match depth.as_i64() {
                Some(-1) => Some(Depth::Unlimited),
                Some(levels) if levels >= 0 => Some(usize::try_from(levels).map_or(Depth::Unlimited, Depth::Levels)),
                Some(_) => {
                    self.push(
                        &format!("{at}.depth"),
                        format!("{depth} is less than the minimum of -1"),
                    );
                    None
                }
                None => {
                    self.wrong_type(&format!("{at}.depth"), depth, "integer");
                    None
                }
            }
        });
        let written = self.text(at, map, "path")?;
        let path = self.parsed(&format!("{at}.path"), written, Path::parse);
        Some(Destination {
            path,
            written: written.to_owned(),
            pattern,
            recurse,
        })
    }
}
