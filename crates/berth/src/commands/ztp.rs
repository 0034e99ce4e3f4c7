//! `berth ztp`: the manifests with which a hub installs the site's cluster.

mod folder;

use std::{io::Read, path::Path};

use berth_documents::Diagnostic;
use berth_labels::Flavour;
use berth_site::{Resolver, check};
use berth_ztp::{
    BootLabels, Converted, Form, Manifest, Manifests, ZtpInput, ZtpOptions, convert, is_site_config, manifests,
};
use serde_json::Value;

use crate::{
    args::{ArtefactFormat, BootLabelsName, FormName, ZtpArgs},
    exit::Exit,
    failure::Failure,
    findings, input,
    output::Printer,
    site::Loaded,
};

/// Runs the command.
pub(crate) fn run(args: &ZtpArgs, stdin: &mut dyn Read, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let set = input::read_documents(&args.paths, stdin)?;
    let made = if set.documents.iter().any(is_site_config) {
        let Converted {
            manifests,
            notes,
            diagnostics,
        } = convert(&set.documents);
        let exit = findings::show_errors(printer, &set.sources, diagnostics)?;
        if exit != Exit::Done {
            return Ok(exit);
        }
        Manifests {
            manifests,
            notes,
            diagnostics: Vec::new(),
        }
    } else {
        match from_site(args, &Loaded::new(set), printer)? {
            Some(made) => made,
            None => return Ok(Exit::No),
        }
    };
    if args.output == Path::new("-") {
        stream(args.format, &made.manifests, printer)?;
    } else {
        folder::write(&args.output, &made.manifests, printer)?;
    }
    for note in &made.notes {
        printer.note(note)?;
    }
    Ok(Exit::Done)
}

/// The manifests of a site; without them, the reason has been shown.
fn from_site(args: &ZtpArgs, loaded: &Loaded, printer: &mut Printer<'_>) -> Result<Option<Manifests>, Failure> {
    let flavour = args.flavour.of_or(&loaded.site, Flavour::Openshift);
    let resolver = Resolver::new(&loaded.site, flavour);
    let mut diagnostics: Vec<Diagnostic> = check(&loaded.sources, &resolver, &resolver.resolve_all());
    diagnostics.extend_from_slice(&loaded.diagnostics);
    let options = ZtpOptions {
        form: match args.form {
            FormName::Raw => Form::Raw,
            FormName::ClusterInstance => Form::ClusterInstance,
        },
        release: args.release,
        unsupported: args.unsupported,
        boot_labels: match args.boot_labels {
            BootLabelsName::Auto => BootLabels::Auto,
            BootLabelsName::Always => BootLabels::Always,
            BootLabelsName::Never => BootLabels::Never,
        },
        pull_secret: args.pull_secret.clone(),
        image_set: args.image_set.clone(),
        release_image: args.release_image.clone(),
        hub_release: args.hub_release,
        ssh_public_key: args.ssh_key.as_deref().map(|key| key.trim().to_owned()),
    };
    let ingress: Vec<Value> = loaded
        .site
        .ingress_controllers
        .iter()
        .map(|controller| controller.document.clone())
        .collect();
    let mut made = manifests(&ZtpInput {
        resolver: &resolver,
        ingress_controllers: &ingress,
        options: &options,
    });
    diagnostics.append(&mut made.diagnostics);
    if findings::show_errors(printer, &loaded.sources, diagnostics)? != Exit::Done {
        printer.error("the documents have mistakes, so nothing is made from them")?;
        return Ok(None);
    }
    Ok(Some(made))
}

/// All manifests after each other, those of the hub and of day 2 marked by their folder.
fn stream(format: ArtefactFormat, manifests: &[Manifest], printer: &mut Printer<'_>) -> Result<(), Failure> {
    match format {
        ArtefactFormat::Json => {
            let items: Vec<Value> = manifests
                .iter()
                .map(|manifest| serde_json::json!({"file": manifest.file, "object": manifest.object}))
                .collect();
            printer.data(&format!("{:#}\n", Value::Array(items)))
        }
        ArtefactFormat::Yaml => {
            for manifest in manifests {
                printer.data(&format!("---\n# {}\n{}", manifest.file, manifest.yaml()))?;
            }
            Ok(())
        }
    }
}
