//! What the pools' engine knows.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use berth_pools::{MachineConfig, Membership, TemplateObject};

use crate::controller::{
    kept::{Berths, KeptBerth, KeptNode, Text, text},
    news::{Versioned as _, lacking},
    watches::Seen,
};
use berth_decide::pools::{
    ConfigView, DrainRequest, MemberView, PoolView, RenderedView, SettingView, TemplateView, TemplateViews, membership,
    references,
};
use berth_site::GeneratingKind;

/// Every kind of object that templates are made with.
pub(in crate::controller) const TEMPLATE_OBJECTS: [TemplateObject; 3] = [
    TemplateObject::ControllerConfig,
    TemplateObject::ConfigMap,
    TemplateObject::Secret,
];

/// A change of anything that pools depend on.
#[derive(Debug)]
pub(in crate::controller) enum PoolChange {
    Nodes(Seen<KeptNode>),
    Pools(Seen<Box<PoolView>>),
    Configs(Seen<ConfigView>),
    Berths(Seen<KeptBerth>),
    /// `KubeletConfig` or `ContainerRuntimeConfig` objects.
    Settings(GeneratingKind, Seen<Box<SettingView>>),
    /// The `ControllerConfig`, or objects that it may name.
    Templates(TemplateObject, Seen<Box<TemplateView>>),
}

/// Which watches have been read to their end once.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "one per watch")]
struct Synced {
    nodes: bool,
    pools: bool,
    configs: bool,
    berths: bool,
    kubelet_configs: bool,
    runtime_configs: bool,
    templates: BTreeSet<TemplateObject>,
}

/// The caches, and what has to be looked at again.
#[derive(Debug, Default)]
pub(super) struct PoolState {
    members: HashMap<Text, KeptNode>,
    pub(super) pools: BTreeMap<String, PoolView>,
    pub(super) inputs: BTreeMap<String, MachineConfig>,
    pub(super) rendered: BTreeMap<String, RenderedView>,
    pub(super) settings: BTreeMap<(GeneratingKind, String), SettingView>,
    pub(super) templates: TemplateViews,
    berths: Berths,
    membership: Membership,
    pool_of: HashMap<Text, Text>,
    members_of: HashMap<Text, BTreeSet<Text>>,
    synced: Synced,
    /// Nodes whose labels changed.
    relabelled: BTreeSet<Text>,
    selectors_changed: bool,
    /// Nodes whose daemons ask for something.
    pub(super) asking: BTreeSet<String>,
    /// Nodes whose objects may say something else than they do.
    pub(super) unreported: BTreeSet<String>,
    /// Pools to plan.
    pub(super) dirty: BTreeSet<String>,
    /// Rendering could give something else.
    pub(super) inputs_changed: bool,
    /// Somebody may have stopped referring to a rendered config, or begun.
    pub(super) references_changed: bool,
}

impl PoolState {
    /// Whether every watch has been read to its end once. Before that nothing is concluded.
    pub(super) fn is_synced(&self) -> bool {
        let Synced {
            nodes,
            pools,
            configs,
            berths,
            kubelet_configs,
            runtime_configs,
            ref templates,
        } = self.synced;
        let all_templates = templates.len() == TEMPLATE_OBJECTS.len();
        nodes && pools && configs && berths && kubelet_configs && runtime_configs && all_templates
    }

    pub(super) fn apply(&mut self, change: PoolChange) {
        match change {
            PoolChange::Nodes(seen) => self.nodes_seen(seen),
            PoolChange::Pools(seen) => self.pools_seen(seen),
            PoolChange::Configs(seen) => self.configs_seen(seen),
            PoolChange::Berths(seen) => self.berths_seen(seen),
            PoolChange::Settings(kind, seen) => self.settings_seen(kind, seen),
            PoolChange::Templates(kind, seen) => self.templates_seen(kind, seen),
        }
    }

    pub(super) fn pool_of(&self, node: &str) -> Option<&str> {
        self.pool_of.get(node).map(|pool| &**pool)
    }

    /// A Node, as far as its pool is concerned.
    pub(super) fn member(&self, node: &str) -> Option<MemberView> {
        self.members.get(node).map(KeptNode::member)
    }

