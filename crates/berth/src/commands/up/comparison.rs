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
    /// Whether it has to reboot when it is labelled after it joined: it came up as a worker, with a worker's config.
    pub(super) reboots: bool,
}

/// Up to so many seconds a machine boots longer than the fastest one, by chance.
pub(super) const BOOT_JITTER: i64 = 60;

/// What it cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cost {
    pub(super) boots: u32,
    /// Until all were in their places.
    pub(super) seconds: i64,
}

/// How long it may take at most.
const LIMIT_SECONDS: i64 = 4 * 3_600;

/// Boots the machines as workers, then moves those that belong elsewhere, all at once and as soon as they have joined:
/// another pool is another config, and that is a reboot. People are slower, and a rollout that keeps to maxUnavailable takes
/// longer, so this is the least that it costs.
pub(super) async fn without_berth(machines: &[Placed]) -> Cost {
    let time = SimulatedTime::starting_at(Timestamp::UNIX_EPOCH);
    let cluster = Cluster::new(ClusterOptions::new(time.clock(), 1));
    let mut fleet = Fleet::new(cluster, time, Flavour::Upstream, 1);
    fleet.approve_all(true);
    let habits = Habits {
        boot_jitter: BOOT_JITTER,
        ..Habits::default()
    };
    for machine in machines {
        fleet.add(&machine.name, Disk::image(), habits.clone());
        // The name was just added.
        let _ = fleet.power_on(&machine.name);
    }
    let running = |fleet: &Fleet, machine: &Placed| fleet.phase(&machine.name) == Some(berth_sim::Phase::Running);
    let mut joined = vec![false; machines.len()];
    loop {
        fleet.run(1).await;
        for (machine, joined) in machines.iter().zip(&mut joined) {
            if *joined || !running(&fleet, machine) {
                continue;
            }
            *joined = true;
            // A Node that was just made is there, and what it boots with is what its pool or the workers have.
            let first = if machine.reboots { "worker" } else { &machine.pool };
            let _ = fleet.has_config(&machine.name, &format!("rendered-{first}")).await;
            let _ = fleet.desire(&machine.name, &format!("rendered-{}", machine.pool)).await;
        }
        let done = machines.iter().zip(&joined).all(|(machine, joined)| {
            let boots = if machine.reboots { 2 } else { 1 };
            *joined && fleet.boots(&machine.name) == Some(boots) && running(&fleet, machine)
        });
        if done || fleet.elapsed() >= LIMIT_SECONDS {
            break;
        }
    }
    Cost {
        boots: machines.iter().filter_map(|machine| fleet.boots(&machine.name)).sum(),
        seconds: fleet.elapsed(),
    }
}
