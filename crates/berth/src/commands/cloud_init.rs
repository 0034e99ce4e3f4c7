//! `berth cloud-init`: user data with the boot labels of one machine.

use std::io::Read;

use berth_boot::{boot_files, cloud_init};
use berth_site::Resolver;

use crate::{
    args::{ArtefactFormat, CloudInitArgs},
    boot::{self, Known},
    exit::Exit,
    failure::Failure,
    output::Printer,
    site::Loaded,
};

/// Runs the command.
pub(crate) fn run(args: &CloudInitArgs, stdin: &mut dyn Read, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let mut known = Known::read(&args.boot, &args.files, stdin, printer)?;
    let loaded = Loaded::read(&args.files.paths, stdin)?;
    let flavour = args.flavour.of(&loaded.site);
    let resolver = Resolver::new(&loaded.site, flavour);
    let resolution = boot::resolve(&resolver, &args.node)?;
    let exit = boot::mistakes(printer, &loaded, &resolver, Some(&resolution))?;
    if exit != Exit::Done {
        return Ok(exit);
    }
    known.carry(&loaded.site.carried_labels(|name| name == args.node));
    let labels = resolution.label_set();
    let input = known.input(&labels, flavour, None);
    let text = match cloud_init(&input) {
        Ok(text) => text,
        Err(error) => return boot::refused(printer, &error),
    };
    match args.format {
        ArtefactFormat::Yaml => printer.data(&text)?,
        ArtefactFormat::Json => boot::print_as_json(printer, &text)?,
    }
    if let Ok(files) = boot_files(&input) {
        boot::show_asides(printer, &files.left_out, &files.notes)?;
    }
    Ok(Exit::Done)
}