    /// The nodes of a pool.
    pub(super) fn members_of<'a>(&'a self, pool: &str) -> impl Iterator<Item = MemberView> + use<'a> {
        let names = self.members_of.get(pool).into_iter().flatten();
        names.filter_map(|name| self.member(name))
    }

    /// Nodes of a pool whose Berths have their place in another one.
    pub(super) fn leaving(&self, pool: &str) -> BTreeMap<String, String> {
        let names = self.members_of.get(pool).into_iter().flatten();
        names
            .filter_map(|node| {
                let place = &**self.berths.first_of(node)?.pool()?;
                (place != pool && self.pools.contains_key(place)).then(|| (node.to_string(), place.to_owned()))
            })
            .collect()
    }

    /// Every rendered config that a pool, a Node or a Berth names.
    pub(super) fn used(&self) -> BTreeSet<String> {
        let mut used = BTreeSet::new();
        for pool in self.pools.values() {
            used.extend(pool.target.clone());
            used.extend(pool.completed().map(str::to_owned));
        }
        for member in self.members.values() {
            used.extend(references(member.annotations.iter()));
        }
        for berth in self.berths.values() {
            used.extend(configs(berth));
        }
        used
    }

    /// Finds the pools of nodes that changed. Cheap where nothing did.
    pub(super) fn place(&mut self) {
        if std::mem::take(&mut self.selectors_changed) {
            self.membership = membership(self.pools.values());
            self.relabelled.extend(self.members.keys().cloned());
            self.dirty.extend(self.pools.keys().cloned());
        }
        for name in std::mem::take(&mut self.relabelled) {
            let pool = self.members.get(&name).and_then(|member| {
                let placement = self.membership.of(&name, &member.labels).ok()?;
                placement.primary().map(|pool| text(pool.as_ref()))
            });
            let before = self.pool_of.get(&name).cloned();
            if pool == before {
                continue;
            }
            if let Some(before) = before {
                if let Some(members) = self.members_of.get_mut(&before) {
                    members.remove(&name);
                }
                self.pool_of.remove(&name);
                self.dirty.insert(before.to_string());
            }
            if let Some(pool) = pool {
                self.unreported.insert(name.to_string());
                self.members_of.entry(pool.clone()).or_default().insert(name.clone());
                self.dirty.insert(pool.to_string());
                self.pool_of.insert(name, pool);
            }
        }
    }

    fn nodes_seen(&mut self, seen: Seen<KeptNode>) {
        match seen {
            Seen::All(all) => {
                self.synced.nodes = true;
                for name in lacking(self.members.keys(), &all) {
                    self.node_gone(&name);
                }
                for node in all {
                    self.node(node);
                }
            }
            Seen::One(node) => self.node(node),
            Seen::Gone(node) => {
                // An old object's end says nothing about the one that has its name now.
                if self.members.get(&node.name).is_some_and(|known| known.is_same(&node)) {
                    self.node_gone(&node.name);
                }
            }
        }
    }

    fn node_gone(&mut self, name: &str) {
        self.members.remove(name);
        self.asking.remove(name);
        self.unreported.remove(name);
        self.relabelled.insert(text(name));
        self.references_changed = true;
    }

    fn node(&mut self, node: KeptNode) {
        let name = node.name.clone();
        let known = self.members.get(&name);
        if known.is_some_and(|known| node.is_outdated_by(known)) {
            return;
        }
        if known.is_none_or(|known| known.labels != node.labels) {
            self.relabelled.insert(name.clone());
        }
        let (before, after) = (known.map(KeptNode::member), node.member());
        let before = before.as_ref();
        if before.is_none_or(|before| before.state.annotations != after.state.annotations) {
            self.references_changed = true;
            if DrainRequest::of(&after.state).is_some() {
                self.asking.insert(name.to_string());
            } else {
                self.asking.remove(&*name);
            }
        }
        if before.is_none_or(|before| before.state != after.state || before.taints != after.taints) {
            self.dirty_pool_of(&name);
            self.unreported.insert(name.to_string());
        }
        self.members.insert(name, node);
    }

    /// Takes what the API server answered, if the watch knows the very object.
    pub(super) fn written(&mut self, node: KeptNode) {
        if self.members.get(&node.name).is_some_and(|known| known.is_same(&node)) {
            self.node(node);
        }
    }

    fn pools_seen(&mut self, seen: Seen<Box<PoolView>>) {
        match seen {
            Seen::All(all) => {
                self.synced.pools = true;
                for name in lacking(self.pools.keys(), &all) {
                    self.pool_gone(&name);
                }
                for pool in all {
                    self.pool(*pool);
                }
            }
            Seen::One(pool) => self.pool(*pool),
            Seen::Gone(pool) => self.pool_gone(&pool.name),
        }
    }

    fn pool_gone(&mut self, name: &str) {
        if self.pools.remove(name).is_some() {
            self.selectors_changed = true;
            self.references_changed = true;
        }
    }

    /// Takes a pool as a watch or a write shows it.
    pub(super) fn pool(&mut self, pool: PoolView) {
        let known = self.pools.get(&pool.name);
        if known.is_some_and(|known| pool.is_outdated_by(known)) {
            return;
        }
        self.selectors_changed |= known.is_none_or(|known| !known.selects_as(&pool));
        self.inputs_changed |= known.is_none_or(|known| !known.renders_as(&pool));
        self.references_changed |=
            known.is_none_or(|known| known.target != pool.target || known.completed() != pool.completed());
        // A write comes back by the watch, and is planned once.
        let is_news = known.is_none_or(|known| {
            let resource_version = pool.resource_version.clone();
            pool != PoolView {
                resource_version,
                ..known.clone()
            }
        });
        if is_news {
            self.dirty.insert(pool.name.clone());
        }
        self.pools.insert(pool.name.clone(), pool);
    }

    fn configs_seen(&mut self, seen: Seen<ConfigView>) {
        match seen {
            Seen::All(all) => {
                self.synced.configs = true;
                self.inputs_changed = true;
                self.references_changed = true;
                self.inputs.clear();
                self.rendered.clear();
                for config in all {
                    self.config(config);
                }
            }
            Seen::One(config) => self.config(config),
            Seen::Gone(config) => {
                self.inputs_changed = true;
                self.inputs.remove(config.name());
                self.rendered.remove(config.name());
            }
        }
    }

    /// Takes a machine config as a watch or a write shows it.
    pub(super) fn config(&mut self, config: ConfigView) {
        match config {
            ConfigView::Input(config) => {
                self.rendered.remove(&config.name);
                self.inputs_changed |= self.inputs.get(&config.name) != Some(&*config);
                self.inputs.insert(config.name.clone(), *config);
            }
            ConfigView::Rendered(config) => {
                self.references_changed |= self.rendered.get(&config.name) != Some(&config);
                // A target that is there now may be rolled out.
                let waiting = self
                    .pools
                    .values()
                    .filter(|pool| pool.target.as_ref() == Some(&config.name));
                self.dirty.extend(waiting.map(|pool| pool.name.clone()));
                self.rendered.insert(config.name.clone(), config);
            }
        }
    }

    fn settings_seen(&mut self, kind: GeneratingKind, seen: Seen<Box<SettingView>>) {
        match seen {
            Seen::All(all) => {
                match kind {
                    GeneratingKind::KubeletConfig => self.synced.kubelet_configs = true,
                    GeneratingKind::ContainerRuntimeConfig => self.synced.runtime_configs = true,
                }
                self.inputs_changed = true;
                self.settings.retain(|(known, _), _| *known != kind);
                for setting in all {
                    self.setting(*setting);
                }
            }
            Seen::One(setting) => self.setting(*setting),
            Seen::Gone(setting) => {
                self.inputs_changed = true;
                self.settings.remove(&(kind, setting.name));
            }
        }
    }

    /// Takes an object that machine configs are made of, as a watch or a write shows it.
    pub(super) fn setting(&mut self, setting: SettingView) {
        let key = (setting.kind, setting.name.clone());
        let known = self.settings.get(&key);
        if known.is_some_and(|known| setting.is_outdated_by(known)) {
            return;
        }
        self.inputs_changed |= known.is_none_or(|known| !known.generates_as(&setting));
        self.settings.insert(key, setting);
    }

    fn templates_seen(&mut self, kind: TemplateObject, seen: Seen<Box<TemplateView>>) {
        match seen {
            Seen::All(all) => {
                self.synced.templates.insert(kind);
                self.inputs_changed = true;
                self.templates.retain(|(known, _), _| *known != kind);
                for view in all {
                    self.template(*view);
                }
            }
            Seen::One(view) => self.template(*view),
            Seen::Gone(view) => {
                self.inputs_changed = true;
                self.templates.remove(&(kind, view.name));
            }
        }
    }

    /// Takes an object that templates are made with, as a watch or a write shows it.
    pub(super) fn template(&mut self, view: TemplateView) {
        let key = (view.kind, view.name.clone());
        let known = self.templates.get(&key);
        if known.is_some_and(|known| view.is_outdated_by(known)) {
            return;
        }
        self.inputs_changed |= known.is_none_or(|known| !known.generates_as(&view));
        self.templates.insert(key, view);
    }

    fn berths_seen(&mut self, seen: Seen<KeptBerth>) {
        match seen {
            Seen::All(all) => {
                self.synced.berths = true;
                for name in lacking(self.berths.names(), &all) {
                    self.berth_gone(&name);
                }
                for berth in all {
                    self.berth(berth);
                }
            }
            Seen::One(berth) => self.berth(berth),
            Seen::Gone(berth) => self.berth_gone(&berth.name),
        }
    }

    fn berth(&mut self, berth: KeptBerth) {
        let known = self.berths.get(&berth.name);
        self.references_changed |= known.is_none_or(|known| configs(known) != configs(&berth));
        if known.is_none_or(|known| known.pool() != berth.pool()) {
            self.dirty_pool_of(berth.node_name());
        }
        self.berths.insert(berth);
    }

    fn berth_gone(&mut self, name: &str) {
        if let Some(berth) = self.berths.remove(name) {
            self.dirty_pool_of(berth.node_name());
            self.references_changed = true;
        }
    }

    /// Plans the pool of a node again.
    pub(super) fn dirty_pool_of(&mut self, node: &str) {
        let pool = self.pool_of.get(node);
        self.dirty.extend(pool.map(ToString::to_string));
    }
}

/// The rendered configs that a Berth remembers.
fn configs(berth: &KeptBerth) -> BTreeSet<String> {
    let annotations = berth.status.iter().flat_map(|status| status.annotations.iter());
    references(annotations)
}
