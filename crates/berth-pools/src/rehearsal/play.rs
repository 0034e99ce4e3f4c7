//! The world of a rehearsal: pools, machines, and what is due when.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap, HashMap},
    time::Duration,
};

use super::{
    AtWindow, Ending, Moment, Outage, OutageKind, Pause, PoolRehearsal, Rehearsal,
    daemon::{Machine, Stage, arrive, ask_for_drain, at_work, begins, cordon, give_up, joined, leave, set, under_way},
    script::{Happening, Mishap, Script},
};
use crate::{
    forecast::{ForecastInput, NewNode, Reboots, format_duration},
    rollout::{NodeState, PoolRollout, Quorum, Waiting, annotation, plan_pool, select},
};

/// Plays until nothing moves any more.
pub(super) fn play(input: &ForecastInput, script: &Script) -> Rehearsal {
    let mut world = World::new(input, script);
    world.settle();
    world.go_on_under_way();
    loop {
        while world.plan() || world.settle() {}
        if !world.advance() {
            break;
        }
    }
    world.finish()
}

/// Something that is due. Ordered, so that a rehearsal is the same each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// An event of the script.
    Script(usize),
    /// A machine of those that join has joined.
    Joined { pool: usize, index: usize },
    /// The Pods of a node are gone.
    Drained { place: Place, life: u64 },
    /// A node is back from its reboot.
    Back { place: Place, life: u64 },
    /// A node that had no power has booted.
    Booted { place: Place, life: u64 },
}

/// A node: its pool and its index there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    pool: usize,
    node: usize,
}

/// An outage with what the report leaves out.
#[derive(Debug)]
struct Open {
    outage: Outage,
    /// Whether it takes a slot; the first boot of a machine does not.
    slot: bool,
}

struct World<'a> {
    input: &'a ForecastInput,
    script: &'a Script,
    time: Duration,
    pools: Vec<PoolRollout>,
    /// What each pool waits for by its own input.
    waits_for: Vec<Option<String>>,
    machines: Vec<Vec<Machine>>,
    places: HashMap<String, Place>,
    /// Machines that join, by name.
    joining: HashMap<&'a str, &'a NewNode>,
    /// Mishaps of machines that have not joined yet.
    awaited: HashMap<String, Mishap>,
    outages: Vec<Vec<Open>>,
    pauses: Vec<Vec<Pause>>,
    /// The pools that have to be planned again.
    changed: BTreeSet<usize>,
    due: BinaryHeap<Reverse<(Duration, Due)>>,
    journal: Vec<Moment>,
}

impl<'a> World<'a> {
    fn new(input: &'a ForecastInput, script: &'a Script) -> Self {
        let pools: Vec<PoolRollout> = input.pools.iter().map(|pool| pool.rollout.clone()).collect();
        let places = pools.iter().enumerate().flat_map(|(pool, rollout)| {
            let nodes = rollout.nodes.iter().enumerate();
            nodes.map(move |(node, state)| (state.name.clone(), Place { pool, node }))
        });
        let places: HashMap<String, Place> = places.collect();
        let mut world = Self {
            input,
            script,
            time: Duration::ZERO,
            waits_for: pools.iter().map(|pool| pool.waits_for.clone()).collect(),
            machines: pools
                .iter()
                .map(|pool| pool.nodes.iter().map(|_| Machine::new()).collect())
                .collect(),
            places,
            joining: HashMap::new(),
            awaited: HashMap::new(),
            outages: pools.iter().map(|_| Vec::new()).collect(),
            pauses: pools.iter().map(|pool| begun(pool.paused)).collect(),
            changed: (0..pools.len()).collect(),
            pools,
            due: BinaryHeap::new(),
            journal: Vec::new(),
        };
        for (index, event) in script.events.iter().enumerate() {
            world.due.push(Reverse((event.at, Due::Script(index))));
        }
        world.join();
        world
    }

