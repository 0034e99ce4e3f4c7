//! `berth show`: the documents of a revision.

use berth_documents::emit;
use berth_server::Clock;
use serde::Serialize;
use serde_json::Value;

use crate::{
    args::{Format, ShowArgs},
    database::{self, IfMissing},
    documents::{Document, Documents, Shown},
    exit::Exit,
    failure::Failure,
    output::{Printer, Report},
};

/// Runs the command.
pub(crate) fn run(args: &ShowArgs, clock: &Clock, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let shown = Shown {
        rendered: args.rendered,
        cleartext: args.cleartext,
    };
    let (revision, mut documents) = database::wait(async {
        let documents = Documents::open(&args.repository, IfMissing::Refuse, clock).await?;
        let revision = documents.find(&args.revision).await?;
        Ok((revision, documents.documents(revision, shown).await?))
    })?;
    if let Some(bucket) = &args.bucket {
        documents.retain(|it| it.pointer("/status/bucket").and_then(Value::as_str) == Some(bucket));
    }
    if documents.is_empty() {
        let what = match &args.bucket {
            Some(bucket) => format!("bucket `{bucket}` of revision {revision}"),
            None => format!("revision {revision}"),
        };
        printer.warning(&format!("{what} has no documents"))?;
    }
    print(&documents, args.output.format, printer)?;
    Ok(Exit::Done)
}

/// Prints documents as they would be in a file; in JSON they are a list.
pub(super) fn print(documents: &[Value], format: Format, printer: &mut Printer<'_>) -> Result<(), Failure> {
    let format = if format == Format::Yaml { Format::Table } else { format };
    printer.report(format, &List(documents))
}

#[derive(Serialize)]
struct List<'a>(&'a [Value]);

impl Report for List<'_> {
    fn text(&self, _wide: bool) -> String {
        emit::to_yaml_documents(self.0)
    }

    fn names(&self) -> Vec<String> {
        self.0.iter().map(|document| Document::of(document).path()).collect()
    }
}
