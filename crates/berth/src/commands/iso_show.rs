//! `berth iso show`: the config that is in a live image.

use berth_iso::FoundBy;
use serde::Serialize;
use serde_json::Value;

use crate::{
    args::IsoShowArgs,
    exit::Exit,
    failure::Failure,
    live_image::LiveImage,
    output::{Printer, Report},
};

/// Runs the command.
pub(crate) fn run(args: &IsoShowArgs, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let image = LiveImage::open(&args.image)?;
    let archive = image.readable_archive(None)?;
    let shown = args.image.display();
    let text = match archive.config().map(str::from_utf8) {
        None => None,
        Some(Ok(text)) => Some(text.to_owned()),
        Some(Err(error)) => {
            return Err(Failure::Unusable(format!(
                "the config in `{shown}` is not text: {error}"
            )));
        }
    };
    let area = image.area();
    let found = Found {
        image: shown.to_string(),
        area: Place {
            offset: area.offset,
            length: area.length,
            used: image.used(),
            found_by: match &area.found_by {
                FoundBy::InfoFile(_) => "/coreos/igninfo.json",
                FoundBy::DefaultFile => "/images/ignition.img",
                _ => "header in the system area",
            },
        },
        files: archive.paths().map(str::to_owned).collect(),
        config: text.as_deref().map(|text| {
            // What others embedded may be no JSON at all.
            serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
        }),
        text,
    };
    let exit = if found.text.is_some() { Exit::Done } else { Exit::No };
    printer.report(args.output.format, &found)?;
    if exit == Exit::No {
        printer.error(&format!("`{shown}` has no config"))?;
        printer.hint(&format!("`berth iso embed {shown} --ignition FILE` puts one in"))?;
    }
    Ok(exit)
}

/// What was found. The fields are a contract.
#[derive(Serialize)]
struct Found {
    image: String,
    area: Place,
    files: Vec<String>,
    config: Option<Value>,
    #[serde(skip)]
    text: Option<String>,
}

#[derive(Serialize)]
struct Place {
    offset: u64,
    length: u64,
    used: usize,
    found_by: &'static str,
}

impl Report for Found {
    /// Nothing but the config as it is, so that a file can take it.
    fn text(&self, _wide: bool) -> String {
        self.text.clone().unwrap_or_default()
    }

    fn names(&self) -> Vec<String> {
        self.files.clone()
    }
}