    /// Machines that join need no slot for it: nothing runs on them yet.
    fn join(&mut self) {
        let input = self.input;
        for (pool, of) in input.pools.iter().enumerate() {
            for (index, node) in of.joining.iter().enumerate() {
                if self.places.contains_key(&node.name) {
                    continue;
                }
                self.joining.insert(&node.name, node);
                let boots = reboots_of_new(node).min(1);
                let lost = self.script.events.iter().find_map(|event| match &event.what {
                    Happening::Fail(name, mishap) if event.at.is_zero() && *name == node.name => Some(*mishap),
                    _ => None,
                });
                let each = match lost {
                    Some(Mishap::SlowBoot(time)) => time,
                    _ => input.reboot,
                };
                let end = each.saturating_mul(boots);
                let comes = lost != Some(Mishap::Lost) || boots == 0;
                if let Some(outages) = self.outages.get_mut(pool) {
                    outages.push(Open {
                        outage: Outage {
                            node: node.name.clone(),
                            kind: OutageKind::New,
                            start: Duration::ZERO,
                            reboot: Some(Duration::ZERO),
                            end: comes.then_some(end),
                            reboots: boots,
                            lost_power: false,
                            ending: if comes { Ending::Back } else { Ending::Lost },
                        },
                        slot: false,
                    });
                }
                if comes {
                    self.due.push(Reverse((end, Due::Joined { pool, index })));
                }
            }
        }
    }

    /// Nodes that are on the move when the rehearsal begins. How far they are is not known, so they take their full time.
    fn go_on_under_way(&mut self) {
        for pool in 0..self.pools.len() {
            let Some(rollout) = self.pools.get(pool) else { continue };
            let target = rollout.target.as_deref();
            let moving: Vec<usize> = (0..)
                .zip(&rollout.nodes)
                .filter(|(_, node)| under_way(node, target))
                .map(|(node, _)| node)
                .collect();
            for node in moving {
                self.begin(Place { pool, node });
            }
        }
    }

    // === the controller ===

    /// Asks the planner about every pool that changed and does what it says. False when there is nothing to do.
    fn plan(&mut self) -> bool {
        if self.changed.is_empty() {
            return false;
        }
        let quorum = Quorum::of(&self.pools);
        let all = std::mem::take(&mut self.changed);
        for pool in 0..self.pools.len() {
            let Some(rollout) = self.pools.get_mut(pool) else {
                continue;
            };
            let other = quorum.in_the_way(&rollout.pool);
            let own = self.waits_for.get(pool).cloned().flatten();
            let waits_for = other.map(str::to_owned).or(own);
            if waits_for == rollout.waits_for && !all.contains(&pool) {
                continue;
            }
            rollout.waits_for = waits_for;
            let selection = select(rollout);
            let place = |node: &&NodeState| self.places.get(&node.name).copied();
            let told: Vec<Place> = selection.candidates.iter().filter_map(place).collect();
            let drains: Vec<Place> = selection.drains.iter().filter_map(place).collect();
            for place in told {
                self.tell(place);
            }
            for place in drains {
                self.grant(place);
            }
        }
        true
    }

    fn tell(&mut self, place: Place) {
        let target = self.pools.get(place.pool).and_then(|pool| pool.target.clone());
        let (Some(target), Some(node)) = (target, self.node_mut(place)) else {
            return;
        };
        set(node, annotation::DESIRED_CONFIG, &target);
        self.begin(place);
    }

    /// Cordons a node that asked for its drain, and evicts its Pods.
    fn grant(&mut self, place: Place) {
        let Some(node) = self.node_mut(place) else { return };
        cordon(node);
        self.drain(place);
    }

    fn drain(&mut self, place: Place) {
        let config = self.wanted(place);
        self.tell_journal(place, format!("drains for {config}"));
        self.open(place);
        let Some(machine) = self.machine_mut(place) else { return };
        machine.stage = Stage::Drains;
        let (life, mishap) = (machine.life, machine.mishap);
        if mishap == Some(Mishap::StuckDrain) {
            self.ending(place, Ending::Draining);
            self.tell_journal(place, "its Pods do not go".to_owned());
        } else {
            self.push(self.input.drain, Due::Drained { place, life });
        }
    }

    // === the daemon ===

