//! `berth diff`: what differs between two folders or revisions of documents, and what it costs.

mod contents;
mod report;

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read,
    path::PathBuf,
};

use berth_clock::Clock;
use berth_documents::Diagnostic;
use berth_labels::Flavour;
use berth_pools::{
    Action, Change, ChangeKind, ChangedItem, DisruptionPolicy, MachineConfigSpec, Rendered, combine, diff_specs_with,
};
use berth_site::{IntOrString, Pool, Resolution, Resolver, check};

pub(super) use self::report::{ChangeReport, list, table};
use self::report::{DiffReport, NodeReport, PoolReport};
use crate::{
    args::DiffArgs,
    database::{self, IfMissing},
    documents::Documents,
    exit::Exit,
    failure::{Chain, Failure},
    findings,
    output::Printer,
    rendering::{self, PoolConfig},
    site::Loaded,
};

/// Runs the command.
pub(crate) fn run(
    args: &DiffArgs,
    stdin: &mut dyn Read,
    clock: &Clock,
    printer: &mut Printer<'_>,
) -> Result<Exit, Failure> {
    if args.old == "-" && args.new == "-" {
        return Err(Failure::Argument {
            message: "standard input can be OLD or NEW, not both".to_owned(),
            hint: None,
        });
    }
    let old = read(&args.old, args, stdin, clock)?;
    let new = read(&args.new, args, stdin, clock)?;
    if let Some(pool) = &args.pool {
        rendering::known_pool([&old.site, &new.site], pool)?;
    }
    let old = Side::new(&old, &args.old, args, printer)?;
    let new = Side::new(&new, &args.new, args, printer)?;
    let wanted = |pool: &str| args.pool.as_ref().is_none_or(|only| only == pool);
    let report = DiffReport {
        pools: pools(&old, &new, wanted)?,
        nodes: nodes(&old, &new, wanted)?,
    };
    printer.report(args.output.format, &report)?;
    // What both sides lack is said once.
    let notes: BTreeSet<String> = [&old, &new]
        .into_iter()
        .flat_map(|side| side.name_notes(wanted))
        .collect();
    for note in notes {
        printer.note(&note)?;
    }
    Ok(if report.is_empty() { Exit::Done } else { Exit::No })
}

fn neither(side: &str, hint: Option<&str>) -> Failure {
    Failure::Argument {
        message: format!("`{side}` is neither a folder nor a revision"),
        hint: hint.map(str::to_owned),
    }
}

/// Reads one side. What is there as a path is a path, as it always was; other words may name a revision.
fn read(side: &str, args: &DiffArgs, stdin: &mut dyn Read, clock: &Clock) -> Result<Loaded, Failure> {
    let path = PathBuf::from(side);
    let is_path = side == "-" || path.exists() || (side.contains('/') && !side.starts_with("revision/"));
    if is_path {
        return Loaded::read(&[path], stdin);
    }
    let is_word = side
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte));
    let has_repository = args.repository.server.server.is_some()
        || database::file(&args.repository.database.address()?).is_none_or(|file| file.exists());
    let is_number = side.parse::<u64>().is_ok() || side.starts_with("revision/");
    if !is_word || !(has_repository || is_number) {
        let hint = "there is no database here; name one with --database, or a server with --server";
        return Err(neither(side, Some(hint)));
    }
    database::wait(async {
        let documents = Documents::open(&args.repository, IfMissing::Refuse, clock).await?;
        let revision = documents.find(side).await.map_err(|failure| match failure {
            Failure::Argument { hint, .. } if !is_number => neither(side, hint.as_deref()),
            failure => failure,
        })?;
        documents.site(revision).await
    })
}

/// How messages call a side.
fn described(side: &str) -> String {
    format!("`{side}`")
}

/// One of the two sides, without mistakes.
struct Side<'a> {
    loaded: &'a Loaded,
    flavour: Flavour,
    configs: BTreeMap<&'a str, PoolConfig<'a>>,
    resolutions: Vec<Resolution>,
    policy: DisruptionPolicy,
}

