//! Random fleets, played against the planner.

use proptest::prelude::*;

use super::{tests::node, *};

const OLD: &str = "rendered-infra-old";
const TARGETS: [&str; 2] = ["rendered-infra-first", "rendered-infra-second"];

/// What a machine makes of a config.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Healthy,
    /// Cannot take it, gives up before or after its drain, and serves on. Tries again from time to time.
    Refuses,
    /// Dies on the way: cordoned and degraded for good.
    Dies,
}

#[derive(Clone, Debug)]
struct Fleet {
    limit: u32,
    fates: Vec<Fate>,
    /// Whether nodes also fail for reasons of their own, for a while.
    outages: bool,
    seed: u64,
}

/// After so many ticks nodes fail only because of their configs: with outages that never end, whether a fleet arrives in time
/// would be a matter of luck.
const OUTAGES_END: usize = 100;

fn fleet(fates: impl Strategy<Value = Vec<Fate>>) -> impl Strategy<Value = Fleet> {
    (1u32..5, fates, any::<bool>(), any::<u64>()).prop_map(|(limit, fates, outages, seed)| Fleet {
        limit,
        fates,
        outages,
        seed,
    })
}

fn healthy_fleet() -> impl Strategy<Value = Fleet> {
    fleet((1usize..25).prop_map(|count| vec![Fate::Healthy; count]))
}

fn mixed_fleet() -> impl Strategy<Value = Fleet> {
    let fate = prop_oneof![4 => Just(Fate::Healthy), 2 => Just(Fate::Refuses), 1 => Just(Fate::Dies)];
    fleet(prop::collection::vec(fate, 1..25))
}

/// A fleet in motion. Each tick the plan is carried out, and then each machine may take a step.
struct World {
    rollout: PoolRollout,
    fates: Vec<Fate>,
    outages: bool,
    ticks: usize,
    random: u64,
    /// Nodes that got the present target.
    told: Vec<String>,
}

impl World {
    fn new(fleet: &Fleet) -> Self {
        let nodes = (0..fleet.fates.len()).map(|index| node(&format!("n{index:02}"), OLD, OLD, "Done"));
        Self {
            rollout: PoolRollout {
                pool: "infra".to_owned(),
                target: Some(TARGETS[0].to_owned()),
                max_unavailable: MaxUnavailable::Count(fleet.limit),
                nodes: nodes.collect(),
                ..PoolRollout::default()
            },
            fates: fleet.fates.clone(),
            outages: fleet.outages,
            ticks: 0,
            random: fleet.seed,
            told: Vec::new(),
        }
    }

    /// True once in `odds` times.
    fn chance(&mut self, odds: u64) -> bool {
        // A linear congruential generator; the high bits are the good ones.
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33).is_multiple_of(odds)
    }

    fn out_of_service(&self) -> usize {
        self.rollout.nodes.iter().filter(|node| !node.ready()).count()
    }

    fn updated(&self, fate: Fate) -> bool {
        let target = self.rollout.target.clone().unwrap();
        let mut nodes = self
            .rollout
            .nodes
            .iter()
            .zip(&self.fates)
            .filter(|(_, of)| **of == fate);
        nodes.all(|(node, _)| node.updated(&target) && node.ready())
    }

    fn retarget(&mut self, target: &str) {
        self.rollout.target = Some(target.to_owned());
        self.told.clear();
    }

    fn tick(&mut self) -> RolloutPlan {
        let plan = plan_pool(&self.rollout);
        self.carry_out(&plan);
        self.ticks += 1;
        for index in 0..self.rollout.nodes.len() {
            if self.chance(2) {
                self.step(index);
            }
        }
        plan
    }

    fn carry_out(&mut self, plan: &RolloutPlan) {
        let limit = self.rollout.limit();
        let target = self.rollout.target.clone().unwrap();
        assert_eq!(plan, &plan_pool(&self.rollout), "the same question has the same answer");
        let taking: Vec<&String> = plan
            .candidates
            .iter()
            .filter(|name| !plan.unavailable.contains(name))
            .collect();
        assert!(taking.len() <= plan.capacity);
        assert!(
            taking.is_empty() || plan.unavailable.len() + taking.len() <= limit,
            "beyond the limit"
        );
        for name in &plan.candidates {
            assert!(!self.told.contains(name), "{name} moves twice");
            self.told.push(name.clone());
            let node = self.rollout.nodes.iter_mut().find(|node| node.name == *name).unwrap();
            assert!(!node.updated(&target), "{name} is there already");
            set(node, annotation::DESIRED_CONFIG, &target);
        }
        for name in &plan.drains {
            let node = self.rollout.nodes.iter_mut().find(|node| node.name == *name).unwrap();
            node.unschedulable = true;
            let drain = node.annotations[annotation::DESIRED_DRAIN].clone();
            set(node, annotation::LAST_APPLIED_DRAIN, &drain);
        }
        assert!(
            plan.drains.is_empty() || self.out_of_service() <= limit,
            "{} of {limit} out of service",
            self.out_of_service()
        );
    }

    fn step(&mut self, index: usize) {
        let (outage, comes_back, gives_up, tries_again) = (
            self.outages && self.ticks < OUTAGES_END && self.chance(40),
            self.chance(4),
            self.chance(4),
            self.chance(12),
        );
        let fate = self.fates[index];
        let node = &mut self.rollout.nodes[index];
        let same = node.current_config() == node.desired_config();
        match node.daemon().unwrap() {
            DaemonState::Done if same && node.ready() && outage => node.conditions.ready = Some(false),
            DaemonState::Done if same && comes_back => node.conditions.ready = Some(true),
            DaemonState::Done if same => {}
            DaemonState::Done => ask(node),
            DaemonState::Working if fate == Fate::Refuses && (gives_up || node.unschedulable) => {
                set(node, annotation::STATE, "Degraded");
                set(node, annotation::DESIRED_DRAIN, "uncordon-it");
                node.unschedulable = false;
            }
            DaemonState::Working if fate == Fate::Dies && node.unschedulable => {
                set(node, annotation::STATE, "Degraded");
            }
            // Drained: away, and then back with the new config.
            DaemonState::Working if node.unschedulable && node.conditions.ready != Some(false) => {
                node.conditions.ready = Some(false);
            }
            DaemonState::Working if node.unschedulable => {
                node.conditions.ready = Some(true);
                node.unschedulable = false;
                let desired = node.annotations[annotation::DESIRED_CONFIG].clone();
                set(node, annotation::CURRENT_CONFIG, &desired);
                set(node, annotation::STATE, "Done");
                set(node, annotation::DESIRED_DRAIN, "uncordon-it");
            }
            DaemonState::Degraded if fate == Fate::Refuses && tries_again => ask(node),
            // Waits for its drain, or is dead.
            DaemonState::Working | DaemonState::Degraded | DaemonState::Unreconcilable => {}
        }
    }
}

