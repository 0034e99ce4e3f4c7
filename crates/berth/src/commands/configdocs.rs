//! `berth configdocs`: documents in a buffer, and their commit.

use std::{fmt::Write as _, io::Read};

use berth_clock::Clock;
use berth_repository::BufferMode;
use serde::Serialize;

use super::show;
use crate::{
    args::{
        ConfigdocsCommitArgs, ConfigdocsLoadArgs, ConfigdocsShowArgs, ConfigdocsStatusArgs, ConfigdocsVersionsArgs,
    },
    database::{self, IfMissing},
    documents::{self, Documents, StatusAnswer, Versions},
    exit::Exit,
    failure::Failure,
    output::{Printer, Report, Table, counted},
    server::Answer,
};

/// Runs `berth configdocs load`.
pub(crate) fn load(
    args: &ConfigdocsLoadArgs,
    stdin: &mut dyn Read,
    clock: &Clock,
    printer: &mut Printer<'_>,
) -> Result<Exit, Failure> {
    let incoming = match documents::read(&args.files.paths, stdin, printer)? {
        Ok(incoming) => incoming,
        Err(exit) => return Ok(exit),
    };
    let mode = match (args.append, args.replace) {
        (true, _) => BufferMode::Append,
        (_, true) => BufferMode::Replace,
        _ => BufferMode::RejectOnContents,
    };
    let (status, revision) = database::wait(async {
        let documents = Documents::open(&args.repository, IfMissing::Create, clock).await?;
        let status = documents.load(&args.collection, &incoming, mode).await?;
        Ok((status, documents.latest().await?))
    })?;
    let end = format!("collection {} is in the buffer: revision {revision}", args.collection);
    printer.report(
        args.output.format,
        &Status {
            answer: status,
            end,
            revision,
        },
    )?;
    Ok(Exit::Done)
}

/// Runs `berth configdocs commit`.
pub(crate) fn commit(args: &ConfigdocsCommitArgs, clock: &Clock, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let (status, before, after) = database::wait(async {
        let documents = Documents::open(&args.repository, IfMissing::Refuse, clock).await?;
        let before = documents::versions(&documents.revisions().await?);
        let status = documents.commit(args.force, args.dry_run).await?;
        Ok((status, before, documents::versions(&documents.revisions().await?)))
    })?;
    let report = Status {
        revision: before.buffer.unwrap_or_default(),
        end: String::new(),
        answer: status,
    };
    let errors = report.errors();
    let committed = before.committed != after.committed;
    let buffer = report.revision;
    let end = match (args.dry_run, committed) {
        (true, _) if errors == 0 => {
            format!("revision {buffer} is sound; this is a dry run, it was not committed")
        }
        (true, _) => format!("revision {buffer} has {}", counted(errors, "error")),
        (false, true) if errors == 0 => format!("committed revision {buffer}"),
        (false, true) => format!("committed revision {buffer} with {}", counted(errors, "error")),
        (false, false) => format!(
            "revision {buffer} was not committed: it has {}",
            counted(errors, "error")
        ),
    };
    printer.report(args.output.format, &Status { end, ..report })?;
    Ok(if errors == 0 || committed { Exit::Done } else { Exit::No })
}

/// Runs `berth configdocs status`.
pub(crate) fn status(args: &ConfigdocsStatusArgs, clock: &Clock, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let collections = database::wait(async {
        let documents = Documents::open(&args.repository, IfMissing::Refuse, clock).await?;
        documents.collections(args.versions.as_deref()).await
    })?;
    if collections.0.is_empty() {
        printer.warning("there is no collection yet")?;
    }
    printer.report(args.output.format, &Collections(collections))?;
    Ok(Exit::Done)
}

/// Runs `berth configdocs show`.
pub(crate) fn show(args: &ConfigdocsShowArgs, clock: &Clock, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let documents = database::wait(async {
        let documents = Documents::open(&args.repository, IfMissing::Refuse, clock).await?;
        documents
            .collection(&args.collection, &args.version, args.cleartext)
            .await
    })?;
    show::print(&documents, args.output.format, printer)?;
    Ok(Exit::Done)
}

/// Runs `berth configdocs versions`.
pub(crate) fn versions(
    args: &ConfigdocsVersionsArgs,
    clock: &Clock,
    printer: &mut Printer<'_>,
) -> Result<Exit, Failure> {
    let revisions = database::wait(async {
        let documents = Documents::open(&args.repository, IfMissing::Refuse, clock).await?;
        documents.revisions().await
    })?;
    printer.report(args.output.format, &documents::versions(&revisions))?;
    Ok(Exit::Done)
}

impl Report for Versions {
    fn text(&self, _wide: bool) -> String {
        let mut table = Table::new(["VERSION", "REVISION"]);
        for (name, revision) in [
            ("buffer", self.buffer),
            ("committed", self.committed),
            ("last_site_action", self.last_site_action),
            ("successful_site_action", self.successful_site_action),
        ] {
            table.row([
                name.to_owned(),
                revision.map(|revision| revision.to_string()).unwrap_or_default(),
            ]);
        }
        table.to_string()
    }

    fn names(&self) -> Vec<String> {
        let revisions = [
            self.buffer,
            self.committed,
            self.last_site_action,
            self.successful_site_action,
        ];
        let known = revisions.into_iter().flatten();
        known.map(|revision| format!("revision/{revision}")).collect()
    }
}

/// Shipyard's status document, and for people what it means.
struct Status {
    answer: StatusAnswer,
    end: String,
    revision: u64,
}

impl Status {
    fn errors(&self) -> usize {
        let messages = self.answer.details.message_list.iter();
        messages.filter(|message| message.error).count()
    }
}

impl Serialize for Status {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.answer.serialize(serializer)
    }
}

impl Report for Status {
    fn text(&self, _wide: bool) -> String {
        let mut text = String::new();
        for message in &self.answer.details.message_list {
            let level = message.level.as_str().to_lowercase();
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{level}[{}]: {}", message.name, message.message);
            if !message.diagnostic.is_empty() {
                let _ = writeln!(text, "  --> {}", message.diagnostic);
            }
        }
        text.push_str(&self.end);
        text.push('\n');
        text
    }

    fn names(&self) -> Vec<String> {
        vec![format!("revision/{}", self.revision)]
    }
}

/// Collections in two versions, in Shipyard's form.
struct Collections(Answer<berth_api::Collections>);

impl Serialize for Collections {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Report for Collections {
    fn text(&self, _wide: bool) -> String {
        let mut table = Table::new(["COLLECTION", "BASE", "REVISION", "STATUS", "NEW", "REVISION", "STATUS"]);
        for row in &self.0.0 {
            table.row([
                row.collection_name.as_str(),
                row.base_version.as_str(),
                &row.base_revision.to_string(),
                row.base_status.as_str(),
                row.new_version.as_str(),
                &row.new_revision.to_string(),
                row.new_status.as_str(),
            ]);
        }
        table.to_string()
    }

    fn names(&self) -> Vec<String> {
        let names = self.0.0.iter().map(|row| &row.collection_name);
        names.map(|name| format!("collection/{name}")).collect()
    }
}
