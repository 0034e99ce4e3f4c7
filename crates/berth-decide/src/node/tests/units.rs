//! Stories beside OpenShift's operator: what kubelets give themselves, roles that people take away, and first boots.

use std::collections::BTreeSet;

use super::*;

const OS_ID: &str = names::OS_ID;
const PIVOT: &str = names::FIRST_PIVOT_CONFIG;
const APPLIED: &str = names::CUSTOM_POOL_LABELS_APPLIED;

fn unit(labels: &[(&str, &str)]) -> KubeletLabels {
    KubeletLabels {
        known: labels
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
        open: BTreeSet::from([OS_ID.to_owned()]),
        image: None,
    }
}

fn openshift() -> World {
    let mut world = World::infra();
    world.flavour = Flavour::Openshift;
    world.registers = Some(unit(&[(WORKER, ""), ("topology.kubernetes.io/zone", "a")]));
    world.requested = true;
    world.settle();
    world.kubelet_reports();
    world.settle();
    world.requested = false;
    world
}

fn pool(world: &World) -> &str {
    world.status().pool.as_deref().unwrap()
}

#[test]
fn a_created_node_has_what_its_kubelet_would_register_and_that_is_not_berths() {
    let mut world = openshift();
    let zone = "topology.kubernetes.io/zone";
    assert_eq!(
        (world.has(WORKER), world.has(zone), world.has(INFRA)),
        (Some(""), Some("a"), Some(""))
    );
    assert_eq!(pool(&world), "infra");
    assert!(!world.status().labels.contains_key(WORKER) && !world.status().labels.contains_key(zone));
    assert_eq!(world.condition("PoolAssigned"), ("True", "Assigned"));

    // What only the machine knows comes back because the Node had it.
    world.label(OS_ID, "rhel");
    world.settle();
    world.registers = Some(unit(&[]));
    world.delete_node();
    world.settle();
    assert_eq!(
        (world.has(OS_ID), world.has(WORKER), world.has(zone)),
        (Some("rhel"), Some(""), Some("a"))
    );
    assert!(!world.status().labels.contains_key(OS_ID));

    // What somebody removed is not remembered.
    world.kubelet_reports();
    world.unlabel(zone);
    world.settle();
    world.delete_node();
    world.settle();
    assert_eq!(world.has(zone), None);
}

#[test]
fn a_move_to_a_custom_pool_leaves_the_role_that_the_unit_gives() {
    let mut world = openshift();
    world.edit(|spec| spec.pool = Some("worker".to_owned()));
    world.settle();
    assert_eq!((world.has(WORKER), world.has(INFRA)), (Some(""), None));
    // Created again as a worker, Berth set the role itself.
    world.delete_node();
    world.settle();
    world.kubelet_reports();
    world.settle();
    assert!(world.status().labels.contains_key(WORKER));
    world.edit(|spec| spec.pool = Some("infra".to_owned()));
    world.settle();
    assert_eq!((world.has(WORKER), world.has(INFRA)), (Some(""), Some("")));
    assert!(!world.status().labels.contains_key(WORKER));
    assert_eq!(pool(&world), "infra");
}

#[test]
fn what_a_unit_says_puts_no_node_into_another_pool() {
    let mut world = World::infra();
    world.registers = Some(unit(&[(STORAGE, ""), ("a", "b")]));
    world.requested = true;
    world.settle();
    assert_eq!(
        (world.has(INFRA), world.has(STORAGE), world.has("a")),
        (Some(""), None, Some("b"))
    );
    assert_eq!(world.condition("PoolAssigned"), ("True", "Assigned"));
}

