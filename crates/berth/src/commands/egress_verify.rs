//! `berth egress verify`: what the cluster does, beside what it will do.

mod report;

use std::{collections::BTreeMap, io::Read};

use berth_cluster::{DocumentKind, list_documents};
use berth_decide::Costs;
use berth_documents::{DocumentSet, Severity, object_name};
use berth_labels::{LabelKey, LabelValue};
use berth_placement::{Hosting, LabelChanges, Moves, moves};
use berth_site::{LiveTraffic, Placement, Resolver};
use serde_json::Value;

use self::report::VerifyReport;
use crate::{
    args::{EgressVerifyArgs, Relabel},
    cluster::{connect, unanswered},
    exit::Exit,
    failure::Failure,
    input,
    output::{Printer, counted, excerpts},
    places,
    site::Loaded,
};

/// How messages call what was read from the API server.
const CLUSTER: &str = "the cluster";

/// Runs the command.
pub(crate) fn run(args: &EgressVerifyArgs, stdin: &mut dyn Read, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let (loaded, hosting) = if args.observed.is_empty() {
        from_cluster(args, stdin, printer)?
    } else {
        from_files(args, stdin, printer)?
    };
    let resolver = Resolver::new(&loaded.site, args.places.flavour.of(&loaded.site));
    let resolutions = resolver.resolve_all();
    let now = Placement::now(&resolver, &resolutions);
    // The cluster's own objects declare no labels: without documents nothing is about to change.
    let applies = args.relabel.is_empty() && !args.places.files.paths.is_empty();
    let mut changes = BTreeMap::new();
    let mut after = if applies {
        Placement::new(&resolver, &resolutions)
    } else {
        changes = label_changes(&args.relabel, &now)?;
        let costs = Costs::new(&loaded.site);
        now.note_reboots(&mut changes, |before, after| costs.move_reboots(before, after));
        Placement::now(&resolver, &resolutions)
    };
    after.nodes = berth_placement::relabelled(&after.nodes, &changes);
    for (node, now) in after.nodes.iter_mut().zip(&now.nodes) {
        // Labels bring no machine into the cluster.
        node.not_ready |= now.not_ready;
    }
    let found = moves(&now.nodes, &after.nodes, &after.traffic(), Some(&hosting));
    let rebooting = changes.iter().filter(|(_, change)| change.reboots);
    let report = VerifyReport::new(&found, &after, rebooting.map(|(node, _)| node.clone()).collect());
    printer.report(args.output.format, &report)?;
    let exit = say(args, &found, printer)?;
    let own = places::show(printer, &loaded, &resolver, &resolutions, Vec::new(), false)?;
    Ok(exit.max(own))
}

/// Says in words what people should know before they go on.
fn say(args: &EgressVerifyArgs, found: &Moves, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let moving = found.addresses.iter().filter(|address| !address.stays()).count();
    let routers = found.routers.iter().filter(|router| !router.stays()).count();
    if moving + routers == 0 {
        return Ok(Exit::Done);
    }
    if !args.output.format.is_structured() {
        printer.warning(&format!(
            "{} and {} do not stay; connections through an address that moves break",
            counted(moving, "address"),
            counted(routers, "router")
        ))?;
    }
    Ok(Exit::No)
}

/// The documents, the live nodes and what runs where, all from files.
fn from_files(
    args: &EgressVerifyArgs,
    stdin: &mut dyn Read,
    printer: &mut Printer<'_>,
) -> Result<(Loaded, Hosting), Failure> {
    let observed = input::read_documents(&args.observed, stdin)?;
    let loaded = if args.places.files.paths.is_empty() {
        let mut loaded = Loaded::new(observed.clone());
        if let Some(path) = &args.places.nodes {
            loaded.site.observed = loaded.observe(path, stdin, printer)?;
        }
        loaded
    } else {
        places::read(&args.places, stdin, printer)?
    };
    let hosting = hosting(observed, printer)?;
    Ok((loaded, hosting))
}

