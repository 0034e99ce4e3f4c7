//! The form in which a client wants its answer.

use serde_json::{Value, json};

use crate::failure::Failure;

/// The forms that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The objects themselves.
    Whole,
    /// Their metadata alone.
    Metadata,
    /// Rows for printing.
    Table,
}

impl Form {
    /// The first form of the list that can be had. No list means anything.
    pub(super) fn choose(accept: &str) -> Result<Self, Failure> {
        if accept.trim().is_empty() {
            return Ok(Self::Whole);
        }
        for range in accept.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default();
            if !["application/json", "application/*", "*/*"].contains(&kind) {
                continue;
            }
            let wanted = parts.find_map(|part| part.strip_prefix("as="));
            match wanted {
                None => return Ok(Self::Whole),
                Some("Table") => return Ok(Self::Table),
                Some("PartialObjectMetadata" | "PartialObjectMetadataList") => return Ok(Self::Metadata),
                Some(_) => {}
            }
        }
        Err(Failure::not_acceptable("application/json"))
    }
}

/// An object without anything but its metadata.
pub(super) fn metadata_of(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": object.get("metadata"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_form_that_can_be_had() {
        for (accept, expected) in [
            ("", Form::Whole),
            ("*/*", Form::Whole),
            ("application/vnd.kubernetes.protobuf,application/json", Form::Whole),
            (
                "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
                Form::Table,
            ),
            (
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
                Form::Metadata,
            ),
        ] {
            assert_eq!(Form::choose(accept).unwrap(), expected, "{accept}");
        }
        assert_eq!(Form::choose("application/xml").unwrap_err().code, 406);
    }
}