impl<'a> Side<'a> {
    /// A difference to something broken would look complete and not be, so there is none.
    fn new(loaded: &'a Loaded, name: &str, args: &DiffArgs, printer: &mut Printer<'_>) -> Result<Self, Failure> {
        let flavour = args.flavour.of(&loaded.site);
        let resolver = Resolver::new(&loaded.site, flavour);
        let resolutions = resolver.resolve_all();
        let mut diagnostics: Vec<Diagnostic> = check(&loaded.sources, &resolver, &resolutions);
        diagnostics.extend_from_slice(&loaded.diagnostics);
        let diagnostics = diagnostics
            .into_iter()
            .map(|finding| loaded.secrets.veil(finding))
            .collect();
        let shown = findings::show_errors(printer, &loaded.sources, diagnostics)?;
        let configs = rendering::render_pools(&loaded.site, None, &rendering::options(None))?;
        let failed = configs.iter().find_map(PoolConfig::failure);
        if shown != Exit::Done || failed.is_some() {
            let reason = match failed {
                Some(error) if shown == Exit::Done => {
                    format!(": {}", loaded.secrets.veil_text(Chain(error).to_string()))
                }
                _ => String::new(),
            };
            return Err(Failure::Unusable(format!(
                "{} has mistakes, so that it cannot be compared{reason}",
                described(name)
            )));
        }
        let names: Vec<&str> = configs.iter().map(|config| &*config.pool.name.value).collect();
        Ok(Self {
            loaded,
            flavour,
            configs: names.into_iter().zip(configs).collect(),
            resolutions,
            policy: DisruptionPolicy::default().with(&loaded.site.disruption),
        })
    }

    /// What is to be said about the names of its rendered configs.
    fn name_notes(&self, wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let configs = self.configs.values().filter(|config| wanted(config.name()));
        let notes = rendering::name_notes_of(&self.loaded.site, self.flavour, configs);
        notes
            .into_iter()
            .map(|note| self.loaded.secrets.veil_text(note))
            .collect()
    }
}

fn pools(old: &Side<'_>, new: &Side<'_>, wanted: impl Fn(&str) -> bool) -> Result<Vec<PoolReport>, Failure> {
    let names: BTreeSet<&str> = old.configs.keys().chain(new.configs.keys()).copied().collect();
    let names = names.into_iter().filter(|name| wanted(name));
    names
        // The change comes with the new documents, so their policy holds for it.
        .map(|name| pool(name, old.configs.get(name), new.configs.get(name), &new.policy))
        .collect()
}

fn pool(
    name: &str,
    old: Option<&PoolConfig<'_>>,
    new: Option<&PoolConfig<'_>>,
    policy: &DisruptionPolicy,
) -> Result<PoolReport, Failure> {
    let rendered = |side: Option<&PoolConfig<'_>>| side.and_then(PoolConfig::rendered).cloned();
    let (before, after) = (rendered(old), rendered(new));
    let spec = |rendered: &Option<Rendered>| {
        rendered
            .as_ref()
            .map_or_else(MachineConfigSpec::default, |it| it.spec.clone())
    };
    let (before_spec, after_spec) = (spec(&before), spec(&after));
    // What a pool that comes or goes consists of is not a change of any machine: machines change when they move there.
    let exists_twice = old.is_some() && new.is_some();
    let found = if exists_twice {
        let diff =
            diff_specs_with(&before_spec, &after_spec, policy).map_err(|error| Failure::Unusable(error.to_string()))?;
        diff.changes
    } else {
        Vec::new()
    };
    let contents = contents::Contents::new(&before_spec, &after_spec);
    let mut changes: Vec<ChangeReport> = found
        .iter()
        .map(|change| ChangeReport {
            details: contents.details(change),
            ..change_report(change)
        })
        .collect();
    if let (Some(old), Some(new)) = (old, new) {
        changes.extend(settings(old.pool, new.pool));
    }
    let actions = combine(changes.iter().flat_map(|change| change.actions.iter().cloned()));
    Ok(PoolReport {
        pool: name.to_owned(),
        is_new: old.is_none(),
        is_gone: new.is_none(),
        old: before.map(|rendered| rendered.name),
        new: after.map(|rendered| rendered.name),
        changes,
        actions: actions.into_iter().collect(),
    })
}

/// What the pool says of itself. It costs the machines nothing, but rollouts go another way.
fn settings(old: &Pool, new: &Pool) -> Vec<ChangeReport> {
    let limit = |pool: &Pool| match pool.max_unavailable.as_ref().map(|value| &value.value) {
        None => "1 (default)".to_owned(),
        Some(IntOrString::Int(number)) => number.to_string(),
        Some(IntOrString::String(text)) => text.clone(),
    };
    let selector = |pool: &Pool| match pool.node_selector.as_ref().map(|selector| selector.value.compile()) {
        Some(Ok(selector)) => selector.to_string(),
        _ => "none".to_owned(),
    };
    let texts = [
        ("spec.paused", old.paused.to_string(), new.paused.to_string()),
        ("spec.maxUnavailable", limit(old), limit(new)),
        ("spec.nodeSelector", selector(old), selector(new)),
    ];
    let changed = texts.into_iter().filter(|(_, old, new)| old != new);
    changed
        .map(|(name, old, new)| ChangeReport {
            kind: "setting",
            name: name.to_owned(),
            change: ChangeKind::Changed,
            actions: vec![Action::None],
            details: format!("{old} -> {new}\n"),
        })
        .collect()
}

