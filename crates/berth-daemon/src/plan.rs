//! From what runs, what is wanted and what the host has to a plan.
//!
//! The rule for everything that a config manages, with `before` for the config that managed the host until now:
//!
//! | thing | what is done |
//! |---|---|
//! | wanted, not managed before, nothing kept of it | what is there is kept, then it is set |
//! | wanted, and not as it is | it is set |
//! | managed before, not wanted | what was kept of it comes back, or it is removed |
//!
//! It looks at the host and not at how far an earlier attempt came. So the same function begins an update, ends one that was
//! interrupted anywhere, goes back, repairs what drifted and writes everything anew.

mod print;

use std::collections::{BTreeMap, BTreeSet};

use berth_pools::{Action, Change, DisruptionPolicy, ReconcileOverrides, combine, diff_specs_with, reconcile_specs};

use crate::{
    host::{Capabilities, Enablement, Host, HostError},
    host_config::{HostConfig, KEYS, NodeConfig, UNITS},
    item::{Item, Setting, System},
    journal,
};

/// What is on the host of the things that matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// Things as they are. What is not named is not there.
    pub settings: BTreeMap<Item, Setting>,
    /// Units that cannot be enabled or disabled: whatever is asked of them is so already.
    pub fixed: BTreeSet<String>,
    /// What was kept, by thing; `None`: it was not there.
    pub originals: BTreeMap<Item, Option<Setting>>,
    /// What the distribution ships for paths of which nothing was kept.
    pub shipped: BTreeMap<Item, Setting>,
    /// What the host boots next.
    pub system: System,
}

/// Looks at everything on a host that one of these configs manages.
pub fn observe(host: &impl Host, configs: &[&HostConfig]) -> Result<Observed, HostError> {
    let arguments = configs
        .iter()
        .flat_map(|config| config.system.arguments.iter().cloned());
    let mut observed = Observed {
        originals: journal::read_originals(host)?,
        system: host.system(&arguments.collect())?,
        ..Observed::default()
    };
    let items: BTreeSet<&Item> = configs.iter().flat_map(|config| config.settings.keys()).collect();
    for item in items {
        let setting = match item {
            Item::Path(path) => host.entry(path)?.map(Setting::Entry),
            Item::Password(user) => host.password(user)?.map(Setting::Hash),
            Item::Unit(unit) => match host.enablement(unit)? {
                Enablement::Enabled => Some(Setting::Enabled(true)),
                Enablement::Disabled => Some(Setting::Enabled(false)),
                Enablement::Fixed => {
                    observed.fixed.insert(unit.clone());
                    None
                }
                Enablement::Missing => None,
            },
        };
        if let Some(setting) = setting {
            observed.settings.insert(item.clone(), setting);
        }
        if let Item::Path(path) = item
            && !observed.originals.contains_key(item)
            && let Some(entry) = host.shipped(path)?
        {
            observed.shipped.insert(item.clone(), Setting::Entry(entry));
        }
    }
    Ok(observed)
}

/// How much is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Scope {
    /// Things that differ between the two configs. What somebody changed beside them is not touched.
    Changed,
    /// Everything that the wanted config manages, where it is not as it should be.
    Everything,
    /// As everything, on a host that no config managed before: what is as the config says was installed with it, and is neither
    /// kept nor removed when the config goes.
    Adopt,
}

/// One thing that is done to a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// What is there is kept, so that it can come back. `None`: nothing is there.
    Keep {
        /// The thing.
        item: Item,
        /// What is kept.
        original: Option<Setting>,
    },
    /// A thing is set.
    Set {
        /// The thing.
        item: Item,
        /// What it is set to.
        setting: Setting,
        /// What it was.
        before: Option<Setting>,
    },
    /// A thing that is not wanted any more goes back to what it was before any config.
    Restore {
        /// The thing.
        item: Item,
        /// What it was; `None`: it was not there, and is removed.
        original: Option<Setting>,
        /// What it is until then.
        before: Option<Setting>,
    },
    /// What is booted next.
    System {
        /// What is wanted.
        wanted: System,
        /// What it was.
        before: System,
    },
    /// systemd reads its units again.
    DaemonReload,
}

