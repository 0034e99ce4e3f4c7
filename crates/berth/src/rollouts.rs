//! The pools of a site with the live nodes in them, as the rollout planner wants to see them.

use std::{
    collections::{BTreeMap, HashMap},
    io::Read,
    time::Duration,
};

use berth_decide::{Costs, LabelPolicy, NodePlan, Plan, Presence, Strategy, Totals};
use berth_pools::{
    DaemonState, ForecastInput, ForecastPool, MaxUnavailable, NewNode, NodeState, PoolRollout, annotation,
};
use berth_site::{IntOrString, Pool, Resolver, Site};
use serde_json::{Value, json};

use crate::{
    args::ChangeArgs,
    exit::Exit,
    failure::{Chain, Failure},
    findings,
    output::{Printer, counted},
    rendering::{self, PoolConfig},
    site::{Loaded, stdin_once},
};

/// Plays a change of a site. What `play` gives says whether it fits its window; what is wrong with the documents is shown after it.
pub(crate) fn change<'a>(
    args: &ChangeArgs,
    stdin: &mut dyn Read,
    printer: &mut Printer<'a>,
    play: impl FnOnce(&ForecastInput, &Site, &mut Printer<'a>) -> Result<Option<bool>, Failure>,
) -> Result<Exit, Failure> {
    stdin_once(&args.files.paths, Some(&args.nodes))?;
    let mut loaded = Loaded::read(&args.files.paths, stdin)?;
    let live = loaded.observe_states(&args.nodes, stdin, printer)?;
    loaded.site.observed = live.nodes;
    let options = rendering::options(args.os_image_url.as_deref());
    let configs = rendering::render_pools(&loaded.site, None, &options)?;
    let flavour = args.flavour.of(&loaded.site);
    let resolver = Resolver::new(&loaded.site, flavour);
    let resolutions = resolver.resolve_all();
    let labels = berth_decide::plan(&resolver, &resolutions, Strategy::Owned, &LabelPolicy::default());

    let minutes = |count: u32| Duration::from_secs(u64::from(count) * 60);
    let changing = changing_pools(&configs, &loaded, &labels, live.states);
    let input = ForecastInput {
        pools: changing.pools.clone(),
        reboot: minutes(args.reboot_minutes),
        drain: minutes(args.drain_minutes),
        window: args.window,
    };
    let fits = play(&input, &loaded.site, printer)?;

    if let Some(held) = mass_removal(&labels.totals) {
        printer.note(&format!("{held}: controllers wait until somebody allows it"))?;
    }
    if let Some(note) = changing.note() {
        printer.note(&note)?;
    }
    rendering::show_warnings(printer, &configs)?;
    // What nodes have is compared with these names.
    rendering::show_name_notes(printer, &loaded.site, flavour, &configs)?;
    let mut diagnostics = berth_site::check(&loaded.sources, &resolver, &resolutions);
    diagnostics.extend_from_slice(&loaded.diagnostics);
    let exit = findings::show_errors(printer, &loaded.sources, diagnostics)?;
    Ok(if fits == Some(false) { exit.max(Exit::No) } else { exit })
}

/// What is said of a change that would take away so many labels that somebody has to agree first.
pub(crate) fn mass_removal(totals: &Totals) -> Option<String> {
    let of = counted(totals.owned, "label");
    totals
        .is_mass_removal()
        .then(|| format!("this removes {} of {of} that Berth owns", totals.removed))
}

