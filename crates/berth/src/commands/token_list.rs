//! `berth token list`: all tokens, without their secrets.

use berth_clock::Clock;
use berth_tokens::{TokenInfo, TokenScope, TokenState, TokenStore};
use jiff::Timestamp;
use serde::Serialize;

use crate::{
    args::TokenListArgs,
    exit::Exit,
    failure::Failure,
    output::{Printer, Report, Table, rfc3339},
};

/// Runs the command.
pub(crate) fn run(args: &TokenListArgs, clock: &Clock, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let path = &args.file.path;
    if !path.exists() {
        printer.warning(&format!("there is no token file `{}` yet", path.display()))?;
    }
    let tokens = TokenStore::open(path)?.list()?;
    let now = clock.now();
    let report = TokensReport(tokens.iter().map(|token| TokenReport::new(token, now)).collect());
    printer.report(args.output.format, &report)?;
    Ok(Exit::Done)
}

/// A token. The fields are a contract.
#[derive(Serialize)]
struct TokenReport<'a> {
    id: &'a str,
    scope: &'a TokenScope,
    state: &'static str,
    single_use: bool,
    created: String,
    expires: Option<String>,
    used: Option<UseReport<'a>>,
    revoked: Option<String>,
    comment: &'a str,
}

/// The use of a token. The fields are a contract.
#[derive(Serialize)]
struct UseReport<'a> {
    at: String,
    from: String,
    target: &'a str,
}

impl<'a> TokenReport<'a> {
    fn new(token: &'a TokenInfo, now: Timestamp) -> Self {
        Self {
            id: &token.id,
            scope: &token.scope,
            state: match token.state(now) {
                TokenState::Valid => "valid",
                TokenState::Used => "used",
                TokenState::Expired => "expired",
                TokenState::Revoked => "revoked",
            },
            single_use: token.single_use,
            created: rfc3339(token.created),
            expires: token.expires.map(rfc3339),
            used: token.used.as_ref().map(|used| UseReport {
                at: rfc3339(used.at),
                from: used.from.to_string(),
                target: &used.target,
            }),
            revoked: token.revoked.map(rfc3339),
            comment: &token.comment,
        }
    }
}

#[derive(Serialize)]
struct TokensReport<'a>(Vec<TokenReport<'a>>);

impl Report for TokensReport<'_> {
    fn text(&self, wide: bool) -> String {
        let mut headers = vec!["ID", "OPENS", "STATE", "SINGLE USE", "EXPIRES", "COMMENT"];
        if wide {
            headers.extend(["CREATED", "USED", "BY"]);
        }
        let mut table = Table::new(headers);
        for token in &self.0 {
            let mut row = vec![
                token.id.to_owned(),
                token.scope.to_string(),
                token.state.to_owned(),
                token.single_use.to_string(),
                token.expires.clone().unwrap_or_default(),
                token.comment.to_owned(),
            ];
            if wide {
                row.push(token.created.clone());
                row.push(token.used.as_ref().map(|used| used.at.clone()).unwrap_or_default());
                row.push(token.used.as_ref().map(|used| used.from.clone()).unwrap_or_default());
            }
            table.row(row);
        }
        table.to_string()
    }

    fn names(&self) -> Vec<String> {
        self.0.iter().map(|token| format!("token/{}", token.id)).collect()
    }
}