fn ask(node: &mut NodeState) {
    let drain = format!("drain-{}", node.annotations[annotation::DESIRED_CONFIG]);
    set(node, annotation::STATE, "Working");
    set(node, annotation::DESIRED_DRAIN, &drain);
    node.annotations.remove(annotation::LAST_APPLIED_DRAIN);
}

fn set(node: &mut NodeState, key: &str, value: &str) {
    node.annotations.insert(key.to_owned(), value.to_owned());
}

/// Long enough for every machine to move alone, with bad luck.
fn patience(fleet: &Fleet) -> usize {
    OUTAGES_END + 150 + fleet.fates.len() * 60
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_healthy_fleet_always_arrives(fleet in healthy_fleet()) {
        let mut world = World::new(&fleet);
        let arrived = (0..patience(&fleet)).any(|_| {
            world.tick();
            world.updated(Fate::Healthy)
        });
        prop_assert!(arrived, "{:#?}", plan_pool(&world.rollout));
    }

    /// Also when the target changes half-way.
    #[test]
    fn a_changed_target_is_followed(fleet in healthy_fleet(), after in 0usize..60) {
        let mut world = World::new(&fleet);
        for _ in 0..after {
            world.tick();
        }
        world.retarget(TARGETS[1]);
        let arrived = (0..patience(&fleet)).any(|_| {
            world.tick();
            world.updated(Fate::Healthy)
        });
        prop_assert!(arrived, "{:#?}", plan_pool(&world.rollout));
        for _ in 0..20 {
            prop_assert!(world.tick().candidates.is_empty(), "nobody moves again");
        }
    }

    /// The limits are checked at each tick. Healthy nodes stay behind in two cases only: as many machines as may be
    /// out of service are dead, or the config has failed on several nodes and worked on none.
    #[test]
    fn degraded_nodes_block_nobody(fleet in mixed_fleet()) {
        let mut world = World::new(&fleet);
        let arrived = (0..patience(&fleet)).any(|_| {
            world.tick();
            world.updated(Fate::Healthy)
        });
        if !arrived {
            let nodes = &world.rollout.nodes;
            let dead = nodes.iter().filter(|node| !node.ready() && node.degraded()).count();
            let failed = nodes.iter().filter(|node| node.desired_config() != Some(OLD)).count();
            let proven = nodes.iter().any(|node| node.current_config() == Some(TARGETS[0]));
            let all_slots_dead = dead >= world.rollout.limit();
            let unproven = !proven && failed >= world.rollout.limit().max(3);
            prop_assert!(all_slots_dead || unproven, "{:#?}", plan_pool(&world.rollout));
        }
    }

    /// One or two nodes that refuse never hold anybody up, whatever the limit.
    #[test]
    fn one_or_two_refusing_nodes_hold_nobody_up(
        fleet in healthy_fleet(),
        refusing in prop::collection::vec(any::<prop::sample::Index>(), 1..3),
    ) {
        let mut fleet = fleet;
        for index in refusing {
            let index = index.index(fleet.fates.len());
            fleet.fates[index] = Fate::Refuses;
        }
        let mut world = World::new(&fleet);
        let arrived = (0..patience(&fleet)).any(|_| {
            world.tick();
            world.updated(Fate::Healthy)
        });
        prop_assert!(arrived, "{:#?}", plan_pool(&world.rollout));
    }
}
