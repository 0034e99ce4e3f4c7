//! `berth site-action record`: that somebody deployed or updated the site.

use berth_clock::Clock;
use serde::Serialize;
use serde_json::json;

use crate::{
    args::SiteActionRecordArgs,
    database::{self, IfMissing},
    documents::Documents,
    exit::Exit,
    failure::Failure,
    output::{Printer, Report},
};

/// Runs the command.
pub(crate) fn record(args: &SiteActionRecordArgs, clock: &Clock, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let tag = if args.failure {
        "site-action-failure"
    } else {
        "site-action-success"
    };
    let revision = database::wait(async {
        let documents = Documents::open(&args.repository, IfMissing::Refuse, clock).await?;
        let revision = documents.find(&args.revision).await?;
        let data = json!({"action": args.name});
        documents.put_tag(revision, tag, Some(&data)).await?;
        Ok(revision)
    })?;
    let recorded = Recorded {
        revision,
        action: &args.name,
        tag,
    };
    printer.report(args.output.format, &recorded)?;
    Ok(Exit::Done)
}

/// What was recorded. The fields are a contract.
#[derive(Debug, Serialize)]
struct Recorded<'a> {
    revision: u64,
    action: &'a str,
    tag: &'a str,
}

impl Report for Recorded<'_> {
    fn text(&self, _wide: bool) -> String {
        format!("recorded {} at revision {}: {}\n", self.action, self.revision, self.tag)
    }

    fn names(&self) -> Vec<String> {
        vec![format!("revision/{}", self.revision)]
    }
}
