//! What a client is told when the answer is no: the `Status` object.

use serde_json::{Value, json};
use thiserror::Error;

/// The reason of a refusal that real API servers do not tell as a `Status`: nothing is served below that path.
pub(crate) const NO_SUCH_GROUP: &str = "NoSuchGroup";

/// A refusal, with everything that the `Status` object says.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{message}")]
pub struct Failure {
    /// The HTTP status code.
    pub code: u16,
    /// The word that programs look at.
    pub reason: &'static str,
    /// The sentence that people look at.
    pub message: String,
    /// What it is about, and the single causes.
    pub details: Option<Box<Value>>,
}

/// One thing that is wrong with an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The path of the field.
    pub field: String,
    /// The kind of problem: `FieldValueInvalid` and the like.
    pub reason: &'static str,
    /// What is wrong, without the field.
    pub message: String,
}

impl Cause {
    /// The field must be there.
    pub(crate) fn required(field: impl Into<String>, more: &str) -> Self {
        let message = if more.is_empty() {
            "Required value".to_owned()
        } else {
            format!("Required value: {more}")
        };
        Self {
            field: field.into(),
            reason: "FieldValueRequired",
            message,
        }
    }

    /// The value is none that the field may have.
    pub(crate) fn invalid(field: impl Into<String>, value: &Value, why: &str) -> Self {
        Self {
            field: field.into(),
            reason: "FieldValueInvalid",
            message: format!("Invalid value: {value}: {why}"),
        }
    }

    /// The value is of another type.
    pub(crate) fn wrong_type(field: &str, wanted: &str, found: &str) -> Self {
        Self {
            field: field.to_owned(),
            reason: "FieldValueTypeInvalid",
            message: format!("Invalid value: \"{found}\": {field} in body must be of type {wanted}: \"{found}\""),
        }
    }

    /// Rules in CEL are not looked at where the schema is not met.
    pub(crate) fn rules_not_checked() -> Self {
        Self {
            field: "<nil>".to_owned(),
            reason: "FieldValueInvalid",
            message: "Invalid value: null: some validation rules were not checked because the object was invalid; \
                      correct the existing errors to complete validation"
                .to_owned(),
        }
    }

    /// The value is not in the list of those allowed.
    pub(crate) fn unsupported(field: impl Into<String>, value: &Value, supported: &[Value]) -> Self {
        let supported: Vec<String> = supported.iter().map(Value::to_string).collect();
        Self {
            field: field.into(),
            reason: "FieldValueNotSupported",
            message: format!("Unsupported value: {value}: supported values: {}", supported.join(", ")),
        }
    }

    /// The value is longer, or has more items, than it may.
    pub(crate) fn too_much(field: &str, length: u64, most: u64, unit: &str) -> Self {
        let (reason, message) = if unit == "chars long" {
            (
                "FieldValueTooLong",
                format!("Too long: may not be more than {most} bytes"),
            )
        } else {
            (
                "FieldValueTooMany",
                format!("Too many: {length}: must have at most {most} items"),
            )
        };
        Self {
            field: field.to_owned(),
            reason,
            message,
        }
    }

    /// The value is there a second time.
    pub(crate) fn duplicate(field: impl Into<String>, value: &Value) -> Self {
        Self {
            field: field.into(),
            reason: "FieldValueDuplicate",
            message: format!("Duplicate value: {value}"),
        }
    }

    /// The value must not be given here.
    pub(crate) fn forbidden(field: impl Into<String>, why: &str) -> Self {
        Self {
            field: field.into(),
            reason: "FieldValueForbidden",
            message: format!("Forbidden: {why}"),
        }
    }
}

