//! `berth iso remove`: a live image without its config.

use berth_iso::Archive;
use serde::Serialize;

use crate::{
    args::IsoRemoveArgs,
    exit::Exit,
    failure::{Chain, Failure},
    live_image::LiveImage,
    output::{Printer, Report},
};

/// Runs the command.
pub(crate) fn run(args: &IsoRemoveArgs, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let image = LiveImage::open_for(&args.image, &args.target)?;
    let (mut archive, mut changed) = match image.archive() {
        Err(error) if args.force => {
            printer.warning(&format!("what is in the embed area is removed: {}", Chain(&error)))?;
            (Archive::default(), true)
        }
        _ => (image.readable_archive(Some("berth iso remove --force"))?, false),
    };
    changed |= archive.remove_config();
    let mut removed = Removed {
        image: args.image.display().to_string(),
        changed,
        kept: archive.paths().map(str::to_owned).collect(),
        backup: None,
    };
    if changed || args.target.out.is_some() {
        let contents = archive.encode(image.area().length).map_err(|error| Failure::Refused {
            message: format!("what else is embedded does not fit into `{}`: {error}", removed.image),
            hint: None,
        })?;
        printer.flush()?;
        let written = image.write(&contents, &args.target)?;
        removed.image = written.path.display().to_string();
        removed.backup = written.backup.map(|path| path.display().to_string());
    }
    printer.report(args.target.format, &removed)?;
    Ok(Exit::Done)
}

/// How it went. The fields are a contract.
#[derive(Serialize)]
struct Removed {
    image: String,
    changed: bool,
    /// Files of others, which stay in the area.
    kept: Vec<String>,
    backup: Option<String>,
}

impl Report for Removed {
    fn text(&self, _wide: bool) -> String {
        let image = &self.image;
        let mut lines = vec![if self.changed {
            format!("{image}: config removed\n")
        } else {
            format!("{image}: there was no config to remove\n")
        }];
        if !self.kept.is_empty() {
            lines.push(format!("still embedded: {}\n", self.kept.join(", ")));
        }
        let backup = self.backup.iter();
        lines.extend(backup.map(|backup| format!("what was there before is in {backup}\n")));
        lines.concat()
    }

    fn names(&self) -> Vec<String> {
        vec![self.image.clone()]
    }
}
