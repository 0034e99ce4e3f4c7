//! What an answer means that is not the wanted one.

use std::time::Duration;

use kube::core::{Status, request};
use thiserror::Error;

/// Why something was not read or written.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The right to write has ended; nothing was sent.
    #[error("this process may not write any more: another one has the lease")]
    NotHeld,
    /// No answer came in time. What was asked for may have been done or not.
    #[error("the API server did not answer in time")]
    Timeout,
    /// The API server could not be asked, or said no.
    #[error("the API server refused")]
    Refused(#[source] kube::Error),
    /// What was decided about has changed.
    #[error("the Node is not any more as it was when it was decided about")]
    Outdated,
    /// The patch is not for the object that it was computed from; nothing was sent.
    #[error("a patch of a Node is not sent: {0}")]
    Unbound(&'static str),
    /// An error in this program.
    #[error("the write broke off")]
    Broken,
}

/// What to do after an answer that is not the wanted one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// No Node can be called so; nothing was sent.
    Unnameable(String),
    /// There is no such object.
    Missing,
    /// Somebody was faster: read and decide again.
    Conflict,
    /// The API server does not take what was sent.
    Refused(String),
    /// The role of this program does not allow it, whatever is sent.
    Forbidden(String),
    /// Wait, at least that long, and try again. The request may have been carried out or not.
    Wait(Option<Duration>, String),
    /// Nothing may be sent any more.
    NotHeld,
}

impl WriteError {
    /// What to do about it.
    pub fn trouble(&self) -> Trouble {
        let error = match self {
            Self::NotHeld => return Trouble::NotHeld,
            Self::Outdated => return Trouble::Conflict,
            Self::Unbound(_) => return Trouble::Refused(self.to_string()),
            Self::Timeout | Self::Broken => return Trouble::Wait(None, self.to_string()),
            Self::Refused(error) => error,
        };
        if let kube::Error::BuildRequest(request::Error::Validation(problem)) = error {
            return Trouble::Unnameable(problem.clone());
        }
        let kube::Error::Api(status) = error else {
            return Trouble::Wait(None, told(error));
        };
        match status.code {
            404 => Trouble::Missing,
            409 => Trouble::Conflict,
            401 => Trouble::Forbidden(status.message.clone()),
            403 if is_by_role(status) => Trouble::Forbidden(status.message.clone()),
            400 | 403 | 413 | 415 | 422 => Trouble::Refused(status.message.clone()),
            _ => {
                let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
                let after = (seconds > 0).then(|| Duration::from_secs(seconds.into()));
                Trouble::Wait(after, status.message.clone())
            }
        }
    }

    /// How long the API server asks to be left alone.
    pub fn retry_after(&self) -> Option<Duration> {
        match self.trouble() {
            Trouble::Wait(after, _) => after,
            _ => None,
        }
    }

    /// Somebody else was faster: what was decided has to be decided again.
    pub fn is_outdated(&self) -> bool {
        matches!(self.trouble(), Trouble::Conflict | Trouble::Missing)
    }

    /// What was to be made exists.
    pub fn is_already_there(&self) -> bool {
        matches!(self, Self::Refused(kube::Error::Api(status)) if status.is_already_exists())
    }

    /// Another version is there than the one the write was for.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused(kube::Error::Api(status)) if status.is_conflict() && !status.is_already_exists())
    }
}

/// Whether the role of this program forbids it, rather than what was sent.
fn is_by_role(status: &Status) -> bool {
    status.message.contains("cannot patch resource") || status.message.contains("cannot get resource")
}

/// An error with all that caused it: the cause is what helps.
pub fn told(error: &kube::Error) -> String {
    if let kube::Error::Api(status) = error {
        return status.message.clone();
    }
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(code: u16, message: &str, retry_after: u32) -> WriteError {
        let status = json!({"code": code, "message": message, "details": {"retryAfterSeconds": retry_after}});
        let status: Status = serde_json::from_value(status).unwrap();
        WriteError::Refused(kube::Error::Api(status.boxed()))
    }

    #[test]
    fn an_answer_says_whether_trying_again_helps() {
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        let no = "no".to_owned();
        let forbidden = "nodes \"a\" is forbidden: User \"u\" cannot patch resource \"nodes\"";
        for (code, message, after, trouble) in [
            (404, "no", 0, Trouble::Missing),
            (409, "no", 0, Trouble::Conflict),
            (401, "no", 0, Trouble::Forbidden(no.clone())),
            (403, forbidden, 0, Trouble::Forbidden(forbidden.to_owned())),
            (403, "no", 0, Trouble::Refused(no.clone())),
            (422, "no", 0, Trouble::Refused(no.clone())),
            (429, "no", 7, Trouble::Wait(seconds(7), no.clone())),
            (500, "no", 0, Trouble::Wait(None, no.clone())),
            (503, "no", 3, Trouble::Wait(seconds(3), no)),
        ] {
            let error = answer(code, message, after);
            assert_eq!(
                error.retry_after(),
                seconds(u64::from(after)).filter(|_| after > 0),
                "{code}"
            );
            assert_eq!(error.is_outdated(), [404, 409].contains(&code), "{code}");
            assert_eq!(error.trouble(), trouble, "{code}");
        }
        assert_eq!(WriteError::NotHeld.trouble(), Trouble::NotHeld);
        assert!(WriteError::Outdated.is_outdated());
        assert!(matches!(WriteError::Timeout.trouble(), Trouble::Wait(None, _)));
    }
}