#[test]
fn taking_the_role_away_is_a_move_to_the_pool_that_then_matches() {
    // The Node carries the worker's role, as every one of OpenShift's does, on whichever flavour.
    for flavour in [Flavour::Upstream, Flavour::Openshift] {
        let mut world = openshift();
        world.flavour = flavour;
        world.settle();
        world.unlabel(INFRA);
        world.settle();
        assert_eq!(pool(&world), "worker", "{flavour}");
        assert_eq!(world.condition("PoolAssigned"), ("True", "Followed"));
        assert_eq!(
            (world.has(INFRA), world.has("tier"), world.has(WORKER)),
            (None, None, Some(""))
        );
        assert!(world.reasons().contains(&"Followed"), "{:?}", world.reasons());
        world.delete_node();
        world.settle();
        assert_eq!(
            (world.has(INFRA), world.has(WORKER), pool(&world)),
            (None, Some(""), "worker")
        );
    }
    // It lacks that role, and is a worker all the same.
    let mut world = openshift();
    world.unlabel(WORKER);
    world.settle();
    world.unlabel(INFRA);
    world.settle();
    assert_eq!((pool(&world), world.has(WORKER)), ("worker", Some("")));
    // And back again.
    world.label(INFRA, "");
    world.settle();
    assert_eq!((pool(&world), world.has("tier")), ("infra", Some("infra")));
    assert_eq!(world.status().followed, None);
}

#[test]
fn enforce_puts_the_role_back_on_openshift_too() {
    let mut world = openshift();
    world.edit(|spec| spec.pool_policy = PoolPolicy::Enforce);
    world.settle();
    world.unlabel(INFRA);
    world.settle();
    assert_eq!((pool(&world), world.has(INFRA)), ("infra", Some("")));
}

#[test]
fn the_operator_is_told_that_a_machine_has_its_first_labels() {
    let applied = |world: &World| world.node.as_ref().unwrap().annotations.get(APPLIED).cloned();
    let world = openshift();
    assert_eq!(applied(&world).as_deref(), Some(""), "from its first version");

    // On a Node that its kubelet made it is written with the labels.
    let mut world = World::infra();
    world.kubelet_registers(&[(WORKER, "")]);
    world.settle();
    assert_eq!(applied(&world), None, "its daemon has not said how it booted");
    let node = world.node.as_mut().unwrap();
    node.annotations
        .insert(PIVOT.to_owned(), "rendered-infra-0123".to_owned());
    world.settle();
    assert_eq!(applied(&world).as_deref(), Some(""));
    assert_eq!(world.settle(), 0);

    // Where nobody declared a pool, the machine is the operator's to label, and so is one that booted as a worker.
    let mut world = World::new(BerthSpec::default());
    world.kubelet_registers(&[(WORKER, "")]);
    let node = world.node.as_mut().unwrap();
    node.annotations
        .insert(PIVOT.to_owned(), "rendered-infra-0123".to_owned());
    world.settle();
    assert_eq!((pool(&world), applied(&world)), ("worker", None));
    let mut world = World::infra();
    world.kubelet_registers(&[(WORKER, "")]);
    let node = world.node.as_mut().unwrap();
    node.annotations
        .insert(PIVOT.to_owned(), "rendered-worker-0123".to_owned());
    world.settle();
    assert_eq!(applied(&world), None);
}

#[test]
fn what_the_old_disk_called_itself_is_marked_and_not_remembered() {
    let mut world = openshift();
    world.label(OS_ID, "rhcos");
    let node = world.node.as_mut().unwrap();
    node.annotations
        .insert(PIVOT.to_owned(), "rendered-infra-0123".to_owned());
    world.settle();
    let remembered = |world: &World| world.status().registered_labels.get(OS_ID).cloned();
    let marked = |world: &World| {
        let node = world.node.as_ref().unwrap();
        node.annotations.contains_key(names::INSTALLED_ANEW)
    };
    assert_eq!((remembered(&world).as_deref(), marked(&world)), (Some("rhcos"), false));

    // It is installed anew, and nobody deleted its Node.
    world.node.as_mut().unwrap().silent_since = Some(world.now);
    world.settle();
    world.now += SignedDuration::from_mins(5);
    world.requested = true;
    world.settle();
    assert_eq!((world.has(OS_ID), marked(&world)), (Some("rhcos"), true));
    assert_eq!((remembered(&world), world.settle()), (None, 0));

    // The new disk's kubelet takes the Node as it is. A Node that is created again says nothing that nobody knows.
    world.requested = false;
    world.kubelet_reports();
    world.node.as_mut().unwrap().silent_since = None;
    world.settle();
    assert_eq!((world.has(OS_ID), remembered(&world)), (Some("rhcos"), None));
    world.delete_node();
    world.settle();
    assert_eq!((world.has(OS_ID), world.has(INFRA)), (None, Some("")));
}
