//! What happens between the start and the end: machines boot, people watch.

use std::{collections::BTreeMap, time::Duration};

use berth_sim::Phase;
use serde_json::Value;
use tokio::time::MissedTickBehavior;

use super::{
    comparison::{Cost, without_berth},
    view::{MachineView, Picture, Screen, minutes},
    world::{Stage, World, unusable},
};
use crate::{
    args::UpArgs,
    commands::ignition_server::stop_signal,
    exit::Exit,
    failure::Failure,
    output::{Printer, Table, counted},
};

/// How often machines go on.
const TICK: Duration = Duration::from_millis(50);
/// A picture is drawn every so many ticks.
const TICKS_PER_PICTURE: u32 = 4;
/// So many happenings are kept for the picture.
const KEPT: usize = 50;

/// What people see: a picture on a terminal, lines elsewhere.
struct Audience {
    screen: Option<Screen>,
    happenings: Vec<String>,
    ticks: u32,
}

/// How much time passes for the machines: no second is lost between ticks.
struct Pace {
    per_tick: i64,
    left: i64,
}

impl Pace {
    fn new(speed: u16) -> Self {
        let milliseconds = i64::try_from(TICK.as_millis()).unwrap_or(50);
        Self {
            per_tick: milliseconds.saturating_mul(i64::from(speed)),
            left: 0,
        }
    }

    /// The whole seconds of one more tick.
    fn seconds(&mut self) -> i64 {
        self.left = self.left.saturating_add(self.per_tick);
        let seconds = self.left / 1_000;
        self.left %= 1_000;
        seconds
    }
}

