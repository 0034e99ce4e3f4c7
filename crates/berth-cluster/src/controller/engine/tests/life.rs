//! Nodes that go: what is asked before they are created again.

use super::*;
use crate::controller::writer::Written;
use berth_decide::MachineState;
use berth_resources::MachineObject;

const NAME: &str = "n001-infra";

fn machine() -> MachineObject {
    MachineObject {
        group: "machine.openshift.io".to_owned(),
        kind: "Machine".to_owned(),
        namespace: "openshift-machine-api".to_owned(),
        name: NAME.to_owned(),
    }
}

/// A Node goes that a Machine stands for.
fn without_its_node() -> Engine {
    let mut engine = settled();
    let mut node = engine.node(NAME);
    node.machine_objects = vec![machine()];
    node.resource_version = "9".to_owned();
    engine.state.apply(ClusterChange::Nodes(Seen::One(node.clone().into())));
    engine.settle();
    engine.state.apply(ClusterChange::Nodes(Seen::Gone(node.into())));
    engine
}

fn next(engine: &mut Engine) -> Job {
    engine.decide();
    engine.jobs.pop_front().expect("a job")
}

#[tokio::test]
async fn the_machine_of_a_node_that_went_is_asked_for_once_and_decides() {
    for (state, comes_back) in [
        (MachineState::Present, true),
        (MachineState::Unknown, true),
        (MachineState::Leaving("Machine a/b is being deleted".to_owned()), false),
    ] {
        let mut engine = without_its_node();
        let job = next(&mut engine);
        let [Work::Machine(objects)] = job.work.as_slice() else {
            panic!("{job:?}");
        };
        assert_eq!(objects, &[machine()]);
        let written = Written {
            machine: Some(state.clone()),
            ..Written::default()
        };
        engine.done((job.key, (written, Ok(()))));
        let job = next(&mut engine);
        let [Work::Apply { node, status, .. }] = job.work.as_slice() else {
            panic!("{job:?}");
        };
        assert_eq!(matches!(node, Some(NodeWrite::Create(_))), comes_back, "{state:?}");
        let departure = status.departure.as_ref().expect("it is noted");
        assert_eq!(departure.reason.is_none(), comes_back, "{departure:?}");
    }
}

#[tokio::test]
async fn after_a_restart_the_berth_knows_the_machine_and_nobody_knows_whether_it_is_alive() {
    let mut engine = without_its_node();
    // Nobody saw the Node go.
    engine.state.forget(NAME);
    let job = next(&mut engine);
    assert!(matches!(job.work.as_slice(), [Work::Machine(_)]), "{job:?}");
    let written = Written {
        machine: Some(MachineState::Present),
        ..Written::default()
    };
    engine.done((job.key, (written, Ok(()))));
    let job = next(&mut engine);
    let [Work::Apply { node: None, status, .. }] = job.work.as_slice() else {
        panic!("{job:?}");
    };
    let departure = status.departure.as_ref().expect("it is noted");
    assert_eq!(departure.reason.as_deref(), Some("NodeGoneUnseen"));
}
