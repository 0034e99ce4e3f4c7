//! `berth rollback`: a new revision like an earlier one.

use berth_clock::Clock;

use crate::{
    args::RollbackArgs,
    database::{self, IfMissing},
    documents::{Documents, Shown, Written, changes},
    exit::Exit,
    failure::Failure,
    output::Printer,
};

/// Runs the command.
pub(crate) fn run(args: &RollbackArgs, clock: &Clock, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let report = database::wait(async {
        let documents = Documents::open(&args.repository, IfMissing::Refuse, clock).await?;
        let to = documents.find(&args.revision).await?;
        let latest = documents.latest().await?;
        let before = documents.documents(latest, Shown::default()).await?;
        let after = documents.documents(to, Shown::default()).await?;
        let changes = changes(&before, &after);
        let revision = if changes.is_empty() || args.dry_run {
            latest
        } else {
            documents.rollback(to, latest).await?
        };
        Ok(Written {
            bucket: None,
            dry_run: args.dry_run,
            revision: (revision > 0).then_some(revision),
            changes,
        })
    })?;
    printer.report(args.output.format, &report)?;
    Ok(Exit::Done)
}