/// The steps that make of a host what `wanted` says. `before` is what managed it until now, which an interrupted attempt may
/// have left in part.
pub fn steps(before: &HostConfig, wanted: &HostConfig, observed: &Observed, scope: Scope) -> Vec<Step> {
    let mut steps = Vec::new();
    if (scope != Scope::Changed || before.system != wanted.system) && !observed.system.satisfies(&wanted.system) {
        steps.push(Step::System {
            wanted: wanted.system.clone(),
            before: observed.system.clone(),
        });
    }
    let mut sets = Vec::new();
    for (item, setting) in &wanted.settings {
        if scope == Scope::Changed && before.settings.get(item) == Some(setting) {
            continue;
        }
        let is = observed.settings.get(item);
        let satisfied = satisfied(item, is, Some(setting), observed);
        let kept = before.settings.contains_key(item) || observed.originals.contains_key(item);
        let installed = satisfied && scope == Scope::Adopt;
        if !kept && !installed {
            steps.push(Step::Keep {
                item: item.clone(),
                original: is.cloned(),
            });
        }
        if !satisfied {
            sets.push(Step::Set {
                item: item.clone(),
                setting: setting.clone(),
                before: is.cloned(),
            });
        }
    }
    sets.extend(let_go(before, wanted, observed, scope));
    // What is disabled goes first, while the unit still has its file; what is enabled last, by what its new file says.
    let rank = |step: &Step| match (step.item(), step.after()) {
        (Some(Item::Unit(_)), Some(Setting::Enabled(true))) => 2,
        (Some(Item::Unit(_)), _) => 0,
        _ => 1,
    };
    sets.sort_by_key(rank);
    let first = sets.iter().position(|step| rank(step) == 2).unwrap_or(sets.len());
    let enables = sets.split_off(first);
    steps.extend(sets);
    if changed_paths(before, wanted).any(is_unit_file) || steps.iter().any(|step| step.path().is_some_and(is_unit_file))
    {
        steps.push(Step::DaemonReload);
    }
    steps.extend(reenables(before, wanted, &enables));
    steps.extend(enables);
    steps
}

/// What comes back of things that are not wanted any more. What was kept of them is forgotten when the update is over: before
/// that an interrupted attempt could not tell what came back from what has to go.
fn let_go(before: &HostConfig, wanted: &HostConfig, observed: &Observed, scope: Scope) -> Vec<Step> {
    let mut restores = Vec::new();
    for item in before
        .settings
        .keys()
        .filter(|item| !wanted.settings.contains_key(*item))
    {
        let kept = observed.originals.get(item);
        // Of a unit that was enabled before any config it is not known who enabled it, so it stays.
        let unknown = !matches!(item, Item::Path(_));
        if kept.is_none() && (unknown || scope == Scope::Adopt) {
            continue;
        }
        let original = match kept {
            Some(original) => original.clone(),
            None => observed.shipped.get(item).cloned(),
        };
        let is = observed.settings.get(item);
        if !satisfied(item, is, original.as_ref(), observed) {
            restores.push(Step::Restore {
                item: item.clone(),
                original,
                before: is.cloned(),
            });
        }
    }
    restores
}

/// Whether a thing is as it shall be. A unit that is not there is one that is disabled.
pub(crate) fn satisfied(item: &Item, is: Option<&Setting>, wanted: Option<&Setting>, observed: &Observed) -> bool {
    match item {
        Item::Unit(unit) => {
            let enabled = |setting: Option<&Setting>| setting == Some(&Setting::Enabled(true));
            observed.fixed.contains(unit) || enabled(is) == enabled(wanted)
        }
        Item::Path(_) | Item::Password(_) => is == wanted,
    }
}

