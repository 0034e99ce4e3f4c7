//! `berth node-manifest`: the Node of a machine that has not booted yet.

use std::io::Read;

use berth_documents::emit::to_yaml;
use berth_site::Resolver;
use berth_ztp::node_manifest;

use crate::{
    args::{ArtefactFormat, InstallName, NodeManifestArgs},
    boot,
    exit::Exit,
    failure::Failure,
    output::Printer,
    site::Loaded,
};

/// Runs the command.
pub(crate) fn run(args: &NodeManifestArgs, stdin: &mut dyn Read, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let loaded = Loaded::read(&args.files.paths, stdin)?;
    let resolver = Resolver::new(&loaded.site, args.flavour.of(&loaded.site));
    let resolution = boot::resolve(&resolver, &args.node)?;
    let exit = boot::mistakes(printer, &loaded, &resolver, Some(&resolution))?;
    if exit != Exit::Done {
        return Ok(exit);
    }
    let known_to_a_hub = || {
        let machines = loaded.site.machines();
        machines
            .iter()
            .any(|machine| *machine.name.value == *args.node && machine.bmc.is_some_and(|bmc| bmc.address.is_some()))
    };
    let assisted = match args.install {
        Some(install) => install == InstallName::Assisted,
        None => known_to_a_hub(),
    };
    let berth = loaded
        .site
        .berths
        .iter()
        .find(|berth| *berth.node_name.value == *args.node);
    let taints = berth.map(|berth| berth.taints.as_slice()).unwrap_or_default();
    match node_manifest(&resolution, taints, assisted) {
        Ok(node) => {
            match args.format {
                ArtefactFormat::Json => printer.data(&format!("{node:#}\n"))?,
                ArtefactFormat::Yaml => printer.data(&to_yaml(&node))?,
            }
            printer.note("create it before the machine asks to join; its kubelet then keeps these labels")?;
            Ok(Exit::Done)
        }
        Err(error) => {
            printer.error(&error.to_string())?;
            printer.hint(
                "`berth ztp` gives the labels by the host's Ignition override, in time for its registration; if you provision the \
                 machine yourself, say `--install user-provisioned`",
            )?;
            Ok(Exit::No)
        }
    }
}