    /// The daemon takes up what is wanted of it.
    fn begin(&mut self, place: Place) {
        let reboots = self.reboots_of(place);
        let Some(machine) = self.machine_mut(place) else { return };
        if !matches!(machine.stage, Stage::Runs | Stage::Asks) {
            return;
        }
        machine.reboots = reboots;
        let refuses = machine.mishap == Some(Mishap::Refuses);
        let Some(node) = self.node_mut(place) else { return };
        if reboots == 0 && refuses {
            give_up(node);
            self.tell_journal(place, "cannot take the config and serves on as it was".to_owned());
            return;
        }
        if reboots == 0 {
            arrive(node);
            self.open(place);
            let config = self.wanted(place);
            self.tell_journal(place, format!("takes {config} without a reboot"));
            self.close(place, Ending::Back);
            return;
        }
        let serves = node.ready();
        ask_for_drain(node);
        if let Some(machine) = self.machine_mut(place) {
            machine.stage = Stage::Asks;
        }
        if !serves {
            // Somebody cordoned it or it is away already: there is nothing to ask for.
            self.grant(place);
        }
    }

    fn drained(&mut self, place: Place) {
        let Some(machine) = self.machine_mut(place) else { return };
        let (mishap, life, reboots) = (machine.mishap, machine.life, machine.reboots);
        if mishap == Some(Mishap::Refuses) {
            machine.stage = Stage::Runs;
            if let Some(node) = self.node_mut(place) {
                give_up(node);
            }
            self.close(place, Ending::Refused);
            self.tell_journal(place, "cannot take the config and serves on as it was".to_owned());
            return;
        }
        machine.stage = if mishap == Some(Mishap::Lost) {
            Stage::Lost
        } else {
            Stage::Reboots
        };
        if let Some(node) = self.node_mut(place) {
            leave(node);
        }
        let now = self.time;
        if let Some(open) = self.open_outage(place) {
            open.reboot = Some(now);
            open.reboots = open.reboots.saturating_add(reboots);
        }
        self.tell_journal(place, "reboots".to_owned());
        match mishap {
            Some(Mishap::Lost) => {
                self.ending(place, Ending::Lost);
                self.tell_journal(place, "does not come back".to_owned());
            }
            Some(Mishap::SlowBoot(time)) => self.push(time.saturating_mul(reboots), Due::Back { place, life }),
            _ => self.push(self.input.reboot.saturating_mul(reboots), Due::Back { place, life }),
        }
    }

    fn back(&mut self, place: Place) {
        if let Some(machine) = self.machine_mut(place) {
            machine.stage = Stage::Runs;
        }
        if let Some(node) = self.node_mut(place) {
            arrive(node);
        }
        self.close(place, Ending::Back);
        let config = self.wanted(place);
        self.tell_journal(place, format!("is back with {config}"));
    }

    fn joined(&mut self, pool: usize, index: usize) {
        let new = self.input.pools.get(pool).and_then(|of| of.joining.get(index));
        let (Some(new), Some(rollout)) = (new, self.pools.get_mut(pool)) else {
            return;
        };
        let place = Place {
            pool,
            node: rollout.nodes.len(),
        };
        rollout
            .nodes
            .push(joined(new, reboots_of_new(new), rollout.target.as_deref()));
        let mut machine = Machine::new();
        machine.mishap = self.awaited.get(&new.name).copied();
        if let Some(machines) = self.machines.get_mut(pool) {
            machines.push(machine);
        }
        self.places.insert(new.name.clone(), place);
        self.changed.insert(pool);
        self.tell_journal(place, "joins".to_owned());
    }

    // === the script ===

    fn happen(&mut self, what: &Happening) {
        match what {
            Happening::Fail(node, mishap) => match self.places.get(node).copied() {
                Some(place) => {
                    if let Some(machine) = self.machine_mut(place) {
                        machine.mishap = Some(*mishap);
                    }
                }
                None => {
                    self.awaited.insert(node.clone(), *mishap);
                }
            },
            Happening::PowerOff(node) => self.power_off(node),
            Happening::PowerOn(node) => self.power_on(node),
            Happening::Pause(pool) => self.pause(pool, true),
            Happening::Resume(pool) => self.pause(pool, false),
        }
    }

