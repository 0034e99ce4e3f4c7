//! Stories about Nodes that go: only those of machines that are alive come back by themselves.

use super::*;

const CURRENT: &str = "machineconfiguration.openshift.io/currentConfig";
const DESIRED: &str = "machineconfiguration.openshift.io/desiredConfig";
const STATE: &str = "machineconfiguration.openshift.io/state";

fn fetches_ignition(world: &mut World) {
    let time = world.now.to_string();
    world.berth.metadata.annotations = Some(BTreeMap::from([(names::REQUESTED.to_owned(), time)]));
}

fn message(world: &World) -> String {
    let ready = &world.status().conditions[0];
    assert_eq!(ready.type_, "Ready");
    ready.message.clone()
}

/// Something that may be known about a Node that went.
type Change = fn(&mut Absence);

#[test]
fn the_node_of_a_dead_machine_stays_gone_until_the_machine_shows_itself() {
    let rows: [(Change, &str); 4] = [
        (|absence| absence.was_ready = Some(false), "NodeNotReady"),
        (|absence| absence.pulse = Pulse::Missing, "NoHeartbeat"),
        (
            |absence| absence.machine = MachineState::Leaving("Machine a/w1 is being deleted".to_owned()),
            "MachineDeleted",
        ),
        (|absence| absence.was_ready = None, "NodeGoneUnseen"),
    ];
    for (change, reason) in rows {
        let mut world = World::occupied();
        change(&mut world.absence);
        world.delete_node();
        world.settle();
        assert!(world.node.is_none(), "{reason}");
        assert_eq!(world.status().phase, Some(Phase::Vacant));
        assert_eq!(world.condition("Ready"), ("False", reason));
        assert_eq!(world.reasons(), [reason], "it is said once");
        assert!(
            message(&world).ends_with("fetches its Ignition config or registers"),
            "{}",
            message(&world)
        );

        // Whatever time passes, and whoever leads: what was found is in the Berth.
        world.now += SignedDuration::from_hours(9);
        world.absence = Absence::default();
        assert_eq!(world.settle(), 0);
        assert!(world.node.is_none());

        // Its certificate request is from now.
        world.requested = true;
        world.settle();
        assert_eq!(world.has(INFRA), Some(""), "{reason}");
        assert_eq!(world.condition("Ready"), ("False", "Recreated"));
        world.requested = false;
        world.kubelet_reports();
        world.settle();
        assert_eq!(world.condition("Ready"), ("True", "InSync"));
        assert_eq!(world.status().departure, None);
    }
}

#[test]
fn an_ignition_fetch_from_before_the_node_went_shows_nothing() {
    let mut world = World::infra();
    fetches_ignition(&mut world);
    world.settle();
    world.kubelet_reports();
    world.settle();
    world.now += SignedDuration::from_mins(10);
    world.absence.was_ready = Some(false);
    world.delete_node();
    world.settle();
    assert!(world.node.is_none());
    world.now += SignedDuration::from_mins(10);
    fetches_ignition(&mut world);
    world.settle();
    assert!(world.node.is_some());
}

#[test]
fn a_kubelet_that_is_heard_of_is_alive_unless_its_machine_is_taken_away() {
    for (machine, comes_back) in [
        (MachineState::Present, true),
        (MachineState::Leaving("BareMetalHost a/h is gone".to_owned()), false),
    ] {
        let mut world = World::occupied();
        world.absence = Absence {
            was_ready: Some(false),
            ready_since: None,
            pulse: Pulse::Missing,
            machine,
        };
        world.delete_node();
        world.settle();
        assert!(world.node.is_none());
        world.now += SignedDuration::from_secs(7);
        world.absence.pulse = Pulse::Last {
            heard: world.now,
            lasts: SignedDuration::from_secs(40),
        };
        world.settle();
        assert_eq!(world.node.is_some(), comes_back);
    }
}

#[test]
fn a_place_that_was_reserved_at_once_does_not_bring_the_dead_back() {
    let mut world = World::occupied();
    world.edit(|spec| spec.preregister = Preregister::Now);
    world.settle();
    world.absence.was_ready = Some(false);
    world.delete_node();
    world.settle();
    assert!(world.node.is_none());
}

