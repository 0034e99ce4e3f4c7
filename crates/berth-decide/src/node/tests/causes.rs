//! Who moved a Node: a person who changed its labels, or a pool that came to select it.

use super::*;

const GPU: &str = "example.org/gpu";

/// A Node of the pool `worker` with the label of no pool.
fn worker_with_gpu() -> World {
    let mut world = World::new(BerthSpec {
        pool: Some("worker".to_owned()),
        ..BerthSpec::default()
    });
    world.requested = true;
    world.settle();
    world.kubelet_reports();
    world.label(GPU, "");
    world.settle();
    world
}

#[test]
fn a_new_pool_is_followed_and_nobody_is_said_to_have_asked() {
    let mut world = worker_with_gpu();
    world.objects.push(pool("gpu", GPU, ""));
    world.hold = true;
    world.settle();
    assert_eq!((world.asked, world.has(WORKER)), (false, Some("")));
    assert!(world.removals > 0);
    assert_eq!(world.status().pool.as_deref(), Some("worker"), "half a move is none");
    assert_eq!((world.status().followed.clone(), world.reasons()), (None, vec![]));
    world.hold = false;
    world.settle();
    assert_eq!((world.has(WORKER), world.has(GPU)), (None, Some("")));
    assert_eq!(world.status().pool.as_deref(), Some("gpu"));
    assert_eq!(world.reasons(), ["Followed"]);
    assert!(world.notes[0].message.starts_with("the pools say"), "{:?}", world.notes);
    // The label is still whose it was.
    assert!(!world.status().labels.contains_key(GPU));
    // From here on, whoever changes its labels moves it.
    world.unlabel(GPU);
    world.label(INFRA, "");
    world.settle();
    assert!(world.asked && world.status().pool.as_deref() == Some("infra"));
}

#[test]
fn a_label_that_is_added_under_pools_that_were_there_is_a_persons_move() {
    let mut world = worker_with_gpu();
    world.hold = true;
    world.label(INFRA, "");
    world.settle();
    assert!(world.asked);
    assert_eq!(
        (world.status().pool.as_deref(), world.has(WORKER)),
        (Some("infra"), None)
    );
    assert!(world.status().labels.contains_key(INFRA));
}

/// A replica that has just started has seen no Node in its place.
#[test]
fn a_missing_label_of_the_pool_proves_a_move_to_those_who_saw_nothing() {
    for (missing, asked) in [(true, true), (false, false)] {
        let mut world = worker_with_gpu();
        world.witnessed = None;
        world.label(STORAGE, "");
        if missing {
            world.unlabel(WORKER);
        }
        world.settle();
        assert_eq!(world.asked, asked);
        assert_eq!(world.status().pool.as_deref(), Some("storage"));
    }
}

#[test]
fn enforcing_takes_away_what_a_person_put_there_and_not_what_a_new_pool_found() {
    let mut world = worker_with_gpu();
    world.edit(|spec| spec.pool_policy = PoolPolicy::Enforce);
    world.settle();
    world.objects.push(pool("gpu", GPU, ""));
    world.settle();
    assert_eq!(
        (world.has(WORKER), world.has(GPU), world.removals),
        (Some(""), Some(""), 0)
    );
    assert_eq!(world.condition("PoolAssigned"), ("False", "LabelConflict"));
    world.unlabel(GPU);
    world.settle();
    world.label(GPU, "");
    world.hold = true;
    let held = world.decide_with(true);
    assert_eq!((held.removals, held.held_removals, held.asked), (1, 1, true));
    assert_eq!(held.node, None);
    world.settle();
    assert_eq!((world.has(WORKER), world.has(GPU), world.removals), (Some(""), None, 1));
}