/// Pools without nodes yet. The target is the rendered config; without one, what `spec.configuration` names.
pub(crate) fn empty_rollouts(configs: &[PoolConfig<'_>], configured: &BTreeMap<String, String>) -> Vec<PoolRollout> {
    configs
        .iter()
        .map(|config| {
            let fallback = configured.get(config.name());
            let target = config.rendered().map(|rendered| &rendered.name).or(fallback);
            let error = match (&config.rendered, fallback) {
                (Err(error), None) => Some(error),
                _ => config.failure(),
            };
            PoolRollout {
                pool: config.name().to_owned(),
                target: target.cloned(),
                paused: config.pool.paused,
                max_unavailable: max_unavailable(config.pool),
                render_error: error.map(|error| Chain(error).to_string()),
                ..PoolRollout::default()
            }
        })
        .collect()
}

/// Puts a node into its pool.
pub(crate) fn add_node(rollouts: &mut [PoolRollout], pool: &str, node: NodeState) {
    if let Some(rollout) = rollouts.iter_mut().find(|rollout| rollout.pool == pool) {
        rollout.nodes.push(node);
    }
}

/// What a node is taken to run of which nobody says it. It is not a config, so that the way to any config is a change.
const NOT_REPORTED: &str = "not-reported";

/// Pools at the start of a change, and the nodes of which nothing is known.
struct Changing {
    pools: Vec<ForecastPool>,
    /// Nodes that no daemon reported on, and that no pool's config could be derived for.
    unknown: usize,
}

impl Changing {
    /// What was assumed, for people.
    fn note(&self) -> Option<String> {
        let nodes = counted(self.unknown, "node");
        (self.unknown > 0).then(|| {
            format!(
                "no node daemon has reported what {nodes} run{}; each is counted with one reboot",
                if self.unknown == 1 { "s" } else { "" }
            )
        })
    }
}

/// The pools as they are once labels are applied, with what each node's way there costs: the start of a change.
fn changing_pools(configs: &[PoolConfig<'_>], loaded: &Loaded, labels: &Plan, live: Vec<NodeState>) -> Changing {
    let mut unknown = 0;
    let mut pools: Vec<ForecastPool> = empty_rollouts(configs, &loaded.configured)
        .into_iter()
        .map(|rollout| ForecastPool {
            rollout,
            ..ForecastPool::default()
        })
        .collect();
    let costs = Costs::of_rendered(&loaded.site, configs.iter().filter_map(PoolConfig::rendered));
    let places: HashMap<String, usize> = pools.iter().map(|pool| pool.rollout.pool.clone()).zip(0..).collect();
    let mut states: HashMap<String, NodeState> = live.into_iter().map(|node| (node.name.clone(), node)).collect();
    for node in &labels.nodes {
        let mut state = states.remove(&*node.node);
        if let Some(state) = state.as_mut().filter(|state| !state.reported()) {
            let before = node.pool_before.as_deref();
            let derived = before.and_then(|pool| loaded.configured.get(pool));
            unknown += usize::from(derived.is_none());
            report(state, derived.map_or(NOT_REPORTED, String::as_str));
        }
        let pool = node.pool_after.as_deref().and_then(|pool| places.get(pool));
        if let Some(pool) = pool.and_then(|index| pools.get_mut(*index)) {
            take_part(pool, node, state, &costs);
        }
    }
    Changing { pools, unknown }
}

/// Has a node run this: its pool wanted it, or nothing is known. A rollout begins when daemons have reported.
fn report(state: &mut NodeState, config: &str) {
    for (key, text) in [
        (annotation::CURRENT_CONFIG, config),
        (annotation::DESIRED_CONFIG, config),
        (annotation::STATE, DaemonState::Done.word()),
    ] {
        state.annotations.insert(key.to_owned(), text.to_owned());
    }
}

/// Adds a node to the pool that it is in once its labels are applied.
fn take_part(pool: &mut ForecastPool, node: &NodePlan, state: Option<NodeState>, costs: &Costs<'_>) {
    let name = node.node.to_string();
    match state {
        Some(mut state) if node.presence != Presence::Awaited => {
            state.labels.extend(node.set.clone());
            state.labels.retain(|key, _| !node.remove.contains(key));
            if let Some(reboots) = costs.of_node(state.current_config(), &pool.rollout.pool) {
                pool.reboots.insert(name, reboots);
            }
            pool.rollout.nodes.push(state);
        }
        _ => pool.joining.push(NewNode {
            name,
            labels: node.set.clone(),
            reboots: Some(costs.of_joining(&pool.rollout.pool)),
        }),
    }
}

/// A value that makes no sense has been reported as a finding; one node at a time is safe.
fn max_unavailable(pool: &Pool) -> MaxUnavailable {
    let value: Option<Value> = pool.max_unavailable.as_ref().map(|value| match &value.value {
        IntOrString::Int(number) => json!(number),
        IntOrString::String(text) => json!(text),
    });
    MaxUnavailable::from_json(value.as_ref()).unwrap_or_default()
}
