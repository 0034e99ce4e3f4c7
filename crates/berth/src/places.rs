//! What the commands about routers and egress addresses share.

use std::{
    io::{Read, Write as _},
    path::Path,
};

use berth_documents::{Diagnostic, emit::to_yaml_documents};
use berth_site::{Resolution, Resolver, check};
use serde_json::Value;

use crate::{
    args::Places,
    exit::Exit,
    failure::Failure,
    findings::{self, Tally},
    output::{Printer, excerpts},
    site::{Loaded, stdin_once},
};

/// Codes of findings about places; the commands show these themselves.
const OWN_CODES: &[&str] = &["ingress-", "egress-"];

/// Reads the documents and what is live.
pub(crate) fn read(args: &Places, stdin: &mut dyn Read, printer: &mut Printer<'_>) -> Result<Loaded, Failure> {
    stdin_once(&args.files.paths, args.nodes.as_deref())?;
    let mut loaded = Loaded::read(&args.files.paths, stdin)?;
    if let Some(path) = &args.nodes {
        // The file says what is live; a Node among the documents is an older observation.
        loaded.site.observed = loaded.observe(path, stdin, printer)?;
    }
    Ok(loaded)
}

/// Shows the findings of a command in front of the other errors of the site, and says how the run ends.
pub(crate) fn show(
    printer: &mut Printer<'_>,
    loaded: &Loaded,
    resolver: &Resolver<'_>,
    resolutions: &[Resolution],
    mut own: Vec<Diagnostic>,
    structured: bool,
) -> Result<Exit, Failure> {
    findings::sort(&loaded.sources, &mut own);
    let tally = Tally::of(&own);
    if !own.is_empty() && !structured {
        printer.aside(&excerpts(&loaded.sources, &own))?;
        printer.aside(&format!("{}\n", tally.summary()))?;
    }
    let mut others = check(&loaded.sources, resolver, resolutions);
    others.extend_from_slice(&loaded.diagnostics);
    others.retain(|finding| !OWN_CODES.iter().any(|prefix| finding.code().starts_with(prefix)));
    let exit = findings::show_errors(printer, &loaded.sources, others)?;
    Ok(if tally.must_act() { exit.max(Exit::No) } else { exit })
}

/// Documents as a stream on standard output, or in a file.
pub(crate) fn write_documents(printer: &mut Printer<'_>, path: &Path, documents: &[Value]) -> Result<(), Failure> {
    write_text(printer, path, &to_yaml_documents(documents))
}

/// Text on standard output (`-`), or in a file.
pub(crate) fn write_text(printer: &mut Printer<'_>, path: &Path, text: &str) -> Result<(), Failure> {
    if path == Path::new("-") {
        return printer.data(text);
    }
    let failed = |source| Failure::WriteFile {
        path: path.to_owned(),
        source,
    };
    let mut file = std::fs::File::create(path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)
}
