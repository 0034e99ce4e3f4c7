//! `berth iso restore`: undoes the last change of a live image in place.

use serde::Serialize;

use crate::{
    args::IsoRestoreArgs,
    exit::Exit,
    failure::Failure,
    live_image::LiveImage,
    output::{Printer, Report},
};

/// Runs the command.
pub(crate) fn run(args: &IsoRestoreArgs, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let backup = LiveImage::open_to_write(&args.image)?.restore()?;
    let restored = Restored {
        image: args.image.display().to_string(),
        backup: backup.display().to_string(),
    };
    printer.report(args.output.format, &restored)?;
    Ok(Exit::Done)
}

/// How it went. The fields are a contract.
#[derive(Serialize)]
struct Restored {
    image: String,
    backup: String,
}

impl Report for Restored {
    fn text(&self, _wide: bool) -> String {
        format!("{}: the embed area is as {} has it\n", self.image, self.backup)
    }

    fn names(&self) -> Vec<String> {
        vec![self.image.clone()]
    }
}
