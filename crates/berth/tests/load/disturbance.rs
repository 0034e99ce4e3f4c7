//! What disturbs the load, one thing after the other, as the seed has it.

use std::{sync::Arc, time::Duration};

use berth_testing::ControlPlane;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use tokio::time::{sleep, timeout};

use crate::{
    figures::{Count, Figures},
    fleet::Fleet,
    proxy::{Proxy, Storm},
    random::Random,
};

/// How often the API server lets etcd forget what happened; it keeps what is younger than one or two of these.
pub(crate) const COMPACTION: Duration = Duration::from_secs(1);

/// A storm that hits nothing ends after this time.
const LONGEST_STORM: Duration = Duration::from_mins(1);

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disturbance {
    Storm(Storm),
    /// The API server is killed and comes back on the same etcd and port.
    Restart,
    /// Berth's watches are cut off while the load goes on, until etcd has forgotten what they would have to be told; then the
    /// API server is killed and forgets it too.
    Blindfold,
    LeaderKill,
    ServerKill,
}

impl Disturbance {
    /// Everything that there is, in some order.
    pub(crate) fn all(random: &mut Random) -> Vec<Self> {
        let mut all = vec![Self::Blindfold, Self::LeaderKill, Self::ServerKill];
        all.extend(Storm::ALL.map(Self::Storm));
        random.shuffle(&mut all);
        all
    }

    /// Anything, storms most often.
    pub(crate) fn any(random: &mut Random, kills: bool) -> Self {
        loop {
            let any = match random.below(100) {
                0..15 => Self::Restart,
                15..27 => Self::Blindfold,
                27..47 => Self::LeaderKill,
                47..55 => Self::ServerKill,
                _ => Self::Storm(*random.pick(&Storm::ALL)),
            };
            if kills || ![Self::LeaderKill, Self::ServerKill].contains(&any) {
                return any;
            }
        }
    }
}

/// Who disturbs.
pub(crate) struct Disturber {
    pub(crate) plane: ControlPlane,
    pub(crate) client: Client,
    pub(crate) proxy: Proxy,
    pub(crate) fleet: Fleet,
    pub(crate) figures: Arc<Figures>,
    pub(crate) random: Random,
}

impl Disturber {
    pub(crate) async fn disturb(&mut self, disturbance: Disturbance) {
        crate::say(&format!("{disturbance:?}"));
        match disturbance {
            Disturbance::Storm(storm) => {
                self.proxy.storm(Some(storm));
                self.figures.add(Count::Storms, 1);
                let before = self.figures.of(storm.count());
                self.wait(2_000, 5_000).await;
                // On a busy machine nothing may be sent for a while, as after the death of a leader.
                let hit = async {
                    while self.figures.of(storm.count()) == before {
                        sleep(Duration::from_millis(100)).await;
                    }
                };
                let _ = timeout(LONGEST_STORM, hit).await;
                self.proxy.storm(None);
            }
            Disturbance::Restart => {
                self.plane.kill_api_server().unwrap();
                self.wait(0, 1_000).await;
                self.restart().await;
            }
            Disturbance::Blindfold => {
                self.proxy.blindfold(true);
                sleep(COMPACTION * 4).await;
                self.plane.kill_api_server().unwrap();
                self.restart().await;
                self.proxy.blindfold(false);
                self.figures.add(Count::Blindfolds, 1);
            }
            Disturbance::LeaderKill => {
                if let Some(leader) = self.leader().await
                    && self.fleet.kill_controller(&leader)
                {
                    self.figures.add(Count::LeaderKills, 1);
                }
                self.wait(0, 3_000).await;
                self.fleet.start_missing();
            }
            Disturbance::ServerKill => {
                assert!(self.fleet.kill_server(), "it runs");
                self.figures.add(Count::ServerKills, 1);
                self.wait(0, 3_000).await;
                self.fleet.start_missing();
            }
        }
    }

    async fn restart(&mut self) {
        self.plane.start_api_server().await.unwrap();
        self.figures.add(Count::Restarts, 1);
    }

    async fn wait(&mut self, low: u64, high: u64) {
        let pause = self.random.between(low, high);
        sleep(Duration::from_millis(pause)).await;
    }

    /// The identity of the controller that leads.
    pub(crate) async fn leader(&self) -> Option<String> {
        leader(&self.client).await
    }

    /// How often etcd has compacted its history, by its own log.
    pub(crate) fn compactions(&self) -> usize {
        let log = std::fs::read_to_string(self.plane.folder().join("etcd.log")).unwrap_or_default();
        log.matches("finished scheduled compaction").count()
    }
}

/// The identity of the controller that leads.
pub(crate) async fn leader(client: &Client) -> Option<String> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), "kube-system");
    leases.get_opt("berth-controller").await.ok()??.spec?.holder_identity
}
