//! What is heard of kubelets: each renews a Lease as long as it runs.
//!
//! Ten thousand of them renew a thousand times a second. So what was heard last is kept here, beside the engine, which asks when
//! a Node goes and is told of no renewal but those that it waits for.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use berth_clock::Clock;
use berth_decide::Pulse;
use futures::StreamExt as _;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{
    Api, Client, ResourceExt as _,
    runtime::{
        WatchStreamExt as _,
        watcher::{self, Event, watcher},
    },
};
use tokio::sync::mpsc;
use tracing::debug;

use super::{
    kept::{Text, text},
    watches::{Beat, ClusterChange},
};

/// Where kubelets renew their Leases.
const NAMESPACE: &str = "kube-node-lease";
/// How long a renewal counts where the Lease does not say.
const LASTS: SignedDuration = SignedDuration::from_secs(40);
/// Of so many Leases that are gone it is still known when they were last renewed: with its Node goes a Lease, too.
const KEPT: usize = 4096;

/// What was last heard of each kubelet.
#[derive(Clone, Debug, Default)]
pub(super) struct Heartbeats(Arc<Mutex<Heard>>);

#[derive(Debug, Default)]
struct Heard {
    /// The Leases can be seen.
    visible: bool,
    kubelets: HashMap<Text, Last>,
    /// Kubelets that somebody waits for.
    awaited: HashSet<String>,
    /// Those whose Leases are gone, oldest first.
    gone: VecDeque<Text>,
}

#[derive(Clone, Debug)]
struct Last {
    /// What the Lease says.
    renewed: Option<Timestamp>,
    heard: Timestamp,
    lasts: SignedDuration,
    is_gone: bool,
}

