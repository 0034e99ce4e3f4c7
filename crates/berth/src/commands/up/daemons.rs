//! The node daemons of the simulated machines: the real ones, on hosts in memory.

use std::collections::HashMap;

use berth_clock::Clock;
use berth_cluster::daemon::{self, Options, RunError};
use berth_daemon::{
    Capabilities, Entry, FileEntry, HostConfig, Item, Setting, Settings, SystemDriver, host_config::Accounts,
    journal::adopted, sim::SimHost,
};
use berth_sim::{Disk, Fleet, Phase};
use kube::Client;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::world::unusable;
use crate::{failure::Failure, vital};

const PASSWD: &str = "root:x:0:0::/root:/bin/sh\ncore:x:1000:1000::/home/core:/bin/bash\n";
const GROUP: &str = "root:x:0:\ncore:x:1000:\n";

type Running = JoinHandle<Option<Result<SimHost, RunError>>>;

/// One machine's daemon.
#[derive(Default)]
struct Machine {
    /// What its disk is, while no daemon has it.
    host: Option<SimHost>,
    running: Option<(Running, CancellationToken)>,
}

/// The daemons of all machines.
pub(super) struct Daemons {
    client: Client,
    clock: Clock,
    machines: HashMap<String, Machine>,
}

impl Daemons {
    pub(super) fn new(client: Client, clock: Clock) -> Self {
        Self {
            client,
            clock,
            machines: HashMap::new(),
        }
    }

    /// Starts and ends daemons as their machines do, and starts machines again as their daemons want.
    pub(super) async fn follow(&mut self, fleet: &mut Fleet) -> Result<(), Failure> {
        let names: Vec<String> = fleet.names().map(str::to_owned).collect();
        for name in names {
            let runs = matches!(fleet.phase(&name), Some(Phase::Running | Phase::Draining));
            let machine = self.machines.entry(name.clone()).or_default();
            match machine.running.take() {
                None if runs => {
                    let host = match machine.host.take() {
                        Some(host) => host,
                        None => installed(fleet.disk_mut(&name).as_deref()),
                    };
                    machine.running = Some(start(&self.client, &self.clock, &name, host));
                }
                None => {}
                Some((task, stop)) => {
                    if !runs {
                        // Its machine went down without a word.
                        stop.cancel();
                    }
                    if !task.is_finished() {
                        machine.running = Some((task, stop));
                        continue;
                    }
                    let host = match task.await {
                        Ok(Some(ended)) => ended.map_err(unusable)?,
                        // A task that was cancelled or panicked has ended the process.
                        Ok(None) | Err(_) => continue,
                    };
                    if runs && host.is_going_down() {
                        fleet.reboot(&name).map_err(unusable)?;
                    }
                    machine.host = Some(host.started_again());
                }
            }
        }
        Ok(())
    }
}

impl Drop for Daemons {
    fn drop(&mut self) {
        for machine in self.machines.values() {
            if let Some((_, stop)) = &machine.running {
                stop.cancel();
            }
        }
    }
}

fn start(client: &Client, clock: &Clock, node: &str, host: SimHost) -> (Running, CancellationToken) {
    let stop = CancellationToken::new();
    let options = Options {
        node: node.to_owned(),
        settings: Settings::default(),
        files: None,
        ends_at_reboot: true,
        clock: clock.clone(),
    };
    let (client, ends) = (client.clone(), stop.clone());
    let task = vital::spawn("node daemon", async move {
        Box::pin(daemon::run(client, host, options, ends)).await
    });
    (task, stop)
}

/// A host whose disk Ignition wrote: with everything that its config says, as Ignition gives it.
fn installed(disk: Option<&Disk>) -> SimHost {
    let capabilities = Capabilities {
        driver: SystemDriver::RpmOstree,
        accounts: Accounts::parse(PASSWD, GROUP),
        ..Capabilities::default()
    };
    let mut host = SimHost::new(capabilities.clone());
    for (path, contents) in disk.into_iter().flat_map(Disk::files) {
        let file = FileEntry::new(contents, 0o644);
        host.ship(Item::Path(path.to_owned()), Setting::Entry(Entry::File(file)));
    }
    if let Ok(Some(config)) = adopted(&host) {
        let (made, _) = HostConfig::of(&config, &capabilities);
        for (item, setting) in made.settings {
            host.ship(item, setting);
        }
        host.boot_with(made.system);
    }
    host
}
