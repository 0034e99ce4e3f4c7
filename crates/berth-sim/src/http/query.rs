//! What the query of a request says.

use std::time::Duration;

use serde_json::Value;

use crate::{
    cluster::{DeleteOptions, FieldValidation, ListOptions, WatchOptions, WriteOptions},
    failure::{Cause, Failure},
    object::text,
    table::RowObject,
};

/// The pairs of a query.
#[derive(Clone, Debug, Default)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    pub(super) fn parse(query: &str) -> Self {
        Self(
            query
                .split('&')
                .filter(|pair| !pair.is_empty())
                .map(|pair| {
                    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (decoded(key), decoded(value))
                })
                .collect(),
        )
    }

    pub(super) fn text(&self, key: &str) -> &str {
        self.0
            .iter()
            .find(|(found, _)| found == key)
            .map(|(_, value)| value.as_str())
            .unwrap_or_default()
    }

    fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(found, _)| found == key)
    }

    pub(super) fn flag(&self, key: &str) -> bool {
        self.has(key) && !["false", "0"].contains(&self.text(key))
    }

    fn number(&self, key: &str) -> Result<Option<u64>, Failure> {
        match self.text(key) {
            "" => Ok(None),
            text => text
                .parse()
                .map(Some)
                .map_err(|_| Failure::bad_request(format!("{key} must be a number and is \"{text}\""))),
        }
    }

    pub(super) fn row_object(&self) -> RowObject {
        RowObject::named(self.text("includeObject"))
    }

    fn dry_run(&self) -> Result<bool, Failure> {
        match self.text("dryRun") {
            "" => Ok(false),
            "All" => Ok(true),
            other => Err(Failure::bad_request(format!(
                "dryRun: Unsupported value: \"{other}\": supported values: \"All\""
            ))),
        }
    }

    pub(super) fn write_options(&self) -> Result<WriteOptions, Failure> {
        let manager = self.text("fieldManager");
        if manager.len() > 128 {
            return Err(Failure::bad_request(
                "fieldManager: Too long: may not be more than 128 bytes",
            ));
        }
        Ok(WriteOptions {
            dry_run: self.dry_run()?,
            manager: (!manager.is_empty()).then(|| manager.to_owned()),
            force: self.flag("force"),
            validation: match self.text("fieldValidation") {
                "Ignore" => FieldValidation::Ignore,
                "" | "Warn" => FieldValidation::Warn,
                "Strict" => FieldValidation::Strict,
                other => {
                    return Err(Failure::bad_request(format!(
                        "fieldValidation: Unsupported value: \"{other}\": supported values: \"Ignore\", \"Warn\", \
                         \"Strict\""
                    )));
                }
            },
        })
    }

    pub(super) fn list_options(&self) -> Result<ListOptions, Failure> {
        if self.text("resourceVersion").is_empty() && !self.text("resourceVersionMatch").is_empty() {
            let field = "resourceVersionMatch";
            let cause = Cause::forbidden(
                field,
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            );
            return Err(Failure::invalid("ListOptions", "meta.k8s.io", "", &[cause]));
        }
        Ok(ListOptions {
            labels: self.text("labelSelector").to_owned(),
            fields: self.text("fieldSelector").to_owned(),
            limit: self
                .number("limit")?
                .and_then(|limit| usize::try_from(limit).ok())
                .unwrap_or(0),
            continue_from: self.text("continue").to_owned(),
            revision: self.text("resourceVersion").to_owned(),
            revision_match: self.text("resourceVersionMatch").to_owned(),
        })
    }

    pub(super) fn watch_options(&self) -> Result<WatchOptions, Failure> {
        let initial_events = self.flag("sendInitialEvents");
        if initial_events && self.text("resourceVersionMatch") != "NotOlderThan" {
            return Err(Failure::bad_request(
                "sendInitialEvents: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            ));
        }
        Ok(WatchOptions {
            labels: self.text("labelSelector").to_owned(),
            fields: self.text("fieldSelector").to_owned(),
            revision: self.text("resourceVersion").to_owned(),
            bookmarks: self.flag("allowWatchBookmarks"),
            initial_events,
            timeout: self.number("timeoutSeconds")?.map(Duration::from_secs),
        })
    }

    /// From the body, and from the query where the body says nothing.
    pub(super) fn delete_options(&self, body: &Value) -> Result<DeleteOptions, Failure> {
        let number = |key: &str| body.get(key).and_then(Value::as_i64);
        let words = |path: &[&str]| {
            let found = text(body, path);
            (!found.is_empty()).then(|| found.to_owned())
        };
        let own_dry_run = body
            .get("dryRun")
            .and_then(Value::as_array)
            .is_some_and(|values| values.iter().any(|value| value == "All"));
        let grace = number("gracePeriodSeconds");
        let grace = match grace {
            Some(grace) => Some(grace),
            None => self
                .number("gracePeriodSeconds")?
                .and_then(|grace| i64::try_from(grace).ok()),
        };
        let propagation = self.text("propagationPolicy");
        Ok(DeleteOptions {
            dry_run: own_dry_run || self.dry_run()?,
            grace_seconds: grace,
            propagation: words(&["propagationPolicy"])
                .or_else(|| (!propagation.is_empty()).then(|| propagation.to_owned())),
            uid: words(&["preconditions", "uid"]),
            revision: words(&["preconditions", "resourceVersion"]),
        })
    }
}

/// Undoes percent encoding. What is not a code stays as it is.
pub(super) fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| first == b'%').and_then(|digits| {
            let digits = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(digits, 16).ok()
        });
        match (first, code) {
            (_, Some(byte)) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            (b'+', None) => {
                bytes.push(b' ');
                rest = after;
            }
            (byte, None) => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_decoded() {
        let query = Query::parse("labelSelector=a%3Db%2Cc+in+%28d%29&watch=1&limit=5&broken=%zz%4");
        assert_eq!(query.text("labelSelector"), "a=b,c in (d)");
        assert!(query.flag("watch"));
        assert_eq!(query.list_options().unwrap().limit, 5);
        assert_eq!(query.text("broken"), "%zz%4");
        assert!(Query::parse("limit=x").list_options().is_err());
        assert!(Query::parse("dryRun=Some").write_options().is_err());
    }
}
