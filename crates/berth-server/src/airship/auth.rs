//! Who asks, and what they may do.

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use berth_repository::Secrets;

use super::state::ApiState;

/// How callers are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Auth {
    /// They are not: whoever reaches the server may do everything. Good for a loopback address only.
    None,
}

/// Who asks. Every handler can have it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller {
    may_see_secrets: bool,
}

impl Caller {
    /// How secrets are shown to a caller who asks for them, or does not.
    pub(super) const fn secrets(self, cleartext_asked: bool) -> Secrets {
        Secrets::asked(cleartext_asked && self.may_see_secrets)
    }
}

/// Finds out who asks before any handler runs.
pub(super) async fn authenticate(State(state): State<ApiState>, mut request: Request, next: Next) -> Response {
    let caller = match state.auth {
        Auth::None => Caller { may_see_secrets: true },
    };
    request.extensions_mut().insert(caller);
    next.run(request).await
}
