//! The labels that kubelets give themselves, by pool.

use std::collections::{BTreeMap, HashMap};

use berth_labels::Flavour;
use berth_pools::{RenderOptions, registered_labels};
use berth_site::{Site, machine_configs, render_pool};

/// The labels that the kubelets of each pool register with: what the unit of the config says that the site's documents give
/// the pool. A pool is rendered when somebody asks for it.
#[derive(Debug)]
pub struct UnitLabels<'a> {
    site: &'a Site,
    flavour: Flavour,
    known: HashMap<String, BTreeMap<String, String>>,
}

impl<'a> UnitLabels<'a> {
    /// Those of a site.
    pub fn new(site: &'a Site, flavour: Flavour) -> Self {
        Self {
            site,
            flavour,
            known: HashMap::new(),
        }
    }

    /// The labels of one pool's kubelets; none where nothing is known of their unit.
    pub fn of(&mut self, pool: Option<&str>) -> BTreeMap<String, String> {
        let Some(pool) = pool.filter(|_| !machine_configs(self.site).is_empty()) else {
            return BTreeMap::new();
        };
        if let Some(known) = self.known.get(pool) {
            return known.clone();
        }
        let found = self.site.pools.iter().find(|known| *known.name.value == *pool);
        let rendered = found.and_then(|pool| render_pool(self.site, pool, &RenderOptions::default()).ok());
        let labels = rendered.map(|config| registered_labels(&config.to_machine_config(), self.flavour).known);
        let labels = labels.unwrap_or_default();
        self.known.insert(pool.to_owned(), labels.clone());
        labels
    }
}

/// Takes out of Berth's labels what the machine's own unit registers and nobody declares: that is not Berth's to remove.
pub(crate) fn leave_to_kubelet(
    owned: &mut BTreeMap<String, String>,
    is_declared: impl Fn(&str) -> bool,
    registered: &BTreeMap<String, String>,
) {
    owned.retain(|key, value| is_declared(key) || registered.get(key) != Some(value));
}
