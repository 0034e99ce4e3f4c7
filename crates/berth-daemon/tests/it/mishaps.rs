//! Random updates during which things happen to the cluster and to the host: whatever it is, the host is whole when nothing is done to
//! it, and reaches the desired config as soon as that is possible.

use berth_daemon::{
    DriftPolicy, Entry, FileEntry, Item, STATE, Setting, State, announce,
    sim::{Cut, Faults, Random},
};
use berth_pools::{MachineConfigSpec, annotation};
use proptest::{prelude::*, sample::Index};

use crate::{
    crash::{settled, spec, whole},
    world::{Deed, Ended, OWN_UNIT, SHIPPED_UNIT, World},
};

const OLD: &str = "rendered-worker-old";
const NEW: &str = "rendered-worker-new";
const LATER: &str = "rendered-worker-later";

/// What happens in the cluster, in how many turns. A Node that is deleted comes back.
fn deeds(later: &MachineConfigSpec) -> impl Strategy<Value = Vec<(usize, Deed)>> + use<> {
    let later = later.clone();
    let one = (0..5_u8, 0..14_usize, 1..6_usize).prop_map(move |(kind, turn, more)| match kind {
        0 => vec![(turn, Deed::Wipe)],
        1 => vec![(turn, Deed::Delete), (turn + more, Deed::Register)],
        2 => vec![(turn, Deed::Forget)],
        3 => vec![(turn, Deed::Want(LATER, later.clone()))],
        _ => vec![(turn, Deed::Want(LATER, later.clone())), (turn + more, Deed::Forget)],
    });
    proptest::collection::vec(one, 0..4).prop_map(|all| all.into_iter().flatten().collect())
}

/// What is wrong with the host.
fn faults() -> impl Strategy<Value = Faults> {
    (0..6_u8, 0..4000_usize, 1..3_usize).prop_map(|(kind, room, stays_up)| match kind {
        0 => Faults {
            room: Some(room),
            ..Faults::default()
        },
        1 => Faults {
            read_only: true,
            ..Faults::default()
        },
        2 => Faults {
            hanging: [OWN_UNIT.to_owned(), SHIPPED_UNIT.to_owned()].into(),
            ..Faults::default()
        },
        3 => Faults {
            stays_up,
            ..Faults::default()
        },
        4 => Faults {
            boots_before: true,
            ..Faults::default()
        },
        _ => Faults::default(),
    })
}

/// What the journal says.
fn state(world: &World) -> State {
    use berth_daemon::Host as _;
    match world.host.entry(STATE).expect("a host that works") {
        Some(Entry::File(file)) => State::parse(&file.contents).expect("a state"),
        other => panic!("{other:?}"),
    }
}

/// Nothing is under way, or the host is one of the configs all the same.
fn rests_whole(world: &World) {
    let state = state(world);
    if state.update.is_none() {
        whole(world, &state.current.name, &state.current.spec);
    }
}

/// Everything is as it should be again, and the pool wants this.
fn put_right(world: &mut World, wanted: &MachineConfigSpec) {
    world.meet_fate();
    world.host.set_faults(Faults::default());
    if world.node.is_none() {
        world.node = Some(berth_daemon::decide::NodeView {
            ready: Some(true),
            ..Default::default()
        });
    }
    world.want(NEW, wanted.clone());
    if state(world).given_up.is_some() {
        world.annotate(announce::FORCE, "try it again");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_in_an_update_it_gets_there(
        (old, new, deeds) in (spec(), spec(), spec()).prop_flat_map(|(old, new, later)| {
            let deeds = deeds(&later);
            (Just(old), Just(new), deeds)
        }),
        faults in faults(),
        end in proptest::option::of((1..80_usize, any::<bool>())),
        seed in any::<u64>(),
    ) {
        let mut world = World::running(OLD, old);
        world.want(NEW, new.clone());
        for (turn, deed) in deeds {
            world.will(turn, deed);
        }
        world.host.set_faults(Faults { last: end.map(|(last, _)| last), ..faults.clone() });
        let ended = world.run();
        if let (Some((_, power)), Ended::Down) = (end, ended) {
            // It goes on in the same trouble.
            let how = if power { Cut::Power } else { Cut::Kill };
            world.host = std::mem::take(&mut world.host).after(how, &mut Random::new(seed));
            world.host.set_faults(faults);
            world.run();
        }
        rests_whole(&world);
        put_right(&mut world, &new);
        prop_assert_eq!(world.run(), Ended::Settled);
        settled(&world, NEW, &new);
    }

    #[test]
    fn drift_of_anything_in_each_policy(config in spec(), which in any::<Index>(), gone in any::<bool>()) {
        let made = World::made(OLD, &config).settings;
        prop_assume!(!made.is_empty());
        let (item, setting) = which.get(&made.into_iter().collect::<Vec<_>>()).clone();
        let meddled = match (&item, &setting) {
            (_, Setting::Enabled(enabled)) => Some(Setting::Enabled(!enabled)),
            (Item::Path(_), _) if gone => None,
            (Item::Path(_), _) => Some(Setting::Entry(Entry::File(FileEntry::new("theirs", 0o640)))),
            _ => Some(Setting::Hash("$6$theirs".to_owned())),
        };
        for policy in [DriftPolicy::Report, DriftPolicy::Repair, DriftPolicy::Degrade] {
            let mut world = World::running(OLD, config.clone());
            let (boots, drains) = (world.host.boots(), world.drains.len());
            world.settings.drift = policy;
            world.host.meddle(item.clone(), meddled.clone());
            prop_assert_eq!(world.run(), Ended::Settled);
            prop_assert!(world.reasons().contains("ConfigDriftDetected"));
            match policy {
                DriftPolicy::Report => {
                    prop_assert_eq!(world.text(annotation::STATE), "Done");
                    prop_assert!(!world.text(announce::DRIFT).is_empty());
                }
                DriftPolicy::Repair => settled(&world, OLD, &config),
                DriftPolicy::Degrade => {
                    prop_assert_eq!(world.text(annotation::STATE), "Degraded");
                    prop_assert!(!world.text(annotation::REASON).is_empty());
                }
            }
            prop_assert_eq!((world.host.boots(), world.drains.len()), (boots, drains), "looking costs nothing");
            world.annotate(announce::FORCE, "now");
            prop_assert_eq!(world.run(), Ended::Settled);
            settled(&world, OLD, &config);
        }
    }
}

#[test]
fn a_host_that_does_not_go_down_is_told_again() {
    let reboot = |text: &str| crate::world::one_file("/srv/reboot", text);
    let mut world = World::running(OLD, reboot("old"));
    let (boots, began) = (world.host.boots(), world.now);
    world.host.set_faults(Faults {
        stays_up: 2,
        ..Faults::default()
    });
    world.want(NEW, reboot("new"));
    assert_eq!(world.run(), Ended::Settled);
    settled(&world, NEW, &reboot("new"));
    assert_eq!(world.host.boots(), boots + 1);
    assert!(
        world.now.duration_since(began) >= jiff::SignedDuration::from_mins(20),
        "it had ten minutes each time"
    );
}
