//! `berth token revoke`: from now on a token opens nothing.

use berth_clock::Clock;
use berth_site::close_matches;
use berth_tokens::{TokenError, TokenStore};

use crate::{args::TokenRevokeArgs, exit::Exit, failure::Failure, output::Printer};

/// Runs the command.
pub(crate) fn run(args: &TokenRevokeArgs, clock: &Clock, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let store = TokenStore::open(&args.file.path)?;
    let id = args.id.strip_prefix("token/").unwrap_or(&args.id);
    let info = match store.revoke(id, clock.now()) {
        Ok(info) => info,
        Err(TokenError::NoSuchToken { id }) => return Err(unknown(&store, id)?),
        Err(error) => return Err(error.into()),
    };
    printer.data(&format!("token/{} revoked ({})\n", info.id, info.scope))?;
    Ok(Exit::Done)
}

fn unknown(store: &TokenStore, id: String) -> Result<Failure, Failure> {
    let tokens = store.list()?;
    let names = tokens.iter().map(|token| token.id.as_str());
    let close = close_matches(&id, names).into_iter().map(str::to_owned).collect();
    // Whoever pastes the secret instead of the name must not find it in a log of errors.
    let name = if berth_tokens::Secret::parse(&id).is_some() {
        "(a secret)".to_owned()
    } else {
        id
    };
    Ok(Failure::Unknown {
        what: "token",
        name,
        problem: format!("is not in `{}`", store.path().display()),
        close,
    })
}
