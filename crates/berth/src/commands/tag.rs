//! `berth tag`: words on revisions.

use berth_clock::Clock;
use berth_documents::{Severity, Sources, parse};
use serde::Serialize;
use serde_json::Value;

use crate::{
    args::TagArgs,
    database::{self, IfMissing},
    documents::Documents,
    exit::Exit,
    failure::Failure,
    output::{Printer, Report},
};

/// Runs the command.
pub(crate) fn run(args: &TagArgs, clock: &Clock, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let data = args.data.as_deref().map(mapping).transpose()?;
    let revision = database::wait(async {
        let documents = Documents::open(&args.repository, IfMissing::Refuse, clock).await?;
        let revision = documents.find(&args.revision).await?;
        if args.delete {
            documents.delete_tag(revision, &args.tag).await?;
        } else {
            documents.put_tag(revision, &args.tag, data.as_ref()).await?;
        }
        Ok(revision)
    })?;
    let report = Tagged {
        revision,
        tag: &args.tag,
        deleted: args.delete,
        data,
    };
    printer.report(args.output.format, &report)?;
    Ok(Exit::Done)
}

fn mapping(text: &str) -> Result<Value, Failure> {
    let mut sources = Sources::new();
    let id = sources.add("--data", text);
    let parsed = parse(&sources, id);
    let syntax = |code: &str| code.starts_with("yaml") || code.starts_with("json");
    let broken = parsed
        .diagnostics
        .iter()
        .any(|it| it.severity() == Severity::Error && syntax(it.code()));
    match parsed.documents.as_slice() {
        [document] if !broken && document.root.as_map().is_some() => Ok(document.root.to_json()),
        _ => Err(Failure::Argument {
            message: format!("`{text}` is not a mapping"),
            hint: Some("write it as in --data '{by: ada, change: 4711}'".to_owned()),
        }),
    }
}

/// What became of a tag. The fields are a contract.
#[derive(Debug, Serialize)]
struct Tagged<'a> {
    revision: u64,
    tag: &'a str,
    deleted: bool,
    data: Option<Value>,
}

impl Report for Tagged<'_> {
    fn text(&self, _wide: bool) -> String {
        let (revision, tag) = (self.revision, self.tag);
        if self.deleted {
            format!("revision {revision} has the tag {tag} no more\n")
        } else {
            format!("revision {revision} has the tag {tag}\n")
        }
    }

    fn names(&self) -> Vec<String> {
        vec![format!("revision/{}", self.revision)]
    }
}