/// All within one second, which is all that the API server keeps.
#[test]
fn a_node_that_is_deleted_as_soon_as_it_joined_is_no_new_installation() {
    let mut world = World::occupied();
    world.approved = Some(world.now);
    world.absence.ready_since = Some(world.now);
    world.now += SignedDuration::from_millis(950);
    world.delete_node();
    world.settle();
    assert_eq!(world.has("kubernetes.io/hostname"), Some("w1-host"));
    assert_eq!(world.settle(), 0);
    world.kubelet_reports();
    world.settle();
    assert_eq!(world.has("kubernetes.io/hostname"), Some("w1-host"));
}

#[test]
fn a_new_installation_gets_what_was_reserved_and_nothing_of_the_old_disk() {
    let with_config = || {
        let mut world = World::occupied();
        let node = world.node.as_mut().unwrap();
        node.annotations
            .insert(CURRENT.to_owned(), "rendered-infra-1".to_owned());
        node.machine_id = Some("first".to_owned());
        world.settle();
        world
    };
    // It comes back after its Node was let go, and asks as a new machine does.
    let mut world = with_config();
    world.absence.was_ready = Some(false);
    world.delete_node();
    world.settle();
    world.requested = true;
    world.settle();
    let node = world.node.as_ref().unwrap();
    assert!(!node.annotations.contains_key(CURRENT), "{:?}", node.annotations);
    assert_eq!(world.has("kubernetes.io/hostname"), None);
    assert_eq!((world.has(INFRA), world.has("tier")), (Some(""), Some("infra")));
    assert!(world.status().annotations.is_empty() && world.status().machine_id.is_none());

    // Its Node came back at once, and then it is installed anew.
    let mut world = with_config();
    world.delete_node();
    world.settle();
    assert_eq!(world.node.as_ref().unwrap().annotations[CURRENT], "rendered-infra-1");
    world.now += SignedDuration::from_mins(5);
    fetches_ignition(&mut world);
    world.settle();
    assert!(!world.node.as_ref().unwrap().annotations.contains_key(CURRENT));
    assert_eq!(world.has(INFRA), Some(""));

    // Nobody deleted its Node, which the cluster has not heard of since.
    let mut world = with_config();
    world.node.as_mut().unwrap().silent_since = Some(world.now);
    world.settle();
    assert!(world.node.as_ref().unwrap().annotations.contains_key(CURRENT));
    world.now += SignedDuration::from_mins(5);
    world.requested = true;
    world.settle();
    assert!(!world.node.as_ref().unwrap().annotations.contains_key(CURRENT));

    // A request in the name of a machine that runs is not its own.
    let mut world = with_config();
    world.requested = true;
    world.settle();
    assert!(world.node.as_ref().unwrap().annotations.contains_key(CURRENT));
}

/// A machine whose Node was created again with what its daemon had noted.
fn given_back() -> World {
    let mut world = World::occupied();
    let node = world.node.as_mut().unwrap();
    for (key, value) in [
        (CURRENT, "rendered-infra-1"),
        (DESIRED, "rendered-infra-1"),
        (STATE, "Done"),
    ] {
        node.annotations.insert(key.to_owned(), value.to_owned());
    }
    node.labels.insert(names::OS_ID.to_owned(), "rhel".to_owned());
    node.machine_id = Some("first".to_owned());
    world.settle();
    world.delete_node();
    world.settle();
    assert_eq!(world.node.as_ref().unwrap().annotations[CURRENT], "rendered-infra-1");
    world.now += SignedDuration::from_mins(5);
    world
}

#[test]
fn what_was_given_back_of_another_disk_is_taken_back() {
    type Shows = fn(&mut World);
    let rows: [(&str, Shows); 5] = [
        ("another machine", |world| {
            world.node.as_mut().unwrap().system_uuid = Some("4C4C4544-1111".to_owned());
        }),
        ("another installation", |world| {
            world.node.as_mut().unwrap().machine_id = Some("second".to_owned());
        }),
        ("it fetched its Ignition", fetches_ignition),
        ("it has no certificate", |world| world.requested = true),
        ("it was let in", |world| world.approved = Some(world.now)),
    ];
    for (what, shows) in rows {
        let mut world = given_back();
        world.kubelet_reports();
        world.node.as_mut().unwrap().machine_id = Some("first".to_owned());
        shows(&mut world);
        // The daemon of the new disk has been faster with one of them.
        let node = world.node.as_mut().unwrap();
        node.annotations.insert(STATE.to_owned(), "Working".to_owned());
        world.settle();
        let notes = &world.node.as_ref().unwrap().annotations;
        assert!(
            !notes.contains_key(CURRENT) && !notes.contains_key(DESIRED),
            "{what}: {notes:?}"
        );
        assert_eq!(notes[STATE], "Working", "{what}");
        assert!(notes.contains_key(names::INSTALLED_ANEW), "{what}");
        assert_eq!(world.status().annotations.get(CURRENT), None, "{what}");
        assert_eq!(
            (world.has(INFRA), world.has("tier")),
            (Some(""), Some("infra")),
            "{what}"
        );
        assert_eq!(world.status().phase, Some(Phase::Occupied), "{what}");
        assert_eq!(world.settle(), 0, "{what}");

        // What the new disk says is its own, also where it is the same.
        let node = world.node.as_mut().unwrap();
        for key in [CURRENT, DESIRED] {
            node.annotations.insert(key.to_owned(), "rendered-infra-1".to_owned());
        }
        world.settle();
        assert_eq!(world.node.as_ref().unwrap().annotations[CURRENT], "rendered-infra-1");
        assert_eq!(world.status().annotations[CURRENT], "rendered-infra-1", "{what}");
    }
}

