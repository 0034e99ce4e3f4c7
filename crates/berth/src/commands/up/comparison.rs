//! What the same machines cost when their labels come after they joined.

use berth_labels::Flavour;
use berth_sim::{Cluster, ClusterOptions, Disk, Fleet, Habits, SimulatedTime};
use jiff::Timestamp;

/// One machine and where it belongs.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) name: String,
    pub(super) pool: String,
    /// What its Node must carry.
    pub(super) labels: Vec<(String, String)>,
}

/// Pools whose machines boot with their own config anyway: nobody labels a control plane after it joined.
const OWN_CONFIG: [&str; 2] = ["master", "worker"];

/// What it cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cost {
    pub(super) boots: u32,
    pub(super) minutes: i64,
}

/// How long it may take at most.
const LIMIT_SECONDS: i64 = 4 * 3_600;

/// Boots the machines as workers, then moves those that belong elsewhere, all at once: another pool is another config,
/// and that is a reboot. A rollout that keeps to maxUnavailable takes longer, so this is the least that it costs.
pub(super) async fn without_berth(machines: &[Placed]) -> Cost {
    let time = SimulatedTime::starting_at(Timestamp::UNIX_EPOCH);
    let cluster = Cluster::new(ClusterOptions::new(time.clock(), 1));
    let mut fleet = Fleet::new(cluster, time, Flavour::Upstream, 1);
    fleet.approve_all(true);
    for machine in machines {
        fleet.add(&machine.name, Disk::image(), Habits::default());
        // The name was just added.
        let _ = fleet.power_on(&machine.name);
    }
    fleet.run(120).await;
    let stays = |machine: &Placed| OWN_CONFIG.contains(&machine.pool.as_str());
    for machine in machines {
        let first = if stays(machine) {
            machine.pool.as_str()
        } else {
            "worker"
        };
        // A machine that has no Node yet is waited for below, and the wait has a limit.
        let _ = fleet.desire(&machine.name, &format!("rendered-{first}")).await;
    }
    fleet.run(20).await;
    for machine in machines.iter().filter(|machine| !stays(machine)) {
        let _ = fleet.desire(&machine.name, &format!("rendered-{}", machine.pool)).await;
    }
    let target = |machine: &Placed| if stays(machine) { 1 } else { 2 };
    let mut settled = false;
    while !settled && fleet.elapsed() < LIMIT_SECONDS {
        fleet.run(10).await;
        settled = machines.iter().all(|machine| {
            fleet.boots(&machine.name) == Some(target(machine))
                && fleet.phase(&machine.name) == Some(berth_sim::Phase::Running)
        });
    }
    Cost {
        boots: machines.iter().filter_map(|machine| fleet.boots(&machine.name)).sum(),
        minutes: fleet.elapsed() / 60,
    }
}
