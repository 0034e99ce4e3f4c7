//! `berth revisions`: what was stored, and when.

use berth_clock::Clock;
use serde::Serialize;

use crate::{
    args::RevisionsArgs,
    database::{self, IfMissing},
    documents::{Documents, Revision},
    exit::Exit,
    failure::Failure,
    output::{Printer, Report, Table},
};

/// Runs the command.
pub(crate) fn run(args: &RevisionsArgs, clock: &Clock, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let mut revisions = database::wait(async {
        let documents = Documents::open(&args.repository, IfMissing::Refuse, clock).await?;
        documents.revisions().await
    })?;
    let is_empty = revisions.is_empty();
    revisions.retain(|revision| args.tags.is_empty() || revision.tags.iter().any(|tag| args.tags.contains(tag)));
    if is_empty {
        printer.warning("nothing was stored yet")?;
    } else if revisions.is_empty() {
        printer.warning(&format!("no revision has the tag {}", args.tags.join(" or ")))?;
    }
    let rows = revisions.into_iter().map(Row::from).collect();
    printer.report(args.output.format, &Rows(rows))?;
    Ok(Exit::Done)
}

/// A revision. The fields are a contract.
#[derive(Debug, Serialize)]
struct Row {
    revision: u64,
    created: String,
    buckets: Vec<String>,
    tags: Vec<String>,
}

impl From<Revision> for Row {
    fn from(revision: Revision) -> Self {
        Self {
            revision: revision.id,
            created: revision.created,
            buckets: revision.buckets,
            tags: revision.tags,
        }
    }
}

#[derive(Debug, Serialize)]
struct Rows(Vec<Row>);

impl Report for Rows {
    fn text(&self, _wide: bool) -> String {
        let mut table = Table::new(["REVISION", "CREATED", "BUCKETS", "TAGS"]);
        for row in &self.0 {
            table.row([
                row.revision.to_string(),
                row.created.clone(),
                row.buckets.join(","),
                row.tags.join(","),
            ]);
        }
        table.to_string()
    }

    fn names(&self) -> Vec<String> {
        self.0.iter().map(|row| format!("revision/{}", row.revision)).collect()
    }
}