/// Units that stay enabled and whose files differ: what they are enabled by may differ too. It does not matter whether the
/// file has been written already: an interrupted attempt may have ended just after that.
fn reenables(before: &HostConfig, wanted: &HostConfig, enables: &[Step]) -> Vec<Step> {
    let units: BTreeSet<&str> = changed_paths(before, wanted).filter_map(unit_of_file).collect();
    let items = units.into_iter().map(|unit| Item::Unit(unit.to_owned()));
    items
        .filter(|item| {
            wanted.settings.get(item) == Some(&Setting::Enabled(true))
                && before.settings.get(item) == Some(&Setting::Enabled(true))
                && !enables.iter().any(|step| step.item() == Some(item))
        })
        .map(|item| Step::Set {
            item,
            setting: Setting::Enabled(true),
            before: Some(Setting::Enabled(true)),
        })
        .collect()
}

/// Paths that differ between two configs.
fn changed_paths<'a>(before: &'a HostConfig, wanted: &'a HostConfig) -> impl Iterator<Item = &'a str> {
    let both = before.settings.keys().chain(wanted.settings.keys());
    both.filter(|item| before.settings.get(*item) != wanted.settings.get(*item))
        .filter_map(|item| match item {
            Item::Path(path) => Some(path.as_str()),
            Item::Unit(_) | Item::Password(_) => None,
        })
}

fn is_unit_file(path: &str) -> bool {
    path.strip_prefix(UNITS).is_some_and(|rest| rest.starts_with('/'))
}

/// The unit that a path is the own file of.
fn unit_of_file(path: &str) -> Option<&str> {
    let name = path.strip_prefix(UNITS)?.strip_prefix('/')?;
    (!name.contains('/')).then_some(name)
}

impl Step {
    /// The thing that it is about.
    pub fn item(&self) -> Option<&Item> {
        match self {
            Self::Keep { item, .. } | Self::Set { item, .. } | Self::Restore { item, .. } => Some(item),
            Self::System { .. } | Self::DaemonReload => None,
        }
    }

    /// The path that it changes.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Set {
                item: Item::Path(path), ..
            }
            | Self::Restore {
                item: Item::Path(path), ..
            } => Some(path),
            _ => None,
        }
    }

    /// What is at the path, or the thing set to, after it.
    pub fn after(&self) -> Option<&Setting> {
        match self {
            Self::Set { setting, .. } => Some(setting),
            Self::Restore { original, .. } => original.as_ref(),
            _ => None,
        }
    }
}

/// Why a host stays with what it runs. Nothing was touched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot go from {from} to {to} on this host: {}", .reasons.join("; "))]
pub struct Refused {
    /// What runs.
    pub from: String,
    /// What is wanted.
    pub to: String,
    /// All reasons.
    pub reasons: Vec<String>,
}

/// An update: what differs, what is done in which order, how each step is undone, and what it costs.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdatePlan {
    /// The config that runs.
    pub from: String,
    /// The config that is wanted, whole.
    pub to: NodeConfig,
    /// What differs between the two, and what each change needs.
    pub changes: Vec<Change>,
    /// What has to happen on the node for all changes together.
    pub actions: BTreeSet<Action>,
    /// What is done to the host, in order.
    pub steps: Vec<Step>,
    /// How much was looked at.
    pub scope: Scope,
    /// Kernel arguments that the host has of its own.
    pub native_arguments: BTreeSet<String>,
}

impl UpdatePlan {
    /// Whether Pods have to go first.
    pub fn needs_drain(&self) -> bool {
        self.actions.contains(&Action::Drain) || self.needs_reboot()
    }

    /// Whether the host is started again.
    pub fn needs_reboot(&self) -> bool {
        self.actions.contains(&Action::Reboot)
    }

    /// Whether nothing that runs notices.
    pub fn costs_nothing(&self) -> bool {
        self.actions.iter().all(|action| *action == Action::None)
    }
}

/// What a plan is made from.
#[derive(Clone, Copy, Debug)]
pub struct PlanInput<'a> {
    /// What runs, whole.
    pub running: &'a NodeConfig,
    /// What is wanted, whole.
    pub wanted: &'a NodeConfig,
    /// What the host can do.
    pub host: &'a Capabilities,
    /// What is on the host of the things that either config manages.
    pub observed: &'a Observed,
    /// Which change needs which action.
    pub policy: &'a DisruptionPolicy,
    /// How much is looked at.
    pub scope: Scope,
}