    fn pause(&mut self, name: &str, paused: bool) {
        let Some(pool) = self.pools.iter().position(|pool| pool.pool == name) else {
            return;
        };
        if let Some(rollout) = self.pools.get_mut(pool) {
            rollout.paused = paused;
        }
        let now = self.time;
        if let Some(pauses) = self.pauses.get_mut(pool) {
            match pauses.last_mut().filter(|pause| pause.end.is_none()) {
                Some(_) if paused => {}
                Some(pause) => pause.end = Some(now),
                None if paused => pauses.push(Pause { start: now, end: None }),
                None => {}
            }
        }
        self.changed.insert(pool);
        self.journal.push(Moment {
            at: self.time,
            who: name.to_owned(),
            what: if paused { "is paused" } else { "goes on" }.to_owned(),
        });
    }

    fn power_off(&mut self, name: &str) {
        let Some(place) = self.places.get(name).copied() else {
            return;
        };
        let Some(machine) = self.machine_mut(place) else { return };
        if machine.stage == Stage::Off {
            return;
        }
        machine.before = machine.stage;
        machine.stage = Stage::Off;
        machine.life = machine.life.saturating_add(1);
        let moving = machine.outage.is_some();
        if let Some(node) = self.node_mut(place) {
            node.conditions.ready = Some(false);
        }
        self.tell_journal(place, "loses its power".to_owned());
        self.open(place);
        let kind = if moving { None } else { Some(OutageKind::Power) };
        if let Some(open) = self.open_outage(place) {
            open.ending = Ending::Off;
            open.lost_power = true;
            open.kind = kind.unwrap_or(open.kind);
        }
    }

    /// Also brings back a machine that was lost in its reboot: somebody repaired it.
    fn power_on(&mut self, name: &str) {
        let Some(place) = self.places.get(name).copied() else {
            return;
        };
        let Some(machine) = self.machine_mut(place) else { return };
        match machine.stage {
            Stage::Off => {}
            Stage::Lost => machine.before = Stage::Reboots,
            _ => return,
        }
        machine.mishap = None;
        machine.life = machine.life.saturating_add(1);
        let life = machine.life;
        self.tell_journal(place, "has power again and boots".to_owned());
        self.push(self.input.reboot, Due::Booted { place, life });
    }

    fn booted(&mut self, place: Place) {
        let Some(machine) = self.machine_mut(place) else { return };
        let before = machine.before;
        match before {
            Stage::Reboots | Stage::Lost => self.back(place),
            Stage::Drains => {
                machine.stage = Stage::Drains;
                let life = machine.life;
                if let Some(node) = self.node_mut(place) {
                    node.conditions.ready = Some(true);
                }
                self.push(self.input.drain, Due::Drained { place, life });
            }
            Stage::Runs | Stage::Asks | Stage::Off => {
                machine.stage = Stage::Runs;
                if let Some(node) = self.node_mut(place) {
                    node.conditions.ready = Some(true);
                    let goes_on = begins(node) && (at_work(node) || before == Stage::Asks);
                    self.close(place, Ending::Back);
                    self.tell_journal(place, "runs again".to_owned());
                    if goes_on {
                        self.begin(place);
                    }
                }
            }
        }
    }

    // === time ===

    fn push(&mut self, after: Duration, due: Due) {
        self.due.push(Reverse((self.time.saturating_add(after), due)));
    }

    /// Lets time pass until something is due. False when nothing is.
    fn advance(&mut self) -> bool {
        let Some(Reverse((time, _))) = self.due.peek() else {
            return false;
        };
        self.time = (*time).max(self.time);
        self.settle();
        true
    }

    /// Does everything that is due by now. False when there is nothing.
    fn settle(&mut self) -> bool {
        let mut settled = false;
        while let Some(Reverse((time, due))) = self.due.peek().copied() {
            if time > self.time {
                break;
            }
            self.due.pop();
            settled = true;
            match due {
                Due::Script(index) => {
                    let script = self.script;
                    if let Some(event) = script.events.get(index) {
                        self.happen(&event.what);
                    }
                }
                Due::Joined { pool, index } => self.joined(pool, index),
                Due::Drained { place, life } if self.lives(place, life) => self.drained(place),
                Due::Back { place, life } if self.lives(place, life) => self.back(place),
                Due::Booted { place, life } if self.lives(place, life) => self.booted(place),
                Due::Drained { .. } | Due::Back { .. } | Due::Booted { .. } => {}
            }
        }
        settled
    }

