//! `berth ztp check`: what the hub would refuse.

use std::{collections::BTreeMap, io::Read, path::Path};

use berth_documents::{Diagnostic, Document, Sources, parse};
use berth_site::Resolver;
use berth_ztp::{CheckOptions, Declared, ZtpInput, ZtpOptions, check, declared};

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
    let texts = input::read_with_configurations(&args.paths, stdin).map_err(Failure::Input)?;
    let declared = if args.site.is_empty() {
        None
    } else {
        Some(wanted_by(args, stdin)?)
    };
    let against = input::read_text(&args.against, stdin).map_err(Failure::Input)?;
    let mut sources = Sources::new();
    let (mut documents, mut diagnostics): (_, Vec<Diagnostic>) = (Vec::new(), Vec::new());
    let mut options = CheckOptions {
        release: args.release,
        declared,
        ..CheckOptions::default()
    };
    for (name, text) in texts {
        let is_configuration = Path::new(&name)
            .extension()
            .is_some_and(|extension| extension == input::CONFIGURATION);
        let id = sources.add(name, text);
        if is_configuration {
            options.load_balancers.push(id);
            continue;
        }
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
    for (name, text) in against {
        let id = sources.add(name, text);
        let parsed = parse(&sources, id);
        options.against.extend(parsed.documents);
        diagnostics.extend(parsed.diagnostics);
    }
    if !documents.iter().any(is_of_hub) {
        printer.note(
            "nothing here is for a hub: no cluster and no host. The documents of a site are judged by `berth lint`, and \
             `berth ztp` makes manifests of them",
        )?;
    }
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

/// Whether an object is one that a hub installs clusters by.
fn is_of_hub(document: &Document) -> bool {
    let kinds = [
        "AgentClusterInstall",
        "AgentServiceConfig",
        "BareMetalHost",
        "ClusterDeployment",
        "ClusterInstance",
        "InfraEnv",
        "NMStateConfig",
        "Provisioning",
        "SiteConfig",
    ];
    kinds.contains(&document.kind())
}

/// What the site wants of each of its nodes.
fn wanted_by(args: &ZtpCheckArgs, stdin: &mut dyn Read) -> Result<BTreeMap<String, Declared>, Failure> {
    let loaded = Loaded::read(&args.site, stdin)?;
    let resolver = Resolver::new(&loaded.site, args.flavour.of(&loaded.site));
    let options = ZtpOptions {
        release: args.release,
        ..ZtpOptions::default()
    };
    Ok(declared(&ZtpInput {
        resolver: &resolver,
        ingress_controllers: &[],
        options: &options,
    }))
}
