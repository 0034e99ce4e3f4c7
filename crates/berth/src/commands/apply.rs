//! `berth apply`: a folder becomes a revision.

use std::io::Read;

use berth_clock::Clock;

use crate::{
    args::ApplyArgs,
    database::{self, IfMissing},
    documents::{self, Documents, Written, changes},
    exit::Exit,
    failure::Failure,
    output::Printer,
};

/// Runs the command.
pub(crate) fn run(
    args: &ApplyArgs,
    stdin: &mut dyn Read,
    clock: &Clock,
    printer: &mut Printer<'_>,
) -> Result<Exit, Failure> {
    let incoming = match documents::read(&args.files.paths, stdin, printer)? {
        Ok(incoming) => incoming,
        Err(exit) => return Ok(exit),
    };
    // A dry run leaves nothing behind, no empty database either.
    let is_new = args.dry_run && args.repository.server.server.is_none() && {
        let file = database::file(&args.repository.database.address()?);
        file.is_some_and(|file| !file.exists())
    };
    let report = if is_new {
        Written {
            bucket: Some(args.bucket.clone()),
            dry_run: true,
            revision: None,
            changes: changes(&[], &incoming.shown()),
        }
    } else {
        database::wait(async {
            let documents = Documents::open(&args.repository, IfMissing::Create, clock).await?;
            let latest = documents.latest().await?;
            let mut before = documents.to_compare(latest, &incoming).await?;
            before.retain(|it| it.status.as_ref().is_some_and(|status| status.bucket == args.bucket));
            let changes = changes(&before, &incoming.shown());
            let revision = if changes.is_empty() || args.dry_run {
                latest
            } else {
                documents.put(&args.bucket, &incoming, latest).await?
            };
            Ok(Written {
                bucket: Some(args.bucket.clone()),
                dry_run: args.dry_run,
                revision: (revision > 0).then_some(revision),
                changes,
            })
        })?
    };
    printer.report(args.output.format, &report)?;
    Ok(Exit::Done)
}
