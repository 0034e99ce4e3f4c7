//! Killed or without power at every operation of random updates: always the old config or the new one, whole.

use berth_daemon::{
    journal::{Stage, read_originals},
    sim::{Cut, Faults, Random},
};
use berth_pools::{MachineConfigSpec, annotation};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::world::{Ended, OWN_UNIT, SHIPPED_UNIT, World, config};

const OLD: &str = "rendered-worker-old";
const NEW: &str = "rendered-worker-new";
const EMPTY: &str = "rendered-worker-empty";

fn data(text: &str) -> Value {
    json!({"source": format!("data:,{text}")})
}

/// Files, links and directories: over what was shipped, and where nothing was.
fn storage() -> impl Strategy<Value = Value> {
    let paths = [
        "/etc/chrony.conf",
        "/etc/secret.conf",
        "/etc/motd",
        "/etc/localtime",
        "/etc/new/a",
        "/srv/b",
    ];
    let entries = proptest::collection::btree_map(0..paths.len(), (0..3_usize, 0..2_usize), 0..=paths.len());
    let links = proptest::option::of(0..2_usize);
    (entries, links, any::<bool>()).prop_map(move |(entries, link, folder)| {
        let files = entries.into_iter().map(|(path, (text, mode))| {
            let mode = [0o644, 0o600][mode];
            json!({"path": paths[path], "mode": mode, "contents": data(["one", "two", "three"][text])})
        });
        let links = link.map(|target| json!({"path": "/etc/link", "target": (["/srv/b", "/dev/null"][target])}));
        let folders = folder.then(|| json!({"path": "/var/lib/made", "mode": 0o750}));
        json!({
            "files": files.collect::<Vec<_>>(),
            "links": links.into_iter().collect::<Vec<_>>(),
            "directories": folders.into_iter().collect::<Vec<_>>(),
        })
    })
}

fn unit(name: &'static str) -> impl Strategy<Value = Option<Value>> {
    let text = proptest::option::of(0..2_usize);
    let enabled = proptest::option::of(any::<bool>());
    let some = (text, proptest::option::of(0..2_usize), enabled, 0..5_u8);
    proptest::option::of(some).prop_map(move |unit| {
        let (text, drop_in, enabled, mask) = unit?;
        let mut value = json!({"name": name});
        if let Some(text) = text {
            value["contents"] = ["[Service]\nExecStart=/bin/a\n", "[Service]\nExecStart=/bin/b\n"][text].into();
        }
        if let Some(drop_in) = drop_in {
            let text = ["[Service]\nNice=1\n", "[Service]\nNice=2\n"][drop_in];
            value["dropins"] = json!([{"name": "10-nice.conf", "contents": text}]);
        }
        // A unit without a file of its own can be enabled only where the distribution has it.
        if let Some(enabled) = enabled.filter(|_| name == SHIPPED_UNIT || text.is_some()) {
            value["enabled"] = json!(enabled);
        }
        if mask == 0 {
            value["mask"] = json!(true);
        }
        Some(value)
    })
}

pub(crate) fn spec() -> impl Strategy<Value = MachineConfigSpec> {
    let user = proptest::option::of((any::<bool>(), any::<bool>()));
    let arguments = proptest::sample::subsequence(vec!["nosmt", "hugepages=8", "quiet"], 0..=3);
    let parts = (storage(), unit(SHIPPED_UNIT), unit(OWN_UNIT), user, arguments);
    parts.prop_map(|(storage, shipped, own, user, arguments)| {
        let units: Vec<Value> = shipped.into_iter().chain(own).collect();
        let users = user.map(|(keys, password)| {
            let mut user = json!({"name": "core"});
            if keys {
                user["sshAuthorizedKeys"] = json!(["ssh-ed25519 AAAA core@example"]);
            }
            if password {
                user["passwordHash"] = json!("$6$salt$hash");
            }
            user
        });
        let mut spec = config(json!({
            "storage": storage,
            "systemd": {"units": units},
            "passwd": {"users": users.into_iter().collect::<Vec<_>>()},
        }));
        spec.kernel_arguments = arguments.into_iter().map(str::to_owned).collect();
        spec
    })
}

/// The host has this config, whole, and nothing else that was not shipped.
pub(crate) fn whole(world: &World, name: &str, spec: &MachineConfigSpec) {
    assert_eq!(
        world.contents(),
        World::expected(name, spec),
        "{name}\n{:#?}",
        world.host.log()
    );
    assert_eq!(world.host.leftovers(), Vec::<&str>::new());
}