/// A heartbeat of the kubelet is faster than the patch, or the leader ends after it noted what it is about to write.
#[test]
fn what_was_given_back_is_taken_back_also_when_the_first_write_fails() {
    let mut world = given_back();
    world.kubelet_reports();
    world.node.as_mut().unwrap().machine_id = Some("second".to_owned());
    for _ in 0..3 {
        let decision = world.decide();
        assert!(matches!(decision.node, Some(NodeWrite::Patch(_))), "{decision:?}");
        world.berth.status = Some(noted_ahead(world.berth.status.as_ref(), &decision.status));
    }
    world.settle();
    let notes = &world.node.as_ref().unwrap().annotations;
    assert!(!notes.contains_key(CURRENT), "{notes:?}");
    assert_eq!(
        (world.status().phase, &world.status().departure),
        (Some(Phase::Occupied), &None)
    );
}

#[test]
fn a_machine_that_was_there_all_the_time_keeps_what_was_given_back() {
    let mut world = given_back();
    world.kubelet_reports();
    world.node.as_mut().unwrap().machine_id = Some("first".to_owned());
    world.settle();
    let notes = &world.node.as_ref().unwrap().annotations;
    assert_eq!(
        (notes[CURRENT].as_str(), notes[STATE].as_str()),
        ("rendered-infra-1", "Done")
    );
    // Its disk is another one while its Node stays: what is on the Node is nobody's gift.
    world.node.as_mut().unwrap().machine_id = Some("second".to_owned());
    world.settle();
    assert!(world.node.as_ref().unwrap().annotations.contains_key(CURRENT));
}

#[test]
fn a_stranger_gets_nothing_of_the_reserved_machines_disk() {
    let mut world = given_back();
    world.edit(|spec| {
        spec.machine = Some(Machine {
            system_uuid: Some("4C4C4544-0000".to_owned()),
            mac_addresses: Vec::new(),
        });
    });
    world.settle();
    world.kubelet_reports();
    world.node.as_mut().unwrap().system_uuid = Some("4C4C4544-9999".to_owned());
    world.settle();
    assert_eq!(world.condition("IdentityMatched"), ("False", "IdentityMismatch"));
    let notes = &world.node.as_ref().unwrap().annotations;
    assert!(!notes.contains_key(CURRENT), "{notes:?}");
}

#[test]
fn another_machine_or_another_installation_is_not_taken_for_the_old_one() {
    let changes: [fn(&mut NodeView); 2] = [
        |node| node.system_uuid = Some("4C4C4544-1111".to_owned()),
        |node| node.machine_id = Some("second".to_owned()),
    ];
    for change in changes {
        let mut world = World::occupied();
        let node = world.node.as_mut().unwrap();
        node.annotations
            .insert(CURRENT.to_owned(), "rendered-infra-1".to_owned());
        node.machine_id = Some("first".to_owned());
        world.settle();
        world.delete_node();
        world.settle();
        // A kubelet of another disk takes the Node.
        world.kubelet_reports();
        let node = world.node.as_mut().unwrap();
        node.machine_id = Some("first".to_owned());
        node.annotations.remove(CURRENT);
        node.labels.remove("kubernetes.io/hostname");
        change(node);
        world.settle();
        assert!(
            world.status().annotations.is_empty(),
            "{:?}",
            world.status().annotations
        );
        assert!(world.status().kubelet_labels.is_empty());
        assert_eq!(world.status().pool.as_deref(), Some("infra"));
    }
}