impl World {
    pub(super) async fn run(mut self, args: &UpArgs, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
        // Before anything is said, so that nobody can end it before it would hear it.
        let mut told = Box::pin(stop_signal().map_err(Failure::Runtime)?);
        let screen = if args.plain { None } else { Screen::open() };
        let mut audience = Audience {
            screen,
            happenings: Vec::new(),
            ticks: 0,
        };
        printer.data(&format!(
            "{} boot on an embedded Kubernetes API at {}; time passes {} times as fast. Ctrl-C ends it.\n",
            counted(self.machines.len(), "machine"),
            self.server.url(),
            args.speed
        ))?;
        printer.flush()?;
        for machine in &self.machines {
            self.fleet.power_on(&machine.name).map_err(unusable)?;
        }
        let mut pace = Pace::new(args.speed);
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut settled = false;
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = &mut told => break,
            }
            self.pass(pace.seconds()).await?;
            if !settled && self.is_settled() {
                settled = true;
                self.show(args, &mut audience, printer, true)?;
                let summary = self.summary(args).await;
                if args.once {
                    printer.data(&summary)?;
                    break;
                }
                let summary = format!("{summary}{}", self.next_commands());
                match &mut audience.screen {
                    Some(screen) => screen.leave(summary),
                    None => printer.data(&summary)?,
                }
            }
            self.show(args, &mut audience, printer, false)?;
        }
        self.show(args, &mut audience, printer, true)?;
        self.end().await;
        if !settled {
            printer.data("Ended before all machines were in their places.\n")?;
        }
        printer.flush()?;
        Ok(Exit::Done)
    }

    fn show(
        &mut self,
        args: &UpArgs,
        audience: &mut Audience,
        printer: &mut Printer<'_>,
        at_once: bool,
    ) -> Result<(), Failure> {
        let lines = self.fleet.take_transcript();
        let Some(screen) = &mut audience.screen else {
            if !lines.is_empty() {
                printer.data(&format!("{}\n", lines.join("\n")))?;
            }
            return printer.flush();
        };
        audience.happenings.extend(lines);
        let surplus = audience.happenings.len().saturating_sub(KEPT);
        audience.happenings.drain(..surplus);
        audience.ticks = audience.ticks.wrapping_add(1);
        if at_once || audience.ticks.is_multiple_of(TICKS_PER_PICTURE) {
            let machines = self.views();
            screen.draw(&Picture {
                elapsed: self.fleet.elapsed(),
                speed: args.speed,
                saved: saved(&machines),
                machines: &machines,
                happenings: &audience.happenings,
            });
        }
        Ok(())
    }

    fn views(&self) -> Vec<MachineView> {
        let nodes = self.fleet.cluster().objects("", "v1", "nodes");
        let labels: BTreeMap<&str, &Value> = nodes
            .iter()
            .filter_map(|node| Some((node["metadata"]["name"].as_str()?, &node["metadata"]["labels"])))
            .collect();
        let berths = self.fleet.cluster().objects("berth.dev", "v1alpha1", "berths");
        let occupied: BTreeMap<&str, bool> = berths
            .iter()
            .filter_map(|berth| {
                let name = berth["metadata"]["name"].as_str()?;
                Some((name, berth["status"]["phase"] == "Occupied"))
            })
            .collect();
        let view = |machine: &super::comparison::Placed| {
            let has = labels.get(machine.name.as_str()).map_or(0, |labels| {
                let wanted = machine.labels.iter();
                wanted.filter(|(key, value)| labels[key] == value.as_str()).count()
            });
            let wants = machine.labels.len();
            let in_place = has == wants && occupied.get(machine.name.as_str()) == Some(&true);
            let stage = match self.fleet.phase(&machine.name) {
                None | Some(Phase::Off) => Stage::Off,
                Some(Phase::Booting) => Stage::Booting,
                Some(Phase::KubeletStopped) => Stage::Stopped,
                Some(Phase::Requesting) => Stage::Requesting,
                Some(Phase::Draining) => Stage::Draining,
                Some(Phase::Rebooting) => Stage::Rebooting,
                Some(Phase::Running) if in_place => Stage::InPlace,
                Some(Phase::Running) => Stage::Running,
            };
            MachineView {
                name: machine.name.clone(),
                pool: machine.pool.clone(),
                reboots: machine.reboots,
                stage,
                labels: (has, wants),
                boots: self.fleet.boots(&machine.name).unwrap_or(0),
            }
        };
        self.machines.iter().map(view).collect()
    }

    /// Every machine runs, its Berth says so, and its Node has every label that the site gives it.
    fn is_settled(&self) -> bool {
        let runs = self
            .machines
            .iter()
            .all(|machine| self.fleet.phase(&machine.name) == Some(Phase::Running));
        runs && self.views().iter().all(|machine| machine.stage == Stage::InPlace)
    }

    /// What it came to.
    async fn summary(&self, args: &UpArgs) -> String {
        let views = self.views();
        let mut pools: BTreeMap<&str, usize> = BTreeMap::new();
        for machine in &self.machines {
            *pools.entry(&machine.pool).or_default() += 1;
        }
        let pools: Vec<String> = pools.iter().map(|(pool, count)| format!("{pool}: {count}")).collect();
        let own = Cost {
            boots: views.iter().map(|machine| machine.boots).sum(),
            seconds: self.fleet.elapsed(),
        };
        let mut text = format!(
            "\nAll {} are in their places with all their labels, after {} and {}\n({}).\n{} saved: these machines did not have \
             to be labelled after they joined.\n",
            counted(self.machines.len(), "machine"),
            counted(usize::try_from(own.boots).unwrap_or(usize::MAX), "boot"),
            minutes(own.seconds),
            pools.join(", "),
            counted(saved(&views), "reboot"),
        );
        if args.without_berth {
            text.push_str(&side_by_side(own, without_berth(&self.machines).await));
        }
        text
    }

    fn next_commands(&self) -> String {
        let kubectl = format!("kubectl --kubeconfig {}", self.kubeconfig.display());
        let one = self
            .machines
            .iter()
            .find(|machine| machine.reboots)
            .or_else(|| self.machines.first())
            .map_or("NAME", |machine| machine.name.as_str());
        let documents = self.services.documents;
        // As it was called, so that the line can be copied.
        let berth = std::env::args().next().unwrap_or_else(|| "berth".to_owned());
        format!(
            "\nKubernetes API  {}\nAPI             http://{documents}/api/v1.0\nIgnition        http://{}\n\
             It is for trying, not for production.\n\nTry next, in another terminal:\n  {kubectl} get nodes,berths\n  \
             {kubectl} delete node {one}\n  {berth} relabel --server http://{documents} --all --dry-run\n\
             The deleted Node comes back with its labels. Ctrl-C ends everything.\n",
            self.server.url(),
            self.services.ignition,
        )
    }
}

/// Reboots that these machines would need if they were labelled after they joined.
fn saved(machines: &[MachineView]) -> usize {
    machines
        .iter()
        .filter(|machine| machine.stage == Stage::InPlace && machine.reboots)
        .count()
}

/// Both ways in one table.
fn side_by_side(with: Cost, without: Cost) -> String {
    let mut table = Table::new(["", "BOOTS", "MORE REBOOTS", "ALL IN PLACE AFTER", "LOST"]);
    let more = without.boots.saturating_sub(with.boots);
    let lost = without.seconds.saturating_sub(with.seconds).max(0);
    table.row([
        "with Berth",
        &with.boots.to_string(),
        "0",
        &minutes(with.seconds),
        &minutes(0),
    ]);
    table.row([
        "without Berth",
        &without.boots.to_string(),
        &more.to_string(),
        &minutes(without.seconds),
        &minutes(lost),
    ]);
    format!("\n{table}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_second_is_lost_between_ticks() {
        for speed in [1, 7, 20, 30, 3_600] {
            let mut pace = Pace::new(speed);
            let passed: i64 = (0..20 * 60).map(|_| pace.seconds()).sum();
            assert_eq!(passed, i64::from(speed) * 60, "{speed}");
        }
    }
}
