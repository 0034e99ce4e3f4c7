//! `berth kubeadm`: a config for kubeadm with the boot labels of one machine.

use std::io::Read;

use berth_boot::{BootLabels, KubeadmInput, KubeadmKind, Taint, kubeadm};
use berth_labels::Flavour;
use berth_site::{Resolver, Site};

use crate::{
    args::{ArtefactFormat, KubeadmArgs},
    boot,
    exit::Exit,
    failure::Failure,
    output::Printer,
    site::Loaded,
};

/// Runs the command.
pub(crate) fn run(args: &KubeadmArgs, stdin: &mut dyn Read, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let loaded = Loaded::read(&args.files.paths, stdin)?;
    // The site is judged by its own rules. For this machine those of upstream hold: that is what kubeadm installs.
    let resolver = Resolver::new(&loaded.site, loaded.site.flavour_for(None));
    let resolution = boot::resolve(&resolver, &args.node)?;
    let exit = boot::mistakes(printer, &loaded, &resolver, Some(&resolution))?;
    if exit != Exit::Done {
        return Ok(exit);
    }
    let labels = resolution.label_set();
    let taints = taints(&loaded.site, &args.node)?;
    let text = kubeadm(&KubeadmInput {
        kind: if args.init {
            KubeadmKind::Init
        } else {
            KubeadmKind::Join
        },
        node: Some(&args.node),
        labels: &labels,
        taints: taints.as_deref(),
    });
    match args.format {
        ArtefactFormat::Yaml => printer.data(&text)?,
        ArtefactFormat::Json => boot::print_as_json(printer, &text)?,
    }
    let left_out = BootLabels::choose(&labels, Flavour::Upstream).left_out;
    boot::show_asides(printer, &left_out, &[])?;
    Ok(Exit::Done)
}

/// The taints of the node's Berth. Without any, kubeadm's own defaults hold.
fn taints(site: &Site, node: &str) -> Result<Option<Vec<Taint>>, Failure> {
    let berth = site.berths.iter().find(|berth| &*berth.node_name.value == node);
    let Some(berth) = berth.filter(|berth| !berth.taints.is_empty()) else {
        return Ok(None);
    };
    let taints = berth.taints.iter().map(|taint| {
        Ok(Taint {
            key: taint.key.clone(),
            value: taint.value.clone(),
            effect: taint.effect.parse().map_err(|error| Failure::Argument {
                message: format!("the Berth of node `{node}`: {error}"),
                hint: None,
            })?,
        })
    });
    taints.collect::<Result<_, _>>().map(Some)
}