/// The same from the cluster. Documents of a site come from files even then.
fn from_cluster(
    args: &EgressVerifyArgs,
    stdin: &mut dyn Read,
    printer: &mut Printer<'_>,
) -> Result<(Loaded, Hosting), Failure> {
    if args.places.nodes.is_some() {
        return Err(Failure::Argument {
            message: "`--nodes` goes with `--observed`: without it the nodes are the cluster's".to_owned(),
            hint: Some("add `--observed FILE`, or leave `--nodes` out".to_owned()),
        });
    }
    let own_site = args.places.files.paths.is_empty();
    // Before the cluster is asked: a slip in a path is cheaper to find.
    let documents = (!own_site)
        .then(|| Loaded::read(&args.places.files.paths, stdin))
        .transpose()?;
    let [traffic, nodes, site] = fetch(args, own_site)?;
    let mut loaded = documents.unwrap_or_else(|| Loaded::new(DocumentSet::of_objects(traffic.iter().chain(&site))));
    let add = |set: &mut DocumentSet| {
        for node in &nodes {
            set.add_object(object_name(node), node);
        }
    };
    loaded.site.observed = loaded.observe_set(CLUSTER, add, printer)?.1;
    if loaded.site.observed.is_empty() {
        return Err(Failure::Unusable("the cluster has no nodes".to_owned()));
    }
    let hosting = hosting(DocumentSet::of_objects(&traffic), printer)?;
    Ok((loaded, hosting))
}

fn fetch(args: &EgressVerifyArgs, own_site: bool) -> Result<[Vec<Value>; 3], Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::Runtime)?;
    let kinds: [&[DocumentKind]; 3] = [
        &[DocumentKind::EgressIp, DocumentKind::RouterPod],
        &[DocumentKind::Node],
        if own_site {
            // With what the pools' configs are made of: it decides what a move between pools costs.
            &[
                DocumentKind::IngressController,
                DocumentKind::MachineConfigPool,
                DocumentKind::OwnMachineConfig,
                DocumentKind::KubeletConfig,
                DocumentKind::ContainerRuntimeConfig,
                DocumentKind::ControllerConfig,
            ]
        } else {
            &[]
        },
    ];
    runtime.block_on(async {
        let client = connect(&args.cluster).await?;
        let mut answers: [Vec<Value>; 3] = Default::default();
        for (kinds, answer) in kinds.iter().zip(&mut answers) {
            *answer = list_documents(&client, kinds).await.map_err(unanswered)?;
        }
        Ok(answers)
    })
}

/// What runs where, from the objects of the cluster.
fn hosting(set: DocumentSet, printer: &mut Printer<'_>) -> Result<Hosting, Failure> {
    let DocumentSet {
        sources,
        documents,
        mut diagnostics,
    } = set;
    let (live, findings) = LiveTraffic::read(&sources, &documents);
    diagnostics.extend(findings);
    diagnostics.retain(|diagnostic| diagnostic.severity() == Severity::Error);
    if !diagnostics.is_empty() {
        printer.aside(&excerpts(&sources, &diagnostics))?;
        return Err(Failure::Argument {
            message: "what the cluster showed cannot be read".to_owned(),
            hint: Some("`--observed` takes what `kubectl get egressip -o yaml` prints".to_owned()),
        });
    }
    Ok(live.hosting)
}

fn label_changes(relabel: &[Relabel], now: &Placement<'_>) -> Result<BTreeMap<String, LabelChanges>, Failure> {
    let mut changes: BTreeMap<String, LabelChanges> = BTreeMap::new();
    for Relabel { node, key, value } in relabel {
        if !now.nodes.iter().any(|known| known.name == *node) {
            let names = now.nodes.iter().map(|known| known.name.as_str());
            return Err(Failure::Unknown {
                what: "node",
                name: node.clone(),
                problem: "is not known".to_owned(),
                close: berth_site::close_matches(node, names)
                    .into_iter()
                    .map(str::to_owned)
                    .collect(),
            });
        }
        let change = changes.entry(node.clone()).or_default();
        match value {
            Some(value) => {
                change
                    .set
                    .insert(LabelKey::to_string(key), LabelValue::to_string(value));
            }
            None => {
                change.remove.insert(key.to_string());
            }
        }
    }
    Ok(changes)
}