impl Failure {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: None,
        }
    }

    fn about(mut self, details: Value) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// The request makes no sense.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// Nobody knows who asks.
    pub(crate) fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// Who asks may not do this.
    pub(crate) fn forbidden(resource: &str, name: &str, why: &str) -> Self {
        let what = if name.is_empty() {
            resource.to_owned()
        } else {
            format!("{resource} \"{name}\"")
        };
        Self::new(403, "Forbidden", format!("{what} is forbidden: {why}"))
            .about(json!({"name": name, "kind": resource}))
    }

    /// No object of this name. `resource` is the plural with its group, such as `berths.berth.dev`.
    pub(crate) fn not_found(resource: &str, name: &str) -> Self {
        let (kind, group) = resource.split_once('.').unwrap_or((resource, ""));
        let mut details = json!({"name": name, "kind": kind});
        if !group.is_empty() {
            details["group"] = json!(group);
        }
        Self::new(404, "NotFound", format!("{resource} \"{name}\" not found")).about(details)
    }

    /// No such path.
    pub(crate) fn no_such_path() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource").about(json!({}))
    }

    /// No such group, or no such version of it.
    pub(crate) fn no_such_group() -> Self {
        Self::new(404, NO_SUCH_GROUP, "the server could not find the requested resource")
    }

    /// The path is there, but not for this method.
    pub(crate) fn method_not_allowed() -> Self {
        Self::new(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
    }

    /// None of the content types that the client takes.
    pub(crate) fn not_acceptable(offered: &str) -> Self {
        Self::new(
            406,
            "NotAcceptable",
            format!("only the following media types are accepted: {offered}"),
        )
    }

    /// An object of this name is there already.
    pub(crate) fn already_exists(resource: &str, name: &str) -> Self {
        Self::new(409, "AlreadyExists", format!("{resource} \"{name}\" already exists"))
            .about(json!({"name": name, "kind": resource}))
    }

    /// Somebody else was faster.
    pub(crate) fn conflict(resource: &str, name: &str, why: &str) -> Self {
        Self::new(
            409,
            "Conflict",
            format!("Operation cannot be fulfilled on {resource} \"{name}\": {why}"),
        )
        .about(json!({"name": name, "kind": resource}))
    }

    /// The object is not the one that the client read.
    pub(crate) fn modified(resource: &str, name: &str) -> Self {
        Self::conflict(
            resource,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    /// Another manager owns the fields. The causes name manager and field.
    pub(crate) fn apply_conflict(message: String, causes: &[Value]) -> Self {
        Self::new(409, "Conflict", message).about(json!({"causes": causes}))
    }

    /// The revision is no longer known.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// The content type of the body is none that is read here.
    pub(crate) fn unsupported_media_type(accepted: &str) -> Self {
        Self::new(
            415,
            "UnsupportedMediaType",
            format!("the body of the request was in an unknown format - accepted media types include: {accepted}"),
        )
    }

    /// A patch of a kind that nobody knows.
    pub(crate) fn unknown_patch() -> Self {
        Self::new(415, "UnsupportedMediaType", "415: Unsupported Media Type")
    }

    /// An object that is new cannot have been seen before. Real API servers give no reason and blame themselves.
    pub(crate) fn already_versioned() -> Self {
        Self::new(500, "", "resourceVersion should not be set on objects to be created")
    }

    /// The object breaks its rules.
    pub(crate) fn invalid(kind: &str, group: &str, name: &str, causes: &[Cause]) -> Self {
        let what = if group.is_empty() {
            kind.to_owned()
        } else {
            format!("{kind}.{group}")
        };
        let all: Vec<String> = causes
            .iter()
            .map(|cause| format!("{}: {}", cause.field, cause.message))
            .collect();
        let said = match all.as_slice() {
            [only] => only.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let listed: Vec<Value> = causes
            .iter()
            .map(|cause| json!({"reason": cause.reason, "message": cause.message, "field": cause.field}))
            .collect();
        let mut details = json!({"name": name, "kind": kind, "causes": listed});
        if !group.is_empty() {
            details["group"] = json!(group);
        }
        Self::new(422, "Invalid", format!("{what} \"{name}\" is invalid: {said}")).about(details)
    }

    /// The client is to try again later.
    pub(crate) fn too_many_requests(message: impl Into<String>, causes: &Value) -> Self {
        Self::new(429, "TooManyRequests", message).about(json!({"causes": causes}))
    }

    /// A webhook says no, with its own status or none.
    pub(crate) fn denied_by_webhook(webhook: &str, status: Option<&Value>) -> Self {
        let text = |key: &str| status.and_then(|status| status.get(key)).and_then(Value::as_str);
        let denied = format!("admission webhook \"{webhook}\" denied the request");
        let message = match (text("message"), text("reason")) {
            (Some(message), _) if !message.is_empty() => format!("{denied}: {message}"),
            (_, Some(reason)) if !reason.is_empty() => format!("{denied}: {reason}"),
            _ => format!("{denied} without explanation"),
        };
        let code = status.and_then(|status| status.get("code")).and_then(Value::as_u64);
        // A refusal is never told with a code that means success.
        let code = code.and_then(|code| u16::try_from(code).ok()).unwrap_or(400).max(400);
        let reason = match text("reason") {
            Some("Forbidden") => "Forbidden",
            Some("Invalid") => "Invalid",
            Some("Conflict") => "Conflict",
            _ => "",
        };
        Self::new(code, reason, message)
    }

    /// A validating policy says no.
    pub(crate) fn denied_by_policy(resource: (&str, &str), name: &str, message: &str, reason: &str) -> Self {
        let (code, reason) = match reason {
            "Forbidden" => (403, "Forbidden"),
            "Unauthorized" => (401, "Unauthorized"),
            "RequestEntityTooLarge" => (413, "RequestEntityTooLarge"),
            _ => (422, "Invalid"),
        };
        let (plural, group) = resource;
        let full = if group.is_empty() {
            plural.to_owned()
        } else {
            format!("{plural}.{group}")
        };
        let mut details = json!({"name": name, "kind": plural, "causes": [{"message": message}]});
        if !group.is_empty() {
            details["group"] = json!(group);
        }
        Self::new(code, reason, format!("{full} \"{name}\" is forbidden: {message}")).about(details)
    }

    /// A mutating policy cannot be evaluated, and that matters. The code does not fit the reason, on real API servers too.
    pub(crate) fn refused_by_mutation(plural: &str, group: &str, name: &str, messages: &[String]) -> Self {
        let causes: Vec<Value> = messages.iter().map(|message| json!({"message": message})).collect();
        let mut details = json!({"name": name, "kind": plural, "causes": causes});
        if !group.is_empty() {
            details["group"] = json!(group);
        }
        let first = messages.first().cloned().unwrap_or_default();
        Self::new(403, "Invalid", first).about(details)
    }

    /// Something is wrong here and not with the client.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(
            500,
            "InternalError",
            format!("Internal error occurred: {}", message.into()),
        )
    }

    /// A time limit was reached.
    pub(crate) fn timeout(message: impl Into<String>) -> Self {
        Self::new(504, "Timeout", message)
    }

    /// The `Status` object.
    pub fn to_status(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code,
        });
        if let Some(details) = &self.details {
            status["details"] = (**details).clone();
        }
        status
    }
}
