//! `berth ztp check`: what the hub would refuse.

use std::{collections::BTreeMap, io::Read};

use berth_documents::{Diagnostic, Sources, parse};
use berth_site::Resolver;
use berth_ztp::{CheckOptions, check};

use super::lint::LintReport;
use crate::{
    args::ZtpCheckArgs,
    exit::Exit,
    failure::Failure,
    findings::{self, Tally},
    input,
    output::Printer,
    site::Loaded,
};

/// Runs the command.
pub(crate) fn run(args: &ZtpCheckArgs, stdin: &mut dyn Read, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let texts = input::read_text(&args.paths, stdin).map_err(Failure::Input)?;
    let declared = if args.site.is_empty() {
        None
    } else {
        Some(labels_of(args, stdin)?)
    };
    let mut sources = Sources::new();
    let (mut documents, mut diagnostics): (_, Vec<Diagnostic>) = (Vec::new(), Vec::new());
    for (name, text) in texts {
        let id = sources.add(name, text);
        let parsed = parse(&sources, id);
        documents.extend(parsed.documents);
        diagnostics.extend(parsed.diagnostics);
    }
    if documents.is_empty() && diagnostics.is_empty() {
        return Err(Failure::Argument {
            message: "there is no manifest to check".to_owned(),
            hint: None,
        });
    }
    let options = CheckOptions {
        release: args.release,
        declared,
    };
    diagnostics.extend(check(&mut sources, &documents, &options));
    findings::sort(&sources, &mut diagnostics);
    let tally = Tally::of(&diagnostics);
    let report = LintReport {
        sources: &sources,
        diagnostics: &diagnostics,
    };
    printer.report(args.output.format, &report)?;
    printer.aside(&format!("{}\n", tally.summary()))?;
    Ok(if tally.must_act() { Exit::No } else { Exit::Done })
}

/// The labels that the site declares for each of its nodes.
fn labels_of(args: &ZtpCheckArgs, stdin: &mut dyn Read) -> Result<BTreeMap<String, BTreeMap<String, String>>, Failure> {
    let loaded = Loaded::read(&args.site, stdin)?;
    let resolver = Resolver::new(&loaded.site, args.flavour.of(&loaded.site));
    let resolutions = resolver.resolve_all();
    Ok(resolutions
        .iter()
        .map(|resolution| (resolution.node.to_string(), resolution.label_set().to_map()))
        .collect())
}