    fn lives(&self, place: Place, life: u64) -> bool {
        let machine = self.machines.get(place.pool).and_then(|all| all.get(place.node));
        machine.is_some_and(|machine| machine.life == life)
    }

    // === small things ===

    /// The Node, which is about to change: its pool is planned again.
    fn node_mut(&mut self, place: Place) -> Option<&mut NodeState> {
        self.changed.insert(place.pool);
        self.pools.get_mut(place.pool)?.nodes.get_mut(place.node)
    }

    fn node(&self, place: Place) -> Option<&NodeState> {
        self.pools.get(place.pool)?.nodes.get(place.node)
    }

    fn machine_mut(&mut self, place: Place) -> Option<&mut Machine> {
        self.machines.get_mut(place.pool)?.get_mut(place.node)
    }

    fn wanted(&self, place: Place) -> String {
        let node = self.node(place);
        node.and_then(NodeState::desired_config).unwrap_or_default().to_owned()
    }

    fn reboots_of(&self, place: Place) -> u32 {
        let Some(node) = self.node(place) else { return 0 };
        if let Some(new) = self.joining.get(node.name.as_str()) {
            return reboots_of_new(new).saturating_sub(1);
        }
        let pool = self.input.pools.get(place.pool);
        let reboots = pool.and_then(|pool| pool.reboots.get(&node.name)).copied();
        reboots.unwrap_or(Reboots::MOVING).with
    }

    fn tell_journal(&mut self, place: Place, what: String) {
        let who = self.node(place).map(|node| node.name.clone()).unwrap_or_default();
        self.journal.push(Moment {
            at: self.time,
            who,
            what,
        });
    }

    fn open(&mut self, place: Place) {
        let Some(name) = self.node(place).map(|node| node.name.clone()) else {
            return;
        };
        let kind = if self.joining.contains_key(name.as_str()) {
            OutageKind::New
        } else {
            OutageKind::Moving
        };
        let start = self.time;
        let Some(outages) = self.outages.get_mut(place.pool) else {
            return;
        };
        let index = outages.len();
        let machine = self
            .machines
            .get_mut(place.pool)
            .and_then(|all| all.get_mut(place.node));
        let Some(machine) = machine.filter(|machine| machine.outage.is_none()) else {
            return;
        };
        machine.outage = Some(index);
        outages.push(Open {
            outage: Outage {
                node: name,
                kind,
                start,
                reboot: None,
                end: None,
                reboots: 0,
                lost_power: false,
                ending: Ending::Back,
            },
            slot: true,
        });
    }

    fn open_outage(&mut self, place: Place) -> Option<&mut Outage> {
        let index = self.machines.get(place.pool)?.get(place.node)?.outage?;
        let open = self.outages.get_mut(place.pool)?.get_mut(index)?;
        Some(&mut open.outage)
    }

    fn ending(&mut self, place: Place, ending: Ending) {
        if let Some(outage) = self.open_outage(place) {
            outage.ending = ending;
        }
    }

    fn close(&mut self, place: Place, ending: Ending) {
        let now = self.time;
        if let Some(outage) = self.open_outage(place) {
            outage.end = Some(now);
            outage.ending = ending;
        }
        if let Some(machine) = self.machine_mut(place) {
            machine.outage = None;
        }
    }

    // === the answer ===

    fn finish(self) -> Rehearsal {
        let input = self.input;
        let played = self.pools.iter().zip(self.outages).zip(self.pauses);
        let pools: Vec<PoolRehearsal> = played
            .map(|((rollout, outages), pauses)| pool_rehearsal(rollout, outages, pauses))
            .collect();
        let finish = pools.iter().map(|pool| pool.finish).max().unwrap_or_default();
        let stuck = pools.iter().any(|pool| !pool.paused && !pool.left.is_empty());
        let fits_window = input.window.map(|window| finish <= window && !stuck);
        let at_window = input.window.filter(|_| fits_window == Some(false));
        Rehearsal {
            at_window: at_window.map(|window| at(&pools, window, input)),
            finish,
            window: input.window,
            fits_window,
            pools,
            journal: self.journal,
        }
    }
}

