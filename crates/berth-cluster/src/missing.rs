//! What an API server says about something that is not there.

use kube::core::Status;

/// Whether what was asked for is not there: the object, or its whole kind. A path without a definition is answered with plain
/// text, which has a code and no reason, so `Status::is_not_found` alone would take it for trouble.
pub fn is_missing(status: &Status) -> bool {
    status.is_not_found() || status.code == 404
}

/// Whether the cluster does not have the kind that was asked for, rather than the object.
pub fn is_missing_kind(status: &Status) -> bool {
    // A missing object is named in the details.
    let named = status.details.as_ref().is_some_and(|details| !details.name.is_empty());
    is_missing(status) && !named
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn kinds_and_objects_are_told_apart() {
        let kind = Status::failure("404 page not found", "Failed to parse error data").with_code(404);
        assert!(is_missing(&kind) && is_missing_kind(&kind));
        let object: Status = serde_json::from_value(json!({
            "status": "Failure", "message": "namespaces \"kube-system\" not found", "reason": "NotFound", "code": 404,
            "details": {"name": "kube-system", "kind": "namespaces"},
        }))
        .unwrap();
        assert!(is_missing(&object) && !is_missing_kind(&object));
        for other in [401, 403, 409, 500, 503] {
            let other = Status::failure("404 page not found", "Failed to parse error data").with_code(other);
            assert!(!is_missing(&other) && !is_missing_kind(&other));
        }
    }
}
