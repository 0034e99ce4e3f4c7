//! What changes cost the machines that they reach.

use std::{cell::OnceCell, collections::BTreeMap};

use berth_pools::{
    Action, DisruptionPolicy, MASTER, MachineConfigSpec, Reboots, RenderOptions, Rendered, WORKER, diff_specs_with,
};
use berth_site::{Site, render_pool};

/// What changes cost, by the configs that a site gives its pools and by its disruption policy. Pools are rendered when somebody asks.
#[derive(Debug)]
pub struct Costs<'a> {
    site: &'a Site,
    policy: DisruptionPolicy,
    /// By pool.
    configs: OnceCell<BTreeMap<String, Config>>,
}

#[derive(Debug)]
struct Config {
    name: String,
    spec: MachineConfigSpec,
}

impl Config {
    fn of(rendered: &Rendered) -> (String, Self) {
        let config = Self {
            name: rendered.name.clone(),
            spec: rendered.spec.clone(),
        };
        (rendered.pool.clone(), config)
    }
}

impl<'a> Costs<'a> {
    /// Those of a site.
    pub fn new(site: &'a Site) -> Self {
        Self {
            site,
            policy: DisruptionPolicy::default().with(&site.disruption),
            configs: OnceCell::new(),
        }
    }

    /// The same where pools are rendered already.
    pub fn of_rendered<'r>(site: &'a Site, rendered: impl IntoIterator<Item = &'r Rendered>) -> Self {
        Self {
            configs: OnceCell::from(rendered.into_iter().map(Config::of).collect::<BTreeMap<_, _>>()),
            ..Self::new(site)
        }
    }

    fn configs(&self) -> &BTreeMap<String, Config> {
        self.configs.get_or_init(|| {
            let options = RenderOptions::default();
            let pools = self.site.pools.iter();
            let rendered = pools.filter_map(|pool| render_pool(self.site, pool, &options).ok());
            rendered.map(|rendered| Config::of(&rendered)).collect()
        })
    }

    /// Whether a machine that goes from one config to another has to reboot. Configs that cannot be compared are taken to differ.
    fn reboots(&self, before: &MachineConfigSpec, after: &MachineConfigSpec) -> bool {
        let diff = diff_specs_with(before, after, &self.policy);
        diff.map_or(true, |diff| diff.actions().contains(&Action::Reboot))
    }

    /// Whether a machine reboots that moves from one pool, or from none, to another. Where a pool has no config, a reboot has to be
    /// expected.
    pub fn move_reboots(&self, before: Option<&str>, after: Option<&str>) -> bool {
        let configs = self.configs();
        match (before, after) {
            (_, None) => false,
            (before, after) if before == after => false,
            (None, Some(_)) => true,
            (Some(before), Some(after)) => match (configs.get(before), configs.get(after)) {
                (Some(before), Some(after)) => self.reboots(&before.spec, &after.spec),
                _ => true,
            },
        }
    }

    /// The reboots of a node on its way from the config that it runs to that of a pool; nothing where either is not known, which
    /// means one.
    pub fn of_node(&self, current: Option<&str>, pool: &str) -> Option<Reboots> {
        let current = current?;
        let before = self.configs().values().find(|config| config.name == current)?;
        let after = self.configs().get(pool)?;
        (!self.reboots(&before.spec, &after.spec)).then_some(Reboots { with: 0, without: 0 })
    }

    /// The reboots of a new machine. Without labels at first boot it comes up as a worker, so it reboots again only where its pool is
    /// another and differs in what needs it. Masters come up as masters.
    pub fn of_joining(&self, pool: &str) -> Reboots {
        if pool == MASTER || !self.move_reboots(Some(WORKER), Some(pool)) {
            Reboots::MOVING
        } else {
            Reboots::NEW
        }
    }
}