fn reboots_of_new(node: &NewNode) -> u32 {
    node.reboots.unwrap_or(Reboots::NEW).with
}

/// The pause of a pool that is paused from the start.
fn begun(paused: bool) -> Vec<Pause> {
    let pause = Pause {
        start: Duration::ZERO,
        end: None,
    };
    paused.then_some(pause).into_iter().collect()
}

fn pool_rehearsal(rollout: &PoolRollout, mut open: Vec<Open>, pauses: Vec<Pause>) -> PoolRehearsal {
    open.sort_by_key(|open| (open.outage.start, open.slot));
    let most_out = most_at_once(open.iter().filter(|open| open.slot).map(|open| &open.outage));
    let outages: Vec<Outage> = open.into_iter().map(|open| open.outage).collect();
    let mut left = plan_pool(rollout).waiting;
    for outage in outages.iter().filter(|outage| outage.end.is_none()) {
        let since = format_duration(outage.reboot.unwrap_or(outage.start));
        let reason = match outage.ending {
            Ending::Draining => format!("its Pods do not go; drains since +{since}"),
            Ending::Off => "has no power".to_owned(),
            Ending::Lost | Ending::Back | Ending::Refused => {
                format!("did not come back from its reboot at +{since}")
            }
        };
        match left.iter_mut().find(|waiting| waiting.node == outage.node) {
            Some(waiting) => waiting.reason = reason,
            None => left.push(Waiting {
                node: outage.node.clone(),
                reason,
            }),
        }
    }
    PoolRehearsal {
        pool: rollout.pool.clone(),
        paused: rollout.paused,
        pauses,
        max_unavailable: rollout.limit(),
        most_out,
        reboots: outages.iter().fold(0, |sum, outage| sum.saturating_add(outage.reboots)),
        finish: outages.iter().filter_map(|outage| outage.end).max().unwrap_or_default(),
        outages,
        left,
    }
}

/// How many of these overlap at most. One that ends when another starts does not overlap it.
fn most_at_once<'a>(outages: impl Iterator<Item = &'a Outage>) -> usize {
    let mut moments: Vec<(Duration, bool)> = Vec::new();
    for outage in outages.filter(|outage| outage.end != Some(outage.start)) {
        moments.push((outage.start, true));
        moments.extend(outage.end.map(|end| (end, false)));
    }
    moments.sort_unstable();
    let (mut now, mut most) = (0_usize, 0_usize);
    for (_, starts) in moments {
        now = if starts {
            now.saturating_add(1)
        } else {
            now.saturating_sub(1)
        };
        most = most.max(now);
    }
    most
}

/// How things stand when the window closes.
fn at(pools: &[PoolRehearsal], window: Duration, input: &ForecastInput) -> AtWindow {
    let outages = || pools.iter().flat_map(|pool| &pool.outages);
    let began: BTreeSet<&str> = outages()
        .filter(|outage| outage.start < window)
        .map(|outage| outage.node.as_str())
        .collect();
    let out = outages().filter(|outage| outage.start < window && outage.end.is_none_or(|end| end > window));
    let late = outages()
        .filter(|outage| outage.start >= window)
        .map(|outage| outage.node.as_str());
    let left = pools.iter().filter(|pool| !pool.paused).flat_map(|pool| &pool.left);
    let mut seen = BTreeSet::new();
    let not_begun = late
        .chain(left.map(|waiting| waiting.node.as_str()))
        .filter(|node| !began.contains(node) && seen.insert(*node));
    AtWindow {
        last_start: window.saturating_sub(input.reboot.saturating_add(input.drain)),
        not_begun: not_begun.map(str::to_owned).collect(),
        out: out.map(|outage| outage.node.clone()).collect(),
    }
}
