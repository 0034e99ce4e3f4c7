//! `berth show`: the documents of a revision.

use berth_clock::Clock;
use berth_documents::emit;
use serde::{Serialize, Serializer};
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
        documents.retain(|it| it.status.as_ref().is_some_and(|status| status.bucket == *bucket));
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
pub(super) fn print(
    documents: &[berth_api::Document],
    format: Format,
    printer: &mut Printer<'_>,
) -> Result<(), Failure> {
    let format = if format == Format::Yaml { Format::Table } else { format };
    let values = documents.iter().map(serde_json::to_value).collect::<Result<_, _>>();
    let values = values.map_err(|error| Failure::Format {
        format: "a document",
        source: error.into(),
    })?;
    printer.report(format, &List { documents, values })
}

struct List<'a> {
    documents: &'a [berth_api::Document],
    values: Vec<Value>,
}

impl Serialize for List<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.values.serialize(serializer)
    }
}

impl Report for List<'_> {
    fn text(&self, _wide: bool) -> String {
        emit::to_yaml_documents(&self.values)
    }

    fn names(&self) -> Vec<String> {
        let names = self.documents.iter().map(|document| Document::of(document).path());
        names.collect()
    }
}
