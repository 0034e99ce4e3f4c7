//! What operating systems call themselves, as far as Nodes of the cluster show it: see [`berth_decide::os_id_of_image`].
//!
//! What an image says never changes. So Nodes are looked through when an image is new, and from time to time while nobody is found
//! who knows it.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use berth_decide::{BootConfig, Witness, config_with_built_image, os_id_of_image};
use berth_labels::Flavour;
use berth_pools::registered_labels;
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api,
    api::{DynamicObject, ListParams},
};
use tokio::time::{Instant, timeout};
use tracing::debug;

use super::read;
use crate::controller::writer::REQUEST_TIMEOUT;

/// How long to wait before Nodes are looked through again for an image that nobody knows.
const AGAIN: Duration = Duration::from_mins(5);

/// Nodes in one answer.
const PAGE: u32 = 500;

/// So many configs are read in one look, those of the newest Nodes first: each may be a megabyte.
const CONFIGS: usize = 32;

/// What is known of images and of the configs that name them.
#[derive(Debug, Default)]
pub(super) struct Systems {
    /// By image.
    known: BTreeMap<String, String>,
    /// The configs that machines booted with, as far as they were asked for.
    configs: BTreeMap<String, BootConfig>,
    /// The configs that machines have with an image that was built in the cluster.
    built: BTreeSet<String>,
    /// The configs of pools for which Nodes were looked through.
    seen: BTreeSet<String>,
    /// When Nodes were last looked through for an image that nobody knew.
    looked: BTreeMap<String, Instant>,
}

impl Systems {
    /// What kubelets register with that boot with a config and its image.
    pub(super) fn os_id(&self, config: &str, image: &str) -> Option<&str> {
        let known = self.known.get(image)?;
        (!self.built.contains(config)).then_some(known)
    }

    /// How long nothing is to be done.
    pub(super) fn rest(&self) -> Duration {
        let next = self.looked.values().min();
        next.map_or(Duration::MAX, |looked| AGAIN.saturating_sub(looked.elapsed()))
    }

    /// Looks through the Nodes for what kubelets of these configs and images register with. Whether nothing has to be asked again
    /// soon.
    pub(super) async fn look(
        &mut self,
        open: &[(&str, &str)],
        nodes: &Api<Node>,
        configs: &Api<DynamicObject>,
        flavour: Flavour,
    ) -> bool {
        self.looked
            .retain(|image, _| open.iter().any(|(_, open)| open == image));
        self.seen.retain(|config| open.iter().any(|(open, _)| open == config));
        let rests = |image: &str| {
            let looked = self.looked.get(image);
            self.known.contains_key(image) || looked.is_some_and(|looked| looked.elapsed() < AGAIN)
        };
        if open
            .iter()
            .all(|(config, image)| self.seen.contains(*config) && rests(image))
        {
            return true;
        }
        let Some(witnesses) = self.listen(nodes).await else {
            return false;
        };
        let complete = self.read(&witnesses, configs, flavour).await;
        if complete {
            self.seen.extend(open.iter().map(|(config, _)| (*config).to_owned()));
        }
        for (_, image) in open {
            match os_id_of_image(image, &witnesses, &self.configs) {
                Some(os_id) => {
                    debug!(image, os_id, "what the operating system calls itself is known");
                    self.known.insert((*image).to_owned(), os_id.to_owned());
                    self.looked.remove(*image);
                }
                None if complete && !self.known.contains_key(*image) => {
                    self.looked.insert((*image).to_owned(), Instant::now());
                }
                None => {}
            }
        }
        complete
    }

    /// All Nodes that can say something, newest first; `None` when they cannot be seen.
    async fn listen(&mut self, nodes: &Api<Node>) -> Option<Vec<Witness>> {
        let mut witnesses = Vec::new();
        let mut built = BTreeSet::new();
        let mut parameters = ListParams::default().limit(PAGE);
        loop {
            let page = match timeout(REQUEST_TIMEOUT, nodes.list_metadata(&parameters)).await {
                Ok(Ok(page)) => page,
                Ok(Err(error)) => {
                    debug!(error = &error as &dyn std::error::Error, "Nodes cannot be listed");
                    return None;
                }
                Err(_) => return None,
            };
            for node in &page.items {
                witnesses.extend(Witness::of(&node.metadata));
                built.extend(config_with_built_image(&node.metadata).map(str::to_owned));
            }
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => parameters = parameters.continue_token(&token),
                None => break,
            }
        }
        witnesses.sort_by_key(|witness| std::cmp::Reverse(witness.created));
        self.built = built;
        Some(witnesses)
    }

    /// Reads the configs that machines booted with. Whether all could be asked for.
    async fn read(&mut self, witnesses: &[Witness], configs: &Api<DynamicObject>, flavour: Flavour) -> bool {
        let named: BTreeSet<&str> = witnesses.iter().map(|witness| witness.config.as_str()).collect();
        self.configs.retain(|name, _| named.contains(name.as_str()));
        let mut complete = true;
        let mut reads = 0;
        for Witness { config: name, .. } in witnesses {
            if reads == CONFIGS {
                break;
            }
            if self.configs.contains_key(name) {
                continue;
            }
            reads += 1;
            let Ok(config) = read(configs, name).await else {
                complete = false;
                continue;
            };
            let boot = config.map(|(config, created)| BootConfig {
                image: registered_labels(&config, flavour).image,
                created,
            });
            let unknown = BootConfig {
                image: None,
                created: None,
            };
            self.configs.insert(name.clone(), boot.unwrap_or(unknown));
        }
        complete
    }
}