pub(super) fn change_report(change: &Change) -> ChangeReport {
    let (kind, name) = match &change.item {
        ChangedItem::OsImage { .. } => ("os-image", "osImageURL".to_owned()),
        ChangedItem::ExtensionsImage { .. } => ("extensions-image", "baseOSExtensionsContainerImage".to_owned()),
        ChangedItem::KernelType { .. } => ("kernel-type", "kernelType".to_owned()),
        ChangedItem::Fips { .. } => ("fips", "fips".to_owned()),
        ChangedItem::KernelArgument { argument } => ("kernel-argument", argument.clone()),
        ChangedItem::Order { list } => ("order", (*list).to_owned()),
        ChangedItem::Extension { name } => ("extension", name.clone()),
        ChangedItem::File { path } => ("file", path.clone()),
        ChangedItem::Directory { path } => ("directory", path.clone()),
        ChangedItem::Link { path } => ("link", path.clone()),
        ChangedItem::Unit { name } => ("unit", name.clone()),
        ChangedItem::DropIn { unit, name } => ("drop-in", format!("{unit}.d/{name}")),
        ChangedItem::User { name } => ("user", name.clone()),
        ChangedItem::Section { name } => ("section", (*name).to_owned()),
    };
    ChangeReport {
        kind,
        name,
        change: change.kind,
        actions: change.actions.clone(),
        details: String::new(),
    }
}

/// What a move between two pools needs on the machine. Where a side has no rendered config nothing can be said.
fn cost_of_move(
    old: &Side<'_>,
    new: &Side<'_>,
    before: Option<&str>,
    after: Option<&str>,
) -> Result<Vec<Action>, Failure> {
    let spec = |side: &Side<'_>, pool: Option<&str>| {
        let rendered = side.configs.get(pool?)?.rendered()?;
        Some(rendered.spec.clone())
    };
    if before == after {
        return Ok(Vec::new());
    }
    let (Some(before), Some(after)) = (spec(old, before), spec(new, after)) else {
        return Ok(Vec::new());
    };
    let diff = diff_specs_with(&before, &after, &new.policy).map_err(|error| Failure::Unusable(error.to_string()))?;
    Ok(diff.actions().into_iter().collect())
}

/// Nodes whose labels or pool differ, by name.
fn nodes(old_side: &Side<'_>, new_side: &Side<'_>, wanted: impl Fn(&str) -> bool) -> Result<Vec<NodeReport>, Failure> {
    let by_name = |side: &[Resolution]| -> BTreeMap<String, (Option<String>, BTreeMap<String, String>)> {
        side.iter()
            .map(|resolution| {
                let pool = resolution.pool_name().map(str::to_owned);
                (resolution.node.to_string(), (pool, resolution.label_set().to_map()))
            })
            .collect()
    };
    let (mut old, mut new) = (by_name(&old_side.resolutions), by_name(&new_side.resolutions));
    let names: BTreeSet<String> = old.keys().chain(new.keys()).cloned().collect();
    let mut reports: Vec<NodeReport> = names
        .into_iter()
        .filter_map(|node| {
            let (before, after) = (old.remove(&node), new.remove(&node));
            let (is_new, is_gone) = (before.is_none(), after.is_none());
            let (pool_before, before) = before.unwrap_or_default();
            let (pool_after, after) = after.unwrap_or_default();
            let set: BTreeMap<String, String> = after
                .iter()
                .filter(|(key, value)| before.get(*key) != Some(value))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            let remove: BTreeSet<String> = before.keys().filter(|key| !after.contains_key(*key)).cloned().collect();
            let in_wanted = [&pool_before, &pool_after]
                .into_iter()
                .flatten()
                .any(|pool| wanted(pool));
            let differs = is_new || is_gone || pool_before != pool_after || !set.is_empty() || !remove.is_empty();
            // A node in no pool is shown when no pool was asked for.
            let is_shown = in_wanted || (pool_before.is_none() && pool_after.is_none() && wanted(""));
            (differs && is_shown).then_some(NodeReport {
                node,
                pool_before,
                pool_after,
                set,
                remove,
                before,
                actions: Vec::new(),
                is_new,
                is_gone,
            })
        })
        .collect();
    for report in &mut reports {
        let (before, after) = (report.pool_before.as_deref(), report.pool_after.as_deref());
        report.actions = cost_of_move(old_side, new_side, before, after)?;
    }
    Ok(reports)
}
