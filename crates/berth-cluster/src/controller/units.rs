//! What the kubelets of each pool give themselves: read from the rendered config that its machines are served.
//!
//! Of a config, which may be large, nothing is kept but the labels. A config never changes, so it is read once.

mod systems;

use std::{collections::BTreeMap, time::Duration};

use berth_decide::{PoolConfigurations, pools::PoolView, which_config};
use berth_pools::{KubeletLabels, MachineConfig as Config, OS_ID, registered_labels};
use futures::StreamExt as _;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client, CustomResourceExt as _,
    api::DynamicObject,
    runtime::{
        WatchStreamExt as _,
        watcher::{self, Event, watcher},
    },
};
use tokio::{sync::mpsc, time::timeout};
use tracing::debug;

use self::systems::Systems;
use super::{Options, watches::ClusterChange, writer::REQUEST_TIMEOUT};
use crate::missing::is_missing;
use berth_resources::{MachineConfig, MachineConfigPool};

/// How long to wait after something that could not be read.
const RETRY: Duration = Duration::from_secs(5);

/// The pools, with the names of the configs that their machines get.
#[derive(Debug, Default)]
struct Units {
    wanted: BTreeMap<String, String>,
    read: BTreeMap<String, (String, KubeletLabels)>,
    systems: Systems,
}

/// Follows the pools and tells what their kubelets give themselves. The first word comes in any case.
pub(super) async fn follow(client: Client, changes: mpsc::Sender<ClusterChange>, options: Options) {
    let pools: Api<DynamicObject> = Api::all_with(client.clone(), &MachineConfigPool::api_resource());
    let configs: Api<DynamicObject> = Api::all_with(client.clone(), &MachineConfig::api_resource());
    let nodes: Api<Node> = Api::all(client);
    let mut stream = std::pin::pin!(watcher(pools, watcher::Config::default()).default_backoff());
    let mut units = Units::default();
    let mut listing = BTreeMap::new();
    let mut told: Option<BTreeMap<String, KubeletLabels>> = None;
    let mut complete = true;
    loop {
        // What could not be read is tried again, whether or not a pool changes.
        let limit = if complete { units.systems.rest() } else { RETRY };
        match timeout(limit, stream.next()).await {
            Ok(None) => return,
            Ok(Some(Ok(Event::Init))) => {
                listing.clear();
                continue;
            }
            Ok(Some(Ok(Event::InitApply(pool)))) => {
                listing.extend(chosen(pool));
                continue;
            }
            Ok(Some(Ok(Event::InitDone))) => units.wanted = std::mem::take(&mut listing),
            Ok(Some(Ok(Event::Apply(pool)))) => units.wanted.extend(chosen(pool)),
            Ok(Some(Ok(Event::Delete(pool)))) => {
                units.wanted.remove(pool.metadata.name.as_deref().unwrap_or_default());
            }
            Ok(Some(Err(error))) => debug!(
                error = &error as &dyn std::error::Error,
                "the pools' configs cannot be seen"
            ),
            Err(_) => {}
        }
        complete = units.read_missing(&configs, &options).await;
        let read = units.read.values();
        let open = read.filter_map(|(config, labels)| Some((config.as_str(), labels.image.as_deref()?)));
        complete &= units
            .systems
            .look(&open.collect::<Vec<_>>(), &nodes, &configs, options.flavour())
            .await;
        let labels = units.labels();
        if told.as_ref() != Some(&labels) {
            told = Some(labels.clone());
            if changes.send(ClusterChange::Units(labels)).await.is_err() {
                return;
            }
        }
    }
}

/// The config that new machines of a pool get; an empty name while there is none.
fn chosen(pool: DynamicObject) -> Option<(String, String)> {
    let pool = PoolView::read(&serde_json::to_value(pool).ok()?);
    let config = which_config(PoolConfigurations {
        target: pool.target.as_deref().unwrap_or_default(),
        reached: pool.completed().unwrap_or_default(),
        updated_machines: i64::from(pool.status.updated_machine_count.unwrap_or_default()),
    });
    let config = config.unwrap_or_default().to_owned();
    Some((pool.name, config))
}

impl Units {
    fn labels(&self) -> BTreeMap<String, KubeletLabels> {
        let complete = |(pool, (config, labels)): (&String, &(String, KubeletLabels))| {
            let mut labels = labels.clone();
            let image = labels.image.as_deref();
            if let Some(os_id) = image.and_then(|image| self.systems.os_id(config, image)) {
                labels.open.remove(OS_ID);
                labels.known.insert(OS_ID.to_owned(), os_id.to_owned());
            }
            (pool.clone(), labels)
        };
        self.read.iter().map(complete).collect()
    }

    /// Reads the configs that are not known yet. Whether all are.
    async fn read_missing(&mut self, configs: &Api<DynamicObject>, options: &Options) -> bool {
        let wanted = &self.wanted;
        self.read
            .retain(|pool, _| wanted.get(pool).is_some_and(|name| !name.is_empty()));
        let mut complete = true;
        for (pool, name) in wanted.iter().filter(|(_, name)| !name.is_empty()) {
            if self.read.get(pool).is_some_and(|(known, _)| known == name) {
                continue;
            }
            let Ok(config) = read(configs, name).await else {
                complete = false;
                continue;
            };
            let labels = config.map(|(config, _)| registered_labels(&config, options.flavour()));
            let labels = labels.unwrap_or_default();
            self.read.insert(pool.clone(), (name.clone(), labels));
        }
        complete
    }
}

/// Whether there is such a config is not known yet.
#[derive(Debug)]
struct NotYet;

/// A config that can be read, and when it was created.
async fn read(configs: &Api<DynamicObject>, name: &str) -> Result<Option<(Config, Option<Timestamp>)>, NotYet> {
    match timeout(REQUEST_TIMEOUT, configs.get(name)).await {
        Ok(Ok(object)) => {
            let created = object.metadata.creation_timestamp.as_ref().map(|time| time.0);
            let config = serde_json::to_value(object).ok();
            let config = config.and_then(|object| Config::from_json(&object).ok());
            Ok(config.map(|config| (config, created)))
        }
        Ok(Err(kube::Error::Api(status))) if is_missing(&status) || status.code == 403 => {
            debug!(config = name, status = status.message, "the config cannot be read");
            Ok(None)
        }
        Ok(Err(_)) | Err(_) => Err(NotYet),
    }
}
