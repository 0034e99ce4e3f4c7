//! What the watches saw and the pools' engine has not taken yet.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::Notify;

use super::PoolChange;
use crate::controller::{
    kept::{KeptBerth, KeptNode},
    news::Named,
    watches::Seen,
};
use berth_decide::pools::{ConfigView, PoolView, SettingView, TemplateView};
use berth_pools::TemplateObject;
use berth_site::GeneratingKind;

/// Of each object the newest: whoever puts something in never waits, and there is never more in it than in the cluster. An
/// object that was deleted and made anew may be seen as one that changed, as after a watch that was interrupted.
#[derive(Clone, Debug, Default)]
pub(in crate::controller) struct Mailbox(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    waiting: Mutex<Waiting>,
    news: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    nodes: Slot<KeptNode>,
    pools: Slot<Box<PoolView>>,
    configs: Slot<ConfigView>,
    berths: Slot<KeptBerth>,
    kubelet_configs: Slot<Box<SettingView>>,
    runtime_configs: Slot<Box<SettingView>>,
    templates: BTreeMap<TemplateObject, Slot<Box<TemplateView>>>,
}

/// Objects of one kind: all there were, and those that changed since.
#[derive(Debug)]
struct Slot<T> {
    all: Option<Vec<T>>,
    changed: BTreeMap<String, Seen<T>>,
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self {
            all: None,
            changed: BTreeMap::new(),
        }
    }
}

impl<T: Named> Slot<T> {
    fn put(&mut self, seen: Seen<T>) {
        match &seen {
            Seen::All(_) => {
                self.changed.clear();
                if let Seen::All(all) = seen {
                    self.all = Some(all);
                }
            }
            Seen::One(one) | Seen::Gone(one) => {
                self.changed.insert(one.name().to_owned(), seen);
            }
        }
    }

    fn take(&mut self) -> impl Iterator<Item = Seen<T>> + use<T> {
        let Self { all, changed } = std::mem::take(self);
        all.map(Seen::All).into_iter().chain(changed.into_values())
    }
}

impl Mailbox {
    /// Puts in what a watch saw.
    pub(in crate::controller) fn put(&self, change: PoolChange) {
        {
            let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            match change {
                PoolChange::Nodes(seen) => waiting.nodes.put(seen),
                PoolChange::Pools(seen) => waiting.pools.put(seen),
                PoolChange::Configs(seen) => waiting.configs.put(seen),
                PoolChange::Berths(seen) => waiting.berths.put(seen),
                PoolChange::Settings(GeneratingKind::KubeletConfig, seen) => waiting.kubelet_configs.put(seen),
                PoolChange::Settings(GeneratingKind::ContainerRuntimeConfig, seen) => waiting.runtime_configs.put(seen),
                PoolChange::Templates(kind, seen) => waiting.templates.entry(kind).or_default().put(seen),
            }
        }
        self.0.news.notify_one();
    }

    /// Waits for something, and takes all there is. What is not taken because the caller stopped waiting stays.
    pub(in crate::controller) async fn take(&self) -> Vec<PoolChange> {
        loop {
            let taken = self.take_now();
            if !taken.is_empty() {
                return taken;
            }
            self.0.news.notified().await;
        }
    }

    fn take_now(&self) -> Vec<PoolChange> {
        let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let Waiting {
            nodes,
            pools,
            configs,
            berths,
            kubelet_configs,
            runtime_configs,
            templates,
        } = &mut *waiting;
        let templates = std::mem::take(templates);
        let pools = pools.take().map(PoolChange::Pools);
        let configs = configs.take().map(PoolChange::Configs);
        let nodes = nodes.take().map(PoolChange::Nodes);
        let berths = berths.take().map(PoolChange::Berths);
        let setting = |kind| move |seen| PoolChange::Settings(kind, seen);
        let settings = kubelet_configs.take().map(setting(GeneratingKind::KubeletConfig));
        let settings = settings.chain(
            runtime_configs
                .take()
                .map(setting(GeneratingKind::ContainerRuntimeConfig)),
        );
        let templates = templates.into_iter().flat_map(|(kind, mut slot)| {
            let taken: Vec<_> = slot.take().collect();
            taken.into_iter().map(move |seen| PoolChange::Templates(kind, seen))
        });
        pools
            .chain(configs)
            .chain(settings)
            .chain(templates)
            .chain(nodes)
            .chain(berths)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::news::Versioned as _;
    use berth_decide::NodeView;

    fn node(name: &str, version: &str) -> KeptNode {
        KeptNode::from(NodeView {
            name: name.to_owned(),
            resource_version: version.to_owned(),
            ..NodeView::default()
        })
    }

    #[tokio::test]
    async fn of_each_object_the_newest_is_kept() {
        let mailbox = Mailbox::default();
        for version in 0..1000 {
            mailbox.put(PoolChange::Nodes(Seen::One(node("a", &version.to_string()))));
        }
        mailbox.put(PoolChange::Nodes(Seen::Gone(node("b", "1"))));
        let taken = mailbox.take().await;
        let [PoolChange::Nodes(Seen::One(a)), PoolChange::Nodes(Seen::Gone(b))] = taken.as_slice() else {
            panic!("{taken:?}");
        };
        assert_eq!((a.version(), b.name()), ("999", "b"));
    }

    #[tokio::test]
    async fn a_new_list_takes_the_place_of_what_was_before_it() {
        let mailbox = Mailbox::default();
        mailbox.put(PoolChange::Nodes(Seen::One(node("a", "1"))));
        mailbox.put(PoolChange::Nodes(Seen::All(vec![node("b", "2")])));
        mailbox.put(PoolChange::Nodes(Seen::Gone(node("b", "3"))));
        let taken = mailbox.take().await;
        assert!(
            matches!(taken.as_slice(), [PoolChange::Nodes(Seen::All(all)), PoolChange::Nodes(Seen::Gone(_))] if all.len() == 1),
            "{taken:?}"
        );
        assert!(mailbox.take_now().is_empty());
    }
}
