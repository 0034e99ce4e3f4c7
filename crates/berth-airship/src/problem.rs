//! Answers that say no, in the words of the service whose route it is.

use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use berth_api::{
    ApiVersion, Diagnostic, Empty, Failure, FailureDetails, FailureKind, FoundIn, Level, Message, MessageKind,
    StatusWord, Violation,
};
use berth_documents::{deckhand::ReadError, emit::to_yaml};
use berth_repository::{ConfigdocsError, Error};

use super::endpoint::Family;

/// The type of Deckhand's bodies.
pub(super) const YAML: HeaderValue = HeaderValue::from_static("application/x-yaml");
/// The type of Shipyard's bodies.
pub(super) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// What Deckhand files findings about the form of documents under.
const FORM_FINDING: &str = "D001";
/// What Deckhand files findings about rendered documents under.
const RENDERED_FINDING: &str = "D002";

/// What goes wrong for one request. Boxed, because most requests go well and should not carry the room for it.
#[derive(Debug)]
pub(super) struct Problem(Box<Refusal>);

#[derive(Debug)]
struct Refusal {
    family: Family,
    status: StatusCode,
    message: String,
    reason: String,
    error_type: &'static str,
    messages: Vec<Message>,
    retry: bool,
    header: Option<(HeaderName, HeaderValue)>,
}

impl Problem {
    /// A refusal that Deckhand's framework makes: it says what, under the class of the error.
    pub(super) fn deckhand(status: StatusCode, error_type: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self(Box::new(Refusal {
            family: Family::Deckhand,
            status,
            messages: vec![Message::error(&*message)],
            message,
            reason: "Unspecified".to_owned(),
            error_type,
            retry: status == StatusCode::INTERNAL_SERVER_ERROR,
            header: None,
        }))
    }

    /// A refusal of Shipyard's: a title, and a description that is repeated in the list.
    pub(super) fn shipyard(status: StatusCode, title: impl Into<String>, description: impl Into<String>) -> Self {
        let reason = description.into();
        let is_server_error = status.is_server_error();
        Self(Box::new(Refusal {
            family: Family::Shipyard,
            status,
            message: title.into(),
            messages: vec![Message::error(&*reason)],
            reason,
            error_type: if is_server_error { "AppError" } else { "ApiError" },
            retry: false,
            header: None,
        }))
    }

    /// A refusal of the framework under either service. Shipyard puts description and title the other way round then.
    pub(super) fn framework(family: Family, status: StatusCode, error_type: &'static str, description: &str) -> Self {
        match family {
            Family::Deckhand => Self::deckhand(status, error_type, description),
            Family::Drydock => Self::drydock(status, description),
            Family::Shipyard | Family::Promenade => {
                let title = status.canonical_reason().unwrap_or("Error");
                let mut problem = Self::shipyard(status, description, title);
                problem.0.error_type = error_type;
                problem.0.messages = vec![Message::error(description)];
                problem
            }
        }
    }

    /// A refusal of Drydock's, which says it in one message. Everything that the others say stands beside it.
    pub(super) fn drydock(status: StatusCode, message: impl Into<String>) -> Self {
        let message = message.into();
        let mut problem = Self::shipyard(status, message.clone(), message);
        problem.0.family = Family::Drydock;
        problem
    }

    /// A refusal of somebody who is not known, or may not.
    pub(super) fn access(family: Family, status: StatusCode, title: &'static str, description: &str) -> Self {
        match family {
            Family::Deckhand => Self::deckhand(status, "HTTPUnauthorized", description),
            Family::Drydock => {
                let mut problem = Self::drydock(status, title);
                description.clone_into(&mut problem.0.reason);
                problem
            }
            Family::Shipyard | Family::Promenade => Self::shipyard(status, title, description),
        }
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::deckhand(StatusCode::BAD_REQUEST, "HTTPBadRequest", message)
    }

    pub(super) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.header = Some((name, value));
        self
    }

    /// Says more in the list of messages; nothing more if there is nothing.
    pub(super) fn with_messages(mut self, messages: Vec<Message>) -> Self {
        if !messages.is_empty() {
            self.0.messages = messages;
        }
        self
    }

    #[cfg(test)]
    pub(super) fn status(&self) -> StatusCode {
        self.0.status
    }

    pub(super) fn retry(mut self) -> Self {
        self.0.retry = true;
        self
    }
}