/// The plan of an update, or all reasons why there is none.
pub fn plan(input: &PlanInput<'_>) -> Result<UpdatePlan, Refused> {
    let PlanInput {
        running,
        wanted,
        host,
        observed,
        policy,
        scope,
    } = *input;
    let refused = |reasons: Vec<String>| Refused {
        from: running.name.clone(),
        to: wanted.name.clone(),
        reasons,
    };
    let (before, known) = HostConfig::of(running, host);
    let (after, obstacles) = HostConfig::of(wanted, host);
    let (mut old, new) = (running.effective(), wanted.effective());
    if running.is_unconfigured() {
        // A machine that no config made is as its installer made it.
        old.fips = host.fips;
    }
    let mut reasons: Vec<String> = Vec::new();
    let can = ReconcileOverrides {
        directories: true,
        links: true,
        ..ReconcileOverrides::default()
    };
    if let Err(error) = reconcile_specs(&old, (&wanted.name, &new), [], can) {
        reasons.extend(error.changes.iter().map(|change| change.item.to_string()));
    }
    // What a running config asks for and does not get is not a reason against the next one that asks for it too.
    let obstacles = obstacles.into_iter().filter(|obstacle| !known.contains(obstacle));
    reasons.extend(obstacles.map(|obstacle| obstacle.to_string()));
    let diff = match diff_specs_with(&old, &new, policy) {
        Ok(diff) => diff,
        Err(error) => {
            reasons.push(error.to_string());
            return Err(refused(reasons));
        }
    };
    if !reasons.is_empty() {
        return Err(refused(reasons));
    }
    let steps = steps(&before, &after, observed, scope);
    let needed = steps.iter().flat_map(|step| needs(step, policy));
    let mut actions = match scope {
        Scope::Changed => diff.actions(),
        // What is written anew needs what its change would need.
        Scope::Everything => combine(diff.actions().into_iter().chain(needed)),
        // What a machine was installed with it has booted with.
        Scope::Adopt => combine(needed),
    };
    // A unit that goes cannot be started again.
    actions.retain(|action| match action {
        Action::Reload(unit) | Action::Restart(unit) => !goes(unit, &before, &after),
        Action::None | Action::DaemonReload | Action::Drain | Action::Reboot => true,
    });
    let actions = combine(actions);
    Ok(UpdatePlan {
        from: running.name.clone(),
        to: wanted.clone(),
        changes: diff.changes,
        actions,
        steps,
        scope,
        native_arguments: host.native_arguments.clone(),
    })
}

/// A unit's own file.
fn unit_file(unit: &str) -> Item {
    Item::Path(format!("{UNITS}/{unit}"))
}

/// Whether a unit, or that it is enabled, is due to the config before and not to the one that is wanted.
pub(crate) fn goes(unit: &str, before: &HostConfig, wanted: &HostConfig) -> bool {
    let file = unit_file(unit);
    let unit = Item::Unit(unit.to_owned());
    let lets_go = |item: &Item| before.settings.contains_key(item) && !wanted.settings.contains_key(item);
    lets_go(&file) || (lets_go(&unit) && !wanted.settings.contains_key(&file))
}

/// What a step needs by the policy, whatever config it is part of.
fn needs(step: &Step, policy: &DisruptionPolicy) -> Vec<Action> {
    match step {
        Step::Set { item, .. } | Step::Restore { item, .. } => match item {
            Item::Path(path) => match unit_of_file(path) {
                Some(unit) => policy.of_unit(unit),
                None if path.contains(KEYS) => policy.ssh_keys.clone(),
                None => policy.of_file(path),
            },
            Item::Unit(unit) => policy.of_unit(unit),
            Item::Password(_) => policy.ssh_keys.clone(),
        },
        Step::System { .. } => vec![Action::Reboot],
        Step::Keep { .. } | Step::DaemonReload => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
