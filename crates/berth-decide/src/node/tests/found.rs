//! Stories about machines that nobody reserved: their Berths were made for what was found.

use super::*;

const MASTER: &str = "node-role.kubernetes.io/master";

/// A machine of an OpenShift cluster that was found with these labels, and whose Node went because it was off.
fn vacant(labels: &[&str]) -> World {
    let mut world = World::new(BerthSpec::default());
    world.flavour = Flavour::Openshift;
    world.objects.truncate(3);
    world.objects.push(pool("master", MASTER, "tier=control"));
    let label = (names::RESERVED_BY.to_owned(), names::BY_ADOPTION.to_owned());
    world.berth.metadata.labels = Some(BTreeMap::from([label]));
    let found: Vec<(&str, &str)> = labels.iter().map(|key| (*key, "")).collect();
    world.kubelet_registers(&found);
    world.berth.status = None;
    world.settle();
    assert_eq!(world.status().phase, Some(Phase::Occupied));
    world.absence.was_ready = Some(false);
    world.delete_node();
    world.settle();
    assert_eq!(world.condition("Ready"), ("False", "NodeNotReady"));
    world.now += SignedDuration::from_mins(30);
    world
}

/// Its kubelet creates its Node; the Berth still knows the last one.
fn registers(world: &mut World, labels: &[&str]) {
    let uid = world.status().node_uid.clone();
    let labels: Vec<(&str, &str)> = labels.iter().map(|key| (*key, "")).collect();
    world.kubelet_registers(&labels);
    world.berth.status.as_mut().unwrap().node_uid = uid;
    world.requested = false;
    world.settle();
}

#[test]
fn it_joins_in_the_role_that_it_is_installed_for() {
    for (was, now, pool) in [
        (&[WORKER][..], &[MASTER][..], "master"),
        (&[WORKER], &[WORKER], "worker"),
        (&[MASTER], &[WORKER], "worker"),
        (&[WORKER, INFRA], &[MASTER], "master"),
        // Every machine of a custom pool registers as a worker.
        (&[WORKER, INFRA], &[WORKER], "infra"),
        (&[WORKER], &[WORKER, STORAGE], "storage"),
    ] {
        let mut world = vacant(was);
        world.requested = true;
        world.settle();
        assert!(
            world.node.is_none(),
            "{was:?}: nobody knows the role before its kubelet says it"
        );
        assert_eq!(world.condition("Ready"), ("False", "AwaitingRegistration"));
        assert!(awaits_registration(world.status()));
        assert_eq!(world.settle(), 0);
        registers(&mut world, now);
        assert_eq!(world.status().pool.as_deref(), Some(pool), "{was:?} {now:?}");
        for role in [WORKER, MASTER, STORAGE] {
            assert_eq!(
                world.has(role).is_some(),
                now.contains(&role),
                "{was:?} {now:?}: {role}"
            );
        }
        assert_eq!(world.has(INFRA).is_some(), pool == "infra");
        assert_eq!(world.condition("Ready"), ("True", "InSync"), "{was:?} {now:?}");
        assert!(!awaits_registration(world.status()));
        assert_eq!(world.settle(), 0);
    }
}

#[test]
fn one_that_an_administrator_moved_joins_as_a_master_all_the_same() {
    let mut world = vacant(&[WORKER]);
    registers(&mut world, &[WORKER]);
    world.label(INFRA, "");
    world.settle();
    assert!(world.status().followed.is_some());
    world.absence.was_ready = Some(false);
    world.delete_node();
    world.settle();
    let mut again = world;
    registers(&mut again, &[WORKER]);
    assert_eq!(
        (again.status().pool.as_deref(), again.has(INFRA)),
        (Some("infra"), Some(""))
    );
    again.delete_node();
    again.settle();
    registers(&mut again, &[MASTER]);
    assert_eq!(
        (again.status().pool.as_deref(), again.has(INFRA)),
        (Some("master"), None)
    );
    assert_eq!(again.status().followed, None);
    assert_eq!(again.settle(), 0);
}

#[test]
fn a_place_that_somebody_reserved_is_kept_whatever_the_machine_is_installed_for() {
    type Reserves = fn(&mut World);
    let rows: [(&str, Reserves); 5] = [
        ("a person", |world| {
            world.edit(|spec| spec.pool = Some("worker".to_owned()));
        }),
        ("a rule", |world| {
            let mut named = rule("workers", &json!({}));
            named["spec"]["pool"] = json!("worker");
            world.objects.push(named);
        }),
        ("it is not OpenShift's", |world| world.flavour = Flavour::Upstream),
        ("it fetched its own config", |world| {
            let time = world.now.to_string();
            world.berth.metadata.annotations = Some(BTreeMap::from([(names::REQUESTED.to_owned(), time)]));
        }),
        ("documents", |world| {
            let label = (names::RESERVED_BY.to_owned(), names::BY_DOCUMENTS.to_owned());
            world.berth.metadata.labels = Some(BTreeMap::from([label]));
        }),
    ];
    for (who, reserves) in rows {
        let mut world = vacant(&[WORKER]);
        reserves(&mut world);
        world.requested = true;
        world.settle();
        assert_eq!(world.has(WORKER), Some(""), "{who}");
        assert_eq!(world.condition("Ready"), ("False", "Recreated"), "{who}");
    }
}