impl Refusal {
    /// The family, the status and a header of the answer are beside its body.
    fn body(self) -> Failure {
        let line = match self.status.canonical_reason() {
            Some(reason) => format!("{} {reason}", self.status.as_u16()),
            None => self.status.as_u16().to_string(),
        };
        Failure {
            kind: match self.family {
                Family::Deckhand => FailureKind::Status,
                Family::Shipyard | Family::Drydock | Family::Promenade => FailureKind::Lowercase,
            },
            api_version: ApiVersion::V1,
            metadata: Empty {},
            status: StatusWord::Failure,
            message: self.message,
            reason: self.reason,
            details: Some(FailureDetails {
                error_type: self.error_type.to_owned(),
                error_count: self.messages.iter().filter(|message| message.is_error()).count(),
                message_list: self.messages,
            }),
            code: line,
            retry: self.retry,
            error: (self.family == Family::Drydock).then(|| "error".to_owned()),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Self(mut refusal) = self;
        let (family, status, header) = (refusal.family, refusal.status, refusal.header.take());
        // It is made of texts and numbers, which can be written.
        let document = serde_json::to_value(refusal.body()).unwrap_or_default();
        let (kind, text) = match family {
            Family::Deckhand => (YAML, to_yaml(&document)),
            Family::Shipyard | Family::Drydock | Family::Promenade => (JSON, format!("{document}\n")),
        };
        let mut response = Response::new(Body::from(text));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, kind);
        if let Some((name, value)) = header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let status = status(error.status());
        if error.is_internal() {
            return Self::internal(Family::Deckhand, &error);
        }
        let mut problem = Self::deckhand(status, error.class(), error.to_string());
        match &error {
            Error::Read(ReadError::Form(found)) => {
                "Validation".clone_into(&mut problem.0.reason);
                problem.0.messages = found
                    .errors
                    .iter()
                    .map(|wrong| {
                        let document = FoundIn {
                            schema: wrong.document.schema.clone(),
                            name: wrong.document.name.clone(),
                            layer: wrong.document.layer.clone(),
                        };
                        let place = Diagnostic {
                            path: wrong.path.clone(),
                            schema_path: None,
                        };
                        violation(FORM_FINDING, &wrong.message, document, place)
                    })
                    .collect();
            }
            Error::Invalid { violations } => {
                "Validation".clone_into(&mut problem.0.reason);
                problem.0.messages = violations
                    .iter()
                    .map(|wrong| {
                        let document = FoundIn {
                            schema: Some(wrong.document.schema.clone()),
                            name: Some(wrong.document.name.clone()),
                            layer: wrong.document.layer.clone(),
                        };
                        let place = Diagnostic {
                            path: wrong.path.clone(),
                            schema_path: Some(wrong.schema_path.clone()),
                        };
                        violation(RENDERED_FINDING, &wrong.message, document, place)
                    })
                    .collect();
            }
            Error::Render(errors) => {
                problem.0.message = errors.first().to_string();
                problem.0.messages = errors.iter().map(|error| Message::error(error.to_string())).collect();
            }
            _ => {}
        }
        problem
    }
}

impl From<ConfigdocsError> for Problem {
    fn from(error: ConfigdocsError) -> Self {
        if let ConfigdocsError::Repository(inner) = &error
            && inner.is_internal()
        {
            return Self::internal(Family::Shipyard, inner);
        }
        let mut problem = Self::shipyard(status(error.status()), error.title(), error.to_string());
        if let Some(advice) = error.advice() {
            problem.0.messages = vec![Message::error(advice)];
        }
        if let ConfigdocsError::Unsuitable(inner) | ConfigdocsError::NotRendered(inner) = &error {
            problem.0.messages = details(inner);
        }
        problem.0.retry = error.retry();
        problem
    }
}

impl Problem {
    /// What only the log should know stays in the log.
    fn internal(family: Family, error: &Error) -> Self {
        tracing::error!(error = error as &dyn std::error::Error, "a request failed");
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        // A message of its own: the causes may name hosts and files.
        let message = error.to_string();
        match family {
            Family::Deckhand => Self::deckhand(status, "HTTPInternalServerError", message),
            Family::Drydock => Self::drydock(status, message).retry(),
            Family::Shipyard | Family::Promenade => Self::shipyard(status, "Internal Server Error", message).retry(),
        }
    }
}

/// Every reason behind an error, for a list of messages.
fn details(error: &Error) -> Vec<Message> {
    let simple = |text: String| Message::error(text);
    match error {
        Error::Read(ReadError::Form(found)) => found.errors.iter().map(|it| simple(it.to_string())).collect(),
        Error::Invalid { violations } => violations.iter().map(|it| simple(it.to_string())).collect(),
        Error::Render(errors) => errors.iter().map(|it| simple(it.to_string())).collect(),
        other => vec![simple(other.to_string())],
    }
}

fn violation(name: &str, message: &str, document: FoundIn, diagnostic: Diagnostic) -> Message {
    Message::Violation(Violation {
        message: message.to_owned(),
        error: true,
        name: name.to_owned(),
        documents: vec![document],
        level: Level::Error,
        diagnostic,
        kind: MessageKind::ValidationMessage,
    })
}

fn status(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