impl Heartbeats {
    fn with<T>(&self, look: impl FnOnce(&mut Heard) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What is heard of the kubelet of a Node that is gone. From now on, [`ClusterChange::Heard`] tells when it is heard of.
    pub(super) fn await_pulse(&self, node: &str) -> Pulse {
        self.with(|heard| {
            heard.awaited.insert(node.to_owned());
            match heard.kubelets.get(node) {
                _ if !heard.visible => Pulse::Unknown,
                None => Pulse::Missing,
                Some(last) => Pulse::Last {
                    heard: last.heard,
                    lasts: last.lasts,
                },
            }
        })
    }

    /// Nobody waits for the kubelet any more.
    pub(super) fn stop_waiting(&self, node: &str) {
        self.with(|heard| heard.awaited.remove(node));
    }

    /// Takes a Lease. Whether somebody waits to hear of its kubelet, and does.
    fn note(&self, lease: &Lease, now: Timestamp, listed: bool) -> bool {
        let name = text(&lease.name_any());
        let spec = lease.spec.as_ref();
        let renewed = spec.and_then(|spec| Some(spec.renew_time.as_ref()?.0));
        let lasts = spec.and_then(|spec| spec.lease_duration_seconds);
        let lasts = lasts.map_or(LASTS, |seconds| SignedDuration::from_secs(seconds.into()));
        self.with(|heard| {
            let known = heard.kubelets.get(&name);
            let is_news = known.is_none_or(|known| known.renewed != renewed);
            // The clocks of machines differ: what is seen to be renewed is renewed now. What was renewed before anybody
            // looked was renewed when it says.
            let time = match known {
                Some(known) if !is_news => known.heard,
                _ if listed => renewed.map_or(Timestamp::MIN, |renewed| renewed.min(now)),
                _ => now,
            };
            let last = Last {
                renewed,
                heard: time,
                lasts,
                is_gone: false,
            };
            let awaited = heard.awaited.contains(&*name);
            heard.kubelets.insert(name, last);
            is_news && awaited
        })
    }

    fn gone(&self, name: Text) {
        self.with(|heard| {
            if let Some(last) = heard.kubelets.get_mut(&name) {
                last.is_gone = true;
                heard.gone.push_back(name);
            }
            if heard.gone.len() > KEPT
                && let Some(oldest) = heard.gone.pop_front()
                && heard.kubelets.get(&oldest).is_some_and(|last| last.is_gone)
            {
                heard.kubelets.remove(&oldest);
            }
        });
    }

    /// These are all that there are.
    fn listed(&self, names: &HashSet<Text>) {
        let lacking: Vec<Text> = self.with(|heard| {
            heard.visible = true;
            let names = heard
                .kubelets
                .iter()
                .filter(|(name, last)| !last.is_gone && !names.contains(*name));
            names.map(|(name, _)| name.clone()).collect()
        });
        for name in lacking {
            self.gone(name);
        }
    }

    /// Nothing is seen for the time being.
    fn interrupted(&self) {
        self.with(|heard| heard.visible = false);
    }
}

/// Watches the kubelets' Leases. The first one that belongs to a Node object is passed on, and those that somebody waits for.
/// Without the right to look, what the kubelet reports in the Node is enough.
pub(super) async fn watch(client: Client, changes: mpsc::Sender<ClusterChange>, heartbeats: Heartbeats, clock: Clock) {
    let api: Api<Lease> = Api::namespaced(client, NAMESPACE);
    let mut stream = std::pin::pin!(watcher(api, watcher::Config::default()).default_backoff());
    let mut owners: HashMap<Text, Text> = HashMap::new();
    let mut names: HashSet<Text> = HashSet::new();
    let mut looked = false;
    while let Some(event) = stream.next().await {
        let (lease, listed) = match event {
            Ok(Event::Apply(lease)) => (lease, false),
            Ok(Event::InitApply(lease)) => {
                names.insert(text(&lease.name_any()));
                (lease, true)
            }
            Ok(Event::Delete(lease)) => {
                let node = text(&lease.name_any());
                owners.remove(&node);
                heartbeats.gone(node);
                continue;
            }
            Ok(Event::Init) => {
                names.clear();
                continue;
            }
            Ok(Event::InitDone) => {
                // What went while nobody looked is not kept.
                owners.retain(|node, _| names.contains(node));
                heartbeats.listed(&names);
                names.clear();
                if !std::mem::replace(&mut looked, true) && changes.send(ClusterChange::Looked).await.is_err() {
                    return;
                }
                continue;
            }
            Err(error) => {
                heartbeats.interrupted();
                debug!(
                    error = &error as &dyn std::error::Error,
                    "the heartbeats of kubelets cannot be seen"
                );
                if !std::mem::replace(&mut looked, true) && changes.send(ClusterChange::Looked).await.is_err() {
                    return;
                }
                continue;
            }
        };
        let node = text(&lease.name_any());
        if heartbeats.note(&lease, clock.now(), listed)
            && changes.send(ClusterChange::Heard(node.to_string())).await.is_err()
        {
            return;
        }
        let owner = lease.owner_references().iter().find(|owner| owner.kind == "Node");
        let Some(uid) = owner.map(|owner| text(&owner.uid)) else {
            continue;
        };
        if owners.get(&node) == Some(&uid) {
            continue;
        }
        owners.insert(node.clone(), uid.clone());
        if changes.send(ClusterChange::Beat(Beat { node, uid })).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn lease(name: &str, renewed: i64) -> Lease {
        serde_json::from_value(json!({
            "metadata": {"name": name},
            "spec": {"leaseDurationSeconds": 40, "renewTime": format!("{}", at(renewed).strftime("%Y-%m-%dT%H:%M:%S.000000Z"))},
        }))
        .unwrap()
    }

    fn heard(second: i64) -> Pulse {
        Pulse::Last {
            heard: at(second),
            lasts: LASTS,
        }
    }

    #[test]
    fn a_renewal_counts_when_it_is_seen_and_a_listed_one_when_it_says() {
        let heartbeats = Heartbeats::default();
        assert_eq!(heartbeats.await_pulse("w1"), Pulse::Unknown, "nobody has looked yet");
        heartbeats.stop_waiting("w1");
        assert!(!heartbeats.note(&lease("w1", 100), at(500), true));
        heartbeats.listed(&HashSet::from([text("w1")]));
        assert_eq!(heartbeats.await_pulse("w1"), heard(100));
        assert_eq!(heartbeats.await_pulse("w2"), Pulse::Missing);
        // Its clock is late.
        assert!(heartbeats.note(&lease("w1", 110), at(510), false), "it is waited for");
        assert_eq!(heartbeats.await_pulse("w1"), heard(510));
        assert!(
            !heartbeats.note(&lease("w1", 110), at(520), false),
            "another part of the Lease changed"
        );
        assert_eq!(heartbeats.await_pulse("w1"), heard(510));
        heartbeats.interrupted();
        assert_eq!(heartbeats.await_pulse("w1"), Pulse::Unknown);
    }

    #[test]
    fn what_was_heard_outlives_the_lease_and_is_forgotten_in_the_end() {
        let heartbeats = Heartbeats::default();
        heartbeats.note(&lease("w1", 100), at(100), false);
        heartbeats.listed(&HashSet::new());
        assert_eq!(heartbeats.await_pulse("w1"), heard(100));
        for index in 0..KEPT {
            let name = format!("n{index}");
            heartbeats.note(&lease(&name, 100), at(100), false);
            heartbeats.gone(text(&name));
        }
        assert_eq!(heartbeats.await_pulse("w1"), Pulse::Missing);
        assert_eq!(heartbeats.await_pulse("n0"), heard(100));
    }
}
