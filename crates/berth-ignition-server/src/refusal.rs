//! Why a config is not sent, and what the client is told.

use berth_ignition::{NegotiateError, SpecVersion};
use berth_tokens::{Denial, Target, TokenError};
use http::StatusCode;

use crate::{assemble::AssembleError, problem::IgnitionProblem};

/// Seconds after which a machine shall ask again when there is no config yet. Documents and rollouts change by hand.
const RETRY_NO_CONFIG: u32 = 10;

/// Seconds after which an address that was refused too often may ask again.
const RETRY_TOO_MANY: u32 = 60;

const ASK_AGAIN: &str = "ask again; Ignition does so on its own";

const SEND_TOKEN: &str = "send the header `Authorization: Bearer <token>`; `berth token create` makes one and `berth \
                          pointer` writes it into the config a machine boots from";

const NEW_TOKEN: &str = "make a new one with `berth token create`";

const CHALLENGE: &str = "Bearer realm=\"berth\"";

const CHALLENGE_INVALID: &str = "Bearer realm=\"berth\", error=\"invalid_token\"";

/// Why a config is not sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    TokenMissing,
    TokenMalformed,
    Token(Denial),
    /// The tokens cannot be read or written; with the reason.
    NoTokens(&'static str),
    /// The source was not read yet; with the reason.
    Loading(String),
    /// Known, but without a config; with the reason.
    NotYet(String),
    /// With what would have been right.
    Unknown(String),
    /// The client asks for a version that is never served.
    Version(String),
    /// This config cannot be written in the version the client asks for.
    VersionTooOld(String),
    /// This config cannot be served to anybody.
    Config(String),
    /// A fault of the server.
    Internal,
}

impl From<NegotiateError> for Refusal {
    fn from(error: NegotiateError) -> Self {
        Self::Version(error.to_string())
    }
}

impl From<TokenError> for Refusal {
    /// Without its tokens the server lets nobody in, rather than everybody.
    fn from(error: TokenError) -> Self {
        tracing::error!(
            error = &error as &dyn std::error::Error,
            "tokens cannot be read or written"
        );
        Self::NoTokens(match error {
            TokenError::Gone { .. } => "its token file is gone",
            TokenError::Content { .. } | TokenError::Format { .. } => "its token file holds something else",
            _ => "its token file cannot be read or written",
        })
    }
}

impl Refusal {
    pub(crate) fn cannot_write(rendered: &str, version: SpecVersion, error: &AssembleError) -> Self {
        let mut message = format!("{rendered}: {error}");
        if let Some(source) = std::error::Error::source(error) {
            message = format!("{message}: {source}");
        }
        if version < SpecVersion::LATEST && !matches!(error, AssembleError::Refused { .. }) {
            Self::VersionTooOld(message)
        } else {
            Self::Config(message)
        }
    }

    /// Whether it is the token that is wrong. Such refusals are counted.
    pub(crate) fn is_about_the_token(&self) -> bool {
        matches!(self, Self::TokenMissing | Self::TokenMalformed | Self::Token(_))
    }

    /// What the client is told.
    pub(crate) fn problem(&self, target: Target<'_>) -> IgnitionProblem {
        match self {
            Self::TokenMissing => IgnitionProblem::unauthorized(
                "token-missing",
                "configs are served to machines with a token only",
                SEND_TOKEN,
                CHALLENGE,
            ),
            Self::TokenMalformed => IgnitionProblem::unauthorized(
                "token-malformed",
                "the Authorization header is not `Bearer <token>`",
                SEND_TOKEN,
                CHALLENGE,
            ),
            Self::Token(denial) => denied(denial, target),
            Self::NoTokens(reason) => IgnitionProblem::later(
                "tokens-unavailable",
                format!("the server cannot tell who may have configs: {reason}"),
                "the server's log names the file",
                RETRY_NO_CONFIG,
            ),
            Self::Loading(reason) => IgnitionProblem::later(
                "loading",
                format!("nothing can be served yet: {reason}"),
                ASK_AGAIN,
                RETRY_NO_CONFIG,
            ),
            Self::NotYet(reason) => IgnitionProblem::later(
                "no-config-yet",
                format!("{target} has no config yet: {reason}"),
                ASK_AGAIN,
                RETRY_NO_CONFIG,
            ),
            Self::Unknown(hint) => {
                let code = match target {
                    Target::Pool(_) => "unknown-pool",
                    Target::Node { .. } => "unknown-node",
                };
                IgnitionProblem::new(
                    StatusCode::NOT_FOUND,
                    code,
                    format!("there is no {target}"),
                    hint.clone(),
                )
            }
            Self::Version(message) => IgnitionProblem::new(
                StatusCode::BAD_REQUEST,
                "unsupported-version",
                message,
                format!(
                    "boot an image whose Ignition reads one of these, or {}",
                    ask_for_latest()
                ),
            ),
            Self::VersionTooOld(message) => IgnitionProblem::new(
                StatusCode::BAD_REQUEST,
                "version-too-old",
                message,
                format!(
                    "boot an image with a newer Ignition (by hand: {}), or leave this out of the machine configs",
                    ask_for_latest()
                ),
            ),
            Self::Config(message) => IgnitionProblem::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "config-refused",
                message,
                "correct the machine configs of the pool",
            ),
            Self::Internal => IgnitionProblem::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal",
                "the answer could not be built",
                "the server's log says more",
            ),
        }
    }
}

/// What an address is told that was refused too often.
pub(crate) fn too_many(problem: IgnitionProblem) -> IgnitionProblem {
    IgnitionProblem::new(
        StatusCode::TOO_MANY_REQUESTS,
        "too-many-refusals",
        format!("{}; this address was refused too often", problem.message),
        problem.hint,
    )
    .retry_after(RETRY_TOO_MANY)
}

fn ask_for_latest() -> String {
    format!(
        "send `Accept: application/vnd.coreos.ignition+json;version={}`",
        SpecVersion::LATEST
    )
}

fn denied(denial: &Denial, target: Target<'_>) -> IgnitionProblem {
    let unauthorized =
        |code, hint: &'static str| IgnitionProblem::unauthorized(code, denial.to_string(), hint, CHALLENGE_INVALID);
    match denial {
        Denial::Unknown => unauthorized(
            "token-unknown",
            "check that the whole token was copied, or make a new one",
        ),
        Denial::Expired => unauthorized("token-expired", NEW_TOKEN),
        Denial::Revoked => unauthorized("token-revoked", NEW_TOKEN),
        Denial::Used => IgnitionProblem::new(StatusCode::FORBIDDEN, "token-used", denial.to_string(), NEW_TOKEN),
        Denial::OtherTarget { .. } => IgnitionProblem::new(
            StatusCode::FORBIDDEN,
            "token-for-another",
            format!("{denial} and not for {target}"),
            "ask for what the token is for, or make one for this with `berth token create`",
        ),
    }
}