/// Everything is done and said.
pub(crate) fn settled(world: &World, name: &str, spec: &MachineConfigSpec) {
    whole(world, name, spec);
    assert_eq!(world.text(annotation::CURRENT_CONFIG), name);
    assert_eq!(
        world.text(annotation::STATE),
        "Done",
        "{:?}",
        world.text(annotation::REASON)
    );
    assert_eq!(world.host.running().arguments, World::arguments(spec));
    // Nothing is kept of what nobody manages any more.
    let kept = read_originals(&world.host).expect("a host that works");
    let managed = World::made(name, spec).settings;
    assert_eq!(kept.keys().find(|item| !managed.contains_key(*item)), None);
    assert!(!world.text(annotation::DESIRED_DRAIN).starts_with("drain-"));
}

/// The world after its end at this operation.
fn cut(before: &World, last: usize, carried_out: bool, how: Cut, random: &mut Random) -> World {
    let mut world = before.clone();
    world.host.set_faults(Faults {
        last: Some(last),
        carried_out,
        ..Faults::default()
    });
    assert_eq!(world.run(), Ended::Down);
    world.host = world.host.after(how, random);
    world
}

proptest! {
    // Each case is an update with about a hundred operations, ended at each of them in four ways.
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn at_every_operation_it_is_the_old_config_or_the_new_one(old in spec(), new in spec(), seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let mut before = World::running(OLD, old.clone());
        settled(&before, OLD, &old);
        before.want(NEW, new.clone());
        before.host.set_faults(Faults::default());
        let mut undisturbed = before.clone();
        prop_assert_eq!(undisturbed.run(), Ended::Settled);
        settled(&undisturbed, NEW, &new);

        for last in 1..=undisturbed.host.operations() {
            for (carried_out, how) in [(false, Cut::Kill), (true, Cut::Kill), (false, Cut::Power), (true, Cut::Power)] {
                let mut world = cut(&before, last, carried_out, how, &mut random);
                // Without the cluster it is whole all the same, and the journal says which.
                let state = world.alone();
                match &state.update {
                    None if state.current.name == OLD => whole(&world, OLD, &old),
                    None => whole(&world, NEW, &new),
                    Some(update) => {
                        prop_assert!(update.stage != Stage::Writing && update.back.is_none());
                        whole(&world, NEW, &new);
                    }
                }
                // With the cluster it gets there.
                if world.host.is_going_down() {
                    world.host = world.host.started_again();
                }
                prop_assert_eq!(world.run(), Ended::Settled);
                settled(&world, NEW, &new);
            }
        }

        // And when every config lets go, the host is as it was shipped.
        let empty = MachineConfigSpec::default();
        undisturbed.want(EMPTY, empty.clone());
        prop_assert_eq!(undisturbed.run(), Ended::Settled);
        settled(&undisturbed, EMPTY, &empty);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn again_and_again(
        old in spec(), new in spec(), seed in any::<u64>(),
        ends in proptest::collection::vec((1..80_usize, any::<bool>(), any::<bool>()), 1..12),
    ) {
        let mut random = Random::new(seed);
        let mut world = World::running(OLD, old);
        world.want(NEW, new.clone());
        for (last, carried_out, power) in ends {
            world.host.set_faults(Faults { last: Some(last), carried_out, ..Faults::default() });
            world.run();
            let how = if power { Cut::Power } else { Cut::Kill };
            world.host = world.host.after(how, &mut random);
        }
        prop_assert_eq!(world.run(), Ended::Settled);
        settled(&world, NEW, &new);
    }

    #[test]
    fn a_disk_that_is_full_or_takes_no_writes_costs_nothing_but_time(
        old in spec(), new in spec(), room in 0..4000_usize, read_only in any::<bool>(),
    ) {
        let mut world = World::running(OLD, old);
        world.want(NEW, new.clone());
        world.host.set_faults(Faults {
            room: (!read_only).then_some(room),
            read_only,
            ..Faults::default()
        });
        // It tries forever, or there was room enough.
        let ended = world.run();
        if ended == Ended::Settled && world.text(annotation::CURRENT_CONFIG) == NEW {
            settled(&world, NEW, &new);
        } else {
            prop_assert_eq!(ended, Ended::Restless);
            prop_assert_eq!(world.text(annotation::CURRENT_CONFIG), OLD);
            prop_assert_eq!(world.text(annotation::STATE), "Degraded");
            prop_assert!(!world.text(annotation::REASON).is_empty());
        }
        world.host.set_faults(Faults::default());
        prop_assert_eq!(world.run(), Ended::Settled);
        settled(&world, NEW, &new);
    }
}
